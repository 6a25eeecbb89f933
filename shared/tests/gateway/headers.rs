//! Which header fields reach the origin, and which the client.

use proptest::prelude::*;
use weir_shared::gateway::address::Cidr;
use weir_shared::gateway::forwarding::{
    Hop, keep_response_header, loops, request_headers, target_url,
};
use weir_shared::policy::route::{Origin, OriginUrl};

use super::document::get;

/// What the origin gets of these fields.
fn forwarded(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    let trusted = [Cidr::read("10.0.0.0/8").unwrap()];
    get("/", headers).facts(|facts| {
        let hop = Hop {
            facts,
            trusted: &trusted,
            scheme: "https",
            secret: None,
            consumed: None,
        };
        let fields = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        request_headers(fields, &hop)
    })
}

fn value(fields: &[(String, String)], name: &str) -> Option<String> {
    let mut values = fields.iter().filter(|(one, _)| one == name);
    let (_, value) = values.next()?;
    assert!(values.next().is_none(), "{name} is there twice");
    Some(value.clone())
}

#[test]
fn fields_of_one_connection_of_the_platform_and_of_weir_stay_behind() {
    let sent = [
        ("connection", "keep-alive, X-Private"),
        ("x-private", "1"),
        ("keep-alive", "timeout=5"),
        ("proxy-authorization", "Basic x"),
        ("te", "trailers"),
        ("trailer", "x"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("http2-settings", "x"),
        ("expect", "100-continue"),
        ("host", "api.example.com"),
        ("cf-connecting-ip", "203.0.113.9"),
        ("cf-ipcountry", "DE"),
        ("weir-region", "enam"),
        ("weir-csrf", "1"),
    ];
    let fields = forwarded(&sent);
    for (name, _) in sent {
        assert_eq!(value(&fields, name), None, "{name}");
    }
    let kept = [
        ("authorization", "Bearer x"),
        ("content-type", "text/plain"),
        ("content-length", "5"),
        ("x-tenant", "acme"),
        ("accept-encoding", "br"),
        ("x-private", "1"),
    ];
    let fields = forwarded(&kept);
    for (name, sent) in kept {
        assert_eq!(value(&fields, name).as_deref(), Some(sent), "{name}");
    }
}

#[test]
fn the_session_of_an_operator_is_taken_out_of_the_cookies() {
    let cookie = |cookies| value(&forwarded(&[("cookie", cookies)]), "cookie");
    assert_eq!(
        cookie("a=1; weir_session=secret.mac; b=2").as_deref(),
        Some("a=1; b=2")
    );
    assert_eq!(cookie("weir_session=secret.mac"), None);
    assert_eq!(cookie(" weir_session = secret ;"), None);
    assert_eq!(
        cookie("my_weir_session=1").as_deref(),
        Some("my_weir_session=1")
    );
}

#[test]
fn the_origin_learns_where_a_request_comes_from_and_not_what_the_client_says_of_it() {
    let forged = [
        ("cf-connecting-ip", "203.0.113.9"),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-host", "internal"),
        ("x-forwarded-proto", "gopher"),
        ("x-forwarded-port", "1"),
        ("forwarded", "for=127.0.0.1"),
        ("x-real-ip", "127.0.0.1"),
        ("true-client-ip", "127.0.0.1"),
    ];
    let fields = forwarded(&forged);
    assert_eq!(
        value(&fields, "x-forwarded-for").as_deref(),
        Some("203.0.113.9")
    );
    assert_eq!(
        value(&fields, "x-forwarded-host").as_deref(),
        Some("api.example.com")
    );
    assert_eq!(
        value(&fields, "x-forwarded-proto").as_deref(),
        Some("https")
    );
    for name in [
        "x-forwarded-port",
        "forwarded",
        "x-real-ip",
        "true-client-ip",
    ] {
        assert_eq!(value(&fields, name), None, "{name}");
    }
    let trusted = [
        ("cf-connecting-ip", "10.0.0.1"),
        ("x-forwarded-for", "198.51.100.1, 203.0.113.9"),
        ("x-forwarded-host", "www.example.com"),
        ("x-forwarded-proto", "http"),
        ("x-real-ip", "203.0.113.9"),
    ];
    let fields = forwarded(&trusted);
    let chain = "198.51.100.1, 203.0.113.9, 10.0.0.1";
    assert_eq!(value(&fields, "x-forwarded-for").as_deref(), Some(chain));
    assert_eq!(
        value(&fields, "x-forwarded-host").as_deref(),
        Some("www.example.com")
    );
    assert_eq!(value(&fields, "x-forwarded-proto").as_deref(), Some("http"));
    assert_eq!(value(&fields, "x-real-ip").as_deref(), Some("203.0.113.9"));
    assert_eq!(value(&forwarded(&[]), "x-forwarded-for"), None);
}

#[test]
fn an_answer_keeps_what_is_meant_for_the_client() {
    for (name, value, kept) in [
        ("content-type", "text/plain", true),
        ("retry-after", "5", true),
        ("set-cookie", "a=1; Path=/", true),
        ("x-tokens-used", "900", true),
        ("Set-Cookie", "weir_session=forged; Path=/", false),
        ("RateLimit", "\"theirs\";r=1", false),
        ("ratelimit-policy", "\"theirs\";q=1", false),
        ("X-RateLimit-Remaining", "1", false),
        ("Transfer-Encoding", "chunked", false),
        ("Keep-Alive", "timeout=5", false),
        ("x-hop", "1", false),
        ("weir-region", "enam", false),
    ] {
        assert_eq!(
            keep_response_header(name, value, Some("Close, X-Hop")),
            kept,
            "{name}"
        );
    }
}

#[test]
fn a_request_that_goes_in_a_circle_is_seen() {
    let via = |via: &str| get("/", &[("via", via)]).facts(loops);
    assert!(!via("1.1 weir, 1.1 weir, 1.1 weir"));
    assert!(via("1.1 weir, 2 other, 1.1 weir, 1.1 weir,1.1 weir (x)"));
    assert!(!via(
        "1.1 weird, 1.1 weird, 1.1 weird, 1.1 weird, 1.1 weird"
    ));
    // Each passage adds one.
    let mut passages = 0;
    let mut chain = String::new();
    while !via(&chain) {
        let fields = forwarded(&[("via", &chain)]);
        chain = value(&fields, "via").unwrap();
        passages += 1;
    }
    assert_eq!(passages, 4);
}

#[test]
fn the_target_is_the_origins_url_with_path_and_query_as_they_were_sent() {
    let origin = |url| Origin::at(OriginUrl::read(url).unwrap());
    for (url, path, query, target) in [
        ("https://o.example.com", "/", None, "https://o.example.com/"),
        (
            "HTTPS://O.example.com/",
            "/a",
            Some("b=c%20d"),
            "https://o.example.com/a?b=c%20d",
        ),
        (
            "http://o:81/base",
            "//a%2Fb",
            Some(""),
            "http://o:81/base//a%2Fb?",
        ),
        ("http://[::1]:8/x/", "/a", None, "http://[::1]:8/x/a"),
    ] {
        assert_eq!(target_url(&origin(url), path, query), target);
    }
}

proptest! {
    #[test]
    fn no_path_or_query_changes_which_host_is_asked(path in "/\\PC{0,20}", query in "\\PC{0,20}") {
        let origin = Origin::at(OriginUrl::read("https://o.example.com:81/b").unwrap());
        let target = target_url(&origin, &path, Some(&query));
        prop_assert!(target.starts_with("https://o.example.com:81/b/"));
    }

    #[test]
    fn whatever_connection_lists_the_origin_never_gets(name in "[a-z-]{1,12}", blank in "[ \t]{0,3}") {
        let listed = format!("close,{blank}{}{blank}", name.to_uppercase());
        let fields = forwarded(&[("connection", &listed), (&name, "1")]);
        let replaced = ["via"].contains(&name.as_str());
        prop_assert!(replaced || value(&fields, &name).is_none());
    }
}
