//! Who takes part: all of them run before the first turn.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::operator::Role;
use weir_tests::fixtures::{LIMIT, policy, with, without};
use weir_tests::load::Ask;
use weir_tests::paths;
use weir_tests::plain::Plain;
use weir_tests::process::ProcessTree;
use weir_tests::workerd::{Setup, Workerd};

use crate::scripts::{CALLS, CALLS_AN_ANSWER, CONSTANT, OBJECT, PARSES, caller, scripts};

/// Checks of a batch.
pub const BATCH: usize = 100;

/// What the others are compared with, by its place.
pub const BASE: usize = 1;

/// The single check that a batch is compared with, by its place.
pub const SINGLE: usize = 4;

/// The batch, by its place.
pub const BATCHED: usize = 9;

/// The calls that those of Weir are compared with, by their place.
pub const CALLED: usize = 3;

/// Those of Weir, by their place.
pub const CALLED_WEIR: usize = 11;

const TENANT: &str = "pro:acme";

/// The window of the budgets: steady state has no end of a window in it.
const DAY_MS: u64 = 24 * 3_600_000;

/// Everything that runs.
pub struct Field {
    pub contenders: Vec<Contender>,
    plain: Plain,
    weir: Workerd,
    previous: Option<Workerd>,
}

/// Which process answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Process {
    /// The Workers written by hand.
    Plain,
    Weir,
    /// A version of Weir before the one under test, where one is measured beside it.
    Previous,
}

/// One kind of request.
pub struct Contender {
    pub name: &'static str,
    /// What is asked, and what must be answered.
    pub ask: Ask,
    /// Decisions of one answer.
    pub decisions: usize,
    process: Process,
}

impl Field {
    pub fn start(runtime: &Runtime) -> Result<Self> {
        eprintln!("starting workerd");
        let weir = runtime.block_on(setup().start())?;
        let tokens = runtime.block_on(prepare(&weir))?;
        let admin = weir.client(0)?.with_token(&tokens.admin);
        let answer = runtime.block_on(admin.post("/v1/check", &spend("tokens")))?;
        ensure!(
            answer.header("ratelimit").is_some(),
            "headers are to be on: {answer:?}"
        );
        let plain = Plain::start(&scripts(&answer)?)?;
        let mut contenders = by_hand(&plain, &tokens)?;
        contenders.extend(of_weir(Process::Weir, &weir, &tokens)?);
        let previous =
            paths::previous_build().map(|build| runtime.block_on(setup().build(&build).start()));
        let previous = previous.transpose()?;
        if let Some(previous) = &previous {
            let tokens = runtime.block_on(prepare(previous))?;
            contenders.extend(of_weir(Process::Previous, previous, &tokens)?);
        }
        Ok(Self {
            contenders,
            plain,
            weir,
            previous,
        })
    }

    /// The places of the same request to Weir and to the version before.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let (weir, previous) = (self.of(Process::Weir), self.of(Process::Previous));
        weir.into_iter().zip(previous).collect()
    }

    /// The places in the order of a round: the version before has its turn beside its pair's.
    pub fn in_turn(&self) -> Vec<usize> {
        let mut places = self.of(Process::Plain);
        let mut previous = self.of(Process::Previous).into_iter();
        for place in self.of(Process::Weir) {
            places.push(place);
            places.extend(previous.next());
        }
        places
    }

    /// The contenders that the version before does not run.
    pub fn now(&self) -> usize {
        self.contenders.len() - self.of(Process::Previous).len()
    }

    fn of(&self, process: Process) -> Vec<usize> {
        let all = self.contenders.iter().enumerate();
        all.filter_map(|(place, one)| (one.process == process).then_some(place))
            .collect()
    }

    /// The process that a contender runs in.
    pub fn process(&self, contender: usize) -> Result<&ProcessTree> {
        match self.contenders[contender].process {
            Process::Plain => Ok(self.plain.process()),
            Process::Weir => self.weir.process(),
            Process::Previous => {
                let previous = self.previous.as_ref();
                previous.context("no version before runs")?.process()
            }
        }
    }

    /// Ends everything.
    pub fn stop(mut self) {
        self.weir.kill_hard();
        self.plain.kill_hard();
        if let Some(previous) = &mut self.previous {
            previous.kill_hard();
        }
    }
}

/// One isolate, and a Worker that calls it.
fn setup() -> Setup {
    Setup::isolates(&["weur"])
        .optimised()
        .probe(&caller("WEIR"))
}

/// The question that the Workers written by hand are asked is the one that Weir is asked.
fn held(port: u16, tokens: &Tokens) -> Ask {
    Ask::post(port, "/v1/check", &tokens.service, &spend("tokens"))
}

fn by_hand(plain: &Plain, tokens: &Tokens) -> Result<Vec<Contender>> {
    [
        ("JavaScript, constant answer, question unread", CONSTANT, 1),
        (
            "(a) JavaScript, question parsed, constant answer",
            PARSES,
            1,
        ),
        (
            "(b) JavaScript, an object's call and a row a check",
            OBJECT,
            1,
        ),
        (
            "(c) JavaScript, 20 calls of a method that answers a constant",
            CALLS,
            CALLS_AN_ANSWER,
        ),
    ]
    .map(|(name, script, decisions)| {
        Ok(Contender {
            name,
            ask: held(plain.port(script)?, tokens).admitted(1),
            decisions,
            process: Process::Plain,
        })
    })
    .into_iter()
    .collect()
}

fn of_weir(process: Process, weir: &Workerd, tokens: &Tokens) -> Result<Vec<Contender>> {
    let port = weir.port(0)?;
    let check = |token: &str, question: &Value| Ask::post(port, "/v1/check", token, question);
    let batch = json!({ "requests": vec![spend("tokens"); BATCH] });
    let batch = Ask::post(port, "/v1/check/batch", &tokens.service, &batch);
    let hot = json!({ "limit": LIMIT, "key": "203.0.113.7", "cost": 1 });
    let own = check(&tokens.tenant, &json!({ "budget": "tokens", "cost": 1 }));
    let rows = [
        (
            "Weir, budget held by the isolate, a service's token",
            held(port, tokens).admitted(1),
            1,
        ),
        (
            "the same, an admin's token",
            check(&tokens.admin, &spend("tokens")).admitted(1),
            1,
        ),
        ("the same, a tenant's token", own.admitted(1), 1),
        (
            "Weir, the same denied",
            check(&tokens.service, &spend("spent")).wants("\"allowed\":false", 1),
            1,
        ),
        (
            "Weir, regional `gcra` limit, one hot key",
            check(&tokens.service, &hot).admitted(1),
            1,
        ),
        (
            "Weir, batch of 100 checks of the held budget",
            batch.admitted(BATCH),
            BATCH,
        ),
        ("Weir, `GET /healthz`", Ask::get(port, "/healthz"), 1),
        (
            "Weir, 20 calls of `check` over a service binding",
            held(weir.probe_port()?, tokens).admitted(1),
            CALLS_AN_ANSWER,
        ),
    ];
    let contenders = rows.map(|(name, ask, decisions)| Contender {
        name,
        ask,
        decisions,
        process,
    });
    Ok(contenders.into())
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
    // No origin is asked, and a version before may not know what else the tests' policy says of origins.
    let document = without(policy(1, 60_000), "/allow_private_origins");
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
