//! Max-min fairness of one resource: each client may use as much a second as keeps the resource busy, divided by weight.
//!
//! A request passes while its client's level, what it has used and what has not drained, is below [`BURST`] requests.
//! Levels drain at the fair rate. With a rate of 2 a second, a client of weight 1 that asks 10 times a second is
//! admitted twice a second; one that asks once a second is denied only when it asks more than twice within a second; and
//! whoever was idle is admitted at once. Costs count as so many requests; a weight of 3 counts a third.
//!
//! No coin is tossed: clients that ask alike are served alike to within one request, and those that use less than the
//! rate lose nothing to chance. Dropping at random with probability `1 - rate / offered` (core-stateless fair queueing;
//! Stoica, Shenker and Zhang, SIGCOMM 1998) was measured under the same steering: it holds noisy neighbours a little
//! closer to their share (Jain's index .958, here .942), serves equal clients less alike than no limiter at all (.986,
//! without one .987, here .996), and shuts out those that come late (.983, here .996).

use weir_core::limits::OVERLOAD_DEBT_MS_MAX;
use weir_core::units::EpochMs;

use super::placement::{Cells, Shape};
use super::steering::Steering;
use super::usage::{Raised, Usage};

/// Typical requests that a client may have used ahead of the rate and still be admitted. More would spare modest
/// clients that come in bursts, and give clients that come and go more than those that stay.
pub const BURST: f64 = 1.45;

/// The rate at which a resource begins of which nothing is known, in units a second: the first clients raise it.
const FIRST_RATE: f64 = 1.0;

/// By how much a request moves what counts as a typical one.
const TYPICAL_STEP: f64 = 0.01;

/// A client's cells in both structures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Places {
    /// In the structure that decides.
    pub live: Cells,
    /// In the one that learns.
    pub shadow: Cells,
}

/// What is said to a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Admission {
    /// Whether it passes.
    pub admitted: bool,
    /// In how many milliseconds it would; 0 when it does.
    pub retry_after_ms: u64,
}

#[derive(Debug, Clone, Copy)]
struct Charge {
    places: Places,
    units: f64,
    live: Raised,
    shadow: Raised,
}

/// The clients of one resource, and their fair rate.
#[derive(Debug, Clone)]
pub struct FairRate {
    /// How the rate follows the resource.
    pub steering: Steering,
    live: Usage,
    shadow: Usage,
    drained: f64,
    drained_at: EpochMs,
    typical: Option<f64>,
    last: Option<Charge>,
}

impl FairRate {
    /// Nothing was used.
    #[must_use]
    pub fn new(shape: Shape, now: EpochMs) -> Self {
        Self {
            steering: Steering::new(FIRST_RATE, now),
            live: Usage::new(shape),
            shadow: Usage::new(shape),
            drained: 0.0,
            drained_at: now,
            typical: None,
            last: None,
        }
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.live.bytes() + self.shadow.bytes()
    }

    /// Drains until `now`. A clock that steps back changes nothing.
    pub fn drain(&mut self, now: EpochMs) {
        let elapsed_ms = now.since(self.drained_at);
        if elapsed_ms > 0 {
            self.drained += self.steering.rate() * elapsed_ms as f64 / 1_000.0;
            self.drained_at = now;
        }
    }

    /// Decides a request of `units`, a cost divided by a weight, and charges it when it is admitted. Only then does it
    /// matter where the client lies in the structure that learns.
    pub fn check(
        &mut self,
        live: &Cells,
        shadow: impl FnOnce() -> Cells,
        units: f64,
        now: EpochMs,
    ) -> Admission {
        self.drain(now);
        let level = self.live.level(live, self.drained);
        let answer = self.answer(level);
        if !answer.admitted {
            self.steering.denied(now);
            return answer;
        }
        let places = Places {
            live: *live,
            shadow: shadow(),
        };
        if level < self.burst() {
            self.charge(&places, units, level);
        } else {
            self.exceed(&places);
        }
        self.live.checked(&places.live);
        self.shadow.checked(&places.shadow);
        answer
    }

    /// What would be said to a request.
    pub fn look(&mut self, live: &Cells, now: EpochMs) -> Admission {
        self.drain(now);
        self.answer(self.live.level(live, self.drained))
    }

