//! What counters come to: how those of one thing add up, and what they say together.

use std::borrow::Borrow;

use weir_core::limits::TENANT_NAMES_MAX;
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::{GuardTally, InFlight, MeterTally, OTHERS, Tally, TenantCounters};
use crate::by_name::ByName;
use crate::count::Count;

/// The value of a name, made where there is none: a name that is known already is not written down again.
pub fn slot_of<'a, K, T: Default>(map: &'a mut OrderedMap<K, T>, name: &str) -> &'a mut T
where
    K: Borrow<str> + for<'b> From<&'b str> + Ord,
{
    if !map.contains_key(name) {
        map.insert(K::from(name), T::default());
    }
    map.get_mut(name).expect("it was there, or was put there")
}

/// The tally of a name, or of all those together for which a tenant has no room.
pub fn slot<'a, T: Default>(tallies: &'a mut ByName<T>, name: &str) -> &'a mut T {
    let known = tallies.contains_key(name) || tallies.len() < TENANT_NAMES_MAX;
    let name = if known { name } else { OTHERS };
    tallies.slot(name)
}

impl Tally {
    /// Adds another tally to this one.
    pub fn add(&mut self, other: &Self) {
        self.admitted_calls += other.admitted_calls;
        self.admitted_units += other.admitted_units;
        self.denied_calls += other.denied_calls;
        self.denied_units += other.denied_units;
        self.borrowed_units += other.borrowed_units;
        self.would_deny_calls += other.would_deny_calls;
        self.would_deny_units += other.would_deny_units;
        self.reserved_units += other.reserved_units;
        self.released_units += other.released_units;
    }
}

impl MeterTally {
    /// Adds another tally to this one.
    pub fn add(&mut self, other: &Self) {
        self.admitted_calls += other.admitted_calls;
        self.admitted_units += other.admitted_units;
        self.shed_calls += other.shed_calls;
        self.shed_units += other.shed_units;
        self.would_deny_calls += other.would_deny_calls;
        self.would_deny_units += other.would_deny_units;
        self.reserved_units += other.reserved_units;
        self.released_units += other.released_units;
    }
}

impl GuardTally {
    /// Adds another tally to this one. Of the words on the slots the newer one stays: those of one guard come from one
    /// place.
    pub fn add(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.rejected_concurrency += other.rejected_concurrency;
        self.rejected_budget += other.rejected_budget;
        self.rejected_other += other.rejected_other;
        self.would_deny += other.would_deny;
        self.in_flight.merge_newer(other.in_flight);
    }
}

impl InFlight {
    /// Takes another word, if it is newer.
    pub fn merge_newer(&mut self, word: Self) {
        if word.at >= self.at {
            *self = word;
        }
    }

    /// Slots taken at `now`, as far as is known.
    ///
    /// ```
    /// use weir_core::units::EpochMs;
    /// use weir_wire::accounting::InFlight;
    /// let word = InFlight { slots: 3, at: EpochMs(1_000), until: EpochMs(31_000) };
    /// assert_eq!((word.slots_at(EpochMs(30_999)), word.slots_at(EpochMs(31_000))), (3, 0));
    /// ```
    #[must_use]
    pub fn slots_at(&self, now: EpochMs) -> u64 {
        if now < self.until { self.slots } else { 0 }
    }
}

impl TenantCounters {
    /// Adds another tenant's counters to this one's.
    pub fn add(&mut self, other: &Self) {
        for (name, added) in &other.budgets {
            slot(&mut self.budgets, name).add(added);
        }
        for (name, added) in &other.limits {
            slot(&mut self.limits, name).add(added);
        }
        for (name, added) in &other.meters {
            slot(&mut self.meters, name).add(added);
        }
        for (name, added) in &other.guards {
            slot(&mut self.guards, name).add(added);
        }
        for (name, added) in &other.overload {
            slot(&mut self.overload, name).add(added);
        }
    }

    /// Names that it is counted for.
    #[must_use]
    pub fn names(&self) -> usize {
        let charged = self.budgets.len() + self.limits.len() + self.meters.len();
        charged + self.guards.len() + self.overload.len()
    }

    /// Names of `other` that it is not counted for yet.
    #[must_use]
    pub fn names_of(&self, other: &Self) -> usize {
        fn new<T>(have: &ByName<T>, other: &ByName<T>) -> usize {
            other.keys().filter(|name| !have.contains_key(name)).count()
        }
        new(&self.budgets, &other.budgets)
            + new(&self.limits, &other.limits)
            + new(&self.meters, &other.meters)
            + new(&self.guards, &other.guards)
            + new(&self.overload, &other.overload)
    }

    /// Units used of those meters that are `billed`.
    #[must_use]
    pub fn billable_units(&self, billed: impl Fn(&str) -> bool) -> Count {
        let mut units = Count::default();
        for (_, tally) in self.meters.iter().filter(|(meter, _)| billed(meter)) {
            units += tally.admitted_units;
        }
        units
    }

    /// The sum over budgets and limits.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in self.budgets.values().chain(self.limits.values()) {
            total.add(tally);
        }
        total
    }

    /// Calls of all kinds, admitted or not: what tenants are ranked by.
    #[must_use]
    pub fn calls(&self) -> u128 {
        let mut total = self.total();
        for tally in self.overload.values() {
            total.add(tally);
        }
        let meters = self.meters.values();
        let metered = meters
            .map(|tally| tally.admitted_calls.0 + tally.shed_calls.0 + tally.would_deny_calls.0);
        let guards = self.guards.values();
        let guarded = guards.map(|tally| {
            let rejected = tally.rejected_concurrency.0 + tally.rejected_budget.0;
            tally.allowed.0 + rejected + tally.rejected_other.0 + tally.would_deny.0
        });
        total.admitted_calls.0
            + total.denied_calls.0
            + total.would_deny_calls.0
            + metered.sum::<u128>()
            + guarded.sum::<u128>()
    }
}
