//! How the fair rate follows what a resource can serve.
//!
//! The rate is steered in its logarithm, so that a resource of one request a second and one of 100,000 are steered
//! alike, by the part of the requests that fail:
//!
//! | while | the rate |
//! | --- | --- |
//! | nothing fails (open) | is that of the fastest client: whoever exceeds it raises it, and nobody is denied |
//! | requests fail | falls by `GAIN_PER_S` times the failing part a second, at most by `SLEW_PER_S`; what the resource serves meanwhile, over `CAPACITY_S`, is taken for what it bears |
//! | more than `OUT` of the last requests fail | collapses: by up to a tenth with each failure; what little is served says nothing of what the resource bears |
//! | they have ceased to fail | rises along a cubic: fast up to where failures began, hardly at all there, faster and faster beyond (CUBIC; Ha, Rhee and Xu, 2008) |
//! | it then serves less than `USED` of what it bears, or nobody has seen what it bears, though somebody is denied | rises by the logarithm of what is missing a second, at most by `SEARCH_PER_S`, where the cubic is slower; by half as much after each such rise that ended in failures |
//! | the resource has told what it lets through ([`Steering::told`]) | goes, in `TOLD_S`, to where it was while what is served was measured, by what is told over what is served; it binds as soon as more is served than is told, and nobody searches |
//! | nobody was denied and nothing failed for `CALM_MS` | binds nobody: open again, and what it bears is believed again |
//!
//! Requests have ceased to fail when the failing part is below half of `FAILING`, when nothing failed for `CALM_MS`, or
//! when nothing failed for `IDLE_MS` and the resource serves less than it should.
//!
//! The cubic spends most of its time just below what the resource can serve, and yet finds a resource that recovered: a
//! rate of a fiftieth is back after `(ln 50 / CUBIC)^(1/3)`, 16 s. Where the resource serves too little for what it was
//! seen to bear, nothing has to be felt for: a resource that served a fiftieth is raised e-fold in the first seconds, and
//! more slowly as it comes near. So the rate of a resource of which nothing was known is found within seconds of its
//! first failures.

use weir_core::units::EpochMs;

/// How strongly the rate answers to the failing part: with 1% of the requests failing it falls by 4% a second.
const GAIN_PER_S: f64 = 4.0;

/// How fast the rate falls at most, in its logarithm: to half in ten seconds. A short burst of errors takes little from
/// anyone.
const SLEW_PER_S: f64 = 0.066;

/// The part of requests that may fail without the rate falling: none of a resource's failures can be told from chance
/// below.
const TOLERATED: f64 = 0.001;

/// Above which failing part a resource counts as failing; it has ceased to below half of it.
const FAILING: f64 = 0.005;

/// How far below the point where failures began again the rate steps back, in its logarithm.
const STEP_BACK: f64 = 0.24;

/// The cubic's coefficient, in 1/s^3.
const CUBIC: f64 = 0.000_9;

/// The part of what the resource served while it failed that it should go on serving: with less, while somebody is
/// denied, the rate is raised.
const USED: f64 = 0.85;

/// How fast the rate rises at most while the resource serves less than that, in its logarithm.
const SEARCH_PER_S: f64 = 1.0;

/// Over how many seconds what it served while it failed is taken.
const CAPACITY_S: f64 = 3.0;

/// A resource that fails nothing for so long, and serves less than it bears, has ceased to fail.
const IDLE_MS: u64 = 1_000;

/// For so long after a denial somebody wants more.
const WANTED_MS: u64 = 2_000;

/// What one request above the open rate raises it by.
const OPEN_STEP: f64 = 0.04;

/// In what time the open rate falls to 1/e when nobody reaches it.
const OPEN_DECAY_S: f64 = 60.0;

/// Without denials and failures for so long a resource is open again.
const CALM_MS: u64 = 5_000;

/// For so long after a parent's word only the parent moves the rate.
const FOLLOW_MS: u64 = 3_000;

