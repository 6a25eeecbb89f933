//! Slots that isolates keep spare: whatever isolates do, a guard has no more requests than slots, and few slots are idle.

use proptest::collection::vec;
use proptest::prelude::*;
use weir_shared::algorithms::Receipt;
use weir_shared::algorithms::composite::StateKey;
use weir_shared::algorithms::guard::{Guard, GuardState};
use weir_shared::algorithms::scale::ScaledReceipt;
use weir_shared::limiting::spare_slots::{HeardSlot, SpareSlots};
use weir_shared::limits::{SPARE_SLOT_MS, SPARE_SLOTS_PART};
use weir_shared::ordered::OrderedSet;
use weir_shared::units::EpochMs;
use weir_shared::wire::limit_terms::GuardTerms;

const LEASE_MS: u64 = 3_000;

/// One isolate: its requests that run, and its spare slots.
#[derive(Default)]
struct Isolate {
    running: Vec<HeardSlot>,
    spare: SpareSlots,
    /// Slots in `spare`, by their names.
    kept: OrderedSet<u64>,
}

/// A guard at its shard, and isolates before it.
struct World {
    terms: GuardTerms,
    guard: Guard,
    state: Option<GuardState>,
    isolates: Vec<Isolate>,
    now: EpochMs,
}

fn key() -> StateKey {
    StateKey {
        limit: "guard".to_owned(),
        key: "acme".to_owned(),
    }
}

fn name(slot: &HeardSlot) -> u64 {
    slot.receipt.slot().unwrap().0
}

impl World {
    fn new(concurrency: u64, isolates: usize) -> Self {
        Self {
            terms: GuardTerms {
                concurrency: Some(concurrency),
                per_minute: None,
                lease_ms: LEASE_MS,
            },
            guard: Guard::new(Some(concurrency), None, LEASE_MS).unwrap(),
            state: None,
            isolates: (0..isolates).map(|_| Isolate::default()).collect(),
            now: EpochMs(1_000_000),
        }
    }

    fn taken(&self) -> u64 {
        let looked = self.guard.check(self.state.as_ref(), 0, self.now).decision;
        looked.limit - looked.remaining
    }

    /// A request begins: with a spare slot, or one of the shard, or not at all. Whether it asked the shard.
    fn begin(&mut self, at: usize) -> bool {
        let isolate = &mut self.isolates[at];
        if let Some(slot) = isolate.spare.take(&key(), &self.terms, self.now) {
            assert!(isolate.kept.remove(&name(&slot)), "it was kept");
            isolate.running.push(slot);
            return false;
        }
        let checked = self.guard.check(self.state.as_ref(), 1, self.now);
        if let Some(next) = checked.next {
            let receipt = self.guard.receipt(&next);
            self.state = Some(next);
            let taken = self.taken();
            self.isolates[at].running.push(HeardSlot {
                receipt: ScaledReceipt {
                    scale: 1,
                    receipt: Receipt::Guard(receipt),
                    kept: None,
                },
                decision: checked.decision,
                terms: self.terms,
                taken,
                heard_at: self.now,
            });
        }
        true
    }

    /// The oldest request of an isolate ends.
    fn end(&mut self, at: usize) {
        let isolate = &mut self.isolates[at];
        if isolate.running.is_empty() {
            return;
        }
        let slot = isolate.running.remove(0);
        if isolate.spare.keep(&key(), slot.clone(), self.now) {
            isolate.kept.insert(name(&slot));
        } else {
            self.release(&slot);
        }
    }

    fn release(&mut self, slot: &HeardSlot) {
        let state = self.state.as_ref().expect("it was taken");
        if let Some(next) = self.guard.release(state, name(slot), self.now).next {
            self.state = Some(next);
        }
    }

    /// Time passes; what is due is renewed or returned.
    fn pass(&mut self, ms: u64) {
        self.now = self.now.plus(ms);
        for at in 0..self.isolates.len() {
            for (_, slot) in self.isolates[at].spare.over(self.now) {
                let was_kept = self.isolates[at].kept.remove(&name(&slot));
                assert!(was_kept, "it was kept");
                self.release(&slot);
            }
            for request in 0..self.isolates[at].running.len() {
                self.renew(at, request);
            }
        }
    }

