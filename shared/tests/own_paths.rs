//! Paths that are Weir's own in every spelling, and paths beside them that are not.

use weir_shared::access::endpoint::ROUTES;
use weir_shared::access::own_path::is_own;

/// Spellings that some server reads as the path itself.
fn spellings(path: &str) -> Vec<String> {
    let rest = &path[1..];
    let first = rest.chars().next().unwrap();
    let encoded = format!("%{:02x}", u32::from(first));
    vec![
        path.to_owned(),
        format!("{path}/"),
        format!("{path}//"),
        format!("/{path}"),
        path.replace('/', "//"),
        path.replace('/', "\\"),
        format!("/{}", rest.replace('/', "%2f")),
        format!("/{}", rest.replace('/', "%5C")),
        path.to_uppercase(),
        format!("/{encoded}{}", &rest[first.len_utf8()..]),
        format!("/%25{}{}", &encoded[1..], &rest[first.len_utf8()..]),
        format!("{path};a=b"),
        format!("/;x{path}"),
        path.replacen('/', "/;x=y/", 1),
        format!("/a/..{path}"),
        format!("/a/..;{path}"),
        format!("/a/%2e%2e{path}"),
        format!("/a%2f..{path}"),
        format!("/.{path}"),
        format!("{path}/."),
        format!("{path}."),
        format!("{path}%20"),
        format!("{path}%3Fx=1"),
        format!("{path}%23x"),
        format!("{path}/below"),
    ]
}

#[test]
fn every_spelling_of_every_path_of_the_table_is_weir_s() {
    for route in ROUTES.iter().filter(|route| route.path != "/") {
        let path = route.path.replace(['{', '}'], "");
        for spelling in spellings(&path) {
            assert!(is_own(&spelling), "{spelling} of {}", route.path);
        }
    }
}

#[test]
fn everything_below_the_operator_s_paths_is_weir_s() {
    for path in [
        "/operator",
        "/operator/",
        "/operator/v2/anything",
        "/console/assets/x.js",
        "/metrics/x",
        "/healthz/live",
        "/openapi.json/x",
        "/v1/check/anything",
        "/v1/guards",
    ] {
        assert!(is_own(path), "{path}");
    }
}

#[test]
fn paths_of_an_api_below_v1_and_names_that_only_begin_alike_are_not() {
    for path in [
        "/",
        "//",
        "/v1",
        "/v1/",
        "/v1/chat/completions",
        "/v1/models",
        "/v1/checks",
        "/v1/checkout/1",
        "/v2/check",
        "/api/v1/check",
        "/operators/1",
        "/console-2",
        "/metric",
        "/openapi.yaml",
        "/check",
        "/a/metrics",
        "/100%",
        "/%zz",
    ] {
        assert!(!is_own(path), "{path}");
    }
}

#[test]
fn no_text_is_too_strange_to_be_read() {
    for path in [
        "",
        "%",
        "%%%2",
        "/%ff%fe/check",
        "/\u{17f}ettle",
        "/..//..;/",
    ] {
        let _some_answer = is_own(path);
    }
    assert!(is_own("/v1/\u{17f}ettle") && is_own("/v1/chec\u{212a}"));
}
