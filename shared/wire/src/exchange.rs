//! The exchange between a holder and its parent, equal at both depths: isolate and `Region`, `Region` and
//! `Coordinator`. Forms carry a version and ignore fields they do not know, as old and new code talk to each other
//! during a deploy.

use serde::{Deserialize, Serialize};
use weir_core::units::{HolderId, Incarnation, Revision, Sequence, WindowLabel};

use super::count::is_zero;
use super::policy::Cadence;

/// The version of every form between Weir's own parts. A reader accepts one more and one less.
pub const VERSION: u16 = 2;

/// Whether a form of version `v` is read.
#[must_use]
pub fn version_accepted(v: u16) -> bool {
    v.abs_diff(VERSION) <= 1
}

/// What a holder tells and asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeBody {
    /// Version of the form.
    pub v: u16,
    /// The pool's name: see `PoolName`.
    pub budget: String,
    /// The pool's terms as the holder knows them; the parent keeps the newest it has seen.
    pub terms: Terms,
    /// Who speaks.
    pub holder: HolderId,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Which message of that life.
    pub sequence: Sequence,
    /// The last reply that was credited. `None`: not known, the parent cancels nothing.
    pub seen: Option<Seen>,
    /// The window that the holder believes to be open.
    pub window: Option<WindowLabel>,
    /// What it asks for.
    pub wants: Vec<Want>,
    /// What it gives back.
    pub returns: Vec<Return>,
    /// Units that it expects to spend in the first moments of the next window, for all tenants.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ahead: u64,
    /// Units that tenants who share are expected to spend before the next contact, beyond those that a want names: for
    /// whoever of them asks. Only where the parent lends units that are no tenant's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle: u64,
    /// Units it denied since its last message: demand that no want shows.
    pub denied: u64,
}

/// The terms of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Units per window, over the whole deployment.
    pub limit: u64,
    /// Length of a window; of the longest where they differ.
    pub window_ms: u64,
    /// The policy revision that says so.
    pub revision: Revision,
    /// How windows follow each other. Absent: each ends on a multiple of `window_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycle>,
    /// How tenants share it. Absent: it goes to whoever comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<SharingBody>,
    /// Bounds of what is lent ahead of demand. Absent: none but the parent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseBody>,
    /// For how many windows to come a region holds a slice in advance, to decide from while the coordinator is out of
    /// reach.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub standing: u64,
}

/// How tenants share a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharingBody {
    /// The rule.
    pub rule: RuleBody,
    /// Tenants told apart; those beyond, and not named by the policy, share one account.
    pub tenants_max: u64,
    /// The weight in micro-units that tenants which the policy does not name have together, at most.
    pub unknown_weight_max: u64,
    /// What is set aside by name for tenants without a parent; absent for nothing.
    #[serde(default, skip_serializing_if = "FloorsBody::is_nothing")]
    pub floors: FloorsBody,
}

/// What is set aside by name for some tenants with one parent, whether they are there or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorsBody {
    /// Units of a window.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub units: u64,
    /// Since when, in epoch milliseconds: within a revision, the later counts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: u64,
}

impl FloorsBody {
    /// Whether nothing is set aside, and nothing ever was.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The rule by which tenants share a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleBody {
    /// Equal shares; what is left to whoever comes first.
    Fair,
    /// Weighted shares; what is left to whoever comes first.
    Weighted,
    /// Weighted max-min; the guarantee of a tenant that is there stays reserved.
    Pinned,
    /// Weighted max-min; a guarantee is released at an even pace.
    Paced,
    /// Weighted max-min; what all are expected to need of their guarantees is reserved for them together.
    Pooled,
    /// Weighted max-min; nothing is reserved.
    None,
}

/// Bounds of a lease ahead of demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseBody {
    /// Fewest units, where there are so many.
    pub min: u64,
    /// Most units.
    pub max: u64,
}

/// A tenant's claim to a shared pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankBody {
    /// Its weight in micro-units.
    pub weight: u64,
    /// Whether the policy names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// Units above its guarantee that it may use; absent for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borrow_max: Option<u64>,
    /// Units of its unused guarantee that others may use; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lend_max: Option<u64>,
    /// Units that it may use in a window, whatever else is free; absent for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
    /// Units that are set aside for it; absent for none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub floor: u64,
    /// Whether they are also while it is not there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub floor_by_name: bool,
    /// The policy revision that says so; 0 where it is not known.
    #[serde(default, skip_serializing_if = "is_none")]
    pub revision: Revision,
    /// Since when that revision says so, in epoch milliseconds: a later claim counts before an earlier one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: u64,
    /// The tenants above it, its parent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<AboveBody>,
}

/// A tenant above others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboveBody {
    /// Its name.
    pub name: String,
    /// Its weight in micro-units.
    pub weight: u64,
    /// As for the tenant itself, for all below it together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borrow_max: Option<u64>,
    /// As for the tenant itself, for all below it together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lend_max: Option<u64>,
    /// As for the tenant itself, for all below it together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u64>,
    /// As for the tenant itself, for all below it together.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub floor: u64,
    /// As for the tenant itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub floor_by_name: bool,
    /// What is set aside by name for those right below it; absent for nothing.
    #[serde(default, skip_serializing_if = "FloorsBody::is_nothing")]
    pub floors: FloorsBody,
}

fn is_none(revision: &Revision) -> bool {
    *revision == Revision(0)
}

