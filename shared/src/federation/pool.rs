//! The root of a budget: the window's whole limit, lent to regions. What a `Coordinator` runs.

use super::lender::{Lender, Offer};
use super::message::Message;
use super::window::Window;
use crate::units::{EpochMs, WindowLabel};
use crate::wire::exchange::{Refusal, ReplyBody, Terms};
use crate::wire::stored::StoredPool;

/// The whole limit of one budget.
#[derive(Debug, Clone)]
pub struct Pool {
    window: Window,
    terms: Terms,
    lender: Lender,
    durable: Option<StoredPool>,
}

impl Pool {
    /// A pool that has never lent, opening its first window.
    #[must_use]
    pub fn open(terms: Terms, now: EpochMs) -> Self {
        Self {
            window: Window::open(WindowLabel(1), now, terms.window_ms),
            terms,
            lender: Lender::wake(WindowLabel(1), 0),
            durable: None,
        }
    }

    /// A pool that wakes: everything below the stored watermark counts as granted.
    #[must_use]
    pub fn wake(stored: &StoredPool) -> Self {
        Self {
            window: Window {
                label: stored.label,
                ends_at: stored.ends_at,
                window_ms: stored.window_ms,
            },
            terms: stored.terms,
            lender: Lender::wake(stored.label, stored.watermark),
            durable: Some(stored.clone()),
        }
    }

    /// A pool whose stored row cannot be read. How much of the window was granted is not known, so nothing more is:
    /// its label is closed and lending starts again with the next. Without a readable label the millisecond of the
    /// clock serves, which no count of windows of a second or more can have reached.
    ///
    /// ```
    /// use weir_shared::federation::pool::Pool;
    /// use weir_shared::units::{EpochMs, Revision, WindowLabel};
    /// use weir_shared::wire::exchange::Terms;
    /// let terms = Terms { limit: 100, window_ms: 60_000, revision: Revision(1) };
    /// let pool = Pool::damaged(Some(WindowLabel(7)), terms, EpochMs(90_000));
    /// assert_eq!(pool.unlent(), 0);
    /// assert_eq!(pool.window().ends_at, EpochMs(120_000));
    /// ```
    #[must_use]
    pub fn damaged(label: Option<WindowLabel>, terms: Terms, now: EpochMs) -> Self {
        let label = label.unwrap_or(WindowLabel(now.0));
        Self {
            window: Window::open(label, now, terms.window_ms),
            terms,
            lender: Lender::wake(label, u64::MAX),
            durable: None,
        }
    }

    /// Takes a region's message and answers it.
    ///
    /// The newest terms seen hold: another limit at once (a lower one stops new grants, what was granted stays), a
    /// new length of window from the next boundary.
    ///
    /// # Errors
    /// As [`Lender::exchange`].
    pub fn exchange(&mut self, message: &Message, now: EpochMs) -> Result<ReplyBody, Refusal> {
        if message.terms.revision > self.terms.revision {
            self.terms = message.terms;
        }
        if let Some(label) = message.window
            && label > self.window.label
        {
            self.window.label = label;
            self.lender = Lender::wake(label, u64::MAX);
        }
        self.window = self.window.at(now, self.terms.window_ms);
        self.lender.roll(self.window.label);
        let offer = Offer {
            window: self.window,
            limit: self.terms.limit,
            capacity: self.terms.limit,
            left_above: 0,
            outage: false,
            now,
        };
        self.lender.exchange(message, &offer)
    }

    /// The row to make durable before the next reply leaves, if any.
    #[must_use]
    pub fn due(&self) -> Option<StoredPool> {
        let same = self.durable.as_ref().is_some_and(|row| {
            (row.label, row.ends_at, row.terms)
                == (self.window.label, self.window.ends_at, self.terms)
        });
        let watermark = self.lender.watermark_due(self.terms.limit);
        if watermark.is_none() && same {
            return None;
        }
        let watermark = watermark.unwrap_or(self.lender.watermark());
        Some(StoredPool::new(self.window, self.terms, watermark))
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

    /// Units that may still be lent in it.
    #[must_use]
    pub fn unlent(&self) -> u64 {
        self.lender.unlent(self.terms.limit)
    }
}
