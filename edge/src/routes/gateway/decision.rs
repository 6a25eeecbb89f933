//! The decision on a request by its route: whose it is, whether it may pass, and when its turn comes.

use std::net::IpAddr;

use weir_shared::check::Target;
use weir_shared::gateway::address;
use weir_shared::gateway::facts::Facts;
use weir_shared::gateway::problem::Refusal;
use weir_shared::gateway::question::question;
use weir_shared::gateway::tenant::is_vouched;
use weir_shared::gateway::usage::request::ModelRequest;
use weir_shared::limiting::owner::Asking;
use weir_shared::policy::route::{Route, RouteCheck};
use worker::console_error;

use super::ticket::{Desk, Ticket};
use super::waiting::Waiting;
use super::{Refused, visitor};
use crate::http::answered::Answered;
use crate::isolate::answer::Asker;
use crate::isolate::client::Client;
use crate::isolate::loaded::Loaded;
use crate::isolate::now;
use crate::isolate::patience::Patience;
use crate::isolate::request::RequestHandles;

/// Who decides.
pub struct Decider<'a> {
    /// The platform.
    pub handles: &'a RequestHandles,
    /// The region.
    pub region: &'a str,
    /// Its policy.
    pub loaded: &'a Loaded,
    /// Whether it forwards what it lets through.
    pub forwards: bool,
}

/// A request that is decided.
pub struct GatewayRequest<'a> {
    /// What is known of it.
    pub facts: &'a Facts<'a>,
    /// What the head of its body says, where it was read.
    pub said: Option<&'a ModelRequest>,
    /// Whose it is.
    pub tenant: Option<String>,
    /// Where it comes from.
    pub address: Option<IpAddr>,
    /// Who waits for it.
    pub client: &'a Client,
}

/// What was decided of a request that may pass.
#[derive(Default)]
pub struct Passed {
    /// What it owes.
    pub ticket: Ticket,
    /// The decision, where anything was asked.
    pub answered: Option<Answered>,
}

impl Decider<'_> {
    /// Whose a request is, as the route says.
    ///
    /// # Errors
    /// 400, 401 or 403 for one that is nobody's, 503 while the keys of a token's issuer cannot be had.
    pub async fn tenant(
        &self,
        route: &Route,
        facts: &Facts<'_>,
        address: Option<IpAddr>,
    ) -> Result<Option<String>, Refused> {
        let policy = &self.loaded.policy;
        let tenant = visitor::tenant(self.handles, policy, route, facts, address).await?;
        let known = |tenant: &str| policy.resolve(tenant, now()).is_some();
        if !tenant.as_deref().is_none_or(known) {
            return Err(Refusal::unknown_tenant().into());
        }
        Ok(tenant)
    }

    /// Whether a request may pass, with what it then owes. What passes is charged.
    ///
    /// # Errors
    /// A denial; 400 where the request does not say what the route asks for.
    pub async fn decide(
        &self,
        route: &Route,
        asked: &GatewayRequest<'_>,
    ) -> Result<Passed, Refused> {
        let (whose, address) = (asked.tenant.as_deref(), asked.address);
        let question = question(route, asked.facts, asked.said, whose, address)?;
        let tenant = asked.tenant.clone().unwrap_or_default();
        if question.check.items.is_empty() {
            let ticket = Ticket {
                tenant,
                ..Ticket::default()
            };
            return Ok(Passed {
                ticket,
                answered: None,
            });
        }
        let from = address.map(address::owner);
        let asker = Asker {
            shadow: route.shadow,
            forwards: self.forwards,
            handles: self.handles,
            region: self.region,
            loaded: self.loaded,
            asking: Asking::Route {
                name: &route.name,
                from: from.as_ref(),
                vouched: is_vouched(route, whose),
            },
        };
        let wait_ms: Vec<_> = route.checks.iter().map(|check| check.wait_ms).collect();
        let waiting = self.waiting(route, asked.client)?;
        let patience = waiting.as_ref().map(|_| Patience {
            client: asked.client,
            wait_ms: &wait_ms,
        });
        let settled = question.settled.iter().map(|(index, _)| *index);
        let settled: Vec<_> = settled.collect();
        let admitting = asker.admit(&question.check, &settled, patience.as_ref());
        let admission = admitting.await?.ok_or_else(Refusal::client_gone)?;
        // In shadow the origin's outcome is told all the same.
        if !admission.answered.body.allowed && !route.shadow {
            let refusal = match admission.queue_full {
                true => Refusal::queue_full(&admission.answered.body),
                false => Refusal::denied(&admission.answered.body),
            };
            let answered = Some(Box::new(admission.answered));
            return Err(Refused::Problem(Box::new(refusal), answered));
        }
        let items = question.check.items.iter();
        let overload = items.filter_map(|item| match &item.target {
            Target::Overload(name) => Some(name.clone()),
            _ => None,
        });
        let reservations = admission.reservations.into_iter().zip(&question.settled);
        let passed = Passed {
            ticket: Ticket {
                tenant,
                slot: admission.slot,
                reservations: reservations
                    .map(|((_, reservation), (_, how))| (reservation, how.clone()))
                    .collect(),
                overload: overload.collect(),
                resource_slots: admission.resource_slots,
            },
            answered: Some(admission.answered),
        };
        match (admission.turn, waiting) {
            (Some(turn), Some(waiting)) => waiting.for_turn(self.desk(), passed, turn).await,
            _ => Ok(passed),
        }
    }

    /// A seat for a request that may have to wait. `None` on a route where none has to; and where there is no seat, if
    /// it can be denied instead.
    fn waiting<'b>(
        &self,
        route: &Route,
        client: &'b Client,
    ) -> Result<Option<Waiting<'b>>, Refused> {
        let policy = &self.loaded.policy;
        if !route.waits(policy) {
            return Ok(None);
        }
        let longest_ms = route.checks.iter().filter_map(|check| check.wait_ms).max();
        let waiting = Waiting::enter(client, longest_ms.unwrap_or(0))?;
        let delays = |check: &RouteCheck| check.target.delays(policy);
        if waiting.is_none() && route.checks.iter().any(delays) {
            return Err(Refusal::no_room_to_wait().into());
        }
        Ok(waiting)
    }

    fn desk(&self) -> Desk {
        Desk {
            handles: self.handles.share(),
            region: self.region.to_owned(),
            loaded: self.loaded.clone(),
        }
    }
}

/// A route in shadow lets everything through, whatever came of the question.
pub fn unless_shadow(route: &Route, decided: Result<Passed, Refused>) -> Result<Passed, Refused> {
    if !route.shadow {
        return decided;
    }
    Ok(match decided {
        // Clients that heed the headers would be held back by them.
        Ok(passed) => Passed {
            answered: None,
            ..passed
        },
        Err(Refused::Failure(failure)) => {
            console_error!("route {} in shadow: {failure:?}", route.name);
            Passed::default()
        }
        Err(Refused::Problem(..)) => Passed::default(),
    })
}
