//! The region's object: lends the region's part of each pool to isolates, settles reservations, hands on counters, and
//! holds the last policy and tokens that it has seen. Further objects of the same class are its branches, which do the same
//! for a part of its isolates and speak to it as an isolate does; the shards that keep the keys of limits; and the one that
//! remembers answers.

mod above;
mod answers;
mod branches;
mod counters;
mod escrow_rows;
mod holdings;
mod lend;
mod nodes;
mod overload;
mod own;
mod rules;
mod settle;
mod settled;

use std::cell::RefCell;
use std::rc::Rc;

use futures_channel::oneshot;
use weir_shared::accounting::frame::{Inbox, Outbox};
use weir_shared::accounting::lost::Accountable;
use weir_shared::clock::MonotonicClock;
use weir_shared::contact::ContactBody;
use weir_shared::federation::branch::{self, Heard};
use weir_shared::limiting::roll::Roll;
use weir_shared::limiting::room::Bounds;
use weir_shared::limiting::settlement::{SettleBody, SettleReply};
use weir_shared::node::LendAnswer;
use weir_shared::node::escrow::EscrowNode;
use weir_shared::node::pool::PoolNode;
use weir_shared::node::rules::RulesNode;
use weir_shared::node::settlement::SettlementNode;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::exchange::ExchangeBody;
use weir_shared::wire::windows::ClosedBody;
use worker::{Date, DurableObject, Env, Request, Response, State, durable_object};

use super::calls::PushRules;
use super::hubs::{self, Hubs};
use super::keys::{self, Keys};
use super::server::{Arrived, Refused};
use super::storage::{Database, integer, number};
use super::trace;
use answers::Answers;
use branches::Branching;
use nodes::Caller;
use settle::PoolRow;

const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS life (id INTEGER PRIMARY KEY, incarnation INTEGER)",
    "CREATE TABLE IF NOT EXISTS escrows (pool TEXT PRIMARY KEY, ends_at INTEGER, body TEXT)",
    "CREATE TABLE IF NOT EXISTS pools (name TEXT PRIMARY KEY, label INTEGER, body TEXT)",
    "CREATE TABLE IF NOT EXISTS settlements (op TEXT PRIMARY KEY, expires_at INTEGER, body TEXT)",
];

/// Minutes that one life of a region counts at most.
const LIFE_MINUTES_MAX: u64 = 1 << 20;

/// One region's object.
#[durable_object]
pub struct Region {
    core: Rc<Core>,
    keys: Keys,
    answers: Answers,
}

/// What outlives one event: shared with what runs on after the reply.
struct Core {
    state: Rc<State>,
    env: Env,
    database: Database,
    hubs: Rc<Hubs>,
    machine: RefCell<Option<Machine>>,
}

/// The region's memory.
struct Machine {
    name: String,
    /// The region that it belongs to, and its number there: 0 for the region's own object, else that of a branch.
    region: String,
    number: u32,
    clock: MonotonicClock,
    /// The last policy and tokens that it has seen.
    rules: RulesNode<Caller>,
    /// Who waits for them.
    needing: OrderedMap<Caller, oneshot::Sender<()>>,
    escrows: OrderedMap<String, EscrowNode<Caller>>,
    /// Who waits for the answer of a node, and how many ever did.
    callers: OrderedMap<Caller, oneshot::Sender<Option<LendAnswer>>>,
    calls: u64,
    /// Whose those of keys are.
    roll: Roll,
    /// Pools that are the region's own.
    own: OrderedMap<String, PoolNode<()>>,
    /// Raised when escrows are dropped: one that comes back is another life.
    escrow_life: Incarnation,
    purged_at: EpochMs,
    /// When an isolate was last heard of.
    heard_at: Option<EpochMs>,
    /// Who was heard of lately.
    heard: Heard,
    branches: Branching,
    /// Messages of a branch that are about to be sent.
    letters: Vec<ExchangeBody>,
    /// A token that somebody below a branch has seen and that is not known here.
    token_wanted: Option<String>,
    settlements: SettlementNode<Caller, PoolRow>,
    /// Who waits for the end of a settlement.
    settling: OrderedMap<Caller, oneshot::Sender<Option<SettleReply>>>,
    /// How often something was charged beyond a reservation.
    debts: u64,
    /// What isolates have of windows, until they have told what became of it.
    accountable: Accountable,
    inbox: Inbox,
    outbox: Outbox,
    /// What is told of windows of the whole deployment, for the ledger at the policy's home.
    windows: Outbox,
    flushing_until: EpochMs,
}

