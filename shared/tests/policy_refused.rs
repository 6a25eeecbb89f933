//! Policy documents that are refused: where, and in which words.

use crate::document::{policy, whole, with};
use weir_shared::limits::{
    DESCRIPTION_BYTES_MAX, OVERLOAD_RESOURCES_MAX, POLICY_ENTRIES_MAX, POLICY_TENANTS_MAX,
    REGIONS_MAX,
};

fn is_refused(text: &str, field: &str, message: &str) {
    let expected = Err((field.to_owned(), message.to_owned()));
    assert_eq!(policy(text).map(|_| "admitted"), expected, "{text}");
}

/// Each literal is refused at the pointer where it stands, with the message.
fn are_refused(cases: &[(&str, &str, &str)]) {
    for (pointer, literal, message) in cases {
        is_refused(&with(pointer, literal), pointer, message);
    }
}

#[test]
fn a_number_out_of_its_range_is_refused_with_the_value_and_the_range() {
    const INTEGERS: &str = "9007199254740991";
    let (limit, window_ms) = ("/budgets/tokens/limit", "/budgets/tokens/window_ms");
    let (units, period_ms) = ("/limits/per_ip/limit", "/limits/per_ip/period_ms");
    let burst = "/limits/per_ip/burst";
    let cases = [
        (limit, "0", format!("0 is outside 1 to {INTEGERS}")),
        (limit, "9007199254740992", format!("9007199254740992 is outside 1 to {INTEGERS}")),
        (window_ms, "0", "0 is outside 1000 to 34560000000".to_owned()),
        (window_ms, "999", "999 is outside 1000 to 34560000000".to_owned()),
        (window_ms, "34560000001", "34560000001 is outside 1000 to 34560000000".to_owned()),
        (units, "0", format!("0 is outside 1 to {INTEGERS}")),
        (units, "9007199254740992", format!("9007199254740992 is outside 1 to {INTEGERS}")),
        (period_ms, "0", "0 is outside 1 to 34560000000".to_owned()),
        (period_ms, "34560000001", "34560000001 is outside 1 to 34560000000".to_owned()),
        (burst, "0", format!("0 is outside 1 to {INTEGERS}")),
        (burst, "9007199254740992", format!("9007199254740992 is outside 1 to {INTEGERS}")),
        (
            burst,
            "525600002",
            "525600002 (refills in 315360001200 ms) is outside 1 to what refills in 315360000000 ms"
                .to_owned(),
        ),
        ("/tenants_max", "0", "0 is outside 1 to 1000000".to_owned()),
        ("/tenants_max", "1000001", "1000001 is outside 1 to 1000000".to_owned()),
    ];
    for (pointer, literal, message) in cases {
        is_refused(&with(pointer, literal), pointer, &message);
    }
}

#[test]
fn what_is_no_number_of_the_kind_is_refused_where_it_stands() {
    let integers = [
        "/budgets/tokens/limit",
        "/budgets/tokens/window_ms",
        "/limits/per_ip/limit",
        "/limits/per_ip/period_ms",
        "/limits/per_ip/burst",
        "/tenants_max",
    ];
    let literals = [
        ("-1", "must be a whole number of at least 0, not -1"),
        ("1.5", "must be a whole number of at least 0, not 1.5"),
        ("2000.0", "must be a whole number of at least 0, not 2000.0"),
        ("\"5\"", "must be a whole number of at least 0, not \"5\""),
        ("true", "must be a whole number of at least 0, not true"),
        ("NaN", "expected value"),
        ("Infinity", "expected value"),
        ("1e999", "number out of range"),
    ];
    for pointer in integers {
        for (literal, message) in literals {
            is_refused(&with(pointer, literal), pointer, message);
        }
        let (field, message) = policy(&with(pointer, "18446744073709551616")).unwrap_err();
        assert_eq!(field, pointer);
        assert!(
            message.starts_with("must be a whole number of at least 0, not "),
            "{message}"
        );
    }
    for pointer in [
        "/tiers/gold/weight",
        "/tenants/acme/weight",
        "/unknown_weight_max",
    ] {
        are_refused(&[
            (pointer, "NaN", "expected value"),
            (pointer, "1e999", "number out of range"),
            (pointer, "\"5\"", "must be a number, not \"5\""),
        ]);
    }
}

#[test]
fn a_weight_is_above_0_and_at_most_a_million_with_six_decimals() {
    for pointer in [
        "/tiers/gold/weight",
        "/tenants/acme/weight",
        "/unknown_weight_max",
    ] {
        are_refused(&[
            (pointer, "0", "0 is outside 0.000001 to 1000000"),
            (pointer, "-1", "-1 is outside 0.000001 to 1000000"),
            (pointer, "-0.5", "-0.5 is outside 0.000001 to 1000000"),
            (pointer, "1e7", "10000000 is outside 0.000001 to 1000000"),
            (
                pointer,
                "1000000.000001",
                "1000000.000001 is outside 0.000001 to 1000000",
            ),
            (pointer, "0.1234567", "0.1234567 has more than 6 decimals"),
            (pointer, "1e-7", "0.0000001 has more than 6 decimals"),
        ]);
        for kept in ["0.000001", "1000000", "1e6", "999999.999999"] {
            assert!(policy(&with(pointer, kept)).is_ok(), "{pointer}: {kept}");
        }
    }
}

