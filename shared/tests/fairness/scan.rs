//! The accounts beside a scan over all tenants, which is the rule as it is written down.

use weir_shared::fairness::ask::{Ask, Claimant, Moment, TenantClaim};
use weir_shared::fairness::share::{Rule, Share, ShareTerms};
use weir_shared::ordered::OrderedMap;

use super::world::{Numbers, claimant, stranger, weight};

/// Cases of the rule that depends on what others leave.
const CASES: u64 = 10_000;

/// Cases of those that depend on weights alone.
const CASES_FEW: u64 = 2_000;

#[derive(Debug, Clone)]
struct Tenant {
    claim: TenantClaim,
    used: u64,
}

/// Every tenant, looked at each time.
struct Scan {
    terms: ShareTerms,
    here: OrderedMap<String, Tenant>,
    carried: OrderedMap<String, TenantClaim>,
}

/// What a scan comes to: admitted, ceiling.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    admitted: bool,
    ceiling: u64,
}

impl Scan {
    fn join(&mut self, claimant: &Claimant) {
        let mut claim = claimant.claim.clone();
        if self.terms.rule == Rule::Fair {
            claim.weight = weight(1_000_000);
        }
        self.carried.remove(&claimant.name);
        let used = self.used(&claimant.name);
        self.here
            .insert(claimant.name.clone(), Tenant { claim, used });
    }

    fn used(&self, name: &str) -> u64 {
        self.here.get(name).map_or(0, |tenant| tenant.used)
    }

    fn total(&self) -> u64 {
        self.here.values().map(|tenant| tenant.used).sum()
    }

    fn roll(&mut self) {
        let here = std::mem::take(&mut self.here);
        self.carried.clear();
        if self.terms.carried {
            self.carried = here
                .into_iter()
                .map(|(name, tenant)| (name, tenant.claim))
                .collect();
        }
    }

    /// A weight as it counts.
    fn counted(&self, claim: &TenantClaim) -> u128 {
        let all = self
            .here
            .values()
            .map(|tenant| &tenant.claim)
            .chain(self.carried.values());
        let unknown = all.filter(|claim| !claim.known);
        let unknown: u128 = unknown.map(|claim| u128::from(claim.weight.micros())).sum();
        let max = u128::from(self.terms.unknown_weight_max.micros());
        let own = u128::from(claim.weight.micros());
        if claim.known || unknown <= max {
            own
        } else {
            (own * max / unknown).max(1)
        }
    }

    fn all(&self) -> impl Iterator<Item = &TenantClaim> {
        let here = self.here.values().map(|tenant| &tenant.claim);
        here.chain(self.carried.values())
    }

    /// What floors come to: all by name, those of them that are there, and those of tiers.
    fn floors(&self) -> [u64; 3] {
        let sum = |by_name: bool| -> u64 {
            let floors = self.all().map(TenantClaim::set_aside);
            let floors = floors.filter(|floor| floor.by_name == by_name);
            floors.map(|floor| floor.units).sum()
        };
        let named = sum(true);
        [named.max(self.terms.floors), named, sum(false)]
    }

    /// What is kept for those that are not there, when it is whole.
    fn absent(&self, limit: u64) -> u64 {
        let [by_name, named, _] = self.floors();
        (by_name - named) * limit.min(by_name) / by_name.max(1)
    }

    fn kept_for_absent(&self, at: &Moment) -> u64 {
        (self.absent(at.limit) * at.left_ms).div_ceil(at.window_ms)
    }