/// By how much the outcomes of one instant change the logarithm of the rate, at most.
const STEP_MAX: f64 = 0.1;

/// By how much the rate grows between two outcomes, at most: it doubles.
const GROWTH_MAX: f64 = std::f64::consts::LN_2;

/// With more than this part failing a resource is out: the rate collapses, by a tenth with each failure.
const OUT: f64 = 0.9;

/// Outcomes over which that part is taken.
const OUT_OUTCOMES: f64 = 20.0;

/// In what time the rate goes where what the resource has told leads it.
const TOLD_S: f64 = 1.0;

/// How far what is served counts as off at most, in its logarithm.
const TOLD_OFF_MAX: f64 = 2.0;

/// For so long what a resource has told counts: several contacts between holders, and requests that are far apart.
const TOLD_MS: u64 = 10_000;

/// The least rate and the largest, in their logarithm: one unit in 20 minutes, and 10^17 a second.
const LN_RATE_RANGE: (f64, f64) = (-7.0, 40.0);

/// Outcomes that are no further apart fade by factors that are computed once.
const FADING_MS: usize = 16;

/// By what the outcomes of the last second, and those over [`CAPACITY_S`], have faded after so many milliseconds.
fn faded(elapsed_ms: u64) -> (f64, f64) {
    let elapsed_s = elapsed_ms as f64 / 1_000.0;
    (libm::exp(-elapsed_s), libm::exp(-elapsed_s / CAPACITY_S))
}

/// The fair rate of a resource, and how it got there.
#[derive(Debug, Clone)]
pub struct Steering {
    fading: [(f64, f64); FADING_MS],
    ln_rate: f64,
    /// The rate, and of which logarithm.
    rate: f64,
    ln_of_rate: f64,
    outcomes_per_s: f64,
    /// Requests that succeeded lately, and for how much of that time they were counted.
    served_in: f64,
    served_for: f64,
    /// What the resource served, a second, while it failed some: what it bears. 0 until that was seen.
    capacity_per_s: f64,
    capacity_at: EpochMs,
    /// How far what it bears is believed, from 1: half as far after each search that ended in failures, as what is served
    /// in requests depends on which of them fail, and a parent hears of failures late.
    trust: f64,
    /// Whether the rate rose for that reason since failures ceased.
    searched: bool,
    outcomes: f64,
    heard_at: EpochMs,
    /// The failing part of the last two seconds.
    failing_part: f64,
    /// The failing part of the last [`OUT_OUTCOMES`].
    out_part: f64,
    contended: bool,
    contended_at: EpochMs,
    failing: bool,
    /// Where failures began, as far as is known.
    ln_ceiling: f64,
    /// How long the cubic takes to get there.
    plateau_s: f64,
    ceased_at: EpochMs,
    served: u64,
    failed_at: EpochMs,
    denied_at: EpochMs,
    led_at: Option<EpochMs>,
    /// What the resource has told that it lets through, in requests a second, and when.
    told: Option<(f64, EpochMs)>,
    /// The logarithm of the rate over about [`CAPACITY_S`], as what is served is: what it brought about.
    ln_lately: f64,
}

impl Steering {
    /// An open resource whose fastest client has this rate, in units a second.
    #[must_use]
    pub fn new(rate: f64, now: EpochMs) -> Self {
        let mut steering = Self {
            fading: std::array::from_fn(|elapsed_ms| faded(elapsed_ms as u64)),
            ln_rate: 0.0,
            rate: 1.0,
            ln_of_rate: 0.0,
            outcomes_per_s: 0.0,
            served_in: 0.0,
            served_for: 0.0,
            capacity_per_s: 0.0,
            capacity_at: now,
            trust: 1.0,
            searched: false,
            outcomes: 0.0,
            heard_at: now,
            failing_part: 0.0,
            out_part: 0.0,
            contended: false,
            contended_at: now,
            failing: false,
            ln_ceiling: 0.0,
            plateau_s: 0.0,
            ceased_at: now,
            served: 0,
            failed_at: EpochMs(0),
            denied_at: EpochMs(0),
            led_at: None,
            told: None,
            ln_lately: libm::log(rate),
        };
        steering.set(libm::log(rate));
        steering
    }

