//! Words, patterns, names, URLs and addresses of the gateway that are refused, each by what is wrong with it.

use serde_json::json;

use super::document::{ABC, are_refused, read, with};

const TOKEN: &str = "the characters of a token";

#[test]
fn patterns_names_and_urls_are_refused_by_what_is_wrong_with_them() {
    let url = "must begin with https:// or http://";
    let segment = "has an empty segment";
    let character = |got: char, allowed: &str| format!("contains {got:?}; allowed are {allowed}");
    let path = |got| character(got, "letters, digits and -._~!$&'()*+,=:@ between slashes");
    let host = |got| character(got, "a-z, 0-9, -, _ and .");
    let (method, token) = (character('p', "A-Z and -"), character(' ', TOKEN));
    let (query, percent, space, port) = (path('?'), path('%'), path(' '), host(':'));
    let (star, graphic) = (host('*'), character(' ', "those of a URL"));
    let long = "x".repeat(300);
    let long_path = format!("/{long}");
    are_refused(vec![
        ("/routes/0/path", json!("llm/*"), "", "must begin with /"),
        ("/routes/0/path", json!(""), "", "is required"),
        ("/routes/0/path", json!("/a//b"), "", segment),
        ("/routes/0/path", json!("//"), "", segment),
        (
            "/routes/0/path",
            json!("/a/../b"),
            "",
            "must not have . or ..",
        ),
        (
            "/routes/0/path",
            json!("/a*"),
            "",
            "has a * beside other characters",
        ),
        ("/routes/0/path", json!("/a?b"), "", &query),
        ("/routes/0/path", json!("/a%20b"), "", &percent),
        ("/routes/0/path", json!("/a b"), "", &space),
        (
            "/routes/0/path",
            json!(long_path),
            "",
            "301 bytes, at most 256 are allowed",
        ),
        ("/routes/0/host", json!("api.example.com:443"), "", &port),
        ("/routes/0/host", json!("api.*.com"), "", &star),
        (
            "/routes/0/host",
            json!("api..com"),
            "",
            "has an empty label",
        ),
        ("/routes/0/host", json!("*."), "", "is required"),
        ("/routes/0/methods/0", json!("post"), "", &method),
        (
            "/routes/0/methods/0",
            json!("TRACE"),
            "",
            "TRACE is not served; served: methods that are forwarded",
        ),
        ("/routes/0/tenant/header", json!("x tenant"), "", &token),
        (
            "/routes/0/tenant/header",
            json!(long),
            "",
            "300 bytes, at most 256 are allowed",
        ),
        (
            "/routes/0/checks/0/cost/response_header",
            json!(""),
            "",
            "is required",
        ),
        (
            "/routes/0/origin/url",
            json!("ftp://origin.example.com"),
            "",
            url,
        ),
        ("/routes/0/origin/url", json!("origin.example.com"), "", url),
        ("/routes/0/origin/url", json!("https://"), "", "is required"),
        ("/routes/0/origin/url", json!("https://a b"), "", &graphic),
        (
            "/routes/0/origin/url",
            json!("https://user:secret@origin.example.com"),
            "",
            "must not carry credentials",
        ),
        (
            "/routes/0/origin/url",
            json!("https://origin.example.com/?q=1"),
            "",
            "must end with its path: no query and no fragment",
        ),
        (
            "/routes/0/origin/url",
            json!("https://origin.example.com/a/%2e%2E/b"),
            "",
            "must not have . or .. or empty segments",
        ),
        (
            "/routes/0/origin/url",
            json!("https://origin.example.com:0"),
            "",
            "port \"0\" is outside 1 to 65535",
        ),
        (
            "/routes/0/origin/url",
            json!("https://origin.example.com:+80"),
            "",
            "port \"+80\" is outside 1 to 65535",
        ),
        (
            "/routes/0/origin/url",
            json!("https://[2001:db8::g]"),
            "",
            "has an IPv6 address that cannot be read",
        ),
        (
            "/routes/2/tenant/jwt/jwks_url",
            json!("http://issuer.example.com/keys"),
            "",
            "a key set over http is not served; served: https, and http on the same machine",
        ),
    ]);
}

