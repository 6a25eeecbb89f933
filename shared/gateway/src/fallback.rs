//! Which of a route's origins a request is sent to, and whether to the next one when that fails.
//!
//! An origin that fails a few times in a row is passed by for a while, then one request looks whether it is well again
//! (passive health checks, as Envoy's outlier detection does them). So an origin that is down costs a few requests a
//! second try, and after that all go to the next one at once: what goes there is no retry, and nothing holds it back.
//!
//! Second tries themselves have a budget, a share of the route's requests (as Finagle's `RetryBudget`, 2016): where every
//! other request is refused, the next origin would be sent half of them late and twice. An origin that uses the budget up
//! is passed by too. While all are passed by, a request is tried once: origins that are all overloaded are not asked for
//! more because they refuse.
//!
//! What is known here is an isolate's own. It costs no call, and each isolate finds out for itself.

use weir_core::limits::{
    ORIGIN_AWAY_MS, ORIGIN_AWAY_MS_MAX, ORIGIN_FAILURES_MAX, REQUESTS_PER_RETRY, RETRIES_STORED_MAX,
};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Revision};

use super::outcome::Ending;

/// What came of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// An answer that is the client's.
    Served,
    /// The origin says that it did not do it, or was not there.
    Refused,
    /// No answer in time: it may have been done, or be done yet.
    Silent,
}

impl Tried {
    /// What an ending comes to; `None` for what says nothing.
    ///
    /// 429 and the failures of servers are refusals (529 is what providers of models say when they are overloaded), and so
    /// is what Cloudflare says of an origin that it does not reach (520 to 526, 530), but for 524: that one was silent. Where a
    /// connection breaks before the answer, the platform does not tell whether it was ever made: it counts as not.
    ///
    /// ```
    /// use weir_gateway::fallback::Tried;
    /// use weir_gateway::outcome::Ending;
    /// assert_eq!(Tried::of(Ending::Answered(429)), Some(Tried::Refused));
    /// assert_eq!(Tried::of(Ending::Answered(404)), Some(Tried::Served));
    /// assert_eq!(Tried::of(Ending::TimedOut), Some(Tried::Silent));
    /// ```
    #[must_use]
    pub fn of(ending: Ending) -> Option<Self> {
        match ending {
            Ending::Answered(429 | 500 | 502 | 503 | 504 | 520..=523 | 525 | 526 | 529 | 530) => {
                Some(Self::Refused)
            }
            Ending::TimedOut | Ending::Answered(524) => Some(Self::Silent),
            Ending::Unreachable => Some(Self::Refused),
            Ending::Answered(_) => Some(Self::Served),
            Ending::ClientLeft => None,
        }
    }

    /// Whether the next origin may be tried. `repeats`: whether the request may be done twice.
    #[must_use]
    pub fn goes_on(self, repeats: bool) -> bool {
        match self {
            Self::Served => false,
            Self::Refused => true,
            Self::Silent => repeats,
        }
    }
}

/// Whether a request of a method may be done twice (RFC 9110, section 9.2.2).
#[must_use]
pub fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE")
}

/// What an isolate knows of the origins of each route that has several.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// The policy that they are of: another's may be others.
    revision: Revision,
    routes: OrderedMap<String, RouteHealth>,
}

impl Origins {
    /// Those of a route, of which there are `count`, by the policy of that revision.
    pub fn of(&mut self, revision: Revision, route: &str, count: usize) -> &mut RouteHealth {
        if self.revision != revision {
            self.routes.clear();
            self.revision = revision;
        }
        let health = self.routes.entry(route.to_owned());
        health.or_insert_with(|| RouteHealth::new(count))
    }
}

/// How the origins of one route are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteHealth {
    origins: Vec<OriginHealth>,
    budget: RetryBudget,
}

/// How one of them is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct OriginHealth {
    /// Failures since it last served.
    failures: u32,
    /// How often it was looked whether it is well again.
    looks: u32,
    /// Until when requests pass it by.
    away_until: EpochMs,
}

impl OriginHealth {
    fn is_away(self, now: EpochMs) -> bool {
        now < self.away_until
    }

