//! What an isolate says to a `Region` to settle what a reservation charged to pools, and what it answers.

use serde::{Deserialize, Serialize};
use weir_accounting::reserved::{Settled, settle};
use weir_accounting::settled::add_part;
use weir_core::limits::FRAME_TENANTS_MAX;
use weir_core::units::{EpochMs, OpId, WindowLabel};
use weir_federation::pool_name::PoolName;
use weir_wire::accounting::{ANONYMOUS, SettledEntry};
use weir_wire::count::{Count, is_zero};
use weir_wire::windows::{HeldPart, TenantPart, WindowPart};

use super::owner::Account;
use super::reservation::Reservable;

/// Settles a reservation, once: a second settlement answers the first result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettleBody {
    /// Version of the form.
    pub v: u16,
    /// The region that is meant.
    pub region: String,
    /// The reservation.
    pub op: OpId,
    /// Units that were used.
    pub actual: u64,
    /// Until when the result is kept.
    pub expires_at: EpochMs,
    /// What to change of each pool.
    pub pools: Vec<PoolChange>,
    /// On whose account those of keys are kept.
    #[serde(default, skip_serializing_if = "Account::is_nobody")]
    pub account: Account,
    /// What it comes to for the accounts of the tenant; nothing of a reservation that was counted as used when it was made.
    #[serde(default, skip_serializing_if = "Accounted::is_nothing")]
    pub accounted: Accounted,
}

/// What a settlement comes to for the accounts of its tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Accounted {
    /// The tenant; absent where none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// When the time of the reservation is over.
    pub until: EpochMs,
    /// What was charged, and what of it was used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
}

impl Accounted {
    /// Whether there is nothing to count.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.uses.is_empty()
    }
}

/// What was used of one charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// What was charged.
    pub of: Reservable,
    /// Its name.
    pub name: String,
    /// Units that were reserved.
    pub reserved: u64,
    /// Units that were used.
    pub used: u64,
}

/// What a settlement changes of one pool; one of the two numbers is 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolChange {
    /// The pool.
    pub pool: String,
    /// The tenant that was charged, where tenants share the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The window that was charged.
    pub label: WindowLabel,
    /// Units to give back into that window.
    pub back: u64,
    /// Units to charge beyond, to the window that is open, as far as it lasts.
    pub debt: u64,
    /// Units that were reserved of it; 0 of a reservation that was counted as used when it was made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reserved: u64,
}

/// What came of a settlement: of the first, if there were several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettleReply {
    /// Units that were used, as the first settlement said.
    pub actual: u64,
    /// For each pool the units that were taken back.
    pub returned: Vec<u64>,
    /// For each pool the units that were charged beyond.
    pub charged: Vec<u64>,
}

impl SettleBody {
    /// What it comes to for the accounts, with what came of it and the windows in which what was used beyond was charged.
    /// `known`: whether the policy names the tenant. `place`: the region, and which pools are its own. `None` where nothing
    /// was counted as reserved, and nothing of a budget changed.
    #[must_use]
    pub fn entry(
        &self,
        reply: &SettleReply,
        charged_in: &[WindowLabel],
        known: bool,
        (region, owns): (&str, &dyn Fn(&str) -> bool),
    ) -> Option<SettledEntry> {
        let accounted = &self.accounted;
        let mut entry = SettledEntry::new();
        for one in &accounted.uses {
            let settled = Settled {
                tenant: accounted.tenant.as_deref().unwrap_or(ANONYMOUS),
                known,
                charged: one.of.charged(&one.name),
                until: accounted.until,
                reserved: one.reserved,
                used: one.used,
            };
            settle(&mut entry.reservations, &settled, FRAME_TENANTS_MAX);
        }
        let results = reply.returned.iter().zip(&reply.charged).zip(charged_in);
        for (change, ((taken, charged), charged_in)) in self.pools.iter().zip(results) {
            let Ok(PoolName::Budget(budget)) = PoolName::try_from(change.pool.as_str()) else {
                continue;
            };
            // An isolate of an earlier version says whose the units were of pools alone that tenants share.
            let tenant = accounted.tenant.as_ref().or(change.tenant.as_ref());
            let tenant = tenant.map_or(ANONYMOUS, String::as_str);
            let own = owns(&change.pool);
            let windows = if own {
                &mut entry.own
            } else {
                &mut entry.windows
            };
            let parts = [
                (change.label, change.part(*taken, *charged)),
                (*charged_in, debt_part(*charged)),
            ];
            for (label, (mut part, lapsed, released)) in parts {
                if part == TenantPart::default() && released.is_zero() {
                    continue;
                }
                part.known = known;
                let mut of = WindowPart::one(tenant, part);
                of.lapsed = lapsed;
                of.region = own.then(|| region.to_owned());
                if !released.is_zero() {
                    let held = HeldPart {
                        released,
                        ..HeldPart::default()
                    };
                    of.hold(accounted.until, tenant, held);
                }
                add_part(windows, &budget, label, &of);
            }
        }
        let windows = !entry.own.is_empty() || !entry.windows.is_empty();
        (windows || !entry.reservations.is_empty()).then_some(entry)
    }
}

impl PoolChange {
    /// What it changes of the window that was charged, the units that lapsed, as nobody took them back, and those that are
    /// reserved no more. An earlier version counted them as used when they were reserved.
    fn part(&self, taken: u64, charged: u64) -> (TenantPart, Count, Count) {
        let beyond = Count(self.debt.saturating_sub(charged).into());
        if self.reserved == 0 {
            let part = TenantPart {
                refunded: Count(taken.into()),
                beyond,
                ..TenantPart::default()
            };
            return (part, Count(0), Count(0));
        }
        let part = TenantPart {
            admitted: Count(self.reserved.saturating_sub(self.back).into()),
            beyond,
            ..TenantPart::default()
        };
        let lapsed = self.back.saturating_sub(taken);
        (part, Count(lapsed.into()), Count(self.reserved.into()))
    }
}

/// What was used beyond a reservation, in the window that had room for it.
fn debt_part(charged: u64) -> (TenantPart, Count, Count) {
    let part = TenantPart {
        admitted: Count(charged.into()),
        ..TenantPart::default()
    };
    (part, Count(0), Count(0))
}
