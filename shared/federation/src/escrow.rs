//! A region's part of one pool: held of the coordinator, lent on to isolates.
//!
//! What was held and what was lent on are one stored row. It is written before a message that returns units or a
//! reply that lends units leaves, so that a region that wakes can neither lend twice nor return what it lent.

use weir_core::limits::CALL_MS_MAX;
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId, Incarnation, Sequence, WindowLabel};
use weir_core::window::Window;
use weir_fairness::ask::Party;
use weir_wire::exchange::{ExchangeBody, Refusal, ReplyBody, Seen, Terms, Want};
use weir_wire::holdings::RegionBudget;

use super::ahead::Ahead;
use super::holder::{Holder, Lease, Outlook, Relay};
use super::lender::{AheadOffer, Lender, Offer};
use super::message::Message;
use super::waiting::{Need, Ticket};
use crate::stored::StoredEscrow;

/// What stands for the requests behind one message while they wait, one a tenant.
pub type Tickets = Vec<(Option<String>, Ticket)>;

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
            // What the coordinator has is not known until it has spoken.
            left: 0,
            outage: true,
        };
        let lent = row.ahead.iter().map(|ahead| (ahead.label, ahead.lent));
        Self {
            above: above.with_lease(lease, row.ahead.clone()),
            below: Lender::wake(row.label, row.watermark).with_ahead(lent),
            durable: Some(row),
        }
    }

    /// Opens the next window with what was lent ahead of it, when the present one is over.
    pub fn advance(&mut self, now: EpochMs) {
        self.above.advance(now);
        self.follow();
    }

    /// What is known of the requests that wait behind `message`. `Covered` too for a message that would be refused
    /// or repeated: there is nothing to ask the coordinator for.
    #[must_use]
    pub fn outlook(&self, message: &Message, tickets: &Tickets, now: EpochMs) -> Outlook {
        if self.above.open_lease(now).is_none() {
            return self.without_window(message, tickets, now);
        }
        if !self.below.fresh(message) {
            return Outlook::Covered;
        }
        let outlooks = self.seated(message).map(|(party, want)| {
            let need = self.below.need(message, (party, want));
            self.above.outlook(party, need, ticket(tickets, party), now)
        });
        outlooks.max().unwrap_or(Outlook::Covered)
    }

    /// Without a window there is nothing to answer from, unless it is known that there will be nothing for a while.
    fn without_window(&self, message: &Message, tickets: &Tickets, now: EpochMs) -> Outlook {
        let mut outlooks = message.asks().map(|(party, want)| {
            self.above
                .outlook(party, Need::of(want), ticket(tickets, party), now)
        });
        outlooks
            .find(|outlook| *outlook == Outlook::Unknown)
            .unwrap_or(Outlook::Short)
    }

    /// Registers the requests behind `message` as waiting for the coordinator; see [`Holder::wait_on`]. `None` when
    /// too many wait already.
    #[must_use]
    pub fn wait_on(
        &mut self,
        tickets: Tickets,
        message: &Message,
        now: EpochMs,
    ) -> Option<Tickets> {
        let mut registered = Tickets::new();
        let mut room = true;
        let seated: Vec<_> = self.seated(message).collect();
        for (party, want) in seated {
            let held = ticket(&tickets, party);
            let need = self.below.need(message, (party, want));
            match self.above.wait_on(party, held, need, now) {
                Some(ticket) => registered.push((party.name().map(str::to_owned), ticket)),
                None => room = false,
            }
        }
        if room {
            return Some(registered);
        }
        self.unwait(&registered);
        None
    }

    /// What is asked for those of whom this region can keep account. The others get nothing here, and what they count
    /// for at their isolate is all of them together.
    fn seated<'a>(&self, message: &'a Message) -> impl Iterator<Item = (&'a Party, &'a Want)> {
        let outdated = self.outdated(message);
        message
            .asks()
            .filter(move |(party, _)| !outdated && self.above.has_seat(party))
    }

    /// Whether the message was meant for a pool that tenants share and do not share any more, or the other way round: to
    /// wait for the coordinator on its behalf would be to wait for ever.
    fn outdated(&self, message: &Message) -> bool {
        let shared = message.sharing().is_some();
        self.above.has_changed(message.terms.revision, shared)
    }

    /// Takes them off again.
    pub fn unwait(&mut self, tickets: &Tickets) {
        for (_, ticket) in tickets {
            self.above.unwait(*ticket);
        }
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
        self.advance(now);
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
            ahead: self.offered(now),
        };
        self.below.roll(lease.label);
        let repeated = self.below.answered(message);
        let outdated = self.outdated(message);
        let mut relay = Relay {
            holder: &mut self.above,
            lease: message.terms.lease,
            closed: outdated,
        };
        let mut reply = self.below.exchange(message, &offer, &mut relay)?;
        self.above.lent_on(self.below.lent());
        self.above.reconcile(self.below.unattributed());
        self.note_ahead();
        if !repeated && !outdated {
            for (party, want) in message.asks() {
                let denied = match party {
                    Party::Everyone => message.denied,
                    Party::Tenant(_) => want.denied,
                };
                self.above.deny(party, denied, now);
            }
        }
        if message.unserved(&reply) {
            let again = self.above.told(None).and_then(|told| told.again);
            reply.retry_ms = again.map(|again| again.at.since(now));
        }
        Ok(reply)
    }

    /// What may be lent of the next window.
    fn offered(&self, now: EpochMs) -> Vec<AheadOffer> {
        let next = self.above.ahead().first();
        let offer = next.map(|ahead| AheadOffer {
            label: ahead.label,
            starts_ms: ahead.starts_at.since(now),
            ends_ms: ahead.ends_at.since(now),
            capacity: ahead.units,
        });
        offer.into_iter().collect()
    }

    /// Takes back up to `units` that isolates of this region spent for a tenant in the window `label`, and that are
    /// given back: a settled reservation. Answers how many were taken: none when that window is not open any more. They
    /// are lent again once [`Escrow::due`] is durable. The caller takes each settlement once: what says that it was
    /// taken is durable no later than that row.
    pub fn refund(
        &mut self,
        label: WindowLabel,
        tenant: Option<&str>,
        units: u64,
        now: EpochMs,
    ) -> u64 {
        let open = self.above.open_lease(now);
        if open.is_none_or(|lease| lease.label != label) {
            return 0;
        }
        self.below.roll(label);
        let taken = self.below.refund(tenant, units);
        self.above.lent_on(self.below.lent());
        self.above.came_back(tenant, taken);
        taken
    }

    /// Makes the next message to the coordinator; see [`Holder::begin`]. [`Escrow::due`] must be durable before it
    /// is sent.
    pub fn begin(&mut self, terms: Terms, now: EpochMs) -> Option<ExchangeBody> {
        self.above.hold_slices(terms.standing);
        let body = self.above.begin(terms, now);
        self.follow();
        body
    }

    /// Credits the coordinator's reply; see [`Holder::finish`].
    pub fn finish(&mut self, reply: &ReplyBody, now: EpochMs) -> bool {
        let credited = self.above.finish(reply, now);
        self.follow();
        credited
    }

    /// Lends from the window that is held.
    fn follow(&mut self) {
        if let Some(lease) = self.above.lease() {
            self.below.roll(lease.label);
            self.above.lent_on(self.below.lent());
        }
        self.note_ahead();
    }

    /// Notes what is lent on of the next window.
    fn note_ahead(&mut self) {
        let next = self.above.ahead().first().map(|ahead| ahead.label);
        if let Some(lent) = next.and_then(|label| self.below.ahead().get(&label)) {
            self.above.lent_ahead(*lent);
        }
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

    /// Whether there is anything left to tell the coordinator; see [`Holder::has_unsent`].
    #[must_use]
    pub fn has_unsent(&self, now: EpochMs) -> bool {
        self.above.has_unsent(now)
    }

    /// Takes out what lapsed here unlent; see [`Holder::take_lapsed`].
    pub fn take_lapsed(&mut self, now: EpochMs) -> OrderedMap<WindowLabel, u64> {
        self.above.take_lapsed(now)
    }

    /// Whether units of a window that is over may still have to be told of; see [`Holder::lapsing`].
    #[must_use]
    pub fn lapsing(&self, now: EpochMs) -> bool {
        self.above.lapsing(now)
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
        let unchanged = |row: &StoredEscrow| {
            row.label == lease.label
                && row.held == lease.held
                && same(&row.ahead, self.above.ahead())
        };
        if watermark.is_none() && self.durable.as_ref().is_some_and(unchanged) {
            return None;
        }
        // Without a new mark the old one stays, as far as the units are still held: what was lent on always is.
        let watermark = watermark.unwrap_or(self.below.watermark().min(lease.held));
        let row = StoredEscrow::new(
            lease.label,
            (lease.ends_at, lease.span_ms),
            lease.limit,
            (lease.held, watermark),
            self.above.seen(),
        );
        Some(row.with_ahead(self.above.ahead().to_vec()))
    }

    /// The row that says exactly what is lent on, where the durable one does not: to be written when nothing happens any
    /// more. What is lent on after that is above its mark, so that it is written again before it leaves.
    #[must_use]
    pub fn rest(&self) -> Option<StoredEscrow> {
        let lease = self.above.lease()?;
        let durable = self.durable.as_ref();
        let row = durable.filter(|row| row.label == lease.label && row.held == lease.held)?;
        let mut row = row.clone();
        row.watermark = self.below.rests_at()?;
        Some(row)
    }

    /// Records that `row` is durable.
    pub fn stored(&mut self, row: StoredEscrow) {
        self.below.watermark_is(row.watermark);
        self.durable = Some(row);
    }

    /// The coordinator's last reply that is in what is held.
    #[must_use]
    pub fn seen(&self) -> Option<Seen> {
        self.above.seen()
    }

    /// Units of a window that an isolate was lent and has not given back.
    #[must_use]
    pub fn held_by(&self, isolate: HolderId, label: WindowLabel) -> u64 {
        self.below.held_by(isolate, label)
    }

    /// What is held of the open window of a budget by that name, and what of it is lent on.
    pub fn holding(&mut self, budget: &str, now: EpochMs) -> RegionBudget {
        self.advance(now);
        let lease = self.above.open_lease(now);
        RegionBudget {
            budget: budget.to_owned(),
            own: false,
            window: lease.map(|lease| lease.label),
            ends_at: lease.map(|lease| lease.ends_at),
            limit: lease.map_or(0, |lease| lease.limit),
            held: lease.map_or(0, |lease| lease.held),
            lent: lease.map_or(0, |lease| self.below.lent_of(lease.label)),
            isolates: self.below.holders(now) as u64,
            outage: self.above.is_alone(),
        }
    }

    /// When an isolate shows itself again.
    #[must_use]
    pub fn next_contact_ms(&self, now: EpochMs) -> u64 {
        self.below.next_contact_ms(now)
    }
}

/// Whether they are the same units. Their times are told a little better with each reply, which is no reason to write.
fn same(left: &[Ahead], right: &[Ahead]) -> bool {
    let units = |ahead: &Ahead| (ahead.label, ahead.units, ahead.lent);
    left.iter().map(units).eq(right.iter().map(units))
}

fn ticket(tickets: &Tickets, party: &Party) -> Option<Ticket> {
    let mut tickets = tickets.iter();
    let found = tickets.find(|(tenant, _)| tenant.as_deref() == party.name());
    found.map(|(_, ticket)| *ticket)
}

#[cfg(test)]
mod tests;
