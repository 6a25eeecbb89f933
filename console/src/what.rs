//! What a tenant is counted at: a budget, a limit, a meter, a guard or an overload resource, by name.

use std::fmt;

use weir_shared::wire::accounting::TenantCounters;
use weir_shared::wire::effective::EffectiveBody;
use weir_shared::wire::policy::PolicyDocument;

use crate::api::ask::SeriesAsk;

/// The kinds, in the order in which they are listed.
pub use weir_shared::wire::rule_kind::RuleKind as Kind;

/// The name of a kind where a title begins.
pub fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Budget => "Budget",
        Kind::Limit => "Limit",
        Kind::Meter => "Meter",
        Kind::Guard => "Guard",
        Kind::Overload => "Overload of",
    }
}

/// The name of a kind as a heading.
pub fn heading(kind: Kind) -> &'static str {
    match kind {
        Kind::Budget => "Budgets",
        Kind::Limit => "Limits",
        Kind::Meter => "Meters",
        Kind::Guard => "Guards",
        Kind::Overload => "Overload",
    }
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct What {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
}

impl What {
    /// That kind and name.
    pub fn new(kind: Kind, name: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
        }
    }

    /// Reads `budget:tokens`.
    ///
    /// ```
    /// use weir_console::what::What;
    /// assert_eq!(What::parse("budget:a:b").unwrap().to_string(), "budget:a:b");
    /// assert_eq!(What::parse("price:a"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        let kind = Kind::named(kind)?;
        (!name.is_empty()).then(|| Self::new(kind, name))
    }

    /// The same question, of this alone.
    pub fn of(&self, mut ask: SeriesAsk) -> SeriesAsk {
        let place = match self.kind {
            Kind::Budget => &mut ask.budget,
            Kind::Limit => &mut ask.limit,
            Kind::Meter => &mut ask.meter,
            Kind::Guard => &mut ask.guard,
            Kind::Overload => &mut ask.overload,
        };
        *place = Some(self.name.clone());
        ask
    }

    /// In words: `budget tokens`.
    pub fn words(&self) -> String {
        format!("{} {}", self.kind.name(), self.name)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.name)
    }
}

/// All that a tenant can be counted at under a policy, in order. Limits of which tenants have no keys of their own are
/// among them: they are counted by tenant, too.
pub fn choices(document: &PolicyDocument) -> Vec<What> {
    let names = [
        (Kind::Budget, document.budgets.keys().collect::<Vec<_>>()),
        (Kind::Limit, document.limits.keys().collect()),
        (Kind::Meter, document.meters.keys().collect()),
        (Kind::Guard, document.guards.keys().collect()),
        (Kind::Overload, document.overload.keys().collect()),
    ];
    let each = names.into_iter();
    each.flat_map(|(kind, names)| names.into_iter().map(move |name| What::new(kind, name)))
        .collect()
}

/// Those that have numbers of the tenant's own.
pub fn own(effective: &EffectiveBody) -> Vec<What> {
    let names = [
        (Kind::Budget, effective.budgets.keys().collect::<Vec<_>>()),
        (Kind::Limit, effective.limits.keys().collect()),
        (Kind::Meter, effective.meters.keys().collect()),
        (Kind::Guard, effective.guards.keys().collect()),
        (Kind::Overload, effective.overload.keys().collect()),
    ];
    let each = names.into_iter();
    each.flat_map(|(kind, names)| names.into_iter().map(move |name| What::new(kind, name)))
        .collect()
}

/// What was counted at one of them, in one form for all kinds. Units of guards are calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Calls admitted.
    pub admitted_calls: u128,
    /// Units admitted.
    pub admitted_units: u128,
    /// Calls denied, shed or rejected.
    pub denied_calls: u128,
    /// Units of them.
    pub denied_units: u128,
    /// Of the denied calls of a guard: those for want of a slot.
    pub for_want_of_a_slot: u128,
    /// Calls that a shadow would have denied.
    pub would_deny_calls: u128,
    /// Units of them.
    pub would_deny_units: u128,
    /// Units that were used beyond the guarantee.
    pub borrowed_units: u128,
}

