//! `PATCH` of one tenant: it touches the fields that it names, and nothing else of the document.

use crate::document::{policy, with};
use serde_json::{Value, json};
use weir_shared::invalid::read_json;
use weir_shared::policy::Policy;
use weir_shared::policy::patch::{merge, remove};
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::{PolicyDocument, TenantBody};
use weir_shared::wire::tenant::TenantPatch;

fn document() -> PolicyDocument {
    read_json(with("/enforcing", "true").as_bytes()).unwrap()
}

fn patch(body: &Value) -> TenantPatch {
    read_json(body.to_string().as_bytes()).unwrap()
}

fn merged(tenant: &str, body: &Value) -> Result<PolicyDocument, (String, String)> {
    let merged = merge(&document(), tenant, &patch(body));
    merged.map_err(|refused| (refused.field, refused.fault.to_string()))
}

/// The tenant as the document would say it.
fn body(document: &PolicyDocument, tenant: &str) -> Value {
    serde_json::to_value(&document.tenants[tenant]).unwrap()
}

#[test]
fn a_patch_wipes_nothing_that_it_does_not_name() {
    let before = document();
    let fields = [
        ("tier", json!("free")),
        ("weight", json!(3)),
        ("borrow_max", json!(10)),
        ("lend_max", json!("unlimited")),
        ("overrides", json!([])),
    ];
    for (field, value) in fields {
        let after = merged("acme", &json!({ field: value })).unwrap();
        let mut expected = body(&before, "acme");
        expected[field] = value;
        assert_eq!(body(&after, "acme"), expected, "{field}");
        // Nor is anything else of the document another.
        let mut others = after.clone();
        let own: TenantBody = before.tenants["acme"].clone();
        others.tenants.insert("acme".to_owned(), own);
        assert_eq!(others, before, "{field}");
    }
    assert_eq!(merged("acme", &json!({})).unwrap(), before);
}

#[test]
fn null_takes_the_tenants_own_word_away_and_what_is_beneath_counts() {
    let after = merged("acme", &json!({ "weight": null, "overrides": null })).unwrap();
    let mut expected = body(&document(), "acme");
    expected["weight"] = Value::Null;
    expected["overrides"] = json!([]);
    assert_eq!(body(&after, "acme"), expected);
    let weight = |document: &PolicyDocument| {
        let policy = policy(&serde_json::to_string(document).unwrap()).unwrap();
        policy.resolve("acme", EpochMs(0)).unwrap().weight.as_f64()
    };
    assert_eq!((weight(&document()), weight(&after)), (6.0, 2.5));
    let after = merged("acme/web", &json!({ "parent": null, "borrow_max": null })).unwrap();
    let tenant = &after.tenants["acme/web"];
    assert_eq!((&tenant.parent, tenant.borrow_max), (&None, None));
    assert!(tenant.lend_max.is_some());
}

#[test]
fn a_tenant_that_was_not_named_is_named_by_its_first_change() {
    let after = merged("gold:new", &json!({ "weight": 4 })).unwrap();
    let mut others = after.clone();
    let new = others.tenants.remove("gold:new").unwrap();
    assert_eq!(others, document());
    assert_eq!(new.weight.map(|weight| weight.0), Some(4.0));
    let policy = Policy::try_from(&after).unwrap();
    assert_eq!(policy.resolve("gold:new", EpochMs(0)).unwrap().tier, "gold");
}

#[test]
fn why_is_no_part_of_the_tenant() {
    let after = merged("acme", &json!({ "why": "a trial" })).unwrap();
    assert_eq!(after, document());
}

#[test]
fn what_is_wrong_with_a_patch_is_refused_where_it_stands_in_it() {
    let cases = [
        (
            json!({ "weight": 0 }),
            "/weight",
            "0 is outside 0.000001 to 1000000",
        ),
        (
            json!({ "tier": "silver" }),
            "/tier",
            "\"silver\" is not a known tier",
        ),
        (
            json!({ "parent": "nobody" }),
            "/parent",
            "\"nobody\" is not a known tenant of this policy",
        ),
        (
            json!({ "parent": "acme" }),
            "/parent",
            "leads back to itself: \"acme\" > \"acme\"",
        ),
        (
            json!({ "borrow_max": 9_007_199_254_740_992_u64 }),
            "/borrow_max",
            "9007199254740992 is outside 0 to 9007199254740991",
        ),
        (
            json!({ "overrides": [ { "starts_at": 5, "expires_at": 5 } ] }),
            "/overrides/0/expires_at",
            "5 is outside 6 to 9007199254740991",
        ),
        (
            json!({ "overrides": [ { "meters": { "rows": { "per_sec": 0 } } } ] }),
            "/overrides/0/meters/rows/per_sec",
            "0 is outside 0.000000000000001 to 1000000000",
        ),
    ];
    for (body, field, message) in cases {
        let refused = merged("acme", &body);
        assert_eq!(
            refused,
            Err((field.to_owned(), message.to_owned())),
            "{body}"
        );
    }
    // A cycle that closes at another tenant is that one's.
    let refused = merged("acme", &json!({ "parent": "acme/web" })).unwrap_err();
    assert_eq!(refused.0, "/tenants/acme~1web/parent");
}

#[test]
fn a_name_that_is_none_is_refused() {
    for name in ["", "a\nb", &"x".repeat(129)] {
        let refused = merge(&document(), name, &patch(&json!({ "weight": 1 }))).unwrap_err();
        assert_eq!(refused.field, "", "{name:?}");
    }
    assert!(
        merge(
            &document(),
            &"x".repeat(128),
            &patch(&json!({ "weight": 1 }))
        )
        .is_ok()
    );
}

#[test]
fn a_field_that_is_not_known_is_refused_and_never_dropped() {
    for field in ["wieght", "name", "meters", "revision"] {
        let text = json!({ "weight": 1, field: 1 }).to_string();
        let refused = read_json::<TenantPatch>(text.as_bytes()).unwrap_err();
        assert_eq!(refused.field, format!("/{field}"));
    }
    let text = br#"{"overrides":[{"wieght":1}]}"#;
    let refused = read_json::<TenantPatch>(text).unwrap_err();
    assert_eq!(refused.field, "/overrides/0/wieght");
    let refused = read_json::<TenantPatch>(br#"{"weight":"4"}"#).unwrap_err();
    assert_eq!(refused.field, "/weight");
    assert!(read_json::<TenantPatch>(b"[]").is_err());
}

#[test]
fn a_patch_travels_with_its_nulls() {
    for body in [
        json!({}),
        json!({ "tier": null, "overrides": null }),
        json!({ "weight": 2 }),
    ] {
        let patch = patch(&body);
        assert_eq!(serde_json::to_value(&patch).unwrap(), body);
    }
}

#[test]
fn a_tenant_that_is_removed_is_one_like_any_that_is_not_named() {
    let after = remove(&document(), "heavy").unwrap().unwrap();
    assert!(!after.tenants.contains_key("heavy"));
    assert_eq!(after.tenants.len(), document().tenants.len() - 1);
    assert_eq!(remove(&document(), "nobody"), Ok(None));
}

#[test]
fn a_tenant_with_others_below_it_is_not_removed() {
    let refused = remove(&document(), "acme/web").unwrap_err();
    assert_eq!(refused.field, "/tenants/acme~1web~1ann/parent");
}
