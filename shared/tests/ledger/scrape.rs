//! What Prometheus reads.

use std::collections::BTreeMap;

use weir_shared::accounting::metrics::{FAMILIES, text};
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::{
    Counters, GuardTally, InFlight, MeterTally, OTHERS, Tally, TenantCounters,
};
use weir_shared::wire::count::Count;
use weir_shared::wire::series::TotalsReply;

fn totals(tenant: &str, listed: bool) -> TotalsReply {
    let meter = MeterTally {
        admitted_calls: Count(1),
        admitted_units: Count(1 << 60),
        shed_calls: Count(2),
        shed_units: Count(7),
        ..MeterTally::default()
    };
    let guard = GuardTally {
        allowed: Count(4),
        rejected_concurrency: Count(3),
        rejected_budget: Count(2),
        rejected_other: Count(0),
        in_flight: InFlight {
            slots: 2,
            at: EpochMs(10),
            until: EpochMs(1_000),
        },
        ..GuardTally::default()
    };
    let budget = Tally {
        admitted_units: Count(9),
        borrowed_units: Count(1),
        ..Tally::default()
    };
    let counters = TenantCounters {
        budgets: [("tokens".to_owned(), budget)].into(),
        limits: [("ip".to_owned(), budget)].into(),
        meters: [("bytes".to_owned(), meter)].into(),
        guards: [("queries".to_owned(), guard)].into(),
        overload: [("origin".to_owned(), budget)].into(),
        known: false,
        listed,
    };
    TotalsReply {
        counters: Counters::from([(tenant.to_owned(), counters)]),
        ..TotalsReply::default()
    }
}

/// A scrape, read as the format says.
fn read(text: &str) -> BTreeMap<String, u128> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn every_series_has_help_and_type_once_and_large_totals_are_exact() {
    let regions = [("weur".to_owned(), Some(totals("acme", true)))];
    let text = text(&regions, |_| false, |_| true, EpochMs(500));
    for family in FAMILIES {
        assert_eq!(
            text.matches(&format!("# HELP {} ", family.name)).count(),
            1,
            "{}",
            family.name
        );
        assert_eq!(
            text.matches(&format!("# TYPE {} {}\n", family.name, family.kind))
                .count(),
            1
        );
    }
    let samples = read(&text);
    let units = "weir_fairness_admitted_units_total{tenant_id=\"acme\",meter=\"bytes\"}";
    assert_eq!(samples[units], 1 << 60);
    let billed = "weir_billable_units_total{tenant_id=\"acme\"}";
    assert_eq!(samples[billed], 1 << 60);
    assert_eq!(
        samples["weir_fairness_shed_units_total{tenant_id=\"acme\",meter=\"bytes\"}"],
        7
    );
    assert_eq!(
        samples["weir_fairness_queries_allowed_total{tenant_id=\"acme\"}"],
        4
    );
    let rejected = |reason| {
        samples[&format!(
            "weir_fairness_queries_rejected_total{{tenant_id=\"acme\",reason=\"{reason}\"}}"
        )]
    };
    assert_eq!((rejected("concurrency"), rejected("budget")), (3, 2));
    assert_eq!(
        samples["weir_fairness_queries_in_flight{tenant_id=\"acme\"}"],
        2
    );
    let budget =
        "weir_budget_admitted_units_total{region=\"weur\",tenant_id=\"acme\",budget=\"tokens\"}";
    assert_eq!(samples[budget], 9);
    let resource = "weir_overload_admitted_units_total{region=\"weur\",tenant_id=\"acme\",resource=\"origin\"}";
    assert_eq!(samples[resource], 9);
}

#[test]
fn label_values_are_escaped_and_those_counted_together_are_told_from_every_tenant() {
    let tenant = "a\\b\"c";
    let regions = [
        ("weur".to_owned(), Some(totals(tenant, true))),
        ("enam".to_owned(), Some(totals("stranger", false))),
    ];
    let text = text(&regions, |_| false, |_| true, EpochMs(500));
    assert!(
        text.contains("{tenant_id=\"a\\\\b\\\"c\",meter=\"bytes\"} "),
        "{text}"
    );
    assert!(!text.contains("stranger"));
    assert!(text.contains(&format!("{{tenant_id=\"{OTHERS}\",meter=\"bytes\"}} ")));
}

#[test]
fn what_sums_over_regions_is_left_out_while_one_does_not_answer() {
    let regions = [
        ("weur".to_owned(), Some(totals("acme", true))),
        ("enam".to_owned(), None),
    ];
    let samples = read(&text(&regions, |_| false, |_| true, EpochMs(500)));
    assert_eq!(samples["weir_ledger_up{region=\"enam\"}"], 0);
    assert!(
        !samples
            .keys()
            .any(|series| series.starts_with("weir_fairness_"))
    );
    assert!(
        samples
            .keys()
            .any(|series| series.starts_with("weir_budget_"))
    );
}

#[test]
fn slots_of_a_guard_are_told_once_unless_they_are_each_regions_own() {
    let regions = ["weur", "enam"].map(|name| (name.to_owned(), Some(totals("acme", true))));
    let taken = |regional: bool, now| {
        let samples = read(&text(&regions, |_| regional, |_| true, EpochMs(now)));
        samples["weir_fairness_queries_in_flight{tenant_id=\"acme\"}"]
    };
    assert_eq!((taken(false, 500), taken(true, 500)), (2, 4));
    assert_eq!(taken(false, 1_000), 0, "their leases have lapsed");
}
