//! What an isolate knows of one key that a region's shard keeps: units drawn ahead, and a denial that still stands.
//!
//! A draw is a spend: the shard has charged the units when they arrive. What is not used goes back with the next
//! question, or when its time is over. A denial that stands answers every request that costs as much or more.

use weir_algorithms::scale::ScaledReceipt;
use weir_core::limits::{CALL_MS_MAX, CONTACT_MS_MIN, COST_MAX, STRAYS_MAX};
use weir_core::units::EpochMs;
use weir_decision::{Decision, Reason, Retry};
use weir_federation::lease_size::expected_units;
use weir_federation::waiting::{Need, Ticket, Waiting};
use weir_wire::exchange::Seen;

use super::cache::{Entry, Worth};

/// One key, as an isolate sees it.
#[derive(Debug, Clone, Default)]
pub struct KeyCache {
    drawn: Option<Drawn>,
    denied: Option<Denied>,
    asked_at: Option<EpochMs>,
    waiting: Waiting,
    /// Units of earlier draws that came back unspent, on their way to the shard.
    strays: Vec<(u64, ScaledReceipt)>,
    /// Units used since `paced_at`: the isolate's own rate.
    used: u64,
    paced_at: EpochMs,
}

/// Units that may be spent without asking.
#[derive(Debug, Clone)]
struct Drawn {
    units: u64,
    until: EpochMs,
    receipt: ScaledReceipt,
    /// What the shard decided when it charged them, without them.
    told: Decision,
}

/// A denial that still stands.
#[derive(Debug, Clone, Copy)]
struct Denied {
    cost: u64,
    decision: Decision,
    at: EpochMs,
    until: EpochMs,
}

/// What a key cache says to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It is decided.
    Decided(Decision),
    /// Another request has asked; its answer may be for this one too.
    Wait,
    /// The shard has to be asked.
    Ask,
}

/// What to ask the shard.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawQuestion {
    /// Units beyond the request's own: those of the requests that wait, and what this isolate uses in one interval.
    pub ahead: u64,
    /// Units to give back first.
    pub back: Option<(u64, ScaledReceipt)>,
}

/// What the shard charged ahead.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// Units.
    pub units: u64,
    /// For how long they may be used; `None` for as long as a key cache keeps units.
    pub spendable_ms: Option<u64>,
    /// What gives them back.
    pub receipt: ScaledReceipt,
}

impl Entry for KeyCache {
    /// What is drawn is charged, and who waits has a place: these go last.
    fn worth(&self, now: EpochMs) -> Worth {
        if self.has_unsent() || self.asking(now) {
            Worth::Units
        } else if self.idle(now) {
            Worth::Nothing
        } else {
            Worth::Answer
        }
    }
}

impl KeyCache {
    /// What is known of a request of `cost` units without asking, of a limit that admits at most `ceiling` at once. With
    /// `look` it only looks: nothing is spent.
    pub fn look(&mut self, (cost, ceiling): (u64, u64), look: bool, now: EpochMs) -> Look {
        if let Some(decision) = self.standing_denial(cost, ceiling, now) {
            return Look::Decided(decision);
        }
        if let Some(drawn) = self.drawn.as_mut()
            && now < drawn.until
            && drawn.units >= cost
        {
            let spent = if look { 0 } else { cost };
            drawn.units -= spent;
            let remaining = drawn.told.remaining.saturating_add(drawn.units);
            self.used = self.used.saturating_add(spent);
            return Look::Decided(Decision {
                remaining,
                ..drawn.told
            });
        }
        if self.asking(now) {
            Look::Wait
        } else {
            Look::Ask
        }
    }

    /// The denial that stands for a request of that cost. One above `ceiling`, which no state admits, has to be asked for.
    #[must_use]
    pub fn standing_denial(&self, cost: u64, ceiling: u64, now: EpochMs) -> Option<Decision> {
        let never = |denied: &&Denied| denied.decision.retry == Retry::Never;
        let finite = |denied: &&Denied| cost <= ceiling || never(denied);
        let denied = self.denied.as_ref().filter(finite)?;
        let stands = denied.at <= now && now < denied.until && cost >= denied.cost;
        let retry = match denied.decision.retry {
            Retry::AfterMs(ms) => Retry::AfterMs(ms.saturating_sub(now.since(denied.at)).max(1)),
            other => other,
        };
        stands.then_some(Decision {
            retry,
            ..denied.decision
        })
    }

    /// What gives the units back that are drawn.
    #[must_use]
    pub fn receipt(&self) -> Option<ScaledReceipt> {
        self.drawn.as_ref().map(|drawn| drawn.receipt.clone())
    }

    /// Makes the question of a request; the answer comes by [`KeyCache::finish`] or [`KeyCache::fail`]. A request that only looks
    /// moves nothing.
    pub fn ask(&mut self, look: bool, now: EpochMs) -> DrawQuestion {
        self.waiting.expire(now);
        if look {
            self.asked_at = Some(now);
            return DrawQuestion {
                ahead: 0,
                back: None,
            };
        }
        let interval = self.interval(now);
        self.asked_at = Some(now);
        DrawQuestion {
            ahead: self.waiting.units().saturating_add(interval).min(COST_MAX),
            back: self.take_back(),
        }
    }

