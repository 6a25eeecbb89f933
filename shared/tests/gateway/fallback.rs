//! Which of several origins is asked, and what a policy says of them.

use proptest::prelude::*;
use serde_json::json;
use weir_shared::gateway::fallback::{Origins, RouteHealth, Tried, is_idempotent};
use weir_shared::gateway::outcome::{Ending, Outcome, outcome};
use weir_shared::invalid::Fault;
use weir_shared::limits::{
    ORIGIN_AWAY_MS, ORIGIN_AWAY_MS_MAX, ORIGIN_FAILURES_MAX, REQUESTS_PER_RETRY, RETRIES_STORED_MAX,
};
use weir_shared::policy::doors::permit_origins;
use weir_shared::policy::route::permit_secrets;
use weir_shared::units::{EpochMs, Revision};

use super::document::{are_refused, read, whole, with};

const START: EpochMs = EpochMs(1_700_000_000_000);

fn after(ms: u64) -> EpochMs {
    EpochMs(START.0 + ms)
}

/// Sends a request by what each origin does; the origins that were asked.
fn send(health: &mut RouteHealth, now: EpochMs, does: &[Tried]) -> Vec<usize> {
    let mut asked = vec![health.first(now)];
    loop {
        let last = asked[asked.len() - 1];
        health.record(last, does[last], now);
        let next = if does[last].goes_on(true) {
            health.next(last, now)
        } else {
            None
        };
        match next {
            Some(next) => asked.push(next),
            None => return asked,
        }
    }
}

#[test]
fn an_origin_that_is_down_costs_a_few_second_tries_and_is_looked_at_now_and_then() {
    use Tried::{Refused, Served};
    let mut health = RouteHealth::new(2);
    for _ in 0..ORIGIN_FAILURES_MAX {
        assert_eq!(send(&mut health, START, &[Refused, Served]), [0, 1]);
    }
    // All the rest goes to the second at once, and is no second try.
    for ms in 0..ORIGIN_AWAY_MS {
        assert_eq!(send(&mut health, after(ms), &[Refused, Served]), [1]);
    }
    let mut looks = Vec::new();
    for ms in (0..600_000).step_by(100) {
        if send(&mut health, after(ms), &[Refused, Served]) == [0, 1] {
            looks.push(ms);
        }
    }
    let gaps: Vec<u64> = looks.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(looks[0], ORIGIN_AWAY_MS);
    assert!(gaps.is_sorted(), "{gaps:?}");
    assert_eq!(gaps.last(), Some(&ORIGIN_AWAY_MS_MAX));
    // The first look that is answered makes it the first again.
    let well = after(600_000 + ORIGIN_AWAY_MS_MAX);
    assert_eq!(send(&mut health, well, &[Served, Served]), [0]);
    assert_eq!(send(&mut health, well, &[Refused, Served]), [0, 1]);
}

#[test]
fn one_request_looks_and_the_others_pass_by_until_its_end_is_known() {
    let mut health = RouteHealth::new(2);
    for _ in 0..ORIGIN_FAILURES_MAX {
        assert_eq!(health.first(START), 0);
        health.record(0, Tried::Silent, START);
    }
    let back = after(ORIGIN_AWAY_MS);
    assert_eq!([health.first(back), health.first(back)], [0, 1]);
    health.record(0, Tried::Served, back);
    assert_eq!(health.first(back), 0);
}

#[test]
fn origins_that_are_all_away_are_tried_once() {
    let does = [Tried::Refused, Tried::Refused, Tried::Silent];
    let mut health = RouteHealth::new(3);
    for _ in 0..ORIGIN_FAILURES_MAX {
        assert_eq!(send(&mut health, START, &does), [0, 1, 2]);
    }
    for ms in 0..ORIGIN_AWAY_MS {
        assert_eq!(send(&mut health, after(ms), &does).len(), 1);
    }
}

