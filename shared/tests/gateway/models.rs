//! Routes that are for certain models, and the list of models that a client may use.

use serde_json::{Value, json};
use weir_shared::gateway::error_form::{body, fields};
use weir_shared::gateway::facts::BodyLength;
use weir_shared::gateway::models::{Asking, answer};
use weir_shared::gateway::problem::Refusal;
use weir_shared::gateway::router::{Router, To};
use weir_shared::policy::Policy;
use weir_shared::units::EpochMs;
use weir_shared::wire::route::ErrorForm;

use super::document::{Sent, are_refused, get, read, whole};

/// A policy with these routes alone, each with an origin unless it answers by itself.
fn policy(mut routes: Value) -> Policy {
    for route in routes.as_array_mut().unwrap() {
        if route["answer"].is_null() {
            route["origin"] = json!({ "url": "https://origin.example.com" });
        }
    }
    let mut document = whole();
    document["routes"] = routes;
    document["unrouted"] = json!("refuse");
    read(&document).unwrap()
}

fn post(path: &str) -> Sent<'_> {
    Sent {
        method: "POST",
        body: BodyLength::Unknown,
        ..get(path, &[])
    }
}

/// Whether a body is read for its model, and the name of the route that takes a request for it.
fn taken(policy: &Policy, sent: &Sent<'_>, model: Option<&str>) -> (bool, Result<String, Refusal>) {
    sent.facts(|facts| {
        let router = Router::new(policy, facts).unwrap();
        let reads = router.by_model().is_some();
        let routed = router.find(model).map(|routed| match routed.to {
            To::Route(route) => route.name.clone(),
            To::Forward(_) => "forward".to_owned(),
        });
        (reads, routed)
    })
}

#[test]
fn the_first_route_that_fits_by_model_too_takes_a_request_and_bodies_are_read_only_where_that_decides()
 {
    let policy = policy(json!([
        { "name": "mini", "path": "/llm/*", "methods": ["POST"], "models": ["gpt-4o-mini"] },
        { "name": "small", "path": "/llm/small", "checks": [] },
        { "name": "large", "path": "/llm/*", "models": ["gpt-4o*", "*-large"] },
        { "name": "other", "path": "/llm/chat" },
        { "name": "late", "path": "/llm/chat", "models": ["o1"] }
    ]));
    for (method, path, model, reads, name) in [
        ("POST", "/llm/chat", Some("gpt-4o-mini"), true, "mini"),
        ("POST", "/llm/chat", Some("gpt-4o"), true, "large"),
        ("POST", "/llm/chat", Some("mistral-large"), true, "large"),
        ("POST", "/llm/chat", Some("o1"), true, "other"),
        ("POST", "/llm/chat", None, true, "other"),
        ("PUT", "/llm/chat", Some("gpt-4o-mini"), true, "large"),
        // A route that takes what it is for, whatever the model, comes first.
        ("PUT", "/llm/small", Some("gpt-4o"), false, "small"),
        ("POST", "/llm/small", Some("gpt-4o"), true, "small"),
        ("POST", "/llm/small", Some("gpt-4o-mini"), true, "mini"),
    ] {
        let sent = Sent {
            method,
            ..post(path)
        };
        let expected = (reads, Ok(name.to_owned()));
        assert_eq!(
            taken(&policy, &sent, model),
            expected,
            "{method} {path} {model:?}"
        );
    }
}

#[test]
fn a_path_that_two_readings_give_to_different_routes_is_refused_whatever_the_model() {
    let policy = policy(json!([
        { "name": "large", "path": "/a/b/*", "models": ["large"] },
        { "name": "rest", "path": "/*" }
    ]));
    let sent = post("/a%2Fb/x");
    let (reads, refused) = taken(&policy, &sent, Some("large"));
    assert!(reads, "by one of its readings the model decides");
    assert_eq!(refused.unwrap_err().status, 400);
    assert_eq!(
        taken(&policy, &sent, Some("small")),
        (true, Ok("rest".to_owned()))
    );
}

