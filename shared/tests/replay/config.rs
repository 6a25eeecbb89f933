//! The configurations of the vectors as limits of Weir.

use serde_json::{Map, Value};
use weir_shared::algorithms::leaky_bucket::LeakyBucket;
use weir_shared::algorithms::rational::Rational;
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::policy::limit::{Rule, Single, rule_of};
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::{Cadence, LimitBody, Scope};

use super::report::Why;

/// Decimals of a number of the vectors, at most.
const DECIMALS_MAX: u32 = 15;

/// Why a configuration makes no limit of Weir.
#[derive(Debug)]
pub enum Unfit {
    /// It is outside what Weir can be told.
    Domain(Why),
    /// Weir refuses it.
    Refused(Invalid),
}

impl Unfit {
    /// Why nothing is compared.
    pub fn why(self) -> Why {
        match self {
            Self::Domain(why) => why,
            Self::Refused(invalid) => format!("outside Weir's bounds: {invalid}").into(),
        }
    }
}

impl From<Invalid> for Unfit {
    fn from(invalid: Invalid) -> Self {
        Self::Refused(invalid)
    }
}

/// The limit that a strategy is, counted in parts of `1 / scale`.
pub fn limit(strategy: &Value, scale: u64) -> Result<Single, Unfit> {
    let mut options = options(strategy)?.clone();
    if options.get("type").and_then(Value::as_str) == Some("gcra") {
        in_whole_numbers(&mut options)?;
    }
    for (name, why) in [
        ("limit", "a limit that is no integer"),
        ("windowMs", "a window of no whole number of milliseconds"),
        ("periodMs", "a period of no whole number of milliseconds"),
        ("burst", "a burst that is no integer"),
    ] {
        let number = options.get(name).and_then(Value::as_f64);
        if number.is_some_and(|number| number.fract() != 0.0) {
            return Err(Unfit::Domain(why.into()));
        }
    }
    let mut body = body(&options)?;
    drop_idle_options(&mut body);
    single(&body, scale)
}

/// The limit that a policy would make of it.
pub fn single(body: &LimitBody, scale: u64) -> Result<Single, Unfit> {
    let body = LimitBody {
        scope: Some(Scope::Region),
        ..body.clone()
    };
    match rule_of(&body, scale)? {
        Rule::Single(single) => Ok(single),
        Rule::Composite(_) | Rule::Shaper(_) => {
            Err(Unfit::Domain("a strategy that decides nothing".into()))
        }
    }
}

/// Without the options that a cadence has no use for, which a policy may not name.
fn drop_idle_options(body: &mut LimitBody) {
    let Some(cadence) = body.cadence else { return };
    if cadence != Cadence::Rolling {
        body.buckets = None;
    }
    if cadence != Cadence::Fixed {
        body.anchor = None;
    }
    if matches!(cadence, Cadence::Fixed | Cadence::Rolling) {
        (body.offset_minutes, body.week_starts_on) = (None, None);
    } else {
        body.period_ms = None;
    }
}

/// The shaper of a configuration, for costs in parts of `1 / scale`: so many times as many leave in a second.
pub fn leaky_bucket(config: &Value, scale: u64) -> Result<LeakyBucket, Unfit> {
    let options = options(config)?;
    let rate = number(options, "ratePerSec")?;
    let rate = match Rational::above_zero(rate, JSON_INTEGER_MAX, DECIMALS_MAX) {
        Ok(ratio) if scale > 1 => {
            let parts = u128::from(ratio.numerator()) * u128::from(scale);
            parts as f64 / ratio.denominator() as f64
        }
        _ => rate,
    };
    let max_queue_ms = number(options, "maxQueueMs")?;
    Ok(LeakyBucket::new(Decimal(rate), Decimal(max_queue_ms))?)
}

/// Whether a strategy is a sliding window.
pub fn slides(strategy: &Value) -> bool {
    let text = |name: &str| strategy.get(name).and_then(Value::as_str);
    text("type") == Some("slidingWindow") || text("resetCadence") == Some("rolling")
}

