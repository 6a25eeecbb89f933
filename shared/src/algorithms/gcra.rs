//! The generic cell rate algorithm (ITU-T I.371, annex A, virtual scheduling form), exact.
//!
//! One unit is due every `T = period / limit` milliseconds, with `burst` units of tolerance. The state is one
//! theoretical arrival time. `T` is a ratio, so time is kept in ticks of `1 / ticks_per_ms` milliseconds and every
//! comparison is between integers: a cold key admits exactly `burst`, at any rate.

use crate::decision::{Decision, Reason, Retry};
use crate::invalid::{Fault, Invalid};
use crate::limits::{JSON_INTEGER_MAX, REFILL_MS_MAX, WINDOW_MS_MAX};
use crate::units::EpochMs;

/// A limit of `limit` units per `period_ms`, of which `burst` may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gcra {
    ticks_per_ms: u64,
    ticks_per_unit: u64,
    burst: u64,
}

/// The theoretical arrival time of the next unit: `ms` and `ticks` of `1 / ticks_per_ms` milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcraState {
    /// Whole milliseconds since the epoch.
    pub ms: u64,
    /// The rest, in ticks; below `ticks_per_ms`.
    pub ticks: u64,
    /// Ticks in one millisecond when this was written, so that a changed limit reads it exactly.
    pub ticks_per_ms: u64,
}

/// What a check came to. `next` is the state to keep, absent when nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// The decision.
    pub decision: Decision,
    /// The state after it; `None` when it is as before.
    pub next: Option<GcraState>,
}

impl Gcra {
    /// `limit` units per `period_ms` (1 ms to 400 days), with a tolerance of `burst` units.
    ///
    /// # Errors
    /// A bound of 0 or above its range, and a burst that takes over ten years to refill, each with its field.
    ///
    /// ```
    /// use weir_shared::algorithms::gcra::Gcra;
    /// use weir_shared::units::EpochMs;
    /// // 10 per second, 2 at once: T = 100 ms.
    /// let gcra = Gcra::new(10, 1_000, 2).unwrap();
    /// let now = EpochMs(50_000);
    /// let one = gcra.check(None, 1, now);
    /// assert_eq!(one.decision.remaining, 1);
    /// let two = gcra.check(one.next, 1, now);
    /// assert_eq!(two.decision.remaining, 0);
    /// let three = gcra.check(two.next, 1, now);
    /// assert_eq!(three.decision.retry.after_ms(), Some(100)); // the third is due one T later
    /// ```
    pub fn new(limit: u64, period_ms: u64, burst: u64) -> Result<Self, Invalid> {
        within("/limit", limit, JSON_INTEGER_MAX)?;
        within("/period_ms", period_ms, WINDOW_MS_MAX)?;
        within("/burst", burst, JSON_INTEGER_MAX)?;
        let refill_ms = u128::from(burst) * u128::from(period_ms) / u128::from(limit);
        if refill_ms > u128::from(REFILL_MS_MAX) {
            return Err(Invalid::new(
                "/burst",
                Fault::OutOfRange {
                    got: format!("{burst} (refills in {refill_ms} ms)"),
                    min: "1".to_owned(),
                    max: format!("what refills in {REFILL_MS_MAX} ms"),
                },
            ));
        }
        let common = gcd(limit, period_ms);
        Ok(Self {
            ticks_per_ms: limit / common,
            ticks_per_unit: period_ms / common,
            burst,
        })
    }

    /// Decides `cost` units at `now`. A cost of 0 looks: it tells what one unit would meet and changes nothing.
    #[must_use]
    pub fn check(&self, state: Option<GcraState>, cost: u64, now: EpochMs) -> Checked {
        let now_ticks = self.ticks(now.0, 0);
        let due = state
            .map_or(now_ticks, |state| self.read(state))
            .max(now_ticks);
        let tolerance = u128::from(self.burst) * u128::from(self.ticks_per_unit);
        let used = due - now_ticks;
        let room = tolerance.saturating_sub(used);
        let remaining = (room / u128::from(self.ticks_per_unit)) as u64;
        let asked = u128::from(cost.max(1)) * u128::from(self.ticks_per_unit);

        let (reason, retry) = if cost.max(1) > self.burst {
            (Reason::Never, Retry::Never)
        } else if asked > room {
            let short = used + asked - tolerance;
            let after_ms = short.div_ceil(u128::from(self.ticks_per_ms)) as u64;
            (Reason::LimitExceeded, Retry::AfterMs(after_ms))
        } else {
            (Reason::Admitted, Retry::Now)
        };
        let charged = reason == Reason::Admitted && cost > 0;
        let due_after = if charged { due + asked } else { due };
        let decision = Decision {
            reason,
            limit: self.burst,
            remaining: if charged { remaining - cost } else { remaining },
            reset_at: EpochMs(due_after.div_ceil(u128::from(self.ticks_per_ms)) as u64),
            retry,
        };
        Checked {
            decision,
            next: charged.then(|| self.write(due_after)),
        }
    }

    /// The state of a key that has used its whole burst at `now`: what a state that cannot be read is taken for.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> GcraState {
        let tolerance = u128::from(self.burst) * u128::from(self.ticks_per_unit);
        self.write(self.ticks(now.0, 0) + tolerance)
    }

    /// The most units at once.
    #[must_use]
    pub fn burst(&self) -> u64 {
        self.burst
    }

    fn ticks(&self, ms: u64, ticks: u64) -> u128 {
        u128::from(ms) * u128::from(self.ticks_per_ms) + u128::from(ticks)
    }

    /// Ticks of the stored time, rounded up where the limit has changed: a change never refunds.
    fn read(&self, state: GcraState) -> u128 {
        if state.ticks_per_ms == self.ticks_per_ms {
            return self.ticks(state.ms, state.ticks);
        }
        let rest = (u128::from(state.ticks) * u128::from(self.ticks_per_ms))
            .div_ceil(u128::from(state.ticks_per_ms.max(1)));
        self.ticks(state.ms, 0) + rest.min(u128::from(self.ticks_per_ms))
    }

    fn write(&self, due: u128) -> GcraState {
        let per_ms = u128::from(self.ticks_per_ms);
        GcraState {
            ms: (due / per_ms) as u64,
            ticks: (due % per_ms) as u64,
            ticks_per_ms: self.ticks_per_ms,
        }
    }
}

impl GcraState {
    /// The first millisecond at which this state is no different from a cold key.
    #[must_use]
    pub fn cold_at(&self) -> EpochMs {
        EpochMs(self.ms.saturating_add(u64::from(self.ticks > 0)))
    }
}

fn within(field: &str, got: u64, max: u64) -> Result<(), Invalid> {
    if (1..=max).contains(&got) {
        return Ok(());
    }
    Err(Invalid::new(
        field,
        Fault::OutOfRange {
            got: got.to_string(),
            min: "1".to_owned(),
            max: max.to_string(),
        },
    ))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
