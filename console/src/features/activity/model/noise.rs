//! What of the log is routine: logins and the use of the bootstrap token change nothing, and stand together in one line.

use weir_shared::audit::Action;
use weir_shared::ordered::sort_by;
use weir_shared::wire::audit::{AuditEntry, AuditOutcome};

use crate::format::counted;

/// One line of the log.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A record.
    One(Box<AuditEntry>),
    /// Records of routine that follow one another, the newest first: two at least.
    Routine(Vec<AuditEntry>),
}

impl Line {
    /// What tells it apart from the others: the number of its newest record, and whether it is open.
    pub fn number(&self) -> u64 {
        match self {
            Self::One(entry) => entry.record.sequence,
            Self::Routine(entries) => entries.first().map_or(0, |entry| entry.record.sequence),
        }
    }
}

/// Whether a record is routine: it changed nothing, and nothing was refused.
pub fn is_routine(entry: &AuditEntry) -> bool {
    let routine = [
        Action::SessionOpen,
        Action::SessionClose,
        Action::BootstrapUse,
    ];
    let named = routine
        .iter()
        .any(|action| action.name() == entry.record.action);
    named && entry.record.outcome == AuditOutcome::Done
}

/// The records as lines. The one that is looked at stands alone.
pub fn lines(entries: &[AuditEntry], open: Option<u64>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for entry in entries {
        let folds = is_routine(entry) && open != Some(entry.record.sequence);
        match lines.last_mut() {
            Some(Line::Routine(routine)) if folds => routine.push(entry.clone()),
            _ if folds => lines.push(Line::Routine(vec![entry.clone()])),
            _ => lines.push(Line::One(Box::new(entry.clone()))),
        }
    }
    for line in &mut lines {
        if let Line::Routine(routine) = line
            && routine.len() == 1
        {
            *line = Line::One(Box::new(routine.remove(0)));
        }
    }
    lines
}

/// What a line of routine says: how many records, and by whom.
pub fn words(entries: &[AuditEntry]) -> String {
    let mut actors: Vec<&str> = entries
        .iter()
        .map(|entry| entry.record.actor.as_str())
        .collect();
    sort_by(&mut actors, Ord::cmp);
    actors.dedup();
    let by = match actors.as_slice() {
        [one] => format!("by {}", crate::visible::visible(one)),
        many => format!("by {}", counted(many.len(), "actor")),
    };
    let records = counted(entries.len(), "record");
    format!("{records} of logins and of the bootstrap token in use, {by}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(sequence: u64, action: Action, outcome: &str) -> AuditEntry {
        serde_json::from_value(json!({
            "hash": "h", "sequence": sequence, "at": 1, "actor": "ada", "action": action.name(), "target": "",
            "role": "admin", "why": null, "outcome": outcome, "before": null, "after": null, "previous": "",
        }))
        .unwrap()
    }

    #[test]
    fn routine_that_follows_one_another_is_one_line_and_a_change_stands_alone() {
        let entries = [
            entry(9, Action::SessionOpen, "done"),
            entry(8, Action::BootstrapUse, "done"),
            entry(7, Action::PolicySave, "done"),
            entry(6, Action::SessionOpen, "done"),
            entry(5, Action::PolicySave, "done"),
        ];
        let told: Vec<(u64, bool)> = lines(&entries, None)
            .iter()
            .map(|line| (line.number(), matches!(line, Line::Routine(_))))
            .collect();
        assert_eq!(told, [(9, true), (7, false), (6, false), (5, false)]);
        let open = lines(&entries, Some(8));
        assert_eq!(open.len(), 5, "what is looked at is not folded");
    }

    #[test]
    fn a_login_that_was_refused_is_no_routine() {
        assert!(!is_routine(&entry(1, Action::SessionOpen, "refused")));
        assert!(!is_routine(&entry(1, Action::TokenCreate, "done")));
        let two = [
            entry(2, Action::SessionOpen, "done"),
            entry(1, Action::SessionClose, "done"),
        ];
        assert_eq!(
            words(&two),
            "2 records of logins and of the bootstrap token in use, by ada"
        );
    }
}
