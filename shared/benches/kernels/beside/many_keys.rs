//! Many keys, each asked once a round in an order that no cache foresees. Both keep their states in the same kind of
//! map with the same hasher: the one that governor brings.

use std::hash::Hash;
use std::hint::black_box;

use dashmap::DashMap;
use governor::RateLimiter;
use weir_shared::algorithms::gcra::GcraState;
use weir_shared::units::EpochMs;

use super::clock::{BURST, Pace, START, ToldClock};
use super::{Contender, Scenario};

const STEP_MS: u64 = 2;

/// 100,000 keys as they arrive in a request; as many of a word; fewer, so that the caches hold them.
pub fn scenarios() -> Vec<Scenario> {
    let address = |key: u64| format!("10.{}.{}.{}", key >> 16, key >> 8 & 255, key & 255);
    let addresses: Vec<String> = shuffled(100_000).into_iter().map(address).collect();
    vec![
        of("100,000 keys, text", &addresses),
        of("100,000 keys, u64", &shuffled(100_000)),
        of("10,000 keys, u64", &shuffled(10_000)),
    ]
}

fn of<K: Hash + Eq + Clone + 'static>(name: &'static str, keys: &[K]) -> Scenario {
    Scenario {
        name,
        checks: keys.len() as u64,
        contenders: vec![weir(keys.to_vec()), governor(keys.to_vec())],
    }
}

/// A round takes as long as one unit needs: every check is admitted, and half the burst stays used.
fn pace(keys: usize) -> Pace {
    Pace {
        interval_ms: STEP_MS * keys as u64,
        step_ms: STEP_MS,
    }
}

fn weir<K: Hash + Eq + Clone + 'static>(keys: Vec<K>) -> Contender {
    let gcra = pace(keys.len()).gcra();
    let mut now = START;
    let used = gcra.check(None, u64::from(BURST) / 2, now).next;
    let states: DashMap<K, GcraState> =
        keys.iter().cloned().zip(used.into_iter().cycle()).collect();
    let mut at = 0;
    Contender::new("weir", move |checks| {
        for _ in 0..checks {
            now = EpochMs(now.0 + STEP_MS);
            let key = &keys[at];
            at = (at + 1) % keys.len();
            let decision = if let Some(mut state) = states.get_mut(key) {
                let checked = gcra.check(Some(&state), 1, now);
                if let Some(next) = checked.next {
                    *state = next;
                }
                checked.decision
            } else {
                let checked = gcra.check(None, 1, now);
                if let Some(next) = checked.next {
                    states.insert(key.clone(), next);
                }
                checked.decision
            };
            black_box(decision);
        }
    })
}

fn governor<K: Hash + Eq + Clone + 'static>(keys: Vec<K>) -> Contender {
    let clock = ToldClock::started();
    let limiter = RateLimiter::dashmap_with_clock(pace(keys.len()).quota(), clock.clone());
    for key in &keys {
        for _ in 0..BURST / 2 {
            assert!(limiter.check_key(key).is_ok());
        }
    }
    let mut at = 0;
    Contender::new("governor", move |checks| {
        for _ in 0..checks {
            clock.advance(STEP_MS);
            let key = &keys[at];
            at = (at + 1) % keys.len();
            // What came out is looked at: that frees nothing.
            let _ = black_box(limiter.check_key(key));
        }
    })
}

/// The numbers below `count` in an order that is always the same (Fisher and Yates; the generator is Marsaglia's
/// xorshift of 64 bits).
fn shuffled(count: u64) -> Vec<u64> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut keys: Vec<u64> = (0..count).collect();
    for last in (1..keys.len()).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        keys.swap(last, (random % (last as u64 + 1)) as usize);
    }
    keys
}
