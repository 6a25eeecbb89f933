//! A change of the policy taken back: the values that it changed are put back on top of the policy of now, so that what
//! others changed since stays.

use serde_json::Value;
use weir_shared::audit::Action;
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::audit::{AuditEntry, AuditOutcome, AuditRecord};

use super::actions::changes;
use crate::difference::{Row, difference, set};

/// A policy in which a change is taken back.
#[derive(Debug, Clone, PartialEq)]
pub struct Revert {
    /// The document.
    pub candidate: Value,
    /// What it changes of the policy of now.
    pub rows: Vec<Row>,
    /// Pointers to values that were changed again since, which are put back, too.
    pub since: Vec<String>,
}

/// What a record changed, if that can be taken back.
///
/// # Errors
/// Why it cannot, in a sentence.
pub fn revertible(record: &AuditRecord) -> Result<Vec<Row>, &'static str> {
    let of_policy = [
        Action::PolicySave,
        Action::TenantPatch,
        Action::TenantDelete,
    ];
    if !of_policy
        .iter()
        .any(|action| action.name() == record.action)
    {
        return Err("Only changes of the policy and its tenants can be reverted.");
    }
    if record.outcome == AuditOutcome::Refused {
        return Err("It was refused: nothing was changed.");
    }
    match changes(record) {
        Some(rows) if rows.is_empty() => Err("It changed nothing."),
        Some(rows) if !rows.iter().any(Row::is_hashed) => Ok(rows),
        _ => Err("The change was too large for the log, which keeps part of it only as a hash."),
    }
}

/// The policy of now with the change of a record taken back.
///
/// # Errors
/// Why it cannot be, in a sentence.
pub fn revert(record: &AuditRecord, now: &Value) -> Result<Revert, &'static str> {
    let mut candidate = now.clone();
    let mut since = Vec::new();
    for row in revertible(record)? {
        let current = now.pointer(&row.pointer);
        if current != row.after.as_ref() && current != row.before.as_ref() {
            since.push(row.pointer.clone());
        }
        set(&mut candidate, &row.pointer, row.before);
    }
    let rows = difference(now, &candidate);
    if rows.is_empty() {
        return Err("The policy is already as it was before this change.");
    }
    Ok(Revert {
        candidate,
        rows,
        since,
    })
}

/// How the reason of a revert begins.
const REVERT_OF: &str = "revert of record ";

/// The reason that is recorded: which record is reverted, and what was given as the reason. By this the log finds the
/// revert of a record.
///
/// ```
/// use weir_console::features::activity::model::revert::reason;
/// assert_eq!(reason(42, " "), "revert of record 42");
/// assert_eq!(reason(42, "a typo"), "revert of record 42: a typo");
/// ```
pub fn reason(sequence: u64, given: &str) -> String {
    match given.trim() {
        "" => format!("{REVERT_OF}{sequence}"),
        given => format!("{REVERT_OF}{sequence}: {given}"),
    }
}

/// The record that a change reverted, if it says that it is a revert.
pub fn reverts(record: &AuditRecord) -> Option<u64> {
    if record.action != Action::PolicySave.name() || record.outcome != AuditOutcome::Done {
        return None;
    }
    let of = record.why.as_deref()?.strip_prefix(REVERT_OF)?;
    let number: u64 = of.split(':').next()?.parse().ok()?;
    (number < record.sequence).then_some(number)
}

/// The revert of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    /// The record of the revert.
    pub sequence: u64,
    /// Who reverted.
    pub by: String,
    /// When.
    pub at_ms: u64,
}

