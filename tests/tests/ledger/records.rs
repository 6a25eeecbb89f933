//! Fairness records of windows.

use std::time::Duration;

use serde_json::json;
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::check::Reason;
use weir_shared::wire::windows::WindowRecord;
use weir_tests::client::Client;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::{BUDGET, policy, with};

use crate::ledger::{read, spend, start};

const LIMIT: u64 = 300;
const WINDOW_MS: u64 = 4_000;

/// How long after its end a record may take to be complete: until no isolate that lives can be silent.
const COMPLETE: Duration = Duration::from_secs(40);

async fn records(client: &Client) -> OrderedMap<u64, WindowRecord> {
    let path = format!("/operator/v1/budgets/{BUDGET}/windows?page_size=50");
    let reply: serde_json::Value = read(client, &path).await;
    let windows = reply["windows"].as_array().cloned().unwrap_or_default();
    windows
        .into_iter()
        .map(|window| {
            let record: WindowRecord = serde_json::from_value(window).unwrap();
            (record.label.0, record)
        })
        .collect()
}

/// The records, once those of `labels` are complete: what holders tell may take its time on a busy machine.
async fn reconciled(
    client: &Client,
    labels: impl Iterator<Item = u64> + Clone,
) -> OrderedMap<u64, WindowRecord> {
    let started = now();
    loop {
        let records = records(client).await;
        let complete = |label| records.get(&label).is_some_and(|record| record.complete);
        if labels.clone().all(complete) {
            return records;
        }
        assert!(started.elapsed() < COMPLETE, "{records:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Three isolates, a weight of four and one of one, both asking for more than there is.
#[tokio::test(flavor = "multi_thread")]
async fn each_window_is_recorded_with_who_was_entitled_to_what_and_nothing_is_unaccounted() {
    let shared = json!({
        "limit": LIMIT, "window_ms": WINDOW_MS, "sharing": "weighted_fair_escrow", "scope": "global", "reserve": "pinned",
    });
    let document = with(
        policy(LIMIT, WINDOW_MS),
        &format!("/budgets/{BUDGET}"),
        shared,
    );
    let workerd = start(&document).await;
    let clients = workerd.clients().unwrap();
    let mut served: OrderedMap<u64, OrderedMap<String, u128>> = OrderedMap::new();
    let started = now();
    let mut step = 0;
    while started.elapsed() < Duration::from_millis(4 * WINDOW_MS) {
        let tenant = ["enterprise:acme", "free:duff"][step % 2];
        let decision = clients[step % 3]
            .decide(&spend(tenant, 2))
            .await
            .unwrap()
            .decision;
        if decision.allowed {
            let window = served.entry(decision.window.unwrap()).or_default();
            *window.entry(tenant.to_owned()).or_default() += 2;
        }
        step += 1;
        tokio::time::sleep(Duration::from_millis(4)).await;
    }
    tokio::time::sleep(Duration::from_millis(WINDOW_MS)).await;
    let records = reconciled(&clients[0], served.keys().copied()).await;
    let mut exact = 0;
    for (label, tenants) in &served {
        let record = records
            .get(label)
            .unwrap_or_else(|| panic!("no record of window {label}"));
        println!(
            "window {label}: granted {:?}, admitted {}, returned {}, unaccounted {:?}, exact {}, Jain {:?}",
            record.granted,
            record.admitted,
            record.returned,
            record.unaccounted,
            record.exact,
            record.jain
        );
        let recorded: OrderedMap<_, _> = record
            .tenants
            .iter()
            .map(|one| (one.tenant.clone(), one.served.0))
            .filter(|(_, units)| *units > 0)
            .collect();
        assert_eq!(&recorded, tenants, "window {label}");
        assert_eq!(record.admitted.0, tenants.values().sum::<u128>());
        let entitled: u64 = record.tenants.iter().map(|one| one.entitlement).sum();
        assert!(
            entitled <= LIMIT && entitled + 2 >= LIMIT,
            "{entitled} of {LIMIT}"
        );
        for one in &record.tenants {
            let beyond = one.served.0.saturating_sub(one.entitlement.into());
            assert_eq!(one.borrowed.0, beyond, "{one:?}");
        }
        let (granted, unaccounted) = (record.granted.unwrap(), record.unaccounted.unwrap());
        let told = record.admitted.0 + record.reserved.0 + record.returned.0 + unaccounted.0;
        assert!(told <= granted.0, "nothing is told twice: {record:?}");
        assert_eq!(record.exact, told == granted.0, "{record:?}");
        // Nobody died. On a busy machine an answer may be given up with what it brought.
        exact += usize::from(record.exact && unaccounted.0 == 0);
    }
    assert!(
        2 * exact > served.len(),
        "{exact} of {} add up",
        served.len()
    );
    assert!(records.values().all(|record| record.limit > 0));
}

/// Longer than an object stays awake that nobody asks for anything.
const QUIET_MS: u64 = 20_000;

/// How often such a window is tried; one in which somebody was out of reach does not count.
const TRIES: u32 = 3;

/// A few requests at the beginning of a window, then none: everybody falls asleep before it ends.
#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_a_window_that_everybody_slept_through_is_exact() {
    let workerd = start(&policy(LIMIT, QUIET_MS)).await;
    let clients = workerd.clients().unwrap();
    let mut attempt = 0;
    while !is_exact_after_sleep(&clients).await {
        attempt += 1;
        assert!(attempt < TRIES, "somebody was out of reach each time");
    }
}

/// Uses a window, sleeps through its end, and looks at its record; false where somebody was out of reach, with what was on its
/// way.
async fn is_exact_after_sleep(clients: &[Client]) -> bool {
    window_start(QUIET_MS).await;
    let mut served: OrderedMap<u64, u128> = OrderedMap::new();
    for step in 0..12_usize {
        let cost = 1 + (step % 5) as u64;
        let asked = clients[step % 3].decide(&spend("free:duff", cost)).await;
        let decision = asked.unwrap().decision;
        if decision.reason == Reason::Unavailable {
            return false;
        }
        assert!(decision.allowed, "{decision:?}");
        *served.entry(decision.window.unwrap()).or_default() += u128::from(cost);
    }
    window_start(QUIET_MS).await;
    let records = reconciled(&clients[0], served.keys().copied()).await;
    for (label, units) in served {
        let record = &records[&label];
        assert_eq!(record.admitted.0, units, "{record:?}");
        assert!(record.exact, "{record:?}");
        assert_eq!(record.unaccounted.map(|units| units.0), Some(0));
    }
    true
}

/// Waits for the beginning of the next window of that length.
async fn window_start(window_ms: u64) {
    let left_ms = window_ms - epoch_ms() % window_ms;
    tokio::time::sleep(Duration::from_millis(left_ms + 200)).await;
}
