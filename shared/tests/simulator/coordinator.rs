//! The coordinator: the pool, and the row that outlives each life.

use std::collections::VecDeque;

use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::stored::StoredPool;
use weir_shared::node::Effect;
use weir_shared::node::pool::{Event as PoolEvent, PoolNode};
use weir_shared::units::{EpochMs, Sequence, WindowLabel};
use weir_shared::window::Window;
use weir_shared::wire::exchange::{ExchangeBody, Terms};
use weir_shared::wire::stored::read_row;

use super::World;
use super::broken::Broken;
use super::clock::Clock;
use super::network::{Answer, Event};

/// The coordinator: what is durable, and which life may write it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Coordinator {
    pub(crate) offset_ms: i64,
    pub(crate) current: Option<usize>,
    row: Option<String>,
    /// The label that a pool opens under at least, as durable as the row.
    floor: WindowLabel,
    /// When a pool was last opened on its clock.
    opened_at: EpochMs,
}

impl Coordinator {
    pub(crate) fn new(offset_ms: i64) -> Self {
        Self {
            offset_ms,
            ..Self::default()
        }
    }
}

/// Who is answered: a life of a region, and the number under which it sent its message.
type Caller = (usize, Sequence);

/// One life of the coordinator.
#[derive(Debug, Clone)]
pub(crate) struct CoordinatorLife {
    pub(crate) alive: bool,
    pub(crate) superseded: bool,
    pub(crate) clock: Clock,
    /// `None` after it was dropped.
    node: Option<PoolNode<Caller>>,
    /// The newest terms that the pool has heard of.
    terms: Terms,
}

impl CoordinatorLife {
    fn pool(&self) -> Option<&Pool> {
        self.node.as_ref().map(PoolNode::pool)
    }
}

impl World {
    fn coordinator_reached(&mut self, terms: Terms) -> usize {
        let beside = |life: &CoordinatorLife| life.alive && life.superseded;
        let lives = &self.coordinator_lives;
        let old: Vec<usize> = (0..lives.len())
            .filter(|&life| beside(&lives[life]))
            .collect();
        if !old.is_empty() && self.random.chance(500) {
            return self.random.one_of(&old);
        }
        match self.coordinator.current {
            Some(life) => life,
            None => self.coordinator_wakes(terms),
        }
    }

    fn coordinator_wakes(&mut self, terms: Terms) -> usize {
        let mut clock = Clock::new(self.coordinator.offset_ms, self.clamped);
        let now = clock.read(self.now_ms);
        let (pool, terms) = match self.coordinator.row.clone() {
            None => (self.pool_opened(terms.clone(), now), terms),
            Some(text) => match read_row::<StoredPool>(&text) {
                Ok(row) => {
                    self.truth.woke_with(&row.terms);
                    (self.pool_of(&row), row.terms)
                }
                Err(_) => (self.pool_of_damaged(&text, terms.clone(), now), terms),
            },
        };
        let node = Some(PoolNode::new(pool));
        self.coordinator_lives.push(CoordinatorLife {
            alive: true,
            superseded: false,
            clock,
            node,
            terms,
        });
        let life = self.coordinator_lives.len() - 1;
        self.coordinator.current = Some(life);
        life
    }

    fn pool_opened(&mut self, terms: Terms, now: EpochMs) -> Pool {
        self.coordinator.opened_at = now;
        let floor = match self.setup.broken {
            Some(Broken::FloorForgotten) => WindowLabel(0),
            _ => self.coordinator.floor,
        };
        if self.setup.keyed {
            Pool::open_keyed(terms, floor, now)
        } else {
            Pool::open(terms, now)
        }
    }

    /// The pool of a life, opened again if it was dropped.
    fn pool_node(&mut self, life: usize, terms: &Terms, now: EpochMs) -> &mut PoolNode<Caller> {
        if self.coordinator_lives[life].node.is_none() {
            let pool = self.pool_opened(terms.clone(), now);
            self.coordinator_lives[life].node = Some(PoolNode::new(pool));
            self.coordinator_lives[life].terms = terms.clone();
        }
        let node = self.coordinator_lives[life].node.as_mut();
        node.expect("it was made above")
    }

    /// Drops the pool if it is idle: its row is gone in the same write that raises the floor.
    pub(crate) fn pool_swept(&mut self) {
        let Some(life) = self.coordinator.current else {
            return;
        };
        let now = self.coordinator_now(life);
        let Some(pool) = self.coordinator_lives[life].pool() else {
            return;
        };
        let early = self.setup.broken == Some(Broken::HistoryDropped);
        let idle = pool.idle(now) || early && pool.window().held(now).is_none();
        if idle && self.random.chance(500) {
            self.coordinator.floor = self.coordinator.floor.max(pool.floor());
            self.coordinator.row = None;
            self.coordinator_lives[life].node = None;
            self.truth.pool_gone();
            self.truth.pools_dropped += 1;
        }
    }

