//! What providers tell of their own limits.

use proptest::prelude::*;
use serde_json::{Value, json};
use weir_shared::gateway::provider_limits::{Left, ProviderLimits, TokensLately};
use weir_shared::gateway::usage::tokens::Tokens;
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::units::EpochMs;
use weir_shared::wire::route::LimitsFormat::{self, Anthropic, OpenAi};

use super::document::{are_refused, read, whole};

/// 2026-11-25T12:00:00Z
const NOON: EpochMs = EpochMs(1_795_608_000_000);

fn told(format: LimitsFormat, status: u16, fields: &[(&str, &str)]) -> ProviderLimits {
    let header = |name: &str| {
        let field = fields.iter().find(|(one, _)| *one == name);
        field.map(|(_, value)| (*value).to_owned())
    };
    ProviderLimits::read(format, status, &header, NOON)
}

fn left(left: u64, reset_ms: u64) -> Option<Left> {
    Some(Left { left, reset_ms })
}

#[test]
fn each_provider_s_fields_are_read() {
    let openai = [
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "59"),
        ("x-ratelimit-reset-requests", "1s"),
        ("x-ratelimit-limit-tokens", "150000"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ];
    let expected = ProviderLimits {
        requests: left(59, 1_000),
        tokens: left(149_984, 360_000),
        ..ProviderLimits::default()
    };
    assert_eq!(told(OpenAi, 200, &openai), expected);
    assert_eq!(told(Anthropic, 200, &openai), ProviderLimits::default());
    let anthropic = [
        ("anthropic-ratelimit-requests-remaining", "49"),
        ("anthropic-ratelimit-requests-reset", "2026-11-25T12:00:02Z"),
        ("anthropic-ratelimit-tokens-remaining", "90000"),
        (
            "anthropic-ratelimit-tokens-reset",
            "2026-11-25T13:00:10.25+01:00",
        ),
        ("anthropic-ratelimit-input-tokens-remaining", "0"),
        (
            "anthropic-ratelimit-input-tokens-reset",
            "2026-11-25T12:01:00-01:00",
        ),
        ("anthropic-ratelimit-output-tokens-remaining", "7"),
        (
            "anthropic-ratelimit-output-tokens-reset",
            "2026-11-25T11:59:00Z",
        ),
    ];
    let expected = ProviderLimits {
        requests: left(49, 2_000),
        tokens: left(90_000, 10_000),
        input: left(0, 3_660_000),
        // There are all again.
        output: None,
    };
    assert_eq!(told(Anthropic, 200, &anthropic), expected);
}

#[test]
fn a_reset_is_a_length_of_time_or_an_instant_and_nothing_else() {
    for (reset, ms) in [
        ("8.64s", Some(8_640)),
        ("120ms", Some(120)),
        ("1h2m3s", Some(3_723_000)),
        ("24h0m0s", Some(86_400_000)),
        ("7", Some(7_000)),
        ("0.4ms", None),
        ("0s", None),
        ("24h0m1s", None),
        ("", None),
        ("s", None),
        ("1d", None),
        ("-1s", None),
        ("1.2.3s", None),
        ("1e9s", None),
    ] {
        let fields = [
            ("x-ratelimit-remaining-requests", "5"),
            ("x-ratelimit-reset-requests", reset),
        ];
        let expected = ms.and_then(|ms| left(5, ms));
        assert_eq!(told(OpenAi, 200, &fields).requests, expected, "{reset:?}");
    }
    for reset in [
        "2026-13-25T12:00:02Z",
        "2026-11-25 12:00",
        "2026-11-25T12:00:02",
        "2026-11-2\u{e9}T12:00:02Z",
        "1",
        "9999-01-01T00:00:00Z",
    ] {
        let fields = [
            ("anthropic-ratelimit-requests-remaining", "5"),
            ("anthropic-ratelimit-requests-reset", reset),
        ];
        assert_eq!(told(Anthropic, 200, &fields).requests, None, "{reset:?}");
    }
    let fields = [
        ("x-ratelimit-remaining-requests", "-1"),
        ("x-ratelimit-reset-requests", "1s"),
    ];
    assert_eq!(told(OpenAi, 200, &fields).requests, None);
}

#[test]
fn a_refusal_that_tells_no_limits_leaves_nothing_until_it_says() {
    let fields = [("retry-after", "20"), ("retry-after-ms", "1500")];
    for format in [OpenAi, Anthropic] {
        assert_eq!(told(format, 429, &fields).requests, left(0, 1_500));
        assert_eq!(told(format, 429, &fields[..1]).requests, left(0, 20_000));
        assert_eq!(told(format, 503, &fields).requests, None);
    }
    for no_time in ["soon", "-3", "0", "NaN", "inf", "1e12"] {
        assert_eq!(
            told(OpenAi, 429, &[("retry-after", no_time)]).requests,
            None,
            "{no_time}"
        );
    }
    let fields = [
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "4s"),
        ("retry-after", "1"),
    ];
    assert_eq!(told(OpenAi, 429, &fields).requests, left(0, 4_000));
}

