//! What is no claim to a share: weights, tenants above tenants, bounds of borrowing, and what depends on the pair of
//! sharing and scope.

use serde_json::{Value, json};
use weir_shared::limits::{TENANT_DEPTH_MAX, WEIGHTS_MAX};
use weir_tests::fixtures::with;

use crate::bad_input::{CHECK, assert_left_of_budget, assert_problem, deployment, state, still};

/// The good policy, with a shared budget and two teams of a company.
fn shared() -> Value {
    let escrow = json!({
        "limit": 100, "window_ms": 60_000, "sharing": "weighted_fair_escrow", "scope": "global",
        "reserve": "paced", "outage": "regional_only", "lease": { "min": 2, "max": 20 },
    });
    let tenants = json!({
        "acme": { "weight": 6, "lend_max": "unlimited" },
        "acme/web": { "weight": 2, "parent": "acme", "borrow_max": 10, "lend_max": 0 },
        "acme/batch": { "tier": "free", "parent": "acme", "borrow_max": "unlimited" },
    });
    let budgets = json!({ "tokens": still()["budgets"]["tokens"], "escrow": escrow });
    with(with(still(), "/budgets", budgets), "/tenants", tenants)
}

/// A pointer, and what stands there instead, as JSON text that need not be valid. The pointer is the field at fault.
const BAD_VALUES: &[(&str, &[&str])] = &[
    (
        "/tenants/acme/weight",
        &[
            "0",
            "-1",
            "-0.5",
            "1000000.000001",
            "1e7",
            "0.1234567",
            "NaN",
            "\"NaN\"",
            "\"6\"",
            "Infinity",
            "1e999",
            "[6]",
            "true",
        ],
    ),
    (
        "/tiers/free/weight",
        &["0", "-2", "NaN", "\"NaN\"", "0.0000001"],
    ),
    ("/unknown_weight_max", &["0", "-1", "\"NaN\"", "1000001"]),
    ("/tenants_max", &["0", "1.5", "\"many\"", "1000001"]),
    (
        "/tenants/acme~1web/borrow_max",
        &[
            "-1",
            "1.5",
            "\"5\"",
            "\"none\"",
            "NaN",
            "9007199254740992",
            "true",
            "[]",
        ],
    ),
    (
        "/tenants/acme~1web/lend_max",
        &["-1", "0.5", "\"all\"", "1e999", "9007199254740992"],
    ),
    (
        "/tenants/acme~1web/parent",
        &["\"nobody\"", "\"ACME\"", "\"acme/web\"", "7", "[\"acme\"]"],
    ),
    ("/tenants/acme/tier", &["\"platinum\"", "1"]),
    ("/tenants/acme/wieght", &["1"]),
    ("/budgets/escrow/reserve", &["\"loose\"", "1", "true"]),
    ("/budgets/escrow/outage", &["\"open\"", "false"]),
    (
        "/budgets/escrow/lease",
        &["\"manual\"", "7", "[1,16]", "\"\""],
    ),
    (
        "/budgets/escrow/lease/min",
        &["0", "21", "-1", "1.5", "\"1\"", "null"],
    ),
    // A lease of more than the limit is more than there is.
    (
        "/budgets/escrow/lease/max",
        &["0", "101", "-1", "1e999", "null"],
    ),
    ("/budgets/escrow/lease/most", &["1"]),
    ("/budgets/escrow/scope", &["\"planet\"", "\"Global\""]),
    (
        "/budgets/escrow/sharing",
        &["\"fair\"", "\"static_partition \""],
    ),
];

/// The policy with `text` at `pointer`, whose steps may be escaped.
fn body(pointer: &str, text: &str) -> String {
    let mut document = shared();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let member = name.replace("~1", "/").replace("~0", "~");
    let parent = document.pointer_mut(parent).expect("a parent");
    // A placeholder is JSON until it is replaced in the text.
    parent[member] = json!("@value@");
    document.to_string().replace("\"@value@\"", text)
}

#[tokio::test]
async fn a_bad_claim_names_the_field_and_changes_nothing() {
    let (_workerd, client) = deployment().await;
    let before = state(&client).await;
    let etag = Some(before.policy.etag.as_str());
    for (pointer, texts) in BAD_VALUES {
        for text in *texts {
            let reply = client
                .put_policy_bytes(body(pointer, text), etag)
                .await
                .unwrap();
            assert_problem(&format!("{pointer} = {text}"), &reply, 400, Some(pointer));
        }
    }
    assert_eq!(state(&client).await, before);
    assert_left_of_budget(&client, 100).await;
    // The control: what was not spoilt is a policy.
    let saved = client.save_policy(&shared()).await.unwrap();
    assert_eq!(saved.document["tenants"]["acme/web"], shared_with_nulls());
}

/// As `acme/web` is answered: what it does not have is null.
fn shared_with_nulls() -> Value {
    json!({ "tier": null, "weight": 2, "parent": "acme", "borrow_max": 10, "lend_max": 0, "overrides": [] })
}