#[test]
fn an_origin_that_refuses_every_other_request_is_passed_by_once_it_has_used_the_budget_up() {
    use Tried::{Refused, Served};
    let mut health = RouteHealth::new(2);
    let (mut second_tries, mut passed_by) = (0, 0);
    for number in 0..1_000 {
        let first = if number % 2 == 0 { Refused } else { Served };
        match send(&mut health, START, &[first, Served])[..] {
            [0, 1] => second_tries += 1,
            [1] => passed_by += 1,
            _ => {}
        }
    }
    assert!(second_tries > RETRIES_STORED_MAX, "{second_tries}");
    assert!(second_tries < 2 * RETRIES_STORED_MAX, "{second_tries}");
    assert!(passed_by > 900, "{passed_by}");
}

#[test]
fn another_policy_s_origins_are_others() {
    let mut origins = Origins::default();
    for _ in 0..ORIGIN_FAILURES_MAX {
        origins
            .of(Revision(7), "chat", 2)
            .record(0, Tried::Refused, START);
    }
    assert_eq!(origins.of(Revision(7), "chat", 2).first(START), 1);
    assert_eq!(origins.of(Revision(7), "other", 2).first(START), 0);
    assert_eq!(origins.of(Revision(8), "chat", 3).first(START), 0);
}

#[test]
fn what_makes_a_request_go_on() {
    for status in 200..=599 {
        let ending = Ending::Answered(status);
        let tried = Tried::of(ending).unwrap();
        let failed = outcome(ending) == Some(Outcome::Failure);
        assert!(tried == Tried::Served || failed, "{status}");
    }
    let of = |ending| Tried::of(ending).unwrap();
    for status in [
        429, 500, 502, 503, 504, 520, 521, 522, 523, 525, 526, 529, 530,
    ] {
        assert!(of(Ending::Answered(status)).goes_on(false), "{status}");
    }
    for status in [200, 204, 301, 400, 401, 404, 413, 501, 505] {
        assert!(!of(Ending::Answered(status)).goes_on(true), "{status}");
    }
    assert!(of(Ending::Unreachable).goes_on(false));
    for silent in [Ending::TimedOut, Ending::Answered(524)] {
        assert!(of(silent).goes_on(true) && !of(silent).goes_on(false));
    }
    assert_eq!(Tried::of(Ending::ClientLeft), None);
    assert!(is_idempotent("GET") && is_idempotent("PUT") && is_idempotent("DELETE"));
    assert!(!is_idempotent("POST") && !is_idempotent("PATCH") && !is_idempotent("M-SEARCH"));
}

fn does() -> impl Strategy<Value = Tried> {
    prop_oneof![
        Just(Tried::Served),
        Just(Tried::Refused),
        Just(Tried::Silent)
    ]
}

proptest! {
    /// Whatever origins do, each is asked at most once a request and in turn, second tries stay within their share, and
    /// no request goes unsent.
    #[test]
    fn tries_are_bounded(
        requests in prop::collection::vec((prop::collection::vec(does(), 5), 0_u64..2_000), 1..400),
        count in 1_usize..=5,
    ) {
        let mut health = RouteHealth::new(count);
        let (mut now, mut sent, mut second) = (START, 0_u32, 0_u32);
        for (does, gap) in requests {
            now = EpochMs(now.0 + gap);
            let asked = send(&mut health, now, &does);
            sent += 1;
            second += asked.len() as u32 - 1;
            prop_assert!(asked.is_sorted_by(|one, next| one < next), "{:?}", asked);
            prop_assert!(asked.iter().all(|index| *index < count));
            prop_assert!(second <= RETRIES_STORED_MAX + sent / REQUESTS_PER_RETRY);
        }
    }

    /// An origin that fails whenever it is asked is asked by few.
    #[test]
    fn an_origin_that_is_down_is_asked_by_few(gaps in prop::collection::vec(0_u64..200, 1..2_000)) {
        let mut health = RouteHealth::new(2);
        let (mut now, mut asked) = (START, 0);
        for gap in gaps {
            now = EpochMs(now.0 + gap);
            if send(&mut health, now, &[Tried::Refused, Tried::Served]).contains(&0) {
                asked += 1;
            }
        }
        let looks = (now.0 - START.0) / ORIGIN_AWAY_MS;
        prop_assert!(asked <= u64::from(ORIGIN_FAILURES_MAX) + looks, "{} in {}", asked, now.0 - START.0);
    }

    /// An origin that always serves is always the first.
    #[test]
    fn an_origin_that_serves_is_always_asked_first(gaps in prop::collection::vec(0_u64..10_000, 1..200)) {
        let mut health = RouteHealth::new(3);
        let mut now = START;
        for gap in gaps {
            now = EpochMs(now.0 + gap);
            let asked = send(&mut health, now, &[Tried::Served, Tried::Refused, Tried::Refused]);
            prop_assert_eq!(asked, [0]);
        }
    }
}

