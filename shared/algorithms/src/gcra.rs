//! The generic cell rate algorithm (ITU-T I.371, annex A, virtual scheduling form), exact.
//!
//! One unit is due every `T = period / limit` milliseconds, with `burst` units of tolerance. What decides is one
//! theoretical arrival time. `T` is a ratio, so time is kept in ticks of `1 / ticks_per_ms` milliseconds and every
//! comparison is between integers: a cold key admits exactly `burst`, at any rate.

use serde::{Deserialize, Serialize};
use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{JSON_INTEGER_MAX, REFILL_MS_MAX, WINDOW_MS_MAX};
use weir_core::units::EpochMs;
use weir_decision::{Decision, Reason, Retry};

use super::carry::{CarriedState, Carry};
use super::fine_ms::FineMs;
use super::meter::{AskedAt, Meter, divided, quotient_up, rescaled, saturated};
use super::tally::{Tally, TallyMark};
use super::used::Used;
use super::{Checked, QuotaPolicy};

/// The longest JSON of a [`State`](super::State) of this kind: every number at 20 digits.
const STATE_BYTES_MAX: u64 = 245;

/// A limit of `limit` units per `period_ms`, of which `burst` may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gcra {
    limit: u64,
    period_ms: u64,
    burst: u64,
    meter: Meter,
    /// From one unit to the next: `T`.
    interval: FineMs,
    /// How far ahead of its time a unit may be due once it is charged: `T * burst`.
    tolerance: FineMs,
}

/// The theoretical arrival time of the next unit: `ms` and `ticks` of `1 / ticks_per_ms` milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GcraState {
    /// Whole milliseconds since the epoch.
    pub ms: u64,
    /// The rest, in ticks; below `ticks_per_ms`.
    pub ticks: u64,
    /// Ticks in one millisecond when this was written, so that a changed limit reads it exactly.
    pub ticks_per_ms: u64,
    /// Ticks of one unit when this was written.
    pub ticks_per_unit: u64,
    /// When this was written: nothing that happens to the key is earlier.
    pub latest_ms: u64,
    /// What was charged since the key was cold.
    pub tally: Tally,
}

impl Gcra {
    /// `limit` units per `period_ms` (1 ms to 400 days), with a tolerance of `burst` units.
    ///
    /// # Errors
    /// A bound of 0 or above its range, and a burst that takes over ten years to refill, each with its field.
    ///
    /// ```
    /// use weir_algorithms::gcra::Gcra;
    /// use weir_core::units::EpochMs;
    /// // 10 per second, 2 at once: T = 100 ms.
    /// let gcra = Gcra::new(10, 1_000, 2).unwrap();
    /// let now = EpochMs(50_000);
    /// let one = gcra.check(None, 1, now);
    /// assert_eq!(one.decision.remaining, 1);
    /// let two = gcra.check(one.next.as_ref(), 1, now);
    /// assert_eq!(two.decision.remaining, 0);
    /// let three = gcra.check(two.next.as_ref(), 1, now);
    /// assert_eq!(three.decision.retry.after_ms(), Some(100)); // the third is due one T later
    /// ```
    pub fn new(limit: u64, period_ms: u64, burst: u64) -> Result<Self, Invalid> {
        within("/limit", limit, 1..=JSON_INTEGER_MAX)?;
        within("/period_ms", period_ms, 1..=WINDOW_MS_MAX)?;
        within("/burst", burst, 1..=JSON_INTEGER_MAX)?;
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
        Ok(Self::of(limit, period_ms, burst))
    }

    fn of(limit: u64, period_ms: u64, burst: u64) -> Self {
        let meter = Meter::new(limit, period_ms);
        Self {
            limit,
            period_ms,
            burst,
            meter: meter.with_size(meter.ticks(burst)),
            interval: meter.drains_in(meter.ticks(1)),
            tolerance: meter.drains_in(meter.ticks(burst)),
        }
    }

