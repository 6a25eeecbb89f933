//! What is kept for each tenant of one budget, in bytes: what the allocator was asked for, on this machine. The Worker's
//! pointers are half as long, so that it keeps less.

use allocation_counter::measure;
use std::hint::black_box;

use weir_shared::accounting::counters::{Charged, Decided, count};
use weir_shared::accounting::ledger::Totals;
use weir_shared::accounting::pending::{InWindow, Pending, WindowClaim};
use weir_shared::decision::Reason;
use weir_shared::fairness::ask::Claimant;
use weir_shared::fairness::share::{Rule, Share, ShareTerms};
use weir_shared::fairness::weight::Weight;
use weir_shared::federation::attribution::Attribution;
use weir_shared::federation::tenant_balance::TenantBalance;
use weir_shared::limits::{
    LEDGER_TENANTS_MAX, LENDER_ACCOUNTS_MAX, POLICY_TENANTS_MAX, TENANT_BALANCES_MAX, TENANTS_MAX,
};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, HolderId, WindowLabel};
use weir_shared::wire::accounting::Counters;

const NOW: EpochMs = EpochMs(1_700_000_000_000);

/// Something that is kept for each tenant.
pub struct Kept {
    /// What.
    pub what: &'static str,
    /// Where.
    pub place: &'static str,
    /// Of so many tenants; how many bytes.
    pub bytes: fn(tenants: u32) -> u64,
    /// The most bytes a tenant, which is asserted.
    pub bytes_max: u64,
    /// The most tenants that it is kept for.
    pub tenants_max: u64,
}

/// All of it.
pub const KEPT: &[Kept] = &[
    Kept {
        what: "a share's account (weighted fair escrow)",
        place: "`Coordinator`, `Region`, isolate",
        bytes: accounts,
        bytes_max: 320,
        tenants_max: TENANTS_MAX,
    },
    Kept {
        what: "units of a tenant that holders have",
        place: "`Coordinator`, `Region`",
        bytes: attribution,
        bytes_max: 210,
        tenants_max: LENDER_ACCOUNTS_MAX as u64,
    },
    Kept {
        what: "a tenant's balance at a holder",
        place: "isolate, `Region`",
        bytes: tenant_balances,
        bytes_max: 440,
        tenants_max: TENANT_BALANCES_MAX as u64,
    },
    Kept {
        what: "counters that wait for a frame",
        place: "isolate, `Region`",
        bytes: pending,
        bytes_max: 800,
        tenants_max: POLICY_TENANTS_MAX as u64,
    },
    Kept {
        what: "a ledger's totals",
        place: "`Ledger`",
        bytes: totals,
        bytes_max: 500,
        tenants_max: (POLICY_TENANTS_MAX + LEDGER_TENANTS_MAX) as u64,
    },
];

fn name(tenant: u32) -> String {
    format!("tenant-{tenant:07}")
}

fn bytes_of<T>(make: impl FnOnce() -> T) -> u64 {
    let mut kept = None;
    let counted = measure(|| kept = Some(black_box(make())));
    drop(kept);
    u64::try_from(counted.bytes_current).unwrap_or(0)
}

fn accounts(tenants: u32) -> u64 {
    bytes_of(|| {
        let mut share = Share::new(ShareTerms {
            rule: Rule::Pinned,
            tenants_max: TENANTS_MAX,
            unknown_weight_max: Weight::WHOLE,
            carried: false,
            floors: 0,
        });
        for tenant in 0..tenants {
            let claimant = Claimant::plain(&name(tenant));
            share.set_used(&claimant, 0);
            share.charge(&claimant.name, 1);
        }
        share
    })
}

fn attribution(tenants: u32) -> u64 {
    bytes_of(|| {
        let mut attribution = Attribution::default();
        for tenant in 0..tenants {
            attribution.note(HolderId(1), &name(tenant), 1);
        }
        attribution
    })
}

fn tenant_balances(tenants: u32) -> u64 {
    bytes_of(|| {
        let tenant_balance = |tenant| {
            let claimant = Claimant::plain(&name(tenant));
            (name(tenant), TenantBalance::new(claimant.into(), NOW))
        };
        (0..tenants)
            .map(tenant_balance)
            .collect::<OrderedMap<_, _>>()
    })
}

fn decided(tenant: &str) -> Decided<'_> {
    Decided {
        tenant,
        known: true,
        charged: Charged::Budget("tokens"),
        reason: Reason::Admitted,
        units: 1,
    }
}

fn pending(tenants: u32) -> u64 {
    bytes_of(|| {
        let mut pending = Pending::default();
        let window = InWindow {
            budget: "tokens",
            label: WindowLabel(1),
            limit: 1_000_000,
            ends_at: NOW,
            claim: WindowClaim {
                weight_micros: 1_000_000,
                ..WindowClaim::default()
            },
        };
        for tenant in 0..tenants {
            pending.count(&decided(&name(tenant)), Some(&window));
        }
        pending
    })
}

fn totals(tenants: u32) -> u64 {
    bytes_of(|| {
        let mut counted = Counters::new();
        for tenant in 0..tenants {
            count(&mut counted, &decided(&name(tenant)), usize::MAX);
        }
        let mut totals = Totals::default();
        totals.add(&counted);
        totals
    })
}
