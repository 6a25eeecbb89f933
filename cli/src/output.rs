//! What a command tells: text for people, JSON for programs, on the standard output. What it says of itself meanwhile goes
//! to the standard error.

use std::io::{ErrorKind, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Where a command tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output {
    /// Whether a program reads it.
    pub json: bool,
}

impl Output {
    /// Writes a text as it is, at once.
    ///
    /// # Errors
    /// When nobody takes it.
    pub fn text(self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(Failure::Output)
    }

    /// Writes JSON, a line a field.
    ///
    /// # Errors
    /// When nobody takes it.
    pub fn value(self, value: &impl Serialize) -> Result<(), Failure> {
        let text =
            serde_json::to_string_pretty(value).map_err(|why| Failure::Output(why.into()))?;
        self.text(&format!("{text}\n"))
    }

    /// Writes JSON in one line.
    ///
    /// # Errors
    /// When nobody takes it.
    pub fn line(self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value).map_err(|why| Failure::Output(why.into()))?;
        self.text(&format!("{text}\n"))
    }

    /// Writes the text, or what a program reads of the same.
    ///
    /// # Errors
    /// When nobody takes it.
    pub fn either(self, text: &str, value: &impl Serialize) -> Result<(), Failure> {
        if self.json {
            self.value(value)
        } else {
            self.text(text)
        }
    }
}

/// Says something that is not what was asked for: on the standard error, and lost where nobody takes it.
pub fn aside(text: &str) {
    let _unheard = writeln!(std::io::stderr().lock(), "{text}");
}

/// The same in the place of what was said last, of a terminal's one line.
pub fn again(text: &str) {
    let mut error = std::io::stderr().lock();
    let _unheard = write!(error, "\r\u{1b}[K{text}").and_then(|()| error.flush());
}

/// Whether nobody reads any more: `weir export | head` is no failure.
#[must_use]
pub fn is_unread(failure: &Failure) -> bool {
    matches!(failure, Failure::Output(why) if why.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_left_is_told_from_a_full_disk() {
        let of = |kind: ErrorKind| is_unread(&Failure::Output(kind.into()));
        assert!(of(ErrorKind::BrokenPipe));
        assert!(!of(ErrorKind::StorageFull));
        assert!(!is_unread(&Failure::NoUrl));
    }
}
