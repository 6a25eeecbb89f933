//! The rows that objects keep, as JSON text. Each carries a version; a row of the version before or after is read,
//! anything else is reported and taken for damaged.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::exchange::{Cycle, Seen, Terms, VERSION, version_accepted};
use super::keys::{LimitTerms, ReturnBody};
use crate::algorithms::scale::ScaledState;
use crate::federation::ahead::Ahead;
use crate::federation::schedule::Schedule;
use crate::federation::window::Window;
use crate::json;
use crate::limiting::hold::Charge;
use crate::limits::{AHEAD_WINDOWS_MAX, GLOBAL_BUCKETS_MAX, JSON_INTEGER_MAX};
use crate::units::{EpochMs, WindowLabel};

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

/// Labels are counted from 1 and stay exact in JSON.
fn labelled(label: WindowLabel) -> Result<(), Damaged> {
    if (1..=JSON_INTEGER_MAX).contains(&label.0) {
        return Ok(());
    }
    Err(Damaged::Contradiction {
        what: "a label outside its range",
    })
}

/// What a coordinator keeps of its budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPool {
    v: u16,
    /// The window's label.
    pub label: WindowLabel,
    /// Its end.
    pub ends_at: EpochMs,
    /// Its length, which the terms in force may no longer say.
    pub window_ms: u64,
    /// The terms in force.
    pub terms: Terms,
    /// Units below which everything counts as granted.
    pub watermark: u64,
    /// Where the window is a part of a rolling one: what was lent in the parts before it, newest first, each
    /// `window_ms` long. In the first window after an edit of their length or kind: what counts in it of what was lent
    /// before, and 0. Empty for any other window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<u64>,
    /// Units of windows to come that count as granted, by label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ahead: BTreeMap<WindowLabel, u64>,
}

impl StoredPool {
    /// A row of the present version, without history.
    #[must_use]
    pub fn new(window: Window, terms: Terms, watermark: u64) -> Self {
        Self {
            v: VERSION,
            label: window.label,
            ends_at: window.ends_at,
            window_ms: window.window_ms,
            terms,
            watermark,
            history: Vec::new(),
            ahead: BTreeMap::new(),
        }
    }

    /// When it may be forgotten: the window is over, and of a rolling one all that was lent.
    #[must_use]
    pub fn expires_at(&self) -> EpochMs {
        let last = self.ahead.keys().next_back().map_or(0, |last| last.0);
        let promised = last.saturating_sub(self.label.0);
        let over_at = self.ends_at.plus(promised.saturating_mul(self.window_ms));
        // What was lent may count in the window that follows, where that is another.
        let rolls = matches!(self.terms.cycle, Some(Cycle::Sliding { .. }));
        if rolls || !self.history.is_empty() || self.window_ms < self.terms.window_ms {
            over_at.plus(self.terms.window_ms)
        } else {
            over_at
        }
    }

    /// The row with units of windows to come.
    #[must_use]
    pub fn with_ahead(mut self, ahead: BTreeMap<WindowLabel, u64>) -> Self {
        self.ahead = ahead;
        self
    }

    /// The row with what was lent in earlier parts of a rolling window.
    #[must_use]
    pub fn with_history(mut self, history: Vec<u64>) -> Self {
        self.history = history;
        self
    }
}

impl Row for StoredPool {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        if self.window_ms == 0 || self.terms.limit == 0 || self.terms.window_ms == 0 {
            return Err(Damaged::Contradiction {
                what: "a window without limit or length",
            });
        }
        if self.history.len() as u64 > GLOBAL_BUCKETS_MAX {
            return Err(Damaged::Contradiction {
                what: "more parts than a rolling window has",
            });
        }
        if self.ahead.len() > AHEAD_WINDOWS_MAX
            || self.ahead.keys().any(|label| *label <= self.label)
        {
            return Err(Damaged::Contradiction {
                what: "units of windows to come that cannot be",
            });
        }
        if self.terms.cycle.is_some() && Schedule::try_from(&self.terms).is_err() {
            return Err(Damaged::Contradiction {
                what: "a cycle that cannot be",
            });
        }
        labelled(self.label)
    }
}

/// What a region keeps of one budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredEscrow {
    v: u16,
    /// The window that the units belong to.
    pub label: WindowLabel,
    /// Its end on the region's clock.
    pub ends_at: EpochMs,
    /// What remained of it when the coordinator last told.
    pub span_ms: u64,
    /// Units in the whole window, over the whole deployment.
    pub limit: u64,
    /// Units held of the coordinator.
    pub held: u64,
    /// Units of those below which everything counts as lent on.
    pub watermark: u64,
    /// The coordinator's last reply that is in `held`.
    pub seen: Option<Seen>,
    /// Units of windows to come, the next first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<Ahead>,
}

impl StoredEscrow {
    /// A row of the present version.
    #[must_use]
    pub fn new(
        label: WindowLabel,
        (ends_at, span_ms): (EpochMs, u64),
        limit: u64,
        (held, watermark): (u64, u64),
        seen: Option<Seen>,
    ) -> Self {
        Self {
            v: VERSION,
            label,
            ends_at,
            span_ms,
            limit,
            held,
            watermark,
            seen,
            ahead: Vec::new(),
        }
    }

    /// The row with units of windows to come.
    #[must_use]
    pub fn with_ahead(mut self, ahead: Vec<Ahead>) -> Self {
        self.ahead = ahead;
        self
    }
}

impl Row for StoredEscrow {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        if self.watermark > self.held {
            return Err(Damaged::Contradiction {
                what: "more lent on than held",
            });
        }
        let later = |ahead: &Ahead| ahead.label > self.label && ahead.lent <= ahead.units;
        if self.ahead.len() > AHEAD_WINDOWS_MAX || !self.ahead.iter().all(later) {
            return Err(Damaged::Contradiction {
                what: "units of windows to come that cannot be",
            });
        }
        labelled(self.label)
    }
}

/// What a shard keeps of one key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredState {
    v: u16,
    /// The state.
    pub state: ScaledState,
}

impl StoredState {
    /// A row of the present version.
    #[must_use]
    pub fn new(state: ScaledState) -> Self {
        Self { v: VERSION, state }
    }
}

impl Row for StoredState {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        Ok(())
    }
}

/// What a shard keeps of a question that is not ended yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredHold {
    v: u16,
    /// The rules of the limits that it charged.
    pub limits: Vec<LimitTerms>,
    /// What it charged.
    pub charges: Vec<ReturnBody>,
    /// What it charged ahead, for the asker to keep.
    pub draws: Vec<ReturnBody>,
    /// When it lapses: what is not committed by then is given back.
    pub lapses_at: EpochMs,
    /// Whether it is committed, and kept only in case another shard could not.
    pub committed: bool,
}

impl StoredHold {
    /// A hold that lapses at `lapses_at`.
    #[must_use]
    pub fn new(
        limits: &[LimitTerms],
        (charges, draws): (&[Charge], &[Charge]),
        lapses_at: EpochMs,
    ) -> Self {
        let returns = |charges: &[Charge]| charges.iter().map(ReturnBody::from).collect();
        Self {
            v: VERSION,
            limits: limits.to_vec(),
            charges: returns(charges),
            draws: returns(draws),
            lapses_at,
            committed: false,
        }
    }

    /// The same, committed, kept until `forgotten_at`.
    #[must_use]
    pub fn committed(self, forgotten_at: EpochMs) -> Self {
        Self {
            lapses_at: forgotten_at,
            committed: true,
            ..self
        }
    }
}

impl Row for StoredHold {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        Ok(())
    }
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
