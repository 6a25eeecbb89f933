//! The operator API, one file a surface. Who may what was decided before any of this is called.

pub mod audit;
pub mod budgets;
pub mod costs;
pub mod decisions;
pub mod explained;
pub mod fairness;
pub mod policy;
pub mod regions;
pub mod replay;
pub mod reset;
pub mod series;
pub mod tenants;
pub mod tokens;

pub mod change;
pub mod ledgers;
pub mod live;
pub mod live_lines;

use weir_shared::limits::OPERATOR_CALL_MS_MAX;
use weir_shared::policy::Policy;
use weir_shared::query::Query;
use weir_shared::units::Revision;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::shard_key::ShardKey;
use worker::Request;

use crate::http::failure::Failure;
use crate::http::location::Location;
use crate::isolate::place::home;
use crate::isolate::request::RequestHandles;
use crate::objects::binding::{Address, Call, CallError, call};
use crate::objects::calls::ReadPolicy;

/// The policy in force.
pub struct InForce {
    /// Its revision.
    pub revision: Revision,
    /// As it was saved.
    pub document: PolicyDocument,
    /// The same, validated.
    pub policy: Policy,
    /// The secret by which the shards of keys are chosen.
    pub placement: Option<ShardKey>,
}

/// The policy as the registry has it.
///
/// # Errors
/// 503 when the registry does not answer.
pub async fn in_force(handles: &RequestHandles) -> Result<InForce, Failure> {
    let rules = registry(handles, &ReadPolicy::default()).await?;
    let saved = rules.policy.ok_or_else(|| Failure::Unavailable {
        what: "no saved policy can be read".to_owned(),
    })?;
    Ok(InForce {
        revision: saved.revision,
        policy: Policy::try_from(&saved.document)?,
        document: saved.document,
        placement: saved.placement,
    })
}

/// The region that is asked for, or all of the policy.
///
/// # Errors
/// 404 for one that the policy does not have.
pub fn one_or_all(policy: &Policy, region: Option<String>) -> Result<Vec<String>, Failure> {
    match region {
        None => Ok(policy.regions.clone()),
        Some(region) if policy.regions.contains(&region) => Ok(vec![region]),
        Some(_) => Err(Failure::unknown("region", "")),
    }
}

/// Asks the registry.
///
/// # Errors
/// 503 when it does not answer.
pub async fn registry<C: Call>(handles: &RequestHandles, body: &C) -> Result<C::Reply, Failure> {
    let home = home()?;
    let asked = call(
        &handles.env,
        Address::registry(&home),
        body,
        OPERATOR_CALL_MS_MAX,
    );
    asked.await.map_err(unavailable)
}

fn unavailable(error: CallError) -> Failure {
    Failure::Unavailable {
        what: error.to_string(),
    }
}

/// The parameters of a request.
///
/// # Errors
/// 400 for one that is given twice, and for too many.
pub fn query(request: &Request) -> Result<Query, Failure> {
    let location = Location::of(request);
    let pairs = form_urlencoded::parse(location.query().unwrap_or_default().as_bytes());
    Ok(Query::new(pairs.map(|(name, value)| {
        (name.into_owned(), value.into_owned())
    }))?)
}
