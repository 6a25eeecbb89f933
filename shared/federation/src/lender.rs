//! The parent's side of one pool: who holds how much of the window, and the watermark below which everything
//! counts as granted.
//!
//! A lender hands out below the watermark from memory. The caller makes the watermark durable before a reply that
//! needs it leaves ([`Lender::watermark_due`]); a lender that wakes takes everything below it for granted, so a crash
//! strands at most one block and can never lend the same unit twice.

mod grant;
mod report;
mod row;
#[cfg(test)]
mod tests;

use weir_core::limits::{CONTACT_MS_MIN, CONTACT_MS_PER_HOLDER, HOLDERS_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId, WindowLabel};
use weir_core::window::Window;
use weir_fairness::ask::Party;
use weir_wire::exchange::{AheadBody, Grant, Refusal, ReplyBody, VERSION, Want, WindowBody};

use self::row::Row;
use super::attribution::Attribution;
use super::divide::Divide;
use super::message::Message;
use super::waiting::Need;

/// A window's budget is lent in blocks of one part in this many: a crash strands at most one block of the window.
const BLOCKS_PER_WINDOW: u64 = 32;

/// What the lender may lend from at this instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The open window.
    pub window: Window,
    /// Units in the whole window, over the whole deployment.
    pub limit: u64,
    /// Units of it that this lender may lend.
    pub capacity: u64,
    /// Units that this lender's own parent could still lend it.
    pub left_above: u64,
    /// Whether the lender's own parent failed to answer.
    pub outage: bool,
    /// The event's time.
    pub now: EpochMs,
    /// Windows to come, the next first.
    pub ahead: Vec<AheadOffer>,
}

/// What the lender may lend of a window to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AheadOffer {
    /// The window.
    pub label: WindowLabel,
    /// In how many milliseconds it opens.
    pub starts_ms: u64,
    /// In how many it ends.
    pub ends_ms: u64,
    /// Units of it that may be lent ahead in all, those that were included.
    pub capacity: u64,
}

/// The parent's side of one pool.
#[derive(Debug, Clone)]
pub struct Lender {
    window: WindowLabel,
    lent: u64,
    /// Units lent in the open window, each time that they were.
    granted: u64,
    watermark: u64,
    /// Came back since the watermark was written: not lent again from memory, as another life may have taken it too.
    returned: u64,
    rows: OrderedMap<HolderId, Row>,
    /// What holders have of each tenant.
    tenants: Attribution,
    /// Units of windows to come that were lent, by label.
    ahead: OrderedMap<WindowLabel, u64>,
}

impl Lender {
    /// A lender that wakes in `window` with `watermark` read from storage: all of it counts as granted.
    #[must_use]
    pub fn wake(window: WindowLabel, watermark: u64) -> Self {
        Self {
            window,
            lent: watermark,
            granted: watermark,
            watermark,
            returned: 0,
            rows: OrderedMap::new(),
            tenants: Attribution::default(),
            ahead: OrderedMap::new(),
        }
    }

    /// With what was lent of windows to come, as it was stored.
    #[must_use]
    pub fn with_ahead(mut self, ahead: impl IntoIterator<Item = (WindowLabel, u64)>) -> Self {
        self.ahead = OrderedMap::from_iter(ahead);
        self
    }

    /// Takes a message and answers it. Nothing changes when it is refused.
    ///
    /// | the message | what happens |
    /// | --- | --- |
    /// | the last one again | the same grants, with what remains of the window by now |
    /// | an older one, or of an older life | refused |
    /// | a new one that has not seen the last reply | the last grant is cancelled first |
    /// | returns more than is recorded as held, or of another window | what is not recorded is ignored |
    /// | of a window that has opened at the holder and not yet here | more of that window is lent ahead |
    ///
    /// # Errors
    /// The [`Refusal`], with the values that were compared.
    pub fn exchange(
        &mut self,
        message: &Message,
        offer: &Offer,
        divide: &mut dyn Divide,
    ) -> Result<ReplyBody, Refusal> {
        let replay = self.admit(message)?;
        self.roll(offer.window.label);
        if replay {
            return Ok(self.replay(message, offer));
        }
        self.note_contact(message, offer.now);
        self.take_back(message);
        self.lend_ahead(message, offer);
        let early = message.window > Some(offer.window.label);
        let grants = if early {
            Vec::new()
        } else {
            self.grant(message, offer, divide)
        };
        let row = self.row(message.holder);
        row.last = message.reply_name();
        row.unseen = grants.iter().map(|grant| grant.units).sum();
        row.grants.clone_from(&grants);
        Ok(self.reply(message, offer, offer.window.label, grants))
    }

