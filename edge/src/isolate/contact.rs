//! Contacts with the region's object: exchanges, counters and the policy in one call.

use futures_channel::oneshot;
use futures_util::future::{join, join_all};
use weir_shared::accounting::counters::{Decided, Entry};
use weir_shared::accounting::frame::FrameOutcome;
use weir_shared::accounting::pending::InWindow;
use weir_shared::algorithms::composite::StateKey;
use weir_shared::algorithms::scale::ScaledReceipt;
use weir_shared::contact::{ContactBody, ContactReply};
use weir_shared::json;
use weir_shared::limiting::messages::{DecideBody, ReturnBody};
use weir_shared::limits::{CALL_MS_MAX, REFRESH_MS_MAX, TOKENS_USED_MAX};
use weir_shared::node::LendAnswer;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, Revision, Sequence};
use weir_shared::wire::accounting::InFlight;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::saved_policy::SavedPolicy;
use worker::{Env, console_error};

use super::kept::{scope_of, shard_of, terms_of};
use super::loaded::Loaded;
use super::memory::{now, with};
use super::region::{Letter, RegionView};
use super::request::RequestHandles;
use super::shard::question_id;
use super::spare::return_spare;
use crate::http::failure::Failure;
use crate::objects::binding::{Address, KeyShard, call};
use crate::objects::deadline::{sleep, within};
use crate::objects::registry::shipped;
use crate::objects::{telemetry, usage};

/// A task that hands on what is left looks after it for this long; the platform ends it after 30 seconds.
const TASK_MS_MAX: u64 = 20_000;

/// The policy to apply. An isolate that was silent for longer than the region allows asks first, with a short
/// deadline; the last policy seen applies while there is no answer, and the shipped one where none was ever seen.
///
/// # Errors
/// When the isolate decides for too many regions.
pub async fn policy(handles: &RequestHandles, region: &str) -> Result<Loaded, Failure> {
    let started = now();
    loop {
        let now = now();
        let (loaded, fresh) = with(region, |view| (view.loaded.clone(), now < view.contact_due))?;
        let deadline_ms = if loaded.is_some() {
            REFRESH_MS_MAX
        } else {
            CALL_MS_MAX
        };
        match loaded {
            Some(loaded) if fresh || now.since(started) >= deadline_ms => return Ok(loaded),
            None if now.since(started) >= deadline_ms => return fallback(),
            _ => {}
        }
        if with(region, |view| claim_refresh(view, now))? {
            let landing = ask(handles, region, None)?;
            let _late = within(deadline_ms, landing).await;
        } else {
            sleep(2).await;
        }
    }
}

/// What applies where no policy was ever seen.
fn fallback() -> Result<Loaded, Failure> {
    let shipped = shipped().map_err(|refused| Failure::Internal(refused.0))?;
    let mut view = RegionView::new(Default::default(), "");
    view.adopt(&shipped, now());
    view.loaded.ok_or(Failure::Unavailable {
        what: "the shipped policy".to_owned(),
    })
}

/// One refresh is under way at a time.
fn claim_refresh(view: &mut RegionView, now: EpochMs) -> bool {
    let claimed = now >= view.refreshing_until;
    if claimed {
        view.refreshing_until = now.plus(CALL_MS_MAX);
    }
    claimed
}

/// Sends what holders want said, in one contact. The receiver is for this request alone, where a message of `pool` is sent.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn send(
    handles: &RequestHandles,
    region: &str,
    pool: &str,
) -> Result<Option<oneshot::Receiver<()>>, Failure> {
    let letter = with(region, RegionView::letter)?;
    if letter.exchanges.is_empty() {
        return Ok(None);
    }
    let awaited = letter.exchanges.iter().any(|body| body.budget == pool);
    let landing = start(handles, region, letter, None);
    Ok(awaited.then_some(landing))
}

/// Asks for what is in force, also in the interest of a token that the isolate does not know.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn ask(
    handles: &RequestHandles,
    region: &str,
    token_wanted: Option<String>,
) -> Result<oneshot::Receiver<()>, Failure> {
    let letter = with(region, |view| view.empty_letter())?;
    Ok(start(handles, region, letter, token_wanted))
}

/// Starts a contact that runs to its end whatever becomes of the request. The receiver is for this request alone.
fn start(
    handles: &RequestHandles,
    region: &str,
    letter: Letter,
    token_wanted: Option<String>,
) -> oneshot::Receiver<()> {
    let (landed, landing) = oneshot::channel();
    let env = handles.env.clone();
    let region = region.to_owned();
    handles.detach(async move {
        run(&env, &region, letter, token_wanted).await;
        // The request may have stopped waiting.
        let _gone = landed.send(());
    });
    landing
}

