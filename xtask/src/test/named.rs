//! Which tests failed, and which needed a second try: read from the lines of the test runners.

use std::collections::BTreeSet;
use std::fmt;

/// Tests by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) failed: BTreeSet<String>,
    second_try: BTreeSet<String>,
}

impl Named {
    /// Takes what a line of nextest or libtest says of a test.
    pub(super) fn read(&mut self, line: &str) {
        if let Some(name) = of_nextest(line, is_failure).or_else(|| of_libtest(line)) {
            self.failed.insert(name.to_owned());
        } else if let Some(name) = of_nextest(line, |word| word == "FLAKY") {
            self.failed.remove(name);
            self.second_try.insert(name.to_owned());
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.failed.extend(other.failed.iter().cloned());
        self.second_try.extend(other.second_try.iter().cloned());
    }
}

fn is_failure(word: &str) -> bool {
    word == "FAIL" || word == "TIMEOUT" || word.starts_with("SIG")
}

/// `  FAIL [   1.234s] (3/9) package::program module::test`, where it has tries `TRY 1 FAIL [..`, where the second passed
/// `FLAKY 2/2 [..`.
fn of_nextest(line: &str, is_sought: impl Fn(&str) -> bool) -> Option<&str> {
    let (words, rest) = line.trim().split_once('[')?;
    let mut words = words.split_whitespace();
    let first = words.next()?;
    let word = if first == "TRY" { words.nth(1)? } else { first };
    if !is_sought(word) {
        return None;
    }
    let (_, named) = rest.split_once(']')?;
    named.split_whitespace().next_back()
}

/// `test module::test ... FAILED`, as cargo's and wasm-bindgen's runners print it; indented, it is what nextest shows of a
/// test that failed, and has named itself.
fn of_libtest(line: &str) -> Option<&str> {
    let line = line.trim_end().strip_prefix("test ")?;
    let (name, result) = line.rsplit_once(" ... ")?;
    (result == "FAILED" || result == "FAIL").then_some(name)
}

impl fmt::Display for Named {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.second_try {
            writeln!(out, "passed at the second try: {name}")?;
        }
        for name in &self.failed {
            writeln!(out, "failed: {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(output: &str) -> String {
        let mut named = Named::default();
        output.lines().for_each(|line| named.read(line));
        named.to_string()
    }

    #[test]
    fn each_runner_s_failures_are_named_once() {
        let output = "
    PASS [   0.100s] (1/4) weir-tests::e2e checks::passes
    FAIL [   1.234s] (2/4) weir-tests::e2e outage::regional
    TIMEOUT [ 300.000s] (3/4) weir-tests::e2e crash::held
    SIGSEGV [   0.010s] (4/4) weir-tests::e2e crash::memory
    Summary [ 301.000s] 4 tests run: 1 passed, 2 failed, 1 timed out, 0 skipped
    FAIL [   1.234s] (2/4) weir-tests::e2e outage::regional
test digest::windows ... FAILED
test digest::weights ... ok
        test shown::inside ... FAILED
";
        assert_eq!(
            names(output),
            "failed: crash::held\nfailed: crash::memory\nfailed: digest::windows\nfailed: outage::regional\n"
        );
    }

    #[test]
    fn a_second_try_that_passes_is_told_apart() {
        let output = "
  TRY 1 FAIL [   1.234s] (2/4) weir-tests::e2e outage::regional
  TRY 2 PASS [   1.234s] (2/4) weir-tests::e2e outage::regional
  TRY 1 FAIL [   1.234s] (3/4) weir-tests::e2e crash::held
  TRY 2 FAIL [   1.234s] (3/4) weir-tests::e2e crash::held
   FLAKY 2/2 [   1.234s] (2/4) weir-tests::e2e outage::regional
";
        assert_eq!(
            names(output),
            "passed at the second try: outage::regional\nfailed: crash::held\n"
        );
    }

    #[test]
    fn what_names_no_test_names_none() {
        assert_eq!(
            names("running 2 tests\ntest result: FAILED. 1 passed; 1 failed\n[SIG]\nFAIL\n"),
            ""
        );
    }
}
