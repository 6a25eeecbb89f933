//! A ledger that dies at any moment counts every frame once.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};
use weir_shared::accounting::counters::{Charged, Decided};
use weir_shared::accounting::frame::FrameOutcome;
use weir_shared::accounting::interval::SUM_ROW;
use weir_shared::accounting::pending::{InWindow, WindowClaim};
use weir_shared::limits::MINUTE_MS;
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::accounting::Counters;
use weir_shared::wire::cells::StoredCell;

use crate::ledger::world::{Broken, World, decided, outbox};

#[derive(Debug, Clone)]
enum Event {
    Count {
        tenant: u8,
        units: u8,
        admitted: bool,
    },
    Send {
        lost: bool,
    },
    Pass {
        ms: u32,
    },
    Fold,
    Die,
    /// The next write does not succeed.
    FailWrite,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..6_u8, 1..50_u8, any::<bool>())
            .prop_map(|(tenant, units, admitted)| Event::Count { tenant, units, admitted }),
        3 => any::<bool>().prop_map(|lost| Event::Send { lost }),
        2 => (1..90_000_u32).prop_map(|ms| Event::Pass { ms }),
        1 => Just(Event::Fold),
        1 => Just(Event::Die),
        1 => Just(Event::FailWrite),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(event(), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever dies, whatever write fails and whatever answer is lost: the totals, and the sum over all minutes, are what was
    /// counted.
    #[test]
    fn totals_and_minutes_are_what_was_counted_whatever_dies(events in events()) {
        play(events, None)?;
    }
}

/// The controls: each wrong order of whoever carries out what the node says is seen by that property.
#[test]
fn each_wrong_order_of_a_ledger_is_caught() {
    let broken = [
        Broken::ReplyBeforeWrite,
        Broken::FailedWriteIgnored,
        Broken::NotDropped,
        Broken::FoldNotWritten,
    ];
    for broken in broken {
        let mut runner = TestRunner::deterministic();
        let caught = (0..200).find_map(|_| {
            let events = events().new_tree(&mut runner).unwrap().current();
            play(events, Some(broken)).err()
        });
        let caught = caught.unwrap_or_else(|| panic!("{broken:?} is not caught"));
        println!("{broken:?}: {caught}");
    }
}

/// Events one after the other, and what has to hold after each and in the end.
fn play(events: Vec<Event>, broken: Option<Broken>) -> Result<(), TestCaseError> {
    let mut world = World::at(10 * MINUTE_MS);
    world.broken = broken;
    let mut sender = outbox(7);
    let mut counted: u128 = 0;
    let mut before: u128 = 0;
    for event in events {
        match event {
            Event::Count {
                tenant,
                units,
                admitted,
            } => {
                let name = format!("t{tenant}");
                let one = Decided {
                    units: units.into(),
                    ..decided(&name, Charged::Meter("bytes"), admitted)
                };
                sender.decided(&one, None);
                counted += if admitted { u128::from(units) } else { 0 };
            }
            Event::Send { lost } => {
                if let Some(frame) = sender.begin(world.now) {
                    let sequence = frame.sequence;
                    match world.take(frame) {
                        Some(reply) if !lost => {
                            let outcome = sender.finish(&reply);
                            prop_assert_eq!(outcome, Some(FrameOutcome::Counted));
                        }
                        _ => sender.fail(sequence),
                    }
                }
            }
            Event::Pass { ms } => world.now = world.now.plus(ms.into()),
            Event::Fold => world.fold(),
            Event::Die => world.die(),
            Event::FailWrite => world.fails_at = Some(world.disk.writes),
        }
        let now = admitted(&world);
        prop_assert!(now >= before, "totals never fall");
        before = now;
    }
    world.fails_at = None;
    while let Some(frame) = sender.begin(world.now) {
        let reply = world.take(frame);
        prop_assert!(reply.is_some(), "nothing is answered");
        sender.finish(&reply.unwrap());
    }
    prop_assert_eq!(
        published(&world),
        counted,
        "each is told once to who looks on"
    );
    world.die();
    prop_assert_eq!(admitted(&world), counted);
    world.now = world.now.plus(2 * MINUTE_MS);
    world.fold();
    prop_assert!(world.disk.journal.is_empty());
    let intervals = world.disk.intervals.iter();
    let sums = intervals.filter(|((_, row, _), _)| *row == SUM_ROW);
    let minutes: u128 = sums
        .map(|(_, text)| {
            let cell: StoredCell = serde_json::from_str(text).unwrap();
            admitted_units(&cell.counters())
        })
        .sum();
    prop_assert_eq!(minutes, counted);
    Ok(())
}

fn admitted(world: &World) -> u128 {
    admitted_units(&world.books().totals().counters)
}

fn published(world: &World) -> u128 {
    world.published.iter().map(admitted_units).sum()
}

fn admitted_units(counters: &Counters) -> u128 {
    let tallies = counters
        .values()
        .filter_map(|tenant| tenant.meters.get("bytes"));
    tallies.map(|tally| tally.admitted_units.0).sum()
}

#[test]
fn a_window_and_what_was_borrowed_in_it_count_once_whatever_dies() {
    let mut world = World::at(10 * MINUTE_MS);
    let mut sender = outbox(7);
    let window = |weight_micros| InWindow {
        budget: "tokens",
        label: WindowLabel(3),
        limit: 100,
        ends_at: EpochMs(11 * MINUTE_MS),
        claim: WindowClaim {
            weight_micros,
            ..WindowClaim::default()
        },
    };
    for (tenant, weight, units) in [("a", 1_000_000, 60), ("b", 1_000_000, 10)] {
        let one = Decided {
            units,
            ..decided(tenant, Charged::Budget("tokens"), true)
        };
        sender.decided(&one, Some(&window(weight)));
    }
    crate::ledger::world::flush(&mut world, &mut sender);
    for _ in 0..3 {
        world.die();
        world.fold();
    }
    let borrowed = |world: &World| {
        world.books().totals().counters["a"].budgets["tokens"]
            .borrowed_units
            .0
    };
    assert_eq!(borrowed(&world), 10, "60 of the 50 that half of 100 are");
    world.now = EpochMs(13 * MINUTE_MS);
    world.fold();
    assert_eq!(world.disk.records.len(), 1);
    assert!(world.disk.windows.is_empty());
    for _ in 0..3 {
        world.die();
        world.fold();
    }
    assert_eq!(borrowed(&world), 10, "it stays when the window is finished");
}
