//! The root of a pool of units: the window's whole limit, lent to regions. What a `Coordinator` runs.
//!
//! The open window of a pool with a rolling limit is one part of it. What may be lent in it is the limit less what the
//! parts before it lent: see [`History`].

mod edit;
mod report;

use weir_core::limits::{AHEAD_MS_MAX, AHEAD_WINDOWS_MAX};
use weir_core::outlasting::Outlasting;
use weir_core::units::{EpochMs, WindowLabel};
use weir_core::window::Window;
use weir_fairness::ask::Moment;
use weir_fairness::share::Share;
use weir_wire::exchange::{Refusal, ReplyBody, Terms};
use weir_wire::windows::ClosedWindow;

use super::closed::Closed;
use super::divide::{FirstCome, Shared};
use super::history::History;
use super::lender::{AheadOffer, Lender, Offer};
use super::message::{Message, share_terms};
use super::schedule::Schedule;
use crate::handover::Handover;
use crate::stored::StoredPool;

/// Labels that a pool passes over when it does not know which were used: milliseconds of two years. An object can do
/// so a hundred thousand times before labels leave the range of exact JSON integers.
const LABELS_UNREAD: u64 = 1 << 36;

/// The whole limit of one budget, or of one key of a global limit.
///
/// # Pools that come and go
///
/// A pool that is [idle](Pool::idle) may be dropped together with its row, and be [opened](Pool::open_keyed) again when
/// it is needed. What is lost with it are rules about windows that are over. What must not be lost are labels: one
/// that was lent from must never be lent from again. The caller keeps, durably, the highest [`Pool::floor`] of the
/// pools that it has dropped, written no later than the row is deleted, and opens above it; one number serves any count
/// of pools. While the clock does not step back it is below the clock's milliseconds, which are the first label.
#[derive(Debug, Clone)]
pub struct Pool {
    window: Window,
    /// When that was to end, where an edit has it end earlier.
    whole_until: Option<EpochMs>,
    terms: Terms,
    schedule: Schedule,
    history: History,
    /// What was lent in windows that an edit closed early.
    outlasting: Outlasting,
    /// Units that may be lent in the open window, those that were included, as of the last exchange.
    capacity: u64,
    lender: Lender,
    /// The tenants' accounts, where they share the pool.
    share: Option<Share>,
    durable: Option<StoredPool>,
    /// Windows that are over.
    closed: Closed,
    /// What the limit is held to while shares of a static partition change.
    handover: Option<Handover>,
}

impl Pool {
    /// A pool that has never lent, opening its first window.
    #[must_use]
    pub fn open(terms: Terms, now: EpochMs) -> Self {
        Self::labelled(WindowLabel(1), 0, terms, now)
    }

    /// A pool that may have been dropped before. Its first label is the clock's millisecond, which no count of windows
    /// of a tenth of a second or more reaches, but at least `floor`.
    ///
    /// ```
    /// use weir_federation::pool::Pool;
    /// use weir_core::units::{EpochMs, Revision, WindowLabel};
    /// use weir_wire::exchange::Terms;
    /// let terms = Terms { limit: 100, window_ms: 60_000, revision: Revision(1), cycle: None, sharing: None, lease: None, standing: 0 };
    /// let pool = Pool::open_keyed(terms.clone(), WindowLabel(0), EpochMs(90_000));
    /// assert_eq!(pool.window().label, WindowLabel(90_000));
    /// assert!(pool.idle(EpochMs(120_000)));
    /// // It was dropped, and the clock stepped back.
    /// let again = Pool::open_keyed(terms, pool.floor(), EpochMs(90_000));
    /// assert_eq!(again.window().label, WindowLabel(90_001));
    /// ```
    #[must_use]
    pub fn open_keyed(terms: Terms, floor: WindowLabel, now: EpochMs) -> Self {
        let label = floor.max(WindowLabel(now.0)).max(WindowLabel(1));
        Self::labelled(label, 0, terms, now)
    }

    /// A pool that wakes: everything below the stored watermark counts as granted.
    #[must_use]
    pub fn wake(stored: &StoredPool) -> Self {
        let mut pool = Self {
            window: Window {
                label: stored.label,
                ends_at: stored.ends_at,
                window_ms: stored.window_ms,
            },
            whole_until: stored.whole_until,
            schedule: Schedule::of(&stored.terms),
            terms: stored.terms.clone(),
            history: History::of(stored.history.clone()),
            outlasting: stored.outlasting.unwrap_or_default(),
            capacity: 0,
            lender: Lender::wake(stored.label, stored.watermark)
                .with_ahead(stored.ahead.iter().map(|(label, units)| (*label, *units))),
            share: None,
            durable: Some(stored.clone()),
            closed: Closed::woke_in(stored.label),
            handover: None,
        };
        pool.measure(EpochMs(0));
        pool
    }

