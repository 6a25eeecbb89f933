//! A cost by the usage that an answer tells.

use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::{
    COST_MAX, MODEL_PATTERN_BYTES_MAX, MODEL_PATTERNS_MAX, USAGE_POINTER_PARTS_MAX,
};
use weir_core::ordered::sort_by_key;
use weir_fairness::weight::Weight;
use weir_wire::decimal::Decimal;
use weir_wire::token_usage::{TokenWeightsBody, UsageBody, UsageFormatBody};

use super::model::{ModelPattern, too_long};
use super::required;
use crate::{bounded, count};

/// How what an answer tells becomes units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Where the answer tells it.
    pub format: UsageFormat,
    /// Units that are reserved where the request does not say what it may use.
    pub reserve: u64,
    /// The most units that are reserved for a request that says so.
    pub reserve_max: u64,
    /// Micro-units of a token, by its kind.
    pub weights: TokenWeights,
    /// Multipliers, the most specific pattern first.
    models: Vec<(ModelPattern, Weight)>,
}

/// Where an answer tells what was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UsageFormat {
    /// As OpenAI does.
    OpenAi,
    /// As Anthropic does.
    Anthropic,
    /// As Gemini does.
    Gemini,
    /// In units, at the place of these parts.
    Pointer(Vec<String>),
}

/// Micro-units of a token, by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenWeights {
    /// Of the prompt.
    pub input: u64,
    /// Of the prompt, cached by the provider.
    pub cached_input: u64,
    /// Of the answer.
    pub output: u64,
    /// Of the answer, but read by nobody.
    pub reasoning: u64,
}

impl Usage {
    /// The cost that is written.
    ///
    /// # Errors
    /// At `/format`, `/reserve`, `/reserve_max`, `/weights/..` or `/models/..`.
    pub fn read(body: &UsageBody) -> Result<Self, Invalid> {
        let format = UsageFormat::read(required(body.format.as_ref(), "/format")?)?;
        let reserve = bounded(
            "/reserve",
            *required(body.reserve.as_ref(), "/reserve")?,
            COST_MAX,
        )?;
        let reserve_max = bounded(
            "/reserve_max",
            body.reserve_max.unwrap_or(reserve),
            COST_MAX,
        )?;
        let in_units = matches!(format, UsageFormat::Pointer(_));
        if in_units && body.weights.is_some() {
            let to = "a pointer, which tells units and not tokens".to_owned();
            return Err(Invalid::new("/weights", Fault::Foreign { to }));
        }
        Ok(Self {
            format,
            reserve,
            reserve_max,
            weights: TokenWeights::read(&body.weights.unwrap_or_default())?,
            models: models(body)?,
        })
    }

    /// Whether a request's own words change what is charged.
    #[must_use]
    pub fn reads_requests(&self) -> bool {
        !matches!(self.format, UsageFormat::Pointer(_)) || !self.models.is_empty()
    }

    /// The multiplier of a model: that of the most specific pattern that its name fits, 1 if it fits none. Of a model that
    /// nobody has named, the largest there is.
    ///
    /// ```
    /// use weir_policy::route::Usage;
    /// let body = serde_json::from_str(
    ///     r#"{"format":"gemini","reserve":1,"models":{"*":2,"gemini-*":3,"gemini-*-pro":9,"gemini-1":0.5}}"#,
    /// ).unwrap();
    /// let usage = Usage::read(&body).unwrap();
    /// let of = |model| usage.multiplier(Some(model)).as_f64();
    /// assert_eq!([of("gemini-1"), of("gemini-2-pro"), of("gemini-2"), of("other")], [0.5, 9.0, 3.0, 2.0]);
    /// assert_eq!(usage.multiplier(None).as_f64(), 9.0);
    /// ```
    #[must_use]
    pub fn multiplier(&self, model: Option<&str>) -> Weight {
        let Some(model) = model else {
            let all = self.models.iter().map(|(_, weight)| *weight);
            return all.max().unwrap_or(Weight::WHOLE);
        };
        let mut patterns = self.models.iter();
        let fits = patterns.find(|(pattern, _)| pattern.fits(model));
        fits.map_or(Weight::WHOLE, |(_, weight)| *weight)
    }
}

impl UsageFormat {
    fn read(body: &UsageFormatBody) -> Result<Self, Invalid> {
        let pointer = match body {
            UsageFormatBody::OpenAi => return Ok(Self::OpenAi),
            UsageFormatBody::Anthropic => return Ok(Self::Anthropic),
            UsageFormatBody::Gemini => return Ok(Self::Gemini),
            UsageFormatBody::Pointer(body) => required(body.pointer.as_ref(), "/format/pointer")?,
        };
        let at = "/format/pointer";
        let Some(parts) = pointer.strip_prefix('/') else {
            let message = "is not a JSON pointer to a member: it begins with no /".to_owned();
            return Err(Invalid::new(at, Fault::Form { message }));
        };
        let parts: Vec<String> = parts
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect();
        count(at, "parts", parts.len(), USAGE_POINTER_PARTS_MAX)?;
        match parts
            .iter()
            .find(|part| part.len() > MODEL_PATTERN_BYTES_MAX)
        {
            None => Ok(Self::Pointer(parts)),
            Some(long) => Err(Invalid::new(at, too_long(long))),
        }
    }
}

impl TokenWeights {
    fn read(body: &TokenWeightsBody) -> Result<Self, Invalid> {
        let micros = |given: Option<Decimal>, or: u64, at: &str| match given {
            None => Ok(or),
            Some(Decimal(0.0)) => Ok(0),
            Some(Decimal(value)) => match Weight::try_from(value) {
                Ok(weight) => Ok(weight.micros()),
                Err(fault) => Err(Invalid::new(format!("/weights/{at}"), fault)),
            },
        };
        let whole = Weight::WHOLE.micros();
        let input = micros(body.input, whole, "input")?;
        let output = micros(body.output, whole, "output")?;
        Ok(Self {
            input,
            cached_input: micros(body.cached_input, input, "cached_input")?,
            output,
            reasoning: micros(body.reasoning, output, "reasoning")?,
        })
    }
}

fn models(body: &UsageBody) -> Result<Vec<(ModelPattern, Weight)>, Invalid> {
    count("/models", "models", body.models.len(), MODEL_PATTERNS_MAX)?;
    let mut models = Vec::with_capacity(body.models.len());
    for (pattern, Decimal(multiplier)) in &body.models {
        let at = |fault| Invalid::new(format!("/models{}", step(pattern)), fault);
        let pattern = ModelPattern::read(pattern).map_err(at)?;
        models.push((pattern, Weight::try_from(*multiplier).map_err(at)?));
    }
    sort_by_key(&mut models, |(pattern, _)| {
        std::cmp::Reverse(pattern.rank())
    });
    Ok(models)
}
