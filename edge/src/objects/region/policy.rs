//! The region's policy: the last one seen is kept durably, so that isolates are served while the registry is out of
//! reach. It is pushed by the registry, and asked for every few seconds in case a push was lost.

use std::rc::Rc;

use weir_shared::limits::{OPERATOR_CALL_MS_MAX, POLICY_POLL_MS, REGISTRY_WAIT_MS_MAX};
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::region::SavedPolicy;
use weir_shared::wire::stored::Damaged;
use worker::console_error;

use super::{Core, Flight};
use crate::objects::binding::{Address, call};
use crate::objects::calls::{PushPolicy, ReadPolicy};
use crate::objects::deadline::within;
use crate::objects::registry::{read_policy, shipped};
use crate::objects::server::Refused;
use crate::objects::storage::{integer, number, report_damaged, text, wrong_type};

/// A policy in force, with the document to hand on.
#[derive(Clone)]
pub(super) struct Loaded {
    pub(super) saved: Rc<SavedPolicy>,
    pub(super) policy: Rc<Policy>,
}

impl Loaded {
    fn new(saved: SavedPolicy) -> Result<Self, Refused> {
        Ok(Self {
            policy: Rc::new(Policy::try_from(&saved.document)?),
            saved: Rc::new(saved),
        })
    }
}

impl Core {
    /// The policy to apply: the last one seen, else the registry's, else the one that was shipped.
    pub(super) async fn policy(self: &Rc<Self>, region: &str) -> Result<Loaded, Refused> {
        self.wake(region)?;
        if self.with(|machine, _| machine.policy.is_none())? {
            self.restore_policy()?;
        }
        if self.with(|machine, _| machine.policy.is_none())? {
            let landed = self.ask_registry()?;
            let _late = within(REGISTRY_WAIT_MS_MAX, landed).await;
        } else if self.with(|machine, now| now.since(machine.asked_at) >= POLICY_POLL_MS)? {
            // Nobody waits for this: the last policy seen applies meanwhile.
            let _landed = self.ask_registry()?;
        }
        match self.with(|machine, _| machine.policy.clone())? {
            Some(loaded) => Ok(loaded),
            None => Loaded::new(shipped()?),
        }
    }

    /// A push from the registry.
    pub(super) fn pushed(self: &Rc<Self>, call: PushPolicy) -> Result<Revision, Refused> {
        self.wake(&call.region)?;
        self.adopt(call.saved)?;
        self.with(|machine, _| {
            let loaded = machine.policy.as_ref();
            loaded.map_or(Revision(0), |loaded| loaded.saved.revision)
        })
    }

    /// Asks the registry in the background; the flight lands when it has answered or not.
    fn ask_registry(self: &Rc<Self>) -> Result<futures_channel::oneshot::Receiver<bool>, Refused> {
        let landing = self.join(Flight::Policy)?;
        let start = self.with(|machine, now| {
            // A flight that has not landed by now never will: what ran it was ended.
            let lost = now.since(machine.asked_at) > OPERATOR_CALL_MS_MAX;
            let alone = machine.flights.get(&Flight::Policy).map_or(0, Vec::len) == 1;
            if alone || lost {
                machine.asked_at = now;
            }
            alone || lost
        })?;
        if start {
            let core = Rc::clone(self);
            self.state.wait_until(async move {
                let well = core.fetch_policy().await;
                core.land(&Flight::Policy, well);
            });
        }
        Ok(landing)
    }

    async fn fetch_policy(self: &Rc<Self>) -> bool {
        let home = self.with(|machine, _| {
            let loaded = machine.policy.as_ref();
            loaded.map_or_else(|| machine.name.clone(), |loaded| loaded.policy.home.clone())
        });
        let Ok(home) = home else {
            return false;
        };
        let address = Address::registry(&home);
        match call(&self.env, address, &ReadPolicy {}, OPERATOR_CALL_MS_MAX).await {
            Ok(saved) => self.adopt(saved).is_ok(),
            Err(error) => {
                console_error!("registry: {error}");
                false
            }
        }
    }

    /// Takes a policy that is newer than the one in force: durable first, then in memory.
    fn adopt(&self, saved: SavedPolicy) -> Result<(), Refused> {
        let newer = self.with(|machine, _| {
            let loaded = machine.policy.as_ref();
            loaded.is_none_or(|loaded| loaded.saved.revision < saved.revision)
        })?;
        if !newer {
            return Ok(());
        }
        let loaded = Loaded::new(saved)?;
        let statement = "INSERT OR REPLACE INTO policy (id, revision, document) VALUES (1, ?, ?)";
        let document = serde_json::to_string(&loaded.saved.document)?;
        self.database.run(
            statement,
            vec![number(loaded.saved.revision.0), document.into()],
        )?;
        self.with(|machine, _| {
            machine.policy = Some(loaded);
            for escrow in machine.escrows.values_mut() {
                escrow.ask_again();
            }
        })
    }

    fn restore_policy(&self) -> Result<(), Refused> {
        let query = "SELECT revision, document FROM policy WHERE id = 1";
        let Some(row) = self.database.first(query, vec![])? else {
            return Ok(());
        };
        let revision = integer(row.first()).ok_or_else(|| wrong_type("revision"));
        let document = text(row.get(1)).ok_or_else(|| wrong_type("document"));
        let saved = revision.and_then(|revision| {
            let document = read_policy(document?)?;
            Ok::<_, Damaged>(SavedPolicy {
                revision: Revision(revision),
                document,
            })
        });
        match saved {
            Ok(saved) => {
                let loaded = Loaded::new(saved)?;
                self.with(|machine, _| {
                    machine.policy = Some(loaded);
                    machine.asked_at = EpochMs(0);
                })
            }
            Err(damaged) => {
                report_damaged("policy", &damaged);
                Ok(())
            }
        }
    }
}
