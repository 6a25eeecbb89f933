//! What a lender tells of who has what.

use weir_core::limits::HOLDER_SILENT_MS_MAX;
use weir_core::ordered::sort_by;
use weir_core::units::{EpochMs, HolderId, WindowLabel};
use weir_wire::holdings::TenantLent;

use super::Lender;

impl Lender {
    /// Holders that were heard of lately.
    #[must_use]
    pub fn holders(&self, now: EpochMs) -> usize {
        let lately = |row: &&super::Row| now.since(row.heard_at) <= HOLDER_SILENT_MS_MAX;
        self.rows.values().filter(lately).count()
    }

    /// Units lent of a window: of the open one, or of one to come.
    #[must_use]
    pub fn lent_of(&self, label: WindowLabel) -> u64 {
        if label == self.window {
            return self.lent;
        }
        self.ahead.get(&label).copied().unwrap_or(0)
    }

    /// The units that are lent, where the durable watermark is not exactly those. Told before a lender falls asleep, it wakes
    /// knowing what it had lent.
    #[must_use]
    pub fn rests_at(&self) -> Option<u64> {
        let known = self.lent != u64::MAX && self.lent != self.watermark;
        known.then_some(self.lent)
    }

    /// Units of a window that a holder was lent and has not returned, as far as it is told apart.
    #[must_use]
    pub fn held_by(&self, holder: HolderId, label: WindowLabel) -> u64 {
        let Some(row) = self.rows.get(&holder) else {
            return 0;
        };
        if label == self.window {
            return row.held;
        }
        row.ahead.get(&label).copied().unwrap_or(0)
    }

    /// What holders have of each tenant in the open window: those with the most first, at most `count`.
    #[must_use]
    pub fn tenants(&self, count: usize) -> Vec<TenantLent> {
        let mut tenants: Vec<_> = self.tenants.lent().filter(|(_, lent)| *lent > 0).collect();
        sort_by(&mut tenants, |(one, units), (other, more)| {
            more.cmp(units).then(one.cmp(other))
        });
        let first = tenants.into_iter().take(count);
        let told = first.map(|(tenant, lent)| TenantLent {
            tenant: tenant.to_owned(),
            lent,
        });
        told.collect()
    }
}
