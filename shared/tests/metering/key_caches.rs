//! Several isolates on one shard, which draw ahead: the bound holds over all of them, and nobody is starved.

use weir_shared::algorithms::composite::Mode;
use weir_shared::decision::Decision;
use weir_shared::limiting::key_cache::{Draw, KeyCache, Look};
use weir_shared::limiting::messages::{AskedBody, DecideBody, GroupBody, ReturnBody};
use weir_shared::limiting::owner::Account;
use weir_shared::name::meter_name;
use weir_shared::units::{EpochMs, OpId, Revision};
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::limit_terms::{LimitTerms, MeterTerms};

use super::START;
use crate::shard::store::Store;

/// 100 a second, a burst of one second, a minute of debt.
const METER: MeterTerms = MeterTerms {
    per_sec: Decimal(100.0),
    burst_seconds: Decimal(1.0),
    max_debt_ms: 60_000,
};

/// The largest batch: 100 and a debt of 6,000.
const CEILING: u64 = 6_100;

/// How often an isolate hears of its region.
const CONTACT_MS: u64 = 500;

/// The shard, wherever it is, and who asks it.
struct World {
    store: Store,
    isolates: Vec<KeyCache>,
    questions: u64,
}

impl World {
    fn new(isolates: usize) -> Self {
        Self {
            store: Store::default(),
            isolates: vec![KeyCache::default(); isolates],
            questions: 0,
        }
    }

    /// What an isolate decides on `cost` units.
    fn check(&mut self, isolate: usize, cost: u64, now: EpochMs) -> Decision {
        match self.isolates[isolate].look((cost, CEILING), false, now) {
            Look::Decided(decision) => decision,
            // Every answer is there at once: nobody waits for another's.
            Look::Ask | Look::Wait => self.ask(isolate, cost, now),
        }
    }

    fn ask(&mut self, isolate: usize, cost: u64, now: EpochMs) -> Decision {
        self.questions += 1;
        let cache = &mut self.isolates[isolate];
        let question = cache.ask(false, now);
        let back = question.back.map(|(units, receipt)| ReturnBody {
            limit: meter_name("results"),
            key: "acme".to_owned(),
            units,
            receipt,
        });
        let body = DecideBody {
            v: VERSION,
            op: OpId(self.questions),
            limits: vec![LimitTerms::of_meter("results", Revision(1), METER)],
            returns: back.into_iter().collect(),
            groups: vec![GroupBody {
                mode: Mode::All,
                dimensions: vec![AskedBody::Key {
                    limit: meter_name("results"),
                    key: "acme".to_owned(),
                    cost,
                    look: false,
                    ahead: question.ahead,
                    shadow: false,
                    known: true,
                    account: Account::default(),
                }],
            }],
            hold: false,
        };
        let reply = self.store.decide(&body, now);
        let answer = reply.groups[0][0].clone();
        let decision = Decision::from(answer.decision);
        let draw = answer.drawn.map(|drawn| Draw {
            units: drawn.units,
            spendable_ms: drawn.spendable_ms,
            receipt: drawn.receipt,
        });
        let times = (now, now.plus(CONTACT_MS));
        self.isolates[isolate].finish((cost, cost, decision), draw, times);
        decision
    }
}

#[test]
fn of_a_thousand_units_over_two_regions_a_burst_is_admitted_in_all() {
    let mut world = World::new(2);
    for second in 0..2 {
        let now = START.plus(second * 1_000);
        let admitted = (0..1_000).filter(|n| world.check(n % 2, 1, now).admitted());
        let admitted = admitted.count();
        assert!((100..=101).contains(&admitted), "{admitted}");
    }
    assert!(world.questions < 500, "{} questions", world.questions);
}

#[test]
fn a_flood_over_many_isolates_admits_the_rate_and_the_burst_and_wastes_little() {
    for isolates in [1, 2, 4, 7] {
        let mut world = World::new(isolates);
        let mut admitted = 0;
        for ms in 0..10_000 {
            let now = START.plus(ms);
            for n in 0..2 {
                let isolate = (ms as usize * 2 + n) % isolates;
                admitted += u64::from(world.check(isolate, 1, now).admitted());
            }
            assert!(admitted <= 101 + ms / 10, "{admitted} in {ms} ms");
        }
        assert!(admitted >= 1_050, "{isolates} isolates: {admitted}");
        // 20,000 units were offered.
        assert!(world.questions < 10_000, "{} questions", world.questions);
    }
}

#[test]
fn a_batch_that_could_pass_is_not_starved_by_a_flood_of_single_units() {
    let mut world = World::new(3);
    let (mut passed, mut retry_at, mut units) = (0, START.plus(1_000), 0);
    for ms in 0..60_000 {
        let now = START.plus(ms);
        for n in 0..3 {
            // Who comes first changes with each millisecond.
            let isolate = (ms as usize + n) % 3;
            if isolate > 0 {
                units += u64::from(world.check(isolate, 1, now).admitted());
            } else if now >= retry_at {
                let decision = world.check(0, 300, now);
                retry_at = now.plus(decision.retry.after_ms().unwrap().max(1));
                passed += u64::from(decision.admitted());
                units += 300 * u64::from(decision.admitted());
            }
        }
        assert!(units <= 101 + ms / 10 + 300, "{units} in {ms} ms");
    }
    assert!(passed >= 5, "{passed} batches passed");
}
