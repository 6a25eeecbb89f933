//! The questions of `POST /v1/check/batch`, `/v1/reserve` and `/v1/settle`: what is refused, where and why, and what the
//! rest comes to.

use crate::refusal::refusal;
use weir_shared::check::batch::Batch;
use weir_shared::check::reserve::Reserve;
use weir_shared::check::settle::Settle;
use weir_shared::invalid::{Invalid, read_json};
use weir_shared::wire::batch::BatchRequest;
use weir_shared::wire::check::CheckRequest;
use weir_shared::wire::reserve::ReserveRequest;
use weir_shared::wire::settle::SettleRequest;

fn batch(text: &str) -> Result<Batch, Invalid> {
    read_json::<BatchRequest>(text.as_bytes()).and_then(Batch::try_from)
}

fn reserve(text: &str) -> Result<Reserve, Invalid> {
    read_json::<ReserveRequest>(text.as_bytes()).and_then(Reserve::try_from)
}

fn settle(text: &str) -> Result<Settle, Invalid> {
    read_json::<SettleRequest>(text.as_bytes()).and_then(Settle::try_from)
}

/// Fails unless the text is refused at `field` with the message.
fn is_refused<T: std::fmt::Debug>(
    read: fn(&str) -> Result<T, Invalid>,
    text: &str,
    field: &str,
    message: &str,
) {
    let expected = (field.to_owned(), message.to_owned());
    assert_eq!(refusal(read(text)), expected, "{text}");
}

#[test]
fn a_batch_is_its_questions_in_order() {
    let text = r#"{"requests":[{"limit":"per_ip","key":"a"},{"tenant":"acme","checks":[{"limit":"b"},{"budget":"tokens"}]}]}"#;
    let checks = batch(text).unwrap().checks;
    let places: Vec<Vec<&str>> = checks
        .iter()
        .map(|check| check.items.iter().map(|item| item.at.as_str()).collect())
        .collect();
    let expected = [
        vec!["/requests/0"],
        vec!["/requests/1/checks/0", "/requests/1/checks/1"],
    ];
    assert_eq!(places, expected);
    assert_eq!(checks[1].tenant.as_deref(), Some("acme"));
}

