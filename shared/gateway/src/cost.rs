//! What a request is charged before it is forwarded, and what it turns out to have cost.

use std::sync::Arc;

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::COST_MAX;
use weir_policy::route::{Cost, HeaderName, Usage};

use super::facts::{BodyLength, Facts};
use super::usage::reader::UsageReader;
use super::usage::request::ModelRequest;
use super::usage::session::Session;
use super::usage::tokens::Tokens;

/// What a request is charged before it is forwarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// Units.
    pub units: u64,
    /// From what they are settled when the request has ended; `None` where they are final.
    pub settled: Option<Settled>,
}

/// From what a charge is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// From a header of the answer.
    ResponseHeader(HeaderName),
    /// From the bytes of the body that passed.
    BodyBytes {
        /// Bytes of a unit.
        per: u64,
    },
    /// From what the answer tells.
    Usage(Box<Asking>),
}

/// A request whose answer tells what it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    usage: Arc<Usage>,
    /// The model that is asked for, where it is known.
    model: Option<String>,
    /// Tokens that the prompt is taken for, 0 where it was not read; `None` of a request without a body.
    input: Option<u64>,
}

/// What a request is charged. `asked` is what the head of its body says, where it was read.
///
/// # Errors
/// A header that is no number, at `/headers/{name}`: nonsense must not be the cheapest thing to say.
///
/// ```
/// use weir_gateway::cost::charge;
/// use weir_gateway::facts::{BodyLength, Facts};
/// use weir_policy::route::Cost;
/// let facts = Facts {
///     method: "PUT", host: "h", path: "/", header: &|_| None, country: None, asn: None, body: BodyLength::Known(2_500),
/// };
/// // 2,500 bytes at 1,000 a unit are three units.
/// assert_eq!(charge(&Cost::BodyBytes { per: 1_000, reserve: 64 }, &facts, None).unwrap().units, 3);
/// let unknown = Facts { body: BodyLength::Unknown, ..facts };
/// let charged = charge(&Cost::BodyBytes { per: 1_000, reserve: 64 }, &unknown, None).unwrap();
/// assert_eq!((charged.units, charged.settled.unwrap().actual(2_500, &|_| None)), (64, Some(3)));
/// ```
pub fn charge(
    cost: &Cost,
    facts: &Facts<'_>,
    asked: Option<&ModelRequest>,
) -> Result<Charge, Invalid> {
    let last = |units| Charge {
        units,
        settled: None,
    };
    match cost {
        Cost::Units(units) => Ok(last(*units)),
        Cost::Header { name, max } => {
            let Some(value) = facts.value(name.as_str()) else {
                return Ok(last(1));
            };
            let field = format!("/headers/{}", name.as_str());
            let units = number(&value).ok_or_else(|| {
                let message = "is not a whole number of at least 0".to_owned();
                Invalid::new(field, Fault::Form { message })
            })?;
            Ok(last(units.clamp(1, *max)))
        }
        Cost::BodyBytes { per, reserve } => Ok(match facts.body {
            BodyLength::None => last(0),
            BodyLength::Known(bytes) => last(units(bytes, *per)),
            BodyLength::Unknown => Charge {
                units: *reserve,
                settled: Some(Settled::BodyBytes { per: *per }),
            },
        }),
        Cost::ResponseHeader { name, reserve } => Ok(Charge {
            units: *reserve,
            settled: Some(Settled::ResponseHeader(name.clone())),
        }),
        Cost::Usage(usage) => {
            let asking = Asking::of(usage, facts, asked);
            Ok(Charge {
                units: asking.reserve(asked.and_then(|asked| asked.output_max)),
                settled: Some(Settled::Usage(Box::new(asking))),
            })
        }
    }
}

impl Asking {
    fn of(usage: &Arc<Usage>, facts: &Facts<'_>, asked: Option<&ModelRequest>) -> Self {
        let has_body = facts.body != BodyLength::None;
        Self {
            usage: Arc::clone(usage),
            model: asked.and_then(|asked| asked.model.clone()),
            input: has_body.then(|| asked.map_or(0, |asked| asked.input)),
        }
    }

    /// What is reserved: the prompt and as many tokens as the answer may have, up to the policy's bound; what the policy
    /// says where the request does not.
    fn reserve(&self, output_max: Option<u64>) -> u64 {
        let Some(output) = output_max else {
            return self.usage.reserve;
        };
        let most = Tokens {
            input: self.input.unwrap_or(0),
            output,
            ..Tokens::default()
        };
        let units = most.cost(&self.usage, self.model.as_deref());
        units.clamp(1, self.usage.reserve_max)
    }

    /// What the request cost, by an answer that has ended, whether or not it was read to its end. What it did not tell is
    /// estimated, and is at least one token of a request with a body; of one without, nothing. `None` for an answer that
    /// cannot be read: what was reserved stays charged.
    #[must_use]
    pub fn actual(&self, answer: &UsageReader) -> Option<u64> {
        let told = answer.tells();
        let Some(input) = self.input.or(told.then_some(0)) else {
            return Some(0);
        };
        let tokens = answer.tokens(if told { input } else { input.max(1) })?;
        let model = self.model.as_deref().or(answer.model());
        Some(tokens.cost(&self.usage, model))
    }

    /// What a conversation cost. `None` where nothing was told or written: what was reserved stays charged.
    #[must_use]
    pub fn spoken(&self, session: &Session) -> Option<u64> {
        let model = self.model.as_deref().or(session.model());
        let tokens = session.tokens()?;
        Some(tokens.cost(&self.usage, model))
    }
}

impl Settled {
    /// What the request cost, by the bytes of its body that passed and the headers of its answer; `None` where the
    /// answer does not say, and what was reserved stays charged.
    #[must_use]
    pub fn actual(&self, body_bytes: u64, header: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
        match self {
            Self::ResponseHeader(name) => {
                let value = header(name.as_str())?;
                number(value.trim_matches([' ', '\t'])).map(|units| units.min(COST_MAX))
            }
            Self::BodyBytes { per } => Some(units(body_bytes, *per)),
            Self::Usage(_) => None,
        }
    }
}

/// Units of so many bytes, a part of one as a whole one.
fn units(bytes: u64, per: u64) -> u64 {
    bytes.div_ceil(per.max(1)).min(COST_MAX)
}

/// A number in decimal digits alone; one that is too large for 64 bits is the largest.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(u64::MAX))
}
