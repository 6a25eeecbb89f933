//! A shard with its rows in memory: what it writes is there after a crash, and nothing else.

use std::collections::VecDeque;

use weir_shared::algorithms::composite::{Mode, StateKey};
use weir_shared::algorithms::scale::ScaledState;
use weir_shared::invalid::Invalid;
use weir_shared::limiting::messages::{
    AskedBody, DecideBody, DecideReply, FinishBody, FinishReply, GroupBody, GuardBody, GuardReply,
    SettleKeysBody, SettledKeys, ShapeBody, ShapeReply,
};
use weir_shared::limiting::owner::{Account, by_rules};
use weir_shared::limiting::room::{Bounds, Room, Size};
use weir_shared::limiting::rows::{KeyPlacement, Put, Row, Rows};
use weir_shared::limiting::shard::Shard;
use weir_shared::limiting::stored::{StoredHold, StoredState};
use weir_shared::node::keys::{Effect, Event, Reply, ShardAnswer, ShardCall, ShardNode};
use weir_shared::ordered::{OrderedMap, OrderedSet};
use weir_shared::units::{EpochMs, OpId, Revision};
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::limit_terms::LimitTerms;
use weir_shared::wire::policy::{Algorithm, LimitBody, Scope};

pub struct Store {
    node: ShardNode<()>,
    table: Table,
    /// Whether rows are believed to be written when they are not.
    believes: bool,
    unwritten: Option<Vec<Put>>,
    wakes_at: Option<EpochMs>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            node: ShardNode::new(Shard::default()),
            table: Table::default(),
            believes: false,
            unwritten: None,
            wakes_at: None,
        }
    }
}

pub struct Table {
    states: OrderedMap<StateKey, ScaledState>,
    damaged: OrderedSet<StateKey>,
    holds: OrderedMap<OpId, StoredHold>,
    settled: OrderedMap<OpId, SettledKeys>,
    resets: OrderedMap<StateKey, EpochMs>,
    room: Room,
    accounts: OrderedMap<StateKey, Account>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            states: OrderedMap::new(),
            damaged: OrderedSet::new(),
            holds: OrderedMap::new(),
            settled: OrderedMap::new(),
            resets: OrderedMap::new(),
            room: Room::counted(Bounds::SHARD, Size::default(), []),
            accounts: OrderedMap::new(),
        }
    }
}

impl Rows for Table {
    fn place(&mut self, asked: StateKey, placement: KeyPlacement<'_>) -> StateKey {
        let (only, account, key) = (placement.only, placement.account, asked.clone());
        let place = match self.states.get(&key) {
            Some(state) => {
                let of = self.accounts.get(&key).cloned().unwrap_or_default();
                let bytes = bytes(state);
                self.room.place_grown(key, bytes, &of, (only, account))
            }
            None => self.room.place(key, only, account),
        };
        let place = by_rules(place, &asked, placement.rules);
        // Whoever brought a key first keeps it on its account.
        let accounts = self.accounts.entry(place.clone());
        accounts.or_insert_with(|| account.clone());
        place
    }

    fn state(&mut self, key: &StateKey) -> Row {
        if self.damaged.contains(key) {
            return Row::Damaged;
        }
        self.states.get(key).cloned().map_or(Row::Cold, Row::Warm)
    }

    fn settled(&mut self, op: OpId) -> Option<SettledKeys> {
        self.settled.get(&op).cloned()
    }
}

impl Table {
    pub fn write(&mut self, puts: Vec<Put>) {
        for put in puts {
            match put {
                Put::State { key, state, .. } => {
                    self.damaged.remove(&key);
                    let account = self.accounts.get(&key).cloned().unwrap_or_default();
                    match self.states.get(&key) {
                        Some(before) => self.room.grew(&account, bytes(before), bytes(&state)),
                        None => self.room.took(&account, bytes(&state)),
                    }
                    self.states.insert(key, state);
                }
                Put::Hold { op, row: Some(row) } => {
                    self.holds.insert(op, row);
                }
                Put::Hold { op, row: None } => {
                    self.holds.remove(&op);
                }
                Put::Reset { key, at, .. } => {
                    self.states.remove(&key);
                    self.resets.insert(key, at);
                }
                Put::Settled { op, result, .. } => {
                    self.settled.insert(op, result);
                }
            }
        }
    }
}

