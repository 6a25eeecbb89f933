//! Whose a request is.

use std::future::ready;

use futures_util::{StreamExt, stream};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use weir_shared::limits::{CALLER_PART, HOLDERS_ISOLATE_MAX, OWNER_PART};
use weir_tests::fixtures::{KEY_OF_ACME, gcra, with};
use weir_tests::origin::Echo;
use weir_tests::reply::Reply;
use weir_tests::workerd::{PLATFORM_HEADER, Setup};

use crate::gateway::{Gateway, LONG_MS, TENANT, one_token, route};

/// Requests that count under an address are admitted this often.
const BURST: usize = 3;

async fn ask(gateway: &Gateway, headers: &[(&str, &str)]) -> Reply {
    gateway.send(request(gateway, headers)).await
}

fn request(gateway: &Gateway, headers: &[(&str, &str)]) -> RequestBuilder {
    let request = gateway.client.request(Method::GET, "/echo");
    let add = |request: RequestBuilder, (name, value): &(&str, &str)| request.header(*name, *value);
    headers.iter().fold(request, add)
}

/// A route that finds its tenant so, and a limit of three a day for each tenant.
fn found(document: Value, origin: &str, source: Value) -> Value {
    let limit = with(
        gcra(3, 24 * 3_600_000, BURST as u64),
        "/per_tenant",
        json!(true),
    );
    let document = with(document, "/limits/each", limit);
    let mut route = route(origin, json!([{ "limit": "each" }]));
    route["tenant"] = source;
    with(document, "/routes", json!([route]))
}

#[tokio::test]
async fn a_request_without_a_tenant_is_refused_or_counts_as_the_one_that_the_route_names() {
    let gateway = Gateway::start(one_token()).await;
    for headers in [&[][..], &[(TENANT, "")], &[(TENANT, "  ")]] {
        let reply = ask(&gateway, headers).await;
        assert_eq!(reply.status, 401, "{headers:?}");
        reply.problem().unwrap();
    }
    assert_eq!(gateway.origin.served(), 0);

    let gateway = Gateway::with_policy(|document, origin| {
        let document = found(document, origin, json!({ "header": TENANT }));
        with(
            document,
            "/routes/0/absent_tenant",
            json!({ "as": "free:anonymous" }),
        )
    })
    .await;
    for _ in 0..BURST {
        assert_eq!(ask(&gateway, &[]).await.status, 200);
    }
    assert_eq!(ask(&gateway, &[]).await.status, 429, "they share one name");
    assert_eq!(ask(&gateway, &[(TENANT, "pro:a")]).await.status, 200);
    let named = ask(&gateway, &[(TENANT, "free:anonymous")]).await;
    assert_eq!(named.status, 429);
}

#[tokio::test]
async fn an_api_key_is_known_by_its_hash_alone() {
    let gateway = Gateway::with_policy(|document, origin| {
        let document = with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }));
        found(
            document,
            origin,
            json!({ "api_key": { "header": "x-api-key" } }),
        )
    })
    .await;
    for _ in 0..BURST {
        let reply = ask(&gateway, &[("x-api-key", "key-of-acme")]).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    assert_eq!(
        ask(&gateway, &[("x-api-key", "key-of-acme")]).await.status,
        429
    );
    for wrong in ["key-of-acm", "KEY-OF-ACME", "pro:acme", ""] {
        assert_eq!(
            ask(&gateway, &[("x-api-key", wrong)]).await.status,
            401,
            "{wrong}"
        );
    }
}

#[tokio::test]
async fn a_forged_forwarding_header_does_not_make_a_client_another() {
    let gateway = Gateway::with_policy(|document, origin| {
        let source = json!({ "client_address": {}, "prefix": "ip:" });
        let document = found(document, origin, source);
        with(document, "/trusted_proxies", json!(["10.0.0.0/8"]))
    })
    .await;
    let connecting = "cf-connecting-ip";
    for number in 0..BURST + 2 {
        let forged = format!("198.51.100.{number}");
        let headers = [
            (connecting, "203.0.113.7"),
            ("x-forwarded-for", &forged),
            ("x-real-ip", &forged),
            ("forwarded", &format!("for={forged}")),
            ("true-client-ip", &forged),
        ];
        let due = if number < BURST { 200 } else { 429 };
        assert_eq!(ask(&gateway, &headers).await.status, due, "{number}");
    }
    // Behind a proxy that the policy trusts, what that proxy saw counts, and what its client wrote does not.
    for number in 0..BURST + 2 {
        let chain = format!("198.51.100.{number}, 192.0.2.9, 10.0.0.2");
        let headers = [(connecting, "10.0.0.1"), ("x-forwarded-for", &chain)];
        let due = if number < BURST { 200 } else { 429 };
        let reply = ask(&gateway, &headers).await;
        assert_eq!(reply.status, due, "{number}: {}", reply.text());
    }
    let other = [(connecting, "10.0.0.1"), ("x-forwarded-for", "192.0.2.10")];
    let echo: Echo = ask(&gateway, &other).await.ok().unwrap();
    let told = &echo.headers["x-forwarded-for"];
    assert!(!told.contains("198.51.100"), "{told}");
    assert_eq!(
        ask(&gateway, &[]).await.status,
        401,
        "an address that nobody knows"
    );
}