    fn send_away(&mut self, now: EpochMs) {
        let longer = ORIGIN_AWAY_MS.saturating_mul(1 << self.looks.min(16));
        let ms = longer.min(ORIGIN_AWAY_MS_MAX);
        self.away_until = EpochMs(now.0.saturating_add(ms));
    }

    /// A request is sent to it. The first after a while is a look, and others pass by until its end is known.
    fn ask(&mut self, now: EpochMs) {
        if self.failures >= ORIGIN_FAILURES_MAX && !self.is_away(now) {
            self.looks = self.looks.saturating_add(1);
            self.send_away(now);
        }
    }

    fn fail(&mut self, now: EpochMs) {
        // What was on its way when the origin was sent away says nothing new, and a look has its time already.
        if self.is_away(now) {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= ORIGIN_FAILURES_MAX {
            self.send_away(now);
        }
    }
}

impl RouteHealth {
    /// Of which nothing is known.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self {
            origins: vec![OriginHealth::default(); count],
            budget: RetryBudget::default(),
        }
    }

    /// The origin that a request is sent to: the first that is not passed by. While all are, the one that would be back
    /// first.
    pub fn first(&mut self, now: EpochMs) -> usize {
        self.budget.request();
        let soonest = || {
            let numbered = self.origins.iter().enumerate();
            numbered.min_by_key(|(_, one)| one.away_until)
        };
        let index = self.present(0, now);
        let index = index.or_else(|| soonest().map(|(index, _)| index));
        let index = index.unwrap_or_default();
        self.ask(index, now);
        index
    }

    /// The origin that the request is sent to after `failed` has failed; `None` where there is none, or no second try is
    /// left.
    pub fn next(&mut self, failed: usize, now: EpochMs) -> Option<usize> {
        let index = self.present(failed + 1, now)?;
        if !self.budget.retry() {
            if let Some(one) = self.origins.get_mut(failed).filter(|one| !one.is_away(now)) {
                one.failures = ORIGIN_FAILURES_MAX;
                one.send_away(now);
            }
            return None;
        }
        self.ask(index, now);
        Some(index)
    }

    /// The origin that the request is sent to in the place of one that has no room for it; `None` where there is none. That
    /// one was not tried, so no second try is used.
    ///
    /// ```
    /// use weir_gateway::fallback::RouteHealth;
    /// use weir_core::units::EpochMs;
    /// let mut origins = RouteHealth::new(3);
    /// assert_eq!(origins.beyond(1, EpochMs(0)), Some(2));
    /// assert_eq!(origins.beyond(2, EpochMs(0)), None);
    /// ```
    pub fn beyond(&mut self, full: usize, now: EpochMs) -> Option<usize> {
        let index = self.present(full + 1, now)?;
        self.ask(index, now);
        Some(index)
    }

    /// What came of a try.
    pub fn record(&mut self, index: usize, tried: Tried, now: EpochMs) {
        if let Some(one) = self.origins.get_mut(index) {
            match tried {
                Tried::Served => *one = OriginHealth::default(),
                Tried::Refused | Tried::Silent => one.fail(now),
            }
        }
    }

    /// The first from there that is not passed by.
    fn present(&self, from: usize, now: EpochMs) -> Option<usize> {
        let mut numbered = self.origins.iter().enumerate().skip(from);
        let found = numbered.find(|(_, one)| !one.is_away(now));
        found.map(|(index, _)| index)
    }

    fn ask(&mut self, index: usize, now: EpochMs) {
        if let Some(one) = self.origins.get_mut(index) {
            one.ask(now);
        }
    }
}

/// Second tries that are left: each request puts a part of one in, each second try takes one out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RetryBudget {
    /// In parts, [`REQUESTS_PER_RETRY`] for a try.
    parts: u32,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self {
            parts: RETRIES_STORED_MAX * REQUESTS_PER_RETRY,
        }
    }
}

impl RetryBudget {
    fn request(&mut self) {
        self.parts = (self.parts + 1).min(RETRIES_STORED_MAX * REQUESTS_PER_RETRY);
    }

    fn retry(&mut self) -> bool {
        let left = self.parts.checked_sub(REQUESTS_PER_RETRY);
        self.parts = left.unwrap_or(self.parts);
        left.is_some()
    }
}
