//! The shares of a static partition change, and no window admits more than the larger limit.

use weir_shared::fairness::ask::Party;
use weir_shared::federation::handover::Handover;
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredPool;
use weir_shared::federation::waiting::Need;
use weir_shared::invalid::read_json;
use weir_shared::limits::{AHEAD_MS_MAX, HANDOVER_MS};
use weir_shared::ordered::{OrderedMap, OrderedSet};
use weir_shared::policy::Policy;
use weir_shared::policy::handover::{Handovers, handovers};
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision};
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::saved_policy::HandoverBody;

use crate::random::Random;

const HOUR_MS: u64 = 3_600_000;
/// The beginning of an hour.
const NOW: EpochMs = EpochMs(100 * HOUR_MS);

/// A policy with one budget, shared by `sharing` over `regions`.
fn policy(regions: &[&str], limit: u64, window_ms: u64, sharing: &str) -> Policy {
    let regions: Vec<_> = regions.iter().map(|one| format!("\"{one}\"")).collect();
    let text = format!(
        r#"{{ "regions": [{}], "budgets": {{ "tokens": {{ "limit": {limit}, "window_ms": {window_ms},
            "sharing": "{sharing}", "scope": "global" }} }} }}"#,
        regions.join(",")
    );
    Policy::try_from(&read_json(text.as_bytes()).unwrap()).unwrap()
}

fn hourly(regions: &[&str], limit: u64) -> Policy {
    policy(regions, limit, HOUR_MS, "static_partition")
}

/// Revisions as the registry saves them, and the regions that have each heard of some of them.
struct Deployment {
    saved: Vec<(Policy, Handovers)>,
    regions: OrderedMap<String, Region>,
}

#[derive(Default)]
struct Region {
    heard: usize,
    own: Option<(Pool, Holder)>,
    /// What is durable of its pool.
    row: Option<StoredPool>,
    /// How often its isolate has died.
    deaths: u64,
}

impl Deployment {
    fn new(policy: Policy) -> Self {
        let mut deployment = Self {
            saved: Vec::new(),
            regions: OrderedMap::new(),
        };
        deployment.saved.push((policy, Handovers::new()));
        deployment.all_hear();
        deployment
    }

    fn save(&mut self, policy: Policy, now: EpochMs) {
        let (before, earlier) = self.saved.last().unwrap();
        let changed = handovers((before, earlier), &policy, now);
        self.saved.push((policy, changed));
    }

    fn all_hear(&mut self) {
        let names: OrderedSet<_> = self
            .saved
            .iter()
            .flat_map(|(one, _)| &one.regions)
            .collect();
        for name in names.into_iter().cloned() {
            self.regions.entry(name).or_default();
        }
        for region in self.regions.values_mut() {
            region.heard = self.saved.len() - 1;
        }
    }

    fn hears(&mut self, name: &str) {
        let heard = self.saved.len() - 1;
        self.regions.entry(name.to_owned()).or_default().heard = heard;
    }

    /// A region dies, and forgets what is not durable.
    fn dies(&mut self, name: &str, damaged: bool, now: EpochMs) {
        let Some(region) = self.regions.get_mut(name) else {
            return;
        };
        let (policy, _) = &self.saved[region.heard];
        let revision = Revision(1 + region.heard as u64);
        let terms = policy.budget_terms("tokens", name, revision, now);
        region.dies(terms.as_ref().filter(|_| damaged).map(|terms| (terms, now)));
    }

    /// Units that are admitted in each region of up to `ask` single ones.
    fn asks(&mut self, ask: u64, now: EpochMs) -> u64 {
        let saved = &self.saved;
        let regions = self.regions.iter_mut();
        regions
            .map(|(name, region)| region.asks(name, &saved[region.heard], ask, now))
            .sum()
    }
}

impl Region {
    fn asks(
        &mut self,
        name: &str,
        (policy, changed): &(Policy, Handovers),
        ask: u64,
        now: EpochMs,
    ) -> u64 {
        let revision = Revision(1 + self.heard as u64);
        let Some(terms) = policy.budget_terms("tokens", name, revision, now) else {
            return 0;
        };
        let (row, life) = (&mut self.row, Incarnation(1 + self.deaths));
        let (pool, holder) = self.own.get_or_insert_with(|| {
            let holder = Holder::new("tokens".into(), HolderId(1), life, None);
            let wakes = row.as_ref().map(Pool::wake);
            (
                wakes.unwrap_or_else(|| Pool::open(terms.clone(), now)),
                holder,
            )
        });
        let body = changed.get("tokens");
        pool.amend(&terms);
        pool.hold_to(body.map(|body| Handover::of(body, name)));
        holder.ask_again();
        (0..ask)
            .filter(|_| admits(pool, holder, row, &terms, now))
            .count() as u64
    }

