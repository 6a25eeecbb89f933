//! How a ledger lays its totals out: a fixed number of rows over which tenants are hashed, so that what is written
//! grows neither with tenants nor with requests.

use std::collections::BTreeMap;

use super::counters::merge;
use crate::limits::{LEDGER_ROWS, LEDGER_TENANTS_MAX};
use crate::wire::accounting::{Counters, OTHERS};

/// A region's totals, by row.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    rows: BTreeMap<u32, Counters>,
}

impl Totals {
    /// Puts a stored row back.
    pub fn restore(&mut self, row: u32, counters: Counters) {
        self.rows.insert(row, counters);
    }

    /// Adds a frame's counters and answers which rows changed.
    pub fn add(&mut self, counters: &Counters) -> Vec<u32> {
        let tenants_max = LEDGER_TENANTS_MAX / LEDGER_ROWS as usize;
        let mut changed: BTreeMap<u32, Counters> = BTreeMap::new();
        for (tenant, added) in counters {
            let part = changed.entry(row_of(tenant)).or_default();
            part.insert(tenant.clone(), added.clone());
        }
        for (row, part) in &changed {
            merge(self.rows.entry(*row).or_default(), part, tenants_max);
        }
        changed.into_keys().collect()
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
        for row in self.rows.values() {
            merge(&mut all, row, usize::MAX);
        }
        all
    }
}

/// The row of a tenant: FNV-1a (Fowler, Noll, Vo; 32 bit) of its name. An attacker who aims many names at one row
/// fills that row's share of the bound, no more.
#[must_use]
fn row_of(tenant: &str) -> u32 {
    if tenant == OTHERS {
        return 0;
    }
    let hash = tenant.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash % LEDGER_ROWS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::counters::{Charged, count};

    #[test]
    fn rows_and_names_stay_bounded_under_a_flood_of_tenants_and_every_unit_is_kept() {
        let mut totals = Totals::default();
        let mut sent = 0;
        for frame in 0..40 {
            let mut counters = Counters::new();
            for number in 0..1_000 {
                let tenant = format!("t{}", frame * 1_000 + number);
                count(&mut counters, &tenant, Charged::Budget("b"), true, 1, 2_000);
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
        assert_eq!(row_of("acme"), row_of("acme"));
        let rows: std::collections::BTreeSet<u32> =
            (0..500).map(|n| row_of(&format!("t{n}"))).collect();
        assert_eq!(rows.len(), LEDGER_ROWS as usize, "all rows are used");
    }
}