    /// Whether the message is new: neither refused nor the last one again, which must not move anything.
    #[must_use]
    pub fn fresh(&self, message: &Message) -> bool {
        self.admit(message) == Ok(false)
    }

    /// What has to be lent by the parent above before a message that was not taken yet can be answered: what waits behind a
    /// want, less what the message gives back of the same tenant. A holder whose part of a tenant's units is too little for a
    /// request gives it back and waits for the whole; asked for the whole, the parent above would count both.
    ///
    /// Where idle units are everybody's, what a holder says that a tenant has is also what it may use: that tells nothing of
    /// units, unless the tenant is bounded.
    #[must_use]
    pub fn need(&self, message: &Message, (party, want): (&Party, &Want)) -> Need {
        let need = Need::of(want);
        let pooled = message
            .sharing()
            .is_some_and(|terms| terms.rule.pools_idle());
        if pooled && !party.is_bounded() {
            return need;
        }
        let returned = message.returns.iter();
        let returned = returned.filter(|part| part.window == self.window);
        let returned = returned.fold(0, |sum: u64, part| sum.saturating_add(part.units));
        let had = party
            .name()
            .map_or(0, |tenant| self.tenants.held(message.holder, tenant));
        need.beside(had.saturating_sub(want.held).min(returned))
    }

    /// Whether the message is the last one again.
    #[must_use]
    pub fn answered(&self, message: &Message) -> bool {
        self.admit(message) == Ok(true)
    }

    /// Units of windows to come that were lent, by label.
    #[must_use]
    pub fn ahead(&self) -> &OrderedMap<WindowLabel, u64> {
        &self.ahead
    }

    /// Units lent in the open window of which no holder has said whose they are: of a window that was lent from before
    /// it opened, or by an earlier life.
    #[must_use]
    pub fn unattributed(&self) -> u64 {
        self.lent.saturating_sub(self.tenants.total())
    }

    /// Units of a tenant that holders have.
    #[must_use]
    pub fn lent_to(&self, name: &str) -> u64 {
        self.tenants.lent_to(name)
    }

    /// Units that may still be lent.
    #[must_use]
    pub fn unlent(&self, capacity: u64) -> u64 {
        capacity.saturating_sub(self.lent)
    }

    /// Units lent in the open window, those below the watermark of an earlier life included.
    #[must_use]
    pub fn lent(&self) -> u64 {
        self.lent
    }

    /// Units lent in the open window, each time that they were: those that came back may have been lent again.
    #[must_use]
    pub fn granted(&self) -> u64 {
        self.granted
    }

    /// The durable watermark.
    #[must_use]
    pub fn watermark(&self) -> u64 {
        self.watermark
    }

    /// The watermark to make durable before the next reply leaves, if any: raised when something above it was lent,
    /// lowered when so much came back that a crash would strand more than two blocks. A block is a part of `whole`,
    /// the units of the whole window, of which `capacity` may be lent now.
    #[must_use]
    pub fn watermark_due(&self, capacity: u64, whole: u64) -> Option<u64> {
        let block = (whole / BLOCKS_PER_WINDOW).max(1);
        let target = self.lent.saturating_add(block).min(capacity.max(self.lent));
        let raise =
            self.lent.saturating_add(self.returned) > self.watermark && self.lent != u64::MAX;
        let lower = self.watermark > self.lent.saturating_add(2 * block);
        (raise || lower).then_some(target)
    }

