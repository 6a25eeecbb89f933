//! Settling reservations: units go back into their window, or more is charged, once. The result is a row, written in one
//! transaction with what goes back: of all pools, or of none.

use std::rc::Rc;

use weir_shared::limiting::owner::Account;
use weir_shared::limiting::settlement::{PoolChange, SettleBody, SettleReply};
use weir_shared::limits::{OPERATOR_CALL_MS_MAX, PURGE_MS};
use weir_shared::node::{Refund, Spent, escrow, pool};
use weir_shared::units::{HolderId, Incarnation, OpId, Sequence, WindowLabel};
use weir_shared::wire::exchange::{ExchangeAnswer, ExchangeBody, RankBody, VERSION, Want};
use weir_shared::wire::stored::{StoredSettlement, read_row};

use super::policy::Loaded;
use super::{Core, Flight, escrow_rows, own};
use crate::objects::deadline::within;
use crate::objects::server::Refused;
use crate::objects::storage::{Statement, number, report_damaged, text, wrong_type};

/// Who borrows what is charged beyond a reservation: a holder that never gives anything back.
const DEBTOR: &str = "settlements";

/// Where the root of a pool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    /// In this region.
    Here,
    /// At a coordinator.
    Above,
}

/// What was charged beyond a reservation, and to which window.
#[derive(Default)]
struct Debt {
    units: u64,
    label: WindowLabel,
}

/// What was taken back of a pool, and what writes that.
#[derive(Default)]
struct Taken {
    units: u64,
    row: Option<(Root, Statement)>,
}

impl Taken {
    fn of<R>(
        refund: Option<Refund<R>>,
        root: Root,
        statement: impl FnOnce(&R) -> Result<Statement, Refused>,
    ) -> Result<Self, Refused> {
        let Some(refund) = refund else {
            return Ok(Self::default());
        };
        let statement = refund.row.as_ref().map(statement).transpose()?;
        Ok(Self {
            units: refund.units,
            row: statement.map(|statement| (root, statement)),
        })
    }
}

impl Core {
    /// Settles a reservation, or tells what came of it before.
    pub(super) async fn settle(self: &Rc<Self>, call: SettleBody) -> Result<SettleReply, Refused> {
        let loaded = self.policy(&call.region, None).await?;
        let flight = Flight::Settlement(call.op);
        let under_way = self.with(|machine, _| machine.flights.contains_key(&flight))?;
        let landing = self.join(flight.clone())?;
        if under_way {
            let _landed = within(OPERATOR_CALL_MS_MAX, landing).await;
            return self
                .settled(call.op)?
                .ok_or_else(|| Refused("the settlement under way failed".to_owned()));
        }
        let settled = match self.settled(call.op) {
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => self.settle_once(&call, &loaded).await,
            Err(refused) => Err(refused),
        };
        if settled.is_err() {
            // What is in memory may be ahead of the rows: pools wake from them, escrows as another life.
            self.with(|machine, _| {
                machine.escrow_life = Incarnation(machine.escrow_life.0 + 1);
                for change in &call.pools {
                    machine.own.remove(&change.pool);
                    machine.escrows.remove(&change.pool);
                    machine.roll.release(&change.pool);
                }
            })?;
        }
        self.land(&flight, settled.is_ok());
        settled
    }

