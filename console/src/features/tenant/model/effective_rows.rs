//! What counts for a tenant, one value a row, each with whose word it is.

use serde_json::Value;
use weir_shared::ordered::sort_by_key;
use weir_shared::wire::effective::{EffectiveBody, FieldValue, Origin, Valued};
use weir_shared::wire::policy::{LimitBody, PolicyDocument};

use super::numbers::{label, table, unit};
use crate::features::policy::model::entries::summary;
use crate::features::policy::model::section::Section;
use crate::format::{count, weight};
use crate::what::{Kind, What};

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveRow {
    /// Of what; nothing for the tenant's own tier and weight.
    pub what: Option<What>,
    /// The field, as the policy calls it.
    pub field: String,
    /// The value with its unit.
    pub value: String,
    /// Whose word it is.
    pub origin: Origin,
    /// Where the policy says so.
    pub from: Option<String>,
    /// When that ends, epoch milliseconds.
    pub until_ms: Option<u64>,
}

/// Whose word a value is, in words.
pub fn origin_words(origin: Origin) -> &'static str {
    match origin {
        Origin::Override => "override",
        Origin::Tenant => "tenant",
        Origin::Tier => "tier",
        Origin::Policy => "policy",
        Origin::Default => "default",
    }
}

/// A length of time as it was written: exact, in the largest unit that it is a whole number of.
///
/// ```
/// use weir_console::features::tenant::model::effective_rows::length;
/// assert_eq!(length(90_000), "90 s");
/// assert_eq!(length(1_500), "1,500 ms");
/// assert_eq!(length(7_200_000), "2 h");
/// ```
pub fn length(ms: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1_000, "s"),
    ];
    let whole = UNITS
        .into_iter()
        .find(|(unit_ms, _)| ms >= *unit_ms && ms.is_multiple_of(*unit_ms));
    match whole {
        Some((unit_ms, unit)) => format!("{} {unit}", count((ms / unit_ms).into())),
        None => format!("{} ms", count(ms.into())),
    }
}

struct Rows(Vec<EffectiveRow>);

impl Rows {
    fn add<T>(&mut self, what: Option<&What>, field: &str, valued: &Valued<T>, value: String) {
        self.0.push(EffectiveRow {
            what: what.cloned(),
            field: field.to_owned(),
            value,
            origin: valued.origin,
            from: valued.from.clone(),
            until_ms: valued.until.map(|until| until.0),
        });
    }
}

impl EffectiveRow {
    /// What the field is called.
    pub fn label(&self) -> String {
        let kind = self.what.as_ref().map(|what| what.kind);
        let section = SECTIONS.iter().find(|(one, _)| Some(*one) == kind);
        label(section.map_or("", |(_, section)| section), &self.field)
    }
}

/// The sections of the effective policy.
const SECTIONS: [(Kind, &str); 5] = [
    (Kind::Budget, "budgets"),
    (Kind::Limit, "limits"),
    (Kind::Meter, "meters"),
    (Kind::Guard, "guards"),
    (Kind::Overload, "overload"),
];

/// The fields of one entry: those of a limit by name, others as the policy has them.
fn in_order<'a>(section: &str, fields: &'a Value) -> Vec<&'a str> {
    let place = |field: &str| match section {
        "limits" => None,
        _ => table(section).iter().position(|row| row.name == field),
    };
    let names = fields.as_object().into_iter().flatten();
    let mut names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
    sort_by_key(&mut names, |field| place(field));
    names
}

fn valued(value: &Value) -> Option<Valued<FieldValue>> {
    weir_shared::json::from_value(value).ok()
}

/// All rows, in order.
pub fn rows(effective: &EffectiveBody) -> Vec<EffectiveRow> {
    let mut rows = Rows(Vec::new());
    let tier = &effective.tier;
    rows.add(None, "tier", tier, tier.value.clone());
    rows.add(
        None,
        "weight",
        &effective.weight,
        weight(effective.weight.value.0),
    );
    let written = weir_shared::json::to_value(effective).unwrap_or_default();
    for (kind, section) in SECTIONS {
        let names = written.get(section).and_then(Value::as_object);
        for (name, fields) in names.into_iter().flatten() {
            let what = What::new(kind, name);
            for field in in_order(section, fields) {
                // What is no such value counts for all tenants.
                if let Some(valued) = fields.get(field).and_then(valued) {
                    let value = value_words(section, field, &valued.value);
                    rows.add(Some(&what), field, &valued, value);
                }
            }
        }
    }
    rows.0
}

