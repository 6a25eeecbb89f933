//! Reservations, settled when their scope ends, however it ends.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};
use weir_client::{Item, Outcome, Question, Reservation, Weir};

use super::shared::{Heard, TENANT, client, heard, left, settled_left, tell, tokens};

/// What settlements said.
fn settled(heard: &Heard) -> Vec<u64> {
    let requests = heard.take().into_iter().filter(|one| one.status.is_none());
    let bodies = requests
        .filter(|one| one.path == "/v1/settle")
        .map(|one| one.body);
    let values = bodies.filter_map(|body| serde_json::from_str::<Value>(&body).ok());
    values
        .filter_map(|value| value["actual"].as_u64())
        .collect()
}

struct Scopes {
    weir: Weir,
    heard: Heard,
}

impl Scopes {
    /// Runs one, after which `due` units are left, and tells what it came to.
    async fn scope<F>(
        &self,
        due: u64,
        question: Question,
        run: impl FnOnce(Reservation) -> F,
    ) -> Result<Value>
    where
        F: Future<Output = Result<Value, &'static str>>,
    {
        let outcome = self.weir.reserve(question, run).await?;
        let mut told = Map::new();
        told.insert("allowed".to_owned(), json!(outcome.decision().allowed));
        match outcome.value() {
            Some(Ok(value)) => told.insert("value".to_owned(), value),
            Some(Err(thrown)) => told.insert("thrown".to_owned(), json!(thrown)),
            None => None,
        };
        told.insert("settled".to_owned(), json!(settled(&self.heard)));
        told.insert(
            "left".to_owned(),
            json!(settled_left(&self.weir, due).await?),
        );
        Ok(Value::Object(told))
    }

    /// A future that is dropped in its scope settles all the same, to what it had said.
    async fn dropped(&self) -> Result<Vec<u64>> {
        let before = left(&self.weir).await?;
        let scope = self.weir.reserve(tokens(100), |reservation| async move {
            reservation.used(1);
            sleep(Duration::from_secs(60)).await;
            Ok::<_, &str>(())
        });
        // It is charged before it is dropped.
        let mut scope = Box::pin(scope);
        while left(&self.weir).await? != before - 100 {
            let waited = timeout(Duration::from_millis(20), &mut scope).await;
            anyhow::ensure!(waited.is_err(), "the scope has ended");
        }
        drop(scope);
        while left(&self.weir).await? != before - 1 {
            sleep(Duration::from_millis(10)).await;
        }
        Ok(settled(&self.heard))
    }
}

pub async fn run() -> Result<()> {
    let (weir, heard) = heard()?;
    let scopes = Scopes { weir, heard };
    let weir = &scopes.weir;
    let question = || tokens(100);
    let answer = || Ok(json!("answer"));
    let used = scopes.scope(970, question(), |reservation| async move {
        reservation.used(10);
        reservation.used(30);
        answer()
    });
    let used = used.await?;
    let silent = scopes
        .scope(870, question(), |_| async move { answer() })
        .await?;
    let threw = scopes
        .scope(870, question(), |_| async { Err("before a word") })
        .await?;
    let threw_late = scopes.scope(850, question(), |reservation| async move {
        reservation.used(20);
        Err("after a word")
    });
    let threw_late = threw_late.await?;
    let beyond = scopes.scope(700, question(), |reservation| async move {
        reservation.used(150);
        Ok(Value::Null)
    });
    let beyond = beyond.await?;
    let denied = scopes
        .scope(700, tokens(5_000), |_| async { Err("it is not called") })
        .await?;
    let items = [
        Item::budget("tokens").cost(100),
        Item::limit("per_ip").key("k"),
        Item::guard("calls"),
    ];
    let several = scopes.scope(
        650,
        Question::all(items).tenant(TENANT),
        |reservation| async move {
            let other = weir.check(Item::guard("calls").tenant(TENANT)).await;
            reservation.used(50);
            other
                .map(|decision| json!(decision.reason))
                .map_err(|_| "no answer")
        },
    );
    let several = several.await?;
    let free = weir
        .acquire(TENANT, "calls", |_| async { "mine" })
        .await?
        .value();
    settled(&scopes.heard);
    let block = weir.reserve(question(), |reservation| async move {
        reservation.used(40);
        Ok::<_, ()>(reservation.decision().allowed)
    });
    let block = matches!(
        block.await?,
        Outcome::Allowed {
            value: Ok(true),
            ..
        }
    );
    let block_settled = settled(&scopes.heard);
    let left = settled_left(weir, 610).await?;
    tell(&json!({
        "used": used, "silent": silent, "threw": threw, "threwLate": threw_late, "beyond": beyond, "denied": denied,
        "several": several, "free": free, "block": block, "blockSettled": block_settled, "left": left,
        "cancelled": scopes.dropped().await?,
    }));
    Ok(())
}

/// A settlement whose first answer is lost on its way: told again whatever the options say.
pub async fn settle_again() -> Result<()> {
    let weir = client()?;
    let outcome = weir.reserve(tokens(100), |reservation| async move {
        reservation.used(30);
        Ok::<_, ()>(Value::Null)
    });
    let value = outcome.await?.value();
    tell(&json!({ "value": value.and_then(Result::ok), "left": settled_left(&weir, 970).await? }));
    Ok(())
}
