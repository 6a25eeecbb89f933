//! Rows are few and small, whatever names come.

use weir_shared::accounting::counters::{Charged, Decided};
use weir_shared::accounting::interval;
use weir_shared::accounting::ledger::Totals;
use weir_shared::accounting::pending::{InWindow, WindowClaim};
use weir_shared::limits::{
    CELL_BYTES_MAX, CELL_ROWS, FRAME_NAMES_MAX, FRAME_TENANTS_MAX, HOUR_MS, HOURS_KEPT_MS,
    LEDGER_NAMES_MAX, LEDGER_ROWS, LEDGER_TENANTS_MAX, METRICS_TENANTS_MAX, MINUTE_MS,
    MINUTES_KEPT_MS, RECORD_TENANTS_MAX, RECORDS_MAX, TENANT_NAMES_MAX,
};
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::accounting::{Counters, MeterTally, OTHERS, TenantCounters};
use weir_shared::wire::cells::{StoredCell, StoredEntry};
use weir_shared::wire::count::Count;

use crate::ledger::world::{World, decided, flush, outbox};

/// What a row of an object may have.
const ROW_BYTES: usize = 2_000_000;

/// What an object may have.
const OBJECT_BYTES: u64 = 10_000_000_000;

/// A count of 18 digits, as text in JSON above 2^53.
const LARGE: Count = Count(999_999_999_999_999_999);

fn longest(kind: char, number: usize) -> String {
    format!("{kind}{number:063}")
}

/// A tenant with so many names, as long as they may be, under each of the four kinds.
fn tenant(names: usize) -> TenantCounters {
    let mut tenant = TenantCounters {
        known: true,
        ..TenantCounters::default()
    };
    for number in 0..names {
        let tally = MeterTally {
            admitted_calls: LARGE,
            admitted_units: LARGE,
            shed_calls: LARGE,
            shed_units: LARGE,
            ..MeterTally::default()
        };
        tenant.meters.insert(longest('m', number), tally);
    }
    tenant
}

#[test]
fn a_row_of_the_totals_stays_below_two_megabytes() {
    // As many tenants as the policy names hash to one row, with every name they may have; names that are escaped.
    let mut totals = Totals::default();
    let mut counters = Counters::new();
    for number in 0..4_000 {
        let name = format!("\"\\\"\\{number:0124}");
        counters.insert(name, tenant(TENANT_NAMES_MAX));
    }
    let rows = totals.add(&counters);
    assert!(rows.len() <= LEDGER_ROWS as usize);
    for row in rows {
        let counters = totals.row(row).unwrap();
        let names: usize = counters.values().map(TenantCounters::names).sum();
        assert!(names <= LEDGER_NAMES_MAX / LEDGER_ROWS as usize + 4 * (TENANT_NAMES_MAX + 1));
        let bytes = serde_json::to_string(&StoredCell::new(u64::MAX, counters))
            .unwrap()
            .len();
        assert!(bytes < ROW_BYTES, "{bytes} bytes in row {row}");
    }
}

#[test]
fn an_entry_of_the_journal_stays_below_two_megabytes() {
    let mut sender = outbox(1);
    let mut counters = Counters::new();
    for number in 0..2 * FRAME_TENANTS_MAX {
        counters.insert(format!("\"\\\"\\{number:0124}"), tenant(TENANT_NAMES_MAX));
    }
    sender.merge(&counters);
    let frame = sender.begin(EpochMs(0)).unwrap();
    let names: usize = frame.counters.values().map(TenantCounters::names).sum();
    assert!(names <= FRAME_NAMES_MAX && frame.counters.len() <= FRAME_TENANTS_MAX);
    let bytes = serde_json::to_string(&StoredEntry::new(EpochMs(u64::MAX), &frame))
        .unwrap()
        .len();
    assert!(bytes < ROW_BYTES, "{bytes} bytes");
}

#[test]
fn a_row_of_an_interval_stays_within_its_bytes_and_keeps_every_unit() {
    let mut counters = Counters::new();
    for number in 0..10_000_usize {
        let mut one = tenant(1 + number % TENANT_NAMES_MAX);
        one.known = number % 100 == 0;
        counters.insert(format!("tenant-{number:0121}"), one);
    }
    let whole = interval::sum(&counters);
    let rows = interval::rows(&counters, 7).unwrap();
    assert_eq!(rows.len(), CELL_ROWS as usize + 1);
    let mut kept = TenantCounters::default();
    let mut known = 0;
    for (row, text) in &rows {
        assert!(
            text.len() <= CELL_BYTES_MAX,
            "{} bytes in row {row}",
            text.len()
        );
        let cell: StoredCell = serde_json::from_str(text).unwrap();
        if *row != interval::SUM_ROW {
            let counters = cell.counters();
            known += counters.values().filter(|tenant| tenant.known).count();
            counters.values().for_each(|tenant| kept.add(tenant));
        }
    }
    let units = |tenant: &TenantCounters| -> u128 {
        tenant
            .meters
            .values()
            .map(|tally| tally.admitted_units.0)
            .sum()
    };
    assert_eq!(units(&kept), units(&whole));
    assert_eq!(known, 100, "those that the policy names are kept by name");
}

