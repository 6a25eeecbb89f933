//! A document that was changed here and elsewhere at once, by two people or by one in two tabs: what each change made of
//! it, where both did, and the one put on top of the other.

use serde_json::Value;
use weir_shared::audit::Action;
use weir_shared::json::pointer::step;
use weir_shared::ordered::sort_by;
use weir_shared::wire::audit::AuditOutcome;

use crate::difference::set;
use crate::visible::visible;

/// Who changed a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Only they did.
    Theirs,
    /// Only I did.
    Mine,
    /// Both, to the same.
    Same,
    /// Both, to something else.
    Clash,
}

impl Side {
    /// Who, in words.
    pub fn label(self) -> &'static str {
        match self {
            Self::Theirs => "changed elsewhere",
            Self::Mine => "changed here",
            Self::Same => "the same change twice",
            Self::Clash => "changed by both",
        }
    }
}

/// Who saved the newest change of the policy, in a sentence, by a page of the log; `me` is who looks at it.
pub fn saved_by(log: &Value, me: &str) -> Option<String> {
    let of_policy = [
        Action::PolicySave,
        Action::TenantPatch,
        Action::TenantDelete,
    ];
    let mut records = log["records"].as_array()?.iter();
    let newest = records.find(|record| {
        let named = |action: &Action| record["action"] == action.name();
        record["outcome"] == AuditOutcome::Done.name() && of_policy.iter().any(named)
    })?;
    let actor = newest["actor"].as_str()?;
    Some(match actor == me {
        true => "You saved it elsewhere, such as in another tab.".to_owned(),
        false => format!("{} saved it.", visible(actor)),
    })
}

/// One value that somebody changed. `None` is a value that is not there.
#[derive(Debug, Clone, PartialEq)]
pub struct Meeting {
    /// Where it stands.
    pub pointer: String,
    /// What both began with.
    pub base: Option<Value>,
    /// What they made of it.
    pub theirs: Option<Value>,
    /// What I made of it.
    pub mine: Option<Value>,
    /// Who changed it.
    pub side: Side,
}

/// Which of two changes of one value stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Mine.
    Mine,
    /// Theirs.
    Theirs,
}

/// What changed between `base` and both of its successors, in the order of the pointers.
///
/// ```
/// use serde_json::json;
/// use weir_console::rebase::{Side, meetings};
/// let base = json!({ "limit": 1, "burst": 1 });
/// let rows = meetings(&base, &json!({ "limit": 2, "burst": 1 }), &json!({ "limit": 3, "burst": 5 }));
/// let told: Vec<_> = rows.iter().map(|row| (row.pointer.as_str(), row.side)).collect();
/// assert_eq!(told, [("/burst", Side::Mine), ("/limit", Side::Clash)]);
/// ```
pub fn meetings(base: &Value, theirs: &Value, mine: &Value) -> Vec<Meeting> {
    let mut rows = Vec::new();
    walk("", [Some(base), Some(theirs), Some(mine)], &mut rows);
    rows
}

fn walk(at: &str, values: [Option<&Value>; 3], rows: &mut Vec<Meeting>) {
    let [base, theirs, mine] = values;
    if base == theirs && base == mine {
        return;
    }
    if let (None | Some(Value::Object(_)), Some(Value::Object(_)), Some(Value::Object(_))) =
        (base, theirs, mine)
    {
        let objects = values.map(|value| value.and_then(Value::as_object));
        let mut names: Vec<&String> = objects
            .iter()
            .flatten()
            .flat_map(|object| object.keys())
            .collect();
        sort_by(&mut names, Ord::cmp);
        names.dedup();
        for name in names {
            let inner = objects.map(|object| object.and_then(|object| object.get(name)));
            walk(&format!("{at}{}", step(name)), inner, rows);
        }
        return;
    }
    let side = if theirs == mine {
        Side::Same
    } else if base == theirs {
        Side::Mine
    } else if base == mine {
        Side::Theirs
    } else {
        Side::Clash
    };
    let [base, theirs, mine] = values.map(Option::<&Value>::cloned);
    rows.push(Meeting {
        pointer: at.to_owned(),
        base,
        theirs,
        mine,
        side,
    });
}

