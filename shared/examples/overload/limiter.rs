//! Who decides: nobody, one process by either steering, and core-stateless fair queueing under the same steering.

use weir_shared::fairness::weight::Weight;
use weir_shared::overload::config::Config;
use weir_shared::overload::placement::PlacementKey;
use weir_shared::overload::resource::{Client, Outcome, Resource};
use weir_shared::overload::steering::Steering;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::overload::Steering as Rule;

use super::random::Random;
use super::scenario::Asker;

/// When a simulation begins: not at a rotation.
pub const START: EpochMs = EpochMs(1_700_000_040_000);

/// Decides.
pub trait Limiter {
    fn check(&mut self, asker: &Asker, now: EpochMs) -> bool;
    fn report(&mut self, asker: &Asker, failed: bool, now: EpochMs);
}

/// Admits all.
pub struct Nobody;

impl Limiter for Nobody {
    fn check(&mut self, _: &Asker, _: EpochMs) -> bool {
        true
    }

    fn report(&mut self, _: &Asker, _: bool, _: EpochMs) {}
}

pub fn client(asker: &Asker) -> Client<'_> {
    Client {
        name: &asker.name,
        weight: Weight::from_micros(asker.weight * 1_000_000).expect("a weight of a scenario"),
    }
}

pub fn outcome(failed: bool) -> Outcome {
    match failed {
        true => Outcome::Failure,
        false => Outcome::Success,
    }
}

/// The resource of one process.
pub struct Process {
    pub resource: Resource,
    coins: Random,
}

impl Process {
    pub fn new(rule: Rule, seed: u64) -> Self {
        let config = Config {
            steering: rule,
            ..Config::default()
        };
        let mut secret = [0; 32];
        secret[..8].copy_from_slice(&seed.to_le_bytes());
        Self {
            resource: Resource::new(&config, Revision(1), &secret, "origin", START),
            coins: Random::new(seed ^ 0x5eed),
        }
    }
}

impl Limiter for Process {
    fn check(&mut self, asker: &Asker, now: EpochMs) -> bool {
        let coin = self.coins.unit();
        let verdict = self.resource.check(&client(asker), asker.cost, coin, now);
        verdict.admitted
    }

    fn report(&mut self, asker: &Asker, failed: bool, now: EpochMs) {
        self.resource.report(&client(asker), outcome(failed), now);
    }
}

/// Seconds over which core-stateless fair queueing takes a client's rate: of 1, 2, 4, 8 and 16 the best compromise.
const AVERAGE_S: f64 = 4.0;

/// Drops with probability `1 - rate / offered` (core-stateless fair queueing), the rate steered as in `fair_rate`.
pub struct Coreless {
    steering: Steering,
    key: PlacementKey,
    config: Config,
    cells: Vec<(f64, EpochMs)>,
    coins: Random,
}

impl Coreless {
    pub fn new(seed: u64) -> Self {
        let config = Config::default();
        let mut secret = [0; 32];
        secret[..8].copy_from_slice(&seed.to_le_bytes());
        Self {
            steering: Steering::new(1.0, START),
            key: PlacementKey::derive(&secret, "origin", 0),
            cells: vec![(0.0, START); config.shape.cells()],
            config,
            coins: Random::new(seed ^ 0x5eed),
        }
    }
}

impl Limiter for Coreless {
    fn check(&mut self, asker: &Asker, now: EpochMs) -> bool {
        let mut offered = f64::INFINITY;
        let units = asker.cost as f64 / asker.weight as f64;
        for cell in self.key.place(&asker.name, self.config.shape).indexes() {
            let (per_s, at) = &mut self.cells[cell];
            let elapsed_s = now.since(*at) as f64 / 1_000.0;
            *per_s = *per_s * (-elapsed_s / AVERAGE_S).exp() + units / AVERAGE_S;
            *at = now;
            offered = offered.min(*per_s);
        }
        let rate = self.steering.rate();
        if offered <= rate {
            return true;
        }
        if !self.steering.contended() {
            self.steering.exceeded();
            return true;
        }
        let admitted = self.coins.unit() < rate / offered;
        if !admitted {
            self.steering.denied(now);
        }
        admitted
    }

    fn report(&mut self, _: &Asker, failed: bool, now: EpochMs) {
        self.steering
            .outcomes(u64::from(!failed), u64::from(failed), now);
    }
}
