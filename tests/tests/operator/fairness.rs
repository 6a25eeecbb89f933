//! The operator's report holds what the driver counted, and the tenant's own view says the same.

use serde_json::{Value, json};
use weir_tests::fixtures::with;

use crate::operator::{FAIRNESS, await_that, decide, decided, document, get, start};

fn tenant<'a>(report: &'a Value, name: &str) -> &'a Value {
    let tenants = report["tenants"].as_array().expect("a list");
    let found = tenants.iter().find(|one| one["tenant"] == name);
    found.unwrap_or(&Value::Null)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_the_tenants_view_and_the_driver_count_the_same() {
    let units = |step: u64| 1 + step % 7;
    let metered = |step| json!({ "tenant": "acme", "meter": "bytes", "cost": units(step) });
    let guarded = json!({ "tenant": "acme", "guard": "queries" });
    let budgeted = json!({ "tenant": "acme", "budget": "tokens", "cost": 5 });
    let metered = (0..40).map(metered).collect::<Vec<_>>();
    let checks = [metered, vec![guarded; 5], vec![budgeted; 10]].concat();
    let (_workerd, client, decisions) = decided(&checks).await;
    let (mut admitted, mut shed) = ([0_u64; 2], [0_u64; 2]);
    for (step, decision) in (0..).zip(&decisions[..40]) {
        let units = units(step);
        let counted = if decision.allowed {
            &mut admitted
        } else {
            &mut shed
        };
        *counted = [counted[0] + 1, counted[1] + units];
    }
    assert!(
        admitted[0] > 0 && shed[0] > 0,
        "both must occur: {admitted:?} {shed:?}"
    );
    let mut slots = [0_u64; 2];
    for decision in &decisions[40..45] {
        slots[usize::from(!decision.allowed)] += 1;
    }
    assert_eq!(slots, [2, 3], "two slots and no more");
    let mut used = 0;
    for decision in &decisions[45..] {
        used += u64::from(decision.allowed) * 5;
    }
    let meter = json!({
        "admitted_calls": admitted[0], "admitted_units": admitted[1],
        "shed_calls": shed[0], "shed_units": shed[1],
    });
    let report = await_that(&client, FAIRNESS, |report| {
        let acme = tenant(report, "acme");
        acme["meters"]["bytes"] == meter && acme["budgets"]["tokens"]["used"] == used
    })
    .await;
    let acme = tenant(&report, "acme");
    let queries = json!({
        "allowed": 2, "rejected_concurrency": 3, "rejected_budget": 0, "rejected_other": 0,
        "in_flight": 2,
    });
    assert_eq!(acme["guards"]["queries"], queries);
    let tokens = &acme["budgets"]["tokens"];
    assert_eq!(
        (&tokens["weight"], &tokens["guarantee"]),
        (&json!(4), &json!(700))
    );
    assert_eq!(acme["effective"]["weight"]["origin"], "tier");
    assert_eq!(acme["overrides"], json!([]));

    let own = get(&client, "/v1/fairness?tenant=acme").await;
    assert_eq!(own["enforcing"], true);
    assert_eq!(own["ingest"]["bytes"], meter);
    assert_eq!(own["queries"], queries);
    assert_eq!(own["budgets"]["tokens"], *tokens);
    assert_eq!(own["policy"]["weight"], acme["effective"]["weight"]);
}

#[tokio::test]
async fn a_report_without_tenants_is_a_list_and_pages_of_one_are_cut_on_the_server() {
    let (_workerd, client) = start(&with(document(), "/tenants", json!({}))).await;
    let empty = get(&client, FAIRNESS).await;
    // Whoever waited for the policy asked in vain for a cost of 0, which is not counted.
    assert_eq!(empty["tenants"], json!([]));
    for tenant in ["a", "b", "c"] {
        decide(
            &client,
            json!({ "tenant": tenant, "budget": "tokens", "cost": 1 }),
        )
        .await;
    }
    let seen = |report: &Value| report["page"]["total"] == 3;
    let page = await_that(
        &client,
        &format!("{FAIRNESS}?page_size=2&sort=-tenant&effective=false"),
        seen,
    )
    .await;
    let names: Vec<&Value> = page["tenants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["tenant"])
        .collect();
    assert_eq!(names, ["c", "b"]);
    assert_eq!(page["tenants"][0]["effective"], Value::Null);
    let found = format!("{FAIRNESS}?search=A");
    await_that(&client, &found, |report| report["page"]["total"] == 1).await;
}
