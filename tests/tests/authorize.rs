//! Proxies that ask Weir about requests, by hand and by the programs that people run.

mod asking;
mod describing;
mod proxies;
mod settling;
mod telling;

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{policy, token_request, with};
use weir_tests::reply::Reply;
use weir_tests::workerd::{Setup, Workerd};

const AUTHORIZE: &str = "/v1/authorize";

/// By when holders find each other, on a machine that may be slow.
const THERE: Duration = Duration::from_secs(30);

/// What comes back of a decision that came too late comes back within this.
const UNDONE: Duration = Duration::from_millis(500);

/// Thirty days: the budget ends in no test.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// The header that names the tenant.
const TENANT: &str = "x-tenant";

/// A deployment, and a proxy with a token of the role `service`.
struct Door {
    workerd: Workerd,
    admin: Client,
    proxy: Client,
    token: String,
}

impl Door {
    /// With these routes.
    async fn with_routes(routes: Value) -> Self {
        Self::with_policy(|document| with(document, "/routes", routes)).await
    }

    /// With a policy that is made of the common one.
    async fn with_policy(change: impl FnOnce(Value) -> Value) -> Self {
        Self::of(Setup::isolates(&["weur"]), change).await
    }

    /// With a guard of one slot for everything.
    async fn guarded(setup: Setup) -> Self {
        Self::of(setup, |document| {
            let guard = json!({ "concurrency": 1, "per_minute": "unlimited", "lease_ms": 60_000 });
            let document = with(document, "/guards", json!({ "calls": guard }));
            let checks = json!([{ "guard": "calls" }]);
            with(document, "/routes", json!([route("all", "/*", checks)]))
        })
        .await
    }

    async fn of(setup: Setup, change: impl FnOnce(Value) -> Value) -> Self {
        let workerd = setup.start().await.expect("workerd starts");
        let document = change(policy(1_000, LONG_MS));
        workerd.apply(&document).await.expect("the policy is saved");
        let admin = workerd.client(0).unwrap();
        let token = employ(&admin, &token_request("proxy", Role::Service)).await;
        Self {
            proxy: admin.with_token(&token),
            token,
            workerd,
            admin,
        }
    }

    /// Asks about a request of a tenant.
    fn about(&self, method: &str, uri: &str, tenant: &str) -> RequestBuilder {
        self.with_query("", method, uri, tenant)
    }

    /// The same with a query of the proxy's own.
    fn with_query(&self, query: &str, method: &str, uri: &str, tenant: &str) -> RequestBuilder {
        let asked = self
            .proxy
            .request(Method::GET, &format!("{AUTHORIZE}{query}"));
        let asked = asked.header("x-forwarded-method", method);
        asked.header("x-forwarded-uri", uri).header(TENANT, tenant)
    }

    /// The answer, once it is decided. What was charged for an answer that came too late comes back.
    async fn send(&self, request: RequestBuilder) -> Reply {
        let start = now();
        loop {
            let request = request.try_clone().expect("a body that can be sent again");
            let reply = self.send_once(request).await;
            let late = reply.status == 503 || reply.header("weir-deny-status") == Some("503");
            if !late || start.elapsed() > THERE {
                return reply;
            }
            tokio::time::sleep(UNDONE).await;
        }
    }

    /// The answer, decided or not.
    async fn send_once(&self, request: RequestBuilder) -> Reply {
        self.proxy.send(request).await.unwrap()
    }

    /// What is answered to who settles or releases, once the holders answer: it can be repeated.
    async fn settle(&self, path: &str, body: &Value) -> Reply {
        self.send(self.proxy.request(Method::POST, path).json(body))
            .await
    }

    async fn ask(&self, uri: &str, tenant: &str) -> Reply {
        self.send(self.about("GET", uri, tenant)).await
    }

    /// What is left of the common budget.
    async fn left(&self, tenant: &str) -> u64 {
        let checked = self
            .admin
            .check_budget_once_there(tenant, "tokens", 0)
            .await;
        checked.decision.remaining
    }
}

/// Makes a token, which the isolate knows then.
async fn employ(admin: &Client, token: &TokenRequest) -> String {
    let made = admin.make_token(token).await.unwrap();
    let (client, start) = (admin.with_token(&made.token), now());
    loop {
        let status = client.get("/operator/v1/policy").await.unwrap().status;
        if ![401, 503].contains(&status) {
            return made.token;
        }
        assert!(start.elapsed() < THERE, "a new token: {status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A route with these checks; the tenant is in [`TENANT`].
fn route(name: &str, path: &str, checks: Value) -> Value {
    json!({
        "name": name, "path": path, "tenant": { "header": TENANT }, "checks": checks,
        "origin": { "url": "https://application.example.com" }
    })
}

/// One unit of the budget of the common policy.
fn one_token() -> Value {
    json!([{ "budget": "tokens" }])
}
