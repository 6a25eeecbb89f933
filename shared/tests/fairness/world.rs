//! Parts that the tests of shares are made of.

use weir_shared::fairness::ask::{Above, Ask, Claimant, Floor, Moment, SetAside, TenantClaim};
use weir_shared::fairness::share::{Rule, Share, ShareTerms};
use weir_shared::fairness::weight::Weight;

pub fn weight(micros: u64) -> Weight {
    Weight::from_micros(micros).expect("a weight in bounds")
}

/// A tenant that the policy names.
pub fn claimant(name: impl Into<String>, weight_whole: u64) -> Claimant {
    Claimant {
        name: name.into(),
        claim: TenantClaim {
            weight: weight(weight_whole * 1_000_000),
            ..TenantClaim::default()
        },
    }
}

/// A tenant that it does not name.
pub fn stranger(name: impl Into<String>, weight_whole: u64) -> Claimant {
    let mut claimant = claimant(name, weight_whole);
    claimant.claim.known = false;
    claimant
}

pub fn above(name: &str, weight_whole: u64) -> Above {
    Above {
        name: name.to_owned(),
        weight: weight(weight_whole * 1_000_000),
        borrow_max: None,
        lend_max: None,
        ceiling: None,
        floor: Floor::default(),
        floors: SetAside::default(),
    }
}

pub fn terms(rule: Rule) -> ShareTerms {
    ShareTerms {
        rule,
        tenants_max: 1_000,
        unknown_weight_max: weight(8_000_000),
        carried: false,
        floors: 0,
    }
}

/// One request.
pub fn request(cost: u64) -> Ask {
    Ask {
        waiting: cost,
        smallest: cost,
        holders: 1,
        ..Ask::default()
    }
}

/// The window of `share` at an instant: what is not used can be lent.
pub fn moment(share: &Share, limit: u64, left_ms: u64) -> Moment {
    Moment {
        limit,
        unlent: limit.saturating_sub(share.used_total()),
        left_ms,
        window_ms: 1_000,
    }
}

/// One request, charged if it is admitted.
pub fn take(share: &mut Share, claimant: &Claimant, cost: u64, limit: u64) -> bool {
    let at = moment(share, limit, 1_000);
    let admitted = share.room(claimant, &request(cost), &at).waiting == cost;
    if admitted {
        share.charge(&claimant.name, cost);
    }
    admitted
}

/// Numbers that follow from a seed (splitmix64; Steele, Lea, Flood, 2014).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}
