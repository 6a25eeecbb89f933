//! What a policy must not say of the gateway: where, and in which words.

use serde_json::{Value, json};

use super::document::{are_refused, read, whole, with};

#[test]
fn what_a_route_needs_is_required_at_its_pointer() {
    are_refused(vec![
        ("/routes/0/name", Value::Null, "", "is required"),
        ("/routes/0/origin", Value::Null, "", "is required"),
        ("/routes/0/origin/url", Value::Null, "", "is required"),
        ("/routes/3/tenant", Value::Null, "", "is required"),
        ("/routes/0/tenant", json!({}), "/header", "is required"),
        ("/routes/0/methods", json!([]), "", "is required"),
        (
            "/routes/1/tenant",
            json!({ "api_key": {} }),
            "/api_key/header",
            "is required",
        ),
        ("/routes/1/absent_tenant", json!({}), "/as", "is required"),
        (
            "/routes/2/tenant/jwt/issuer",
            Value::Null,
            "",
            "is required",
        ),
        (
            "/routes/2/tenant/jwt/audience",
            Value::Null,
            "",
            "is required",
        ),
        (
            "/routes/2/tenant/jwt/jwks_url",
            Value::Null,
            "",
            "is required",
        ),
        ("/routes/2/tenant/jwt/claim", json!(""), "", "is required"),
        ("/routes/0/checks/0", json!({}), "/budget", "is required"),
        (
            "/routes/0/checks/0/cost",
            json!({}),
            "/header",
            "is required",
        ),
        (
            "/routes/0/checks/0/cost/reserve",
            Value::Null,
            "",
            "is required",
        ),
        (
            "/routes/0/checks/7/cost/body_bytes/reserve",
            Value::Null,
            "",
            "is required",
        ),
        (
            "/routes/0/checks/8/cost/max",
            Value::Null,
            "",
            "is required",
        ),
        ("/routes/0/checks/1/key", Value::Null, "", "is required"),
        (
            "/routes/0/checks/1/key",
            json!({}),
            "/header",
            "is required",
        ),
        ("/routes/0/checks/4/keys/ip", Value::Null, "", "is required"),
        ("/routes/0/checks/4/keys", json!({}), "", "is required"),
        ("/unrouted", json!({}), "/forward", "is required"),
        ("/unrouted/forward", json!({}), "/url", "is required"),
    ]);
    // The tenant of a limit with keys of each tenant, and of a key that is the tenant.
    for check in [
        json!({ "limit": "own" }),
        json!({ "limit": "per_ip", "key": "tenant" }),
    ] {
        let refused = read(&with("/routes/7/checks/0", check)).map(|_| "saved");
        let expected = ("/routes/7/tenant".to_owned(), "is required".to_owned());
        assert_eq!(refused, Err(expected));
    }
}

#[test]
fn a_name_that_the_rest_of_the_policy_does_not_have_is_refused_where_it_stands() {
    are_refused(vec![
        (
            "/routes/0/checks/0/budget",
            json!("credits"),
            "",
            "\"credits\" is not a known budget of this policy",
        ),
        (
            "/routes/0/checks/1/limit",
            json!("tokens"),
            "",
            "\"tokens\" is not a known limit of this policy",
        ),
        (
            "/routes/0/checks/6/guard",
            json!("other"),
            "",
            "\"other\" is not a known guard of this policy",
        ),
        (
            "/routes/0/checks/7/meter",
            json!("other"),
            "",
            "\"other\" is not a known meter of this policy",
        ),
        (
            "/routes/0/checks/8/overload",
            json!("other"),
            "",
            "\"other\" is not a known overload resource of this policy",
        ),
        (
            "/routes/0/checks/4/keys/other",
            json!("tenant"),
            "",
            "\"other\" is not a known dimension of this limit",
        ),
    ]);
    let refused = read(&with("/api_keys", json!({}))).map(|_| "saved");
    let message = "\"api_keys\" is not a known list of this policy with a key".to_owned();
    assert_eq!(
        refused,
        Err(("/routes/1/tenant/api_key".to_owned(), message))
    );
    // What was there when the route was saved cannot be taken away alone.
    let refused = read(&with("/overload", json!({}))).map(|_| "saved");
    let message = "\"origin\" is not a known overload resource of this policy".to_owned();
    assert_eq!(
        refused,
        Err(("/routes/0/checks/8/overload".to_owned(), message))
    );
}