#[test]
fn a_batch_is_refused_where_one_of_its_questions_is() {
    let cases = [
        (r#"{}"#, "/requests", "is required"),
        (r#"{"requests":[]}"#, "/requests", "is required"),
        (
            r#"{"requests":[{"limit":"a"},{"budget":"b"}]}"#,
            "/requests/1/tenant",
            "is required",
        ),
        (
            r#"{"requests":[{"limit":"a"},{}]}"#,
            "/requests/1/budget",
            "is required",
        ),
        (
            r#"{"requests":[{"checks":[{"limit":"a"},{"limit":"b","key":""}]}]}"#,
            "/requests/0/checks/1/key",
            "is required",
        ),
        (
            r#"{"requests":[{"limit":"a","tenant":""}]}"#,
            "/requests/0/tenant",
            "is required",
        ),
        (
            r#"{"requests":[{"limit":"a","cost":0,"reserve":true}]}"#,
            "/requests/0/reserve",
            "cannot be given together with a cost of 0",
        ),
        (
            r#"{"requests":[{"tenant":"t","checks":[{"budget":"b"},{"budget":"b"}]}]}"#,
            "/requests/0/checks/1/budget",
            "\"b\" is given twice",
        ),
        (
            r#"{"requests":[{"limit":"a","cost":9007199254740992}]}"#,
            "/requests/0/cost",
            "9007199254740992 is outside 0 to 9007199254740991",
        ),
        (
            r#"{"requests":[{"limit":"a","cost":1.5}]}"#,
            "/requests/0/cost",
            "must be a whole number of at least 0, not 1.5",
        ),
        (
            r#"{"requests":[],"require":"all"}"#,
            "/require",
            "unknown field `require`, expected `requests`",
        ),
    ];
    for (text, field, message) in cases {
        is_refused(batch, text, field, message);
    }
    let many = |count| {
        let requests = vec![r#"{"limit":"a"}"#; count];
        format!(r#"{{"requests":[{}]}}"#, requests.join(","))
    };
    assert_eq!(batch(&many(1_000)).unwrap().checks.len(), 1_000);
    let message = "1001 requests, at most 1000 are allowed";
    is_refused(batch, &many(1_001), "/requests", message);
}

#[test]
fn a_place_in_a_queue_is_asked_for_by_limit_key_and_cost() {
    let whole = reserve(r#"{"tenant":"acme","limit":"shape","key":"k","cost":3}"#).unwrap();
    let expected = Reserve {
        tenant: Some("acme".to_owned()),
        limit: "shape".to_owned(),
        key: Some("k".to_owned()),
        cost: 3,
    };
    assert_eq!(whole, expected);
    let least = reserve(r#"{"limit":"shape"}"#).unwrap();
    assert_eq!((least.tenant, least.key, least.cost), (None, None, 1));
    let cases = [
        (r#"{}"#, "/limit", "is required"),
        (r#"{"limit":"shape","tenant":""}"#, "/tenant", "is required"),
        (
            r#"{"limit":"shape","key":"a\u0000"}"#,
            "/key",
            "contains '\\0'; allowed are all but control characters",
        ),
        (
            r#"{"limit":"shape","cost":9007199254740992}"#,
            "/cost",
            "9007199254740992 is outside 0 to 9007199254740991",
        ),
        (
            r#"{"limit":"shape","cost":-1}"#,
            "/cost",
            "must be a whole number of at least 0, not -1",
        ),
        (
            r#"{"limit":"shape","keys":{"ip":"k"}}"#,
            "/keys",
            "unknown field `keys`, expected one of `tenant`, `limit`, `key`, `cost`",
        ),
    ];
    for (text, field, message) in cases {
        is_refused(reserve, text, field, message);
    }
}

#[test]
fn a_settlement_names_a_reservation_and_what_was_used() {
    let settled = settle(r#"{"reservation":"abc.def","actual":0}"#).unwrap();
    assert_eq!(
        (settled.reservation.as_str(), settled.actual),
        ("abc.def", 0)
    );
    let cases = [
        (r#"{"actual":1}"#, "/reservation", "is required"),
        (
            r#"{"reservation":"","actual":1}"#,
            "/reservation",
            "is required",
        ),
        (r#"{"reservation":"a"}"#, "/actual", "is required"),
        (
            r#"{"reservation":"a","actual":9007199254740992}"#,
            "/actual",
            "9007199254740992 is outside 0 to 9007199254740991",
        ),
        (
            r#"{"reservation":"a","actual":-1}"#,
            "/actual",
            "must be a whole number of at least 0, not -1",
        ),
        (
            r#"{"reservation":7,"actual":1}"#,
            "/reservation",
            "must be a text, not 7",
        ),
        (
            r#"{"reservation":"a","actual":1,"cost":1}"#,
            "/cost",
            "unknown field `cost`, expected `reservation` or `actual`",
        ),
    ];
    for (text, field, message) in cases {
        is_refused(settle, text, field, message);
    }
    let sized = |bytes| format!(r#"{{"reservation":"{}","actual":1}}"#, "x".repeat(bytes));
    assert!(settle(&sized(4_096)).is_ok());
    let message = "4097 bytes, at most 4096 are allowed";
    is_refused(settle, &sized(4_097), "/reservation", message);
}

#[test]
fn a_list_is_not_read_as_an_object_by_position_at_any_depth() {
    let cases = [
        (r#"["pro:a","tokens"]"#, ""),
        (r#"{"tenant":"a","checks":[["tokens"]]}"#, "/checks/0"),
        (
            r#"{"tenant":"a","checks":[{"budget":"tokens"},["tokens"]]}"#,
            "/checks/1",
        ),
    ];
    for (text, field) in cases {
        let refused = read_json::<CheckRequest>(text.as_bytes()).unwrap_err();
        assert_eq!(refused.field, field, "{text}");
    }
    let text = br#"{"requests":[{"limit":"l","key":"k"},["pro:a","tokens"]]}"#;
    let refused = read_json::<BatchRequest>(text).unwrap_err();
    assert_eq!(refused.field, "/requests/1");
}
