//! Tenants that share a pool: their claims, their costs, and how often they ask.

use weir_shared::fairness::ask::{Above, Claimant, Floor, SetAside, TenantClaim};
use weir_shared::fairness::weight::Weight;
use weir_shared::wire::exchange::{FloorsBody, RuleBody, SharingBody};

use crate::random::Random;

/// One tenant of a shared pool.
#[derive(Debug, Clone)]
pub(crate) struct Tenant {
    pub(crate) claimant: Claimant,
    /// Its costs are up to so many units.
    pub(crate) cost_max: u64,
    /// How often it asks beside the others.
    pub(crate) turns: u64,
}

impl Tenant {
    /// A tenant that the policy names, without bounds and without a parent.
    pub(crate) fn named(name: &str, weight_micros: u64) -> Self {
        Self {
            claimant: Claimant {
                name: name.to_owned(),
                claim: TenantClaim {
                    weight: weight(weight_micros),
                    ..TenantClaim::default()
                },
            },
            cost_max: 1,
            turns: 1,
        }
    }
}

pub(crate) fn weight(micros: u64) -> Weight {
    Weight::from_micros(micros).expect("a weight of the simulator is in range")
}

/// How often each of so many tenants, and those before it, ask by Zipf's law.
pub(crate) fn zipf(tenants: usize) -> Vec<u64> {
    let turns = (1..=tenants as u64).scan(0, |sum, rank| {
        *sum += 1_000_000_000 / rank;
        Some(*sum)
    });
    turns.collect()
}

pub(crate) fn sharing(rule: RuleBody, tenants: usize) -> SharingBody {
    SharingBody {
        rule,
        tenants_max: tenants.max(100) as u64,
        unknown_weight_max: 100_000_000,
        floors: FloorsBody::default(),
    }
}

/// What is set aside by name for tenants without a parent.
pub(crate) fn floors(tenants: &[Tenant]) -> FloorsBody {
    let claims = tenants.iter().map(|tenant| &tenant.claimant.claim);
    let by_name = claims.filter(|one| one.above.is_empty() && one.floor.by_name);
    FloorsBody {
        units: by_name.map(|one| one.floor.units).sum(),
        since: 0,
    }
}

/// Tenants of weights 1/2, 1, 2 and 4: some unknown to the policy, some below a parent, some with bounds. A cost is up
/// to a quarter of what its weight is of `limit`.
pub(crate) fn drawn(random: &mut Random, unit: u64, limit: u64) -> Vec<Tenant> {
    let count = random.between(1, 12);
    let mut tenants: Vec<Tenant> = Vec::new();
    for index in 0..count {
        let micros = random.one_of(&[500_000, 1_000_000, 2_000_000, 4_000_000]);
        let mut tenant = Tenant::named(&format!("t{index}"), micros);
        let claim = &mut tenant.claimant.claim;
        claim.known = random.chance(800);
        if random.chance(300) {
            claim.above = above(random);
        }
        claim.borrow_max = bound(random, limit);
        claim.lend_max = bound(random, limit);
        tenant.turns = random.one_of(&[1, 1, 3, 10]);
        tenants.push(tenant);
    }
    let weights = |tenant: &Tenant| tenant.claimant.claim.weight.micros();
    let sum: u64 = tenants.iter().map(weights).sum();
    for tenant in &mut tenants {
        let share = u128::from(limit) * u128::from(weights(tenant)) / u128::from(sum.max(1));
        let share = u64::try_from(share).unwrap_or(limit);
        tenant.cost_max = (share / 4 / unit * unit).max(unit);
    }
    tenants
}

fn bound(random: &mut Random, limit: u64) -> Option<u64> {
    random.chance(100).then(|| random.below(limit + 1))
}

/// One of two parents, of which one is below the other.
fn above(random: &mut Random) -> Vec<Above> {
    let of = |name: &str, micros| Above {
        name: name.to_owned(),
        weight: weight(micros),
        borrow_max: None,
        lend_max: None,
        ceiling: None,
        floor: Floor::default(),
        floors: SetAside::default(),
    };
    let organisation = of("organisation", 2_000_000);
    if random.chance(500) {
        vec![organisation]
    } else {
        vec![of("team", 1_000_000), organisation]
    }
}
