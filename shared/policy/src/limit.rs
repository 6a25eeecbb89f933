//! A validated limit.

use super::algorithm::algorithm;
pub use super::composite::{Composite, Dimension};
use weir_algorithms::Algorithm as Deciding;
use weir_algorithms::leaky_bucket::LeakyBucket;
use weir_algorithms::scale::Scaled;
use weir_core::invalid::{Fault, Invalid};
use weir_fairness::weight::{ONE, Weight};
use weir_wire::policy::{Algorithm, LimitBody, OnUnavailable, Scope};

use super::fields::only_own;
use super::{between, global, required};

/// A limit of the policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// What decides.
    pub rule: Rule,
    /// The same as the document says it, for those who keep its states and have no policy of their own.
    pub body: LimitBody,
    /// Whether each tenant has its own keys; of a composite limit, its dimensions say that.
    pub per_tenant: bool,
    /// Whether it is only decided and counted.
    pub shadow: bool,
    /// What is answered when the holder is out of reach.
    pub on_unavailable: OnUnavailable,
}

/// What decides a limit.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// An algorithm that admits or denies.
    Single(Single),
    /// Other limits, together.
    Composite(Composite),
    /// A queue that delays.
    Shaper(Shaper),
}

/// A limit of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Single {
    /// The algorithm, counted in parts of a unit so that every weight that the policy gives it costs a whole number.
    pub machine: Scaled,
    /// Where its states are kept.
    pub scope: Scope,
}

/// A queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaper {
    /// The queue's rate and length.
    pub bucket: LeakyBucket,
    /// The same as what decides, where a place is one of several things that a request is charged.
    pub machine: Scaled,
    /// Where its states are kept.
    pub scope: Scope,
}

impl Limit {
    /// The limit of a document, counted in `1 / scale` units. What a composite limit refers to is not looked at.
    ///
    /// # Errors
    /// As [`rule_of`].
    pub fn read(body: &LimitBody, scale: u64) -> Result<Self, Invalid> {
        Ok(Self {
            rule: rule_of(body, scale)?,
            body: body.clone(),
            per_tenant: body.per_tenant.unwrap_or(false),
            shadow: body.shadow.unwrap_or(false),
            on_unavailable: body.on_unavailable.unwrap_or(OnUnavailable::Deny),
        })
    }
}

impl Single {
    /// What `cost` units cost here, in the machine's parts of a unit: exact where the weight is one that the policy
    /// gives this limit, else rounded up. What exceeds 64 bits becomes the largest number, which is above every
    /// ceiling.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::limit::{Rule, rule_of};
    /// use weir_fairness::weight::Weight;
    /// let text = br#"{"algorithm":"gcra","limit":10,"period_ms":1000,"scope":"region"}"#;
    /// // Counted in tenths, a unit is 10, and 3 units at the weight 2.5 are 75.
    /// let Rule::Single(single) = rule_of(&read_json(text).unwrap(), 10).unwrap() else { panic!() };
    /// assert_eq!(single.cost(None, 3), 30);
    /// assert_eq!(single.cost(Some(&Weight::try_from(2.5).unwrap()), 3), 75);
    /// ```
    #[must_use]
    pub fn cost(&self, weight: Option<&Weight>, cost: u64) -> u64 {
        // Below 2^64 x 2^20 x 2^40.
        let micros = weight.map_or(ONE, |weight| weight.micros());
        let parts = u128::from(cost) * u128::from(self.machine.scale()) * u128::from(micros);
        u64::try_from(parts.div_ceil(u128::from(ONE))).unwrap_or(u64::MAX)
    }
}

/// The rule of one limit, counted in `1 / scale` units, with a scale of 1 to 10^6. What a composite limit refers to is
/// not looked at.
///
/// # Errors
/// The first field that is missing, out of range or of another algorithm, with its pointer in the limit; `/scale` when
/// the numbers have no room for that scale.
pub fn rule_of(body: &LimitBody, scale: u64) -> Result<Rule, Invalid> {
    between("/scale", scale, 1, ONE)?;
    let Some(name) = algorithm_of(body) else {
        return Composite::try_from(body).map(Rule::Composite);
    };
    let others = [("/all", body.all.is_some()), ("/any", body.any.is_some())];
    if let Some((field, _)) = others.into_iter().find(|(_, given)| *given) {
        let by = "algorithm";
        return Err(Invalid::new(field, Fault::Excluded { by }));
    }
    only_own(body)?;
    let scope = scope(name, body)?;
    let algorithm = algorithm(name, body)?;
    if let Deciding::LeakyBucket(bucket) = algorithm {
        let machine = Scaled::whole(algorithm);
        return Ok(Rule::Shaper(Shaper {
            bucket,
            machine,
            scope,
        }));
    }
    let scaled = Scaled::new(&algorithm, scale);
    let machine = scaled.filter(|_| scope != Scope::Global || global::lendable(body, scale));
    let no_room = || Fault::OutOfRange {
        got: scale.to_string(),
        min: "1".to_owned(),
        max: "what the limit's numbers have room for".to_owned(),
    };
    let machine = machine.ok_or_else(|| Invalid::new("/scale", no_room()))?;
    Ok(Rule::Single(Single { machine, scope }))
}

/// The algorithm of a limit: `gcra` where it names none. `None` of one that is made of others.
///
/// ```
/// use weir_policy::limit::algorithm_of;
/// use weir_wire::policy::{Algorithm, LimitBody};
/// let of = |text| algorithm_of(&serde_json::from_str::<LimitBody>(text).unwrap());
/// assert_eq!(of(r#"{"limit":10,"period_ms":1000}"#), Some(Algorithm::Gcra));
/// assert_eq!(of(r#"{"all":["a","b"]}"#), None);
/// ```
#[must_use]
pub fn algorithm_of(body: &LimitBody) -> Option<Algorithm> {
    let is_composite = body.all.is_some() || body.any.is_some();
    body.algorithm
        .or((!is_composite).then_some(Algorithm::Gcra))
}

/// The scope, and what it asks of a limit.
fn scope(name: Algorithm, body: &LimitBody) -> Result<Scope, Invalid> {
    let scope = required("/scope", body.scope)?;
    if scope == Scope::Global {
        global::bounded(name, body)?;
    }
    Ok(scope)
}
