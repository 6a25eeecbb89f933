//! Which versions of a form are read, and what is refused or taken for damaged: old and new code talk to each other
//! during a deploy, and new code wakes on old rows.

use std::fmt::Debug;

use crate::wire::samples::{ESCROW, FRAME, MESSAGE, POOL, REPLY, frame, message, reply};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use weir_shared::federation::message::Message;
use weir_shared::federation::stored::{StoredEscrow, StoredPool};
use weir_shared::limits::EXCHANGE_ENTRIES_MAX;
use weir_shared::wire::exchange::{ExchangeBody, Refusal, VERSION};
use weir_shared::wire::stored::{Damaged, Row, read_row};

/// The form as a writer of version `v` may write it, with a field that is not known here in each of the objects at
/// `places`.
fn of_version(text: &str, v: u16, places: &[&str]) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    value["v"] = json!(v);
    for place in places {
        value.pointer_mut(place).unwrap()["unheard_of"] = json!({ "deep": [1, null] });
    }
    value.to_string()
}

/// Fails unless the value reads as `expected` but for its version.
fn is_read_as<T>(text: &str, expected: &T)
where
    T: Serialize + DeserializeOwned + Debug,
{
    let mut read = serde_json::to_value(serde_json::from_str::<T>(text).unwrap()).unwrap();
    read["v"] = json!(VERSION);
    assert_eq!(read, serde_json::to_value(expected).unwrap(), "{text}");
}

#[test]
fn a_form_of_the_next_version_is_read_and_its_new_fields_are_ignored() {
    let next = VERSION + 1;
    let places = ["", "/terms", "/seen", "/wants/0", "/returns/0"];
    let text = of_version(MESSAGE, next, &places);
    is_read_as(&text, &message());
    let read: ExchangeBody = serde_json::from_str(&text).unwrap();
    assert_eq!(Message::try_from(read).unwrap().waiting(), 5);
    is_read_as(
        &of_version(REPLY, next, &["", "/to", "/window", "/grants/0"]),
        &reply(),
    );
    is_read_as(&of_version(FRAME, next, &[""]), &frame());
    for (text, places) in [(POOL, &["", "/terms"]), (ESCROW, &["", "/seen"])] {
        let text = of_version(text, next, places);
        if places.contains(&"/terms") {
            assert_eq!(read_row::<StoredPool>(&text).unwrap().watermark, 40);
        } else {
            assert_eq!(read_row::<StoredEscrow>(&text).unwrap().held, 40);
        }
    }
}

/// The forms as version 1 wrote them: of first come, as it knew nothing else.
const OF_VERSION_1: [&str; 5] = [
    r#"{"v":1,"budget":"tokens","terms":{"limit":100,"window_ms":60000,"revision":7},"holder":18446744073709551615,"incarnation":2,"sequence":9,"seen":{"incarnation":2,"sequence":8},"window":4711,"wants":[{"tenant":null,"waiting":5,"smallest":2,"expected":30}],"returns":[{"window":4711,"units":4}],"denied":6}"#,
    r#"{"v":1,"to":{"incarnation":2,"sequence":8},"window":{"label":4711,"remaining_ms":41000,"limit":100},"grants":[{"tenant":null,"units":12,"ceiling":100}],"left":50,"outage":false,"next_contact_ms":500}"#,
    r#"{"v":1,"sender":7,"incarnation":2,"sequence":9,"receiver":3,"again":false,"counters":{"acme":{"budgets":{"tokens":{"admitted_calls":1,"admitted_units":5,"denied_calls":0,"denied_units":0}}}}}"#,
    r#"{"v":1,"label":4711,"ends_at":1700000060000,"window_ms":30000,"terms":{"limit":100,"window_ms":60000,"revision":7},"watermark":40}"#,
    r#"{"v":1,"label":4711,"ends_at":1700000060000,"span_ms":41000,"limit":100,"held":40,"watermark":30,"seen":{"incarnation":2,"sequence":8}}"#,
];

#[test]
fn what_version_1_wrote_is_read_as_it_was_meant() {
    let [old_message, old_reply, old_frame, old_pool, old_escrow] = OF_VERSION_1;
    is_read_as(old_message, &message());
    let read: ExchangeBody = serde_json::from_str(old_message).unwrap();
    assert_eq!(Message::try_from(read).unwrap().waiting(), 5);
    is_read_as(old_reply, &reply());
    is_read_as(old_frame, &frame());
    let pool = read_row::<StoredPool>(old_pool).unwrap();
    assert_eq!((pool.watermark, pool.terms.sharing), (40, None));
    let escrow = read_row::<StoredEscrow>(old_escrow).unwrap();
    assert_eq!((escrow.held, escrow.watermark), (40, 30));
}

