//! The forms that travel and are stored.

use serde_json::json;
use weir_shared::overload::config::Config;
use weir_shared::overload::hub::Hub;
use weir_shared::units::{HolderId, Incarnation};
use weir_shared::wire::overload::{OverloadBody, ShareBody, ShareReply, StoredOverload};

use crate::overload::{START, overloaded};

#[test]
fn a_resource_of_the_policy_is_told_with_every_field() {
    let told = serde_json::to_value(Config::default().body()).unwrap();
    let expected = json!({
        "buckets": 1000, "levels": 3, "rotate_ms": 300_000, "final": "min", "increase": 0.04,
        "decrease": 0.000_04, "decay_per_s": 0.01, "steering": "fair_rate", "shadow": false
    });
    assert_eq!(told, expected);
    let read: OverloadBody = serde_json::from_value(told).unwrap();
    assert_eq!(Config::try_from(&read), Ok(Config::default()));
}

#[test]
fn a_number_out_of_bounds_is_refused_at_its_field() {
    let cases = [
        ("/levels", json!({ "levels": 0 })),
        ("/levels", json!({ "levels": 9 })),
        ("/buckets", json!({ "buckets": 0 })),
        ("/buckets", json!({ "buckets": 4_097 })),
        ("/buckets", json!({ "buckets": 4_096, "levels": 8 })),
        ("/rotate_ms", json!({ "rotate_ms": 9_999 })),
        ("/rotate_ms", json!({ "rotate_ms": 3_600_001 })),
        ("/increase", json!({ "increase": 0 })),
        ("/increase", json!({ "increase": 1.01 })),
        ("/decrease", json!({ "decrease": 0 })),
        ("/decrease", json!({ "decrease": 0.04 })),
        ("/decay_per_s", json!({ "decay_per_s": -0.1 })),
        ("/decay_per_s", json!({ "decay_per_s": 101 })),
    ];
    for (field, body) in cases {
        let read: OverloadBody = serde_json::from_value(body.clone()).unwrap();
        assert_eq!(Config::try_from(&read).unwrap_err().field, field, "{body}");
    }
    assert!(serde_json::from_value::<OverloadBody>(json!({ "bucket": 5 })).is_err());
}

#[test]
fn share_reply_and_row_keep_their_form() {
    let terms = json!({
        "revision": 1, "buckets": 1000, "levels": 3, "rotate_ms": 300_000, "steering": "fair_rate",
        "final": "min", "increase": 0.04, "decrease": 0.000_04, "decay_per_s": 0.01
    });
    let mut share = json!({
        "resource": "origin", "incarnation": 5, "sequence": 1, "terms": terms, "period": 5_666_667,
        "live": "Awo", "succeeded": 3, "failed": 2, "rate": 1.5
    });
    let body: ShareBody = serde_json::from_value(share.clone()).unwrap();
    assert_eq!(serde_json::to_value(&body).unwrap(), share);
    share["a later field"] = json!(1);
    assert_eq!(serde_json::from_value::<ShareBody>(share).unwrap(), body);

    let mut hub = Hub::new("origin", Incarnation(9), &body.terms, START).unwrap();
    let reply = hub.take(HolderId(4), &body, START).unwrap();
    let told = serde_json::to_value(&reply).unwrap();
    assert_eq!(told["merged"]["period"], json!(START.0 / 300_000));
    assert_eq!(
        (&told["incarnation"], &told["sequence"]),
        (&json!(5), &json!(1))
    );
    assert_eq!(serde_json::from_value::<ShareReply>(told).unwrap(), reply);

    let row = serde_json::to_value(hub.stored(START)).unwrap();
    assert_eq!(row["heard"], json!([[4, 5, 1]]));
    assert_eq!(row["at"], json!(START.0));
    assert_eq!(
        serde_json::from_value::<StoredOverload>(row).unwrap(),
        hub.stored(START)
    );
}

#[test]
fn a_share_of_a_thousand_clients_stays_small() {
    let mut origin = overloaded();
    for number in 0..1_000 {
        let name = format!("client-{number}");
        origin.check(&crate::overload::client(&name), 1, 0.5, START);
    }
    let body = serde_json::to_vec(&origin.share(START).unwrap()).unwrap();
    assert!(body.len() < 32_000, "{} bytes", body.len());
}
