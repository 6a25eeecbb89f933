//! What is timed, natively and in V8 by the same code: one decision each, in a steady state.

mod composite;
mod fair;
mod federated;
mod gcra;
mod leased;
mod overload;
mod random;

use weir_shared::fairness::ask::{Claimant, Party, TenantClaim};
use weir_shared::fairness::weight::Weight;
use weir_shared::units::EpochMs;

/// Where time starts: a millisecond after the beginning of an hour, so that windows of an hour last.
pub const START: EpochMs = EpochMs(1_699_999_200_001);

/// One kernel.
pub struct Kernel {
    /// What it does, as a row of the table.
    pub name: String,
    run: Box<dyn FnMut(u64)>,
}

impl Kernel {
    /// One that `run` repeats so many times.
    fn new(name: impl Into<String>, run: impl FnMut(u64) + 'static) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
        }
    }

    /// Runs it so many times.
    pub fn run(&mut self, times: u64) {
        (self.run)(times);
    }
}

/// The name of a group, and what makes its kernels.
pub type Group = (&'static str, fn() -> Vec<Kernel>);

/// The kernels, in groups each of which has a name, and is made, timed in turns, and dropped before the next.
pub const GROUPS: [Group; 9] = [
    ("leased", leased::kernels),
    ("gcra", gcra::kernels),
    ("fair, 100", || fair::kernels(100)),
    ("fair, 10,000", || fair::kernels(10_000)),
    ("fair, 1,000,000", || fair::kernels(1_000_000)),
    ("federated, small", || federated::kernels(&[100, 10_000])),
    ("federated, large", || federated::kernels(&[1_000_000])),
    ("composite", composite::kernels),
    ("overload", overload::kernels),
];

/// A tenant that the policy names, with one of eight weights.
fn party(index: u64) -> Party {
    let claim = TenantClaim {
        weight: weight(index),
        ..TenantClaim::default()
    };
    let name = tenant(index);
    Claimant { name, claim }.into()
}

fn tenant(index: u64) -> String {
    format!("tenant-{index}")
}

fn weight(index: u64) -> Weight {
    Weight::from_micros((1 + index % 8) * 1_000_000).expect("a weight in bounds")
}