    /// A pool whose stored row cannot be read. How much of the window was granted is not known, so nothing more is:
    /// its label is closed and lending starts again with the next; in a rolling window, when all that may have been
    /// granted has left it. Without a readable label the millisecond of the clock serves, which no count of windows of
    /// a tenth of a second or more can have reached.
    ///
    /// ```
    /// use weir_federation::pool::Pool;
    /// use weir_core::units::{EpochMs, Revision, WindowLabel};
    /// use weir_wire::exchange::Terms;
    /// let terms = Terms { limit: 100, window_ms: 60_000, revision: Revision(1), cycle: None, sharing: None, lease: None, standing: 0 };
    /// let pool = Pool::damaged(Some(WindowLabel(7)), terms, EpochMs(90_000));
    /// assert_eq!(pool.unlent(), 0);
    /// assert_eq!(pool.window().ends_at, EpochMs(120_000));
    /// ```
    #[must_use]
    pub fn damaged(label: Option<WindowLabel>, terms: Terms, now: EpochMs) -> Self {
        Self::closed(label.unwrap_or(WindowLabel(now.0)), terms, now)
    }

    /// The same of a pool that may have been dropped before. Its labels are milliseconds themselves, so that a clock
    /// that stepped back does not tell which were used: without a readable label it goes on two years after any clock
    /// that may have been read. [`Pool::floor`] is then to be made durable before anything is told.
    #[must_use]
    pub fn damaged_keyed(
        label: Option<WindowLabel>,
        floor: WindowLabel,
        terms: Terms,
        now: EpochMs,
    ) -> Self {
        let latest = floor.max(WindowLabel(now.0));
        let beyond = WindowLabel(latest.0.saturating_add(LABELS_UNREAD));
        Self::closed(label.unwrap_or(beyond), terms, now)
    }

    /// A pool that does not know how much of the window `label` and of those after it is lent. It goes on beyond all
    /// labels of which anything can have been lent ahead, and lends nothing for as long as any of it may be used.
    fn closed(label: WindowLabel, terms: Terms, now: EpochMs) -> Self {
        // More than any limit is lent in the open part: earlier parts leave the rolling window before it does.
        let mut pool = Self::labelled(label, u64::MAX, terms, now);
        // Labels up to the last of these may have been promised, by terms that may have been others: no holder may find
        // units of its own in them.
        let promised = label.0.saturating_add(AHEAD_WINDOWS_MAX as u64);
        let after = |more: u64| WindowLabel(promised.saturating_add(more));
        let beyond = after(1);
        let standing = match pool.schedule {
            Schedule::Fixed { .. } => pool.standing(),
            Schedule::Sliding { .. } | Schedule::Calendar(_) => 0,
        };
        let closed = (1..=standing).map(|more| (after(1 + more), u64::MAX));
        pool.lender = Lender::wake(beyond, u64::MAX).with_ahead(closed);
        pool.window.label = beyond;
        pool
    }

    /// Windows to come of which units are lent.
    fn standing(&self) -> u64 {
        self.terms.standing.clamp(1, AHEAD_WINDOWS_MAX as u64)
    }

    /// The last window of which anything was lent.
    fn promised(&self) -> WindowLabel {
        let last = self.lender.ahead().keys().next_back().copied();
        last.unwrap_or_default().max(self.window.label)
    }

    fn labelled(label: WindowLabel, lent: u64, terms: Terms, now: EpochMs) -> Self {
        let schedule = Schedule::of(&terms);
        let mut pool = Self {
            window: schedule.open(label, now),
            whole_until: None,
            history: History::empty(schedule.parts()),
            outlasting: Outlasting::default(),
            schedule,
            terms,
            capacity: 0,
            lender: Lender::wake(label, lent),
            share: None,
            durable: None,
            closed: if lent > 0 {
                Closed::woke_in(label)
            } else {
                Closed::default()
            },
            handover: None,
        };
        pool.measure(now);
        pool
    }

