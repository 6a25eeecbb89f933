//! Adding decisions to counters, with a bound on the tenants that are told apart.

use std::borrow::Borrow;

use crate::decision::Reason;
use crate::limits::TENANT_NAMES_MAX;
use crate::ordered::OrderedMap;
use crate::units::EpochMs;
use crate::wire::accounting::{
    Counters, GuardTally, InFlight, MeterTally, OTHERS, Tally, TenantCounters,
};
use crate::wire::by_name::ByName;
use crate::wire::count::Count;
use crate::wire::rule_kind::RuleKind;

/// What was charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charged<'a> {
    /// A budget, by name.
    Budget(&'a str),
    /// A limit, by name.
    Limit(&'a str),
    /// A meter, by name.
    Meter(&'a str),
    /// A guard, by name.
    Guard(&'a str),
    /// An overload resource, by name.
    Overload(&'a str),
}

impl<'a> Charged<'a> {
    /// What kind of rule it is, and its name.
    #[must_use]
    pub fn rule(self) -> (RuleKind, &'a str) {
        match self {
            Self::Budget(name) => (RuleKind::Budget, name),
            Self::Limit(name) => (RuleKind::Limit, name),
            Self::Meter(name) => (RuleKind::Meter, name),
            Self::Guard(name) => (RuleKind::Guard, name),
            Self::Overload(name) => (RuleKind::Overload, name),
        }
    }
}

/// One decision, to be counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided<'a> {
    /// For whom.
    pub tenant: &'a str,
    /// Whether the policy names the tenant.
    pub known: bool,
    /// What was charged.
    pub charged: Charged<'a>,
    /// How it was decided: [`Reason::Admitted`] alone admits.
    pub reason: Reason,
    /// What was asked for.
    pub units: u64,
}

/// What a decision is in the account of its tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Entry {
    /// What was admitted is used.
    #[default]
    Charge,
    /// What was admitted is used when it is settled, or in full when its time is over.
    Reservation {
        /// When that is.
        until: EpochMs,
    },
    /// What was denied passes all the same.
    Shadow,
}

/// Adds one decision to the counters, of which at most `strangers_max` tenants that the policy does not name are told
/// apart; those that it names always are.
///
/// ```
/// use weir_shared::accounting::counters::{count, Charged, Decided};
/// use weir_shared::decision::Reason;
/// use weir_shared::wire::accounting::Counters;
/// let mut counters = Counters::new();
/// let asked = Decided {
///     tenant: "acme", known: true, charged: Charged::Meter("bytes"), reason: Reason::Admitted, units: 3,
/// };
/// count(&mut counters, &asked, 10);
/// count(&mut counters, &Decided { reason: Reason::LimitExceeded, units: 5, ..asked }, 10);
/// let tally = counters["acme"].meters["bytes"];
/// assert_eq!((tally.admitted_units.0, tally.shed_units.0, tally.shed_calls.0), (3, 5, 1));
/// ```
pub fn count(counters: &mut Counters, decided: &Decided<'_>, strangers_max: usize) {
    count_as(
        counters,
        decided,
        CountedAs::of(decided.reason),
        strangers_max,
    );
}

/// The same of a decision of which the outcome is not its reason's.
pub(super) fn count_as(
    counters: &mut Counters,
    decided: &Decided<'_>,
    outcome: CountedAs,
    strangers_max: usize,
) {
    let entry = entry(counters, decided.tenant, decided.known, strangers_max);
    let units = decided.units;
    match decided.charged {
        Charged::Budget(name) => slot(&mut entry.budgets, name).count(outcome, units),
        Charged::Limit(name) => slot(&mut entry.limits, name).count(outcome, units),
        Charged::Meter(name) => slot(&mut entry.meters, name).count(outcome, units),
        Charged::Guard(name) => slot(&mut entry.guards, name).count(outcome, decided.reason),
        Charged::Overload(name) => slot(&mut entry.overload, name).count(outcome, units),
    }
}

/// What came of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountedAs {
    Admitted,
    Denied,
    WouldDeny,
}

impl CountedAs {
    pub(super) fn of(reason: Reason) -> Self {
        match reason {
            Reason::Admitted => Self::Admitted,
            _ => Self::Denied,
        }
    }
}

/// Takes the last word on the slots of a guard.
pub fn in_flight(
    counters: &mut Counters,
    (tenant, known): (&str, bool),
    guard: &str,
    word: InFlight,
    strangers_max: usize,
) {
    let entry = entry(counters, tenant, known, strangers_max);
    slot(&mut entry.guards, guard).in_flight.merge_newer(word);
}

/// Adds `more` to `counters`, with the bound of [`count`].
pub fn merge(counters: &mut Counters, more: &Counters, strangers_max: usize) {
    for (tenant, added) in more {
        entry(counters, tenant, added.known, strangers_max).add(added);
    }
}

/// The counters of a tenant, or of all those together for which there is no room. Names that the policy does not have
/// can be invented: they leave room for those that it has.
pub(super) fn entry<'a>(
    counters: &'a mut Counters,
    tenant: &str,
    known: bool,
    strangers_max: usize,
) -> &'a mut TenantCounters {
    let kept = known || counters.contains_key(tenant) || counters.len() < strangers_max;
    let name = if kept { tenant } else { OTHERS };
    let entry = slot_of(counters, name);
    entry.known |= known && kept;
    entry
}

/// The value of a name, made where there is none: a name that is known already is not written down again.
pub(super) fn slot_of<'a, K, T: Default>(map: &'a mut OrderedMap<K, T>, name: &str) -> &'a mut T
where
    K: Borrow<str> + for<'b> From<&'b str> + Ord,
{
    if !map.contains_key(name) {
        map.insert(K::from(name), T::default());
    }
    map.get_mut(name).expect("it was there, or was put there")
}

pub(super) fn slot<'a, T: Default>(tallies: &'a mut ByName<T>, name: &str) -> &'a mut T {
    let known = tallies.contains_key(name) || tallies.len() < TENANT_NAMES_MAX;
    let name = if known { name } else { OTHERS };
    tallies.slot(name)
}

impl Tally {
    fn count(&mut self, outcome: CountedAs, units: u64) {
        let (calls, counted) = match outcome {
            CountedAs::Admitted => (&mut self.admitted_calls, &mut self.admitted_units),
            CountedAs::Denied => (&mut self.denied_calls, &mut self.denied_units),
            CountedAs::WouldDeny => (&mut self.would_deny_calls, &mut self.would_deny_units),
        };
        *calls += 1;
        *counted += units;
    }

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
    fn count(&mut self, outcome: CountedAs, units: u64) {
        let (calls, counted) = match outcome {
            CountedAs::Admitted => (&mut self.admitted_calls, &mut self.admitted_units),
            CountedAs::Denied => (&mut self.shed_calls, &mut self.shed_units),
            CountedAs::WouldDeny => (&mut self.would_deny_calls, &mut self.would_deny_units),
        };
        *calls += 1;
        *counted += units;
    }

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
    fn count(&mut self, outcome: CountedAs, reason: Reason) {
        match reason {
            _ if outcome == CountedAs::WouldDeny => self.would_deny += 1,
            Reason::Admitted => self.allowed += 1,
            Reason::Concurrency => self.rejected_concurrency += 1,
            Reason::LimitExceeded => self.rejected_budget += 1,
            _ => self.rejected_other += 1,
        }
    }

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
    /// use weir_shared::units::EpochMs;
    /// use weir_shared::wire::accounting::InFlight;
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

#[cfg(test)]
mod tests;