/// Theirs with my changes on top; `keep` says which stays where both changed one value.
pub fn rebased(base: &Value, theirs: &Value, mine: &Value, keep: Keep) -> Value {
    let mut document = theirs.clone();
    for row in meetings(base, theirs, mine) {
        let put = row.side == Side::Mine || (row.side == Side::Clash && keep == Keep::Mine);
        if put {
            set(&mut document, &row.pointer, row.mine);
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_s_own_change_in_another_tab_is_not_taken_for_somebody_else_s() {
        let record = |action: &str, actor: &str, outcome: &str| json!({ "sequence": 9, "actor": actor, "action": action, "outcome": outcome });
        let mut log = json!({ "records": [
            record("session.open", "ben", "done"),
            record("policy.save", "ben", "refused"),
            record("tenant.patch", "ada", "done"),
            record("policy.save", "ben", "done"),
        ]});
        assert_eq!(
            saved_by(&log, "ada").unwrap(),
            "You saved it elsewhere, such as in another tab."
        );
        assert_eq!(saved_by(&log, "ben").unwrap(), "ada saved it.");
        log["records"].as_array_mut().unwrap().truncate(2);
        assert_eq!(saved_by(&log, "ada"), None);
    }

    #[test]
    fn what_only_one_changed_is_kept_whoever_wins() {
        let base = json!({ "a": 1, "b": 1, "gone": 1, "list": [1] });
        let theirs = json!({ "a": 2, "b": 1, "gone": 1, "list": [1], "new": { "x": 1 } });
        let mine = json!({ "a": 1, "b": 3, "list": [1, 2], "own": true });
        let expected = json!({ "a": 2, "b": 3, "list": [1, 2], "new": { "x": 1 }, "own": true });
        for keep in [Keep::Mine, Keep::Theirs] {
            assert_eq!(rebased(&base, &theirs, &mine, keep), expected);
        }
    }

    #[test]
    fn where_both_changed_one_value_the_choice_decides() {
        let (base, theirs, mine) = (
            json!({ "limits": { "ip": { "limit": 5, "burst": 1 } } }),
            json!({ "limits": { "ip": { "limit": 6, "burst": 1 } } }),
            json!({ "limits": { "ip": { "limit": 7, "burst": 2 } } }),
        );
        for (keep, limit) in [(Keep::Mine, 7), (Keep::Theirs, 6)] {
            let document = rebased(&base, &theirs, &mine, keep);
            assert_eq!(
                document,
                json!({ "limits": { "ip": { "limit": limit, "burst": 2 } } })
            );
        }
    }

    #[test]
    fn what_they_removed_and_i_changed_meets_as_a_whole() {
        let base = json!({ "budgets": { "tokens": { "limit": 5, "window_ms": 1000 } } });
        let theirs = json!({ "budgets": {} });
        let mine = json!({ "budgets": { "tokens": { "limit": 9, "window_ms": 1000 } } });
        let rows = meetings(&base, &theirs, &mine);
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].pointer.as_str(), rows[0].side),
            ("/budgets/tokens", Side::Clash)
        );
        // Nothing of it is put back in part.
        assert_eq!(rebased(&base, &theirs, &mine, Keep::Mine), mine);
        assert_eq!(rebased(&base, &theirs, &mine, Keep::Theirs), theirs);
    }

    #[test]
    fn what_both_added_meets_field_by_field() {
        let base = json!({ "tenants": {} });
        let theirs = json!({ "tenants": { "acme": { "tier": "pro", "weight": 1 } } });
        let mine =
            json!({ "tenants": { "acme": { "tier": "pro", "weight": 2, "parent": "org" } } });
        let told: Vec<_> = meetings(&base, &theirs, &mine)
            .into_iter()
            .map(|row| (row.pointer, row.side))
            .collect();
        assert_eq!(
            told,
            [
                ("/tenants/acme/parent".to_owned(), Side::Mine),
                ("/tenants/acme/tier".to_owned(), Side::Same),
                ("/tenants/acme/weight".to_owned(), Side::Clash),
            ]
        );
    }

    #[test]
    fn documents_that_are_the_same_meet_nowhere() {
        let one = json!({ "a": [1, { "b": null }] });
        assert!(meetings(&one, &one, &one).is_empty());
        assert_eq!(rebased(&one, &one, &one, Keep::Mine), one);
    }
}
