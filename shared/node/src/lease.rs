//! An isolate's part of a pool at work: decides from what it holds, asks its region while it is short, and answers all that
//! wait by one answer of the region.
//!
//! Nothing here is durable: an isolate that dies loses what it holds.

mod ask;

use std::mem;

use weir_core::limits::{DECIDE_WAIT_MS_MAX, EARLY_MS_MAX};
use weir_core::units::{EpochMs, Sequence};
use weir_federation::holder::Holder;
use weir_federation::waiting::Ticket;
use weir_wire::exchange::{ExchangeBody, Terms};

use super::{LendAnswer, Spent};

pub use ask::{Decided, HolderDecision, PoolAsk, WaitingAsk};

/// What happens to it.
#[derive(Debug, Clone)]
pub enum Event<C> {
    /// A request asks, of which [`LeaseNode::check`] said that the parent has to be asked.
    Check {
        /// Who is answered.
        caller: C,
        /// What it asks.
        asked: WaitingAsk,
    },
    /// The request is gone, whether it was answered or not.
    Left {
        /// Who was to be answered.
        caller: C,
    },
    /// What came of the message of that number: the region's answer, or none in time.
    Answered {
        /// The message's number.
        sequence: Sequence,
        /// The answer.
        answer: Option<LendAnswer>,
    },
    /// The instant that was named has come.
    Woke,
    /// It is time to tell the region, if there is something to tell.
    Flush {
        /// The pool's terms.
        terms: Terms,
    },
    /// Units run low.
    Refill {
        /// The pool's terms.
        terms: Terms,
    },
    /// Something was changed at the region apart from this node, such as by a settlement: it is to be heard of at once. An
    /// answer that is under way may be older, so the region is asked again after it.
    Changed {
        /// The pool's terms.
        terms: Terms,
    },
    /// The pool's windows are opened elsewhere by now, so that what is held is void: another holder goes on.
    Renewed {
        /// The other holder.
        holder: Box<Holder>,
    },
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<C> {
    /// Send the message to the region, and say `Answered` with what comes of it, within a call's time.
    Send(Box<ExchangeBody>),
    /// The caller's answer is there: it is [taken](LeaseNode::take).
    Reply(C),
    /// Say `Woke` at that instant, on the node's clock. The last one that is named counts.
    WakeAt(EpochMs),
}

/// What a request that waited is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is decided.
    Decided(Decided),
    /// Who could tell is out of reach, or did not say in time.
    Unavailable,
}

/// A request that waits.
#[derive(Debug, Clone)]
struct Waiter {
    asked: WaitingAsk,
    ticket: Option<Ticket>,
    since: EpochMs,
}

/// An answer that nobody has taken yet.
#[derive(Debug, Clone)]
struct PendingAnswer {
    verdict: Verdict,
    tenant: Option<String>,
    cost: u64,
    at: EpochMs,
}

impl PendingAnswer {
    /// What it charged.
    fn spent(&self) -> Option<Spent<'_>> {
        match &self.verdict {
            Verdict::Decided((decision, Some(label))) if decision.admitted() => Some(Spent {
                label: *label,
                tenant: self.tenant.as_deref(),
                units: self.cost,
            }),
            _ => None,
        }
    }
}

/// A holder, and the requests that wait for it.
#[derive(Debug, Clone)]
pub struct LeaseNode<C> {
    holder: Holder,
    /// In the order in which they came, which is that of their callers.
    waiting: Vec<(C, Waiter)>,
    answers: Vec<(C, PendingAnswer)>,
    /// The instant that was named last, until it has come.
    wakes_at: Option<EpochMs>,
    /// The terms by which the region is asked again once the message under way is answered.
    changed: Option<Terms>,
}

type Effects<C> = Vec<Effect<C>>;

