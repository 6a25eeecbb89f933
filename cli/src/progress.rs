//! How far a command has come, in one line of a terminal.

use std::io::IsTerminal;

use crate::figures::count;
use crate::output::again;

/// The line, which is gone at the end. Where the standard error is no terminal there is none.
#[derive(Debug)]
pub struct ProgressLine {
    seen: bool,
}

impl ProgressLine {
    /// Nothing is told yet.
    #[must_use]
    pub fn new() -> Self {
        let seen = std::io::stderr().is_terminal();
        Self { seen }
    }

    /// Puts a text in the place of what was told last.
    pub fn tell(&self, text: &str) {
        if self.seen {
            again(text);
        }
    }
}

impl Default for ProgressLine {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.tell("");
    }
}

/// So many requests of all are played.
///
/// ```
/// use weir_cli::progress::played;
/// assert_eq!(played(20_000, 25_000), "80% played, 20,000 of 25,000 requests");
/// ```
#[must_use]
pub fn played(done: usize, of: usize) -> String {
    let (shown, all) = (count(done as u128), count(of as u128));
    format!(
        "{}% played, {shown} of {all} requests",
        done * 100 / of.max(1)
    )
}
