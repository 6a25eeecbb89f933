//! `POST /v1/check` at an agent: the question and the answer of the Worker's route, for budgets.

use hyper::StatusCode;
use weir_shared::check::{Check, Item, Target};
use weir_shared::decision::id::Denial;
use weir_shared::invalid::{Fault, Invalid, read_json};
use weir_shared::wire::check::{CheckRequest, DecisionBody};
use weir_shared::wire::problem::Problem;
use weir_shared::wire::rule_kind::RuleKind;

use crate::agent::Agent;
use crate::charge::{Charge, ChargeOutcome, Undecided};

/// Where questions go that no agent decides.
const ELSEWHERE: &str = "send this question to the deployment's own address";

/// Why a question was not decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It is malformed, or names what no agent decides.
    Invalid(Invalid),
    /// The policy does not have what it names.
    Unknown {
        /// What.
        what: &'static str,
        /// Where, as a JSON pointer.
        field: String,
    },
    /// The agent knows no policy yet.
    NotReady,
}

/// Decides a question.
///
/// # Errors
/// Why it was not decided.
pub async fn check(agent: &Agent, body: &[u8]) -> Result<DecisionBody, Refused> {
    let question: CheckRequest = read_json(body).map_err(Refused::Invalid)?;
    let check = Check::try_from(question).map_err(Refused::Invalid)?;
    let charges = charges(&check).map_err(Refused::Invalid)?;
    let outcome = agent.decide(&charges).await;
    let outcome = outcome.map_err(|undecided| refused(undecided, &check))?;
    body_of(&charges, &outcome).ok_or(Refused::NotReady)
}

/// What a question charges.
///
/// # Errors
/// At what only a shard, or the region, decides.
fn charges(check: &Check) -> Result<Vec<Charge<'_>>, Invalid> {
    if check.reserve {
        return Err(foreign("/reserve"));
    }
    let tenant = check.tenant.as_deref().unwrap_or_default();
    let charges = check.items.iter().map(|item| match &item.target {
        Target::Budget(budget) => Ok(Charge {
            tenant,
            budget,
            cost: item.cost,
        }),
        _ => Err(foreign(&item.name_at())),
    });
    charges.collect()
}

fn foreign(field: &str) -> Invalid {
    let to = format!("an agent, which decides budgets alone: {ELSEWHERE}");
    Invalid::new(field, Fault::Foreign { to })
}

fn refused(undecided: Undecided, check: &Check) -> Refused {
    let at = |index: usize| {
        check
            .items
            .get(index)
            .map(Item::name_at)
            .unwrap_or_default()
    };
    match undecided {
        Undecided::NotReady => Refused::NotReady,
        Undecided::Gone => Refused::Unknown {
            what: "budget",
            field: at(0),
        },
        Undecided::Budget(index) => Refused::Unknown {
            what: "budget",
            field: at(index),
        },
        Undecided::Unleased(index) => Refused::Invalid(Invalid::new(
            at(index),
            Fault::Unserved {
                got: "a budget of scope isolate".to_owned(),
                served: "budgets of scope region or global, which agents lease",
            },
        )),
        Undecided::Tenant(_) => Refused::Unknown {
            what: "tenant",
            field: "/tenant".to_owned(),
        },
    }
}

/// What the Worker would answer; `None` if nothing was decided.
fn body_of(charges: &[Charge<'_>], outcome: &ChargeOutcome) -> Option<DecisionBody> {
    let charge = charges.get(outcome.binding)?;
    let decided = (*outcome.decided.get(outcome.binding)?)?;
    let decision = decided.decision;
    let allowed = outcome.admitted;
    let denial = || {
        let denial = Denial {
            at: outcome.at,
            tenant: charge.tenant,
            region: &outcome.region,
            reason: decision.reason,
            kind: RuleKind::Budget,
            rule: charge.budget,
        };
        denial.to_string()
    };
    Some(DecisionBody {
        allowed,
        limit: decision.limit,
        remaining: decision.remaining,
        reset_at: decision.reset_at.0,
        retry_after_ms: match allowed {
            true => Some(0),
            false => decision.retry.after_ms(),
        },
        binding: charge.budget.to_owned(),
        reason: decision.reason,
        region: outcome.region.clone(),
        window: decided.window.map(|label| label.0),
        policy_revision: outcome.revision.0,
        decision: (!allowed).then(denial),
        reservation: None,
        slot: None,
        expires_at: None,
    })
}

impl Refused {
    /// The status and the problem that is answered.
    #[must_use]
    pub fn problem(&self) -> (StatusCode, Problem) {
        let (status, kind, title) = match self {
            Self::Invalid(_) => (400, "invalid", "The request is not valid"),
            Self::Unknown { .. } => (404, "not-found", "There is nothing by that name"),
            Self::NotReady => (503, "unavailable", "The agent is not ready"),
        };
        let (detail, field) = match self {
            Self::Invalid(refused) => (refused.to_string(), Some(refused.field.clone())),
            Self::Unknown { what, field } => (format!("No such {what}."), Some(field.clone())),
            Self::NotReady => (
                "It has not heard from the deployment yet: its log says why.".to_owned(),
                None,
            ),
        };
        problem(status, kind, title, (detail, field))
    }
}

/// A problem of the Worker's form, with its status.
#[must_use]
pub fn problem(
    status: u16,
    kind: &str,
    title: &str,
    (detail, field): (String, Option<String>),
) -> (StatusCode, Problem) {
    let problem = Problem {
        kind: format!("/problems/{kind}"),
        title: title.to_owned(),
        status,
        detail,
        field,
        retry_after_ms: None,
        decision: None,
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_agent_decides_is_refused_at_its_place_with_where_to_send_it() {
        let refusal = |question: &str| {
            let question: CheckRequest = read_json(question.as_bytes()).unwrap();
            let check = Check::try_from(question).unwrap();
            charges(&check).unwrap_err().to_string()
        };
        let elsewhere = "does not belong to an agent, which decides budgets alone: send this question to the deployment's own address";
        for (question, field) in [
            (r#"{"limit":"per_ip","key":"k"}"#, "/limit"),
            (r#"{"tenant":"acme","meter":"tokens"}"#, "/meter"),
            (
                r#"{"tenant":"acme","budget":"tokens","reserve":true}"#,
                "/reserve",
            ),
        ] {
            assert_eq!(refusal(question), format!("{field}: {elsewhere}"));
        }
    }
}
