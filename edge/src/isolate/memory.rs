//! The only state that an isolate keeps between requests: plain data, no handle of the platform.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use weir_shared::access::guesses::Guesses;
use weir_shared::access::table::AccessTable;
use weir_shared::access::turnstile::Turnstiles;
use weir_shared::access::verified::Verified;
use weir_shared::clock::MonotonicClock;
use weir_shared::gateway::seats::Seats;
use weir_shared::limits::REGIONS_MAX;
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, HolderId, Revision};
use weir_shared::wire::access::BOOTSTRAP;
use weir_shared::wire::saved_policy::SavedPolicy;
use worker::js_sys::Date;

use super::bearer::Bearer;
use super::prepared::slots::Prepared;
use super::random::random;
use super::region::RegionView;
use crate::http::failure::Failure;

thread_local! {
    static ISOLATE: RefCell<Isolate> = RefCell::default();
    /// Where the clock stands still.
    static INSTANT: Cell<Option<EpochMs>> = const { Cell::new(None) };
}

/// The isolate's memory: one view for each region it decides for (one, unless requests may name theirs).
#[derive(Default)]
pub(super) struct Isolate {
    clock: MonotonicClock,
    pub(super) regions: OrderedMap<String, RegionView>,
    /// Bearers' tokens, once one was verified.
    verified: Option<Verified<Bearer>>,
    /// Wrong tokens, by who brought them.
    pub(super) guesses: Guesses,
    /// Logins that wait until they are counted.
    turnstiles: Turnstiles,
    /// Requests of routes that wait for their turn, or may.
    seats: Seats,
    /// Questions that came before.
    pub(super) prepared: Prepared,
}

impl Isolate {
    /// Whose a token is, if it was verified by `revision` of the deployment's tokens. The bootstrap secret is none of these
    /// while somebody guesses it: each who brings it is then looked up among guesses first.
    fn verified(&self, text: &str, revision: Revision) -> Option<Rc<Bearer>> {
        let bearer = self.verified.as_ref()?.get(text, revision)?;
        let guessed = bearer.id == BOOTSTRAP && self.guesses.is_tried();
        (!guessed).then_some(bearer)
    }
}

/// The present time, never before an earlier reading.
pub fn now() -> EpochMs {
    if let Some(instant) = INSTANT.get() {
        return instant;
    }
    let read = EpochMs(Date::now() as u64);
    ISOLATE.with(|isolate| match isolate.try_borrow_mut() {
        Ok(mut isolate) => isolate.clock.read(read),
        Err(_) => read,
    })
}

/// Runs `step`, which waits for nothing, with the clock standing still, as the platform's own does between two waits: it
/// is read once.
pub fn at_one_instant<R>(step: impl FnOnce() -> R) -> R {
    let instant = now();
    INSTANT.set(Some(instant));
    let result = step();
    INSTANT.set(None);
    result
}

/// One step on the view of a region. Nothing in `step` may call back into this.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn with<R>(region: &str, step: impl FnOnce(&mut RegionView) -> R) -> Result<R, Failure> {
    memory(|isolate| {
        if !isolate.regions.contains_key(region) {
            if isolate.regions.len() >= REGIONS_MAX {
                return Err(Failure::Internal(format!("no room for region {region}")));
            }
            let view = RegionView::new(holder_id(), region);
            isolate.regions.insert(region.to_owned(), view);
        }
        match isolate.regions.get_mut(region) {
            Some(view) => Ok(step(view)),
            None => Err(Failure::Internal("no view".to_owned())),
        }
    })?
}

/// One step on all that the isolate remembers; refused where it is at work on itself.
pub(super) fn memory<R>(step: impl FnOnce(&mut Isolate) -> R) -> Result<R, Failure> {
    ISOLATE.with(|isolate| match isolate.try_borrow_mut() {
        Ok(mut isolate) => Ok(step(&mut isolate)),
        Err(error) => Err(Failure::Internal(error.to_string())),
    })
}

/// A policy that the isolate knows, of whatever region: all have the same, give or take a second.
pub fn any_policy() -> Option<Rc<Policy>> {
    ISOLATE.with(|isolate| {
        let isolate = isolate.try_borrow().ok()?;
        let mut loaded = isolate
            .regions
            .values()
            .filter_map(|view| view.loaded.as_ref());
        loaded.next().map(|loaded| Rc::clone(&loaded.policy))
    })
}

/// The newest tokens that the isolate knows, of whatever region, without a question.
pub fn any_access() -> Option<Rc<AccessTable>> {
    ISOLATE.with(|isolate| {
        let isolate = isolate.try_borrow().ok()?;
        let tables = isolate
            .regions
            .values()
            .filter_map(|view| view.tokens.table());
        tables.max_by_key(|table| table.revision()).map(Rc::clone)
    })
}

