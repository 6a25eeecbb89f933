//! What of a budget fits together. A legal value that means nothing beside the others is refused: to drop it would be
//! to promise what is not kept. Defaults that are written out promise nothing and are taken everywhere.

use weir_core::invalid::{Fault, Invalid};
use weir_wire::policy::{Outage, Reserve, Scope, Sharing};

use super::wire_name;

/// Where a budget that is shared so is served, as a list and in words.
///
/// A rule whose surplus goes to whoever comes first looks at one request after the other, so one holder has to see them
/// all. A partition divides what is for all regions.
fn scopes(sharing: Sharing) -> (&'static [Scope], &'static str) {
    match sharing {
        Sharing::FirstCome | Sharing::WeightedFairEscrow => (
            &[Scope::Isolate, Scope::Region, Scope::Global],
            "isolate, region and global",
        ),
        Sharing::FairShare | Sharing::WeightedFairShare => {
            (&[Scope::Isolate, Scope::Region], "isolate and region")
        }
        Sharing::StaticPartition => (&[Scope::Global], "global"),
    }
}

/// Refuses a budget that is shared so where it is not served.
pub(super) fn pair(sharing: Sharing, scope: Scope) -> Result<(), Invalid> {
    let (scopes, served) = scopes(sharing);
    serve("/scope", scopes.contains(&scope), served, || {
        format!("{} at scope {}", wire_name(&sharing), wire_name(&scope))
    })
}

/// Refuses to say what is reserved where nothing is.
pub(super) fn reserve(reserve: Reserve, sharing: Sharing) -> Result<(), Invalid> {
    let fits = reserve == Reserve::Pinned || sharing == Sharing::WeightedFairEscrow;
    serve("/reserve", fits, "weighted_fair_escrow", || {
        format!("{} with {}", wire_name(&reserve), wire_name(&sharing))
    })
}

/// Refuses slices in advance where no coordinator is needed that could be out of reach.
pub(super) fn outage(outage: Outage, sharing: Sharing, scope: Scope) -> Result<(), Invalid> {
    let fits = outage == Outage::FailClosed || coordinated(sharing, scope);
    serve("/outage", fits, COORDINATED, || {
        format!("{} {}", wire_name(&outage), beside(sharing, scope))
    })
}

/// Refuses bounds of leases where no coordinator gives any.
pub(super) fn lease_bounds(sharing: Sharing, scope: Scope) -> Result<(), Invalid> {
    serve("/lease", coordinated(sharing, scope), COORDINATED, || {
        format!("a lease with bounds {}", beside(sharing, scope))
    })
}

/// What [`coordinated`] asks for, in words.
const COORDINATED: &str = "at scope global, not with static_partition";

/// Whether a coordinator lends the budget to regions.
fn coordinated(sharing: Sharing, scope: Scope) -> bool {
    scope == Scope::Global && sharing != Sharing::StaticPartition
}

/// Why it is not [`coordinated`].
fn beside(sharing: Sharing, scope: Scope) -> String {
    match scope {
        Scope::Global => format!("with {}", wire_name(&sharing)),
        Scope::Isolate | Scope::Region => format!("at scope {}", wire_name(&scope)),
    }
}

fn serve(
    field: &str,
    fits: bool,
    served: &'static str,
    got: impl FnOnce() -> String,
) -> Result<(), Invalid> {
    if fits {
        return Ok(());
    }
    let got = got();
    Err(Invalid::new(field, Fault::Unserved { got, served }))
}
