//! Settling reservations: units go back into their window, or more is charged, once. Carries out what `node::settlement`
//! says.

use std::collections::VecDeque;
use std::rc::Rc;

use futures_channel::oneshot;
use weir_shared::federation::stored::{StoredEscrow, StoredPool};
use weir_shared::limiting::owner::Account;
use weir_shared::limiting::settlement::{PoolChange, SettleBody, SettleReply};
use weir_shared::limits::OPERATOR_CALL_MS_MAX;
use weir_shared::node::rules::PolicyInForce;
use weir_shared::node::settlement::{Debt, Effect, Event, Facts, Rows};
use weir_shared::node::{Refund, Spent, escrow, pool};
use weir_shared::units::{HolderId, Incarnation, OpId, Sequence};
use weir_shared::wire::exchange::{ExchangeAnswer, ExchangeBody, RankBody, VERSION, Want};
use weir_shared::wire::stored::{StoredSettlement, read_row};
use worker::console_error;

use super::nodes::Caller;
use super::{Core, escrow_rows, own, settled};
use crate::objects::deadline::within;
use crate::objects::server::Refused;
use crate::objects::storage::{number, report_damaged, text, wrong_type};

/// Who borrows what is charged beyond a reservation: a holder that never gives anything back.
const DEBTOR: &str = "settlements";

/// The row of a pool.
pub(super) enum PoolRow {
    /// Its root is in this region.
    Own(StoredPool),
    /// Its root is at a coordinator.
    Escrow(StoredEscrow),
}

impl Core {
    /// Settles a reservation, or tells what came of it before.
    pub(super) async fn settle(self: &Rc<Self>, call: SettleBody) -> Result<SettleReply, Refused> {
        let loaded = self.policy(&call.region, None).await?;
        let policy = &loaded.policy;
        let pools = call.pools.iter().map(|change| &change.pool);
        let tenant = call.accounted.tenant.as_deref().unwrap_or_default();
        let facts = Facts {
            known: policy.tiers.named(tenant).is_some(),
            own: pools
                .filter(|pool| policy.region_owns(pool))
                .cloned()
                .collect(),
        };
        let (op, account) = (call.op, call.account.clone());
        let (sender, answer) = oneshot::channel();
        let caller = self.with(|machine, _| {
            let caller = machine.next_caller();
            machine.settling.insert(caller, sender);
            caller
        })?;
        let settle = Event::Settle {
            body: Box::new(call),
            facts,
        };
        let failed = self
            .run_settlement(caller, settle, &account, &loaded)
            .await?;
        let answered = within(OPERATOR_CALL_MS_MAX, answer).await;
        self.with(|machine, _| machine.settling.remove(&caller))?;
        let reply = match answered {
            Some(answer) => answer.ok().flatten(),
            None => self.settled(op)?,
        };
        reply.ok_or_else(|| {
            failed.unwrap_or_else(|| Refused("the settlement under way failed".to_owned()))
        })
    }

    /// Lets the node take an event of a settlement, and does what it says until nothing is left to do: what failed.
    async fn run_settlement(
        self: &Rc<Self>,
        caller: Caller,
        first: Event<PoolRow>,
        account: &Account,
        loaded: &PolicyInForce,
    ) -> Result<Option<Refused>, Refused> {
        let step = |event| self.with(|machine, now| machine.settlements.step(&caller, event, now));
        let mut effects = VecDeque::from(step(first)?);
        let mut failed = None;
        while let Some(effect) = effects.pop_front() {
            let event = match effect {
                Effect::Load(op) => self.settled(op).map(Event::Loaded),
                Effect::Lend(change) => {
                    let debt = self.charge_debt(&change, account, loaded).await;
                    debt.map(Event::Lent)
                }
                Effect::Refund(change) => {
                    let refund = self.take_back(&change, account, loaded);
                    refund.map(Event::Refunded)
                }
                Effect::Persist(rows) => match self.write_settlement(&rows) {
                    Ok(()) => Ok(Event::Persisted),
                    Err(refused) => {
                        failed = Some(refused);
                        Ok(Event::NotPersisted)
                    }
                },
                unanswered => {
                    if let Err(refused) = self.do_unanswered(unanswered, loaded) {
                        // Whoever is answered all the same does not tell it.
                        console_error!("settlement: {}", refused.0);
                        failed = failed.or(Some(refused));
                    }
                    continue;
                }
            };
            let event = event.unwrap_or_else(|refused| {
                failed = Some(refused);
                Event::Failed
            });
            effects.extend(step(event)?);
        }
        Ok(failed)
    }

    /// Does what the node hears nothing of.
    fn do_unanswered(
        self: &Rc<Self>,
        effect: Effect<Caller, PoolRow>,
        loaded: &PolicyInForce,
    ) -> Result<(), Refused> {
        match effect {
            Effect::Forget(until) => {
                let statement = "DELETE FROM settlements WHERE expires_at <= ?";
                self.database.run(statement, vec![number(until.0)])
            }
            Effect::Written { pool, durable } => self.row_ended(&pool, durable, loaded),
            Effect::Drop(pools) => self.with(|machine, _| {
                // Escrows wake as another life.
                machine.escrow_life = Incarnation(machine.escrow_life.0 + 1);
                for pool in &pools {
                    machine.own.remove(pool);
                    machine.escrows.remove(pool);
                    machine.roll.release(pool);
                }
            }),
            Effect::Flush => self.schedule_flush(),
            Effect::Reply(caller, reply) => self.answer_settlement(caller, Some(reply)),
            Effect::Fail(caller) => self.answer_settlement(caller, None),
            // The node hears what comes of these.
            Effect::Load(_) | Effect::Lend(_) | Effect::Refund(_) | Effect::Persist(_) => Ok(()),
        }
    }

