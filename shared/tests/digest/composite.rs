//! Several limits together, some of them weighted in tenths, some in shadow.

use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::composite::{
    Dimension, Group, Mode, Source, StateKey, bind, evaluate,
};
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::scale::{Scaled, ScaledState};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

use crate::digest::START_MS;
use crate::digest::log::Log;
use crate::digest::machines::{fixed_windows, sliding_windows, token_buckets};
use crate::random::Random;

/// Until `decisions` questions of up to three groups are answered.
pub(crate) fn run(seed: u64, decisions: usize) -> Log {
    let mut random = Random::new(seed);
    let tenths = |algorithm: &Algorithm| Scaled::new(algorithm, 10).unwrap();
    let gcra = Algorithm::Gcra(Gcra::new(10, 1_000, 30).unwrap());
    let machines = [
        tenths(&gcra),
        tenths(&token_buckets()[0]),
        tenths(&fixed_windows()[1]),
        Scaled::whole(sliding_windows()[0].clone()),
    ];
    let mut states: OrderedMap<StateKey, ScaledState> = OrderedMap::new();
    let mut now = EpochMs(START_MS);
    let mut log = Log::default();
    for _ in 0..decisions {
        now = now.plus(random.below(300));
        let groups: Vec<Group<'_>> = (0..random.between(1, 3))
            .map(|_| Group {
                mode: random.one_of(&[Mode::All, Mode::Any]),
                dimensions: (0..random.between(1, 3))
                    .map(|_| dimension(&machines, &mut random))
                    .collect(),
            })
            .collect();
        let verdict = evaluate(&groups, |key| states.get(key).cloned(), now);
        log.decision(verdict.admitted, &[]);
        for (group, decided) in groups.iter().zip(&verdict.decisions) {
            let bound = bind(group.mode, decided);
            log.number(bound.map(|bound| bound.index as u64));
            for decision in decided {
                log.number(Some(decision.remaining));
                log.number(decision.retry.after_ms());
            }
        }
        log.text(&serde_json::to_string(&verdict.receipts).unwrap());
        states.extend(verdict.writes);
    }
    log
}

fn dimension<'a>(machines: &'a [Scaled], random: &mut Random) -> Dimension<'a> {
    let which = random.below(machines.len() as u64) as usize;
    let machine = &machines[which];
    let key = StateKey {
        limit: format!("l{which}"),
        key: format!("k{}", random.below(3)),
    };
    let cost = machine.scale() * random.below(4) + random.below(machine.scale());
    let source = match random.chance(900) {
        true => Source::Here { machine, key, cost },
        false => Source::Look {
            machine,
            key,
            parts: cost,
        },
    };
    Dimension {
        source,
        shadow: random.chance(100),
    }
}