    /// It wakes from its row, or from one that cannot be read, and its isolate is another.
    fn dies(&mut self, damaged: Option<(&Terms, EpochMs)>) {
        self.deaths += 1;
        self.own = None;
        if let (Some(row), Some((terms, now))) = (&self.row, damaged) {
            let holder = Holder::new(
                "tokens".into(),
                HolderId(1),
                Incarnation(1 + self.deaths),
                None,
            );
            self.own = Some((Pool::damaged(Some(row.label), terms.clone(), now), holder));
        }
    }
}

/// Whether one unit is admitted.
fn admits(
    pool: &mut Pool,
    holder: &mut Holder,
    row: &mut Option<StoredPool>,
    terms: &Terms,
    now: EpochMs,
) -> bool {
    let everyone = Party::Everyone;
    for _ in 0..3 {
        holder.advance(now);
        match holder.outlook(&everyone, Need::one(1), None, now) {
            Outlook::Covered => return holder.spend(&everyone, 1, now),
            Outlook::Short => {
                exchange(pool, holder, terms, now);
                if let Some(due) = pool.due() {
                    pool.stored(&due);
                    *row = Some(due);
                }
            }
            Outlook::Exhausted | Outlook::Unknown => return false,
        }
    }
    false
}

fn exchange(pool: &mut Pool, holder: &mut Holder, terms: &Terms, now: EpochMs) {
    let ticket = holder.wait_on(&Party::Everyone, None, Need::one(1), now);
    let body = holder.begin(terms.clone(), now).unwrap();
    let message = Message::try_from(body).unwrap();
    let reply = pool.exchange(&message, now).unwrap();
    assert!(holder.finish(&reply, now));
    if let Some(ticket) = ticket {
        holder.unwait(ticket);
    }
}

const ALL: u64 = 1_000;

/// Lists of regions and limits of which each takes the place of another.
fn lists() -> Vec<(Vec<&'static str>, u64)> {
    vec![
        (vec!["weur", "enam", "apac"], 300),
        (vec!["weur", "enam", "oc"], 300),
        (vec!["weur", "enam"], 300),
        (vec!["oc"], 300),
        (vec!["apac", "weur", "enam"], 301),
        (vec!["weur", "oc"], 30),
        (vec!["enam", "weur", "apac", "oc"], 900),
    ]
}

#[test]
fn regions_that_are_added_removed_or_renamed_and_limits_that_change_admit_at_most_the_larger_limit()
{
    for (before, old) in lists() {
        for (after, new) in lists() {
            for used in [0, 7, ALL] {
                let mut world = Deployment::new(hourly(&before, old));
                let mut admitted = world.asks(used, NOW.plus(60_000));
                world.save(hourly(&after, new), NOW.plus(120_000));
                world.all_hear();
                admitted += world.asks(ALL, NOW.plus(121_000));
                assert!(
                    admitted <= old.max(new),
                    "{old} over {before:?}, then {new} over {after:?}: {admitted} in one hour"
                );
                let next = world.asks(ALL, NOW.plus(HOUR_MS));
                assert_eq!(next, new, "{before:?} to {after:?}: all of the next hour");
            }
        }
    }
}

#[test]
fn regions_that_hear_of_a_change_in_their_own_time_admit_at_most_the_larger_limit() {
    for (before, old) in lists() {
        for (after, new) in lists() {
            // The change is saved just before the hour ends. One region after the other hears of it in the next.
            let mut world = Deployment::new(hourly(&before, old));
            let mut first = world.asks(5, NOW);
            world.save(hourly(&after, new), NOW.plus(HOUR_MS - 1_000));
            first += world.asks(ALL, NOW.plus(HOUR_MS - 900));
            let mut second = 0;
            for (index, region) in ["oc", "apac", "enam", "weur"].into_iter().enumerate() {
                world.hears(region);
                second += world.asks(ALL, NOW.plus(HOUR_MS + index as u64 * 5_000));
            }
            let third = world.asks(ALL, NOW.plus(2 * HOUR_MS));
            let most = old.max(new);
            assert!(first <= most && second <= most, "{first}, {second}");
            assert_eq!(third, new);
        }
    }
}