    /// The shard decided `cost` units of a question, of which it charged `spent`, that was sent at `sent_at`;
    /// `contact_at` is when the region is heard of again.
    pub fn finish(
        &mut self,
        (cost, spent, decision): (u64, u64, Decision),
        draw: Option<Draw>,
        (sent_at, contact_at): (EpochMs, EpochMs),
    ) {
        self.asked_at = None;
        self.denied = None;
        if !decision.admitted() {
            self.deny(cost, decision, sent_at, contact_at);
        }
        self.admit(spent, decision, draw, sent_at);
    }

    /// The shard charged `spent` units, and what was drawn ahead of it, for a question that was sent at `sent_at`.
    pub fn admit(&mut self, spent: u64, decision: Decision, draw: Option<Draw>, sent_at: EpochMs) {
        self.used = self.used.saturating_add(spent);
        let Some(draw) = draw else {
            return;
        };
        if let Some((units, receipt)) = self.take_back() {
            self.stray(units, receipt);
        }
        let span_ms = draw
            .spendable_ms
            .map_or(CONTACT_MS_MIN, |ms| ms.min(CONTACT_MS_MIN));
        // What the shard has left beyond what it charged ahead.
        let remaining = decision.remaining.saturating_sub(draw.units);
        self.drawn = Some(Drawn {
            units: draw.units,
            until: sent_at.plus(span_ms),
            receipt: draw.receipt,
            told: Decision {
                remaining,
                ..decision
            },
        });
    }

    /// What this isolate uses in one interval, at its own rate since it was asked for last.
    pub fn interval(&mut self, now: EpochMs) -> u64 {
        let units = expected_units(self.used, now.since(self.paced_at), CONTACT_MS_MIN);
        self.used = 0;
        self.paced_at = now;
        units.min(COST_MAX)
    }

    /// The shard denied `cost` units of a question that was sent at `sent_at`. A denial stands until its retry time,
    /// counted from then so that it never outlasts it, and at most until `contact_at`, when the region is heard of
    /// again. One for want of a slot does not stand: the slot is free as soon as its holder releases it.
    pub fn deny(&mut self, cost: u64, decision: Decision, sent_at: EpochMs, contact_at: EpochMs) {
        if matches!(decision.reason, Reason::Unavailable | Reason::Concurrency) {
            return;
        }
        let until = match decision.retry {
            Retry::AfterMs(ms) => sent_at.plus(ms).min(contact_at),
            _ => contact_at,
        };
        self.denied = Some(Denied {
            cost,
            decision,
            at: sent_at,
            until,
        });
    }

    /// Units that were spent of a draw come back: the request was denied elsewhere.
    pub fn unspend(&mut self, units: u64, receipt: &ScaledReceipt, now: EpochMs) {
        let same = |drawn: &&mut Drawn| drawn.receipt == *receipt && now < drawn.until;
        if let Some(drawn) = self.drawn.as_mut().filter(same) {
            drawn.units = drawn.units.saturating_add(units);
        } else {
            self.stray(units, receipt.clone());
        }
    }

    fn stray(&mut self, units: u64, receipt: ScaledReceipt) {
        if self.strays.len() < STRAYS_MAX {
            self.strays.push((units, receipt));
        }
    }

    /// Whether a question is under way whose answer may be for others too.
    #[must_use]
    pub fn asking(&self, now: EpochMs) -> bool {
        let under_way = |asked_at: EpochMs| now.since(asked_at) <= CALL_MS_MAX;
        self.asked_at.is_some_and(under_way)
    }

    /// A question of several keys is under way; it ends with [`KeyCache::fail`], whatever came of it.
    pub fn claim(&mut self, now: EpochMs) {
        self.asked_at = Some(now);
    }

    /// The shard did not answer.
    pub fn fail(&mut self) {
        self.asked_at = None;
    }

    /// A request that waits for another's answer. `None` when too many wait.
    #[must_use]
    pub fn wait(&mut self, cost: u64, now: EpochMs) -> Option<Ticket> {
        self.waiting
            .add(None, Need::one(cost), Seen::default(), now)
    }

    /// It waits no longer.
    pub fn unwait(&mut self, ticket: Ticket) {
        self.waiting.remove(ticket);
    }

    /// Units whose time is over, to give back.
    pub fn unspent(&mut self, now: EpochMs) -> Option<(u64, ScaledReceipt)> {
        if let Some(stray) = self.strays.pop() {
            return Some(stray);
        }
        let over = |drawn: &Drawn| now >= drawn.until;
        if self.asked_at.is_none() && self.drawn.as_ref().is_some_and(over) {
            return self.take_back();
        }
        None
    }

    /// Whether units are held that have to go back some time.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        !self.strays.is_empty() || self.drawn.as_ref().is_some_and(|drawn| drawn.units > 0)
    }

    /// Whether nothing would be lost by forgetting this key.
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        let denies = self
            .denied
            .as_ref()
            .is_some_and(|denied| now < denied.until);
        let paced = self.used > 0 && now.since(self.paced_at) <= CONTACT_MS_MIN;
        !self.has_unsent() && !denies && !self.asking(now) && !paced && self.waiting.units() == 0
    }

    /// The policy has changed: what was denied may not be.
    pub fn ask_again(&mut self) {
        self.denied = None;
    }

    /// Takes what is drawn, to give it back.
    pub fn take_back(&mut self) -> Option<(u64, ScaledReceipt)> {
        let drawn = self.drawn.take()?;
        (drawn.units > 0).then_some((drawn.units, drawn.receipt))
    }
}

#[cfg(test)]
mod tests;