    /// Takes back up to `units` that were spent below on behalf of a tenant and are given back; answers how many. As
    /// with what holders return, they are lent again only after a write.
    pub fn refund(&mut self, tenant: Option<&str>, units: u64) -> u64 {
        let taken = units.min(self.lent);
        self.lent -= taken;
        self.returned = self.returned.saturating_add(taken);
        if let Some(tenant) = tenant {
            self.tenants.refund(tenant, taken);
        }
        taken
    }

    /// Records that `watermark` is durable.
    pub fn watermark_is(&mut self, watermark: u64) {
        self.watermark = watermark;
        self.returned = 0;
    }

    /// Moves to a later window: what was lent in an earlier one is over, what was lent ahead counts.
    pub fn roll(&mut self, label: WindowLabel) {
        if label <= self.window {
            return;
        }
        self.window = label;
        self.lent = self.ahead.get(&label).copied().unwrap_or(0);
        self.granted = self.lent;
        self.watermark = self.lent;
        self.returned = 0;
        self.ahead.retain(|ahead, _| *ahead > label);
        for row in self.rows.values_mut() {
            row.held = row.ahead.get(&label).copied().unwrap_or(0);
            row.unseen = 0;
            row.ahead.retain(|ahead, _| *ahead > label);
            row.told.retain(|ahead, _| *ahead > label);
        }
        self.tenants.roll();
        let held = self.rows.iter().filter(|(_, row)| row.held > 0);
        for (holder, row) in held {
            self.tenants.opens(*holder, row.held);
        }
    }

    /// When a holder of this lender shows itself again: so late that all together stay under 200 calls a second.
    #[must_use]
    pub fn next_contact_ms(&self, now: EpochMs) -> u64 {
        CONTACT_MS_MIN.max(CONTACT_MS_PER_HOLDER * self.holders(now) as u64)
    }

    /// Whether the message is the last one again (`true`), new (`false`), or refused.
    fn admit(&self, message: &Message) -> Result<bool, Refusal> {
        let Some(row) = self.rows.get(&message.holder) else {
            return Ok(false);
        };
        let (got, have) = (message.reply_name(), row.last);
        if got.incarnation < have.incarnation {
            return Err(Refusal::Superseded {
                got: got.incarnation,
                have: have.incarnation,
            });
        }
        if got < have {
            return Err(Refusal::Stale {
                got: got.sequence,
                have: have.sequence,
            });
        }
        Ok(got == have)
    }

    fn replay(&self, message: &Message, offer: &Offer) -> ReplyBody {
        let (grants, granted_in) = match self.rows.get(&message.holder) {
            Some(row) if row.granted_in == offer.window.label => {
                (row.grants.clone(), row.granted_in)
            }
            _ => (Vec::new(), offer.window.label),
        };
        self.reply(message, offer, granted_in, grants)
    }

    /// Cancels an unseen grant, takes returns back, and notes what the holder has of each tenant.
    fn take_back(&mut self, message: &Message) {
        let label = self.window;
        let row = self.row(message.holder);
        let unseen = std::mem::take(&mut row.unseen);
        let lost = message.seen.is_some_and(|seen| seen < row.last);
        let cancelled = if lost { unseen.min(row.held) } else { 0 };
        row.held -= cancelled;
        let returned: u64 = message
            .returns
            .iter()
            .filter(|back| back.window == label)
            .map(|back| back.units)
            .sum();
        let taken = returned.min(row.held);
        row.held -= taken;

        let grants = if lost { row.grants.clone() } else { Vec::new() };
        self.lent = self.lent.saturating_sub(cancelled + taken);
        self.returned += cancelled + taken;
        if let Some(row) = self.rows.get_mut(&message.holder) {
            for back in message.returns.iter().filter(|back| back.window > label) {
                row.returned_ahead(back, &mut self.ahead);
            }
        }
        for grant in grants {
            let name = grant.tenant.unwrap_or_default();
            let held = self.tenants.held(message.holder, &name);
            let left = held.saturating_sub(grant.units);
            self.tenants.note(message.holder, &name, left);
        }
        if message.window == Some(label) {
            for (party, want) in message.asks() {
                if let Some(tenant) = party.name() {
                    self.tenants.note(message.holder, tenant, want.held);
                }
            }
        }
    }

