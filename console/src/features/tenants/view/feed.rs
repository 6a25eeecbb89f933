//! Reads the pages of the list that are on the screen: as they come into it, as the query changes, and as figures move.

use std::ops::Range;
use std::time::Duration;

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::wire::operator::tenants::TenantsReply;

use crate::api::Client;
use crate::api::ask::TenantsAsk;
use crate::api::error::ApiError;
use crate::clock;
use crate::context::{Console, use_leave};
use crate::features::tenants::model::query::TenantsQuery;
use crate::features::tenants::model::rows::{PAGE_ROWS, Rows};
use crate::features::tenants::model::trend::Trends;
use crate::features::tenants::model::virtual_rows::pages;
use crate::live_hub::LiveHub;
use crate::session::LoginReason;

/// The shortest time between two readings of the same page.
const REFRESH_MS: u64 = 2_000;

/// How long an order stays while nobody is busy in the table.
const HOLD_MS: u64 = 5_000;

/// What was read of the list.
#[derive(Clone, Copy)]
pub struct Feed {
    /// The rows.
    pub rows: RwSignal<Rows>,
    /// What they were admitted of late.
    pub trends: RwSignal<Trends>,
    /// Why the last reading failed; none after a good one.
    pub error: RwSignal<Option<ApiError>>,
    /// Regions whose figures are missing.
    pub unreachable: RwSignal<Vec<String>>,
    /// Whether the rows answer the query.
    pub fresh: RwSignal<bool>,
    /// Whether somebody is busy in the table: the order then stays.
    pub busy: RwSignal<bool>,
    /// The rows on the screen.
    pub visible: RwSignal<Range<usize>>,
    query: Memo<TenantsQuery>,
    state: StoredValue<State>,
    live: LiveHub,
    leave: Callback<()>,
}

#[derive(Default)]
struct State {
    reading: bool,
    /// Whether a reading is put off until it is time.
    put_off: bool,
    /// Rises with the query: an answer to an older one is nobody's.
    generation: u64,
    answered: u64,
    again: Vec<usize>,
    refreshed_ms: u64,
    ordered_ms: u64,
}

impl Feed {
    /// Starts to read.
    pub fn start(query: Memo<TenantsQuery>) -> Self {
        let leave = use_leave();
        let live = expect_context::<Console>().live;
        let feed = Self {
            rows: RwSignal::new(Rows::default()),
            trends: RwSignal::new(Trends::default()),
            error: RwSignal::new(None),
            unreachable: RwSignal::new(Vec::new()),
            fresh: RwSignal::new(false),
            busy: RwSignal::new(false),
            visible: RwSignal::new(0..1),
            query,
            state: StoredValue::new(State::default()),
            live,
            leave: Callback::new(move |()| leave(LoginReason::Expired)),
        };
        Effect::new(move |_| {
            query.track();
            feed.fresh.set(false);
            feed.state.update_value(|state| {
                state.generation += 1;
                state.again.clear();
            });
            feed.next();
        });
        Effect::new(move |_| {
            feed.visible.track();
            feed.next();
        });
        Effect::new(move |before: Option<()>| {
            live.pulse.track();
            if before.is_some() {
                feed.follow();
            }
        });
        feed
    }

    /// Reads what is on the screen again.
    pub fn refresh(self) {
        let Some(visible) = self.visible.try_get_untracked() else {
            return;
        };
        self.state.try_update_value(|state| {
            state.refreshed_ms = clock::now_ms();
            state.again = pages(&visible, PAGE_ROWS).collect();
        });
        self.next();
    }

    /// There is something new: it is read as soon as it is time. What comes last is not passed over, as nothing may
    /// follow it for long.
    fn follow(self) {
        let wait_ms = self.state.try_update_value(|state| {
            let gone_ms = clock::now_ms().saturating_sub(state.refreshed_ms);
            let wait_ms = REFRESH_MS.saturating_sub(gone_ms);
            let waits = wait_ms > 0 && std::mem::replace(&mut state.put_off, wait_ms > 0);
            (!waits).then_some(wait_ms)
        });
        match wait_ms.flatten() {
            None => {}
            Some(0) => self.refresh(),
            Some(wait_ms) => set_timeout(move || self.catch_up(), Duration::from_millis(wait_ms)),
        }
    }

    /// Reads what was put off, unless figures are to stand still: then the next beat brings it.
    fn catch_up(self) {
        self.state.try_update_value(|state| state.put_off = false);
        if self.live.is_paused() == Some(false) {
            self.refresh();
        }
    }

    /// Shows the newest order.
    pub fn update_order(self) {
        self.rows.update(Rows::update_order);
        self.state
            .update_value(|state| state.ordered_ms = clock::now_ms());
        self.next();
    }

    /// The page to read next, if any.
    fn wanted(self) -> Option<(usize, u64)> {
        let visible = self.visible.get_untracked();
        let missing = self.rows.with_untracked(|rows| rows.missing(&visible));
        self.state.try_update_value(|state| {
            if state.reading {
                return None;
            }
            let page = if state.answered != state.generation {
                Some(1)
            } else if let Some(page) = missing.first() {
                Some(*page)
            } else {
                state.again.pop()
            };
            let page = page?;
            state.reading = true;
            Some((page, state.generation))
        })?
    }

    fn next(self) {
        let Some((page, generation)) = self.wanted() else {
            return;
        };
        let ask = self.query.with_untracked(|query| ask(query, page));
        spawn_local(async move {
            let answer = Client.tenants(&ask).await;
            let current = self.state.try_update_value(|state| {
                state.reading = false;
                state.generation == generation
            });
            match (current, answer) {
                // The page is gone.
                (None, _) => {}
                (Some(false), _) => self.next(),
                (Some(true), Ok(reply)) => {
                    self.take(reply);
                    self.next();
                }
                (Some(true), Err(error)) if error.is_unauthenticated() => self.leave.run(()),
                (Some(true), Err(error)) => {
                    self.error.try_set(Some(error));
                }
            }
        });
    }

    fn take(self, reply: TenantsReply) {
        let now_ms = clock::now_ms();
        let busy = self.busy.get_untracked();
        let anew_and_held = self.state.try_update_value(|state| {
            let anew = state.answered != state.generation;
            state.answered = state.generation;
            let held = busy || now_ms.saturating_sub(state.ordered_ms) < HOLD_MS;
            if anew || !held {
                state.ordered_ms = now_ms;
            }
            if anew {
                state.refreshed_ms = now_ms;
            }
            (anew, held)
        });
        let Some((anew, held)) = anew_and_held else {
            return;
        };
        self.error.set(None);
        if self
            .unreachable
            .with_untracked(|known| *known != reply.unreachable)
        {
            self.unreachable.set(reply.unreachable.clone());
        }
        let chosen = self.query.with_untracked(|query| query.budget.clone());
        self.trends.update(|trends| {
            let units = reply.tenants.iter().map(|row| {
                let told = chosen.as_ref().map(|budget| {
                    let told = row.budgets.get(budget).copied().unwrap_or_default();
                    told.used.0
                });
                let units = told.unwrap_or(row.total.admitted_units.0);
                (row.tenant.as_str(), units)
            });
            trends.read(reply.at.0, units);
        });
        self.rows.update(|rows| {
            if anew {
                *rows = Rows::default();
            }
            rows.take(reply, held && !anew);
        });
        self.fresh.set(true);
    }
}

fn ask(query: &TenantsQuery, page: usize) -> TenantsAsk {
    TenantsAsk {
        page: page as u64,
        page_size: PAGE_ROWS as u64,
        ..query.ask()
    }
}