#[test]
fn changes_that_follow_each_other_within_one_window_admit_at_most_the_largest_limit() {
    for (first, one) in lists() {
        for (second, two) in lists() {
            for (third, three) in lists() {
                let mut world = Deployment::new(hourly(&first, one));
                let mut admitted = world.asks(11, NOW);
                world.save(hourly(&second, two), NOW.plus(1_000));
                world.hears("weur");
                world.hears("oc");
                admitted += world.asks(ALL, NOW.plus(2_000));
                world.save(hourly(&third, three), NOW.plus(3_000));
                world.all_hear();
                admitted += world.asks(ALL, NOW.plus(4_000));
                let most = one.max(two).max(three);
                assert!(
                    admitted <= most,
                    "{first:?}, {second:?}, {third:?}: {admitted}"
                );
                assert_eq!(world.asks(ALL, NOW.plus(HOUR_MS)), three);
            }
        }
    }
}

/// Edits drawn one after the other, of which each region hears in its own time, and regions that die meanwhile, at times
/// with a row that cannot be read: in no window more than the largest limit is admitted of those that were in force
/// somewhere in it.
#[test]
fn edits_drawn_one_after_the_other_admit_at_most_the_largest_limit_of_each_window() {
    const NAMES: [&str; 5] = ["weur", "enam", "apac", "oc", "sam"];
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let window_ms = random.one_of(&[10_000, 60_000, HOUR_MS]);
        let drawn = |random: &mut Random| {
            let first = random.below(4) as usize;
            let after = random.between(first as u64 + 1, 5) as usize;
            let limit = random.between(5, 60);
            let regions = &NAMES[first..after];
            (policy(regions, limit, window_ms, "static_partition"), limit)
        };
        let (first, limit) = drawn(&mut random);
        let mut world = Deployment::new(first);
        let mut saved = vec![(0, limit)];
        let mut hears: Vec<(u64, &str)> = Vec::new();
        let mut admitted: OrderedMap<u64, u64> = OrderedMap::new();
        let mut now = NOW;
        for _ in 0..150 {
            now = now.plus(random.between(1, window_ms / 8));
            if random.chance(100) {
                let (next, limit) = drawn(&mut random);
                world.save(next, now);
                saved.push((now.0, limit));
                hears.extend(
                    NAMES.map(|name| (now.0 + random.below(HANDOVER_MS - AHEAD_MS_MAX), name)),
                );
            }
            hears.retain(|(at, name)| {
                if *at <= now.0 {
                    world.hears(name);
                }
                *at > now.0
            });
            if random.chance(100) {
                world.dies(random.one_of(&NAMES), random.chance(300), now);
            }
            let units = world.asks(random.below(20), now);
            *admitted.entry(now.0 / window_ms).or_default() += units;
        }
        for (window, units) in admitted {
            let (starts, ends) = (window * window_ms, (window + 1) * window_ms);
            let heard_by = starts - HANDOVER_MS;
            let before = saved.iter().rposition(|(at, _)| *at <= heard_by);
            let since = saved[before.unwrap_or(0)..].iter();
            let most = since.take_while(|(at, _)| *at < ends);
            let most = most.map(|(_, limit)| *limit).max().unwrap_or(0);
            assert!(
                units <= most,
                "seed {seed}, window {window}: {units} of {most}"
            );
        }
    }
}

#[test]
fn units_lent_ahead_by_old_shares_are_within_the_limit_of_their_window() {
    // Windows of ten seconds, of which units are lent ahead all the time.
    let window_ms = 10_000;
    let of = |regions: &[&str]| policy(regions, 400, window_ms, "static_partition");
    let mut world = Deployment::new(of(&["weur", "enam"]));
    let mut admitted: OrderedMap<u64, u64> = OrderedMap::new();
    for step in 0..1_200 {
        let now = NOW.plus(step * 100);
        if step == 297 {
            world.save(of(&["enam", "oc", "weur", "apac"]), now);
        }
        if step == 330 {
            world.all_hear();
        }
        let units = world.asks(5, now);
        *admitted.entry(now.0 / window_ms).or_default() += units;
    }
    for (window, units) in &admitted {
        assert!(*units <= 400, "window {window}: {units} in {admitted:?}");
    }
    assert_eq!(admitted.values().next_back(), Some(&400));
}