/// Tenants of which each has the next one above it.
fn line(names: &[&str]) -> Value {
    let pairs = names.windows(2).map(|pair| (pair[0], Some(pair[1])));
    let top = names.last().map(|last| (*last, None));
    let tenants = pairs
        .chain(top)
        .map(|(name, parent)| (name.to_owned(), json!({ "parent": parent })));
    Value::Object(tenants.collect())
}

#[tokio::test]
async fn nobody_is_above_itself_and_there_is_a_bound_to_levels() {
    let (_workerd, client) = deployment().await;
    let before = state(&client).await;
    let etag = Some(before.policy.etag.as_str());
    let cycle = |parents: &[(&str, &str)]| {
        let tenants = parents
            .iter()
            .map(|(name, parent)| ((*name).to_owned(), json!({ "parent": parent })));
        Value::Object(tenants.collect())
    };
    // A cycle is refused where it closes, in the order of names.
    let cases = [
        (cycle(&[("a", "a")]), "/tenants/a/parent"),
        (cycle(&[("a", "b"), ("b", "a")]), "/tenants/b/parent"),
        (
            cycle(&[("a", "b"), ("b", "c"), ("c", "a")]),
            "/tenants/c/parent",
        ),
        (
            cycle(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]),
            "/tenants/d/parent",
        ),
        (line(&["l0", "l1", "l2", "l3", "l4"]), "/tenants/l0/parent"),
    ];
    for (tenants, field) in cases {
        let candidate = with(still(), "/tenants", tenants.clone());
        let reply = client.put_policy(&candidate, etag).await.unwrap();
        assert_problem(&tenants.to_string(), &reply, 400, Some(field));
    }
    assert_eq!(state(&client).await, before);
    let deepest = ["l0", "l1", "l2", "l3"];
    assert_eq!(deepest.len(), TENANT_DEPTH_MAX);
    let document = with(still(), "/tenants", line(&deepest));
    client.save_policy(&document).await.unwrap();
}

/// A parent needs a weight of its own: of a tier that the policy gives to nobody it has none.
#[tokio::test]
async fn a_parent_without_a_tier_is_refused() {
    let (_workerd, client) = deployment().await;
    let before = state(&client).await;
    let tenants = json!({ "acme": {}, "acme/web": { "tier": "pro", "parent": "acme" } });
    let candidate = with(
        with(still(), "/tenants", tenants),
        "/default_tier",
        Value::Null,
    );
    let reply = client
        .put_policy(&candidate, Some(&before.policy.etag))
        .await
        .unwrap();
    assert_problem("no tier", &reply, 400, Some("/tenants/acme~1web/parent"));
    assert_eq!(state(&client).await, before);
}

#[tokio::test]
async fn weights_have_a_bound_and_every_region_a_slice() {
    let (_workerd, client) = deployment().await;
    let before = state(&client).await;
    let etag = Some(before.policy.etag.as_str());
    let tenants = |count: usize| {
        // The tiers have weights of 1, 2 and 4.
        let tenants = (0..count).map(|nth| (format!("t{nth}"), json!({ "weight": 5 + nth })));
        with(still(), "/tenants", Value::Object(tenants.collect()))
    };
    let many = client
        .put_policy(&tenants(WEIGHTS_MAX - 2), etag)
        .await
        .unwrap();
    assert_problem("weights", &many, 400, Some("/tenants"));
    let sliced = |limit: u64| {
        let body = json!({ "limit": limit, "window_ms": 60_000, "sharing": "static_partition", "scope": "global" });
        with(still(), "/budgets/sliced", body)
    };
    let small = client.put_policy(&sliced(5), etag).await.unwrap();
    assert_problem("slices", &small, 400, Some("/budgets/sliced/limit"));
    assert_eq!(state(&client).await, before);
    client.save_policy(&tenants(WEIGHTS_MAX - 3)).await.unwrap();
    client.save_policy(&sliced(6)).await.unwrap();
}

/// Who is not known and has no tier to fall back to is refused, in every form of a question.
#[tokio::test]
async fn a_tenant_without_a_tier_is_refused_and_not_charged() {
    let (workerd, client) = deployment().await;
    let document = with(
        with(still(), "/default_tier", Value::Null),
        "/tenants",
        json!({}),
    );
    workerd
        .apply(&with(
            document,
            "/tenants/free:probe",
            json!({ "tier": "free" }),
        ))
        .await
        .unwrap();
    for tenant in ["stranger", "prox", "Pro:a"] {
        let short = json!({ "tenant": tenant, "budget": "tokens", "cost": 3 });
        let long = json!({ "tenant": tenant, "checks": [{ "budget": "tokens" }, { "limit": "per_ip", "key": "kept" }] });
        for check in [short, long] {
            let reply = client.post(CHECK, &check).await.unwrap();
            assert_problem(&check.to_string(), &reply, 404, Some("/tenant"));
        }
    }
    assert_left_of_budget(&client, 100).await;
}