    pub(crate) fn coordinator_rests(&mut self) {
        if let Some(life) = self.coordinator.current {
            self.coordinator_runs(life, PoolEvent::Rest);
        }
    }

    fn pool_of(&self, row: &StoredPool) -> Pool {
        let mut row = row.clone();
        if self.setup.broken == Some(Broken::CoordinatorWakesUnlent) {
            row.watermark = 0;
        }
        Pool::wake(&row)
    }

    fn pool_of_damaged(&mut self, text: &str, terms: Terms, now: EpochMs) -> Pool {
        let json: Option<serde_json::Value> = serde_json::from_str(text).ok();
        let label = json
            .and_then(|row| row.get("label")?.as_u64())
            .map(WindowLabel);
        if self.setup.broken == Some(Broken::DamagedWindowLentAgain) {
            let label = label.unwrap_or(self.last_label);
            let window = Window {
                label,
                ends_at: now.plus(terms.window_ms),
                window_ms: terms.window_ms,
            };
            let row = StoredPool::new(window, terms, 0);
            return Pool::wake(&row.with_history(vec![0; self.setup.parts() as usize]));
        }
        if !self.setup.keyed {
            return Pool::damaged(label, terms, now);
        }
        let pool = Pool::damaged_keyed(label, self.coordinator.floor, terms, now);
        self.coordinator.floor = self.coordinator.floor.max(pool.floor());
        pool
    }

    pub(crate) fn coordinator_dies(&mut self, life: usize) {
        self.coordinator_lives[life].alive = false;
        self.coordinator.current.take_if(|current| *current == life);
    }

    pub(crate) fn coordinator_superseded(&mut self) {
        if let Some(life) = self.coordinator.current.take() {
            self.coordinator_lives[life].superseded = true;
        }
    }

    pub(crate) fn coordinator_row_damaged(&mut self) {
        if let Some(life) = self.coordinator.current {
            self.coordinator_dies(life);
        }
        if let Some(text) = self.coordinator.row.clone() {
            self.coordinator.row = Some(self.damaged(&text));
            self.truth.pool_gone();
        }
    }

    /// Lets the node of a life take an event, and does what it says, in its order.
    fn coordinator_runs(&mut self, life: usize, event: PoolEvent<Caller>) {
        let now = self.coordinator_now(life);
        let mut effects = self.coordinator_steps_on(life, event, now);
        self.window_seen(life, now);
        while let Some(effect) = effects.pop_front() {
            // What happens to a life may happen between any two things that it does.
            if self.halts(|world| world.coordinator_dies(life)) {
                return;
            }
            match effect {
                Effect::Persist(row) => {
                    let Some(ended) = self.coordinator_writes(life, row) else {
                        return;
                    };
                    effects.extend(self.coordinator_steps_on(life, ended, now));
                }
                Effect::Reply((region, sequence), answer) => {
                    if !self.coordinator_lives[life].superseded {
                        let terms = self.coordinator_lives[life].terms.clone();
                        self.truth.answered_by(&terms);
                    }
                    self.answer_region(region, sequence, answer);
                }
                // The region hears nothing, and its call ends by itself. There is nobody above a root.
                Effect::Fail(_) | Effect::Send(_) | Effect::WakeAt(_) => {}
            }
        }
    }

    /// The window that a life which may write has open.
    fn window_seen(&mut self, life: usize, now: EpochMs) {
        let coordinator = &self.coordinator_lives[life];
        let (Some(pool), false) = (coordinator.pool(), coordinator.superseded) else {
            return;
        };
        let (window, limit) = (pool.window(), coordinator.terms.limit);
        let ends_at_ms = self.now_ms + window.remaining_ms(now);
        self.truth
            .opened(window.label, self.now_ms, ends_at_ms, limit);
    }

    fn coordinator_steps_on(
        &mut self,
        life: usize,
        event: PoolEvent<Caller>,
        now: EpochMs,
    ) -> VecDeque<Effect<Caller, StoredPool>> {
        let node = self.coordinator_lives[life].node.as_mut();
        node.map_or_else(VecDeque::new, |node| node.step(event, now).into())
    }

