//! A validated resource of the policy.

use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{
    OVERLOAD_BUCKETS_MAX, OVERLOAD_CELLS_MAX, OVERLOAD_CLIENTS_MAX, OVERLOAD_DECAY_PER_S_MAX,
    OVERLOAD_LEVELS_MAX, OVERLOAD_ROTATE_MS_MAX, OVERLOAD_ROTATE_MS_MIN, OVERLOAD_SLOTS_MAX,
};
use weir_core::units::Revision;
use weir_wire::decimal::Decimal;
use weir_wire::overload::{Final, OverloadBody, OverloadTerms, Steering};

use super::placement::Shape;
use super::tuning::{Untunable, levels_of};

/// Buckets of each level, where the policy does not say: the default of the source.
pub const BUCKETS: u64 = 1_000;

/// Levels, where the policy does not say: the least of the source.
pub const LEVELS: u64 = 3;

/// After how long clients are placed anew, where the policy does not say: the default of the source.
pub const ROTATE_MS: u64 = 300_000;

/// By how much a failure raises a probability, where the policy does not say: 25 failures make it certain.
pub const INCREASE: f64 = 0.04;

/// By how much a success lowers it, where the policy does not say: a thousandth of [`INCREASE`].
pub const DECREASE: f64 = 0.000_04;

/// At what rate it decays by itself, where the policy does not say: to 1/e in 100 s.
pub const DECAY_PER_S: f64 = 0.01;

/// How a resource that may be overloaded is steered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Levels and buckets.
    pub shape: Shape,
    /// For how many clients the levels were found, where the policy says that: from 1.
    pub clients: Option<u32>,
    /// After how long clients are placed anew: ten seconds to an hour.
    pub rotate_ms: u64,
    /// By what rule clients are denied.
    pub steering: Steering,
    /// How the probabilities of the levels become one.
    pub combine: Final,
    /// By how much a failure raises a probability: above 0, at most 1.
    pub increase: f64,
    /// By how much a success lowers it: above 0, below `increase`.
    pub decrease: f64,
    /// At what rate it decays by itself: from 0, as the exponent of one second.
    pub decay_per_s: f64,
    /// Requests of routes that each isolate has at the resource at once; `None` for as many as come.
    pub slots: Option<u64>,
    /// Whether it is only decided and counted.
    pub shadow: bool,
}

impl Config {
    /// Every field as the policy would say it.
    #[must_use]
    pub fn body(&self) -> OverloadBody {
        OverloadBody {
            buckets: Some(self.shape.buckets() as u64),
            levels: match self.clients {
                Some(_) => None,
                None => Some(self.shape.levels() as u64),
            },
            clients: self.clients.map(u64::from),
            rotate_ms: Some(self.rotate_ms),
            combine: Some(self.combine),
            increase: Some(Decimal(self.increase)),
            decrease: Some(Decimal(self.decrease)),
            decay_per_s: Some(Decimal(self.decay_per_s)),
            steering: Some(self.steering),
            slots: self.slots,
            shadow: Some(self.shadow),
        }
    }

    /// What holders must agree on.
    #[must_use]
    pub fn terms(&self, revision: Revision) -> OverloadTerms {
        OverloadTerms {
            revision,
            buckets: self.shape.buckets() as u64,
            levels: self.shape.levels() as u64,
            rotate_ms: self.rotate_ms,
            steering: self.steering,
            combine: self.combine,
            increase: Decimal(self.increase),
            decrease: Decimal(self.decrease),
            decay_per_s: Decimal(self.decay_per_s),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        // Three levels of 1,000 buckets are within the bounds.
        Self::try_from(&OverloadBody::default()).expect("the defaults are within their bounds")
    }
}

impl TryFrom<&OverloadBody> for Config {
    type Error = Invalid;

    /// ```
    /// use weir_overload::config::Config;
    /// use weir_wire::overload::OverloadBody;
    /// let body = OverloadBody { levels: Some(9), ..OverloadBody::default() };
    /// assert_eq!(Config::try_from(&body).unwrap_err().to_string(), "/levels: 9 is outside 1 to 8");
    /// assert_eq!(Config::try_from(&OverloadBody::default()), Ok(Config::default()));
    /// // Of 100,000 clients 100 are heavy, and cover 1 - (999/1000)^100 = 9.5% of a level: 0.095^4 = 0.0000824.
    /// let body = OverloadBody { clients: Some(100_000), ..OverloadBody::default() };
    /// let shape = Config::try_from(&body).unwrap().shape;
    /// assert_eq!((shape.levels(), shape.buckets()), (4, 1_000));
    /// ```
    fn try_from(body: &OverloadBody) -> Result<Self, Invalid> {
        let increase = body.increase.map_or(INCREASE, |increase| increase.0);
        let decrease = body.decrease.map_or(DECREASE, |decrease| decrease.0);
        let decay_per_s = body.decay_per_s.map_or(DECAY_PER_S, |decay| decay.0);
        let rotate_ms = body.rotate_ms.unwrap_or(ROTATE_MS);
        let (shape, clients) = match body.clients {
            Some(clients) => {
                let (shape, clients) = tuned(clients, body)?;
                (shape, Some(clients))
            }
            None => {
                let levels = body.levels.unwrap_or(LEVELS);
                (shape(body.buckets.unwrap_or(BUCKETS), levels)?, None)
            }
        };
        Ok(Self {
            shape,
            clients,
            rotate_ms: within(
                "/rotate_ms",
                rotate_ms,
                OVERLOAD_ROTATE_MS_MIN..=OVERLOAD_ROTATE_MS_MAX,
            )?,
            steering: body.steering.unwrap_or_default(),
            combine: body.combine.unwrap_or_default(),
            increase: above_zero("/increase", increase, 1.0)?,
            decrease: lower(increase, above_zero("/decrease", decrease, 1.0)?)?,
            decay_per_s: within("/decay_per_s", decay_per_s, 0.0..=OVERLOAD_DECAY_PER_S_MAX)?,
            slots: body
                .slots
                .map(|slots| within("/slots", slots, 1..=OVERLOAD_SLOTS_MAX))
                .transpose()?,
            shadow: body.shadow.unwrap_or(false),
        })
    }
}

impl TryFrom<&OverloadTerms> for Config {
    type Error = Invalid;

