//! The child's side of one pool: what it holds of the open window, and its one message in flight.
//!
//! A message that was not answered is sent again as it was, never replaced: the parent has either not seen it or
//! answers it again. A reply to anything but the message in flight is never credited.

use super::lease_size::expected_units;
use super::waiting::{Need, Ticket, Waiting};
use crate::limits::{CALL_MS_MAX, COST_MAX, JSON_INTEGER_MAX};
use crate::units::{EpochMs, HolderId, Incarnation, Sequence, WindowLabel};
use crate::wire::exchange::{ExchangeBody, Refusal, ReplyBody, Return, Seen, Terms, VERSION, Want};

/// The child's side of one pool.
///
/// One that is [idle](Holder::idle) may be dropped and made again. The new one must have a higher incarnation: the
/// parent answers an equal message as it did before, and a reply that is under way is known by incarnation and sequence
/// alone.
#[derive(Debug, Clone)]
pub struct Holder {
    pool: String,
    id: HolderId,
    incarnation: Incarnation,
    sequence: Sequence,
    seen: Option<Seen>,
    refused: Option<Seen>,
    unanswered: Option<Sent>,
    lease: Option<Lease>,
    waiting: Waiting,
    denied: u64,
    /// Units used since the last message was made, and when that was: the pace.
    used_since: u64,
    paced_at: EpochMs,
    /// The time of next contact, once the parent has named one.
    contact_at: EpochMs,
    contact_ms: u64,
}

/// What is held of one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The window.
    pub label: WindowLabel,
    /// Its end on this holder's clock, never after its true end.
    pub ends_at: EpochMs,
    /// Its end on this holder's clock, never before its true end.
    pub over_at: EpochMs,
    /// What remained of it when the parent last told: it is never further off, whatever the clock does.
    pub span_ms: u64,
    /// Units in the whole window, over the whole deployment.
    pub limit: u64,
    /// Units lent to this holder and not returned.
    pub held: u64,
    /// Units of those that were spent here, or lent on.
    pub used: u64,
    /// What the parent could still lend when it last spoke.
    pub left: u64,
    /// Whether the parent's parent was out of reach when it last spoke.
    pub outage: bool,
    /// When more may be lent, if the parent said so when it last spoke.
    pub again: Option<Again>,
}

/// When a parent that lent less than was waited for expects to lend more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// When `units` can be lent, if nothing else is lent before.
    pub at: EpochMs,
    /// When the parent is asked again: not before `at`.
    pub asked_at: EpochMs,
    /// The fewest units that a request waited for.
    pub units: u64,
}

impl Lease {
    /// Units that may be used.
    #[must_use]
    pub fn balance(&self) -> u64 {
        self.held.saturating_sub(self.used)
    }

    /// Whether the window is open: before its end, and not further from it than it can be, which it is only on a
    /// clock that has stepped back.
    #[must_use]
    pub fn open(&self, now: EpochMs) -> bool {
        now < self.ends_at && self.ends_at.since(now) <= self.span_ms
    }

    /// Whether the window is over, for the parent too.
    #[must_use]
    pub fn over(&self, now: EpochMs) -> bool {
        !self.open(now) && (now < self.ends_at || now >= self.over_at)
    }

    /// After how many milliseconds, at least 1, a request that was denied may ask again: when the parent expects to
    /// lend more, else at the end of the window.
    #[must_use]
    pub fn retry_ms(&self, now: EpochMs) -> u64 {
        let again = self.again.map(|again| again.asked_at);
        let at = again.filter(|at| now < *at).unwrap_or(self.ends_at);
        at.since(now).max(1)
    }
}

#[derive(Debug, Clone)]
struct Sent {
    body: ExchangeBody,
    first_at: EpochMs,
    sent_at: EpochMs,
    in_flight: bool,
}

/// What a holder can say of a need without asking its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// The balance covers it.
    Covered,
    /// The window has no such units left, as far as the parent knew at its last word. Of a rolling window that may
    /// be so when the lease is over: no sooner than [`Lease::retry_ms`] says will there be any.
    Exhausted,
    /// Whether there are any is not known: the parent's own parent was out of reach, or the message was refused.
    Unknown,
    /// The parent has to be asked.
    Short,
}

