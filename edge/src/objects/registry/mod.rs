//! The registry: policies, tokens, the keys of what callers keep, and the audit log. A change and its record are one transaction; then regions are told
//! at once, and they also ask by themselves.

mod audit;
pub mod calls;
mod policy;
mod sessions;
mod tokens;

use std::cell::RefCell;
use std::collections::BTreeSet;

use futures_util::future::join_all;
use weir_shared::clock::MonotonicClock;
use weir_shared::invalid::Invalid;
use weir_shared::limits::REFRESH_MS_MAX;
use weir_shared::policy::per_revision::PerRevision;
use weir_shared::units::EpochMs;
use worker::{Date, DurableObject, Env, Request, Response, State, console_error, durable_object};

use super::binding::{Address, call};
use super::calls::{
    AppendAudit, CreateToken, DeleteTenant, EndSession, EndSessions, ExportAudit, ListTokens,
    PatchTenant, PushRules, ReadAudit, ReadPolicy, RevokeToken, Rules, SavePolicy, VerifyAudit,
};
use super::server::{Arrived, Refused};
use super::storage::Database;
use super::trace;
pub use policy::{read_handovers, read_placement, read_policy, shipped};
use tokens::BootstrapUses;

/// Who is named as the author of what nobody asked for.
const DEPLOYMENT: &str = "deployment";

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
    bootstrap: BootstrapUses,
    /// Whether the keys of what callers keep were seen to be whole.
    sealed: bool,
    /// The regions of the policy in force, under the highest revision that there is.
    regions: PerRevision<BTreeSet<String>>,
}

impl DurableObject for Registry {
    fn new(state: State, env: Env) -> Self {
        trace::learn(&env);
        let schema = [
            policy::SCHEMA,
            tokens::SCHEMA,
            sessions::SCHEMA,
            audit::SCHEMA,
        ]
        .concat();
        Self {
            database: Database::open(&state, &schema),
            env,
            memory: RefCell::default(),
        }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let arrived = Arrived::read(request).await?;
        if arrived.is::<ReadPolicy>() {
            return arrived.answer(arrived.parse().and_then(|call| self.read(&call)));
        }
        match self.change(&arrived).await {
            Some(answer) => answer,
            None => self.look(&arrived),
        }
    }
}

impl Registry {
    /// Calls that change something; `None` for any other.
    async fn change(&self, arrived: &Arrived) -> Option<worker::Result<Response>> {
        macro_rules! changes {
            ($($call:ty => $handler:ident;)*) => {
                $(if arrived.is::<$call>() {
                    let changed = match arrived.parse() {
                        Ok(call) => self.$handler(call).await,
                        Err(refused) => Err(refused),
                    };
                    return Some(arrived.answer(changed));
                })*
            };
        }
        changes! {
            SavePolicy => save;
            PatchTenant => patch_tenant;
            DeleteTenant => delete_tenant;
            CreateToken => create_token;
            RevokeToken => revoke_token;
            EndSession => end_session;
            EndSessions => end_sessions;
        }
        None
    }

    /// Calls that change nothing but the audit log.
    fn look(&self, arrived: &Arrived) -> worker::Result<Response> {
        macro_rules! looks {
            ($($call:ty => $handler:ident;)*) => {
                $(if arrived.is::<$call>() {
                    return arrived.answer(arrived.parse().and_then(|call: $call| self.$handler(call)));
                })*
            };
        }
        looks! {
            ListTokens => list_tokens;
            ReadAudit => read_audit;
            ExportAudit => export_audit;
            VerifyAudit => verify_audit;
            AppendAudit => append_audit;
        }
        arrived.unknown()
    }

    /// What is in force and newer than what the asker has. What cannot be read is left out: the asker goes on with the
    /// last that it saw.
    fn read(&self, call: &ReadPolicy) -> Result<Rules, Refused> {
        if let Err(refused) = self.note_uses(call) {
            console_error!("uses of tokens: {}", refused.0);
        }
        let policy = match self.policy_beyond(call.policy_revision) {
            Ok(policy) => policy,
            Err(refused) => {
                console_error!("policy: {}", refused.0);
                None
            }
        };
        let access = match self.access_beyond(call.access_revision) {
            Ok(access) => access,
            Err(refused) => {
                console_error!("tokens: {}", refused.0);
                None
            }
        };
        Ok(Rules { policy, access })
    }

    /// Tells regions what was changed. One that is not reached asks by itself.
    async fn push(&self, regions: BTreeSet<String>, rules: &Rules) {
        let told = regions.into_iter().map(async |region| {
            let push = PushRules {
                region,
                rules: rules.clone(),
                look: Vec::new(),
            };
            let address = Address::region(&push.region);
            if let Err(error) = call(&self.env, address, &push, REFRESH_MS_MAX).await {
                console_error!("region {} was not told: {error}", push.region);
            }
        });
        join_all(told).await;
    }

    /// One step in memory at the present time. Nothing in `step` may call back into this.
    fn with<R>(&self, step: impl FnOnce(&mut Memory, EpochMs) -> R) -> Result<R, Refused> {
        let mut memory = self.memory.try_borrow_mut()?;
        let now = memory.clock.read(EpochMs(Date::now().as_millis()));
        Ok(step(&mut memory, now))
    }

    fn now(&self) -> Result<EpochMs, Refused> {
        self.with(|_, now| now)
    }
}

/// A refusal as it travels: the pointer and the words.
fn parts(refused: Invalid) -> (String, String) {
    (refused.field, refused.fault.to_string())
}
