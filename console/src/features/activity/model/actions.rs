//! What can be done, in words, and what a record says in a line.

use serde_json::Value;
use weir_shared::audit::Action;
use weir_shared::wire::audit::{AuditOutcome, AuditRecord};

use crate::difference::{Row, lines_at, of_changes, shown, words};
use crate::format;
use crate::instant::TimeZone;
use crate::visible::visible;

/// Every action, with what it is called.
pub const ACTIONS: [(Action, &str); 11] = [
    (Action::PolicySave, "policy saved"),
    (Action::TenantPatch, "tenant changed"),
    (Action::TenantDelete, "tenant removed"),
    (Action::StateReset, "state reset"),
    (Action::TokenCreate, "token made"),
    (Action::TokenRevoke, "token revoked"),
    (Action::SessionOpen, "logged in"),
    (Action::SessionClose, "logged out"),
    (Action::SessionsRevoke, "everybody logged out"),
    (Action::BootstrapUse, "bootstrap token used"),
    (Action::PolicyShip, "policy shipped"),
];

/// Names of changed values that one line has room for.
const NAMED_MAX: usize = 2;

/// What an action is called; one of a newer server by its own name.
pub fn label(action: &str) -> String {
    let mut all = ACTIONS.iter();
    all.find(|(known, _)| known.name() == action).map_or_else(
        || action.replace(['.', '_'], " "),
        |(_, label)| (*label).to_owned(),
    )
}

/// What a record is about: the tenant, the token, the route; the policy as a whole.
pub fn target(record: &AuditRecord) -> String {
    if record.target.is_empty() {
        "the policy".to_owned()
    } else {
        visible(&record.target)
    }
}

/// What a record changed, value by value, if it is about the policy and was short enough to be kept.
pub fn changes(record: &AuditRecord) -> Option<Vec<Row>> {
    let values = |side: &Value| side.get("values").filter(|values| is_kept(values)).cloned();
    let (was, is) = (values(&record.before)?, values(&record.after)?);
    Some(of_changes(&was, &is))
}

/// Whether the values themselves are kept, and not their hash alone.
fn is_kept(values: &Value) -> bool {
    values.as_object().is_some_and(|values| {
        values
            .keys()
            .all(|pointer| pointer.is_empty() || pointer.starts_with('/'))
    })
}

/// What stands on both sides of a record that is no change of the policy.
pub fn sides(record: &AuditRecord) -> Vec<Row> {
    let fields = |side: &Value| match side {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (format!("/{name}"), value.clone()))
            .collect(),
        Value::Null => serde_json::Map::new(),
        other => serde_json::Map::from_iter([(String::new(), other.clone())]),
    };
    of_changes(
        &Value::Object(fields(&record.before)),
        &Value::Object(fields(&record.after)),
    )
}

/// The revisions of the policy before and after a change.
pub fn revisions(record: &AuditRecord) -> Option<(u64, u64)> {
    let of = |side: &Value| side.get("revision")?.as_u64();
    Some((of(&record.before)?, of(&record.after)?))
}

/// What a record says in a line, beside who, when and to what.
pub fn summary(record: &AuditRecord) -> String {
    if record.outcome == AuditOutcome::Refused {
        return refusal(&record.after);
    }
    let Some(rows) = changes(record) else {
        return match revisions(record) {
            Some((was, is)) => format!("revision {was} to {is}"),
            None => facts(record),
        };
    };
    let more = rows.len().saturating_sub(NAMED_MAX);
    let named: Vec<String> = rows
        .iter()
        .take(NAMED_MAX)
        .map(|row| match (&row.before, &row.after) {
            (Some(Value::Object(_)) | None, None) => format!("{} removed", words(&row.pointer)),
            (None, Some(Value::Object(_))) => added(row),
            (before, after) => format!(
                "{}: {} to {}",
                words(&row.pointer),
                shown(before.as_ref()),
                shown(after.as_ref())
            ),
        })
        .collect();
    match (named.is_empty(), more) {
        (true, _) => "nothing changed".to_owned(),
        (false, 0) => named.join("; "),
        (false, more) => format!("{}; {} more", named.join("; "), format::count(more as u128)),
    }
}

/// An entry that was added, with what it says where that is short.
fn added(row: &Row) -> String {
    let place = words(&row.pointer);
    let lines = row
        .after
        .as_ref()
        .and_then(|value| lines_at(&row.pointer, value, TimeZone::UTC));
    match lines {
        Some(lines) if lines.len() <= NAMED_MAX && !row.is_hashed() => {
            format!("{place} added: {}", lines.join(", "))
        }
        _ => format!("{place} added"),
    }
}