impl Store {
    /// Lets the node take an event, and does what it says, in its order: what it answers.
    fn run(&mut self, event: Event<()>, now: EpochMs) -> Option<ShardAnswer> {
        let mut effects = VecDeque::from(self.node.step(event, &mut self.table, now));
        let mut answer = None;
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Persist(puts) => {
                    match self.believes {
                        // It is only believed to be written, and is so when nothing has died until the next event.
                        true => self.unwritten = Some(puts),
                        false => self.table.write(puts),
                    }
                    effects.extend(self.node.step(Event::Persisted, &mut self.table, now));
                }
                Effect::Reply((), reply) => answer = Some(reply),
                Effect::Fail(()) => panic!("every row is written"),
                Effect::Restart => self.crash(),
                Effect::WakeAt(at) => self.wakes_at = Some(at),
            }
        }
        answer
    }

    fn asks(&mut self, ask: ShardCall, now: EpochMs) -> ShardAnswer {
        if let Some(puts) = self.unwritten.take() {
            self.table.write(puts);
        }
        let caller = ();
        let answer = self.run(Event::Asked { caller, ask }, now);
        answer.expect("every call is answered")
    }

    /// From now on rows are believed to be written when they are not.
    pub fn believes(mut self) -> Self {
        self.believes = true;
        self
    }

    pub fn try_decide(&mut self, body: &DecideBody, now: EpochMs) -> Result<DecideReply, Invalid> {
        match self.asks(ShardCall::Decide(body.clone()), now)? {
            Reply::Decide(reply) => Ok(reply),
            other => panic!("not what was asked: {other:?}"),
        }
    }

    pub fn decide(&mut self, body: &DecideBody, now: EpochMs) -> DecideReply {
        self.try_decide(body, now).unwrap()
    }

    pub fn finish(&mut self, body: FinishBody, now: EpochMs) -> FinishReply {
        match self.asks(ShardCall::Finish(body), now) {
            Ok(Reply::Finish(reply)) => reply,
            other => panic!("not what was asked: {other:?}"),
        }
    }

    pub fn settle(&mut self, body: &SettleKeysBody, now: EpochMs) -> SettledKeys {
        match self.asks(ShardCall::Settle(body.clone()), now) {
            Ok(Reply::Settle(result)) => result,
            other => panic!("not what was asked: {other:?}"),
        }
    }

    pub fn shape(&mut self, body: &ShapeBody, now: EpochMs) -> ShapeReply {
        match self.asks(ShardCall::Shape(body.clone()), now) {
            Ok(Reply::Shape(reply)) => reply,
            other => panic!("not what was asked: {other:?}"),
        }
    }

    pub fn try_guard(&mut self, body: &GuardBody, now: EpochMs) -> Result<GuardReply, Invalid> {
        match self.asks(ShardCall::Guard(body.clone()), now)? {
            Reply::Guard(reply) => Ok(reply),
            other => panic!("not what was asked: {other:?}"),
        }
    }

    pub fn guard(&mut self, body: &GuardBody, now: EpochMs) -> GuardReply {
        self.try_guard(body, now).unwrap()
    }

    /// Puts a key back to its start.
    pub fn reset(&mut self, key: StateKey, now: EpochMs) {
        let answer = self.asks(ShardCall::Reset(vec![key]), now);
        assert_eq!(answer, Ok(Reply::Reset(1)));
    }

    /// The instant has come that the node named, if it did.
    pub fn wakes(&mut self, now: EpochMs) {
        if self.wakes_at.is_some_and(|at| now >= at) {
            self.wakes_at = None;
            assert_eq!(self.run(Event::Woke, now), None);
        }
    }

    /// What a look sees.
    pub fn left(&mut self, limit: &str, key: &str, now: EpochMs) -> u64 {
        let look = decide(u64::MAX, Mode::All, &[(limit, key, 0)], false);
        self.decide(&look, now).groups[0][0].decision.remaining
    }

    /// The memory is gone; the rows are not.
    pub fn crash(&mut self) {
        self.unwritten = None;
        let holds = self.table.holds.iter();
        let resets = self.table.resets.clone();
        let shard = Shard::wake(holds.map(|(op, row)| (*op, row.clone()))).with_resets(resets);
        self.node = ShardNode::new(shard);
    }

    /// An owner has invented so many keys.
    pub fn invent(&mut self, account: &Account, keys: usize) {
        for _ in 0..keys {
            self.table.room.took(account, 100);
        }
    }

    /// An owner's states have so many bytes more.
    pub fn fill(&mut self, account: &Account, bytes: u64) {
        self.table.room.took(account, bytes);
    }

    /// Such bytes are no more.
    pub fn clear(&mut self, account: &Account, bytes: u64) {
        self.table.room.left(account, bytes);
    }

    /// The state that is kept under a key.
    pub fn kept(&self, key: &StateKey) -> Option<&ScaledState> {
        self.table.states.get(key)
    }

    pub fn damage(&mut self, key: StateKey) {
        self.table.damaged.insert(key);
    }
}

/// Bytes of a state as a row has them.
fn bytes(state: &ScaledState) -> u64 {
    serde_json::to_string(&StoredState::new(state.clone()))
        .unwrap()
        .len() as u64
}

pub fn key(limit: &str, key: &str) -> StateKey {
    StateKey {
        limit: limit.to_owned(),
        key: key.to_owned(),
    }
}

/// `ten`: 10 in each hour. `log`: 10 in any hour. `queue`: a leaky bucket of 10 a second that holds 250 ms.
pub fn terms(name: &str) -> LimitTerms {
    let body = if name == "queue" {
        LimitBody {
            algorithm: Some(Algorithm::LeakyBucket),
            rate_per_sec: Some(Decimal(10.0)),
            max_queue_ms: Some(250),
            scope: Some(Scope::Region),
            ..LimitBody::default()
        }
    } else {
        let log = name == "log";
        LimitBody {
            algorithm: Some(if log {
                Algorithm::SlidingLog
            } else {
                Algorithm::FixedWindow
            }),
            limit: Some(10),
            window_ms: Some(3_600_000),
            scope: Some(Scope::Region),
            ..LimitBody::default()
        }
    };
    LimitTerms {
        name: name.to_owned(),
        revision: Revision(1),
        scale: 1,
        body,
        meter: None,
        guard: None,
        key: None,
        since: 0,
    }
}

pub fn decide(op: u64, mode: Mode, keys: &[(&str, &str, u64)], hold: bool) -> DecideBody {
    let names: OrderedSet<_> = keys.iter().map(|(limit, _, _)| *limit).collect();
    let dimensions = keys.iter().map(|(limit, key, cost)| AskedBody::Key {
        limit: (*limit).to_owned(),
        key: (*key).to_owned(),
        cost: (*cost).max(1),
        look: *cost == 0,
        ahead: 0,
        shadow: false,
        known: false,
        account: Account::default(),
    });
    DecideBody {
        v: VERSION,
        op: OpId(op),
        limits: names.into_iter().map(terms).collect(),
        returns: Vec::new(),
        groups: vec![GroupBody {
            mode,
            dimensions: dimensions.collect(),
        }],
        hold,
    }
}
