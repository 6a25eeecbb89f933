//! The real Prometheus on the real Worker: its own tools find no fault with what is scraped nor with the rules, and alerts
//! fire when something is broken, and not before.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::ordered::OrderedSet;
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{policy, token_request, with};
use weir_tests::prometheus::{Prometheus, promtool};
use weir_tests::witness::Fault;
use weir_tests::workerd::{REGIONS, Setup, Workerd};

/// How long an alert may take: what was counted reaches the ledgers, is scraped, recorded and then held for a second.
const ALERTED: Duration = Duration::from_secs(30);

/// A budget of a day, of which 90 of 100 units will be used, and one of a minute in which acme asks for more at once than
/// there is.
fn document() -> Value {
    let budget = |limit: u64, window_ms: u64, sharing: &str| json!({ "limit": limit, "window_ms": window_ms, "sharing": sharing, "scope": "global" });
    let budgets = json!({
        "daily": budget(100, 86_400_000, "first_come"),
        "shared": budget(100, 60_000, "weighted_fair_escrow"),
    });
    let document = with(policy(1, 60_000), "/budgets", budgets);
    let tenants = json!({ "acme": { "weight": 1 }, "hooli": { "weight": 1 } });
    with(document, "/tenants", tenants)
}

async fn start() -> Workerd {
    let setup = Setup::isolates(&REGIONS).witnessed();
    let workerd = setup.start().await.expect("workerd starts");
    workerd
        .apply(&document())
        .await
        .expect("the policy is saved");
    workerd
}

#[test]
fn promtool_finds_no_fault_with_the_rules_and_their_tests_pass() {
    let said = promtool(&["check", "rules", "--lint-fatal", "weir.rules.yml"], "").unwrap();
    assert!(said.contains("SUCCESS"), "{said}");
    promtool(&["test", "rules", "weir.rules.test.yml"], "").unwrap();
    // The control: a rule that is no rule is found.
    let broken = promtool(&["check", "rules", "weir.json"], "");
    assert!(broken.is_err(), "{broken:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promtool_finds_no_fault_with_what_is_scraped() {
    let workerd = start().await;
    let client = workerd.client(0).unwrap();
    for tenant in ["acme", "hooli"] {
        client.check_budget(tenant, "shared", 1).await.unwrap();
    }
    let started = now();
    let text = loop {
        let text = client.get("/metrics").await.unwrap().text();
        if text.contains("weir_budget_admitted_units_total{budget=\"shared\"") {
            break text;
        }
        assert!(started.elapsed() < ALERTED, "{text}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let said = promtool(&["check", "metrics"], &text).unwrap();
    assert_eq!(said, "", "it has remarks:\n{said}\n{text}");
    // The control: it has remarks on what is named otherwise.
    let odd = "# HELP odd_ms Odd.\n# TYPE odd_ms counter\nodd_ms 1\n";
    assert!(promtool(&["check", "metrics"], odd).is_err());
    assert!(text.contains("weir_build_info{version=\""), "{text}");
    assert!(
        text.contains("weir_budget_limit_units{budget=\"daily\"} 100\n"),
        "{text}"
    );
    for region in REGIONS {
        assert!(
            text.contains(&format!("weir_region_up{{region=\"{region}\"}} 1\n")),
            "{text}"
        );
    }
    assert!(
        text.contains("weir_coordinator_up{budget=\"shared\"} 1\n"),
        "{text}"
    );
}

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
        let some = clients[0].check_budget(tenant, "shared", 2).await.unwrap();
        assert!(some.decision.allowed, "{some:?}");
    }
    let some = clients[0].check_budget("acme", "daily", 50).await.unwrap();
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
    assert_eq!(prometheus.firing().await.unwrap(), OrderedSet::new());

    // Nine tenths of the day's budget are used, and a tenant is denied.
    let more = clients[0].check_budget("acme", "daily", 40).await.unwrap();
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
