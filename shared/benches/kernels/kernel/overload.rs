//! What a request to an overloaded resource costs, with 10,000 clients in turn.

use std::hint::black_box;

use weir_reference::compatible::{Config as Source, Tracker};
use weir_shared::fairness::weight::Weight;
use weir_shared::overload::blue::{Blue, Settings};
use weir_shared::overload::config::Config;
use weir_shared::overload::placement::{PlacementKey, Shape};
use weir_shared::overload::resource::{Client, Outcome, Resource};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::overload::Final;

use super::{Kernel, START};

const CLIENTS: usize = 10_000;

pub fn kernels() -> Vec<Kernel> {
    vec![
        check_and_report(),
        denied(),
        look(),
        place(),
        blue(),
        compatible(),
    ]
}

/// Acts for the clients in turn, a millisecond apart.
fn in_turn(name: &str, mut act: impl FnMut(&str, EpochMs) + 'static) -> Kernel {
    let names: Vec<String> = (0..CLIENTS).map(|one| format!("client-{one}")).collect();
    let mut turn = 0;
    Kernel::new(name, move |times| {
        for _ in 0..times {
            turn += 1;
            act(black_box(&names[turn % CLIENTS]), START.plus(turn as u64));
        }
    })
}

fn client(name: &str) -> Client<'_> {
    Client {
        name,
        weight: Weight::WHOLE,
    }
}

fn resource() -> Resource {
    Resource::new(&Config::default(), Revision(1), &[3; 32], "origin", START)
}

/// Nothing fails: all pass, and all are reported about.
fn check_and_report() -> Kernel {
    let mut origin = resource();
    in_turn("overload: check and report", move |name, now| {
        let client = client(name);
        let verdict = black_box(origin.check(&client, 1, 0.5, now));
        assert!(verdict.admitted, "nothing has failed");
        origin.report(&client, Outcome::Success, now);
    })
}

/// Of those that pass one in fifty fails, for ever: nearly all are denied.
fn denied() -> Kernel {
    let mut origin = resource();
    in_turn("overload: check, nearly all denied", move |name, now| {
        let client = client(name);
        if black_box(origin.check(&client, 1, 0.5, now)).admitted {
            let outcome = match now.0 % 50 {
                0 => Outcome::Failure,
                _ => Outcome::Success,
            };
            origin.report(&client, outcome, now);
        }
    })
}

fn look() -> Kernel {
    let mut origin = resource();
    in_turn("overload: check that only looks", move |name, now| {
        black_box(origin.check(&client(name), 0, 0.5, now));
    })
}

fn shape() -> Shape {
    Shape::new(3, 1_000).expect("the default shape is in bounds")
}

fn key(period: u64) -> PlacementKey {
    PlacementKey::derive(&[3; 32], "origin", period)
}

fn place() -> Kernel {
    let (key, shape) = (key(0), shape());
    in_turn("overload: a client's cells in 3 levels", move |name, _| {
        black_box(key.place(name, shape));
    })
}

fn blue() -> Kernel {
    let settings = Settings {
        shape: shape(),
        combine: Final::Min,
        increase: 0.04,
        decrease: 0.000_04,
        decay_per_s: 0.01,
    };
    let mut blue = Blue::new(settings, key(0), key(1), START);
    in_turn("`blue`: check and report", move |name, now| {
        black_box(blue.check(name, 0.5, now));
        blue.report(name, 1.0, now.0.is_multiple_of(5), now);
    })
}

fn compatible() -> Kernel {
    let config = Source {
        levels: 3,
        buckets: 1_000,
        increase: 0.04,
        decrease: 0.000_04,
        decay_per_s: 0.01,
        combine: Final::Min,
    };
    let mut tracker = Tracker::new(config, 1, 2, START).expect("the defaults make a structure");
    in_turn("FAIR's own rule: request and report", move |name, now| {
        let client = name.as_bytes();
        black_box(tracker.register(client, 0.5, now));
        match now.0 % 5 {
            0 => tracker.failure(client, now),
            _ => tracker.success(client, now),
        }
    })
}
