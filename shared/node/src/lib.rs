//! Nodes: the machines at work, with the order in which they write, send and answer.
//!
//! A node takes one [event](escrow::Event) at a time and says what is to be done as [`Effect`]s. Whoever runs it (an object
//! on the platform, the simulator, the model checker) carries them out and has no order of its own. Whatever leaves a node
//! and rests on a row leaves it after that row is durable: the node holds it back until it hears `Persisted`.
//!
//! | node | what it is |
//! | --- | --- |
//! | [`pool`] | the root of a pool: a coordinator's, or a region's own |
//! | [`escrow`] | a region's part of a pool: lends on to isolates, and asks the coordinator when it is short |
//! | [`lease`] | an isolate's part of a pool: decides, and asks the region when it is short; [`leases`] are all of them |
//! | [`question`] | what a request asks, all or nothing: first of what is held here, then of shards |
//! | [`keys`] | a shard of keys, which decides, holds and settles |
//! | [`commit`] | what it asks of shards: each holds, and all commit or all undo |
//! | [`ledger`] | a region's ledger: counts, each frame once, and stores what is over |
//! | [`rules`] | the last policy and tokens that a region has seen: durable before they are in force |
//! | [`settled`] | a region's settlements on their way to the ledgers: sends what they have not counted, drops what both have |
//! | [`settlement`] | a region's settlements: what goes back into pools, and that it did, is one write |
//! | [`answers`] | answers that are remembered by keys: a claim is durable before it is anybody's |
//! | [`registry`] | policies, tokens, keys and the audit log: writes a change with its record, tells regions, answers |

pub mod answers;
pub mod commit;
pub mod escrow;
mod gate;
pub mod keys;
pub mod lease;
pub mod leases;
pub mod ledger;
pub mod pool;
pub mod question;
pub mod registry;
pub mod rules;
pub mod settled;
pub mod settlement;

use weir_core::units::{EpochMs, WindowLabel};
use weir_wire::exchange::{ExchangeBody, Refusal, ReplyBody};

/// Something to be done, in the order of the list. `C` names who asked, `R` is the node's row.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<C, R> {
    /// Make the row durable, and say `Persisted` or `NotPersisted`. There is one at a time.
    Persist(R),
    /// Send the message to the coordinator, and say `Answered` with what comes of it, within a call's time.
    Send(Box<ExchangeBody>),
    /// Answer the caller.
    Reply(C, LendAnswer),
    /// What the caller's answer rests on could not be made durable: it is told that nothing is known.
    Fail(C),
    /// Say `Woke` at that instant, on the node's clock, if no later one is named until then.
    WakeAt(EpochMs),
}

/// What a caller is answered.
pub type LendAnswer = Result<ReplyBody, Refusal>;

/// Units that were taken back, and the row that says so. Whoever asked writes that row together with its own, so that
/// both are durable or neither, and says `Persisted` or `NotPersisted`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund<R> {
    /// How many were taken: none when the window is over.
    pub units: u64,
    /// The row, unless nothing changed.
    pub row: Option<R>,
}

impl<R> Refund<R> {
    /// The same with the row in another form.
    #[must_use]
    pub fn map<S>(self, row: impl FnOnce(R) -> S) -> Refund<S> {
        Refund {
            units: self.units,
            row: self.row.map(row),
        }
    }
}

/// Which spent units come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent<'a> {
    /// Of which window.
    pub label: WindowLabel,
    /// The tenant's name; none where no tenants share the pool.
    pub tenant: Option<&'a str>,
    /// How many.
    pub units: u64,
}