impl<C: Copy + Ord> LeaseNode<C> {
    /// Starts with a holder. Callers come in their order.
    #[must_use]
    pub fn new(holder: Holder) -> Self {
        Self {
            holder,
            waiting: Vec::new(),
            answers: Vec::new(),
            wakes_at: None,
            changed: None,
        }
    }

    /// The holder, to read.
    #[must_use]
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// The holder, for what nobody waits for: what is [drawn](Holder::draw) at once, what lapsed, that the policy has
    /// changed.
    pub fn holder_mut(&mut self) -> &mut Holder {
        &mut self.holder
    }

    /// What is held decides, in one call without any effect.
    #[must_use]
    pub fn check(&mut self, ask: &PoolAsk<'_>, now: EpochMs) -> HolderDecision {
        ask.decide(&mut self.holder, None, now)
    }

    /// Counts what nobody could decide as demand.
    pub fn deny(&mut self, ask: &PoolAsk<'_>, now: EpochMs) {
        ask.count_denied(&mut self.holder, now);
    }

    /// Puts units that were spent here back, as the request that spent them was denied elsewhere: whoever waits may have
    /// them. `None` where the window is over: they belong to nobody.
    #[must_use]
    pub fn undo(&mut self, spent: Spent<'_>, now: EpochMs) -> Option<Effects<C>> {
        if !self.holder.unspend(spent.label, spent.tenant, spent.units) {
            return None;
        }
        let mut effects = Vec::new();
        self.look_again(now, &mut effects);
        Some(effects)
    }

    /// The answer to a caller, once.
    #[must_use]
    pub fn take(&mut self, caller: C) -> Option<Verdict> {
        self.take_told(caller).map(|told| told.verdict)
    }

    /// Whether a caller waits to be answered.
    #[must_use]
    pub fn waits(&self, caller: C) -> bool {
        self.place(caller).is_some()
    }

    /// Whether there is something to [tell](Event::Flush) the region.
    #[must_use]
    pub fn wants_contact(&mut self, now: EpochMs) -> bool {
        self.holder.advance(now);
        self.holder.wants_contact(now)
    }

    /// The instant that was named last, until it has come.
    #[must_use]
    pub fn wakes_at(&self) -> Option<EpochMs> {
        self.wakes_at
    }

    /// Whether there are answers that nobody has taken yet.
    #[must_use]
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Whether there is anything left to tell, or an answer that nobody takes.
    #[must_use]
    pub fn has_unsent(&self, now: EpochMs) -> bool {
        self.has_answers() || self.holder.has_unsent(now)
    }

