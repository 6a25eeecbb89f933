//! The program `weir-agent` beside a proxy, at the real Worker.

mod books;
mod deaths;
mod deciding;
mod envoy;
mod fleet;
mod forged;
mod outage;
mod revoked;

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::role::Role;
use weir_tests::beside::AgentProcess;
use weir_tests::client::Client;
use weir_tests::clock;
use weir_tests::fixtures::{policy, token_request, with};
use weir_tests::workerd::{Setup, Workerd};

/// Thirty days: no window ends while a test runs.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// How long what is on its way between objects may take on a busy machine.
const SETTLING: Duration = Duration::from_secs(20);

const CONTACT: &str = "/v1/agent/contact";

/// A deployment, and what opens it.
struct Deployed {
    workerd: Workerd,
    admin: Client,
    /// A token of the role `agent`, and its id.
    token: String,
    id: String,
}

impl Deployed {
    /// With a policy made of the common one.
    async fn with(change: impl FnOnce(Value) -> Value) -> Self {
        Self::of(Setup::isolates(&["weur"]), change).await
    }

    async fn of(setup: Setup, change: impl FnOnce(Value) -> Value) -> Self {
        let workerd = setup.start().await.expect("workerd starts");
        let document = change(policy(1_000, LONG_MS));
        workerd.apply(&document).await.expect("the policy is saved");
        let admin = workerd.client(0).unwrap();
        let request = token_request("agent", Role::Agent);
        let made = admin.make_token(&request).await.expect("a token");
        Self {
            workerd,
            admin,
            token: made.token,
            id: made.view.id,
        }
    }

    /// An agent in `weur`.
    async fn agent(&self) -> AgentProcess {
        self.agent_at(self.admin.origin()).await
    }

    /// One that reaches the deployment there.
    async fn agent_at(&self, origin: &str) -> AgentProcess {
        let agent = AgentProcess::start(origin, &self.token, Some("weur")).await;
        agent.expect("the agent starts")
    }
}

/// A budget of the whole deployment that tenants share by weight.
fn shared(limit: u64, window_ms: u64) -> Value {
    json!({
        "limit": limit, "window_ms": window_ms, "sharing": "weighted_fair_escrow", "scope": "global",
        "reserve": "paced",
    })
}

/// The table that charges the tenant of a header to the common budget.
fn described(document: Value) -> Value {
    let rule =
        json!({ "entries": [{ "key": "tenant" }], "tenant_from": "tenant", "budget": "tokens" });
    with(document, "/descriptors", json!({ "edge": [rule] }))
}

/// Waits until something is so.
async fn eventually(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let begin = clock::now();
    while !so().await {
        assert!(begin.elapsed() < SETTLING, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
