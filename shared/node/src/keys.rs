//! A shard of keys at work: decides, holds, ends and settles, and answers when that is durable.

use weir_algorithms::composite::StateKey;
use weir_core::invalid::Invalid;
use weir_core::units::EpochMs;
use weir_limiting::messages::{
    DecideBody, DecideReply, FinishBody, FinishReply, GuardBody, GuardReply, SettleKeysBody,
    SettledKeys, ShapeBody, ShapeReply,
};
use weir_limiting::rows::{Put, Rows};
use weir_limiting::shard::Shard;

use super::gate::{Gate, Step};

/// What is asked of a shard.
#[derive(Debug, Clone)]
pub enum ShardCall {
    /// Whether a question may pass.
    Decide(DecideBody),
    /// That a question ends.
    Finish(FinishBody),
    /// What a reservation used.
    Settle(SettleKeysBody),
    /// A place in a queue.
    Shape(ShapeBody),
    /// A slot.
    Guard(GuardBody),
    /// That keys are put back to their start.
    Reset(Vec<StateKey>),
}

/// What it answers, to each in kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// To a question.
    Decide(DecideReply),
    /// To the end of a question.
    Finish(FinishReply),
    /// To a settlement.
    Settle(SettledKeys),
    /// To who wants a place.
    Shape(ShapeReply),
    /// To who wants or has a slot.
    Guard(GuardReply),
    /// How many keys were put back.
    Reset(usize),
}

/// What a caller is answered.
pub type ShardAnswer = Result<Reply, Invalid>;

/// What happens to it.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "an event is moved once, and kept by nobody"
)]
pub enum Event<C> {
    /// A call.
    Asked {
        /// Who is answered.
        caller: C,
        /// What it asks.
        ask: ShardCall,
    },
    /// Holds may have lapsed.
    Woke,
    /// The rows are durable.
    Persisted,
    /// They are not.
    NotPersisted,
}

/// Something to be done, in the order of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<C> {
    /// Make the rows durable, all or none, and say `Persisted` or `NotPersisted`. There is one at a time.
    Persist(Vec<Put>),
    /// Answer the caller.
    Reply(C, ShardAnswer),
    /// What the caller's answer rests on could not be made durable: it is told that nothing is known.
    Fail(C),
    /// Memory is ahead of the rows: wake another node from them in the place of this one.
    Restart,
    /// Say `Woke` at that instant: a hold lapses. The last one that is named counts.
    WakeAt(EpochMs),
}

/// A shard, and what waits for its rows.
#[derive(Debug, Clone)]
pub struct ShardNode<C> {
    shard: Shard,
    gate: Gate<Vec<Put>, (C, ShardAnswer)>,
    /// What came while rows were written: it reads them.
    behind: Vec<(C, ShardCall)>,
}

type Effects<C> = Vec<Effect<C>>;

impl<C> ShardNode<C> {
    /// Starts with a shard that was woken.
    #[must_use]
    pub fn new(shard: Shard) -> Self {
        Self {
            shard,
            gate: Gate::default(),
            behind: Vec::new(),
        }
    }

    /// Takes one event. What it reads of `rows` is durable.
    #[must_use]
    pub fn step(&mut self, event: Event<C>, rows: &mut impl Rows, now: EpochMs) -> Effects<C> {
        let mut effects = Vec::new();
        match event {
            Event::Asked { caller, ask } => self.behind.push((caller, ask)),
            Event::Woke if self.gate.is_free() => {
                let puts = self.shard.expire(rows, now);
                self.leave(None, puts, &mut effects);
            }
            Event::Woke => {}
            Event::Persisted => {
                let written = self.gate.ended().map(|write| write.lets_out);
                effects.extend(written.into_iter().flatten().map(leaves));
            }
            Event::NotPersisted => {
                let unwritten = self.gate.ended().map(|write| write.lets_out);
                let callers = unwritten.into_iter().flatten().map(|(caller, _)| caller);
                let behind = self.behind.drain(..).map(|(caller, _)| caller);
                effects.extend(callers.chain(behind).map(Effect::Fail));
                effects.push(Effect::Restart);
                return effects;
            }
        }
        self.answer_next(rows, now, &mut effects);
        effects.extend(self.shard.lapses_at().map(Effect::WakeAt));
        effects
    }

    /// Answers those that wait, until one has to be written.
    fn answer_next(&mut self, rows: &mut impl Rows, now: EpochMs, effects: &mut Effects<C>) {
        while self.gate.is_free() && !self.behind.is_empty() {
            let (caller, ask) = self.behind.remove(0);
            match asked(&mut self.shard, &ask, rows, now) {
                Ok((reply, puts)) => self.leave(Some((caller, Ok(reply))), puts, effects),
                Err(invalid) => {
                    // What lapsed meanwhile is in memory alone.
                    effects.push(Effect::Reply(caller, Err(invalid)));
                    let behind = self.behind.drain(..).map(|(caller, _)| caller);
                    effects.extend(behind.map(Effect::Fail));
                    effects.push(Effect::Restart);
                }
            }
        }
    }

    fn leave(&mut self, out: Option<(C, ShardAnswer)>, puts: Vec<Put>, effects: &mut Effects<C>) {
        let due = || (!puts.is_empty()).then_some(puts);
        match self.gate.take(out, due) {
            Step::Wait => {}
            Step::Write(puts) => effects.push(Effect::Persist(puts)),
            Step::Leave(out) => effects.extend(out.into_iter().map(leaves)),
        }
    }
}

/// What a call comes to, and the rows that say so.
fn asked(
    shard: &mut Shard,
    ask: &ShardCall,
    rows: &mut impl Rows,
    now: EpochMs,
) -> Result<(Reply, Vec<Put>), Invalid> {
    Ok(match ask {
        ShardCall::Decide(body) => {
            let (reply, puts) = shard.decide(body, rows, now)?;
            (Reply::Decide(reply), puts)
        }
        ShardCall::Finish(body) => {
            let (reply, puts) = shard.finish(*body, rows, now);
            (Reply::Finish(reply), puts)
        }
        ShardCall::Settle(body) => {
            let (result, puts) = shard.settle(body, rows, now)?;
            (Reply::Settle(result), puts)
        }
        ShardCall::Shape(body) => {
            let (reply, puts) = shard.shape(body, rows, now)?;
            (Reply::Shape(reply), puts)
        }
        ShardCall::Guard(body) => {
            let (reply, puts) = shard.guard(body, rows, now)?;
            (Reply::Guard(reply), puts)
        }
        ShardCall::Reset(keys) => (Reply::Reset(keys.len()), shard.reset(keys, now)),
    })
}

fn leaves<C>((caller, answer): (C, ShardAnswer)) -> Effect<C> {
    Effect::Reply(caller, answer)
}
