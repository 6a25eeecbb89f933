//! A region's part of one pool: held of the coordinator, lent on to isolates.
//!
//! What was held and what was lent on are one stored row. It is written before a message that returns units or a
//! reply that lends units leaves, so that a region that wakes can neither lend twice nor return what it lent.

use super::holder::{Holder, Lease, Outlook};
use super::lender::{Lender, Offer};
use super::message::Message;
use super::waiting::{Need, Ticket};
use super::window::Window;
use crate::limits::CALL_MS_MAX;
use crate::units::{EpochMs, HolderId, Incarnation, Sequence, WindowLabel};
use crate::wire::exchange::{ExchangeBody, Refusal, ReplyBody, Terms};
use crate::wire::stored::StoredEscrow;

/// A region's part of one pool.
///
/// One that is [idle](Escrow::idle) may be dropped together with its row, and be woken again with nothing stored when
/// it is needed. It must then be a later life: see [`Escrow::wake`].
#[derive(Debug, Clone)]
pub struct Escrow {
    above: Holder,
    below: Lender,
    durable: Option<StoredEscrow>,
}

impl Escrow {
    /// Wakes with what was stored; with nothing stored, or nothing readable, it holds nothing.
    ///
    /// The caller guarantees that `incarnation` is higher than that of every earlier escrow of this holder for this
    /// pool, whether that one died or was dropped: the parent answers an equal message as it did before, and a reply
    /// that is under way is known by incarnation and sequence alone. As an object's own life is too coarse for escrows
    /// that are dropped within it, each that is made takes the next number, and the last number taken is durable no
    /// later than the row of a dropped escrow is deleted.
    #[must_use]
    pub fn wake(
        pool: String,
        id: HolderId,
        incarnation: Incarnation,
        durable: Option<StoredEscrow>,
    ) -> Self {
        let above = Holder::new(
            pool,
            id,
            incarnation,
            durable.as_ref().and_then(|row| row.seen),
        );
        let Some(row) = durable else {
            return Self {
                above,
                below: Lender::wake(WindowLabel(0), 0),
                durable: None,
            };
        };
        let lease = Lease {
            label: row.label,
            ends_at: row.ends_at,
            // What told the end took at most a call.
            over_at: row.ends_at.plus(CALL_MS_MAX),
            span_ms: row.span_ms,
            limit: row.limit,
            held: row.held,
            used: row.watermark,
            left: 0,
            outage: false,
            again: None,
        };
        Self {
            above: above.with_lease(lease),
            below: Lender::wake(row.label, row.watermark),
            durable: Some(row),
        }
    }

    /// What is known of the requests that wait behind `message`. `Covered` too for a message that would be refused
    /// or repeated: there is nothing to ask the coordinator for.
    #[must_use]
    pub fn outlook(&self, message: &Message, ticket: Option<Ticket>, now: EpochMs) -> Outlook {
        let Some(lease) = self.above.open_lease(now) else {
            return Outlook::Short;
        };
        if self.below.shortage(message, lease.held) == 0 {
            return Outlook::Covered;
        }
        self.above.outlook(need(message), ticket, now)
    }

    /// Registers the requests behind `message` as waiting for the coordinator; see [`Holder::wait_on`].
    #[must_use]
    pub fn wait_on(
        &mut self,
        ticket: Option<Ticket>,
        message: &Message,
        now: EpochMs,
    ) -> Option<Ticket> {
        self.above.wait_on(ticket, need(message), now)
    }

    /// Takes them off again.
    pub fn unwait(&mut self, ticket: Ticket) {
        self.above.unwait(ticket);
    }

    /// Answers an isolate's message from what is held. `outage`: the coordinator did not answer.
    ///
    /// # Errors
    /// As [`Lender::exchange`]; [`Refusal::NoWindow`] while no window is known to be open.
    pub fn exchange(
        &mut self,
        message: &Message,
        outage: bool,
        now: EpochMs,
    ) -> Result<ReplyBody, Refusal> {
        let Some(lease) = self.above.open_lease(now).copied() else {
            return Err(Refusal::NoWindow);
        };
        let offer = Offer {
            window: Window {
                label: lease.label,
                ends_at: lease.ends_at,
                window_ms: message.terms.window_ms,
            },
            limit: lease.limit,
            capacity: lease.held,
            left_above: lease.left,
            outage: outage || lease.outage,
            now,
        };
        self.below.roll(lease.label);
        let lent_before = self.below.lent();
        let repeated = self.below.answered(message);
        let answer = self.below.exchange(message, &offer);
        let lent = self.below.lent();
        self.above.lent_on(lent, lent.saturating_sub(lent_before));
        if answer.is_ok() && !repeated {
            self.above.deny(message.denied);
        }
        answer.map(|mut reply| {
            if message.unserved(&reply) {
                reply.retry_ms = lease.again.map(|again| again.at.since(now));
            }
            reply
        })
    }