    async fn settle_once(
        self: &Rc<Self>,
        call: &SettleBody,
        loaded: &Loaded,
    ) -> Result<SettleReply, Refused> {
        self.forget_settlements()?;
        let (mut charged, mut charged_in) = (Vec::new(), Vec::new());
        for change in &call.pools {
            let debt = self.charge_debt(change, &call.account, loaded).await?;
            charged.push(debt.units);
            charged_in.push(debt.label);
        }
        // From here on nothing waits: what goes back and that it did become durable together, or none of it does.
        let (mut returned, mut rows) = (Vec::new(), Vec::new());
        let mut statements = Vec::new();
        for change in &call.pools {
            let taken = self.take_back(change, &call.account, loaded)?;
            returned.push(taken.units);
            if let Some((of, statement)) = taken.row {
                rows.push((change.pool.as_str(), of));
                statements.push(statement);
            }
        }
        let reply = SettleReply {
            actual: call.actual,
            returned,
            charged,
        };
        let statement =
            "INSERT OR REPLACE INTO settlements (op, expires_at, body) VALUES (?, ?, ?)";
        let body = serde_json::to_string(&StoredSettlement::new(reply.clone()))?;
        let values = vec![
            call.op.to_string().into(),
            number(call.expires_at.0),
            body.into(),
        ];
        statements.push((statement, values));
        // What it comes to for the accounts is written with it: whoever dies, it is counted, and once.
        let entry = self.entry(call, &reply, &charged_in, loaded)?;
        let numbered = entry.as_ref().map(|entry| self.number(entry)).transpose()?;
        let number = numbered.as_ref().map(|(number, _)| *number);
        statements.extend(numbered.map(|(_, statement)| statement));
        let written = self.database.atomically(statements);
        for (pool, of) in rows {
            self.row_ended(pool, of, written.is_ok())?;
        }
        written?;
        if let Some(number) = number {
            self.with(|machine, _| machine.settled.wrote(number))?;
        }
        self.schedule_flush()?;
        Ok(reply)
    }

    /// Forgets, once a minute at most, the settlements of reservations that nobody can settle any more.
    fn forget_settlements(&self) -> Result<(), Refused> {
        let due_at = self.with(|machine, now| {
            let is_due = now.since(machine.forgot_settlements_at) >= PURGE_MS;
            if is_due {
                machine.forgot_settlements_at = now;
            }
            is_due.then_some(now)
        })?;
        let Some(now) = due_at else {
            return Ok(());
        };
        self.database.run(
            "DELETE FROM settlements WHERE expires_at <= ?",
            vec![number(now.0)],
        )
    }

    /// Gives back into a pool that is there: one that is not has no window that was charged. Its row is written with the
    /// settlement's.
    fn take_back(
        &self,
        change: &PoolChange,
        account: &Account,
        loaded: &Loaded,
    ) -> Result<Taken, Refused> {
        let spent = Spent {
            label: change.label,
            tenant: change.tenant.as_deref(),
            units: change.back,
        };
        let pool = change.pool.as_str();
        if change.back == 0 {
            return Ok(Taken::default());
        }
        if loaded.policy.region_owns(pool) {
            let Some(terms) = self.terms_of(pool, loaded)? else {
                return Ok(Taken::default());
            };
            let refund = self.refund_own(pool, &terms, spent)?;
            return Taken::of(refund, Root::Here, |row| own::statement(pool, row));
        }
        if !self.known_escrow(pool, account)? {
            return Ok(Taken::default());
        }
        let refund = self.with_escrow(pool, |node, now| node.refund(spent, now))?;
        Taken::of(refund, Root::Above, |row| escrow_rows::statement(pool, row))
    }

    /// Tells the node of a pool whether its row was written.
    fn row_ended(self: &Rc<Self>, pool: &str, root: Root, durable: bool) -> Result<(), Refused> {
        match (root, durable) {
            (Root::Here, true) => self.run_own(pool, pool::Event::Persisted).map(|_| ()),
            (Root::Here, false) => self.run_own(pool, pool::Event::NotPersisted).map(|_| ()),
            (Root::Above, true) => self.run_escrow(pool, escrow::Event::Persisted),
            (Root::Above, false) => self.run_escrow(pool, escrow::Event::NotPersisted),
        }
    }

    /// Borrows what was used beyond, as far as the window lasts.
    async fn charge_debt(
        self: &Rc<Self>,
        change: &PoolChange,
        account: &Account,
        loaded: &Loaded,
    ) -> Result<Debt, Refused> {
        let revision = loaded.saved.revision;
        let terms = self.terms_of(&change.pool, loaded)?;
        let (true, Some(terms)) = (change.debt > 0, terms) else {
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
            machine.settlements += 1;
            (machine.escrow_life, Sequence(machine.settlements))
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
