//! The ledger of one region: counts frames, each once, and keeps totals for ever, minutes for a day, hours for 90 days
//! and the fairness records of windows. What it writes grows neither with tenants nor with requests: one row a frame, and
//! once a minute the rows of the totals, of the minute and of the windows.

mod attendance;
mod live;
mod old;
mod prune;
mod read;
mod roots;
mod rows;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use weir_shared::accounting::books::Books;
use weir_shared::node::ledger::{Effect, Event, LedgerNode, next_fold_at};
use weir_shared::report::decisions::RecentDecisions;
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::{Counters, FrameReply};
use weir_shared::wire::operator::decisions::DecisionsBody;
use weir_shared::wire::operator::live::DecisionSample;
use weir_shared::wire::series::{DemandBody, SeriesBody, TotalsBody};
use weir_shared::wire::windows::WindowsBody;
use worker::{
    Date, DurableObject, Env, Request, Response, State, WebSocket, WebSocketIncomingMessage,
    console_error, durable_object,
};

use super::calls::{ReadCounters, TakeAccess, TakeFrame};
use super::server::{Arrived, Refused};
use super::storage::Database;
use super::trace;
use live::Live;

/// One region's ledger.
#[durable_object]
pub struct Ledger {
    state: Rc<State>,
    env: Env,
    database: Database,
    memory: RefCell<Memory>,
    live: Live,
    recent: RefCell<RecentDecisions>,
}

#[derive(Default)]
struct Memory {
    node: Option<LedgerNode<()>>,
    /// When the alarm is set for.
    armed_for: Option<EpochMs>,
    pruned_at: EpochMs,
    /// When counters last arrived; 0 for never, `None` while that was not looked up.
    told_at: Option<EpochMs>,
}

impl Memory {
    /// The node, made of the rows where there is none.
    fn node(&mut self, database: &Database) -> Result<&mut LedgerNode<()>, Refused> {
        match &mut self.node {
            Some(node) => Ok(node),
            none => Ok(none.insert(LedgerNode::new(rows::load(database)?))),
        }
    }
}

impl DurableObject for Ledger {
    fn new(state: State, env: Env) -> Self {
        trace::learn(&env);
        let state = Rc::new(state);
        Self {
            database: Database::open(&state, rows::SCHEMA),
            state,
            env,
            memory: RefCell::default(),
            live: Live::default(),
            recent: RefCell::default(),
        }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        if Live::is_asked(&request) {
            let opened = self.open_live(&request).await;
            self.arm().await;
            return opened;
        }
        let arrived = Arrived::read(request).await?;
        if arrived.is::<TakeAccess>() {
            arrived.answer(arrived.parse().and_then(|call| self.take_access(&call)))
        } else if arrived.is::<TakeFrame>() {
            let answer = arrived.parse().and_then(|call| self.take(call));
            if answer.is_ok() {
                self.arm().await;
            }
            arrived.answer(answer)
        } else if arrived.is::<TotalsBody>() {
            arrived.answer(self.look(|books, now| Ok(books.totals_at(now))))
        } else if arrived.is::<SeriesBody>() {
            arrived.answer(arrived.parse().and_then(|body| self.series(&body)))
        } else if arrived.is::<DemandBody>() {
            arrived.answer(arrived.parse().and_then(|body| self.demand(&body)))
        } else if arrived.is::<WindowsBody>() {
            self.ask_roots().await;
            arrived.answer(arrived.parse().and_then(|body| self.windows(&body)))
        } else if arrived.is::<DecisionsBody>() {
            let body = arrived.parse();
            arrived.answer(body.and_then(|body| Ok(self.recent.try_borrow()?.read(&body))))
        } else if arrived.is::<ReadCounters>() {
            arrived.answer(self.look(|books, _| Ok(books.totals().counters)))
        } else {
            arrived.unknown()
        }
    }

    async fn websocket_message(
        &self,
        socket: WebSocket,
        message: WebSocketIncomingMessage,
    ) -> worker::Result<()> {
        Live::answer(
            &socket,
            match &message {
                WebSocketIncomingMessage::String(text) => text.len(),
                WebSocketIncomingMessage::Binary(bytes) => bytes.len(),
            },
        );
        Ok(())
    }

    async fn websocket_close(
        &self,
        socket: WebSocket,
        _code: usize,
        _reason: String,
        _was_clean: bool,
    ) -> worker::Result<()> {
        // A socket that is closed already needs no answer.
        let _closed = socket.close(Some(1000), Some("closed"));
        Ok(())
    }