/// One contact, and what its answer changes.
async fn run(env: &Env, region: &str, letter: Letter, token_wanted: Option<String>) {
    let sent_at = now();
    let object = letter.object.clone();
    let sequences: Vec<_> = letter
        .exchanges
        .iter()
        .map(|body| (body.budget.clone(), body.sequence))
        .collect();
    let composed = with(region, |view| compose(view, letter, token_wanted, sent_at));
    let Ok(Some(body)) = composed else {
        return;
    };
    let frame = body.frame.as_ref().map(|frame| frame.sequence);
    let told = body.overload.is_some();
    let answer = call(env, Address::region(&object), &body, CALL_MS_MAX).await;
    let answered_at = now();
    let applied = with(region, |view| {
        view.refreshing_until = EpochMs(0);
        if told {
            let reply = answer.as_ref().ok();
            let reply = reply.and_then(|reply| reply.overload.as_ref());
            view.overload.finish(reply, answered_at);
        }
        match answer {
            Ok(reply) => {
                let branches = reply.branches;
                apply(view, &object, reply, &sequences, answered_at);
                if view.asks(&object) {
                    view.heard(sent_at);
                    if let Some(branches) = branches {
                        view.hears_of_branches(branches, answered_at);
                    }
                }
            }
            Err(error) => {
                console_error!("{object}: {error}");
                if let Some((leases, outbox)) = view.of(&object) {
                    for (pool, sequence) in &sequences {
                        leases.answered(pool, *sequence, None, answered_at);
                    }
                    if let Some(sequence) = frame {
                        outbox.fail(sequence);
                    }
                }
                view.tokens.uses.put_back(&body.tokens_used);
            }
        }
    });
    if let Err(failure) = applied {
        console_error!("contact: {failure:?}");
    }
}

/// What is said to an object: messages and counters to any that was asked, all else to the one that is. `None` where the
/// object is forgotten.
fn compose(
    view: &mut RegionView,
    letter: Letter,
    token_wanted: Option<String>,
    at: EpochMs,
) -> Option<ContactBody> {
    let asked = view.asks(&letter.object);
    let (tokens_used, overload) = match asked {
        true => (view.tokens.uses.take(TOKENS_USED_MAX, at), view.shares(at)),
        false => (Vec::new(), None),
    };
    let revision = view.loaded.as_ref();
    let revision = revision.map_or(Revision(0), |loaded| loaded.revision);
    let access_revision = view.tokens.told();
    let speaker = asked.then(|| view.speaker());
    let (leases, outbox) = view.of(&letter.object)?;
    if asked {
        outbox.pending().used(&usage::drain());
        outbox.pending().observed(&telemetry::drain());
    }
    Some(ContactBody {
        accounts: leases.accounts_of(&letter.exchanges),
        region: letter.object,
        revision,
        exchanges: letter.exchanges,
        frame: outbox.begin(at),
        access_revision,
        tokens_used,
        token_wanted,
        overload,
        speaker,
    })
}

fn apply(
    view: &mut RegionView,
    object: &str,
    reply: ContactReply,
    sequences: &[(String, Sequence)],
    now: EpochMs,
) {
    if let Some((leases, outbox)) = view.of(object) {
        for ((pool, sequence), answer) in sequences.iter().zip(reply.exchanges) {
            let answer = LendAnswer::from(answer);
            if let Err(refusal) = &answer {
                console_error!("exchange of {pool} refused: {refusal:?}");
            }
            leases.answered(pool, *sequence, Some(answer), now);
        }
        if let Some(frame) = &reply.frame
            && outbox.finish(frame) == Some(FrameOutcome::GivenUp)
        {
            console_error!(
                "a frame was given up: an earlier life of the region may have counted it"
            );
        }
    }
    if let Some(policy) = &reply.policy {
        // Read alone: a policy that is too new to be read must not cost the rest of the answer.
        match json::from_value::<SavedPolicy>(policy) {
            Ok(saved) => view.adopt(&saved, now),
            Err(error) => console_error!("policy: {error}"),
        }
    }
    if let Some(access) = &reply.access {
        view.tokens.adopt(access);
    }
    if view.asks(object) {
        view.contact_ms = reply.next_contact_ms;
    }
}

/// Counts one decision, unless it only looked, and makes sure that the region is told.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn count(
    handles: &RequestHandles,
    region: &str,
    decided: &Decided<'_>,
    entry: Entry,
    window: Option<&InWindow<'_>>,
) -> Result<(), Failure> {
    if decided.units > 0 {
        with(region, |view| view.outbox.enter(decided, entry, window))?;
    }
    schedule_flush(handles, region)
}

/// Passes on how many slots of a tenant's guard are taken.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn tell_slots(
    handles: &RequestHandles,
    region: &str,
    tenant: (&str, bool),
    guard: &str,
    word: InFlight,
) -> Result<(), Failure> {
    with(region, |view| {
        view.outbox.pending().in_flight(tenant, guard, word);
    })?;
    schedule_flush(handles, region)
}