/// How the windows of a pool follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cycle {
    /// The last `window_ms` count, in equal parts, each of which is leased as a window of its own.
    Sliding {
        /// How many parts; they divide `window_ms`.
        buckets: u64,
    },
    /// The periods of a quota.
    Calendar(PeriodBody),
}

/// The periods of a quota, as the policy names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodBody {
    /// When a period starts; not `rolling`, which is a [`Cycle::Sliding`].
    pub cadence: Cadence,
    /// Length of a period of the cadence `fixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ms: Option<u64>,
    /// An instant at which a period of the cadence `fixed` starts, in epoch milliseconds; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<i64>,
    /// Minutes that the calendar is ahead of UTC; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_minutes: Option<i64>,
    /// The IANA time zone of the calendar, in the place of `offset_minutes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The day on which a week starts: 0 is Sunday, 1, when absent, Monday.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub week_starts_on: Option<u64>,
}

/// Names one reply of a parent to one holder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Seen {
    /// The holder's life that the reply was for.
    pub incarnation: Incarnation,
    /// The message that it answered.
    pub sequence: Sequence,
}

/// Units asked for. `tenant` is absent where all tenants draw from one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// For whom.
    pub tenant: Option<String>,
    /// Units that requests wait for at this moment.
    pub waiting: u64,
    /// The smallest cost among them: fewer units than this would serve nobody. 0 when nobody waits.
    pub smallest: u64,
    /// Units expected to be spent before the next contact, beyond those waited for.
    pub expected: u64,
    /// Units of the tenant that the holder has in the named window, with this message's returns taken off. Only where
    /// a tenant is named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held: u64,
    /// Units of the tenant that were denied since the last message.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u64,
    /// The tenant's claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<RankBody>,
}

/// Units given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Return {
    /// The window that they belong to; those of a closed window are forfeited.
    pub window: WindowLabel,
    /// How many.
    pub units: u64,
}

/// What a parent answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyBody {
    /// Version of the form.
    pub v: u16,
    /// The message that this answers.
    pub to: Seen,
    /// The window that the grants belong to.
    pub window: WindowBody,
    /// What is lent.
    pub grants: Vec<Grant>,
    /// Units of windows to come, the next first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<AheadBody>,
    /// Units that the parent could still have lent after this, as far as it knows.
    pub left: u64,
    /// True when the parent's own parent did not answer: what is missing may exist.
    pub outage: bool,
    /// When the holder shows itself again at the latest, if it has anything to tell.
    pub next_contact_ms: u64,
    /// Where not all that was waited for is lent: in how many milliseconds the smallest of it could be, if nothing
    /// else is lent meanwhile. Absent: not before the next window, as far as the parent knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_ms: Option<u64>,
}

/// A window as a parent describes it to a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowBody {
    /// Its label.
    pub label: WindowLabel,
    /// What remains of it, counted by the holder from when it sent the message.
    pub remaining_ms: u64,
    /// Units in the whole window.
    pub limit: u64,
}

/// Units of a window to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AheadBody {
    /// Its label.
    pub label: WindowLabel,
    /// In how many milliseconds it opens, counted by the holder from when it sent the message.
    pub starts_ms: u64,
    /// In how many it ends, counted alike.
    pub ends_ms: u64,
    /// Units of it that the holder has in all, those of earlier replies included.
    pub units: u64,
}

/// Units lent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// To whom; absent where all tenants draw from one pool.
    pub tenant: Option<String>,
    /// How many.
    pub units: u64,
    /// The tenant's ceiling in this window.
    pub ceiling: u64,
    /// Units of the tenant that holders have after this, those of other holders included. Only where a tenant is named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub used: u64,
    /// Units that the tenant could still have had.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left: u64,
    /// Units that the tenant may use of what lies idle at the holder, before the parent speaks of it again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub allowance: u64,
    /// Whether the tenant wants more than it can have: its allowance then counts as had by it, and is no more than leaves as
    /// much to each other holder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contended: bool,
    /// In how many milliseconds the smallest cost waited for could be lent, where none was. Absent: not in this window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_ms: Option<u64>,
}

/// A parent's answer to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExchangeAnswer {
    /// It was taken.
    Reply(ReplyBody),
    /// It was refused and changed nothing.
    Refused(Refusal),
}

impl From<Result<ReplyBody, Refusal>> for ExchangeAnswer {
    fn from(answer: Result<ReplyBody, Refusal>) -> Self {
        match answer {
            Ok(reply) => Self::Reply(reply),
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

impl From<ExchangeAnswer> for Result<ReplyBody, Refusal> {
    fn from(answer: ExchangeAnswer) -> Self {
        match answer {
            ExchangeAnswer::Reply(reply) => Ok(reply),
            ExchangeAnswer::Refused(refusal) => Err(refusal),
        }
    }
}

/// Why a message was refused. The state is as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The form's version is not read here.
    Version {
        /// The message's version.
        got: u16,
        /// The reader's.
        have: u16,
    },
    /// A value outside its range.
    Malformed {
        /// Which.
        field: String,
    },
    /// A later life of this holder has spoken.
    Superseded {
        /// The message's incarnation.
        got: Incarnation,
        /// The latest that spoke.
        have: Incarnation,
    },
    /// A later message of this holder was answered.
    Stale {
        /// The message's sequence.
        got: Sequence,
        /// The last that was answered.
        have: Sequence,
    },
    /// The budget is one pool; it has no share for a tenant.
    TenantNamed,
    /// No such budget in the policy.
    UnknownBudget,
    /// The parent has no window to lend from: its own parent has not answered yet.
    NoWindow,
    /// The parent keeps as many pools as it may.
    NoRoom,
}
