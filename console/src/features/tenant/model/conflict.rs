//! Two changes of the same tenant: what it was, what somebody else made of it meanwhile, and what is wanted here.

use serde_json::Value;
use weir_shared::wire::policy::TenantBody;

use super::draft::TenantDraft;
use crate::rebase::{Keep, Meeting, meetings, rebased};

/// The three words about a tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// What this change started from.
    pub base: TenantBody,
    /// What is in force now.
    pub theirs: TenantBody,
    /// What is wanted here.
    pub mine: TenantBody,
}

impl Conflict {
    fn values(&self) -> [Value; 3] {
        // What is not said is not there: a null would be shown as a value.
        let value = |body: &TenantBody| {
            let mut value = weir_shared::json::to_value(body).unwrap_or_default();
            if let Some(fields) = value.as_object_mut() {
                fields.retain(|_, value| !value.is_null());
            }
            value
        };
        [value(&self.base), value(&self.theirs), value(&self.mine)]
    }

    /// The fields that either changed. Overrides meet as one list, as they are saved as one.
    pub fn meetings(&self) -> Vec<Meeting> {
        let [base, theirs, mine] = self.values();
        meetings(&base, &theirs, &mine)
    }

    /// What is wanted here on top of what is in force: fields that were not changed here are as the other made them.
    pub fn mine_on_top(&self) -> TenantDraft {
        let [base, theirs, mine] = self.values();
        let merged = rebased(&base, &theirs, &mine, Keep::Mine);
        let body = weir_shared::json::from_value(&merged).unwrap_or_else(|_| self.mine.clone());
        TenantDraft::of(&body)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rebase::Side;

    fn conflict(base: Value, theirs: Value, mine: Value) -> Conflict {
        let body = |value| serde_json::from_value(value).unwrap();
        Conflict {
            base: body(base),
            theirs: body(theirs),
            mine: body(mine),
        }
    }

    #[test]
    fn what_either_changed_is_shown_and_what_both_did_clashes() {
        let conflict = conflict(
            json!({ "weight": 1, "tier": "free", "lend_max": 5 }),
            json!({ "weight": 2, "tier": "pro", "lend_max": 5 }),
            json!({ "weight": 3, "tier": "pro", "lend_max": 5, "overrides": [ { "weight": 9 } ] }),
        );
        let rows = conflict.meetings();
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.pointer.as_str(), row.side))
            .collect();
        assert_eq!(
            told,
            [
                ("/overrides", Side::Mine),
                ("/tier", Side::Same),
                ("/weight", Side::Clash)
            ]
        );
    }

    #[test]
    fn what_nobody_said_is_not_there_and_what_was_taken_away_stays_away() {
        let conflict = conflict(
            json!({ "weight": 1, "lend_max": 5 }),
            json!({ "weight": 1, "lend_max": 5, "tier": "pro" }),
            json!({ "lend_max": 5 }),
        );
        let rows = conflict.meetings();
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.pointer.as_str(), row.base.is_some(), row.mine.is_some()))
            .collect();
        assert_eq!(told, [("/tier", false, false), ("/weight", true, false)]);
        let draft = conflict.mine_on_top();
        assert_eq!((&*draft.weight, &*draft.tier), ("", "pro"));
        assert_eq!(draft.claims, ["", "5"]);
    }

    #[test]
    fn mine_on_top_keeps_what_only_they_changed() {
        let conflict = conflict(
            json!({ "weight": 1, "tier": "free", "parent": "a" }),
            json!({ "weight": 2, "tier": "pro", "parent": "b", "borrow_max": "unlimited" }),
            json!({ "weight": 3, "tier": "free" }),
        );
        let draft = conflict.mine_on_top();
        assert_eq!(
            (&*draft.weight, &*draft.tier, &*draft.parent),
            ("3", "pro", "")
        );
        assert_eq!(draft.claims, ["unlimited", ""]);
    }
}
