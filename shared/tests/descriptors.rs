//! What descriptors of Envoy's rate limit service charge, and which rules of them are refused.

use serde_json::{Value, json};

use weir_shared::ordered::OrderedMap;

use crate::document::{policy, whole};

/// The valid document with a table of descriptors.
pub(crate) fn described() -> Value {
    let mut document = whole();
    document["descriptors"] = json!({ "edge": [
        { "entries": [{ "key": "path", "value": "/big" }, { "key": "tenant" }], "tenant_from": "tenant",
          "budget": "tokens", "cost": 5 },
        { "entries": [{ "key": "generic_key" }], "tenant": "acme", "budget": "tokens" }
    ] });
    document
}

/// The same with `literal` at `pointer`.
fn with(pointer: &str, literal: &str) -> String {
    let mut document = described();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let value: Value = serde_json::from_str(literal).unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.insert(name.to_owned(), value)),
        Value::Array(items) => items[name.parse::<usize>().unwrap()] = value,
        other => panic!("{parent} is {other}"),
    }
    document.to_string()
}

#[test]
fn a_rule_of_descriptors_that_cannot_be_is_refused_at_its_field() {
    let rule = "/descriptors/edge/0";
    let entries = format!("{rule}/entries");
    let many = vec![r#"{"key":"k"}"#; 17].join(",");
    for (pointer, literal, field, message) in [
        (
            rule,
            r#"{"tenant":"a","budget":"tokens"}"#,
            entries.as_str(),
            "is required".to_owned(),
        ),
        (
            &entries,
            &format!("[{many}]"),
            &entries,
            "17 entries, at most 16 are allowed".to_owned(),
        ),
        (
            &entries,
            r#"[{"value":"x"}]"#,
            "/descriptors/edge/0/entries/0/key",
            "is required".to_owned(),
        ),
        (
            &entries,
            r#"[{"key":""}]"#,
            "/descriptors/edge/0/entries/0/key",
            "is required".to_owned(),
        ),
        (
            rule,
            r#"{"entries":[{"key":"k"}],"tenant":"a","tenant_from":"k","budget":"tokens"}"#,
            "/descriptors/edge/0/tenant_from",
            "cannot be given together with /tenant".to_owned(),
        ),
        (
            rule,
            r#"{"entries":[{"key":"k"}],"budget":"tokens"}"#,
            "/descriptors/edge/0/tenant",
            "is required".to_owned(),
        ),
        (
            "/descriptors/edge/0/tenant_from",
            r#""other""#,
            "/descriptors/edge/0/tenant_from",
            "\"other\" is not a known key of this rule's entries".to_owned(),
        ),
        (
            "/descriptors/edge/0/budget",
            r#""nothing""#,
            "/descriptors/edge/0/budget",
            "\"nothing\" is not a known budget of this policy".to_owned(),
        ),
        (
            "/descriptors/edge/0/budget",
            r#""calls""#,
            "/descriptors/edge/0/budget",
            "calls is not served; served: a budget of scope region or global, which agents lease"
                .to_owned(),
        ),
        (
            "/descriptors/edge/0/cost",
            "0",
            "/descriptors/edge/0/cost",
            "0 is outside 1 to 9007199254740991".to_owned(),
        ),
        (
            "/descriptors/edge/1/entries",
            r#"[{"key":"path","value":"/big"},{"key":"tenant"}]"#,
            "/descriptors/edge/1/entries",
            "\"the entries of rule 0\" is given twice".to_owned(),
        ),
    ] {
        let text = with(pointer, literal);
        let refused = policy(&text).map(|_| "admitted");
        assert_eq!(
            refused,
            Err((field.to_owned(), message)),
            "{pointer} {literal}"
        );
    }
    let domains: OrderedMap<String, Vec<Value>> =
        (0..65).map(|n| (format!("d{n}"), Vec::new())).collect();
    let refused = policy(&with("/descriptors", &json!(domains).to_string())).map(|_| "admitted");
    let message = "65 domains, at most 64 are allowed".to_owned();
    assert_eq!(refused, Err(("/descriptors".to_owned(), message)));
    let rules = |count: usize| {
        let rule = |n: usize| json!({ "entries": [{ "key": format!("k{n}") }], "tenant": "a", "budget": "tokens" });
        let rules: Vec<Value> = (0..count).map(rule).collect();
        policy(&with("/descriptors", &json!({ "edge": rules }).to_string())).map(|_| "admitted")
    };
    assert_eq!(rules(1_024), Ok("admitted"));
    let message = "1025 rules, at most 1024 are allowed".to_owned();
    assert_eq!(rules(1_025), Err(("/descriptors".to_owned(), message)));
}

#[test]
fn the_first_rule_that_fits_says_what_a_descriptor_charges() {
    let policy = policy(&described().to_string()).unwrap();
    let found = |domain: &str, entries: &[(&'static str, &'static str)]| {
        let found = policy.descriptors.find(domain, entries)?;
        Some((found.tenant.to_owned(), found.budget.to_owned(), found.cost))
    };
    let charges = |tenant: &str, cost| Some((tenant.to_owned(), "tokens".to_owned(), cost));
    assert_eq!(
        found("edge", &[("path", "/big"), ("tenant", "x")]),
        charges("x", 5)
    );
    assert_eq!(
        found("edge", &[("generic_key", "anything")]),
        charges("acme", 1)
    );
    for entries in [
        &[("path", "/small"), ("tenant", "x")][..],
        &[("path", "/big")],
        &[("tenant", "x"), ("path", "/big")],
        &[("path", "/big"), ("tenant", "x"), ("more", "y")],
        &[],
    ] {
        assert_eq!(found("edge", entries), None, "{entries:?}");
    }
    assert_eq!(found("other", &[("generic_key", "anything")]), None);
    let dear = policy
        .descriptors
        .find("edge", &[("path", "/big"), ("tenant", "x")])
        .unwrap();
    assert_eq!(
        dear.cost_of(u64::MAX),
        9_007_199_254_740_991,
        "no cost is above the largest"
    );
}
