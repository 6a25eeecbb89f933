//! The root of a pool at work: a coordinator's, or a region's own.

use weir_core::units::EpochMs;
use weir_federation::handover::Handover;
use weir_federation::message::Message;
use weir_federation::pool::Pool;
use weir_federation::stored::StoredPool;
use weir_wire::exchange::Terms;

use super::gate::{Gate, Step};
use super::{Effect, LendAnswer, Refund, Spent};

/// What happens to it.
#[derive(Debug, Clone)]
#[allow(
    clippy::large_enum_variant,
    reason = "an event is moved once, and kept by nobody"
)]
pub enum Event<C> {
    /// A holder's message.
    Exchange {
        /// Who is answered.
        caller: C,
        /// What it says.
        message: Message,
    },
    /// The policy of the region that has the pool says these terms, and what its slice is held to.
    Amend {
        /// The terms in force.
        terms: Terms,
        /// What a slice may have while regions change.
        handover: Option<Handover>,
    },
    /// Nothing happens any more: the row is to say exactly what is lent; see [`Pool::rest`].
    Rest,
    /// The row is durable.
    Persisted,
    /// It is not.
    NotPersisted,
}

/// A pool, and what waits for its row.
#[derive(Debug, Clone)]
pub struct PoolNode<C> {
    pool: Pool,
    gate: Gate<StoredPool, (C, LendAnswer)>,
}

impl<C> PoolNode<C> {
    /// Starts with a pool that was opened or woken.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        Self {
            pool,
            gate: Gate::default(),
        }
    }

    /// The pool, to read.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Takes one event.
    #[must_use]
    pub fn step(&mut self, event: Event<C>, now: EpochMs) -> Vec<Effect<C, StoredPool>> {
        match event {
            Event::Exchange { caller, message } => {
                let answer = self.pool.exchange(&message, now);
                self.leave(Some((caller, answer)))
            }
            Event::Amend { terms, handover } => {
                self.pool.amend(&terms);
                self.pool.hold_to(handover);
                // What it changes is in the row of the exchange that follows.
                Vec::new()
            }
            Event::Rest => {
                let row = self.gate.rest(|| self.pool.rest());
                row.map(Effect::Persist).into_iter().collect()
            }
            Event::Persisted => self.written(true),
            Event::NotPersisted => self.written(false),
        }
    }

    /// Takes spent units back. `None` while a write is under way: then nothing was taken.
    #[must_use]
    pub fn refund(&mut self, spent: Spent<'_>, now: EpochMs) -> Option<Refund<StoredPool>> {
        self.gate.refund(|| {
            let taken = self
                .pool
                .refund(spent.label, spent.tenant, spent.units, now);
            (taken, self.pool.due())
        })
    }

    fn written(&mut self, durable: bool) -> Vec<Effect<C, StoredPool>> {
        let Some(write) = self.gate.ended() else {
            return Vec::new();
        };
        if durable {
            self.pool.stored(&write.row);
        }
        let out = write.lets_out.into_iter();
        let mut effects: Vec<_> = out
            .map(|(caller, answer)| match durable {
                true => Effect::Reply(caller, answer),
                false => Effect::Fail(caller),
            })
            .collect();
        if durable || !self.gate.is_empty() {
            effects.extend(self.leave(None));
        }
        effects
    }

    fn leave(&mut self, out: Option<(C, LendAnswer)>) -> Vec<Effect<C, StoredPool>> {
        match self.gate.take(out, || self.pool.due()) {
            Step::Wait => Vec::new(),
            Step::Write(row) => vec![Effect::Persist(row)],
            Step::Leave(out) => {
                let reply = |(caller, answer)| Effect::Reply(caller, answer);
                out.into_iter().map(reply).collect()
            }
        }
    }
}
