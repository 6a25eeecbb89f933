//! A tenant's claim and a rule as a message carries them, and the bounds of what is taken from one.

use weir_core::limits::{JSON_INTEGER_MAX, TENANT_DEPTH_MAX};
use weir_core::name::tenant_name;
use weir_core::ordered::OrderedSet;
use weir_core::units::EpochMs;
use weir_wire::exchange::{AboveBody, FloorsBody, RankBody, Refusal, RuleBody};

use crate::ask::{Above, ClaimVersion, Claimant, Floor, SetAside, TenantClaim};
use crate::share::Rule;
use crate::weight::Weight;

impl From<RuleBody> for Rule {
    fn from(body: RuleBody) -> Self {
        match body {
            RuleBody::Fair => Self::Fair,
            RuleBody::Weighted => Self::Weighted,
            RuleBody::Pinned => Self::Pinned,
            RuleBody::Paced => Self::Paced,
            RuleBody::Pooled => Self::Pooled,
            RuleBody::None => Self::Unreserved,
        }
    }
}

impl From<&Claimant> for RankBody {
    /// The claim of a tenant.
    ///
    /// ```
    /// use weir_fairness::ask::Claimant;
    /// use weir_wire::exchange::RankBody;
    /// use weir_core::units::Revision;
    /// let rank = RankBody {
    ///     weight: 2_500_000, known: true, borrow_max: None, lend_max: Some(5), ceiling: Some(90), floor: 20,
    ///     floor_by_name: true, revision: Revision(7), since: 0, above: Vec::new(),
    /// };
    /// let acme = Claimant::try_from(("acme", &rank)).unwrap();
    /// assert_eq!(acme.claim.weight.as_f64(), 2.5);
    /// assert_eq!(RankBody::from(&acme), rank);
    /// ```
    fn from(claimant: &Claimant) -> Self {
        let claim = &claimant.claim;
        Self {
            weight: claim.weight.micros(),
            known: claim.known,
            borrow_max: claim.borrow_max,
            lend_max: claim.lend_max,
            ceiling: claim.ceiling,
            floor: claim.floor.units,
            floor_by_name: claim.floor.by_name,
            revision: claim.claim_version.revision,
            since: claim.claim_version.since.0,
            above: claim.above.iter().map(AboveBody::from).collect(),
        }
    }
}

impl From<&Above> for AboveBody {
    fn from(above: &Above) -> Self {
        Self {
            name: above.name.clone(),
            weight: above.weight.micros(),
            borrow_max: above.borrow_max,
            lend_max: above.lend_max,
            ceiling: above.ceiling,
            floor: above.floor.units,
            floor_by_name: above.floor.by_name,
            floors: above.floors.into(),
        }
    }
}

impl From<SetAside> for FloorsBody {
    fn from(floors: SetAside) -> Self {
        Self {
            units: floors.units,
            since: floors.since.0,
        }
    }
}

impl TryFrom<(&str, &RankBody)> for Claimant {
    type Error = Refusal;

    /// The tenant of that name with the claim of a message.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] with the field: a name that is none, a weight outside 1 to 10^12 micro-units, a bound
    /// above 2^53 - 1, more tenants above than a policy may nest, and one that is above itself.
    fn try_from((name, rank): (&str, &RankBody)) -> Result<Self, Refusal> {
        let overflow = Self::overflow();
        if name == overflow.name {
            let claim = TenantClaim {
                ceiling: units(rank.ceiling, "rank/ceiling")?,
                ..overflow.claim
            };
            return Ok(Self { claim, ..overflow });
        }
        tenant_name(name).map_err(|_| malformed("tenant"))?;
        if rank.above.len() >= TENANT_DEPTH_MAX {
            return Err(malformed("rank/above"));
        }
        let mut names = OrderedSet::from([name]);
        if !rank.above.iter().all(|above| names.insert(&above.name)) {
            return Err(malformed("rank/above/name"));
        }
        let above: Result<_, _> = rank.above.iter().map(Above::try_from).collect();
        Ok(Self {
            name: name.to_owned(),
            claim: TenantClaim {
                weight: weight(rank.weight, "rank/weight")?,
                known: rank.known,
                borrow_max: units(rank.borrow_max, "rank/borrow_max")?,
                lend_max: units(rank.lend_max, "rank/lend_max")?,
                ceiling: units(rank.ceiling, "rank/ceiling")?,
                floor: floor(rank.floor, rank.floor_by_name, "rank/floor")?,
                claim_version: ClaimVersion {
                    revision: rank.revision,
                    since: EpochMs(rank.since),
                },
                above: above?,
            },
        })
    }
}

impl TryFrom<&AboveBody> for Above {
    type Error = Refusal;

    fn try_from(body: &AboveBody) -> Result<Self, Refusal> {
        tenant_name(&body.name).map_err(|_| malformed("rank/above/name"))?;
        Ok(Self {
            name: body.name.clone(),
            weight: weight(body.weight, "rank/above/weight")?,
            borrow_max: units(body.borrow_max, "rank/above/borrow_max")?,
            lend_max: units(body.lend_max, "rank/above/lend_max")?,
            ceiling: units(body.ceiling, "rank/above/ceiling")?,
            floor: floor(body.floor, body.floor_by_name, "rank/above/floor")?,
            floors: floors(body.floors).map_err(|_| malformed("rank/above/floors"))?,
        })
    }
}

/// What is set aside for some tenants, as a message says.
///
/// # Errors
/// The units, where they are above 2^53 - 1.
pub fn floors(body: FloorsBody) -> Result<SetAside, u64> {
    if body.units > JSON_INTEGER_MAX {
        return Err(body.units);
    }
    Ok(SetAside {
        since: EpochMs(body.since),
        units: body.units,
    })
}

fn floor(units: u64, by_name: bool, field: &str) -> Result<Floor, Refusal> {
    if units > JSON_INTEGER_MAX {
        return Err(malformed(field));
    }
    Ok(Floor { units, by_name })
}

fn weight(micros: u64, field: &str) -> Result<Weight, Refusal> {
    Weight::from_micros(micros).map_err(|_| malformed(field))
}

fn units(units: Option<u64>, field: &str) -> Result<Option<u64>, Refusal> {
    match units {
        Some(units) if units > JSON_INTEGER_MAX => Err(malformed(field)),
        _ => Ok(units),
    }
}

/// A want's field that is outside its range.
fn malformed(field: &str) -> Refusal {
    Refusal::Malformed {
        field: format!("wants/{field}"),
    }
}
