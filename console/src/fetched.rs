//! What a page reads of the server: again when what it asks for changes, and when something new is known to be there.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use leptos::leptos_dom::helpers::TimeoutHandle;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::api::error::ApiError;
use crate::clock;
use crate::context::{Console, use_leave};
use crate::live_hub::LiveHub;
use crate::loaded::{Readings, Ticket, Verdict};
use crate::session::LoginReason;

/// When the same is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// Whenever something new is known to be there.
    Pulse,
    /// The same, but not more often than every [`CALM_MS`]: for what costs the server a round of many objects.
    Calm,
    /// Never by itself, once it has come.
    Once,
}

/// The shortest time between two readings of what is followed calmly.
pub const CALM_MS: u64 = 5_000;

/// What was read, and what became of the last reading.
pub struct Fetched<T: Send + Sync + 'static> {
    /// The last good answer. It may be to the question before while [`Self::fresh`] is false.
    pub value: Signal<Option<Arc<T>>>,
    /// Why the last reading failed; none after a good one.
    pub error: Signal<Option<ApiError>>,
    /// Whether the value is an answer to what is asked for now.
    pub fresh: Signal<bool>,
    core: Core,
    set: RwSignal<Option<Arc<T>>>,
}

impl<T: Send + Sync> Clone for Fetched<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync> Copy for Fetched<T> {}

/// What does not depend on what is read.
#[derive(Clone, Copy)]
struct Core {
    readings: StoredValue<Readings>,
    retry: StoredValue<Option<TimeoutHandle>>,
    error: RwSignal<Option<ApiError>>,
    fresh: RwSignal<bool>,
    again: RwSignal<u64>,
    begun_ms: StoredValue<u64>,
    follow: Follow,
}

impl Core {
    fn new(follow: Follow) -> Self {
        let core = Self {
            readings: StoredValue::new(Readings::default()),
            retry: StoredValue::new(None),
            error: RwSignal::new(None),
            fresh: RwSignal::new(false),
            again: RwSignal::new(0),
            begun_ms: StoredValue::new(0),
            follow,
        };
        on_cleanup(move || core.stop_waiting());
        core
    }

    /// How long it is until the pulse is followed.
    fn due_in_ms(self) -> u64 {
        let gone_ms = clock::now_ms().saturating_sub(self.begun_ms.get_value());
        match self.follow {
            Follow::Calm => CALM_MS.saturating_sub(gone_ms),
            Follow::Pulse | Follow::Once => 0,
        }
    }

    /// Follows the pulse when it is time: nothing may follow it for long. Unless figures are to stand still by then: the
    /// next beat brings it.
    fn put_off(self, live: LiveHub, wait_ms: u64) {
        let ask = move || {
            if live.is_paused() == Some(false) {
                self.again.try_update(|again| *again += 1);
            }
        };
        if let Ok(handle) = set_timeout_with_handle(ask, Duration::from_millis(wait_ms)) {
            self.stop_waiting();
            self.retry.try_set_value(Some(handle));
        }
    }

    fn stop_waiting(self) {
        let handle = self.retry.try_update_value(Option::take).flatten();
        if let Some(handle) = handle {
            handle.clear();
        }
    }

    /// Whether the answer is shown, and whether what was shown is to be forgotten. The page may be gone by now.
    fn answered(self, ticket: Ticket, error: Option<ApiError>) -> Option<Verdict> {
        let good = error.is_none();
        let verdict = self
            .readings
            .try_update_value(|readings| readings.answered(ticket, good))?;
        let Verdict::Shown { again, .. } = verdict else {
            return None;
        };
        if good {
            self.fresh.try_set(true);
        }
        if !good || self.error.try_with_untracked(Option::is_some) == Some(true) {
            self.error.try_set(error);
        }
        if again {
            self.again.try_update(|again| *again += 1);
        } else if !good {
            self.wait();
        }
        Some(verdict)
    }

    fn wait(self) {
        let wait_ms = self.readings.with_value(Readings::back_off_ms);
        let ask = move || {
            self.again.try_update(|again| *again += 1);
        };
        if let Ok(handle) = set_timeout_with_handle(ask, Duration::from_millis(wait_ms)) {
            self.stop_waiting();
            self.retry.try_set_value(Some(handle));
        }
    }
}

type Reading<T> = Pin<Box<dyn Future<Output = Result<T, ApiError>>>>;

/// Reads what `ask` asks for. What it reads of signals before its first `await` is followed.
pub fn fetched<T, R>(ask: impl Fn() -> R + 'static, follow: Follow) -> Fetched<T>
where
    T: Send + Sync + 'static,
    R: Future<Output = Result<T, ApiError>> + 'static,
{
    start(Arc::new(move || Box::pin(ask())), follow)
}

type Source<T> = Arc<dyn Fn() -> Reading<T>>;

fn start<T: Send + Sync + 'static>(ask: Source<T>, follow: Follow) -> Fetched<T> {
    let core = Core::new(follow);
    let set = RwSignal::new(None);
    let leave = StoredValue::new(use_leave());
    let console = expect_context::<Console>();
    let run = move |ticket: Ticket, reading: Reading<T>| {
        core.stop_waiting();
        core.begun_ms.set_value(clock::now_ms());
        spawn_local(async move {
            let answer = reading.await;
            let error = answer.as_ref().err().cloned();
            let ended = error.as_ref().is_some_and(ApiError::is_unauthenticated);
            if ended && core.error.is_disposed() {
                return;
            }
            let verdict = core.answered(ticket, error);
            match (verdict, answer) {
                (Some(_), Ok(value)) => {
                    set.try_set(Some(Arc::new(value)));
                }
                (Some(Verdict::Shown { first: true, .. }), Err(_)) => {
                    set.try_set(None);
                }
                _ => {}
            }
            if ended && !console.leaving.get_untracked() {
                leave.try_with_value(|leave| leave(LoginReason::Expired));
            }
        });
    };
    let anew = Arc::clone(&ask);
    Effect::new(move |_| {
        let reading = anew();
        core.fresh.set(false);
        let ticket = core.readings.try_update_value(Readings::ask_anew);
        if let Some(ticket) = ticket {
            run(ticket, reading);
        }
    });
    Effect::new(move |before: Option<u64>| {
        let again = core.again.get();
        if follow != Follow::Once {
            console.live.pulse.track();
        }
        // Who is on the way out has no session to read with.
        if console.leaving.get_untracked() {
            return again;
        }
        let due_in_ms = core.due_in_ms();
        if before.is_some_and(|before| before != again || due_in_ms == 0) {
            let ticket = core.readings.try_update_value(Readings::ask_again);
            if let Some(Some(ticket)) = ticket {
                run(ticket, untrack(|| ask()));
            }
        } else if before.is_some() {
            core.put_off(console.live, due_in_ms);
        }
        again
    });
    Fetched {
        value: set.into(),
        error: core.error.into(),
        fresh: core.fresh.into(),
        core,
        set,
    }
}

impl<T: Send + Sync + 'static> Fetched<T> {
    /// Reads it again.
    pub fn refresh(self) {
        self.core.again.update(|again| *again += 1);
    }

    /// Takes what a change answered for what is there now.
    pub fn replace(self, value: T) {
        self.set.set(Some(Arc::new(value)));
    }

    /// Whether there is anything to show.
    pub fn ready(self) -> Signal<bool> {
        Memo::new(move |_| self.value.with(Option::is_some)).into()
    }

    /// Reads it again, when a button asks.
    pub fn retry(self) -> Callback<()> {
        Callback::new(move |()| self.refresh())
    }
}
