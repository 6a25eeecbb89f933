//! What differs between two documents, value by value, each at its JSON pointer.

use serde::Serialize;
use serde_json::Value;
use weir_shared::audit::changes::changes;
use weir_shared::visible::visible;

use crate::figures::counted;
use crate::table::{Side, Table};

/// Which way a value differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was not there.
    Added,
    /// It is there no more.
    Removed,
    /// It is another.
    Changed,
}

/// One value that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Where it stands (RFC 6901).
    pub pointer: String,
    /// Which way it differs.
    pub kind: Kind,
    /// What was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What differs, in the order of the pointers.
///
/// ```
/// use serde_json::json;
/// use weir_cli::difference::{difference, text};
/// let rows = difference(&json!({ "a": { "b": 1 }, "c": 2 }), &json!({ "a": { "b": 3 }, "d": 4 }));
/// assert_eq!(text(&rows), "~ /a/b: 1 → 3\n- /c: 2\n+ /d: 4\n");
/// ```
#[must_use]
pub fn difference(before: &Value, after: &Value) -> Vec<Row> {
    let (was, is) = changes(before, after);
    let mut pointers: Vec<&String> = was.keys().chain(is.keys()).collect();
    pointers.sort();
    pointers.dedup();
    let rows = pointers.into_iter().map(|pointer| {
        let (before, after) = (was.get(pointer).cloned(), is.get(pointer).cloned());
        let kind = match (&before, &after) {
            (None, _) => Kind::Added,
            (_, None) => Kind::Removed,
            _ => Kind::Changed,
        };
        Row {
            pointer: pointer.clone(),
            kind,
            before,
            after,
        }
    });
    rows.collect()
}

/// A line a value, each ended: `+` for what is new, `-` for what is gone, `~` for what changes.
#[must_use]
pub fn text(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let pointer = visible(&row.pointer);
        let (before, after) = (shown(row.before.as_ref()), shown(row.after.as_ref()));
        match row.kind {
            Kind::Added => format!("+ {pointer}: {after}\n"),
            Kind::Removed => format!("- {pointer}: {before}\n"),
            Kind::Changed => format!("~ {pointer}: {before} → {after}\n"),
        }
    };
    rows.iter().map(line).collect()
}

/// The same as a table.
#[must_use]
pub fn markdown(rows: &[Row]) -> String {
    let heads = [
        ("value", Side::Left),
        ("before", Side::Left),
        ("after", Side::Left),
    ];
    let mut table = Table::new(&heads);
    for row in rows {
        table.row([
            row.pointer.clone(),
            shown(row.before.as_ref()),
            shown(row.after.as_ref()),
        ]);
    }
    table.markdown()
}

/// The same differences, looked at from the other document.
#[must_use]
pub fn reversed(rows: Vec<Row>) -> Vec<Row> {
    let turned = rows.into_iter().map(|row| Row {
        kind: match row.kind {
            Kind::Added => Kind::Removed,
            Kind::Removed => Kind::Added,
            Kind::Changed => Kind::Changed,
        },
        pointer: row.pointer,
        before: row.after,
        after: row.before,
    });
    turned.collect()
}

/// How many, in words: `2 values differ`.
#[must_use]
pub fn counted_words(rows: &[Row], verb: (&str, &str)) -> String {
    let verb = if rows.len() == 1 { verb.0 } else { verb.1 };
    format!("{} {verb}", counted(rows.len() as u64, "value"))
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "not set".to_owned(), |value| visible(&value.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_that_are_the_same_do_not_differ() {
        let one = json!({ "a": [1, { "b": null }] });
        assert!(difference(&one, &one).is_empty());
        assert_eq!(text(&[]), "");
    }

    #[test]
    fn lists_differ_as_a_whole_and_names_hide_nothing() {
        let before = json!({ "regions": ["a", "b"], "tenants": {} });
        let after = json!({ "regions": ["a"], "tenants": { "\u{202e}x/y": { "weight": 2 } } });
        let rows = difference(&before, &after);
        assert_eq!(
            text(&rows),
            "~ /regions: [\"a\",\"b\"] → [\"a\"]\n+ /tenants/⟨U+202E⟩x~1y: {\"weight\":2}\n"
        );
        assert_eq!(
            counted_words(&rows, ("differs", "differ")),
            "2 values differ"
        );
        assert_eq!(
            counted_words(&rows[..1], ("differs", "differ")),
            "1 value differs"
        );
    }

    #[test]
    fn a_difference_is_the_same_from_either_side() {
        let (one, other) = (json!({ "a": 1, "b": 2 }), json!({ "a": 3, "c": 4 }));
        assert_eq!(reversed(difference(&one, &other)), difference(&other, &one));
    }

    #[test]
    fn a_table_says_what_was_not_there() {
        let rows = difference(&json!({}), &json!({ "a": 1 }));
        assert_eq!(
            markdown(&rows),
            "| value | before | after |\n| --- | --- | --- |\n| /a | not set | 1 |\n"
        );
    }

    #[test]
    fn a_program_reads_what_was_null_from_what_was_not_there() {
        let rows = difference(&json!({ "a": null }), &json!({ "a": 1, "b": null }));
        assert_eq!(
            serde_json::to_value(&rows).unwrap(),
            json!([
                { "pointer": "/a", "kind": "changed", "before": null, "after": 1 },
                { "pointer": "/b", "kind": "added", "after": null },
            ])
        );
    }
}