#[test]
fn a_model_that_no_route_is_for_is_not_found_in_the_form_of_the_route() {
    let policy = policy(
        json!([{ "name": "large", "path": "/llm/*", "models": ["large"], "errors": "openai" }]),
    );
    let refused = |model| taken(&policy, &post("/llm/x"), model).1.unwrap_err();
    let told: Value =
        serde_json::from_str(&body(&refused(Some("sm\"all")), ErrorForm::OpenAi)).unwrap();
    let message = "The model sm\"all is not served here.";
    let expected = json!({
        "message": message, "type": "not_found_error", "param": "/model", "code": "model_not_found"
    });
    assert_eq!(told["error"], expected);
    let told: Value = serde_json::from_str(&body(&refused(None), ErrorForm::Anthropic)).unwrap();
    assert_eq!(told["error"]["type"], "not_found_error");
    let again = fields(&refused(None), ErrorForm::OpenAi);
    assert_eq!(again, [("x-should-retry", "false".to_owned())]);
    assert_eq!(
        refused(None).body(),
        r#"{"type":"/problems/model-not-found","title":"No route is for the model","status":404,"detail":"The request names no model that can be read: its body has to be JSON, not compressed, of less than 262144 bytes, with one model.","field":"/model"}"#
    );
    // Where no route is for any model, it is the path that nothing is at.
    let (reads, nowhere) = taken(&policy, &post("/x"), Some("large"));
    assert_eq!((reads, nowhere), (false, Err(Refusal::no_route())));
}

#[test]
fn what_no_route_is_for_by_its_model_is_forwarded_where_the_policy_forwards_all_else() {
    let policy = read(&whole()).unwrap();
    for (model, name) in [
        (Some("o1"), "large"),
        (Some("o9"), "forward"),
        (None, "forward"),
    ] {
        let found = taken(&policy, &post("/models/chat"), model);
        assert_eq!(found, (true, Ok(name.to_owned())), "{model:?}");
    }
}

#[test]
fn models_and_answers_that_mean_nothing_are_refused_at_their_place() {
    let many = json!((0..129).map(|index| index.to_string()).collect::<Vec<_>>());
    let itself = "does not belong to a route that Weir answers itself";
    let by = "cannot be given together with answer";
    are_refused(vec![
        ("/routes/8/models", json!([]), "", "is required"),
        ("/routes/8/models", json!([""]), "/0", "is required"),
        (
            "/routes/8/models",
            json!(["a", "b*", "a"]),
            "/2",
            "\"a\" is given twice",
        ),
        (
            "/routes/8/models",
            json!(["x".repeat(129)]),
            "/0",
            "129 bytes, at most 128 are allowed",
        ),
        (
            "/routes/8/models",
            many,
            "",
            "129 models, at most 128 are allowed",
        ),
        ("/routes/9/models", json!(["a"]), "", by),
        (
            "/routes/9/origin",
            json!({ "url": "https://origin.example.com" }),
            "",
            by,
        ),
        (
            "/routes/9/fallback",
            json!([{ "url": "https://origin.example.com" }]),
            "",
            by,
        ),
        ("/routes/9/retry_unsafe", json!(true), "", by),
        ("/routes/9/inject_usage", json!(false), "", by),
        ("/routes/9/forward_credential", json!(true), "", by),
        ("/routes/9/methods", json!(["GET", "POST"]), "/1", itself),
        (
            "/routes/9/checks/0",
            json!({ "guard": "queries" }),
            "",
            itself,
        ),
        (
            "/routes/9/checks/0",
            json!({ "overload": "origin" }),
            "",
            itself,
        ),
        (
            "/routes/9/checks/0",
            json!({ "budget": "tokens", "cost": { "usage": { "format": "openai", "reserve": 1 } } }),
            "",
            itself,
        ),
    ]);
    let mut bodiless = whole();
    bodiless["routes"][8]["methods"] = json!(["GET", "HEAD"]);
    let refused = read(&bodiless).map(|_| "saved").unwrap_err();
    let message = "does not belong to a route of methods whose requests have no body";
    assert_eq!(refused, ("/routes/8/models".to_owned(), message.to_owned()));
}

