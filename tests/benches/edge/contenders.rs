//! Who takes part: all of them run before the first turn.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::operator::Role;
use weir_tests::fixtures::{LIMIT, policy, with};
use weir_tests::load::Ask;
use weir_tests::plain::Plain;
use weir_tests::process::ProcessTree;
use weir_tests::workerd::{Setup, Workerd};

use crate::scripts::{CONSTANT, OBJECT, PARSES, scripts};

/// Checks of a batch.
pub const BATCH: usize = 100;

/// What the others are compared with, by its place.
pub const BASE: usize = 1;

/// The single check that a batch is compared with, by its place.
pub const SINGLE: usize = 2;

/// The batch, by its place.
pub const BATCHED: usize = 7;

const TENANT: &str = "pro:acme";

/// The window of the budgets: steady state has no end of a window in it.
const DAY_MS: u64 = 24 * 3_600_000;

/// Everything that runs.
pub struct Field {
    pub contenders: Vec<Contender>,
    plain: Plain,
    weir: Workerd,
}

/// One kind of request.
pub struct Contender {
    pub name: &'static str,
    /// What is asked, and what must be answered.
    pub ask: Ask,
    /// Decisions of one answer.
    pub decisions: usize,
    is_weir: bool,
}

impl Field {
    pub fn start(runtime: &Runtime) -> Result<Self> {
        eprintln!("starting workerd");
        let weir = runtime.block_on(Setup::isolates(&["weur"]).optimised().start())?;
        let tokens = runtime.block_on(prepare(&weir))?;
        let port = weir.port(0)?;
        let admin = weir.client(0)?.with_token(&tokens.admin);
        let answer = runtime.block_on(admin.post("/v1/check", &spend("tokens")))?;
        ensure!(
            answer.header("ratelimit").is_some(),
            "headers are to be on: {answer:?}"
        );
        let plain = Plain::start(&scripts(&answer)?)?;

        let check = |token: &str, question: &Value| Ask::post(port, "/v1/check", token, question);
        let held = check(&tokens.service, &spend("tokens"));
        let batch = json!({ "requests": vec![spend("tokens"); BATCH] });
        let batch = Ask::post(port, "/v1/check/batch", &tokens.service, &batch);
        let hot = json!({ "limit": LIMIT, "key": "203.0.113.7", "cost": 1 });
        let own = check(&tokens.tenant, &json!({ "budget": "tokens", "cost": 1 }));
        let js = |name: &str| Ok::<_, anyhow::Error>(held.to(plain.port(name)?).admitted(1));
        let rows = [
            (
                "JavaScript, constant answer, question unread",
                js(CONSTANT)?,
                1,
                false,
            ),
            (
                "(a) JavaScript, question parsed, constant answer",
                js(PARSES)?,
                1,
                false,
            ),
            (
                "Weir, budget held by the isolate, a service's token",
                held.clone().admitted(1),
                1,
                true,
            ),
            (
                "the same, an admin's token",
                check(&tokens.admin, &spend("tokens")).admitted(1),
                1,
                true,
            ),
            ("the same, a tenant's token", own.admitted(1), 1, true),
            (
                "Weir, the same denied",
                check(&tokens.service, &spend("spent")).wants("\"allowed\":false", 1),
                1,
                true,
            ),
            (
                "Weir, regional `gcra` limit, one hot key",
                check(&tokens.service, &hot).admitted(1),
                1,
                true,
            ),
            (
                "Weir, batch of 100 checks of the held budget",
                batch.admitted(BATCH),
                BATCH,
                true,
            ),
            (
                "(b) JavaScript, an object's call and a row a check",
                js(OBJECT)?,
                1,
                false,
            ),
            ("Weir, `GET /healthz`", Ask::get(port, "/healthz"), 1, true),
        ];
        let contenders = rows.map(|(name, ask, decisions, is_weir)| Contender {
            name,
            ask,
            decisions,
            is_weir,
        });
        let contenders = contenders.into();
        Ok(Self {
            contenders,
            plain,
            weir,
        })
    }

    /// The process that a contender runs in.
    pub fn process(&self, contender: usize) -> Result<&ProcessTree> {
        if self.contenders[contender].is_weir {
            self.weir.process()
        } else {
            Ok(self.plain.process())
        }
    }

    /// Ends everything.
    pub fn stop(mut self) {
        self.weir.kill_hard();
        self.plain.kill_hard();
    }
}

fn spend(budget: &str) -> Value {
    json!({ "tenant": TENANT, "budget": budget, "cost": 1 })
}

/// Tokens by the role of their owner.
struct Tokens {
    admin: String,
    service: String,
    tenant: String,
}

/// Saves a policy that runs short of nothing but of the budget that is to deny, and makes a token of each kind.
async fn prepare(weir: &Workerd) -> Result<Tokens> {
    let budget = |limit: u64, window_ms: u64| {
        json!({ "limit": limit, "window_ms": window_ms, "sharing": "weighted_fair_escrow", "scope": "global",
                "reserve": "paced" })
    };
    let document = policy(1, 60_000);
    let document = with(
        document,
        "/budgets",
        json!({
            "tokens": budget(10_000_000_000_000, DAY_MS),
            "spent": budget(1, DAY_MS),
        }),
    );
    let limit = json!({ "algorithm": "gcra", "limit": 1_000_000_000, "period_ms": 60_000, "burst": 10_000_000,
                        "scope": "region", "per_tenant": false });
    weir.apply(&with(document, "/limits", json!({ LIMIT: limit })))
        .await?;
    let bootstrap = weir.client(0)?;
    let token = async |role: Role, tenant: Option<&str>| {
        let request = TokenRequest {
            name: role.name().to_owned(),
            role,
            tenant: tenant.map(str::to_owned),
            prefix: None,
            expires_at: None,
        };
        Ok::<_, anyhow::Error>(bootstrap.make_token(&request).await?.token)
    };
    let (service, tenant) = (
        token(Role::Service, None).await?,
        token(Role::Tenant, Some(TENANT)).await?,
    );
    let admin = token(Role::Admin, None).await?;
    let client = weir.client(0)?.with_token(&service);
    let denied = client.decide(&spend("spent")).await?;
    ensure!(
        denied.decision.allowed,
        "the only unit is there: {denied:?}"
    );
    Ok(Tokens {
        admin,
        service,
        tenant,
    })
}