    fn renew(&mut self, at: usize, request: usize) {
        let slot = &self.isolates[at].running[request];
        if slot.renews_in_ms(self.now) > 0 {
            return;
        }
        let state = self.state.as_ref().expect("it was taken");
        let renewed = self.guard.renew(state, name(slot), self.now);
        self.state = renewed.next.or(self.state.take());
        assert!(renewed.expires_at.is_some(), "a slot in use has lapsed");
        let (taken, heard_at) = (self.taken(), self.now);
        let slot = &mut self.isolates[at].running[request];
        (slot.taken, slot.heard_at) = (taken, heard_at);
    }

    /// Its requests and its spare slots are gone, and nobody says so.
    fn die(&mut self, at: usize) {
        self.isolates[at] = Isolate::default();
    }

    fn running(&self) -> u64 {
        let running = self.isolates.iter().map(|one| one.running.len() as u64);
        running.sum()
    }

    fn spare(&self) -> u64 {
        let spare = self.isolates.iter().map(|one| one.kept.len() as u64);
        spare.sum()
    }
}

#[derive(Debug, Clone)]
enum Act {
    Begin(usize),
    End(usize),
    Pass(u64),
    Die(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (0..3_usize).prop_map(Act::Begin),
        8 => (0..3_usize).prop_map(Act::End),
        6 => (0..400_u64).prop_map(Act::Pass),
        1 => (0..3_usize).prop_map(Act::Die),
    ];
    vec(act, 1..200)
}

proptest! {
    #[test]
    fn no_more_requests_run_than_there_are_slots_and_at_most_a_quarter_of_these_is_spare(
        concurrency in 1..24_u64,
        acts in acts(),
    ) {
        let mut world = World::new(concurrency, 3);
        for act in acts {
            match act {
                Act::Begin(at) => { let _asked = world.begin(at); }
                Act::End(at) => world.end(at),
                Act::Pass(ms) => world.pass(ms),
                Act::Die(at) => world.die(at),
            }
            let (running, spare) = (world.running(), world.spare());
            prop_assert!(running + spare <= world.taken(), "what runs or is spare is held");
            prop_assert!(world.taken() <= concurrency);
            prop_assert!(spare * SPARE_SLOTS_PART <= concurrency, "{spare} are spare");
        }
    }
}

#[test]
fn requests_that_follow_one_another_ask_the_shard_once_a_third_of_a_lease() {
    let mut world = World::new(16, 1);
    let mut asked = 0;
    // Each lasts for 20 ms, and the next comes 20 ms later.
    for _ in 0..LEASE_MS / 3 / 40 {
        asked += usize::from(world.begin(0));
        world.pass(20);
        world.end(0);
        world.pass(20);
    }
    assert_eq!(asked, 1);
}

#[test]
fn a_spare_slot_that_nobody_takes_is_free_after_a_moment() {
    let mut world = World::new(16, 2);
    assert!(world.begin(0), "nothing is spare at first");
    world.end(0);
    assert_eq!((world.spare(), world.taken()), (1, 1));
    world.pass(SPARE_SLOT_MS - 1);
    assert_eq!((world.spare(), world.taken()), (1, 1));
    world.pass(1);
    assert_eq!((world.spare(), world.taken()), (0, 0));
    assert!(world.begin(0), "the shard is asked again");
}

#[test]
fn nobody_is_denied_for_want_of_a_slot_that_is_spare_here() {
    let mut world = World::new(4, 1);
    let _asked = world.begin(0);
    world.end(0);
    // It is over, and nobody has returned it yet.
    world.now = world.now.plus(2 * SPARE_SLOT_MS);
    for _ in 0..4 {
        let _asked = world.begin(0);
    }
    assert_eq!((world.running(), world.spare()), (4, 0));
}

#[test]
fn a_spare_slot_serves_only_the_rules_by_which_it_was_taken() {
    let mut world = World::new(16, 1);
    let _asked = world.begin(0);
    world.end(0);
    world.terms.concurrency = Some(8);
    assert!(world.begin(0), "the shard is asked under other rules");
    assert_eq!(world.spare(), 1);
}

#[test]
fn no_slot_is_spare_where_a_minute_is_metered() {
    let mut world = World::new(16, 1);
    world.terms.per_minute = Some(600);
    let _asked = world.begin(0);
    world.end(0);
    assert_eq!((world.spare(), world.taken()), (0, 0));
}