    /// Lends of windows to come: what the holder asks for, as far as there is, and no more than leaves as much to each
    /// other holder. A holder in which the next window has opened already gets what requests wait for there.
    fn lend_ahead(&mut self, message: &Message, offer: &Offer) {
        let holders = self.holders(offer.now).max(1) as u64;
        for ahead in &offer.ahead {
            let opened = message.window == Some(ahead.label);
            let total = self.ahead.get(&ahead.label).copied().unwrap_or(0);
            let left = ahead.capacity.saturating_sub(total);
            let row = self.row(message.holder);
            let held = row.ahead.get(&ahead.label).copied().unwrap_or(0);
            let more = if opened {
                (message.waiting() + message.expected()).min(left)
            } else {
                let fair = ahead.capacity / holders;
                let wanted = message.ahead.min(fair).saturating_sub(held);
                wanted.min(left - left / 4)
            };
            if more > 0 {
                row.ahead.insert(ahead.label, held + more);
                *row.told.entry(ahead.label).or_insert(0) += more;
                self.ahead.insert(ahead.label, total + more);
            }
        }
    }

    fn reply(
        &self,
        message: &Message,
        offer: &Offer,
        label: WindowLabel,
        grants: Vec<Grant>,
    ) -> ReplyBody {
        let open = label == offer.window.label;
        ReplyBody {
            v: VERSION,
            to: message.reply_name(),
            window: WindowBody {
                label,
                remaining_ms: if open {
                    offer.window.remaining_ms(offer.now)
                } else {
                    0
                },
                limit: offer.limit,
            },
            grants,
            ahead: self.promised(message.holder, offer),
            left: self.unlent(offer.capacity).saturating_add(offer.left_above),
            outage: offer.outage,
            next_contact_ms: self.next_contact_ms(offer.now),
            retry_ms: None,
        }
    }

    /// What a holder has of windows to come. Of a window of which more is lent than may be by now it is told no more than
    /// its part of that: it may not have heard of the rest yet, by a reply that got lost.
    fn promised(&self, holder: HolderId, offer: &Offer) -> Vec<AheadBody> {
        let Some(row) = self.rows.get(&holder) else {
            return Vec::new();
        };
        let offers = offer.ahead.iter();
        let promised = offers.filter_map(|ahead| {
            let total = self.ahead.get(&ahead.label).copied().unwrap_or(0);
            let told = *row.told.get(&ahead.label)?;
            Some(AheadBody {
                label: ahead.label,
                starts_ms: ahead.starts_ms,
                ends_ms: ahead.ends_ms,
                units: part_of(told, ahead.capacity, total),
            })
        });
        promised.collect()
    }

    /// The holder's row, marked as heard of. A new holder takes the place of the one that was silent for longest when
    /// there are too many; what that one held stays granted until the window ends.
    fn note_contact(&mut self, message: &Message, now: EpochMs) {
        let holder = message.holder;
        if self.rows.len() >= HOLDERS_MAX && !self.rows.contains_key(&holder) {
            let silent = self.rows.iter().min_by_key(|(_, row)| row.heard_at);
            if let Some(silent) = silent.map(|(id, _)| *id) {
                self.rows.remove(&silent);
                self.tenants.forget(silent);
            }
        }
        let label = self.window;
        let row = self.row(holder);
        if message.incarnation > row.last.incarnation {
            row.told.clear();
        }
        row.heard_at = now;
        row.granted_in = label;
    }

    fn row(&mut self, holder: HolderId) -> &mut Row {
        self.rows.entry(holder).or_default()
    }
}

/// The part of `units` that `capacity` is of `total`: all where that is as much.
pub(super) fn part_of(units: u64, capacity: u64, total: u64) -> u64 {
    if total <= capacity {
        return units;
    }
    let part = u128::from(units) * u128::from(capacity) / u128::from(total);
    u64::try_from(part).unwrap_or(units)
}
