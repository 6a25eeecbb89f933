//! Checks of every kind, denied ones, and requests that are wrong.

use anyhow::Result;
use serde_json::{Map, Value, json};
use weir_client::{Fail, Item, Options, Question, ReportedOutcome, Weir};

use super::shared::{TENANT, client, left, origin, plain, tell, tokens};

pub async fn run() -> Result<()> {
    let weir = client()?;
    let mut told = Map::new();
    let costs = [("results", 2), ("bytes", 4_096)];
    let several = [
        Item::budget("tokens").cost(7),
        Item::limit("per_ip").key("203.0.113.9"),
        Item::overload("origin"),
    ];
    let keys = [("ip", "203.0.113.9"), ("user", "bob")];
    let questions: [(&str, Question); 10] = [
        ("budget", tokens(3)),
        ("denied", tokens(998)),
        ("never", tokens(1_001)),
        ("limit", Item::limit("per_ip").key("203.0.113.9").into()),
        ("login", Item::limit("login").keys(keys).into()),
        ("meter", Item::meter("results").cost(20).tenant(TENANT)),
        ("meters", Item::meters(costs).tenant(TENANT)),
        ("guard", Item::guard("calls").tenant(TENANT)),
        ("overload", Item::overload("origin").tenant(TENANT)),
        ("several", Question::all(several).tenant(TENANT)),
    ];
    for (name, question) in questions {
        told.insert(name.to_owned(), plain(weir.check(question).await));
    }
    let slot = told["guard"]["slot"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let mut put = |name: &str, value: Value| told.insert(name.to_owned(), value);
    put("released", plain(weir.release("calls", &slot).await));
    let reported = weir.report("origin", TENANT, ReportedOutcome::Success);
    put("reported", json!(reported.await?));
    let place = || Item::limit("shape").key("k");
    put("place", plain(weir.place(place()).await));
    put("queued", plain(weir.place(place()).await));
    put("left", json!(left(&weir).await?));

    let wrong = [
        Item::budget("tokens"),
        Item::limit("per_ip").key("k").cost(u64::MAX),
    ];
    put(
        "invalid",
        plain(weir.check(Question::all(wrong).tenant(TENANT)).await),
    );
    put(
        "unknown",
        plain(weir.check(Item::budget("none").tenant(TENANT)).await),
    );
    let stranger = Options::new(origin(), "nobody", Fail::Closed).timeout_ms(20_000);
    put(
        "stranger",
        plain(Weir::new(stranger)?.check(tokens(1)).await),
    );
    tell(&Value::Object(told));
    Ok(())
}
