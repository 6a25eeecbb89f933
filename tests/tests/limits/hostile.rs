//! Keys that are meant to hurt: long, odd, no text at all.

use serde_json::{Value, json};
use weir_tests::calls::{charge, charge_keys};
use weir_tests::client::Client;
use weir_tests::workerd::Workerd;

use crate::limits::{LONG_MS, alone, decide, fixed, left, start, still, take};

const BOUND: u64 = 5;

fn limits() -> Value {
    json!({
        "region": still(BOUND),
        "isolate": fixed(BOUND, LONG_MS, "isolate"),
        "global": fixed(BOUND, LONG_MS, "global"),
        "pair": { "all": [{ "name": "a", "limit": "region" }, { "name": "b", "limit": "region" }] },
    })
}

async fn deployment() -> (Workerd, Client) {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

#[tokio::test]
async fn odd_keys_are_keys_like_any_other() {
    let (_workerd, client) = deployment().await;
    let long = "x".repeat(128);
    let odd = [
        long.as_str(),
        "é",
        "\u{1f980}",
        "a\u{301}",
        "\u{202e}rtl",
        "\u{feff}",
        "'; DROP TABLE states; --",
        "%00",
        "../..",
        "\"",
        "\\",
        "{\"v\":1}",
        "__proto__",
        "constructor",
        "null",
        "0",
        " ",
    ];
    for limit in ["region", "isolate", "global"] {
        for key in odd {
            assert!(
                take(&client, limit, key, BOUND).await.allowed,
                "{limit} {key:?}"
            );
            assert!(
                !take(&client, limit, key, 1).await.allowed,
                "{limit} {key:?}"
            );
        }
    }
    for key in odd {
        let used = decide(&client, &charge_keys("pair", &[("a", key), ("b", "b")], 1)).await;
        assert_eq!(
            (used.allowed, used.binding.as_str()),
            (false, "a"),
            "{key:?}"
        );
    }
}

#[tokio::test]
async fn keys_that_are_too_long_or_hold_control_characters_are_refused_everywhere() {
    let (_workerd, client) = deployment().await;
    let bad = [
        "".to_owned(),
        "x".repeat(129),
        "é".repeat(65),
        "a\u{0}".to_owned(),
        "a\u{1}b".to_owned(),
        "a\nb".to_owned(),
        "\u{7f}".to_owned(),
        "\u{85}".to_owned(),
    ];
    for key in &bad {
        let forms = [
            ("/v1/check", charge("region", key, 1), "/key"),
            (
                "/v1/check",
                charge_keys("pair", &[("a", key), ("b", "k")], 1),
                "/keys/a",
            ),
            (
                "/v1/check",
                json!({ "checks": [charge("region", "k", 1), charge("region", key, 1)] }),
                "/checks/1/key",
            ),
            (
                "/v1/check/batch",
                json!({ "requests": [charge("region", "k", 1), charge("region", key, 1)] }),
                "/requests/1/key",
            ),
            ("/v1/reserve", charge("region", key, 1), "/key"),
        ];
        for (path, body, field) in forms {
            let reply = client.post(path, &body).await.unwrap();
            let problem = reply.problem().unwrap();
            assert_eq!(
                (problem.status, problem.field.as_deref()),
                (400, Some(field)),
                "{path} {body}"
            );
        }
    }
    let not_text = [
        b"{\"limit\":\"region\",\"key\":\"".as_slice(),
        &[0xff, 0xfe],
        b"\"}",
    ]
    .concat();
    for path in ["/v1/check", "/v1/reserve"] {
        let reply = client.post_bytes(path, not_text.clone()).await.unwrap();
        assert_eq!(
            reply.problem().unwrap().field.as_deref(),
            Some("/key"),
            "{path}"
        );
    }
    assert_eq!(
        left(&client, "region", "k").await,
        BOUND,
        "nothing was charged"
    );
}
