//! What a request was, as a proxy says.

use reqwest::Method;
use serde_json::{Value, json};
use weir_tests::fixtures::{gcra, with};

use crate::authorize::{AUTHORIZE, Door, TENANT, one_token, route};

/// Routes by host, method and path, each charging what its name says.
fn routes() -> Value {
    let costing = |name: &str, path: &str, cost: u64| {
        route(name, path, json!([{ "budget": "tokens", "cost": cost }]))
    };
    let mut host = costing("host", "/*", 100);
    host["host"] = json!("api.example.com");
    let mut posts = costing("posts", "/items/*", 10);
    posts["methods"] = json!(["POST"]);
    json!([
        host,
        posts,
        costing("items", "/items/*", 1),
        route("free", "/free", json!([]))
    ])
}

#[tokio::test]
async fn a_request_is_taken_by_its_method_host_and_path_whatever_proxy_describes_it() {
    let door = Door::with_routes(routes()).await;
    let mut left = 1_000;
    for (method, path, fields, cost) in [
        (
            Method::GET,
            AUTHORIZE,
            &[("x-forwarded-uri", "/items/1")][..],
            1,
        ),
        (
            Method::GET,
            AUTHORIZE,
            &[("x-forwarded-uri", "/items/1?x=/free")],
            1,
        ),
        (
            Method::GET,
            AUTHORIZE,
            &[("x-forwarded-uri", "/free/../items/1")],
            1,
        ),
        (
            Method::GET,
            AUTHORIZE,
            &[
                ("x-forwarded-uri", "/items/1"),
                ("x-forwarded-method", "POST"),
            ],
            10,
        ),
        (
            Method::GET,
            AUTHORIZE,
            &[
                ("x-original-uri", "/items/1"),
                ("x-original-method", "POST"),
            ],
            10,
        ),
        (
            Method::POST,
            AUTHORIZE,
            &[("x-forwarded-uri", "/items/1")],
            10,
        ),
        (
            Method::GET,
            AUTHORIZE,
            &[
                ("x-forwarded-uri", "/free"),
                ("x-forwarded-host", "API.example.com:8443"),
            ],
            100,
        ),
        (Method::GET, AUTHORIZE, &[("x-forwarded-uri", "/free")], 0),
        // The path follows, and what is said elsewhere is the client's.
        (Method::GET, "/v1/authorize/items/1?deny=nothing", &[], 1),
        (
            Method::POST,
            "/v1/authorize/items/1",
            &[("x-forwarded-method", "GET"), ("x-forwarded-uri", "/free")],
            10,
        ),
        (Method::DELETE, "/v1/authorize/items/1", &[], 1),
        (Method::OPTIONS, "/v1/authorize/free", &[], 0),
    ] {
        let mut asked = door
            .proxy
            .request(method.clone(), path)
            .header(TENANT, "pro:a");
        for (name, value) in fields {
            asked = asked.header(*name, *value);
        }
        let reply = door.send(asked).await;
        let case = format!("{method} {path} {fields:?}: {}", reply.text());
        assert_eq!(reply.status, 200, "{case}");
        assert!(reply.body.is_empty(), "{case}");
        left -= cost;
        assert_eq!(door.left("pro:a").await, left, "{case}");
    }
}

#[tokio::test]
async fn a_description_that_is_missing_or_contradicts_itself_is_refused_by_its_field() {
    let door = Door::with_routes(routes()).await;
    for (fields, field) in [
        (&[][..], "/headers/x-forwarded-uri"),
        (
            &[("x-forwarded-uri", "/free"), ("x-original-uri", "/items/1")],
            "/headers/x-original-uri",
        ),
        (
            &[
                ("x-forwarded-uri", "/free"),
                ("x-forwarded-method", "GET"),
                ("x-original-method", "POST"),
            ],
            "/headers/x-original-method",
        ),
        (
            &[
                ("x-forwarded-uri", "/free"),
                ("x-forwarded-method", "GET, POST"),
            ],
            "/headers/x-forwarded-method",
        ),
    ] {
        let mut asked = door
            .proxy
            .request(Method::GET, AUTHORIZE)
            .header(TENANT, "pro:a");
        for (name, value) in fields {
            asked = asked.header(*name, *value);
        }
        let reply = door.send(asked).await;
        assert_eq!(reply.status, 400, "{fields:?}: {}", reply.text());
        assert_eq!(reply.problem().unwrap().field.as_deref(), Some(field));
    }
    for (uri, status) in [
        ("items/1", 400),
        ("/%zz", 400),
        ("/v1/check", 404),
        ("/none", 404),
    ] {
        let reply = door.ask(uri, "pro:a").await;
        assert_eq!(reply.status, status, "{uri}: {}", reply.text());
    }
    assert_eq!(door.left("pro:a").await, 1_000);
}

#[tokio::test]
async fn a_client_s_address_is_what_the_proxy_says_and_nothing_that_the_client_says() {
    let door = Door::with_policy(|document| {
        let document = with(document, "/trusted_proxies", json!(["10.0.0.0/8"]));
        let document = with(document, "/limits/per_ip", gcra(1, 24 * 3_600_000, 1));
        let checks = json!([{ "limit": "per_ip", "key": "client_address" }]);
        with(document, "/routes", json!([route("all", "/*", checks)]))
    })
    .await;
    let from = async |chain: Option<&str>| {
        let mut asked = door.about("GET", "/x", "pro:a");
        if let Some(chain) = chain {
            asked = asked.header("x-forwarded-for", chain);
        }
        door.send(asked).await.status
    };
    assert_eq!(from(Some("203.0.113.9")).await, 200);
    assert_eq!(
        from(Some("198.51.100.1, 203.0.113.9")).await,
        429,
        "what stands before is hearsay"
    );
    assert_eq!(
        from(Some("203.0.113.9, 10.0.0.3")).await,
        429,
        "through one proxy more"
    );
    assert_eq!(from(Some("203.0.113.10")).await, 200);
    // A proxy that says no address: its clients share a key.
    assert_eq!(from(None).await, 200);
    assert_eq!(from(None).await, 429);
}

#[tokio::test]
async fn a_proxy_s_path_is_never_routed() {
    let door = Door::with_routes(json!([route("all", "/*", one_token())])).await;
    for path in [
        "/V1/authorize",
        "/v1/authorize%2fx",
        "//v1/authorize/x",
        "/v1/./authorize",
    ] {
        let reply = door.proxy.get(path).await.unwrap();
        assert!(
            [404, 401, 400].contains(&reply.status),
            "{path}: {}",
            reply.text()
        );
    }
    assert_eq!(door.left("pro:a").await, 1_000);
}
