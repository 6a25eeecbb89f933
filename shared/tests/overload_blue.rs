//! The steering by probabilities, beside the limiter it is taken from.

use std::hint::black_box;

use allocation_counter::measure;
use proptest::prelude::*;
use weir_reference::compatible::{Config, Tracker};
use weir_shared::limits::OVERLOAD_PROBABILITY_MAX;
use weir_shared::overload::blue::{Blue, Probabilities, Settings};
use weir_shared::overload::placement::{PlacementKey, Shape};
use weir_shared::units::EpochMs;
use weir_shared::wire::overload::Final;

use crate::overload_simulation::random::Random;

const START: EpochMs = EpochMs(1_700_000_000_000);
const NOISY: &str = "noisy";
const QUIET: &str = "quiet";

/// The defaults.
fn settings() -> Settings {
    Settings {
        shape: Shape::new(3, 1_000).unwrap(),
        combine: Final::Min,
        increase: 0.04,
        decrease: 0.000_04,
        decay_per_s: 0.01,
    }
}

fn without_decay() -> Settings {
    Settings {
        decay_per_s: 0.0,
        ..settings()
    }
}

fn key(period: u64) -> PlacementKey {
    PlacementKey::derive(&[3; 32], "origin", period)
}

fn blue(settings: Settings) -> Blue {
    Blue::new(settings, key(0), key(1), START)
}

/// The limiter it is taken from, by the same numbers.
fn original(settings: &Settings) -> Tracker {
    let config = Config {
        levels: settings.shape.levels() as u32,
        buckets: settings.shape.buckets() as u32,
        increase: settings.increase,
        decrease: settings.decrease,
        decay_per_s: settings.decay_per_s,
        combine: settings.combine,
    };
    Tracker::new(config, 1, 2, START).unwrap()
}

/// What both limiters do for a client.
trait Limiter {
    fn admits(&mut self, client: &str, coin: f64, now: EpochMs) -> bool;
    fn reports(&mut self, client: &str, failed: bool, now: EpochMs);
    fn rotates(&mut self, period: u64, now: EpochMs);
}

impl Limiter for Blue {
    fn admits(&mut self, client: &str, coin: f64, now: EpochMs) -> bool {
        self.check(client, coin, now).admitted
    }

    fn reports(&mut self, client: &str, failed: bool, now: EpochMs) {
        self.report(client, 1.0, failed, now);
    }

    fn rotates(&mut self, period: u64, now: EpochMs) {
        self.rotate(key(period), now);
    }
}

impl Limiter for Tracker {
    fn admits(&mut self, client: &str, coin: f64, now: EpochMs) -> bool {
        !self.register(client.as_bytes(), coin, now).throttled
    }

    fn reports(&mut self, client: &str, failed: bool, now: EpochMs) {
        if failed {
            self.failure(client.as_bytes(), now);
        } else {
            self.success(client.as_bytes(), now);
        }
    }

    fn rotates(&mut self, period: u64, now: EpochMs) {
        self.rotate(period as u32, now);
    }
}

/// Requests of one client, evenly spaced, of which those that are admitted fail with a probability. Answers how many
/// were admitted.
struct Stretch {
    from: EpochMs,
    requests: u64,
    every_ms: u64,
    fails: f64,
}

impl Stretch {
    fn run(&self, limiter: &mut impl Limiter, client: &str, coins: &mut Random) -> u64 {
        let mut admitted = 0;
        for request in 0..self.requests {
            let now = self.from.plus(request * self.every_ms);
            if limiter.admits(client, coins.unit(), now) {
                admitted += 1;
                limiter.reports(client, coins.unit() < self.fails, now);
            }
        }
        admitted
    }

    fn end(&self) -> EpochMs {
        self.from.plus(self.requests * self.every_ms)
    }
}

/// Ten requests a second, all failing, for five minutes.
const OVERLOAD: Stretch = Stretch {
    from: START,
    requests: 3_000,
    every_ms: 100,
    fails: 1.0,
};

fn recovered(from: EpochMs) -> Stretch {
    Stretch {
        from,
        requests: 3_000,
        every_ms: 100,
        fails: 0.0,
    }
}

