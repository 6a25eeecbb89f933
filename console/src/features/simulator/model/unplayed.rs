//! The rules that a draft changes and that a simulation does not play.

use serde_json::Value;
use weir_shared::ordered::OrderedSet;

use super::query::Source;
use crate::difference::{Row, steps};
use crate::features::policy::model::section::Section;
use crate::visible::visible;
use crate::what::{Kind, What};

/// Rules that are named.
const NAMED_MAX: usize = 5;

/// The rules whose numbers the rows of a difference change, those of tiers and tenants included.
pub fn changed_rules(rows: &[Row]) -> OrderedSet<What> {
    let mut found = OrderedSet::new();
    for row in rows {
        let mut parts = steps(&row.pointer);
        for side in [&row.before, &row.after].into_iter().flatten() {
            walk(&mut parts, side, &mut found);
        }
    }
    found
}

fn walk(parts: &mut Vec<String>, value: &Value, found: &mut OrderedSet<What>) {
    if let Some(rule) = rule_at(parts) {
        found.insert(rule);
        return;
    }
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, one)| (key.clone(), one)).collect(),
        Value::Array(all) => all.iter().map(|one| (String::new(), one)).collect(),
        _ => Vec::new(),
    };
    for (key, one) in below {
        parts.push(key);
        walk(parts, one, found);
        parts.pop();
    }
}

/// `limit per_ip` at `/limits/per_ip`, `/tiers/pro/limits/per_ip` and `/tenants/acme/overrides/0/limits/per_ip`.
fn rule_at(parts: &[String]) -> Option<What> {
    let place = match parts.first()?.as_str() {
        "tiers" | "tenants" if parts.get(2)? == "overrides" => 4,
        "tiers" | "tenants" => 2,
        _ => 0,
    };
    let kind = Section::of(&format!("/{}", parts.get(place)?)).rule()?;
    Some(What::new(kind, parts.get(place + 1)?))
}

/// Which of the rules that a draft changes are not played, in a sentence; `None` where all are.
pub fn unplayed_words(changed: &OrderedSet<What>, over: Source) -> Option<String> {
    let left: Vec<&What> = changed
        .iter()
        .filter(|rule| !plays(over, rule.kind))
        .collect();
    let named = left.iter().take(NAMED_MAX);
    let mut names: Vec<String> = named.map(|rule| visible(&rule.words())).collect();
    if left.len() > NAMED_MAX {
        names.push(format!("and {} more", left.len() - NAMED_MAX));
    }
    let them = match left.len() {
        0 => return None,
        1 => "it",
        _ => "them",
    };
    let trace = left.iter().any(|rule| plays(Source::Trace, rule.kind));
    let trace = if trace { " A trace plays limits." } else { "" };
    Some(format!(
        "Not played, though the draft changes {them}: {}.{trace}",
        names.join(", ")
    ))
}

fn plays(over: Source, kind: Kind) -> bool {
    match kind {
        Kind::Budget | Kind::Meter => true,
        Kind::Limit => over == Source::Trace,
        Kind::Guard | Kind::Overload => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::features::policy::model::draft::PolicyDraft;

    fn words(over: Source, edit: impl FnOnce(&mut PolicyDraft)) -> Option<String> {
        let document = serde_json::from_str(include_str!("../../../../../policy.json")).unwrap();
        let mut draft = PolicyDraft::new(&document, "\"7\"");
        edit(&mut draft);
        unplayed_words(&changed_rules(&draft.changes()), over)
    }

    #[test]
    fn a_changed_limit_is_not_played_over_recorded_demand_and_is_over_a_trace() {
        let edit = |draft: &mut PolicyDraft| {
            draft.put("/limits/per~1ip/limit", Some(json!(5)));
            draft.put("/enforcing", Some(json!(false)));
        };
        assert_eq!(
            words(Source::Recorded, edit).unwrap(),
            "Not played, though the draft changes it: limit per/ip. A trace plays limits."
        );
        assert_eq!(words(Source::Trace, edit), None);
    }

    #[test]
    fn what_is_played_is_not_told() {
        let edit = |draft: &mut PolicyDraft| {
            draft.put("/budgets/tokens/limit", Some(json!(5)));
            draft.put(
                "/tiers/free/meters",
                Some(json!({ "bytes": { "per_sec": 5 } })),
            );
        };
        assert_eq!(words(Source::Recorded, edit), None);
        assert_eq!(words(Source::Recorded, |_| ()), None);
    }

    #[test]
    fn numbers_of_tiers_tenants_and_overrides_are_rules_that_change() {
        let told = words(Source::Trace, |draft| {
            let overrides = json!([{ "expires_at": 9, "overload": { "origin": {} } }]);
            draft.put(
                "/tiers/free/guards",
                Some(json!({ "queries": { "concurrency": 2 } })),
            );
            draft.put(
                "/tenants/limits",
                Some(json!({ "guards": { "uploads": { "concurrency": 1 } } })),
            );
            draft.put("/tenants/guards", Some(json!({ "overrides": overrides })));
        });
        assert_eq!(
            told.unwrap(),
            "Not played, though the draft changes them: guard queries, guard uploads, overload origin."
        );
    }

    #[test]
    fn of_many_rules_the_first_are_named() {
        let told = words(Source::Recorded, |draft| {
            for name in ["a", "b", "c", "d", "e", "f", "g"] {
                draft.put(&format!("/limits/{name}"), Some(json!({ "limit": 1 })));
            }
        });
        assert!(told.unwrap().contains("limit e, and 2 more."));
    }
}
