//! The routes that are measured: one without checks, one with five, and that one with each of them left out.

use serde_json::{Value, json};
use weir_tests::fixtures::{KEY_OF_ACME, policy, with};

/// Thirty days: the budget does not end meanwhile.
const WINDOW_MS: u64 = 30 * 24 * 3_600_000;

/// What a route asks of a request before it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Key,
    Model,
    Budget,
    Guard,
    Overload,
}

impl Asked {
    pub const ALL: [Self; 5] = [
        Self::Key,
        Self::Model,
        Self::Budget,
        Self::Guard,
        Self::Overload,
    ];

    /// As the table says it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "the key (one tenant for all)",
            Self::Model => "the model",
            Self::Budget => "the budget",
            Self::Guard => "the guard",
            Self::Overload => "the overload resource",
        }
    }
}

/// The name of the route without checks.
pub const PLAIN: &str = "plain";

/// The name of the route with all five.
pub const ALL: &str = "all";

/// The name of the route without one of them.
pub fn without(left_out: Asked) -> String {
    format!("{left_out:?}").to_lowercase()
}

/// The policy. The requests to a route have its name before their path.
pub fn document(origin: &str) -> Value {
    let plain = json!({
        "name": PLAIN, "path": format!("/{PLAIN}/*"), "checks": [],
        "origin": { "url": origin, "strip_prefix": format!("/{PLAIN}") }
    });
    let mut routes = vec![plain, route(ALL, origin, None)];
    routes.extend(Asked::ALL.map(|one| route(&without(one), origin, Some(one))));
    let document = with(
        policy(1_000_000_000, WINDOW_MS),
        "/routes",
        Value::from(routes),
    );
    let guards = json!({ "streams": { "concurrency": 16, "lease_ms": 30_000 } });
    let document = with(document, "/guards", guards);
    let document = with(document, "/overload", json!({ "models": {} }));
    with(document, "/api_keys", json!({ KEY_OF_ACME: "pro:acme" }))
}

fn route(name: &str, origin: &str, left_out: Option<Asked>) -> Value {
    let has = |asked| left_out != Some(asked);
    let cost = json!({ "usage": { "format": "openai", "reserve": 200 } });
    let checks = [
        (Asked::Budget, json!({ "budget": "tokens", "cost": cost })),
        (Asked::Guard, json!({ "guard": "streams" })),
        (Asked::Overload, json!({ "overload": "models" })),
    ];
    let checks = checks.into_iter().filter(|(asked, _)| has(*asked));
    let checks: Vec<_> = checks.map(|(_, check)| check).collect();
    let tenant = match has(Asked::Key) {
        true => json!({ "api_key": { "header": "authorization" } }),
        false => json!({ "fixed": "pro:acme" }),
    };
    let mut route = json!({
        "name": name, "path": format!("/{name}/*"), "tenant": tenant, "checks": checks, "errors": "openai",
        "origin": {
            "url": origin, "strip_prefix": format!("/{name}"),
            "headers": { "authorization": { "secret": "PROVIDER_KEY", "prefix": "Bearer " } }
        }
    });
    if has(Asked::Model) {
        route["models"] = json!(["gpt-4o"]);
    }
    if has(Asked::Budget) {
        route["inject_usage"] = json!(true);
    }
    route
}
