//! How fast one tenant's units are used and asked for at a holder.

use weir_core::limits::{CONTACT_MS_MIN, COST_MAX, PAUSE_MS};
use weir_core::units::EpochMs;

use super::lease_size::{expected_units, expects_units};

/// Units over the present stretch of time and the one before, each at least the shortest time between two contacts: a
/// burst is not a rate, and a message does not start the measurement anew. Who asked for nothing during twice the time
/// that is looked ahead is not expected to ask in it: a rate that only fades would keep the last units of a burst for as
/// many times that as there were units.
///
/// ```
/// use weir_federation::pace::Pace;
/// use weir_core::units::EpochMs;
/// let mut pace = Pace::new(EpochMs(0));
/// pace.note(10, 5, EpochMs(3)); // 10 used and 5 denied at once, taken over 500 ms
/// assert_eq!((pace.expected(500, EpochMs(3)), pace.demanded(500, EpochMs(3))), (10, 15));
/// pace.note(50, 0, EpochMs(900)); // 60 in 900 ms
/// assert_eq!(pace.expected(450, EpochMs(900)), 30);
/// assert_eq!(pace.expected(450, EpochMs(1_900)), 14); // 60 in 1,900 ms
/// assert_eq!(pace.expected(450, EpochMs(1_901)), 0); // quiet for more than 2 * 500 ms
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    since: EpochMs,
    /// Since when units are asked for without a longer pause.
    asking_since: EpochMs,
    last_at: EpochMs,
    used: u64,
    asked: u64,
    before: Stretch,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stretch {
    used: u64,
    asked: u64,
    length_ms: u64,
}

impl Pace {
    /// Nothing yet.
    #[must_use]
    pub fn new(now: EpochMs) -> Self {
        Self {
            since: now,
            asking_since: now,
            last_at: now,
            used: 0,
            asked: 0,
            before: Stretch::default(),
        }
    }

    /// Counts units that were used, and units that were denied.
    pub fn note(&mut self, used: u64, denied: u64, now: EpochMs) {
        let length_ms = now.since(self.since);
        if length_ms >= CONTACT_MS_MIN {
            self.before = Stretch {
                used: self.used,
                asked: self.asked,
                length_ms,
            };
            (self.since, self.used, self.asked) = (now, 0, 0);
        }
        if used > 0 || denied > 0 {
            if now.since(self.last_at) > PAUSE_MS {
                self.asking_since = now;
            }
            self.last_at = now;
        }
        self.used = self.used.saturating_add(used);
        self.asked = self.asked.saturating_add(used).saturating_add(denied);
    }

    /// Takes units off again that were not used after all.
    pub fn unnote(&mut self, used: u64) {
        self.used = self.used.saturating_sub(used);
        self.asked = self.asked.saturating_sub(used);
    }

    /// Units that will be used in `horizon_ms`, at this pace.
    #[must_use]
    pub fn expected(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        if self.quiet(horizon_ms, now) {
            return 0;
        }
        let used = self.used.saturating_add(self.before.used);
        expected_units(used, self.elapsed_ms(now), horizon_ms).min(COST_MAX)
    }

    /// Whether at least `units` will be used in `horizon_ms`, at this pace: the same as to compare
    /// [`expected`](Self::expected) with them, without the division, which would be a good part of a request's cost.
    #[must_use]
    pub fn expects(&self, units: u64, horizon_ms: u64, now: EpochMs) -> bool {
        if units == 0 {
            return true;
        }
        if units > COST_MAX || self.quiet(horizon_ms, now) {
            return false;
        }
        let used = self.used.saturating_add(self.before.used);
        expects_units(used, self.elapsed_ms(now), horizon_ms, units)
    }

    /// Units that will be asked for in `horizon_ms`, at this pace.
    #[must_use]
    pub fn demanded(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        if self.quiet(horizon_ms, now) {
            return 0;
        }
        self.faded(horizon_ms, now)
    }

    /// Units that will be asked for in `horizon_ms`, of one that is expected to ask for no longer than it has asked without a
    /// pause ([`PAUSE_MS`]): a burst may be over at any moment.
    ///
    /// ```
    /// use weir_federation::pace::Pace;
    /// use weir_core::units::EpochMs;
    /// let mut pace = Pace::new(EpochMs(0));
    /// pace.note(10, 0, EpochMs(0));
    /// // 10 in 500 ms, of one that has asked for 100 ms: 2 in as long again.
    /// assert_eq!((pace.demanded(5_000, EpochMs(100)), pace.lasting(5_000, EpochMs(100))), (100, 2));
    /// ```
    #[must_use]
    pub fn lasting(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        self.demanded(horizon_ms.min(now.since(self.asking_since)), now)
    }

    /// Whether it comes to nothing: nobody asked for longer than any lease is made for.
    #[must_use]
    pub fn still(&self, now: EpochMs) -> bool {
        self.faded(CONTACT_MS_MIN, now) == 0
    }

    fn faded(&self, horizon_ms: u64, now: EpochMs) -> u64 {
        let asked = self.asked.saturating_add(self.before.asked);
        expected_units(asked, self.elapsed_ms(now), horizon_ms).min(COST_MAX)
    }

    fn quiet(&self, horizon_ms: u64, now: EpochMs) -> bool {
        now.since(self.last_at) > 2 * horizon_ms.max(CONTACT_MS_MIN)
    }

    fn elapsed_ms(&self, now: EpochMs) -> u64 {
        let elapsed_ms = now.since(self.since).saturating_add(self.before.length_ms);
        elapsed_ms.max(CONTACT_MS_MIN)
    }
}
