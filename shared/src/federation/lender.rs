//! The parent's side of one pool: who holds how much of the window, and the watermark below which everything
//! counts as granted.
//!
//! A lender hands out below the watermark from memory. The caller makes the watermark durable before a reply that
//! needs it leaves ([`Lender::watermark_due`]); a lender that wakes takes everything below it for granted, so a crash
//! strands at most one block and can never lend the same unit twice.

use std::collections::BTreeMap;

use super::lease_size::{Asked, lease_units};
use super::message::Message;
use super::window::Window;
use crate::limits::{CONTACT_MS_MIN, CONTACT_MS_PER_HOLDER, HOLDER_SILENT_MS_MAX, HOLDERS_MAX};
use crate::units::{EpochMs, HolderId, WindowLabel};
use crate::wire::exchange::{Grant, Refusal, ReplyBody, Seen, VERSION, WindowBody};

/// A window's budget is lent in blocks of one part in this many: a crash strands at most one block of the window.
const BLOCKS_PER_WINDOW: u64 = 32;

/// What the lender may lend from at this instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

/// The parent's side of one pool.
#[derive(Debug, Clone)]
pub struct Lender {
    window: WindowLabel,
    lent: u64,
    watermark: u64,
    /// Came back since the watermark was written: not lent again from memory, as another life may have taken it too.
    returned: u64,
    rows: BTreeMap<HolderId, Row>,
}

/// What the lender knows of one holder.
#[derive(Debug, Clone, Default)]
struct Row {
    last: Seen,
    grants: Vec<Grant>,
    granted_in: WindowLabel,
    /// Units of the last reply, until the holder shows that it saw it.
    unseen: u64,
    /// Units of the open window that the holder has been lent and has not returned.
    held: u64,
    heard_at: EpochMs,
}

impl Lender {
    /// A lender that wakes in `window` with `watermark` read from storage: all of it counts as granted.
    #[must_use]
    pub fn wake(window: WindowLabel, watermark: u64) -> Self {
        Self {
            window,
            lent: watermark,
            watermark,
            returned: 0,
            rows: BTreeMap::new(),
        }
    }

    /// Takes a message and answers it. Nothing changes when it is refused.
    ///
    /// | the message | what happens |
    /// | --- | --- |
    /// | the last one again | the same grants, with what remains of the window by now |
    /// | an older one, or of an older life | refused |
    /// | a new one that has not seen the last reply | the last grant is cancelled first |
    /// | returns more than is recorded as held, or of another window | what is not recorded is ignored |
    ///
    /// # Errors
    /// The [`Refusal`], with the values that were compared.
    pub fn exchange(&mut self, message: &Message, offer: &Offer) -> Result<ReplyBody, Refusal> {
        let replay = self.admit(message)?;
        self.roll(offer.window.label);
        if replay {
            return Ok(self.replay(message, offer));
        }
        self.hear(message.holder, offer.now);
        self.settle(message);
        let grants = self.grant(message, offer);
        let row = self.row(message.holder);
        row.last = message.reply_name();
        row.unseen = grants.iter().map(|grant| grant.units).sum();
        row.grants.clone_from(&grants);
        Ok(self.reply(message, offer, offer.window.label, grants))
    }

    /// Units that the lender lacks to serve the requests that wait behind `message`; 0 for a message that it would
    /// refuse or has answered, which must not move anything.
    #[must_use]
    pub fn shortage(&self, message: &Message, capacity: u64) -> u64 {
        match self.admit(message) {
            Ok(false) => message.waiting().saturating_sub(self.unlent(capacity)),
            _ => 0,
        }
    }

    /// Whether the message is the last one again.
    #[must_use]
    pub fn answered(&self, message: &Message) -> bool {
        self.admit(message) == Ok(true)
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

    /// Takes back up to `units` that were spent below and are given back; answers how many. As with what holders
    /// return, they are lent again only after a write.
    pub fn refund(&mut self, units: u64) -> u64 {
        let taken = units.min(self.lent);
        self.lent -= taken;
        self.returned = self.returned.saturating_add(taken);
        taken
    }

    /// Records that `watermark` is durable.
    pub fn watermark_is(&mut self, watermark: u64) {
        self.watermark = watermark;
        self.returned = 0;
    }

    /// Moves to a later window: what was lent in an earlier one is over.
    pub fn roll(&mut self, label: WindowLabel) {
        if label <= self.window {
            return;
        }
        self.window = label;
        self.lent = 0;
        self.watermark = 0;
        self.returned = 0;
        for row in self.rows.values_mut() {
            row.held = 0;
            row.unseen = 0;
        }
    }

    /// When a holder of this lender shows itself again: so late that all together stay under 200 calls a second.
    #[must_use]
    pub fn next_contact_ms(&self, now: EpochMs) -> u64 {
        CONTACT_MS_MIN.max(CONTACT_MS_PER_HOLDER * self.holders(now) as u64)
    }

    /// Holders that were heard of lately.
    fn holders(&self, now: EpochMs) -> usize {
        let lately = |row: &&Row| now.since(row.heard_at) <= HOLDER_SILENT_MS_MAX;
        self.rows.values().filter(lately).count()
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

    /// Cancels an unseen grant and takes returns back.
    fn settle(&mut self, message: &Message) {
        let label = self.window;
        let row = self.row(message.holder);
        let unseen = std::mem::take(&mut row.unseen);
        let cancelled = match message.seen {
            Some(seen) if seen < row.last => unseen.min(row.held),
            _ => 0,
        };
        row.held -= cancelled;
        let returned: u64 = message
            .returns
            .iter()
            .filter(|back| back.window == label)
            .map(|back| back.units)
            .sum();
        let taken = returned.min(row.held);
        row.held -= taken;
        self.lent = self.lent.saturating_sub(cancelled + taken);
        self.returned += cancelled + taken;
    }

    fn grant(&mut self, message: &Message, offer: &Offer) -> Vec<Grant> {
        let holders = self.holders(offer.now);
        let mut grants = Vec::new();
        for want in &message.wants {
            let asked = Asked {
                waiting: want.waiting,
                smallest: want.smallest,
                expected: want.expected,
            };
            let units = lease_units(asked, self.unlent(offer.capacity), holders);
            self.lent += units;
            let row = self.row(message.holder);
            row.held += units;
            if units > 0 {
                grants.push(Grant {
                    tenant: want.tenant.clone(),
                    units,
                    ceiling: offer.limit,
                });
            }
        }
        grants
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
            left: self.unlent(offer.capacity).saturating_add(offer.left_above),
            outage: offer.outage,
            next_contact_ms: self.next_contact_ms(offer.now),
            retry_ms: None,
        }
    }

    /// The holder's row, marked as heard of. A new holder takes the place of the one that was silent for longest when
    /// there are too many; what that one held stays granted until the window ends.
    fn hear(&mut self, holder: HolderId, now: EpochMs) {
        if self.rows.len() >= HOLDERS_MAX && !self.rows.contains_key(&holder) {
            let silent = self.rows.iter().min_by_key(|(_, row)| row.heard_at);
            if let Some(silent) = silent.map(|(id, _)| *id) {
                self.rows.remove(&silent);
            }
        }
        let label = self.window;
        let row = self.row(holder);
        row.heard_at = now;
        row.granted_in = label;
    }

    fn row(&mut self, holder: HolderId) -> &mut Row {
        self.rows.entry(holder).or_default()
    }
}
