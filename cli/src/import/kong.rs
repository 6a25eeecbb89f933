//! The plugin `rate-limiting` of Kong, wherever a declarative configuration has it: at a service, a route, a consumer, or
//! for all.
//!
//! Its counters are of windows that begin with the clock: `fixed_window` for second to day and year, a `quota` for the
//! calendar's months. Several windows are one limit made of all. `local`, the default, counts on each node, which is a
//! region here; `cluster` and `redis` count for the deployment. Consumers, by whom it limits unless it says otherwise, are
//! tenants. It is `fault_tolerant`, which is `on_unavailable: allow`, unless it says otherwise.

use weir_shared::wire::policy::{
    Algorithm, Cadence, DimensionBody, LimitBody, OnUnavailable, Scope,
};

use super::Unparsed;
use super::fragment::Imported;
use super::yaml::{Content, Field, Node, read};

const DAY_MS: u64 = 24 * 3_600_000;

/// The name of the plugin.
const PLUGIN: &str = "rate-limiting";

/// Windows of fixed lengths.
const WINDOWS: [(&str, u64); 5] = [
    ("second", 1_000),
    ("minute", 60_000),
    ("hour", 3_600_000),
    ("day", DAY_MS),
    ("year", 365 * DAY_MS),
];

/// Makes limits of a configuration.
///
/// # Errors
/// When it is no YAML.
pub fn import(text: &str) -> Result<Imported, Unparsed> {
    let mut imported = Imported::default();
    walk(&read(text)?, "kong", &mut imported);
    Ok(imported)
}

/// Looks for plugins below a node that has a name, or belongs to what has one.
fn walk(node: &Node, owner: &str, imported: &mut Imported) {
    let own = node
        .text_of("name")
        .or(node.text_of("username"))
        .unwrap_or(owner);
    for field in node.fields() {
        if field.name == "plugins" {
            let plugins = field.value.entries().iter();
            for plugin in plugins.filter(|one| one.text_of("name") == Some(PLUGIN)) {
                // At the top a plugin names whom it is for.
                let whose = ["route", "service", "consumer"];
                let whose = whose.into_iter().find_map(|name| plugin.text_of(name));
                take(plugin, whose.unwrap_or(own), imported);
            }
        } else {
            walk(&field.value, own, imported);
        }
    }
    for entry in node.entries() {
        walk(entry, owner, imported);
    }
}

/// What is the same in every window of a plugin.
struct Common {
    key: Option<String>,
    body: LimitBody,
}

fn take(plugin: &Node, owner: &str, imported: &mut Imported) {
    let Some(config) = plugin.field("config") else {
        imported.unmapped(plugin.line, format!("{owner}: the plugin has no config"));
        return;
    };
    let mut common = Common {
        key: None,
        body: LimitBody {
            scope: Some(Scope::Region),
            per_tenant: Some(true),
            on_unavailable: Some(OnUnavailable::Allow),
            ..LimitBody::default()
        },
    };
    let mut windows = Vec::new();
    for field in config.value.fields() {
        match window(field) {
            Some((unit, body)) => windows.push((field.line, unit, body)),
            None => setting(field, &mut common, imported),
        }
    }
    let line = config.line;
    let mut names = Vec::new();
    for (line, unit, body) in windows {
        let body = LimitBody {
            scope: common.body.scope,
            per_tenant: common.body.per_tenant,
            on_unavailable: common.body.on_unavailable,
            ..body
        };
        names.extend(imported.limit(line, &format!("{owner}_{unit}"), body));
    }
    let name = match names.as_slice() {
        [] => return,
        [one] => Some(one.clone()),
        several => {
            let all = several.iter().cloned().map(DimensionBody::Plain).collect();
            let body = LimitBody {
                all: Some(all),
                ..LimitBody::default()
            };
            imported.limit(line, owner, body)
        }
    };
    if let Some(name) = name {
        let key = common
            .key
            .unwrap_or_else(|| "consumer, which is the tenant".to_owned());
        imported.asked(line, format!("{owner}: ask for limit {name:?}, by {key}"));
    }
}

