//! How many units a parent lends: what the holder is expected to spend within some contacts, which it makes anyway, and
//! ever less as the window is used up.
//!
//! The textbook's size, `sqrt(2 c D / h)` for leases at `c` each and idle units at `h`, knows neither: it takes a call for
//! each lease, and a window as long as its demand. Behind the same machines it is no cheaper than what is lent here, to
//! within a tenth, from 1 to 10,000 checks a second (`shared/tests/lease_costs.rs`).

use weir_core::limits::{UNDIVIDED_PART, UNDIVIDED_UNITS};

/// What a holder asks for, and what the parent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseDemand {
    /// Units that requests wait for.
    pub waiting: u64,
    /// The smallest cost among them.
    pub smallest: u64,
    /// Units expected beyond those before the next contact.
    pub expected: u64,
}

/// The lease for one want, with `left` units unlent and `holders` seen in this window.
///
/// Requests that wait are served in full while units last, first come first served; what no request could use (less
/// than the smallest cost) stays with the parent. Ahead of demand a holder gets at most what it expects to spend and
/// at most `left / (2 x holders)`: the more holders or the less left, the smaller the lease, so that little is
/// stranded where it is not needed when the window nears its end.
///
/// ```
/// use weir_federation::lease_size::{lease_units, LeaseDemand};
/// // 10 waited for, 500 expected, 900 left, 3 holders: 10 + min(500, (900 - 10) / 6).
/// let asked = LeaseDemand { waiting: 10, smallest: 1, expected: 500 };
/// assert_eq!(lease_units(asked, 900, 3), 158);
/// // One request of 8 with 7 left: nothing, and nothing is stranded.
/// assert_eq!(lease_units(LeaseDemand { waiting: 8, smallest: 8, expected: 0 }, 7, 3), 0);
/// ```
#[must_use]
pub fn lease_units(asked: LeaseDemand, left: u64, holders: usize) -> u64 {
    let served = if left >= asked.smallest {
        asked.waiting.min(left)
    } else {
        0
    };
    if served < asked.waiting {
        return served;
    }
    let ahead_max = (left - served) / (2 * holders.max(1) as u64);
    served + asked.expected.min(ahead_max)
}

/// Units that are lent to no tenant, to a holder that asks for `asked` of them, with `left` of `limit` unlent and `holders` seen
/// in this window: at most `left / (2 x holders)`, as in [`lease_units`]. The last few of a window are not divided, or half of
/// them after half would be asked for with a call each, while requests wait.
///
/// ```
/// use weir_federation::lease_size::idle_units;
/// assert_eq!(idle_units(500, 900, 3, 6_400), 150); // 900 / (2 x 3)
/// assert_eq!(idle_units(100, 900, 3, 6_400), 100);
/// // Up to 4 x 3 are not divided, nor up to a 64th of the limit.
/// assert_eq!([13, 12].map(|left| idle_units(500, left, 3, 6_400)), [2, 12]);
/// assert_eq!([11, 10].map(|left| idle_units(500, left, 3, 640)), [1, 10]);
/// ```
#[must_use]
pub fn idle_units(asked: u64, left: u64, holders: usize, limit: u64) -> u64 {
    let holders = holders.max(1) as u64;
    let undivided = UNDIVIDED_UNITS
        .saturating_mul(holders)
        .min(limit / UNDIVIDED_PART);
    let most = if left <= undivided {
        left
    } else {
        left / (2 * holders)
    };
    asked.min(most)
}

/// A burst within less is not a rate.
const ELAPSED_MS_MIN: u64 = 20;

/// Units expected to be spent in `horizon_ms`, at the pace of `spent` units in `elapsed_ms`. Paces measured over
/// less than 20 ms are taken over 20 ms: a single burst is not a rate.
///
/// ```
/// use weir_federation::lease_size::expected_units;
/// assert_eq!(expected_units(30, 1_000, 500), 15);
/// assert_eq!(expected_units(1, 0, 500), 25); // one unit in at most 20 ms
/// assert_eq!(expected_units(1, 1_000, 500), 0); // less than one: a rare request does not keep a lease
/// ```
#[must_use]
pub fn expected_units(spent: u64, elapsed_ms: u64, horizon_ms: u64) -> u64 {
    let elapsed_ms = elapsed_ms.max(ELAPSED_MS_MIN);
    // Nearly always; a division of 128 bits takes many times as long, on wasm above all.
    if let Some(units) = spent.checked_mul(horizon_ms) {
        return units / elapsed_ms;
    }
    let elapsed_ms = u128::from(elapsed_ms);
    let expected = u128::from(spent) * u128::from(horizon_ms) / elapsed_ms;
    u64::try_from(expected).unwrap_or(u64::MAX)
}

/// Whether [`expected_units`] come to `units` at least, found without a division.
///
/// ```
/// use weir_federation::lease_size::expects_units;
/// assert!(expects_units(30, 1_000, 500, 15));
/// assert!(!expects_units(30, 1_000, 500, 16));
/// ```
#[must_use]
pub fn expects_units(spent: u64, elapsed_ms: u64, horizon_ms: u64, units: u64) -> bool {
    let elapsed_ms = u128::from(elapsed_ms.max(ELAPSED_MS_MIN));
    u128::from(spent) * u128::from(horizon_ms) >= u128::from(units) * elapsed_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_compared_as_it_is_computed() {
        let numbers = [0, 1, 19, 20, 21, 499, 500, 1 << 32, u64::MAX];
        let all = |numbers: [u64; 9]| numbers.into_iter();
        for (spent, elapsed) in all(numbers).flat_map(|one| all(numbers).map(move |two| (one, two)))
        {
            for horizon in numbers {
                let expected = expected_units(spent, elapsed, horizon);
                let around = [
                    expected.saturating_sub(1),
                    expected,
                    expected.saturating_add(1),
                ];
                for units in around.into_iter().chain(numbers) {
                    let compared = expects_units(spent, elapsed, horizon, units);
                    // Of what is beyond 64 bits only that is known.
                    let known = expected < u64::MAX || units < u64::MAX;
                    assert!(
                        compared == (expected >= units) || !known,
                        "{spent} {elapsed} {horizon} {units}"
                    );
                }
            }
        }
    }
}
