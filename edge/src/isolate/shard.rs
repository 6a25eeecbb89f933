//! Questions to the shards of keys, those of the region and those of the whole deployment alike. They run to their end
//! whatever becomes of the request. Who is told what and when is the [node's](weir_shared::node::commit) word.

use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::join_all;
use weir_shared::limiting::messages::FinishBody;
use weir_shared::limiting::verdict::StepRules;
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::node::commit::{Commit, Effect, Event};
use weir_shared::node::question::answers::{Answers, Part};
use weir_shared::units::OpId;
use worker::{Env, console_error};

use super::memory::now;
use super::random::random;
use super::request::RequestHandles;
use crate::objects::binding::{Address, KeyShard, call};
use crate::objects::deadline::sleep;

/// How each check combines.
pub type Rules = Rc<Vec<StepRules>>;

/// A name for a question that no other has.
pub fn question_id() -> OpId {
    OpId(random())
}

/// Asks shards what is open. The answers come when everything stands, or the question is denied.
pub fn ask(
    handles: &RequestHandles,
    rules: Rules,
    answers: Answers,
    parts: Vec<Part<KeyShard>>,
) -> oneshot::Receiver<Answers> {
    let (landed, landing) = oneshot::channel();
    let env = handles.env.clone();
    handles.detach(async move {
        let (commit, first) = Commit::begin(rules, answers, parts);
        run(&env, commit, first, landed).await;
    });
    landing
}

/// Carries out what the node says, until nothing is left to do.
async fn run(
    env: &Env,
    mut commit: Commit<KeyShard>,
    mut effects: Vec<Effect>,
    landed: oneshot::Sender<Answers>,
) {
    let (mut landed, mut wakes_at) = (Some(landed), None);
    loop {
        let mut calls = Vec::new();
        for effect in effects {
            match effect {
                Effect::Decide(part) => calls.push((part, None)),
                Effect::Finish(part, end) => calls.push((part, Some(end))),
                Effect::Reply(answers) => {
                    // The request may have stopped waiting.
                    let _gone = landed.take().map(|landed| landed.send(answers));
                }
                Effect::WakeAt(at) => wakes_at = Some(at),
            }
        }
        let events = if !calls.is_empty() {
            let calls = calls.into_iter();
            join_all(calls.map(|(part, end)| say(env, &commit, part, end))).await
        } else if let Some(at) = wakes_at.take() {
            sleep(at.since(now())).await;
            vec![Event::Woke]
        } else {
            return;
        };
        let at = now();
        let events = events.into_iter();
        effects = events.flat_map(|event| commit.step(event, at)).collect();
    }
}

/// One call, and what came of it.
async fn say(env: &Env, commit: &Commit<KeyShard>, part: usize, end: Option<FinishBody>) -> Event {
    let asked = commit.part(part);
    match (asked, end) {
        (Some(asked), None) => {
            let answer = call(env, Address::keys(&asked.shard), &asked.body, CALL_MS_MAX).await;
            let reply = answer.map_err(|error| console_error!("shard {}: {error}", asked.shard));
            let reply = reply.ok();
            Event::Decided { part, reply }
        }
        (Some(asked), Some(end)) => {
            let answer = call(env, Address::keys(&asked.shard), &end, CALL_MS_MAX).await;
            let reply = answer.map_err(|error| console_error!("end at {}: {error}", asked.shard));
            let standing = reply.ok().map(|reply| reply.standing);
            Event::Finished { part, standing }
        }
        // Every part that is named is there.
        (None, _) => Event::Woke,
    }
}