    fn guarantee(&self, claim: &TenantClaim, at: &Moment) -> u64 {
        let limit = at.limit;
        let sum: u128 = self.all().map(|claim| self.counted(claim)).sum();
        let [by_name, _, of_tiers] = self.floors();
        let left = limit.saturating_sub(by_name);
        let released = self.absent(limit) - self.kept_for_absent(at);
        let rest = left.saturating_sub(of_tiers) + released;
        let floor = claim.set_aside();
        let floor = if floor.by_name {
            floor.units * limit.min(by_name) / by_name.max(1)
        } else {
            floor.units * left.min(of_tiers) / of_tiers.max(1)
        };
        let share = (self.counted(claim) * u128::from(rest) / sum) as u64;
        (floor + share).min(claim.ceiling.unwrap_or(u64::MAX))
    }

    fn check(&mut self, claimant: &Claimant, cost: u64, at: &Moment) -> Seen {
        // Three quarters left: whoever was carried and did not come is gone.
        if at.left_ms * 4 <= at.window_ms * 3 {
            self.carried.clear();
        }
        let own = self.here[&claimant.name].clone();
        let guarantee = self.guarantee(&own.claim, at);
        let pool = at.limit.saturating_sub(self.total()).min(at.unlent);
        let most = own.claim.ceiling.unwrap_or(u64::MAX);
        let others = self.here.iter().filter(|(name, _)| **name != claimant.name);
        if self.terms.rule != Rule::Pinned {
            let cap = guarantee.max(1).min(most);
            let absent = self.kept_for_absent(at);
            let kept: u64 = others
                .map(|(_, other)| {
                    let kept = other.claim.lend_max.map_or(0, |lend_max| {
                        self.guarantee(&other.claim, at).saturating_sub(lend_max)
                    });
                    kept.saturating_sub(other.used)
                })
                .sum();
            let kept = kept + absent;
            return Seen {
                admitted: cost + kept <= pool && own.used + cost <= cap,
                ceiling: cap,
            };
        }
        let kept: u64 = others
            .map(|(_, other)| self.guarantee(&other.claim, at).saturating_sub(other.used))
            .sum();
        let carried = self.carried.values();
        let carried: u64 = carried.map(|claim| self.guarantee(claim, at)).sum();
        let paced =
            (u128::from(carried) * u128::from(at.left_ms) / u128::from(at.window_ms)) as u64;
        let kept = kept + paced + self.kept_for_absent(at);
        let surplus = pool.saturating_sub(kept);
        let borrow_max = own.claim.borrow_max.unwrap_or(u64::MAX);
        let borrow_max = borrow_max.min(most - guarantee);
        let wanted = (own.used + cost).saturating_sub(guarantee);
        let borrowed = wanted.min(cost).min(surplus).min(borrow_max);
        let ceiling = if cost > pool {
            guarantee.max(own.used)
        } else {
            guarantee + borrowed
        };
        Seen {
            admitted: cost <= pool && own.used + cost <= ceiling,
            ceiling,
        }
    }
}

fn drawn_party(numbers: &mut Numbers, tenants: u64) -> Claimant {
    let name = format!("t{}", numbers.below(tenants));
    let weight = 1 + numbers.below(4);
    let mut drawn = match numbers.below(3) {
        0 => stranger(name, weight),
        _ => claimant(name, weight),
    };
    if numbers.below(4) == 0 {
        drawn.claim.borrow_max = Some(numbers.below(30));
    }
    if numbers.below(4) == 0 {
        drawn.claim.lend_max = Some(numbers.below(30));
    }
    if numbers.below(3) == 0 {
        drawn.claim.ceiling = Some(numbers.below(120));
    }
    if numbers.below(3) == 0 {
        drawn.claim.floor.units = numbers.below(60);
        drawn.claim.floor.by_name = drawn.claim.known && numbers.below(2) == 0;
    }
    drawn
}