    /// The rate, in units a second for a weight of 1.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether the rate binds.
    #[must_use]
    pub fn contended(&self) -> bool {
        self.contended
    }

    /// When an outcome was last told.
    #[must_use]
    pub fn heard_at(&self) -> EpochMs {
        self.heard_at
    }

    /// A request was denied.
    pub fn denied(&mut self, now: EpochMs) {
        self.denied_at = now;
    }

    /// A client was faster than the rate of an open resource.
    pub fn exceeded(&mut self) {
        self.set(self.ln_rate + OPEN_STEP);
    }

    /// A holder's fastest client had this rate while the resource was open, or shortly before the holder heard
    /// otherwise.
    pub fn exceeded_to(&mut self, rate: f64, now: EpochMs) {
        let began = !self.contended || now.since(self.contended_at) < FOLLOW_MS;
        if began && rate > self.rate {
            self.set(libm::log(rate));
            self.ln_ceiling = self.ln_rate;
        }
    }

    /// The resource has told how many requests a second it lets through: above 0.
    pub fn told(&mut self, per_s: f64, now: EpochMs) {
        self.told = Some((per_s, now));
    }

    /// Requests came to an end.
    pub fn outcomes(&mut self, succeeded: u64, failed: u64, now: EpochMs) {
        let (served, lost) = (succeeded as f64, failed as f64);
        let all = served + lost;
        if all == 0.0 {
            return;
        }
        let elapsed_s = self.count(served, lost, now);
        if !self.contended {
            self.ln_rate -= elapsed_s / OPEN_DECAY_S;
            let beyond = self.off(served, now).is_some_and(|off| off < 0.0);
            if beyond || failed > 0 && self.failing_part > FAILING {
                self.contend(now);
            } else {
                return self.set(self.ln_rate);
            }
        }
        if self.led(now) {
            return self.note(succeeded, failed, now);
        }
        if failed > 0 {
            self.fall(lost, now);
        }
        if let Some(off) = self.off(served, now) {
            self.pace(off, elapsed_s, now);
            return self.set(self.ln_rate);
        }
        self.ln_rate += (GAIN_PER_S * TOLERATED * all / self.outcomes_per_s).min(STEP_MAX);
        if failed == 0 {
            self.recover(succeeded, elapsed_s, now);
        }
        self.set(self.ln_rate);
    }

    fn led(&self, now: EpochMs) -> bool {
        self.led_at.is_some_and(|at| now.since(at) < FOLLOW_MS)
    }

    /// What a parent steers by is only noted.
    fn note(&mut self, succeeded: u64, failed: u64, now: EpochMs) {
        if failed > 0 {
            self.failed_at = now;
            self.served = 0;
        }
        self.served = self.served.saturating_add(succeeded);
        self.failing = self.failing_part > FAILING;
        self.ceased_at = now;
        self.ln_ceiling = self.ln_rate;
    }

