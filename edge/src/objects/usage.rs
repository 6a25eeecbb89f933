//! What this instance of the module used of the platform and has not told yet: plain numbers.
//!
//! An object tells with each answer, so that what it used reaches the isolate that asked; the isolate tells with its
//! counters, so that it reaches the ledger. What an instance that died had not told is missing from the sums.

use std::cell::RefCell;

use weir_shared::wire::usage::Usage;

use super::binding::Class;

/// The header of an object's answer that tells.
pub const HEADER: &str = "weir-usage";

thread_local! {
    static USAGE: RefCell<Usage> = RefCell::default();
}

fn with<R>(step: impl FnOnce(&mut Usage) -> R) -> Option<R> {
    USAGE.with(|usage| Some(step(&mut *usage.try_borrow_mut().ok()?)))
}

/// Counts a call of an object.
pub fn called(class: Class) {
    with(|usage| match class {
        Class::Coordinator => usage.coordinator_calls += 1,
        Class::Region => usage.region_calls += 1,
        Class::Registry => usage.registry_calls += 1,
        Class::Ledger => usage.ledger_calls += 1,
    });
}

/// Counts rows that were written.
pub fn wrote(rows: usize) {
    with(|usage| usage.rows_written += rows as u64);
}

/// Takes what was told by another instance.
pub fn told(usage: &Usage) {
    with(|mine| mine.add(usage));
}

/// All that was not told yet, which the caller now tells.
#[must_use]
pub fn drain() -> Usage {
    with(std::mem::take).unwrap_or_default()
}
