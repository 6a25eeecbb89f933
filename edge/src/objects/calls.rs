//! Which class answers which call.

use serde::{Deserialize, Serialize};
use weir_shared::units::Revision;
use weir_shared::wire::accounting::{Counters, FrameBody, FrameReply};
use weir_shared::wire::exchange::{ExchangeAnswer, ExchangeBody};
use weir_shared::wire::keys::{
    DecideBody, DecideReply, FinishBody, FinishReply, SettleKeysBody, SettledKeys, ShapeBody,
    ShapeReply,
};
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::region::{ContactBody, ContactReply, SavedPolicy};
use weir_shared::wire::region_pool::{RegionPoolBody, RegionPoolReply};
use weir_shared::wire::settlement::{SettleBody, SettleReply};

use super::binding::{Call, Class};

macro_rules! calls {
    ($($request:ty => $class:ident $route:literal -> $reply:ty;)*) => {
        $(impl Call for $request {
            const CLASS: Class = Class::$class;
            const ROUTE: &'static str = $route;
            type Reply = $reply;
        })*
    };
}

calls! {
    ExchangeBody => Coordinator "exchange" -> ExchangeAnswer;
    RegionPoolBody => Coordinator "split" -> RegionPoolReply;
    ContactBody => Region "contact" -> ContactReply;
    SettleBody => Region "settle" -> SettleReply;
    DecideBody => Region "decide" -> DecideReply;
    FinishBody => Region "finish" -> FinishReply;
    SettleKeysBody => Region "settle-keys" -> SettledKeys;
    ShapeBody => Region "shape" -> ShapeReply;
    PushPolicy => Region "push" -> Revision;
    ReadPolicy => Registry "read" -> SavedPolicy;
    SavePolicy => Registry "save" -> Saved;
    TakeFrame => Ledger "take" -> FrameReply;
    ReadCounters => Ledger "counters" -> Counters;
}

/// A saved policy on its way to a region.
#[derive(Debug, Serialize, Deserialize)]
pub struct PushPolicy {
    /// The region that is meant.
    pub region: String,
    /// What was saved.
    pub saved: SavedPolicy,
}

/// Asks for the policy in force.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadPolicy {}

/// Saves a policy if `expected` is still the revision in force.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavePolicy {
    /// The revision that the author saw; `None` takes whatever is in force.
    pub expected: Option<Revision>,
    /// The new document, validated.
    pub document: PolicyDocument,
    /// Who saves it.
    pub actor: String,
}

/// What came of saving.
#[derive(Debug, Serialize, Deserialize)]
pub enum Saved {
    /// It is in force under this revision.
    Done(Revision),
    /// Another revision is in force; nothing was changed.
    Moved(Revision),
}

/// Counters for a ledger.
#[derive(Debug, Serialize, Deserialize)]
pub struct TakeFrame {
    /// The frame.
    pub frame: FrameBody,
}

/// Asks for a ledger's totals.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReadCounters {}