/// What a record says that is no change of the policy: `name: ci; role: viewer`.
fn facts(record: &AuditRecord) -> String {
    let rows = sides(record).into_iter();
    let facts = rows.filter_map(|row| {
        let value = row.after.or(row.before).filter(|value| !value.is_null())?;
        Some(format!("{}: {}", words(&row.pointer), shown(Some(&value))))
    });
    facts.collect::<Vec<_>>().join("; ")
}

fn refusal(after: &Value) -> String {
    let text = |name: &str| after.get(name).and_then(Value::as_str);
    match text("refused") {
        Some("moved") => "somebody else had changed it".to_owned(),
        Some("unknown") => "there is none of that name".to_owned(),
        _ => {
            let message = text("message")
                .or_else(|| text("detail"))
                .unwrap_or("refused");
            match text("field").filter(|field| !field.is_empty()) {
                Some(field) => format!("{}: {message}", words(field)),
                None => message.to_owned(),
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A record of the log.
    pub(in crate::features::activity::model) fn record(
        action: &str,
        outcome: &str,
        before: Value,
        after: Value,
    ) -> AuditRecord {
        serde_json::from_value(json!({
            "sequence": 9, "previous": "", "at": 0, "actor": "ada", "role": "editor", "action": action,
            "target": "", "before": before, "after": after, "why": null, "outcome": outcome
        }))
        .unwrap()
    }

    #[test]
    fn every_action_has_a_name_in_words() {
        for (action, words) in ACTIONS {
            assert_eq!(label(action.name()), words);
        }
        assert_eq!(label("region.drain_all"), "region drain all");
    }

    #[test]
    fn a_record_says_in_a_line_what_it_did() {
        for (record, text) in [
            (
                record(
                    "policy.save",
                    "done",
                    json!({ "revision": 1, "values": { "/budgets/tokens/limit": 30_000, "/old": {} } }),
                    json!({ "revision": 2, "values": { "/budgets/tokens/limit": 20_000, "/tiers/x": { "weight": 1 } } }),
                ),
                "budgets › tokens › limit: 30,000 to 20,000; old removed; 1 more",
            ),
            (
                record(
                    "policy.save",
                    "done",
                    json!({ "revision": 1, "values": { "sha256": "ab", "bytes": 20_000 } }),
                    json!({ "revision": 2, "values": {} }),
                ),
                "revision 1 to 2",
            ),
            (
                record(
                    "policy.save",
                    "done",
                    json!({ "revision": 1, "values": {} }),
                    json!({ "revision": 2, "values": {} }),
                ),
                "nothing changed",
            ),
            (
                record(
                    "policy.save",
                    "refused",
                    json!({ "revision": 1 }),
                    json!({ "refused": "moved" }),
                ),
                "somebody else had changed it",
            ),
            (
                record(
                    "tenant.patch",
                    "refused",
                    Value::Null,
                    json!({ "status": 400, "detail": "0 is outside 1 to 5", "field": "/weight" }),
                ),
                "weight: 0 is outside 1 to 5",
            ),
            (
                record(
                    "tenant.patch",
                    "done",
                    json!({ "revision": 2, "values": {} }),
                    json!({ "revision": 3, "values": { "/tenants/a": {
                        "tier": null, "weight": null,
                        "overrides": [{ "expires_at": 60_000, "starts_at": null, "weight": 4 }] } } }),
                ),
                "tenants › a added: overrides › expires_at: 1970-01-01 00:01:00 UTC, weight: 4",
            ),
            (record("session.open", "done", Value::Null, Value::Null), ""),
            (
                record(
                    "token.revoke",
                    "done",
                    json!({ "name": "ci", "role": "viewer" }),
                    Value::Null,
                ),
                "name: ci; role: viewer",
            ),
        ] {
            assert_eq!(summary(&record), text);
        }
    }

    #[test]
    fn what_is_no_change_of_the_policy_is_shown_side_by_side() {
        let revoked = record(
            "token.revoke",
            "done",
            json!({ "name": "ci", "role": "viewer" }),
            Value::Null,
        );
        let told: Vec<_> = sides(&revoked)
            .into_iter()
            .map(|row| (row.pointer, row.before.is_some(), row.after.is_some()))
            .collect();
        assert_eq!(
            told,
            [
                ("/name".to_owned(), true, false),
                ("/role".to_owned(), true, false)
            ]
        );
        assert!(changes(&revoked).is_none());
        assert!(sides(&record("session.open", "done", Value::Null, Value::Null)).is_empty());
    }
}
