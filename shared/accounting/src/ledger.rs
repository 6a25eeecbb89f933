//! How a ledger lays its totals out: a fixed number of rows over which tenants are hashed, so that what is written
//! grows neither with tenants nor with requests.

use weir_core::limits::{LEDGER_NAMES_MAX, LEDGER_ROWS, LEDGER_TENANTS_MAX, METRICS_TENANTS_MAX};
use weir_core::ordered::OrderedMap;
use weir_wire::accounting::{Counters, OTHERS, TenantCounters};

/// A region's totals, by row.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    rows: OrderedMap<u32, Counters>,
}

impl Totals {
    /// Puts a stored row back.
    pub fn restore(&mut self, row: u32, counters: Counters) {
        self.rows.insert(row, counters);
    }

    /// Adds a frame's counters and answers which rows changed. A tenant that is kept by name stays so: totals never
    /// fall. Those for which there is no room are counted together.
    pub fn add(&mut self, counters: &Counters) -> Vec<u32> {
        let parts = by_row(counters, LEDGER_ROWS);
        for (row, part) in &parts {
            add_part(self.rows.entry(*row).or_default(), part);
        }
        parts.into_keys().collect()
    }

    /// Adds what is meant for one row.
    pub fn add_to(&mut self, row: u32, part: &Counters) {
        add_part(self.rows.entry(row).or_default(), part);
    }

    /// One row.
    #[must_use]
    pub fn row(&self, row: u32) -> Option<&Counters> {
        self.rows.get(&row)
    }

    /// All tenants.
    #[must_use]
    pub fn all(&self) -> Counters {
        let mut all = Counters::new();
        for (tenant, counters) in self.rows.values().flatten() {
            let entry = all.entry(tenant.clone()).or_default();
            entry.add(counters);
            entry.known |= counters.known;
            entry.listed |= counters.listed;
        }
        all
    }
}

/// Counters by the row to which their tenants belong.
#[must_use]
pub fn by_row(counters: &Counters, rows: u32) -> OrderedMap<u32, Counters> {
    let mut parts: OrderedMap<u32, Counters> = OrderedMap::new();
    for (tenant, added) in counters {
        let part = parts.entry(row_of(tenant, rows)).or_default();
        part.insert(tenant.clone(), added.clone());
    }
    parts
}

/// Adds to a row, within its share of the bounds.
fn add_part(row: &mut Counters, part: &Counters) {
    let mut taken = Taken::of(row);
    for (tenant, added) in part {
        let before = row.get(tenant);
        let new = before.map_or(added.names(), |before| before.names_of(added));
        let fits = new == 0 || taken.names + new <= LEDGER_NAMES_MAX / LEDGER_ROWS as usize;
        let room = taken.strangers < LEDGER_TENANTS_MAX / LEDGER_ROWS as usize;
        let kept = fits && (before.is_some() || added.known || room);
        let first = before.is_none();
        let name = if kept { tenant } else { OTHERS };
        let entry = row.entry(name.to_owned()).or_default();
        entry.add(added);
        if kept {
            entry.known |= added.known;
            let room = taken.listed < METRICS_TENANTS_MAX / LEDGER_ROWS as usize;
            entry.listed |= entry.known || (first && room);
            taken.names += new;
            taken.strangers += usize::from(first && !entry.known);
            taken.listed += usize::from(first && !entry.known && entry.listed);
        }
    }
}

/// What there is in a row of what is bounded.
struct Taken {
    names: usize,
    strangers: usize,
    /// Strangers that `/metrics` lists.
    listed: usize,
}

impl Taken {
    fn of(row: &Counters) -> Self {
        let strangers = || row.values().filter(|tenant| !tenant.known);
        Self {
            names: row.values().map(TenantCounters::names).sum(),
            strangers: strangers().count(),
            listed: strangers().filter(|tenant| tenant.listed).count(),
        }
    }
}

/// The row of a tenant: FNV-1a (Fowler, Noll, Vo; 32 bit) of its name. An attacker who aims many names at one row
/// fills that row's share of the bound, no more.
#[must_use]
pub fn row_of(tenant: &str, rows: u32) -> u32 {
    if tenant == OTHERS {
        return 0;
    }
    let hash = tenant.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash % rows.max(1)
}

#[cfg(test)]
mod tests {
    use weir_decision::Reason;

    use super::*;
    use crate::counters::{Charged, Decided, count};

