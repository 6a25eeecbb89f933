//! Whose a request is.

use serde_json::json;
use weir_shared::gateway::address::client;
use weir_shared::gateway::problem::Refusal;
use weir_shared::gateway::tenant::{Tenant, find, of_claim, settled};
use weir_shared::policy::Policy;
use weir_shared::policy::route::Route;

use super::document::{get, policy, read, with};

fn route<'a>(policy: &'a Policy, name: &str) -> &'a Route {
    policy
        .routes
        .iter()
        .find(|route| route.name == name)
        .unwrap()
}

/// What the headers say on a route, then whom it is decided for.
fn tenant(
    policy: &Policy,
    name: &str,
    headers: &[(&str, &str)],
) -> Result<Option<String>, Refusal> {
    let route = route(policy, name);
    get("/", headers).facts(|facts| {
        let source = route.tenant.as_ref().unwrap();
        let address = client(&policy.trusted_proxies, facts);
        settled(route, find(source, policy, facts, address))
    })
}

fn named(name: &str) -> Result<Option<String>, Refusal> {
    Ok(Some(name.to_owned()))
}

#[test]
fn each_source_finds_its_tenant() {
    let policy = policy();
    for (route, headers, expected) in [
        ("chat", ("x-tenant", "acme"), "org:acme"),
        ("chat", ("x-tenant", "  acme  "), "org:acme"),
        ("chat", ("x-tenant", "Zoë 🦀"), "org:Zoë 🦀"),
        ("keyed", ("x-api-key", "abc"), "acme"),
        ("keyed", ("x-api-key", "abd"), "anonymous"),
        ("keyed", ("x-other", "abc"), "anonymous"),
        (
            "addressed",
            ("cf-connecting-ip", "203.0.113.9"),
            "ip:203.0.113.9",
        ),
        (
            "addressed",
            ("cf-connecting-ip", "2a00:1:2:3:4::5"),
            "ip:2a00:1:2:3::/64",
        ),
        ("abroad", ("x-tenant", "acme"), "DE"),
        ("network", ("x-tenant", "acme"), "64500"),
        ("one", ("x-tenant", "acme"), "everyone"),
    ] {
        assert_eq!(
            tenant(&policy, route, &[headers]),
            named(expected),
            "{route} {headers:?}"
        );
    }
}

#[test]
fn an_address_comes_through_proxies_that_the_policy_trusts() {
    let policy = policy();
    let through = |connecting| {
        let headers = [
            ("cf-connecting-ip", connecting),
            ("x-forwarded-for", "203.0.113.9"),
        ];
        tenant(&policy, "addressed", &headers)
    };
    assert_eq!(through("10.0.0.1"), named("ip:203.0.113.9"));
    assert_eq!(through("198.51.100.1"), named("ip:198.51.100.1"));
}

#[test]
fn a_request_without_a_tenant_is_refused_with_a_challenge_unless_the_route_names_one() {
    let policy = policy();
    for headers in [&[][..], &[("x-tenant", "")], &[("x-tenant", "   ")]] {
        let refused = tenant(&policy, "chat", headers).unwrap_err();
        assert_eq!(
            (refused.status, refused.challenge()),
            (401, Some("Bearer")),
            "{headers:?}"
        );
    }
    assert_eq!(tenant(&policy, "addressed", &[]).unwrap_err().status, 401);
    assert_eq!(
        tenant(&policy, "addressed", &[("cf-connecting-ip", "x")])
            .unwrap_err()
            .status,
        401
    );
    assert_eq!(tenant(&policy, "keyed", &[]), named("anonymous"));
    assert_eq!(settled(route(&policy, "nobody"), Tenant::Absent), Ok(None));
}

#[test]
fn what_is_no_tenants_name_is_refused_at_its_header() {
    let policy = policy();
    let long = "x".repeat(125);
    for value in [&long[..], "a\u{7f}b", "acme, other", "acme,"] {
        let refused = tenant(&policy, "chat", &[("x-tenant", value)]).unwrap_err();
        let at = (refused.status, refused.field.as_deref());
        assert_eq!(at, (400, Some("/headers/x-tenant")), "{value}");
    }
    assert!(
        tenant(&policy, "chat", &[("x-tenant", &long[..124])]).is_ok(),
        "128 with its prefix"
    );
    // A client that adds a field to the one that a proxy sets names nobody.
    let twice = [("x-tenant", "acme"), ("x-tenant", "other")];
    assert_eq!(tenant(&policy, "chat", &twice).unwrap_err().status, 400);
}

#[test]
fn a_token_is_found_behind_its_scheme_and_says_nothing_before_it_is_verified() {
    let policy = policy();
    let route = route(&policy, "signed");
    let source = route.tenant.as_ref().unwrap();
    let token = |value: &str| {
        get("/", &[("authorization", value)]).facts(|facts| {
            match find(source, &policy, facts, None) {
                Tenant::Jwt { source, token } => Some((source.issuer.clone(), token)),
                Tenant::Absent => None,
                other => panic!("{other:?}"),
            }
        })
    };
    let issuer = "https://issuer.example.com".to_owned();
    for (value, found) in [
        ("Bearer a.b.c", Some("a.b.c")),
        ("bearer   a.b.c ", Some("a.b.c")),
        ("Basic a.b.c", None),
        ("a.b.c", None),
        ("Bearer ", None),
        ("", None),
    ] {
        let expected = found.map(|found| (issuer.clone(), found.to_owned()));
        assert_eq!(token(value), expected, "{value}");
    }
    let unverified = Tenant::Jwt {
        source: match &source.from {
            weir_shared::policy::route::TenantFrom::Jwt(jwt) => jwt,
            other => panic!("{other:?}"),
        },
        token: "a.b.c".to_owned(),
    };
    assert_eq!(settled(route, unverified).unwrap_err().status, 401);
    let by_claim = |claim| settled(route, of_claim(source, claim));
    assert_eq!(by_claim(Some("acme")), named("acme"));
    assert_eq!(by_claim(Some("")).unwrap_err().status, 401);
    assert_eq!(by_claim(None).unwrap_err().status, 401);
    assert_eq!(by_claim(Some("a\nb")).unwrap_err().status, 400);
}

#[test]
fn an_api_key_in_authorization_is_what_follows_bearer() {
    let source = json!({ "api_key": { "header": "Authorization" } });
    let policy = read(&with("/routes/1/tenant", source)).unwrap();
    let by = |value| tenant(&policy, "keyed", &[("authorization", value)]);
    assert_eq!(by("Bearer abc"), named("acme"));
    assert_eq!(by("abc"), named("anonymous"));
    let long = "x".repeat(2_000);
    assert_eq!(by(&format!("Bearer {long}")), named("anonymous"));
}