#[test]
fn without_decay_nobody_is_banned_for_good() {
    let (mut weir, mut coins) = (blue(without_decay()), Random::new(1));
    OVERLOAD.run(&mut weir, NOISY, &mut coins);
    let last = weir.check(NOISY, 0.5, OVERLOAD.end());
    assert_eq!(last.probability, OVERLOAD_PROBABILITY_MAX);
    let after = recovered(OVERLOAD.end());
    let admitted = after.run(&mut weir, NOISY, &mut coins);
    // 2% of 3,000, by six standard deviations.
    assert!((20..=110).contains(&admitted), "{admitted}");
    weir.rotates(2, after.end());
    weir.rotates(3, after.end());
    let again = recovered(after.end());
    assert_eq!(again.run(&mut weir, NOISY, &mut coins), again.requests);

    let (mut control, mut coins) = (original(&without_decay()), Random::new(1));
    OVERLOAD.run(&mut control, NOISY, &mut coins);
    assert_eq!(
        after.run(&mut control, NOISY, &mut coins),
        0,
        "banned there"
    );
}

#[test]
fn successes_alone_lift_a_ban() {
    let faster = Settings {
        decrease: 0.02,
        ..without_decay()
    };
    let (mut weir, mut coins) = (blue(faster), Random::new(2));
    OVERLOAD.run(&mut weir, NOISY, &mut coins);
    let after = recovered(OVERLOAD.end());
    after.run(&mut weir, NOISY, &mut coins);
    assert_eq!(weir.check(NOISY, 0.0, after.end()).probability, 0.0);
}

/// The structure that takes over throttles who was throttled, though hardly any of its requests were reported about
/// while it learned.
#[test]
fn a_structure_that_takes_over_is_warm() {
    for (name, settings, fails) in [
        ("decay", settings(), 1.0),
        ("decay, three of ten fail", settings(), 0.3),
        ("no decay", without_decay(), 1.0),
    ] {
        let (mut weir, mut coins) = (blue(settings), Random::new(3));
        let mut stretch = Stretch { fails, ..OVERLOAD };
        // Later periods are short: of 600 requests some 12 are admitted, which count as 12 * 0.04 = 0.48 by themselves.
        for period in 2..8 {
            stretch.run(&mut weir, NOISY, &mut coins);
            let now = stretch.end();
            let before = weir.check(NOISY, 0.5, now).probability;
            weir.rotates(period, now);
            let after = weir.check(NOISY, 0.5, now).probability;
            println!("{name}, period {period}: {before:.3} before, {after:.3} after");
            assert!(after >= before - 0.1, "{name}: {before} and then {after}");
            stretch.from = now;
            stretch.requests = 600;
        }
    }
    let (mut control, mut coins) = (original(&without_decay()), Random::new(3));
    OVERLOAD.run(&mut control, NOISY, &mut coins);
    control.rotates(3, OVERLOAD.end());
    let second = Stretch {
        from: OVERLOAD.end(),
        ..OVERLOAD
    };
    second.run(&mut control, NOISY, &mut coins);
    control.rotates(4, second.end());
    let free = control.live().1.probability(NOISY.as_bytes());
    assert_eq!(free, 0.0, "a free pass there");
}

