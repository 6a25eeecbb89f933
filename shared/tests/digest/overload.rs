//! An origin of so many requests a second, steered by each rule. What is computed with reals is alike to the last bit: the
//! exponential, the logarithm and the root are a library's, not the platform's.

use weir_shared::fairness::weight::Weight;
use weir_shared::overload::config::Config;
use weir_shared::overload::resource::{Client, Outcome, Resource};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::overload::Steering;

use crate::digest::log::Log;
use crate::random::Random;

/// Shortly before a rotation of the default configuration.
const START: EpochMs = EpochMs(1_700_000_080_000);

/// What the origin can take in each tenth of a second.
const CAPACITY: u64 = 20;

/// Until `decisions` requests of twenty clients are decided.
pub(crate) fn run(seed: u64, decisions: usize, steering: Steering) -> Log {
    let mut random = Random::new(seed);
    let config = Config {
        steering,
        ..Config::default()
    };
    let mut origin = Resource::new(&config, Revision(1), &[7; 32], "origin", START);
    let names: Vec<String> = (0..20).map(|number| format!("client-{number}")).collect();
    let (mut now, mut tenth, mut taken) = (START, 0, 0);
    let mut log = Log::default();
    for _ in 0..decisions {
        now = now.plus(random.below(7));
        if now.0 / 100 != tenth {
            (tenth, taken) = (now.0 / 100, 0);
        }
        let most = random.between(1, names.len() as u64);
        let number = random.below(most) as usize;
        let client = Client {
            name: &names[number],
            weight: Weight::try_from(1.0 + number as f64 / 4.0).unwrap(),
        };
        let cost = random.one_of(&[0, 1, 1, 1, 3]);
        let coin = random.below(1_000_000) as f64 / 1_000_000.0;
        let verdict = origin.check(&client, cost, coin, now);
        log.decision(
            verdict.admitted,
            &[number as u64, cost, verdict.retry_after_ms],
        );
        log.number(verdict.fair_rate_milli);
        if verdict.admitted && cost > 0 {
            taken += cost;
            let outcome = match taken > CAPACITY {
                true => Outcome::Failure,
                false => Outcome::Success,
            };
            origin.report(&client, outcome, now);
        }
    }
    log
}
