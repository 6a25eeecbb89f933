//! The region's policy and tokens: the last ones seen are kept durably, so that isolates are served while the registry
//! is out of reach. They are pushed by the registry, and asked for every few seconds in case a push was lost. Whatever
//! arrives, and in whatever order, the newest revision stays.

use std::rc::Rc;

use futures_channel::oneshot;
use weir_shared::access::refresh::{Known, Look};
use weir_shared::access::wanted::seal_of;
use weir_shared::federation::handover::Handover;
use weir_shared::limits::{OPERATOR_CALL_MS_MAX, TOKENS_MAX};
use weir_shared::policy::Policy;
use weir_shared::policy::handover::Handovers;
use weir_shared::policy::stored::{read_handovers, read_placement, read_policy};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::saved_policy::SavedPolicy;
use weir_shared::wire::stored::Damaged;
use worker::console_error;

use super::{Core, Machine};
use crate::objects::binding::{Address, call};
use crate::objects::calls::{PushRules, Pushed, ReadPolicy, Rules};
use crate::objects::deadline::within;
use crate::objects::registry::shipped;
use crate::objects::server::Refused;
use crate::objects::storage::{integer, number, report_damaged, text, wrong_type};

/// A policy in force, with the document to hand on.
#[derive(Clone)]
pub(super) struct Loaded {
    pub(super) saved: Rc<SavedPolicy>,
    pub(super) policy: Rc<Policy>,
}

impl Loaded {
    /// What the region's own share of a pool is held to, while shares change.
    pub(super) fn handover(&self, pool: &str, region: &str) -> Option<Handover> {
        let body = self.saved.handovers.get(pool)?;
        Some(Handover::of(body, region))
    }

    fn new(saved: SavedPolicy) -> Result<Self, Refused> {
        Ok(Self {
            policy: Rc::new(Policy::try_from(&saved.document)?),
            saved: Rc::new(saved),
        })
    }
}

impl Machine {
    /// What to do for someone who, with `wanted`, has seen a token that may not be in the table.
    fn look(&mut self, wanted: Option<&str>, now: EpochMs) -> Look {
        let has = |wanted: &str| {
            self.access
                .as_ref()
                .is_some_and(|access| match seal_of(wanted) {
                    Some(version) => access.seals.iter().any(|row| row.version >= version),
                    None => access.tokens.iter().any(|row| row.id == wanted),
                })
        };
        let known = Known {
            all: self.policy.is_some() && self.access.is_some(),
            under_way: !self.asking.is_empty(),
            token_missing: wanted.is_some_and(|id| !has(id)),
        };
        self.refresh.look(known, now)
    }
}

impl Core {
    /// The terms of a pool in this region; `None` where the policy does not have it.
    pub(super) fn terms_of(&self, pool: &str, loaded: &Loaded) -> Result<Option<Terms>, Refused> {
        let revision = loaded.saved.revision;
        self.with(|machine, now| loaded.policy.terms(pool, &machine.name, revision, now))
    }

    /// The policy to apply: the last one seen, else the registry's, else the one that was shipped.
    pub(super) async fn policy(
        self: &Rc<Self>,
        region: &str,
        wanted: Option<&str>,
    ) -> Result<Loaded, Refused> {
        self.wake(region)?;
        if self.with(|machine, _| machine.policy.is_none())? {
            self.restore_policy()?;
        }
        if self.with(|machine, _| machine.access.is_none())? {
            self.restore_access()?;
        }
        match self.with(|machine, now| machine.look(wanted, now))? {
            Look::Rest => {}
            // Nobody waits for this.
            Look::Ask => drop(self.ask_registry()?),
            Look::Wait(ms) => {
                let answered = self.ask_registry()?;
                let _late = within(ms, answered).await;
            }
        }
        match self.with(|machine, _| machine.policy.clone())? {
            Some(loaded) => Ok(loaded),
            None => Loaded::new(shipped()?),
        }
    }

    /// A push from the registry.
    pub(super) fn pushed(self: &Rc<Self>, call: PushRules) -> Result<Pushed, Refused> {
        self.wake(&call.region)?;
        // Only what is newer than the rows may replace them.
        if self.with(|machine, _| machine.policy.is_none())? {
            self.restore_policy()?;
        }
        if self.with(|machine, _| machine.access.is_none())? {
            self.restore_access()?;
        }
        self.adopt(call.rules)?;
        let holdings = (!call.look.is_empty()).then(|| self.holdings(&call.look));
        let holdings = holdings.transpose()?;
        self.with(|machine, _| Pushed {
            policy: machine.policy_revision(),
            access: machine.access_revision(),
            holdings,
        })
    }

