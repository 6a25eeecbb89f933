//! A budget that one holder keeps by itself: nothing is leased, and every check is decided at once.

use std::borrow::Cow;

use weir_core::outlasting::Outlasting;
use weir_core::units::{EpochMs, WindowLabel};
use weir_core::window::Window;
use weir_decision::{Decision, Reason, Retry};

use super::ask::{Ask, Claimant, Moment, Party, Room};
use super::share::{Share, ShareRow, ShareTerms};

/// What a local budget is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTerms {
    /// Units of a window.
    pub limit: u64,
    /// Length of a window. Each ends on a multiple of it.
    pub window_ms: u64,
    /// How tenants share it; `None`: whoever comes first.
    pub share: Option<ShareTerms>,
}

/// A budget in fixed windows.
///
/// ```
/// use weir_decision::{Reason, Retry};
/// use weir_fairness::ask::{Claimant, Party};
/// use weir_fairness::local::{LocalBudget, LocalTerms};
/// use weir_fairness::share::{Rule, ShareTerms};
/// use weir_fairness::weight::Weight;
/// use weir_core::units::EpochMs;
/// let share = ShareTerms {
///     rule: Rule::Pinned, tenants_max: 100, unknown_weight_max: Weight::WHOLE, carried: false, floors: 0,
/// };
/// let mut budget = LocalBudget::new(LocalTerms { limit: 100, window_ms: 1_000, share: Some(share) });
/// let party = |name: &str| Party::from(Claimant::plain(name));
/// let first = budget.check(&party("a"), 40, EpochMs(5_200));
/// assert_eq!((first.admitted(), first.limit, first.remaining), (true, 100, 60));
/// // Two are there now, with 50 each: 40 + 20 is 10 above, and what is free is reserved for the other.
/// let second = budget.check(&party("b"), 50, EpochMs(5_300));
/// assert_eq!((second.admitted(), second.limit), (true, 50));
/// let third = budget.check(&party("a"), 20, EpochMs(5_400));
/// assert_eq!((third.reason, third.retry), (Reason::CapReached, Retry::AfterMs(600)));
/// assert_eq!(budget.check(&party("a"), 101, EpochMs(5_400)).retry, Retry::Never);
/// ```
#[derive(Debug, Clone)]
pub struct LocalBudget {
    terms: LocalTerms,
    window: Option<Window>,
    shares: Shares,
    /// What was used in windows that an edit closed early.
    outlasting: Outlasting,
}

/// Who has used what.
#[derive(Debug, Clone)]
enum Shares {
    Shared(Box<Share>),
    FirstCome { used: u64 },
}

impl LocalBudget {
    /// Nobody has used anything.
    #[must_use]
    pub fn new(terms: LocalTerms) -> Self {
        Self {
            terms,
            window: None,
            shares: Shares::new(terms.share, 0),
            outlasting: Outlasting::default(),
        }
    }

    /// Other terms: a limit holds at once, but takes nothing back; a length from the next boundary on. What was used stays
    /// used, and counts in a longer window that covers it.
    pub fn retune(&mut self, terms: LocalTerms) {
        if terms.window_ms != self.terms.window_ms
            && let Some(window) = self.window
        {
            let last = EpochMs(window.ends_at.0.saturating_sub(1));
            let covers = Window::open(window.label, last, terms.window_ms);
            let until = window.ends_at.max(covers.ends_at);
            self.outlasting = self.outlasting.lasting(until);
        }
        self.terms = terms;
        match (&mut self.shares, terms.share) {
            (Shares::Shared(share), Some(terms)) => share.retune(terms),
            (Shares::FirstCome { .. }, None) => {}
            (shares, terms) => *shares = Shares::new(terms, shares.used_total()),
        }
    }

    /// Decides a request of `cost` units and charges what it admits. A cost of 0 tells what one unit would meet, and
    /// changes nothing.
    pub fn check(&mut self, party: &Party, cost: u64, now: EpochMs) -> Decision {
        let window = self.open(now);
        let at = self.moment(&window, now);
        if cost == 0 {
            let room = self.shares.peek(party, &at);
            let (reason, retry) = match (room.left, at.unlent) {
                (_, 0) => (Reason::CapReached, Retry::AfterMs(at.left_ms.max(1))),
                (0, _) => (Reason::OverShare, Retry::AfterMs(at.left_ms.max(1))),
                _ => (Reason::Admitted, Retry::Now),
            };
            return self.told(reason, retry, room.ceiling, room.used, &window);
        }
        let room = self.shares.room(party, cost, &at);
        if room.waiting == cost {
            self.shares.charge(party, cost);
            let used = room.used.saturating_add(cost);
            return self.told(Reason::Admitted, Retry::Now, room.ceiling, used, &window);
        }
        let left_ms = at.left_ms.max(1);
        let retry_ms = room.retry_ms.map_or(left_ms, |ms| ms.clamp(1, left_ms));
        let (reason, retry) = if cost > self.terms.limit {
            (Reason::Never, Retry::Never)
        } else if cost > at.unlent {
            (Reason::CapReached, Retry::AfterMs(retry_ms))
        } else {
            (Reason::OverShare, Retry::AfterMs(retry_ms))
        };
        self.told(reason, retry, room.ceiling, room.used, &window)
    }

    fn told(
        &self,
        reason: Reason,
        retry: Retry,
        limit: u64,
        used: u64,
        window: &Window,
    ) -> Decision {
        Decision {
            reason,
            limit,
            remaining: limit.saturating_sub(used),
            reset_at: window.ends_at,
            retry,
        }
    }

