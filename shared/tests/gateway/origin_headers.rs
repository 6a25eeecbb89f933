//! What an origin gets from the deployment, and what of the client's it does not.

use serde_json::{Value, json};
use weir_shared::gateway::error_form::{body, fields, media_type};
use weir_shared::gateway::forwarding::{Hop, request_headers, target_url, with_origin_headers};
use weir_shared::gateway::problem::Refusal;
use weir_shared::invalid::Fault;
use weir_shared::policy::route::{HeaderName, permit_secrets};
use weir_shared::wire::route::ErrorForm;

use super::document::{are_refused, get, read, whole, with};

/// The first route goes to a provider with a key of its own; the second knows its tenants by theirs.
fn provided() -> Value {
    let origin = json!({
        "url": "https://models.example.com/base", "strip_prefix": "/llm",
        "headers": {
            "Authorization": { "secret": "PROVIDER_KEY", "prefix": "Bearer " },
            "x-version": { "secret": "PROVIDER_VERSION" }
        }
    });
    with("/routes/0/origin", origin)
}

#[test]
fn secrets_take_the_place_of_whatever_the_client_sent_by_their_names() {
    let policy = read(&provided()).unwrap();
    let origin = &policy.routes[0].origin().unwrap();
    let sent = vec![
        (
            "authorization".to_owned(),
            "Bearer the-customer-s".to_owned(),
        ),
        ("authorization".to_owned(), "Bearer another".to_owned()),
        ("x-else".to_owned(), "1".to_owned()),
    ];
    let secret = |name: &str| Some(format!("value-of-{name}"));
    let mut got = with_origin_headers(sent.clone(), origin, secret).unwrap();
    got.sort();
    let due = [
        ("authorization", "Bearer value-of-PROVIDER_KEY"),
        ("x-else", "1"),
        ("x-version", "value-of-PROVIDER_VERSION"),
    ];
    assert_eq!(
        got,
        due.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    let missing = with_origin_headers(sent, origin, |name| {
        (name == "PROVIDER_KEY").then(String::new)
    });
    assert_eq!(missing.unwrap_err().as_str(), "PROVIDER_VERSION");
    let target = target_url(origin, "/llm/v1/models", Some("a=b"));
    assert_eq!(target, "https://models.example.com/base/v1/models?a=b");
}

#[test]
fn a_policy_that_names_a_secret_which_the_deployment_does_not_have_is_refused() {
    let policy = read(&provided()).unwrap();
    assert_eq!(permit_secrets(&policy, |_| true), Ok(()));
    let refused = permit_secrets(&policy, |name| name == "PROVIDER_KEY").unwrap_err();
    assert_eq!(refused.field, "/routes/0/origin/headers/x-version/secret");
    let name = "PROVIDER_VERSION".to_owned();
    let what = "secret of the deployment";
    assert_eq!(refused.fault, Fault::Unknown { name, what });
}

#[test]
fn what_named_the_tenant_stays_behind_unless_the_route_says_otherwise() {
    let policy = read(&whole()).unwrap();
    let consumed: Vec<_> = policy.routes.iter().map(|route| route.consumed()).collect();
    let named = |name: Option<&HeaderName>| name.map(|name| name.as_str().to_owned());
    // A name in a header is no credential.
    assert_eq!(named(consumed[0]), None);
    let (key, token) = (named(consumed[1]), named(consumed[2]));
    assert!(key.is_some() && token.is_some(), "{consumed:?}");
    let kept = read(&with("/routes/1/forward_credential", json!(true))).unwrap();
    assert_eq!(kept.routes[1].consumed(), None);
    let name = key.unwrap();
    let sent = [(name.as_str(), "key-of-acme"), ("x-else", "1")];
    get("/", &sent).facts(|facts| {
        let hop = |consumed| Hop {
            facts,
            trusted: &[],
            scheme: "https",
            secret: None,
            consumed,
        };
        let fields = || sent.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let got = request_headers(fields(), &hop(consumed[1]));
        assert!(!got.iter().any(|(one, _)| *one == name), "{got:?}");
        let got = request_headers(fields(), &hop(None));
        assert!(got.iter().any(|(one, _)| *one == name), "{got:?}");
    });
}

#[test]
fn what_a_policy_must_not_say_of_an_origin_s_headers_is_refused_at_its_pointer() {
    let header = |name: &str, body: Value| json!({ "url": "https://o.example.com", "headers": { name: body } });
    let at = "/routes/0/origin";
    let key = || json!({ "secret": "KEY" });
    let unserved =
        |name: &str| format!("{name} is not served; served: headers that Weir does not write");
    for name in [
        "host",
        "cf-connecting-ip",
        "weir-region",
        "connection",
        "content-length",
        "cookie",
        "x-forwarded-for",
    ] {
        let field = format!("/headers/{name}");
        are_refused(vec![(
            at,
            header(name, key()),
            field.as_str(),
            unserved(name).as_str(),
        )]);
    }
    let prefix = |prefix: &str| json!({ "url": "https://o.example.com", "strip_prefix": prefix });
    let segments = "must begin with a slash, without . or .. or empty segments";
    are_refused(vec![
        (
            at,
            header("authorization", json!({})),
            "/headers/authorization/secret",
            "is required",
        ),
        (
            at,
            header("x y", key()),
            "/headers/x y",
            "contains ' '; allowed are the characters of a token",
        ),
        (
            at,
            header("a", json!({ "secret": "WEIR_BOOTSTRAP_TOKEN" })),
            "/headers/a/secret",
            "WEIR_BOOTSTRAP_TOKEN is not served; served: secrets that are not Weir's own",
        ),
        (
            at,
            header("a", json!({ "secret": "lower" })),
            "/headers/a/secret",
            "contains 'l'; allowed are A-Z, 0-9 and _",
        ),
        (
            at,
            header("a", json!({ "secret": "K", "prefix": "a\r\nb: " })),
            "/headers/a/prefix",
            "contains '\\r'; allowed are those of a header's value",
        ),
        (
            at,
            json!({ "url": "http://o.example.com", "headers": { "a": key() } }),
            "/url",
            "must begin with https://, as it gets secrets",
        ),
        (
            at,
            json!({ "url": "https://o.example.com", "headers": { "a": key(), "A": key() } }),
            "/headers/a",
            "\"a\" is given twice",
        ),
        (at, prefix("llm"), "/strip_prefix", segments),
        (at, prefix("/a/../b"), "/strip_prefix", segments),
        (
            at,
            prefix("/a?b"),
            "/strip_prefix",
            "contains '?'; allowed are a-z, A-Z, 0-9, -, ., _, ~ and /",
        ),
    ]);
}

#[test]
fn each_form_of_errors_says_the_same_in_the_words_of_its_provider() {
    let refusal = Refusal {
        retry_after_ms: Some(1_200),
        status: 429,
        ..Refusal::path("Too many tokens.")
    };
    let json = |form| serde_json::from_str::<Value>(&body(&refusal, form)).unwrap();
    assert_eq!(
        json(ErrorForm::OpenAi),
        json!({ "error": {
            "message": "Too many tokens.", "type": "rate_limit_error", "param": null, "code": "rate_limit_exceeded"
        } })
    );
    assert_eq!(
        json(ErrorForm::Anthropic),
        json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "Too many tokens." } })
    );
    assert_eq!(json(ErrorForm::Problem)["status"], 429);
    assert_eq!(media_type(ErrorForm::Problem), "application/problem+json");
    assert_eq!(media_type(ErrorForm::OpenAi), "application/json");
    let denied = Refusal {
        decision: Some("5.x".into()),
        ..refusal.clone()
    };
    for (form, at) in [
        (ErrorForm::OpenAi, "/error/decision"),
        (ErrorForm::Anthropic, "/error/decision"),
        (ErrorForm::Problem, "/decision"),
    ] {
        let told: Value = serde_json::from_str(&body(&denied, form)).unwrap();
        assert_eq!(told.pointer(at), Some(&json!("5.x")), "{form:?}");
    }
    let never = Refusal {
        retry_after_ms: None,
        ..refusal
    };
    assert_eq!(
        fields(&never, ErrorForm::Anthropic),
        [("x-should-retry", "false".to_owned())]
    );
}
