//! What a root lent is used, returned, or told of as lapsed, as long as nobody dies.

use proptest::prelude::*;
use weir_shared::fairness::ask::Party;
use weir_shared::federation::holder::Holder;
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, WindowLabel};
use weir_shared::wire::exchange::Terms;

const WINDOW_MS: u64 = 4_000;

fn terms() -> Terms {
    serde_json::from_value(serde_json::json!({
        "limit": 300, "window_ms": WINDOW_MS, "revision": Revision(1)
    }))
    .unwrap()
}

#[derive(Debug, Clone)]
enum Event {
    Ask { holder: usize, units: u64 },
    Spend { holder: usize, units: u64 },
    Contact { holder: usize },
    Pass { ms: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    let holder = 0..2_usize;
    prop_oneof![
        (holder.clone(), 1..40_u64).prop_map(|(holder, units)| Event::Ask { holder, units }),
        (holder.clone(), 1..20_u64).prop_map(|(holder, units)| Event::Spend { holder, units }),
        holder.prop_map(|holder| Event::Contact { holder }),
        (1..700_u64).prop_map(|ms| Event::Pass { ms }),
    ]
}

struct World {
    pool: Pool,
    holders: Vec<Holder>,
    now: EpochMs,
    used: OrderedMap<WindowLabel, u64>,
    lapsed: OrderedMap<WindowLabel, u64>,
}

impl World {
    fn contact(&mut self, holder: usize) {
        let now = self.now;
        let Some(body) = self.holders[holder].begin(terms(), now) else {
            return;
        };
        let message = Message::try_from(body).unwrap();
        let reply = self.pool.exchange(&message, now).unwrap();
        self.holders[holder].finish(&reply, now);
        self.collect(holder);
    }

    fn collect(&mut self, holder: usize) {
        for (label, units) in self.holders[holder].take_lapsed(self.now) {
            *self.lapsed.entry(label).or_default() += units;
        }
    }

    fn spend(&mut self, holder: usize, units: u64) {
        let now = self.now;
        if self.holders[holder].spend(&Party::Everyone, units, now) {
            let label = self.holders[holder].lease().unwrap().label;
            *self.used.entry(label).or_default() += units;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_was_lent_is_used_returned_or_lapsed(events in prop::collection::vec(event(), 20..150)) {
        let now = EpochMs(100_000);
        let holder = |id| Holder::new("tokens".to_owned(), HolderId(id), Incarnation(1), None);
        let mut world = World {
            pool: Pool::open(terms(), now),
            holders: vec![holder(1), holder(2)],
            now,
            used: OrderedMap::new(),
            lapsed: OrderedMap::new(),
        };
        for event in events {
            match event {
                Event::Ask { holder, units } => {
                    let need = Need { units, smallest: units };
                    let now = world.now;
                    let ticket = world.holders[holder].wait_on(&Party::Everyone, None, need, now);
                    world.contact(holder);
                    if let Some(ticket) = ticket {
                        world.holders[holder].unwait(ticket);
                    }
                    world.spend(holder, units);
                }
                Event::Spend { holder, units } => world.spend(holder, units),
                Event::Contact { holder } => world.contact(holder),
                Event::Pass { ms } => world.now = world.now.plus(ms),
            }
        }
        // Nobody asks any more. What was lent of a window to come lapses without a word to the root.
        for _ in 0..4 {
            world.now = world.now.plus(2 * WINDOW_MS);
            world.collect(0);
            world.collect(1);
        }
        let over = world.pool.windows_over(WindowLabel(0), world.now);
        prop_assert!(!over.is_empty());
        for window in over {
            let used = world.used.get(&window.label).copied().unwrap_or(0);
            let lapsed = world.lapsed.get(&window.label).copied().unwrap_or(0);
            prop_assert!(window.exact);
            prop_assert_eq!(window.granted, used + window.returned + lapsed, "{:?}: used {}, lapsed {}", window, used, lapsed);
        }
    }
}
