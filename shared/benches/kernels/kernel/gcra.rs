//! The generic cell rate algorithm: the transition alone.

use std::hint::black_box;

use weir_shared::algorithms::gcra::Gcra;
use weir_shared::units::EpochMs;

use super::{Kernel, START};

pub fn kernels() -> Vec<Kernel> {
    vec![of("GCRA, admitted", 2), of("GCRA, denied", 0)]
}

/// A key that is asked every `step_ms`, of which one in two milliseconds may be.
fn of(name: &str, step_ms: u64) -> Kernel {
    let gcra = Gcra::new(1, 2, 100).expect("the numbers are in range");
    let mut now = START;
    let used = if step_ms == 0 { 100 } else { 50 };
    let mut state = gcra.check(None, used, now).next;
    Kernel::new(name, move |times| {
        for _ in 0..times {
            now = EpochMs(now.0 + step_ms);
            let state = black_box(&mut state);
            let checked = gcra.check(state.as_ref(), 1, now);
            if let Some(next) = checked.next {
                *state = Some(next);
            }
            black_box(checked.decision);
        }
    })
}
