//! What a ledger knows of reservations that are open, by the minute in which their time is over.
//!
//! Units that are reserved are no use yet: they count as used when they are settled, as they are settled. What nobody has
//! settled when its time is over has been used in full. So what is counted as used never falls.

use weir_core::limits::{FRAME_NAMES_MAX, FRAME_TENANTS_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_wire::accounting::{Counters, FrameBody, OTHERS, Reservations, TenantCounters};
use weir_wire::count::Count;

use super::counters::merge;
use super::interval;
use super::reserved::{each_reserved, is_over, keep_reserved, reserved_of};

/// Reservations by minute.
#[derive(Debug, Clone, Default)]
pub struct Reserved {
    minutes: OrderedMap<EpochMs, Minute>,
}

/// Those whose time is over in one minute.
#[derive(Debug, Clone, Default)]
struct Minute {
    counters: Counters,
    /// The last entry of the journal that is in what was stored.
    through: u64,
    changed: bool,
}

/// Rows of reservations, to be written or dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReservedRows {
    /// Those that changed: the minute, its text.
    pub changed: Vec<(EpochMs, String)>,
    /// Minutes that are over.
    pub over: Vec<EpochMs>,
}

/// A frame as it is counted at an instant: what settlements said was used is used. Of reservations that count as used in
/// full already, only what was used beyond them is.
#[must_use]
pub fn resolved(frame: &FrameBody, at: EpochMs) -> FrameBody {
    let mut frame = frame.clone();
    for (until, tenants) in std::mem::take(&mut frame.reservations) {
        let over = is_over(until, at);
        let mut open = Counters::new();
        for (tenant, mut counters) in tenants {
            let used = used_of(&mut counters, over);
            if used.names() > 0 {
                let entry = frame.counters.entry(tenant.clone()).or_default();
                entry.add(&used);
                entry.known |= counters.known;
            }
            open.insert(tenant, counters);
        }
        if !over {
            frame.reservations.insert(until, open);
        }
    }
    frame
}

/// Takes out what was used.
fn used_of(counters: &mut TenantCounters, over: bool) -> TenantCounters {
    let mut used = TenantCounters::default();
    each_reserved(counters, |charged, held| {
        let mut units = std::mem::take(held.used);
        if over {
            let beyond = units.0.saturating_sub(held.released.0);
            units = Count(held.reserved.0.saturating_add(beyond));
        }
        if !units.is_zero()
            && let Some(into) = reserved_of(&mut used, charged)
        {
            *into.used += units;
        }
    });
    used
}

impl Reserved {
    /// Puts a stored minute back.
    pub fn restore(&mut self, until: EpochMs, through: u64, counters: Counters) {
        let minute = Minute {
            counters,
            through,
            changed: false,
        };
        self.minutes.insert(until, minute);
    }

    /// Adds what the entry `sequence` of the journal has. What is stored with it already is passed over.
    pub fn add(&mut self, reservations: &Reservations, sequence: u64) {
        for (until, counters) in reservations {
            let minute = self.minutes.entry(*until).or_default();
            if sequence > minute.through {
                merge(&mut minute.counters, counters, FRAME_TENANTS_MAX);
                minute.changed = true;
            }
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.minutes.is_empty()
    }

    /// The units that are reserved, in `reserved_units`.
    pub fn open(&self) -> impl Iterator<Item = (String, TenantCounters)> + '_ {
        let minutes = self.minutes.values();
        minutes.flat_map(|minute| open(&minute.counters))
    }

    /// What has been used in full as its time is over, as much as one frame has room for.
    #[must_use]
    pub fn expired(&self, at: EpochMs) -> Option<FrameBody> {
        let over = self
            .minutes
            .iter()
            .take_while(|(until, _)| is_over(**until, at));
        over.map(|(until, minute)| expiry(*until, &minute.counters))
            .find(|frame| !frame.counters.is_empty())
    }

    /// The rows of what changed, as of the entry `through` of the journal, and of what is over.
    ///
    /// # Errors
    /// When a number cannot be written.
    pub fn store(&mut self, through: u64, now: EpochMs) -> Result<ReservedRows, serde_json::Error> {
        let mut rows = ReservedRows::default();
        self.minutes.retain(|until, minute| {
            let done = is_over(*until, now) && open(&minute.counters).is_empty();
            if done {
                rows.over.push(*until);
            }
            !done
        });
        for (until, minute) in &mut self.minutes {
            if std::mem::take(&mut minute.changed) {
                minute.through = through;
                let text = interval::row_text(&minute.counters, through)?;
                rows.changed.push((*until, text));
            }
        }
        Ok(rows)
    }
}

