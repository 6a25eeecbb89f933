//! The region's policy and tokens: the last ones seen are kept durably, so that isolates are served while the registry
//! is out of reach. Carries out what `node::rules` says.

use std::collections::VecDeque;
use std::rc::Rc;

use futures_channel::oneshot;
use weir_shared::access::stored::StoredAccess;
use weir_shared::federation::branch;
use weir_shared::limits::OPERATOR_CALL_MS_MAX;
use weir_shared::node::rules::{Effect, Event, PolicyInForce, Row, RulesNode};
use weir_shared::policy::handover::Handovers;
use weir_shared::policy::stored::{read_handovers, read_placement, read_policy};
use weir_shared::units::Revision;
use weir_shared::wire::access::SavedAccess;
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::saved_policy::SavedPolicy;
use weir_shared::wire::stored::{Damaged, read_row};
use worker::console_error;

use super::nodes::Caller;
use super::{Core, Machine};
use crate::objects::binding::{Address, call};
use crate::objects::calls::{PushRules, Pushed, ReadPolicy, Rules};
use crate::objects::deadline::within;
use crate::objects::registry::shipped;
use crate::objects::server::Refused;
use crate::objects::storage::{Database, integer, number, report_damaged, text, wrong_type};

pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS policy (id INTEGER PRIMARY KEY, revision INTEGER, document TEXT)",
    "CREATE TABLE IF NOT EXISTS handovers (id INTEGER PRIMARY KEY, revision INTEGER, body TEXT)",
    "CREATE TABLE IF NOT EXISTS placement (id INTEGER PRIMARY KEY, secret TEXT)",
    "CREATE TABLE IF NOT EXISTS access (id INTEGER PRIMARY KEY, body TEXT)",
];

/// As it was stored. A row that cannot be read is reported, and as if it were not there.
pub(super) fn load(database: &Database, region: &str) -> Result<RulesNode<Caller>, Refused> {
    let policy = load_policy(database)?;
    Ok(RulesNode::new(
        branch::of_name(region).0.to_owned(),
        policy,
        load_access(database)?,
    ))
}

fn load_policy(database: &Database) -> Result<Option<PolicyInForce>, Refused> {
    let query = "SELECT policy.revision, document, body, secret FROM policy \
         LEFT JOIN handovers ON handovers.revision = policy.revision \
         LEFT JOIN placement ON placement.id = policy.id WHERE policy.id = 1";
    let Some(row) = database.first(query, vec![])? else {
        return Ok(None);
    };
    let revision = integer(row.first()).ok_or_else(|| wrong_type("revision"));
    let document = text(row.get(1)).ok_or_else(|| wrong_type("document"));
    let policy = revision.and_then(|revision| {
        let document = read_policy(document?)?;
        let handovers = read_handovers(text(row.get(2))).unwrap_or_else(|damaged| {
            report_damaged("handovers", &damaged);
            Handovers::new()
        });
        let saved = SavedPolicy {
            revision: Revision(revision),
            document,
            handovers,
            placement: read_placement(text(row.get(3))),
        };
        let refused = |refused: weir_shared::invalid::Invalid| Damaged::Form {
            message: refused.to_string(),
        };
        PolicyInForce::try_from(saved).map_err(refused)
    });
    Ok(policy
        .inspect_err(|damaged| report_damaged("policy", damaged))
        .ok())
}

fn load_access(database: &Database) -> Result<Option<SavedAccess>, Refused> {
    let query = "SELECT body FROM access WHERE id = 1";
    let Some(row) = database.first(query, vec![])? else {
        return Ok(None);
    };
    let body = text(row.first()).ok_or_else(|| wrong_type("body"));
    let stored = body.and_then(read_row::<StoredAccess>);
    let stored = stored.inspect_err(|damaged| report_damaged("access", damaged));
    Ok(stored.ok().map(|stored| stored.access))
}

/// What came of an event.
#[derive(Default)]
pub(super) struct Carried {
    /// For how long the caller waits at most, and what ends the wait.
    wait: Option<(u64, oneshot::Receiver<()>)>,
    pub(super) failed: Option<Refused>,
}

impl Machine {
    /// The revisions of the policy and of the tokens in force.
    pub(super) fn revisions(&self) -> (Revision, Revision) {
        (self.rules.policy_revision(), self.rules.access_revision())
    }
}

impl Core {
    /// The terms of a pool in this region; `None` where the policy does not have it.
    pub(super) fn terms_of(
        &self,
        pool: &str,
        policy: &PolicyInForce,
    ) -> Result<Option<Terms>, Refused> {
        let revision = policy.saved.revision;
        self.with(|machine, now| policy.policy.terms(pool, &machine.region, revision, now))
    }

    /// The policy to apply: the last one seen, else the registry's, else the one that was shipped.
    pub(super) async fn policy(
        self: &Rc<Self>,
        region: &str,
        wanted: Option<&str>,
    ) -> Result<PolicyInForce, Refused> {
        self.wake(region)?;
        let caller = self.with(|machine, _| machine.next_caller())?;
        let token = wanted.map(str::to_owned);
        self.with(|machine, _| machine.token_wanted.clone_from(&token))?;
        let carried = self.carry_out_rules(Event::Needed { caller, token })?;
        if let Some((ms, answered)) = carried.wait {
            let _late = within(ms, answered).await;
            self.with(|machine, _| machine.needing.remove(&caller))?;
        }
        match self.with(|machine, _| machine.rules.policy().cloned())? {
            Some(policy) => Ok(policy),
            None => Ok(PolicyInForce::try_from(shipped()?)?),
        }
    }

