//! Why an input was refused: where (a JSON pointer) and what (the value and the bound). One type for the browser
//! and the edge.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;

use crate::json;

/// A refused input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// JSON pointer (RFC 6901) to the value at fault; empty for the whole document.
    pub field: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Not JSON, or not of the form expected here.
    Form {
        /// The reader's words.
        message: String,
    },
    /// Needed and absent.
    Missing,
    /// Given, though another field that excludes it is given too.
    Excluded {
        /// The other field.
        by: &'static str,
    },
    /// Given where it means nothing.
    Foreign {
        /// To what it does not belong.
        to: String,
    },
    /// Outside its range.
    OutOfRange {
        /// The value.
        got: String,
        /// The least that is allowed.
        min: String,
        /// The most that is allowed.
        max: String,
    },
    /// A list, map or text with too many entries or bytes.
    TooMany {
        /// How many there are.
        got: usize,
        /// How many there may be.
        max: usize,
        /// Of what.
        what: &'static str,
    },
    /// A character that names may not contain.
    Character {
        /// The character.
        got: char,
        /// What is allowed.
        allowed: &'static str,
    },
    /// More decimals than are kept.
    Decimals {
        /// The value.
        got: String,
        /// How many decimals are kept.
        max: u32,
    },
    /// More decimals than the numbers of the limit that it counts have room for.
    TooFine {
        /// The value.
        got: String,
        /// For how many decimals there is room.
        max: u32,
        /// The limit.
        limit: String,
    },
    /// Refers to a name that does not exist.
    Unknown {
        /// The name.
        name: String,
        /// What it should name.
        what: &'static str,
    },
    /// Given twice.
    Duplicate {
        /// The value.
        got: String,
    },
    /// Refers to itself by way of others.
    Cycle {
        /// From the name at fault through those that it refers to, back to it.
        path: Vec<String>,
    },
    /// Not to be had before the deployment says something.
    Unset {
        /// The variable in which it says so.
        variable: &'static str,
        /// Why it has to.
        why: &'static str,
    },
    /// A URL that only the inside of a network reaches.
    Inside {
        /// The URL.
        got: String,
    },
    /// A legal value that is not served.
    Unserved {
        /// The value.
        got: String,
        /// What is served instead.
        served: &'static str,
    },
}

impl Invalid {
    /// A fault at `field`.
    #[must_use]
    pub fn new(field: impl Into<String>, fault: Fault) -> Self {
        Self {
            field: field.into(),
            fault,
        }
    }

    /// The same fault, one level further out: `/limit` under `/budgets/tokens` becomes `/budgets/tokens/limit`.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.field.insert_str(0, prefix);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { message } => f.write_str(message),
            Self::Missing => f.write_str("is required"),
            Self::Excluded { by } => write!(f, "cannot be given together with {by}"),
            Self::Foreign { to } => write!(f, "does not belong to {to}"),
            Self::OutOfRange { got, min, max } => write!(f, "{got} is outside {min} to {max}"),
            Self::TooMany { got, max, what } => {
                write!(f, "{got} {what}, at most {max} are allowed")
            }
            Self::Character { got, allowed } => {
                write!(f, "contains {got:?}; allowed are {allowed}")
            }
            Self::Decimals { got, max } => write!(f, "{got} has more than {max} decimals"),
            Self::TooFine { got, max, limit } => {
                write!(
                    f,
                    "{got} has more than {max} decimals; the numbers of {limit:?} have no room for more"
                )
            }
            Self::Unknown { name, what } => write!(f, "{name:?} is not a known {what}"),
            Self::Duplicate { got } => write!(f, "{got:?} is given twice"),
            Self::Cycle { path } => write!(f, "leads back to itself: {}", Path(path)),
            Self::Unset { variable, why } => {
                write!(
                    f,
                    "needs {variable}, which the deployment does not set: {why}"
                )
            }
            Self::Inside { got } => write!(
                f,
                "{got} is private, link-local or loopback; such origins need \"allow_private_origins\": true"
            ),
            Self::Unserved { got, served } => write!(f, "{got} is not served; served: {served}"),
        }
    }
}

/// Names that refer to one another, the middle of a long list left out.
struct Path<'a>(&'a [String]);

/// Names of a path that are written out before its last one.
const PATH_NAMES_SHOWN: usize = 8;

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((last, before)) = self.0.split_last() else {
            return Ok(());
        };
        for name in before.iter().take(PATH_NAMES_SHOWN) {
            write!(f, "{name:?} > ")?;
        }
        let left_out = before.len().saturating_sub(PATH_NAMES_SHOWN);
        if left_out > 0 {
            write!(f, "{left_out} more > ")?;
        }
        write!(f, "{last:?}")
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            self.fault.fmt(f)
        } else {
            write!(f, "{}: {}", self.field, self.fault)
        }
    }
}

impl std::error::Error for Invalid {}

/// `got`, if it lies in `range`.
///
/// # Errors
/// [`Fault::OutOfRange`] at `field`, with the value and both bounds.
///
/// ```
/// use weir_core::invalid::within;
/// assert_eq!(within("/limit", 5, 1..=10), Ok(5));
/// let refused = within("/limit", 0, 1..=10).unwrap_err();
/// assert_eq!(refused.to_string(), "/limit: 0 is outside 1 to 10");
/// ```
pub fn within<T: PartialOrd + fmt::Display>(
    field: &str,
    got: T,
    range: RangeInclusive<T>,
) -> Result<T, Invalid> {
    if range.contains(&got) {
        return Ok(got);
    }
    let fault = Fault::OutOfRange {
        got: got.to_string(),
        min: range.start().to_string(),
        max: range.end().to_string(),
    };
    Err(Invalid::new(field, fault))
}

/// Reads JSON, naming the field at fault. A list that stands for an object is refused.
///
/// # Errors
/// [`Fault::Form`] with the reader's words, at the pointer of the value that could not be read.
///
/// ```
/// use std::collections::HashMap;
/// use weir_core::invalid::read_json;
/// let refused = read_json::<HashMap<String, u64>>(br#"{"cost":1.5}"#).unwrap_err();
/// assert_eq!(refused.field, "/cost");
/// ```
pub fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Invalid> {
    json::from_slice(bytes).map_err(Invalid::from)
}

impl From<json::Fault> for Invalid {
    fn from(fault: json::Fault) -> Self {
        let message = fault.to_string();
        Self::new(fault.pointer(), Fault::Form { message })
    }
}