#[test]
fn ten_thousand_tenants_of_usual_names_are_all_kept_by_name_in_each_interval() {
    let mut counters = Counters::new();
    for number in 0..10_000_u32 {
        let mut one = TenantCounters::default();
        for name in ["results_ingested", "ingest_bytes"] {
            let tally = MeterTally {
                admitted_calls: Count(u128::from(number) * 17),
                admitted_units: Count(u128::from(number) * 1_700),
                ..MeterTally::default()
            };
            one.meters.insert(name.to_owned(), tally);
        }
        counters.insert(format!("enterprise:{number}"), one);
    }
    let rows = interval::rows(&counters, 7).unwrap();
    let cells = rows
        .iter()
        .map(|(_, text)| serde_json::from_str::<StoredCell>(text).unwrap());
    let names: usize = cells.map(|cell| cell.tenants.len()).sum();
    assert_eq!(names, 10_000 + 1, "the sum is one more");
    let largest = rows.iter().map(|(_, text)| text.len()).max().unwrap();
    println!(
        "an interval of 10,000 tenants with two names each: {largest} bytes in the largest row"
    );
}

#[test]
fn all_that_a_ledger_keeps_stays_below_ten_gigabytes() {
    let intervals = (MINUTES_KEPT_MS + HOUR_MS) / MINUTE_MS + HOURS_KEPT_MS / HOUR_MS + 1;
    let cells = intervals * u64::from(CELL_ROWS + 1) * CELL_BYTES_MAX as u64;
    let totals = u64::from(LEDGER_ROWS) * ROW_BYTES as u64;
    // Frames of one minute of a busy home, each as large as it may be.
    let journal = 1_500 * 1_700_000;
    let records = RECORDS_MAX * RECORD_TENANTS_MAX as u64 * 160;
    let all = cells + totals + journal + records;
    println!("cells {cells}, totals {totals}, journal {journal}, records {records}: {all} bytes");
    assert!(all < OBJECT_BYTES, "{all}");
}

/// A million names, and one tenant that the policy names.
#[test]
fn a_million_invented_names_take_bounded_room_and_those_of_the_policy_keep_theirs() {
    let mut world = World::at(10 * MINUTE_MS);
    let mut sender = outbox(1);
    let mut frames = 0;
    for number in 0..1_000_000_u32 {
        let name = format!("hostile-{number}");
        sender.decided(&decided(&name, Charged::Meter("bytes"), false), None);
        if number % 100_000 == 99_999 {
            let known = Decided {
                known: true,
                ..decided("acme", Charged::Meter("bytes"), true)
            };
            sender.decided(&known, None);
            frames += flush(&mut world, &mut sender);
            world.now = world.now.plus(MINUTE_MS);
            world.fold();
        }
    }
    let totals = world.books().totals();
    assert!(totals.counters.len() <= LEDGER_TENANTS_MAX + LEDGER_ROWS as usize + 1);
    assert_eq!(
        totals.counters["acme"].meters["bytes"].admitted_units,
        Count(10)
    );
    assert!(totals.counters["acme"].listed);
    let listed = totals
        .counters
        .values()
        .filter(|tenant| tenant.listed)
        .count();
    assert!(listed <= METRICS_TENANTS_MAX + 1, "{listed} are listed");
    let tallies = totals
        .counters
        .values()
        .filter_map(|tenant| tenant.meters.get("bytes"));
    assert_eq!(
        tallies.map(|tally| tally.shed_units.0).sum::<u128>(),
        1_000_000
    );
    assert!(totals.counters.contains_key(OTHERS));
    let bytes: usize = world
        .disk
        .totals
        .values()
        .chain(world.disk.intervals.values())
        .map(String::len)
        .sum();
    println!(
        "{frames} frames, {} rows written, {bytes} bytes kept",
        world.disk.writes
    );
    assert!(bytes < 16_000_000, "{bytes}");
}

/// Rows written in ten minutes at two frames a second, by so many tenants.
fn writes(tenants: usize) -> u64 {
    let mut world = World::at(100 * MINUTE_MS);
    let mut sender = outbox(1);
    let begun = world.now;
    let mut next = 0;
    while world.now.since(begun) < 10 * MINUTE_MS {
        for _ in 0..50 {
            let name = format!("t{}", next % tenants);
            next += 1;
            let window = InWindow {
                budget: "tokens",
                label: WindowLabel(world.now.0 / MINUTE_MS),
                limit: 1_000,
                ends_at: EpochMs((world.now.0 / MINUTE_MS + 1) * MINUTE_MS),
                claim: WindowClaim {
                    weight_micros: 1_000_000,
                    ..WindowClaim::default()
                },
            };
            let one = decided(&name, Charged::Budget("tokens"), true);
            sender.decided(&one, Some(&window));
        }
        flush(&mut world, &mut sender);
        let minute = interval::start(world.now, MINUTE_MS);
        world.now = world.now.plus(500);
        if interval::start(world.now, MINUTE_MS) > minute {
            world.fold();
        }
    }
    world.disk.writes / 10
}

#[test]
fn rows_written_a_minute_do_not_depend_on_the_number_of_tenants() {
    let counts = [1, 40, 1_000, 6_000].map(writes);
    println!("rows written a minute with 1, 40, 1,000 and 6,000 tenants: {counts:?}");
    let frames = 2 * 120;
    let fixed = u64::from(LEDGER_ROWS + CELL_ROWS + 1) + 1 + 4;
    for count in counts {
        assert!(count <= frames + fixed, "{count} rows a minute");
    }
    assert!(counts[3] <= counts[1] + 16, "{counts:?}");
}
