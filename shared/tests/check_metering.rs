//! Meters and guards in the question of `POST /v1/check`, and the questions about slots: what they come to, and what is
//! refused where.

use crate::refusal::refusal;
use weir_shared::check::batch::Batch;
use weir_shared::check::guard::{Acquire, Slot};
use weir_shared::check::{Check, Target};
use weir_shared::invalid::{Invalid, read_json};
use weir_shared::wire::batch::BatchRequest;
use weir_shared::wire::check::CheckRequest;
use weir_shared::wire::guard::{AcquireRequest, AcquiredBody, SlotBody, SlotRequest};

fn check(text: &str) -> Result<Check, Invalid> {
    read_json::<CheckRequest>(text.as_bytes()).and_then(Check::try_from)
}

fn is_refused(text: &str, field: &str, message: &str) {
    let expected = (field.to_owned(), message.to_owned());
    assert_eq!(refusal(check(text)), expected, "{text}");
}

fn meter(name: &str, among: bool) -> Target {
    Target::Meter {
        name: name.to_owned(),
        among,
    }
}

/// What a question charges, with its costs and the pointers to its names.
fn items(text: &str) -> Vec<(Target, u64, String)> {
    let check = check(text).unwrap();
    let items = check.items.into_iter();
    items
        .map(|item| (item.target.clone(), item.cost, item.name_at()))
        .collect()
}

#[test]
fn meters_and_guards_are_asked_in_both_forms() {
    let queries = || Target::Guard("queries".to_owned());
    let cases = [
        (
            r#"{"tenant":"a","meter":"rows","cost":20}"#,
            vec![(meter("rows", false), 20, "/meter")],
        ),
        (
            r#"{"tenant":"a","meter":"rows"}"#,
            vec![(meter("rows", false), 1, "/meter")],
        ),
        (
            r#"{"tenant":"a","meter":"rows","cost":0}"#,
            vec![(meter("rows", false), 0, "/meter")],
        ),
        (
            r#"{"tenant":"a","meters":{"rows":2,"bytes":4096,"look":0}}"#,
            vec![
                (meter("bytes", true), 4_096, "/meters/bytes"),
                (meter("look", true), 0, "/meters/look"),
                (meter("rows", true), 2, "/meters/rows"),
            ],
        ),
        (
            r#"{"tenant":"a","guard":"queries"}"#,
            vec![(queries(), 1, "/guard")],
        ),
        (
            r#"{"tenant":"a","guard":"queries","cost":0}"#,
            vec![(queries(), 0, "/guard")],
        ),
        (
            r#"{"tenant":"a","checks":[{"budget":"tokens","cost":3},{"meters":{"rows":2,"bytes":9}},
                {"guard":"queries"},{"limit":"ip","key":"k"},{"meter":"calls"}]}"#,
            vec![
                (Target::Budget("tokens".to_owned()), 3, "/checks/0/budget"),
                (meter("bytes", true), 9, "/checks/1/meters/bytes"),
                (meter("rows", true), 2, "/checks/1/meters/rows"),
                (queries(), 1, "/checks/2/guard"),
                (
                    Target::Limit {
                        name: "ip".to_owned(),
                        keys: weir_shared::check::Keys::One("k".to_owned()),
                    },
                    1,
                    "/checks/3/limit",
                ),
                (meter("calls", false), 1, "/checks/4/meter"),
            ],
        ),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(target, cost, at)| (target, cost, at.to_owned()))
            .collect();
        assert_eq!(items(text), expected, "{text}");
    }
}

#[test]
fn a_name_that_needs_an_escape_is_pointed_at_with_one() {
    let text = r#"{"tenant":"a","meters":{"a/b~c":1}}"#;
    assert_eq!(items(text)[0].2, "/meters/a~1b~0c");
}

