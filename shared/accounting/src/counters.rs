//! Adding decisions to counters, with a bound on the tenants that are told apart.

use weir_core::units::EpochMs;
use weir_decision::Reason;
use weir_wire::accounting::counters::{slot, slot_of};
use weir_wire::accounting::{
    Counters, GuardTally, InFlight, MeterTally, OTHERS, Tally, TenantCounters,
};
use weir_wire::rule_kind::RuleKind;

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
/// use weir_accounting::counters::{count, Charged, Decided};
/// use weir_decision::Reason;
/// use weir_wire::accounting::Counters;
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
        Charged::Budget(name) => count_tally(slot(&mut entry.budgets, name), outcome, units),
        Charged::Limit(name) => count_tally(slot(&mut entry.limits, name), outcome, units),
        Charged::Meter(name) => count_meter(slot(&mut entry.meters, name), outcome, units),
        Charged::Guard(name) => count_guard(slot(&mut entry.guards, name), outcome, decided.reason),
        Charged::Overload(name) => count_tally(slot(&mut entry.overload, name), outcome, units),
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

fn count_tally(tally: &mut Tally, outcome: CountedAs, units: u64) {
    let (calls, counted) = match outcome {
        CountedAs::Admitted => (&mut tally.admitted_calls, &mut tally.admitted_units),
        CountedAs::Denied => (&mut tally.denied_calls, &mut tally.denied_units),
        CountedAs::WouldDeny => (&mut tally.would_deny_calls, &mut tally.would_deny_units),
    };
    *calls += 1;
    *counted += units;
}

fn count_meter(tally: &mut MeterTally, outcome: CountedAs, units: u64) {
    let (calls, counted) = match outcome {
        CountedAs::Admitted => (&mut tally.admitted_calls, &mut tally.admitted_units),
        CountedAs::Denied => (&mut tally.shed_calls, &mut tally.shed_units),
        CountedAs::WouldDeny => (&mut tally.would_deny_calls, &mut tally.would_deny_units),
    };
    *calls += 1;
    *counted += units;
}

fn count_guard(tally: &mut GuardTally, outcome: CountedAs, reason: Reason) {
    match reason {
        _ if outcome == CountedAs::WouldDeny => tally.would_deny += 1,
        Reason::Admitted => tally.allowed += 1,
        Reason::Concurrency => tally.rejected_concurrency += 1,
        Reason::LimitExceeded => tally.rejected_budget += 1,
        _ => tally.rejected_other += 1,
    }
}

#[cfg(test)]
mod tests;
