//! The rows in which shards keep keys, and questions that are not ended yet.

use serde::{Deserialize, Serialize};
use weir_algorithms::scale::ScaledState;
use weir_core::units::EpochMs;
use weir_wire::exchange::VERSION;
use weir_wire::limit_terms::LimitTerms;
use weir_wire::stored::{Damaged, Row};

use super::hold::Charge;
use super::messages::ReturnBody;
use super::owner::Account;

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
    /// Whose question it is.
    #[serde(default, skip_serializing_if = "Account::is_nobody")]
    pub account: Account,
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
            account: Account::default(),
        }
    }

    /// The same, of a question on that account.
    #[must_use]
    pub fn of(self, account: Account) -> Self {
        Self { account, ..self }
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
