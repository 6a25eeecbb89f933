//! Fairness records of windows.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use weir_shared::wire::windows::WindowRecord;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy, with};

use crate::ledger::{spend, start};

const LIMIT: u64 = 300;
const WINDOW_MS: u64 = 4_000;

async fn records(client: &Client) -> BTreeMap<u64, WindowRecord> {
    let path = format!("/operator/v1/budgets/{BUDGET}/windows?page_size=50");
    let reply: serde_json::Value = client.get(&path).await.unwrap().ok().unwrap();
    let windows = reply["windows"].as_array().cloned().unwrap_or_default();
    windows
        .into_iter()
        .map(|window| {
            let record: WindowRecord = serde_json::from_value(window).unwrap();
            (record.label.0, record)
        })
        .collect()
}

/// Three isolates, a weight of four and one of one, both asking for more than there is.
#[tokio::test(flavor = "multi_thread")]
async fn each_window_is_recorded_with_who_was_entitled_to_what_and_nothing_is_unaccounted() {
    let shared = json!({ "limit": LIMIT, "window_ms": WINDOW_MS, "sharing": "weighted_fair_escrow", "scope": "global" });
    let document = with(
        policy(LIMIT, WINDOW_MS),
        &format!("/budgets/{BUDGET}"),
        shared,
    );
    let workerd = start(&document).await;
    let clients = workerd.clients().unwrap();
    let mut served: BTreeMap<u64, BTreeMap<String, u128>> = BTreeMap::new();
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
    tokio::time::sleep(Duration::from_millis(WINDOW_MS + 6_000)).await;
    let records = records(&clients[0]).await;
    let mut complete = 0;
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
        let recorded: BTreeMap<_, _> = record
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
        if !record.complete {
            continue;
        }
        complete += 1;
        if let (Some(granted), Some(unaccounted)) = (record.granted, record.unaccounted) {
            assert_eq!(
                granted.0,
                record.admitted.0 + record.returned.0 + unaccounted.0
            );
            if record.exact {
                assert_eq!(unaccounted.0, 0, "nobody died: {record:?}");
            }
        }
    }
    assert!(complete >= 3, "{complete} of {} are complete", served.len());
    assert!(
        records
            .values()
            .any(|record| record.exact && record.granted.is_some())
    );
}
