//! The YAML of envoyproxy/ratelimit: a domain with descriptors, nested.
//!
//! Its counters are of fixed windows that begin at multiples of their length, shared by all its instances: `fixed_window`
//! at the scope `global`.

use weir_shared::wire::policy::{Algorithm, LimitBody, Scope};

use super::Unparsed;
use super::fragment::Imported;
use super::yaml::{Field, Node, read};

const DAY_MS: u64 = 24 * 3_600_000;

/// Units of time, as the service takes them: a month has 30 days, a year 365.
const UNITS: [(&str, u64); 7] = [
    ("second", 1_000),
    ("minute", 60_000),
    ("hour", 3_600_000),
    ("day", DAY_MS),
    ("week", 7 * DAY_MS),
    ("month", 30 * DAY_MS),
    ("year", 365 * DAY_MS),
];

/// One step of the way to a descriptor.
#[derive(Debug, Clone)]
struct Step {
    key: String,
    value: Option<String>,
}

/// Makes limits of a configuration.
///
/// # Errors
/// When it is no YAML.
///
/// ```
/// let made = weir_cli::import::ratelimit::import(
///     "domain: api\ndescriptors:\n  - key: path\n    value: /login\n    rate_limit: { unit: minute, requests_per_unit: 5 }\n",
/// ).unwrap();
/// let limit = &made.limits["api_path__login"];
/// assert_eq!((limit.limit, limit.window_ms), (Some(5), Some(60_000)));
/// ```
pub fn import(text: &str) -> Result<Imported, Unparsed> {
    let document = read(text)?;
    let mut imported = Imported::default();
    let Some(domain) = document.text_of("domain") else {
        return Err(Unparsed::new(document.line, "this names no domain"));
    };
    for field in document.fields() {
        match field.name.as_str() {
            "domain" => {}
            "descriptors" => descriptors(domain, &[], &field.value, &mut imported),
            _ => unknown(field, &mut imported),
        }
    }
    Ok(imported)
}

fn descriptors(domain: &str, above: &[Step], list: &Node, imported: &mut Imported) {
    for entry in list.entries() {
        let Some(key) = entry.text_of("key") else {
            imported.unmapped(entry.line, "a descriptor without a key");
            continue;
        };
        let value = entry.text_of("value").map(str::to_owned);
        let mut path = above.to_vec();
        path.push(Step {
            key: key.to_owned(),
            value,
        });
        descriptor(domain, &path, entry, imported);
    }
}

fn descriptor(domain: &str, path: &[Step], entry: &Node, imported: &mut Imported) {
    let shadow = entry.text_of("shadow_mode") == Some("true");
    for field in entry.fields() {
        match field.name.as_str() {
            "key" | "shadow_mode" => {}
            "value" => {
                if field.value.text().is_some_and(is_open) {
                    let why = "value: that only values with this beginning are limited is for who asks to see to";
                    imported.unmapped(field.line, why);
                }
            }
            "rate_limit" => rate_limit(domain, path, shadow, field, imported),
            "descriptors" => descriptors(domain, path, &field.value, imported),
            _ => unknown(field, imported),
        }
    }
}

fn rate_limit(domain: &str, path: &[Step], shadow: bool, field: &Field, imported: &mut Imported) {
    let rate = &field.value;
    let mut named = None;
    for inner in rate.fields() {
        match inner.name.as_str() {
            "unit" | "requests_per_unit" => {}
            "name" => named = inner.value.text(),
            "unlimited" => {
                imported.unmapped(inner.line, "unlimited: what has no limit is not asked for");
                return;
            }
            _ => unknown(inner, imported),
        }
    }
    let unit = rate.text_of("unit").unwrap_or_default().to_lowercase();
    let window_ms = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, ms)| *ms);
    let limit = rate
        .text_of("requests_per_unit")
        .and_then(|text| text.parse().ok());
    let (Some(window_ms), Some(limit)) = (window_ms, limit) else {
        let why =
            "rate_limit: its unit is none of second to year, or its requests_per_unit no number";
        imported.unmapped(field.line, why);
        return;
    };
    let body = LimitBody {
        algorithm: Some(Algorithm::FixedWindow),
        limit: Some(limit),
        window_ms: Some(window_ms),
        scope: Some(Scope::Global),
        shadow: shadow.then_some(true),
        ..LimitBody::default()
    };
    let wanted = named.map_or_else(|| name(domain, path), str::to_owned);
    if let Some(name) = imported.limit(field.line, &wanted, body) {
        let text = format!("{}: ask for limit {name:?}, {}", words(path), key(path));
        imported.asked(field.line, text);
    }
}