impl DurableObject for Region {
    fn new(state: State, env: Env) -> Self {
        trace::learn(&env);
        let state = Rc::new(state);
        let database = Database::open(
            &state,
            &[
                SCHEMA,
                rules::SCHEMA,
                branches::SCHEMA,
                settled::SCHEMA,
                keys::SCHEMA,
                answers::SCHEMA,
                &[hubs::SCHEMA],
            ]
            .concat(),
        );
        Self {
            keys: Keys::new(Rc::clone(&state), database.clone()),
            answers: Answers::new(Rc::clone(&state), database.clone()),
            core: Rc::new(Core {
                hubs: Rc::new(Hubs::new(Rc::clone(&state), database.clone())),
                state,
                env,
                database,
                machine: RefCell::default(),
            }),
        }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        let arrived = Arrived::read(request).await?;
        arrived.traced(self.answer(&arrived)).await
    }

    async fn alarm(&self) -> worker::Result<Response> {
        // An object has one alarm, and is either a shard of keys or a region's answers.
        match self.answers.is_used() {
            true => self.answers.alarm().await,
            false => self.keys.alarm().await,
        }
        Response::empty()
    }
}

impl Region {
    async fn answer(&self, arrived: &Arrived) -> worker::Result<Response> {
        let core = &self.core;
        if arrived.is::<ContactBody>() {
            let reply = match arrived.parse() {
                Ok(call) => core.contact(call).await,
                Err(refused) => Err(refused),
            };
            arrived.answer(reply)
        } else if arrived.is::<SettleBody>() {
            let reply = match arrived.parse() {
                Ok(call) => core.settle(call).await,
                Err(refused) => Err(refused),
            };
            arrived.answer(reply)
        } else if arrived.is::<ClosedBody>() {
            arrived.answer(arrived.parse().and_then(|body| core.closed(&body)))
        } else if arrived.is::<PushRules>() {
            arrived.answer(arrived.parse().and_then(|call| core.pushed(call)))
        } else if let Some(answer) = self.keys.answer(arrived).await {
            answer
        } else if let Some(answer) = self.answers.answer(arrived).await {
            answer
        } else {
            arrived.unknown()
        }
    }
}

impl Core {
    /// One step of the machine at the present time. Nothing in `step` may call back into this.
    fn with<R>(&self, step: impl FnOnce(&mut Machine, EpochMs) -> R) -> Result<R, Refused> {
        let mut machine = self.machine.try_borrow_mut()?;
        let Some(machine) = machine.as_mut() else {
            return Err(Refused("the region has no name yet".to_owned()));
        };
        let now = machine.clock.read(EpochMs(Date::now().as_millis()));
        Ok(step(machine, now))
    }

    /// Starts a life of this object, once: the incarnation rises before anything is said.
    fn wake(&self, name: &str) -> Result<(), Refused> {
        if self.machine.try_borrow()?.is_some() {
            return Ok(());
        }
        let now = EpochMs(Date::now().as_millis());
        let stored = self
            .database
            .first("SELECT incarnation FROM life WHERE id = 1", vec![])?;
        let before = stored.and_then(|row| integer(row.first())).unwrap_or(0);
        // The clock stands in where the stored number cannot be read: it has outrun every count of lives. One life may
        // have counted up by one a minute in memory, which two years of minutes do not exceed.
        let incarnation = Incarnation((before + LIFE_MINUTES_MAX).max(now.0));
        let statement = "INSERT OR REPLACE INTO life (id, incarnation) VALUES (1, ?)";
        self.database.run(statement, vec![number(incarnation.0)])?;
        let settled = settled::load(&self.database, name)?;
        let rules = rules::load(&self.database, name)?;
        let id = HolderId::of_name(name);
        let (region, number) = branch::of_name(name);
        let branches = Branching::wake(&self.database, &self.env, number, now)?;
        *self.machine.try_borrow_mut()? = Some(Machine {
            name: name.to_owned(),
            region: region.to_owned(),
            number,
            clock: MonotonicClock::default(),
            rules,
            needing: OrderedMap::new(),
            escrows: OrderedMap::new(),
            callers: OrderedMap::new(),
            calls: 0,
            roll: Roll::new(Bounds::POOLS),
            own: OrderedMap::new(),
            escrow_life: incarnation,
            purged_at: now,
            heard_at: None,
            heard: Heard::default(),
            branches,
            letters: Vec::new(),
            token_wanted: None,
            settlements: SettlementNode::new(name, settled),
            settling: OrderedMap::new(),
            debts: 0,
            accountable: Accountable::default(),
            inbox: Inbox::new(incarnation),
            outbox: Outbox::new(id, incarnation),
            windows: Outbox::new(HolderId::of_name(&format!("{name}/windows")), incarnation),
            flushing_until: EpochMs(0),
        });
        Ok(())
    }
}