#[test]
fn of_several_alternatives_exactly_one_is_taken() {
    are_refused(vec![
        (
            "/routes/0/tenant",
            json!({ "header": "x", "country": {} }),
            "/country",
            "cannot be given together with header",
        ),
        (
            "/routes/0/checks/0",
            json!({ "budget": "tokens", "meter": "bytes" }),
            "/meter",
            "cannot be given together with budget",
        ),
        (
            "/routes/0/checks/4",
            json!({ "limit": "login", "key": "tenant", "keys": { "ip": "tenant" } }),
            "/keys",
            "cannot be given together with key",
        ),
        (
            "/routes/0/checks/0/cost",
            json!({ "header": "x", "max": 1, "response_header": "y", "reserve": 1 }),
            "/response_header",
            "cannot be given together with header",
        ),
        (
            "/routes/0/checks/1/key",
            json!({ "header": "x", "fixed": "y" }),
            "/fixed",
            "cannot be given together with header",
        ),
        (
            "/routes/0/checks/8",
            json!({ "guard": "exports" }),
            "/guard",
            "cannot be given together with another guard",
        ),
        (
            "/routes/0/checks/1",
            json!({ "budget": "tokens" }),
            "/budget",
            "\"tokens\" is given twice",
        ),
    ]);
    are_refused(vec![
        (
            "/routes/1/name",
            json!("chat"),
            "",
            "\"chat\" is given twice",
        ),
        (
            "/routes/0/methods/1",
            json!("POST"),
            "",
            "\"POST\" is given twice",
        ),
    ]);
    let mut twice = whole();
    twice["routes"][0]["checks"][0] = json!({ "meter": "bytes" });
    let refused = read(&twice).map(|_| "saved");
    let expected = (
        "/routes/0/checks/7/meter".to_owned(),
        "\"bytes\" is given twice".to_owned(),
    );
    assert_eq!(refused, Err(expected));
}

#[test]
fn what_means_nothing_where_it_stands_is_refused_and_never_dropped() {
    are_refused(vec![
        (
            "/routes/0/checks/0/key",
            json!("tenant"),
            "",
            "does not belong to a budget",
        ),
        (
            "/routes/0/checks/7/keys",
            json!({ "a": "tenant" }),
            "",
            "does not belong to a meter",
        ),
        (
            "/routes/0/checks/1",
            json!({ "limit": "per_ip", "keys": { "per_ip": "tenant" } }),
            "/keys",
            "does not belong to a limit that is not made of others",
        ),
        (
            "/routes/0/checks/0/cost/max",
            json!(5),
            "",
            "does not belong to a cost without header",
        ),
        (
            "/routes/0/checks/8/cost/reserve",
            json!(5),
            "",
            "does not belong to a cost without response_header",
        ),
        (
            "/routes/0/checks/8/cost",
            json!({ "response_header": "x", "reserve": 5 }),
            "",
            "does not belong to an overload resource, whose costs are not settled",
        ),
        (
            "/routes/0/checks/6/cost",
            json!({ "header": "x", "max": 5 }),
            "",
            "does not belong to a guard, of which a request takes one slot",
        ),
        (
            "/routes/0/checks/6/cost",
            json!(0),
            "",
            "0 is outside 1 to 1",
        ),
        (
            "/routes/0/checks/0",
            json!({ "budget": "local", "cost": { "response_header": "x", "reserve": 5 } }),
            "/cost",
            "does not belong to a budget of each isolate, which is not settled",
        ),
        (
            "/routes/0/checks/5/cost",
            json!({ "body_bytes": { "reserve": 5 } }),
            "",
            "does not belong to a limit of each isolate, which is not settled",
        ),
        (
            "/routes/7/absent_tenant",
            json!("refuse"),
            "",
            "does not belong to a route that looks for no tenant",
        ),
        (
            "/routes/0/checks",
            json!([ { "limit": "shape", "key": "tenant" }, { "limit": "shape", "key": "client_address" } ]),
            "/1/limit",
            "cannot be given together with another leaky_bucket",
        ),
        (
            "/routes/0/checks/1",
            json!({ "limit": "shape", "key": "tenant", "cost": { "response_header": "x-used", "reserve": 5 } }),
            "/cost",
            "does not belong to a leaky_bucket, whose places are of their time and are not settled",
        ),
    ]);
}

