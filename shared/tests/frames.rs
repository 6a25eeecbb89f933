//! Frames over calls that are lost, late or unanswered, to a receiver that sleeps and dies: nothing is counted twice, and
//! only what was under way at a death is lost.

use std::collections::VecDeque;

use crate::random::Random;
use weir_shared::accounting::counters::Charged;
use weir_shared::accounting::frame::{FrameOutcome, Inbox, Outbox};
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::ordered::{OrderedMap, OrderedSet};
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::accounting::{FrameBody, FrameReply};

const SEEDS: u64 = 50;
const STEPS: usize = 400;
const SENDERS: [usize; 3] = [0, 1, 2];

/// What goes wrong, in so many of a thousand.
#[derive(Clone, Copy)]
struct Faults {
    /// The receiver's memory is durable: whatever kills it makes it forget nothing.
    durable: bool,
    /// The receiver forgets everything.
    dies: u64,
    /// A call does not arrive.
    lost: u64,
    /// An answer does not arrive.
    unanswered: u64,
    /// A call arrives after its caller stopped waiting.
    late: u64,
}

const NONE: Faults = Faults {
    durable: false,
    dies: 0,
    lost: 0,
    unanswered: 0,
    late: 0,
};

/// A sender; each unit that it counts is a tenant of its own, so that it is seen which are counted twice and which never.
struct Sender {
    outbox: Outbox,
    counted: OrderedSet<String>,
    given_up: OrderedSet<String>,
    /// Calls that have not arrived yet. They arrive in their order.
    late: VecDeque<FrameBody>,
}

struct World {
    random: Random,
    faults: Faults,
    now: EpochMs,
    senders: Vec<Sender>,
    inbox: Inbox,
    lives: u64,
    told: OrderedMap<String, u128>,
}

impl World {
    fn new(seed: u64, faults: Faults) -> Self {
        let senders = SENDERS.map(|index| Sender {
            outbox: Outbox::new(HolderId(index as u64), Incarnation(1)),
            counted: OrderedSet::new(),
            given_up: OrderedSet::new(),
            late: VecDeque::new(),
        });
        Self {
            random: Random::new(seed),
            faults,
            now: EpochMs(0),
            senders: senders.into(),
            inbox: if faults.durable {
                Inbox::durable(OrderedMap::new())
            } else {
                Inbox::new(Incarnation(1))
            },
            lives: 1,
            told: OrderedMap::new(),
        }
    }

    /// Runs, and then without faults until every sender has told all.
    fn run(seed: u64, faults: Faults) -> Self {
        let mut world = Self::new(seed, faults);
        for step in 0..STEPS {
            let index = world.random.one_of(&SENDERS);
            let name = format!("{index}/{step}");
            let sender = &mut world.senders[index];
            let charged = Charged::Budget("tokens");
            sender.outbox.count(&name, charged, true, 1);
            sender.counted.insert(name);
            world.turn(index);
        }
        world.faults = Faults {
            durable: faults.durable,
            ..NONE
        };
        for _ in 0..4 {
            world.now = world.now.plus(CALL_MS_MAX);
            for index in SENDERS {
                world.turn(index);
            }
        }
        assert!(world.senders.iter().all(|sender| sender.outbox.is_empty()));
        world
    }

    fn turn(&mut self, index: usize) {
        self.now = self.now.plus(self.random.between(1, 1_000));
        if self.random.chance(self.faults.dies) {
            self.lives += 1;
            self.inbox = if self.faults.durable {
                Inbox::durable(self.inbox.counted().clone())
            } else {
                Inbox::new(Incarnation(self.lives))
            };
        }
        if !self.random.chance(self.faults.late) {
            while let Some(frame) = self.senders[index].late.pop_front() {
                // Its caller has stopped waiting for the answer.
                let _unheard = self.arrive(&frame);
            }
        }
        let Some(frame) = self.senders[index].outbox.begin(self.now) else {
            return;
        };
        let behind = !self.senders[index].late.is_empty();
        if behind || self.random.chance(self.faults.late) {
            self.senders[index].late.push_back(frame.clone());
        } else if !self.random.chance(self.faults.lost) {
            let reply = self.arrive(&frame);
            if !self.random.chance(self.faults.unanswered) {
                let outcome = self.senders[index].outbox.finish(&reply);
                if outcome == Some(FrameOutcome::GivenUp) {
                    assert!(frame.again, "what was sent once is counted or is not");
                    let names = frame.counters.into_keys();
                    self.senders[index].given_up.extend(names);
                }
                return;
            }
        }
        self.senders[index].outbox.fail(frame.sequence);
    }

    fn arrive(&mut self, frame: &FrameBody) -> FrameReply {
        let (add, reply) = self.inbox.take(frame);
        if add {
            for (name, counters) in &frame.counters {
                *self.told.entry(name.clone()).or_default() += counters.total().admitted_units.0;
            }
        }
        reply
    }

    /// Nothing is counted twice, and what is not counted was given up knowingly. Returns how much that is.
    fn lost(&self) -> usize {
        let twice = self.told.iter().find(|(_, units)| **units != 1);
        assert_eq!(twice, None, "counted more than once");
        let lost = self.senders.iter().map(|sender| {
            let missing = |name: &&String| !self.told.contains_key(*name);
            let missing: Vec<&String> = sender.counted.iter().filter(missing).collect();
            for name in &missing {
                assert!(sender.given_up.contains(*name), "{name} is lost unsaid");
            }
            missing.len()
        });
        lost.sum()
    }
}

fn lost(faults: Faults) -> (usize, u64) {
    let worlds = (0..SEEDS).map(|seed| World::run(seed, faults));
    worlds.fold((0, 0), |(lost, lives), world| {
        (lost + world.lost(), lives + world.lives)
    })
}

/// Between two calls, as the platform puts an object to sleep: nothing is under way then.
#[test]
fn a_receiver_that_sleeps_loses_nothing() {
    let (lost, lives) = lost(Faults { dies: 200, ..NONE });
    assert!(lives > SEEDS * 20, "it slept {lives} times");
    assert_eq!(lost, 0);
}

#[test]
fn a_receiver_that_remembers_loses_nothing_whatever_fails() {
    let (lost, lives) = lost(Faults {
        durable: true,
        dies: 100,
        lost: 200,
        unanswered: 200,
        late: 200,
    });
    assert!(lives > SEEDS * 20, "it died {lives} times");
    assert_eq!(lost, 0);
}

#[test]
fn a_death_loses_what_was_repeated_at_most_and_nothing_counts_twice() {
    let (lost, lives) = lost(Faults {
        dies: 100,
        lost: 100,
        unanswered: 100,
        late: 200,
        ..NONE
    });
    println!("{lost} units are lost in {lives} lives");
    assert!(lost > 0, "nothing was put to the test");
}
