//! Whether a secret that somebody wrote by hand can be guessed. The bootstrap token is the one secret that Weir does not
//! make itself, and with it one is admin.

use std::fmt;

use weir_core::limits::{
    BOOTSTRAP_TOKEN_BYTES_MIN, BOOTSTRAP_TOKEN_DISTINCT_MIN, BOOTSTRAP_TOKEN_STEPS_MIN,
};

/// Why a secret is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guessable {
    /// It is too short.
    Short {
        /// Its bytes.
        bytes: usize,
    },
    /// It repeats few characters, as `aaaa…` and `passwordpassword…` do.
    FewCharacters {
        /// How many different ones it has.
        distinct: usize,
    },
    /// It is a shorter text again and again.
    Repeated {
        /// Bytes of the shorter text.
        bytes: usize,
    },
    /// Nearly all of it are rows of the alphabet or of a keyboard.
    Rows {
        /// How many of its bytes are.
        bytes: usize,
    },
    /// It follows a pattern, as `abcdefgh…` does.
    Pattern {
        /// How many different steps there are from one of its characters to the next.
        steps: usize,
    },
}

impl fmt::Display for Guessable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { bytes } => {
                write!(
                    out,
                    "has {bytes} bytes, at least {BOOTSTRAP_TOKEN_BYTES_MIN} are needed"
                )
            }
            Self::FewCharacters { distinct } => write!(
                out,
                "has {distinct} different characters, at least {BOOTSTRAP_TOKEN_DISTINCT_MIN} are needed"
            ),
            Self::Repeated { bytes } => {
                write!(out, "repeats its first {bytes} characters")
            }
            Self::Rows { bytes } => {
                write!(
                    out,
                    "has {bytes} characters from rows of the alphabet or of a keyboard"
                )
            }
            Self::Pattern { steps } => write!(
                out,
                "follows a pattern: {steps} different steps between its characters, at least \
                 {BOOTSTRAP_TOKEN_STEPS_MIN} are needed"
            ),
        }
    }
}

/// Refuses a secret that is easily guessed. It cannot tell a good one from a sentence out of a book: make it by a machine.
///
/// # Errors
/// The first thing that is wrong with it.
///
/// ```
/// use weir_access::bootstrap_secret::{Guessable, judge};
/// assert_eq!(judge("0123456789"), Err(Guessable::Short { bytes: 10 }));
/// assert_eq!(judge(&"password".repeat(4)), Err(Guessable::FewCharacters { distinct: 7 }));
/// let alphabet: String = ('A'..='`').collect();
/// assert_eq!(judge(&alphabet), Err(Guessable::Pattern { steps: 1 }));
/// let again = "Password1!".repeat(4);
/// assert_eq!(judge(&again), Err(Guessable::Repeated { bytes: 10 }));
/// let keyboard = "qwertyuiopasdfghjklzxcvbnm123456";
/// assert_eq!(judge(keyboard), Err(Guessable::Rows { bytes: 32 }));
/// // `openssl rand -hex 16`: half of the digits would do.
/// assert_eq!(judge("9f3a61c07be2d4185ac94e7d02b6f813"), Ok(()));
/// ```
pub fn judge(secret: &str) -> Result<(), Guessable> {
    let bytes = secret.as_bytes();
    if bytes.len() < BOOTSTRAP_TOKEN_BYTES_MIN {
        return Err(Guessable::Short { bytes: bytes.len() });
    }
    let distinct = different(bytes.iter().copied());
    if distinct < BOOTSTRAP_TOKEN_DISTINCT_MIN {
        return Err(Guessable::FewCharacters { distinct });
    }
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    let steps = different(pairs.map(|(from, to)| to.wrapping_sub(*from)));
    if steps < BOOTSTRAP_TOKEN_STEPS_MIN {
        return Err(Guessable::Pattern { steps });
    }
    if let Some(bytes) = period(bytes) {
        return Err(Guessable::Repeated { bytes });
    }
    let rows = in_rows(bytes);
    if rows >= bytes.len() - bytes.len() / ROWS_REST_PART {
        return Err(Guessable::Rows { bytes: rows });
    }
    Ok(())
}

/// Of how many bytes the text is that it repeats, if it does.
fn period(bytes: &[u8]) -> Option<usize> {
    let repeats = |length: &usize| bytes[*length..] == bytes[..bytes.len() - length];
    (1..=bytes.len() / 2).find(repeats)
}

/// One part in so many of a secret may stand in no row where it is refused for its rows.
const ROWS_REST_PART: usize = 8;

/// What hands write who write anything.
const ROWS: [&str; 7] = [
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiop",
    "qwertzuiop",
    "azertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "01234567890",
];

/// How many of the bytes stand as they do in a row, in one direction or the other, four at the least.
fn in_rows(bytes: &[u8]) -> usize {
    const RUN: usize = 4;
    let is_run = |run: &[u8]| {
        let there = |row: &[u8]| row.windows(RUN).any(|part| part.eq_ignore_ascii_case(run));
        let back = |row: &[u8]| {
            let mut parts = row.windows(RUN);
            parts.any(|part| {
                part.iter()
                    .rev()
                    .zip(run)
                    .all(|(one, other)| one.eq_ignore_ascii_case(other))
            })
        };
        ROWS.iter()
            .any(|row| there(row.as_bytes()) || back(row.as_bytes()))
    };
    let mut of_rows = vec![false; bytes.len()];
    for (at, run) in bytes.windows(RUN).enumerate() {
        if is_run(run) {
            of_rows[at..at + RUN].fill(true);
        }
    }
    of_rows.into_iter().filter(|of_row| *of_row).count()
}

/// How many different bytes there are.
fn different(bytes: impl Iterator<Item = u8>) -> usize {
    let mut seen = [false; 256];
    for byte in bytes {
        seen[usize::from(byte)] = true;
    }
    seen.into_iter().filter(|seen| *seen).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_writes_a_secret_that_is_easily_guessed_is_told_what_is_wrong_with_it_and_what_is_needed()
    {
        let refused = [
            (
                Guessable::Short { bytes: 10 },
                format!("has 10 bytes, at least {BOOTSTRAP_TOKEN_BYTES_MIN} are needed"),
            ),
            (
                Guessable::FewCharacters { distinct: 7 },
                format!(
                    "has 7 different characters, at least {BOOTSTRAP_TOKEN_DISTINCT_MIN} are needed"
                ),
            ),
            (
                Guessable::Repeated { bytes: 11 },
                "repeats its first 11 characters".to_owned(),
            ),
            (
                Guessable::Rows { bytes: 32 },
                "has 32 characters from rows of the alphabet or of a keyboard".to_owned(),
            ),
            (
                Guessable::Pattern { steps: 1 },
                format!(
                    "follows a pattern: 1 different steps between its characters, at least \
                     {BOOTSTRAP_TOKEN_STEPS_MIN} are needed"
                ),
            ),
        ];
        for (guessable, told) in refused {
            assert_eq!(guessable.to_string(), told);
        }
    }
}
