//! Two limits as one, with the verdict on both.

use std::hint::black_box;

use weir_shared::algorithms::Algorithm;
use weir_shared::algorithms::composite::Mode;
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::algorithms::scale::{Scaled, ScaledState};
use weir_shared::limiting::verdict::{DimensionRules, StepRules};
use weir_shared::units::EpochMs;

use super::{Kernel, START};

pub fn kernels() -> Vec<Kernel> {
    vec![
        of("composite of two, admitted", 2),
        of("composite of two, denied", 0),
    ]
}

fn of(name: &str, step_ms: u64) -> Kernel {
    let limit = |burst| Scaled::whole(Algorithm::Gcra(Gcra::new(1, 2, burst).expect("in range")));
    let limits = [limit(100), limit(200)];
    let rules = StepRules {
        mode: Mode::All,
        enforced: true,
        dimensions: vec![DimensionRules::default(); 2],
    };
    let mut now = START;
    let used = if step_ms == 0 { 100 } else { 50 };
    let mut states: [Option<ScaledState>; 2] =
        [0, 1].map(|index| limits[index].check(None, used, now).next);
    Kernel::new(name, move |times| {
        for _ in 0..times {
            now = EpochMs(now.0 + step_ms);
            let states = black_box(&mut states);
            let checked = [0, 1].map(|index| limits[index].check(states[index].as_ref(), 1, now));
            let decisions = [0, 1].map(|index| Some(checked[index].decision));
            let verdict = black_box(rules.verdict(black_box(&decisions)));
            for (state, checked) in states.iter_mut().zip(checked) {
                if verdict.admitted && checked.next.is_some() {
                    *state = checked.next;
                }
            }
        }
    })
}
