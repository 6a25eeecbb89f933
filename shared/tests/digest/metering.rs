//! Meters and guards whose numbers change, whose clock steps back, and whose charges are undone.

use weir_shared::algorithms::deficit_bucket::DeficitBucket;
use weir_shared::algorithms::guard::Guard;
use weir_shared::algorithms::{Algorithm, Receipt, State};
use weir_shared::decision::Reason;
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::units::EpochMs;
use weir_shared::wire::decimal::Decimal;

use crate::digest::START_MS;
use crate::digest::log::Log;
use crate::digest::of_any_size;
use crate::random::Random;

const KEYS: u64 = 8;

fn meters() -> Vec<Algorithm> {
    let meter = |per_sec, burst_seconds, max_debt_ms| {
        let burst_seconds = Decimal(burst_seconds);
        DeficitBucket::new(Decimal(per_sec), burst_seconds, max_debt_ms).unwrap()
    };
    let meters = [
        meter(100.0, 1.0, 60_000),
        meter(0.3, 12.5, 5_000),
        meter(2_097_152.0, 10.0, 86_400_000),
        meter(7.001, 0.001, 400),
    ];
    meters.map(Algorithm::DeficitBucket).to_vec()
}

fn guards() -> Vec<Algorithm> {
    let guards = [
        Guard::new(Some(4), Some(120), 30_000).unwrap(),
        Guard::new(Some(1), None, 500).unwrap(),
        Guard::new(None, Some(7), 1_000).unwrap(),
        Guard::new(None, None, 2_000).unwrap(),
    ];
    guards.map(Algorithm::Guard).to_vec()
}

/// One key: its state and its latest charge.
#[derive(Default)]
struct Key {
    state: Option<State>,
    charge: Option<(u64, Receipt)>,
}

/// Until `decisions` are made by meters.
pub(crate) fn meter(seed: u64, decisions: usize) -> Log {
    run(&meters(), seed, decisions)
}

/// Until `decisions` are made by guards.
pub(crate) fn guard(seed: u64, decisions: usize) -> Log {
    run(&guards(), seed, decisions)
}

/// Until `decisions` are made by these, between which a key changes now and then.
pub(crate) fn run(machines: &[Algorithm], seed: u64, decisions: usize) -> Log {
    let mut random = Random::new(seed);
    let mut keys: Vec<_> = (0..KEYS).map(|_| Key::default()).collect();
    let mut now = EpochMs(START_MS);
    let mut log = Log::default();
    while log.decisions() < decisions {
        now = match random.below(20) {
            0 => EpochMs(now.0 - random.below(3_000)),
            1 => now.plus(random.below(70_000)),
            _ => now.plus(random.below(200)),
        };
        let which = random.below(KEYS) as usize;
        // A key changes its numbers now and then.
        let machine = if random.chance(900) {
            &machines[which % machines.len()]
        } else {
            &machines[random.below(machines.len() as u64) as usize]
        };
        let key = &mut keys[which];
        if random.chance(200) {
            give_back(machine, key, now, &mut log);
        }
        let cost = match random.below(4) {
            0 => random.below(3),
            1 => 1,
            _ => of_any_size(&mut random, (machine.ceiling() + 1).min(JSON_INTEGER_MAX)),
        };
        decide(machine, key, cost, now, &mut log);
    }
    log
}

fn decide(machine: &Algorithm, key: &mut Key, cost: u64, now: EpochMs, log: &mut Log) {
    let checked = machine.check(key.state.as_ref(), cost, now);
    let decision = checked.decision;
    let numbers = [
        cost,
        decision.limit,
        decision.remaining,
        decision.reset_at.0,
    ];
    log.decision(decision.admitted(), &numbers);
    log.number(Some(u64::from(decision.reason == Reason::Concurrency)));
    log.number(decision.retry.after_ms());
    if let Some(next) = checked.next {
        let receipt = machine.receipt(&next);
        log.text(&serde_json::to_string(&receipt).unwrap());
        log.number(Some(machine.expires_at(&next).0));
        key.charge = Some((cost, receipt));
        key.state = Some(next);
    }
}

/// A part of the latest charge is given back, and of a guard its slot released.
fn give_back(machine: &Algorithm, key: &mut Key, now: EpochMs, log: &mut Log) {
    let (Some(state), Some((cost, receipt))) = (&key.state, &key.charge) else {
        return;
    };
    let next = match (machine, state, receipt) {
        (Algorithm::Guard(guard), State::Guard(state), Receipt::Guard(receipt))
            if cost % 2 == 0 =>
        {
            let released = guard.release(state, receipt.slot, now);
            log.number(released.expires_at.map(|at| at.0));
            released.next.map(State::Guard)
        }
        _ => machine.refund(state, receipt, 1 + cost / 2, now),
    };
    log.number(next.as_ref().map(|next| machine.expires_at(next).0));
    key.state = next.or(key.state.take());
}
