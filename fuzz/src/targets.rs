//! What is fuzzed, one file a kind of input.

mod ask;
mod jwt;
mod law;
mod paths;
mod policy;
mod requests;
mod sealed;
mod usage;
mod wire;

use crate::driver::Target;

macro_rules! lanes {
    ($($name:literal => $run:expr),+ $(,)?) => {
        &[$($crate::driver::Lane { name: $name, run: $run }),+]
    };
}
pub(crate) use lanes;

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "json",
        corpus: include_str!("../corpus/json.txt"),
        weight: 12,
        lanes: law::JSON,
    },
    Target {
        name: "ask",
        corpus: include_str!("../corpus/ask.txt"),
        weight: 20,
        lanes: ask::LANES,
    },
    Target {
        name: "wire",
        corpus: include_str!("../corpus/wire.txt"),
        weight: 20,
        lanes: wire::MESSAGES,
    },
    Target {
        name: "stored",
        corpus: include_str!("../corpus/wire.txt"),
        weight: 20,
        lanes: wire::ROWS,
    },
    Target {
        name: "policy",
        corpus: include_str!("../corpus/policy.txt"),
        weight: 2,
        lanes: policy::LANES,
    },
    Target {
        name: "paths",
        corpus: include_str!("../corpus/paths.txt"),
        weight: 12,
        lanes: paths::LANES,
    },
    Target {
        name: "headers",
        corpus: include_str!("../corpus/headers.txt"),
        weight: 6,
        lanes: requests::LANES,
    },
    Target {
        name: "jwt",
        corpus: include_str!("../corpus/jwt.txt"),
        weight: 10,
        lanes: jwt::LANES,
    },
    Target {
        name: "sealed",
        corpus: include_str!("../corpus/sealed.txt"),
        weight: 6,
        lanes: sealed::LANES,
    },
    Target {
        name: "usage",
        corpus: include_str!("../corpus/usage.txt"),
        weight: 8,
        lanes: usage::LANES,
    },
];

/// How many of `executions` one of `targets` gets, by its weight among them.
#[must_use]
pub fn share(targets: &[Target], target: &Target, executions: u64) -> u64 {
    let all: u64 = targets.iter().map(|one| one.weight).sum();
    (u128::from(executions) * u128::from(target.weight)).div_ceil(u128::from(all.max(1))) as u64
}
