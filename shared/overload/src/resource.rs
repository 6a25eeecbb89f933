//! One resource that may be overloaded, as whoever decides about its clients keeps it.

use weir_core::clock::MonotonicClock;
use weir_core::limits::{JSON_INTEGER_MAX, OVERLOAD_IDLE_MS};
use weir_core::units::{EpochMs, Incarnation, Revision};
use weir_fairness::weight::Weight;
use weir_wire::overload::{ShareBody, ShareReply, Steering};

use super::blue::Blue;
use super::config::Config;
use super::fair_rate::{FairRate, Places};
use super::merging::{Structures, is_rate, keys, packed, settings, unpacked};
use super::outbox::{Draft, Outbox};
use super::placed::Placed;
use super::placement::PlacementKey;

/// Who uses a resource.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its weight: twice the weight, twice the units a second while the resource is overloaded.
    pub weight: Weight,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The resource served it.
    Success,
    /// The resource had no capacity for it.
    Failure,
}

/// Whether a request may go to the resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Whether it may.
    pub admitted: bool,
    /// After how many milliseconds the client would be admitted, if nothing else changed; 0 when it is admitted.
    /// With `blue`, which has no such time, the mean time until a request of every second passes.
    pub retry_after_ms: u64,
    /// What a client of weight 1 may use, in thousandths of a unit a second; `None` while the resource is not
    /// overloaded, and with `blue`.
    pub fair_rate_milli: Option<u64>,
    /// Whether the resource is overloaded, so that clients above their share are denied.
    pub contended: bool,
}

/// What is known of one resource, and how it is steered. Its size depends on its configuration alone.
///
/// ```
/// use weir_overload::config::Config;
/// use weir_overload::resource::{Client, Outcome, Resource};
/// use weir_fairness::weight::Weight;
/// use weir_core::units::{EpochMs, Revision};
/// let now = EpochMs(1_700_000_000_000);
/// let mut origin = Resource::new(&Config::default(), Revision(1), &[7; 32], "origin", now);
/// let client = |name| Client { name, weight: Weight::WHOLE };
/// assert!(origin.check(&client("noisy"), 1, 0.5, now).admitted, "nothing has failed");
/// for _ in 0..50 {
///     origin.report(&client("noisy"), Outcome::Failure, now);
/// }
/// assert!(!origin.check(&client("noisy"), 1, 0.5, now).admitted);
/// assert!(origin.check(&client("quiet"), 1, 0.5, now).admitted);
/// ```
#[derive(Clone)]
pub struct Resource {
    config: Config,
    revision: Revision,
    secret: [u8; 32],
    name: String,
    clock: MonotonicClock,
    used_at: EpochMs,
    period: u64,
    keys: [PlacementKey; 2],
    engine: Engine,
    outbox: Outbox,
}

#[derive(Clone)]
enum Engine {
    FairRate(Box<FairRate>, Placed),
    Blue(Box<Blue>),
}

impl Resource {
    /// A resource of which nothing is known. `secret` is the deployment's; who has another one must not share.
    #[must_use]
    pub fn new(
        config: &Config,
        revision: Revision,
        secret: &[u8; 32],
        name: &str,
        now: EpochMs,
    ) -> Self {
        let period = now.0 / config.rotate_ms;
        let keys = keys(secret, name, period);
        Self {
            config: *config,
            revision,
            secret: *secret,
            name: name.to_owned(),
            clock: MonotonicClock::default(),
            used_at: now,
            period,
            keys,
            engine: Engine::new(config, keys, now),
            outbox: Outbox::new(Incarnation(now.0)),
        }
    }

    /// Goes by another configuration. What was known stays where shape, steering and rotation are the same.
    pub fn reconfigure(&mut self, config: &Config, revision: Revision, now: EpochMs) {
        self.revision = revision;
        if *config == self.config {
            return;
        }
        let before = std::mem::replace(&mut self.config, *config);
        let same = (before.shape, before.steering, before.rotate_ms);
        if same == (config.shape, config.steering, config.rotate_ms) {
            if let Engine::Blue(blue) = &mut self.engine {
                blue.reconfigure(settings(config), now);
            }
            return;
        }
        self.period = now.0 / config.rotate_ms;
        self.keys = keys(&self.secret, &self.name, self.period);
        self.engine = Engine::new(config, self.keys, now);
    }

