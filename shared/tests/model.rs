//! A model checker explores the shipped machines, step by step: whatever is lost, late, repeated or reordered and
//! whoever crashes, no window is overdrawn, and it can be used to the last unit.
//!
//! `WEIR_STATES=n` explores at least `n` distinct states, over all deployments together.

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::deployment::broken::Broken;
use crate::deployment::found::Found;
use crate::deployment::properties::{AHEAD, ALWAYS, CRASHED, FULL};
use crate::deployment::setup::{Faults, Setup, WINDOW_MS};
use crate::deployment::world::Step;
use stateright::{Checker, Model};
use weir_shared::limits::AHEAD_REQUESTS_MIN;
use weir_shared::wire::exchange::RuleBody;

/// Distinct states that were explored, over all deployments.
static EXPLORED: AtomicUsize = AtomicUsize::new(0);

/// Distinct states to explore when nothing else is said, and over how many deployments they are divided.
const STATES: usize = 100_000;
const DEPLOYMENTS: usize = 24;

/// States of which one must show that a rule is broken.
const STATES_OF_CONTROL: usize = 20_000;

/// Instants of a run: a window lasts for two seconds, and its end is near after half of one.
const TO_THE_NEXT: [u64; 3] = [0, 600, 2_200];

/// The least limit of which units are lent ahead to requests of one unit.
const LENT_AHEAD: u64 = AHEAD_REQUESTS_MIN;

