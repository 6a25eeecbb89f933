//! What counts for a tenant, one value a row, each with whose word it is.

use weir_shared::wire::amount::AmountBody;
use weir_shared::wire::effective::{EffectiveBody, FieldValue, Origin, Valued};
use weir_shared::wire::metering::RateBody;
use weir_shared::wire::policy::PolicyDocument;

use super::what::{Kind, What};
use crate::format::{count, weight};

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

/// A bound in words.
pub fn amount(amount: AmountBody) -> String {
    match amount {
        AmountBody::Units(units) => count(units.into()),
        AmountBody::Unlimited => "unlimited".to_owned(),
    }
}

/// A length of time as it was written: exact, in the largest unit that it is a whole number of.
///
/// ```
/// use weir_console::tenant::effective_rows::length;
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
    for (name, budget) in &effective.budgets {
        let what = What::new(Kind::Budget, name);
        let units = |value: AmountBody| with_unit(amount(value), "units/window");
        rows.add(
            Some(&what),
            "weight",
            &budget.weight,
            weight(budget.weight.value.0),
        );
        let (borrow, lend) = (&budget.borrow_max, &budget.lend_max);
        rows.add(Some(&what), "borrow_max", borrow, units(borrow.value));
        rows.add(Some(&what), "lend_max", lend, units(lend.value));
        let (ceiling, floor) = (&budget.ceiling, &budget.floor);
        rows.add(Some(&what), "ceiling", ceiling, units(ceiling.value));
        let aside = format!("{} units/window", count(floor.value.into()));
        rows.add(Some(&what), "floor", floor, aside);
    }
    for (name, numbers) in &effective.limits {
        let what = What::new(Kind::Limit, name);
        for (field, number) in numbers {
            let value = match &number.value {
                FieldValue::Number(number) => limit_value(field, number.0),
                FieldValue::Text(text) => text.clone(),
            };
            rows.add(Some(&what), field, number, value);
        }
    }
    for (name, meter) in &effective.meters {
        let what = What::new(Kind::Meter, name);
        let rate = match meter.per_sec.value {
            RateBody::PerSec(rate) => format!("{} units/s", figure(rate.0)),
            RateBody::Unlimited => "unlimited".to_owned(),
        };
        rows.add(Some(&what), "per_sec", &meter.per_sec, rate);
        let burst = format!("{} s", weight(meter.burst_seconds.value.0));
        rows.add(Some(&what), "burst_seconds", &meter.burst_seconds, burst);
        let debt = length(meter.max_debt_ms.value);
        rows.add(Some(&what), "max_debt_ms", &meter.max_debt_ms, debt);
    }
    for (name, guard) in &effective.guards {
        let what = What::new(Kind::Guard, name);
        let calls = with_unit(amount(guard.concurrency.value), "calls");
        rows.add(Some(&what), "concurrency", &guard.concurrency, calls);
        let minute = with_unit(amount(guard.per_minute.value), "calls/min");
        rows.add(Some(&what), "per_minute", &guard.per_minute, minute);
        rows.add(
            Some(&what),
            "lease_ms",
            &guard.lease_ms,
            length(guard.lease_ms.value),
        );
    }
    for (name, resource) in &effective.overload {
        let what = What::new(Kind::Overload, name);
        rows.add(
            Some(&what),
            "weight",
            &resource.weight,
            weight(resource.weight.value.0),
        );
    }
    rows.0
}

/// Limits that count by keys and not by tenant: the same for everybody, and named so that none is missing.
pub fn by_key(document: &PolicyDocument, effective: &EffectiveBody) -> Vec<EffectiveRow> {
    let own = |name: &&String| !effective.limits.contains_key(*name);
    let row = |name: &String| EffectiveRow {
        what: Some(What::new(Kind::Limit, name)),
        field: "keys".to_owned(),
        value: "the same for all tenants".to_owned(),
        origin: Origin::Policy,
        from: Some(format!(
            "/limits/{}",
            name.replace('~', "~0").replace('/', "~1")
        )),
        until_ms: None,
    };
    document.limits.keys().filter(own).map(row).collect()
}

fn with_unit(value: String, unit: &str) -> String {
    if value == "unlimited" {
        value
    } else {
        format!("{value} {unit}")
    }
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

fn limit_value(field: &str, value: f64) -> String {
    if field.ends_with("_ms") {
        return length(value as u64);
    }
    let unit = match field {
        "limit" | "burst" => "units",
        "capacity" => "tokens",
        "refill_per_sec" => "tokens/s",
        "rate_per_sec" => "units/s",
        _ => return weight(value),
    };
    format!("{} {unit}", figure(value))
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