    /// Takes a region's message and answers it.
    ///
    /// The newest terms seen hold: another limit at once (a lower one stops new grants, what was granted stays), a
    /// new length or cycle of windows from the next boundary, of the old windows or of the new ones.
    ///
    /// # Errors
    /// As [`Lender::exchange`].
    pub fn exchange(&mut self, message: &Message, now: EpochMs) -> Result<ReplyBody, Refusal> {
        if message.terms.revision > self.terms.revision {
            self.adopt(&message.terms, message.schedule().clone());
        } else if message.terms.revision == self.terms.revision {
            self.merge_newer_floors(&message.terms);
        }
        // Windows to come may have opened at a holder before they do here.
        if let Some(label) = message.window
            && label > self.promised()
        {
            let closed = Self::closed(label, self.terms.clone(), now);
            self.window.label = closed.window.label;
            self.whole_until = None;
            self.lender = closed.lender;
        }
        self.shorten(now);
        self.roll(now);
        self.measure(now);
        self.keep_accounts();
        let offer = Offer {
            window: self.window,
            limit: self.limit(),
            capacity: self.capacity,
            left_above: 0,
            outage: false,
            now,
            ahead: self.offered(now),
        };
        let lease = self.terms.lease;
        let limit = self.limit();
        let mut reply = match self.share.as_mut() {
            None => {
                let mut first_come = FirstCome { limit, lease };
                self.lender.exchange(message, &offer, &mut first_come)?
            }
            Some(share) => {
                let moment = Moment {
                    limit,
                    unlent: self.lender.unlent(self.capacity),
                    left_ms: self.window.remaining_ms(now),
                    window_ms: self.window.window_ms,
                };
                let mut shared = Shared {
                    share,
                    moment,
                    lease,
                };
                self.lender.exchange(message, &offer, &mut shared)?
            }
        };
        if message.unserved(&reply) {
            reply.retry_ms = self.retry_ms(message.smallest(), now);
        }
        Ok(reply)
    }

    /// Keeps accounts as the terms in force say: what was used is not forgotten when they change.
    fn keep_accounts(&mut self) {
        let sharing = self.terms.sharing.as_ref();
        let terms = sharing.and_then(|sharing| share_terms(sharing).ok());
        match (terms, self.share.as_mut()) {
            (None, _) => self.share = None,
            (Some(terms), Some(share)) => share.retune(terms),
            (Some(terms), None) => self.share = Some(Share::new(terms)),
        }
    }

    /// What may be lent of windows to come, whose ends are known where all have one length.
    fn offered(&self, now: EpochMs) -> Vec<AheadOffer> {
        let Schedule::Fixed { window_ms } = self.schedule else {
            return Vec::new();
        };
        if window_ms != self.window.window_ms {
            return Vec::new();
        }
        let left_ms = self.window.remaining_ms(now);
        if self.terms.standing == 0 && left_ms > AHEAD_MS_MAX {
            return Vec::new();
        }
        let windows = 0..self.standing();
        let offer = windows.map(|index| {
            let starts_ms = left_ms.saturating_add(index.saturating_mul(window_ms));
            AheadOffer {
                label: WindowLabel(self.window.label.0.saturating_add(index + 1)),
                starts_ms,
                ends_ms: starts_ms.saturating_add(window_ms),
                capacity: self.limit_from(now.plus(starts_ms)) / 2,
            }
        });
        offer.collect()
    }

    /// Takes newer terms, as a message of that revision would bring them.
    pub fn amend(&mut self, terms: &Terms) {
        if terms.revision > self.terms.revision {
            self.adopt(terms, Schedule::of(terms));
        } else if terms.revision == self.terms.revision {
            self.merge_newer_floors(terms);
        }
    }

    /// Takes back up to `units` that a tenant spent in the window `label`; see
    /// [`Escrow::refund`](super::escrow::Escrow::refund).
    pub fn refund(
        &mut self,
        label: WindowLabel,
        tenant: Option<&str>,
        units: u64,
        now: EpochMs,
    ) -> u64 {
        if self.window.label != label || self.window.held(now).is_none() {
            return 0;
        }
        self.lender.refund(tenant, units)
    }

    /// When a holder shows itself again.
    #[must_use]
    pub fn next_contact_ms(&self, now: EpochMs) -> u64 {
        self.lender.next_contact_ms(now)
    }

