//! Overloaded resources: who is denied, for how long, and what holders tell each other.

mod fair_rate;
mod forms;
mod provider_limits;
mod sharing;

use weir_shared::fairness::weight::Weight;
use weir_shared::overload::config::Config;
use weir_shared::overload::resource::{Client, Outcome, Resource};
use weir_shared::units::{EpochMs, Revision};

/// Shortly after a rotation of the default configuration.
pub const START: EpochMs = EpochMs(1_700_000_100_000);

/// The resource, of which nothing is known.
pub fn origin() -> Resource {
    Resource::new(&Config::default(), Revision(1), &[7; 32], "origin", START)
}

/// A client of weight 1.
pub fn client(name: &str) -> Client<'_> {
    let weight = Weight::WHOLE;
    Client { name, weight }
}

/// A client of that weight.
pub fn weighing(name: &str, weight: f64) -> Client<'_> {
    Client {
        name,
        weight: Weight::try_from(weight).unwrap(),
    }
}

/// Whether the client may send one more.
pub fn admits(origin: &mut Resource, name: &str, now: EpochMs) -> bool {
    origin.check(&client(name), 1, 0.5, now).admitted
}

/// A resource that is overloaded by `noisy`, which is denied.
pub fn overloaded() -> Resource {
    let mut origin = origin();
    for _ in 0..50 {
        origin.report(&client("noisy"), Outcome::Failure, START);
    }
    origin
}
