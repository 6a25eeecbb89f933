//! The question of `POST /v1/check`: what is refused, where and why, and what the rest comes to.

use crate::refusal::refusal;
use weir_shared::check::{Check, Item, Keys, Target};
use weir_shared::invalid::{Invalid, read_json};
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::check::CheckRequest;

fn check(text: &str) -> Result<Check, Invalid> {
    read_json::<CheckRequest>(text.as_bytes()).and_then(Check::try_from)
}

fn is_refused(text: &str, field: &str, message: &str) {
    let expected = (field.to_owned(), message.to_owned());
    assert_eq!(refusal(check(text)), expected, "{text}");
}

fn budget(name: &str) -> Target {
    Target::Budget(name.to_owned())
}

fn limit(name: &str, key: Option<&str>) -> Target {
    Target::Limit {
        name: name.to_owned(),
        keys: key.map_or(Keys::None, |key| Keys::One(key.to_owned())),
    }
}

fn login(keys: &[(&str, &str)]) -> Target {
    let owned = |(name, key): &(&str, &str)| ((*name).to_owned(), (*key).to_owned());
    Target::Limit {
        name: "login".to_owned(),
        keys: Keys::Named(OrderedMap::from_iter(keys.iter().map(owned))),
    }
}

fn item(target: Target, cost: u64, at: &str) -> Item {
    Item {
        target,
        cost,
        at: at.to_owned(),
    }
}

