//! Tenants by use.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::clock::now;

use crate::cli::{SETTLING, decide, deployment};

#[tokio::test(flavor = "multi_thread")]
async fn who_used_most_stands_first() {
    let deployed = deployment().await;
    let weir = &deployed.weir;
    // Of acme's: what a busy machine does not answer in time counts as well, and is asked again.
    let mut denied = 0;
    for (tenant, cost) in [("hooli", 5), ("acme", 30), ("acme", 9_999)] {
        let check = json!({ "tenant": tenant, "budget": "tokens", "cost": cost });
        let start = now();
        loop {
            let decision = decide(&deployed.client, check.clone()).await;
            denied += u64::from(tenant == "acme" && !decision.allowed);
            if decision.reason != Reason::Unavailable {
                break;
            }
            assert!(start.elapsed() < SETTLING, "{decision:?}");
        }
    }
    assert!(denied >= 1, "more than there is");
    let start = now();
    let look: Value = loop {
        let look = weir.json(0, &["top", "--once", "--budget", "tokens"]);
        let tenants = look["tenants"].as_array().unwrap();
        if tenants.len() == 2 && tenants[0]["denied"] == denied {
            break look;
        }
        assert!(start.elapsed() < SETTLING, "{look}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let told: Vec<_> = look["tenants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["tenant"], &row["used"]))
        .collect();
    assert_eq!(
        told,
        [(&json!("acme"), &json!(30)), (&json!("hooli"), &json!(5))]
    );
    let text = weir.ends(0, &["top", "--once", "--rows", "1"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("tenant "), "{text}");
    assert!(
        lines[2].starts_with("acme    enterprise       4    30"),
        "{text}"
    );
    assert_eq!(lines[3..], ["and 1 other"], "{text}");
}