    /// Bytes that it takes, but for its name and what waits to be told.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let engine = match &self.engine {
            Engine::FairRate(fair, placed) => fair.bytes() + placed.bytes(),
            Engine::Blue(blue) => size_of_val(&**blue) + blue.bytes(),
        };
        size_of::<Self>() + engine
    }

    /// Whether a request of `cost` units may go to the resource; if so, it is charged. A cost of 0 looks. `coin` is
    /// random, from 0 to 1; only `blue` tosses it.
    pub fn check(&mut self, client: &Client<'_>, cost: u64, coin: f64, now: EpochMs) -> Verdict {
        let now = self.turn(now);
        let verdict = match &mut self.engine {
            Engine::FairRate(fair, placed) => {
                let [live, shadow] = &self.keys;
                let shape = self.config.shape;
                let known = placed.get(client.name);
                let cells =
                    known.map_or_else(|| live.place(client.name, shape), |known| known.live);
                let answer = match cost {
                    0 => fair.look(&cells, now),
                    cost => {
                        let later = || match known {
                            Some(known) => known.shadow,
                            None => {
                                let shadow = shadow.place(client.name, shape);
                                let live = cells;
                                placed.keep(client.name, Places { live, shadow });
                                shadow
                            }
                        };
                        fair.check(&cells, later, units(client, cost), now)
                    }
                };
                let contended = fair.steering.contended();
                Verdict {
                    admitted: answer.admitted,
                    retry_after_ms: answer.retry_after_ms,
                    fair_rate_milli: contended.then(|| (fair.steering.rate() * 1_000.0) as u64),
                    contended,
                }
            }
            Engine::Blue(blue) => {
                let throttle = blue.check(client.name, coin, now);
                let retry_s = 1.0 / (1.0 - throttle.probability);
                Verdict {
                    admitted: throttle.admitted,
                    retry_after_ms: match throttle.admitted {
                        true => 0,
                        false => (retry_s * 1_000.0) as u64,
                    },
                    fair_rate_milli: None,
                    contended: throttle.probability > 0.0,
                }
            }
        };
        match verdict.admitted {
            _ if cost == 0 => {}
            true => self.outbox.counts.admitted += 1,
            false => self.outbox.counts.denied += 1,
        }
        verdict
    }

    /// Takes back the charge of a check that was admitted here and denied elsewhere.
    pub fn undo(&mut self, client: &Client<'_>, cost: u64, now: EpochMs) {
        let now = self.turn(now);
        if let Engine::FairRate(fair, placed) = &mut self.engine
            && cost > 0
        {
            let places = places(placed, &self.keys, client, &self.config);
            fair.undo(&places, units(client, cost), now);
        }
    }

    /// What became of a request. One that was never checked counts as used, with a cost of 1.
    pub fn report(&mut self, client: &Client<'_>, outcome: Outcome, now: EpochMs) {
        let now = self.turn(now);
        let failed = outcome == Outcome::Failure;
        match &mut self.engine {
            Engine::FairRate(fair, placed) => {
                let places = places(placed, &self.keys, client, &self.config);
                fair.report(&places, units(client, 1), failed, now);
            }
            Engine::Blue(blue) => blue.report(client.name, client.weight.as_f64(), failed, now),
        }
        match outcome {
            Outcome::Success => self.outbox.counts.succeeded += 1,
            Outcome::Failure => self.outbox.counts.failed += 1,
        }
    }

    /// The resource has told how many requests it lets through a second, in thousandths. With `blue` that says nothing.
    pub fn told(&mut self, milli: u64, now: EpochMs) {
        let now = self.turn(now);
        let milli = milli.clamp(1, JSON_INTEGER_MAX);
        if let Engine::FairRate(fair, _) = &mut self.engine {
            fair.steering.told(milli as f64 / 1_000.0, now);
            self.outbox.told_milli = Some(milli);
        }
    }

    /// What was charged and counted here since the last share that was answered; the last share itself until it is.
    /// `None` when there is nothing to say.
    pub fn share(&mut self, now: EpochMs) -> Option<ShareBody> {
        let now = self.turn(now);
        if let Some(body) = self.outbox.repeat(now) {
            return Some(body);
        }
        if self.outbox.counts.is_empty() {
            return None;
        }
        let (rate, mark) = self.engine.rate();
        let draft = Draft {
            terms: self.config.terms(self.revision),
            period: self.period,
            cells: packed(self.engine.changes(&self.config)),
            rate,
            mark,
        };
        Some(self.outbox.send(&self.name, draft, now))
    }

    /// Takes over what all holders together have. A reply to anything but the last share changes nothing.
    pub fn learn(&mut self, reply: &ShareReply, now: EpochMs) {
        let now = self.turn(now);
        let Some(mark) = self.outbox.answered(reply) else {
            return;
        };
        let merged = &reply.merged;
        let own = self.config.terms(merged.terms.revision);
        let Ok(cells) = unpacked(&merged.live, &merged.shadow, self.config.shape) else {
            return;
        };
        if !own.shaped_as(&merged.terms) || !is_rate(merged.rate) {
            return;
        }
        let period = self.period;
        match &mut self.engine {
            Engine::FairRate(fair, _) => {
                fair.steering
                    .follow(merged.rate, merged.contended, mark, now);
                if merged.contended {
                    Structures::FairRate(fair).learn(period, merged.period, &cells, now);
                }
            }
            Engine::Blue(_) => {
                let mut structures = self.engine.structures(&self.config);
                structures.learn(period, merged.period, &cells, now);
            }
        }
    }

    /// Whether it can be dropped: nothing is known that a new one would not know.
    #[must_use]
    pub fn idle(&self, now: EpochMs) -> bool {
        self.outbox.is_empty() && now.since(self.used_at) > OVERLOAD_IDLE_MS
    }

    /// Reads the clock, and rotates when a period is over: never back.
    fn turn(&mut self, now: EpochMs) -> EpochMs {
        let now = self.clock.read(now);
        self.used_at = now;
        // Without a division, twice for each request.
        let next = self.period.saturating_add(1);
        if now.0 >= next.saturating_mul(self.config.rotate_ms) {
            self.rotate(now.0 / self.config.rotate_ms, now);
        }
        now
    }

    #[cold]
    fn rotate(&mut self, period: u64, now: EpochMs) {
        let next = period == self.period + 1;
        self.period = period;
        self.keys = keys(&self.secret, &self.name, period);
        match &mut self.engine {
            Engine::FairRate(fair, placed) => {
                placed.forget();
                // Over a gap of several periods both structures are too old: those of the last are not the next one's.
                for _ in 0..if next { 1 } else { 2 } {
                    fair.rotate(self.config.shape);
                }
            }
            Engine::Blue(blue) => {
                for key in &self.keys[usize::from(next)..] {
                    blue.rotate(*key, now);
                }
            }
        }
    }
}