fn case(seed: u64, rule: Rule) {
    let mut numbers = Numbers(seed);
    let terms = ShareTerms {
        rule,
        tenants_max: 1_000,
        unknown_weight_max: weight(1 + numbers.below(6_000_000)),
        carried: numbers.below(2) == 0,
        floors: numbers.below(3) * numbers.below(150),
    };
    let (mut share, limit) = (Share::new(terms), 1 + numbers.below(400));
    let mut scan = Scan {
        terms,
        here: OrderedMap::new(),
        carried: OrderedMap::new(),
    };
    let (tenants, mut left_ms, mut limit) = (1 + numbers.below(12), 1_000, limit);
    for step in 0..40 {
        let claimant = drawn_party(&mut numbers, tenants);
        match numbers.below(12) {
            0 => {
                share.roll();
                scan.roll();
                left_ms = 1_000;
            }
            1 => {
                let used = numbers.below(limit);
                share.set_used(&claimant, used);
                scan.join(&claimant);
                scan.here.get_mut(&claimant.name).expect("joined").used = used;
            }
            2 => limit = 1 + numbers.below(400),
            _ => {
                left_ms -= numbers.below(left_ms / 8 + 1);
                let at = Moment {
                    limit,
                    unlent: limit - numbers.below(limit / 4 + 1),
                    left_ms,
                    window_ms: 1_000,
                };
                let cost = 1 + numbers.below(limit / 4 + 1);
                let ask = Ask {
                    waiting: cost,
                    smallest: cost,
                    ..Ask::default()
                };
                scan.join(&claimant);
                let expected = scan.check(&claimant, cost, &at);
                let room = share.room(&claimant, &ask, &at);
                let got = Seen {
                    admitted: room.waiting == cost,
                    ceiling: room.ceiling,
                };
                assert_eq!(got, expected, "seed {seed}, step {step}, {rule:?}");
                if expected.admitted {
                    share.charge(&claimant.name, cost);
                    scan.here.get_mut(&claimant.name).expect("joined").used += cost;
                }
            }
        }
        assert_eq!(share.used_total(), scan.total(), "seed {seed}, step {step}");
        assert_eq!(
            share.used(&claimant.name),
            scan.used(&claimant.name),
            "seed {seed}, step {step}"
        );
    }
}

#[test]
fn pinned_decisions_equal_those_of_a_scan_over_all_tenants() {
    (0..CASES).for_each(|seed| case(seed, Rule::Pinned));
}

#[test]
fn fair_decisions_equal_those_of_a_scan_over_all_tenants() {
    (0..CASES_FEW).for_each(|seed| case(seed, Rule::Fair));
}

#[test]
fn weighted_decisions_equal_those_of_a_scan_over_all_tenants() {
    (0..CASES_FEW).for_each(|seed| case(seed, Rule::Weighted));
}

/// A request of many units is served as if it were many requests, one after the other.
#[test]
fn several_that_wait_are_served_as_one_after_the_other() {
    for seed in 0..CASES {
        let mut numbers = Numbers(seed);
        let rule = [Rule::Fair, Rule::Weighted, Rule::Pinned][numbers.below(3) as usize];
        let mut at_once = Share::new(super::world::terms(rule));
        let limit = 1 + numbers.below(200);
        for _ in 0..numbers.below(8) {
            at_once.set_used(&drawn_party(&mut numbers, 6), numbers.below(limit / 4 + 1));
        }
        let (asker, smallest) = (drawn_party(&mut numbers, 6), 1 + numbers.below(9));
        let requests = 1 + numbers.below(20);
        let mut one_by_one = at_once.clone();
        let at = |share: &Share| super::world::moment(share, limit, 1_000);
        let ask = Ask {
            waiting: smallest * requests,
            smallest,
            ..Ask::default()
        };
        let served = at_once.room(&asker, &ask, &at(&at_once)).waiting;
        let mut expected = 0;
        for _ in 0..requests {
            let ask = super::world::request(smallest);
            let moment = at(&one_by_one);
            if one_by_one.room(&asker, &ask, &moment).waiting < smallest {
                break;
            }
            one_by_one.charge(&asker.name, smallest);
            expected += smallest;
        }
        assert_eq!(served, expected, "seed {seed}, {rule:?}, {ask:?}");
    }
}