#[test]
fn a_fallback_is_read_as_an_origin_is() {
    let keyed = json!({
        "url": "https://second.example.com/base", "strip_prefix": "/llm", "timeout_ms": 50,
        "headers": { "authorization": { "secret": "SECOND_KEY", "prefix": "Bearer " } }
    });
    let two = json!([{ "url": "http://third.example.com" }, keyed]);
    let policy = read(&with("/routes/0/fallback", two)).unwrap();
    let route = &policy.routes[0];
    let at: Vec<_> = route.origins().map(|(at, _)| at).collect();
    assert_eq!(at, ["/origin", "/fallback/0", "/fallback/1"]);
    assert_eq!(route.fallback[0].timeout_ms, 30_000);
    assert_eq!(route.fallback[1].timeout_ms, 50);
    assert!(!route.retries_unsafe);
    let refused = permit_secrets(&policy, |_| false).unwrap_err();
    let field = "/routes/0/fallback/1/headers/authorization/secret";
    assert_eq!(refused.field, field);
}

#[test]
fn what_a_policy_must_not_say_of_a_fallback_is_refused_at_its_pointer() {
    let second = || json!({ "url": "https://second.example.com" });
    let many = vec![second(); 5];
    let two = |other| json!([second(), other]);
    let at = "/routes/0/fallback";
    are_refused(vec![
        (at, json!(many), "", "5 origins, at most 4 are allowed"),
        (at, two(json!({})), "/1/url", "is required"),
        (
            at,
            two(json!({ "url": "second.example.com" })),
            "/1/url",
            "must begin with https:// or http://",
        ),
        (
            at,
            two(json!({ "url": "https://second.example.com", "timeout_ms": 49 })),
            "/1/timeout_ms",
            "49 is outside 50 to 600000",
        ),
        (
            at,
            two(json!({ "url": "https://second.example.com", "strip_prefix": "llm" })),
            "/1/strip_prefix",
            "must begin with a slash, without . or .. or empty segments",
        ),
        (
            at,
            two(
                json!({ "url": "http://second.example.com", "headers": { "a": { "secret": "K" } } }),
            ),
            "/1/url",
            "must begin with https://, as it gets secrets",
        ),
        (
            at,
            two(
                json!({ "url": "https://second.example.com", "headers": { "host": { "secret": "K" } } }),
            ),
            "/1/headers/host",
            "host is not served; served: headers that Weir does not write",
        ),
        (
            "/routes/0/retry_unsafe",
            json!(true),
            "",
            "does not belong to a route without fallback",
        ),
    ]);
}

#[test]
fn a_fallback_inside_of_a_network_is_refused_unless_the_policy_allows_it() {
    let two = json!([{ "url": "https://second.example.com" }, { "url": "http://10.0.0.1" }]);
    let mut document = whole();
    document["routes"] = json!([document["routes"][0]]);
    document["routes"][0]["fallback"] = two;
    let refused = permit_origins(&read(&document).unwrap()).unwrap_err();
    assert_eq!(refused.field, "/routes/0/fallback/1/url");
    let got = "http://10.0.0.1".to_owned();
    assert_eq!(refused.fault, Fault::Inside { got });
    document["allow_private_origins"] = json!(true);
    assert_eq!(permit_origins(&read(&document).unwrap()), Ok(()));
}
