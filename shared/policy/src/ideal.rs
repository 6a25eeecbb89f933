//! What a policy would have given each tenant of one window, had all that was asked for in it been known at its start.
//!
//! The ideal of each rule, in whole units: no leases, no waiting, no order of arrival. Where a rule leaves units to
//! whoever comes first, they go by what is still asked for.

use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_core::units::{EpochMs, Revision};
use weir_fairness::ask::{Claimant, TenantClaim};
use weir_fairness::floors::Floors;
use weir_fairness::max_min::{allocate, guarantees};
use weir_fairness::weight::Weight;
use weir_wire::exchange::RuleBody;

use super::Policy;
use super::budget::Budget;

/// One tenant, or one with those below it, at one level.
#[derive(Debug, Clone)]
struct Sharer {
    demand: u64,
    claim: TenantClaim,
}

/// A tenant with those below it.
#[derive(Debug, Default)]
struct Node {
    claim: Option<TenantClaim>,
    /// What it asks for by itself.
    own: u64,
    below: OrderedSet<String>,
}

/// What `units` of a budget come to for tenants with these demands, in the same order. A tenant that the policy refuses
/// gets nothing.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_policy::{Policy, ideal::ideal};
/// use weir_core::units::EpochMs;
/// let policy = Policy::try_from(&read_json(br#"{
///   "regions": ["weur"], "tiers": { "pro": { "weight": 2 }, "free": { "weight": 1 } }, "default_tier": "free",
///   "tenants": { "a": { "tier": "pro" }, "b": {}, "c": {} },
///   "budgets": { "tokens": { "limit": 100, "window_ms": 1000, "sharing": "weighted_fair_escrow", "scope": "global",
///     "reserve": "paced" } }
/// }"#).unwrap()).unwrap();
/// // 2 : 1 : 1 of 100 would be 50, 25, 25; "c" wants 10, and the 15 that it leaves go 2 : 1.
/// let asked = [("a", 100), ("b", 100), ("c", 10)];
/// assert_eq!(ideal(&policy, "tokens", 100, &asked, EpochMs(0)), [60, 30, 10]);
/// ```
#[must_use]
pub fn ideal(
    policy: &Policy,
    budget: &str,
    units: u64,
    demands: &[(&str, u64)],
    now: EpochMs,
) -> Vec<u64> {
    let Some(rule) = policy.budgets.get(budget).map(Budget::rule) else {
        return vec![0; demands.len()];
    };
    let mut tree = Tree {
        rule,
        unknown_weight_max: policy.unknown_weight_max,
        nodes: OrderedMap::new(),
        given: OrderedMap::new(),
    };
    let mut top = OrderedSet::new();
    for (tenant, demand) in demands {
        if let Some(claimant) = policy.claimant(tenant, Some(budget), Revision(0), now) {
            top.insert(tree.add(&claimant, *demand));
        }
    }
    tree.divide(&top, units);
    let given = demands
        .iter()
        .map(|(tenant, _)| tree.given.get(*tenant).copied().unwrap_or(0));
    given.collect()
}

struct Tree {
    rule: Option<RuleBody>,
    unknown_weight_max: Weight,
    nodes: OrderedMap<String, Node>,
    given: OrderedMap<String, u64>,
}

impl Tree {
    /// Adds what a tenant asks for, and answers who of its line has none above.
    fn add(&mut self, claimant: &Claimant, demand: u64) -> String {
        let claim = &claimant.claim;
        let node = self.nodes.entry(claimant.name.clone()).or_default();
        node.own = node.own.saturating_add(demand);
        node.claim = Some(claim.clone());
        let mut name = claimant.name.clone();
        // Where nobody has a guarantee, nobody is above another either.
        let above = claim.above.iter().filter(|_| self.rule.is_some());
        for one in above {
            let node = self.nodes.entry(one.name.clone()).or_default();
            node.claim.get_or_insert_with(|| one.claim());
            node.below
                .insert(std::mem::replace(&mut name, one.name.clone()));
        }
        name
    }

    /// All that is asked for by a tenant and those below it.
    fn demand(&self, name: &str) -> u64 {
        let Some(node) = self.nodes.get(name) else {
            return 0;
        };
        let below = node.below.iter().map(|below| self.demand(below));
        below.fold(node.own, u64::saturating_add)
    }

    /// Divides units among some with the same parent, and what each gets among those below it.
    fn divide(&mut self, names: &OrderedSet<String>, units: u64) {
        let sharers = names.iter().filter_map(|name| {
            let claim = self.nodes.get(name)?.claim.clone()?;
            let demand = self.demand(name);
            Some((name.clone(), Sharer { demand, claim }))
        });
        let (names, sharers): (Vec<String>, Vec<Sharer>) = sharers.unzip();
        let shares = divided(self.rule, &sharers, units, self.unknown_weight_max);
        for (name, share) in names.into_iter().zip(shares) {
            let Some(node) = self.nodes.get(&name) else {
                continue;
            };
            // What one asks for by itself is not held back for those below it.
            let own = node.own.min(share);
            let below = node.below.clone();
            self.given.insert(name, own);
            self.divide(&below, share - own);
        }
    }
}

impl Sharer {
    /// No more than its ceiling, and than its guarantee and what it may borrow beyond.
    fn wanted(&self, own: u64) -> u64 {
        let borrow_max = self.claim.borrow_max.unwrap_or(u64::MAX);
        let most = own.saturating_add(borrow_max);
        let ceiling = self.claim.ceiling.unwrap_or(u64::MAX);
        self.demand.min(most).min(ceiling)
    }
}

