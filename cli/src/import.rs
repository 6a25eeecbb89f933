//! Another limiter's configuration as limits of a policy. Everything that has to do with limits and has no counterpart is
//! told with its line; all else in the file is passed over.

pub mod cloudflare;
pub mod directives;
pub mod fragment;
pub mod kong;
pub mod nginx;
pub mod ratelimit;
pub mod yaml;

use std::fmt;

use crate::failure::Failure;
use crate::options::Format;
use fragment::Imported;

/// A configuration that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unparsed {
    /// The line.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl Unparsed {
    /// A fault in a line.
    #[must_use]
    pub fn new(line: usize, why: impl fmt::Display) -> Self {
        Self {
            line,
            why: why.to_string(),
        }
    }
}

/// Makes limits of a configuration.
///
/// # Errors
/// When it cannot be read as one.
pub fn import(format: Format, file: &str, bytes: &[u8]) -> Result<Imported, Failure> {
    let made = match std::str::from_utf8(bytes) {
        Ok(text) => match format {
            Format::Nginx => nginx::import(text),
            Format::Ratelimit => ratelimit::import(text),
            Format::Kong => kong::import(text),
            Format::Cloudflare => cloudflare::import(text),
        },
        Err(why) => Err(Unparsed::new(1, format!("this is no text: {why}"))),
    };
    let mut made = made.map_err(|fault| Failure::Unparsed {
        file: file.to_owned(),
        line: fault.line,
        why: fault.why,
    })?;
    made.notes.sort_by_key(|note| note.line);
    Ok(made)
}
