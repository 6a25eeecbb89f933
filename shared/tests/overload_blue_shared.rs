//! The steering by probabilities over several holders, their regions and the root.

use weir_shared::fairness::weight::Weight;
use weir_shared::overload::config::Config;
use weir_shared::overload::hub::Hub;
use weir_shared::overload::resource::{Client, Outcome, Resource};
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision};
use weir_shared::wire::overload::{ShareBody, Steering};

/// The first millisecond of a rotation period.
const START: EpochMs = EpochMs(300_000 * 5_666_667);
const SECRET: [u8; 32] = [7; 32];

fn config() -> Config {
    Config {
        steering: Steering::Blue,
        ..Config::default()
    }
}

fn client(name: &str) -> Client<'_> {
    Client {
        name,
        weight: Weight::WHOLE,
    }
}

/// Two regions of two isolates each, and the root.
struct World {
    isolates: Vec<Resource>,
    regions: Vec<Hub>,
    root: Hub,
    /// Of so many messages and answers one is lost, by chance; 0 loses none.
    loses_one_of: u64,
    chance: u64,
}

impl World {
    fn new(loses_one_of: u64) -> Self {
        let isolate = || Resource::new(&config(), Revision(1), &SECRET, "origin", START);
        let terms = config().terms(Revision(1));
        let hub = || Hub::new("origin", Incarnation(1), &terms, START).unwrap();
        Self {
            isolates: (0..4).map(|_| isolate()).collect(),
            regions: (0..2).map(|_| hub()).collect(),
            root: hub(),
            loses_one_of,
            chance: 1,
        }
    }

    fn exchange(&mut self, now: EpochMs) {
        for index in 0..self.isolates.len() {
            let Some(body) = self.isolates[index].share(now) else {
                continue;
            };
            let holder = HolderId(index as u64);
            if self.arrives() {
                let reply = self.regions[index / 2]
                    .take(holder, &as_sent(body), now)
                    .unwrap();
                if self.arrives() {
                    self.isolates[index].learn(&reply, now);
                }
            }
        }
        for index in 0..self.regions.len() {
            let Some(body) = self.regions[index].share(now) else {
                continue;
            };
            let holder = HolderId(index as u64);
            if self.arrives() {
                let reply = self.root.take(holder, &as_sent(body), now).unwrap();
                if self.arrives() {
                    self.regions[index].learn(&reply, now);
                }
            }
        }
    }

    fn arrives(&mut self) -> bool {
        // Marsaglia's xorshift with 64 bits.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.loses_one_of == 0 || !self.chance.is_multiple_of(self.loses_one_of)
    }

    /// For so many seconds, `noisy` fails ten times a second at the first isolate, while each isolate is asked by `quiet`
    /// and tells.
    fn overload(&mut self, from: EpochMs, seconds: u64) -> EpochMs {
        for second in 0..seconds {
            let now = from.plus(second * 1_000);
            for _ in 0..10 {
                self.isolates[0].report(&client("noisy"), Outcome::Failure, now);
            }
            for isolate in &mut self.isolates {
                isolate.check(&client("quiet"), 1, 0.5, now);
            }
            self.exchange(now);
        }
        from.plus(seconds * 1_000)
    }

    /// The coins of 100 at which each isolate denies.
    fn denied(&mut self, name: &str, now: EpochMs) -> Vec<u64> {
        let of = |isolate: &mut Resource| {
            (0..100)
                .filter(|coin| {
                    let verdict = isolate.check(&client(name), 0, *coin as f64 / 100.0, now);
                    !verdict.admitted
                })
                .count() as u64
        };
        self.isolates.iter_mut().map(of).collect()
    }
}

/// What travels is text.
fn as_sent(body: ShareBody) -> ShareBody {
    serde_json::from_str(&serde_json::to_string(&body).unwrap()).unwrap()
}

#[test]
fn what_one_isolate_saw_every_region_knows_within_seconds() {
    let mut world = World::new(0);
    let now = world.overload(START, 10);
    let denied = world.denied("noisy", now);
    println!("denied of 100 at each isolate: {denied:?}");
    assert!(
        denied.iter().all(|of_100| (85..=98).contains(of_100)),
        "{denied:?}"
    );
    assert_eq!(world.denied("quiet", now), [0; 4]);
}

#[test]
fn a_rotation_forgets_nobody_anywhere() {
    let mut world = World::new(0);
    let now = world.overload(START, 330);
    let denied = world.denied("noisy", now);
    println!("after a rotation: {denied:?}");
    assert!(
        denied.iter().all(|of_100| (85..=98).contains(of_100)),
        "{denied:?}"
    );
    assert_eq!(world.denied("quiet", now), [0; 4]);
}

#[test]
fn lost_messages_and_answers_delay_and_change_nothing() {
    let (mut world, mut control) = (World::new(3), World::new(0));
    let now = world.overload(START, 60);
    control.overload(START, 60);
    let (lossy, sure) = (world.denied("noisy", now), control.denied("noisy", now));
    println!("with losses {lossy:?}, without {sure:?}");
    for (lossy, sure) in lossy.iter().zip(&sure) {
        assert!(lossy.abs_diff(*sure) <= 8, "{lossy} and {sure}");
    }
}

/// Nothing is counted twice and nothing gets lost on the way: what all knew fades as one structure would.
#[test]
fn what_all_know_fades_by_its_rate_everywhere() {
    let mut world = World::new(0);
    let from = world.overload(START, 10);
    let until = from.plus(69_315);
    for isolate in &mut world.isolates {
        isolate.check(&client("quiet"), 1, 0.5, until);
    }
    world.exchange(until);
    world.exchange(until.plus(1_000));
    let denied = world.denied("noisy", until);
    println!("after 69 s: {denied:?}");
    assert!(
        denied.iter().all(|of_100| (43..=52).contains(of_100)),
        "{denied:?}"
    );
}
