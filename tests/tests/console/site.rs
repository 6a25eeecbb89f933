//! A deployment with the console, and the policies that it runs.

use std::time::Duration;

use anyhow::Result;
use reqwest::Method;
use reqwest::header::IF_MATCH;
use serde_json::{Map, Value, json};
use weir_shared::wire::access::{TokenReply, TokenRequest};
use weir_shared::wire::operator::Role;
use weir_tests::again::answered;
use weir_tests::client::Client;
use weir_tests::fixtures::{BUDGET, KEY_OF_ACME, LIMIT, gcra};
use weir_tests::witness::Witness;
use weir_tests::workerd::{REGIONS, Setup, TOKEN, Workerd};

const IN_FORCE_WITHIN: Duration = Duration::from_secs(30);

/// The tenants that a policy may name at most.
pub(crate) const MANY: usize = 10_000;

/// A running deployment.
pub(crate) struct Site {
    /// The server.
    workerd: Workerd,
    /// A client with the admin token.
    pub(crate) client: Client,
}

impl Site {
    /// Starts what is built, with a policy in force in each region.
    pub(crate) async fn start(document: &Value) -> Self {
        Self::of(Setup::region_by_header().with_console(), document).await
    }

    /// The same, with a witness before its objects.
    pub(crate) async fn witnessed(document: &Value) -> (Self, Witness) {
        let setup = Setup::region_by_header().with_console().witnessed();
        let site = Self::of(setup, document).await;
        let witness = site.workerd.witness().unwrap();
        (site, witness)
    }

    async fn of(setup: Setup, document: &Value) -> Self {
        let workerd = setup.start().await.expect("workerd starts");
        let client = workerd.client(0).unwrap();
        let site = Self { workerd, client };
        site.save(document).await;
        site
    }

    /// Saves a policy and waits until it is in force in each region.
    pub(crate) async fn save(&self, document: &Value) {
        // A busy machine may take longer for ten thousand tenants than a request is waited for.
        let saved = tried_again(async || self.client.save_policy(document).await).await;
        let revision = saved.revision().unwrap();
        for region in REGIONS {
            let client = self.client.in_region(region);
            tried_again(async || client.await_revision(revision, IN_FORCE_WITHIN).await).await;
        }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.workerd.port(0).unwrap())
    }

    /// A token of a role.
    pub(crate) async fn token(&self, name: &str, role: Role) -> TokenReply {
        let request = TokenRequest {
            name: name.to_owned(),
            role,
            tenant: None,
            prefix: None,
            expires_at: None,
        };
        self.client.make_token(&request).await.unwrap()
    }

    /// What a path tells the admin.
    pub(crate) async fn read(&self, path: &str) -> Value {
        answered(async || self.client.get(path).await)
            .await
            .ok()
            .unwrap()
    }

    /// Changes a tenant, as somebody else would.
    pub(crate) async fn patch(&self, tenant: &str, patch: &Value) {
        let path = tenant_path(tenant);
        let reply = answered(async || {
            let read = self.client.get(&path).await?;
            let Some(etag) = read.header("etag").map(str::to_owned) else {
                return Ok(read);
            };
            let request = self.client.request(Method::PATCH, &path);
            let request = request.header(IF_MATCH, etag).json(patch);
            self.client.send(request).await
        })
        .await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }

    /// No secret is in what the server wrote.
    pub(crate) fn assert_log_is_clean(&self) {
        assert!(
            !self.workerd.log().contains(TOKEN),
            "the token is in the log"
        );
    }
}

/// A policy with something of everything: nested tenants, an override, two budgets, limits, a meter, a guard.
pub(crate) fn everything() -> Value {
    json!({
        "enforcing": true,
        "regions": REGIONS,
        "home": "weur",
        "tiers": { "enterprise": { "weight": 4 }, "pro": { "weight": 2 }, "free": { "weight": 1 } },
        "tier_rules": [
            { "prefix": "enterprise:", "tier": "enterprise" },
            { "prefix": "pro:", "tier": "pro" },
            { "prefix": "free:", "tier": "free" }
        ],
        "default_tier": "free",
        "tenants": {
            "enterprise:acme": { "weight": 6, "overrides": [
                { "expires_at": 4_102_444_800_000_u64, "weight": 9, "meters": { "bytes": { "per_sec": 9_000 } } }
            ] },
            "enterprise:acme-labs": { "parent": "enterprise:acme", "weight": 2 },
            "enterprise:acme-shop": { "parent": "enterprise:acme", "weight": 1, "borrow_max": 20 },
            "pro:hooli": { "weight": 3 },
            "free:duff": {}
        },
        "budgets": {
            BUDGET: { "limit": 60, "window_ms": 5_000, "sharing": "weighted_fair_escrow", "scope": "global" },
            "images": { "limit": 40, "window_ms": 60_000, "sharing": "first_come", "scope": "global" }
        },
        "limits": {
            LIMIT: gcra(100, 60_000, 20),
            "login": { "all": [{ "name": "ip", "limit": LIMIT, "weight": 2 }, "resets"] },
            "resets": { "algorithm": "sliding_log", "limit": 5, "window_ms": 3_600_000, "scope": "region" }
        },
        "meters": { "bytes": { "per_sec": 2_000, "burst_seconds": 10, "max_debt_ms": 60_000, "billable": true } },
        "guards": { "queries": { "concurrency": 4, "per_minute": 120, "lease_ms": 30_000 } },
        "overload": { "origin": {} }
    })
}

/// The same with what the gateway and Envoy ask: a route with checks, an origin for all else, a descriptor, a key.
pub(crate) fn with_routes(mut document: Value) -> Value {
    document["routes"] = json!([{
        "name": "chat", "path": "/llm/*", "tenant": { "header": "x-tenant" },
        "checks": [{ "budget": BUDGET, "cost": 1 }, { "limit": LIMIT, "key": { "fixed": "all" } }],
        "origin": { "url": "https://models.example.com" }
    }]);
    document["unrouted"] = json!({ "forward": { "url": "https://www.example.com" } });
    document["descriptors"] = json!({ "edge": [
        { "entries": [{ "key": "path", "value": "/big" }, { "key": "tenant" }], "tenant_from": "tenant", "budget": BUDGET, "cost": 5 },
        { "entries": [{ "key": "tenant" }], "tenant_from": "tenant", "budget": BUDGET }
    ] });
    document["api_keys"] = json!({ KEY_OF_ACME: "enterprise:acme" });
    document
}

/// Who is one of many.
pub(crate) fn nth(index: usize) -> String {
    format!("pro:t{index:05}")
}

/// A policy with as many tenants as it may have.
pub(crate) fn many() -> Value {
    let mut document = everything();
    let tenants: Map<String, Value> = (0..MANY).map(|index| (nth(index), json!({}))).collect();
    document["tenants"] = Value::Object(tenants);
    document["budgets"][BUDGET]["limit"] = json!(20_000);
    document
}

/// Where a tenant is asked for.
pub(crate) fn tenant_path(tenant: &str) -> String {
    format!("/operator/v1/tenants/{}", tenant.replace(':', "%3A"))
}

/// What comes of an attempt, or of one of two more.
async fn tried_again<T>(mut attempt: impl AsyncFnMut() -> Result<T>) -> T {
    let mut outcome = attempt().await;
    for _ in 0..2 {
        if outcome.is_err() {
            outcome = attempt().await;
        }
    }
    outcome.expect("the policy is in force")
}
