//! What an agent tells of itself: its health, and its figures for Prometheus.

use std::fmt::Write;

use hyper::StatusCode;
use serde::Serialize;

use crate::agent::Agent;
use crate::state::{Link, State};

/// What `GET /healthz` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// `ok`, or `starting` before the first policy: until then nothing is decided.
    pub status: &'static str,
    /// How the deployment answered last: `new`, `up`, `refused` (the token), `lost`.
    pub deployment: &'static str,
    /// Milliseconds since it answered as it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard_ms_ago: Option<u64>,
    /// The region that lends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The policy that is applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_revision: Option<u64>,
}

impl Link {
    /// Its name, in health and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Up => "up",
            Self::Refused => "refused",
            Self::Lost => "lost",
        }
    }
}

/// How the agent is: 503 until it decides. An agent that is cut off decides on, as its budgets say, so it is not to be
/// started again.
pub fn health(agent: &Agent) -> (StatusCode, Health) {
    let now = agent.now();
    agent.with(|state| {
        let ready = state.place().is_some();
        let told = Health {
            status: if ready { "ok" } else { "starting" },
            deployment: state.link().name(),
            heard_ms_ago: state.heard_at().map(|at| now.since(at)),
            region: state.region().map(str::to_owned),
            policy_revision: state.loaded.as_ref().map(|loaded| loaded.revision.0),
        };
        let status = match ready {
            true => StatusCode::OK,
            false => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, told)
    })
}

/// The figures, in Prometheus' text format. Names of budgets and reasons need no escape.
pub fn metrics(agent: &Agent) -> String {
    let now = agent.now();
    agent.with(|state| {
        let mut text = String::new();
        decisions(&mut text, state);
        let up = u64::from(state.link() == Link::Up);
        let revision = state.loaded.as_ref().map_or(0, |loaded| loaded.revision.0);
        let silent_s = state.heard_at().map_or(0, |at| now.since(at) / 1_000);
        let gauges = [
            (
                "weir_agent_deployment_up",
                "Whether the last contact was answered: 0 while the deployment is out of reach or refuses the token.",
                up,
            ),
            (
                "weir_agent_deployment_silent_seconds",
                "Seconds since the last contact that was answered.",
                silent_s,
            ),
            (
                "weir_agent_policy_revision",
                "The policy revision that is applied; 0 for none.",
                revision,
            ),
        ];
        for (name, help, value) in gauges {
            head(&mut text, name, help, "gauge");
            sample(&mut text, name, "", value);
        }
        contacts(&mut text, state);
        held(&mut text, state, now);
        text
    })
}

fn decisions(text: &mut String, state: &State) {
    let name = "weir_agent_decisions_total";
    head(text, name, "Decisions, by budget and reason.", "counter");
    for ((budget, reason), count) in &state.tallies.decisions {
        let labels = format!("{{budget=\"{budget}\",reason=\"{reason}\"}}");
        sample(text, name, &labels, *count);
    }
    let name = "weir_agent_undescribed_total";
    let help = "Descriptors for which the policy has no rule: nothing limits them.";
    head(text, name, help, "counter");
    sample(text, name, "", state.tallies.undescribed);
}

fn contacts(text: &mut String, state: &State) {
    let name = "weir_agent_contacts_total";
    head(
        text,
        name,
        "Contacts with the deployment, by what came of them.",
        "counter",
    );
    let outcomes = ["answered", "refused", "lost"];
    for (outcome, count) in outcomes.iter().zip(state.tallies.contacts) {
        sample(text, name, &format!("{{outcome=\"{outcome}\"}}"), count);
    }
    let name = "weir_agent_frames_lost_total";
    let help = "Messages of counters that were given up, as an earlier life of the region may have counted them.";
    head(text, name, help, "counter");
    sample(text, name, "", state.tallies.frames_lost);
}

fn held(text: &mut String, state: &mut State, now: weir_shared::units::EpochMs) {
    let name = "weir_agent_held_units";
    let help = "Units of open windows that are held and not spent, by budget.";
    head(text, name, help, "gauge");
    for (budget, holder) in state.leases.holders() {
        let units = holder.open_lease(now).map_or(0, |lease| lease.balance());
        sample(text, name, &format!("{{budget=\"{budget}\"}}"), units);
    }
}

// Writing to a text never fails.
fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ok = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn sample(text: &mut String, name: &str, labels: &str, value: u64) {
    let _ok = writeln!(text, "{name}{labels} {value}");
}