#[test]
fn what_is_needed_is_asked_for_by_its_pointer() {
    let needed = [
        "/regions",
        "/tiers/gold/weight",
        "/tier_rules/0/prefix",
        "/tier_rules/1/tier",
        "/budgets/tokens/limit",
        "/budgets/tokens/window_ms",
        "/budgets/tokens/sharing",
        "/budgets/tokens/scope",
        "/limits/per_ip/limit",
        "/limits/per_ip/period_ms",
        "/limits/per_ip/scope",
    ];
    for pointer in needed {
        is_refused(&with(pointer, ""), pointer, "is required");
    }
    is_refused(&with("/regions", "[]"), "/regions", "is required");
    is_refused("{}", "/regions", "is required");
}

#[test]
fn a_name_that_means_nothing_here_is_refused() {
    are_refused(&[
        (
            "/home",
            "\"oc\"",
            "\"oc\" is not a known region of this policy",
        ),
        (
            "/default_tier",
            "\"silver\"",
            "\"silver\" is not a known tier",
        ),
        (
            "/tier_rules/1/tier",
            "\"silver\"",
            "\"silver\" is not a known tier",
        ),
        (
            "/tenants/acme/tier",
            "\"silver\"",
            "\"silver\" is not a known tier",
        ),
        ("/regions/1", "\"weur\"", "\"weur\" is given twice"),
    ]);
    let unknown = [
        ("/budget", "/budget", "`budget`"),
        ("/tiers/gold/wait", "/tiers/gold/wait", "`wait`"),
        ("/tier_rules/0/suffix", "/tier_rules/0/suffix", "`suffix`"),
        ("/tenants/acme/teir", "/tenants/acme/teir", "`teir`"),
        (
            "/budgets/tokens/limits",
            "/budgets/tokens/limits",
            "`limits`",
        ),
        (
            "/limits/per_ip/windows_ms",
            "/limits/per_ip/windows_ms",
            "`windows_ms`",
        ),
    ];
    for (pointer, field, name) in unknown {
        let (at, message) = policy(&with(pointer, "1")).unwrap_err();
        assert_eq!(at, field);
        assert!(
            message.starts_with(&format!("unknown field {name}, expected ")),
            "{message}"
        );
    }
    for (pointer, literal) in [
        ("/budgets/tokens/sharing", "\"equal\""),
        ("/budgets/tokens/scope", "\"planet\""),
        ("/budgets/tokens/on_unavailable", "\"shrug\""),
        ("/limits/per_ip/algorithm", "\"GCRA\""),
        ("/rate_limit_headers", "\"x-ratelimit\""),
    ] {
        let (at, message) = policy(&with(pointer, literal)).unwrap_err();
        assert_eq!(at, pointer);
        let name = literal.trim_matches('"');
        assert!(
            message.starts_with(&format!("unknown variant `{name}`, expected ")),
            "{message}"
        );
    }
}

#[test]
fn names_that_the_policy_gives_are_labels_and_tenants_have_no_control_characters() {
    const LABELS: &str = "allowed are a-z, 0-9, _ and -";
    const TENANTS: &str = "allowed are all but control characters";
    let long = "x".repeat(129);
    let cases = [
        (
            "/regions/0",
            "\"WEUR\"",
            "/regions/0",
            format!("contains 'W'; {LABELS}"),
        ),
        ("/regions/0", "\"\"", "/regions/0", "is required".to_owned()),
        (
            "/tier_rules/0/prefix",
            "\"a\\u0000\"",
            "/tier_rules/0/prefix",
            format!("contains '\\0'; {TENANTS}"),
        ),
        (
            "/tier_rules/0/prefix",
            "\"\"",
            "/tier_rules/0/prefix",
            "is required".to_owned(),
        ),
        (
            "/tenants",
            "{\"a\\nb\":{}}",
            "/tenants/a\nb",
            format!("contains '\\n'; {TENANTS}"),
        ),
        (
            "/tenants",
            "{\"\\u007f\":{}}",
            "/tenants/\u{7f}",
            format!("contains '\\u{{7f}}'; {TENANTS}"),
        ),
        (
            "/tenants",
            "{\"\\u0085\":{}}",
            "/tenants/\u{85}",
            format!("contains '\\u{{85}}'; {TENANTS}"),
        ),
        (
            "/tenants",
            "{\"\":{}}",
            "/tenants/",
            "is required".to_owned(),
        ),
        (
            "/tenants",
            &format!("{{\"{long}\":{{}}}}"),
            &format!("/tenants/{long}"),
            "129 bytes, at most 128 are allowed".to_owned(),
        ),
        (
            "/tiers",
            "{\"a/b~c\":{}}",
            "/tiers/a~1b~0c",
            format!("contains '/'; {LABELS}"),
        ),
        (
            "/budgets",
            "{\"to kens\":{}}",
            "/budgets/to kens",
            format!("contains ' '; {LABELS}"),
        ),
        (
            "/limits",
            "{\"é\":{}}",
            "/limits/é",
            format!("contains 'é'; {LABELS}"),
        ),
        (
            "/limits",
            &format!("{{\"{}\":{{}}}}", &long[..65]),
            &format!("/limits/{}", &long[..65]),
            "65 bytes, at most 64 are allowed".to_owned(),
        ),
    ];
    for (pointer, literal, field, message) in cases {
        is_refused(&with(pointer, literal), field, &message);
    }
    assert!(policy(&with("/tenants", "{\"Zoë 🦀/~:\":{\"tier\":\"free\"}}")).is_ok());
}