    /// Whether it may be dropped without changing any promise; see [`Holder::idle`].
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        self.waiting.is_empty() && !self.has_answers() && self.holder.idle(now)
    }

    /// Takes one event.
    #[must_use]
    pub fn step(&mut self, event: Event<C>, now: EpochMs) -> Effects<C> {
        let mut effects = Vec::new();
        match event {
            Event::Check { caller, asked } => {
                self.look_if_due(now, &mut effects);
                let waiter = Waiter {
                    asked,
                    ticket: None,
                    since: now,
                };
                self.look(vec![(caller, waiter)], now, &mut effects);
            }
            Event::Left { caller } => {
                self.left(caller, now, &mut effects);
                self.look_if_due(now, &mut effects);
            }
            Event::Answered { sequence, answer } => {
                match &answer {
                    Some(Ok(reply)) => {
                        self.holder.finish(reply, now);
                    }
                    Some(Err(refusal)) => self.holder.refused(sequence, refusal),
                    None => self.holder.fail(sequence),
                }
                self.look_again(now, &mut effects);
                if let Some(terms) = self.changed.take() {
                    self.ask_anew(terms, now, &mut effects);
                }
            }
            Event::Woke => self.look_again(now, &mut effects),
            Event::Flush { terms } => {
                self.give_back_untaken(now);
                self.look_if_due(now, &mut effects);
                if self.wants_contact(now) {
                    self.tell(terms, now, &mut effects);
                }
            }
            Event::Refill { terms } => {
                self.look_if_due(now, &mut effects);
                self.tell(terms, now, &mut effects);
            }
            Event::Changed { terms } => {
                self.look_if_due(now, &mut effects);
                self.ask_anew(terms, now, &mut effects);
            }
            Event::Renewed { holder } => {
                self.changed = None;
                self.holder = *holder;
                for (_, waiter) in &mut self.waiting {
                    waiter.ticket = None;
                }
                self.look_again(now, &mut effects);
            }
        }
        effects
    }

    /// Another parent is asked from now on, by another holder, which has those that wait. What is left of this one nobody
    /// waits for, and it gives back all that it holds.
    #[must_use]
    pub fn moves(&mut self, holder: Holder, now: EpochMs) -> (Self, Effects<C>) {
        self.give_back_untaken(now);
        let mut left = Self::new(mem::replace(&mut self.holder, holder));
        for (_, waiter) in &mut self.waiting {
            if let Some(ticket) = waiter.ticket.take() {
                left.holder.unwait(ticket);
            }
        }
        left.holder.close();
        self.changed = None;
        let mut effects = Vec::new();
        self.look_again(now, &mut effects);
        (left, effects)
    }

    /// Looks at all that wait where the instant has come that was named, before another is named: whoever comes in between
    /// would put it off.
    fn look_if_due(&mut self, now: EpochMs, effects: &mut Effects<C>) {
        if self.wakes_at.is_some_and(|at| now >= at) {
            self.look_again(now, effects);
        }
    }

    /// Looks at all that wait.
    fn look_again(&mut self, now: EpochMs, effects: &mut Effects<C>) {
        self.give_back_untaken(now);
        self.wakes_at = None;
        if !self.waiting.is_empty() {
            let waiting = mem::take(&mut self.waiting);
            self.look(waiting, now, effects);
        }
    }

    /// Answers those that can be decided; asks for the others, and for more where units run low.
    fn look(&mut self, waiting: Vec<(C, Waiter)>, now: EpochMs, effects: &mut Effects<C>) {
        let (mut short, mut low) = (false, None);
        for (caller, mut waiter) in waiting {
            let verdict = self.verdict(&mut waiter, now);
            if let Some(verdict) = verdict {
                let tenant = waiter.asked.party.name().map(str::to_owned);
                if self.holder.runs_low(tenant.as_deref(), now) {
                    low = Some(waiter.asked.terms);
                }
                let told = PendingAnswer {
                    verdict,
                    tenant,
                    cost: waiter.asked.cost,
                    at: now,
                };
                self.answers.push((caller, told));
                effects.push(Effect::Reply(caller));
            } else {
                short = true;
                self.waiting.push((caller, waiter));
            }
        }
        if short && !self.opens_soon(now) {
            // Whoever came last knows the newest terms.
            let last = self.waiting.last();
            low = last.map(|(_, waiter)| waiter.asked.terms.clone());
        }
        let asks = low.is_some_and(|terms| self.ask(terms, now, effects));
        if asks && !self.waiting.is_empty() {
            // A message by other terms may free what is held for whoever waits; now one is under way.
            let waiting = mem::take(&mut self.waiting);
            return self.look(waiting, now, effects);
        }
        self.wakes_at = self.next_wake(now);
        effects.extend(self.wakes_at.map(Effect::WakeAt));
    }

    /// What a request that waits is answered by now; else it is registered for the next message.
    fn verdict(&mut self, waiter: &mut Waiter, now: EpochMs) -> Option<Verdict> {
        let ask = waiter.asked.ask();
        let held = ask.decide(&mut self.holder, waiter.ticket, now);
        let verdict = match held {
            HolderDecision::Decided(decided) => Some(Verdict::Decided(decided)),
            HolderDecision::Unknown => Some(Verdict::Unavailable),
            HolderDecision::Short if now.since(waiter.since) >= DECIDE_WAIT_MS_MAX => {
                Some(Verdict::Unavailable)
            }
            HolderDecision::Short => {
                let ticket = waiter.ticket.take();
                waiter.ticket = self.holder.wait_on(ask.party, ticket, ask.need(), now);
                waiter.ticket.is_none().then_some(Verdict::Unavailable)
            }
        };
        if verdict == Some(Verdict::Unavailable) {
            ask.count_denied(&mut self.holder, now);
        }
        if verdict.is_some()
            && let Some(ticket) = waiter.ticket.take()
        {
            self.holder.unwait(ticket);
        }
        verdict
    }

    /// Makes the next message to the region, or repeats the one that was not answered, unless one is under way. Whether
    /// it did.
    fn ask(&mut self, terms: Terms, now: EpochMs, effects: &mut Effects<C>) -> bool {
        let body = self.holder.begin(terms, now);
        let asks = body.is_some();
        effects.extend(body.map(|body| Effect::Send(Box::new(body))));
        asks
    }

    /// Whether a window opens at once of which units are held: nobody need be asked.
    fn opens_soon(&self, now: EpochMs) -> bool {
        let opens_in_ms = self.holder.opens_in_ms(now);
        opens_in_ms.is_some_and(|ms| ms <= EARLY_MS_MAX)
    }

    /// Sends a message for other reasons than that somebody waits.
    fn tell(&mut self, terms: Terms, now: EpochMs, effects: &mut Effects<C>) {
        if self.ask(terms, now, effects) {
            self.look_again(now, effects);
        }
    }

    /// Asks what the region says now, after the answer to the message that is under way.
    fn ask_anew(&mut self, terms: Terms, now: EpochMs, effects: &mut Effects<C>) {
        if self.ask(terms.clone(), now, effects) {
            self.look_again(now, effects);
        } else {
            self.changed = Some(terms);
        }
    }

    /// When those that wait are to be looked at again, whatever the region says: a window opens of which units are held,
    /// the wait of the first is over, or the message may be repeated.
    fn next_wake(&self, now: EpochMs) -> Option<EpochMs> {
        let since = self.waiting.first()?.1.since;
        let ends_at = since.plus(DECIDE_WAIT_MS_MAX);
        let instants = [
            Some(ends_at),
            self.holder.repeats_at(),
            self.holder.opens_at(now),
        ];
        let to_come = instants.into_iter().flatten().filter(|at| *at > now);
        // Where the clock has stepped, the wait is measured by it.
        to_come.min().or(Some(now.plus(1)))
    }

    fn left(&mut self, caller: C, now: EpochMs, effects: &mut Effects<C>) {
        if let Some(place) = self.place(caller) {
            let (_, waiter) = self.waiting.remove(place);
            if let Some(ticket) = waiter.ticket {
                self.holder.unwait(ticket);
            }
        } else if let Some(told) = self.take_told(caller)
            && let Some(spent) = told.spent()
        {
            effects.extend(self.undo(spent, now).into_iter().flatten());
        }
    }

    fn place(&self, caller: C) -> Option<usize> {
        let place = self.waiting.binary_search_by_key(&caller, |(of, _)| *of);
        place.ok()
    }

    fn take_told(&mut self, caller: C) -> Option<PendingAnswer> {
        let place = self.answers.iter().position(|(of, _)| *of == caller)?;
        Some(self.answers.swap_remove(place).1)
    }

    /// Gives back what was charged for requests that the platform ended: nobody takes their answers.
    fn give_back_untaken(&mut self, now: EpochMs) {
        let holder = &mut self.holder;
        self.answers.retain(|(_, told)| {
            let taken_soon = now.since(told.at) < DECIDE_WAIT_MS_MAX;
            if !taken_soon && let Some(spent) = told.spent() {
                // Units of a window that is over belong to nobody.
                let _back = holder.unspend(spent.label, spent.tenant, spent.units);
            }
            taken_soon
        });
    }
}