#[test]
fn a_meter_and_a_guard_need_a_tenant_and_one_thing_is_named() {
    let twice = "cannot be given together with";
    let cases = [
        (r#"{"meter":"rows"}"#, "/tenant", "is required".to_owned()),
        (
            r#"{"guard":"queries"}"#,
            "/tenant",
            "is required".to_owned(),
        ),
        (
            r#"{"meters":{"rows":1}}"#,
            "/tenant",
            "is required".to_owned(),
        ),
        (
            r#"{"checks":[{"limit":"ip","key":"k"},{"meter":"rows"}]}"#,
            "/tenant",
            "is required".to_owned(),
        ),
        (
            r#"{"tenant":"a","meters":{}}"#,
            "/meters",
            "is required".to_owned(),
        ),
        (
            r#"{"tenant":"a","meters":{"rows":1},"cost":2}"#,
            "/cost",
            format!("{twice} meters"),
        ),
        (
            r#"{"tenant":"a","meters":{"rows":1},"meter":"rows"}"#,
            "/meters",
            format!("{twice} meter"),
        ),
        (
            r#"{"tenant":"a","meter":"rows","guard":"queries"}"#,
            "/guard",
            format!("{twice} meter"),
        ),
        (
            r#"{"tenant":"a","budget":"tokens","meter":"rows"}"#,
            "/meter",
            format!("{twice} budget"),
        ),
        (
            r#"{"tenant":"a","limit":"ip","guard":"queries"}"#,
            "/guard",
            format!("{twice} limit"),
        ),
        (
            r#"{"tenant":"a","meter":"rows","key":"k"}"#,
            "/key",
            format!("{twice} meter"),
        ),
        (
            r#"{"tenant":"a","meters":{"rows":1},"key":"k"}"#,
            "/key",
            format!("{twice} meters"),
        ),
        (
            r#"{"tenant":"a","guard":"queries","keys":{"ip":"k"}}"#,
            "/keys",
            format!("{twice} guard"),
        ),
        (
            r#"{"tenant":"a","meter":"rows","checks":[{"meter":"rows"}]}"#,
            "/checks",
            format!("{twice} the short form"),
        ),
        (
            r#"{"tenant":"a","checks":[{"meter":"rows"},{"meter":"rows"}]}"#,
            "/checks/1/meter",
            "\"rows\" is given twice".to_owned(),
        ),
        (
            r#"{"tenant":"a","checks":[{"meter":"rows"},{"meters":{"rows":2}}]}"#,
            "/checks/1/meters/rows",
            "\"rows\" is given twice".to_owned(),
        ),
        (
            r#"{"tenant":"a","checks":[{"guard":"a"},{"guard":"b"}]}"#,
            "/checks/1/guard",
            format!("{twice} another guard"),
        ),
    ];
    for (text, field, message) in cases {
        is_refused(text, field, &message);
    }
}

#[test]
fn costs_of_meters_are_integers_of_at_most_53_bits_and_a_guard_gives_one_slot() {
    let integers = "is outside 0 to 9007199254740991";
    let cases = [
        (
            r#"{"tenant":"a","meter":"rows","cost":9007199254740992}"#,
            "/cost",
            format!("9007199254740992 {integers}"),
        ),
        (
            r#"{"tenant":"a","meter":"rows","cost":-1}"#,
            "/cost",
            "must be a whole number of at least 0, not -1".to_owned(),
        ),
        (
            r#"{"tenant":"a","meters":{"bytes":1,"rows":9007199254740992}}"#,
            "/meters/rows",
            format!("9007199254740992 {integers}"),
        ),
        (
            r#"{"tenant":"a","meters":{"rows":-1}}"#,
            "/meters/rows",
            "must be a whole number of at least 0, not -1".to_owned(),
        ),
        (
            r#"{"tenant":"a","meters":{"rows":1.5}}"#,
            "/meters/rows",
            "must be a whole number of at least 0, not 1.5".to_owned(),
        ),
        (
            r#"{"tenant":"a","meters":{"rows":1,"rows":2}}"#,
            "/meters",
            "\"rows\" is given twice".to_owned(),
        ),
        (
            r#"{"tenant":"a","meters":["rows"]}"#,
            "/meters",
            "must be an object, not a list".to_owned(),
        ),
        (
            r#"{"tenant":"a","meter":["rows"]}"#,
            "/meter",
            "must be a text, not a list".to_owned(),
        ),
        (
            r#"{"tenant":"a","guard":"queries","cost":2}"#,
            "/cost",
            "2 is outside 0 to 1".to_owned(),
        ),
        (
            r#"{"tenant":"a","checks":[{"guard":7}]}"#,
            "/checks/0/guard",
            "must be a text, not 7".to_owned(),
        ),
        (
            r#"{"tenant":"a","checks":[{"limit":"ip"},{"guard":"queries","cost":2}]}"#,
            "/checks/1/cost",
            "2 is outside 0 to 1".to_owned(),
        ),
    ];
    for (text, field, message) in cases {
        is_refused(text, field, &message);
    }
    assert_eq!(
        items(r#"{"tenant":"a","meter":"rows","cost":9007199254740991}"#)[0].1,
        (1 << 53) - 1
    );
}

#[test]
fn several_meters_count_towards_the_16_things_of_a_request() {
    let meters = |from: usize, count: usize| {
        let meters: Vec<_> = (from..from + count)
            .map(|n| format!(r#""m{n}":1"#))
            .collect();
        format!(r#"{{"meters":{{{}}}}}"#, meters.join(","))
    };
    let short = |count| meters(0, count).replacen('{', r#"{"tenant":"a","#, 1);
    assert_eq!(check(&short(16)).unwrap().items.len(), 16);
    is_refused(&short(17), "/meters", "17 meters, at most 16 are allowed");
    let long = |second: usize| {
        let checks = [meters(0, 9), meters(9, second)].join(",");
        format!(r#"{{"tenant":"a","checks":[{checks}]}}"#)
    };
    assert_eq!(check(&long(7)).unwrap().items.len(), 16);
    is_refused(&long(8), "/checks", "17 checks, at most 16 are allowed");
}

#[test]
fn a_meter_can_be_settled_and_a_guard_alone_cannot() {
    assert!(check(r#"{"tenant":"a","meter":"rows","cost":9,"reserve":true}"#).is_ok());
    assert!(
        check(r#"{"tenant":"a","checks":[{"meter":"rows"},{"guard":"queries"}],"reserve":true}"#)
            .is_ok()
    );
    let zero = "cannot be given together with a cost of 0";
    is_refused(
        r#"{"tenant":"a","meters":{"rows":0},"reserve":true}"#,
        "/reserve",
        zero,
    );
    is_refused(
        r#"{"tenant":"a","guard":"queries","cost":0,"reserve":true}"#,
        "/reserve",
        zero,
    );
    is_refused(
        r#"{"tenant":"a","guard":"queries","reserve":true}"#,
        "/reserve",
        "cannot be given together with a guard alone, whose slot is released",
    );
}

#[test]
fn a_batch_points_at_the_request_and_the_name_at_fault() {
    let batch = |text: &str| read_json::<BatchRequest>(text.as_bytes()).and_then(Batch::try_from);
    let text = r#"{"requests":[{"tenant":"a","meter":"rows"},{"tenant":"a","checks":[{"guard":"a"},{"guard":"b"}]}]}"#;
    assert_eq!(batch(text).unwrap_err().field, "/requests/1/checks/1/guard");
    let text = r#"{"requests":[{"tenant":"a","meters":{"rows":2}}]}"#;
    let item = &batch(text).unwrap().checks[0].items[0];
    assert_eq!(item.name_at(), "/requests/0/meters/rows");
}

#[test]
fn a_slot_is_asked_for_a_tenant_and_named_by_its_text() {
    let acquire =
        |text: &str| read_json::<AcquireRequest>(text.as_bytes()).and_then(Acquire::try_from);
    let slot = |text: &str| read_json::<SlotRequest>(text.as_bytes()).and_then(Slot::try_from);
    assert_eq!(acquire(r#"{"tenant":"acme"}"#).unwrap().tenant, "acme");
    assert_eq!(slot(r#"{"slot":"x.y"}"#).unwrap().text, "x.y");
    let long = "x".repeat(1_025);
    let refused = |text: &str| match text.contains("slot") {
        true => refusal(slot(text)),
        false => refusal(acquire(text)),
    };
    let cases = [
        (r#"{}"#.to_owned(), "/tenant", "is required".to_owned()),
        (
            r#"{"tenant":""}"#.to_owned(),
            "/tenant",
            "is required".to_owned(),
        ),
        (
            r#"{"tenant":"a\u0001"}"#.to_owned(),
            "/tenant",
            "contains '\\u{1}'; allowed are all but control characters".to_owned(),
        ),
        (
            r#"{"tenant":"a","cost":2}"#.to_owned(),
            "/cost",
            "unknown field `cost`, expected `tenant`".to_owned(),
        ),
        (
            r#"{"slot":""}"#.to_owned(),
            "/slot",
            "is required".to_owned(),
        ),
        (
            format!(r#"{{"slot":"{long}"}}"#),
            "/slot",
            "1025 bytes, at most 1024 are allowed".to_owned(),
        ),
        (
            r#"{"slot":7}"#.to_owned(),
            "/slot",
            "must be a text, not 7".to_owned(),
        ),
        (
            r#"{"slot":"x","tenant":"a"}"#.to_owned(),
            "/tenant",
            "unknown field `tenant`, expected `slot`".to_owned(),
        ),
    ];
    for (text, field, message) in cases {
        assert_eq!(refused(&text), (field.to_owned(), message), "{text}");
    }
}

#[test]
fn the_answers_about_slots_have_their_forms() {
    let acquired = AcquiredBody {
        allowed: true,
        slot: "x.y".to_owned(),
        expires_at: 1_700_000_030_000,
    };
    assert_eq!(
        serde_json::to_string(&acquired).unwrap(),
        r#"{"allowed":true,"slot":"x.y","expires_at":1700000030000}"#
    );
    let held = |held, expires_at| serde_json::to_string(&SlotBody { held, expires_at }).unwrap();
    assert_eq!(held(true, Some(7)), r#"{"held":true,"expires_at":7}"#);
    assert_eq!(held(false, None), r#"{"held":false,"expires_at":null}"#);
}
