//! What one request to an overloaded resource costs: where its client lies, the decision, the report.
//!
//! 10,000 clients take turns, so that neither a client nor its cells stay in the smallest cache. One thread.

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    let mut criterion = criterion::Criterion::default().configure_from_args();
    native::place(&mut criterion);
    native::blue(&mut criterion);
    native::fair_rate(&mut criterion);
    native::compatible(&mut criterion);
    criterion.final_summary();
}

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::hint::black_box;

    use criterion::Criterion;
    use weir_shared::overload::blue::{Blue, Settings};
    use weir_shared::overload::compatible::{Config, Tracker};
    use weir_shared::overload::config as resource;
    use weir_shared::overload::placement::{PlacementKey, Shape};
    use weir_shared::overload::resource::{Client, Outcome, Resource};
    use weir_shared::policy::weight::Weight;
    use weir_shared::units::{EpochMs, Revision};
    use weir_shared::wire::overload::Final;

    const START: EpochMs = EpochMs(1_700_000_000_000);
    const CLIENTS: usize = 10_000;

    fn names() -> Vec<String> {
        (0..CLIENTS)
            .map(|number| format!("client-{number}"))
            .collect()
    }

    fn shape() -> Shape {
        Shape::new(3, 1_000).expect("the default shape is in bounds")
    }

    fn key(period: u64) -> PlacementKey {
        PlacementKey::derive(&[3; 32], "origin", period)
    }

    /// Times `act` with the clients in turn, a millisecond apart.
    fn in_turn(criterion: &mut Criterion, name: &str, mut act: impl FnMut(&str, EpochMs)) {
        let names = names();
        let mut turn = 0;
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                turn += 1;
                act(black_box(&names[turn % CLIENTS]), START.plus(turn as u64));
            });
        });
    }

    pub fn place(criterion: &mut Criterion) {
        let (key, shape) = (key(0), shape());
        in_turn(criterion, "place in 3 levels", |client, _| {
            black_box(key.place(client, shape));
        });
    }

    pub fn blue(criterion: &mut Criterion) {
        let settings = Settings {
            shape: shape(),
            combine: Final::Min,
            increase: 0.04,
            decrease: 0.000_04,
            decay_per_s: 0.01,
        };
        let mut blue = Blue::new(settings, key(0), key(1), START);
        in_turn(criterion, "blue: report", |client, now| {
            blue.report(client, 1.0, now.0 % 5 == 0, now);
        });
        in_turn(criterion, "blue: check", |client, now| {
            black_box(blue.check(client, 0.5, now));
        });
    }

    /// A request in full, checked and reported about: while nothing fails all pass, and while one in fifty does, for
    /// ever, nearly all are denied.
    pub fn fair_rate(criterion: &mut Criterion) {
        for (name, fails) in [
            ("fair_rate: check and report", false),
            ("fair_rate: nearly all denied", true),
        ] {
            let config = resource::Config::default();
            let mut origin = Resource::new(&config, Revision(1), &[3; 32], "origin", START);
            in_turn(criterion, name, |name, now| {
                let client = Client {
                    name,
                    weight: Weight::WHOLE,
                };
                if black_box(origin.check(&client, 1, 0.5, now)).admitted {
                    let outcome = match fails && now.0 % 50 == 0 {
                        true => Outcome::Failure,
                        false => Outcome::Success,
                    };
                    origin.report(&client, outcome, now);
                }
            });
        }
    }

    pub fn compatible(criterion: &mut Criterion) {
        let config = Config {
            levels: 3,
            buckets: 1_000,
            increase: 0.04,
            decrease: 0.000_04,
            decay_per_s: 0.01,
            combine: Final::Min,
        };
        let mut tracker = Tracker::new(config, 1, 2, START).expect("the defaults make a structure");
        in_turn(criterion, "compatible: report", |client, now| {
            let client = client.as_bytes();
            match now.0 % 5 {
                0 => tracker.failure(client, now),
                _ => tracker.success(client, now),
            }
        });
        in_turn(criterion, "compatible: request", |client, now| {
            black_box(tracker.register(client.as_bytes(), 0.5, now));
        });
    }
}
