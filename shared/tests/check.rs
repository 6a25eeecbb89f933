//! The question of `POST /v1/check`: what is refused, where and why, and what the rest comes to.

#![cfg(not(target_arch = "wasm32"))]

use weir_shared::check::{Check, Target};
use weir_shared::invalid::{Fault, Invalid, read_json};
use weir_shared::wire::check::CheckRequest;

fn check(text: &str) -> Result<Check, Invalid> {
    read_json::<CheckRequest>(text.as_bytes()).and_then(Check::try_from)
}

fn is_refused(text: &str, field: &str, message: &str) {
    let refused = check(text).expect_err(text);
    let got = match refused.fault {
        // Where in the text is the pointer's business.
        Fault::Form { message } => message.split(" at line ").next().unwrap().to_owned(),
        fault => fault.to_string(),
    };
    assert_eq!(
        (refused.field.as_str(), got.as_str()),
        (field, message),
        "{text}"
    );
}

fn budget(name: &str) -> Target {
    Target::Budget(name.to_owned())
}

fn limit(name: &str, key: Option<&str>) -> Target {
    Target::Limit {
        name: name.to_owned(),
        key: key.map(str::to_owned),
    }
}

#[test]
fn both_forms_come_to_the_same_check() {
    let longest = "x".repeat(128);
    let cases = [
        (r#"{"tenant":"acme","budget":"tokens","cost":3}"#.to_owned(), Some("acme"), budget("tokens"), 3, ""),
        (r#"{"tenant":"acme","budget":"tokens"}"#.to_owned(), Some("acme"), budget("tokens"), 1, ""),
        (r#"{"tenant":"acme","budget":"tokens","cost":0}"#.to_owned(), Some("acme"), budget("tokens"), 0, ""),
        (r#"{"tenant":"acme","budget":"tokens","cost":9007199254740991}"#.to_owned(), Some("acme"), budget("tokens"), 9_007_199_254_740_991, ""),
        (r#"{"limit":"per_ip","key":"203.0.113.9"}"#.to_owned(), None, limit("per_ip", Some("203.0.113.9")), 1, ""),
        (r#"{"limit":"per_ip"}"#.to_owned(), None, limit("per_ip", None), 1, ""),
        (r#"{"tenant":"acme","limit":"per_ip","key":"k"}"#.to_owned(), Some("acme"), limit("per_ip", Some("k")), 1, ""),
        (r#"{"tenant":"acme","checks":[{"budget":"tokens","cost":7}],"require":"all"}"#.to_owned(), Some("acme"), budget("tokens"), 7, "/checks/0"),
        (r#"{"checks":[{"limit":"per_ip","key":"k"}]}"#.to_owned(), None, limit("per_ip", Some("k")), 1, "/checks/0"),
        (r#"{"budget":"tokens","tenant":"Zoë 🦀/~"}"#.to_owned(), Some("Zoë 🦀/~"), budget("tokens"), 1, ""),
        (format!(r#"{{"budget":"tokens","tenant":"{longest}"}}"#), Some(longest.as_str()), budget("tokens"), 1, ""),
        (r#"{"tenant":null,"limit":"per_ip","key":null,"cost":null,"checks":null,"require":null}"#.to_owned(), None, limit("per_ip", None), 1, ""),
    ];
    for (text, tenant, target, cost, at) in cases {
        let expected = Check {
            tenant: tenant.map(str::to_owned),
            target,
            cost,
            at,
        };
        assert_eq!(check(&text), Ok(expected), "{text}");
    }
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
        ("-1", "invalid value: integer `-1`, expected u64"),
        ("1.5", "invalid type: floating point `1.5`, expected u64"),
        ("1.0", "invalid type: floating point `1.0`, expected u64"),
        ("1e3", "invalid type: floating point `1000.0`, expected u64"),
        ("1e999", "number out of range"),
        ("NaN", "expected value"),
        ("\"1\"", "invalid type: string \"1\", expected u64"),
        ("true", "invalid type: boolean `true`, expected u64"),
        ("[1]", "invalid type: sequence, expected u64"),
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
            r#"{"tenant":"acme","checks":[{"budget":"tokens"},{"limit":"per_ip"}]}"#,
            "/checks",
            "2 checks, at most 1 are allowed",
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
        (
            "3",
            "",
            "invalid type: integer `3`, expected struct CheckRequest",
        ),
        (
            "null",
            "",
            "invalid type: null, expected struct CheckRequest",
        ),
        (
            r#"{"tenant":7}"#,
            "/tenant",
            "invalid type: integer `7`, expected a string",
        ),
        (
            r#"{"budget":["tokens"]}"#,
            "/budget",
            "invalid type: sequence, expected a string",
        ),
        (
            r#"{"checks":{}}"#,
            "/checks",
            "invalid type: map, expected a sequence",
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
            "unknown field `price`, expected one of `tenant`, `budget`, `limit`, `key`, `cost`, `checks`, `require`",
        ),
        (
            r#"{"checks":[{"guard":"queries"}]}"#,
            "/checks/0/guard",
            "unknown field `guard`, expected one of `budget`, `limit`, `key`, `cost`",
        ),
    ];
    for (text, field, message) in cases {
        is_refused(text, field, message);
    }
    let refused = read_json::<CheckRequest>(b"{\"tenant\":\"\xff\"}").unwrap_err();
    assert_eq!(refused.field, "/tenant");
}
