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
    // Tuned, it tells for how many clients, not what came of that.
    let tuned = Config::try_from(&of(json!({ "clients": 100_000 }))).unwrap();
    let told = serde_json::to_value(tuned.body()).unwrap();
    let mut expected = expected;
    expected["clients"] = json!(100_000);
    expected.as_object_mut().unwrap().remove("levels");
    assert_eq!(told, expected);
    assert_eq!(Config::try_from(&of(told)), Ok(tuned));
}

fn of(body: serde_json::Value) -> OverloadBody {
    serde_json::from_value(body).unwrap()
}

/// With a probability of at most 1 in 10,000 one that is not heavy shares all cells with the heavy ones, and with one level
/// less it would be more, but for the three that there are at least.
#[test]
fn levels_are_found_for_the_number_of_clients() {
    let covered = |clients: u64, buckets: u64, levels: usize| {
        let heavy = clients.div_ceil(1_000) as f64;
        let of_level = 1.0 - (1.0 - 1.0 / buckets as f64).powf(heavy);
        of_level.powi(levels as i32)
    };
    for (clients, buckets, levels) in [
        (1, 1_000, 3),
        (47_000, 1_000, 3),
        (48_000, 1_000, 4),
        (105_000, 1_000, 4),
        (379_000, 1_000, 8),
        (389_000, 1_024, 8),
        (129_000, 2_730, 3),
    ] {
        let body = of(json!({ "clients": clients, "buckets": buckets }));
        let shape = Config::try_from(&body).unwrap().shape;
        assert_eq!(
            (shape.levels(), shape.buckets() as u64),
            (levels, buckets),
            "{clients}"
        );
        assert!(covered(clients, buckets, levels) <= 1e-4, "{clients}");
        assert!(
            levels == 3 || covered(clients, buckets, levels - 1) > 1e-4,
            "{clients}"
        );
    }
    for (body, field, words) in [
        (
            json!({ "clients": 5_000, "levels": 3 }),
            "/levels",
            "/clients",
        ),
        (json!({ "clients": 0 }), "/clients", "1 to 10000000"),
        (
            json!({ "clients": 10_000_001 }),
            "/clients",
            "1 to 10000000",
        ),
        (json!({ "clients": 380_000 }), "/clients", "9 levels"),
        (json!({ "clients": 10_000_000 }), "/clients", "levels"),
        (
            json!({ "clients": 10_000_000, "buckets": 8 }),
            "/clients",
            "more buckets",
        ),
        (
            json!({ "clients": 5_000, "buckets": 4_097 }),
            "/buckets",
            "1 to 4096",
        ),
        (
            json!({ "clients": 5_000, "buckets": 4_096 }),
            "/buckets",
            "at most 8192",
        ),
    ] {
        let refused = Config::try_from(&of(body.clone())).unwrap_err();
        assert_eq!(refused.field, field, "{body}");
        assert!(refused.to_string().contains(words), "{body}: {refused}");
    }
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