/// What the route `list` answers at a path to a client who sends these header fields, as it was admitted.
fn told(
    policy: &Policy,
    path: &str,
    headers: &[(&str, &str)],
    tenant: Option<&str>,
) -> Result<Value, Refusal> {
    let route = policy
        .routes
        .iter()
        .find(|route| route.name == "list")
        .unwrap();
    get(path, headers).facts(|facts| {
        let asking = Asking {
            route,
            tenant,
            facts,
            client: None,
        };
        let told = answer(policy, &asking, EpochMs(1_000))?;
        Ok(serde_json::from_str(&told).unwrap())
    })
}

/// The names of a list that is told so.
fn listed(
    policy: &Policy,
    path: &str,
    headers: &[(&str, &str)],
    tenant: Option<&str>,
) -> Vec<String> {
    let told = told(policy, path, headers, tenant).unwrap();
    let models = told["data"].as_array().unwrap().iter();
    models
        .map(|model| model["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_client_is_told_the_models_of_the_routes_that_would_take_its_requests() {
    let jwt = |audience: &str| {
        json!({ "jwt": {
            "issuer": "https://issuer.example.com", "audience": audience, "jwks_url": "https://issuer.example.com/keys"
        } })
    };
    let key = json!({ "api_key": { "header": "x-api-key" } });
    let policy = policy(json!([
        { "name": "list", "path": "/v1/models", "tenant": jwt("weir"), "answer": "models" },
        { "name": "two", "path": "/v1/chat/*", "models": ["b", "a", "c*"], "tenant": jwt("weir") },
        { "name": "open", "path": "/*", "models": ["open", "a"] },
        { "name": "keyed", "path": "/v1/*", "models": ["keyed"], "tenant": key },
        { "name": "anyone", "path": "/*/chat", "models": ["anyone"], "tenant": key, "absent_tenant": { "as": "anonymous" } },
        { "name": "elsewhere", "path": "/v2/*", "models": ["elsewhere"] },
        { "name": "abroad", "host": "other.example.com", "models": ["abroad"] },
        { "name": "meant_for_others", "path": "/v1/*", "models": ["others"], "tenant": jwt("others") }
    ]));
    let token = ("authorization", "Bearer a.b.c");
    let expected = ["a", "anyone", "b", "open"];
    assert_eq!(
        listed(&policy, "/v1/models", &[token], Some("acme")),
        expected
    );
    // FIPS 180-2: a key that the policy knows.
    let expected = ["a", "anyone", "b", "keyed", "open"];
    let keyed = [token, ("x-api-key", "abc")];
    assert_eq!(
        listed(&policy, "/v1/models/", &keyed, Some("acme")),
        expected
    );
    // Let through without a tenant, as a route in shadow does: a token that nobody has verified opens nothing.
    assert_eq!(
        listed(&policy, "/v1/models", &[token], None),
        ["a", "anyone", "open"]
    );
    assert_eq!(
        listed(&policy, "/v2/models", &[], None),
        ["a", "anyone", "elsewhere", "open"]
    );
}

#[test]
fn a_tenant_that_the_policy_puts_in_no_tier_is_told_nothing_of_its_routes() {
    let mut document = whole();
    document["default_tier"] = Value::Null;
    document["tenants"] = json!({ "acme": { "tier": "free" } });
    let header = json!({ "header": "x-tenant" });
    document["routes"] = json!([
        { "name": "list", "path": "/v1/models", "answer": "models", "checks": [] },
        {
            "name": "all", "tenant": header, "models": ["a"], "checks": [],
            "origin": { "url": "https://origin.example.com" }
        }
    ]);
    let policy = read(&document).unwrap();
    let of = |tenant| listed(&policy, "/v1/models", &[("x-tenant", tenant)], None);
    assert_eq!((of("acme"), of("stranger")), (vec!["a".to_owned()], vec![]));
}

/// A list at `/v1/models`, with what stands below it, and the models of these names.
fn offering(models: &[&str], errors: &str) -> Policy {
    policy(json!([
        { "name": "list", "path": "/v1/models/*", "answer": "models", "errors": errors },
        { "name": "all", "path": "/v1/*", "models": models }
    ]))
}

#[test]
fn one_model_is_told_by_its_name_in_the_form_of_openai() {
    let policy = offering(
        &["gpt-4o", "meta-llama/Llama 3", "ft:gpt-4o:acme", "o*"],
        "openai",
    );
    let told = |path: &str| told(&policy, path, &[], None);
    for (path, name) in [
        ("/v1/models/gpt-4o", "gpt-4o"),
        ("/v1/models//gpt-4o/", "gpt-4o"),
        ("/v1/models/ft:gpt-4o:acme", "ft:gpt-4o:acme"),
        ("/v1/models/ft%3Agpt-4o%3Aacme", "ft:gpt-4o:acme"),
        ("/v1/models/meta-llama/Llama%203", "meta-llama/Llama 3"),
        ("/v1/models/meta-llama%2FLlama%203", "meta-llama/Llama 3"),
    ] {
        let model = json!({ "id": name, "object": "model", "created": 0, "owned_by": "weir" });
        assert_eq!(told(path), Ok(model), "{path}");
    }
    let model = |id: &str| json!({ "id": id, "object": "model", "created": 0, "owned_by": "weir" });
    let all = ["ft:gpt-4o:acme", "gpt-4o", "meta-llama/Llama 3"].map(model);
    assert_eq!(
        told("/v1/models"),
        Ok(json!({ "object": "list", "data": all }))
    );
    // Who may use it by a pattern alone is told no name, and names are told apart by case.
    for path in ["/v1/models/o1", "/v1/models/GPT-4o", "/v1/models/gpt-4o/x"] {
        let status = told(path).map_err(|refused| refused.status);
        assert_eq!(status, Err(404), "{path}");
    }
    let refused = told("/v1/models/o1").unwrap_err();
    assert_eq!(
        (refused.status, refused.detail.as_str()),
        (404, "The model o1 is not served here.")
    );
}

#[test]
fn who_speaks_anthropic_s_language_is_told_models_in_its_form() {
    let version = [("anthropic-version", "2023-06-01")];
    for (errors, headers) in [
        ("openai", &version[..]),
        ("problem", &version[..]),
        ("anthropic", &[][..]),
    ] {
        let policy = offering(&["claude-b", "claude-a"], errors);
        let of = |path: &str| told(&policy, path, headers, None).unwrap();
        let (list, one) = (of("/v1/models"), of("/v1/models/claude-a"));
        assert_eq!(
            (&list["has_more"], &list["first_id"], &list["last_id"]),
            (&json!(false), &json!("claude-a"), &json!("claude-b")),
            "{errors}"
        );
        assert_eq!(
            (list["data"].as_array().unwrap().len(), &list["data"][0]),
            (2, &one)
        );
        assert_eq!(
            (
                &one["type"],
                &one["id"],
                &one["display_name"],
                &one["created_at"]
            ),
            (
                &json!("model"),
                &json!("claude-a"),
                &json!("claude-a"),
                &json!("1970-01-01T00:00:00Z")
            )
        );
    }
    let none = offering(&["claude*"], "anthropic");
    let list = told(&none, "/v1/models", &[], None).unwrap();
    let empty = json!({ "data": [], "has_more": false, "first_id": null, "last_id": null });
    assert_eq!(list, empty);
}

#[test]
fn a_model_that_others_may_use_is_not_found_like_one_that_nobody_may() {
    let policy = policy(json!([
        { "name": "list", "path": "/v1/models/*", "answer": "models" },
        { "name": "own", "path": "/v1/*", "models": ["own"], "tenant": { "header": "x-tenant" } }
    ]));
    let of = |name: &str, headers: &[(&str, &str)]| {
        let told = told(&policy, &format!("/v1/models/{name}"), headers, None);
        told.map(|told| told["id"].clone())
    };
    assert_eq!(of("own", &[("x-tenant", "acme")]), Ok(json!("own")));
    let (known, unknown) = (of("own", &[]).unwrap_err(), of("nil", &[]).unwrap_err());
    assert_eq!(known.body().replace("own", "nil"), unknown.body());
}

#[test]
fn a_list_for_all_paths_has_no_paths_of_models() {
    let policy = policy(json!([
        { "name": "list", "methods": ["GET"], "answer": "models" },
        { "name": "all", "models": ["a"] }
    ]));
    for path in ["/v1/models", "/v1/models/a", "/"] {
        assert_eq!(listed(&policy, path, &[], None), ["a"], "{path}");
    }
}
