//! Calls a second of one object of each class, by formula.

use weir_shared::limits::{
    BRANCH_AT_ISOLATES, BRANCH_CHILDREN_MAX, BRANCH_ISOLATES, CONTACT_MS_MIN,
    CONTACT_MS_PER_HOLDER, EXCHANGES_PER_CONTACT_MAX, KEY_SHARDS, POLICY_POLL_MS, REGIONS_MAX,
};

/// What one object is meant to stay under; with a row a call it takes 200 to 500.
pub const CALLS_PER_SEC_MAX: f64 = 200.0;

/// A region tells its ledger once a second, and home of windows every other second.
const FRAMES_PER_SEC: f64 = 1.0;
const WINDOW_FRAMES_PER_SEC: f64 = 0.5;

/// Exchanges of one region for one busy pool in a second: two are the rounds, and what the simulator adds is less than
/// one.
const EXCHANGES_PER_POOL: f64 = 3.0;

/// How often an isolate draws units of one busy key ahead in a second.
const DRAWS_PER_SEC: f64 = 2.0;

/// Contacts of so many isolates of one region in a second: the region tells them to come more rarely as they grow.
pub fn contacts_per_sec(isolates: f64) -> f64 {
    let contact_ms = (CONTACT_MS_PER_HOLDER as f64 * isolates).max(CONTACT_MS_MIN as f64);
    isolates * 1_000.0 / contact_ms
}

/// Which object is past the bound, if any.
pub fn first_past(region: f64, coordinator: f64) -> &'static str {
    match (region > CALLS_PER_SEC_MAX, coordinator > CALLS_PER_SEC_MAX) {
        (false, false) => "-",
        (true, false) => "`Region`",
        (false, true) => "`Coordinator`",
        (true, true) if region > coordinator => "`Region`",
        (true, true) => "`Coordinator`",
    }
}

/// The formulas, and what is sharded.
pub fn print() {
    println!("### Calls a second of one object\n");
    println!(
        "`H` isolates and `B` budgets of a region, `R` regions (at most {REGIONS_MAX}), `K` busy keys of a global limit, \
         `q` checks a second of keys that are too rare to be drawn ahead, `k` busy ones.\n"
    );
    println!("| object | formula | sharded today |");
    println!("| --- | --- | --- |");
    println!(
        "| `Region` (leases) | contacts `H / max({} s, {} ms H)`, each with up to {EXCHANGES_PER_CONTACT_MAX} budgets; and \
         `1.2 H (1 + ln(L / H))` shortages a window and budget that is used up | from {BRANCH_AT_ISOLATES} isolates on: a \
         branch for each {BRANCH_ISOLATES}, at most {BRANCH_CHILDREN_MAX} below one object |",
        CONTACT_MS_MIN as f64 / 1_000.0,
        CONTACT_MS_PER_HOLDER,
    );
    println!(
        "| `Region` (shard of keys) | `(q + {DRAWS_PER_SEC} k H) / {KEY_SHARDS}` | {KEY_SHARDS} a region, as many of the \
         deployment for meters and guards; a constant |"
    );
    println!(
        "| `Coordinator` of a budget | at most `{EXCHANGES_PER_POOL} R` | by budget: one object each |"
    );
    println!(
        "| `Coordinator` of a global limit | at most `{EXCHANGES_PER_POOL} K R / {KEY_SHARDS}`: a call a key | \
         {KEY_SHARDS} a limit; a constant |"
    );
    println!(
        "| `Ledger` | {FRAMES_PER_SEC}; at home {FRAMES_PER_SEC} + {WINDOW_FRAMES_PER_SEC} `R` | by region; home is one |"
    );
    println!(
        "| `Registry` | `R / {} s`, and what operators do | no: one object |",
        POLICY_POLL_MS / 1_000
    );
}

/// What each class carries at the bound.
pub fn print_capacity() {
    let regions = REGIONS_MAX as f64;
    let shards = f64::from(KEY_SHARDS);
    println!("\n### What each carries at {CALLS_PER_SEC_MAX} calls a second\n");
    println!("| object | carries | at {REGIONS_MAX} regions |");
    println!("| --- | --- | --- |");
    println!(
        "| `Coordinator` of a budget | {:.0} regions | {:.0} calls/s |",
        CALLS_PER_SEC_MAX / EXCHANGES_PER_POOL,
        EXCHANGES_PER_POOL * regions
    );
    println!(
        "| `Coordinator`s of a global limit | {:.0} busy keys over one region | {:.0} busy keys |",
        CALLS_PER_SEC_MAX * shards / EXCHANGES_PER_POOL,
        CALLS_PER_SEC_MAX * shards / EXCHANGES_PER_POOL / regions
    );
    println!(
        "| shards of a region | {:.0} checks/s of rare keys, or {:.0} busy keys over one isolate | the same in each |",
        CALLS_PER_SEC_MAX * shards,
        CALLS_PER_SEC_MAX * shards / DRAWS_PER_SEC
    );
    let ledger = FRAMES_PER_SEC + WINDOW_FRAMES_PER_SEC * regions;
    println!("| `Ledger` at home | any number of checks and tenants | {ledger:.0} calls/s |");
    println!(
        "| `Registry` | any number of checks | {:.1} calls/s |",
        regions * 1_000.0 / POLICY_POLL_MS as f64
    );
}
