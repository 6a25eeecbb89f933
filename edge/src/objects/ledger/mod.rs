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
use std::rc::Rc;
use std::time::Duration;

use weir_shared::accounting::books::Books;
use weir_shared::limits::MINUTE_MS;
use weir_shared::report::decisions::RecentDecisions;
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::FrameReply;
use weir_shared::wire::operator::decisions::DecisionsBody;
use weir_shared::wire::series::{DemandBody, SeriesBody, TotalsBody};
use weir_shared::wire::windows::WindowsBody;
use worker::{
    Date, DurableObject, Env, Request, Response, State, WebSocket, WebSocketIncomingMessage,
    console_error, durable_object,
};

use super::calls::{ReadCounters, TakeAccess, TakeFrame};
use super::server::{Arrived, Refused};
use super::storage::Database;
use live::Live;

/// How long after the end of a minute it is stored: frames that were under way are in it then.
const FOLD_AFTER_MS: u64 = 1_000;

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
    books: Option<Books>,
    /// When the alarm is set for.
    armed_for: Option<EpochMs>,
    pruned_at: EpochMs,
    /// When counters last arrived; 0 for never, `None` while that was not looked up.
    told_at: Option<EpochMs>,
}

impl DurableObject for Ledger {
    fn new(state: State, env: Env) -> Self {
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
            let answer = arrived.parse().and_then(|call| self.take(&call));
            if answer.is_ok() {
                self.arm().await;
            }
            arrived.answer(answer)
        } else if arrived.is::<TotalsBody>() {
            arrived.answer(self.with_books(|books, _| Ok(books.totals())))
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
            arrived.answer(self.with_books(|books, _| Ok(books.totals().counters)))
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
    /// One event: count, write one row, answer.
    fn take(&self, call: &TakeFrame) -> Result<FrameReply, Refused> {
        let (reply, entry, overdue) = self.with_books(|books, now| {
            let taken = books.take(&call.frame, now);
            if let Some((sequence, entry)) = &taken.entry {
                rows::append(&self.database, *sequence, entry)?;
            }
            let entry = taken.entry.map(|(_, entry)| entry);
            Ok((taken.reply, entry, books.fold_overdue(now)))
        })?;
        // One that is sent again was told before.
        if let Some(entry) = entry {
            if !entry.frame.counters.is_empty() {
                self.memory.try_borrow_mut()?.told_at = Some(EpochMs(Date::now().as_millis()));
            }
            let samples = &call.frame.samples;
            self.recent.try_borrow_mut()?.keep(samples);
            self.live.dismiss(&self.state, &self.env);
            self.live
                .publish(&self.state, &entry.frame.counters, samples);
        }
        if overdue {
            self.fold()?;
        }
        Ok(reply)
    }

    /// Stores minutes that are over, and what was told of windows, and drops the entries that are in them.
    fn fold(&self) -> Result<(), Refused> {
        let mut expired = Vec::new();
        let folded = self.with_books(|books, now| {
            if books.at_rest() {
                return Ok(());
            }
            while let Some((sequence, entry)) = books.expire(now) {
                rows::append(&self.database, sequence, &entry)?;
                expired.push(entry.frame.counters);
            }
            let fold = books.fold(now)?;
            rows::write(&self.database, &fold)
        });
        for counters in &expired {
            self.live.publish(&self.state, counters, &[]);
        }
        folded
    }

    /// One step of the books. When it fails, memory may be ahead of what is written: the books are read again.
    fn with_books<R>(
        &self,
        step: impl FnOnce(&mut Books, EpochMs) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let mut memory = self.memory.try_borrow_mut()?;
        let books = match memory.books.as_mut() {
            Some(books) => books,
            None => {
                let books = rows::load(&self.database)?;
                memory.books.insert(books)
            }
        };
        let outcome = step(books, EpochMs(Date::now().as_millis()));
        if outcome.is_err() {
            memory.books = None;
        }
        outcome
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
        let busy = self.with_books(|books, _| Ok(!books.at_rest()))?;
        let (live, ending) = self.live.due(&self.state);
        let due = if busy || live {
            let minutes = now.0 / MINUTE_MS + 1;
            Some(EpochMs(minutes * MINUTE_MS + FOLD_AFTER_MS))
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