    async fn websocket_error(
        &self,
        _socket: WebSocket,
        error: worker::Error,
    ) -> worker::Result<()> {
        console_error!("live: {error}");
        Ok(())
    }

    async fn alarm(&self) -> worker::Result<Response> {
        if let Ok(mut memory) = self.memory.try_borrow_mut() {
            memory.armed_for = None;
        }
        self.review_live().await;
        self.ask_roots().await;
        // The platform drops an alarm that fails too often: it is set again whatever happens.
        if let Err(refused) = self.fold().and_then(|()| self.prune()) {
            console_error!("ledger: {}", refused.0);
        }
        self.arm().await;
        Response::empty()
    }
}

impl Ledger {
    /// Counts a frame; what is told of it to those who look on are its samples, too.
    fn take(&self, mut call: TakeFrame) -> Result<FrameReply, Refused> {
        let samples = std::mem::take(&mut call.frame.samples);
        let frame = Box::new(call.frame);
        let answer = self.step(Event::Frame { caller: (), frame }, &samples)?;
        answer.ok_or_else(|| Refused("a frame has no answer".to_owned()))
    }

    /// Stores minutes that are over, and what was told of windows, and drops the entries that are in them.
    fn fold(&self) -> Result<(), Refused> {
        self.step(Event::Woke, &[]).map(drop)
    }

    /// Lets the node take an event, and does what it says until nothing is left to do: the answer to a frame.
    fn step(
        &self,
        event: Event<()>,
        samples: &[DecisionSample],
    ) -> Result<Option<FrameReply>, Refused> {
        let mut memory = self.memory.try_borrow_mut()?;
        let node = memory.node(&self.database)?;
        let now = EpochMs(Date::now().as_millis());
        let mut effects = VecDeque::from(node.step(event, now));
        let (mut answer, mut failed, mut published) = (None, None, Vec::new());
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Persist(rows) => {
                    let written = rows::write(&self.database, &rows);
                    let event = match written {
                        Ok(()) => Event::Persisted,
                        Err(_) => Event::NotPersisted,
                    };
                    failed = failed.or(written.err());
                    effects.extend(node.step(event, now));
                }
                Effect::Reply((), reply) => answer = Some(reply),
                // Why not stands in `failed`.
                Effect::Fail(()) => {}
                Effect::Publish(caller, counters) => published.push((caller, counters)),
                Effect::Drop(why) => {
                    memory.node = None;
                    failed = failed.or(Some(Refused(why)));
                    break;
                }
            }
        }
        let arrived =
            |(caller, counters): &(Option<()>, Counters)| caller.is_some() && !counters.is_empty();
        if published.iter().any(arrived) {
            memory.told_at = Some(now);
        }
        drop(memory);
        for (caller, counters) in published {
            // What nobody settled in time nobody has told.
            let samples = caller.map_or(&[][..], |()| samples);
            if caller.is_some() {
                self.recent.try_borrow_mut()?.keep(samples);
                self.live.dismiss(&self.state, &self.env);
            }
            self.live.publish(&self.state, &counters, samples);
        }
        failed.map_or(Ok(answer), Err)
    }

    /// Looks into the books.
    fn look<R>(
        &self,
        look: impl FnOnce(&Books, EpochMs) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let mut memory = self.memory.try_borrow_mut()?;
        let node = memory.node(&self.database)?;
        look(node.books(), EpochMs(Date::now().as_millis()))
    }

    /// Sets the alarm: to the next minute while something is not stored, else to when something has to be dropped.
    async fn arm(&self) {
        let now = EpochMs(Date::now().as_millis());
        let Some(at) = self.claim_alarm(now).unwrap_or(None) else {
            return;
        };
        let offset = Duration::from_millis(at.since(now).max(1));
        if let Err(error) = self.state.storage().set_alarm(offset).await {
            console_error!("alarm: {error}");
            if let Ok(mut memory) = self.memory.try_borrow_mut() {
                memory.armed_for = None;
            }
        }
    }

    /// When the alarm has to be set for, if it is not set for that time or an earlier one.
    fn claim_alarm(&self, now: EpochMs) -> Result<Option<EpochMs>, Refused> {
        let busy = self.look(|books, _| Ok(!books.at_rest()))?;
        let (live, ending) = self.live.due(&self.state);
        let due = if busy || live {
            Some(next_fold_at(now))
        } else {
            self.prune_due()?
        };
        let due = due.into_iter().chain(ending).min();
        let mut memory = self.memory.try_borrow_mut()?;
        let due = due.filter(|due| memory.armed_for.is_none_or(|set| *due < set));
        if due.is_some() {
            memory.armed_for = due;
        }
        Ok(due)
    }
}