#[tokio::test]
async fn countries_and_networks_are_the_platform_s_word() {
    let setup = || Setup::isolates(&["weur"]).platform_header();
    for (source, one, other) in [
        (
            "country",
            json!({ "country": "NL" }),
            json!({ "country": "DE" }),
        ),
        ("asn", json!({ "asn": 64_500 }), json!({ "asn": 64_501 })),
    ] {
        let gateway = Gateway::of(setup(), |document, origin| {
            found(document, origin, json!({ source: {}, "prefix": "from:" }))
        })
        .await;
        let (one, other) = (one.to_string(), other.to_string());
        for _ in 0..BURST {
            let reply = ask(&gateway, &[(PLATFORM_HEADER, &one)]).await;
            assert_eq!(reply.status, 200, "{source}: {}", reply.text());
        }
        assert_eq!(ask(&gateway, &[(PLATFORM_HEADER, &one)]).await.status, 429);
        assert_eq!(
            ask(&gateway, &[(PLATFORM_HEADER, &other)]).await.status,
            200
        );
        let forged = [("cf-ipcountry", "FR"), ("x-asn", "64502")];
        assert_eq!(ask(&gateway, &forged).await.status, 401, "{source}");
    }
}

#[tokio::test]
async fn a_tenant_that_the_policy_puts_in_no_tier_is_refused() {
    let gateway = Gateway::with_policy(|document, origin| {
        let document = with(document, "/default_tier", Value::Null);
        with(document, "/routes", json!([route(origin, one_token())]))
    })
    .await;
    let reply = gateway.get("/x", "stranger").await;
    assert_eq!(reply.status, 403, "{}", reply.text());
    assert_eq!(reply.problem().unwrap().kind, "/problems/unknown-tenant");
    assert_eq!(gateway.origin.served(), 0);
    assert_eq!(gateway.get("/x", "pro:a").await.status, 200);
}

/// As many addresses as fill the part of a route, each with as many keys as an isolate keeps for one.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_the_policy_names_is_served_by_its_header_though_strangers_have_filled_the_route()
 {
    const STRANGERS: usize = CALLER_KEYS / OWNER_KEYS;
    const CALLER_KEYS: usize = HOLDERS_ISOLATE_MAX / CALLER_PART;
    const OWNER_KEYS: usize = HOLDERS_ISOLATE_MAX / OWNER_PART;
    let gateway = Gateway::with_policy(|document, origin| {
        let each = json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": LONG_MS, "scope": "global", "per_tenant": true });
        let document = with(document, "/limits/each", each);
        let document = with(document, "/tenants", json!({ "pro:known": { "weight": 1 } }));
        let mut route = route(origin, json!([{ "limit": "each" }]));
        route["tenant"] = json!({ "header": TENANT });
        with(document, "/routes", json!([route]))
    })
    .await;
    let ask_once = async |tenant: &str, address: &str| {
        let headers = [(TENANT, tenant), ("cf-connecting-ip", address)];
        let request = request(&gateway, &headers);
        gateway.send_once(request).await.status
    };
    // Whether there is no room for a name or an answer was late cannot be told: thrice in a row it is not late.
    let strange = async |tenant: &str, address: &str| {
        for _ in 0..2 {
            let status = ask_once(tenant, address).await;
            if status != 503 {
                return status;
            }
        }
        ask_once(tenant, address).await
    };
    // The policy's own tenant is asked for until it is decided.
    let known = async || {
        let headers = [(TENANT, "pro:known"), ("cf-connecting-ip", "198.51.100.2")];
        ask(&gateway, &headers).await.status
    };
    let invented = (0..STRANGERS * OWNER_KEYS).map(|key| (key, key % STRANGERS));
    let admitted = stream::iter(invented)
        .map(async |(key, address)| {
            strange(&format!("x:{key}"), &format!("203.0.113.{address}")).await
        })
        .buffer_unordered(16)
        .filter(|status| ready(*status == 200))
        .count()
        .await;
    assert!(
        admitted * 10 >= CALLER_KEYS * 9,
        "{admitted} of {CALLER_KEYS}: it is not filled"
    );
    assert_eq!(
        strange("x:late", "198.51.100.1").await,
        503,
        "the control: a name that nobody knows"
    );
    for _ in 0..5 {
        assert_eq!(known().await, 200);
    }
    assert_eq!(known().await, 429);
}