/// Whose a token is, if it was verified by `revision` of the deployment's tokens.
pub fn verified(text: &str, revision: Revision) -> Option<Rc<Bearer>> {
    ISOLATE.with(|cell| cell.try_borrow().ok()?.verified(text, revision))
}

/// One step on what is known of wrong tokens; nothing where the isolate is at work on itself.
pub fn guesses<R: Default>(step: impl FnOnce(&mut Guesses, EpochMs) -> R) -> R {
    let now = now();
    memory(|isolate| step(&mut isolate.guesses, now)).unwrap_or_default()
}

/// One step on the logins that wait until they are counted.
///
/// # Errors
/// When the isolate is at work on itself.
pub fn turnstiles<R>(step: impl FnOnce(&mut Turnstiles, EpochMs) -> R) -> Result<R, Failure> {
    let now = now();
    memory(|isolate| step(&mut isolate.turnstiles, now))
}

/// One step on the seats of requests that wait for their turn.
///
/// # Errors
/// When the isolate is at work on itself.
pub fn seats<R>(step: impl FnOnce(&mut Seats, EpochMs) -> R) -> Result<R, Failure> {
    let now = now();
    memory(|isolate| step(&mut isolate.seats, now))
}

/// One step on the view of a region that the isolate knows, for the bearer of a token that was verified by the tokens
/// of that view; `None` where one of both is not known, or is to be asked for anew.
pub fn known<R>(
    token: &str,
    region: impl FnOnce(&Policy) -> Option<String>,
    step: impl FnOnce(&mut RegionView, &str, &Rc<Bearer>) -> Option<R>,
) -> Option<R> {
    let now = now();
    let policy = any_policy()?;
    let region = region(&policy)?;
    ISOLATE.with(|isolate| {
        let mut isolate = isolate.try_borrow_mut().ok()?;
        let view = isolate
            .regions
            .get(&region)
            .filter(|view| view.is_fresh(now))?;
        let bearer = isolate.verified(token, view.tokens.revision())?;
        let view = isolate.regions.get_mut(&region)?;
        if bearer.principal.has_expired(now) {
            return None;
        }
        step(view, &region, &bearer)
    })
}

/// The regions that the isolate decides for.
pub fn regions() -> Vec<String> {
    ISOLATE.with(|isolate| match isolate.try_borrow() {
        Ok(isolate) => isolate.regions.keys().cloned().collect(),
        Err(_) => Vec::new(),
    })
}

/// Whether a token was verified once: then it is no garbage.
pub fn was_verified(text: &str) -> bool {
    let isolate = |isolate: &Isolate| isolate.verified.as_ref().map(|known| known.has(text));
    let known = ISOLATE.with(|cell| isolate(&*cell.try_borrow().ok()?));
    known.unwrap_or(false)
}

/// Whether a token is known to be one of those in force, as far as this isolate has heard.
pub fn is_known(text: &str) -> bool {
    any_access().is_some_and(|table| verified(text, table.revision()).is_some())
}

/// Remembers whose a token is that was verified by `revision`.
pub fn remember(text: &str, bearer: Bearer, revision: Revision) -> Rc<Bearer> {
    ISOLATE.with(|isolate| match isolate.try_borrow_mut() {
        Ok(mut isolate) => {
            let verified = isolate
                .verified
                .get_or_insert_with(|| Verified::new((random(), random())));
            verified.remember(text, bearer, revision)
        }
        Err(_) => Rc::new(bearer),
    })
}

/// Takes a policy that was just saved into every view: who saved it sees it at once.
pub fn adopt_everywhere(saved: &SavedPolicy) {
    let now = now();
    ISOLATE.with(|isolate| {
        if let Ok(mut isolate) = isolate.try_borrow_mut() {
            let views = isolate.regions.values_mut();
            views.for_each(|view| view.adopt(saved, now));
        }
    });
}

/// Drops the view of a region that the policy does not have, unless it still has something to tell.
pub fn forget(region: &str) {
    let now = now();
    ISOLATE.with(|isolate| {
        if let Ok(mut isolate) = isolate.try_borrow_mut() {
            let idle = |view: &RegionView| !view.has_unsent(now);
            if isolate.regions.get(region).is_some_and(idle) {
                isolate.regions.remove(region);
            }
        }
    });
}

/// A random id. Random values are refused while the module loads, so it is drawn in the first request.
fn holder_id() -> HolderId {
    HolderId(random())
}
