//! Hundreds of checks at the same time: to the unit on one isolate, never more on many.

use serde_json::{Value, json};
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_tests::calls::charge;
use weir_tests::workerd::Setup;

use crate::limits::{HOUR_MS, LONG_MS, admitted, alone, start, storm, take_the_rest};

const CHECKS: usize = 300;
const BOUND: u64 = 90;

/// Limits that do not refill while a test runs, by name.
fn limits() -> Value {
    json!({
        "gcra": { "algorithm": "gcra", "limit": 6, "period_ms": HOUR_MS, "burst": BOUND, "scope": "region" },
        "bucket": { "algorithm": "token_bucket", "capacity": BOUND, "refill_per_sec": 0.0001, "scope": "region" },
        "fixed": { "algorithm": "fixed_window", "limit": BOUND, "window_ms": LONG_MS, "scope": "region" },
        "sliding": { "algorithm": "sliding_window", "limit": BOUND, "window_ms": LONG_MS, "scope": "region" },
        "log": { "algorithm": "sliding_log", "limit": BOUND, "window_ms": HOUR_MS, "scope": "region" },
        "monthly": { "algorithm": "quota", "limit": BOUND, "cadence": "calendar_month", "scope": "region" },
        "isolate_gcra": { "algorithm": "gcra", "limit": 6, "period_ms": HOUR_MS, "burst": BOUND, "scope": "isolate" },
        "isolate_log": { "algorithm": "sliding_log", "limit": BOUND, "window_ms": HOUR_MS, "scope": "isolate" },
        "global_fixed": { "algorithm": "fixed_window", "limit": BOUND, "window_ms": LONG_MS, "scope": "global" },
        "global_sliding": { "algorithm": "sliding_window", "limit": BOUND, "window_ms": LONG_MS, "scope": "global" },
        "global_monthly": { "algorithm": "quota", "limit": BOUND, "cadence": "calendar_month", "scope": "global" },
    })
}

fn names(scope: fn(&str) -> bool) -> Vec<String> {
    let limits = limits();
    let names = limits.as_object().unwrap().keys().cloned();
    names.filter(|name| scope(name)).collect()
}

fn reasons(decisions: &[DecisionBody]) -> OrderedMap<String, usize> {
    let mut reasons = OrderedMap::new();
    for decision in decisions {
        *reasons.entry(format!("{:?}", decision.reason)).or_default() += 1;
    }
    reasons
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_checks_on_one_isolate_admit_exactly_the_limit() {
    let workerd = start(alone(), limits()).await;
    let clients = workerd.clients().unwrap();
    for limit in names(|_| true) {
        let decisions = storm(&clients, CHECKS, |_| charge(&limit, "k", 1)).await;
        println!("{limit}: {:?}", reasons(&decisions));
        let admitted = admitted(&decisions);
        assert!(admitted <= BOUND, "{limit}: {:?}", reasons(&decisions));
        // What a busy machine was too late to answer is undone, with what was drawn for others that were denied.
        let mut all = decisions.iter();
        let rest = match all.any(|decision| decision.reason == Reason::Unavailable) {
            true => take_the_rest(&clients[0], &limit, "k", BOUND - admitted).await,
            false => 0,
        };
        assert_eq!(admitted + rest, BOUND, "{limit}: {:?}", reasons(&decisions));
        for decision in decisions.iter().filter(|decision| !decision.allowed) {
            assert_ne!(decision.reason, Reason::Never, "{limit}: {decision:?}");
            assert!(
                decision.retry_after_ms.is_some_and(|hint| hint > 0),
                "{limit}: {decision:?}"
            );
        }
    }
}

/// Costs that do not divide the limit: never a unit more, and no more left over than the smallest of them.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_costs_of_all_sizes_never_pass_the_limit() {
    let workerd = start(alone(), limits()).await;
    let clients = workerd.clients().unwrap();
    let cost = |index: usize| [1, 7, 2, 13, 4][index % 5];
    for limit in names(|_| true) {
        let decisions = storm(&clients, 100, |index| charge(&limit, "k", cost(index))).await;
        let units: u64 = decisions
            .iter()
            .enumerate()
            .filter(|(_, decision)| decision.allowed)
            .map(|(index, _)| cost(index))
            .sum();
        assert!(units <= BOUND, "{limit}: {units} of {BOUND}");
        let rest = take_the_rest(&clients[0], &limit, "k", BOUND - units).await;
        assert_eq!(
            units + rest,
            BOUND,
            "{limit}: {units} in the storm, {rest} after it"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_isolates_never_admit_more_than_the_limit_of_their_region() {
    let workerd = start(Setup::isolates(&["wnam", "weur", "weur"]), limits()).await;
    let clients = workerd.clients().unwrap();
    let of_region = |name: &str| !name.starts_with("isolate") && !name.starts_with("global");
    for limit in names(of_region) {
        let decisions = storm(&clients, CHECKS, |_| charge(&limit, "k", 1)).await;
        for (region, client) in [("wnam", &clients[0]), ("weur", &clients[1])] {
            let own: Vec<_> = decisions
                .iter()
                .filter(|decision| decision.region == region)
                .cloned()
                .collect();
            let stormed = admitted(&own);
            println!("{limit}, {region}: {:?}", reasons(&own));
            assert!(stormed <= BOUND, "{limit}, {region}: {stormed}");
            // What one isolate drew ahead and does not need goes to the other.
            let rest = take_the_rest(client, &limit, "k", BOUND - stormed).await;
            assert_eq!(
                stormed + rest,
                BOUND,
                "{limit}, {region}: {stormed} in the storm, {rest} after it"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_regions_never_admit_more_than_a_global_limit_and_nearly_all_of_it() {
    let workerd = start(Setup::isolates(&["wnam", "weur", "weur", "apac"]), limits()).await;
    let clients = workerd.clients().unwrap();
    for limit in names(|name| name.starts_with("global")) {
        let decisions = storm(&clients, CHECKS, |_| charge(&limit, "k", 1)).await;
        let mut all = admitted(&decisions);
        println!("{limit}: {:?}", reasons(&decisions));
        assert!(all <= BOUND, "{limit}: {all}");
        for client in &clients {
            all += take_the_rest(client, &limit, "k", BOUND - all).await;
            assert!(all <= BOUND, "{limit}: {all}");
        }
        assert!(all <= BOUND, "{limit}: {all}");
        assert!(
            all * 100 >= BOUND * 95,
            "{limit}: only {all} of {BOUND} were ever admitted"
        );
    }
}
