//! The paced rule behind holders that spend from leases, tell at most every half second what they could not serve, and
//! come back when they are told to.

use weir_shared::fairness::ask::{Ask, Moment};
use weir_shared::fairness::paced::Paced;

use super::world::{Budget, claim, one, paced};

/// One tenant in one region.
#[derive(Debug, Clone)]
struct Holder {
    tenant: &'static str,
    weight: u64,
    /// Requests of one unit, each so many milliseconds.
    requests: u64,
    every_ms: u64,
    held: u64,
    denied: u64,
    recent: u64,
    told_at_ms: u64,
    quiet_until_ms: u64,
    admitted: u64,
}

impl Holder {
    fn new(tenant: &'static str, weight: u64, requests: u64, every_ms: u64) -> Self {
        Self {
            tenant,
            weight,
            requests,
            every_ms,
            held: 0,
            denied: 0,
            recent: 0,
            told_at_ms: 0,
            quiet_until_ms: 0,
            admitted: 0,
        }
    }

    /// A request of one unit: from what is held, or by one question.
    fn request(&mut self, rule: &mut Paced, budget: &Budget, now_ms: u64, holders: u64) {
        self.recent += 1;
        if self.held > 0 {
            self.held -= 1;
            self.admitted += 1;
            return;
        }
        if now_ms < self.quiet_until_ms {
            self.denied += 1;
            return;
        }
        let left_ms = budget.window_ms - now_ms;
        let elapsed_ms = (now_ms - self.told_at_ms).max(1);
        let ask = Ask {
            waiting: 1,
            smallest: 1,
            expected: (self.recent * left_ms.min(500) / elapsed_ms).min(self.recent),
            denied: std::mem::take(&mut self.denied),
            holders,
        };
        if elapsed_ms > 500 {
            (self.recent, self.told_at_ms) = (0, now_ms);
        }
        let at = budget.at(rule.used_total(), now_ms);
        let room = rule.room(self.tenant, &claim(self.weight), &ask, &at);
        rule.charge(self.tenant, room.waiting + room.ahead);
        self.admitted += room.waiting;
        self.held += room.ahead;
        if room.waiting == 0 {
            let wait_ms = room.retry_ms.unwrap_or(at.left_ms);
            self.quiet_until_ms = now_ms + wait_ms;
        }
    }

    fn roll(&mut self) {
        (self.held, self.recent, self.told_at_ms) = (0, 0, 0);
        (self.quiet_until_ms, self.admitted) = (0, 0);
    }
}

/// Units that each holder admitted, in the last of three windows.
fn run(budget: Budget, holders: &mut [Holder]) -> Vec<u64> {
    let mut rule = paced();
    for _ in 0..3 {
        rule.roll();
        holders.iter_mut().for_each(Holder::roll);
        for now_ms in 0..budget.window_ms {
            for index in 0..holders.len() {
                let tenant = holders[index].tenant;
                let same = holders.iter().filter(|holder| holder.tenant == tenant);
                let count = same.count() as u64;
                let holder = &mut holders[index];
                if now_ms % holder.every_ms == 0 {
                    for _ in 0..holder.requests {
                        holder.request(&mut rule, &budget, now_ms, count);
                    }
                }
            }
        }
        assert!(rule.used_total() <= budget.limit);
    }
    holders.iter().map(|holder| holder.admitted).collect()
}

#[test]
fn what_came_back_was_no_demand() {
    let at = |unlent| Moment {
        limit: 1_000,
        unlent,
        left_ms: 3_000,
        window_ms: 4_000,
    };
    // What "one" may have of 1,000 units, 500 of which are its own, beside another that was lent so many ahead and
    // brings so many back.
    let left_to_one = |lent: u64, back: u64| {
        let mut rule = paced();
        let whole = claim(1);
        rule.set_used("one", &whole, 400);
        rule.join("other", &whole);
        let ahead = Ask {
            expected: lent,
            holders: 1,
            ..Ask::default()
        };
        let room = rule.room("other", &whole, &ahead, &at(600));
        assert_eq!(room.ahead, lent);
        rule.charge("other", lent);
        rule.set_used("other", &whole, lent - back);
        let wants = Ask {
            expected: 600,
            ..one(1)
        };
        let room = rule.room("one", &whole, &wants, &at(600 - lent + back));
        room.waiting + room.ahead
    };
    assert!(left_to_one(200, 0) < left_to_one(0, 0));
    assert_eq!(left_to_one(200, 200), left_to_one(0, 0));
    assert_eq!(left_to_one(200, 150), left_to_one(50, 0));
}

#[test]
fn a_busy_region_uses_what_quiet_ones_leave() {
    for (limit, window_ms) in [(300, 1_000), (300, 10_000), (6_000, 2_000)] {
        let budget = Budget { limit, window_ms };
        let mut holders = [
            Holder::new("busy", 1, 40, 1),
            Holder::new("quiet-1", 1, 1, window_ms / 4),
            Holder::new("quiet-2", 1, 1, window_ms / 4),
        ];
        let got = run(budget, &mut holders);
        let used: u64 = got.iter().sum();
        println!("L {limit}, T {window_ms}: {got:?}, {used} of {limit}");
        assert_eq!(got[1..], [4, 4]);
        assert!(used * 100 >= limit * 97, "{used}");
    }
}

#[test]
fn hungry_tenants_share_by_weight_over_regions_however_fast_they_ask() {
    for (limit, window_ms) in [(700, 2_000), (7_000, 10_000)] {
        let budget = Budget { limit, window_ms };
        let mut holders = [
            Holder::new("w1", 1, 20, 1),
            Holder::new("w1", 1, 2, 1),
            Holder::new("w2", 2, 1, 1),
            Holder::new("w4", 4, 2, 1),
            Holder::new("w4", 4, 1, 3),
            Holder::new("light", 1, 1, window_ms / 4),
        ];
        let got = run(budget, &mut holders);
        let all = [got[0] + got[1], got[2], got[3] + got[4], got[5]];
        println!("L {limit}, T {window_ms}: {got:?}, {all:?}");
        let shared: u64 = all[..3].iter().sum();
        assert!(shared * 100 >= limit * 97, "{all:?}");
        for (got, weight) in all.into_iter().zip([1, 2, 4]) {
            let ideal = shared * weight / 7;
            assert!(
                got.abs_diff(ideal) * 50 <= ideal.max(100),
                "{got} of {ideal}"
            );
        }
    }
}

#[test]
fn use_stays_near_the_limit_whatever_part_of_the_demand_is_in_one_region() {
    println!("| skew | use |");
    println!("| --- | --- |");
    let budget = Budget {
        limit: 300,
        window_ms: 10_000,
    };
    for percent in [0_u64, 25, 50, 75, 100] {
        // 900 requests a window, of which the first region has a third and `percent` of the rest.
        let first = 300 + 600 * percent / 100;
        let others = (900 - first) / 2;
        let mut holders: Vec<Holder> = [("a", first), ("b", others), ("c", others)]
            .into_iter()
            .filter(|(_, requests)| *requests > 0)
            .map(|(tenant, requests)| Holder::new(tenant, 1, 1, budget.window_ms / requests))
            .collect();
        let used: u64 = run(budget, &mut holders).iter().sum();
        println!(
            "| {:.2} | {:.3} |",
            percent as f64 / 100.0,
            used as f64 / 300.0
        );
        assert!(used >= 297, "{used}");
    }
}
