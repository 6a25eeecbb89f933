//! What a policy says of the gateway is answered as it was saved.

use proptest::prelude::*;
use serde_json::json;
use weir_shared::invalid::read_json;
use weir_shared::policy::Policy;
use weir_shared::policy::route::{
    AbsentTenant, Cost, KeySources, RouteTarget, TenantFrom, Unrouted,
};
use weir_shared::wire::policy::PolicyDocument;

use super::document::{policy, read, whole};

#[test]
fn a_policy_with_routes_is_answered_with_every_field_that_was_saved() {
    let document: PolicyDocument = read_json(whole().to_string().as_bytes()).unwrap();
    let answered = serde_json::to_value(&document).unwrap();
    for (key, saved) in whole().as_object().unwrap() {
        assert_eq!(&answered[key], saved, "{key}");
    }
    let text = answered.to_string();
    assert_eq!(read_json::<PolicyDocument>(text.as_bytes()), Ok(document));
}

#[test]
fn a_document_from_before_the_gateway_reads_as_one_without_routes() {
    let before = json!({
        "enforcing": true, "regions": ["weur"], "home": null, "tiers": {}, "tier_rules": [],
        "default_tier": null, "tenants_max": 100, "unknown_weight_max": 8, "tenants": {},
        "budgets": {}, "limits": {}, "meters": {}, "guards": {}, "overload": {}, "routes": [],
        "rate_limit_headers": "ietf"
    });
    let policy = read(&before).unwrap();
    assert_eq!(policy.unrouted, Unrouted::Refuse);
    assert!(policy.routes.is_empty() && policy.trusted_proxies.is_empty());
    assert!(policy.api_keys.is_empty() && policy.overload.is_empty());
    let document: PolicyDocument = read_json(before.to_string().as_bytes()).unwrap();
    let answered = serde_json::to_value(&document).unwrap();
    assert_eq!(answered["unrouted"], "refuse");
    assert_eq!(answered["trusted_proxies"], json!([]));
    assert_eq!(answered["api_keys"], json!({}));
}

#[test]
fn what_a_route_leaves_out_is_as_documented() {
    let policy = policy();
    let [chat, keyed, signed, .., nobody, _, list] = &policy.routes[..] else {
        panic!("{:?}", policy.routes);
    };
    assert!(chat.shadow && !keyed.shadow);
    assert!(keyed.methods.is_empty(), "all");
    assert_eq!(keyed.origin().unwrap().timeout_ms, 30_000);
    assert!(keyed.models.is_empty(), "all");
    assert!(list.methods.is_empty() && list.origin().is_none());
    assert_eq!(
        keyed.absent_tenant,
        AbsentTenant::As("anonymous".to_owned())
    );
    assert_eq!(signed.absent_tenant, AbsentTenant::Refuse);
    assert_eq!(
        signed.checks[0].cost,
        Cost::BodyBytes { per: 1, reserve: 1 }
    );
    assert_eq!(nobody.tenant, None);
    assert_eq!(nobody.checks[0].cost, Cost::Units(1));
    let mut short = whole();
    short["routes"][2]["tenant"] = json!({ "jwt": {
        "issuer": "i", "audience": "a", "jwks_url": "http://localhost:1/keys"
    } });
    let TenantFrom::Jwt(jwt) = read(&short).unwrap().routes.remove(2).tenant.unwrap().from else {
        panic!("not a token");
    };
    assert_eq!(
        (jwt.header.as_str(), jwt.claim.as_str()),
        ("authorization", "sub")
    );
    let RouteTarget::Limit { keys, .. } = &chat.checks[3].target else {
        panic!("{:?}", chat.checks[3]);
    };
    assert_eq!(*keys, KeySources::None, "its tenant is its key");
}

proptest! {
    #[test]
    fn no_text_in_the_place_of_any_word_makes_a_document_that_is_saved_otherwise(
        place in 0_usize..12, text in "[ -~é\u{0}]{0,20}",
    ) {
        let places = [
            "/routes/0/name", "/routes/0/host", "/routes/0/path", "/routes/0/methods/0",
            "/routes/0/tenant/header", "/routes/0/tenant/prefix", "/routes/0/origin/url",
            "/routes/0/checks/0/cost/response_header", "/routes/1/absent_tenant/as",
            "/routes/2/tenant/jwt/jwks_url", "/unrouted/forward/url", "/trusted_proxies/0",
        ];
        let mut document = whole();
        *document.pointer_mut(places[place]).unwrap() = json!(text);
        let read = read_json::<PolicyDocument>(document.to_string().as_bytes()).unwrap();
        match Policy::try_from(&read) {
            Ok(_) => {
                let answered = serde_json::to_value(&read).unwrap();
                prop_assert_eq!(answered.pointer(places[place]), Some(&json!(text)));
            }
            Err(refused) => prop_assert!(
                refused.field.starts_with(places[place]), "{} for {}", refused.field, places[place]
            ),
        }
    }
}
