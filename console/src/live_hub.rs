//! The live figures of the whole console: [`Machine`] says what to do, the socket does it, the signals carry what came.

use std::sync::Arc;

use gloo::timers::callback::Interval;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos::wasm_bindgen::JsCast;
use leptos::wasm_bindgen::closure::Closure;
use web_sys::{MessageEvent, VisibilityState, WebSocket};
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::operator::SessionReply;
use weir_shared::wire::operator::live::{LiveEvent, LiveMessage};
use weir_shared::wire::operator::live_lines::{LineNotice, LineOrder};

use crate::api::ask::live_address;
use crate::api::error::ApiError;
use crate::api::{Client, refusals};
use crate::clock;
use crate::live::feed::LiveFeed;
use crate::live::machine::{Action, Checked, Machine, TICK_MS};
use crate::live::message::{self, Said};
use crate::live::rates::LiveRates;
use crate::live::skew::TOLERATED_MS;
use crate::live::state::{LiveState, Phase};
use crate::live::tail::Tail;

/// What happens, as it happens.
#[derive(Clone, Copy)]
pub struct LiveHub {
    /// How alive it is.
    pub state: Signal<LiveState>,
    /// Beats when there may be something new to read: at most once a second, and never while paused.
    pub pulse: Signal<u64>,
    /// The number of the newest entry of [`Self::with_tail`] to show. It stands still while paused, though the tail goes on.
    pub decisions: Signal<u64>,
    /// Calls a second.
    pub rates: Signal<Arc<LiveRates>>,
    /// How far the machine's clock is ahead of the server's, where that is too far.
    pub skew_ms: Signal<Option<i64>>,
    set: Setters,
    session: RwSignal<Option<SessionReply>>,
    feed: StoredValue<LiveFeed>,
    running: StoredValue<Option<Running>, LocalStorage>,
}

#[derive(Clone, Copy)]
struct Setters {
    state: RwSignal<LiveState>,
    pulse: RwSignal<u64>,
    decisions: RwSignal<u64>,
    rates: RwSignal<Arc<LiveRates>>,
    skew_ms: RwSignal<Option<i64>>,
}

/// What lives while somebody is logged in.
struct Running {
    machine: Machine,
    refusals: u64,
    /// The socket, and its number. The one before is kept until its closing was heard.
    sockets: OrderedMap<u64, Socket>,
    _ticker: Interval,
}

/// A socket with what listens to it.
struct Socket {
    socket: WebSocket,
    _heard: Closure<dyn FnMut(MessageEvent)>,
    _closed: Closure<dyn FnMut()>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.socket.set_onmessage(None);
        self.socket.set_onclose(None);
        let _ = self.socket.close();
    }
}

impl LiveHub {
    /// At rest. Changes of the session that it comes to know are put into `session`.
    pub fn new(session: RwSignal<Option<SessionReply>>) -> Self {
        let set = Setters {
            state: RwSignal::new(LiveState::default()),
            pulse: RwSignal::new(0),
            decisions: RwSignal::new(0),
            rates: RwSignal::new(Arc::new(LiveRates::default())),
            skew_ms: RwSignal::new(None),
        };
        Self {
            state: set.state.into(),
            pulse: set.pulse.into(),
            decisions: set.decisions.into(),
            rates: set.rates.into(),
            skew_ms: set.skew_ms.into(),
            set,
            session,
            feed: StoredValue::new(LiveFeed::default()),
            running: StoredValue::new_local(None),
        }
    }

    /// Starts, if it rests.
    pub fn start(self) {
        if self.running.with_value(Option::is_some) {
            return;
        }
        self.running.set_value(Some(Running {
            machine: Machine::new(clock::now_ms()),
            refusals: refusals(),
            sockets: OrderedMap::new(),
            _ticker: Interval::new(TICK_MS, move || self.tick()),
        }));
        self.tick();
    }

    /// Closes everything and forgets what it has: who comes next may see less.
    pub fn stop(self) {
        self.running.set_value(None);
        self.feed.set_value(LiveFeed::default());
        self.set.decisions.set(0);
        self.set.rates.set(Arc::default());
        self.set.state.set(LiveState::default());
    }

    /// Stops the figures where they are.
    pub fn pause(self) {
        self.drive(|machine, _| machine.pause());
        self.tick();
    }

    /// Goes on, or tries again at once.
    pub fn resume(self) {
        self.drive(Machine::resume);
        self.tick();
    }

    /// Whether figures are to stand still; none when the console is gone.
    pub fn is_paused(self) -> Option<bool> {
        let state = self.state.try_get_untracked();
        state.map(|state| state.phase == Phase::Paused)
    }

    /// Reads the last decisions.
    pub fn with_tail<R>(self, read: impl FnOnce(&Tail) -> R) -> R {
        self.feed.with_value(|feed| read(&feed.tail))
    }

    fn drive<R>(self, change: impl FnOnce(&mut Machine, u64) -> R) -> Option<R> {
        let now_ms = clock::now_ms();
        self.running
            .try_update_value(|running| {
                running
                    .as_mut()
                    .map(|running| change(&mut running.machine, now_ms))
            })
            .flatten()
    }

    fn tick(self) {
        let hidden = document().visibility_state() == VisibilityState::Hidden;
        let offline = !window().navigator().on_line();
        let refused = self.refused();
        let actions = self.drive(|machine, now_ms| {
            if refused {
                machine.doubt(now_ms);
            }
            machine.set_hidden(hidden, now_ms);
            machine.set_offline(offline, now_ms);
            machine.tick(now_ms)
        });
        for action in actions.unwrap_or_default() {
            self.act(action);
        }
        self.show();
    }

