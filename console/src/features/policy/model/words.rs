//! What the choices of a budget are called.

use serde_json::Value;
use weir_shared::json;
use weir_shared::wire::lease_sizes::LeaseSizesBody;
use weir_shared::wire::policy::{BudgetBody, Outage, Reserve, Scope, Sharing};

use crate::format;

/// How it is shared.
pub const fn sharing(sharing: Option<Sharing>) -> &'static str {
    match sharing {
        Some(Sharing::WeightedFairEscrow) => "weighted fair escrow",
        Some(Sharing::FairShare) => "fair share",
        Some(Sharing::WeightedFairShare) => "weighted fair share",
        Some(Sharing::FirstCome) => "first come, first served",
        Some(Sharing::StaticPartition) => "static partition",
        None => format::UNKNOWN,
    }
}

/// Where its windows are kept.
pub const fn scope(scope: Option<Scope>) -> &'static str {
    match scope {
        Some(Scope::Isolate) => "each isolate",
        Some(Scope::Region) => "each region",
        Some(Scope::Global) => "all regions",
        None => format::UNKNOWN,
    }
}

/// The choices of a scope: values and what they are called.
pub const SCOPES: &[(&str, &str)] = &[
    ("isolate", scope(Some(Scope::Isolate))),
    ("region", scope(Some(Scope::Region))),
    ("global", scope(Some(Scope::Global))),
];
/// Those of what is never an isolate's own.
pub const SHARED_SCOPES: &[(&str, &str)] = &[
    ("", "all regions (by default)"),
    ("region", scope(Some(Scope::Region))),
    ("global", scope(Some(Scope::Global))),
];
/// The choices of how a budget is shared.
pub const SHARING: &[(&str, &str)] = &[
    (
        "weighted_fair_escrow",
        sharing(Some(Sharing::WeightedFairEscrow)),
    ),
    ("fair_share", sharing(Some(Sharing::FairShare))),
    (
        "weighted_fair_share",
        sharing(Some(Sharing::WeightedFairShare)),
    ),
    ("first_come", sharing(Some(Sharing::FirstCome))),
    ("static_partition", sharing(Some(Sharing::StaticPartition))),
];

/// What an entry of the document says, `sharing` or `scope`, in the same words; as it stands where it is none of them.
///
/// ```
/// use serde_json::json;
/// use weir_console::features::policy::model::words::said;
/// let entry = json!({ "sharing": "first_come", "scope": "global" });
/// assert_eq!((said(&entry, "sharing"), said(&entry, "scope")), ("first come, first served".into(), "all regions".into()));
/// ```
pub fn said(entry: &Value, name: &str) -> String {
    let Some(value) = entry.get(name).filter(|value| !value.is_null()) else {
        return String::new();
    };
    let known = match name {
        "sharing" => json::from_value::<Sharing>(value)
            .ok()
            .map(|one| sharing(Some(one))),
        "scope" => json::from_value::<Scope>(value)
            .ok()
            .map(|one| scope(Some(one))),
        _ => None,
    };
    known.map_or_else(
        || value.as_str().unwrap_or_default().to_owned(),
        str::to_owned,
    )
}

/// What a value of a list is called there; as it stands where the list does not have it.
///
/// ```
/// use serde_json::json;
/// use weir_console::features::policy::model::words::called;
/// let all = [("paced", "paced: released evenly over the window")];
/// assert_eq!(called(&all, &json!("paced")), all[0].1);
/// assert_eq!(called(&all, &json!(5)), "5");
/// ```
pub fn called(all: &[(&str, &str)], value: &Value) -> String {
    let known = all.iter().find(|(name, _)| value.as_str() == Some(*name));
    known.map_or_else(
        || crate::difference::shown(Some(value)),
        |(_, label)| (*label).to_owned(),
    )
}

/// What becomes of guarantees that are not used.
pub const fn reserve(reserve: Option<Reserve>) -> &'static str {
    match reserve {
        Some(Reserve::Pinned) => "pinned: kept until the window ends",
        Some(Reserve::Paced) => "paced: released evenly over the window",
        Some(Reserve::Pooled) => "pooled: as much as all tenants are expected to need",
        Some(Reserve::None) => "none: shares are by weight of those that ask",
        None => format::UNKNOWN,
    }
}

/// What regions do while the coordinator is out of reach.
pub const fn outage(outage: Option<Outage>) -> &'static str {
    match outage {
        Some(Outage::FailClosed) => "fail closed: use the units at hand, then deny",
        Some(Outage::RegionalOnly) => "regional only: spend slices lent in advance, too",
        None => format::UNKNOWN,
    }
}

/// How large leases are.
pub fn lease(lease: Option<&LeaseSizesBody>) -> String {
    let units = |bound: Option<u64>| {
        bound.map_or_else(|| "any".to_owned(), |units| format::count(units.into()))
    };
    match lease {
        None | Some(LeaseSizesBody::Auto) => "by demand".to_owned(),
        Some(LeaseSizesBody::Between(bounds)) => {
            format!("{} to {} units", units(bounds.min), units(bounds.max))
        }
    }
}

/// The limit with its window, such as `30,000 units / 1 min`.
pub fn limit(body: &BudgetBody) -> String {
    let units = body.limit.unwrap_or_default();
    let window = format::length(body.window_ms.unwrap_or_default());
    format!("{} units / {window}", format::count(units.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_shared::wire::lease_sizes::LeaseBoundsBody;

    #[test]
    fn every_choice_has_words_of_its_own() {
        let mut words = vec![
            sharing(Some(Sharing::WeightedFairEscrow)),
            sharing(Some(Sharing::FairShare)),
            sharing(Some(Sharing::WeightedFairShare)),
            sharing(Some(Sharing::FirstCome)),
            sharing(Some(Sharing::StaticPartition)),
            scope(Some(Scope::Isolate)),
            scope(Some(Scope::Region)),
            scope(Some(Scope::Global)),
            reserve(Some(Reserve::Pinned)),
            reserve(Some(Reserve::Paced)),
            outage(Some(Outage::FailClosed)),
            outage(Some(Outage::RegionalOnly)),
        ];
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), all);
        assert_eq!(scope(None), format::UNKNOWN);
    }

    #[test]
    fn limits_and_leases_have_units() {
        let body = BudgetBody {
            limit: Some(30_000),
            window_ms: Some(60_000),
            ..BudgetBody::default()
        };
        assert_eq!(limit(&body), "30,000 units / 1 min");
        assert_eq!(lease(None), "by demand");
        assert_eq!(lease(Some(&LeaseSizesBody::Auto)), "by demand");
        let bounds = LeaseBoundsBody {
            min: Some(1),
            max: None,
        };
        let between = LeaseSizesBody::Between(bounds);
        assert_eq!(lease(Some(&between)), "1 to any units");
    }
}