#[test]
fn the_version_before_and_after_are_accepted_and_no_others() {
    for (v, accepted) in [
        (0, false),
        (1, true),
        (2, true),
        (3, true),
        (4, false),
        (u16::MAX, false),
    ] {
        let body: ExchangeBody = serde_json::from_str(&of_version(MESSAGE, v, &[])).unwrap();
        let refusal = Refusal::Version {
            got: v,
            have: VERSION,
        };
        let expected = if accepted { None } else { Some(refusal) };
        assert_eq!(
            Message::try_from(body).err(),
            expected,
            "message of version {v}"
        );
        let damaged = (!accepted).then_some(Damaged::Version {
            got: v,
            have: VERSION,
        });
        let pool = read_row::<StoredPool>(&of_version(POOL, v, &[]));
        assert_eq!(pool.err(), damaged, "row of version {v}");
        let escrow = read_row::<StoredEscrow>(&of_version(ESCROW, v, &[]));
        assert_eq!(escrow.err(), damaged, "row of version {v}");
    }
}

#[test]
fn a_message_out_of_bounds_is_malformed_by_name() {
    let above = json!(9_007_199_254_740_992_u64);
    let want = json!({ "tenant": null, "waiting": 1, "smallest": 1, "expected": 0 });
    let back = json!({ "window": 1, "units": 1 });
    let cases = [
        ("/incarnation", json!(0), "incarnation"),
        ("/incarnation", above.clone(), "incarnation"),
        ("/sequence", json!(0), "sequence"),
        ("/sequence", above.clone(), "sequence"),
        ("/terms/revision", above.clone(), "terms/revision"),
        ("/terms/limit", json!(0), "terms/limit"),
        ("/terms/limit", above.clone(), "terms/limit"),
        ("/terms/window_ms", json!(0), "terms/window_ms"),
        (
            "/terms/window_ms",
            json!(34_560_000_001_u64),
            "terms/window_ms",
        ),
        (
            "/wants",
            Value::Array(vec![want; EXCHANGE_ENTRIES_MAX + 1]),
            "wants",
        ),
        ("/wants/0/waiting", above.clone(), "wants"),
        ("/wants/0/expected", above.clone(), "wants"),
        ("/wants/0/smallest", json!(6), "wants"),
        (
            "/returns",
            Value::Array(vec![back; EXCHANGE_ENTRIES_MAX + 1]),
            "returns",
        ),
        ("/returns/0/units", above.clone(), "returns"),
        ("/returns/0/window", above.clone(), "window"),
        ("/window", above, "window"),
    ];
    for (pointer, value, field) in cases {
        let mut body: Value = serde_json::from_str(MESSAGE).unwrap();
        *body.pointer_mut(pointer).unwrap() = value;
        let refused = Message::try_from(serde_json::from_value::<ExchangeBody>(body).unwrap());
        let field = field.to_owned();
        assert_eq!(refused, Err(Refusal::Malformed { field }), "{pointer}");
    }
    let mut named = message();
    named.wants[0].tenant = Some("acme".to_owned());
    assert_eq!(Message::try_from(named), Err(Refusal::TenantNamed));
}

#[test]
fn a_pool_name_that_is_none_is_malformed() {
    for name in [
        "",
        "Tokens",
        "\u{1}k",
        "hourly\u{1}",
        "hourly\u{1}a\u{1}b\u{1}c",
        "a\nb",
    ] {
        let mut body = message();
        body.budget = name.to_owned();
        let field = "budget".to_owned();
        assert_eq!(
            Message::try_from(body),
            Err(Refusal::Malformed { field }),
            "{name:?}"
        );
    }
    let mut body = message();
    body.budget = "hourly\u{1}acme\u{1}10.0.0.1".to_owned();
    assert!(Message::try_from(body).is_ok());
}