    fn try_from(terms: &OverloadTerms) -> Result<Self, Invalid> {
        Self::try_from(&OverloadBody {
            buckets: Some(terms.buckets),
            levels: Some(terms.levels),
            clients: None,
            rotate_ms: Some(terms.rotate_ms),
            combine: Some(terms.combine),
            increase: Some(terms.increase),
            decrease: Some(terms.decrease),
            decay_per_s: Some(terms.decay_per_s),
            steering: Some(terms.steering),
            // What each isolate does by itself is not agreed on.
            slots: None,
            shadow: None,
        })
    }
}

/// The levels for so many clients, of the buckets that the policy says.
fn tuned(clients: u64, body: &OverloadBody) -> Result<(Shape, u32), Invalid> {
    if body.levels.is_some() {
        let fault = Fault::Excluded { by: "/clients" };
        return Err(Invalid::new("/levels", fault));
    }
    let clients = within("/clients", clients, 1..=OVERLOAD_CLIENTS_MAX)?;
    let buckets = body.buckets.unwrap_or(BUCKETS);
    let buckets = within("/buckets", buckets, 1..=OVERLOAD_BUCKETS_MAX as u64)?;
    let clients = u32::try_from(clients).unwrap_or(u32::MAX);
    let untunable = |fault: Untunable| {
        let message = fault.to_string();
        Invalid::new("/clients", Fault::Form { message })
    };
    let levels = levels_of(clients, buckets as u32).map_err(untunable)?;
    if u64::from(levels) > OVERLOAD_LEVELS_MAX as u64 {
        let levels = f64::from(levels);
        return Err(untunable(Untunable::TooManyLevels { levels }));
    }
    Ok((shape(buckets, levels.into())?, clients))
}

fn shape(buckets: u64, levels: u64) -> Result<Shape, Invalid> {
    let buckets = within("/buckets", buckets, 1..=OVERLOAD_BUCKETS_MAX as u64)? as usize;
    let levels = within("/levels", levels, 1..=OVERLOAD_LEVELS_MAX as u64)? as usize;
    Shape::new(levels, buckets).ok_or_else(|| {
        let fault = Fault::TooMany {
            got: levels * buckets,
            max: OVERLOAD_CELLS_MAX,
            what: "buckets on all levels together",
        };
        Invalid::new("/buckets", fault)
    })
}

fn above_zero(field: &str, got: f64, max: f64) -> Result<f64, Invalid> {
    if got > 0.0 {
        return within(field, got, 0.0..=max);
    }
    Err(out_of_range(field, got, "above 0", max))
}

/// `decrease`, if successes lower a probability more slowly than failures raise it.
fn lower(increase: f64, decrease: f64) -> Result<f64, Invalid> {
    match decrease < increase {
        true => Ok(decrease),
        false => Err(out_of_range("/decrease", decrease, "above 0", increase)),
    }
}

fn out_of_range(field: &str, got: f64, min: &str, max: f64) -> Invalid {
    let fault = Fault::OutOfRange {
        got: got.to_string(),
        min: min.to_owned(),
        max: max.to_string(),
    };
    Invalid::new(field, fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_buckets_come_to_no_more_cells_than_there_is_room_for() {
        let shape = |levels, buckets| {
            let body = OverloadBody {
                levels: Some(levels),
                buckets: Some(buckets),
                ..OverloadBody::default()
            };
            Config::try_from(&body).map(|config| config.shape.cells())
        };
        let (levels, most) = (4, OVERLOAD_CELLS_MAX as u64 / 4);
        assert_eq!(shape(levels, most), Ok(OVERLOAD_CELLS_MAX));
        let fault = Fault::TooMany {
            got: OVERLOAD_CELLS_MAX + 4,
            max: OVERLOAD_CELLS_MAX,
            what: "buckets on all levels together",
        };
        assert_eq!(
            shape(levels, most + 1),
            Err(Invalid::new("/buckets", fault))
        );
    }
}
