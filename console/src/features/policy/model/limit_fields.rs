//! The fields of a limit, which depend on its algorithm, and what stays of it when that changes.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_shared::policy::algorithm::{self, title};
use weir_shared::wire::policy::{Algorithm, Cadence};

use super::fields::{Field, Kind, ON_UNAVAILABLE, SCOPE, SHADOW, field};

/// What a limit is that is made of others.
const MADE_OF_OTHERS: [(&str, &str); 2] = [
    ("all", "all of other limits"),
    ("any", "any of other limits"),
];

/// What decides a limit, as the document and as its form call it: an algorithm, or how it is made of others.
pub fn rules() -> Vec<(String, &'static str)> {
    let algorithms = Algorithm::ALL.map(|name| (wire_name(name), title(name)));
    let others = MADE_OF_OTHERS.map(|(name, title)| (name.to_owned(), title));
    algorithms.into_iter().chain(others).collect()
}

fn wire_name(name: Algorithm) -> String {
    let name = weir_shared::json::to_value(&name).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

/// Every number of an algorithm.
const NUMBERS: &[Field] = &[
    field(
        "limit",
        "Limit",
        Kind::Whole("units"),
        "Units per period or window.",
    ),
    field(
        "period_ms",
        "Period",
        Kind::Duration,
        "The time in which the limit counts.",
    ),
    field(
        "burst",
        "Burst",
        Kind::Whole("units"),
        "Units at once; the limit by default.",
    ),
    field(
        "capacity",
        "Capacity",
        Kind::Number("tokens"),
        "Tokens in a full bucket.",
    ),
    field(
        "refill_per_sec",
        "Refill",
        Kind::Number("tokens/s"),
        "Tokens that flow in.",
    ),
    field(
        "peak_capacity",
        "Peak capacity",
        Kind::Number("tokens"),
        "Tokens that may be taken at once; at most the capacity.",
    ),
    field(
        "peak_per_sec",
        "Peak rate",
        Kind::Number("tokens/s"),
        "Tokens that may be taken in a second after that; at least the refill.",
    ),
    field(
        "window_ms",
        "Window",
        Kind::Duration,
        "How long a window is.",
    ),
    field(
        "buckets",
        "Buckets",
        Kind::Whole("parts"),
        "Parts of the window; 10 by default.",
    ),
    field(
        "cadence",
        "Cadence",
        Kind::Choice(&[
            ("calendar_month", "calendar month"),
            ("calendar_week", "calendar week"),
            ("calendar_day", "calendar day"),
            ("fixed", "fixed: every period from an anchor"),
            ("rolling", "rolling: the last period counts"),
        ]),
        "When the quota resets.",
    ),
    field(
        "time_zone",
        "Time zone",
        Kind::Text,
        "Of the IANA database, such as Europe/Berlin; checked by the server. In the place of an offset.",
    ),
    field(
        "offset_minutes",
        "Offset from UTC",
        Kind::Whole("min"),
        "-840 to 840; 0 by default.",
    ),
    field(
        "week_starts_on",
        "Week starts on",
        Kind::Whole("day"),
        "0 is Sunday; 1, Monday, by default.",
    ),
    field(
        "anchor",
        "Anchor",
        Kind::Whole("ms since 1970"),
        "An instant at which a period starts; 0 by default.",
    ),
    field(
        "rate_per_sec",
        "Rate",
        Kind::Number("units/s"),
        "Units that leave.",
    ),
    field(
        "max_queue_ms",
        "Longest wait",
        Kind::Duration,
        "A request that would wait longer is refused.",
    ),
];

const PER_TENANT: Field = field(
    "per_tenant",
    "Per tenant",
    Kind::Flag(false),
    "Each tenant has its own keys.",
);

/// The rule of a limit by its name in [`rules`]: `gcra` where it names none.
pub fn rule(limit: &Value) -> &str {
    let given = |name: &str| limit.get(name).is_some_and(|value| !value.is_null());
    match limit.get("algorithm").and_then(Value::as_str) {
        Some(algorithm) => algorithm,
        None if given("all") => "all",
        None if given("any") => "any",
        None => "gcra",
    }
}

/// The fields of a limit, without its rule.
pub fn fields(limit: &Value) -> Vec<Field> {
    let mut fields = match rule(limit) {
        "all" => vec![dimensions("all")],
        "any" => vec![dimensions("any")],
        name => numbers(name, limit),
    };
    if !matches!(rule(limit), "all" | "any") {
        fields.extend([SCOPE, PER_TENANT]);
    }
    fields.extend([SHADOW, ON_UNAVAILABLE]);
    fields
}

/// The numbers of an algorithm; those of a quota by its cadence, a calendar's where it has none. None of an unknown one.
pub fn numbers(name: &str, limit: &Value) -> Vec<Field> {
    let Ok(name) = Algorithm::deserialize(&Value::from(name)) else {
        return Vec::new();
    };
    let cadence = limit.get("cadence").map(Cadence::deserialize);
    let cadence = cadence
        .and_then(Result::ok)
        .unwrap_or(Cadence::CalendarMonth);
    let own = algorithm::fields(name, Some(cadence)).iter();
    own.filter_map(|own| NUMBERS.iter().find(|field| field.name == *own).copied())
        .collect()
}

fn dimensions(name: &'static str) -> Field {
    field(
        name,
        "Limits",
        Kind::Dimensions,
        "Names of limits with commas between them: ip = per_ip * 2, resets. A unit costs 2 of per_ip, whose key a check calls ip.",
    )
}

/// The limit with another rule, or another cadence: what the new one has no field for goes, and what it needs and has not
/// is filled in where there is a sensible start.
pub fn changed(limit: &Value, name: &str, value: &str) -> Value {
    let mut body = limit.as_object().cloned().unwrap_or_default();
    if name == "algorithm" {
        body.remove("algorithm");
        match value {
            "all" | "any" => {
                let other = if value == "all" { "any" } else { "all" };
                let list = body.remove(other).unwrap_or_else(|| json!([]));
                body.insert(value.to_owned(), list);
            }
            _ => {
                body.insert("algorithm".to_owned(), json!(value));
            }
        }
    } else {
        body.insert(name.to_owned(), json!(value));
    }
    if rule(&Value::Object(body.clone())) == "quota" {
        body.entry("cadence").or_insert(json!("calendar_month"));
    }
    with_own(body)
}

/// Without what belongs to another rule.
fn with_own(mut body: Map<String, Value>) -> Value {
    let own = fields(&Value::Object(body.clone()));
    body.retain(|name, _| name == "algorithm" || own.iter().any(|field| field.name == name));
    let scoped = own.iter().any(|field| field.name == "scope");
    if scoped {
        body.entry("scope").or_insert(json!("region"));
    }
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::policy::model::validate::check;

    fn policy(limit: Value) -> Value {
        json!({ "regions": ["weur"], "limits": {
            "ip": { "algorithm": "gcra", "limit": 5, "period_ms": 1000, "scope": "region" }, "x": limit
        } })
    }

    #[test]
    fn a_form_has_exactly_the_fields_that_are_served() {
        // Each limit with every field of its form filled in.
        let cases = [
            json!({ "algorithm": "gcra", "limit": 5, "period_ms": 1000, "burst": 2 }),
            json!({ "algorithm": "token_bucket", "capacity": 5, "refill_per_sec": 1 }),
            json!({ "algorithm": "dual_token_bucket", "capacity": 5, "refill_per_sec": 1, "peak_capacity": 2, "peak_per_sec": 4 }),
            json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }),
            json!({ "algorithm": "sliding_window", "limit": 5, "window_ms": 1000, "buckets": 10 }),
            json!({ "algorithm": "sliding_log", "limit": 5, "window_ms": 1000 }),
            json!({ "algorithm": "leaky_bucket", "rate_per_sec": 5, "max_queue_ms": 100 }),
            json!({ "algorithm": "quota", "limit": 5, "cadence": "calendar_week", "week_starts_on": 0, "time_zone": "UTC" }),
            json!({ "algorithm": "quota", "limit": 5, "cadence": "fixed", "period_ms": 1000, "anchor": 0 }),
            json!({ "algorithm": "quota", "limit": 5, "cadence": "rolling", "period_ms": 1000, "buckets": 10 }),
        ];
        for mut limit in cases {
            limit["scope"] = json!("region");
            limit["per_tenant"] = json!(true);
            limit["shadow"] = json!(true);
            limit["on_unavailable"] = json!("allow");
            check(&policy(limit.clone())).unwrap();
            let own = fields(&limit);
            let given = limit.as_object().unwrap();
            for name in given.keys().filter(|name| *name != "algorithm") {
                assert!(
                    own.iter().any(|field| field.name == name),
                    "{name} of {limit}"
                );
            }
            let excluded = ["offset_minutes"];
            for field in own.iter().filter(|field| !excluded.contains(&field.name)) {
                assert!(given.contains_key(field.name), "{} of {limit}", field.name);
            }
        }
        let all = json!({ "all": ["ip"], "shadow": true, "on_unavailable": "deny" });
        check(&policy(all.clone())).unwrap();
        let names: Vec<_> = fields(&all).iter().map(|field| field.name).collect();
        assert_eq!(names, ["all", "shadow", "on_unavailable"]);
    }

    #[test]
    fn another_algorithm_keeps_what_it_has_a_field_for() {
        let gcra = json!({
            "algorithm": "gcra", "limit": 5, "period_ms": 1000, "burst": 2, "scope": "region", "shadow": true
        });
        let fixed = changed(&gcra, "algorithm", "fixed_window");
        assert_eq!(
            fixed,
            json!({ "algorithm": "fixed_window", "limit": 5, "scope": "region", "shadow": true })
        );
        let quota = changed(&gcra, "algorithm", "quota");
        assert_eq!(
            (&quota["cadence"], quota.get("period_ms")),
            (&json!("calendar_month"), None)
        );
        let rolling = changed(&quota, "cadence", "rolling");
        assert_eq!((rule(&rolling), &rolling["limit"]), ("quota", &json!(5)));
        let all = changed(&gcra, "algorithm", "all");
        assert_eq!((rule(&all), all.get("scope")), ("all", None));
        let any = changed(&json!({ "all": ["ip"] }), "algorithm", "any");
        assert_eq!(any["any"], json!(["ip"]));
        let back = changed(&any, "algorithm", "gcra");
        assert_eq!(back["scope"], json!("region"));
    }

    #[test]
    fn every_rule_of_the_list_leads_to_a_form() {
        for (name, _) in rules() {
            let limit = changed(&json!({}), "algorithm", &name);
            assert_eq!(rule(&limit), name);
            assert!(fields(&limit).len() > 2, "{name}");
        }
    }

    #[test]
    fn every_number_of_an_algorithm_has_its_field() {
        for name in Algorithm::ALL {
            for own in algorithm::fields(name, None) {
                assert!(NUMBERS.iter().any(|field| field.name == *own), "{own}");
            }
        }
    }
}
