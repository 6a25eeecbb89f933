//! Paths that are nearly Weir's own, asked with a token of Weir's: nobody else gets to see it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use weir_tests::fixtures::with;
use weir_tests::origin::Echo;
use weir_tests::workerd::TOKEN;

use crate::gateway::{Gateway, one_token, route};

const NEAR_MISSES: &[&str] = &[
    "/v1/check/",
    "/V1/check",
    "/v1//check",
    "//v1/check",
    "/v1/check;x=y",
    "/v1/%63heck",
    "/v1/%2563heck",
    "/v1%2fcheck",
    "/v1/check%2f",
    "/v1\\check",
    "/v1/check/anything",
    "/v1/guards/queries",
    "//operator/v1/tokens",
    "/operator/v1/policy/",
    "/Operator/v1/policy",
    "/operator/v2/policy",
    "/operator",
    "/operator/",
    "/x/..%2foperator/v1/tokens",
    "/x/..;/operator/v1/tokens",
    "/metrics/",
    "/METRICS",
    "/metrics%20",
    "/healthz/",
    "/openapi.json/",
    "/openapi.json.",
    "/console/login",
    "/console//",
    "/%63onsole/x",
];

/// Everything goes to the origin, by a route and by what the policy says of all else.
async fn gateway() -> Gateway {
    Gateway::with_policy(|document, origin| {
        let mut some = route(origin, one_token());
        some["path"] = json!("/v1/*");
        some["tenant"] = json!({ "fixed": "pro:a" });
        let document = with(document, "/routes", json!([some]));
        let all = json!({ "forward": { "url": origin, "timeout_ms": 5_000 } });
        with(document, "/unrouted", all)
    })
    .await
}

async fn status(gateway: &Gateway, method: &str, path: &str, token: &str) -> u16 {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: 0\r\n\r\n"
    );
    let answer = gateway.send_raw(request.as_bytes()).await;
    let status = answer.split(' ').nth(1).and_then(|text| text.parse().ok());
    status.unwrap_or_else(|| panic!("{path}: {answer}"))
}

#[tokio::test]
async fn no_spelling_of_weir_s_paths_reaches_an_origin() {
    let gateway = gateway().await;
    for path in NEAR_MISSES {
        for method in ["GET", "POST"] {
            let status = status(&gateway, method, path, TOKEN).await;
            assert_eq!(status, 404, "{method} {path}");
        }
    }
    let seen = gateway.origin.seen();
    assert!(seen.is_empty(), "{seen:?}");
}

#[tokio::test]
async fn an_api_below_v1_is_served_and_never_sees_a_token_of_weir_s() {
    let gateway = gateway().await;
    let admin = gateway.workerd.client(0).unwrap();
    let made = json!({ "name": "backend", "role": "service" });
    let made = admin.post("/operator/v1/tokens", &made).await.unwrap();
    let made: serde_json::Value = made.json().unwrap();
    let token = made["token"].as_str().unwrap();
    for path in ["/v1/chat/completions", "/v1/models", "/v1/checks", "/v1"] {
        let status = status(&gateway, "POST", path, "sk-of-the-client").await;
        assert_eq!(status, 200, "{path}");
    }
    for seen in gateway.origin.seen() {
        assert_eq!(
            seen.headers["authorization"], "Bearer sk-of-the-client",
            "{seen:?}"
        );
    }
    let basic = |text: String| format!("Basic {}", STANDARD.encode(text));
    let values = [token, TOKEN].into_iter().flat_map(|own| {
        [
            own.to_owned(),
            format!("Bearer {own}"),
            format!("bearer  {own}"),
            format!("Token token=\"{own}\""),
            format!("Bearer x, ApiKey {own}"),
            format!("Bearer {}", own.to_ascii_uppercase()),
            format!("Basic {own}"),
            basic(format!("{own}:")),
            basic(format!("admin:{own}")),
        ]
    });
    let begun = ["Bearer weir_anything", "Bearer WEIR_ANYTHING"].map(str::to_owned);
    for value in values.chain(begun) {
        let request = gateway.client.request(reqwest::Method::GET, "/echo");
        let reply = gateway.send(request.header("authorization", &value)).await;
        let echo: Echo = reply.ok().unwrap();
        assert!(
            !echo.headers.contains_key("authorization"),
            "{value}: {echo:?}"
        );
    }
    for own in [token, TOKEN] {
        let request = gateway.client.request(reqwest::Method::GET, "/echo");
        let places = [
            "x-api-key",
            "x-auth-token",
            "sec-websocket-protocol",
            "referer",
        ];
        let request = places.iter().fold(request, |request, name| {
            request.header(*name, format!("x {own}"))
        });
        let request = request.header("cookie", format!("a=1; token={own}"));
        let echo: Echo = gateway.send(request).await.ok().unwrap();
        for name in places {
            assert!(!echo.headers.contains_key(name), "{name}: {echo:?}");
        }
        assert_eq!(echo.headers["cookie"], "a=1");
    }
}
