//! The scale in which a question counts: that of the revision that the asker knows, where a shard may apply another.

use weir_algorithms::scale::{Scaled, rescaled_up};
use weir_wire::limit_terms::LimitTerms;

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

#[cfg(test)]
mod tests {
    use weir_algorithms::Algorithm;
    use weir_algorithms::gcra::Gcra;
    use weir_core::units::Revision;
    use weir_wire::policy::LimitBody;

    use super::*;

    #[test]
    fn a_cost_is_counted_in_the_scale_of_the_limit_that_it_is_of_and_never_becomes_less() {
        let terms =
            |name, scale| LimitTerms::of_limit(name, Revision(1), scale, LimitBody::default());
        let limits = [terms("whole", 1), terms("quarters", 4)];
        let gcra = Gcra::new(10, 1_000, 10).unwrap();
        let halves = Scaled::new(&Algorithm::Gcra(gcra), 2).unwrap();
        // The shard counts in halves: 3 units are 6 of them, 3 quarters one and a half. Where the asker brought no rules,
        // it counts as the shard does.
        for (limit, inward, outward) in [("whole", 6, 2), ("quarters", 2, 6), ("other", 3, 3)] {
            assert_eq!(in_scale(3, limit, &limits, &halves), inward, "{limit}");
            assert_eq!(out_of_scale(3, limit, &limits, &halves), outward, "{limit}");
        }
    }
}
