//! What is reserved in counters, and what came of it.

use weir_core::limits::RESERVATION_GRACE_MS;
use weir_core::units::EpochMs;
use weir_wire::accounting::counters::slot;
use weir_wire::accounting::{MeterTally, Reservations, Tally, TenantCounters};
use weir_wire::count::Count;
use weir_wire::windows::minute_of;

use super::counters::{Charged, Decided, entry, merge};

/// What a reservation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled<'a> {
    /// For whom.
    pub tenant: &'a str,
    /// Whether the policy names the tenant.
    pub known: bool,
    /// What was charged: a budget, a limit or a meter.
    pub charged: Charged<'a>,
    /// When its time would have been over.
    pub until: EpochMs,
    /// Units that were reserved.
    pub reserved: u64,
    /// Units that were used.
    pub used: u64,
}

/// Whether what was not settled in time has been counted as used: settlements that were made in time have arrived by then.
pub(super) fn is_over(until: EpochMs, at: EpochMs) -> bool {
    at >= until.plus(RESERVATION_GRACE_MS)
}

/// Adds what was reserved to the reservations whose time is over in the same minute.
pub(super) fn reserve(
    reservations: &mut Reservations,
    decided: &Decided<'_>,
    until: EpochMs,
    strangers_max: usize,
) {
    let counters = reservations.entry(minute_of(until)).or_default();
    let entry = entry(counters, decided.tenant, decided.known, strangers_max);
    if let Some(reserved) = reserved_of(entry, decided.charged).map(|held| held.reserved) {
        *reserved += decided.units;
    }
}

/// Adds what came of a reservation.
pub fn settle(reservations: &mut Reservations, settled: &Settled<'_>, strangers_max: usize) {
    let counters = reservations.entry(minute_of(settled.until)).or_default();
    let entry = entry(counters, settled.tenant, settled.known, strangers_max);
    if let Some(held) = reserved_of(entry, settled.charged) {
        *held.released += settled.reserved;
        *held.used += settled.used;
    }
}

/// Adds reservations.
pub(super) fn merge_reservations(
    reservations: &mut Reservations,
    more: &Reservations,
    strangers_max: usize,
) {
    for (until, counters) in more {
        merge(
            reservations.entry(*until).or_default(),
            counters,
            strangers_max,
        );
    }
}

/// What counters have of reservations of one name.
pub(super) struct ReservedCounts<'a> {
    pub(super) reserved: &'a mut Count,
    pub(super) released: &'a mut Count,
    pub(super) used: &'a mut Count,
}

impl<'a> From<&'a mut Tally> for ReservedCounts<'a> {
    fn from(tally: &'a mut Tally) -> Self {
        Self {
            reserved: &mut tally.reserved_units,
            released: &mut tally.released_units,
            used: &mut tally.admitted_units,
        }
    }
}

impl<'a> From<&'a mut MeterTally> for ReservedCounts<'a> {
    fn from(tally: &'a mut MeterTally) -> Self {
        Self {
            reserved: &mut tally.reserved_units,
            released: &mut tally.released_units,
            used: &mut tally.admitted_units,
        }
    }
}

/// Guards and overload resources have nothing to settle.
pub(super) fn reserved_of<'a>(
    entry: &'a mut TenantCounters,
    charged: Charged<'_>,
) -> Option<ReservedCounts<'a>> {
    Some(match charged {
        Charged::Budget(name) => slot(&mut entry.budgets, name).into(),
        Charged::Limit(name) => slot(&mut entry.limits, name).into(),
        Charged::Meter(name) => slot(&mut entry.meters, name).into(),
        Charged::Guard(_) | Charged::Overload(_) => return None,
    })
}

/// Each name of which units can be reserved.
pub(super) fn each_reserved(
    counters: &mut TenantCounters,
    mut each: impl FnMut(Charged<'_>, ReservedCounts<'_>),
) {
    for (name, tally) in counters.budgets.iter_mut() {
        each(Charged::Budget(name), tally.into());
    }
    for (name, tally) in counters.limits.iter_mut() {
        each(Charged::Limit(name), tally.into());
    }
    for (name, tally) in counters.meters.iter_mut() {
        each(Charged::Meter(name), tally.into());
    }
}

/// Keeps the names of which units are reserved.
pub(super) fn keep_reserved(
    counters: &mut TenantCounters,
    keep: impl Fn(ReservedCounts<'_>) -> bool,
) {
    counters.budgets.retain(|_, tally| keep(tally.into()));
    counters.limits.retain(|_, tally| keep(tally.into()));
    counters.meters.retain(|_, tally| keep(tally.into()));
}
