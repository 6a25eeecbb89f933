//! A policy document to bend, and what comes of it.

pub(crate) mod limit;

use serde_json::{Value, json};
use weir_shared::invalid::{Fault, read_json};
use weir_shared::policy::Policy;
use weir_shared::wire::policy::PolicyDocument;

/// Stands for the literal under test until the document is text: JSON values hold neither `NaN` nor `1e999`.
const MARK: &str = "@literal@";

/// A valid document with one of everything.
pub(crate) fn whole() -> Value {
    json!({
        "enforcing": false,
        "regions": ["weur", "enam"],
        "home": "enam",
        "tiers": { "gold": { "weight": 2.5 }, "free": { "weight": 1 } },
        "tier_rules": [ { "prefix": "gold:", "tier": "gold" }, { "prefix": "gold:trial:", "tier": "free" } ],
        "default_tier": "free",
        "tenants_max": 5000,
        "unknown_weight_max": 3.25,
        "tenants": {
            "acme": {
                "tier": "gold", "weight": 6,
                "overrides": [
                    {
                        "starts_at": 1_800_000_000_000_u64, "expires_at": 1_800_000_060_000_u64, "weight": 9,
                        "meters": { "rows": { "per_sec": "unlimited" } },
                        "guards": { "queries": { "concurrency": 8, "lease_ms": 1000 } }
                    }
                ]
            },
            "gold:late": { "tier": "free" },
            "heavy": { "weight": 0.000001, "parent": null, "borrow_max": null, "lend_max": null },
            "acme/web": { "tier": "free", "parent": "acme", "borrow_max": 0, "lend_max": "unlimited" },
            "acme/web/ann": {
                "tier": "gold", "weight": 0.5, "parent": "acme/web", "borrow_max": "unlimited",
                "lend_max": 9007199254740991_u64
            }
        },
        "budgets": {
            "tokens": {
                "limit": 100, "window_ms": 1000, "sharing": "first_come", "scope": "global", "reserve": "pinned",
                "outage": "fail_closed", "lease": "auto", "shadow": true, "on_unavailable": "allow"
            },
            "credits": {
                "description": "What customers have paid for",
                "limit": 300, "window_ms": 60000, "sharing": "weighted_fair_escrow", "scope": "global",
                "reserve": "paced", "outage": "regional_only", "lease": { "min": 2, "max": 16 }
            },
            "slices": { "limit": 101, "window_ms": 1000, "sharing": "static_partition", "scope": "global" },
            "bursts": { "limit": 10, "window_ms": 1, "sharing": "weighted_fair_share", "scope": "region" },
            "calls": { "limit": 10, "window_ms": 50, "sharing": "fair_share", "scope": "isolate" }
        },
        "limits": {
            "per_ip": {
                "algorithm": "gcra", "limit": 100, "period_ms": 60000, "burst": 20, "scope": "region",
                "per_tenant": true, "shadow": false, "on_unavailable": "deny"
            },
            "bucket": { "algorithm": "token_bucket", "capacity": 50, "refill_per_sec": 0.5, "scope": "isolate" },
            "hourly": { "algorithm": "fixed_window", "limit": 1000, "window_ms": 3600000, "scope": "global" },
            "smooth": { "algorithm": "sliding_window", "limit": 100, "window_ms": 60000, "buckets": 20, "scope": "global" },
            "resets": { "algorithm": "sliding_log", "limit": 5, "window_ms": 3600000, "scope": "region" },
            "weekly": {
                "algorithm": "quota", "limit": 100, "cadence": "calendar_week", "offset_minutes": -90,
                "week_starts_on": 0, "scope": "global"
            },
            "zoned": {
                "algorithm": "quota", "limit": 100, "cadence": "calendar_month", "time_zone": "Europe/Berlin",
                "scope": "region"
            },
            "cycle": {
                "algorithm": "quota", "limit": 500, "cadence": "fixed", "period_ms": 86400000, "anchor": -1,
                "scope": "region"
            },
            "rolling": {
                "algorithm": "quota", "limit": 500, "cadence": "rolling", "period_ms": 86400000, "buckets": 24,
                "scope": "region"
            },
            "shape": { "algorithm": "leaky_bucket", "rate_per_sec": 2.5, "max_queue_ms": 2000, "scope": "region" },
            "login": {
                "all": [ { "name": "ip", "limit": "per_ip", "weight": 2.5 }, "resets", { "limit": "hourly", "weight": 2 } ],
                "shadow": true, "on_unavailable": "allow"
            },
            "either": { "any": [ { "name": "cents", "limit": "hourly", "weight": 0.01 }, "per_ip" ] }
        },
        "meters": {
            "rows": { "per_sec": 100 },
            "bytes": {
                "per_sec": 0.5, "burst_seconds": 2.5, "max_debt_ms": 1000, "scope": "region", "billable": false,
                "shadow": true, "on_unavailable": "allow"
            }
        },
        "guards": {
            "queries": { "concurrency": 4, "per_minute": 120 },
            "exports": {
                "concurrency": "unlimited", "per_minute": "unlimited", "lease_ms": 60000, "scope": "region",
                "shadow": true, "on_unavailable": "allow"
            }
        },
        "overload": {
            "origin": {},
            "database": {
                "buckets": 512, "levels": 4, "rotate_ms": 60000, "final": "mean", "increase": 0.05,
                "decrease": 0.001, "decay_per_s": 0, "steering": "blue", "shadow": true
            }
        },
        "routes": [ { "name": "rest", "tenant": { "fixed": "acme" }, "checks": [ { "overload": "origin" } ],
            "origin": { "url": "https://origin.example.com" } } ],
        "unrouted": { "forward": { "url": "https://rest.example.com", "timeout_ms": 5000 } },
        "trusted_proxies": ["10.0.0.0/8", "2001:db8::/32"],
        "allow_private_origins": true,
        "api_keys": {
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad": "acme"
        },
        "rate_limit_headers": "x_ratelimit"
    })
}

/// The whole document with `literal` at `pointer`; without what is there when the literal is empty.
pub(crate) fn with(pointer: &str, literal: &str) -> String {
    let mut document = whole();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap();
    match parent {
        Value::Object(map) if literal.is_empty() => {
            map.remove(name).unwrap();
        }
        Value::Object(map) => {
            map.insert(name.to_owned(), json!(MARK));
        }
        other => other[name.parse::<usize>().unwrap()] = json!(MARK),
    }
    document
        .to_string()
        .replace(&format!("\"{MARK}\""), literal)
}

/// The policy that the text comes to, or the pointer and the message of its refusal.
pub(crate) fn policy(text: &str) -> Result<Policy, (String, String)> {
    let read = read_json::<PolicyDocument>(text.as_bytes());
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
