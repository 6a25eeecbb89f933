//! Requests that wait for a slot of a resource: who has fewest comes first, and slots are used.

use weir_shared::fairness::weight::Weight;
use weir_shared::gateway::waiters::{Arriving, Look, Ticket, Waiters};
use weir_shared::overload::slots::Slots;
use weir_shared::units::EpochMs;

const LINE: &str = "models";

/// An origin of slots before which requests stand in line, of which each serves in so many milliseconds.
const SERVICE_MS: u64 = 500;

#[derive(Debug)]
struct AtSlots {
    slots: Slots,
    waiters: Waiters,
    serving: Vec<(u64, u64)>,
    busy_ms: u64,
    waiters_max: usize,
}

impl AtSlots {
    fn serve(&mut self, tenant: u8, at_ms: u64) {
        let slot = self.slots.take(&tenant.to_string(), EpochMs(at_ms));
        self.serving.push((slot, at_ms + SERVICE_MS));
    }

    fn look(&mut self, ticket: &Ticket, at_ms: u64) -> Look {
        let stock = (self.slots.left(8, EpochMs(at_ms)), self.slots.changes());
        let slots = &self.slots;
        let running = |tenant: &str| slots.running(tenant);
        self.waiters
            .look_for_slot(ticket, stock, running, EpochMs(at_ms))
    }
}

/// Who waited for how long, how many looks there were, what of the slots was used while somebody waited, and the most that
/// waited.
fn at_eight_slots(mut coming: Vec<(u64, u8)>) -> (Vec<(u8, u64)>, u64, f64, usize) {
    let mut world = AtSlots {
        slots: Slots::default(),
        waiters: Waiters::default(),
        serving: Vec::new(),
        busy_ms: 0,
        waiters_max: 0,
    };
    let mut waiting: Vec<(Ticket, u8, u64, u64)> = Vec::new();
    let (mut waits, mut looks, mut contended_ms) = (Vec::new(), 0, 0);
    coming.sort_by_key(|(at_ms, _)| *at_ms);
    let mut coming = coming.into_iter().peekable();
    for at_ms in 0..60_000 {
        let ended = |(_, until): &(u64, u64)| *until <= at_ms;
        for (slot, _) in world.serving.iter().filter(|one| ended(one)) {
            world.slots.free(*slot, EpochMs(at_ms));
        }
        world.serving.retain(|one| !ended(one));
        while let Some((_, tenant)) = coming.next_if(|(comes_ms, _)| *comes_ms <= at_ms) {
            let now = EpochMs(at_ms);
            let queued_until = world.waiters.queued_until(LINE, &tenant.to_string(), now);
            if queued_until.is_none() && world.slots.left(8, now) > 0 {
                world.serve(tenant, at_ms);
                waits.push((tenant, 0));
                continue;
            }
            let who = Arriving {
                tenant: tenant.to_string(),
                weight: Weight::WHOLE,
                cost: 1,
                until: EpochMs(at_ms + 30_000),
                due: now,
            };
            let ticket = world.waiters.enter(LINE, who, now).unwrap();
            waiting.push((ticket, tenant, at_ms, at_ms));
        }
        world.waiters_max = world.waiters_max.max(world.waiters.len());
        let mut index = 0;
        while index < waiting.len() {
            let (ticket, tenant, since_ms, looks_at_ms) = waiting[index].clone();
            if looks_at_ms > at_ms {
                index += 1;
                continue;
            }
            looks += 1;
            match world.look(&ticket, at_ms) {
                Look::Ask => {
                    world.serve(tenant, at_ms);
                    world.waiters.admitted(&ticket, None);
                    waits.push((tenant, at_ms - since_ms));
                    waiting.remove(index);
                }
                Look::SleepMs(ms) => {
                    waiting[index].3 = at_ms + ms;
                    index += 1;
                }
                Look::Over => panic!("nobody waits for so long"),
            }
        }
        assert!(world.serving.len() <= 8, "more than there are slots");
        if !waiting.is_empty() {
            contended_ms += 1;
            world.busy_ms += world.serving.len() as u64;
        }
    }
    let used = world.busy_ms as f64 / (8 * contended_ms) as f64;
    (waits, looks, used, world.waiters_max)
}

#[test]
fn at_eight_slots_ten_with_one_request_each_wait_for_less_than_one_service_beside_one_with_fifty() {
    for spread_ms in [0, 1, 40, 130] {
        let mut coming = vec![(0, 0); 50];
        coming.extend((1..=10_u8).map(|tenant| (spread_ms * u64::from(tenant), tenant)));
        let (waits, looks, used, waiters_max) = at_eight_slots(coming);
        assert_eq!(waits.len(), 60);
        let mut of_ten: Vec<_> = waits.iter().filter(|(tenant, _)| *tenant > 0).collect();
        of_ten.sort_by_key(|(_, wait_ms)| *wait_ms);
        // Ten that come at once while eight are served take two services, or what is between them.
        let longest = of_ten.last().unwrap().1;
        let most = if spread_ms >= 130 {
            SERVICE_MS
        } else {
            2 * SERVICE_MS + 40
        };
        assert!(longest < most, "{spread_ms}: {of_ten:?}");
        assert!(used >= 0.95, "{spread_ms}: {used}");
        // What is kept is a waiter for each that waits.
        assert!(waiters_max <= 52, "{waiters_max}");
        // Some 700 looks a second of all together, for four seconds.
        assert!(looks <= 4_000, "{looks}");
    }
}
