//! The same decisions, bit for bit, on the native target and in a browser's wasm: a digest over 10,000 seeded
//! decisions of each state machine equals one constant on both.
//!
//! A digest that moves means that decisions moved. Where that is intended, the failing test prints the new one.

#[cfg(target_arch = "wasm32")]
wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);

mod composite;
mod exchange;
mod frames;
mod log;
mod machines;
mod metering;
mod overload;
mod shares;

use crate::random::Random;
use log::Log;
use weir_shared::algorithms::gcra::{Gcra, GcraState};
use weir_shared::clock::MonotonicClock;
use weir_shared::fairness::share::Rule;
use weir_shared::fairness::weight::Weight;
use weir_shared::federation::lease_size::{LeaseDemand, expected_units, lease_units};
use weir_shared::limits::{COST_MAX, JSON_INTEGER_MAX};
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::window::Window;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::exchange::Cycle;
use weir_shared::wire::overload::Steering;

/// Decisions of each machine.
const DECISIONS: usize = 10_000;

/// When the schedules start.
const START_MS: u64 = 1_700_000_000_000;

/// A number from 1 to `most`, with small ones as frequent as large ones.
fn of_any_size(random: &mut Random, most: u64) -> u64 {
    1 + (random.below(most) >> random.below(u64::from(u64::BITS - most.leading_zeros())))
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn gcra_decides_the_same() {
    const KEYS: usize = 8;
    let mut random = Random::new(1);
    let limits = [
        Gcra::new(100, 60_000, 20).unwrap(),
        Gcra::new(7, 1_000, 3).unwrap(),
        Gcra::new(10_000_000, 1_000, 250_000).unwrap(),
        Gcra::new(JSON_INTEGER_MAX, 1, JSON_INTEGER_MAX).unwrap(),
    ];
    let mut states: [Option<GcraState>; KEYS] = [None; KEYS];
    let mut now = EpochMs(START_MS);
    let mut log = Log::default();
    for _ in 0..DECISIONS {
        now = now.plus(random.below(400));
        let key = random.below(KEYS as u64) as usize;
        // A key changes its limit now and then.
        let limit = if random.chance(900) {
            key % limits.len()
        } else {
            random.below(4) as usize
        };
        let burst = limits[limit].burst();
        let cost = match random.below(4) {
            0 => random.below(4),
            1 => 1 + random.below(burst),
            _ => of_any_size(&mut random, burst + 1),
        };
        let checked = limits[limit].check(states[key].as_ref(), cost, now);
        states[key] = checked.next.or(states[key]);
        let decision = checked.decision;
        log.decision(
            decision.admitted(),
            &[
                limit as u64,
                cost,
                decision.limit,
                decision.remaining,
                decision.reset_at.0,
            ],
        );
        log.number(decision.retry.after_ms());
        log.number(checked.next.map(|next| next.ms));
        log.number(checked.next.map(|next| next.ticks));
    }
    log.is(8_802, 0xabc1_cb91_d3d4_6c05);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn meters_charge_the_same() {
    metering::meter(8, DECISIONS).is(6_019, 0xf07d_dc1e_0082_5c18);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn guards_give_the_same_slots() {
    metering::guard(9, DECISIONS).is(7_266, 0x6ca7_4a90_f609_f3d0);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn windows_roll_the_same() {
    let mut random = Random::new(2);
    let mut clock = MonotonicClock::default();
    let mut window = Window::open(WindowLabel(1), EpochMs(START_MS), 1_000);
    let mut raw_ms = START_MS;
    let mut log = Log::default();
    for _ in 0..DECISIONS {
        raw_ms = match random.below(20) {
            0 => raw_ms.saturating_sub(random.below(200_000)),
            1 => raw_ms + random.below(200_000),
            _ => raw_ms + random.below(300),
        };
        let clamped = clock.read(EpochMs(raw_ms));
        let now = random.one_of(&[clamped, EpochMs(raw_ms)]);
        let next = window.at(now, random.one_of(&[1_000, 60_000, 7_777]));
        log.decision(
            next.label == window.label,
            &[
                now.0,
                next.label.0,
                next.ends_at.0,
                next.window_ms,
                next.remaining_ms(now),
            ],
        );
        window = next;
    }
    log.is(9_290, 0xd77e_0b17_71f6_e138);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn leases_are_sized_the_same() {
    let mut random = Random::new(3);
    let mut log = Log::default();
    for _ in 0..DECISIONS {
        let most = random.one_of(&[20, 1_000, COST_MAX]);
        let waiting = random.below(most);
        let spent = of_any_size(&mut random, most);
        let asked = LeaseDemand {
            waiting,
            smallest: waiting.min(1 + random.below(most)),
            expected: expected_units(spent, random.below(2_000), random.between(500, 10_240)),
        };
        let left = 2 * of_any_size(&mut random, most);
        let holders = random.between(0, 2_048) as usize;
        let units = lease_units(asked, left, holders);
        log.decision(
            units > 0,
            &[
                asked.waiting,
                asked.smallest,
                asked.expected,
                left,
                holders as u64,
                units,
            ],
        );
    }
    log.is(2_572, 0xd12b_c6d9_e95e_52fe);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn weights_are_read_the_same() {
    let mut random = Random::new(4);
    let mut log = Log::default();
    for _ in 0..DECISIONS {
        let whole = random.one_of(&[0, 1, 12, 123_456, 999_999, 1_000_000]);
        let decimals = random.between(0, 7) as usize;
        let rest = random.below(10_u64.pow(7));
        let text = format!(
            "{whole}.{:0<width$}",
            rest % 10_u64.pow(decimals as u32),
            width = decimals.max(1)
        );
        let value: f64 = text.parse().unwrap();
        match Weight::try_from(value) {
            Ok(weight) => {
                log.decision(true, &[weight.micros(), weight.as_f64().to_bits()]);
                log.text(&serde_json::to_string(&Decimal(weight.as_f64())).unwrap());
            }
            Err(fault) => {
                log.decision(false, &[value.to_bits()]);
                log.text(&fault.to_string());
            }
        }
    }
    log.is(7_470, 0xa80c_f5df_cd2e_dc67);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn frames_are_counted_the_same() {
    frames::run(5, DECISIONS).is(6_889, 0x43a0_8595_00de_f918);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn the_exchange_decides_the_same() {
    exchange::run(6, DECISIONS, None).is(7_319, 0x3d35_26d4_efe7_9861);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn the_exchange_of_a_rolling_window_decides_the_same() {
    let rolling = Cycle::Sliding { buckets: 5 };
    exchange::run(7, DECISIONS, Some(rolling)).is(6_485, 0xd407_bd4b_f71b_208c);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn token_buckets_decide_the_same() {
    metering::run(&machines::token_buckets(), 10, DECISIONS).is(8_055, 0x47e7_a046_d736_2e4e);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn fixed_windows_decide_the_same() {
    metering::run(&machines::fixed_windows(), 11, DECISIONS).is(6_103, 0x90a1_3018_706a_3102);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn sliding_windows_decide_the_same() {
    metering::run(&machines::sliding_windows(), 12, DECISIONS).is(9_059, 0xc099_c316_4e8a_4a91);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn sliding_logs_decide_the_same() {
    metering::run(&machines::sliding_logs(), 13, DECISIONS).is(8_210, 0x1160_da10_d8bf_20f5);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn quotas_decide_the_same() {
    metering::run(&machines::quotas(), 14, DECISIONS).is(1_586, 0xa318_9a84_078c_53e2);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn queues_delay_the_same() {
    machines::queues(15, DECISIONS).is(5_385, 0x6459_3cdb_ce58_11eb);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn limits_together_decide_the_same() {
    composite::run(16, DECISIONS).is(8_444, 0xaa24_e672_f66c_2059);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn tenants_share_the_same_first_come() {
    shares::run(17, DECISIONS, None).is(1_916, 0x09d4_0f2b_df0b_c1e7);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn tenants_share_the_same_fair() {
    shares::run(18, DECISIONS, Some(Rule::Fair)).is(3_254, 0xb5b9_25c6_26e0_718e);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn tenants_share_the_same_weighted() {
    shares::run(19, DECISIONS, Some(Rule::Weighted)).is(3_028, 0x883a_cd47_0f26_9609);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn tenants_share_the_same_pinned() {
    shares::run(20, DECISIONS, Some(Rule::Pinned)).is(2_264, 0x6a30_a9eb_0cae_28bc);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn tenants_share_the_same_paced() {
    shares::run(21, DECISIONS, Some(Rule::Paced)).is(2_286, 0xf344_9c38_eb79_c3bc);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn an_overloaded_origin_is_kept_the_same_by_its_fair_rate() {
    overload::run(22, DECISIONS, Steering::FairRate).is(1_957, 0x01ad_9d86_c582_4c31);
}

#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
#[cfg_attr(not(target_arch = "wasm32"), test)]
fn an_overloaded_origin_is_kept_the_same_by_probabilities() {
    overload::run(23, DECISIONS, Steering::Blue).is(4_853, 0x4ab1_eb2a_d603_db2e);
}
