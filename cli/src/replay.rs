//! What a file would have admitted of a trace, or of what a deployment recorded, beside the policy in force.

pub mod trace;

use std::fmt::Write;

use weir_shared::replay::passed;
use weir_shared::wire::accounting::Tally;
use weir_shared::wire::replay::{ReplayBody, ReplayRow};

use crate::figures::{change, change_percent, count, counted, instant, tenant};
use crate::table::{Side, Table};

/// Rows of a text: what a screen shows.
const ROWS_SHOWN: usize = 20;

/// For a terminal.
#[must_use]
pub fn text(told: &ReplayBody) -> String {
    if told.entries == 0 {
        return "Nothing was asked for that has a rule in either policy.\n".to_owned();
    }
    let mut text = format!(
        "{} from {} to {}, beside {}.\n",
        counted(told.entries, "request"),
        instant(told.from),
        instant(told.to),
        match told.present_revision {
            Some(revision) => format!("revision {revision}"),
            None => "the other file".to_owned(),
        }
    );
    for region in &told.unreachable {
        let _ = writeln!(text, "{region} did not answer: what it counted is missing.");
    }
    let changed = |row: &&ReplayRow| row.present != row.candidate;
    let changed: Vec<&ReplayRow> = told.rows.iter().filter(changed).collect();
    let mut table = Table::new(&[
        ("tenant", Side::Left),
        ("of", Side::Left),
        ("asked for", Side::Right),
        ("admitted now", Side::Right),
        ("then", Side::Right),
        ("change", Side::Right),
        ("", Side::Right),
    ]);
    for row in changed.iter().take(ROWS_SHOWN) {
        let (present, candidate) = (passed(&row.present), passed(&row.candidate));
        table.row([
            tenant(&row.tenant),
            format!("{} {}", row.kind.name(), row.name),
            count(asked(&row.present)),
            count(present),
            count(candidate),
            change(present, candidate),
            change_percent(present, candidate),
        ]);
    }
    if table.is_empty() {
        text.push_str("Nobody would have got more or less.\n");
        return text;
    }
    text.push_str(&table.text());
    let hidden = changed.len().saturating_sub(ROWS_SHOWN) as u64;
    let untold = told.rows_total.saturating_sub(told.rows.len() as u64);
    for (of, what) in [(hidden, "not shown"), (untold, "summed up as others")] {
        if of > 0 {
            let _ = writeln!(text, "{} of smaller changes {what}.", counted(of, "row"));
        }
    }
    text
}

/// Units that were asked for.
fn asked(tally: &Tally) -> u128 {
    passed(tally).saturating_add(tally.denied_units.0)
}

#[cfg(test)]
mod tests {
    use weir_shared::units::{EpochMs, Revision};
    use weir_shared::wire::accounting::ANONYMOUS;
    use weir_shared::wire::count::Count;
    use weir_shared::wire::replay::ReplayKind;

    use super::*;

    fn row(tenant: &str, present: u128, candidate: u128) -> ReplayRow {
        let tally = |units: u128| Tally {
            admitted_units: Count(units),
            denied_units: Count(100 - units),
            ..Tally::default()
        };
        ReplayRow {
            kind: ReplayKind::Limit,
            name: "per_ip".to_owned(),
            tenant: tenant.to_owned(),
            present: tally(present),
            candidate: tally(candidate),
        }
    }

    fn body(rows: Vec<ReplayRow>) -> ReplayBody {
        ReplayBody {
            at: EpochMs(0),
            present_revision: Some(Revision(7)),
            entries: 3,
            from: EpochMs(0),
            to: EpochMs(1_000),
            unreachable: Vec::new(),
            rows_total: rows.len() as u64,
            rows,
            others: None,
        }
    }

    #[test]
    fn a_terminal_reads_who_would_have_got_what() {
        let told = body(vec![
            row("a", 50, 80),
            row(ANONYMOUS, 10, 5),
            row("c", 7, 7),
        ]);
        assert_eq!(
            text(&told),
            "3 requests from 1970-01-01T00:00:00Z to 1970-01-01T00:00:01Z, beside revision 7.\n\
             tenant       of            asked for  admitted now  then  change\n\
             a            limit per_ip        100            50    80     +30  +60.0%\n\
             (no tenant)  limit per_ip        100            10     5      −5  −50.0%\n"
        );
    }

    #[test]
    fn what_is_missing_or_not_shown_is_told() {
        let mut told = body((0..25).map(|at| row(&format!("t{at}"), 10, 5)).collect());
        told.rows_total = 1_025;
        told.unreachable = vec!["oc".to_owned()];
        let text = text(&told);
        for line in [
            "\noc did not answer: what it counted is missing.\n",
            "\n5 rows of smaller changes not shown.\n",
            "\n1,000 rows of smaller changes summed up as others.\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn no_change_and_no_request_are_told_apart() {
        let same = text(&body(vec![row("a", 5, 5)]));
        assert!(
            same.ends_with("Nobody would have got more or less.\n"),
            "{same}"
        );
        let nothing = ReplayBody {
            entries: 0,
            ..body(Vec::new())
        };
        assert!(text(&nothing).starts_with("Nothing was asked for"));
    }
}
