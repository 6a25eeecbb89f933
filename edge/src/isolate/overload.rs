//! Overloaded resources: decided here, without waiting, by what all holders together have of each as of the last
//! contact. What is used here is told with the contacts that are made anyway.

use weir_shared::accounting::counters::Charged;
use weir_shared::algorithms::composite::Mode;
use weir_shared::check::Item;
use weir_shared::gateway::provider_limits::ProviderLimits;
use weir_shared::gateway::usage::tokens::Tokens;
use weir_shared::limiting::verdict::DimensionRules;
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::overload::resource::{Client, Outcome};
use weir_shared::policy::Policy;
use weir_shared::units::EpochMs;

use super::contact;
use super::loaded::Loaded;
use super::memory::{now, with};
use super::overload_check::OverloadCheck;
use super::plan::{Dimension, Place, Planner, Step};
use super::request::RequestHandles;
use crate::http::failure::Failure;
use crate::http::ratelimit::QuotaPolicy;

/// A fair rate is told in units a second.
const SECOND_MS: u64 = 1_000;

impl<'a> Planner<'a> {
    /// A check of a resource.
    pub(super) fn overload(&self, name: &'a str, item: &Item) -> Result<Step<'a>, Failure> {
        let (policy, revision) = (&self.loaded.policy, self.loaded.revision);
        let unknown = || Failure::NotFound {
            what: "overload resource",
            field: Some(item.name_at()),
        };
        let config = policy.overload.get(name).ok_or_else(unknown)?;
        let tenant = self.metered()?;
        let client = client(policy, tenant, self.now)?;
        Ok(Step {
            charged: Charged::Overload(name),
            cost: item.cost,
            mode: Mode::All,
            enforced: policy.enforcing && !config.shadow,
            dimensions: vec![Dimension {
                name,
                place: Place::Overload(OverloadCheck {
                    region: self.region,
                    name,
                    config,
                    revision,
                    client,
                    holds: self.forwards && policy.enforcing && !config.shadow,
                }),
                units: item.cost.max(1),
                look: item.cost == 0,
                scale: 1,
                quota_policy: QuotaPolicy {
                    quota: JSON_INTEGER_MAX,
                    window_ms: SECOND_MS,
                },
                // In shadow the whole check is not enforced, and is counted as it was decided.
                rules: DimensionRules::default(),
            }],
        })
    }
}

/// A tenant as a client.
fn client<'a>(policy: &Policy, tenant: &'a str, now: EpochMs) -> Result<Client<'a>, Failure> {
    let resolved = policy.resolve(tenant, now);
    let resolved = resolved.ok_or_else(|| Failure::unknown("tenant", ""))?;
    Ok(Client {
        name: tenant,
        weight: resolved.weight,
    })
}

/// Takes what the provider behind a resource has told of its limits.
///
/// # Errors
/// 404 for a resource that the policy does not have.
pub fn told(
    region: &str,
    loaded: &Loaded,
    name: &str,
    limits: &ProviderLimits,
) -> Result<(), Failure> {
    let unknown = || Failure::unknown("resource", "");
    let config = loaded.policy.overload.get(name).ok_or_else(unknown)?;
    with(region, |view| {
        let (table, resources) = (view.tokens.table(), &mut view.overload);
        let lately = resources.tokens.get(name).copied().unwrap_or_default();
        if let Some(milli) = limits.milli_per_s(&lately) {
            let resource = resources.get((name, config), loaded.revision, table, now());
            resource.told(milli, now());
        }
    })
}

/// Takes what a request took at a resource.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn took(region: &str, name: &str, tokens: &Tokens) -> Result<(), Failure> {
    with(region, |view| {
        let lately = view.overload.tokens.entry(name.to_owned()).or_default();
        lately.record(tokens);
    })
}

/// Takes how a tenant's request came out at a resource.
///
/// # Errors
/// 404 for a resource that the policy does not have, and for a tenant that it refuses.
pub fn report(
    handles: &RequestHandles,
    region: &str,
    loaded: &Loaded,
    (resource, tenant): (&str, &str),
    outcome: Outcome,
) -> Result<(), Failure> {
    let at = now();
    let unknown = || Failure::unknown("resource", "");
    let config = loaded.policy.overload.get(resource).ok_or_else(unknown)?;
    let check = OverloadCheck {
        region,
        name: resource,
        config,
        revision: loaded.revision,
        client: client(&loaded.policy, tenant, at)?,
        holds: false,
    };
    check.with(at, |resource| resource.report(&check.client, outcome, at))?;
    contact::schedule_flush(handles, region)
}