#[test]
fn a_cycle_that_cannot_be_is_malformed_by_name_and_damages_a_row() {
    let sliding = |buckets: u64| json!({ "sliding": { "buckets": buckets } });
    let with = |field: &str, value: Value| {
        let mut calendar = json!({ "cadence": "calendar_week" });
        calendar[field] = value;
        json!({ "calendar": calendar })
    };
    let fixed = |period_ms: u64, anchor: i64| json!({ "calendar": { "cadence": "fixed", "period_ms": period_ms, "anchor": anchor } });
    // Of windows of a minute.
    let cases = [
        (sliding(0), "terms/cycle/buckets"),
        (sliding(7), "terms/cycle/buckets"),
        (sliding(120), "terms/cycle/buckets"),
        (sliding(u64::MAX), "terms/cycle/buckets"),
        (with("cadence", json!("rolling")), "terms/cycle/cadence"),
        (with("cadence", json!("fixed")), "terms/cycle/period_ms"),
        (fixed(999, 0), "terms/cycle/period_ms"),
        (fixed(u64::MAX, 0), "terms/cycle/period_ms"),
        (fixed(60_000, i64::MIN), "terms/cycle/anchor"),
        (fixed(60_000, i64::MAX), "terms/cycle/anchor"),
        (
            with("offset_minutes", json!(841)),
            "terms/cycle/offset_minutes",
        ),
        (
            with("offset_minutes", json!(i64::MIN)),
            "terms/cycle/offset_minutes",
        ),
        (
            with("week_starts_on", json!(7)),
            "terms/cycle/week_starts_on",
        ),
        (
            with("time_zone", json!("Mars/Olympus")),
            "terms/cycle/time_zone",
        ),
    ];
    for (cycle, field) in cases {
        let mut body: Value = serde_json::from_str(MESSAGE).unwrap();
        body["terms"]["cycle"] = cycle.clone();
        let refused = Message::try_from(serde_json::from_value::<ExchangeBody>(body).unwrap());
        let field = field.to_owned();
        assert_eq!(refused, Err(Refusal::Malformed { field }), "{cycle}");
        let damaged = is_damaged::<StoredPool>(POOL, "/terms/cycle", Some(cycle));
        let what = "a cycle that cannot be";
        assert_eq!(damaged, Damaged::Contradiction { what });
    }
    let zoned = json!({ "calendar": {
        "cadence": "calendar_day", "time_zone": "Europe/Berlin", "offset_minutes": 60
    } });
    let mut body: Value = serde_json::from_str(MESSAGE).unwrap();
    body["terms"]["cycle"] = zoned;
    let refused = Message::try_from(serde_json::from_value::<ExchangeBody>(body).unwrap());
    let field = "terms/cycle/time_zone".to_owned();
    assert_eq!(refused, Err(Refusal::Malformed { field }));
}

#[test]
fn a_history_with_too_many_parts_damages_its_row() {
    let damaged = is_damaged::<StoredPool>(POOL, "/history", Some(json!(vec![0; 101])));
    let what = "more parts than a rolling window has";
    assert_eq!(damaged, Damaged::Contradiction { what });
}

fn is_damaged<R: Row + Debug + PartialEq>(
    text: &str,
    pointer: &str,
    value: Option<Value>,
) -> Damaged {
    let mut row: Value = serde_json::from_str(text).unwrap();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = row.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => parent.insert(name.to_owned(), value),
        None => parent.remove(name),
    };
    read_row::<R>(&row.to_string()).expect_err(pointer)
}

#[test]
fn a_damaged_row_is_told_and_is_no_panic() {
    for text in [
        "",
        "{",
        "null",
        "7",
        "\"\"",
        "{}",
        "\u{0}\u{1}",
        &POOL[..POOL.len() / 2],
        &format!("{POOL}{POOL}"),
    ] {
        let form =
            |damaged: Damaged| matches!(damaged, Damaged::Form { message } if !message.is_empty());
        assert!(form(read_row::<StoredPool>(text).unwrap_err()), "{text}");
        assert!(form(read_row::<StoredEscrow>(text).unwrap_err()), "{text}");
    }
    let values = [
        None,
        Some(json!(-1)),
        Some(json!(1.5)),
        Some(json!("40")),
        Some(Value::Null),
    ];
    for value in values {
        for pointer in [
            "/v",
            "/label",
            "/ends_at",
            "/window_ms",
            "/terms",
            "/terms/limit",
            "/terms/window_ms",
            "/terms/revision",
            "/watermark",
        ] {
            let damaged = is_damaged::<StoredPool>(POOL, pointer, value.clone());
            assert!(
                matches!(damaged, Damaged::Form { .. }),
                "{pointer} {value:?}: {damaged}"
            );
        }
        for pointer in [
            "/v",
            "/label",
            "/ends_at",
            "/span_ms",
            "/limit",
            "/held",
            "/watermark",
            "/seen/sequence",
        ] {
            let damaged = is_damaged::<StoredEscrow>(ESCROW, pointer, value.clone());
            assert!(
                matches!(damaged, Damaged::Form { .. }),
                "{pointer} {value:?}: {damaged}"
            );
        }
    }
    let what = "a window without limit or length";
    for pointer in ["/window_ms", "/terms/limit", "/terms/window_ms"] {
        let damaged = is_damaged::<StoredPool>(POOL, pointer, Some(json!(0)));
        assert_eq!(damaged, Damaged::Contradiction { what }, "{pointer}");
    }
    let what = "a label outside its range";
    for label in [0, 9_007_199_254_740_992_u64] {
        let pool = is_damaged::<StoredPool>(POOL, "/label", Some(json!(label)));
        let escrow = is_damaged::<StoredEscrow>(ESCROW, "/label", Some(json!(label)));
        assert_eq!(pool, Damaged::Contradiction { what }, "{label}");
        assert_eq!(escrow, pool, "{label}");
    }
    let damaged = is_damaged::<StoredEscrow>(ESCROW, "/watermark", Some(json!(41)));
    let what = "more lent on than held";
    assert_eq!(damaged, Damaged::Contradiction { what });
    assert_eq!(damaged.to_string(), what);
}