    /// Writes the row of a life and says how that ended; `None` when the life did not survive it.
    fn coordinator_writes(
        &mut self,
        life: usize,
        mut row: StoredPool,
    ) -> Option<PoolEvent<Caller>> {
        if self.is_broken(Broken::CoordinatorRepliesBeforeWrite) {
            return Some(PoolEvent::Persisted);
        }
        if self.coordinator_lives[life].superseded {
            return Some(if self.is_broken(Broken::FailedWriteIgnored) {
                PoolEvent::Persisted
            } else {
                PoolEvent::NotPersisted
            });
        }
        if self.is_broken(Broken::WatermarkOneShort) {
            row.watermark = row.watermark.saturating_sub(1);
        }
        if self.is_broken(Broken::RestsOneShort) && self.rests_lower(&row) {
            row.watermark = row.watermark.saturating_sub(1);
        }
        if self.is_broken(Broken::AheadNotWritten) {
            row.ahead.clear();
        }
        if self.is_broken(Broken::HistoryNotStored) {
            row.history.fill(0);
        }
        self.coordinator.row = Some(serde_json::to_string(&row).expect("a row is always JSON"));
        if self.setup.traced {
            println!("    coordinator {life} writes {row:?}");
        }
        self.pool_promised(life, &row);
        let limit = self.coordinator_lives[life].terms.limit;
        let now = self.coordinator_now(life);
        self.truth.pool_stored(&row, limit, now);
        self.truth.in_step(&row);
        self.truth.writes_coordinator += 1;
        self.last_label = row.label;
        let dies = self.halts(|world| world.coordinator_dies(life));
        (!dies).then_some(PoolEvent::Persisted)
    }

    /// Whether a row is one that is written at rest: it says less than the one that is there.
    fn rests_lower(&self, row: &StoredPool) -> bool {
        let durable = self.coordinator.row.as_ref();
        let durable = durable.and_then(|text| read_row::<StoredPool>(text).ok());
        durable
            .is_some_and(|durable| durable.label == row.label && durable.watermark > row.watermark)
    }

    /// When the windows begin and end of which units are lent ahead.
    fn pool_promised(&mut self, life: usize, row: &StoredPool) {
        let now = self.coordinator_now(life);
        let ends_at_ms = self.now_ms + row.ends_at.since(now);
        for label in row.ahead.keys() {
            let begins_at_ms = ends_at_ms + (label.0 - row.label.0 - 1) * row.window_ms;
            let span = (begins_at_ms, begins_at_ms + row.window_ms);
            self.truth.promised(*label, span);
        }
    }

    pub(crate) fn at_coordinator(&mut self, from: usize, body: ExchangeBody) {
        let sequence = body.sequence;
        let life = self.coordinator_reached(body.terms.clone());
        if self.coordinator_lives[life].node.is_none() {
            self.clock_steps_back_to_labels(self.coordinator.opened_at);
        }
        let now = self.coordinator_now(life);
        let heard = body.terms.clone();
        let mut body = body;
        let label = self.coordinator_lives[life].pool();
        let label = label.map(|pool| pool.window().label);
        self.bent_message(label.unwrap_or_default(), &mut body);
        let message = match Message::try_from(body) {
            Ok(message) => message,
            Err(refusal) => return self.answer_region(from, sequence, Err(refusal)),
        };
        self.pool_node(life, &message.terms, now);
        self.label_again(life, now);
        self.bend_pool(life, now);
        self.forget_history(life, now);
        let coordinator = &mut self.coordinator_lives[life];
        if heard.revision > coordinator.terms.revision {
            coordinator.terms = heard;
        }
        let caller = (from, sequence);
        self.coordinator_runs(life, PoolEvent::Exchange { caller, message });
    }

    fn answer_region(&mut self, life: usize, sequence: Sequence, answer: Answer) {
        self.send(Event::FromAbove {
            life,
            sequence,
            answer,
        });
    }

    /// Under the rule that uses a label twice: a window that is over begins again under its own name.
    fn label_again(&mut self, life: usize, now: EpochMs) {
        let coordinator = &mut self.coordinator_lives[life];
        let Some(window) = coordinator.pool().map(Pool::window) else {
            return;
        };
        if self.setup.broken == Some(Broken::LabelUsedTwice) && now >= window.ends_at {
            let again = Window {
                ends_at: now.plus(window.window_ms),
                ..window
            };
            let again = StoredPool::new(again, coordinator.terms.clone(), 0);
            coordinator.node = Some(PoolNode::new(Pool::wake(&again)));
        }
    }

    /// Under the rules about windows to come: the row is another when its window is over.
    fn bend_pool(&mut self, life: usize, now: EpochMs) {
        let row = self.coordinator.row.as_ref();
        let Some(row) = row.and_then(|text| read_row::<StoredPool>(text).ok()) else {
            return;
        };
        let over = now >= row.ends_at;
        let begun = u64::from(over) + now.since(row.ends_at) / row.window_ms;
        if let Some(bent) = self.bent_pool(&row, begun) {
            self.coordinator_lives[life].node = Some(PoolNode::new(Pool::wake(&bent)));
        }
    }

    /// Under the rule that forgets history: a part that is over counts as empty.
    fn forget_history(&mut self, life: usize, now: EpochMs) {
        let coordinator = &mut self.coordinator_lives[life];
        let Some(window) = coordinator.pool().map(Pool::window) else {
            return;
        };
        if self.setup.broken == Some(Broken::HistoryForgotten) && window.held(now).is_none() {
            let row = StoredPool::new(window, coordinator.terms.clone(), 0);
            let history = vec![0; self.setup.parts() as usize];
            coordinator.node = Some(PoolNode::new(Pool::wake(&row.with_history(history))));
        }
    }
}
