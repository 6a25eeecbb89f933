//! What differs between two documents, value by value, each at its JSON pointer.

use serde::Serialize;
use serde_json::Value;
use weir_shared::audit::changes::{changes, side_by_side};
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

/// What differs, in the order of the document: objects field by field, lists entry by entry between what is the same at
/// both ends. An entry that is gone stands at its place in the first document, one that is new at that in the second.
///
/// ```
/// use serde_json::json;
/// use weir_cli::difference::{difference, text};
/// let rows = difference(&json!({ "a": { "b": 1 }, "c": [2, 3] }), &json!({ "a": { "b": 3 }, "c": [2, 5, 3], "d": 4 }));
/// assert_eq!(text(&rows), "~ /a/b: 1 → 3\n+ /c/1: 5\n+ /d: 4\n");
/// ```
#[must_use]
pub fn difference(before: &Value, after: &Value) -> Vec<Row> {
    let (was, is) = changes(before, after);
    let mut rows = Vec::new();
    for (pointer, before, after) in side_by_side(&was, &is) {
        differs(pointer, before, after, &mut rows);
    }
    rows
}

fn differs(pointer: &str, before: Option<&Value>, after: Option<&Value>, rows: &mut Vec<Row>) {
    if let (Some(Value::Array(before)), Some(Value::Array(after))) = (before, after) {
        return lists(pointer, before, after, rows);
    }
    let kind = match (before, after) {
        (None, _) => Kind::Added,
        (_, None) => Kind::Removed,
        _ => Kind::Changed,
    };
    rows.push(Row {
        pointer: pointer.to_owned(),
        kind,
        before: before.cloned(),
        after: after.cloned(),
    });
}

fn lists(pointer: &str, before: &[Value], after: &[Value], rows: &mut Vec<Row>) {
    let same = |(one, other): &(&Value, &Value)| one == other;
    let first = before.iter().zip(after).take_while(same).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take_while(same)
        .count();
    let (before, after) = (&before[..before.len() - last], &after[..after.len() - last]);
    let at = |place: usize| format!("{pointer}/{}", first + place);
    if before.len() == after.len() {
        for (place, (before, after)) in before.iter().zip(after).enumerate() {
            let inner = difference(before, after).into_iter().map(|row| Row {
                pointer: format!("{}{}", at(place), row.pointer),
                ..row
            });
            rows.extend(inner);
        }
        return;
    }
    for (place, gone) in before.iter().enumerate() {
        differs(&at(place), Some(gone), None, rows);
    }
    for (place, new) in after.iter().enumerate() {
        differs(&at(place), None, Some(new), rows);
    }
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

/// The longest value that is shown; JSON has all of each.
const SHOWN_MAX: usize = 240;

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "not set".to_owned();
    };
    let text = value.to_string();
    let length = text.chars().count();
    if length <= SHOWN_MAX {
        return visible(&text);
    }
    let first: String = text.chars().take(SHOWN_MAX).collect();
    format!(
        "{}… ({})",
        visible(&first),
        counted(length as u64, "character")
    )
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
    fn names_hide_nothing_and_what_differs_is_counted() {
        let before = json!({ "enforcing": true, "tenants": {} });
        let after = json!({ "enforcing": false, "tenants": { "\u{202e}x/y": { "weight": 2 } } });
        let rows = difference(&before, &after);
        assert_eq!(
            text(&rows),
            "~ /enforcing: true → false\n+ /tenants/⟨U+202E⟩x~1y: {\"weight\":2}\n"
        );
        let words = |rows: &[Row]| counted_words(rows, ("differs", "differ"));
        assert_eq!(words(&rows), "2 values differ");
        assert_eq!(words(&rows[..1]), "1 value differs");
    }

    #[test]
    fn an_entry_of_a_list_is_found_by_what_stands_around_it() {
        let of = |before: Value, after: Value| {
            let (before, after) = (json!({ "l": before }), json!({ "l": after }));
            text(&difference(&before, &after))
        };
        let route = |name: &str, cost: u64| json!({ "name": name, "checks": [{ "cost": cost }] });
        for (before, after, expected) in [
            (json!([1, 2, 3]), json!([1, 3]), "- /l/1: 2\n"),
            (json!([1, 3]), json!([1, 2, 3]), "+ /l/1: 2\n"),
            (json!([1]), json!([1, 1]), "+ /l/1: 1\n"),
            (json!([]), json!([1]), "+ /l/0: 1\n"),
            (
                json!([1, 2, 5]),
                json!([1, 3, 4, 5]),
                "- /l/1: 2\n+ /l/1: 3\n+ /l/2: 4\n",
            ),
            (
                json!([route("a", 1), route("b", 1)]),
                json!([route("a", 1), route("b", 7)]),
                "~ /l/1/checks/0/cost: 1 → 7\n",
            ),
        ] {
            assert_eq!(of(before, after), expected);
        }
    }

    #[test]
    fn a_long_value_is_cut_for_people_and_whole_for_programs() {
        let rows = difference(&json!({}), &json!({ "a": "x".repeat(1_000) }));
        let text = text(&rows);
        assert!(
            text.ends_with("x… (1,002 characters)\n") && text.len() < 300,
            "{text}"
        );
        let told = serde_json::to_string(&rows).unwrap();
        assert!(told.contains(&"x".repeat(1_000)));
    }

    #[test]
    fn a_difference_is_the_same_from_either_side() {
        let one = json!({ "a": 1, "b": 2, "l": [1, 2, 3] });
        let other = json!({ "a": 3, "c": 4, "l": [1, 3] });
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