/// The records that others among these reverted, each with its newest revert.
pub fn reverted(entries: &[AuditEntry]) -> OrderedMap<u64, Reverted> {
    let mut found = OrderedMap::<u64, Reverted>::new();
    for AuditEntry { record, .. } in entries {
        let Some(number) = reverts(record) else {
            continue;
        };
        let newer = |known: &Reverted| known.sequence > record.sequence;
        if !found.get(&number).is_some_and(newer) {
            let revert = Reverted {
                sequence: record.sequence,
                by: record.actor.clone(),
                at_ms: record.at,
            };
            found.insert(number, revert);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::actions::tests::record;
    use super::*;

    fn saved(was: Value, is: Value) -> AuditRecord {
        record(
            "policy.save",
            "done",
            json!({ "revision": 1, "values": was }),
            json!({ "revision": 2, "values": is }),
        )
    }

    #[test]
    fn what_a_change_added_removed_and_changed_is_undone() {
        let before = json!({ "a": 1, "gone": { "x": 1 }, "kept": true });
        let after = json!({ "a": 2, "new": 3, "kept": true });
        let (was, is) = weir_shared::audit::changes::changes(&before, &after);
        let reverted = revert(&saved(json!(was), json!(is)), &after).unwrap();
        assert_eq!(reverted.candidate, before);
        assert!(reverted.since.is_empty());
        assert_eq!(reverted.rows.len(), 3);
    }

    #[test]
    fn what_is_kept_in_part_is_not_undone_in_part() {
        let rest = json!({ "sha256": "ab", "bytes": 9, "values": 2 });
        let (was, is) = (json!({ "/a": 1 }), json!({ "/a": 2, "/tenants": rest }));
        let record = saved(was, is);
        assert!(revert(&record, &json!({ "a": 2 })).is_err());
    }

    #[test]
    fn what_others_changed_since_stays_and_what_they_changed_again_is_named() {
        let change = saved(
            json!({ "/limit": 5, "/burst": 1 }),
            json!({ "/limit": 7, "/burst": 2 }),
        );
        let now = json!({ "limit": 9, "burst": 2, "shadow": true });
        let reverted = revert(&change, &now).unwrap();
        assert_eq!(
            reverted.candidate,
            json!({ "limit": 5, "burst": 1, "shadow": true })
        );
        assert_eq!(reverted.since, ["/limit"]);
    }

    #[test]
    fn a_tenant_that_was_removed_comes_back_whole() {
        let acme = json!({ "tier": "pro", "weight": 6, "overrides": [] });
        let mut removed = saved(json!({ "/tenants/acme": acme }), json!({}));
        removed.action = "tenant.delete".to_owned();
        let reverted = revert(&removed, &json!({ "tenants": {} })).unwrap();
        assert_eq!(reverted.candidate, json!({ "tenants": { "acme": acme } }));
    }

    #[test]
    fn a_revert_names_its_record_and_the_record_its_newest_revert() {
        let entry = |sequence: u64, why: &str| AuditEntry {
            record: AuditRecord {
                sequence,
                why: Some(why.to_owned()),
                ..saved(json!({}), json!({}))
            },
            hash: String::new(),
        };
        let entries = [
            entry(9, &reason(5, "")),
            entry(8, "revert of record 12"),
            entry(7, &reason(5, "too low: see the ticket")),
            entry(6, "revert of the record"),
        ];
        let told: Vec<_> = entries.iter().map(|entry| reverts(&entry.record)).collect();
        // No record is reverted before it is written.
        assert_eq!(told, [Some(5), None, Some(5), None]);
        let expected = Reverted {
            sequence: 9,
            by: "ada".to_owned(),
            at_ms: 0,
        };
        assert_eq!(reverted(&entries), [(5, expected)].into());
        let refused = AuditRecord {
            outcome: AuditOutcome::Refused,
            ..entries[0].record.clone()
        };
        assert_eq!(reverts(&refused), None, "nothing was changed");
    }

    #[test]
    fn what_cannot_be_taken_back_says_why() {
        let change = saved(json!({ "/limit": 5 }), json!({ "/limit": 7 }));
        let with = |action: &str, outcome| AuditRecord {
            action: action.to_owned(),
            outcome,
            ..change.clone()
        };
        let large = saved(json!({ "sha256": "ab", "bytes": 20_000 }), json!({}));
        for (record, now, part) in [
            (
                with("token.create", AuditOutcome::Done),
                json!({ "limit": 7 }),
                "Only changes of the policy",
            ),
            (
                with("policy.save", AuditOutcome::Refused),
                json!({ "limit": 7 }),
                "was refused",
            ),
            (large, json!({}), "too large"),
            (saved(json!({}), json!({})), json!({}), "changed nothing"),
            (change.clone(), json!({ "limit": 5 }), "already as it was"),
        ] {
            assert!(revert(&record, &now).unwrap_err().contains(part), "{part}");
        }
    }
}
