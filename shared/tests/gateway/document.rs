//! A policy with routes to bend, and requests to route.

use serde_json::{Value, json};
use weir_shared::gateway::facts::{BodyLength, Facts};
use weir_shared::invalid::{Fault, read_json};
use weir_shared::policy::Policy;
use weir_shared::wire::policy::PolicyDocument;

/// The SHA-256 of `abc` (FIPS 180-2, appendix B.1).
pub(crate) const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// A valid document that says all that can be said of the gateway.
pub(crate) fn whole() -> Value {
    json!({
        "regions": ["weur"],
        "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "budgets": {
            "tokens": { "limit": 1000, "window_ms": 1000, "sharing": "first_come", "scope": "global" },
            "local": { "limit": 1000, "window_ms": 1000, "sharing": "first_come", "scope": "isolate" }
        },
        "limits": {
            "per_ip": { "algorithm": "gcra", "limit": 10, "period_ms": 1000, "scope": "region" },
            "own": {
                "algorithm": "gcra", "limit": 10, "period_ms": 1000, "scope": "region", "per_tenant": true
            },
            "near": { "algorithm": "gcra", "limit": 10, "period_ms": 1000, "scope": "isolate" },
            "shape": { "algorithm": "leaky_bucket", "rate_per_sec": 1, "max_queue_ms": 10, "scope": "region" },
            "login": { "all": [ { "name": "ip", "limit": "per_ip" }, { "name": "user", "limit": "own" } ] },
            "nearby": { "any": [ "per_ip", "near" ] }
        },
        "meters": { "bytes": { "per_sec": 1000 } },
        "guards": { "queries": { "concurrency": 4 }, "exports": { "concurrency": 1 } },
        "overload": { "origin": { "slots": 8 } },
        "trusted_proxies": ["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"],
        "api_keys": { ABC: "acme" },
        "unrouted": { "forward": { "url": "http://rest.example.com:8080", "timeout_ms": 50 } },
        "routes": [
            {
                "name": "chat", "host": "api.example.com", "path": "/llm/*", "methods": ["POST", "M-SEARCH"],
                "tenant": { "header": "x-tenant", "prefix": "org:" },
                "absent_tenant": "refuse",
                "checks": [
                    { "budget": "tokens", "cost": { "response_header": "x-tokens-used", "reserve": 1000 } },
                    { "limit": "per_ip", "key": "client_address" },
                    { "limit": "per_ip", "key": { "fixed": "all" }, "cost": 0 },
                    { "limit": "own" },
                    { "limit": "login", "keys": { "ip": "client_address", "user": { "header": "x-user" } } },
                    { "limit": "nearby", "key": "tenant" },
                    { "guard": "queries" },
                    { "meter": "bytes", "cost": { "body_bytes": { "per": 1, "reserve": 65536 } } },
                    { "overload": "origin", "cost": { "header": "x-cost", "max": 100 } }
                ],
                "origin": { "url": "https://origin.example.com/base", "timeout_ms": 600000 },
                "shadow": true
            },
            {
                "name": "keyed", "host": "*.example.com", "path": "/v2/*/items",
                "tenant": { "api_key": { "header": "x-api-key" } },
                "absent_tenant": { "as": "anonymous" },
                "checks": [
                    { "budget": "tokens", "cost": 3, "wait_ms": 30000 },
                    { "limit": "shape", "key": "client_address" }
                ],
                "origin": { "url": "http://127.0.0.1:9000" },
                "fallback": [
                    { "url": "https://second.example.com", "timeout_ms": 1000, "strip_prefix": "/v2",
                      "headers": { "authorization": { "secret": "SECOND_KEY", "prefix": "Bearer " } } },
                    { "url": "https://third.example.com" }
                ],
                "retry_unsafe": true
            },
            {
                "name": "signed", "path": "/signed",
                "tenant": { "jwt": {
                    "header": "authorization", "claim": "sub", "issuer": "https://issuer.example.com",
                    "audience": "weir", "jwks_url": "https://issuer.example.com/keys"
                } },
                "checks": [ { "meter": "bytes", "cost": { "body_bytes": { "reserve": 1 } } } ],
                "origin": { "url": "https://[2001:db8::1]:8443" }
            },
            {
                "name": "addressed", "path": "/from/address", "tenant": { "client_address": {}, "prefix": "ip:" },
                "checks": [ { "overload": "origin", "wait_ms": 1 } ],
                "origin": { "url": "https://origin.example.com", "limits": { "overload": "origin", "format": "openai" } }
            },
            {
                "name": "abroad", "path": "/from/country", "tenant": { "country": {} },
                "checks": [], "origin": { "url": "https://origin.example.com" }
            },
            {
                "name": "network", "path": "/from/asn", "tenant": { "asn": {} },
                "checks": [], "origin": { "url": "https://origin.example.com" }
            },
            {
                "name": "one", "path": "/one", "tenant": { "fixed": "everyone" },
                "checks": [
                    { "budget": "tokens", "cost": { "usage": {
                        "format": "openai", "reserve": 500, "reserve_max": 900,
                        "weights": { "input": 1, "cached_input": 0.1, "output": 4, "reasoning": 4 },
                        "models": { "gpt-4o*": 10, "o1": 0.5 }
                    } } },
                    { "meter": "bytes", "cost": { "usage": { "format": "openai", "reserve": 1 } } }
                ],
                "inject_usage": true, "origin": { "url": "https://origin.example.com" }
            },
            {
                "name": "nobody", "path": "/nobody",
                "checks": [ { "limit": "per_ip", "key": { "header": "x-key" } } ],
                "origin": { "url": "https://origin.example.com" }
            },
            {
                "name": "large", "path": "/models/*", "methods": ["GET", "POST"], "models": ["gpt-4o*", "o1", "*-large"],
                "tenant": { "api_key": { "header": "x-api-key" } }, "errors": "openai",
                "checks": [], "origin": { "url": "https://large.example.com" }, "websocket_ms": 3600000
            },
            {
                "name": "list", "path": "/models/v1/models", "tenant": { "api_key": { "header": "x-api-key" } },
                "checks": [ { "limit": "own", "cost": 2 } ], "answer": "models"
            }
        ]
    })
}

