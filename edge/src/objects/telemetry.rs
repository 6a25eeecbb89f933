//! What this instance of the module has to tell of itself and has not told yet: plain sums, told as
//! [`usage`](super::usage) is.

use std::cell::RefCell;

use weir_shared::wire::telemetry::Telemetry;

use super::binding::Class;

/// The header of an object's answer that tells.
pub const HEADER: &str = "weir-telemetry";

thread_local! {
    static TELEMETRY: RefCell<Telemetry> = RefCell::default();
}

fn with<R>(step: impl FnOnce(&mut Telemetry) -> R) -> Option<R> {
    TELEMETRY.with(|telemetry| Some(step(&mut *telemetry.try_borrow_mut().ok()?)))
}

/// Counts a decision that waited. One that waited for nothing, or for less than the platform's clock tells, is none.
pub fn decision_waited(ms: u64) {
    if ms > 0 {
        with(|telemetry| telemetry.decision_waits.add_one(ms));
    }
}

/// Counts a wait for units of a lease.
pub fn lease_waited(ms: u64) {
    with(|telemetry| telemetry.lease_waits.add_one(ms));
}

/// Counts a call of an object that failed.
pub fn call_failed(class: Class) {
    with(|telemetry| {
        let failed = &mut telemetry.failed;
        match class {
            Class::Coordinator => failed.coordinator_calls += 1,
            Class::Region => failed.region_calls += 1,
            Class::Registry => failed.registry_calls += 1,
            Class::Ledger => failed.ledger_calls += 1,
        }
    });
}

/// Counts a write that failed.
pub fn write_failed() {
    with(|telemetry| telemetry.failed_writes += 1);
}

/// Counts a row that cannot be read.
pub fn row_damaged() {
    with(|telemetry| telemetry.damaged_rows += 1);
}

/// Takes what was told by another instance.
pub fn told(telemetry: &Telemetry) {
    with(|mine| mine.add(telemetry));
}

/// All that was not told yet, which the caller now tells.
#[must_use]
pub fn drain() -> Telemetry {
    with(std::mem::take).unwrap_or_default()
}
