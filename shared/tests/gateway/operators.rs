//! What proves an operator stays behind, and no origin speaks for the console.

use weir_shared::access::credential::SecretEnds;
use weir_shared::gateway::address::Cidr;
use weir_shared::gateway::forwarding::{Hop, keep_response_header, request_headers};

use super::document::get;

const SECRET: &str = "9f3a61c07be2d4185ac94e7d02b6f813";

/// Names and values that the origin gets, of one field that a client sends from this address.
fn of(from: &str, name: &str, sent: &str) -> Option<String> {
    let trusted = [Cidr::read("10.0.0.0/8").unwrap()];
    let secret = SecretEnds::of(SECRET);
    get("/", &[("cf-connecting-ip", from), (name, sent)]).facts(|facts| {
        let hop = Hop {
            facts,
            trusted: &trusted,
            scheme: "https",
            secret: secret.as_ref(),
            consumed: None,
        };
        let fields = request_headers([(name.to_owned(), sent.to_owned())], &hop);
        let mut found = fields.into_iter().filter(|(one, _)| one == name);
        found.next().map(|(_, value)| value)
    })
}

fn passed(name: &str, sent: &str) -> Option<String> {
    of("203.0.113.9", name, sent)
}

#[test]
fn tokens_of_weir_stay_behind_and_other_credentials_pass() {
    for token in [
        "Bearer weir_AAAA.BBBB.CCCC",
        "bearer WEIR_x",
        "Bearer  weir_x",
        "Bearer a, Bearer weir_x",
        "Digest token=\"weir_x\"",
        "weir_x",
        // weir_, x:weir_x, and the secret as a password.
        "Basic d2Vpcl8=",
        "basic eDp3ZWlyX3g=",
        "Basic eDo5ZjNhNjFjMDdiZTJkNDE4NWFjOTRlN2QwMmI2ZjgxMw==",
        "Token 9f3a61c07be2d4185ac94e7d02b6f813",
        "9f3a61c07be2d4185ac94e7d02b6f813",
    ] {
        assert_eq!(passed("authorization", token), None, "{token}");
    }
    for name in [
        "x-api-key",
        "x-auth-token",
        "sec-websocket-protocol",
        "referer",
    ] {
        for value in [SECRET, "a, weir_AQEBAQEBAQEBAQEB.x.y"] {
            assert_eq!(passed(name, value), None, "{name}: {value}");
        }
        assert_eq!(passed(name, "weir_a").as_deref(), Some("weir_a"));
    }
    let cookies = format!("a=1; key={SECRET}; weir_theme=dark");
    assert_eq!(
        passed("cookie", &cookies).as_deref(),
        Some("a=1; weir_theme=dark")
    );
    assert_eq!(passed("via", SECRET).as_deref(), Some("1.1 weir"));
    for other in [
        "Bearer sk-1",
        "Basic eDp5",
        "Bearer beweir_x",
        "Bearer weir",
        "Bearer w\u{e9}ir_",
    ] {
        assert_eq!(passed("authorization", other).as_deref(), Some(other));
    }
}

#[test]
fn the_cookies_of_operators_stay_behind_in_both_directions() {
    let cookies =
        "a=1; __Host-weir_session=x; CF_Authorization=y; cf_appsession=z; CF_Binding=w; b=2";
    assert_eq!(passed("cookie", cookies).as_deref(), Some("a=1; b=2"));
    for (cookie, kept) in [
        ("weir_session=x", false),
        ("=weir_session=x", false),
        (" =\tweir_session = x; Path=/", false),
        ("==weir_session=x", false),
        ("weir_session", false),
        ("__host-WEIR_session=x", false),
        ("CF_AppSession=x", false),
        ("weir=session", true),
        ("=a=weir_session", true),
        ("a=weir_session=x", true),
    ] {
        assert_eq!(
            keep_response_header("Set-Cookie", cookie, None),
            kept,
            "{cookie}"
        );
    }
    assert!(!keep_response_header("Clear-Site-Data", "\"*\"", None));
    assert!(!keep_response_header("Service-Worker-Allowed", "/", None));
}

#[test]
fn what_a_request_is_said_to_have_been_is_believed_of_trusted_proxies_alone() {
    for name in [
        "x-original-url",
        "x-rewrite-url",
        "x-http-method-override",
        "x-host",
        "fastly-client-ip",
        "x_forwarded_for",
        "x_anything",
    ] {
        assert_eq!(passed(name, "1"), None, "{name}");
        assert_eq!(of("10.0.0.1", name, "1").as_deref(), Some("1"), "{name}");
    }
    assert_eq!(passed("x-anything", "1").as_deref(), Some("1"));
}
