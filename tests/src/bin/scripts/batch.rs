//! Fifty checks in one request, and some of them at fault.

use anyhow::Result;
use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_client::{Decision, Fail, Item, Question, Weir, WeirError};

use weir_shared::ordered::OrderedMap;

use super::shared::{Heard, TENANT, client, options, plain, tell, tokens};

/// An answer in the form of the other clients' scripts.
fn answered(answer: Result<Decision, WeirError>) -> Value {
    match answer {
        Ok(decision) => json!({ "answered": decision }),
        error => plain(error),
    }
}

pub async fn run() -> Result<()> {
    let heard = Heard::default();
    // Long enough for a busy machine to ask fifty times.
    let weir = Weir::new(options(Fail::Closed).hooks(heard.clone()).batch_ms(1_000))?;
    let ask = |questions: Vec<Question>| {
        join_all(questions.into_iter().map(|question| weir.check(question)))
    };
    let fifty = ask(vec![tokens(2); 50])
        .await
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    let remaining: Vec<_> = fifty.iter().map(|decision| decision.remaining).collect();
    let allowed = fifty.iter().filter(|decision| decision.allowed).count();
    let requests = heard.paths();

    let mixed = |cost| {
        let wrong = Item::budget("none").cost(cost).tenant(TENANT);
        let nobody = Item::budget("tokens").cost(cost).tenant("");
        vec![tokens(cost), wrong, tokens(cost), nobody, tokens(cost)]
    };
    let answers: Vec<_> = ask(mixed(2)).await.into_iter().map(answered).collect();
    let retried = heard.paths();

    let alone = weir.check(tokens(2)).await?.remaining;
    let single = heard.paths();

    // A batch of 1,500 is more than Weir takes at once.
    let mut many = OrderedMap::new();
    for answer in weir.batch(vec![tokens(0); 1_500]).await {
        let decision = answer?;
        let cause = decision
            .cause
            .map(|cause| cause.to_string())
            .unwrap_or_default();
        let told = format!(
            "{} {cause}",
            plain(Ok(decision.reason)).as_str().unwrap_or_default()
        );
        *many.entry(told.trim().to_owned()).or_insert(0) += 1;
    }
    let cut = heard.paths();

    // The same in one call, where errors stand in the places of decisions.
    let listed = client()?
        .batch(mixed(0))
        .await
        .into_iter()
        .map(|answer| match answer {
            Ok(decision) => json!(decision.reason),
            Err(error) => json!(error.status),
        });
    tell(&json!({
        "remaining": remaining, "allowed": allowed, "requests": requests, "mixed": answers, "retried": retried,
        "alone": alone, "single": single, "many": many, "cut": cut, "listed": listed.collect::<Vec<_>>(),
    }));
    Ok(())
}
