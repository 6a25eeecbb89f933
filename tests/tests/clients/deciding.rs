//! Checks, batches of them, and requests that are wrong.

use serde_json::{Value, json};

use super::{Deployed, Scripts, left, run};

pub(super) async fn every_kind_of_check_is_answered_with_the_decision_of_the_interface(
    subject: &dyn Scripts,
) {
    let (deployed, told) = run(subject, "check", Deployed::start).await;
    let budget = &told["budget"];
    let expected = json!({
        "allowed": true, "limit": 1_000, "remaining": 997, "reset_at": budget["reset_at"], "retry_after_ms": 0,
        "binding": "tokens", "reason": "admitted", "region": "weur", "window": budget["window"],
        "policy_revision": budget["policy_revision"],
    });
    assert_eq!(budget, &expected);
    assert!(budget["window"].is_u64() && budget["policy_revision"].is_u64());
    assert_eq!(told["denied"]["reason"], "cap_reached");
    assert_eq!(told["denied"]["allowed"], false);
    assert!(told["denied"]["retry_after_ms"].as_u64() > Some(0));
    assert_eq!(told["never"]["reason"], "never");
    assert_eq!(told["never"]["retry_after_ms"], Value::Null);
    for (name, binding) in [
        ("limit", "per_ip"),
        ("meter", "results"),
        ("guard", "calls"),
        ("overload", "origin"),
    ] {
        let decision = &told[name];
        assert_eq!(
            (&decision["allowed"], &decision["binding"]),
            (&json!(true), &json!(binding)),
            "{name}"
        );
    }
    for name in ["login", "meters", "several"] {
        assert_eq!(told[name]["reason"], "admitted", "{name}: {}", told[name]);
    }
    assert!(told["guard"]["slot"].is_string() && told["guard"]["expires_at"].is_u64());
    assert_eq!(
        told["released"],
        json!({ "held": false, "expires_at": null })
    );
    assert_eq!(told["reported"], true);
    assert_eq!(
        told["place"],
        json!({ "accepted": true, "delay_ms": 0, "retry_after_ms": 0 })
    );
    // A place each ten seconds, less what passed between the two.
    assert!(
        told["queued"]["delay_ms"].as_u64() > Some(2_000),
        "{}",
        told["queued"]
    );
    assert_eq!(told["left"], 990);
    // An error says what is wrong, and where.
    let invalid = &told["invalid"];
    assert_eq!(
        (&invalid["status"], &invalid["type"]),
        (&json!(400), &json!("/problems/invalid"))
    );
    assert_eq!(invalid["field"], "/checks/1/cost");
    assert!(invalid["detail"].is_string() && invalid["title"].is_string());
    assert_eq!(told["unknown"]["status"], 404);
    assert_eq!(told["unknown"]["field"], "/budget");
    assert_eq!(told["stranger"]["status"], 401);
    assert_eq!(left(&deployed.client).await, 990);
}

pub(super) async fn fifty_checks_at_once_are_one_request_and_one_at_fault_harms_no_other(
    subject: &dyn Scripts,
) {
    let (deployed, told) = run(subject, "batch", Deployed::start).await;
    assert_eq!(told["requests"], json!(["/v1/check/batch"]));
    let remaining: Vec<u64> = (0..50).map(|index| 1_000 - 2 * (index + 1)).collect();
    assert_eq!(
        told["remaining"],
        json!(remaining),
        "in the order of the questions"
    );
    assert_eq!(told["allowed"], 50);
    // Each of two was refused by itself, and the other three are charged once.
    let mixed = told["mixed"].as_array().unwrap();
    let of = |index: usize| &mixed[index]["answered"]["remaining"];
    assert_eq!(
        [of(0), of(2), of(4)],
        [&json!(898), &json!(896), &json!(894)]
    );
    assert_eq!(
        (&mixed[1]["status"], &mixed[1]["field"]),
        (&json!(404), &json!("/budget"))
    );
    assert_eq!(
        (&mixed[3]["status"], &mixed[3]["field"]),
        (&json!(400), &json!("/tenant"))
    );
    assert_eq!(told["retried"], json!(vec!["/v1/check/batch"; 3]));
    assert_eq!(
        (&told["alone"], &told["single"]),
        (&json!(892), &json!(["/v1/check"]))
    );
    assert_eq!(told["many"], json!({ "admitted": 1_500 }));
    assert_eq!(told["cut"], json!(vec!["/v1/check/batch"; 2]));
    // The same as a list in one call: as many rounds, and errors in the places of decisions.
    assert_eq!(
        told["listed"],
        json!(["admitted", 404, "admitted", 400, "admitted"])
    );
    let seen = |path: &str| deployed.proxy.seen(path);
    assert_eq!((seen("/v1/check/batch"), seen("/v1/check")), (9, 1));
    assert_eq!(left(&deployed.client).await, 892);
}
