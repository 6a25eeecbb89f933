//! The log as comma-separated values (RFC 4180), for whoever reads it in a spreadsheet. It cannot be verified: the lines of
//! [`super::export`] can.

use crate::export::cell::{cell, time};
use crate::wire::audit::AuditEntry;

/// The names of the columns.
pub const HEADER: &str =
    "sequence,time,actor,token,role,action,target,outcome,why,before,after,hash\r\n";

/// The line of a record.
///
/// ```
/// use weir_shared::audit::csv::line;
/// let entry = serde_json::from_value(serde_json::json!({
///     "sequence": 7, "previous": "", "at": 1_700_000_000_123_u64, "actor": "ada", "token": "AbCdEfGhIjKlMnOp", "role": "editor",
///     "action": "tenant.patch", "target": "acme", "before": null, "after": { "a": 1 }, "why": "say \"why\"",
///     "outcome": "done", "hash": "ab"
/// })).unwrap();
/// assert_eq!(
///     line(&entry),
///     "7,2023-11-14T22:13:20.123Z,ada,AbCdEfGhIjKlMnOp,editor,tenant.patch,acme,done,\"say \"\"why\"\"\",null,\"{\"\"a\"\":1}\",ab\r\n",
/// );
/// ```
#[must_use]
pub fn line(entry: &AuditEntry) -> String {
    let record = &entry.record;
    let role = record.role.map_or("", |role| role.name());
    let (before, after) = (record.before.to_string(), record.after.to_string());
    let cells = [
        &record.sequence.to_string(),
        &time(record.at),
        &record.actor,
        record.token.as_deref().unwrap_or_default(),
        role,
        &record.action,
        &record.target,
        record.outcome.name(),
        record.why.as_deref().unwrap_or_default(),
        &before,
        &after,
        &entry.hash,
    ];
    cells.map(cell).join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_names_every_cell_of_a_line() {
        assert_eq!(HEADER.matches(',').count() + 1, 12);
    }
}
