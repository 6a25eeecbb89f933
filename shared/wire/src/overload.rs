//! Overloaded resources: what the policy says of one, what holders tell each other, and the row of a parent.

use serde::{Deserialize, Serialize};
use weir_core::units::{EpochMs, HolderId, Incarnation, Revision, Sequence};

use super::count::is_zero;
use super::decimal::Decimal;
use super::exchange::VERSION;
use super::section::section;
use super::stored::{Damaged, Row};

/// The rule that denies clients while the resource fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    /// Clients share by weight the rate that keeps the resource busy.
    #[default]
    FairRate,
    /// Probabilities that rise with failures and fall with successes (stochastic fair BLUE).
    Blue,
}

/// How the probabilities of a client's cells become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Final {
    /// The least of them.
    #[default]
    Min,
    /// Their mean.
    Mean,
}

section! {
/// One resource of the policy; what is absent has its default.
pub struct OverloadBody {
    /// Buckets of each level; 1000 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u64> = "integer";
    /// Levels; 3 when absent, or as many as `clients` take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<u64> = "integer";
    /// The number of clients that levels are computed for, in the place of `levels`: one in a thousand is taken for heavy,
    /// and at most one in ten thousand others shares all its cells with those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u64> = "integer";
    /// The time after which clients are placed anew; five minutes when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotate_ms: Option<u64> = "integer";
    /// How the probabilities of the levels become one (`blue`); the least when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combine as "final": Option<Final> = "'min' or 'mean'";
    /// By how much a failure raises a probability (`blue`); 0.04 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increase: Option<Decimal> = "number";
    /// By how much a success lowers it (`blue`); 0.00004 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrease: Option<Decimal> = "number";
    /// The rate at which it decays by itself (`blue`), as the exponent of one second; 0.01 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decay_per_s: Option<Decimal> = "number";
    /// The rule that denies clients; `fair_rate` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steering: Option<Steering> = "'fair_rate' or 'blue'";
    /// Concurrent requests of routes that each isolate has at the resource; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u64> = "integer";
    /// Decided and counted, never enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool> = "boolean";
}
}

/// What holders of a resource agree on: a parent has no policy of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OverloadTerms {
    /// The policy revision that says so. Of two the higher counts.
    pub revision: Revision,
    /// Buckets of each level.
    pub buckets: u64,
    /// Levels.
    pub levels: u64,
    /// After how long clients are placed anew.
    pub rotate_ms: u64,
    /// By what rule clients are denied.
    #[serde(default)]
    pub steering: Steering,
    /// How the probabilities of the levels become one.
    #[serde(default, rename = "final")]
    pub combine: Final,
    /// By how much a failure raises a probability.
    pub increase: Decimal,
    /// By how much a success lowers it.
    pub decrease: Decimal,
    /// At what rate it decays by itself.
    pub decay_per_s: Decimal,
}

impl OverloadTerms {
    /// Whether cells of one are cells of the other.
    #[must_use]
    pub fn shaped_as(&self, other: &Self) -> bool {
        let shape = |terms: &Self| (terms.buckets, terms.levels, terms.rotate_ms, terms.steering);
        shape(self) == shape(other)
    }
}

/// What a holder has that its parent has not been told: repeated as it was until it is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareBody {
    /// The resource.
    pub resource: String,
    /// Which life of the holder speaks.
    pub incarnation: Incarnation,
    /// The number of the message within that life, from 1.
    pub sequence: Sequence,
    /// What the holder goes by.
    pub terms: OverloadTerms,
    /// The rotation period of `live`; that of `shadow` is the next.
    pub period: u64,
    /// What was charged to cells of the live structure, in base64.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub live: String,
    /// The same of the shadow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shadow: String,
    /// Requests that succeeded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub succeeded: u64,
    /// Requests that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Requests that were denied.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u64,
    /// The fair rate of the holder, in units a second for a weight of 1: where a parent that knows of none starts.
    pub rate: f64,
    /// What the resource has told that it lets through, in thousandths of a request a second; where it has told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_milli: Option<u64>,
}

/// What all holders together have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MergedBody {
    /// The terms that the cells are of.
    pub terms: OverloadTerms,
    /// The rotation period of `live`; that of `shadow` is the next.
    pub period: u64,
    /// The cells of the live structure, in base64.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub live: String,
    /// The same of the shadow.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shadow: String,
    /// The fair rate, in units a second for a weight of 1.
    pub rate: f64,
    /// Whether the resource is overloaded, so that the rate binds.
    #[serde(default)]
    pub contended: bool,
}

/// The answer to a [`ShareBody`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareReply {
    /// The resource.
    pub resource: String,
    /// The life of the holder that is answered.
    pub incarnation: Incarnation,
    /// The message that is answered.
    pub sequence: Sequence,
    /// What all holders together have.
    pub merged: MergedBody,
}

/// What a parent keeps of a resource while it sleeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredOverload {
    v: u16,
    /// The resource.
    pub resource: String,
    /// When this was so.
    pub at: EpochMs,
    /// What all holders together had.
    pub merged: MergedBody,
    /// The last message of each holder that is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<(HolderId, Incarnation, Sequence)>,
}

impl StoredOverload {
    /// A row of the present version.
    #[must_use]
    pub fn new(
        resource: String,
        at: EpochMs,
        merged: MergedBody,
        heard: Vec<(HolderId, Incarnation, Sequence)>,
    ) -> Self {
        Self {
            v: VERSION,
            resource,
            at,
            merged,
            heard,
        }
    }
}

impl Row for StoredOverload {
    fn version(&self) -> u16 {
        self.v
    }

    fn consistent(&self) -> Result<(), Damaged> {
        match self.merged.rate.is_finite() && self.merged.rate > 0.0 {
            true => Ok(()),
            false => Err(Damaged::Contradiction {
                what: "a fair rate that is no rate",
            }),
        }
    }
}
