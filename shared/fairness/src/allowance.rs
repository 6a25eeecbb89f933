//! What one member may have at one instant, and when it may have more.

use super::ask::{Ask, Moment};
use super::rate::parts;

/// What one member may have at one instant, in units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Allowance {
    /// That can be lent.
    pub pool: u64,
    /// Of them, that nobody else has reserved.
    pub free: u64,
    /// Of its own reserve.
    pub own: u64,
    /// That it may use whatever others leave.
    pub most: u64,
    /// Until it reaches the level.
    pub below_level: u64,
}

impl Allowance {
    /// Units in requests of `cost`, of which the last may pass the level: as with deficit round robin, a cost above the
    /// level is served one at a time.
    pub fn in_steps(&self, cost: u64) -> u64 {
        let cost = cost.max(1);
        self.capped(self.below_level.div_ceil(cost).saturating_mul(cost))
    }

    /// Units up to the level.
    pub fn up_to_level(&self) -> u64 {
        self.capped(self.below_level)
    }

    /// Whether others, or a bound, keep it from a part of what there is, for requests of `cost`. Who asks alone competes with
    /// nobody.
    pub fn competes(&self, cost: u64) -> bool {
        self.in_steps(cost) < self.pool
    }

    fn capped(&self, below_level: u64) -> u64 {
        let borrowed = self.free.min(below_level);
        self.own.max(borrowed).min(self.most).min(self.pool)
    }

    /// What an ask gets of what waits and of what is expected, and what is left. Ahead of requests a holder gets the part
    /// that leaves as much for each other, and nothing while something waits.
    pub fn split(&self, ask: &Ask, cost: u64) -> (u64, u64, u64) {
        let allowed = self.in_steps(cost);
        if allowed < ask.waiting {
            let is_one = ask.waiting < cost.saturating_mul(2);
            let part = if is_one || allowed < cost { 0 } else { allowed };
            return (part, 0, 0);
        }
        let rest = allowed - ask.waiting;
        let each = rest / ask.holders.max(1).saturating_mul(2);
        let ahead = ask
            .expected
            .min(each)
            .min(self.up_to_level().saturating_sub(ask.waiting));
        (ask.waiting, ahead, rest - ahead)
    }
}

/// What a member waits for, in parts of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delay {
    /// Reserved for others, and what of it stays until the window ends.
    pub reserved: u128,
    pub lasting: u128,
    /// That others get before the level reaches what it has used.
    pub lacks: u128,
}

impl Delay {
    /// When `cost` can be had, if nothing is asked until then: what does not last until the end falls no faster than to
    /// the part of the window that is left then. `None`: not in this window.
    pub fn ms(&self, allowance: &Allowance, cost: u64, at: &Moment) -> Option<u64> {
        let rest = allowance.pool.checked_sub(cost)?;
        if cost > allowance.most || at.left_ms == 0 {
            return None;
        }
        let pool = parts(allowance.pool);
        let rest = parts(rest).checked_sub(self.lasting)?;
        let of_reserve = part_of(rest, self.reserved.saturating_sub(self.lasting));
        let of_level = part_of(pool, pool.saturating_add(self.lacks));
        let still = of_reserve.min(of_level);
        let wait_ms = u128::from(at.left_ms) * (WHOLE - still) / WHOLE;
        u64::try_from(wait_ms).ok().map(|wait_ms| wait_ms.max(1))
    }
}

/// What [`part_of`] answers for all.
const WHOLE: u128 = 1 << 32;

/// `target / held`, at most 1, rounded down.
fn part_of(target: u128, held: u128) -> u128 {
    if held <= target {
        return WHOLE;
    }
    target / (held / WHOLE + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_have_all_that_there_is_competes_with_nobody() {
        let alone = Allowance {
            pool: 50,
            free: 50,
            own: 0,
            most: u64::MAX,
            below_level: 41,
        };
        assert!(!alone.competes(10), "the last request may pass the level");
        assert!(alone.competes(1));
        assert!(Allowance { free: 49, ..alone }.competes(10));
    }

    #[test]
    fn a_cost_above_the_level_is_served_one_at_a_time() {
        let allowance = Allowance {
            pool: 30_000,
            free: 30_000,
            own: 3_000,
            most: u64::MAX,
            below_level: 3_000,
        };
        assert_eq!(allowance.in_steps(8_000), 8_000);
        assert_eq!(allowance.up_to_level(), 3_000);
        let ask = Ask {
            waiting: 16_000,
            smallest: 8_000,
            ..Ask::default()
        };
        assert_eq!(allowance.split(&ask, 8_000), (8_000, 0, 0));
    }

    #[test]
    fn half_of_what_is_reserved_is_gone_after_half_of_the_time() {
        let allowance = Allowance {
            pool: 11,
            most: u64::MAX,
            ..Allowance::default()
        };
        let delay = Delay {
            reserved: parts(20),
            lasting: 0,
            lacks: 0,
        };
        let at = Moment {
            limit: 100,
            unlent: 11,
            left_ms: 1_000,
            window_ms: 2_000,
        };
        assert_eq!(delay.ms(&allowance, 1, &at), Some(500));
        assert_eq!(delay.ms(&allowance, 12, &at), None);
        let lasting = Delay {
            lasting: parts(11),
            ..delay
        };
        assert_eq!(lasting.ms(&allowance, 1, &at), None);
    }
}
