//! What the accounts say of a party.

use weir_accounting::pending::WindowClaim;
use weir_fairness::ask::Party;

/// The claim of a tenant; none of all as one.
#[must_use]
pub fn window_claim(party: &Party) -> WindowClaim {
    let claim = party.tenant().map(|claimant| &claimant.standing);
    claim.map_or_else(WindowClaim::default, |claim| WindowClaim {
        weight_micros: claim.weight.micros(),
        floor: claim.set_aside().units,
        ceiling: claim.ceiling,
    })
}
