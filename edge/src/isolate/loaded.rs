//! A policy in force, as an isolate knows it.

use std::rc::Rc;

use weir_shared::policy::Policy;
use weir_shared::units::Revision;
use weir_shared::wire::shard_key::ShardKey;

/// A policy in force.
#[derive(Clone)]
pub struct Loaded {
    /// Its revision; 0 for the one that was shipped.
    pub revision: Revision,
    /// The rules.
    pub policy: Rc<Policy>,
    /// The secret by which the shards of keys are chosen.
    pub placement: Option<ShardKey>,
}
