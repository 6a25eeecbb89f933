//! Which fields a limit has, by its algorithm. A field of another algorithm is refused: to drop it would be to promise
//! a bound that is not kept.

use weir_core::invalid::{Fault, Invalid};
use weir_wire::numbers::LimitOverrideBody;
use weir_wire::policy::{Algorithm, LimitBody};

use super::algorithm::fields;
use super::limit::algorithm_of;
use super::wire_name;

/// Refuses the first number that is given and does not belong to the algorithm.
pub(super) fn only_own(body: &LimitBody) -> Result<(), Invalid> {
    let own = algorithm_of(body).map_or(&[][..], |name| fields(name, body.cadence));
    let common = [
        ("scope", body.scope.is_some()),
        ("per_tenant", body.per_tenant.is_some()),
    ];
    // They belong to each algorithm, and not to a limit that is made of others.
    let of_parts = |given: bool| given && algorithm_of(body).is_none();
    let common = common.into_iter().filter(|(_, given)| of_parts(*given));
    let common = common.map(|(field, _)| field);
    let numbers = LimitOverrideBody::given(body).filter(|field| !own.contains(field));
    let foreign = numbers.chain(common).next();
    let Some(field) = foreign else {
        return Ok(());
    };
    let to = match (algorithm_of(body), body.cadence) {
        (Some(Algorithm::Quota), Some(cadence)) => {
            format!("quota with the cadence {}", wire_name(&cadence))
        }
        (Some(algorithm), _) => wire_name(&algorithm),
        (None, _) => "a limit that is made of others, which have their own".to_owned(),
    };
    Err(Invalid::new(format!("/{field}"), Fault::Foreign { to }))
}
