//! What Prometheus reads.

use serde_json::json;
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::report::metrics::families::Kind;
use weir_shared::report::metrics::{FAMILIES, Scrape};
use weir_shared::units::{EpochMs, Revision, WindowLabel};
use weir_shared::wire::accounting::{
    Counters, GuardTally, InFlight, MeterTally, OTHERS, Tally, TenantCounters,
};
use weir_shared::wire::count::Count;
use weir_shared::wire::health::Version;
use weir_shared::wire::holdings::RegionBudget;
use weir_shared::wire::operator::regions::{CoordinatorStatus, RegionStatus};
use weir_shared::wire::series::{TotalsReply, WindowUse};
use weir_shared::wire::telemetry::Telemetry;
use weir_shared::wire::usage::Usage;

const REGIONS: [&str; 2] = ["weur", "enam"];

fn policy(guard_scope: &str) -> Policy {
    let document = json!({
        "regions": REGIONS,
        "home": "weur",
        "budgets": {
            "tokens": { "limit": 1_000, "window_ms": 60_000, "scope": "global", "sharing": "first_come" },
            "sliced": { "limit": 101, "window_ms": 1_500, "scope": "global", "sharing": "static_partition" },
            "here": { "limit": 7, "window_ms": 1_000, "scope": "isolate", "sharing": "first_come" }
        },
        "meters": { "bytes": { "per_sec": 5, "billable": true }, "free": { "per_sec": 5, "billable": false } },
        "guards": {
            "queries": { "concurrency": 9, "per_minute": 90, "scope": guard_scope },
            "open": { "concurrency": "unlimited" }
        },
        "limits": {
            "per_ip": { "algorithm": "gcra", "limit": 100, "period_ms": 1_500, "scope": "region" },
            "both": { "all": [{ "limit": "per_ip", "weight": 0.5 }] }
        },
    });
    let document = serde_json::from_value(document).unwrap();
    Policy::try_from(&document).unwrap()
}

fn counters(listed: bool) -> TenantCounters {
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
    TenantCounters {
        budgets: [("tokens".to_owned(), budget)].into(),
        limits: [("ip".to_owned(), budget)].into(),
        meters: [("bytes".to_owned(), meter), ("free".to_owned(), meter)].into(),
        guards: [("queries".to_owned(), guard), ("exports".to_owned(), guard)].into(),
        overload: [("origin".to_owned(), budget)].into(),
        known: false,
        listed,
    }
}

fn totals(tenant: &str, listed: bool) -> TotalsReply {
    let open = |label, used| WindowUse {
        label: WindowLabel(label),
        ends_at: EpochMs(60_000),
        limit: 1_000,
        used: Count(used),
    };
    let mut telemetry = Telemetry {
        failed: Usage {
            coordinator_calls: Count(3),
            ..Usage::default()
        },
        damaged_rows: Count(5),
        ..Telemetry::default()
    };
    for ms in [4, 30, 2_000, 9_000] {
        telemetry.decision_waits.add_one(ms);
    }
    TotalsReply {
        counters: Counters::from([(tenant.to_owned(), counters(listed))]),
        telemetry,
        open: [
            ("tokens".to_owned(), open(7, 800)),
            ("sliced".to_owned(), open(9, 40)),
        ]
        .into(),
        entitlements: [("tokens".to_owned(), [(tenant.to_owned(), 250)].into())].into(),
        ..TotalsReply::default()
    }
}

fn statuses() -> (Vec<RegionStatus>, Vec<CoordinatorStatus>) {
    let region = |name: &str| RegionStatus {
        region: name.to_owned(),
        home: name == "weur",
        reachable: true,
        answer_ms: Some(3),
        policy_revision: Some(Revision(12)),
        ledger_reachable: true,
        last_contact_at: Some(EpochMs(1_700_000_000_250)),
        budgets: vec![
            RegionBudget {
                budget: "tokens".to_owned(),
                ends_at: Some(EpochMs(60_000)),
                held: 300,
                outage: name == "enam",
                ..RegionBudget::default()
            },
            RegionBudget {
                budget: "sliced".to_owned(),
                own: true,
                held: 50,
                ..RegionBudget::default()
            },
        ],
    };
    let coordinator = CoordinatorStatus {
        budget: "tokens".to_owned(),
        reachable: true,
        ends_at: Some(EpochMs(60_000)),
        free: 400,
        ..CoordinatorStatus::default()
    };
    (REGIONS.map(region).into(), vec![coordinator])
}

/// What a scrape says of these answers at an instant.
fn text_at(totals: &[(String, Option<TotalsReply>)], guard_scope: &str, now: u64) -> String {
    let (regions, coordinators) = statuses();
    let deployed = Version {
        id: "5f2c".to_owned(),
        tag: "v2".to_owned(),
    };
    let scrape = Scrape {
        version: "1.2.3",
        deployed: Some(&deployed),
        policy: &policy(guard_scope),
        totals,
        regions: &regions,
        coordinators: &coordinators,
        at: EpochMs(now),
    };
    scrape.text()
}

