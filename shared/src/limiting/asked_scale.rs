//! The scale in which a question counts: that of the revision that the asker knows, where a shard may apply another.

use crate::algorithms::scale::Scaled;
use crate::algorithms::state::rescaled_up;
use crate::wire::limit_terms::LimitTerms;

/// Units in the scale that the asker knows, in the scale that the shard applies: another revision may have another.
/// Rounded up: a cost is never less for it.
pub(super) fn in_scale(units: u64, limit: &str, limits: &[LimitTerms], machine: &Scaled) -> u64 {
    rescaled_up(units, asked_scale(limit, limits, machine), machine.scale())
}

/// The other way round, rounded up too: what was charged is told in full.
pub(super) fn out_of_scale(
    units: u64,
    limit: &str,
    limits: &[LimitTerms],
    machine: &Scaled,
) -> u64 {
    rescaled_up(units, machine.scale(), asked_scale(limit, limits, machine))
}

fn asked_scale(limit: &str, limits: &[LimitTerms], machine: &Scaled) -> u64 {
    let terms = limits.iter().find(|terms| terms.name == limit);
    terms.map_or(machine.scale(), |terms| terms.scale)
}
