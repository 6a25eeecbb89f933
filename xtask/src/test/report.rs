//! The table at the end, and the one line that says it all.

use std::fmt;
use std::time::Duration;

use super::named::Named;
use super::outcome::Outcome;
use super::phases::Phases;
use super::steps::Step;
use super::totals::Totals;
use crate::clock::Elapsed;

/// One step's line.
struct Row {
    name: &'static str,
    is_ok: bool,
    totals: Totals,
    phases: Phases,
    began: Duration,
    time: Duration,
}

/// What the steps came to.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
    named: Named,
}

impl Report {
    /// A step that began so long after the first, and took so long.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        outcome: &Outcome,
        began: Duration,
        time: Duration,
    ) {
        self.named.add(&outcome.named);
        self.rows.push(Row {
            name,
            is_ok: outcome.result.is_ok(),
            totals: outcome.totals,
            phases: outcome.phases,
            began,
            time,
        });
    }

    pub(super) fn is_success(&self) -> bool {
        self.rows.iter().all(|row| row.is_ok)
    }

    /// Whether all of these steps ran and passed.
    pub(super) fn has_passed(&self, steps: &[Step]) -> bool {
        let passed = |step: &Step| {
            let mut rows = self.rows.iter();
            rows.any(|row| row.name == step.name() && row.is_ok)
        };
        steps.iter().all(passed)
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

    /// From the first beginning to the last end.
    fn elapsed(&self) -> Duration {
        let ends = self.rows.iter().map(|row| row.began + row.time);
        ends.max().unwrap_or_default()
    }
}

/// The cells of a line: step, result, passed, failed, began, compile, of which link, run, time, time of the processor.
fn line(out: &mut fmt::Formatter<'_>, cells: [&str; 10]) -> fmt::Result {
    let [
        name,
        result,
        passed,
        failed,
        began,
        compile,
        link,
        run,
        time,
        processor,
    ] = cells;
    writeln!(
        out,
        "{name:<16} {result:<7} {passed:>6} {failed:>6} {began:>13} {compile:>13} {link:>13} {run:>13} {time:>13} {processor:>13}"
    )
}

fn duration(duration: Duration) -> String {
    if duration.is_zero() {
        "-".to_owned()
    } else {
        Elapsed(duration).to_string()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out)?;
        line(
            out,
            [
                "step",
                "result",
                "passed",
                "failed",
                "began",
                "compile",
                "of it links",
                "run",
                "time",
                "processor",
            ],
        )?;
        let mut phases = Phases::default();
        for row in &self.rows {
            let count = |count: u64| match row.totals.count() {
                0 => "-".to_owned(),
                _ => count.to_string(),
            };
            line(
                out,
                [
                    row.name,
                    if row.is_ok { "ok" } else { "FAILED" },
                    &count(row.totals.passed),
                    &count(row.totals.failed),
                    &Elapsed(row.began).to_string(),
                    &duration(row.phases.compile),
                    &duration(row.phases.link),
                    &duration(row.phases.run),
                    &duration(row.time),
                    &duration(row.phases.processor),
                ],
            )?;
            phases += row.phases;
        }
        line(
            out,
            [
                "all",
                "",
                "",
                "",
                "",
                &duration(phases.compile),
                &duration(phases.link),
                &duration(phases.run),
                &duration(self.elapsed()),
                &duration(phases.processor),
            ],
        )?;
        let Totals { passed, failed } = self.totals();
        writeln!(out, "\n{}{passed} passed, {failed} failed", self.named)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn report(rows: &[(bool, u64, u64)]) -> Report {
        let mut report = Report::default();
        for &(is_ok, passed, failed) in rows {
            let outcome = Outcome {
                totals: Totals { passed, failed },
                named: Named::default(),
                phases: Phases {
                    compile: Duration::from_secs(40),
                    link: Duration::from_secs(3),
                    run: Duration::from_secs(20),
                    processor: Duration::from_secs(70),
                },
                result: if is_ok { Ok(()) } else { Err(anyhow!("no")) },
            };
            report.add(
                "step",
                &outcome,
                Duration::from_secs(30),
                Duration::from_secs(61),
            );
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
    fn what_failed_is_named_beside_the_sum() {
        let mut report = report(&[(true, 5, 0)]);
        let mut outcome = Outcome::check(Err(anyhow!("no")));
        outcome.totals.failed = 1;
        outcome.named.failed.insert("outage::regional".to_owned());
        report.add("step", &outcome, Duration::ZERO, Duration::ZERO);
        let text = report.to_string();
        assert!(
            text.ends_with("\nfailed: outage::regional\n5 passed, 1 failed\n"),
            "{text}"
        );
    }

    #[test]
    fn a_failed_step_never_sums_up_to_none() {
        check(&[(true, 5, 0), (false, 0, 0)], false, "5 passed, 1 failed");
        check(&[(false, 5, 0)], false, "5 passed, 1 failed");
    }

    #[test]
    fn each_step_has_a_line_with_what_its_time_went_into() {
        let text = report(&[(true, 0, 0), (false, 2, 1)]).to_string();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("step "))
            .map(|line| line.split_whitespace().collect())
            .collect();
        let times = [
            "30.0", "s", "40.0", "s", "3.0", "s", "20.0", "s", "1", "min", "01", "s", "1", "min",
            "10", "s",
        ];
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1][..4], ["step", "ok", "-", "-"]);
        assert_eq!(lines[2][..4], ["step", "FAILED", "2", "1"]);
        assert_eq!(lines[2][4..], times);
    }

    #[test]
    fn steps_that_run_beside_each_other_count_their_time_once_in_all() {
        let text = report(&[(true, 1, 0), (true, 1, 0)]).to_string();
        let all = text.lines().find(|line| line.starts_with("all")).unwrap();
        assert!(
            all.contains("1 min 20 s") && all.ends_with("1 min 31 s    2 min 20 s"),
            "{all}"
        );
    }
}