/// Whether a number of the configuration is a decimal that Weir takes as a ratio.
pub fn is_decimal(config: &Value) -> bool {
    let fractional = |value: &Value| value.as_f64().is_some_and(|number| number.fract() != 0.0);
    config
        .as_object()
        .is_some_and(|options| options.values().any(fractional))
}

/// A number that may have decimals.
fn number(options: &Map<String, Value>, name: &str) -> Result<f64, Unfit> {
    let value = options.get(name).unwrap_or(&Value::Null);
    match (value.as_f64(), value.as_str()) {
        (Some(number), _) => Ok(number),
        (None, Some("NaN")) => Ok(f64::NAN),
        (None, Some("Infinity")) => Ok(f64::INFINITY),
        (None, Some("-Infinity")) => Ok(f64::NEG_INFINITY),
        (None, _) => {
            let message = format!("{value} is no number");
            let fault = Fault::Form { message };
            Err(Unfit::Refused(Invalid::new(format!("/{name}"), fault)))
        }
    }
}

pub fn options(config: &Value) -> Result<&Map<String, Value>, Unfit> {
    let no_object = || Unfit::Domain("a configuration that is no object".into());
    config.as_object().ok_or_else(no_object)
}

/// A rate of 0.1 in 1,000 ms is one of 1 in 10,000 ms: what counts is the ratio.
fn in_whole_numbers(options: &mut Map<String, Value>) -> Result<(), Unfit> {
    if !is_decimal(&Value::Object(options.clone())) {
        return Ok(());
    }
    let ratio = |name: &str| {
        Rational::above_zero(number(options, name)?, JSON_INTEGER_MAX, DECIMALS_MAX)
            .map_err(|fault| Unfit::Refused(Invalid::new(format!("/{name}"), fault)))
    };
    let (limit, period) = (ratio("limit")?, ratio("periodMs")?);
    let units = u128::from(limit.numerator()) * u128::from(period.denominator());
    let ms = u128::from(period.numerator()) * u128::from(limit.denominator());
    let common = gcd(units, ms);
    let whole = |number: u128| {
        u64::try_from(number / common)
            .map(Value::from)
            .map_err(|_| Unfit::Domain("a ratio of over 64 bits".into()))
    };
    let (units, ms) = (whole(units)?, whole(ms)?);
    // The burst is the limit unless it is given.
    if !options.contains_key("burst") {
        options.insert("burst".to_owned(), options["limit"].clone());
    }
    options.insert("limit".to_owned(), units);
    options.insert("periodMs".to_owned(), ms);
    Ok(())
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The strategy as a policy would write it.
pub fn body(options: &Map<String, Value>) -> Result<LimitBody, Unfit> {
    let mut body = Map::new();
    for (name, value) in options {
        let (name, value) = match name.as_str() {
            "feature" => continue,
            "type" => ("algorithm", algorithm_name(value)?),
            "resetCadence" => {
                let cadence = value.as_str().unwrap_or_default().replace('-', "_");
                ("cadence", Value::from(cadence))
            }
            "limit" | "burst" | "capacity" | "buckets" | "anchor" => (name.as_str(), value.clone()),
            "periodMs" => ("period_ms", value.clone()),
            "windowMs" => ("window_ms", value.clone()),
            "refillPerSec" => ("refill_per_sec", value.clone()),
            "offsetMinutes" => ("offset_minutes", value.clone()),
            "weekStartsOn" => ("week_starts_on", value.clone()),
            other => {
                return Err(Unfit::Domain(
                    format!("an option that Weir does not have: {other}").into(),
                ));
            }
        };
        body.insert(name.to_owned(), value);
    }
    let text = Value::Object(body).to_string();
    Ok(weir_shared::invalid::read_json(text.as_bytes())?)
}

fn algorithm_name(value: &Value) -> Result<Value, Unfit> {
    let name = match value.as_str() {
        Some("gcra") => "gcra",
        Some("tokenBucket") => "token_bucket",
        Some("fixedWindow") => "fixed_window",
        Some("slidingWindow") => "sliding_window",
        Some("slidingWindowLog") => "sliding_log",
        Some("quota") => "quota",
        _ => {
            let why = format!("a strategy that Weir does not have: {value}");
            return Err(Unfit::Domain(why.into()));
        }
    };
    Ok(Value::from(name))
}
