//! Counters as they travel from isolate to `Region` to `Ledger`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::count::Count;
use crate::units::{HolderId, Incarnation, Sequence};

/// The name under which tenants beyond the bound of names kept are counted together. The control character
/// keeps it apart from every tenant name, none of which may contain one.
pub const OTHERS: &str = "\u{1}others";

/// The name under which requests without a tenant are counted.
pub const ANONYMOUS: &str = "\u{1}anonymous";

/// Admitted and denied calls and units. Every decided unit is in exactly one of the two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Calls admitted.
    pub admitted_calls: Count,
    /// Units admitted.
    pub admitted_units: Count,
    /// Calls denied.
    pub denied_calls: Count,
    /// Units denied.
    pub denied_units: Count,
}

/// What one tenant was counted for, by budget and by limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TenantCounters {
    /// By budget name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub budgets: BTreeMap<String, Tally>,
    /// By limit name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Tally>,
}

/// Counters by tenant.
pub type Counters = BTreeMap<String, TenantCounters>;

/// Counters on their way to the one that keeps them, counted exactly once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameBody {
    /// Version of the form.
    pub v: u16,
    /// Who counted.
    pub sender: HolderId,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Which frame of that life.
    pub sequence: Sequence,
    /// The receiver's life that the sender last heard of; 0 when it has heard of none.
    pub receiver: Incarnation,
    /// Whether this frame was sent before.
    pub again: bool,
    /// What was counted since the last frame.
    pub counters: Counters,
}

/// The answer to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameReply {
    /// The frame that this answers.
    pub sequence: Sequence,
    /// The receiver's life.
    pub receiver: Incarnation,
    /// False when it cannot be known whether an earlier life of the receiver has counted the frame: it is then
    /// given up, as counting it twice would be worse.
    pub counted: bool,
}
