//! What a preview or a simulation says, as lines of a table: who gains, who loses, and by how much.

use weir_shared::figures::{change, change_percent, count};
pub use weir_shared::preview::words::summary;
use weir_shared::wire::preview::{PreviewBody, PreviewRow};
use weir_shared::wire::rule_kind::RuleKind;

/// How calls of limits are played, where a line is of one.
pub fn keys_note(body: &PreviewBody) -> Option<&'static str> {
    let limit_changes =
        |row: &PreviewRow| row.kind == RuleKind::Limit && row.candidate != row.present;
    body.rows.iter().any(limit_changes).then_some(
        "How the calls of a limit were divided among its keys is not recorded. Both policies are played over as few equal keys as \
         explain what was admitted, so who was denied in fact may differ.",
    )
}

/// Which way something changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// More.
    Gains,
    /// Less.
    Loses,
    /// The same.
    Stays,
}

impl Way {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gains => "gains",
            Self::Loses => "loses",
            Self::Stays => "stays",
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The tenant.
    pub tenant: String,
    /// `budget tokens`.
    pub what: String,
    /// What was asked for.
    pub demand: String,
    /// What the policy in force would give.
    pub present: String,
    /// What it would deny.
    pub denied_now: String,
    /// What the candidate would give.
    pub candidate: String,
    /// What it would deny.
    pub denied: String,
    /// The difference, with its sign.
    pub change: String,
    /// The difference as a part of what the policy in force would give.
    pub percent: String,
    /// Which way.
    pub way: Way,
}

/// The lines of what changes, the most first.
pub fn lines(body: &PreviewBody) -> Vec<Line> {
    let changed = body.rows.iter().filter(|row| row.candidate != row.present);
    changed.map(line).collect()
}

fn line(row: &PreviewRow) -> Line {
    let given = |units: u128| Given {
        passed: units,
        denied: row.demand.0.saturating_sub(units),
        shadowed: 0,
    };
    let what = format!("{} {}", row.kind.name(), row.name);
    let sides = [given(row.present.0), given(row.candidate.0)];
    Line::new(&row.tenant, what, row.demand.0, sides)
}

/// What one policy gives, in units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Given {
    /// What passes, that of shadows included.
    pub passed: u128,
    /// What is denied.
    pub denied: u128,
    /// What of it passes only because the rule is in shadow mode.
    pub shadowed: u128,
}

impl Given {
    fn denials(self) -> String {
        match self.shadowed {
            0 => count(self.denied),
            shadowed => format!("{} + {} in shadow", count(self.denied), count(shadowed)),
        }
    }
}

impl Line {
    /// What a tenant asks of a rule, and what the policy in force and the candidate give.
    pub fn new(tenant: &str, what: String, demand: u128, sides: [Given; 2]) -> Self {
        let [present, candidate] = sides;
        let way = match candidate.passed.cmp(&present.passed) {
            std::cmp::Ordering::Greater => Way::Gains,
            std::cmp::Ordering::Less => Way::Loses,
            std::cmp::Ordering::Equal => Way::Stays,
        };
        Self {
            tenant: tenant.to_owned(),
            what,
            demand: count(demand),
            present: count(present.passed),
            denied_now: present.denials(),
            candidate: count(candidate.passed),
            denied: candidate.denials(),
            change: change(present.passed, candidate.passed),
            percent: change_percent(present.passed, candidate.passed),
            way,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::count::Count;

    use super::*;

    fn row(tenant: &str, present: u128, candidate: u128) -> PreviewRow {
        PreviewRow {
            kind: RuleKind::Budget,
            name: "tokens".to_owned(),
            tenant: tenant.to_owned(),
            demand: Count(2_000),
            served: Count(present),
            present: Count(present),
            candidate: Count(candidate),
        }
    }

    fn body(rows: Vec<PreviewRow>, windows: u64, intervals: u64) -> PreviewBody {
        let count = |of: fn(&PreviewRow) -> bool| rows.iter().filter(|row| of(row)).count() as u64;
        PreviewBody {
            windows,
            intervals,
            interval_ms: 60_000,
            gaining: count(|row| row.candidate > row.present),
            losing: count(|row| row.candidate < row.present),
            rows_total: rows.len() as u64,
            rows,
            ..PreviewBody::default()
        }
    }

    #[test]
    fn each_line_says_by_how_much_and_which_way() {
        let body = body(
            vec![
                row("a", 1_000, 1_600),
                row("b", 1_000, 400),
                row("c", 7, 7),
                row("d", 0, 5),
            ],
            3,
            0,
        );
        let told: Vec<_> = lines(&body)
            .into_iter()
            .map(|line| (line.tenant, line.change, line.percent, line.way))
            .collect();
        assert_eq!(
            told,
            [
                (
                    "a".to_owned(),
                    "+600".to_owned(),
                    "+60.0%".to_owned(),
                    Way::Gains
                ),
                (
                    "b".to_owned(),
                    "−600".to_owned(),
                    "−60.0%".to_owned(),
                    Way::Loses
                ),
                ("d".to_owned(), "+5".to_owned(), "–".to_owned(), Way::Gains),
            ]
        );
        let first = &lines(&body)[0];
        assert_eq!(first.what, "budget tokens");
        assert_eq!(
            (first.denied_now.as_str(), first.denied.as_str()),
            ("1,000", "400")
        );
    }

    #[test]
    fn the_whole_is_a_sentence() {
        for (rows, windows, intervals, text) in [
            (
                vec![row("a", 1, 2), row("b", 2, 1)],
                3,
                60,
                "Over 3 windows and 60 minutes of demand as recorded: 1 tenant would gain, 1 tenant would lose.",
            ),
            (
                vec![row("a", 2, 1)],
                1,
                0,
                "Over 1 window of demand as recorded: nobody would gain, 1 tenant would lose.",
            ),
            (
                vec![row("a", 1, 1)],
                1,
                0,
                "Over 1 window of demand as recorded: nobody would gain or lose.",
            ),
            (
                Vec::new(),
                0,
                0,
                "Nothing was recorded yet that a preview could look at.",
            ),
        ] {
            assert_eq!(summary(&body(rows, windows, intervals)), text);
        }
        let mut partial = body(vec![row("a", 1, 1)], 200, 0);
        partial.windows_left_out = 1;
        assert_eq!(
            summary(&partial),
            "Over 200 windows of demand as recorded: nobody would gain or lose. Left out: 1 window recorded before."
        );
    }

    #[test]
    fn how_keys_of_a_limit_are_played_is_said_where_a_line_is_of_one() {
        let mut limit = row("a", 1, 2);
        assert_eq!(keys_note(&body(vec![limit.clone()], 1, 0)), None);
        limit.kind = RuleKind::Limit;
        let told = keys_note(&body(vec![limit.clone()], 0, 1)).unwrap();
        assert!(told.starts_with("How the calls of a limit were divided"));
        limit.candidate = limit.present;
        let unchanged = body(vec![limit], 0, 1);
        assert_eq!(keys_note(&unchanged), None, "it has no line");
    }
}