    #[test]
    fn rows_and_names_stay_bounded_under_a_flood_of_tenants_and_every_unit_is_kept() {
        let mut totals = Totals::default();
        let mut sent = 0;
        for frame in 0..40 {
            let mut counters = Counters::new();
            for number in 0..1_000 {
                let tenant = format!("t{}", frame * 1_000 + number);
                let decided = Decided {
                    tenant: &tenant,
                    known: false,
                    charged: Charged::Budget("b"),
                    reason: Reason::Admitted,
                    units: 1,
                };
                count(&mut counters, &decided, 2_000);
                sent += 1;
            }
            assert!(totals.add(&counters).len() <= LEDGER_ROWS as usize);
        }
        let all = totals.all();
        assert!(all.len() <= LEDGER_TENANTS_MAX + LEDGER_ROWS as usize);
        let kept: u128 = all
            .values()
            .map(|tenant| tenant.total().admitted_units.0)
            .sum();
        assert_eq!(kept, sent);
    }

    #[test]
    fn a_tenant_stays_in_its_row() {
        assert_eq!(row_of("acme", LEDGER_ROWS), row_of("acme", LEDGER_ROWS));
        let rows: weir_core::ordered::OrderedSet<u32> = (0..500)
            .map(|n| row_of(&format!("t{n}"), LEDGER_ROWS))
            .collect();
        assert_eq!(rows.len(), LEDGER_ROWS as usize, "all rows are used");
    }

    #[test]
    fn a_row_has_its_share_of_the_names_and_what_has_no_room_is_counted_together() {
        let of = |tenant: usize| {
            let mut counters = Counters::new();
            for name in 0..10 {
                let decided = Decided {
                    tenant: &format!("t{tenant}"),
                    known: true,
                    charged: Charged::Limit(&format!("l{name}")),
                    reason: Reason::Admitted,
                    units: 1,
                };
                count(&mut counters, &decided, 0);
            }
            counters
        };
        let room = LEDGER_NAMES_MAX / LEDGER_ROWS as usize / 10;
        let mut row = Counters::new();
        for tenant in 0..room + 3 {
            add_part(&mut row, &of(tenant));
        }
        assert_eq!(row.len(), room + 1);
        assert!(row.contains_key(&format!("t{}", room - 1)));
        assert_eq!(row[OTHERS].total().admitted_calls.0, 3 * 10);
        // Names that it has already need no room.
        add_part(&mut row, &of(0));
        assert_eq!(row["t0"].total().admitted_calls.0, 2 * 10);
    }

    /// A part of a row: as many tenants, each with so many names.
    fn part(prefix: &str, tenants: usize, names: usize, known: bool) -> Counters {
        let mut part = Counters::new();
        for tenant in 0..tenants {
            for name in 0..names {
                let decided = Decided {
                    tenant: &format!("{prefix}{tenant:04}"),
                    known,
                    charged: Charged::Limit(&format!("l{name}")),
                    reason: Reason::Admitted,
                    units: 1,
                };
                count(&mut part, &decided, usize::MAX);
            }
        }
        part
    }

    #[test]
    fn a_row_has_its_share_of_the_names_though_all_of_them_come_at_once() {
        let room = LEDGER_NAMES_MAX / LEDGER_ROWS as usize / 10;
        let mut row = Counters::new();
        add_part(&mut row, &part("t", room + 3, 10, true));
        assert_eq!(row.len(), room + 1);
        assert_eq!(row[OTHERS].total().admitted_calls.0, 3 * 10);
    }

    #[test]
    fn as_many_strangers_are_listed_as_a_row_has_room_for_beside_all_that_the_policy_names() {
        let room = METRICS_TENANTS_MAX / LEDGER_ROWS as usize;
        let mut row = Counters::new();
        let mut all = part("a", 20, 1, true);
        all.extend(part("s", room + 2, 1, false));
        // What is listed stays so, and takes no more room when it comes again.
        for _ in 0..2 {
            add_part(&mut row, &all);
            let listed = |prefix: char| {
                let of = row.iter().filter(|(name, _)| name.starts_with(prefix));
                of.filter(|(_, tenant)| tenant.listed).count()
            };
            assert_eq!((listed('a'), listed('s')), (20, room));
        }
        add_part(&mut row, &part("t", 1, 1, false));
        assert!(!row["t0000"].listed);
    }
}
