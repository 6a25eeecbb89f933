//! Whether a secret that somebody wrote by hand can be guessed. The bootstrap token is the one secret that Weir does not
//! make itself, and with it one is admin.

use std::fmt;

use crate::limits::{
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
/// use weir_shared::access::bootstrap_secret::{Guessable, judge};
/// assert_eq!(judge("0123456789"), Err(Guessable::Short { bytes: 10 }));
/// assert_eq!(judge(&"password".repeat(4)), Err(Guessable::FewCharacters { distinct: 7 }));
/// let alphabet: String = ('A'..='`').collect();
/// assert_eq!(judge(&alphabet), Err(Guessable::Pattern { steps: 1 }));
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
    Ok(())
}

/// How many different bytes there are. The secret is judged again for each request that is looked through for it: nothing
/// is allocated.
fn different(bytes: impl Iterator<Item = u8>) -> usize {
    let mut seen = [false; 256];
    for byte in bytes {
        seen[usize::from(byte)] = true;
    }
    seen.into_iter().filter(|seen| *seen).count()
}
