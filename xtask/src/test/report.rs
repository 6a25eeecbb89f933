//! The table at the end, and the one line that says it all.

use std::fmt;

use super::steps::Outcome;
use super::totals::Totals;
use crate::clock::Elapsed;

/// One step's line.
struct Row {
    name: &'static str,
    is_ok: bool,
    totals: Totals,
    elapsed: Elapsed,
}

/// What the steps came to.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
}

impl Report {
    pub(super) fn add(&mut self, name: &'static str, outcome: &Outcome, elapsed: Elapsed) {
        self.rows.push(Row {
            name,
            is_ok: outcome.result.is_ok(),
            totals: outcome.totals,
            elapsed,
        });
    }

    pub(super) fn is_success(&self) -> bool {
        self.rows.iter().all(|row| row.is_ok)
    }

    fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for row in &self.rows {
            sum += row.totals;
            // A step may fail without a failing test (a lint, a build): the sum must not look clean.
            if !row.is_ok && row.totals.failed == 0 {
                sum.failed += 1;
            }
        }
        sum
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out)?;
        writeln!(
            out,
            "{:<16} {:<7} {:>7} {:>7} {:>13}",
            "step", "result", "passed", "failed", "time"
        )?;
        for row in &self.rows {
            let result = if row.is_ok { "ok" } else { "FAILED" };
            let count = |count: u64| match row.totals.count() {
                0 => "-".to_owned(),
                _ => count.to_string(),
            };
            writeln!(
                out,
                "{:<16} {:<7} {:>7} {:>7} {:>13}",
                row.name,
                result,
                count(row.totals.passed),
                count(row.totals.failed),
                row.elapsed
            )?;
        }
        let Totals { passed, failed } = self.totals();
        writeln!(out, "\n{passed} passed, {failed} failed")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::anyhow;

    use super::*;

    fn report(rows: &[(bool, u64, u64)]) -> Report {
        let mut report = Report::default();
        for &(is_ok, passed, failed) in rows {
            let outcome = Outcome {
                totals: Totals { passed, failed },
                result: if is_ok { Ok(()) } else { Err(anyhow!("no")) },
            };
            report.add("step", &outcome, Elapsed(Duration::from_secs(1)));
        }
        report
    }

    fn check(rows: &[(bool, u64, u64)], is_success: bool, last_line: &str) {
        let report = report(rows);
        assert_eq!(report.is_success(), is_success, "{rows:?}");
        assert_eq!(
            report.to_string().lines().last(),
            Some(last_line),
            "{rows:?}"
        );
    }

    #[test]
    fn the_last_line_sums_up() {
        check(
            &[(true, 5, 0), (true, 0, 0), (true, 7, 0)],
            true,
            "12 passed, 0 failed",
        );
        check(&[(true, 5, 0), (false, 6, 1)], false, "11 passed, 1 failed");
    }

    #[test]
    fn a_failed_step_never_sums_up_to_none() {
        check(&[(true, 5, 0), (false, 0, 0)], false, "5 passed, 1 failed");
        check(&[(false, 5, 0)], false, "5 passed, 1 failed");
    }

    #[test]
    fn each_step_has_a_line() {
        let text = report(&[(true, 0, 0), (false, 2, 1)]).to_string();
        let lines: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("step "))
            .collect();
        assert_eq!(lines.len(), 3);
        assert!(
            lines[1].contains("ok") && lines[1].contains('-'),
            "{}",
            lines[1]
        );
        assert!(
            lines[2].contains("FAILED") && lines[2].contains('2'),
            "{}",
            lines[2]
        );
    }
}
