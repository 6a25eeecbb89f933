//! What is settled, and what is given back, when a scope ends.

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Deployed, HEARD_OF, Scripts, left, run};

pub(super) async fn a_reservation_is_settled_to_what_was_said_in_full_or_to_nothing(
    subject: &dyn Scripts,
) {
    let (deployed, told) = run(subject, "reserve", Deployed::start).await;
    let scope = |name: &str| {
        let of = |field: &str| told[name][field].clone();
        (of("settled"), of("left"))
    };
    assert_eq!(scope("used"), (json!([30]), json!(970)));
    assert_eq!(told["used"]["value"], "answer");
    assert_eq!(scope("silent"), (json!([100]), json!(870)));
    assert_eq!(scope("threw"), (json!([0]), json!(870)));
    assert_eq!(told["threw"]["thrown"], "before a word");
    assert_eq!(scope("threwLate"), (json!([20]), json!(850)));
    assert_eq!(told["threwLate"]["thrown"], "after a word");
    assert_eq!(scope("beyond"), (json!([150]), json!(700)));
    assert_eq!(scope("denied"), (json!([]), json!(700)));
    assert_eq!(
        (&told["denied"]["allowed"], told["denied"].get("thrown")),
        (&json!(false), None)
    );
    // A guard among several checks is held meanwhile, and free afterwards.
    assert_eq!(scope("several"), (json!([50]), json!(650)));
    assert_eq!(
        (&told["several"]["value"], &told["free"]),
        (&json!("concurrency"), &json!("mine"))
    );
    // At the end of a block.
    assert_eq!(
        (&told["block"], &told["blockSettled"]),
        (&json!(true), &json!([40]))
    );
    assert_eq!(told["left"], 610);
    // Where a task can be cancelled from outside, it settles to what it had said.
    let cancelled = told.get("cancelled");
    if let Some(settled) = cancelled {
        assert_eq!(settled, &json!([1]));
    }
    // What was settled twice would be heard of with the next contact.
    sleep(HEARD_OF).await;
    let after = 610 - u64::from(cancelled.is_some());
    assert_eq!(left(&deployed.client).await, after);
}

pub(super) async fn a_slot_is_renewed_while_it_is_needed_given_back_and_known_to_be_lost(
    subject: &dyn Scripts,
) {
    let (_deployed, told) = run(subject, "acquire", Deployed::start).await;
    let held = json!({ "lost": false, "other": "concurrency" });
    assert_eq!(told["held"], held, "longer than a lease");
    // One each two seconds, for eight; a busy machine may be late for some.
    let renewals = told["renewals"].as_u64();
    assert!((1..=5).contains(&renewals.unwrap()), "{renewals:?}");
    assert_eq!(told["released"], "/v1/guards/calls/release 200");
    assert_eq!(told["thrown"], "inside");
    assert_eq!(
        told["block"],
        json!(["admitted", "concurrency", "admitted"])
    );
    assert_eq!(told["lost"], "The slot had lapsed.");
    // What is lost is somebody else's: it is not given back.
    assert_eq!(told["after"], Value::Array(Vec::new()));
}
