//! How many tests ran: read from the closing lines of the test runners.

use std::ops::AddAssign;

/// Tests that passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl Totals {
    /// Reads the closing line of a runner.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        Self::of_libtest(line).or_else(|| Self::of_nextest(line))
    }

    /// `test result: ok. 5 passed; 0 failed; ...`, as cargo's and wasm-bindgen's runners print it.
    fn of_libtest(line: &str) -> Option<Self> {
        // Indented, it is what nextest shows of a test that failed, and counts itself.
        let (_, rest) = line
            .trim_end()
            .strip_prefix("test result: ")?
            .split_once(". ")?;
        let count = |unit: &str| {
            rest.split("; ")
                .find_map(|part| part.strip_suffix(unit)?.trim().parse().ok())
        };
        Some(Self {
            passed: count("passed")?,
            failed: count("failed")?,
        })
    }

    /// `Summary [   1.234s] 8 tests run: 5 passed (1 slow), 2 failed, 1 timed out, 0 skipped`, as nextest prints it: what
    /// did not pass has failed. A run that was cut short says `6/8 tests run`.
    fn of_nextest(line: &str) -> Option<Self> {
        let (_, rest) = line.trim().strip_prefix("Summary [")?.split_once("] ")?;
        let (run, results) = rest.split_once(" run: ")?;
        let run = run.split_once(' ')?.0;
        let total: u64 = run.rsplit('/').next()?.parse().ok()?;
        let passed = results
            .split([',', '('])
            .find_map(|part| part.trim().strip_suffix(" passed"))
            .map_or(Some(0), |count| count.parse().ok())?;
        Some(Self {
            passed,
            failed: total.checked_sub(passed)?,
        })
    }

    pub(crate) fn count(self) -> u64 {
        self.passed + self.failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(u64, u64)>) {
        let expected = expected.map(|(passed, failed)| Totals { passed, failed });
        assert_eq!(Totals::parse(line), expected, "{line}");
    }

    #[test]
    fn cargos_line_is_read() {
        let rest = "0 ignored; 0 measured; 3 filtered out; finished in 1.50s";
        check(
            &format!("test result: ok. 12 passed; 0 failed; {rest}"),
            Some((12, 0)),
        );
        check(
            &format!("test result: FAILED. 2 passed; 10 failed; {rest}"),
            Some((2, 10)),
        );
    }

    #[test]
    fn the_browser_runners_line_is_read() {
        let line =
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 filtered out; finished in 0.2s\n";
        check(line, Some((3, 0)));
    }

    #[test]
    fn nextests_line_is_read() {
        let check =
            |rest: &str, counts| check(&format!("     Summary [   1.234s] {rest}\n"), counts);
        check("1 test run: 1 passed, 0 skipped", Some((1, 0)));
        check("8 tests run: 8 passed (1 slow), 3 skipped", Some((8, 0)));
        check(
            "8 tests run: 5 passed, 2 failed, 1 timed out, 0 skipped",
            Some((5, 3)),
        );
        check("3 tests run: 3 failed, 0 skipped", Some((0, 3)));
        check("6/8 tests run: 5 passed, 1 failed, 0 skipped", Some((5, 3)));
    }

    #[test]
    fn other_lines_are_not() {
        check("Summary of the run", None);
        check("running 3 tests", None);
        check("test a ... ok", None);
        check("test result: ok.", None);
        check("test result: ok. many passed; 0 failed", None);
        check("note: test result: ok. 1 passed; 0 failed", None);
        check(
            "    test result: FAILED. 0 passed; 1 failed; 0 ignored",
            None,
        );
    }

    #[test]
    fn totals_add_up() {
        let mut sum = Totals::default();
        sum += Totals {
            passed: 2,
            failed: 1,
        };
        sum += Totals {
            passed: 3,
            failed: 0,
        };
        assert_eq!(
            sum,
            Totals {
                passed: 5,
                failed: 1
            }
        );
        assert_eq!(sum.count(), 6);
    }
}