/// `api_path__login`: the domain, then keys and values.
fn name(domain: &str, path: &[Step]) -> String {
    let steps = path.iter().map(|step| match &step.value {
        Some(value) => format!("{}_{value}", step.key),
        None => step.key.clone(),
    });
    let names: Vec<String> = std::iter::once(domain.to_owned()).chain(steps).collect();
    names.join("_")
}

/// `path=/login, remote_address`: for whom the limit is.
fn words(path: &[Step]) -> String {
    let steps = path.iter().map(|step| match &step.value {
        Some(value) => format!("{}={value}", step.key),
        None => step.key.clone(),
    });
    steps.collect::<Vec<_>>().join(", ")
}

/// Which key is to be asked with: the values that the descriptor leaves open.
fn key(path: &[Step]) -> String {
    let open = path
        .iter()
        .filter(|step| step.value.as_deref().is_none_or(is_open));
    let open: Vec<&str> = open.map(|step| step.key.as_str()).collect();
    match open.as_slice() {
        [] => "with one key for all".to_owned(),
        [one] => format!("with the value of {one} as the key"),
        several => format!("with the values of {} as the key", several.join(" and ")),
    }
}

/// Whether a value stands for all with its beginning: each of them has a counter of its own.
fn is_open(value: &str) -> bool {
    value.ends_with('*')
}

fn unknown(field: &Field, imported: &mut Imported) {
    imported.unmapped(
        field.line,
        format!("{}: this has no counterpart", field.name),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONFIGURATION: &str = "domain: shop
descriptors:
  - key: remote_address
    rate_limit:
      unit: second
      requests_per_unit: 10
  - key: plan
    value: free
    detailed_metric: true
    descriptors:
      - key: user
        shadow_mode: true
        rate_limit:
          name: free_users
          unit: DAY
          requests_per_unit: 1000
          replaces:
            - name: other
  - key: partner
    value: big*
    rate_limit: { unlimited: true }
  - key: region
    value: eu-*
    rate_limit: { unit: hour, requests_per_unit: 7 }
  - key: closed
    rate_limit: { unit: minute, requests_per_unit: 0 }
  - key: odd
    rate_limit: { unit: fortnight, requests_per_unit: 3 }
";

    #[test]
    fn each_rate_is_a_limit() {
        let made = import(CONFIGURATION).unwrap();
        assert_eq!(
            made.fragment(),
            json!({ "limits": {
                "shop_remote_address": {
                    "algorithm": "fixed_window", "limit": 10, "window_ms": 1_000, "scope": "global"
                },
                "shop_region_eu-_": {
                    "algorithm": "fixed_window", "limit": 7, "window_ms": 3_600_000, "scope": "global"
                },
                "free_users": {
                    "algorithm": "fixed_window", "limit": 1_000, "window_ms": DAY_MS, "scope": "global", "shadow": true
                },
            } })
        );
    }

    #[test]
    fn what_does_not_map_is_told_with_its_line() {
        let made = import(CONFIGURATION).unwrap();
        let told: Vec<String> = made.notes.iter().map(|note| note.text("f")).collect();
        for expected in [
            "f:4: remote_address: ask for limit \"shop_remote_address\", with the value of remote_address as the key",
            "f:9: not mapped: detailed_metric: ",
            "f:13: plan=free, user: ask for limit \"free_users\", with the value of user as the key",
            "f:17: not mapped: replaces: ",
            "f:20: not mapped: value: ",
            "f:21: not mapped: unlimited: ",
            "f:23: not mapped: value: ",
            "f:24: region=eu-*: ask for limit \"shop_region_eu-_\", with the value of region as the key",
            "f:26: not mapped: shop_closed: a limit of Weir refuses /limit: 0 is outside 1 to ",
            "f:28: not mapped: rate_limit: its unit is none of second to year",
        ] {
            assert!(
                told.iter().any(|line| line.starts_with(expected)),
                "{expected}\n{told:#?}"
            );
        }
    }

    #[test]
    fn what_names_no_domain_is_no_configuration() {
        assert!(import("descriptors: []\n").is_err());
        assert!(import("a: [\n").is_err());
    }
}