    /// Asks the registry in the background. All who wait for it are told whether it answered.
    fn ask_registry(self: &Rc<Self>) -> Result<oneshot::Receiver<bool>, Refused> {
        let (sender, answered) = oneshot::channel();
        let start = self.with(|machine, now| {
            machine.asking.push(sender);
            // A question that has no answer by now never will have one: what ran it was ended.
            let lost = machine.refresh.asked_ms_ago(now) > OPERATOR_CALL_MS_MAX;
            let alone = machine.asking.len() == 1;
            if alone || lost {
                machine.refresh.asked(now);
            }
            alone || lost
        })?;
        if start {
            let core = Rc::clone(self);
            self.state.wait_until(async move {
                let well = core.fetch_rules().await;
                let waiting = core.with(|machine, _| std::mem::take(&mut machine.asking));
                for sender in waiting.unwrap_or_default() {
                    // A receiver that is gone has stopped waiting.
                    let _gone = sender.send(well);
                }
            });
        }
        Ok(answered)
    }

    async fn fetch_rules(self: &Rc<Self>) -> bool {
        let asked = self.with(|machine, now| {
            let loaded = machine.policy.as_ref();
            let home =
                loaded.map_or_else(|| machine.name.clone(), |loaded| loaded.policy.home.clone());
            let ask = ReadPolicy {
                policy_revision: machine.policy_revision(),
                access_revision: machine.access_told(),
                region: machine.name.clone(),
                tokens_used: machine.uses.take(TOKENS_MAX + 1, now),
            };
            (home, ask)
        });
        let Ok((home, ask)) = asked else {
            return false;
        };
        let address = Address::registry(&home);
        match call(&self.env, address, &ask, OPERATOR_CALL_MS_MAX).await {
            Ok(rules) => match self.adopt(rules) {
                Ok(()) => true,
                Err(refused) => {
                    console_error!("what the registry told: {}", refused.0);
                    false
                }
            },
            Err(error) => {
                console_error!("registry: {error}");
                let _kept = self.with(|machine, _| machine.uses.put_back(&ask.tokens_used));
                false
            }
        }
    }

    /// Takes what is newer than what is in force. What cannot be taken keeps nothing else back.
    fn adopt(&self, rules: Rules) -> Result<(), Refused> {
        let access = rules
            .access
            .map_or(Ok(()), |saved| self.adopt_access(saved));
        let policy = rules
            .policy
            .map_or(Ok(()), |saved| self.adopt_policy(saved));
        access.and(policy)
    }

    /// Takes a policy that is newer than the one in force: durable first, then in memory.
    fn adopt_policy(&self, saved: SavedPolicy) -> Result<(), Refused> {
        if self.with(|machine, _| machine.policy_revision() >= saved.revision)? {
            return Ok(());
        }
        let known = self.with(|machine, _| machine.policy.as_ref()?.saved.placement)?;
        // Keys stay where they are, also when the registry cannot read its secret any more.
        let placement = known.or(saved.placement);
        let loaded = Loaded::new(SavedPolicy { placement, ..saved })?;
        if let Some(secret) = placement.filter(|_| known.is_none()) {
            let statement = "INSERT OR REPLACE INTO placement (id, secret) VALUES (1, ?)";
            let values = vec![String::from(secret).into()];
            self.database.run(statement, values)?;
        }
        let statement = "INSERT OR REPLACE INTO policy (id, revision, document) VALUES (1, ?, ?)";
        let document = serde_json::to_string(&loaded.saved.document)?;
        self.database.run(
            statement,
            vec![number(loaded.saved.revision.0), document.into()],
        )?;
        let statement = "INSERT OR REPLACE INTO handovers (id, revision, body) VALUES (1, ?, ?)";
        let body = serde_json::to_string(&loaded.saved.handovers)?;
        let values = vec![number(loaded.saved.revision.0), body.into()];
        self.database.run(statement, values)?;
        self.with(|machine, _| {
            machine.policy = Some(loaded);
            for node in machine.escrows.values_mut() {
                node.escrow_mut().ask_again();
            }
        })
    }

    fn restore_policy(&self) -> Result<(), Refused> {
        let query = "SELECT policy.revision, document, body, secret FROM policy \
             LEFT JOIN handovers ON handovers.revision = policy.revision \
             LEFT JOIN placement ON placement.id = policy.id WHERE policy.id = 1";
        let Some(row) = self.database.first(query, vec![])? else {
            return Ok(());
        };
        let revision = integer(row.first()).ok_or_else(|| wrong_type("revision"));
        let document = text(row.get(1)).ok_or_else(|| wrong_type("document"));
        let saved = revision.and_then(|revision| {
            let document = read_policy(document?)?;
            let handovers = read_handovers(text(row.get(2))).unwrap_or_else(|damaged| {
                report_damaged("handovers", &damaged);
                Handovers::new()
            });
            Ok::<_, Damaged>(SavedPolicy {
                revision: Revision(revision),
                document,
                handovers,
                placement: read_placement(text(row.get(3))),
            })
        });
        match saved {
            Ok(saved) => {
                let loaded = Loaded::new(saved)?;
                self.with(|machine, _| machine.policy = Some(loaded))
            }
            Err(damaged) => {
                report_damaged("policy", &damaged);
                Ok(())
            }
        }
    }
}