/// The frame by which what is open of a minute counts as used.
fn expiry(until: EpochMs, counters: &Counters) -> FrameBody {
    let mut frame = FrameBody::default();
    let mut released = Counters::new();
    let mut names = 0;
    for (tenant, mut open) in open(counters).into_iter().take(FRAME_TENANTS_MAX) {
        names += open.names();
        if names > FRAME_NAMES_MAX {
            break;
        }
        let mut used = TenantCounters {
            known: open.known,
            ..TenantCounters::default()
        };
        each_reserved(&mut open, |charged, held| {
            let units = std::mem::take(held.reserved);
            *held.released = units;
            if let Some(into) = reserved_of(&mut used, charged) {
                *into.used += units;
            }
        });
        frame.counters.insert(tenant.clone(), used);
        released.insert(tenant, open);
    }
    frame.reservations.insert(until, released);
    frame
}

/// What is reserved and not released, in `reserved_units`. Who reserved among the others and is released by name is
/// released among the others.
fn open(counters: &Counters) -> OrderedMap<String, TenantCounters> {
    let mut all = counters.clone();
    let mut surplus = TenantCounters::default();
    for tenant in all.values_mut() {
        each_reserved(tenant, |charged, held| {
            let released = std::mem::take(held.released).0;
            let reserved = held.reserved.0;
            *held.reserved = Count(reserved.saturating_sub(released));
            *held.used = Count(0);
            if let Some(into) = reserved_of(&mut surplus, charged) {
                *into.released += Count(released.saturating_sub(reserved));
            }
        });
    }
    if let Some(others) = all.get_mut(OTHERS) {
        each_reserved(others, |charged, held| {
            if let Some(surplus) = reserved_of(&mut surplus, charged) {
                *held.reserved = Count(held.reserved.0.saturating_sub(surplus.released.0));
            }
        });
    }
    all.retain(|_, tenant| {
        keep_reserved(tenant, |held| !held.reserved.is_zero());
        tenant.names() > 0
    });
    all
}

#[cfg(test)]
mod tests {
    use weir_core::limits::RESERVATION_GRACE_MS;

    use super::*;
    use crate::counters::Charged;
    use crate::reserved::{Settled, settle};

    const UNTIL: EpochMs = EpochMs(60_000);
    const OVER: EpochMs = EpochMs(60_000 + RESERVATION_GRACE_MS);

    /// What came of a reservation of 5 units.
    fn settled(used: u64) -> Reservations {
        let mut reservations = Reservations::new();
        let settled = Settled {
            tenant: "acme",
            known: true,
            charged: Charged::Budget("tokens"),
            until: UNTIL,
            reserved: 5,
            used,
        };
        settle(&mut reservations, &settled, 10);
        reservations
    }

    #[test]
    fn a_ledger_has_reservations_until_the_minute_is_over_in_which_all_are_settled() {
        let mut reserved = Reserved::default();
        assert!(reserved.is_empty());
        reserved.add(&settled(3), 1);
        assert!(!reserved.is_empty());
        let rows = reserved.store(1, EpochMs(OVER.0 - 1)).unwrap();
        assert_eq!((rows.changed.len(), rows.over.len()), (1, 0));
        assert!(!reserved.is_empty());
        let rows = reserved.store(2, OVER).unwrap();
        assert_eq!((rows.changed.len(), rows.over), (0, vec![UNTIL]));
        assert!(reserved.is_empty());
    }

    #[test]
    fn a_settlement_counts_for_its_tenant_what_was_used_and_nothing_where_nothing_was() {
        for (used, at, counted) in [
            (3, UNTIL, Some(3)),
            (0, UNTIL, None),
            // All five count as used already: only what is beyond them is new.
            (5, OVER, None),
            (8, OVER, Some(3)),
        ] {
            let frame = FrameBody {
                reservations: settled(used),
                ..FrameBody::default()
            };
            let resolved = resolved(&frame, at);
            let tenant = resolved.counters.get("acme");
            let units = tenant.map(|tenant| tenant.budgets["tokens"].admitted_units.0);
            assert_eq!(units, counted, "{used} used at {at:?}");
            assert_eq!(resolved.reservations.is_empty(), at == OVER);
        }
    }

    #[test]
    fn what_expires_at_once_is_as_much_as_one_frame_has_room_for() {
        const NAMES: usize = 10;
        let reserved = |tenants: usize| {
            let of = |tenant: usize| {
                let mut counters = TenantCounters::default();
                for name in 0..NAMES {
                    let name = format!("b{name}");
                    let held = reserved_of(&mut counters, Charged::Budget(&name)).unwrap();
                    *held.reserved = Count(2);
                }
                (format!("t{tenant}"), counters)
            };
            (0..tenants).map(of).collect::<Counters>()
        };
        let room = FRAME_NAMES_MAX / NAMES;
        for (tenants, expired) in [(1, 1), (room, room), (room + 1, room)] {
            let frame = expiry(UNTIL, &reserved(tenants));
            assert_eq!(frame.counters.len(), expired, "{tenants}");
            assert_eq!(frame.reservations[&UNTIL].len(), expired, "{tenants}");
        }
    }
}
