//! What comes through limits.
//!
//! How the calls of an interval were divided among the keys of a limit is not recorded. They are taken for an even stream
//! over equal keys in turn, of which there are as few as explain what was admitted: played against the present policy, one
//! key fewer would have let through less than was. Then the candidate is played with the same stream. Where each tenant has
//! keys of its own they are found for each tenant, else for all who asked together.

use weir_core::limits::PREVIEW_PLAYS_MAX;
use weir_core::ordered::{OrderedMap, sort_by_key};
use weir_core::units::EpochMs;
use weir_policy::Policy;
use weir_policy::limit::Rule;
use weir_wire::accounting::ANONYMOUS;

use super::RecordedInterval;
use crate::replay::{Entry, Side, part};

/// Requests as which one interval is played, at most: more would not make the stream more even than a second.
const STEPS_MAX: u64 = 60;

/// What was admitted is explained from here on: the first interval finds a limit unused that was in use, and a stream that
/// is even finds more than one that is not.
const EXPLAINED_PERCENT: u128 = 98;

/// What each policy lets through of each interval, in their order.
pub(super) fn shares(policies: [&Policy; 2], intervals: &[RecordedInterval]) -> Vec<[u64; 2]> {
    let room = PREVIEW_PLAYS_MAX / (intervals.len() as u64).max(1);
    let steps_max = room.clamp(1, STEPS_MAX);
    let mut groups: OrderedMap<(&str, Option<&str>), Vec<usize>> = OrderedMap::new();
    for (index, one) in intervals.iter().enumerate() {
        let name = one.name.as_str();
        let tenant = has_own_keys(policies, name).then_some(one.tenant.as_str());
        groups.entry((name, tenant)).or_default().push(index);
    }
    let mut shares = vec![[0; 2]; intervals.len()];
    for indices in groups.values() {
        let stream = Stream::new(intervals, indices, steps_max);
        let keys = stream.keys(policies[0]);
        for (side, policy) in policies.into_iter().enumerate() {
            for (index, units) in stream.play(policy, keys) {
                let slot = shares.get_mut(index).and_then(|both| both.get_mut(side));
                if let Some(slot) = slot {
                    *slot = units;
                }
            }
        }
    }
    shares
}

/// Whether each tenant has keys of its own, by the first policy that has the limit.
fn has_own_keys(policies: [&Policy; 2], name: &str) -> bool {
    let limits = policies
        .iter()
        .map(|policy| (policy, policy.limits.get(name)));
    let found = limits
        .into_iter()
        .find_map(|(policy, limit)| Some((policy, limit?)));
    found.is_some_and(|(policy, limit)| match &limit.rule {
        Rule::Composite(composite) => {
            let parts = composite.dimensions.iter();
            let mut parts = parts.filter_map(|one| policy.limits.get(&one.limit));
            parts.all(|limit| limit.per_tenant)
        }
        Rule::Single(_) | Rule::Shaper(_) => limit.per_tenant,
    })
}

/// One request of a stream: of which interval, when, and for how much.
#[derive(Debug, Clone, Copy)]
struct Step<'a> {
    index: usize,
    of: &'a RecordedInterval,
    at: EpochMs,
    calls: u64,
    units: u64,
}

/// What was asked for, evenly, in the order of time.
struct Stream<'a> {
    steps: Vec<Step<'a>>,
    served: u128,
}

impl<'a> Stream<'a> {
    fn new(intervals: &'a [RecordedInterval], indices: &[usize], steps_max: u64) -> Self {
        let mut stream = Self {
            steps: Vec::new(),
            served: 0,
        };
        for index in indices {
            if let Some(one) = intervals.get(*index) {
                stream.served += u128::from(one.served);
                stream.add(*index, one, steps_max);
            }
        }
        sort_by_key(&mut stream.steps, |step| step.at);
        stream
    }

    fn add(&mut self, index: usize, of: &'a RecordedInterval, steps_max: u64) {
        let number = of.calls.clamp(1, steps_max).min(of.demand);
        for step in 0..number {
            let until = |number_of: u64, whole: u64| part(whole, number_of, number);
            let share = |whole: u64| until(step + 1, whole) - until(step, whole);
            self.steps.push(Step {
                index,
                of,
                at: of.at.plus(until(step, of.interval_ms)),
                calls: share(of.calls).max(1),
                units: share(of.demand),
            });
        }
    }

    /// The fewest keys that explain what was admitted; as many as there are requests where none do.
    fn keys(&self, present: &Policy) -> u64 {
        let explained = |keys: u64| {
            let units = self.play(present, keys);
            let units: u128 = units.values().map(|units| u128::from(*units)).sum();
            units * 100 >= self.served * EXPLAINED_PERCENT
        };
        let most = (self.steps.len() as u64).max(1);
        let (mut too_few, mut enough) = (0, 1);
        while enough < most && !explained(enough) {
            too_few = enough;
            enough = (enough * 2).min(most);
        }
        while enough - too_few > 1 {
            let keys = too_few + (enough - too_few) / 2;
            match explained(keys) {
                true => enough = keys,
                false => too_few = keys,
            }
        }
        enough
    }

    /// Units that a policy lets through of each interval, where requests take the keys in turn.
    fn play(&self, policy: &Policy, keys: u64) -> OrderedMap<usize, u64> {
        let mut side = Side::new(policy);
        let mut units = OrderedMap::new();
        for (number, step) in self.steps.iter().enumerate() {
            let of = step.of;
            let tenant = (of.tenant != ANONYMOUS).then(|| of.tenant.clone());
            let key = (number as u64 % keys).to_string();
            let entry = Entry::of_limit(
                of.name.clone(),
                tenant,
                key,
                step.at,
                (step.calls, step.units),
            );
            let admitted = side.play(&entry).admitted_units.0;
            let admitted = u64::try_from(admitted).unwrap_or(u64::MAX);
            *units.entry(step.index).or_default() += admitted;
        }
        units
    }
}