    /// Decides `cost` units at `now`. A cost of 0 looks: it tells what one unit would meet and changes nothing.
    // The state is returned by value: to copy it out of a call takes longer than to decide.
    #[inline(always)]
    #[must_use]
    pub fn check(&self, state: Option<&GcraState>, cost: u64, now: EpochMs) -> Checked<GcraState> {
        let asked = AskedAt::clamped(now, state.map(|state| state.latest_ms));
        let due = self.due(state, asked.at);
        let latest = self.after(FineMs::whole(asked.at), self.tolerance);
        let next = self.after(due, self.span(cost.max(1)));
        if cost > self.burst {
            self.told(due, latest, Reason::Never, Retry::Never)
        } else if next.is_after(latest) {
            let retry_at = asked.at.plus(next.ms_since(latest));
            let retry = Retry::AfterMs(retry_at.since(asked.now));
            self.told(due, latest, Reason::LimitExceeded, retry)
        } else if cost == 0 {
            self.told(due, latest, Reason::Admitted, Retry::Now)
        } else {
            let tally = self.tally(state, due, cost, asked.at);
            Checked {
                next: Some(self.write(next, tally, asked.at)),
                ..self.told(next, latest, Reason::Admitted, Retry::Now)
            }
        }
    }

    /// What names the charge that led to `after`, the state right after it.
    #[must_use]
    pub fn receipt(&self, after: &GcraState) -> TallyMark {
        after.tally.mark()
    }

    /// Gives back `units` of the charge that `receipt` names; `None` when there is nothing to give back. What was
    /// charged under another limit is not given back.
    ///
    /// ```
    /// use weir_algorithms::gcra::Gcra;
    /// use weir_core::units::EpochMs;
    /// let gcra = Gcra::new(10, 1_000, 5).unwrap(); // T = 100 ms
    /// let charged = gcra.check(None, 4, EpochMs(50_000)).next.unwrap(); // due at 50 400
    /// let receipt = gcra.receipt(&charged);
    /// // 100 ms later one of the four has drained anyway: three are left to give back.
    /// let refunded = gcra.refund(&charged, &receipt, 4, EpochMs(50_100)).unwrap();
    /// assert_eq!(gcra.check(Some(&refunded), 0, EpochMs(50_100)).decision.remaining, 5);
    /// assert_eq!(gcra.refund(&charged, &receipt, 4, EpochMs(50_400)), None); // all have drained
    /// ```
    #[must_use]
    pub fn refund(
        &self,
        state: &GcraState,
        receipt: &TallyMark,
        units: u64,
        now: EpochMs,
    ) -> Option<GcraState> {
        if !self.wrote(state) {
            return None;
        }
        let at = AskedAt::clamped(now, Some(state.latest_ms)).at;
        let due = self.due(Some(state), at);
        let level = Some(self.level(due, at)).filter(|level| *level > 0)?;
        let refunded = state.tally.refund(*receipt, units)?;
        let lowered = self.meter.give_back(level, units, refunded.floor_units);
        let due = self.after(FineMs::whole(at), self.meter.drains_in(lowered));
        Some(self.write(due, refunded.tally, at))
    }

    /// The state of a key that has used its whole burst at `now`: what a state that cannot be read is taken for.
    #[must_use]
    pub fn exhausted(&self, now: EpochMs) -> GcraState {
        let due = self.after(FineMs::whole(now), self.tolerance);
        self.write(due, Tally::start(now, self.burst), now)
    }

    /// The first millisecond at which `state` is no different from a cold key.
    #[must_use]
    pub fn expires_at(&self, state: &GcraState) -> EpochMs {
        state.cold_at()
    }

    /// Units that were charged may be spent at any later time: the schedule has moved by them for good.
    #[must_use]
    pub fn spendable_until(&self, _after: &GcraState, _now: EpochMs) -> EpochMs {
        EpochMs(u64::MAX)
    }

    /// The largest cost that a cold key admits: the burst.
    #[must_use]
    pub fn ceiling(&self) -> u64 {
        self.burst
    }

    /// `limit` units in `period_ms`.
    #[must_use]
    pub fn quota_policy(&self) -> QuotaPolicy {
        QuotaPolicy {
            quota: self.limit,
            window_ms: self.period_ms,
        }
    }