    /// The rates of outcomes and failures; seconds since the last outcome.
    fn count(&mut self, served: f64, lost: f64, now: EpochMs) -> f64 {
        let all = served + lost;
        let failing_part = lost / all;
        let elapsed_ms = now.since(self.heard_at);
        let elapsed_s = elapsed_ms as f64 / 1_000.0;
        self.heard_at = self.heard_at.max(now);
        if elapsed_ms > 0 {
            let near = usize::try_from(elapsed_ms).ok();
            let near = near.and_then(|ms| self.fading.get(ms).copied());
            let (last, kept) = near.unwrap_or_else(|| faded(elapsed_ms));
            self.outcomes_per_s *= last;
            self.served_for *= kept;
            self.served_in *= kept;
            self.served_for += 1.0 - kept;
            self.ln_lately += (1.0 - kept) * (self.ln_rate - self.ln_lately);
        }
        self.outcomes_per_s += all;
        self.served_in += served / CAPACITY_S;
        self.outcomes += all;
        let recent = (all / (2.0 * self.outcomes_per_s).max(OUT_OUTCOMES)).min(1.0);
        self.failing_part += recent * (failing_part - self.failing_part);
        let last = (all / self.outcomes.min(OUT_OUTCOMES)).min(1.0);
        self.out_part += last * (failing_part - self.out_part);
        if lost > 0.0 && self.out_part <= OUT {
            self.learn_capacity(now);
        }
        elapsed_s
    }

    /// Successes a second, over about [`CAPACITY_S`].
    fn served_per_s(&self) -> f64 {
        self.served_in / self.served_for.max(0.1)
    }

    /// While a resource fails some, what it serves is what it bears.
    fn learn_capacity(&mut self, now: EpochMs) {
        let elapsed_s = now.since(self.capacity_at) as f64 / 1_000.0;
        let kept = match self.capacity_per_s > 0.0 {
            true => libm::exp(-elapsed_s / CAPACITY_S),
            false => 0.0,
        };
        self.capacity_per_s = kept * self.capacity_per_s + (1.0 - kept) * self.served_per_s();
        self.capacity_at = now;
    }

    fn contend(&mut self, now: EpochMs) {
        self.contended = true;
        self.ln_lately = self.ln_rate;
        self.contended_at = now;
        self.failing = true;
        self.ln_ceiling = self.ln_rate;
    }

    fn fall(&mut self, lost: f64, now: EpochMs) {
        self.failed_at = now;
        self.served = 0;
        if !self.failing && self.failing_part > FAILING {
            self.failing = true;
            if std::mem::take(&mut self.searched) {
                self.trust /= 2.0;
            }
            let beyond = self.ln_rate - self.ln_ceiling;
            if beyond > 0.0 {
                self.ln_ceiling += beyond / 2.0;
                self.ln_rate = self.ln_rate.min(self.ln_ceiling - STEP_BACK);
            }
        }
        let gain = GAIN_PER_S.min(SLEW_PER_S / self.failing_part);
        self.ln_rate -= (gain * lost / self.outcomes_per_s).min(STEP_MAX * lost.min(10.0));
        if self.outcomes >= OUT_OUTCOMES / 2.0 && self.out_part > OUT {
            self.ln_rate -= (self.out_part - OUT) * lost.min(10.0);
        }
        if self.failing {
            self.ln_ceiling = self.ln_ceiling.min(self.ln_rate + STEP_BACK);
        }
        self.plateau_s = libm::cbrt((self.ln_ceiling - self.ln_rate).max(0.0) / CUBIC);
    }

    fn recover(&mut self, served: u64, elapsed_s: f64, now: EpochMs) {
        self.served = self.served.saturating_add(served);
        if self.failing {
            let idle = now.since(self.failed_at) > IDLE_MS && self.unused(now) > 0.0;
            if self.failing_part < FAILING / 2.0 || self.long_calm(now) || idle {
                self.failing = false;
                self.ceased_at = now;
            }
            return;
        }
        if self.served >= 3 {
            let from_ceiling_s = now.since(self.ceased_at) as f64 / 1_000.0 - self.plateau_s;
            let slope = 3.0 * CUBIC * from_ceiling_s * from_ceiling_s;
            let search = self.unused(now) * self.trust;
            self.searched |= search > slope;
            self.ln_rate += (slope.max(search) * elapsed_s).min(GROWTH_MAX);
        }
        self.calm(now);
    }

    /// Nobody was denied and nothing failed for long: the resource is open.
    fn calm(&mut self, now: EpochMs) {
        let calm = now.since(self.failed_at) > CALM_MS && now.since(self.denied_at) > CALM_MS;
        if calm {
            self.contended = false;
            self.trust = 1.0;
        }
    }

