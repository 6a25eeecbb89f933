//! What the deployment used of the platform, for a million decisions.

use weir_core::units::EpochMs;
use weir_wire::count::Count;
use weir_wire::decimal::Decimal;
use weir_wire::operator::costs::{CostsReply, PerMillion, RegionCosts};
use weir_wire::series::TotalsReply;
use weir_wire::usage::Usage;

use super::regions::everything;

/// The costs over what the ledgers said; a region without an answer is named.
#[must_use]
pub fn costs<'a>(
    answers: impl IntoIterator<Item = (&'a str, Option<&'a TotalsReply>)>,
    at: EpochMs,
) -> CostsReply {
    let regions: Vec<RegionCosts> = answers
        .into_iter()
        .map(|(region, answer)| RegionCosts {
            region: region.to_owned(),
            reachable: answer.is_some(),
            decisions: answer.map(decisions).unwrap_or_default(),
            usage: answer.map(|answer| answer.usage).unwrap_or_default(),
        })
        .collect();
    let (mut decided, mut usage) = (Count::default(), Usage::default());
    for region in &regions {
        decided += region.decisions;
        usage.add(&region.usage);
    }
    CostsReply {
        at: at.0,
        decisions: decided,
        usage,
        per_million: per_million(decided, &usage),
        regions,
    }
}

/// Each check of each request that was decided, once.
fn decisions(answer: &TotalsReply) -> Count {
    let mut decided = Count::default();
    for tenant in answer.counters.values() {
        let total = everything(tenant);
        decided += total.admitted_calls;
        decided += total.denied_calls;
    }
    decided
}

/// 30 calls and 12 rows for 60,000 decisions are 500 calls and 200 rows for a million.
fn per_million(decided: Count, usage: &Usage) -> Option<PerMillion> {
    let for_a_million = |count: Count| Decimal(count.0 as f64 * 1e6 / decided.0 as f64);
    (decided.0 > 0).then(|| PerMillion {
        object_calls: for_a_million(usage.object_calls()),
        rows_written: for_a_million(usage.rows_written),
    })
}

#[cfg(test)]
mod tests {
    use weir_accounting::counters::{Charged, Decided, count};
    use weir_decision::Reason;

    use super::*;

    #[test]
    fn what_was_used_is_put_on_a_million_decisions() {
        let mut reply = TotalsReply {
            usage: Usage {
                region_calls: Count(3),
                ledger_calls: Count(1),
                rows_written: Count(2),
                ..Usage::default()
            },
            ..TotalsReply::default()
        };
        for reason in [Reason::Admitted, Reason::LimitExceeded] {
            let decided = Decided {
                tenant: "a",
                known: false,
                charged: Charged::Meter("bytes"),
                reason,
                units: 500,
            };
            count(&mut reply.counters, &decided, 10);
        }
        let costs = costs([("weur", Some(&reply)), ("oc", None)], EpochMs(5));
        assert_eq!(costs.decisions, Count(2));
        let per_million = costs.per_million.unwrap();
        assert_eq!(per_million.object_calls.0, 2_000_000.0);
        assert_eq!(per_million.rows_written.0, 1_000_000.0);
        assert!(!costs.regions[1].reachable);
    }

    #[test]
    fn before_the_first_decision_there_is_nothing_to_divide_by() {
        let reply = TotalsReply::default();
        let costs = costs([("weur", Some(&reply))], EpochMs(5));
        assert_eq!((costs.decisions, costs.per_million), (Count(0), None));
    }
}
