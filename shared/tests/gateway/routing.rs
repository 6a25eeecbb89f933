//! Which route takes a request.

use serde_json::json;
use weir_shared::gateway::problem::Refusal;
use weir_shared::gateway::router::{To, find};
use weir_shared::policy::Policy;

use super::document::{Sent, get, policy, read, whole, with};

/// The name of the route that takes a request, `forward` for the origin of all others.
fn taken(policy: &Policy, sent: &Sent<'_>) -> Result<String, Refusal> {
    let routed = sent.facts(|facts| find(policy, facts).map(|routed| routed.to))?;
    Ok(match routed {
        To::Route(route) => route.name.clone(),
        To::Forward(_) => "forward".to_owned(),
    })
}

#[test]
fn the_first_route_that_fits_by_host_path_and_method_takes_a_request() {
    let policy = policy();
    for (method, host, path, name) in [
        ("POST", "api.example.com", "/llm/chat", "chat"),
        ("POST", "API.Example.Com:8443", "/llm", "chat"),
        ("POST", "api.example.com.", "/llm/", "chat"),
        ("M-SEARCH", "api.example.com", "//llm//x", "chat"),
        ("GET", "api.example.com", "/llm/chat", "forward"),
        ("post", "api.example.com", "/llm/chat", "forward"),
        ("POST", "other.example.com", "/llm/chat", "forward"),
        ("POST", "api.example.com", "/x/../llm/chat", "chat"),
        ("POST", "api.example.com", "/llm/../x", "forward"),
        ("GET", "a.b.example.com", "/v2/7/items", "keyed"),
        ("DELETE", "a.example.com:1", "/v2/7/items/", "keyed"),
        ("GET", "example.com", "/v2/7/items", "forward"),
        ("GET", "a.example.com", "/v2/items", "forward"),
        ("GET", "[2001:db8::1]:443", "/signed", "signed"),
        ("GET", "", "/signed", "signed"),
    ] {
        let sent = Sent {
            method,
            host,
            ..get(path, &[])
        };
        assert_eq!(
            taken(&policy, &sent).as_deref(),
            Ok(name),
            "{method} {host} {path}"
        );
    }
}

#[test]
fn of_two_routes_that_fit_the_earlier_takes_the_request() {
    let mut document = whole();
    let routes = document["routes"].as_array_mut().unwrap();
    let mut early = routes[4].clone();
    early["name"] = json!("early");
    early["path"] = json!("/signed/*");
    routes.insert(0, early);
    let policy = read(&document).unwrap();
    assert_eq!(taken(&policy, &get("/signed", &[])).as_deref(), Ok("early"));
}

#[test]
fn a_request_that_no_route_takes_is_refused_unless_the_policy_forwards_it() {
    let policy = read(&with("/unrouted", json!("refuse"))).unwrap();
    let refused = taken(&policy, &get("/nowhere", &[])).unwrap_err();
    assert_eq!(refused.status, 404);
    let origin = super::document::policy();
    get("/nowhere?", &[]).facts(|facts| {
        let To::Forward(origin) = find(&origin, facts).unwrap().to else {
            panic!("taken");
        };
        assert_eq!(origin.url.text(), "http://rest.example.com:8080");
        assert_eq!(origin.timeout_ms, 50);
    });
}

#[test]
fn a_path_that_could_be_meant_for_different_routes_is_refused() {
    let policy = policy();
    let post = |path| Sent {
        method: "POST",
        ..get(path, &[])
    };
    // Whoever reads the encoded slash as a slash sees what the route protects.
    for path in [
        "/llm%2Fchat",
        "/llm%5Cchat",
        "/llm;v=1/chat",
        "/v2/7%2Fitems",
        "/v2/a%2Fb/items",
    ] {
        let refused = taken(&policy, &post(path)).unwrap_err();
        assert_eq!(refused.status, 400, "{path}");
    }
    // Within what a star stands for, both readings are of one route, and the path is forwarded as it was sent.
    let sent = post("/llm/a%2Fb;c");
    let routed = sent.facts(|facts| find(&policy, facts).map(|routed| routed.path));
    assert_eq!(routed.as_deref(), Ok("/llm/a%2Fb;c"));
    for path in ["/llm/%2e%2e/x", "/llm/..%2fx", "/a%00", "/%zz"] {
        assert_eq!(
            taken(&policy, &post(path)).unwrap_err().status,
            400,
            "{path}"
        );
    }
}

#[test]
fn a_route_s_host_may_end_with_a_dot_and_its_path_may_have_no_case() {
    use weir_shared::policy::route::{HostPattern, PathPattern};
    for (pattern, host) in [
        ("Api.Example.com.", "api.example.com"),
        ("*.Example.com.", "eu.example.com"),
    ] {
        assert!(
            HostPattern::read(Some(pattern)).unwrap().fits(host),
            "{pattern}"
        );
    }
    assert!(HostPattern::read(Some("example.com..")).is_err());
    let pattern = PathPattern::read(Some("/Büro/*/x")).unwrap();
    let folded = pattern.clone().case_insensitive(true);
    for (path, cased) in [(["Büro", "A", "x"], true), (["bÜRO", "A", "X"], false)] {
        assert_eq!(pattern.fits(&path), cased);
        assert!(folded.fits(&path));
    }
    assert!(!folded.fits(&["buro", "A", "x"]));
}

#[test]
fn a_path_that_becomes_one_of_weir_s_is_forwarded_to_nobody() {
    let policy = policy();
    for path in [
        "/operator//../v1/tokens",
        "/v1/check//../",
        "/console//../x",
        "/x/../metrics",
    ] {
        let refused = taken(&policy, &get(path, &[]));
        assert_eq!(refused, Err(Refusal::no_route()), "{path}");
    }
}