fn text(totals: &[(String, Option<TotalsReply>)]) -> String {
    text_at(totals, "global", 500)
}

/// A scrape that has every series.
pub(crate) fn everything() -> String {
    text(&REGIONS.map(|name| (name.to_owned(), Some(totals("acme", true)))))
}

/// A scrape, read as the format says.
fn read(text: &str) -> OrderedMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn every_series_has_help_and_type_once_and_is_named_as_the_field_does() {
    let text = everything();
    for family in FAMILIES {
        let (name, kind) = (family.name, family.kind.name());
        assert_eq!(
            text.matches(&format!("# HELP {name} ")).count(),
            1,
            "{name}"
        );
        assert_eq!(text.matches(&format!("# TYPE {name} {kind}\n")).count(), 1);
        assert_eq!(
            name.ends_with("_total"),
            family.kind == Kind::Counter,
            "{name}"
        );
        assert!(
            !name.ends_with("_ms") && name.starts_with("weir_"),
            "{name}"
        );
        assert!(
            family.kind != Kind::Histogram || name.ends_with("_seconds"),
            "{name}"
        );
    }
}

#[test]
fn large_totals_are_exact_and_meters_and_guards_are_told_by_name() {
    let text = text(&[("weur".to_owned(), Some(totals("acme", true)))]);
    let exact = format!(
        "weir_meter_admitted_units_total{{meter=\"bytes\",tenant_id=\"acme\"}} {}\n",
        1u64 << 60
    );
    assert!(text.contains(&exact), "{text}");
    let billed = format!(
        "weir_meter_billable_units_total{{meter=\"bytes\",tenant_id=\"acme\"}} {}\n",
        1u64 << 60
    );
    assert!(text.contains(&billed), "{text}");
    assert!(!text.contains("weir_meter_billable_units_total{meter=\"free\""));
    let samples = read(&text);
    assert_eq!(
        samples["weir_meter_shed_units_total{meter=\"bytes\",tenant_id=\"acme\"}"],
        7.0
    );
    for guard in ["queries", "exports"] {
        let of = |series: &str, more: &str| {
            samples[&format!(
                "weir_guard_queries_{series}{{guard=\"{guard}\",{more}tenant_id=\"acme\"}}"
            )]
        };
        assert_eq!(of("allowed_total", ""), 4.0);
        assert_eq!(of("rejected_total", "reason=\"concurrency\","), 3.0);
        assert_eq!(of("rejected_total", "reason=\"budget\","), 2.0);
        assert_eq!(of("in_flight", ""), 2.0);
    }
    let budget =
        "weir_budget_admitted_units_total{budget=\"tokens\",region=\"weur\",tenant_id=\"acme\"}";
    assert_eq!(samples[budget], 9.0);
    let resource = "weir_overload_admitted_units_total{resource=\"origin\",region=\"weur\",tenant_id=\"acme\"}";
    assert_eq!(samples[resource], 9.0);
}

#[test]
fn budgets_tell_their_limit_their_window_and_how_far_it_is_used() {
    let samples = read(&everything());
    let of = |series: &str, labels: &str| {
        samples
            .get(&format!("weir_budget_{series}{{{labels}}}"))
            .copied()
    };
    assert_eq!(of("limit_units", "budget=\"tokens\""), Some(1_000.0));
    assert_eq!(of("window_seconds", "budget=\"tokens\""), Some(60.0));
    assert_eq!(of("window_seconds", "budget=\"sliced\""), Some(1.5));
    assert_eq!(
        of("used_units", "budget=\"tokens\""),
        Some(800.0),
        "home tells of it, and nobody else"
    );
    // 101 = 51 + 50, and each region tells of its own.
    assert_eq!(
        of("limit_units", "budget=\"sliced\",region=\"weur\""),
        Some(51.0)
    );
    assert_eq!(
        of("limit_units", "budget=\"sliced\",region=\"enam\""),
        Some(50.0)
    );
    assert_eq!(
        of("used_units", "budget=\"sliced\",region=\"enam\""),
        Some(40.0)
    );
    assert_eq!(
        of("lent_units", "budget=\"tokens\",region=\"weur\""),
        Some(300.0)
    );
    assert_eq!(of("free_units", "budget=\"tokens\""), Some(400.0));
    assert_eq!(
        of("coordinator_outage", "budget=\"tokens\",region=\"enam\""),
        Some(1.0)
    );
    assert_eq!(
        of("coordinator_outage", "budget=\"tokens\",region=\"weur\""),
        Some(0.0)
    );
    assert!(
        !samples.keys().any(|series| series.contains("\"here\"")),
        "nobody but an isolate knows of it"
    );
    // Both ledgers know of a window that acme asked in: 250 of each.
    assert_eq!(
        of("entitled_units", "budget=\"tokens\",tenant_id=\"acme\""),
        Some(500.0)
    );
    let late = read(&text_at(
        &REGIONS.map(|name| (name.to_owned(), None)),
        "global",
        60_000,
    ));
    assert_eq!(
        late["weir_budget_lent_units{budget=\"tokens\",region=\"weur\"}"], 0.0,
        "its window is over"
    );
    assert!(!late.contains_key("weir_budget_free_units{budget=\"tokens\"}"));
    assert!(
        !late.contains_key("weir_budget_used_units{budget=\"tokens\"}"),
        "nobody knows"
    );
}

