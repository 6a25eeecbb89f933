//! What isolates say to a shard of a region's keys, and what it answers.

use serde::{Deserialize, Serialize};
use weir_algorithms::composite::Mode;
use weir_algorithms::scale::ScaledReceipt;
use weir_core::units::{EpochMs, OpId};
use weir_decision::{Decision, Retry};
use weir_wire::accounting::InFlight;
use weir_wire::check::Reason;
use weir_wire::limit_terms::LimitTerms;

use super::owner::Account;

/// Asks a shard to decide: all groups have to admit, or nothing is charged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecideBody {
    /// Version of the form.
    pub v: u16,
    /// Names this question, so that its charges can be committed or undone.
    pub op: OpId,
    /// The rules of every limit that is named below.
    pub limits: Vec<LimitTerms>,
    /// Units that were drawn ahead and not used; taken back first.
    pub returns: Vec<ReturnBody>,
    /// What is asked; empty to return only.
    pub groups: Vec<GroupBody>,
    /// Whether the charges lapse unless they are committed: there are other shards to ask.
    pub hold: bool,
}

impl DecideBody {
    /// On whose account it is: that of its first key, as all keys of a question are on one.
    #[must_use]
    pub fn account(&self) -> &Account {
        let asked = self.groups.iter().flat_map(|group| &group.dimensions);
        let mut accounts = asked.filter_map(|one| match one {
            AskedBody::Key { account, .. } => Some(account),
            AskedBody::Decided { .. } => None,
        });
        accounts.next().unwrap_or(&Account::NOBODY)
    }
}

/// Dimensions that are decided together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupBody {
    /// How they combine.
    pub mode: Mode,
    /// The dimensions.
    pub dimensions: Vec<AskedBody>,
}

/// One dimension of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedBody {
    /// A key that this shard keeps.
    Key {
        /// The limit.
        limit: String,
        /// The key, the tenant included where each has its own.
        key: String,
        /// Units to charge, in the limit's scale.
        cost: u64,
        /// Whether it only looks: it tells what the cost would meet, and charges nothing.
        look: bool,
        /// Units to charge beyond, as far as they last, if all groups admit.
        ahead: u64,
        /// Decided and charged, never denying.
        shadow: bool,
        /// Whether it is the key of a tenant that the policy names: room is kept for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        known: bool,
        /// On whose account it is kept.
        #[serde(default, skip_serializing_if = "Account::is_nobody")]
        account: Account,
    },
    /// What was decided elsewhere.
    Decided {
        /// The decision.
        decision: DecidedBody,
        /// Whether it may not deny.
        shadow: bool,
    },
}

/// Units given back to one key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReturnBody {
    /// The limit.
    pub limit: String,
    /// The key.
    pub key: String,
    /// Units, in the limit's scale.
    pub units: u64,
    /// What the charge was.
    pub receipt: ScaledReceipt,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecideReply {
    /// Version of the form.
    pub v: u16,
    /// Whether the question is answered at all: false when it was undone before it arrived, or there is no room to
    /// hold it.
    pub taken: bool,
    /// Whether all groups admitted, and what they name is charged.
    pub admitted: bool,
    /// One answer for each dimension of each group.
    pub groups: Vec<Vec<AnsweredBody>>,
}

/// The answer of one dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnsweredBody {
    /// The decision.
    pub decision: DecidedBody,
    /// The receipt of what was charged here.
    pub receipt: Option<ScaledReceipt>,
    /// Units drawn ahead: the asker's, whatever becomes of the question.
    pub drawn: Option<DrawnBody>,
    /// Of a guard, the slots that are held after the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
}

/// A decision as it travels between objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedBody {
    /// Why.
    pub reason: Reason,
    /// The ceiling that was compared with.
    pub limit: u64,
    /// Units that could still be admitted.
    pub remaining: u64,
    /// When the state is back to full.
    pub reset_at: EpochMs,
    /// Milliseconds until a retry could pass: 0 when admitted, null for never.
    pub retry_after_ms: Option<u64>,
}

impl From<Decision> for DecidedBody {
    fn from(decision: Decision) -> Self {
        Self {
            reason: decision.reason,
            limit: decision.limit,
            remaining: decision.remaining,
            reset_at: decision.reset_at,
            retry_after_ms: decision.retry.after_ms(),
        }
    }
}

