//! The real Prometheus on the real Worker: its own tools find no fault with what is scraped nor with the rules, and alerts
//! fire when something is broken, and not before.

mod alerts;

use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::clock::now;
use weir_tests::fixtures::{policy, with};
use weir_tests::pages::block;
use weir_tests::prometheus::{promtool, rules};
use weir_tests::workerd::{REGIONS, Setup, Workerd};

/// How long an alert may take on a busy machine: what was counted reaches the ledgers, is scraped, recorded and then held
/// for a second.
const ALERTED: Duration = Duration::from_secs(60);

/// A budget of thirty days, which hardly end during a test, of which 90 of 100 units will be used, and one of a minute in
/// which acme asks for more at once than there is.
fn document() -> Value {
    let budget = |limit: u64, window_ms: u64, sharing: &str| json!({ "limit": limit, "window_ms": window_ms, "sharing": sharing, "scope": "global" });
    let budgets = json!({
        "monthly": budget(100, 30 * 86_400_000, "first_come"),
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

#[test]
fn the_configuration_of_the_runbooks_is_one_of_prometheus() {
    let shown = block("docs/src/guides/runbooks.md", "rule_files: ").text;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    std::fs::copy(rules(), folder.path().join("weir.rules.yml")).unwrap();
    let token = write("token", "weir_TOKEN");
    let own = |text: &str| text.replace("/etc/prometheus/weir-token", &token);
    let config = write("prometheus.yml", &own(&shown));
    let said = promtool(&["check", "config", &config], "").unwrap();
    assert!(said.contains("SUCCESS: 1 rule files found"), "{said}");
    // The control: a field that it does not have is found.
    let broken = own(&shown.replace("scrape_interval", "scrape_every"));
    let broken = write("broken.yml", &broken);
    assert!(promtool(&["check", "config", &broken], "").is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn promtool_finds_no_fault_with_what_is_scraped() {
    let workerd = start().await;
    let client = workerd.client(0).unwrap();
    for tenant in ["acme", "hooli"] {
        client.check_budget_once_there(tenant, "shared", 1).await;
    }
    let started = now();
    // A busy machine may not have an answer of each object for a scrape.
    let up = REGIONS.map(|region| format!("weir_region_up{{region=\"{region}\"}} 1\n"));
    let told = [
        "weir_budget_admitted_units_total{budget=\"shared\"",
        "weir_coordinator_up{budget=\"shared\"} 1\n",
    ];
    let told: Vec<&str> = told
        .into_iter()
        .chain(up.iter().map(String::as_str))
        .collect();
    let text = loop {
        let text = client.get("/metrics").await.unwrap().text();
        if told.iter().all(|part| text.contains(part)) {
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
        text.contains("weir_budget_limit_units{budget=\"monthly\"} 100\n"),
        "{text}"
    );
}