#[test]
fn both_forms_come_to_the_same_check() {
    let longest = "x".repeat(128);
    let keys = [("ip", "203.0.113.9"), ("resets", "bob")];
    let cases = [
        (r#"{"tenant":"acme","budget":"tokens","cost":3}"#.to_owned(), Some("acme"), budget("tokens"), 3, ""),
        (r#"{"tenant":"acme","budget":"tokens"}"#.to_owned(), Some("acme"), budget("tokens"), 1, ""),
        (r#"{"tenant":"acme","budget":"tokens","cost":0}"#.to_owned(), Some("acme"), budget("tokens"), 0, ""),
        (r#"{"tenant":"acme","budget":"tokens","cost":9007199254740991}"#.to_owned(), Some("acme"), budget("tokens"), 9_007_199_254_740_991, ""),
        (r#"{"limit":"per_ip","key":"203.0.113.9"}"#.to_owned(), None, limit("per_ip", Some("203.0.113.9")), 1, ""),
        (r#"{"limit":"per_ip"}"#.to_owned(), None, limit("per_ip", None), 1, ""),
        (r#"{"limit":"login","keys":{"ip":"203.0.113.9","resets":"bob"}}"#.to_owned(), None, login(&keys), 1, ""),
        (r#"{"tenant":"acme","limit":"per_ip","key":"k"}"#.to_owned(), Some("acme"), limit("per_ip", Some("k")), 1, ""),
        (r#"{"tenant":"acme","checks":[{"budget":"tokens","cost":7}],"require":"all"}"#.to_owned(), Some("acme"), budget("tokens"), 7, "/checks/0"),
        (r#"{"checks":[{"limit":"per_ip","key":"k"}]}"#.to_owned(), None, limit("per_ip", Some("k")), 1, "/checks/0"),
        (r#"{"checks":[{"limit":"login","keys":{"resets":"bob","ip":"203.0.113.9"}}]}"#.to_owned(), None, login(&keys), 1, "/checks/0"),
        (r#"{"budget":"tokens","tenant":"Zoë 🦀/~"}"#.to_owned(), Some("Zoë 🦀/~"), budget("tokens"), 1, ""),
        (format!(r#"{{"budget":"tokens","tenant":"{longest}"}}"#), Some(longest.as_str()), budget("tokens"), 1, ""),
        (r#"{"tenant":null,"limit":"per_ip","key":null,"keys":null,"cost":null,"checks":null,"require":null,"reserve":null}"#.to_owned(), None, limit("per_ip", None), 1, ""),
    ];
    for (text, tenant, target, cost, at) in cases {
        let expected = Check {
            tenant: tenant.map(str::to_owned),
            items: vec![item(target, cost, at)],
            reserve: false,
        };
        assert_eq!(check(&text), Ok(expected), "{text}");
    }
}

#[test]
fn several_checks_keep_their_order_and_their_places() {
    let text = r#"{"tenant":"acme","checks":[{"budget":"tokens","cost":1500},{"limit":"per_ip","key":"k","cost":0},
        {"budget":"rows"},{"limit":"per_ip","key":"k"}],"require":"all","reserve":true}"#;
    let expected = Check {
        tenant: Some("acme".to_owned()),
        items: vec![
            item(budget("tokens"), 1_500, "/checks/0"),
            item(limit("per_ip", Some("k")), 0, "/checks/1"),
            item(budget("rows"), 1, "/checks/2"),
            item(limit("per_ip", Some("k")), 1, "/checks/3"),
        ],
        reserve: true,
    };
    assert_eq!(check(text), Ok(expected));
}

#[test]
fn a_request_charges_at_most_16_things() {
    let checks = |count| {
        let items = vec![r#"{"limit":"per_ip","key":"k"}"#; count];
        format!(r#"{{"checks":[{}]}}"#, items.join(","))
    };
    assert_eq!(check(&checks(16)).unwrap().items.len(), 16);
    let message = "17 checks, at most 16 are allowed";
    is_refused(&checks(17), "/checks", message);
}

#[test]
fn a_reservation_is_of_something() {
    let checked = |text: &str| check(text).unwrap().reserve;
    assert!(checked(
        r#"{"tenant":"acme","budget":"tokens","reserve":true}"#
    ));
    assert!(!checked(
        r#"{"tenant":"acme","budget":"tokens","cost":0,"reserve":false}"#
    ));
    let message = "cannot be given together with a cost of 0";
    for text in [
        r#"{"limit":"per_ip","key":"k","cost":0,"reserve":true}"#,
        r#"{"checks":[{"limit":"a","cost":0},{"limit":"b","cost":0}],"reserve":true}"#,
    ] {
        is_refused(text, "/reserve", message);
    }
    is_refused(
        r#"{"limit":"per_ip","reserve":"yes"}"#,
        "/reserve",
        "must be true or false, not \"yes\"",
    );
}

#[test]
fn the_keys_of_dimensions_are_1_to_8_each_by_its_dimension() {
    let keys = |count: usize| {
        let keys: Vec<String> = (0..count).map(|n| format!(r#""d{n}":"k""#)).collect();
        format!("{{{}}}", keys.join(","))
    };
    let long = "x".repeat(129);
    let allowed = "allowed are all but control characters";
    let cases = [
        (keys(0), "/keys", "is required".to_owned()),
        (keys(9), "/keys", "9 keys, at most 8 are allowed".to_owned()),
        (
            r#"{"ip":""}"#.to_owned(),
            "/keys/ip",
            "is required".to_owned(),
        ),
        (
            r#"{"ip":"a\nb"}"#.to_owned(),
            "/keys/ip",
            format!("contains '\\n'; {allowed}"),
        ),
        (
            format!(r#"{{"ip":"{long}"}}"#),
            "/keys/ip",
            "129 bytes, at most 128 are allowed".to_owned(),
        ),
        (
            r#"{"an/ip":"k"}"#.to_owned(),
            "/keys/an~1ip",
            "contains '/'; allowed are a-z, 0-9, _ and -".to_owned(),
        ),
        (
            r#"{"ip":7}"#.to_owned(),
            "/keys/ip",
            "must be a text, not 7".to_owned(),
        ),
        (
            r#"["k"]"#.to_owned(),
            "/keys",
            "must be an object, not a list".to_owned(),
        ),
        (
            r#"{"ip":"a","ip":"b"}"#.to_owned(),
            "/keys",
            "\"ip\" is given twice".to_owned(),
        ),
    ];
    for (keys, field, message) in cases {
        is_refused(
            &format!(r#"{{"limit":"login","keys":{keys}}}"#),
            field,
            &message,
        );
        let long = format!(r#"{{"checks":[{{"limit":"a"}},{{"limit":"login","keys":{keys}}}]}}"#);
        is_refused(&long, &format!("/checks/1{field}"), &message);
    }
    let most = format!(r#"{{"limit":"login","keys":{}}}"#, keys(8));
    assert!(check(&most).is_ok());
}

#[test]
fn a_cost_is_an_integer_of_at_most_53_bits() {
    let cases = [
        (
            "9007199254740992",
            "9007199254740992 is outside 0 to 9007199254740991",
        ),
        (
            "18446744073709551615",
            "18446744073709551615 is outside 0 to 9007199254740991",
        ),
        ("-1", "must be a whole number of at least 0, not -1"),
        ("1.5", "must be a whole number of at least 0, not 1.5"),
        ("1.0", "must be a whole number of at least 0, not 1.0"),
        ("1e3", "must be a whole number of at least 0, not 1000.0"),
        ("1e999", "number out of range"),
        ("NaN", "expected value"),
        ("\"1\"", "must be a whole number of at least 0, not \"1\""),
        ("true", "must be a whole number of at least 0, not true"),
        ("[1]", "must be a whole number of at least 0, not a list"),
    ];
    for (cost, message) in cases {
        let short = format!(r#"{{"tenant":"acme","budget":"tokens","cost":{cost}}}"#);
        is_refused(&short, "/cost", message);
        let long = format!(r#"{{"tenant":"acme","checks":[{{"budget":"tokens","cost":{cost}}}]}}"#);
        is_refused(&long, "/checks/0/cost", message);
    }
    let above_64_bits = check(r#"{"tenant":"acme","budget":"tokens","cost":18446744073709551616}"#);
    assert_eq!(above_64_bits.unwrap_err().field, "/cost");
}

#[test]
fn names_are_1_to_128_bytes_without_control_characters() {
    let allowed = "allowed are all but control characters";
    let cases = [
        (String::new(), "is required".to_owned()),
        (
            "x".repeat(129),
            "129 bytes, at most 128 are allowed".to_owned(),
        ),
        (
            "é".repeat(65),
            "130 bytes, at most 128 are allowed".to_owned(),
        ),
        ("a\\nb".to_owned(), format!("contains '\\n'; {allowed}")),
        (
            "\\u0001others".to_owned(),
            format!("contains '\\u{{1}}'; {allowed}"),
        ),
        (
            "a\\u007f".to_owned(),
            format!("contains '\\u{{7f}}'; {allowed}"),
        ),
        (
            "a\\u0085".to_owned(),
            format!("contains '\\u{{85}}'; {allowed}"),
        ),
    ];
    for (name, message) in cases {
        is_refused(
            &format!(r#"{{"tenant":"{name}","budget":"tokens"}}"#),
            "/tenant",
            &message,
        );
        is_refused(
            &format!(r#"{{"tenant":"{name}","limit":"per_ip"}}"#),
            "/tenant",
            &message,
        );
        is_refused(
            &format!(r#"{{"limit":"per_ip","key":"{name}"}}"#),
            "/key",
            &message,
        );
        let long = format!(r#"{{"checks":[{{"limit":"per_ip","key":"{name}"}}]}}"#);
        is_refused(&long, "/checks/0/key", &message);
    }
}

#[test]
fn a_question_names_one_thing_in_one_form() {
    let cases = [
        (r#"{}"#, "/budget", "is required"),
        (r#"{"tenant":"acme","cost":3}"#, "/budget", "is required"),
        (r#"{"tenant":"acme","key":"k"}"#, "/budget", "is required"),
        (r#"{"budget":"tokens"}"#, "/tenant", "is required"),
        (
            r#"{"tenant":"acme","budget":"tokens","limit":"per_ip"}"#,
            "/limit",
            "cannot be given together with budget",
        ),
        (
            r#"{"tenant":"acme","budget":"tokens","key":"k"}"#,
            "/key",
            "cannot be given together with budget",
        ),
        (r#"{"tenant":"acme","checks":[]}"#, "/checks", "is required"),
        (
            r#"{"tenant":"acme","checks":[{}]}"#,
            "/checks/0/budget",
            "is required",
        ),
        (
            r#"{"checks":[{"budget":"tokens"}]}"#,
            "/tenant",
            "is required",
        ),
        (
            r#"{"tenant":"acme","checks":[{"budget":"tokens","key":"k"}]}"#,
            "/checks/0/key",
            "cannot be given together with budget",
        ),
        (
            r#"{"tenant":"acme","checks":[{"budget":"tokens","limit":"per_ip"}]}"#,
            "/checks/0/limit",
            "cannot be given together with budget",
        ),
        (
            r#"{"tenant":"acme","budget":"tokens","keys":{"ip":"k"}}"#,
            "/keys",
            "cannot be given together with budget",
        ),
        (
            r#"{"limit":"login","key":"k","keys":{"ip":"k"}}"#,
            "/keys",
            "cannot be given together with key",
        ),
        (
            r#"{"limit":"login","keys":{"ip":"k"},"checks":[{"limit":"a"}]}"#,
            "/checks",
            "cannot be given together with the short form",
        ),
        (
            r#"{"tenant":"acme","checks":[{"budget":"tokens"},{"limit":"per_ip"},{"budget":"tokens"}]}"#,
            "/checks/2/budget",
            "\"tokens\" is given twice",
        ),
        (
            r#"{"checks":[{"limit":"per_ip"},{"budget":"tokens"}]}"#,
            "/tenant",
            "is required",
        ),
        (
            r#"{"tenant":"acme","budget":"tokens","checks":[{"budget":"tokens"}]}"#,
            "/checks",
            "cannot be given together with the short form",
        ),
        (
            r#"{"tenant":"acme","cost":1,"checks":[{"budget":"tokens"}]}"#,
            "/checks",
            "cannot be given together with the short form",
        ),
    ];
    for (text, field, message) in cases {
        is_refused(text, field, message);
    }
}

#[test]
fn what_is_not_of_the_form_is_refused_where_it_stands() {
    let cases = [
        ("", "", "EOF while parsing a value"),
        ("{", "", "EOF while parsing an object"),
        ("nonsense", "", "expected ident"),
        ("{} {}", "", "trailing characters"),
        ("3", "", "must be an object, not 3"),
        ("null", "", "must be an object, not null"),
        (r#"{"tenant":7}"#, "/tenant", "must be a text, not 7"),
        (
            r#"{"budget":["tokens"]}"#,
            "/budget",
            "must be a text, not a list",
        ),
        (
            r#"{"checks":{}}"#,
            "/checks",
            "must be a list, not an object",
        ),
        (
            r#"{"require":"any","budget":"tokens"}"#,
            "/require",
            "unknown variant `any`, expected `all`",
        ),
        (r#"{"cost":1,"cost":2}"#, "", "duplicate field `cost`"),
        (
            r#"{"tenant":"acme","budget":"tokens","price":3}"#,
            "/price",
            "unknown field `price`, expected one of `tenant`, `budget`, `limit`, `key`, `keys`, `meter`, `meters`, `guard`, `overload`, `cost`, `checks`, `require`, `reserve`",
        ),
    ];
    for (text, field, message) in cases {
        is_refused(text, field, message);
    }
    let refused = read_json::<CheckRequest>(b"{\"tenant\":\"\xff\"}").unwrap_err();
    assert_eq!(refused.field, "/tenant");
}

#[test]
fn an_overload_resource_is_charged_short_and_long_once_and_for_a_tenant() {
    let origin = || Target::Overload("origin".to_owned());
    let short = check(r#"{"tenant":"acme","overload":"origin"}"#).unwrap();
    assert_eq!(
        (&short.items[0].target, short.items[0].cost),
        (&origin(), 1)
    );
    assert_eq!(short.items[0].name_at(), "/overload");
    let long = check(
        r#"{"tenant":"acme","checks":[{"limit":"per_ip","key":"k"},{"overload":"origin","cost":0}]}"#,
    )
    .unwrap();
    assert_eq!((&long.items[1].target, long.items[1].cost), (&origin(), 0));
    for (text, field, message) in [
        (r#"{"overload":"origin"}"#, "/tenant", "is required"),
        (
            r#"{"tenant":"acme","overload":"origin","key":"k"}"#,
            "/key",
            "cannot be given together with overload",
        ),
        (
            r#"{"tenant":"acme","guard":"queries","overload":"origin"}"#,
            "/overload",
            "cannot be given together with guard",
        ),
        (
            r#"{"tenant":"acme","checks":[{"overload":"origin"},{"overload":"origin"}]}"#,
            "/checks/1/overload",
            "\"origin\" is given twice",
        ),
        (
            r#"{"tenant":"acme","overload":"origin","reserve":true}"#,
            "/reserve",
            "cannot be given together with an overload resource alone, which is not settled",
        ),
    ] {
        is_refused(text, field, message);
    }
}
