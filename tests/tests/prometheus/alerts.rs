//! Alerts that fire when something is broken, and what Prometheus's own page shows of them.

use std::time::Duration;

use serde_json::json;
use weir_shared::ordered::OrderedSet;
use weir_shared::wire::check::Reason;
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

/// How long Prometheus may take to see what was asked for.
const SEEN: Duration = Duration::from_secs(15);

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

/// Charges a budget; whether some of it was denied first, as a busy machine had no answer in time.
async fn charge(client: &Client, tenant: &str, budget: &str, cost: u64) -> bool {
    client.check_budget_once_there(tenant, budget, 0).await;
    let first = client.check_budget(tenant, budget, cost).await.unwrap();
    if first.decision.reason != Reason::Unavailable {
        assert!(first.decision.allowed, "{first:?}");
        return false;
    }
    let some = client.check_budget_once_there(tenant, budget, cost).await;
    assert!(some.decision.allowed, "{some:?}");
    true
}

/// Has both tenants ask until Prometheus has seen both in one window, which may end between the two. Who was denied something.
async fn share(client: &Client, prometheus: &Prometheus) -> OrderedSet<&'static str> {
    let (started, mut denied) = (now(), OrderedSet::new());
    loop {
        for tenant in ["acme", "hooli"] {
            if charge(client, tenant, "shared", 2).await {
                denied.insert(tenant);
            }
        }
        let asked = now();
        while asked.elapsed() < SEEN {
            let both = "count(weir_budget_entitled_units{budget=\"shared\"})";
            if prometheus.value(both).await.unwrap() >= Some(2.0) {
                return denied;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let late = started.elapsed() >= 2 * ALERTED;
        assert!(!late, "both are not seen\n{}", prometheus.log());
    }
}

/// acme asks for more at once than a whole window has, and for a unit now and then: each window knows it.
async fn starve_acme(client: Client) {
    for turn in 0_u32.. {
        let cost = if turn.is_multiple_of(10) { 1 } else { 101 };
        // Nobody answers while everything is broken.
        let _answer = client.check_budget("acme", "shared", cost).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Waits until none of the four fires but those that may.
async fn calm(prometheus: &Prometheus, may: impl Fn(&(String, String)) -> bool) {
    let started = now();
    loop {
        let mut firing = prometheus.firing().await.unwrap();
        firing.retain(|alert| FOUR.contains(&alert.0.as_str()) && !may(alert));
        if firing.is_empty() {
            return;
        }
        // Neither is told of what a machine that stands still has no time for.
        let broken = |(name, _): &(String, String)| {
            ["WeirBudgetNearLimit", "WeirTenantStarved"].contains(&name.as_str())
        };
        let false_alarm = firing.iter().any(broken) || started.elapsed() >= ALERTED;
        assert!(!false_alarm, "{firing:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
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
    let denied = share(&clients[0], &prometheus).await;
    charge(&clients[0], "acme", "monthly", 50).await;
    see(
        &prometheus,
        "weir_budget_used_units{budget=\"monthly\"}",
        50.0,
    )
    .await;
    // Others may tell that the machine is slow.
    calm(&prometheus, |(name, about)| {
        name == "WeirTenantStarved" && denied.contains(about.as_str())
    })
    .await;

    // Nine tenths of the month's budget are used, and a tenant is denied.
    charge(&clients[0], "acme", "monthly", 40).await;
    fire(&prometheus, &[("WeirBudgetNearLimit", "monthly")]).await;
    let large = clients[0].check_budget("acme", "shared", 101).await;
    let large = large.unwrap().decision;
    assert!(!large.allowed, "{large:?}");
    let starving = tokio::spawn(starve_acme(clients[0].clone()));
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
        ("WeirCoordinatorLost", "monthly"),
        ("WeirCoordinatorLost", "shared"),
    ];
    fire(&prometheus, &lost).await;
    fire(
        &prometheus,
        &REGIONS.map(|region| ("WeirRegionStale", region)),
    )
    .await;
    show_all_four(&prometheus).await;
    starving.abort();

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