/// Makes sure that a task tells the region what is left: counters, units that are not needed, demand.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn schedule_flush(handles: &RequestHandles, region: &str) -> Result<(), Failure> {
    let now = now();
    let claimed = with(region, |view| {
        let claim = now >= view.flushing_until && view.has_unsent(now);
        if claim {
            view.flushing_until = now.plus(TASK_MS_MAX + CALL_MS_MAX);
        }
        claim
    })?;
    if claimed {
        let env = handles.env.clone();
        let region = region.to_owned();
        handles.detach(async move { flush_task(&env, &region).await });
    }
    Ok(())
}

/// Makes sure that whoever has to be told or asked something is, after decisions that waited for nothing.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn flush(handles: &RequestHandles, region: &str) -> Result<(), Failure> {
    let now = now();
    with(region, |view| {
        let loaded = view.loaded.clone();
        let terms = |pool: &str| {
            let loaded = loaded.as_ref()?;
            loaded.policy.terms(pool, region, loaded.revision, now)
        };
        view.leases.refill(terms, now);
    })?;
    let _landing = send(handles, region, "")?;
    schedule_flush(handles, region)
}

async fn flush_task(env: &Env, region: &str) {
    let started = now();
    loop {
        sleep(with(region, |view| until_contact_ms(view, now())).unwrap_or(CALL_MS_MAX)).await;
        join(return_unspent(env, region), return_spare(env, region)).await;
        let at = now();
        let due = with(region, |view| {
            view.note_lapsed(at);
            letters_due(view, region, at)
        });
        let letters = due.unwrap_or_default().into_iter();
        join_all(letters.map(|letter| run(env, region, letter, None))).await;
        let now = now();
        let over = now.since(started) >= TASK_MS_MAX;
        let done = with(region, |view| {
            let done = over || !view.has_unsent(now);
            if done {
                view.flushing_until = EpochMs(0);
            }
            done
        });
        if done.unwrap_or(true) {
            return;
        }
    }
}

/// When the next round is made: so early that its answer is there before the region counts as unheard of.
fn until_contact_ms(view: &RegionView, now: EpochMs) -> u64 {
    let early_ms = view.contact_ms / 4;
    let due_ms = view.contact_due.since(now).saturating_sub(early_ms);
    due_ms.clamp(early_ms, view.contact_ms)
}

/// The next message of each holder that has something to tell, to the object that is asked and to those that were.
fn letters_due(view: &mut RegionView, region: &str, now: EpochMs) -> Vec<Letter> {
    let Some(loaded) = view.loaded.clone() else {
        return Vec::new();
    };
    let terms = |pool: &str| loaded.policy.terms(pool, region, loaded.revision, now);
    view.leases.flush(terms, now);
    let letter = view.letter();
    let told = view.outbox.is_empty() && !view.tokens.uses.due(now) && !view.overload.has_unsent();
    let mut letters = view.letters_left(terms, now);
    if !letter.exchanges.is_empty() || !told {
        letters.push(letter);
    }
    letters
}

/// Gives back units that were drawn from keys of shards and are not needed.
async fn return_unspent(env: &Env, region: &str) {
    let at = now();
    let bodies = with(region, |view| {
        let unspent = view.unspent(at);
        match &view.loaded {
            Some(loaded) => return_bodies(loaded, region, unspent, at),
            None => OrderedMap::new(),
        }
    });
    let bodies = bodies.unwrap_or_default();
    let calls = bodies.into_iter().map(|(shard, body)| async move {
        // What is not taken back in time stays spent.
        if let Err(error) = call(env, Address::keys(&shard), &body, CALL_MS_MAX).await {
            console_error!("return to {shard}: {error}");
        }
    });
    join_all(calls).await;
}

/// The questions that give units of keys back, one for each shard.
pub(super) fn return_bodies(
    loaded: &Loaded,
    region: &str,
    unspent: Vec<(StateKey, u64, ScaledReceipt)>,
    now: EpochMs,
) -> OrderedMap<KeyShard, DecideBody> {
    let mut bodies: OrderedMap<KeyShard, DecideBody> = OrderedMap::new();
    for (key, units, receipt) in unspent {
        let kept = scope_of(&loaded.policy, &key.limit);
        let terms = terms_of(loaded, &key, receipt.scale, now);
        let (Some(scope), Some(terms)) = (kept, terms) else {
            continue;
        };
        let shard = shard_of(loaded, region, scope, &key.key);
        let body = bodies.entry(shard).or_insert_with(|| DecideBody {
            v: VERSION,
            op: question_id(),
            limits: Vec::new(),
            returns: Vec::new(),
            groups: Vec::new(),
            hold: false,
        });
        if !body.limits.contains(&terms) {
            body.limits.push(terms);
        }
        body.returns.push(ReturnBody {
            limit: key.limit,
            key: key.key,
            units,
            receipt,
        });
    }
    bodies
}