/// What was counted of `what`.
pub fn seen(counters: &TenantCounters, what: &What) -> Seen {
    let name = &what.name;
    let tally = match what.kind {
        Kind::Budget => counters.budgets.get(name),
        Kind::Limit => counters.limits.get(name),
        Kind::Overload => counters.overload.get(name),
        Kind::Meter => {
            let meter = counters.meters.get(name).copied().unwrap_or_default();
            return Seen {
                admitted_calls: meter.admitted_calls.0,
                admitted_units: meter.admitted_units.0,
                denied_calls: meter.shed_calls.0,
                denied_units: meter.shed_units.0,
                would_deny_calls: meter.would_deny_calls.0,
                would_deny_units: meter.would_deny_units.0,
                ..Seen::default()
            };
        }
        Kind::Guard => {
            let guard = counters.guards.get(name).copied().unwrap_or_default();
            let rejected = [guard.rejected_concurrency, guard.rejected_budget];
            let rejected = rejected.iter().map(|count| count.0).sum::<u128>();
            let denied = rejected + guard.rejected_other.0;
            return Seen {
                admitted_calls: guard.allowed.0,
                admitted_units: guard.allowed.0,
                denied_calls: denied,
                denied_units: denied,
                for_want_of_a_slot: guard.rejected_concurrency.0,
                would_deny_calls: guard.would_deny.0,
                would_deny_units: guard.would_deny.0,
                borrowed_units: 0,
            };
        }
    };
    let tally = tally.copied().unwrap_or_default();
    Seen {
        admitted_calls: tally.admitted_calls.0,
        admitted_units: tally.admitted_units.0,
        denied_calls: tally.denied_calls.0,
        denied_units: tally.denied_units.0,
        would_deny_calls: tally.would_deny_calls.0,
        would_deny_units: tally.would_deny_units.0,
        borrowed_units: tally.borrowed_units.0,
        for_want_of_a_slot: 0,
    }
}

/// All that was counted in these counters, in order.
pub fn counted_at(counters: &TenantCounters) -> Vec<What> {
    let names = [
        (Kind::Budget, counters.budgets.keys().collect::<Vec<_>>()),
        (Kind::Limit, counters.limits.keys().collect()),
        (Kind::Meter, counters.meters.keys().collect()),
        (Kind::Guard, counters.guards.keys().collect()),
        (Kind::Overload, counters.overload.keys().collect()),
    ];
    let each = names.into_iter();
    each.flat_map(|(kind, names)| names.into_iter().map(move |name| What::new(kind, name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::accounting::{GuardTally, MeterTally, Tally};
    use weir_shared::wire::count::Count;

    use super::*;

    #[test]
    fn names_come_back_whatever_they_contain() {
        for kind in Kind::ALL {
            let what = What::new(kind, "a:b c/é");
            assert_eq!(What::parse(&what.to_string()), Some(what));
        }
        for text in ["", "budget", "budget:", "tokens:budget", ":x"] {
            assert_eq!(What::parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_kind_is_counted_alike() {
        let mut counters = TenantCounters::default();
        let tally = Tally {
            admitted_calls: Count(1),
            admitted_units: Count(2),
            denied_calls: Count(3),
            denied_units: Count(4),
            would_deny_calls: Count(5),
            would_deny_units: Count(6),
            ..Tally::default()
        };
        counters.budgets.insert("x".to_owned(), tally);
        counters.limits.insert("x".to_owned(), tally);
        counters.overload.insert("x".to_owned(), tally);
        let meter = MeterTally {
            admitted_calls: Count(1),
            admitted_units: Count(2),
            shed_calls: Count(3),
            shed_units: Count(4),
            would_deny_calls: Count(5),
            would_deny_units: Count(6),
            ..MeterTally::default()
        };
        counters.meters.insert("x".to_owned(), meter);
        let guard = GuardTally {
            allowed: Count(1),
            rejected_concurrency: Count(2),
            rejected_budget: Count(3),
            rejected_other: Count(4),
            would_deny: Count(5),
            ..GuardTally::default()
        };
        counters.guards.insert("x".to_owned(), guard);
        for what in counted_at(&counters) {
            let seen = seen(&counters, &what);
            let expected = match what.kind {
                Kind::Guard => (1, 1, 9, 9, 2, 5, 5),
                _ => (1, 2, 3, 4, 0, 5, 6),
            };
            let got = (
                seen.admitted_calls,
                seen.admitted_units,
                seen.denied_calls,
                seen.denied_units,
                seen.for_want_of_a_slot,
                seen.would_deny_calls,
                seen.would_deny_units,
            );
            assert_eq!(got, expected, "{what}");
        }
        assert_eq!(counted_at(&counters).len(), 5);
        assert_eq!(
            seen(&counters, &What::new(Kind::Meter, "y")),
            Seen::default()
        );
    }
}