#[test]
fn what_is_left_of_the_scarcest_spread_over_its_time_is_what_may_be_used() {
    let mut lately = TokensLately::default();
    let limits = ProviderLimits {
        requests: left(100, 50_000),
        tokens: left(6_000, 60_000),
        input: left(1_000, 1_000),
        output: left(600, 60_000),
    };
    assert_eq!(
        limits.milli_per_s(&lately),
        Some(2_000),
        "tokens of a request are not known"
    );
    lately.record(&Tokens {
        input: 60,
        cached_input: 20,
        output: 15,
        reasoning: 5,
        total: 0,
    });
    // 6,000 of 100 each are one a second; 600 of 20 each are half a one.
    assert_eq!(limits.milli_per_s(&lately), Some(500));
    // One of eight times as much counts for an eighth.
    lately.record(&Tokens {
        input: 640,
        output: 160,
        ..Tokens::default()
    });
    assert_eq!(limits.milli_per_s(&lately), Some(266), "600 of 37.5 each");
    let none = ProviderLimits {
        requests: left(0, 20_000),
        ..ProviderLimits::default()
    };
    assert_eq!(
        none.milli_per_s(&lately),
        Some(50),
        "one in the time until the reset"
    );
    assert_eq!(ProviderLimits::default().milli_per_s(&lately), None);
}

proptest! {
    #[test]
    fn whatever_a_provider_says_is_a_rate_or_nothing(
        anthropic in any::<bool>(), status in any::<u16>(), left in "[0-9]{0,25}|[ -~é]{0,12}",
        reset in "[0-9.hms]{0,12}|[0-9TZ:.+-]{0,30}|[ -~é]{0,12}", input in any::<u64>(), output in any::<u64>(),
    ) {
        let format = if anthropic { Anthropic } else { OpenAi };
        let header = |name: &str| Some(if name.contains("remaining") { left.clone() } else { reset.clone() });
        let told = ProviderLimits::read(format, status, &header, NOON);
        let mut lately = TokensLately::default();
        lately.record(&Tokens { input, output, ..Tokens::default() });
        if let Some(milli) = told.milli_per_s(&lately) {
            prop_assert!((1..=JSON_INTEGER_MAX).contains(&milli));
        }
    }
}

#[test]
fn limits_of_a_first_origin_are_followed_by_a_check_of_the_route_and_those_of_another_by_none() {
    let limits = json!({ "overload": "origin", "format": "anthropic" });
    let mut document = whole();
    document["routes"][0]["origin"]["limits"] = limits.clone();
    document["routes"][1]["fallback"][0]["limits"] = limits.clone();
    let policy = read(&document).unwrap();
    let of = |route: usize, origin: usize| {
        let (_, origin) = policy.routes[route].origins().nth(origin).unwrap();
        let limits = origin.limits.clone().unwrap();
        (limits.overload, limits.format)
    };
    let expected = ("origin".to_owned(), Anthropic);
    assert_eq!((of(0, 0), of(1, 1)), (expected.clone(), expected));
    are_refused(vec![
        (
            "/routes/0/origin/limits",
            json!({}),
            "/overload",
            "is required",
        ),
        (
            "/routes/0/origin/limits",
            json!({ "overload": "origin" }),
            "/format",
            "is required",
        ),
        (
            "/routes/1/origin/limits",
            limits.clone(),
            "/overload",
            "\"origin\" is not a known overload resource among the route's checks",
        ),
        (
            "/routes/1/fallback/1/limits",
            json!({ "overload": "other", "format": "openai" }),
            "/overload",
            "\"other\" is not a known overload resource",
        ),
        (
            "/routes/1/fallback/0/limits",
            json!({ "format": "openai" }),
            "/overload",
            "is required",
        ),
        (
            "/routes/3/fallback",
            json!([{ "url": "https://second.example.com", "limits": limits }]),
            "/0/limits/overload",
            "does not belong to a fallback: the route's checks ask for it before its first origin",
        ),
        (
            "/unrouted/forward/limits",
            limits.clone(),
            "",
            "does not belong to an origin of requests that no route takes",
        ),
    ]);
    let mut nobodys = document.clone();
    nobodys["routes"][1] = json!({
        "name": "nobody", "checks": [], "origin": { "url": "https://origin.example.com" },
        "fallback": [{ "url": "https://second.example.com", "limits": limits }]
    });
    let refused = read(&nobodys).map(|_| "saved").unwrap_err();
    assert_eq!(
        refused,
        ("/routes/1/tenant".to_owned(), "is required".to_owned())
    );
    document["overload"]["origin"] = json!({ "steering": "blue" });
    let refused = read(&document).map(|_| "saved").unwrap_err();
    assert_eq!(refused.0, "/routes/0/origin/limits/overload");
    assert!(refused.1.contains("blue"), "{}", refused.1);
    document["routes"][0]["origin"]["limits"] = Value::Null;
    let refused = read(&document).map(|_| "saved").unwrap_err();
    assert_eq!(refused.0, "/routes/1/fallback/0/limits/overload");
}