impl From<DecidedBody> for Decision {
    fn from(body: DecidedBody) -> Self {
        Self {
            reason: body.reason,
            limit: body.limit,
            remaining: body.remaining,
            reset_at: body.reset_at,
            retry: match body.retry_after_ms {
                Some(0) => Retry::Now,
                Some(ms) => Retry::AfterMs(ms),
                None => Retry::Never,
            },
        }
    }
}

/// Units that were charged ahead of their use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawnBody {
    /// How many.
    pub units: u64,
    /// For how long they may be used, counted from when the question was sent; null as long as the asker likes.
    pub spendable_ms: Option<u64>,
    /// What gives them back.
    pub receipt: ScaledReceipt,
}

/// Ends a question: its charges stand, or are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishBody {
    /// Version of the form.
    pub v: u16,
    /// The question.
    pub op: OpId,
    /// Whether the charges stand.
    pub commit: bool,
    /// Whether the asker has the answer: what was drawn ahead is the asker's then, else it is undone too.
    pub heard: bool,
}

/// The answer to the end of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishReply {
    /// Whether the charges stand after it.
    pub standing: bool,
}

/// Settles what a reservation charged to keys of one shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettleKeysBody {
    /// Version of the form.
    pub v: u16,
    /// The reservation. A second settlement of it answers the first result.
    pub op: OpId,
    /// Until when the result is kept.
    pub expires_at: EpochMs,
    /// The rules of every limit that is named below.
    pub limits: Vec<LimitTerms>,
    /// What to give back.
    pub returns: Vec<ReturnBody>,
    /// What to charge beyond, as far as it lasts.
    pub debts: Vec<DebtBody>,
}

/// Units used beyond a reservation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DebtBody {
    /// The limit.
    pub limit: String,
    /// The key.
    pub key: String,
    /// Units, in the limit's scale.
    pub units: u64,
    /// The key under which the reservation was charged, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// Puts keys back to their start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResetBody {
    /// Version of the form.
    pub v: u16,
    /// The states that are meant: limits, meters and guards, by the names of their states.
    pub names: Vec<String>,
    /// The key, the tenant included.
    pub key: String,
    /// Whether the keys of the tenant by that name are meant, too.
    pub tenant: bool,
}

/// How many keys had a state, which they have no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResetReply {
    /// Version of the form.
    pub v: u16,
    /// Keys.
    pub keys: u64,
    /// Whether there are more, which were left as they are.
    pub more: bool,
}

/// What came of a settlement, in the order it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettledKeys {
    /// Units taken back.
    pub returned: Vec<u64>,
    /// Units charged beyond.
    pub charged: Vec<u64>,
}

/// Asks for a place in the queue of a leaky bucket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeBody {
    /// Version of the form.
    pub v: u16,
    /// The rules.
    pub limit: LimitTerms,
    /// The key, the tenant included where each has its own.
    pub key: String,
    /// Units; 0 looks.
    pub cost: u64,
    /// Whether it is the key of a tenant that the policy names: room is kept for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// On whose account it is kept.
    #[serde(default, skip_serializing_if = "Account::is_nobody")]
    pub account: Account,
}

/// A place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeReply {
    /// Whether there is one.
    pub accepted: bool,
    /// How long to wait.
    pub delay_ms: u64,
    /// When to ask again: 0 when accepted, null for never.
    pub retry_after_ms: Option<u64>,
}

/// Renews or releases a slot of a guard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardBody {
    /// Version of the form.
    pub v: u16,
    /// The guard's rules.
    pub terms: LimitTerms,
    /// The key: the tenant.
    pub key: String,
    /// The key under which the slot is held, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The slot, as the receipt of its acquisition names it.
    pub slot: u64,
    /// What to do with it.
    pub action: GuardAction,
}

/// What to do with a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardAction {
    /// Hold it for another lease from now, if it is still held.
    Renew,
    /// Free it; one that is free already stays free.
    Release,
}

/// The slot after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardReply {
    /// Whether it is held.
    pub held: bool,
    /// Until when, on the shard's clock; null when it is not held.
    pub expires_at: Option<EpochMs>,
    /// Slots of the key that are held after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
}
