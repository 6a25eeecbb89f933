//! What a long step says: what it does, and how long it took.
//!
//! It says so on the standard error, so that the output of a command stays usable by a shell.

use anyhow::{Context, Result};

use crate::clock::Stopwatch;

/// Names a step, runs it, and says how long it took.
pub(crate) fn step<T>(what: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let watch = Stopwatch::start();
    note(&format!("{what} ..."));
    let value = run().with_context(|| what.to_owned())?;
    note(&format!("{what}: done in {}", watch.elapsed()));
    Ok(value)
}

/// Says one line, in one write: wrangler labels each piece that it reads from a build.
pub(crate) fn note(line: &str) {
    let line = format!("weir: {line}\n");
    eprint!("{line}");
}
