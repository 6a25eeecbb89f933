//! A reservation is settled once, of all its pools or of none, whatever dies and whatever write fails.

use std::collections::VecDeque;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};
use weir_shared::limiting::owner::Account;
use weir_shared::limiting::settlement::{Accounted, PoolChange, SettleBody, SettleReply};
use weir_shared::node::Refund;
use weir_shared::node::settled::{Cursors, SettledNode};
use weir_shared::node::settlement::{Debt, Effect, Event, Facts, Rows, SettlementNode};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, OpId, WindowLabel};
use weir_shared::wire::exchange::VERSION;

const POOLS: [&str; 2] = ["tokens", "bytes"];
const OPS: u8 = 5;
const RESERVED: u64 = 20;
const LABEL: WindowLabel = WindowLabel(3);

#[derive(Debug, Clone)]
enum Happens {
    Settle {
        op: u8,
        actual: [u8; 2],
        fate: Fate,
    },
    /// One of those that wait for units beyond their reservation gets them.
    Lent {
        which: prop::sample::Index,
        fate: Fate,
    },
    Pass {
        ms: u16,
    },
    Die,
}

#[derive(Debug, Clone, Copy)]
struct Fate {
    /// No write succeeds.
    fails: bool,
    /// The region dies in place of that effect.
    dies_at: Option<u8>,
}

/// Wrong orders of whoever carries out what the node says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// The answer leaves before the rows are written, and the region dies in between.
    ReplyBeforeWrite,
    /// The rows of pools are written apart, and the region dies in between.
    PoolsWrittenApart,
    /// A write that failed is told as done.
    FailedWriteIgnored,
    /// Pools go on though they are ahead of their rows.
    NotDropped,
    /// What was settled before is not looked up.
    NotLookedUp,
}

fn happenings() -> impl Strategy<Value = Vec<Happens>> {
    let fate = || {
        let dies_at = prop::option::weighted(0.3, 0..8_u8);
        (prop::bool::weighted(0.3), dies_at).prop_map(|(fails, dies_at)| Fate { fails, dies_at })
    };
    let one = prop_oneof![
        6 => (0..OPS, [0..40_u8, 0..40_u8], fate())
            .prop_map(|(op, actual, fate)| Happens::Settle { op, actual, fate }),
        4 => (any::<prop::sample::Index>(), fate())
            .prop_map(|(which, fate)| Happens::Lent { which, fate }),
        1 => (0..5_000_u16).prop_map(|ms| Happens::Pass { ms }),
        1 => Just(Happens::Die),
    ];
    prop::collection::vec(one, 1..60)
}

/// A pool that says exactly how much of it is lent.
#[derive(Debug, Clone, Default)]
struct Pool {
    lent: u64,
    row: u64,
    writing: bool,
}

struct World {
    now: EpochMs,
    node: SettlementNode<u32, u64>,
    callers: u32,
    pools: OrderedMap<String, Pool>,
    settlements: OrderedMap<OpId, SettleReply>,
    entries: OrderedMap<u64, OpId>,
    /// Who waits for units.
    lending: Vec<(u32, PoolChange)>,
    /// What callers were told of each reservation.
    told: OrderedMap<OpId, SettleReply>,
    asked: OrderedMap<u32, OpId>,
    /// Units of each pool that were charged beyond reservations.
    debts: OrderedMap<String, u64>,
    broken: Option<Broken>,
}

fn node(last: u64) -> SettlementNode<u32, u64> {
    SettlementNode::new("weur", SettledNode::new("weur", last, Cursors::default()))
}

impl World {
    fn new(broken: Option<Broken>) -> Self {
        let lent = u64::from(OPS) * RESERVED;
        let pool = Pool {
            lent,
            row: lent,
            writing: false,
        };
        Self {
            now: EpochMs(600_000),
            node: node(0),
            callers: 0,
            pools: POOLS.map(|name| (name.to_owned(), pool.clone())).into(),
            settlements: OrderedMap::new(),
            entries: OrderedMap::new(),
            lending: Vec::new(),
            told: OrderedMap::new(),
            asked: OrderedMap::new(),
            debts: POOLS.map(|name| (name.to_owned(), 0)).into(),
            broken,
        }
    }

