//! What a replay came to, counted by file, with every reason for what was not compared.

use std::borrow::Cow;
use std::fmt;

use weir_shared::ordered::OrderedMap;

/// Failures of one file that are printed.
const FAILURES_SHOWN_MAX: usize = 5;

/// Characters of a printed value.
const SHOWN_CHARACTERS_MAX: usize = 400;

/// Why something is not compared.
pub type Why = Cow<'static, str>;

/// What came of one operation.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Equal in everything.
    Passed,
    /// Equal in all that can be compared, which is not all, for this reason.
    PassedExcept(Why),
    /// Different.
    Failed {
        /// What the vector says.
        expected: String,
        /// What Weir says.
        got: String,
    },
    /// Not compared, for this reason.
    Skipped(Why),
    /// Neither this one nor those after it are compared, for this reason.
    SkippedFromHere(Why),
}

impl Outcome {
    pub fn failed(expected: impl fmt::Display, got: impl fmt::Debug) -> Self {
        Self::Failed {
            expected: expected.to_string(),
            got: format!("{got:?}"),
        }
    }
}

/// Operations by what came of them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counts {
    pub sequences: u64,
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

/// One file.
#[derive(Debug, Default)]
pub struct FileReport {
    pub name: String,
    pub counts: Counts,
    passed_except: OrderedMap<Why, u64>,
    skipped: OrderedMap<Why, u64>,
    failures: Vec<String>,
    lines_broken: u64,
}

/// All files, and what is none.
#[derive(Debug, Default)]
pub struct Report {
    pub files: Vec<FileReport>,
    pub ignored: Vec<String>,
}

impl FileReport {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Counts one operation.
    pub fn add(&mut self, id: &str, index: usize, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.counts.passed += 1,
            Outcome::PassedExcept(reason) => {
                self.counts.passed += 1;
                *self.passed_except.entry(reason).or_default() += 1;
            }
            Outcome::Failed { expected, got } => {
                self.counts.failed += 1;
                let (expected, got) = (shown(&expected), shown(&got));
                self.fail(format!(
                    "{id}, operation {index}: expected {expected}, got {got}"
                ));
            }
            Outcome::Skipped(reason) | Outcome::SkippedFromHere(reason) => self.skip(reason, 1),
        }
    }

    /// Counts operations that are not compared.
    pub fn skip(&mut self, reason: Why, operations: usize) {
        self.counts.skipped += operations as u64;
        *self.skipped.entry(reason).or_default() += operations as u64;
    }

    /// Counts a line that is no sequence.
    pub fn broken(&mut self, number: usize, error: impl fmt::Display) {
        self.lines_broken += 1;
        let error = shown(&error.to_string());
        self.fail(format!("line {number} is no sequence: {error}"));
    }

    pub fn is_clean(&self) -> bool {
        self.counts.failed == 0 && self.lines_broken == 0
    }

    /// Operations that were not compared for a reason.
    pub fn skipped_for(&self, reason: &str) -> u64 {
        self.skipped.get(reason).copied().unwrap_or(0)
    }

    fn fail(&mut self, failure: String) {
        if self.failures.len() < FAILURES_SHOWN_MAX {
            self.failures.push(failure);
        }
    }
}

impl Report {
    /// Whether there were vectors, and none differs.
    pub fn is_clean(&self) -> bool {
        !self.files.is_empty() && self.files.iter().all(FileReport::is_clean)
    }

    pub fn totals(&self) -> Counts {
        self.files
            .iter()
            .fold(Counts::default(), |sum, file| Counts {
                sequences: sum.sequences + file.counts.sequences,
                passed: sum.passed + file.counts.passed,
                failed: sum.failed + file.counts.failed,
                skipped: sum.skipped + file.counts.skipped,
            })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sequences,
            passed,
            failed,
            skipped,
        } = self;
        let operations = passed + failed + skipped;
        write!(
            out,
            "{sequences} sequences, {operations} operations: {passed} passed, {failed} failed, {skipped} skipped"
        )
    }
}

impl fmt::Display for FileReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {}", self.name, self.counts)?;
        for (reason, count) in &self.skipped {
            writeln!(out, "  {count} skipped: {reason}")?;
        }
        for (reason, count) in &self.passed_except {
            writeln!(out, "  {count} passed except for {reason}")?;
        }
        if self.lines_broken > 0 {
            writeln!(out, "  {} lines are broken", self.lines_broken)?;
        }
        for failure in &self.failures {
            writeln!(out, "  FAILED {failure}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in &self.files {
            file.fmt(out)?;
        }
        for name in &self.ignored {
            writeln!(out, "{name}: not read, as it is no file of vectors")?;
        }
        let broken: u64 = self.files.iter().map(|file| file.lines_broken).sum();
        writeln!(out, "total: {}, {broken} broken lines", self.totals())
    }
}

fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARACTERS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