#[test]
fn words_and_fields_that_are_not_known_are_refused() {
    let key = "must be \"tenant\", \"client_address\" or an object";
    let word = format!("{key}, not \"address\"");
    let list = format!("{key}, not a list");
    are_refused(vec![
        ("/routes/0/checks/1/key", json!("address"), "", &word),
        ("/routes/0/checks/1/key", json!(["tenant"]), "", &list),
        (
            "/routes/0/absent_tenant",
            json!("allow"),
            "",
            "must be \"refuse\" or an object, not \"allow\"",
        ),
        (
            "/unrouted",
            json!("forward"),
            "",
            "must be \"refuse\" or an object, not \"forward\"",
        ),
        (
            "/routes/0/tenant/client_address",
            json!({ "bits": 24 }),
            "/bits",
            "unknown field `bits`, there are no fields",
        ),
        (
            "/routes/0/checks/1/key",
            json!({ "cookie": "a" }),
            "/cookie",
            "unknown field `cookie`, expected `header` or `fixed`",
        ),
    ]);
}

#[test]
fn proxies_and_api_keys_are_refused_one_by_one() {
    let address = "is not an IPv4 or IPv6 address with the length of a prefix";
    are_refused(vec![
        ("/trusted_proxies/1", json!("10.0.0"), "", address),
        ("/trusted_proxies/1", json!(" 10.0.0.0/8"), "", address),
        (
            "/trusted_proxies/1",
            json!("10.0.0.0/33"),
            "",
            "a prefix of \"33\" bits is outside 0 to 32",
        ),
        (
            "/trusted_proxies/1",
            json!("10.0.0.0/+8"),
            "",
            "a prefix of \"+8\" bits is outside 0 to 32",
        ),
        (
            "/trusted_proxies/1",
            json!("::/129"),
            "",
            "a prefix of \"129\" bits is outside 0 to 128",
        ),
        (
            "/trusted_proxies/1",
            json!("10.1.0.0/8"),
            "",
            "has bits after its prefix",
        ),
        (
            "/trusted_proxies/1",
            json!("::ffff:10.0.0.0/104"),
            "",
            "is an IPv4 address written in IPv6",
        ),
        (
            "/trusted_proxies",
            json!(vec!["10.0.0.0/8"; 257]),
            "",
            "257 networks, at most 256 are allowed",
        ),
    ]);
    let tenant = |key: &str, tenant: &str| read(&with("/api_keys", json!({ key: tenant })));
    let field = |key: &str| format!("/api_keys/{key}");
    let short = &ABC[1..];
    let refused = tenant(short, "acme").map(|_| "saved");
    let message = "63 digits is outside 64 to 64".to_owned();
    assert_eq!(refused, Err((field(short), message)));
    let secret = "not-a-hash";
    let refused = tenant(secret, "acme").map(|_| "saved");
    let message = "contains 'n'; allowed are the hexadecimal digits of a SHA-256".to_owned();
    assert_eq!(refused, Err((field(secret), message)));
    let refused = tenant(ABC, "").map(|_| "saved");
    assert_eq!(refused, Err((field(ABC), "is required".to_owned())));
    let both = json!({ ABC: "acme", ABC.to_uppercase(): "other" });
    let refused = read(&with("/api_keys", both)).map(|_| "saved");
    let message = format!("{ABC:?} is given twice");
    assert_eq!(refused, Err((field(ABC), message)));
}

#[test]
fn a_route_for_a_path_that_weir_serves_itself_is_refused_as_it_would_never_be_taken() {
    let own = |path: &str| format!("{path} is not served; served: paths that are not Weir's own");
    for path in [
        "/v1/check",
        "/metrics",
        "/v1/guards/*/acquire",
        "/operator/v1/policy",
    ] {
        are_refused(vec![("/routes/0/path", json!(path), "", &own(path))]);
    }
    for path in ["/v1/*", "/v1/other", "/v1/guards/*", "/*"] {
        assert!(read(&with("/routes/0/path", json!(path))).is_ok(), "{path}");
    }
}
