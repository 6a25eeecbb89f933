//! Questions to the shards of keys, those of the region and those of the whole deployment alike. They run to their end whatever becomes of the request, and what is not
//! answered in time is undone.

use futures_channel::oneshot;
use futures_util::future::join_all;
use weir_shared::limiting::messages::{DecideBody, DecideReply, FinishBody};
use weir_shared::limiting::verdict::verdict;
use weir_shared::limits::{CALL_MS_MAX, UNDO_ATTEMPTS_MAX};
use weir_shared::units::OpId;
use weir_shared::wire::exchange::VERSION;
use worker::{Env, console_error};

use super::answers::{Answers, Part, Rules};
use super::random::random;
use super::request::RequestHandles;
use crate::objects::binding::{Address, KeyShard, call};
use crate::objects::deadline::sleep;

/// A name for a question that no other has.
pub fn question_id() -> OpId {
    OpId(random())
}

/// Asks one shard in the background; `None` comes when it does not answer in time.
pub fn ask(
    handles: &RequestHandles,
    name: KeyShard,
    body: DecideBody,
) -> oneshot::Receiver<Option<DecideReply>> {
    let (landed, landing) = oneshot::channel();
    let env = handles.env.clone();
    handles.detach(async move {
        let reply = decide(&env, &name, &body).await;
        let lost = reply.is_none();
        // The request may have stopped waiting.
        let _gone = landed.send(reply);
        if lost {
            undo(&env, &name, body.op, false).await;
        }
    });
    landing
}

/// Asks several shards to hold, and commits or releases what they hold. The answers come when everything stands, or
/// the question is denied.
pub fn ask_all(
    handles: &RequestHandles,
    parts: Vec<Part>,
    rules: Rules,
    mut answers: Answers,
) -> oneshot::Receiver<Answers> {
    let (landed, landing) = oneshot::channel();
    let env = handles.env.clone();
    handles.detach(async move {
        let asking = parts
            .iter()
            .map(|part| decide(&env, &part.shard, &part.body));
        let replies = join_all(asking).await;
        for (part, reply) in parts.iter().zip(&replies) {
            answers.take(part, reply.as_ref());
        }
        let passed = verdict(&rules, &answers.decisions()).admitted;
        let stands = passed && commit_all(&env, &parts, &replies).await;
        let withdrawn = passed && !stands;
        if withdrawn {
            answers.withdraw(&parts);
        }
        // The request may have stopped waiting.
        let _gone = landed.send(answers);
        if !stands {
            let told = replies.iter().map(|reply| reply.is_some() && !withdrawn);
            let undoing = parts
                .iter()
                .zip(told)
                .map(|(part, heard)| undo(&env, &part.shard, part.body.op, heard));
            join_all(undoing).await;
        }
    });
    landing
}

async fn commit_all(env: &Env, parts: &[Part], replies: &[Option<DecideReply>]) -> bool {
    let held = |reply: &Option<DecideReply>| reply.as_ref().is_some_and(|reply| reply.admitted);
    let holding = parts.iter().zip(replies).filter(|(_, reply)| held(reply));
    let committing = holding.map(|(part, _)| async move {
        let body = FinishBody {
            v: VERSION,
            op: part.body.op,
            commit: true,
            heard: true,
        };
        let answer = call(env, Address::keys(&part.shard), &body, CALL_MS_MAX).await;
        matches!(answer, Ok(reply) if reply.standing)
    });
    join_all(committing).await.into_iter().all(|stands| stands)
}

async fn decide(env: &Env, name: &KeyShard, body: &DecideBody) -> Option<DecideReply> {
    match call(env, Address::keys(name), body, CALL_MS_MAX).await {
        Ok(reply) => Some(reply).filter(|reply| reply.taken),
        Err(error) => {
            console_error!("shard {name}: {error}");
            None
        }
    }
}

/// Undoes a question, however far it came. Tried again for a while: what cannot be undone lapses if it was held, and
/// stays charged if it was not.
async fn undo(env: &Env, name: &KeyShard, op: OpId, heard: bool) {
    let body = FinishBody {
        v: VERSION,
        op,
        commit: false,
        heard,
    };
    for attempt in 0..UNDO_ATTEMPTS_MAX {
        match call(env, Address::keys(name), &body, CALL_MS_MAX).await {
            Ok(_) => return,
            Err(error) => console_error!("undo at {name}: {error}"),
        }
        sleep(CALL_MS_MAX << attempt).await;
    }
}