    fn die(&mut self) {
        let last = self.entries.last_key_value();
        self.node = node(last.map_or(0, |(number, _)| *number));
        self.lending.clear();
        for pool in self.pools.values_mut() {
            (pool.lent, pool.writing) = (pool.row, false);
        }
    }

    fn settle(&mut self, op: u8, actual: [u8; 2], fate: Fate) -> Result<(), TestCaseError> {
        let op = OpId(op.into());
        let pools = POOLS.into_iter().zip(actual).map(|(pool, actual)| {
            let actual = u64::from(actual);
            PoolChange {
                pool: pool.to_owned(),
                tenant: None,
                label: LABEL,
                back: RESERVED.saturating_sub(actual),
                debt: actual.saturating_sub(RESERVED),
                reserved: RESERVED,
            }
        });
        let body = SettleBody {
            v: VERSION,
            region: "weur".to_owned(),
            op,
            actual: actual[0].into(),
            expires_at: self.now.plus(900_000),
            pools: pools.collect(),
            account: Account::default(),
            accounted: Accounted::default(),
        };
        self.callers += 1;
        self.asked.insert(self.callers, op);
        let settle = Event::Settle {
            body: Box::new(body),
            facts: Facts::default(),
        };
        self.run(self.callers, settle, fate)
    }

    /// What was charged beyond is durable by itself.
    fn lend(&mut self, index: usize, fate: Fate) -> Result<(), TestCaseError> {
        let (caller, change) = self.lending.remove(index);
        let pool = self.pools.get_mut(&change.pool).unwrap();
        pool.lent += change.debt;
        pool.row += change.debt;
        *self.debts.get_mut(&change.pool).unwrap() += change.debt;
        let debt = Debt {
            units: change.debt,
            label: LABEL,
        };
        self.run(caller, Event::Lent(debt), fate)
    }

    fn run(&mut self, caller: u32, first: Event<u64>, fate: Fate) -> Result<(), TestCaseError> {
        let mut effects = VecDeque::from(self.node.step(&caller, first, self.now));
        for at in 0.. {
            let Some(effect) = effects.pop_front() else {
                break;
            };
            if fate.dies_at == Some(at) {
                self.die();
                break;
            }
            let event = match effect {
                Effect::Load(_) if self.broken == Some(Broken::NotLookedUp) => Event::Loaded(None),
                Effect::Load(op) => Event::Loaded(self.settlements.get(&op).cloned()),
                Effect::Lend(change) => {
                    self.lending.push((caller, change));
                    continue;
                }
                Effect::Refund(change) => Event::Refunded(self.refund(&change)),
                Effect::Persist(rows) => {
                    if self.broken == Some(Broken::ReplyBeforeWrite) && fate.dies_at.is_some() {
                        for effect in self.node.step(&caller, Event::Persisted, self.now) {
                            if let Effect::Reply(caller, reply) = effect {
                                self.replied(caller, reply)?;
                            }
                        }
                        self.die();
                        break;
                    }
                    if self.broken == Some(Broken::PoolsWrittenApart) && fate.dies_at.is_some() {
                        self.write_pools(&rows);
                        self.die();
                        break;
                    }
                    if !fate.fails {
                        self.write(*rows)?;
                    }
                    match fate.fails && self.broken != Some(Broken::FailedWriteIgnored) {
                        true => Event::NotPersisted,
                        false => Event::Persisted,
                    }
                }
                Effect::Written { pool, .. } => {
                    self.pools.get_mut(&pool).unwrap().writing = false;
                    continue;
                }
                Effect::Drop(_) if self.broken == Some(Broken::NotDropped) => continue,
                Effect::Drop(pools) => {
                    for name in pools {
                        let pool = self.pools.get_mut(&name).unwrap();
                        (pool.lent, pool.writing) = (pool.row, false);
                    }
                    continue;
                }
                Effect::Reply(caller, reply) => {
                    self.replied(caller, reply)?;
                    continue;
                }
                Effect::Forget(_) | Effect::Flush | Effect::Fail(_) => continue,
            };
            effects.extend(self.node.step(&caller, event, self.now));
        }
        self.holds()
    }

