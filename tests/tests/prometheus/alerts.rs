//! Alerts that fire when something is broken, and what Prometheus's own page shows of them.

use std::time::Duration;

use serde_json::json;
use weir_shared::ordered::OrderedSet;
use weir_shared::wire::role::Role;
use weir_tests::browser::Browser;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::token_request;
use weir_tests::prometheus::Prometheus;
use weir_tests::witness::Fault;
use weir_tests::workerd::REGIONS;

use super::{ALERTED, start};

const FOUR: [&str; 4] = [
    "WeirBudgetNearLimit",
    "WeirRegionStale",
    "WeirCoordinatorLost",
    "WeirTenantStarved",
];

/// The rules of which the page shows that they fire.
const FIRING_RULES: &str = r#"
return [...document.querySelectorAll("tr.alert-danger.alert_header b")].map((name) => name.textContent);
"#;

/// Leaves out the rules that are calm, and opens those that fire, without their expressions and the place of their file.
const ONLY_FIRING: &str = r#"
document.getElementById("inactiveAlerts").parentElement.click();
for (const rule of document.querySelectorAll("tr.alert-danger.alert_header")) rule.click();
for (const expression of document.querySelectorAll("tr.alert_details pre")) expression.parentElement.remove();
document.querySelector("table tr").remove();
"#;

/// The window of the picture: all that fires is in it.
const PICTURED: (u32, u32) = (1_280, 1_320);

/// Waits until all of these fire.
async fn fire(prometheus: &Prometheus, alerts: &[(&str, &str)]) {
    let wanted: OrderedSet<_> = alerts
        .iter()
        .map(|(name, about)| ((*name).to_owned(), (*about).to_owned()))
        .collect();
    let started = now();
    loop {
        let firing = prometheus.firing().await.unwrap();
        if wanted.is_subset(&firing) {
            return;
        }
        assert!(
            started.elapsed() < ALERTED,
            "{wanted:?} are to fire, and {firing:?} do\n{}",
            prometheus.log()
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Waits until Prometheus has seen a value.
async fn see(prometheus: &Prometheus, expression: &str, least: f64) {
    let started = now();
    loop {
        let value = prometheus.value(expression).await.unwrap();
        if value >= Some(least) {
            return;
        }
        assert!(
            started.elapsed() < ALERTED,
            "{expression}: {value:?}\n{}",
            prometheus.log()
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// acme asks for more at once than a whole window has.
async fn starve_acme(clients: &[Client]) {
    for client in clients {
        let large = client.check_budget("acme", "shared", 101).await.unwrap();
        assert!(!large.decision.allowed, "{large:?}");
    }
}

/// Waits until Prometheus's own page shows that the four fire, and pictures it.
async fn show_all_four(prometheus: &Prometheus) {
    let browser = Browser::start().await.expect("the browser starts");
    let (width, height) = PICTURED;
    browser.resize(width, height).await.unwrap();
    let started = now();
    loop {
        browser.open(&prometheus.alerts_page()).await.unwrap();
        let shown = browser.evaluate(FIRING_RULES, vec![]).await.unwrap();
        let shown = shown.as_array().cloned().unwrap_or_default();
        if FOUR.iter().all(|alert| shown.contains(&json!(alert))) {
            break;
        }
        assert!(
            started.elapsed() < ALERTED,
            "{shown:?}\n{}",
            prometheus.log()
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    browser.evaluate(ONLY_FIRING, vec![]).await.unwrap();
    browser.screenshot("prometheus-alerts").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_alerts_fire_when_something_is_broken_and_not_before() {
    let workerd = start().await;
    let clients = workerd.clients().unwrap();
    let viewer = clients[0]
        .make_token(&token_request("prometheus", Role::Viewer))
        .await
        .unwrap();
    let target = clients[0].origin().trim_start_matches("http://").to_owned();
    let prometheus = Prometheus::start(&target, &viewer.token).await.unwrap();
    for tenant in ["acme", "hooli"] {
        let some = clients[0]
            .check_budget_once_there(tenant, "shared", 2)
            .await;
        assert!(some.decision.allowed, "{some:?}");
    }
    let some = clients[0]
        .check_budget_once_there("acme", "daily", 50)
        .await;
    assert!(some.decision.allowed, "{some:?}");
    see(
        &prometheus,
        "weir_budget_used_units{budget=\"daily\"}",
        50.0,
    )
    .await;
    see(
        &prometheus,
        "count(weir_budget_entitled_units{budget=\"shared\"})",
        2.0,
    )
    .await;
    // Others may tell that the machine is slow.
    let firing = prometheus.firing().await.unwrap();
    let fires = |(name, _): &(String, String)| FOUR.contains(&name.as_str());
    assert!(!firing.iter().any(fires), "{firing:?}");

    // Nine tenths of the day's budget are used, and a tenant is denied.
    let more = clients[0]
        .check_budget_once_there("acme", "daily", 40)
        .await;
    assert!(more.decision.allowed, "{more:?}");
    fire(&prometheus, &[("WeirBudgetNearLimit", "daily")]).await;
    let started = now();
    while !prometheus
        .firing()
        .await
        .unwrap()
        .iter()
        .any(|(name, _)| name == "WeirTenantStarved")
    {
        assert!(
            started.elapsed() < ALERTED,
            "{:?}",
            prometheus.firing().await
        );
        starve_acme(&clients[..1]).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    fire(&prometheus, &[("WeirTenantStarved", "acme")]).await;

    // No coordinator answers, and no region.
    let witness = workerd.witness().unwrap();
    for call in ["Coordinator/lent", "Coordinator/exchange", "Region/push"] {
        witness
            .fault(call, Fault::Refuse, u64::from(u32::MAX))
            .await
            .unwrap();
    }
    let lost = [
        ("WeirCoordinatorLost", "daily"),
        ("WeirCoordinatorLost", "shared"),
    ];
    fire(&prometheus, &lost).await;
    fire(
        &prometheus,
        &REGIONS.map(|region| ("WeirRegionStale", region)),
    )
    .await;
    show_all_four(&prometheus).await;

    // They are back.
    witness.calm().await.unwrap();
    let started = now();
    loop {
        let firing = prometheus.firing().await.unwrap();
        let gone = |name: &str| !firing.iter().any(|(alert, _)| alert == name);
        if gone("WeirCoordinatorLost") && gone("WeirRegionStale") {
            break;
        }
        assert!(started.elapsed() < ALERTED, "{firing:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
