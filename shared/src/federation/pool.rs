//! The root of a pool of units: the window's whole limit, lent to regions. What a `Coordinator` runs.
//!
//! The open window of a pool with a rolling limit is one part of it. What may be lent in it is the limit less what the
//! parts before it lent: see [`History`].

use super::history::History;
use super::lender::{Lender, Offer};
use super::message::Message;
use super::schedule::Schedule;
use super::window::Window;
use crate::units::{EpochMs, WindowLabel};
use crate::wire::exchange::{Refusal, ReplyBody, Terms};
use crate::wire::stored::StoredPool;

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
    terms: Terms,
    schedule: Schedule,
    history: History,
    /// Units that may be lent in the open window, those that were included, as of the last exchange.
    capacity: u64,
    lender: Lender,
    durable: Option<StoredPool>,
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
    /// use weir_shared::federation::pool::Pool;
    /// use weir_shared::units::{EpochMs, Revision, WindowLabel};
    /// use weir_shared::wire::exchange::Terms;
    /// let terms = Terms { limit: 100, window_ms: 60_000, revision: Revision(1), cycle: None };
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
            schedule: Schedule::of(&stored.terms),
            terms: stored.terms.clone(),
            history: History::of(stored.history.clone()),
            capacity: 0,
            lender: Lender::wake(stored.label, stored.watermark),
            durable: Some(stored.clone()),
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
    /// use weir_shared::federation::pool::Pool;
    /// use weir_shared::units::{EpochMs, Revision, WindowLabel};
    /// use weir_shared::wire::exchange::Terms;
    /// let terms = Terms { limit: 100, window_ms: 60_000, revision: Revision(1), cycle: None };
    /// let pool = Pool::damaged(Some(WindowLabel(7)), terms, EpochMs(90_000));
    /// assert_eq!(pool.unlent(), 0);
    /// assert_eq!(pool.window().ends_at, EpochMs(120_000));
    /// ```
    #[must_use]
    pub fn damaged(label: Option<WindowLabel>, terms: Terms, now: EpochMs) -> Self {
        // More than any limit is lent in the open part: earlier parts leave the rolling window before it does.
        Self::labelled(label.unwrap_or(WindowLabel(now.0)), u64::MAX, terms, now)
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
        Self::labelled(label.unwrap_or(beyond), u64::MAX, terms, now)
    }

    fn labelled(label: WindowLabel, lent: u64, terms: Terms, now: EpochMs) -> Self {
        let schedule = Schedule::of(&terms);
        let mut pool = Self {
            window: schedule.open(label, now),
            history: History::empty(schedule.parts()),
            schedule,
            terms,
            capacity: 0,
            lender: Lender::wake(label, lent),
            durable: None,
        };
        pool.measure(now);
        pool
    }

    /// Takes a region's message and answers it.
    ///
    /// The newest terms seen hold: another limit at once (a lower one stops new grants, what was granted stays), a
    /// new length or cycle of windows from the next boundary.
    ///
    /// # Errors
    /// As [`Lender::exchange`].
    pub fn exchange(&mut self, message: &Message, now: EpochMs) -> Result<ReplyBody, Refusal> {
        if message.terms.revision > self.terms.revision {
            self.terms = message.terms.clone();
            self.schedule = message.schedule().clone();
        }
        if let Some(label) = message.window
            && label > self.window.label
        {
            self.window.label = label;
            self.lender = Lender::wake(label, u64::MAX);
        }
        self.roll(now);
        self.measure(now);
        let offer = Offer {
            window: self.window,
            limit: self.terms.limit,
            capacity: self.capacity,
            left_above: 0,
            outage: false,
            now,
        };
        let mut reply = self.lender.exchange(message, &offer)?;
        if message.unserved(&reply) {
            reply.retry_ms = self.retry_ms(message.smallest(), now);
        }
        Ok(reply)
    }

    /// The row to make durable before the next reply leaves, if any.
    #[must_use]
    pub fn due(&self) -> Option<StoredPool> {
        // What earlier parts lent changes only with the label.
        let same = self.durable.as_ref().is_some_and(|row| {
            (row.label, row.ends_at, &row.terms)
                == (self.window.label, self.window.ends_at, &self.terms)
        });
        // What may be lent grows while a part lasts: a mark below that is not written again for each unit of it.
        let limit = self.terms.limit;
        let most = self
            .history
            .capacity(limit, &self.window, self.window.ends_at);
        let watermark = self.lender.watermark_due(most, limit);
        if watermark.is_none() && same {
            return None;
        }
        let watermark = watermark.unwrap_or(self.lender.watermark());
        let row = StoredPool::new(self.window, self.terms.clone(), watermark);
        Some(row.with_history(self.history.lent().to_vec()))
    }

    /// Records that `row` is durable.
    pub fn stored(&mut self, row: &StoredPool) {
        self.lender.watermark_is(row.watermark);
        self.durable = Some(row.clone());
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
        self.window.held(now).is_none() && self.next(now).1.is_over()
    }

    /// The least label that this pool may open under again after it was dropped.
    #[must_use]
    pub fn floor(&self) -> WindowLabel {
        let parts = self.schedule.parts().max(self.history.lent().len());
        WindowLabel(self.window.label.0.saturating_add(parts.max(1) as u64))
    }

    /// Opens the next window when this one is over.
    fn roll(&mut self, now: EpochMs) {
        match self.window.held(now) {
            Some(window) => self.window = window,
            None => (self.window, self.history) = self.next(now),
        }
        self.lender.roll(self.window.label);
    }

    /// The window and the history at `now`, after this window is over.
    fn next(&self, now: EpochMs) -> (Window, History) {
        let (window, begun) = self.schedule.after(&self.window, now);
        let closed = (self.lender.lent(), self.window.window_ms);
        let parts = (window.window_ms, self.schedule.parts());
        (window, self.history.rolled(closed, begun, parts))
    }

    fn measure(&mut self, now: EpochMs) {
        self.capacity = self.history.capacity(self.terms.limit, &self.window, now);
    }

    /// In how many milliseconds `units` could be lent, if that is before the next window or told by the history.
    fn retry_ms(&self, units: u64, now: EpochMs) -> Option<u64> {
        let lent = self.lender.lent();
        self.history
            .retry_ms(self.terms.limit, lent, units, &self.window, now)
    }
}