/// A client that shares all cells with a heavy one is denied with it, but its own successes keep it apart in the next
/// structure.
#[test]
fn who_shares_all_cells_of_one_structure_is_free_in_the_next() {
    let small = Settings {
        shape: Shape::new(2, 20).unwrap(),
        ..settings()
    };
    let place = |client: &str, period| key(period).place(client, small.shape).to_vec();
    let collides = (0..100_000)
        .map(|number| format!("innocent-{number}"))
        .find(|name| {
            let (own, heavy) = (place(name, 1), place(NOISY, 1));
            place(name, 0) == place(NOISY, 0) && own.iter().all(|cell| !heavy.contains(cell))
        })
        .unwrap();
    let (mut weir, mut coins) = (blue(small), Random::new(4));
    for second in 0..300 {
        let from = START.plus(second * 1_000);
        let stretch = |requests, fails| Stretch {
            from,
            requests,
            every_ms: 1_000 / requests,
            fails,
        };
        stretch(20, 0.8).run(&mut weir, NOISY, &mut coins);
        stretch(1, 0.0).run(&mut weir, &collides, &mut coins);
    }
    let end = START.plus(300_000);
    let before = weir.check(&collides, 0.5, end).probability;
    weir.rotates(2, end);
    let after = weir.check(&collides, 0.5, end).probability;
    let noisy = weir.check(NOISY, 0.5, end).probability;
    println!("innocent: {before:.3} beside the heavy one, then {after:.3}; heavy {noisy:.3}");
    assert!(before > 0.9, "{before}");
    assert!(after < 0.05, "{after}");
    assert!(noisy > 0.9, "{noisy}");
}

#[test]
fn who_never_failed_is_never_denied() {
    let (mut weir, mut coins) = (blue(settings()), Random::new(5));
    OVERLOAD.run(&mut weir, NOISY, &mut coins);
    for coin in [0.0, f64::MIN_POSITIVE, 0.5] {
        assert!(weir.check(QUIET, coin, OVERLOAD.end()).admitted);
    }
}

/// Who weighs four times as much is denied at four times the rate as others at theirs.
#[test]
fn a_client_is_denied_by_its_rate_for_its_weight() {
    let (mut weir, mut coins) = (blue(settings()), Random::new(6));
    let clients = [
        ("one", 1.0, 1_000),
        ("four", 4.0, 250),
        ("lighter", 1.0, 250),
    ];
    let mut sums = [0.0; 3];
    for ms in (0..2_100_000).step_by(250) {
        let now = START.plus(ms);
        for ((client, weight, every_ms), sum) in clients.iter().zip(&mut sums) {
            if ms % every_ms != 0 {
                continue;
            }
            let throttle = weir.check(client, coins.unit(), now);
            if throttle.admitted {
                weir.report(client, *weight, coins.unit() < 0.2, now);
            }
            if ms >= 300_000 {
                *sum += throttle.probability / (1_800_000 / every_ms) as f64;
            }
        }
    }
    let [one, four, lighter] = sums;
    println!(
        "denied: {one:.3} at weight 1, {four:.3} at weight and rate 4, {lighter:.3} at rate 4"
    );
    assert!((one - four).abs() < 0.05, "{one} and {four}");
    assert!(lighter > one + 0.15, "{lighter} and {one}");
}

/// Three holders, each of which sees a third of the requests, deny as one that sees all.
#[test]
fn holders_that_share_deny_as_one() {
    let shape = settings().shape;
    let mut holders = [blue(settings()), blue(settings()), blue(settings())];
    let mut alone = blue(settings());
    let mut hubs = [
        Probabilities::new(shape, START),
        Probabilities::new(shape, START),
    ];
    let mut coins = Random::new(7);
    let mut sums = [0.0; 2];
    for ms in (0..2_000_000).step_by(100) {
        let now = START.plus(ms);
        let turn = (ms / 100 % 3) as usize;
        for (limiter, sum) in [&mut alone, &mut holders[turn]].into_iter().zip(&mut sums) {
            let throttle = limiter.check(NOISY, coins.unit(), now);
            *sum += throttle.probability / 20_000.0;
            if throttle.admitted {
                limiter.reports(NOISY, coins.unit() < 0.05, now);
            }
        }
        if ms % 1_000 == 0 {
            for holder in &mut holders {
                share(holder.live_mut(), &mut hubs[0], now);
                share(holder.shadow_mut(), &mut hubs[1], now);
            }
        }
    }
    let [one, three] = sums;
    println!("denied: {one:.3} by one, {three:.3} by three");
    assert!(one > 0.3 && (one - three).abs() < 0.03, "{one}, {three}");
}

fn share(holder: &mut Probabilities, hub: &mut Probabilities, now: EpochMs) {
    holder.changes(|cell, change| hub.merge(cell, change, 0.01, now));
    let mut merged = Vec::new();
    hub.told(0.01, now, |cell, parts| merged.push((cell, parts)));
    holder.learn(merged, now);
}

