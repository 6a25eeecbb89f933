//! Limits that are made of others: all of them, or any.

use weir_algorithms::composite::Mode;
use weir_algorithms::rational::gcd;
use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::{COMPOSITE_DIMENSIONS_MAX, WEIGHT_DECIMALS_MAX};
use weir_core::name::label;
use weir_core::ordered::OrderedMap;
use weir_fairness::weight::Weight;
use weir_wire::policy::{DimensionBody, LimitBody};

use super::count;
use super::fields::only_own;
use super::limit::{Limit, Rule, rule_of};

/// A limit that is made of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composite {
    /// How many of them have to admit.
    pub mode: Mode,
    /// The others: 1 to 8, by different names.
    pub dimensions: Vec<Dimension>,
}

/// One of the limits that a composite limit is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// Its name here, by which a request gives its key.
    pub name: String,
    /// The limit's name in the policy.
    pub limit: String,
    /// What a unit of a request costs there.
    pub weight: Weight,
}

impl TryFrom<&LimitBody> for Composite {
    type Error = Invalid;

    fn try_from(body: &LimitBody) -> Result<Self, Invalid> {
        let (mode, field, bodies) = listed(body)?;
        only_own(body)?;
        if bodies.is_empty() {
            return Err(Invalid::new(field, Fault::Missing));
        }
        count(field, "dimensions", bodies.len(), COMPOSITE_DIMENSIONS_MAX)?;
        let mut dimensions: Vec<Dimension> = Vec::with_capacity(bodies.len());
        for (index, body) in bodies.iter().enumerate() {
            let at = format!("{field}/{index}");
            let dimension = Dimension::try_from(body).map_err(|refused| refused.under(&at))?;
            if dimensions
                .iter()
                .any(|earlier| earlier.name == dimension.name)
            {
                let got = dimension.name;
                return Err(Invalid::new(at + places(body).0, Fault::Duplicate { got }));
            }
            dimensions.push(dimension);
        }
        Ok(Self { mode, dimensions })
    }
}

impl TryFrom<&DimensionBody> for Dimension {
    type Error = Invalid;

    fn try_from(body: &DimensionBody) -> Result<Self, Invalid> {
        let body = match body {
            DimensionBody::Plain(limit) => return Ok(Self::plain(limit)),
            DimensionBody::Named(body) => body,
        };
        let missing = || Invalid::new("/limit", Fault::Missing);
        let mut dimension = Self::plain(body.limit.as_ref().ok_or_else(missing)?);
        if let Some(name) = &body.name {
            label(name).map_err(|fault| Invalid::new("/name", fault))?;
            dimension.name.clone_from(name);
        }
        if let Some(weight) = body.weight {
            dimension.weight =
                Weight::try_from(weight.0).map_err(|fault| Invalid::new("/weight", fault))?;
        }
        Ok(dimension)
    }
}

impl Dimension {
    /// A limit by its own name, with the weight 1.
    fn plain(limit: &str) -> Self {
        Self {
            name: limit.to_owned(),
            limit: limit.to_owned(),
            weight: Weight::WHOLE,
        }
    }
}

/// The dimensions as the document says them, with the field that holds them.
fn listed(body: &LimitBody) -> Result<(Mode, &'static str, &[DimensionBody]), Invalid> {
    match (&body.all, &body.any) {
        (None, None) => Err(Invalid::new("/algorithm", Fault::Missing)),
        (Some(_), Some(_)) => Err(Invalid::new("/any", Fault::Excluded { by: "all" })),
        (Some(all), None) => Ok((Mode::All, "/all", all)),
        (None, Some(any)) => Ok((Mode::Any, "/any", any)),
    }
}

/// Pointers to a dimension's name and to its limit's, within the dimension.
fn places(body: &DimensionBody) -> (&'static str, &'static str) {
    match body {
        DimensionBody::Plain(_) => ("", ""),
        DimensionBody::Named(body) if body.name.is_none() => ("/limit", "/limit"),
        DimensionBody::Named(_) => ("/name", "/limit"),
    }
}

/// In how many parts of a unit each limit is counted that composite limits refer to: the least common multiple of the
/// denominators of the weights that they give it, so that every cost is whole. Limits that are not named count in
/// whole units.
///
/// # Errors
/// A reference to what is no limit of its own, and a weight for which the limit's numbers have no room.
pub(super) fn scales(
    limits: &OrderedMap<String, Limit>,
) -> Result<OrderedMap<String, u64>, Invalid> {
    let mut scales = OrderedMap::new();
    for (name, limit) in limits {
        let Rule::Composite(composite) = &limit.rule else {
            continue;
        };
        let (_, field, bodies) = listed(&limit.body)?;
        for (index, (dimension, body)) in composite.dimensions.iter().zip(bodies).enumerate() {
            let at = format!("/limits{}{field}/{index}", step(name));
            let referred = referred(limits, dimension)
                .map_err(|fault| Invalid::new(format!("{at}{}", places(body).1), fault))?;
            let scale = scales.entry(dimension.limit.clone()).or_insert(1);
            *scale = finer(referred, dimension, *scale)
                .map_err(|fault| Invalid::new(format!("{at}/weight"), fault))?;
        }
    }
    Ok(scales)
}

/// The limit that a dimension refers to, which must decide by itself.
fn referred<'a>(
    limits: &'a OrderedMap<String, Limit>,
    dimension: &Dimension,
) -> Result<&'a Limit, Fault> {
    let name = dimension.limit.clone();
    let what = match limits.get(&name).map(|limit| (limit, &limit.rule)) {
        Some((limit, Rule::Single(_))) => return Ok(limit),
        Some((_, Rule::Composite(_))) => "made of others",
        Some((_, Rule::Shaper(_))) => "leaky_bucket",
        None => {
            return Err(Fault::Unknown {
                name,
                what: "limit",
            });
        }
    };
    Err(Fault::Unserved {
        got: format!("{name:?} ({what})"),
        served: "limits with an algorithm other than leaky_bucket",
    })
}

/// The scale that also counts the dimension's weight in whole parts.
fn finer(limit: &Limit, dimension: &Dimension, scale: u64) -> Result<u64, Fault> {
    let joined = |parts: u64| scale / gcd(scale, parts) * parts;
    let fits = |scale: u64| rule_of(&limit.body, scale).is_ok();
    let wanted = joined(dimension.weight.denominator());
    if wanted == scale || fits(wanted) {
        return Ok(wanted);
    }
    let decimals = (0..WEIGHT_DECIMALS_MAX).rev();
    let room = decimals
        .into_iter()
        .find(|decimals| fits(joined(10_u64.pow(*decimals))));
    Err(Fault::TooFine {
        got: dimension.weight.as_f64().to_string(),
        max: room.unwrap_or(0),
        limit: dimension.limit.clone(),
    })
}