    fn answer(&self, level: f64) -> Admission {
        let above = level - self.burst();
        if above < 0.0 || !self.steering.contended() {
            return Admission {
                admitted: true,
                retry_after_ms: 0,
            };
        }
        // A level that is exactly the burst is not below it yet: one more millisecond.
        let wait_ms = (above * 1_000.0 / self.steering.rate()).ceil() + 1.0;
        Admission {
            admitted: false,
            retry_after_ms: (wait_ms as u64).clamp(1, OVERLOAD_DEBT_MS_MAX),
        }
    }

    /// A client of an open resource is faster than all before it: the rate follows, and nothing is owed.
    fn exceed(&mut self, places: &Places) {
        self.steering.exceeded();
        let burst = self.burst();
        self.live.trim(&places.live, self.drained, burst);
        self.shadow.trim(&places.shadow, self.drained, burst);
        self.last = None;
    }

    /// Charges a client whose level in the structure that decides is `level`.
    fn charge(&mut self, places: &Places, units: f64, level: f64) {
        self.learn_typical(units);
        let (most, drained) = (self.most(), self.drained);
        let learned = self.shadow.level(&places.shadow, drained);
        let after = |level: f64| drained + (level + units).min(most);
        self.last = Some(Charge {
            places: *places,
            units,
            live: self.live.fill(&places.live, after(level), drained),
            shadow: self.shadow.fill(&places.shadow, after(learned), drained),
        });
    }

    /// Takes back the charge of a check: exactly, when it was the last; as nearly as can be known otherwise.
    pub fn undo(&mut self, places: &Places, units: f64, now: EpochMs) {
        self.drain(now);
        let charge = match self.last.take() {
            Some(last) if last.places == *places && last.units == units => last,
            other => {
                self.last = other;
                Charge {
                    places: *places,
                    units,
                    live: self.live.raised(&places.live, units, self.drained),
                    shadow: self.shadow.raised(&places.shadow, units, self.drained),
                }
            }
        };
        self.live.lower(&places.live, &charge.live);
        self.shadow.lower(&places.shadow, &charge.shadow);
        self.live.reported(&places.live);
        self.shadow.reported(&places.shadow);
    }

    /// A request came to an end. One that was never checked is charged now.
    pub fn report(&mut self, places: &Places, units: f64, failed: bool, now: EpochMs) {
        self.drain(now);
        let checked = self.live.reported(&places.live);
        self.shadow.reported(&places.shadow);
        if !checked {
            let level = self.live.level(&places.live, self.drained);
            if self.steering.contended() || level < self.burst() {
                self.charge(places, units, level);
            } else {
                self.exceed(places);
            }
        }
        self.steering
            .outcomes(u64::from(!failed), u64::from(failed), now);
    }

    /// The structure that learned takes over; one that knows nothing learns.
    pub fn rotate(&mut self, shape: Shape) {
        self.live = std::mem::replace(&mut self.shadow, Usage::new(shape));
        // Keeps the numbers small, and so exact, however long a resource lives.
        self.live.rebase(self.drained);
        self.drained = 0.0;
        self.last = None;
    }

    /// What was charged since this was last asked, in both structures.
    pub fn changes(&mut self) -> [Vec<(u16, i64)>; 2] {
        let least = self.least();
        [self.live.changes(least), self.shadow.changes(least)]
    }

    /// Forgets what was not told: while a resource is open, only its rate matters.
    pub fn forget_changes(&mut self) {
        self.live.forget_changes();
        self.shadow.forget_changes();
    }

    /// Takes what a holder charged to one structure.
    pub fn merge(&mut self, shadow: bool, changes: &[(u16, i64)], now: EpochMs) {
        self.drain(now);
        let (most, drained) = (self.most(), self.drained);
        self.structure(shadow).merge(changes, drained, most);
    }

    /// What the cells hold, in both structures.
    pub fn levels(&mut self, now: EpochMs) -> [Vec<(u16, i64)>; 2] {
        self.drain(now);
        let least = self.least();
        [
            self.live.levels(self.drained, least),
            self.shadow.levels(self.drained, least),
        ]
    }

