//! The same bucket as a signed count of its tokens, in parts of which all of its numbers are whole.

use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::units::EpochMs;

use super::drawn::Numbers;

/// Tokens that are there; below 0, owed.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// Parts of one token.
    pub part: i128,
    pub capacity: i128,
    pub debt: i128,
    pub per_ms: i128,
    there: i128,
    at: EpochMs,
}

impl Tokens {
    pub fn full(numbers: Numbers) -> Self {
        let (rate, burst) = (i128::from(numbers.rate), i128::from(numbers.burst));
        let rate_parts = 10_i128.pow(numbers.rate_decimals);
        let burst_parts = 10_i128.pow(numbers.burst_decimals);
        let per_ms = rate * burst_parts;
        Self {
            part: 1_000 * rate_parts * burst_parts,
            capacity: 1_000 * rate * burst,
            debt: per_ms * i128::from(numbers.max_debt_ms),
            per_ms,
            there: 1_000 * rate * burst,
            at: EpochMs(0),
        }
    }

    /// The tokens that are there at `now`, in parts.
    pub fn there(&self, now: EpochMs) -> i128 {
        let elapsed_ms = i128::from(now.since(self.at));
        let refilled = elapsed_ms.saturating_mul(self.per_ms);
        self.capacity.min(self.there.saturating_add(refilled))
    }

    /// Takes `cost` tokens, whether or not they are there.
    pub fn take(&mut self, cost: u64, now: EpochMs) {
        let at = now.max(self.at);
        self.there = self.there(at) - i128::from(cost) * self.part;
        self.at = at;
    }

    pub fn check(&mut self, cost: u64, now: EpochMs) -> Decision {
        let at = now.max(self.at);
        let there = self.there(at);
        let asked = i128::from(cost.max(1)) * self.part;
        // Some token is there, and no more is owed afterwards than may be.
        let needed = (asked - self.debt).max(1);
        let (reason, retry) = if asked > self.capacity + self.debt {
            (Reason::Never, Retry::Never)
        } else if there >= needed {
            (Reason::Admitted, Retry::Now)
        } else {
            let after_ms = at.plus(self.ms(needed - there)).since(now);
            (Reason::LimitExceeded, Retry::AfterMs(after_ms))
        };
        if reason == Reason::Admitted && cost > 0 {
            self.take(cost, now);
        }
        let there = self.there(at);
        Decision {
            reason,
            limit: self.whole(self.capacity + self.debt),
            remaining: self.singles(there),
            reset_at: at.plus(self.ms(self.capacity - there)),
            retry,
        }
    }

    /// Requests of one token that would be admitted one after another.
    fn singles(&self, there: i128) -> u64 {
        let last_finds_some = (there.max(0) + self.part - 1) / self.part;
        let debt_allows = ((there + self.debt) / self.part).max(0);
        u64::try_from(last_finds_some.min(debt_allows)).unwrap()
    }

    /// The milliseconds in which so many parts flow in, rounded up.
    fn ms(&self, parts: i128) -> u64 {
        u64::try_from((parts + self.per_ms - 1) / self.per_ms).unwrap()
    }

    pub fn whole(&self, parts: i128) -> u64 {
        u64::try_from(parts / self.part).unwrap()
    }
}