    /// Whether a call was refused since the last tick.
    fn refused(self) -> bool {
        let refused = self.running.try_update_value(|running| {
            let running = running.as_mut()?;
            let before = std::mem::replace(&mut running.refusals, refusals());
            Some(running.refusals != before)
        });
        refused.flatten() == Some(true)
    }

    fn act(self, action: Action) {
        match action {
            Action::Connect { socket } => self.open(socket),
            Action::Say(order) => self.say(&order),
            Action::Disconnect { socket } => self.forget(socket),
            Action::Check => spawn_local(async move { self.checked(Client.session().await) }),
            Action::Regions => spawn_local(async move {
                let regions = Client.regions().await.ok();
                let names = regions.map(|reply| {
                    let names = reply.regions.into_iter().map(|region| region.region);
                    names.collect::<Vec<_>>()
                });
                self.keep(names.as_deref().unwrap_or_default());
                self.drive(|machine, now_ms| machine.learned(names, now_ms));
            }),
            Action::Pulse => {
                self.publish();
                let told = self.with_tail(Tail::told);
                if self.set.decisions.get_untracked() != told {
                    self.set.decisions.set(told);
                }
                self.set.pulse.update(|pulse| *pulse += 1);
            }
            Action::Publish => self.publish(),
        }
    }

    /// Forgets the rates of other regions than these, if there are any.
    fn keep(self, regions: &[String]) {
        if !regions.is_empty() {
            self.feed.update_value(|feed| feed.rates.keep(regions));
        }
    }

    fn publish(self) {
        let server_ms = clock::server_ms();
        let rates = self.feed.with_value(|feed| feed.rates.rates(server_ms));
        if self.set.rates.with_untracked(|shown| **shown != rates) {
            self.set.rates.set(Arc::new(rates));
        }
    }

    fn open(self, number: u64) {
        let origin = window().location().origin().unwrap_or_default();
        let address = live_address(&origin);
        let Ok(socket) = WebSocket::new(&address) else {
            self.drive(|machine, now_ms| machine.closed(number, now_ms));
            return;
        };
        let heard = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            if let Some(text) = event.data().as_string() {
                self.heard(number, &text);
            }
        });
        let closed = Closure::<dyn FnMut()>::new(move || self.closed(number));
        socket.set_onmessage(Some(heard.as_ref().unchecked_ref()));
        socket.set_onclose(Some(closed.as_ref().unchecked_ref()));
        let socket = Socket {
            socket,
            _heard: heard,
            _closed: closed,
        };
        self.running.update_value(|running| {
            if let Some(running) = running {
                running.sockets.insert(number, socket);
            }
        });
    }

    fn heard(self, number: u64, text: &str) {
        match message::read(text) {
            Some(Said::Message { line, message }) => self.told(line, message),
            Some(Said::Notice(LineNotice::Lines { regions, .. })) => {
                self.keep(&regions);
                self.drive(|machine, now_ms| machine.greeted(number, regions, now_ms));
                self.tick();
            }
            Some(Said::Notice(LineNotice::Closed { line })) => {
                self.drive(|machine, now_ms| machine.lost(line, now_ms));
                self.show();
            }
            Some(Said::Notice(LineNotice::Pong { line })) => {
                self.drive(|machine, now_ms| machine.answered(line, now_ms));
            }
            None => {}
        }
    }

    fn told(self, line: u64, message: LiveMessage) {
        let kept = self.drive(|machine, now_ms| machine.heard(line, &message, now_ms));
        let Some(Some(kept)) = kept else {
            return;
        };
        if let LiveEvent::Hello { .. } = message.event {
            clock::heard(message.at.0);
        }
        self.feed.update_value(|feed| feed.take(message, &kept));
        self.show();
    }

    /// What listens is dropped by the next tick at the earliest: a closure must not drop itself.
    fn closed(self, number: u64) {
        self.drive(|machine, now_ms| machine.closed(number, now_ms));
        spawn_local(async move { self.forget(number) });
        self.show();
    }

    fn checked(self, answer: Result<SessionReply, ApiError>) {
        let checked = match &answer {
            Ok(_) => Checked::Good,
            Err(error) if error.is_unauthenticated() => Checked::Ended,
            Err(_) => Checked::Failed,
        };
        let awaited = self.drive(|machine, now_ms| machine.checked(checked, now_ms));
        if let (Some(()), Ok(session)) = (awaited, answer)
            && self
                .session
                .with_untracked(|known| known.as_ref() != Some(&session))
        {
            self.session.set(Some(session));
        }
        self.tick();
    }

    /// Says something over the newest socket.
    fn say(self, order: &LineOrder) {
        let Ok(text) = serde_json::to_string(order) else {
            return;
        };
        self.running.with_value(|running| {
            let sockets = running.as_ref().map(|running| &running.sockets);
            if let Some((_, socket)) = sockets.and_then(OrderedMap::last_key_value) {
                // A socket that has gone says so by itself.
                let _gone = socket.socket.send_with_str(&text);
            }
        });
    }

    fn forget(self, number: u64) {
        self.running.update_value(|running| {
            if let Some(running) = running {
                running.sockets.remove(&number);
            }
        });
    }

    fn show(self) {
        let Some(state) = self.drive(|machine, now_ms| machine.state(now_ms)) else {
            return;
        };
        if self.set.state.get_untracked() != state {
            self.set.state.set(state);
        }
        let wrong = |ahead_ms: &i64| ahead_ms.unsigned_abs() > TOLERATED_MS;
        let skew_ms = clock::ahead_ms().filter(wrong);
        let shown_ms = self.set.skew_ms.get_untracked();
        let moved = match (shown_ms, skew_ms) {
            (Some(before), Some(after)) => before.abs_diff(after) > 5_000,
            (before, after) => before.is_some() != after.is_some(),
        };
        if moved {
            self.set.skew_ms.set(skew_ms);
        }
    }
}
