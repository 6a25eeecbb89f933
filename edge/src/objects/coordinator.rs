//! A coordinator: runs the [`Pool`] of one budget, or those of one shard of a global limit's keys, each a row. The keys
//! of meters and guards that count for the whole deployment are kept by further objects of the same class, its shards;
//! one more is the hub of overloaded resources.

mod overload;

use std::cell::RefCell;
use std::rc::Rc;

use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::pool_name::is_budget;
use weir_shared::federation::stored::StoredPool;
use weir_shared::limits::{GLOBAL_BUCKETS_MAX, POOLS_MAX, PURGE_MS};
use weir_shared::node::pool::{Event, PoolNode};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::exchange::{ExchangeAnswer, ExchangeBody, Refusal, Terms};
use weir_shared::wire::holdings::{Lent, LentBody};
use weir_shared::wire::shares::SharesBody;
use weir_shared::wire::windows::{ClosedBody, ClosedReply};
use worker::{Date, DurableObject, Env, Request, Response, State, console_error, durable_object};

use crate::objects::deadline::sleep;
use crate::objects::hubs::{self, Hubs};
use crate::objects::keys::{self, Keys};
use crate::objects::pool_rows::{self, PoolRow};
use crate::objects::server::{Arrived, Refused};
use crate::objects::storage::{Database, Value, integer, number};
use crate::objects::trace;

const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS pools (name TEXT PRIMARY KEY, label INTEGER, \
     expires_at INTEGER, body TEXT)",
    "CREATE TABLE IF NOT EXISTS floor (id INTEGER PRIMARY KEY, label INTEGER)",
];

/// How long nobody asks a coordinator before it writes exactly what it has lent: it may fall asleep.
const REST_MS: u64 = 2_000;

/// A coordinator.
#[durable_object]
pub struct Coordinator {
    state: Rc<State>,
    database: Database,
    keys: Keys,
    hubs: Rc<Hubs>,
    memory: Rc<RefCell<Memory>>,
}

#[derive(Default)]
struct Memory {
    pools: OrderedMap<String, PoolNode<()>>,
    purged_at: EpochMs,
    /// Above the labels of all pools that were dropped: none opens below it.
    floor: WindowLabel,
    rows: Option<u64>,
    /// When a budget was last asked for.
    asked_at: EpochMs,
    /// Whether a task waits until nobody asks any more.
    is_resting: bool,
}

impl DurableObject for Coordinator {
    fn new(state: State, env: Env) -> Self {
        trace::learn(&env);
        let state = Rc::new(state);
        let database = Database::open(&state, &[SCHEMA, keys::SCHEMA, &[hubs::SCHEMA]].concat());
        Self {
            keys: Keys::new(Rc::clone(&state), database.clone()),
            hubs: Rc::new(Hubs::new(Rc::clone(&state), database.clone())),
            state,
            database,
            memory: Rc::default(),
        }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let arrived = Arrived::read(request).await?;
        if arrived.is::<ExchangeBody>() {
            let answer = arrived.parse().and_then(|body| self.exchange(body));
            if let Err(refused) = self.rest() {
                console_error!("rest: {}", refused.0);
            }
            arrived.answer(answer)
        } else if arrived.is::<SharesBody>() {
            arrived.answer(arrived.parse().and_then(|body| self.take_shares(&body)))
        } else if arrived.is::<ClosedBody>() {
            arrived.answer(arrived.parse().and_then(|body| self.closed(&body)))
        } else if arrived.is::<LentBody>() {
            arrived.answer(arrived.parse().and_then(|body| self.lent(&body)))
        } else if let Some(answer) = self.keys.answer(&arrived).await {
            answer
        } else {
            arrived.unknown()
        }
    }

    async fn alarm(&self) -> worker::Result<Response> {
        self.keys.alarm().await;
        Response::empty()
    }
}

impl Coordinator {
    /// A region's message.
    fn exchange(&self, body: ExchangeBody) -> Result<ExchangeAnswer, Refused> {
        let message = match Message::try_from(body) {
            Ok(message) => message,
            Err(refusal) => return Ok(ExchangeAnswer::Refused(refusal)),
        };
        let mut memory = self.memory.try_borrow_mut()?;
        // The clock as it is: a step back is the window's own rule.
        let now = EpochMs(Date::now().as_millis());
        let name = &message.budget;
        if !memory.pools.contains_key(name) {
            let Some(pool) = self.load(&mut memory, name, &message.terms, now)? else {
                return Ok(ExchangeAnswer::Refused(Refusal::NoRoom));
            };
            memory.pools.insert(name.clone(), PoolNode::new(pool));
        }
        let Some(node) = memory.pools.get_mut(name) else {
            return Err(Refused(format!("no pool {name}")));
        };
        let name = name.clone();
        let exchange = Event::Exchange {
            caller: (),
            message,
        };
        let answer = pool_rows::run(node, exchange, now, |row| store(&self.database, &name, row))?;
        memory.asked_at = now;
        let answer = answer.ok_or_else(|| Refused(format!("pool {name} gave no answer")))?;
        Ok(answer.into())
    }

    /// What was lent in windows that are over.
    fn closed(&self, body: &ClosedBody) -> Result<ClosedReply, Refused> {
        let memory = self.memory.try_borrow()?;
        let now = EpochMs(Date::now().as_millis());
        pool_rows::closed(&self.database, memory.pools.get(&body.budget), body, now)
    }