impl Engine {
    fn new(config: &Config, [live, shadow]: [PlacementKey; 2], now: EpochMs) -> Self {
        match config.steering {
            Steering::FairRate => {
                let fair = FairRate::new(config.shape, now);
                Self::FairRate(Box::new(fair), Placed::new())
            }
            Steering::Blue => Self::Blue(Box::new(Blue::new(settings(config), live, shadow, now))),
        }
    }

    fn structures(&mut self, config: &Config) -> Structures<'_> {
        match self {
            Self::FairRate(fair, _) => Structures::FairRate(fair),
            Self::Blue(blue) => {
                let (live, shadow) = blue.both_mut();
                Structures::Blue(live, shadow, config.decay_per_s)
            }
        }
    }

    /// What is worth telling: nothing of the clients of an open resource, none of whom is denied.
    fn changes(&mut self, config: &Config) -> super::merging::Pair {
        if let Self::FairRate(fair, _) = self
            && !fair.steering.contended()
        {
            fair.forget_changes();
            return Default::default();
        }
        self.structures(config).changes()
    }

    fn rate(&self) -> (f64, f64) {
        match self {
            Self::FairRate(fair, _) => (fair.steering.rate(), fair.steering.mark()),
            Self::Blue(_) => (1.0, 0.0),
        }
    }
}

fn places(
    placed: &Placed,
    keys: &[PlacementKey; 2],
    client: &Client<'_>,
    config: &Config,
) -> Places {
    if let Some(known) = placed.get(client.name) {
        return known;
    }
    let [live, shadow] = keys;
    Places {
        live: live.place(client.name, config.shape),
        shadow: shadow.place(client.name, config.shape),
    }
}

/// What a cost counts for the client: a third of it with a weight of 3.
fn units(client: &Client<'_>, cost: u64) -> f64 {
    cost as f64 / client.weight.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: EpochMs = EpochMs(1_700_000_000_000);

    fn resource(config: &Config) -> Resource {
        Resource::new(config, Revision(1), &[7; 32], "origin", NOW)
    }

    #[test]
    fn a_resource_that_rotates_more_often_by_another_policy_places_clients_as_a_new_one_does() {
        let before = Config::default();
        for rotate_ms in [20_000, 30_000] {
            let after = Config {
                rotate_ms,
                ..before
            };
            let mut changed = resource(&before);
            changed.reconfigure(&after, Revision(2), NOW);
            let new = resource(&after);
            assert_eq!(changed.revision, Revision(2));
            assert_eq!(changed.period, new.period);
            assert!(changed.keys == new.keys);
        }
    }

    #[test]
    fn a_resource_of_the_same_shape_goes_on_with_what_it_knows() {
        let client = Client {
            name: "noisy",
            weight: Weight::WHOLE,
        };
        let before = Config::default();
        for (config, known) in [
            (before, true),
            (
                Config {
                    decay_per_s: 0.02,
                    ..before
                },
                true,
            ),
            (
                Config {
                    rotate_ms: 20_000,
                    ..before
                },
                false,
            ),
        ] {
            let mut resource = resource(&before);
            for _ in 0..50 {
                resource.report(&client, Outcome::Failure, NOW);
            }
            resource.reconfigure(&config, Revision(2), NOW);
            let denied = !resource.check(&client, 1, 0.5, NOW).admitted;
            assert_eq!(denied, known, "{config:?}");
        }
    }
}
