//! Questions to the ledgers of all regions at once. One that does not answer is named in what is made of the rest.

use futures_util::future::join_all;
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::wire::series::{TotalsBody, TotalsReply};
use worker::{Env, console_error};

use crate::objects::binding::{Address, Call, call};

/// What each ledger answered, in the order of `regions`; `None` for none.
pub async fn each<C: Call>(
    env: &Env,
    regions: &[String],
    body: impl Fn(&str) -> C,
) -> Vec<(String, Option<C::Reply>)> {
    let asked = regions.iter().map(async |region| {
        let answer = call(env, Address::ledger(region), &body(region), CALL_MS_MAX).await;
        if let Err(error) = &answer {
            console_error!("ledger of {region}: {error}");
        }
        (region.clone(), answer.ok())
    });
    join_all(asked).await
}

/// The totals of every ledger.
pub async fn totals(env: &Env, regions: &[String]) -> Vec<(String, Option<TotalsReply>)> {
    each(env, regions, |_| TotalsBody {}).await
}

/// The same, as reports take them.
pub fn borrowed(
    answers: &[(String, Option<TotalsReply>)],
) -> impl Iterator<Item = (&str, Option<&TotalsReply>)> {
    let pairs = answers.iter();
    pairs.map(|(region, answer)| (region.as_str(), answer.as_ref()))
}
