//! A policy as the registry saves it, and tells it to regions.

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Revision};

use super::policy::PolicyDocument;
use super::shard_key::ShardKey;

/// A saved policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedPolicy {
    /// Its revision.
    pub revision: Revision,
    /// The document.
    pub document: PolicyDocument,
    /// Static partitions whose shares changed lately, by budget: see `Handover`.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub handovers: OrderedMap<String, HandoverBody>,
    /// The secret by which the shards of keys are chosen: the registry's, the same with each revision. None of one that
    /// was made before there were secrets, whose keys stay where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<ShardKey>,
}

/// What the regions of a static partition had before its shares changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoverBody {
    /// When the change was saved, in epoch milliseconds.
    pub since: EpochMs,
    /// Units of each region in a window; a region that is absent had none.
    pub before: OrderedMap<String, u64>,
}