/// The whole document with another value at the pointer; without what is there for `Value::Null`.
pub(crate) fn with(pointer: &str, value: Value) -> Value {
    let mut document = whole();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(map) if value.is_null() => {
            map.remove(name);
        }
        Value::Object(map) => {
            map.insert(name.to_owned(), value);
        }
        other => other[name.parse::<usize>().unwrap()] = value,
    }
    document
}

/// The policy that a document comes to, or the pointer and the message of its refusal.
pub(crate) fn read(document: &Value) -> Result<Policy, (String, String)> {
    let read = read_json::<PolicyDocument>(document.to_string().as_bytes());
    let built = read.and_then(|document| Policy::try_from(&document));
    built.map_err(|refused| {
        let message = match refused.fault {
            // Where in the text is the pointer's business.
            Fault::Form { message } => message.split(" at line ").next().unwrap().to_owned(),
            fault => fault.to_string(),
        };
        (refused.field, message)
    })
}

/// Each value is refused at the pointer where it stands, or beneath it at the second, with the message.
pub(crate) fn are_refused(cases: Vec<(&str, Value, &str, &str)>) {
    for (pointer, value, beneath, message) in cases {
        let refused = read(&with(pointer, value.clone())).map(|_| "saved");
        let expected = (format!("{pointer}{beneath}"), message.to_owned());
        assert_eq!(refused, Err(expected), "{pointer} = {value}");
    }
}

/// The policy of the whole document.
pub(crate) fn policy() -> Policy {
    read(&whole()).unwrap()
}

/// A request, whose header fields are looked up in a list.
pub(crate) struct Sent<'a> {
    pub(crate) method: &'a str,
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: BodyLength,
}

impl Sent<'_> {
    /// Passes its facts on, from the country `de` and the network 64500.
    pub(crate) fn facts<T>(&self, then: impl FnOnce(&Facts<'_>) -> T) -> T {
        let header = |name: &str| {
            let fields = self.headers.iter().filter(|(one, _)| *one == name);
            let values: Vec<&str> = fields.map(|(_, value)| *value).collect();
            (!values.is_empty()).then(|| values.join(", "))
        };
        then(&Facts {
            method: self.method,
            host: self.host,
            path: self.path,
            header: &header,
            country: Some("de"),
            asn: Some(64_500),
            body: self.body,
        })
    }
}

/// A `GET` of a path at `api.example.com`, with header fields.
pub(crate) fn get<'a>(path: &'a str, headers: &'a [(&'a str, &'a str)]) -> Sent<'a> {
    Sent {
        method: "GET",
        host: "api.example.com",
        path,
        headers,
        body: BodyLength::None,
    }
}
