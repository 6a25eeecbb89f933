//! The totals of all regions in one.

use weir_accounting::counters::merge;
use weir_wire::accounting::{Counters, Tally, TenantCounters};
use weir_wire::operator::RegionReport;
use weir_wire::series::TotalsReply;

/// What the ledgers said.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// One entry a region that was asked, in that order.
    pub regions: Vec<RegionReport>,
    /// Over all that answered.
    pub counters: Counters,
}

impl Totals {
    /// Merges the answers; a region without one did not answer.
    #[must_use]
    pub fn of<'a>(answers: impl IntoIterator<Item = (&'a str, Option<&'a TotalsReply>)>) -> Self {
        let mut totals = Self::default();
        for (region, answer) in answers {
            let mut total = Tally::default();
            if let Some(answer) = answer {
                for tenant in answer.counters.values() {
                    total.add(&tenant.total());
                }
                merge(&mut totals.counters, &answer.counters, usize::MAX);
            }
            totals.regions.push(RegionReport {
                region: region.to_owned(),
                reachable: answer.is_some(),
                total,
            });
        }
        totals
    }

    /// The regions that did not answer.
    #[must_use]
    pub fn unreachable(&self) -> Vec<String> {
        let silent = self.regions.iter().filter(|region| !region.reachable);
        silent.map(|region| region.region.clone()).collect()
    }
}

/// What one tenant got, budgets, limits, meters, guards and overload resources alike: a call of a guard is one unit.
#[must_use]
pub fn everything(counters: &TenantCounters) -> Tally {
    let mut total = counters.total();
    for resource in counters.overload.values() {
        total.add(resource);
    }
    for meter in counters.meters.values() {
        total.admitted_calls += meter.admitted_calls;
        total.admitted_units += meter.admitted_units;
        total.denied_calls += meter.shed_calls;
        total.denied_units += meter.shed_units;
    }
    for guard in counters.guards.values() {
        let mut rejected = guard.rejected_concurrency;
        rejected += guard.rejected_budget;
        rejected += guard.rejected_other;
        total.admitted_calls += guard.allowed;
        total.admitted_units += guard.allowed;
        total.denied_calls += rejected;
        total.denied_units += rejected;
    }
    total
}

#[cfg(test)]
mod tests {
    use weir_accounting::counters::{Charged, Decided, count};
    use weir_decision::Reason;

    use super::*;

    fn answer(tenant: &str, charged: Charged<'_>, reason: Reason, units: u64) -> TotalsReply {
        let mut reply = TotalsReply::default();
        let decided = Decided {
            tenant,
            known: false,
            charged,
            reason,
            units,
        };
        count(&mut reply.counters, &decided, 10);
        reply
    }

    #[test]
    fn a_region_that_does_not_answer_is_named_and_the_others_are_summed() {
        let one = answer("a", Charged::Budget("tokens"), Reason::Admitted, 3);
        let two = answer("a", Charged::Budget("tokens"), Reason::OverShare, 4);
        let totals = Totals::of([("weur", Some(&one)), ("oc", None), ("enam", Some(&two))]);
        assert_eq!(totals.unreachable(), ["oc"]);
        let tally = totals.counters["a"].budgets["tokens"];
        assert_eq!((tally.admitted_units.0, tally.denied_units.0), (3, 4));
        assert_eq!(totals.regions[0].total.admitted_units.0, 3);
        assert_eq!(totals.regions.len(), 3);
    }

    #[test]
    fn meters_and_guards_count_among_everything_that_a_tenant_got() {
        let mut sum = answer("a", Charged::Meter("bytes"), Reason::Admitted, 7);
        let guard = answer("a", Charged::Guard("queries"), Reason::Concurrency, 1);
        merge(&mut sum.counters, &guard.counters, 10);
        let total = everything(&sum.counters["a"]);
        assert_eq!((total.admitted_calls.0, total.admitted_units.0), (1, 7));
        assert_eq!((total.denied_calls.0, total.denied_units.0), (1, 1));
    }
}