/// What came of one exploration.
struct Explored {
    states: usize,
    steps: usize,
    whole: bool,
    /// What was found, at which state, and the shortest way there.
    found: Vec<(&'static str, usize, String)>,
}

impl Explored {
    /// What must always hold and does not.
    fn broken(&self) -> Option<&(&'static str, usize, String)> {
        let broken = |(name, ..): &&(&str, usize, String)| ALWAYS.contains(name);
        self.found.iter().find(broken)
    }
}

fn explore(mut setup: Setup) -> Explored {
    setup.found = Found::default();
    // One thread: the numbers are those of every run, and the first way found is the shortest.
    let checker = setup.clone().checker().threads(1).spawn_bfs().join();
    let whole = setup.found.states() < setup.states;
    setup.found.is_over();
    let discoveries = checker.discoveries().into_iter();
    let found = discoveries.map(|(name, path)| {
        let steps = path.into_vec().into_iter().filter_map(|(world, step)| {
            let at_ms = setup.instants_ms[world.instant];
            step.map(|step| format!("{at_ms:>8} ms: {}\n", world.told(step)))
        });
        (name, setup.found.at(name).unwrap_or(0), steps.collect())
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(_, at, _)| *at);
    Explored {
        states: checker.unique_state_count(),
        steps: checker.max_depth() - 1,
        whole,
        found,
    }
}

/// Explores deployments, each with what must be possible in it, and prints how much of each was seen.
fn explored(deployments: &[(&str, Setup, &[&str])]) {
    let wanted = env::var("WEIR_STATES").map_or(STATES, |text| {
        let number = text.parse();
        number.unwrap_or_else(|_| panic!("WEIR_STATES={text} is not a number"))
    });
    let share = wanted.div_ceil(DEPLOYMENTS);
    // What one that is soon seen as a whole leaves over goes to the next.
    let (mut owed, mut all) = (0, 0);
    for (name, setup, possible) in deployments {
        owed += share;
        let mut setup = setup.clone();
        setup.states = owed.max(share);
        let explored = explore(setup);
        let Explored { states, steps, .. } = explored;
        owed = owed.saturating_sub(states);
        all += states;
        let extent = if explored.whole { "all" } else { "the first" };
        println!("{name}: {extent} {states} states, up to {steps} steps");
        for (found, at, way) in &explored.found {
            println!("    {found}: state {at}, {} steps", way.lines().count());
        }
        if let Some((broken, _, way)) = explored.broken() {
            panic!("{name}: not so: {broken}:\n{way}");
        }
        for possible in *possible {
            let found = explored.found.iter().any(|(found, ..)| found == possible);
            assert!(found, "{name}: not found: {possible}");
        }
    }
    let total = EXPLORED.fetch_add(all, Ordering::Relaxed) + all;
    println!("{all} distinct states in these deployments, {total} so far");
}

/// So many requests, and whatever else may happen.
fn faults(requests: u8, change: impl FnOnce(&mut Faults)) -> Faults {
    let mut faults = Faults {
        requests,
        ..Faults::default()
    };
    change(&mut faults);
    faults
}

fn letters(requests: u8) -> Faults {
    faults(requests, |may| (may.repeats, may.expiries) = (1, 1))
}

fn crashes(requests: u8) -> Faults {
    faults(requests, |may| {
        (may.isolate_deaths, may.region_crashes) = (1, 1);
        may.coordinator_crashes = 1;
    })
}

fn two_lives(requests: u8) -> Faults {
    faults(requests, |may| {
        (may.regions_replaced, may.coordinators_replaced) = (1, 1);
    })
}

/// A request that is served, with all that it sets off.
fn served(isolate: usize) -> Step {
    Step::Request { isolate }
}

/// A region shows itself, with all that it sets off.
fn shown(region: usize) -> Step {
    Step::RegionContact { region }
}

#[test]
fn within_a_window_nothing_overdraws_it() {
    let one = Setup::first_come(2, &[0, 0]);
    let two = Setup::first_come(2, &[0, 1]);
    let three = Setup::first_come(3, &[0, 1, 2]);
    let coordinator = faults(4, |may| may.coordinator_crashes = 1);
    let returns = faults(3, |may| (may.endings, may.region_crashes) = (1, 1));
    let later = one.clone().at(&[0, 600]);
    explored(&[
        ("one region, letters", one.clone().with(letters(3)), &[FULL]),
        (
            "one region, crashes",
            one.clone().with(crashes(3)),
            &[FULL, CRASHED],
        ),
        ("one region, returns", later.with(returns), &[FULL]),
        ("one region, two lives", one.with(two_lives(3)), &[FULL]),
        (
            "two regions, letters",
            two.clone().with(letters(3)),
            &[FULL],
        ),
        (
            "two regions, crashes",
            two.with(crashes(3)),
            &[FULL, CRASHED],
        ),
        ("three regions", three.with(coordinator), &[CRASHED]),
    ]);
}

#[test]
fn over_the_end_of_a_window_nothing_overdraws_either() {
    let near = |isolates: &[usize]| {
        let setup = Setup::first_come(LENT_AHEAD, isolates).at(&TO_THE_NEXT);
        setup.after(&[served(0), Step::TimePasses])
    };
    let lent = |isolates: &[usize]| {
        let setup = Setup::first_come(LENT_AHEAD, isolates).at(&TO_THE_NEXT);
        setup.after(&[served(0), Step::TimePasses, shown(0)])
    };
    let alone = Setup::first_come(LENT_AHEAD, &[0]).at(&[0, 600, 2_200, 4_300]);
    let alone = alone
        .standing(2)
        .after(&[served(0), Step::TimePasses, shown(0)]);
    let region = faults(3, |may| (may.expiries, may.region_crashes) = (1, 1));
    let before = [0, 600, 1_900, 2_200];
    explored(&[
        (
            "one isolate, letters",
            near(&[0]).with(letters(2)),
            &[AHEAD],
        ),
        (
            "one isolate, crashes",
            near(&[0]).with(crashes(2)),
            &[AHEAD],
        ),
        (
            "one isolate, two lives",
            near(&[0]).with(two_lives(2)),
            &[AHEAD],
        ),
        (
            "two isolates",
            lent(&[0, 0]).at(&before).with(crashes(2)),
            &[AHEAD],
        ),
        ("two regions", lent(&[0, 1]).with(crashes(2)), &[AHEAD]),
        ("slices of windows to come", alone.with(region), &[AHEAD]),
    ]);
}

#[test]
fn tenants_that_share_a_budget_do_not_overdraw_it() {
    let one = [(0, "a"), (0, "b")];
    let two = [(0, "a"), (1, "b")];
    let pinned = |isolates| Setup::shared(RuleBody::Pinned, 2, isolates);
    let paced = Setup::shared(RuleBody::Paced, 3, &two);
    let end = Setup::shared(RuleBody::Pinned, LENT_AHEAD, &one).at(&TO_THE_NEXT);
    let end = end.after(&[served(0), served(1), Step::TimePasses, shown(0)]);
    explored(&[
        (
            "tenants of one region, letters",
            pinned(&one).with(letters(3)),
            &[FULL],
        ),
        (
            "tenants of one region, crashes",
            pinned(&one).with(crashes(3)),
            &[FULL],
        ),
        (
            "tenants of two regions, crashes",
            pinned(&two).with(crashes(3)),
            &[FULL],
        ),
        (
            "tenants of two regions, paced",
            paced.with(crashes(4)),
            &[CRASHED],
        ),
        (
            "tenants at the end of a window",
            end.with(crashes(2)),
            &[AHEAD],
        ),
    ]);
}

/// Each region hears of an edit in its own time, between any two steps.
#[test]
fn an_edit_of_the_policy_overdraws_no_window() {
    let two = || Setup::first_come(2, &[0, 1]);
    let longer = || Setup::first_come(2, &[0]).at(&[0, 600, 2_200, 3_900]);
    let lower = Setup::first_come(LENT_AHEAD, &[0]).at(&TO_THE_NEXT);
    let lower = lower
        .standing(2)
        .after(&[served(0), Step::TimePasses, shown(0)]);
    let crash = |requests| faults(requests, |may| may.coordinator_crashes = 1);
    explored(&[
        (
            "a higher limit",
            two().edited(3, WINDOW_MS).with(faults(3, |_| ())),
            &[FULL],
        ),
        (
            "a higher limit, and a coordinator that crashes",
            two().edited(3, WINDOW_MS).with(crash(4)),
            &[CRASHED],
        ),
        (
            "a lower limit",
            two().edited(1, WINDOW_MS).with(crashes(3)),
            &[FULL],
        ),
        (
            "longer windows",
            longer()
                .edited(3, 2 * WINDOW_MS)
                .after(&[served(0)])
                .with(faults(2, |_| ())),
            &[],
        ),
        (
            "longer windows, and a coordinator that crashes",
            longer().edited(3, 2 * WINDOW_MS).with(crash(4)),
            &[],
        ),
        (
            "slices of a limit that is lowered",
            lower.edited(2, WINDOW_MS).with(faults(3, |_| ())),
            &[AHEAD],
        ),
    ]);
}

/// The same exploration finds a broken rule, by what shows outside: a window that is overdrawn, units spent outside it.
fn caught(rule: Broken, mut setup: Setup) {
    setup.broken = Some(rule);
    // To overdraw a window of so many units that some are lent ahead takes more steps than fit.
    setup.inside = rule == Broken::AheadNotStored;
    setup.states = STATES_OF_CONTROL;
    let explored = explore(setup);
    let Some((broken, at, way)) = explored.broken() else {
        panic!("{rule:?} is not caught in {} states", explored.states);
    };
    println!("{rule:?} is caught by state {at}: not so: {broken}:\n{way}");
}

#[test]
fn a_coordinator_that_replies_before_it_writes() {
    let crash = faults(3, |may| may.coordinator_crashes = 1);
    let one = Setup::first_come(2, &[0]);
    caught(Broken::CoordinatorRepliesBeforeWrite, one.with(crash));
}

#[test]
fn a_region_that_replies_before_it_writes() {
    let crash = faults(3, |may| may.region_crashes = 1);
    let one = Setup::first_come(2, &[0, 0]);
    caught(Broken::RegionRepliesBeforeWrite, one.with(crash));
}

#[test]
fn a_coordinator_that_opens_its_window_anew_when_the_policy_is_edited() {
    let one = Setup::first_come(2, &[0]).edited(3, WINDOW_MS);
    caught(Broken::EditOpensAnew, one.with(faults(6, |_| ())));
}

#[test]
fn a_region_that_wakes_with_nothing_lent() {
    let crash = faults(3, |may| may.region_crashes = 1);
    let one = Setup::first_come(2, &[0, 0]);
    caught(Broken::RegionWakesUnlent, one.with(crash));
}

#[test]
fn a_failed_write_that_is_ignored() {
    let two = Setup::first_come(3, &[0, 1]).after(&[served(0)]);
    let beside = faults(4, |may| may.coordinators_replaced = 1);
    caught(Broken::FailedWriteIgnored, two.with(beside));
}

#[test]
fn units_of_windows_to_come_that_are_not_stored() {
    let one = Setup::first_come(LENT_AHEAD, &[0]).at(&TO_THE_NEXT);
    let near = one.after(&[served(0), Step::TimePasses]);
    caught(Broken::AheadNotStored, near.with(faults(2, |_| ())));
}

#[test]
fn a_reply_to_an_older_message_that_is_credited() {
    let again = faults(4, |may| may.repeats = 1);
    let one = Setup::first_come(2, &[0]);
    caught(Broken::OlderReplyCredited, one.with(again));
}

#[test]
fn a_stale_name_of_the_last_reply_seen() {
    let one = Setup::first_come(2, &[0]);
    caught(Broken::StaleSeen, one.with(faults(4, |_| ())));
}

#[test]
fn a_return_that_is_kept() {
    let one = Setup::first_come(2, &[0]).at(&[0, 600]);
    let spare = faults(4, |may| may.endings = 1);
    caught(Broken::ReturnKept, one.with(spare));
}

#[test]
fn an_end_that_is_counted_from_the_receipt() {
    let one = Setup::first_come(4, &[0]).at(&TO_THE_NEXT);
    caught(Broken::EndCountedFromReceipt, one.with(faults(4, |_| ())));
}
