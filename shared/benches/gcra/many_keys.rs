//! 100,000 keys, each asked once a round in an order that no cache foresees. Both keep their states in the same kind of
//! map with the same hasher: the one that governor brings.

use std::hash::Hash;
use std::hint::black_box;

use dashmap::DashMap;
use governor::RateLimiter;
use weir_shared::algorithms::gcra::GcraState;
use weir_shared::units::EpochMs;

use super::clock::{BURST, Pace, START, ToldClock};
use super::turns::{Contender, Scenario};

const KEYS: usize = 100_000;

/// A round takes as long as one unit needs: every check is admitted, and half the burst stays used.
const PACE: Pace = Pace {
    interval_ms: 2 * KEYS as u64,
    step_ms: 2,
};

/// Keys as they arrive in a request, and keys of a word.
pub fn scenarios() -> Vec<Scenario> {
    let of = |name, contenders| Scenario {
        name,
        checks: KEYS as u64,
        contenders,
    };
    let addresses: Vec<String> = shuffled()
        .into_iter()
        .map(|key| format!("10.{}.{}.{}", key >> 16, key >> 8 & 255, key & 255))
        .collect();
    vec![
        of(
            "100,000 keys, text",
            vec![weir(addresses.clone()), governor(addresses)],
        ),
        of(
            "100,000 keys, u64",
            vec![weir(shuffled()), governor(shuffled())],
        ),
    ]
}

fn weir<K: Hash + Eq + Clone + 'static>(keys: Vec<K>) -> Contender {
    let gcra = PACE.gcra();
    let mut now = START;
    let used = gcra.check(None, u64::from(BURST) / 2, now).next;
    let states: DashMap<K, GcraState> =
        keys.iter().cloned().zip(used.into_iter().cycle()).collect();
    let mut at = 0;
    Contender::new("weir", move |checks| {
        for _ in 0..checks {
            now = EpochMs(now.0 + PACE.step_ms);
            let key = &keys[at];
            at = (at + 1) % KEYS;
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
    let limiter = RateLimiter::dashmap_with_clock(PACE.quota(), clock.clone());
    for key in &keys {
        for _ in 0..BURST / 2 {
            assert!(limiter.check_key(key).is_ok());
        }
    }
    let mut at = 0;
    Contender::new("governor", move |checks| {
        for _ in 0..checks {
            clock.advance(PACE.step_ms);
            let key = &keys[at];
            at = (at + 1) % KEYS;
            // What came out is looked at: that frees nothing.
            let _ = black_box(limiter.check_key(key));
        }
    })
}

/// The numbers below `KEYS` in an order that is always the same (Fisher and Yates; the generator is Marsaglia's
/// xorshift of 64 bits).
fn shuffled() -> Vec<u64> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut keys: Vec<u64> = (0..KEYS as u64).collect();
    for last in (1..keys.len()).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        keys.swap(last, (random % (last as u64 + 1)) as usize);
    }
    keys
}
