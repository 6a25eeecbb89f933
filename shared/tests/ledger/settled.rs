//! What settlements come to is counted once by each ledger that keeps it, whatever dies and whatever write fails.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};
use weir_shared::accounting::settled::add_part;
use weir_shared::limits::{HOUR_MS, MINUTE_MS};
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::accounting::SettledEntry;
use weir_shared::wire::count::Count;
use weir_shared::wire::windows::{TenantPart, WindowPart, WindowParts};

use crate::ledger::region::{Broken, Fate, Region};
use crate::ledger::world::World;

const BUDGET: &str = "tokens";
const BEGUN: u64 = 10 * MINUTE_MS;

#[derive(Debug, Clone)]
enum Event {
    /// Units of a window of the region's own, and of one of the deployment; none where it says nothing to that ledger.
    Settle {
        own: u8,
        home: u8,
    },
    Flush(Fate),
    Pass {
        ms: u32,
    },
    Die,
    /// A region that has told all loses its rows.
    LoseRows,
    LedgerDies {
        home: bool,
    },
}

fn fate() -> impl Strategy<Value = Fate> {
    let at = || prop::option::of(0..12_u8);
    (any::<bool>(), at(), at()).prop_map(|(lost, fails_at, dies_at)| Fate {
        lost,
        fails_at,
        dies_at,
    })
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let units = || prop_oneof![Just(0), 1..50_u8];
    let event = prop_oneof![
        5 => (units(), units()).prop_map(|(own, home)| Event::Settle { own, home }),
        2 => fate().prop_map(Event::Flush),
        2 => Just(Event::Flush(Fate::default())),
        1 => (1..90_000_u32).prop_map(|ms| Event::Pass { ms }),
        1 => Just(Event::Die),
        1 => Just(Event::LoseRows),
        1 => any::<bool>().prop_map(|home| Event::LedgerDies { home }),
    ];
    prop::collection::vec(event, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_ledger_counts_once_what_is_told_it(events in events()) {
        play(events, None)?;
    }
}

/// The controls: each wrong order of whoever carries out what the node says is seen by that property.
#[test]
fn each_wrong_order_of_a_region_that_tells_settlements_is_caught() {
    for broken in [
        Broken::SendBeforeWrite,
        Broken::FailedWriteIgnored,
        Broken::DropBeforeBothCounted,
        Broken::NumberUsedAgain,
        Broken::NumberBelowClock,
    ] {
        let mut runner = TestRunner::deterministic();
        let caught = (0..300).find_map(|_| {
            let events = events().new_tree(&mut runner).unwrap().current();
            play(events, Some(broken)).err()
        });
        let caught = caught.unwrap_or_else(|| panic!("{broken:?} is not caught"));
        println!("{broken:?}: {caught}");
    }
}

/// A settlement that one ledger was told when the region lost a later row: what is in between is told all the same.
#[test]
fn a_row_that_cannot_be_read_takes_no_other_along() {
    let (mut own, mut home) = (World::at(BEGUN), World::at(BEGUN));
    let mut region = Region::new(None);
    region.settle(&entry(1, 0), own.now);
    let lost = Fate {
        lost: true,
        ..Fate::default()
    };
    region.flush(&mut own, &mut home, lost);
    for text in region.rows.values_mut() {
        text.truncate(5);
    }
    region.settle(&entry(2, 4), own.now);
    region.flush_all(&mut own, &mut home);
    assert_eq!((counted(&own), counted(&home)), (3, 4));
}

/// Events one after the other, and what has to hold in the end.
fn play(events: Vec<Event>, broken: Option<Broken>) -> Result<(), TestCaseError> {
    let (mut own, mut home) = (World::at(BEGUN), World::at(BEGUN));
    let mut region = Region::new(broken);
    let mut settled = (0, 0);
    for event in events {
        match event {
            Event::Settle { own: units, home } => {
                region.settle(&entry(units, home), own.now);
                settled.0 += u128::from(units);
                settled.1 += u128::from(home);
            }
            Event::Flush(fate) => region.flush(&mut own, &mut home, fate),
            Event::Pass { ms } => {
                own.now = own.now.plus(ms.into());
                home.now = own.now;
            }
            Event::Die => region.die(),
            Event::LoseRows => {
                region.flush_all(&mut own, &mut home);
                region = Region::new(broken);
                // More milliseconds have passed than it has settled.
                own.now = own.now.plus(1_000);
                home.now = own.now;
            }
            Event::LedgerDies { home: true } => home.die(),
            Event::LedgerDies { home: false } => own.die(),
        }
        let told = (counted(&own), counted(&home));
        prop_assert!(
            told.0 <= settled.0 && told.1 <= settled.1,
            "{told:?} of {settled:?}"
        );
    }
    region.flush_all(&mut own, &mut home);
    prop_assert_eq!((counted(&own), counted(&home)), settled);
    prop_assert!(region.rows.is_empty(), "{:?} are left", region.rows);
    Ok(())
}

fn entry(own: u8, home: u8) -> SettledEntry {
    let mut entry = SettledEntry::new();
    add(&mut entry.own, own);
    add(&mut entry.windows, home);
    entry
}

fn add(windows: &mut WindowParts, units: u8) {
    if units == 0 {
        return;
    }
    let part = TenantPart {
        admitted: Count(units.into()),
        ..TenantPart::default()
    };
    let part = WindowPart {
        limit: 1_000_000,
        ends_at: EpochMs(BEGUN + 30 * 24 * HOUR_MS),
        ..WindowPart::one("acme", part)
    };
    add_part(windows, BUDGET, WindowLabel(3), &part);
}

/// Units that a ledger has counted.
fn counted(ledger: &World) -> u128 {
    let windows = ledger.books().windows();
    let record = windows.records(Some(BUDGET), ledger.now).next();
    let tenants = record.into_iter().flat_map(|record| record.tenants);
    tenants.map(|tenant| tenant.served.0).sum()
}