/// A window of the plugin; none where the field is no such thing, or not set.
fn window(field: &Field) -> Option<(&str, LimitBody)> {
    let limit = field.value.text()?.parse().ok()?;
    if field.name == "month" {
        let body = LimitBody {
            algorithm: Some(Algorithm::Quota),
            limit: Some(limit),
            cadence: Some(Cadence::CalendarMonth),
            ..LimitBody::default()
        };
        return Some(("month", body));
    }
    let (unit, window_ms) = WINDOWS.iter().find(|(unit, _)| *unit == field.name)?;
    let body = LimitBody {
        algorithm: Some(Algorithm::FixedWindow),
        limit: Some(limit),
        window_ms: Some(*window_ms),
        ..LimitBody::default()
    };
    Some((unit, body))
}

/// Any other field of the plugin.
fn setting(field: &Field, common: &mut Common, imported: &mut Imported) {
    if field.value.content == Content::Null {
        return;
    }
    let text = field.value.text().unwrap_or_default();
    match (field.name.as_str(), text) {
        ("policy", "local") => {
            imported.unmapped(
                field.line,
                "policy local: each node counts there, each region here",
            );
        }
        ("policy", _) => common.body.scope = Some(Scope::Global),
        ("limit_by", "consumer" | "credential") | ("fault_tolerant", "true") => {}
        ("limit_by", by) => {
            common.body.per_tenant = None;
            common.key = Some(by.to_owned());
        }
        ("fault_tolerant", _) => common.body.on_unavailable = None,
        (name, _) => imported.unmapped(field.line, format!("{name}: this has no counterpart")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONFIGURATION: &str = "_format_version: \"3.0\"
services:
  - name: shop
    url: http://shop
    plugins:
      - name: rate-limiting
        config:
          second: 5
          month: 10000
          policy: redis
          limit_by: ip
          error_code: 429
      - name: cors
    routes:
      - name: login
        plugins:
          - name: rate-limiting
            config:
              minute: 3
              hour: null
              policy: local
              limit_by: consumer
              fault_tolerant: false
plugins:
  - name: rate-limiting
    service: other
    config:
      day: 0
";

    #[test]
    fn each_plugin_is_a_limit_and_several_windows_are_one() {
        let made = import(CONFIGURATION).unwrap();
        assert_eq!(
            made.fragment(),
            json!({ "limits": {
                "login_minute": {
                    "algorithm": "fixed_window", "limit": 3, "window_ms": 60_000, "scope": "region", "per_tenant": true
                },
                "shop": { "all": ["shop_second", "shop_month"] },
                "shop_month": {
                    "algorithm": "quota", "limit": 10_000, "cadence": "calendar_month", "scope": "global",
                    "on_unavailable": "allow"
                },
                "shop_second": {
                    "algorithm": "fixed_window", "limit": 5, "window_ms": 1_000, "scope": "global",
                    "on_unavailable": "allow"
                },
            } })
        );
    }

    #[test]
    fn what_does_not_map_is_told_with_its_line() {
        let made = import(CONFIGURATION).unwrap();
        let told: Vec<String> = made.notes.iter().map(|note| note.text("f")).collect();
        for expected in [
            "f:7: shop: ask for limit \"shop\", by ip",
            "f:12: not mapped: error_code: ",
            "f:18: login: ask for limit \"login_minute\", by consumer",
            "f:21: not mapped: policy local: ",
            "f:28: not mapped: other_day: a limit of Weir refuses /limit: 0 is outside 1 to ",
        ] {
            assert!(
                told.iter().any(|line| line.starts_with(expected)),
                "{expected}\n{told:#?}"
            );
        }
        assert!(!told.iter().any(|line| line.contains("cors")), "{told:#?}");
    }
}