    /// Bytes of one stored state, as JSON, at most: eight numbers of 20 digits and their names.
    #[must_use]
    pub fn state_bytes_max(&self) -> u64 {
        STATE_BYTES_MAX
    }

    /// The same limit counted in units of `1 / scale`; `None` for a scale of 0 and where a number passes 64 bits.
    ///
    /// ```
    /// use weir_algorithms::gcra::Gcra;
    /// use weir_core::units::EpochMs;
    /// let halves = Gcra::new(10, 1_000, 2).unwrap().scaled(2).unwrap();
    /// assert_eq!(halves.ceiling(), 4); // four halves
    /// ```
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Option<Self> {
        let limit = self.limit.checked_mul(scale).filter(|limit| *limit > 0)?;
        Some(Self::of(
            limit,
            self.period_ms,
            self.burst.checked_mul(scale)?,
        ))
    }

    /// The most units at once.
    #[must_use]
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Whether the numbers of `state` are those of this limit.
    fn wrote(&self, state: &GcraState) -> bool {
        (state.ticks_per_ms, state.ticks_per_unit)
            == (self.meter.ticks_per_ms, self.meter.ticks_per_unit)
    }

    /// When the next unit is due, not before `at`.
    #[inline]
    fn due(&self, state: Option<&GcraState>, at: EpochMs) -> FineMs {
        match state {
            Some(state) if state.ms >= at.0 => {
                let (ms, ticks) = (state.ms, state.ticks);
                let per_ms = self.meter.ticks_per_ms;
                if state.ticks_per_ms == per_ms && ticks < per_ms {
                    FineMs { ms, ticks }
                } else {
                    self.converted(state)
                }
            }
            _ => FineMs::whole(at),
        }
    }

    /// When the next unit is due by a state of another limit, rounded up: a change never refunds.
    #[cold]
    fn converted(&self, state: &GcraState) -> FineMs {
        let per_ms = self.meter.ticks_per_ms;
        let ticks = saturated(rescaled(state.ticks, state.ticks_per_ms, per_ms)).min(per_ms);
        self.after(FineMs::whole(EpochMs(state.ms)), FineMs { ms: 0, ticks })
    }

    /// Ticks from `at` until `due`.
    fn level(&self, due: FineMs, at: EpochMs) -> u128 {
        due.ticks_since(FineMs::whole(at), self.meter.ticks_per_ms)
    }

    /// The same in units, rounded up.
    #[cold]
    fn level_units(&self, due: FineMs, at: EpochMs) -> u64 {
        self.meter.units(self.level(due, at))
    }

    /// The time of `units`, at most the burst.
    #[inline]
    fn span(&self, units: u64) -> FineMs {
        if units == 1 {
            return self.interval;
        }
        self.meter.drains_in(self.meter.ticks(units))
    }

    #[inline]
    fn after(&self, time: FineMs, span: FineMs) -> FineMs {
        time.plus(span, self.meter.ticks_per_ms)
    }

    /// What is told where the next unit is due at `due` and may be at `latest`.
    #[inline]
    fn told(
        &self,
        due: FineMs,
        latest: FineMs,
        reason: Reason,
        retry: Retry,
    ) -> Checked<GcraState> {
        let room = latest.ticks_since(due, self.meter.ticks_per_ms);
        let decision = Decision {
            reason,
            limit: self.burst,
            remaining: divided(room, self.meter.ticks_per_unit).0,
            reset_at: due.ceil(),
            retry,
        };
        Checked {
            decision,
            next: None,
        }
    }

    /// What was charged since the key was cold, after `cost` on top of what is due at `due`.
    #[inline]
    fn tally(&self, state: Option<&GcraState>, due: FineMs, cost: u64, at: EpochMs) -> Tally {
        let level_units = || self.level_units(due, at);
        let warm = state.filter(|_| due != FineMs::whole(at));
        let before = warm.map(|state| {
            if self.wrote(state) {
                state.tally
            } else {
                state.tally.restarted(level_units(), at)
            }
        });
        Tally::charged(before, level_units, cost, at)
    }

