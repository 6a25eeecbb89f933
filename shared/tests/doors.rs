//! Which hosts lead where, and which policies a deployment takes.

use serde_json::{Value, json};
use weir_shared::invalid::Invalid;
use weir_shared::policy::Policy;
use weir_shared::policy::doors::{Doors, Forwarding, Way, permit_origins};
use weir_shared::wire::policy::PolicyDocument;

fn policy(changes: Value) -> Policy {
    let mut document = json!({ "regions": ["weur"] });
    for (name, value) in changes.as_object().unwrap() {
        document[name] = value.clone();
    }
    let document: PolicyDocument = serde_json::from_value(document).unwrap();
    Policy::try_from(&document).unwrap()
}

fn routed(url: &str) -> Value {
    json!([{ "name": "all", "origin": { "url": url } }])
}

fn told(refused: Result<(), Invalid>) -> String {
    refused.unwrap_err().to_string()
}

#[test]
fn operators_are_at_their_host_alone_however_it_is_written() {
    let doors = Doors::new(Some(" Ops.Example.com.:443 "), false);
    for host in [
        "ops.example.com",
        "OPS.example.COM",
        "ops.example.com.",
        "ops.example.com:8443",
    ] {
        assert_eq!(doors.way("/operator/v1/policy", host), Way::Table, "{host}");
        assert_eq!(
            doors.way("/console/style.css", host),
            Way::Console,
            "{host}"
        );
        assert_eq!(doors.way("/", host), Way::Table, "{host}");
        assert_eq!(doors.forwarding(host), Forwarding::Never, "{host}");
    }
    for host in [
        "app.example.com",
        "ops.example.com.evil.org",
        "xops.example.com",
        "example.com",
        "",
    ] {
        for path in ["/operator/v1/policy", "/console/", "/console", "/"] {
            assert_eq!(doors.way(path, host), Way::Gateway, "{host}{path}");
        }
        for path in ["/metrics", "/healthz", "/openapi.json", "/anything"] {
            assert_eq!(doors.way(path, host), Way::Table, "{host}{path}");
        }
        assert_eq!(doors.forwarding(host), Forwarding::Allowed, "{host}");
    }
}

#[test]
fn without_a_host_of_their_own_operators_are_everywhere_and_nothing_is_forwarded() {
    for (unset, forwarding) in [
        (Doors::new(None, false), Forwarding::Unset),
        (Doors::new(Some("  "), false), Forwarding::Unset),
        (Doors::new(None, true), Forwarding::Allowed),
    ] {
        assert_eq!(
            unset.way("/operator/v1/policy", "any.example.com"),
            Way::Table
        );
        assert_eq!(unset.forwarding("any.example.com"), forwarding);
    }
}

#[test]
fn a_policy_that_forwards_needs_a_host_for_operators_or_a_word_that_it_does_not() {
    let url = "https://origin.example.com";
    let routes = policy(json!({ "routes": routed(url) }));
    let unrouted = policy(json!({ "unrouted": { "forward": { "url": url } } }));
    let closed = Doors::new(None, false);
    let why = "needs WEIR_OPERATOR_HOST, which the deployment does not set: the console would share its host with what is routed";
    assert_eq!(told(closed.permit(&routes)), format!("/routes: {why}"));
    assert_eq!(
        told(closed.permit(&unrouted)),
        format!("/unrouted/forward: {why}")
    );
    assert_eq!(closed.permit(&policy(json!({}))), Ok(()));
    for open in [
        Doors::new(None, true),
        Doors::new(Some("ops.example.com"), false),
    ] {
        assert_eq!(open.permit(&routes), Ok(()));
        assert_eq!(open.permit(&unrouted), Ok(()));
    }
    let mut own = routed(url);
    own[0]["host"] = json!("OPS.example.com.");
    let own = policy(json!({ "routes": own }));
    let refused = Doors::new(Some("ops.example.com"), true).permit(&own);
    assert!(told(refused).starts_with("/routes/0/host: ops.example.com is not served"));
}

#[test]
fn origins_inside_of_a_network_are_refused_unless_the_policy_allows_them() {
    for url in [
        "http://127.0.0.1:8080",
        "http://127.1",
        "http://2130706433",
        "http://0x7f000001",
        "http://0177.0.0.1",
        "http://0.0.0.0",
        "http://10.0.0.1",
        "http://172.16.0.1",
        "http://172.31.255.255",
        "https://192.168.1.1",
        "http://169.254.169.254",
        "http://100.64.0.1",
        "http://198.18.0.1",
        "http://224.0.0.1",
        "http://255.255.255.255",
        "http://[::1]",
        "http://[::]",
        "http://[fe80::1]",
        "http://[fd00:ec2::254]",
        "http://[ff02::1]",
        "http://[::ffff:10.0.0.1]",
        "http://[64:ff9b::a00:1]",
        "http://[2002:a00:1::]",
        "http://[::127.0.0.1]",
        "http://localhost",
        "http://LOCALHOST:1",
        "http://app.localhost",
        "http://printer.local",
        "http://metadata.google.internal",
        "http://metadata",
        "http://router.lan",
        "http://nas.home.arpa",
    ] {
        for (field, document) in [
            ("/routes/0/origin/url", json!({ "routes": routed(url) })),
            (
                "/unrouted/forward/url",
                json!({ "unrouted": { "forward": { "url": url } } }),
            ),
        ] {
            let refused = permit_origins(&policy(document.clone())).unwrap_err();
            assert_eq!(refused.field, field, "{url}");
            assert!(
                refused
                    .to_string()
                    .contains("\"allow_private_origins\": true"),
                "{refused}"
            );
            let mut allowed = document;
            allowed["allow_private_origins"] = json!(true);
            assert_eq!(permit_origins(&policy(allowed)), Ok(()), "{url}");
        }
    }
    for url in [
        "https://origin.example.com",
        "https://internal.example.com",
        "https://192.0.9.1",
        "https://172.32.0.1",
        "https://100.128.0.1",
        "https://198.20.0.1",
        "https://[2001:4860:4860::8888]",
        "https://mylocal.example",
        "https://1.example.com",
        "https://[64:ff9b::808:808]",
    ] {
        assert_eq!(
            permit_origins(&policy(json!({ "routes": routed(url) }))),
            Ok(()),
            "{url}"
        );
    }
}

#[test]
fn the_keys_of_an_issuer_are_not_fetched_inside_either() {
    let mut routes = routed("https://origin.example.com");
    routes[0]["tenant"] = json!({ "jwt": {
        "issuer": "i", "audience": "a", "jwks_url": "https://169.254.169.254/keys"
    } });
    let refused = permit_origins(&policy(json!({ "routes": routes }))).unwrap_err();
    assert_eq!(refused.field, "/routes/0/tenant/jwt/jwks_url");
}