    /// Takes back up to `units` that isolates of this region spent in the window `label`, and that are given back: a
    /// settled reservation. Answers how many were taken: none when that window is not open any more. They are lent
    /// again once [`Escrow::due`] is durable. The caller takes each settlement once: what says that it was taken is
    /// durable no later than that row.
    pub fn refund(&mut self, label: WindowLabel, units: u64, now: EpochMs) -> u64 {
        let open = self.above.open_lease(now);
        if open.is_none_or(|lease| lease.label != label) {
            return 0;
        }
        self.below.roll(label);
        let taken = self.below.refund(units);
        self.above.lent_on(self.below.lent(), 0);
        taken
    }

    /// Makes the next message to the coordinator; see [`Holder::begin`]. [`Escrow::due`] must be durable before it
    /// is sent.
    pub fn begin(&mut self, terms: Terms, now: EpochMs) -> Option<ExchangeBody> {
        self.above.begin(terms, now)
    }

    /// Credits the coordinator's reply; see [`Holder::finish`].
    pub fn finish(&mut self, reply: &ReplyBody, now: EpochMs) -> bool {
        let credited = self.above.finish(reply, now);
        if let Some(lease) = self.above.lease() {
            self.below.roll(lease.label);
        }
        credited
    }

    /// The coordinator did not answer; see [`Holder::fail`].
    pub fn fail(&mut self, sequence: Sequence) {
        self.above.fail(sequence);
    }

    /// The coordinator refused; see [`Holder::refused`].
    pub fn refused(&mut self, sequence: Sequence, refusal: &Refusal) {
        self.above.refused(sequence, refusal);
    }

    /// Whether the coordinator should be told something without a shortage; see [`Holder::wants_contact`].
    #[must_use]
    pub fn wants_contact(&self, now: EpochMs) -> bool {
        self.above.wants_contact(now)
    }

    /// Whether there is anything left to tell the coordinator; see [`Holder::restless`].
    #[must_use]
    pub fn restless(&self, now: EpochMs) -> bool {
        self.above.restless(now)
    }

    /// Whether it may be dropped without changing any promise; see [`Holder::idle`].
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        self.above.idle(now)
    }

    /// Whether a message that carried the ticket's need was answered; see [`Holder::answered`].
    #[must_use]
    pub fn answered(&self, ticket: Ticket) -> bool {
        self.above.answered(ticket)
    }

    /// Forgets how long to hold back; see [`Holder::ask_again`].
    pub fn ask_again(&mut self) {
        self.above.ask_again();
    }

    /// The row to make durable before anything leaves, if any.
    #[must_use]
    pub fn due(&self) -> Option<StoredEscrow> {
        let lease = self.above.lease()?;
        let watermark = self.below.watermark_due(lease.held, lease.held);
        let unchanged = |row: &StoredEscrow| row.label == lease.label && row.held == lease.held;
        if watermark.is_none() && self.durable.as_ref().is_some_and(unchanged) {
            return None;
        }
        // Without a new mark the old one stays, as far as the units are still held: what was lent on always is.
        let watermark = watermark.unwrap_or(self.below.watermark().min(lease.held));
        Some(StoredEscrow::new(
            lease.label,
            (lease.ends_at, lease.span_ms),
            lease.limit,
            (lease.held, watermark),
            self.above.seen(),
        ))
    }

    /// Records that `row` is durable.
    pub fn stored(&mut self, row: StoredEscrow) {
        self.below.watermark_is(row.watermark);
        self.durable = Some(row);
    }

    /// When an isolate shows itself again.
    #[must_use]
    pub fn next_contact_ms(&self, now: EpochMs) -> u64 {
        self.below.next_contact_ms(now)
    }
}

fn need(message: &Message) -> Need {
    Need {
        units: message.waiting(),
        smallest: message.smallest(),
    }
}
