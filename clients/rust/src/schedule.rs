//! When to try again, how long a try may take, and when a slot is renewed.

use std::time::Duration;

/// The pause before the first retry is up to this; it doubles with each further one.
const PAUSE_MS: u64 = 50;
/// The longest pause, where the answer names none.
const PAUSE_MS_MAX: u64 = 2_000;
/// The shortest lease of a guard.
const LEASE_MS_MIN: u64 = 100;

/// How long to wait until the next try, after `failed` tries (from 1). What Weir said counts; else a part, drawn from the
/// whole range of `random`, of a length that doubles, so that many clients do not come back at once.
pub(crate) fn pause(failed: u32, told_ms: Option<u64>, random: u32) -> Duration {
    if let Some(told_ms) = told_ms {
        return Duration::from_millis(told_ms);
    }
    let longest_ms = PAUSE_MS << failed.saturating_sub(1).min(16);
    let longest = Duration::from_millis(longest_ms.min(PAUSE_MS_MAX));
    longest.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// How long a try may take when `left` is left for it and for `retries` more: an even share, so that one that hangs leaves
/// time for the next. At least a millisecond.
pub(crate) fn share(left: Duration, retries: u64) -> Duration {
    let tries = u32::try_from(retries + 1).unwrap_or(u32::MAX);
    (left / tries).max(Duration::from_millis(1))
}

/// How long until a slot is to be renewed: a third of its lease, so that two renewals may fail. A lease that seems shorter
/// than any is taken for the shortest: the clocks disagree.
pub(crate) fn renewal(lease_ms: u64) -> Duration {
    Duration::from_millis(lease_ms.max(LEASE_MS_MIN)) / 3
}

/// What is left of a lease that ends at `expires_at` by Weir's clock, in milliseconds. `date_ms` is the `Date` field of the
/// answer, which counts whole seconds: where this machine's clock is not within that second, the nearer end of it is taken
/// for now.
pub(crate) fn lease_ms(expires_at: u64, date_ms: Option<u64>, now_ms: u64) -> u64 {
    let now_ms = match date_ms {
        Some(second) => now_ms.clamp(second, second.saturating_add(1_000)),
        None => now_ms,
    };
    expires_at.saturating_sub(now_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u32 = u32::MAX;

    fn ms(duration: Duration) -> u128 {
        duration.as_millis()
    }

    #[test]
    fn pauses_double_up_to_two_seconds_and_are_drawn_below_that() {
        let longest = [1, 2, 3, 4, 5, 6, 7, 8, 20].map(|failed| ms(pause(failed, None, MAX)));
        assert_eq!(
            longest,
            [50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]
        );
        assert_eq!(ms(pause(3, None, 0)), 0);
        assert_eq!(ms(pause(3, None, MAX / 2 + 1)), 100);
    }

    #[test]
    fn what_weir_says_of_the_next_try_counts() {
        assert_eq!(ms(pause(1, Some(1_000), 0)), 1_000);
        assert_eq!(ms(pause(9, Some(0), MAX)), 0);
    }

    #[test]
    fn the_tries_share_what_is_left_of_the_deadline_evenly() {
        for (left_ms, retries, share_ms) in [
            (2_000, 0, 2_000),
            (2_000, 3, 500),
            (1_500, 2, 500),
            (0, 1, 1),
        ] {
            assert_eq!(ms(share(Duration::from_millis(left_ms), retries)), share_ms);
        }
    }

    #[test]
    fn a_slot_is_renewed_at_a_third_of_its_lease_and_never_in_a_rush() {
        assert_eq!(ms(renewal(30_000)), 10_000);
        assert_eq!(ms(renewal(0)), 33);
    }

    #[test]
    fn a_clock_that_is_wrong_by_an_hour_makes_a_lease_longer_by_no_more_than_a_second() {
        let second = 1_767_225_600_000;
        let ends = second + 400 + 30_000;
        let hour = 3_600_000;
        assert_eq!(lease_ms(ends, Some(second), second + 400), 30_000);
        assert_eq!(lease_ms(ends, Some(second), second - hour), 30_400);
        assert_eq!(lease_ms(ends, Some(second), second + hour), 29_400);
        assert_eq!(lease_ms(ends, None, second + 400), 30_000);
        assert_eq!(lease_ms(ends, None, ends + 1), 0);
    }
}