#[test]
fn waits_are_cumulative_buckets_in_seconds() {
    let samples = read(&everything());
    let of = |le: &str| {
        samples[&format!("weir_decision_wait_seconds_bucket{{region=\"weur\",le=\"{le}\"}}")]
    };
    let told = ["0.005", "0.025", "0.05", "1", "2.5", "5", "+Inf"].map(of);
    assert_eq!(told, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);
    // 4 + 30 + 2,000 + 9,000 ms.
    assert_eq!(
        samples["weir_decision_wait_seconds_sum{region=\"weur\"}"],
        11.034
    );
    assert_eq!(
        samples["weir_decision_wait_seconds_count{region=\"weur\"}"],
        4.0
    );
    assert_eq!(
        samples["weir_lease_wait_seconds_count{region=\"weur\"}"],
        0.0
    );
    let failed = "weir_object_call_failures_total{class=\"coordinator\",region=\"weur\"}";
    assert_eq!(samples[failed], 3.0);
    assert_eq!(
        samples["weir_region_last_contact_timestamp_seconds{region=\"weur\"}"],
        1_700_000_000.25
    );
    assert_eq!(
        samples["weir_region_policy_revision{region=\"enam\"}"],
        12.0
    );
    let build = "weir_build_info{version=\"1.2.3\",id=\"5f2c\",tag=\"v2\"}";
    assert_eq!(samples[build], 1.0);
}

#[test]
fn what_the_policy_bounds_is_told_beside_what_is_used() {
    let samples = read(&text(&[("weur".to_owned(), Some(totals("acme", true)))]));
    for (series, value) in [
        ("weir_guard_concurrency_calls{guard=\"queries\"}", Some(9.0)),
        ("weir_guard_per_minute_calls{guard=\"queries\"}", Some(90.0)),
        ("weir_guard_concurrency_calls{guard=\"open\"}", None),
        (
            "weir_meter_rate_units_per_second{meter=\"bytes\"}",
            Some(5.0),
        ),
        ("weir_meter_burst_seconds{meter=\"bytes\"}", Some(10.0)),
        ("weir_limit_units{limit=\"per_ip\"}", Some(100.0)),
        ("weir_limit_window_seconds{limit=\"per_ip\"}", Some(1.5)),
        ("weir_limit_units{limit=\"both\"}", None),
    ] {
        assert_eq!(samples.get(series).copied(), value, "{series}");
    }
}

#[test]
fn label_values_are_escaped_and_those_counted_together_are_told_from_every_tenant() {
    let tenant = "a\\b\"c";
    let regions = [
        ("weur".to_owned(), Some(totals(tenant, true))),
        ("enam".to_owned(), Some(totals("stranger", false))),
    ];
    let text = text(&regions);
    assert!(
        text.contains("{meter=\"bytes\",tenant_id=\"a\\\\b\\\"c\"} "),
        "{text}"
    );
    assert!(!text.contains("stranger"));
    assert!(text.contains(&format!("{{meter=\"bytes\",tenant_id=\"{OTHERS}\"}} ")));
}

#[test]
fn what_sums_over_regions_is_left_out_while_one_does_not_answer() {
    let regions = [
        ("weur".to_owned(), Some(totals("acme", true))),
        ("enam".to_owned(), None),
    ];
    let samples = read(&text(&regions));
    assert_eq!(samples["weir_ledger_up{region=\"enam\"}"], 0.0);
    let has = |start: &str| samples.keys().any(|series| series.starts_with(start));
    assert!(!has("weir_meter_admitted_") && !has("weir_guard_queries_"));
    assert!(has("weir_budget_admitted_"));
}

#[test]
fn slots_of_a_guard_are_told_once_unless_they_are_each_regions_own() {
    let regions = REGIONS.map(|name| (name.to_owned(), Some(totals("acme", true))));
    let taken = |scope: &str, now| {
        let samples = read(&text_at(&regions, scope, now));
        samples["weir_guard_queries_in_flight{guard=\"queries\",tenant_id=\"acme\"}"]
    };
    assert_eq!((taken("global", 500), taken("region", 500)), (2.0, 4.0));
    assert_eq!(taken("global", 1_000), 0.0, "their leases have lapsed");
}