impl Holder {
    /// A holder of the pool of that name ([`PoolName`](super::pool_name::PoolName)) that holds nothing. `seen` is the
    /// last reply that an earlier life of it credited durably.
    #[must_use]
    pub fn new(pool: String, id: HolderId, incarnation: Incarnation, seen: Option<Seen>) -> Self {
        Self {
            pool,
            id,
            incarnation,
            sequence: Sequence(0),
            seen,
            refused: None,
            unanswered: None,
            lease: None,
            waiting: Waiting::default(),
            denied: 0,
            used_since: 0,
            paced_at: EpochMs(0),
            contact_at: EpochMs(0),
            contact_ms: 0,
        }
    }

    /// Puts back what an earlier life held durably.
    #[must_use]
    pub fn with_lease(mut self, lease: Lease) -> Self {
        self.lease = Some(lease);
        self
    }

    /// What is held, whether or not its window is over.
    #[must_use]
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// What is held of a window that is still open.
    #[must_use]
    pub fn open_lease(&self, now: EpochMs) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| lease.open(now))
    }

    /// The last reply that was credited.
    #[must_use]
    pub fn seen(&self) -> Option<Seen> {
        self.seen
    }

    /// What is known of `need` without asking the parent. A ticket is what [`Holder::wait_on`] gave to a request; with
    /// one, only a reply to a message that carried its want tells anything.
    #[must_use]
    pub fn outlook(&self, need: Need, ticket: Option<Ticket>, now: EpochMs) -> Outlook {
        if ticket.is_some_and(|ticket| self.refused >= Some(ticket.message())) {
            return Outlook::Unknown;
        }
        let told = ticket.map_or(self.recent(now), |ticket| self.answered(ticket));
        let Some(lease) = self.open_lease(now) else {
            return if told && self.held_off(need, now) {
                Outlook::Exhausted
            } else {
                Outlook::Short
            };
        };
        if lease.balance() >= need.units {
            return Outlook::Covered;
        }
        if !told {
            Outlook::Short
        } else if lease.outage {
            Outlook::Unknown
        } else if lease.left == 0 || lease.left.saturating_add(lease.balance()) < need.smallest {
            Outlook::Exhausted
        } else {
            Outlook::Short
        }
    }

    /// Spends `cost` units from the balance and answers whether it covered them.
    #[must_use]
    pub fn spend(&mut self, cost: u64, now: EpochMs) -> bool {
        let open = self.lease.as_mut().filter(|lease| lease.open(now));
        let Some(lease) = open.filter(|lease| lease.balance() >= cost) else {
            return false;
        };
        lease.used += cost;
        self.used_since = self.used_since.saturating_add(cost);
        true
    }

    /// Puts `units` that were spent here in the window `label` back into the balance, as the request that spent them
    /// was denied elsewhere. Answers whether it did: not when another window is held by now.
    #[must_use]
    pub fn unspend(&mut self, label: WindowLabel, units: u64) -> bool {
        let lease = self.lease.as_mut().filter(|lease| lease.label == label);
        let Some(lease) = lease.filter(|lease| lease.used >= units) else {
            return false;
        };
        lease.used -= units;
        self.used_since = self.used_since.saturating_sub(units);
        true
    }

    /// Counts units that were denied here, as demand.
    pub fn deny(&mut self, cost: u64) {
        self.denied = self.denied.saturating_add(cost).min(JSON_INTEGER_MAX);
    }

    /// Registers a need that waits, or keeps the ticket in hand while the message that carries it is not answered.
    /// `None` when too many wait already.
    #[must_use]
    pub fn wait_on(&mut self, ticket: Option<Ticket>, need: Need, now: EpochMs) -> Option<Ticket> {
        match ticket {
            Some(ticket) if !self.answered(ticket) => return Some(ticket),
            Some(ticket) => self.unwait(ticket),
            None => {}
        }
        self.wait(need, now)
    }

    /// Registers a need that waits. `None` when too many wait already.
    fn wait(&mut self, need: Need, now: EpochMs) -> Option<Ticket> {
        let next = self.message(Sequence(self.sequence.0 + 1));
        self.waiting.add(need, next, now)
    }

    /// Takes a waiting need off again.
    pub fn unwait(&mut self, ticket: Ticket) {
        self.waiting.remove(ticket);
    }

    /// Whether a message that carried the ticket's want was answered or refused.
    #[must_use]
    pub fn answered(&self, ticket: Ticket) -> bool {
        self.seen.max(self.refused) >= Some(ticket.message())
    }

    fn message(&self, sequence: Sequence) -> Seen {
        Seen {
            incarnation: self.incarnation,
            sequence,
        }
    }

    /// Records that `units` are lent on in all (a region's lender), of which `more` since the last call.
    pub fn lent_on(&mut self, units: u64, more: u64) {
        if let Some(lease) = self.lease.as_mut() {
            lease.used = units;
        }
        self.used_since = self.used_since.saturating_add(more);
    }

    /// Whether a message should be sent without waiting for a shortage: units are running low at the present pace,
    /// or the time of next contact has come and there is something to tell.
    #[must_use]
    pub fn wants_contact(&self, now: EpochMs) -> bool {
        if let Some(sent) = &self.unanswered {
            return !sent.in_flight && now >= self.contact_at;
        }
        let Some(lease) = self.open_lease(now) else {
            return false;
        };
        let expected = self.expected(now);
        let low = lease.balance() < expected / 2 && lease.left > 0;
        let idle = now >= self.contact_at && (lease.balance() > expected || self.denied > 0);
        low || idle
    }

    /// Makes the next message, or repeats the one that was not answered. `None` while one is in flight.
    pub fn begin(&mut self, terms: Terms, now: EpochMs) -> Option<ExchangeBody> {
        if let Some(sent) = self.unanswered.as_mut() {
            if sent.in_flight && now.since(sent.sent_at) < CALL_MS_MAX {
                return None;
            }
            sent.in_flight = true;
            sent.sent_at = now;
            return Some(sent.body.clone());
        }
        let body = self.compose(terms, now);
        self.unanswered = Some(Sent {
            body: body.clone(),
            first_at: now,
            sent_at: now,
            in_flight: true,
        });
        Some(body)
    }

    /// Whether there is anything left to tell: units to return, demand, or a message that was not answered.
    #[must_use]
    pub fn restless(&self, now: EpochMs) -> bool {
        let untold = |lease: &Lease| lease.balance() > 0 || self.denied > 0;
        self.unanswered.is_some() || self.open_lease(now).is_some_and(untold)
    }

    /// Whether the holder may be dropped without changing any promise: every message was answered or refused, no
    /// request waits, and the window is over, for the parent too. To drop it before wastes what it holds and nothing
    /// else.
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        let over = self.lease.as_ref().is_none_or(|lease| lease.over(now));
        over && self.unanswered.is_none() && !self.waiting.any(now)
    }

    /// The message was not answered in time: it will be sent again as it was.
    pub fn fail(&mut self, sequence: Sequence) {
        if let Some(sent) = self.unanswered.as_mut()
            && sent.body.sequence == sequence
        {
            sent.in_flight = false;
        }
    }

    /// Credits the reply to the message in flight and answers whether it did; any other reply is ignored.
    pub fn finish(&mut self, reply: &ReplyBody, now: EpochMs) -> bool {
        let expected = |sent: &&Sent| {
            sent.body.incarnation == reply.to.incarnation && sent.body.sequence == reply.to.sequence
        };
        let Some(sent) = self.unanswered.as_ref().filter(expected) else {
            return false;
        };
        let sent_at = sent.first_at.min(now);
        let waiting = sent.body.wants.iter().filter(|want| want.waiting > 0);
        let smallest = waiting.map(|want| want.smallest).min().unwrap_or(0);
        self.unanswered = None;
        self.seen = Some(reply.to);
        self.contact_ms = reply.next_contact_ms;
        self.contact_at = now.plus(reply.next_contact_ms);
        self.credit(reply, smallest, sent_at, now);
        true
    }

    /// The parent refused the message. A stale sequence jumps past the parent's; anything else is dropped.
    pub fn refused(&mut self, sequence: Sequence, refusal: &Refusal) {
        let this = |sent: &&Sent| sent.body.sequence == sequence;
        if self.unanswered.as_ref().filter(this).is_none() {
            return;
        }
        self.unanswered = None;
        match refusal {
            Refusal::Stale { have, .. } => self.sequence = self.sequence.max(*have),
            _ => self.refused = Some(self.message(sequence)),
        }
    }

    /// Forgets how long to hold back: the policy has changed, what was exhausted may not be.
    pub fn ask_again(&mut self) {
        self.contact_at = EpochMs(0);
    }

    fn compose(&mut self, terms: Terms, now: EpochMs) -> ExchangeBody {
        self.waiting.expire(now);
        let expected = self.expected(now);
        let returns = if self.waiting.units() == 0 {
            self.give_back(expected, now)
        } else {
            Vec::new()
        };
        let want = self.want(expected, now);
        self.sequence = Sequence(self.sequence.0 + 1);
        self.used_since = 0;
        self.paced_at = now;
        ExchangeBody {
            v: VERSION,
            budget: self.pool.clone(),
            terms,
            holder: self.id,
            incarnation: self.incarnation,
            sequence: self.sequence,
            seen: self.seen,
            window: self.lease.map(|lease| lease.label),
            wants: vec![want],
            returns,
            denied: std::mem::take(&mut self.denied),
        }
    }

    /// What is asked for beyond the balance.
    fn want(&self, expected: u64, now: EpochMs) -> Want {
        let balance = self.open_lease(now).map_or(0, Lease::balance);
        let waiting = self.waiting.units().saturating_sub(balance);
        let smallest = self.waiting.smallest().saturating_sub(balance).max(1);
        Want {
            tenant: None,
            waiting,
            smallest: smallest.min(waiting),
            expected: expected.saturating_sub(balance),
        }
    }

    /// Whether the parent's last word is recent. A contact time further off than the parent's pace comes from a clock
    /// that has stepped back since.
    fn recent(&self, now: EpochMs) -> bool {
        now < self.contact_at && self.contact_at.since(now) <= self.contact_ms
    }

    /// Units expected to be used until the contact after the next or the end of the window, at the pace since the last
    /// message.
    fn expected(&self, now: EpochMs) -> u64 {
        let elapsed_ms = now.since(self.paced_at);
        let lease = self.open_lease(now);
        let left_ms = lease.map_or(self.contact_ms, |lease| lease.ends_at.since(now));
        let horizon_ms = self.contact_ms.min(left_ms);
        expected_units(self.used_since, elapsed_ms, horizon_ms).min(COST_MAX)
    }

    /// Takes what is not expected to be used out of the balance: it is the parent's again as soon as it is sent.
    fn give_back(&mut self, keep: u64, now: EpochMs) -> Vec<Return> {
        let Some(lease) = self.lease.as_mut().filter(|lease| lease.open(now)) else {
            return Vec::new();
        };
        let units = lease.balance().saturating_sub(keep).min(COST_MAX);
        if units == 0 {
            return Vec::new();
        }
        lease.held -= units;
        vec![Return {
            window: lease.label,
            units,
        }]
    }

    /// Whether the parent said that no units like `need` can be lent before a time that is still to come.
    fn held_off(&self, need: Need, now: EpochMs) -> bool {
        let again = self.lease.and_then(|lease| lease.again);
        again.is_some_and(|again| now < again.at && need.units > 0 && need.smallest >= again.units)
    }

    fn credit(&mut self, reply: &ReplyBody, smallest: u64, sent_at: EpochMs, now: EpochMs) {
        let granted: u64 = reply.grants.iter().map(|grant| grant.units).sum();
        let window = reply.window;
        let (ends_at, span_ms) = (sent_at.plus(window.remaining_ms), window.remaining_ms);
        let over_at = now.plus(window.remaining_ms);
        let again = reply.retry_ms.map(|ms| Again {
            at: now.plus(ms),
            // Until the time of contact, or the end of the lease, what the parent said counts.
            asked_at: now.plus(ms.max(reply.next_contact_ms.min(window.remaining_ms))),
            units: smallest,
        });
        match self.lease.as_mut() {
            Some(lease) if window.label < lease.label => {}
            Some(lease) if window.label == lease.label => {
                lease.held += granted;
                if ends_at > lease.ends_at || !lease.open(now) {
                    lease.ends_at = ends_at;
                    lease.span_ms = span_ms;
                }
                lease.over_at = over_at;
                lease.limit = window.limit;
                lease.left = reply.left;
                lease.outage = reply.outage;
                lease.again = again;
            }
            _ => {
                self.lease = Some(Lease {
                    label: window.label,
                    ends_at,
                    over_at,
                    span_ms,
                    limit: window.limit,
                    held: granted,
                    used: 0,
                    left: reply.left,
                    outage: reply.outage,
                    again,
                });
            }
        }
    }
}
