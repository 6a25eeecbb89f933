//! Meters and guards: what their algorithms promise, and what a shard of keys makes of them.

mod charge;
mod debt;
mod drawn;
mod forms;
mod key_caches;
mod model;
mod phases;
mod scenarios;
mod shard;
mod slot_cases;
mod slots;

use proptest::prelude::ProptestConfig;
use weir_shared::units::EpochMs;

/// When schedules start: a time of the present.
const START: EpochMs = EpochMs(1_700_000_000_000);

/// Ten thousand cases of each property; nothing is written to disk.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 10_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