/// Limits that count by keys and not by tenant: the same for everybody, and named so that none is missing.
pub fn by_key(document: &PolicyDocument, effective: &EffectiveBody) -> Vec<EffectiveRow> {
    let own = |(name, _): &(&String, &LimitBody)| !effective.limits.contains_key(*name);
    let row = |(name, body): (&String, &LimitBody)| EffectiveRow {
        what: Some(What::new(Kind::Limit, name)),
        field: "each key".to_owned(),
        value: weir_shared::json::to_value(body)
            .map(|body| summary(Section::Limits, &body))
            .unwrap_or_default(),
        origin: Origin::Policy,
        from: Some(format!(
            "/limits/{}",
            name.replace('~', "~0").replace('/', "~1")
        )),
        until_ms: None,
    };
    document.limits.iter().filter(own).map(row).collect()
}

/// A number with its thousands apart where it is whole.
fn figure(value: f64) -> String {
    let whole = value.fract() == 0.0 && value >= 0.0;
    if whole {
        count(value as u128)
    } else {
        weight(value)
    }
}

/// A value with its unit.
fn value_words(section: &str, field: &str, value: &FieldValue) -> String {
    let number = match value {
        FieldValue::Text(text) => return text.clone(),
        FieldValue::Number(number) => number.0,
    };
    match unit(section, field) {
        _ if field.ends_with("_ms") => length(number as u64),
        "" => weight(number),
        "s" => format!("{} s", weight(number)),
        unit => format!("{} {unit}", figure(number)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_shared::policy::Policy;
    use weir_shared::units::EpochMs;

    use super::*;

    fn document() -> PolicyDocument {
        serde_json::from_value(json!({
            "regions": ["weur"], "tiers": { "pro": { "weight": 2 } }, "default_tier": "pro",
            "tenants": { "acme": { "borrow_max": 5000, "budgets": { "tokens": { "ceiling": 2500 } }, "overrides": [
                { "expires_at": 9_000, "budgets": { "tokens": { "floor": 60 } } },
                { "expires_at": 9_000, "weight": 9, "meters": { "bytes": { "per_sec": "unlimited" } } } ] } },
            "budgets": { "tokens": { "limit": 700, "window_ms": 60_000, "sharing": "fair_share", "scope": "region" } },
            "limits": { "hourly": { "algorithm": "fixed_window", "limit": 1000, "window_ms": 3_600_000,
                "scope": "region", "per_tenant": true },
                "login": { "algorithm": "gcra", "limit": 5, "period_ms": 60_000, "scope": "region" } },
            "meters": { "bytes": { "per_sec": 100 }, "calls": { "per_sec": 2097152 } }, "guards": { "queries": { "concurrency": 4 } },
        }))
        .unwrap()
    }

    fn effective() -> EffectiveBody {
        let policy = Policy::try_from(&document()).unwrap();
        policy.effective("acme", EpochMs(1_000)).unwrap()
    }

    #[test]
    fn every_value_stands_with_its_unit_and_whose_word_it_is() {
        let rows = rows(&effective());
        let told: Vec<String> = rows
            .iter()
            .map(|row| {
                let what = row.what.as_ref().map_or_else(String::new, What::to_string);
                format!(
                    "{what} {} = {} ({})",
                    row.field,
                    row.value,
                    origin_words(row.origin)
                )
            })
            .collect();
        for expected in [
            " tier = pro (policy)",
            " weight = 9 (override)",
            "budget:tokens weight = 9 (override)",
            "budget:tokens borrow_max = 5,000 units/window (tenant)",
            "budget:tokens lend_max = unlimited (default)",
            "budget:tokens ceiling = 2,500 units/window (tenant)",
            "budget:tokens floor = 60 units/window (override)",
            "limit:hourly limit = 1,000 units (policy)",
            "limit:hourly window_ms = 1 h (policy)",
            "meter:bytes per_sec = unlimited (override)",
            "meter:calls per_sec = 2,097,152 units/s (policy)",
            "meter:bytes burst_seconds = 10 s (default)",
            "guard:queries concurrency = 4 calls (policy)",
            "guard:queries per_minute = unlimited (default)",
            "guard:queries lease_ms = 30 s (default)",
        ] {
            assert!(
                told.iter().any(|row| row == expected),
                "{expected}: {told:#?}"
            );
        }
        let weight = rows.iter().find(|row| row.field == "weight").unwrap();
        assert_eq!(weight.until_ms, Some(9_000));
        assert_eq!(
            weight.from.as_deref(),
            Some("/tenants/acme/overrides/1/weight")
        );
    }

    #[test]
    fn no_limit_is_missing_though_it_counts_by_keys() {
        let rows = by_key(&document(), &effective());
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.what.as_ref().unwrap().to_string(), row.from.as_deref()))
            .collect();
        assert_eq!(told, [("limit:login".to_owned(), Some("/limits/login"))]);
        assert_eq!(rows[0].value, "gcra · 5 per 1 min · each region");
    }

    #[test]
    fn lengths_are_exact() {
        for (ms, text) in [
            (0, "0 ms"),
            (1, "1 ms"),
            (60_000, "1 min"),
            (61_000, "61 s"),
            (86_400_000, "1 d"),
        ] {
            assert_eq!(length(ms), text);
        }
    }
}
