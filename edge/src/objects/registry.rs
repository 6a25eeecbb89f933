//! The registry: an object that runs a [`RegistryNode`] on its rows, and tells regions what changed.

mod rows;
mod shipped;
mod statements;

use std::cell::RefCell;

use futures_util::future::{join, join_all};
use weir_shared::clock::MonotonicClock;
use weir_shared::limits::REFRESH_MS_MAX;
use weir_shared::node::registry::{
    Effect, Entropy, Event, News, RegistryCall, RegistryNode, Reply, Report,
};
use weir_shared::units::EpochMs;
use worker::{Date, DurableObject, Env, Request, Response, State, console_error, durable_object};

use super::binding::{Address, call};
use super::calls::{
    AppendAudit, CreateToken, DeleteTenant, EndSession, EndSessions, ExportAudit, ListTokens,
    PatchTenant, PushRules, ReadAudit, ReadPolicy, RevokeToken, SavePolicy, TakeAccess,
    VerifyAudit,
};
use super::server::{Arrived, Refused};
use super::storage::{Database, report_damaged};
use super::trace;
use rows::RegistryRows;
pub use shipped::shipped;

/// The registry.
#[durable_object]
pub struct Registry {
    database: Database,
    env: Env,
    memory: RefCell<Memory>,
}

/// What the registry can forget.
#[derive(Default)]
struct Memory {
    clock: MonotonicClock,
    node: RegistryNode<()>,
}

impl DurableObject for Registry {
    fn new(state: State, env: Env) -> Self {
        trace::learn(&env);
        Self {
            database: Database::open(&state, rows::SCHEMA),
            env,
            memory: RefCell::default(),
        }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let arrived = Arrived::read(request).await?;
        match ask(&arrived) {
            Some(Ok(ask)) => arrived.answer(self.answered(ask).await),
            Some(Err(refused)) => arrived.answer::<Reply>(Err(refused)),
            None => arrived.unknown(),
        }
    }
}

impl Registry {
    /// Does what the node says, in its order: what it answers.
    async fn answered(&self, ask: RegistryCall) -> Result<Reply, Refused> {
        for effect in self.run(ask)? {
            match effect {
                Effect::Send(news) => self.tell(*news).await,
                Effect::Reply((), reply) => return Ok(*reply),
                Effect::Fail((), failure) => return Err(failure.into()),
                // Done already.
                Effect::Persist(_) | Effect::Report(_) => {}
            }
        }
        Err(Refused("a call has no answer".to_owned()))
    }

    /// Lets the node take a call, and writes rows until it needs none: what is left to do.
    fn run(&self, ask: RegistryCall) -> Result<Vec<Effect<()>>, Refused> {
        let entropy = Box::new(entropy()?);
        let rows = RegistryRows(&self.database);
        let mut memory = self.memory.try_borrow_mut()?;
        let now = memory.clock.read(EpochMs(Date::now().as_millis()));
        let mut left = Vec::new();
        let mut next = Some(Event::Asked {
            caller: (),
            ask,
            entropy,
        });
        while let Some(event) = next.take() {
            for effect in memory.node.step(event, &rows, now) {
                match effect {
                    Effect::Persist(puts) => {
                        let written = rows.write(puts);
                        next =
                            Some(written.map_or_else(Event::NotPersisted, |()| Event::Persisted));
                    }
                    Effect::Report(report) => log(&report),
                    effect => left.push(effect),
                }
            }
        }
        Ok(left)
    }

    /// Tells regions what was changed, and their ledgers of the tokens: those hold live sockets, which end with what let
    /// them in. One that is not reached asks by itself.
    async fn tell(&self, news: News) {
        let News { regions, rules } = news;
        let ledgers = rules.access.clone().map(|access| TakeAccess { access });
        let of_regions = regions.iter().map(async |region| {
            let push = PushRules {
                region: region.clone(),
                rules: rules.clone(),
                look: Vec::new(),
            };
            let address = Address::region(region);
            if let Err(error) = call(&self.env, address, &push, REFRESH_MS_MAX).await {
                console_error!("region {region} was not told: {error}");
            }
        });
        let of_ledgers = ledgers.iter().flat_map(|body| {
            regions.iter().map(async move |region| {
                let address = Address::ledger(region);
                if let Err(error) = call(&self.env, address, body, REFRESH_MS_MAX).await {
                    console_error!("the ledger of {region} was not told: {error}");
                }
            })
        });
        join(join_all(of_regions), join_all(of_ledgers)).await;
    }
}

/// What a call asks; `None` where it is none of the registry's.
fn ask(arrived: &Arrived) -> Option<Result<RegistryCall, Refused>> {
    macro_rules! asks {
        ($($call:ty => $ask:expr;)*) => {
            $(if arrived.is::<$call>() {
                return Some(arrived.parse::<$call>().map($ask));
            })*
        };
    }
    asks! {
        ReadPolicy => RegistryCall::Read;
        SavePolicy => |call| RegistryCall::Save(Box::new(call));
        PatchTenant => |call| RegistryCall::PatchTenant(Box::new(call));
        DeleteTenant => RegistryCall::DeleteTenant;
        CreateToken => RegistryCall::CreateToken;
        RevokeToken => RegistryCall::RevokeToken;
        EndSession => RegistryCall::EndSession;
        EndSessions => RegistryCall::EndSessions;
        ListTokens => RegistryCall::ListTokens;
        ReadAudit => RegistryCall::ReadAudit;
        ExportAudit => RegistryCall::ExportAudit;
        VerifyAudit => RegistryCall::VerifyAudit;
        AppendAudit => RegistryCall::AppendAudit;
    }
    None
}

fn log(report: &Report) {
    match report {
        Report::Damaged { table, damaged } => report_damaged(table, damaged),
        other => console_error!("{other}"),
    }
}

/// Bytes from the platform's source of randomness.
fn entropy() -> Result<Entropy, Refused> {
    Ok(Entropy {
        placement: random()?,
        token_key: random()?,
        seal_key: random()?,
        token_id: random()?,
        token_secret: random()?,
    })
}

fn random<const N: usize>() -> Result<[u8; N], Refused> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