    #[inline]
    fn write(&self, due: FineMs, tally: Tally, at: EpochMs) -> GcraState {
        GcraState {
            ms: due.ms,
            ticks: due.ticks,
            ticks_per_ms: self.meter.ticks_per_ms,
            ticks_per_unit: self.meter.ticks_per_unit,
            latest_ms: at.0,
            tally,
        }
    }
}

impl Carry for Gcra {
    type State = GcraState;

    /// What it keeps is a time, in which its rate is.
    #[inline]
    fn reads(&self, state: &GcraState) -> bool {
        self.wrote(state)
    }

    /// The state of a cold key that is charged what was used, up to its burst.
    fn charged(&self, used: &Used, latest: EpochMs) -> GcraState {
        let (per_ms, per_unit) = (self.meter.ticks_per_ms, self.meter.ticks_per_unit);
        let level = used.level(per_ms, per_unit, self.meter.size);
        let due = self.after(FineMs::whole(latest), self.meter.drains_in(level));
        self.write(due, Tally::start(latest, self.meter.units(level)), latest)
    }
}

impl GcraState {
    /// The first millisecond at which this state is no different from a cold key.
    #[must_use]
    pub fn cold_at(&self) -> EpochMs {
        EpochMs(self.ms.saturating_add(u64::from(self.ticks > 0)))
    }

    /// Units that have not drained at a time, rounded up.
    fn units_at(&self, at: EpochMs) -> u64 {
        let ms = u128::from(self.ms.saturating_sub(at.0));
        let whole = ms.saturating_mul(u128::from(self.ticks_per_ms));
        let rest = if self.ms >= at.0 { self.ticks } else { 0 };
        let ticks = whole.saturating_add(u128::from(rest));
        quotient_up(ticks, self.ticks_per_unit.max(1))
    }
}

impl CarriedState for GcraState {
    /// Units that were charged and had not drained at the last charge, at `now`.
    fn used(&self, now: EpochMs) -> Used {
        let latest = EpochMs(self.latest_ms);
        Used::drained(latest, now.max(latest), |at| self.units_at(at))
    }

    /// The same time for a unit that is `from / to` of this one. What was charged before is not given back any more.
    fn rescaled(&self, from: u64, to: u64) -> Self {
        let per_unit = u128::from(self.ticks_per_unit) * u128::from(from);
        let per_ms = u128::from(self.ticks_per_ms) * u128::from(to);
        let (ticks_per_ms, ticks_per_unit) = reduced(per_ms, per_unit);
        let ticks = rescaled(self.ticks, self.ticks_per_ms, ticks_per_ms);
        let due = FineMs::whole(EpochMs(self.ms));
        let rest = saturated(ticks).min(ticks_per_ms);
        let due = due.plus(FineMs { ms: 0, ticks: rest }, ticks_per_ms);
        let state = Self {
            ms: due.ms,
            ticks: due.ticks,
            ticks_per_ms,
            ticks_per_unit,
            ..*self
        };
        let latest = EpochMs(self.latest_ms);
        let tally = self.tally.restarted(state.units_at(latest), latest);
        Self { tally, ..state }
    }
}

/// Both numbers over their greatest common divisor, at least 1 each; numbers that no limit has are cut to 64 bits.
fn reduced(one: u128, other: u128) -> (u64, u64) {
    let (mut common, mut rest) = (one, other);
    while rest > 0 {
        (common, rest) = (rest, common % rest);
    }
    let common = common.max(1);
    let part = |number: u128| saturated(number / common).max(1);
    (part(one), part(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_no_form_in_units_of_which_it_has_none_or_too_many() {
        let gcra = Gcra::new(10, 1_000, 2).unwrap();
        assert_eq!(gcra.scaled(1), Some(gcra));
        let most = u64::MAX / 10;
        assert_eq!(gcra.scaled(most).map(|most| most.burst()), Some(2 * most));
        for scale in [0, most + 1, u64::MAX] {
            assert_eq!(gcra.scaled(scale), None, "{scale}");
        }
    }
}