    fn refund(&mut self, change: &PoolChange) -> Option<Refund<u64>> {
        let pool = self.pools.get_mut(&change.pool).unwrap();
        if pool.writing {
            return None;
        }
        pool.lent = pool.lent.saturating_sub(change.back);
        pool.writing = true;
        Some(Refund {
            units: change.back,
            row: Some(pool.lent),
        })
    }

    fn write_pools(&mut self, rows: &Rows<u64>) {
        for (name, row) in &rows.pools {
            self.pools.get_mut(name).unwrap().row = *row;
        }
    }

    fn write(&mut self, rows: Rows<u64>) -> Result<(), TestCaseError> {
        self.write_pools(&rows);
        self.settlements.insert(rows.op, rows.reply);
        if let Some((number, _)) = rows.entry {
            let before = self.entries.insert(number, rows.op);
            prop_assert_eq!(before, None, "number {} comes again", number);
        }
        Ok(())
    }

    fn replied(&mut self, caller: u32, reply: SettleReply) -> Result<(), TestCaseError> {
        let op = self.asked[&caller];
        let first = self.told.entry(op).or_insert_with(|| reply.clone());
        prop_assert_eq!(&reply, first, "{:?} came to something else before", op);
        Ok(())
    }

    /// Between any two events, what is lent is what was reserved and charged, without what settlements gave back.
    fn holds(&self) -> Result<(), TestCaseError> {
        for (index, name) in POOLS.into_iter().enumerate() {
            let back: u64 = self
                .settlements
                .values()
                .map(|reply| reply.returned[index])
                .sum();
            let lent = u64::from(OPS) * RESERVED + self.debts[name] - back;
            let pool = &self.pools[name];
            prop_assert_eq!((pool.row, pool.lent), (lent, lent), "{}", name);
            prop_assert!(!pool.writing);
        }
        for (op, reply) in &self.told {
            prop_assert_eq!(self.settlements.get(op), Some(reply));
        }
        let mut accounted: Vec<_> = self.entries.values().collect();
        accounted.sort();
        accounted.dedup();
        prop_assert_eq!(accounted.len(), self.entries.len(), "accounted for twice");
        Ok(())
    }
}

fn play(happenings: Vec<Happens>, broken: Option<Broken>) -> Result<(), TestCaseError> {
    let mut world = World::new(broken);
    for one in happenings {
        match one {
            Happens::Settle { op, actual, fate } => world.settle(op, actual, fate)?,
            Happens::Lent { .. } if world.lending.is_empty() => {}
            Happens::Lent { which, fate } => world.lend(which.index(world.lending.len()), fate)?,
            Happens::Pass { ms } => world.now = world.now.plus(ms.into()),
            Happens::Die => world.die(),
        }
    }
    // Nobody is left without an answer once nothing fails any more.
    let fate = Fate {
        fails: false,
        dies_at: None,
    };
    for op in 0..OPS {
        world.now = world.now.plus(10_000);
        world.settle(op, [30, 10], fate)?;
        while !world.lending.is_empty() {
            world.lend(0, fate)?;
        }
        prop_assert!(world.told.contains_key(&OpId(op.into())));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_reservation_is_settled_once_whatever_dies(happenings in happenings()) {
        play(happenings, None)?;
    }
}

/// The controls: each wrong order of whoever carries out what the node says is seen by that property.
#[test]
fn each_wrong_order_of_a_settlement_is_caught() {
    for broken in [
        Broken::ReplyBeforeWrite,
        Broken::PoolsWrittenApart,
        Broken::FailedWriteIgnored,
        Broken::NotDropped,
        Broken::NotLookedUp,
    ] {
        let mut runner = TestRunner::deterministic();
        let caught = (0..300).find_map(|_| {
            let happenings = happenings().new_tree(&mut runner).unwrap().current();
            play(happenings, Some(broken)).err()
        });
        let caught = caught.unwrap_or_else(|| panic!("{broken:?} is not caught"));
        println!("{broken:?}: {caught}");
    }
}