/// The units of each of them, in the same order.
fn divided(
    rule: Option<RuleBody>,
    sharers: &[Sharer],
    units: u64,
    unknown_max: Weight,
) -> Vec<u64> {
    let Some(rule) = rule else {
        let demands: Vec<u64> = sharers.iter().map(|sharer| sharer.demand).collect();
        return by_demand(&demands, units);
    };
    let weights = weights(rule, sharers, unknown_max);
    // Who asks for nothing is not there, and has no guarantee.
    let active = |index: &usize| sharers.get(*index).is_some_and(|sharer| sharer.demand > 0);
    let there: Vec<usize> = (0..sharers.len()).filter(active).collect();
    let of = |index: &usize| Some((sharers.get(*index)?.clone(), *weights.get(*index)?));
    let (sharers_there, weights): (Vec<Sharer>, Vec<Weight>) = there.iter().filter_map(of).unzip();
    let mut given = vec![0; sharers.len()];
    let shares = shared(rule, &sharers_there, &weights, units);
    for (index, share) in there.into_iter().zip(shares) {
        if let Some(slot) = given.get_mut(index) {
            *slot = share;
        }
    }
    given
}

/// The units of those that are there. What is set aside for those that are not is released until the window ends.
fn shared(rule: RuleBody, sharers: &[Sharer], weights: &[Weight], units: u64) -> Vec<u64> {
    let mut floors = Floors::default();
    let floor = |sharer: &Sharer| sharer.claim.set_aside();
    sharers.iter().for_each(|sharer| floors.add(floor(sharer)));
    let aside = sharers.iter().map(|sharer| floors.of(floor(sharer), units));
    let aside: Vec<u64> = aside.collect();
    let shares = guarantees(weights, floors.rest(units));
    let guaranteed = sharers.iter().zip(aside.iter().zip(shares));
    let guaranteed = guaranteed.map(|(sharer, (aside, share))| {
        let all = aside.saturating_add(share);
        all.min(sharer.claim.ceiling.unwrap_or(u64::MAX))
    });
    let guaranteed: Vec<u64> = guaranteed.collect();
    let pairs = || sharers.iter().zip(&guaranteed);
    let wanted: Vec<u64> = pairs().map(|(sharer, own)| sharer.wanted(*own)).collect();
    match rule {
        RuleBody::Pinned => {
            let own = wanted.iter().zip(&guaranteed);
            own.map(|(wanted, own)| *wanted.min(own)).collect()
        }
        RuleBody::Paced | RuleBody::Pooled | RuleBody::None => {
            // What one does not use is lent up to its lend_max; the rest of it is nobody's.
            let kept = pairs().map(|(sharer, own)| {
                let unused = own.saturating_sub(sharer.demand);
                let lend_max = sharer.claim.lend_max;
                lend_max.map_or(0, |max| unused.saturating_sub(max))
            });
            let kept = kept.fold(0, u64::saturating_add);
            // What is set aside comes first, and weights divide the rest.
            let first = wanted
                .iter()
                .zip(&aside)
                .map(|(wanted, aside)| *wanted.min(aside));
            let first: Vec<u64> = first.collect();
            let more: Vec<u64> = wanted.iter().zip(&first).map(|(a, b)| a - b).collect();
            let spent = first
                .iter()
                .fold(kept, |sum, units| sum.saturating_add(*units));
            let more = allocate(&more, weights, units.saturating_sub(spent));
            first.iter().zip(more).map(|(a, b)| a + b).collect()
        }
        RuleBody::Fair | RuleBody::Weighted => {
            let own: Vec<u64> = wanted
                .iter()
                .zip(&guaranteed)
                .map(|(a, b)| *a.min(b))
                .collect();
            let spent = own.iter().fold(0, |sum: u64, own| sum.saturating_add(*own));
            let more: Vec<u64> = wanted.iter().zip(&own).map(|(a, b)| a - b).collect();
            let more = by_demand(&more, units.saturating_sub(spent));
            own.iter().zip(more).map(|(own, more)| own + more).collect()
        }
    }
}

/// The weights that count: equal ones where the rule says so; those of tenants that the policy does not name are no more
/// than a bound together.
fn weights(rule: RuleBody, sharers: &[Sharer], unknown_max: Weight) -> Vec<Weight> {
    let weight = |sharer: &Sharer| match rule {
        RuleBody::Fair => Weight::WHOLE,
        _ => sharer.claim.weight,
    };
    let unknown = sharers
        .iter()
        .filter(|one| !one.claim.known && one.demand > 0);
    let sum: u128 = unknown.map(|one| u128::from(weight(one).micros())).sum();
    let bound = u128::from(unknown_max.micros());
    let counted = sharers.iter().map(|sharer| {
        let own = weight(sharer);
        if sharer.claim.known || sum <= bound {
            return own;
        }
        let part = u128::from(own.micros()) * bound / sum.max(1);
        let part = u64::try_from(part).unwrap_or(1).max(1);
        Weight::from_micros(part).unwrap_or(own)
    });
    counted.collect()
}

/// Units by what is asked for: all of it where there is enough, else in proportion, rounded so that nothing is left.
fn by_demand(demands: &[u64], units: u64) -> Vec<u64> {
    let sum: u128 = demands.iter().map(|demand| u128::from(*demand)).sum();
    let units = u128::from(units).min(sum);
    let (mut asked, mut given) = (0_u128, 0_u128);
    let shares = demands.iter().map(|demand| {
        asked += u128::from(*demand);
        // Below 2^64 x 2^64.
        let all = (asked * units).checked_div(sum).unwrap_or(0);
        let share = all - given;
        given = all;
        u64::try_from(share).unwrap_or(u64::MAX)
    });
    shares.collect()
}
