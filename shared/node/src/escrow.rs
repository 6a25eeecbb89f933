//! A region's part of a pool at work: answers isolates from what it holds, and asks the coordinator while it is short of
//! what waits behind their messages.

use std::mem;

use weir_core::limits::{CALL_MS_MAX, COORDINATOR_CALL_MS_MAX};
use weir_core::units::{EpochMs, Sequence};
use weir_federation::escrow::{Escrow, Tickets};
use weir_federation::holder::Outlook;
use weir_federation::message::Message;
use weir_federation::stored::StoredEscrow;
use weir_wire::exchange::{ExchangeBody, Refusal, ReplyBody, Terms};

use super::gate::{Gate, Step};
use super::{Effect, LendAnswer, Refund, Spent};

/// What happens to it.
#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "an event is moved once, and kept by nobody"
)]
pub enum Event<C> {
    /// An isolate's message.
    Exchange {
        /// Who is answered.
        caller: C,
        /// What it says.
        message: Message,
        /// What the region tells the coordinator of the pool.
        terms: Terms,
    },
    /// The caller waits no more.
    Left {
        /// Who was to be answered.
        caller: C,
    },
    /// What came of the message of that number: the coordinator's answer, or none in time.
    Answered {
        /// The message's number.
        sequence: Sequence,
        /// The answer.
        answer: Option<Result<ReplyBody, Refusal>>,
    },
    /// It is time to tell the coordinator, if there is something to tell.
    Flush {
        /// What the region tells the coordinator of the pool.
        terms: Terms,
    },
    /// The instant that was named has come.
    Woke,
    /// Nothing happens any more: the row is to say exactly what is lent on; see [`Escrow::rest`].
    Rest,
    /// The row is durable.
    Persisted,
    /// It is not.
    NotPersisted,
}

/// What leaves once the row is durable.
#[derive(Debug, Clone)]
enum Out<C> {
    Reply(C, LendAnswer),
    Send(Box<ExchangeBody>),
}

/// A message that waits for the coordinator.
#[derive(Debug, Clone)]
struct Waiter<C> {
    caller: C,
    message: Message,
    tickets: Tickets,
    since: EpochMs,
    /// When the call began that it waits for.
    call_at: EpochMs,
}

/// An escrow, and what waits for the coordinator and for its row.
#[derive(Debug, Clone)]
pub struct EscrowNode<C> {
    escrow: Escrow,
    /// What the coordinator is told of the pool.
    terms: Option<Terms>,
    /// The message to the coordinator of which nothing was heard yet.
    asked: Option<Sequence>,
    /// Oldest first.
    waiting: Vec<Waiter<C>>,
    gate: Gate<StoredEscrow, Out<C>>,
}

type Effects<C> = Vec<Effect<C, StoredEscrow>>;

impl<C: Clone + PartialEq> EscrowNode<C> {
    /// Starts with an escrow that was woken.
    #[must_use]
    pub fn new(escrow: Escrow) -> Self {
        Self {
            escrow,
            terms: None,
            asked: None,
            waiting: Vec::new(),
            gate: Gate::default(),
        }
    }

    /// The escrow, to read.
    #[must_use]
    pub fn escrow(&self) -> &Escrow {
        &self.escrow
    }

    /// The escrow, for what nobody is answered about: what lapsed, what is held, that the policy has changed.
    pub fn escrow_mut(&mut self) -> &mut Escrow {
        &mut self.escrow
    }

    /// Whether there is something to [tell](Event::Flush) the coordinator.
    pub fn wants_contact(&mut self, now: EpochMs) -> bool {
        self.escrow.advance(now);
        self.escrow.wants_contact(now)
    }