#[test]
fn an_overload_resource_out_of_its_bounds_is_refused_with_the_value_and_the_range() {
    are_refused(&[
        ("/overload/origin/levels", "0", "0 is outside 1 to 8"),
        (
            "/overload/origin/buckets",
            "4097",
            "4097 is outside 1 to 4096",
        ),
        (
            "/overload/origin/rotate_ms",
            "9999",
            "9999 is outside 10000 to 3600000",
        ),
        (
            "/overload/origin/steering",
            "\"red\"",
            "unknown variant `red`, expected `fair_rate` or `blue`",
        ),
    ]);
    let resources: Vec<String> = (0..=OVERLOAD_RESOURCES_MAX)
        .map(|n| format!("\"r{n}\":{{}}"))
        .collect();
    is_refused(
        &with("/overload", &format!("{{{}}}", resources.join(","))),
        "/overload",
        "33 overload resources, at most 32 are allowed",
    );
}

#[test]
fn lists_and_maps_have_a_bound() {
    let map = |count: usize, body: &str| {
        let entries: Vec<String> = (0..count).map(|n| format!("\"n{n}\":{body}")).collect();
        format!("{{{}}}", entries.join(","))
    };
    let list = |count: usize, item: &dyn Fn(usize) -> String| {
        let items: Vec<String> = (0..count).map(item).collect();
        format!("[{}]", items.join(","))
    };
    let rule = |_| "{\"prefix\":\"p\",\"tier\":\"gold\"}".to_owned();
    let region = |n| format!("\"r{n}\"");
    let budget = whole()["budgets"]["tokens"].to_string();
    let limit = whole()["limits"]["per_ip"].to_string();
    let tenant = "{\"tier\":\"gold\"}";
    let cases = [
        (
            "/budgets",
            POLICY_ENTRIES_MAX,
            "entries",
            map(257, &budget),
            map(256, &budget),
        ),
        (
            "/limits",
            POLICY_ENTRIES_MAX,
            "entries",
            map(257, &limit),
            map(256, &limit),
        ),
        (
            "/tenants",
            POLICY_TENANTS_MAX,
            "tenants",
            map(10_001, tenant),
            map(10_000, tenant),
        ),
        (
            "/tier_rules",
            POLICY_ENTRIES_MAX,
            "rules",
            list(257, &rule),
            list(256, &rule),
        ),
    ];
    for (pointer, max, what, above, most) in cases {
        let message = format!("{} {what}, at most {max} are allowed", max + 1);
        is_refused(&with(pointer, &above), pointer, &message);
        assert!(policy(&with(pointer, &most)).is_ok(), "{max} {what}");
    }
    is_refused(
        &with("/regions", &list(17, &region)),
        "/regions",
        &format!("17 regions, at most {REGIONS_MAX} are allowed"),
    );
    is_refused(
        &with("/tiers", &map(257, "{\"weight\":1}")),
        "/tiers",
        "257 entries, at most 256 are allowed",
    );
}

#[test]
fn what_is_no_json_is_refused_as_a_whole() {
    for (text, message) in [
        ("", "EOF while parsing a value"),
        ("{\"regions\":[\"weur\"]} x", "trailing characters"),
        ("null", "must be an object, not null"),
    ] {
        is_refused(text, "", message);
    }
}

#[test]
fn a_budget_is_described_in_one_line_of_bounded_length() {
    let at = "/budgets/tokens/description";
    let said = |text: &str| format!("{text:?}");
    let longest = "é".repeat(DESCRIPTION_BYTES_MAX / 2);
    policy(&with(at, &said(&longest))).unwrap();
    let long = said(&"x".repeat(DESCRIPTION_BYTES_MAX + 1));
    are_refused(&[
        (at, "\"\"", "is required"),
        (at, &long, "513 bytes, at most 512 are allowed"),
        (
            at,
            r#""two\nlines""#,
            "contains '\\n'; allowed are all but control characters",
        ),
    ]);
}
