//! The policy document: what it resolves to, what may be left out, and that it survives a round trip.

use crate::document::{policy, whole, with};
use serde_json::{Value, json};
use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::scale::Scaled;
use weir_shared::invalid::read_json;
use weir_shared::policy::Policy;
use weir_shared::policy::limit::{Rule, Single};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::policy::{HeaderDialect, PolicyDocument, Reserve, Scope};

const SHIPPED: &str = include_str!("../../policy.json");

#[test]
fn the_shipped_policy_is_valid() {
    let policy = policy(SHIPPED).unwrap();
    assert_eq!(policy.home, "enam");
    assert_eq!(policy.regions.len(), 6);
    let terms = policy
        .terms("tokens", "weur", Revision(3), EpochMs(0))
        .unwrap();
    assert_eq!(
        (terms.limit, terms.window_ms, terms.revision),
        (30_000, 60_000, Revision(3))
    );
    assert_eq!(policy.limits["per_ip"].rule, shipped_rule());
    assert_eq!(policy.headers, HeaderDialect::Ietf);
    let tiers = [
        ("enterprise:a", 4.0),
        ("pro:a", 2.0),
        ("free:a", 1.0),
        ("a", 1.0),
    ];
    for (tenant, weight) in tiers {
        let resolved = policy.resolve(tenant, EpochMs(0)).unwrap();
        assert_eq!(resolved.weight.as_f64(), weight, "{tenant}");
    }
}

/// 100 a minute, 20 at once.
fn shipped_rule() -> Rule {
    let gcra = Algorithm::Gcra(Gcra::new(100, 60_000, 20).unwrap());
    Rule::Single(Single {
        machine: Scaled::new(&gcra, 1).unwrap(),
        scope: Scope::Region,
    })
}

#[test]
fn what_is_not_asked_for_is_pooled_by_default_where_a_window_has_time_to_correct_it() {
    let reserve = |window_ms: u64, sharing: &str| {
        let body =
            json!({ "limit": 7, "window_ms": window_ms, "sharing": sharing, "scope": "global" });
        policy_of("/budgets/bare", &body.to_string()).budgets["bare"].reserve
    };
    assert_eq!(reserve(9_999, "weighted_fair_escrow"), Reserve::Pinned);
    assert_eq!(reserve(10_000, "weighted_fair_escrow"), Reserve::Pooled);
    assert_eq!(reserve(10_000, "first_come"), Reserve::Pinned);
}

#[test]
fn what_may_be_left_out_has_a_default() {
    let document: PolicyDocument = read_json(br#"{"regions":["weur","enam"]}"#).unwrap();
    let policy = Policy::try_from(&document).unwrap();
    assert!(policy.enforcing);
    assert_eq!(policy.home, "weur");
    assert_eq!(policy.resolve("acme", EpochMs(0)), None);
    assert_eq!(policy.headers, HeaderDialect::Ietf);
    assert_eq!(
        policy_of("/enforcing", "true").headers,
        HeaderDialect::XRatelimit
    );
    assert!(!policy_of("/budgets/tokens/shadow", "").budgets["tokens"].shadow);
    assert_eq!(policy.tenants_max, 100_000);
    assert_eq!(policy.unknown_weight_max.as_f64(), 8.0);
    let mut bare = json!({ "limit": 7, "window_ms": 1000, "sharing": "weighted_fair_escrow", "scope": "global" });
    let budget = |body: &Value| policy_of("/budgets/bare", &body.to_string()).budgets["bare"];
    let short = budget(&bare);
    bare["reserve"] = json!("pinned");
    bare["outage"] = json!("fail_closed");
    bare["lease"] = json!("auto");
    bare["shadow"] = json!(false);
    bare["on_unavailable"] = json!("deny");
    assert_eq!(short, budget(&bare));
}

fn policy_of(pointer: &str, literal: &str) -> Policy {
    policy(&with(pointer, literal)).unwrap()
}

#[test]
fn a_tenant_resolves_by_its_own_word_then_by_rule_then_by_default() {
    let mut document = whole();
    document["tenants"]["gold:own"] = json!({ "weight": 9 });
    let resolves = |document: &Value, tenant: &str| {
        let policy = policy(&document.to_string()).unwrap();
        let resolved = policy.resolve(tenant, EpochMs(0));
        resolved.map(|resolved| (resolved.tier.to_owned(), resolved.weight.micros()))
    };
    let cases = [
        ("acme", "gold", 6_000_000),         // its own tier and weight
        ("gold:late", "free", 1_000_000),    // its own tier before the rule's
        ("gold:own", "gold", 9_000_000),     // its own weight, the rule's tier
        ("heavy", "free", 1),                // its own weight, the default tier
        ("gold:new", "gold", 2_500_000),     // by rule
        ("gold:trial:x", "gold", 2_500_000), // by the first rule that matches
        ("gold", "free", 1_000_000),         // no prefix, so by default
        ("Gold:new", "free", 1_000_000),     // case counts
    ];
    for (tenant, tier, micros) in cases {
        assert_eq!(
            resolves(&document, tenant),
            Some((tier.to_owned(), micros)),
            "{tenant}"
        );
    }
    document["default_tier"] = Value::Null;
    assert_eq!(resolves(&document, "stranger"), None);
    assert_eq!(
        resolves(&document, "heavy"),
        None,
        "a weight alone is no tier"
    );
    assert!(resolves(&document, "acme").is_some() && resolves(&document, "gold:new").is_some());
}

#[test]
fn a_document_survives_serialising_and_parsing() {
    for text in [SHIPPED.to_owned(), whole().to_string(), "{}".to_owned()] {
        let document: PolicyDocument = read_json(text.as_bytes()).unwrap();
        let written = serde_json::to_string(&document).unwrap();
        assert_eq!(
            read_json::<PolicyDocument>(written.as_bytes()),
            Ok(document)
        );
    }
    // What was written out comes back as it was written, whole weights without decimals.
    let document: PolicyDocument = read_json(whole().to_string().as_bytes()).unwrap();
    let mut written = serde_json::to_value(&document).unwrap();
    for (name, tenant) in written["tenants"].as_object_mut().unwrap() {
        let given = whole()["tenants"][name].clone();
        tenant
            .as_object_mut()
            .unwrap()
            .retain(|field, _| given.get(field).is_some());
    }
    assert_eq!(written, whole());
}

#[test]
fn the_answered_form_has_every_top_level_key() {
    let empty = serde_json::to_value(PolicyDocument::default()).unwrap();
    let keys: Vec<&String> = empty.as_object().unwrap().keys().collect();
    let expected = [
        "allow_private_origins",
        "api_keys",
        "budgets",
        "default_tier",
        "enforcing",
        "guards",
        "home",
        "limits",
        "meters",
        "overload",
        "rate_limit_headers",
        "regions",
        "routes",
        "tenants",
        "tenants_max",
        "tier_rules",
        "tiers",
        "trusted_proxies",
        "unknown_weight_max",
        "unrouted",
    ];
    assert_eq!(keys, expected);
}
