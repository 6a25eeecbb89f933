//! What the accounts say of a party.

use weir_accounting::pending::{AboveInWindow, WindowClaim};
use weir_fairness::ask::Party;
use weir_wire::exchange::{RuleBody, Terms};

/// That of a tenant to a window of a pool on these terms; none of all as one.
#[must_use]
pub fn window_claim<'a>(party: &'a Party, terms: &Terms) -> WindowClaim<'a> {
    let Some(claimant) = party.tenant() else {
        return WindowClaim::default();
    };
    let claim = &claimant.claim;
    let sharing = terms.sharing.as_ref();
    let above = claim.above.iter().map(|above| {
        let floor = above.floor.below(above.ceiling);
        AboveInWindow {
            name: &above.name,
            weight_micros: above.weight.micros(),
            floor: floor.units,
            floor_by_name: floor.by_name,
            ceiling: above.ceiling,
            floors: above.floors.units,
        }
    });
    let floor = claim.set_aside();
    WindowClaim {
        weight_micros: claim.weight.micros(),
        floor: floor.units,
        floor_by_name: floor.by_name,
        ceiling: claim.ceiling,
        above: above.collect(),
        floors: sharing.map_or(0, |sharing| sharing.floors.units),
        unknown_weight_max: sharing.map(|sharing| sharing.unknown_weight_max),
        equal: sharing.is_some_and(|sharing| sharing.rule == RuleBody::Fair),
    }
}
