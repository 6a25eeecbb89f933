//! What comes through to an origin that is overloaded.
//!
//! What an origin can take is not in the policy; it is what it took. In an interval in which somebody was denied, both
//! policies divide the units that were admitted by weight among all who asked (weighted max-min), which is what
//! `overload::fair_rate` comes to; in any other interval all are admitted.

use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_fairness::max_min::allocate;
use weir_fairness::weight::Weight;
use weir_policy::Policy;

use super::RecordedInterval;

/// What each policy lets through of each interval, in their order. A policy without the resource denies nobody; a tenant
/// that it does not know is let through nowhere.
pub(super) fn shares(
    policies: [&Policy; 2],
    intervals: &[RecordedInterval],
    now: EpochMs,
) -> Vec<[u64; 2]> {
    let mut at_once: OrderedMap<(&str, EpochMs), Vec<usize>> = OrderedMap::new();
    for (index, one) in intervals.iter().enumerate() {
        let place = (one.name.as_str(), one.at);
        at_once.entry(place).or_default().push(index);
    }
    let mut shares = vec![[0; 2]; intervals.len()];
    for ((name, _), indices) in at_once {
        let asked: Vec<&RecordedInterval> = indices
            .iter()
            .filter_map(|index| intervals.get(*index))
            .collect();
        let divided = policies.map(|policy| divided(policy, name, &asked, now));
        for (place, index) in indices.into_iter().enumerate() {
            let share = |of: &Vec<u64>| of.get(place).copied().unwrap_or(0);
            if let Some(slot) = shares.get_mut(index) {
                *slot = divided.each_ref().map(share);
            }
        }
    }
    shares
}

fn divided(policy: &Policy, name: &str, asked: &[&RecordedInterval], now: EpochMs) -> Vec<u64> {
    let sum = |of: fn(&RecordedInterval) -> u64| {
        let units = asked.iter().map(|one| of(one));
        units.fold(0, u64::saturating_add)
    };
    let (demand, served) = (sum(|one| one.demand), sum(|one| one.served));
    let capacity = match policy.overload.contains_key(name) {
        true => served.min(demand),
        false => demand,
    };
    let claims = asked.iter().map(|one| {
        let known = policy.resolve(&one.tenant, now);
        known.map_or((0, Weight::WHOLE), |tenant| (one.demand, tenant.weight))
    });
    let (demands, weights): (Vec<u64>, Vec<Weight>) = claims.unzip();
    allocate(&demands, &weights, capacity)
}
