//! The live figures: [`Live`] says when, [`Client`] asks, the signals carry what came.

use std::sync::Arc;

use gloo::timers::callback::Interval;
use leptos::prelude::*;
use leptos::task::spawn_local;
use web_sys::VisibilityState;
use weir_shared::wire::operator::FairnessReply;

use crate::api::Client;
use crate::api::error::ApiError;
use crate::clock;
use crate::live::{Live, LiveState, Outcome, Poll, TICK_MS};
use crate::overview::Overview;
use crate::rates::RateWindow;

/// The figures of the overview, polled for as long as the owner of the feed lives.
#[derive(Clone, Copy)]
pub struct Feed {
    live: StoredValue<Live>,
    window: StoredValue<RateWindow>,
    /// How alive the figures are.
    pub state: RwSignal<LiveState>,
    /// The newest figures; none before the first good answer.
    pub overview: RwSignal<Option<Arc<Overview>>>,
    /// Why the last poll failed; none after a good one.
    pub error: RwSignal<Option<ApiError>>,
}

impl Feed {
    /// Starts polling.
    pub fn start() -> Self {
        let now_ms = clock::now_ms();
        let live = Live::new(now_ms);
        let feed = Self {
            state: RwSignal::new(live.state(now_ms)),
            live: StoredValue::new(live),
            window: StoredValue::new(RateWindow::default()),
            overview: RwSignal::new(None),
            error: RwSignal::new(None),
        };
        let ticker = StoredValue::new_local(Interval::new(TICK_MS, move || feed.tick()));
        on_cleanup(move || ticker.dispose());
        feed.tick();
        feed
    }

    /// Stops the figures where they are.
    pub fn pause(self) {
        self.live.update_value(Live::pause);
        self.show();
    }

    /// Goes on, or asks again at once.
    pub fn resume(self) {
        self.live.update_value(|live| live.resume(clock::now_ms()));
        self.tick();
    }

    fn tick(self) {
        let now_ms = clock::now_ms();
        let hidden = document().visibility_state() == VisibilityState::Hidden;
        let due = self.live.try_update_value(|live| {
            live.set_hidden(hidden, now_ms);
            live.tick(now_ms)
        });
        if let Some(Some(poll)) = due {
            spawn_local(async move { self.answered(poll, Client.fairness().await) });
        }
        self.show();
    }

    /// The page may be gone by the time an answer comes: then nothing is left to update.
    fn answered(self, poll: Poll, answer: Result<FairnessReply, ApiError>) {
        let outcome = match &answer {
            Ok(_) => Outcome::Good,
            Err(error) if error.is_unauthenticated() => Outcome::Unauthenticated,
            Err(_) => Outcome::Failed,
        };
        let awaited = self
            .live
            .try_update_value(|live| live.answered(poll, clock::now_ms(), outcome));
        if awaited != Some(true) {
            return;
        }
        match answer {
            Ok(reply) => self.take(Arc::new(reply)),
            Err(error) => {
                self.error.try_set(Some(error));
            }
        }
        self.show();
    }

    fn take(self, reply: Arc<FairnessReply>) {
        let overview = self.window.try_update_value(|window| {
            window.push(Arc::clone(&reply));
            Overview::new(&reply, &window.rates())
        });
        self.overview.try_set(overview.map(Arc::new));
        self.error.try_set(None);
    }

    fn show(self) {
        let state = self.live.try_with_value(|live| live.state(clock::now_ms()));
        if let Some(state) = state
            && self
                .state
                .try_get_untracked()
                .is_some_and(|shown| shown != state)
        {
            self.state.try_set(state);
        }
    }
}
