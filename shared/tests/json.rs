//! The reader of JSON reads what a well-known one reads, refuses what that one refuses, and says where.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use weir_shared::invalid::read_json;
use weir_shared::json;
use weir_shared::ordered::OrderedMap;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e15..1e15).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// What JSON is made of, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "d83d",
        "\\ude00",
        "00e9",
        "é",
        "\u{1}",
        "\n",
        " ",
        "\t",
        "null",
        "nul",
        "true",
        "false",
        "-",
        "+",
        "0",
        "01",
        "1",
        "12",
        ".5",
        ".",
        "e3",
        "E-2",
        "e",
        "1e999",
        "18446744073709551616",
        "-9223372036854775809",
        "\"a\"",
        "\"a\":1",
    ]);
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

fn is_as_read_elsewhere(text: &str) -> Result<(), TestCaseError> {
    let expected = serde_json::from_str::<Value>(text);
    let read = json::from_str::<Value>(text);
    match (expected, read) {
        (Ok(expected), Ok(read)) => prop_assert!(are_equal(&expected, &read), "{text}: {read}"),
        (Err(_), Err(_)) => {}
        (expected, read) => prop_assert!(false, "{text}: {expected:?}, here {read:?}"),
    }
    Ok(())
}

/// Fractions are read to the nearest number here, elsewhere to one beside it.
fn are_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            // In steps from one number to the next: of the smallest there are, one step is a large part.
            one == other || one.to_bits().abs_diff(other.to_bits()) <= 8
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| are_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| other.get(name).is_some_and(|other| are_equal(one, other)))
        }
        _ => one == other,
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read_as_it_was(value in value()) {
        is_as_read_elsewhere(&value.to_string())?;
        is_as_read_elsewhere(&serde_json::to_string_pretty(&value).unwrap())?;
    }

    #[test]
    fn what_is_cut_off_is_refused(value in value(), at in any::<prop::sample::Index>()) {
        let text = value.to_string();
        let at = (0..=at.index(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at));
        is_as_read_elsewhere(&text[..at.unwrap()])?;
    }

    #[test]
    fn no_text_is_read_otherwise_than_elsewhere(text in pieces()) {
        is_as_read_elsewhere(&text)?;
    }
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Point,
    Circle(u32),
    Box { width: u32 },
}

#[derive(Debug, PartialEq, Deserialize)]
struct Form {
    shapes: Vec<Shape>,
    by_number: OrderedMap<u64, bool>,
    pair: (i8, Option<char>),
}

const FORM: &str = r#"{"shapes":["point",{"circle":3},{"box":{"width":4}}],"by_number":{"7":true},"pair":[-1,"x"]}"#;

#[test]
fn forms_of_every_kind_are_read() {
    let read: Form = json::from_str(FORM).unwrap();
    assert_eq!(read, serde_json::from_str(FORM).unwrap());
}

#[test]
fn a_fault_is_found_where_it_stands() {
    for (good, bad, pointer, message) in [
        (
            "3}",
            "-3}",
            "/shapes/1/circle",
            "must be a whole number from 0 to 4294967295, not -3",
        ),
        (
            "4}",
            "null}",
            "/shapes/2/box/width",
            "must be a whole number from 0 to 4294967295, not null",
        ),
        ("{\"width\":4}", "[4]", "/shapes/2/box", "must be an object"),
        (
            "\"7\"",
            "\"seven\"",
            "/by_number/seven",
            "must be a whole number of at least 0, not \"seven\"",
        ),
        ("true", "1", "/by_number/7", "must be true or false, not 1"),
        (
            "-1,",
            "-129,",
            "/pair/0",
            "must be a whole number, not -129",
        ),
        (
            ",\"x\"",
            "",
            "/pair",
            "invalid length 1, expected a tuple of size 2",
        ),
        ("\"x\"", "\"x\",2", "/pair", "trailing characters"),
        (
            "point",
            "line",
            "/shapes/0",
            "unknown variant `line`, expected one of `point`, `circle`, `box`",
        ),
    ] {
        assert!(FORM.contains(good), "{good}");
        let fault = json::from_str::<Form>(&FORM.replacen(good, bad, 1)).unwrap_err();
        assert_eq!(
            (fault.pointer().as_str(), fault.message()),
            (pointer, message)
        );
    }
    // The pointer says where a value is not of its form, and the place where the text is none.
    let fault = json::from_str::<Form>(&FORM.replacen("4}", "\"4\"}", 1)).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "must be a whole number from 0 to 4294967295, not \"4\""
    );
    let fault = json::from_str::<Form>(&FORM.replacen("\"x\"", "\"x\",2", 1)).unwrap_err();
    assert!(fault.to_string().contains(" at line "), "{fault}");
    let fault = json::from_str::<Form>("[[],{},[0,null]]").unwrap_err();
    assert_eq!(fault.to_string(), "must be an object at line 1 column 0");
}

#[test]
fn what_lies_too_deep_is_refused() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(json::from_str::<Value>(&nested(127)).is_ok());
    for depth in [128, 1_000_000] {
        let fault = json::from_str::<Value>(&nested(depth)).unwrap_err();
        assert_eq!(fault.message(), "recursion limit exceeded");
        assert!(json::from_str::<serde::de::IgnoredAny>(&nested(depth)).is_err());
    }
}

#[test]
fn what_is_no_text_is_refused_at_the_value_that_it_cuts() {
    let refused = read_json::<OrderedMap<String, String>>(b"{\"a\":\"b\xff\"}").unwrap_err();
    assert_eq!(refused.field, "/a");
    assert!(refused.to_string().contains("invalid unicode code point"));
}