#[test]
fn what_cannot_be_waited_for_is_refused_at_the_wait() {
    let check = |target: Value| with_wait(target, json!(1));
    are_refused(vec![
        (
            "/routes/1/checks/0/wait_ms",
            json!(0),
            "",
            "0 is outside 1 to 30000",
        ),
        (
            "/routes/1/checks/0/wait_ms",
            json!(30_001),
            "",
            "30001 is outside 1 to 30000",
        ),
        (
            "/routes/1/checks/1/wait_ms",
            json!(5),
            "",
            "does not belong to a leaky_bucket, whose own max_queue_ms says how long it is waited for",
        ),
        (
            "/routes/1/checks/1",
            check(json!({ "limit": "per_ip", "key": "tenant" })),
            "/wait_ms",
            "does not belong to a limit: a leaky_bucket is one that is waited for",
        ),
        (
            "/routes/1/checks/1",
            check(json!({ "meter": "bytes" })),
            "/wait_ms",
            "does not belong to a meter",
        ),
        (
            "/routes/1/checks/1",
            check(json!({ "guard": "queries" })),
            "/wait_ms",
            "does not belong to a guard",
        ),
        (
            "/routes/3/checks/0/wait_ms",
            json!(30_001),
            "",
            "30001 is outside 1 to 30000",
        ),
        (
            "/overload/origin/slots",
            json!(0),
            "",
            "0 is outside 1 to 1000",
        ),
        (
            "/routes/0/checks/0/wait_ms",
            json!(5),
            "",
            "does not belong to a route in shadow, on which nobody is denied",
        ),
    ]);
    let mut shadow = whole();
    shadow["budgets"]["tokens"]["shadow"] = json!(true);
    let refused = read(&shadow).map(|_| "saved").unwrap_err();
    assert_eq!(refused.0, "/routes/1/checks/0/wait_ms");
    assert!(refused.1.contains("a budget in shadow"), "{}", refused.1);
    let mut shadow = whole();
    shadow["overload"]["origin"]["shadow"] = json!(true);
    let refused = read(&shadow).map(|_| "saved").unwrap_err();
    assert_eq!(refused.0, "/routes/3/checks/0/wait_ms");
    assert!(
        refused.1.contains("an overload resource in shadow"),
        "{}",
        refused.1
    );
}

fn with_wait(mut check: Value, wait_ms: Value) -> Value {
    check["wait_ms"] = wait_ms;
    check
}

#[test]
fn numbers_of_a_route_have_bounds() {
    const UNITS: &str = "9007199254740991";
    let units = |got: &str, min: u64| format!("{got} is outside {min} to {UNITS}");
    are_refused(vec![
        (
            "/routes/0/origin/timeout_ms",
            json!(49),
            "",
            "49 is outside 50 to 600000",
        ),
        (
            "/routes/0/origin/timeout_ms",
            json!(600_001),
            "",
            "600001 is outside 50 to 600000",
        ),
        (
            "/routes/0/checks/0/cost/reserve",
            json!(0),
            "",
            &units("0", 1),
        ),
        (
            "/routes/0/checks/7/cost/body_bytes/per",
            json!(0),
            "",
            &units("0", 1),
        ),
        ("/routes/0/checks/8/cost/max", json!(0), "", &units("0", 1)),
        (
            "/routes/0/checks/2/cost",
            json!(9_007_199_254_740_992_u64),
            "",
            &units("9007199254740992", 0),
        ),
        (
            "/routes/0/checks/2/cost",
            json!(-1),
            "",
            "must be an integer of at least 0 or an object, not -1",
        ),
        (
            "/routes/0/checks/2/cost",
            json!(1.5),
            "",
            "must be an integer of at least 0 or an object, not 1.5",
        ),
    ]);
    let route = whole()["routes"][7].clone();
    let named = |n: usize| {
        let mut route = route.clone();
        route["name"] = json!(format!("r{n}"));
        route
    };
    let many: Vec<Value> = (0..257).map(named).collect();
    let message = "257 routes, at most 256 are allowed";
    are_refused(vec![("/routes", json!(many), "", message)]);
    assert!(read(&with("/routes", json!(many[..256]))).is_ok());
    let checks = vec![json!({ "limit": "per_ip", "key": "client_address" }); 17];
    let message = "17 checks, at most 16 are allowed";
    are_refused(vec![("/routes/7/checks", json!(checks), "", message)]);
}