#[test]
fn another_shape_forgets_and_other_steps_do_not() {
    let (mut weir, mut coins) = (blue(settings()), Random::new(8));
    OVERLOAD.run(&mut weir, NOISY, &mut coins);
    let end = OVERLOAD.end();
    let before = weir.check(NOISY, 0.5, end);
    weir.reconfigure(without_decay(), end);
    assert_eq!(weir.check(NOISY, 0.5, end), before);
    let other = Shape::new(4, 1_000).unwrap();
    let settings = Settings {
        shape: other,
        ..settings()
    };
    weir.reconfigure(settings, end);
    assert_eq!(weir.check(NOISY, 0.5, end).probability, 0.0);
    assert_eq!(weir.settings(), &settings);
}

#[test]
fn a_request_allocates_nothing() {
    const REQUESTS: u64 = 1_000;
    let (mut weir, mut coins) = (blue(settings()), Random::new(9));
    let mut tracker = original(&settings());
    fn requests(limiter: &mut impl Limiter, coins: &mut Random) -> u64 {
        let from = START;
        let mut admitted = 0;
        let counted = measure(|| {
            admitted = Stretch {
                from,
                requests: REQUESTS,
                every_ms: 10,
                fails: 0.5,
            }
            .run(limiter, black_box(NOISY), coins);
        });
        assert!((1..REQUESTS).contains(&admitted), "{admitted}");
        counted.count_total
    }
    assert_eq!(requests(&mut weir, &mut coins), 0);
    assert_eq!(requests(&mut tracker, &mut coins), 0, "in compatible mode");
}

/// What may happen to a resource.
#[derive(Debug, Clone, Copy)]
enum Event {
    Report {
        client: u8,
        weight: f64,
        failed: bool,
    },
    Rotate,
    Learn,
    /// Milliseconds, back at most what a clock may step back unnoticed.
    Pass(i64),
}

fn event() -> impl Strategy<Value = Event> {
    let weight = prop_oneof![Just(1.0), 1e-6..1e6_f64];
    prop_oneof![
        8 => (0..4_u8, weight, any::<bool>())
            .prop_map(|(client, weight, failed)| Event::Report { client, weight, failed }),
        1 => Just(Event::Rotate),
        1 => Just(Event::Learn),
        4 => (-59_000..400_000_i64).prop_map(Event::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens, each probability lies between 0 and the largest, and no look back in time sees another one.
    #[test]
    fn probabilities_are_bounded_and_a_step_back_sees_the_same(
        events in prop::collection::vec(event(), 0..200),
        mean: bool,
        decay_per_s in prop_oneof![Just(0.0), 1e-3..10.0_f64],
        back_ms in 0..60_000_u64,
    ) {
        let combine = if mean { Final::Mean } else { Final::Min };
        let shape = Shape::new(2, 3).unwrap();
        let settings = Settings { shape, combine, decay_per_s, increase: 0.5, decrease: 0.1 };
        let mut weir = blue(settings);
        let mut hub = Probabilities::new(shape, START);
        let (mut now, mut period) = (START, 1);
        for event in events {
            match event {
                Event::Report { client, weight, failed } => {
                    let client = format!("client-{client}");
                    weir.report(&client, weight, failed, now);
                    let seen = weir.check(&client, 0.5, now);
                    prop_assert!((0.0..=OVERLOAD_PROBABILITY_MAX).contains(&seen.probability));
                    prop_assert!(weir.check(&client, 0.999, now).admitted);
                    let before = EpochMs(now.0 - back_ms);
                    let back = weir.check(&client, 0.5, before);
                    prop_assert!(back.probability >= seen.probability, "{:?} {:?}", back, seen);
                }
                Event::Rotate => {
                    period += 1;
                    weir.rotate(key(period), now);
                    hub = Probabilities::new(shape, now);
                }
                Event::Learn => share(weir.live_mut(), &mut hub, now),
                Event::Pass(ms) => now = EpochMs(now.0.saturating_add_signed(ms)),
            }
        }
    }
}
