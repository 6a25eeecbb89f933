//! One hot key: the transition alone, without a map.

use std::hint::black_box;
use std::num::NonZeroU32;

use governor::RateLimiter;
use governor::clock::Clock;
use governor::middleware::StateInformationMiddleware;
use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::scale::Scaled;
use weir_shared::units::EpochMs;

use super::clock::{BURST, Pace, START, ToldClock};
use super::{Contender, Scenario};

const CHECKS: u64 = 20_000;

/// A key that is asked exactly as fast as its limit allows, twice as fast, and without a pause.
pub fn scenarios() -> Vec<Scenario> {
    let of = |name, step_ms| {
        let pace = Pace {
            interval_ms: 2,
            step_ms,
        };
        Scenario {
            name,
            checks: CHECKS,
            contenders: vec![
                weir(pace),
                governor(pace),
                governor_informed(pace),
                weir_scaled(pace),
            ],
        }
    };
    vec![
        of("one key, all admitted", 2),
        of("one key, every second denied", 1),
        of("one key, all denied", 0),
    ]
}

/// The transition: the state in, the decision and the next state out.
fn weir(pace: Pace) -> Contender {
    let gcra = pace.gcra();
    let mut now = START;
    let mut state = gcra.check(None, u64::from(BURST) / 2, now).next;
    Contender::new("weir", move |checks| {
        for _ in 0..checks {
            now = EpochMs(now.0 + pace.step_ms);
            let state = black_box(&mut state);
            let checked = gcra.check(state.as_ref(), 1, now);
            if let Some(next) = checked.next {
                *state = Some(next);
            }
            black_box(checked.decision);
        }
    })
}

/// The same behind the interface of all algorithms, in any parts of a unit: what a policy's limit is.
fn weir_scaled(pace: Pace) -> Contender {
    let limit = Scaled::whole(Algorithm::Gcra(pace.gcra()));
    let mut now = START;
    let mut state = limit.check(None, u64::from(BURST) / 2, now).next;
    Contender::new("weir, any algorithm", move |checks| {
        for _ in 0..checks {
            now = EpochMs(now.0 + pace.step_ms);
            let state = black_box(&mut state);
            let checked = limit.check(state.as_ref(), 1, now);
            if let Some(next) = checked.next {
                *state = Some(next);
            }
            black_box(checked.decision);
        }
    })
}

/// Yes or no.
fn governor(pace: Pace) -> Contender {
    let clock = ToldClock::started();
    let limiter = RateLimiter::direct_with_clock(pace.quota(), clock.clone());
    let half = limiter.check_n(half());
    assert!(matches!(half, Ok(Ok(()))));
    Contender::new("governor", move |checks| {
        for _ in 0..checks {
            clock.advance(pace.step_ms);
            let checked = black_box(&limiter).check();
            // What came out is looked at: that frees nothing.
            let _ = black_box(checked);
        }
    })
}

/// Yes with what is left, or no with when to come again: a part of what a decision of Weir says.
fn governor_informed(pace: Pace) -> Contender {
    let clock = ToldClock::started();
    let limiter = RateLimiter::direct_with_clock(pace.quota(), clock.clone())
        .with_middleware::<StateInformationMiddleware>();
    let half = limiter.check_n(half());
    assert!(matches!(half, Ok(Ok(_))));
    Contender::new("governor, informed", move |checks| {
        for _ in 0..checks {
            clock.advance(pace.step_ms);
            match black_box(&limiter).check() {
                Ok(told) => {
                    black_box(told.remaining_burst_capacity());
                }
                Err(refused) => {
                    black_box(refused.wait_time_from(clock.now()));
                }
            }
        }
    })
}

fn half() -> NonZeroU32 {
    NonZeroU32::new(BURST / 2).expect("not 0")
}
