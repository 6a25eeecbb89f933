//! The gateway, end to end: workerd before a real server of this machine.

mod bad_input;
mod decision_ids;
mod denials;
mod failures;
mod fallback;
mod forwarding;
mod held;
mod long_streams;
mod media;
mod models;
mod near_misses;
mod operators;
mod overload;
mod patience;
mod provider_limits;
mod providers;
mod queues;
mod routing;
mod sdks;
mod settlement;
mod shadow;
mod slots;
mod spare_slots;
mod streaming;
mod tenants;
mod tokens;
mod unreachable;
mod usage;
mod websocket;

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy, with};
use weir_tests::origin::Origin;
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, Workerd};

/// Thirty days: the budget of the policies here ends in no test.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// How long what is on its way may take on a busy machine.
const SETTLING: Duration = Duration::from_secs(20);

/// What comes back of a decision that came too late comes back within this.
const UNDONE: Duration = Duration::from_millis(500);

/// What Weir says where a call between its objects was late.
const UNDECIDED: &str = "cannot be decided now";

/// A slot that nobody renews lapses after this. It is renewed every third of it, so a renewal may be four seconds late.
const LEASE_MS: u64 = 6_000;

/// Longer than a test: a slot that is free was given back.
const LONG_LEASE_MS: u64 = 60_000;

/// The header that names the tenant.
const TENANT: &str = "x-tenant";

/// What a provider knows the deployment by.
const SECRET: &str = "the-key-that-the-provider-gave-us";

/// A deployment with a gateway before an origin.
struct Gateway {
    workerd: Workerd,
    origin: Origin,
    /// Without a credential.
    client: Client,
}

impl Gateway {
    /// One route to the origin, for everything, with these checks; the tenant is in [`TENANT`].
    async fn start(checks: Value) -> Self {
        Self::with_policy(|document, origin| {
            with(document, "/routes", json!([route(origin, checks)]))
        })
        .await
    }

    /// A policy that is made of the common one and the origin's URL.
    async fn with_policy(change: impl FnOnce(Value, &str) -> Value) -> Self {
        Self::of(Setup::isolates(&["weur"]), change).await
    }

    async fn of(setup: Setup, change: impl FnOnce(Value, &str) -> Value) -> Self {
        let origin = Origin::start().await.expect("the origin starts");
        let workerd = setup.local_network().start().await.expect("workerd starts");
        let document = change(policy(1_000, LONG_MS), &origin.url());
        workerd.apply(&document).await.expect("the policy is saved");
        let client = workerd.client(0).unwrap().anonymous();
        Self {
            workerd,
            origin,
            client,
        }
    }

    /// A request of a tenant.
    fn request(&self, method: Method, path: &str, tenant: &str) -> RequestBuilder {
        self.client.request(method, path).header(TENANT, tenant)
    }

    async fn get(&self, path: &str, tenant: &str) -> Reply {
        self.send(self.request(Method::GET, path, tenant)).await
    }

    /// The answer, once it is decided: a request that is not decided reaches nobody, and what was charged for it comes back.
    async fn send(&self, request: RequestBuilder) -> Reply {
        let start = now();
        let mut next = Some(request);
        loop {
            let request = next.take().expect("a request");
            next = request.try_clone().filter(|_| start.elapsed() < SETTLING);
            let reply = self.send_once(request).await;
            let undecided = reply.status == 503 && reply.text().contains(UNDECIDED);
            if !undecided || next.is_none() {
                return reply;
            }
            tokio::time::sleep(UNDONE).await;
        }
    }

    /// The answer, decided or not.
    async fn send_once(&self, request: RequestBuilder) -> Reply {
        self.client.send(request).await.unwrap()
    }

    /// The beginning of an answer that an origin gives, once the request is decided.
    async fn begin(&self, request: RequestBuilder) -> Response {
        let start = now();
        loop {
            let request = request.try_clone().expect("a body that can be sent again");
            let reply = request.send().await.unwrap();
            if reply.status() != 503 || start.elapsed() > SETTLING {
                return reply;
            }
            tokio::time::sleep(UNDONE).await;
        }
    }

    /// What bytes are answered, once the request is decided.
    async fn send_raw(&self, request: &[u8]) -> String {
        let start = now();
        loop {
            let answer = self.client.send_raw(request).await.unwrap();
            if !answer.starts_with("HTTP/1.1 503") || start.elapsed() > SETTLING {
                return answer;
            }
            tokio::time::sleep(UNDONE).await;
        }
    }

    /// What is left of a budget, as the isolate knows it.
    async fn left(&self, budget: &str, tenant: &str) -> u64 {
        let client = self.workerd.client(0).unwrap();
        let checked = client.check_budget_once_there(tenant, budget, 0).await;
        checked.decision.remaining
    }

    /// Waits until so much is left of a budget.
    async fn await_left(&self, budget: &str, tenant: &str, expected: u64) {
        let client = self.workerd.client(0).unwrap();
        client.await_left(tenant, budget, expected).await;
    }
}

/// A request on a connection of its own, whose client may go away.
struct Asked(TcpStream);

impl Asked {
    /// Whether its answer has not come after so long.
    async fn waits_for(&mut self, time: Duration) -> bool {
        timeout(time, self.0.read_u8()).await.is_err()
    }

    /// Its client goes. Of a connection that is merely closed the server hears when it writes to it, of one that is reset at
    /// once; in production the platform's own proxies tell.
    fn goes(self) {
        self.0.set_zero_linger().unwrap();
    }
}

impl Gateway {
    /// Asks on a connection of its own.
    async fn asks(&self, path: &str, tenant: &str) -> Asked {
        let address = self.client.origin().trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{TENANT}: {tenant}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        Asked(stream)
    }
}

/// A route of everything to an origin.
fn route(origin: &str, checks: Value) -> Value {
    json!({
        "name": "all", "path": "/*", "tenant": { "header": TENANT }, "checks": checks,
        "origin": { "url": origin, "timeout_ms": 5_000 }
    })
}

/// One unit of the budget of the common policy.
fn one_token() -> Value {
    json!([{ "budget": BUDGET }])
}

/// Waits until something is so.
async fn eventually(what: &str, so: impl AsyncFn() -> bool) {
    let start = now();
    while !so().await {
        assert!(start.elapsed() < SETTLING, "{what} in {SETTLING:?}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}