    /// A push from the registry; one without anything new tells a branch to ask what is above it.
    pub(super) fn pushed(self: &Rc<Self>, call: PushRules) -> Result<Pushed, Refused> {
        self.wake(&call.region)?;
        let caller = self.with(|machine, _| machine.next_caller())?;
        let rules = Box::new(call.rules);
        let nothing = rules.policy.is_none() && rules.access.is_none();
        if nothing && self.with(|machine, _| machine.is_branch())? {
            self.poked();
        }
        let carried = self.take_rules(Event::Pushed { caller, rules })?;
        carried.failed.map_or(Ok(()), Err)?;
        let holdings = (!call.look.is_empty()).then(|| self.holdings(&call.look));
        let holdings = holdings.transpose()?;
        self.with(|machine, _| Pushed {
            policy: machine.rules.policy_revision(),
            access: machine.rules.access_revision(),
            holdings,
        })
    }

    /// Lets the node take what it is told, and lets the branches below know when something is new.
    pub(super) fn take_rules(self: &Rc<Self>, event: Event<Caller>) -> Result<Carried, Refused> {
        let before = self.with(|machine, _| machine.revisions())?;
        let carried = self.carry_out_rules(event)?;
        if self.with(|machine, _| machine.revisions())? != before {
            self.poke_below();
        }
        Ok(carried)
    }

    /// Lets the node take an event, and does what it says until nothing is left to do.
    fn carry_out_rules(self: &Rc<Self>, event: Event<Caller>) -> Result<Carried, Refused> {
        let step = |event| self.with(|machine, now| machine.rules.step(event, now));
        let mut effects = VecDeque::from(step(event)?);
        let mut carried = Carried::default();
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Persist(row) => {
                    let event = match self.write_rules(&row) {
                        Ok(()) => Event::Persisted,
                        Err(refused) => {
                            carried.failed = Some(refused);
                            Event::NotPersisted
                        }
                    };
                    effects.extend(step(event)?);
                }
                Effect::Ask { home, question } => self.ask_registry(home, question),
                Effect::Wait(caller, ms) => {
                    let (sender, answered) = oneshot::channel();
                    self.with(|machine, _| machine.needing.insert(caller, sender))?;
                    carried.wait = Some((ms, answered));
                }
                Effect::Reply(caller) => {
                    if let Some(sender) = self.with(|machine, _| machine.needing.remove(&caller))? {
                        // A receiver that is gone has stopped waiting.
                        let _gone = sender.send(());
                    }
                }
                Effect::NewPolicy => self.with(|machine, _| {
                    for node in machine.escrows.values_mut() {
                        node.escrow_mut().ask_again();
                    }
                })?,
                Effect::Refused(refused) => carried.failed = Some(refused.into()),
                // Why is what failed.
                Effect::Confirm(_) | Effect::Fail(_) => {}
            }
        }
        Ok(carried)
    }

    /// Asks the registry, or what is above a branch, in the background.
    fn ask_registry(self: &Rc<Self>, home: String, question: ReadPolicy) {
        let core = Rc::clone(self);
        self.state.wait_until(async move {
            let answer = core.read_above(&home, &question).await;
            let carried = core.take_rules(Event::Answered(answer.map(Box::new)));
            let failed = carried.map_or_else(Some, |carried| carried.failed);
            if let Some(refused) = failed {
                console_error!("what the registry told: {}", refused.0);
            }
        });
    }

    async fn read_above(self: &Rc<Self>, home: &str, question: &ReadPolicy) -> Option<Rules> {
        if self.with(|machine, _| machine.is_branch()).ok()? {
            return self.rules_above(question).await;
        }
        let address = Address::registry(home);
        let answer = call(&self.env, address, question, OPERATOR_CALL_MS_MAX).await;
        answer
            .inspect_err(|error| console_error!("registry: {error}"))
            .ok()
    }

    fn write_rules(&self, row: &Row) -> Result<(), Refused> {
        match row {
            Row::Access(stored) => {
                let statement = "INSERT OR REPLACE INTO access (id, body) VALUES (1, ?)";
                let body = serde_json::to_string(stored)?;
                self.database.run(statement, vec![body.into()])
            }
            Row::Policy(saved) => self.write_policy(saved),
        }
    }

    fn write_policy(&self, saved: &SavedPolicy) -> Result<(), Refused> {
        let revision = saved.revision.0;
        let document = serde_json::to_string(&saved.document)?;
        let handovers = serde_json::to_string(&saved.handovers)?;
        let mut rows = vec![
            (
                "INSERT OR REPLACE INTO policy (id, revision, document) VALUES (1, ?, ?)",
                vec![number(revision), document.into()],
            ),
            (
                "INSERT OR REPLACE INTO handovers (id, revision, body) VALUES (1, ?, ?)",
                vec![number(revision), handovers.into()],
            ),
        ];
        if let Some(secret) = saved.placement {
            rows.push((
                "INSERT OR REPLACE INTO placement (id, secret) VALUES (1, ?)",
                vec![String::from(secret).into()],
            ));
        }
        self.database.atomically(rows)
    }
}