    /// Takes the parent's cells of one structure.
    pub fn learn(&mut self, shadow: bool, levels: &[(u16, i64)], now: EpochMs) {
        self.drain(now);
        let drained = self.drained;
        self.last = None;
        self.structure(shadow).learn(levels, drained);
    }

    fn structure(&mut self, shadow: bool) -> &mut Usage {
        match shadow {
            false => &mut self.live,
            true => &mut self.shadow,
        }
    }

    fn burst(&self) -> f64 {
        BURST * self.typical.unwrap_or(1.0)
    }

    /// What a cell holds at most.
    fn most(&self) -> f64 {
        self.burst() + self.steering.rate() * OVERLOAD_DEBT_MS_MAX as f64 / 1_000.0
    }

    /// What is too little to be told.
    fn least(&self) -> f64 {
        self.typical.map_or(1e-9, |typical| typical / 256.0)
    }

    /// The median of what requests cost: each moves it a little towards itself, so that no single one moves it far.
    fn learn_typical(&mut self, units: f64) {
        let typical = self.typical.unwrap_or(units);
        self.typical = Some(if units > typical {
            (typical * (1.0 + TYPICAL_STEP)).min(units)
        } else {
            (typical * (1.0 - TYPICAL_STEP)).max(units)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementKey;

    #[test]
    fn whoever_used_far_too_much_is_admitted_after_the_longest_debt() {
        let shape = Shape::new(2, 1_000).unwrap();
        let place = |client| PlacementKey::of([7; 16]).place(client, shape);
        let (modest, greedy) = (place("modest"), place("greedy"));
        let begin = EpochMs(1_000_000);
        let mut fair = FairRate::new(shape, begin);
        // A resource whose requests cost about 1, and one that costs a billion.
        assert!(fair.check(&modest, || modest, 1.0, begin).admitted);
        assert!(fair.check(&greedy, || greedy, 1e9, begin).admitted);
        fair.steering.restore(true);
        let denied = fair.look(&greedy, begin);
        assert_eq!(
            (denied.admitted, denied.retry_after_ms),
            (false, OVERLOAD_DEBT_MS_MAX)
        );
        assert!(fair.look(&modest, begin).admitted);
        assert!(
            !fair
                .look(&greedy, begin.plus(OVERLOAD_DEBT_MS_MAX - 1_000))
                .admitted
        );
        assert!(
            fair.look(&greedy, begin.plus(OVERLOAD_DEBT_MS_MAX + 1_000))
                .admitted
        );
    }

    #[test]
    fn what_is_far_below_a_typical_request_waits_until_it_comes_to_more() {
        let shape = Shape::new(2, 1_000).unwrap();
        let client = PlacementKey::of([7; 16]).place("acme", shape);
        let now = EpochMs(1_000_000);
        let mut fair = FairRate::new(shape, now);
        // A 256th of a typical request, which is about 1, is enough.
        for (units, told) in [
            (1.0, true),
            (0.01, true),
            (0.001, false),
            (0.001, false),
            (0.01, true),
        ] {
            assert!(fair.check(&client, || client, units, now).admitted);
            let [live, shadow] = fair.changes();
            assert_eq!(
                (live.is_empty(), shadow.is_empty()),
                (!told, !told),
                "{units}"
            );
        }
    }

    #[test]
    fn a_charge_is_taken_back_as_it_was_made_when_it_was_the_last_and_else_by_its_units() {
        let shape = Shape::new(2, 1_000).unwrap();
        let client = PlacementKey::of([7; 16]).place("acme", shape);
        let (places, now) = (
            Places {
                live: client,
                shadow: client,
            },
            EpochMs(1_000_000),
        );
        let left = |charged: &[f64], undone: f64| {
            let mut fair = FairRate::new(shape, now);
            for units in charged {
                assert!(fair.check(&client, || client, *units, now).admitted);
            }
            fair.undo(&places, undone, now);
            [&fair.live, &fair.shadow].map(|usage| usage.level(&client, fair.drained))
        };
        // What was charged beyond the longest debt was not charged.
        assert_eq!(left(&[1.0, 1e9], 1e9), [1.0, 1.0]);
        assert_eq!(left(&[3.0, 1.0], 1.0), [3.0, 3.0]);
        assert_eq!(left(&[3.0, 1.0], 3.0), [1.0, 1.0]);
    }
}
