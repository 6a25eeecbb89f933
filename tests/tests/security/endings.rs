//! The end of sessions: by a logout, and of all at once.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use weir_shared::limits::CALL_MS_MAX;
use weir_shared::wire::role::Role;
use weir_tests::client::{Client, Credential};
use weir_tests::clock::now;
use weir_tests::fixtures::BUDGET;
use weir_tests::witness::{Fault, Witness};
use weir_tests::workerd::{Setup, TOKEN, Workerd};

use crate::security::{
    GUARD, SETTLE, await_status, change, employ, got, policy, posted, read, request, reserved,
};

const REVOKE_ALL: &str = "/operator/v1/sessions/revoke";

async fn deployment() -> (Workerd, Vec<Client>) {
    let setup = Setup::isolates(&["weur", "weur", "apac"]);
    let workerd = setup.start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let clients = workerd.clients().unwrap();
    (workerd, clients)
}

/// The same session, at every isolate.
fn everywhere(clients: &[Client], session: &Client) -> Vec<Client> {
    let cookie = session.credential().clone();
    clients
        .iter()
        .map(|client| client.with(cookie.clone()))
        .collect()
}

async fn records(client: &Client, action: &str) -> Vec<Value> {
    let path = format!("/operator/v1/audit?action={action}");
    let page: Value = got(client, &path).await.ok().unwrap();
    page["records"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_logout_ends_the_session_in_every_isolate_and_for_good() {
    let (mut workerd, clients) = deployment().await;
    let (_, ada) = employ(&clients[0], &request("ada", Role::Viewer)).await;
    let (session, _) = clients[0].anonymous().log_in(&ada.token).await.unwrap();
    let (other, _) = clients[1].anonymous().log_in(&ada.token).await.unwrap();
    for holder in everywhere(&clients, &session) {
        await_status(&holder, |status| status == 200).await;
    }
    change(401, async || session.log_out().await.unwrap()).await;
    assert_eq!(read(&session).await, 401, "the isolate that was told");
    for holder in everywhere(&clients, &session) {
        await_status(&holder, |status| status == 401).await;
    }
    for holder in everywhere(&clients, &other) {
        await_status(&holder, |status| status == 200).await;
    }
    let closed = records(&clients[0], "session.close").await;
    assert_eq!(closed.len(), 1, "{closed:?}");
    assert_eq!(closed[0]["actor"], "ada", "{closed:?}");
    assert_eq!(closed[0]["target"], ada.view.id.as_str(), "{closed:?}");

    workerd.restart().await.unwrap();
    let clients = workerd.clients().unwrap();
    for (holder, due) in everywhere(&clients, &session)
        .iter()
        .map(|holder| (holder, 401))
        .chain(
            everywhere(&clients, &other)
                .iter()
                .map(|holder| (holder, 200)),
        )
    {
        await_status(holder, |status| status == due).await;
    }
}

#[tokio::test]
async fn a_logout_that_cannot_be_kept_is_not_said_to_be_done() {
    let setup = Setup::isolates(&["weur"]).witnessed();
    let workerd = setup.start().await.unwrap();
    let client = workerd.client(0).unwrap();
    let (session, _) = client.anonymous().log_in(TOKEN).await.unwrap();
    let witness = workerd.witness().unwrap();
    witness
        .fault("Registry/end-session", Fault::Refuse, 1)
        .await
        .unwrap();
    let out = session.log_out().await.unwrap();
    assert_eq!(out.status, 503, "{}", out.text());
    assert_eq!(out.header("set-cookie"), None, "the browser can try again");
    assert_eq!(read(&session).await, 200);
    change(401, async || session.log_out().await.unwrap()).await;
    assert_eq!(read(&session).await, 401);
}

#[tokio::test]
async fn an_admin_ends_all_sessions_at_once_and_nothing_else() {
    let (_workerd, clients) = deployment().await;
    let root = &clients[0];
    let (_, ada) = employ(root, &request("ada", Role::Viewer)).await;
    let (_, bob) = employ(root, &request("bob", Role::Editor)).await;
    let (of_ada, _) = clients[1].anonymous().log_in(&ada.token).await.unwrap();
    let (of_bob, _) = clients[2].anonymous().log_in(&bob.token).await.unwrap();

    let check = json!({ "tenant": "pro:a", "budget": BUDGET, "cost": 10, "reserve": true });
    let reservation = reserved(root, &check).await;
    let guard = |action: &str| format!("/v1/guards/{GUARD}/{action}");
    let asked = json!({ "tenant": "pro:a" });
    let taken = posted(root, &guard("acquire"), &asked).await;
    let taken: Value = taken.ok().unwrap();

    for refused in [&of_ada, &of_bob] {
        let reply = posted(refused, REVOKE_ALL, &json!({})).await;
        assert_eq!(reply.status, 403, "{}", reply.text());
    }
    let revoke_all = async || {
        let asked = root.request(Method::POST, REVOKE_ALL);
        root.send(asked).await.unwrap()
    };
    change(204, revoke_all).await;
    for session in [&of_ada, &of_bob] {
        for holder in everywhere(&clients, session) {
            await_status(&holder, |status| status == 401).await;
        }
    }
    let ended = records(root, "sessions.revoke").await;
    let done: Vec<_> = ended
        .iter()
        .filter(|one| one["outcome"] == "done")
        .collect();
    assert_eq!(done.len(), 1, "{ended:?}");
    assert_eq!(done[0]["actor"], "bootstrap", "{ended:?}");

    // Whoever logs in now is known everywhere at once: no isolate takes the newer key for a forged one.
    for client in &clients {
        let (session, _) = client.anonymous().log_in(&ada.token).await.unwrap();
        for holder in everywhere(&clients, &session) {
            assert_known(&holder).await;
        }
        assert_eq!(read(&client.with_token(&ada.token)).await, 200);
    }
    // What was sealed before stays what it was.
    let settlement = json!({ "reservation": reservation, "actual": 4 });
    let slot = json!({ "slot": taken["slot"] });
    for client in &clients {
        let settled = posted(client, SETTLE, &settlement).await;
        assert_eq!(settled.status, 200, "{}", settled.text());
        let renewed = posted(client, &guard("renew"), &slot).await;
        let renewed: Value = renewed.ok().unwrap();
        assert_eq!(renewed["held"], true, "{renewed}");
    }
}

/// A session is known at once, but where the isolate asked for its key and was answered too late.
async fn assert_known(holder: &Client) {
    let asked = now();
    let status = read(holder).await;
    if status != 200 {
        let took = asked.elapsed();
        let late = took >= Duration::from_millis(CALL_MS_MAX);
        assert!(late, "{status} after {took:?}");
        await_status(holder, |status| status == 200).await;
    }
}

/// Versions of keys that nobody has: three that may be there by now, and two that are too far ahead.
const VERSIONS: [u64; 5] = [2, 3, 17, 18, 1_000_000];

/// How often each of them is made up, and how often at once.
const ROUNDS: u64 = 100;
const ROUNDS_AT_ONCE: usize = 10;

async fn calls(witness: &Witness) -> u64 {
    witness.seen().await.unwrap().calls.values().sum()
}

/// A session that was sealed by a newer key than an isolate has heard of makes it ask, but not for every made-up one.
#[tokio::test]
async fn made_up_versions_of_keys_do_not_make_every_request_a_call() {
    let setup = Setup::isolates(&["weur"]).witnessed();
    let workerd = setup.start().await.unwrap();
    let client = workerd.client(0).unwrap();
    assert_eq!(read(&client).await, 200);
    let witness = workerd.witness().unwrap();
    let (begun, before) = (now(), calls(&witness).await);
    for first in (0..ROUNDS).step_by(ROUNDS_AT_ONCE) {
        let rounds = first..first + ROUNDS_AT_ONCE as u64;
        let made_up = rounds.flat_map(|round| VERSIONS.map(|version| (version, round)));
        let asked = made_up.map(async |(version, round)| {
            let value = format!(
                "{version}.9999999999999.{round:016}.bootstrap.{}",
                "A".repeat(43)
            );
            let forged = client.with(Credential::Session {
                cookie: format!("weir_session={value}"),
                csrf: true,
            });
            read(&forged).await
        });
        for status in join_all(asked).await {
            assert_eq!(status, 401);
        }
    }
    let calls = calls(&witness).await - before;
    let asked = VERSIONS.len() as u64 * ROUNDS;
    // A version is asked for once a second; beside that, objects tell each other what they always do.
    let most = 20 + 10 * (begun.elapsed().as_secs() + 1);
    assert!(
        calls <= most && most < asked,
        "{calls} calls, not {most}, for {asked} made-up sessions"
    );
}