    /// How far what is served is below what the resource has told that it lets through, in its logarithm; `None` where it
    /// has told nothing lately. Of the `last` requests, which are counted at once, half counts: what fades is measured
    /// where it is highest.
    fn off(&self, last: f64, now: EpochMs) -> Option<f64> {
        let (per_s, at) = self.told?;
        let fresh = now.since(at) < TOLD_MS;
        let served_in = self.served_in - last / (2.0 * CAPACITY_S);
        let served_per_s = served_in / self.served_for.max(0.1);
        let off = libm::log(per_s / served_per_s.max(1e-3));
        fresh.then(|| off.clamp(-TOLD_OFF_MAX, TOLD_OFF_MAX))
    }

    /// Follows what the resource has told. More than is asked for is let through by the rate as it is.
    fn pace(&mut self, off: f64, elapsed_s: f64, now: EpochMs) {
        let wanted = now.since(self.denied_at) < WANTED_MS;
        let ahead = self.ln_lately + off - self.ln_rate;
        if ahead < 0.0 || wanted {
            self.ln_rate += ahead * (elapsed_s / TOLD_S).min(1.0);
        }
        // Where what was told is forgotten, the rate goes on from here.
        self.ln_ceiling = self.ln_rate;
        self.ceased_at = now;
        self.failing = false;
        self.plateau_s = 0.0;
        // It may have begun to bind without a failure.
        if now.since(self.contended_at) > CALM_MS {
            self.calm(now);
        }
    }

    /// How fast the rate rises because the resource serves less than it bears though somebody is denied: in proportion to
    /// the logarithm of what is missing, so that it slows down as it comes near. At full speed where that was never seen.
    fn unused(&self, now: EpochMs) -> f64 {
        let wanted = now.since(self.denied_at) < WANTED_MS;
        let served_per_s = self.served_per_s();
        if !wanted || served_per_s <= 0.0 {
            return 0.0;
        }
        if self.capacity_per_s <= 0.0 {
            return SEARCH_PER_S;
        }
        let missing = libm::log(USED * self.capacity_per_s / served_per_s);
        missing.clamp(0.0, SEARCH_PER_S)
    }

    /// Nothing failed for long, though so few requests came that the failing part has not followed.
    fn long_calm(&self, now: EpochMs) -> bool {
        self.served >= 3 && now.since(self.failed_at) > CALM_MS
    }

    /// Where the rate is, for [`Self::follow`].
    #[must_use]
    pub fn mark(&self) -> f64 {
        self.ln_rate
    }

    /// Takes the parent's word, and keeps by how much the rate moved here since `mark`.
    pub fn follow(&mut self, rate: f64, contended: bool, mark: f64, now: EpochMs) {
        self.led_at = Some(now);
        if contended {
            if !self.contended {
                self.contended = true;
                self.ln_ceiling = libm::log(rate);
                self.set(libm::log(rate));
            } else {
                self.set(libm::log(rate) + self.ln_rate - mark);
            }
        } else if self.contended && !self.failing {
            self.contended = false;
        }
    }

    /// Takes up what a row says.
    pub fn restore(&mut self, contended: bool) {
        self.contended = contended;
        self.ln_ceiling = self.ln_rate;
    }

    fn set(&mut self, ln_rate: f64) {
        let (least, most) = LN_RATE_RANGE;
        let ln_rate = if ln_rate.is_nan() { 0.0 } else { ln_rate };
        self.ln_rate = ln_rate.clamp(least, most);
        // An exponential for each request of an open resource would be a tenth of what it costs.
        if self.ln_rate != self.ln_of_rate {
            self.ln_of_rate = self.ln_rate;
            self.rate = libm::exp(self.ln_rate);
        }
    }
}

#[cfg(test)]
mod tests;
