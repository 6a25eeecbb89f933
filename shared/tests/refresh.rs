//! When a region asks the registry, and an isolate its region: seldom, and never so that somebody is kept waiting.

use proptest::prelude::*;
use weir_shared::access::refresh::{Known, Look, Refresh};
use weir_shared::access::wanted::{Step, Wanted};
use weir_shared::limits::{
    CALL_MS_MAX, IDLE_REFRESH_MS_MAX, POLICY_POLL_MS, REFRESH_MS_MAX, REGISTRY_WAIT_MS_MAX,
    TOKEN_ASK_MS, TOKENS_WANTED_MAX,
};
use weir_shared::units::EpochMs;

const ALL: Known = Known {
    all: true,
    under_way: false,
    token_missing: false,
};

const START: EpochMs = EpochMs(1_700_000_000_000);

fn asked_at_start() -> Refresh {
    let mut refresh = Refresh::default();
    refresh.asked(START);
    refresh
}

#[test]
fn a_region_that_woke_asks_and_waits_for_less_than_the_isolate_behind_it() {
    let look = Refresh::default().look(ALL, START);
    assert_eq!(look, Look::Wait(IDLE_REFRESH_MS_MAX));
    const { assert!(IDLE_REFRESH_MS_MAX < REFRESH_MS_MAX && REGISTRY_WAIT_MS_MAX < CALL_MS_MAX) };
}

#[test]
fn a_region_that_knows_nothing_waits_unless_it_has_just_asked_in_vain() {
    let nothing = Known { all: false, ..ALL };
    let mut refresh = asked_at_start();
    assert_eq!(
        refresh.look(nothing, START.plus(TOKEN_ASK_MS - 1)),
        Look::Rest
    );
    let wait = Look::Wait(REGISTRY_WAIT_MS_MAX);
    assert_eq!(refresh.look(nothing, START.plus(TOKEN_ASK_MS)), wait);
    let under_way = Known {
        under_way: true,
        ..nothing
    };
    assert_eq!(refresh.look(under_way, START.plus(1)), wait);
}

#[test]
fn a_missing_token_is_asked_for_once_a_second() {
    let missing = Known {
        token_missing: true,
        ..ALL
    };
    let mut refresh = asked_at_start();
    let mut asked = 0;
    for ms in 0..4_000 {
        if refresh.look(missing, START.plus(ms)) != Look::Rest {
            asked += 1;
        }
    }
    assert_eq!(asked, 4);
}

/// A clock that was set back must not stop the questions for as long as it was set back.
#[test]
fn a_clock_that_was_set_back_does_not_keep_a_region_from_asking() {
    let mut refresh = asked_at_start();
    let earlier = EpochMs(START.0 - 3_600_000);
    assert_ne!(refresh.look(ALL, earlier), Look::Rest);
    refresh.asked(earlier);
    assert_eq!(refresh.look(ALL, earlier.plus(1)), Look::Rest);
    let mut wanted = Wanted::default();
    assert_eq!(wanted.step("a", START), Step::Ask);
    wanted.answered();
    assert_eq!(wanted.step("a", earlier), Step::Ask);
}

proptest! {
    /// Under traffic of whatever rhythm the registry is asked no later than a poll after the last time, or, after a
    /// silence, before the first answer; and no more often than once a poll.
    #[test]
    fn nothing_is_older_than_a_poll_where_it_is_used(pauses in prop::collection::vec(1_u64..12_000, 1..60)) {
        let mut refresh = asked_at_start();
        let mut asked_at = START;
        let mut now = START;
        for pause_ms in pauses {
            now = now.plus(pause_ms);
            match refresh.look(ALL, now) {
                Look::Rest => prop_assert!(now.since(asked_at) < POLICY_POLL_MS),
                Look::Ask | Look::Wait(_) => {
                    prop_assert!(now.since(asked_at) >= POLICY_POLL_MS);
                    refresh.asked(now);
                    asked_at = now;
                }
            }
        }
    }

    /// However many requests come with tokens that are not known, and however long the answers take, one question is
    /// under way at a time, one is asked a second for each token, and a bounded number for all.
    #[test]
    fn of_many_requests_with_unknown_tokens_few_ask(
        requests in prop::collection::vec((0_u64..400, 0_usize..12, any::<bool>()), 1..200),
    ) {
        let mut wanted = Wanted::default();
        let mut now = START;
        let mut asked: Vec<(EpochMs, usize)> = Vec::new();
        let mut under_way: Option<EpochMs> = None;
        for (pause_ms, token, answer) in requests {
            now = now.plus(pause_ms);
            if answer {
                wanted.answered();
                under_way = None;
            }
            let waits = under_way.is_some_and(|at| now.since(at) < CALL_MS_MAX);
            asked.retain(|(at, _)| now.since(*at) < TOKEN_ASK_MS);
            let same = asked.iter().any(|(_, other)| *other == token);
            match wanted.step(&token.to_string(), now) {
                Step::Ask => {
                    prop_assert!(!waits && !same && asked.len() < TOKENS_WANTED_MAX);
                    asked.push((now, token));
                    under_way = Some(now);
                }
                Step::Wait => prop_assert!(waits),
                Step::Known => prop_assert!(!waits && (same || asked.len() >= TOKENS_WANTED_MAX)),
            }
        }
    }
}