    fn answer_settlement(&self, caller: Caller, reply: Option<SettleReply>) -> Result<(), Refused> {
        let sender = self.with(|machine, _| machine.settling.remove(&caller))?;
        // One that is gone has stopped waiting.
        let _gone = sender.map(|sender| sender.send(reply));
        Ok(())
    }

    fn write_settlement(&self, rows: &Rows<PoolRow>) -> Result<(), Refused> {
        let pools = rows.pools.iter().map(|(pool, row)| match row {
            PoolRow::Own(row) => own::statement(pool, row),
            PoolRow::Escrow(row) => escrow_rows::statement(pool, row),
        });
        let mut statements = pools.collect::<Result<Vec<_>, _>>()?;
        let statement =
            "INSERT OR REPLACE INTO settlements (op, expires_at, body) VALUES (?, ?, ?)";
        let body = serde_json::to_string(&StoredSettlement::new(rows.reply.clone()))?;
        let values = vec![
            rows.op.to_string().into(),
            number(rows.expires_at.0),
            body.into(),
        ];
        statements.push((statement, values));
        let entry = rows.entry.as_ref();
        let entry = entry.map(|(number, entry)| settled::statement(*number, entry));
        statements.extend(entry.transpose()?);
        self.database.atomically(statements)
    }

    /// Gives back into a pool that is there: one that is not has no window that was charged. Its row is written with the
    /// settlement's.
    fn take_back(
        &self,
        change: &PoolChange,
        account: &Account,
        loaded: &PolicyInForce,
    ) -> Result<Option<Refund<PoolRow>>, Refused> {
        let spent = Spent {
            label: change.label,
            tenant: change.tenant.as_deref(),
            units: change.back,
        };
        let pool = change.pool.as_str();
        if loaded.policy.region_owns(pool) {
            let Some(terms) = self.terms_of(pool, loaded)? else {
                return Ok(None);
            };
            let refund = self.refund_own(pool, &terms, spent)?;
            return Ok(refund.map(|refund| refund.map(PoolRow::Own)));
        }
        if !self.known_escrow(pool, account)? {
            return Ok(None);
        }
        let refund = self.with_escrow(pool, |node, now| node.refund(spent, now))?;
        Ok(refund.map(|refund| refund.map(PoolRow::Escrow)))
    }

    /// Tells the node of a pool whether its row was written.
    fn row_ended(
        self: &Rc<Self>,
        pool: &str,
        durable: bool,
        loaded: &PolicyInForce,
    ) -> Result<(), Refused> {
        match (loaded.policy.region_owns(pool), durable) {
            (true, true) => self.run_own(pool, pool::Event::Persisted).map(|_| ()),
            (true, false) => self.run_own(pool, pool::Event::NotPersisted).map(|_| ()),
            (false, true) => self.run_escrow(pool, escrow::Event::Persisted),
            (false, false) => self.run_escrow(pool, escrow::Event::NotPersisted),
        }
    }

    /// Borrows what was used beyond, as far as the window lasts.
    async fn charge_debt(
        self: &Rc<Self>,
        change: &PoolChange,
        account: &Account,
        loaded: &PolicyInForce,
    ) -> Result<Debt, Refused> {
        let revision = loaded.saved.revision;
        let terms = self.terms_of(&change.pool, loaded)?;
        let Some(terms) = terms else {
            return Ok(Debt::default());
        };
        // A tenant that the policy refuses by now, or that shares the pool no more, owes nothing.
        let named = change.tenant.as_deref().filter(|_| terms.sharing.is_some());
        let now = self.with(|_, now| now)?;
        // What tenants share is a budget, whose pool has its name.
        let claimant = named.and_then(|tenant| {
            let policy = &loaded.policy;
            policy.claimant(tenant, Some(&change.pool), revision, now)
        });
        if claimant.is_some() != terms.sharing.is_some() {
            return Ok(Debt::default());
        }
        let (incarnation, sequence) = self.with(|machine, _| {
            machine.debts += 1;
            (machine.escrow_life, Sequence(machine.debts))
        })?;
        let body = ExchangeBody {
            v: VERSION,
            budget: change.pool.clone(),
            terms,
            holder: HolderId::of_name(DEBTOR),
            incarnation,
            sequence,
            seen: None,
            window: None,
            wants: vec![Want {
                tenant: claimant.as_ref().map(|claimant| claimant.name.clone()),
                waiting: change.debt,
                smallest: 1,
                expected: 0,
                held: 0,
                denied: 0,
                rank: claimant.as_ref().map(RankBody::from),
            }],
            returns: Vec::new(),
            ahead: 0,
            idle: 0,
            denied: 0,
        };
        Ok(match self.lend(body, account, loaded).await? {
            ExchangeAnswer::Reply(reply) => Debt {
                units: reply.grants.iter().map(|grant| grant.units).sum(),
                label: reply.window.label,
            },
            ExchangeAnswer::Refused(_) => Debt::default(),
        })
    }

    fn settled(&self, op: OpId) -> Result<Option<SettleReply>, Refused> {
        let query = "SELECT body FROM settlements WHERE op = ?";
        let row = self.database.first(query, vec![op.to_string().into()])?;
        let Some(row) = row else {
            return Ok(None);
        };
        let body = text(row.first()).ok_or_else(|| wrong_type("body"));
        match body.and_then(read_row::<StoredSettlement<SettleReply>>) {
            Ok(stored) => Ok(Some(stored.result)),
            Err(damaged) => {
                // It was settled, and what came of it is not known: nothing is given back twice.
                report_damaged("settlement", &damaged);
                Err(Refused("the settlement cannot be read".to_owned()))
            }
        }
    }
}