    /// Whether nothing waits here, so that it may be dropped once the escrow is idle.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.gate.is_free()
    }

    /// Takes one event.
    #[must_use]
    pub fn step(&mut self, event: Event<C>, now: EpochMs) -> Effects<C> {
        let mut effects = Vec::new();
        match event {
            Event::Exchange {
                caller,
                message,
                terms,
            } => {
                self.terms = Some(terms);
                let waiter = Waiter {
                    caller,
                    message,
                    tickets: Tickets::new(),
                    since: now,
                    call_at: now,
                };
                self.look(vec![waiter], now, &mut effects);
            }
            Event::Left { caller } => self.left(&caller),
            Event::Answered { sequence, answer } => {
                self.answered(sequence, answer.as_ref(), now, &mut effects);
            }
            Event::Flush { terms } => {
                self.terms = Some(terms);
                if self.wants_contact(now) {
                    self.ask(now, &mut effects);
                }
            }
            Event::Woke => self.give_up_late(now, &mut effects),
            Event::Rest => {
                let row = self.gate.rest(|| self.escrow.rest());
                effects.extend(row.map(Effect::Persist));
            }
            Event::Persisted => self.written(true, now, &mut effects),
            Event::NotPersisted => self.written(false, now, &mut effects),
        }
        effects
    }

    /// Takes back units that isolates spent. `None` while a write is under way: then nothing was taken.
    #[must_use]
    pub fn refund(&mut self, spent: Spent<'_>, now: EpochMs) -> Option<Refund<StoredEscrow>> {
        self.gate.refund(|| {
            let taken = self
                .escrow
                .refund(spent.label, spent.tenant, spent.units, now);
            (taken, self.escrow.due())
        })
    }

    /// What the coordinator says, or that it says nothing. Where that answers the message, what waits is looked at again,
    /// and asks on; else it is answered from what is held. What is said of an older message changes nothing.
    fn answered(
        &mut self,
        sequence: Sequence,
        answer: Option<&Result<ReplyBody, Refusal>>,
        now: EpochMs,
        effects: &mut Effects<C>,
    ) {
        let credited = match answer {
            Some(Ok(reply)) => self.escrow.finish(reply, now),
            Some(Err(refusal)) => {
                self.escrow.refused(sequence, refusal);
                false
            }
            None => {
                self.escrow.fail(sequence);
                false
            }
        };
        let expected = self.asked.take_if(|asked| *asked == sequence).is_some();
        self.leave(None, effects);
        if credited {
            let waiting = mem::take(&mut self.waiting);
            self.look(waiting, now, effects);
        } else if expected {
            self.give_up(now, effects);
        }
    }

    /// Answers all that wait from what is held.
    fn give_up(&mut self, now: EpochMs, effects: &mut Effects<C>) {
        for waiter in mem::take(&mut self.waiting) {
            self.answer(waiter, true, now, effects);
        }
    }

    /// Answers those that what is held covers, or for whom there is nothing to ask; asks for the others.
    fn look(&mut self, waiting: Vec<Waiter<C>>, now: EpochMs, effects: &mut Effects<C>) {
        let before = self.waiting.len();
        for mut waiter in waiting {
            self.escrow.advance(now);
            match self.escrow.outlook(&waiter.message, &waiter.tickets, now) {
                Outlook::Covered | Outlook::Exhausted => self.answer(waiter, false, now, effects),
                Outlook::Unknown => self.answer(waiter, true, now, effects),
                Outlook::Short if self.waits(&mut waiter, now) => self.waiting.push(waiter),
                Outlook::Short => self.answer(waiter, true, now, effects),
            }
        }
        if self.waiting.len() > before || self.escrow.wants_contact(now) {
            self.ask(now, effects);
        }
    }

    /// Registers what is behind the message for the next one to the coordinator. False when it has waited for so long
    /// that there is no time for another call, or too many wait already.
    fn waits(&mut self, waiter: &mut Waiter<C>, now: EpochMs) -> bool {
        if now.since(waiter.since) >= COORDINATOR_CALL_MS_MAX {
            return false;
        }
        let tickets = mem::take(&mut waiter.tickets);
        let registered = self.escrow.wait_on(tickets, &waiter.message, now);
        let room = registered.is_some();
        waiter.tickets = registered.unwrap_or_default();
        waiter.call_at = now;
        room
    }

    /// Answers from what is held. `outage`: what the coordinator has is not known.
    fn answer(&mut self, waiter: Waiter<C>, outage: bool, now: EpochMs, effects: &mut Effects<C>) {
        self.escrow.unwait(&waiter.tickets);
        let answer = self.escrow.exchange(&waiter.message, outage, now);
        let reply = Out::Reply(waiter.caller, answer);
        self.leave(Some(reply), effects);
    }

    fn left(&mut self, caller: &C) {
        let of = |waiter: &Waiter<C>| waiter.caller == *caller;
        if let Some(index) = self.waiting.iter().position(of) {
            let waiter = self.waiting.remove(index);
            self.escrow.unwait(&waiter.tickets);
        }
    }

    /// Answers those whose call has not ended in a call's time.
    fn give_up_late(&mut self, now: EpochMs, effects: &mut Effects<C>) {
        let late = |waiter: &Waiter<C>| now.since(waiter.call_at) >= CALL_MS_MAX;
        let waiting = mem::take(&mut self.waiting);
        let (late, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(late);
        self.waiting = rest;
        for waiter in late {
            self.answer(waiter, true, now, effects);
        }
    }

    /// Makes the next message to the coordinator, unless one is under way.
    fn ask(&mut self, now: EpochMs, effects: &mut Effects<C>) {
        let Some(terms) = self.terms.clone() else {
            return;
        };
        if let Some(body) = self.escrow.begin(terms, now) {
            self.asked = Some(body.sequence);
            self.leave(Some(Out::Send(Box::new(body))), effects);
            effects.push(Effect::WakeAt(now.plus(CALL_MS_MAX)));
        }
    }

    fn written(&mut self, durable: bool, now: EpochMs, effects: &mut Effects<C>) {
        let Some(write) = self.gate.ended() else {
            return;
        };
        if durable {
            self.escrow.stored(write.row);
            effects.extend(write.lets_out.into_iter().map(leaves));
        } else {
            for out in write.lets_out {
                self.unwritten(out, now, effects);
            }
        }
        if durable || !self.gate.is_empty() {
            self.leave(None, effects);
        }
    }

    /// What the message returns is still held by the row, and what the answer lends is not lent by it: neither leaves.
    fn unwritten(&mut self, out: Out<C>, now: EpochMs, effects: &mut Effects<C>) {
        match out {
            Out::Reply(caller, _) => effects.push(Effect::Fail(caller)),
            Out::Send(body) => {
                self.escrow.fail(body.sequence);
                self.asked = None;
                self.give_up(now, effects);
            }
        }
    }

    fn leave(&mut self, out: Option<Out<C>>, effects: &mut Effects<C>) {
        match self.gate.take(out, || self.escrow.due()) {
            Step::Wait => {}
            Step::Write(row) => effects.push(Effect::Persist(row)),
            Step::Leave(out) => effects.extend(out.into_iter().map(leaves)),
        }
    }
}

fn leaves<C>(out: Out<C>) -> Effect<C, StoredEscrow> {
    match out {
        Out::Reply(caller, answer) => Effect::Reply(caller, answer),
        Out::Send(body) => Effect::Send(body),
    }
}
