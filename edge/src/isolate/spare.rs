//! Slots of guards that no request has needed for a moment go back to their shards.

use futures_util::future::join_all;
use weir_shared::limiting::messages::{GuardAction, GuardBody, GuardReply};
use weir_shared::limits::OPERATOR_CALL_MS_MAX;
use weir_shared::name::SEPARATOR;
use weir_shared::wire::exchange::VERSION;
use worker::{Env, console_error};

use super::kept::{scope_of, shard_of, terms_of};
use super::loaded::Loaded;
use super::memory::{now, with};
use crate::objects::binding::{Address, call};

/// Returns the spare slots of a region that nobody needs to their shards.
pub(super) async fn return_spare(env: &Env, region: &str) {
    let at = now();
    let over = with(region, |view| {
        let over = view.spare_slots.over(at);
        view.loaded.clone().map(|loaded| (over, loaded))
    });
    let Ok(Some((over, loaded))) = over else {
        return;
    };
    let returns = over.into_iter().map(|(key, spare)| {
        let loaded = &loaded;
        async move {
            let (Some(scope), Some(terms), Some((slot, _))) = (
                scope_of(&loaded.policy, &key.limit),
                terms_of(loaded, &key, 1, at),
                spare.receipt.slot(),
            ) else {
                return;
            };
            let shard = shard_of(loaded, region, scope, &key.key);
            let body = GuardBody {
                v: VERSION,
                terms,
                key: key.key,
                kept: spare.receipt.kept,
                slot,
                action: GuardAction::Release,
            };
            // What is not heard of lapses.
            match call(env, Address::keys(&shard), &body, OPERATOR_CALL_MS_MAX).await {
                Ok(reply) => told(loaded, region, &key.limit, &body.key, reply),
                Err(error) => console_error!("return of a slot to {shard}: {error}"),
            }
        }
    });
    join_all(returns).await;
}

/// Passes on how many slots are taken.
fn told(loaded: &Loaded, region: &str, guard: &str, key: &str, reply: GuardReply) {
    let Some(word) = reply.in_flight else {
        return;
    };
    let tenant = key.split(SEPARATOR).next().unwrap_or_default();
    let known = loaded.policy.tiers.named(tenant).is_some();
    let guard = guard.rsplit(SEPARATOR).next().unwrap_or_default();
    // A view that cannot be reached tells nobody.
    let _told = with(region, |view| {
        view.outbox
            .pending()
            .in_flight((tenant, known), guard, word);
    });
}