    /// Takes back units that a check charged to a tenant, if the window that they were charged to is still open.
    pub fn undo(&mut self, label: WindowLabel, party: &Party, units: u64) {
        if self.label() == Some(label) {
            self.shares.lower(party, units);
        }
    }

    /// The window of the last check; `None` before the first.
    #[must_use]
    pub fn label(&self) -> Option<WindowLabel> {
        self.window.map(|window| window.label)
    }

    /// Units that all tenants have used in the window of the last check.
    #[must_use]
    pub fn used_total(&self) -> u64 {
        self.shares.used_total()
    }

    /// Each tenant's share in the window of the last check, by name; nothing where whoever comes first is served.
    #[must_use]
    pub fn rows(&self, now: EpochMs) -> Vec<ShareRow> {
        match (&self.shares, &self.window) {
            (Shares::Shared(share), Some(window)) => share.rows(&self.moment(window, now)),
            _ => Vec::new(),
        }
    }

    /// Whether nothing is known that the next check needs: a window without use has passed since the last one, and all
    /// that an edit closed.
    #[must_use]
    pub fn is_idle(&self, now: EpochMs) -> bool {
        let passed = |window: Window| now >= window.ends_at.plus(window.window_ms);
        self.window.is_none_or(passed) && self.outlasting.is_over(now)
    }

    /// The window that is open at `now`.
    fn open(&mut self, now: EpochMs) -> Window {
        let window_ms = self.terms.window_ms;
        let Some(before) = self.window else {
            return *self
                .window
                .insert(Window::open(WindowLabel(1), now, window_ms));
        };
        // The same goes on, nearly always: its bounds need not be divided out again.
        if before.window_ms == window_ms
            && before.held(now) == Some(before)
            && self.outlasting.units == 0
        {
            return before;
        }
        let before = before.ending_with(&Window::open(before.label, now, window_ms));
        let window = before.at(now, window_ms);
        // A longer window goes on with what was used in the shorter one that it covers the end of.
        let goes_on = window.starts_at() < before.ends_at && !before.is_longer_than(&window);
        if window.label != before.label && !goes_on {
            let used = self.shares.used_total();
            self.outlasting = self.outlasting.and(used, window.starts_at(), now);
            self.shares.roll();
            // Who was there before a window in which nobody was is not there any more.
            if now >= before.ends_at.plus(window.window_ms) {
                self.shares.roll();
            }
        }
        self.rouse(&window, now);
        *self.window.insert(window)
    }

    /// Counts in the open window what was used in windows that an edit closed, where one of the present length covers them.
    fn rouse(&mut self, window: &Window, now: EpochMs) {
        let covering = Window::open(window.label, now, self.terms.window_ms);
        let (units, left) = self.outlasting.woken(covering.starts_at());
        if units > 0 {
            self.outlasting = left;
            self.shares.charge_unnamed(units);
        }
    }

    fn moment(&self, window: &Window, now: EpochMs) -> Moment {
        let used = self.shares.used_total();
        Moment {
            limit: self.terms.limit,
            unlent: self.terms.limit.saturating_sub(used),
            left_ms: window.remaining_ms(now),
            window_ms: window.window_ms,
        }
    }
}

impl Shares {
    fn new(terms: Option<ShareTerms>, used: u64) -> Self {
        let Some(terms) = terms else {
            return Self::FirstCome { used };
        };
        let mut shares = Self::Shared(Box::new(Share::new(terms)));
        if used > 0 {
            shares.charge_unnamed(used);
        }
        shares
    }

    /// Charges what nobody knows any more by whom it was used: it counts for those that the policy does not name.
    fn charge_unnamed(&mut self, units: u64) {
        match self {
            Self::Shared(share) => share.charge("", units),
            Self::FirstCome { used } => *used = used.saturating_add(units),
        }
    }

    fn roll(&mut self) {
        match self {
            Self::Shared(share) => share.roll(),
            Self::FirstCome { used } => *used = 0,
        }
    }

    fn room(&mut self, party: &Party, cost: u64, at: &Moment) -> Room {
        let ask = Ask {
            waiting: cost,
            smallest: cost,
            holders: 1,
            ..Ask::default()
        };
        match self {
            Self::Shared(share) => share.room(&claimant(party), &ask, at),
            Self::FirstCome { used } => Room {
                used: *used,
                waiting: if cost <= at.unlent { cost } else { 0 },
                ceiling: at.limit,
                ..Room::default()
            },
        }
    }

    fn peek(&self, party: &Party, at: &Moment) -> Room {
        match self {
            Self::Shared(share) => share.peek(&claimant(party), at),
            Self::FirstCome { used } => Room {
                ceiling: at.limit,
                used: *used,
                left: at.unlent,
                ..Room::default()
            },
        }
    }

    fn charge(&mut self, party: &Party, units: u64) {
        match self {
            Self::Shared(share) => share.charge(&claimant(party).name, units),
            Self::FirstCome { used } => *used = used.saturating_add(units),
        }
    }

    fn lower(&mut self, party: &Party, units: u64) {
        match self {
            Self::Shared(share) => share.lower(&claimant(party).name, units),
            Self::FirstCome { used } => *used = used.saturating_sub(units),
        }
    }

    fn used_total(&self) -> u64 {
        match self {
            Self::Shared(share) => share.used_total(),
            Self::FirstCome { used } => *used,
        }
    }
}

/// On whose account it is, where tenants share: a request of nobody in particular is as one of a tenant without an account.
fn claimant(party: &Party) -> Cow<'_, Claimant> {
    match party {
        Party::Everyone => Cow::Owned(Claimant::overflow()),
        Party::Tenant(claimant) => Cow::Borrowed(claimant),
    }
}