    /// Where the units of a budget's open window are. A pool that is not in memory is read, never made.
    fn lent(&self, body: &LentBody) -> Result<Lent, Refused> {
        let memory = self.memory.try_borrow()?;
        let now = EpochMs(Date::now().as_millis());
        if let Some(node) = memory.pools.get(&body.budget) {
            return Ok(node.pool().lent(body, now));
        }
        Ok(match pool_rows::read(&self.database, &body.budget)? {
            Some(PoolRow::Stored(stored)) => Pool::wake(&stored).lent(body, now),
            // Who asks for units will report it.
            _ => Lent::default(),
        })
    }

    /// The pool as it was stored, or a new one. `None` when there is no room for another.
    fn load(
        &self,
        memory: &mut Memory,
        name: &str,
        terms: &Terms,
        now: EpochMs,
    ) -> Result<Option<Pool>, Refused> {
        self.purge(memory, now)?;
        if let Some(row) = pool_rows::read(&self.database, name)? {
            let damaged = |label| self.damaged(memory, name, label, terms, now);
            return pool_rows::wake(name, row, damaged).map(Some);
        }
        if is_budget(name) {
            return Ok(Some(Pool::open(terms.clone(), now)));
        }
        let rows = memory.rows.unwrap_or(0);
        if rows >= POOLS_MAX as u64 {
            return Ok(None);
        }
        memory.rows = Some(rows + 1);
        Ok(Some(Pool::open_keyed(terms.clone(), memory.floor, now)))
    }

    /// The pool of a row that cannot be read: nothing more is lent in its window. A key's pool goes on far beyond every
    /// label that it may have used, which is durable before anything is told.
    fn damaged(
        &self,
        memory: &mut Memory,
        name: &str,
        label: Option<WindowLabel>,
        terms: &Terms,
        now: EpochMs,
    ) -> Result<Pool, Refused> {
        if is_budget(name) {
            return Ok(Pool::damaged(label, terms.clone(), now));
        }
        let pool = Pool::damaged_keyed(label, memory.floor, terms.clone(), now);
        memory.floor = memory.floor.max(pool.floor());
        self.keep_floor(memory.floor)?;
        Ok(pool)
    }

    fn keep_floor(&self, floor: WindowLabel) -> Result<(), Refused> {
        let statement = "INSERT OR REPLACE INTO floor (id, label) VALUES (1, ?)";
        self.database.run(statement, vec![number(floor.0)])
    }

    /// Drops the pools whose time is over, once a minute at most. Their labels are durable before a pool opens again,
    /// so that a clock which steps back opens no window twice.
    fn purge(&self, memory: &mut Memory, now: EpochMs) -> Result<(), Refused> {
        let first = memory.rows.is_none();
        let early = now >= memory.purged_at && now.since(memory.purged_at) < PURGE_MS;
        if early && !first {
            return Ok(());
        }
        let label = |row: Option<Vec<Value>>| row.and_then(|row| integer(row.first()));
        let row = self
            .database
            .first("SELECT label FROM floor WHERE id = 1", vec![])?;
        let known = label(row).unwrap_or(0);
        let over = vec![number(now.0)];
        let query = "SELECT MAX(label) FROM pools WHERE expires_at <= ? AND instr(name, char(1))";
        let dropped = label(self.database.first(query, over.clone())?);
        if let Some(dropped) = dropped {
            let floor = known.max(dropped.saturating_add(GLOBAL_BUCKETS_MAX));
            memory.floor = WindowLabel(floor);
            self.keep_floor(memory.floor)?;
            let statement = "DELETE FROM pools WHERE expires_at <= ? AND instr(name, char(1))";
            self.database.run(statement, over)?;
        } else {
            memory.floor = WindowLabel(known);
        }
        memory
            .pools
            .retain(|name, node| is_budget(name) || !node.pool().idle(now));
        memory.purged_at = now;
        memory.rows = label(self.database.first("SELECT COUNT(*) FROM pools", vec![])?);
        Ok(())
    }

    /// Makes sure that a task waits until nobody asks any more, and then writes exactly what is lent of budgets: the object
    /// may fall asleep, and the records of their windows shall be exact all the same.
    fn rest(&self) -> Result<(), Refused> {
        let mut memory = self.memory.try_borrow_mut()?;
        if std::mem::replace(&mut memory.is_resting, true) {
            return Ok(());
        }
        let (memory, database) = (Rc::clone(&self.memory), self.database.clone());
        self.state.wait_until(async move {
            loop {
                sleep(REST_MS).await;
                let now = EpochMs(Date::now().as_millis());
                let asked = memory.try_borrow().map(|memory| memory.asked_at);
                if asked.is_ok_and(|asked_at| now.since(asked_at) >= REST_MS) {
                    break;
                }
            }
            if let Err(refused) = at_rest(&memory, &database) {
                console_error!("rest: {}", refused.0);
            }
        });
        Ok(())
    }
}

fn at_rest(memory: &RefCell<Memory>, database: &Database) -> Result<(), Refused> {
    let mut memory = memory.try_borrow_mut()?;
    memory.is_resting = false;
    let pools = memory.pools.iter_mut();
    let now = EpochMs(Date::now().as_millis());
    for (name, node) in pools.filter(|(name, _)| is_budget(name)) {
        pool_rows::run(node, Event::Rest, now, |row| store(database, name, row))?;
    }
    Ok(())
}

fn store(database: &Database, name: &str, row: &StoredPool) -> Result<(), Refused> {
    // A row that is there stays where it is: one that is replaced is written twice, with its index.
    let statement = "INSERT INTO pools (name, label, expires_at, body) VALUES (?, ?, ?, ?) \
         ON CONFLICT (name) DO UPDATE SET label = excluded.label, expires_at = excluded.expires_at, \
         body = excluded.body";
    let body = serde_json::to_string(row)?;
    let values = vec![
        name.into(),
        number(row.label.0),
        number(row.expires_at().0),
        body.into(),
    ];
    database.run(statement, values)
}
