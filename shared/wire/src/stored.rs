//! The rows that objects keep, as JSON text. Each carries a version; a row of the version before or after is read,
//! anything else is reported and taken for damaged.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use weir_core::json;

use super::exchange::{VERSION, version_accepted};

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damaged {
    /// Not JSON of the expected form.
    Form {
        /// The reader's words.
        message: String,
    },
    /// A version that is not read here.
    Version {
        /// The row's version.
        got: u16,
        /// The reader's.
        have: u16,
    },
    /// Values that cannot be true together.
    Contradiction {
        /// Which.
        what: &'static str,
    },
}

impl Damaged {
    /// The damage of a row whose column is not of the expected type.
    #[must_use]
    pub fn column(name: &str) -> Self {
        Self::Form {
            message: format!("column {name} is not of its type"),
        }
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { message } => f.write_str(message),
            Self::Version { got, have } => write!(f, "version {got}, this code reads {have}"),
            Self::Contradiction { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for Damaged {}

/// A stored form.
pub trait Row: Serialize + DeserializeOwned {
    /// The version that the row was written with.
    fn version(&self) -> u16;

    /// Whether the values can be true together.
    ///
    /// # Errors
    /// [`Damaged::Contradiction`] naming what cannot be.
    fn consistent(&self) -> Result<(), Damaged>;
}

/// Reads a row.
///
/// # Errors
/// Why it cannot be read.
pub fn read_row<R: Row>(text: &str) -> Result<R, Damaged> {
    let row: R = json::from_str(text).map_err(|error| Damaged::Form {
        message: error.to_string(),
    })?;
    if !version_accepted(row.version()) {
        return Err(Damaged::Version {
            got: row.version(),
            have: VERSION,
        });
    }
    row.consistent()?;
    Ok(row)
}

/// What is kept of a settlement: what came of it, to be answered again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSettlement<T> {
    v: u16,
    /// The result.
    pub result: T,
}

impl<T> StoredSettlement<T> {
    /// A row of the present version.
    #[must_use]
    pub fn new(result: T) -> Self {
        Self { v: VERSION, result }
    }
}

impl<T: Serialize + DeserializeOwned> Row for StoredSettlement<T> {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        Ok(())
    }
}