#[test]
fn units_of_a_window_are_lent_no_sooner_than_half_a_minute_before_it_opens() {
    let budget = hourly(&["weur"], 400);
    let terms = budget
        .budget_terms("tokens", "weur", Revision(1), EpochMs(0))
        .unwrap();
    for (left_ms, lent) in [(AHEAD_MS_MAX + 1, false), (AHEAD_MS_MAX, true)] {
        let now = EpochMs(NOW.0 + HOUR_MS - left_ms);
        let mut pool = Pool::open(terms.clone(), now);
        let mut holder = Holder::new("tokens".into(), HolderId(1), Incarnation(1), None);
        let mut body = holder.begin(terms.clone(), now).unwrap();
        body.ahead = 50;
        let reply = pool
            .exchange(&Message::try_from(body).unwrap(), now)
            .unwrap();
        assert_eq!(!reply.ahead.is_empty(), lent, "{left_ms} ms before");
    }
}

#[test]
fn a_share_that_grows_waits_for_a_window_that_begins_when_all_have_heard() {
    let mut world = Deployment::new(policy(&["weur", "enam"], 100, 10_000, "static_partition"));
    let swapped = policy(&["oc", "enam"], 100, 10_000, "static_partition");
    world.save(swapped, NOW.plus(2_000));
    world.all_hear();
    assert_eq!(world.asks(ALL, NOW.plus(3_000)), 50, "enam alone");
    let until = NOW.plus(2_000 + HANDOVER_MS);
    assert_eq!(world.asks(ALL, EpochMs(until.0 - 1)), 50);
    assert_eq!(world.asks(ALL, NOW.plus(HANDOVER_MS + 10_000)), 100);
}

#[test]
fn a_budget_that_becomes_a_static_partition_is_served_when_its_window_is_over() {
    let before = policy(&["weur", "enam"], 300, HOUR_MS, "first_come");
    let mut world = Deployment::new(before);
    world.save(hourly(&["weur", "enam"], 300), NOW.plus(60_000));
    world.all_hear();
    assert_eq!(
        world.asks(ALL, NOW.plus(60_000)),
        0,
        "regions may hold leases of it"
    );
    assert_eq!(world.asks(ALL, NOW.plus(HOUR_MS)), 300);
}

#[test]
fn a_limit_that_only_rises_or_only_falls_and_a_new_budget_wait_for_nothing() {
    let regions = ["weur", "enam"];
    let none =
        Policy::try_from(&read_json(br#"{ "regions": ["weur", "enam"] }"#).unwrap()).unwrap();
    let change = |one: &Policy, two: &Policy| handovers((one, &Handovers::new()), two, NOW);
    let (low, high) = (hourly(&regions, 100), hourly(&regions, 200));
    assert!(change(&low, &high).is_empty());
    assert!(change(&high, &low).is_empty());
    assert!(change(&low, &low).is_empty());
    assert!(change(&none, &low).is_empty());
    assert!(!change(&low, &hourly(&["weur"], 100)).is_empty());
}

#[test]
fn a_handover_stays_in_later_revisions_until_it_is_over() {
    let (two, one) = (hourly(&["weur", "enam"], 100), hourly(&["weur"], 100));
    let changed = handovers((&two, &Handovers::new()), &one, NOW);
    let before = OrderedMap::from([("enam".to_owned(), 50), ("weur".to_owned(), 50)]);
    let body = HandoverBody { since: NOW, before };
    assert_eq!(changed.get("tokens"), Some(&body));
    assert_eq!(
        handovers((&one, &changed), &one, NOW.plus(HOUR_MS)),
        changed
    );
    let over = NOW.plus(HANDOVER_MS + HOUR_MS);
    assert!(handovers((&one, &changed), &one, over).is_empty());
}

#[test]
fn a_saved_policy_without_handovers_is_read_and_with_them_comes_back_as_it_was() {
    use weir_shared::wire::saved_policy::SavedPolicy;
    let text = r#"{"revision":7,"document":{"regions":["weur"]}}"#;
    let mut saved: SavedPolicy = read_json(text.as_bytes()).unwrap();
    assert!(saved.handovers.is_empty());
    let body = r#"{"tokens":{"since":5000,"before":{"weur":100}}}"#;
    saved.handovers = serde_json::from_str(body).unwrap();
    let json = serde_json::to_string(&saved).unwrap();
    assert!(
        json.ends_with(&format!(r#""handovers":{body}}}"#)),
        "{json}"
    );
    assert_eq!(serde_json::from_str::<SavedPolicy>(&json).unwrap(), saved);
}