    /// The row to make durable before the next reply leaves, if any.
    #[must_use]
    pub fn due(&self) -> Option<StoredPool> {
        // What was lent before, and counts, changes only with the label or the terms.
        let same = self.durable.as_ref().is_some_and(|row| {
            (row.label, row.ends_at, &row.terms, &row.ahead)
                == (
                    self.window.label,
                    self.window.ends_at,
                    &self.terms,
                    self.lender.ahead(),
                )
        });
        // What may be lent grows while a part lasts: a mark below that is not written again for each unit of it.
        let limit = self.limit();
        let most = self
            .history
            .capacity(limit, &self.window, self.window.ends_at);
        let watermark = self.lender.watermark_due(most, limit);
        if watermark.is_none() && same {
            return None;
        }
        let watermark = watermark.unwrap_or(self.lender.watermark());
        let row = StoredPool::new(self.window, self.terms.clone(), watermark);
        let row = row.with_ahead(self.lender.ahead().clone());
        let row = row.with_outlasting(self.outlasting);
        let row = row.with_whole_until(self.whole_until);
        Some(row.with_history(self.history.lent().to_vec()))
    }

    /// Records that `row` is durable.
    pub fn stored(&mut self, row: &StoredPool) {
        self.lender.watermark_is(row.watermark);
        self.durable = Some(row.clone());
    }

    /// The tenants' accounts, where they share the pool.
    #[must_use]
    pub fn share(&self) -> Option<&Share> {
        self.share.as_ref()
    }

    /// The windows from the label `from` on that are over, oldest first, as far as this root remembers.
    #[must_use]
    pub fn windows_over(&self, from: WindowLabel, now: EpochMs) -> Vec<ClosedWindow> {
        let over = self.window.held(now).is_none() && self.window.label >= from;
        let last = over.then(|| self.closed.record(&self.window, self.limit(), &self.lender));
        self.closed.since(from).chain(last).collect()
    }

    /// The open window.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Units that could still be lent in it at the last exchange.
    #[must_use]
    pub fn unlent(&self) -> u64 {
        self.lender.unlent(self.capacity)
    }

    /// Whether the pool may be dropped without changing any promise: its window is over, and of a rolling one all that
    /// was lent.
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        let promised_ms =
            (self.promised().0 - self.window.label.0).saturating_mul(self.window.window_ms);
        let over = self.window.held(now).is_none() && now >= self.window.ends_at.plus(promised_ms);
        let counted = self.at(now);
        over && counted.history.is_over() && counted.outlasting.units == 0
    }

    /// The least label that this pool may open under again after it was dropped.
    #[must_use]
    pub fn floor(&self) -> WindowLabel {
        let parts = self.schedule.parts().max(self.history.lent().len());
        let after = self.window.label.0.saturating_add(parts.max(1) as u64);
        WindowLabel(after.max(self.promised().0.saturating_add(1)))
    }

    /// Opens the next window when this one is over.
    fn roll(&mut self, now: EpochMs) {
        if self.window.held(now).is_none() {
            let closed = self.closed.record(&self.window, self.limit(), &self.lender);
            self.closed.push(closed);
            if let Some(share) = self.share.as_mut() {
                share.roll();
            }
        }
        let counted = self.at(now);
        if counted.window.label != self.window.label {
            self.whole_until = None;
        }
        self.window = counted.window;
        self.history = counted.history;
        self.outlasting = counted.outlasting;
        self.lender.roll(self.window.label);
    }

    /// The window at `now`, after this one is over, and how many have begun. Those of which units were lent ahead come as
    /// they were promised, whatever the terms say by now.
    fn after(&self, now: EpochMs) -> (Window, u64) {
        if self.is_shortened() {
            return self.after_longer(now);
        }
        let length_ms = self.window.window_ms.max(1);
        let promised = self.promised().0 - self.window.label.0;
        let past = now.since(self.window.ends_at) / length_ms;
        let on = |windows: u64| Window {
            label: WindowLabel(self.window.label.0.saturating_add(windows)),
            ends_at: self.window.ends_at.plus(windows.saturating_mul(length_ms)),
            window_ms: length_ms,
        };
        if past < promised {
            return (on(past + 1), past + 1);
        }
        let (window, begun) = self.schedule.after(&on(promised), now);
        (window, begun.saturating_add(promised))
    }

    fn measure(&mut self, now: EpochMs) {
        let beside = self.counted_beside(now);
        // A part that ends early leaves no room for what the rolling window would still have covered.
        let now = if self.is_shortened() { EpochMs(0) } else { now };
        let capacity = self.history.capacity(self.limit(), &self.window, now);
        self.capacity = capacity.saturating_sub(beside);
    }

    /// In how many milliseconds `units` could be lent, if that is before the next window or told by the history.
    fn retry_ms(&self, units: u64, now: EpochMs) -> Option<u64> {
        if self.schedule.parts() == 0 || self.is_shortened() {
            return None;
        }
        let lent = self.lender.lent();
        self.history
            .retry_ms(self.limit(), lent, units, &self.window, now)
    }
}
