//! How parts of windows add up.

use weir_core::limits::MINUTE_MS;
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::{BranchPart, HeldPart, TenantPart, WindowPart, WindowTenant};
use crate::accounting::OTHERS;
use crate::accounting::counters::slot_of;
use crate::count::Count;
use crate::decimal::Decimal;

/// The minute in which the time of a reservation is over, by its end.
///
/// ```
/// use weir_wire::windows::minute_of;
/// use weir_core::units::EpochMs;
/// assert_eq!((minute_of(EpochMs(60_000)), minute_of(EpochMs(60_001))), (EpochMs(60_000), EpochMs(120_000)));
/// ```
#[must_use]
pub fn minute_of(until: EpochMs) -> EpochMs {
    EpochMs(until.0.div_ceil(MINUTE_MS).saturating_mul(MINUTE_MS))
}

impl WindowPart {
    /// What one tenant was counted for.
    #[must_use]
    pub fn one(tenant: &str, part: TenantPart) -> Self {
        Self {
            tenants: OrderedMap::from([(tenant.to_owned(), part)]),
            ..Self::default()
        }
    }

    /// The part of a tenant, or of all those together for which there is no room.
    pub fn tenant(&mut self, name: &str, known: bool, strangers_max: usize) -> &mut TenantPart {
        let room = self.tenants.len() < strangers_max;
        let kept = known || room || self.tenants.contains_key(name);
        let name = if kept { name } else { OTHERS };
        let part = slot_of(&mut self.tenants, name);
        part.known |= known && kept;
        part
    }

    /// Adds another part of the same window.
    pub fn add(&mut self, other: &Self, strangers_max: usize) {
        self.limit = self.limit.max(other.limit);
        self.ends_at = self.ends_at.max(other.ends_at);
        if self.region.is_none() {
            self.region.clone_from(&other.region);
        }
        self.lapsed += other.lapsed;
        self.unaccounted += other.unaccounted;
        self.floors = self.floors.max(other.floors);
        self.unknown_weight_max = self.unknown_weight_max.max(other.unknown_weight_max);
        self.equal |= other.equal;
        for (name, branch) in &other.tree {
            slot_of(&mut self.tree, name).add(branch);
        }
        for (name, part) in &other.tenants {
            self.tenant(name, part.known, strangers_max).add(part);
        }
        for (until, tenants) in &other.reservations {
            for (name, held) in tenants {
                self.hold(*until, name, *held);
            }
        }
    }

    /// Adds reservations of a tenant. Who is counted among the others has reserved among them, too.
    pub fn hold(&mut self, until: EpochMs, tenant: &str, more: HeldPart) {
        let name = match self.tenants.contains_key(tenant) {
            true => tenant,
            false => OTHERS,
        };
        let tenants = self.reservations.entry(minute_of(until)).or_default();
        let held = slot_of(tenants, name);
        held.reserved += more.reserved;
        held.released += more.released;
    }
}

impl TenantPart {
    /// Adds another part of the same tenant in the same window. Its weight, floor and ceiling are the greatest that were
    /// heard: they may have changed within the window.
    pub fn add(&mut self, other: &Self) {
        let (one, two) = (self.weight_micros, other.weight_micros);
        self.ceiling = greatest((one, self.ceiling), (two, other.ceiling));
        self.floor = self.floor.max(other.floor);
        self.floor_by_name |= other.floor_by_name;
        self.weight_micros = self.weight_micros.max(other.weight_micros);
        self.known |= other.known;
        self.admitted += other.admitted;
        self.refunded += other.refunded;
        self.denied += other.denied;
        self.would_deny += other.would_deny;
        self.beyond += other.beyond;
    }

    /// Units that were served in the end.
    #[must_use]
    pub fn served(&self) -> Count {
        Count(self.admitted.0.saturating_sub(self.refunded.0))
    }

    /// Units that were asked for and not had.
    #[must_use]
    pub fn refused(&self) -> Count {
        Count(self.denied.0.saturating_add(self.would_deny.0))
    }
}

impl BranchPart {
    /// Adds another word on the same tenant in the same window. Of two parents, the one that comes last by its name: parts
    /// add up in any order.
    fn add(&mut self, other: &Self) {
        if self.parent < other.parent {
            self.parent.clone_from(&other.parent);
        }
        self.widen(other);
    }

    /// As of a tenant's own claim, the greatest that was heard.
    pub fn widen(&mut self, other: &Self) {
        let (one, two) = (self.weight_micros, other.weight_micros);
        self.ceiling = greatest((one, self.ceiling), (two, other.ceiling));
        self.weight_micros = one.max(two);
        self.floor = self.floor.max(other.floor);
        self.floor_by_name |= other.floor_by_name;
        self.floors = self.floors.max(other.floors);
    }
}

/// The greatest of two ceilings, none of which is any number; who has no weight says nothing of it.
fn greatest(one: (u64, Option<u64>), other: (u64, Option<u64>)) -> Option<u64> {
    match (one, other) {
        ((0, _), (_, ceiling)) | ((_, ceiling), (0, _)) => ceiling,
        ((_, one), (_, other)) => one.zip(other).map(|(one, other)| one.max(other)),
    }
}

impl WindowTenant {
    /// Adds what another window had of the same tenant.
    pub fn add(&mut self, other: &Self) {
        let counts_as = self.counted_weight() + other.counted_weight();
        self.weight.0 += other.weight.0;
        self.counts_as = (counts_as != self.weight.0).then_some(Decimal(counts_as));
        self.parent = None;
        self.entitlement = self.entitlement.saturating_add(other.entitlement);
        self.served += other.served;
        self.borrowed += other.borrowed;
        self.denied += other.denied;
        self.reserved += other.reserved;
        self.beyond += other.beyond;
        self.would_deny += other.would_deny;
    }
}
