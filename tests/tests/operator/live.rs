//! The live socket: what is counted arrives, what was missed is told again, and only Weir's own pages may ask.

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::client::Client;
use weir_tests::socket::Socket;
use weir_tests::workerd::TOKEN;

use crate::operator::{TRIES, answered, decide, deployment};

const LIVE: &str = "/operator/v1/live";

async fn open(client: &Client, query: &str) -> Socket {
    let bearer = format!("Bearer {TOKEN}");
    let path = format!("{LIVE}{query}");
    let opened = Socket::open(client, &path, &[("Authorization", &bearer)]).await;
    opened.unwrap_or_else(|error| panic!("{path}: {error:#}"))
}

fn is(channel: &str) -> impl Fn(&Value) -> bool {
    move |message| message["channel"] == channel
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_decided_arrives_and_what_was_missed_is_told_again() {
    for _ in 0..TRIES {
        if arrives().await {
            return;
        }
    }
    panic!("the holders were out of reach each time");
}

/// Whether what is decided was admitted; then it asserts what is told of it.
async fn arrives() -> bool {
    let (_workerd, client) = deployment().await;
    let mut socket = open(&client, "").await;
    let hello = socket.next().await.unwrap();
    assert_eq!(
        (&hello["channel"], &hello["resumed"]),
        (&json!("hello"), &json!(false))
    );
    assert_eq!(hello["region"], "weur");
    let seven = json!({ "tenant": "acme", "budget": "tokens", "cost": 7 });
    if decide(&client, seven).await.reason == Reason::Unavailable {
        return false;
    }
    let counted = socket
        .next_that(|message| !message["tenants"]["acme"].is_null())
        .await
        .unwrap();
    assert_eq!(counted["channel"], "accounting");
    assert_eq!(
        counted["tenants"]["acme"]["budgets"]["tokens"]["admitted_units"],
        7
    );
    let shown = socket.next_that(is("decisions")).await.unwrap();
    assert_eq!(
        (
            &shown["samples"][0]["tenant"],
            &shown["samples"][0]["allowed"]
        ),
        (&json!("acme"), &json!(true))
    );
    assert_eq!(
        shown["previous"], counted["sequence"],
        "nothing came between"
    );
    let last = shown["sequence"].as_u64().unwrap();
    drop(socket);

    let five = json!({ "tenant": "hooli", "budget": "tokens", "cost": 5 });
    if decide(&client, five).await.reason == Reason::Unavailable {
        return false;
    }
    let mut again = open(&client, &format!("?after={last}")).await;
    let hello = again.next().await.unwrap();
    assert_eq!(hello["resumed"], true);
    let counted = again
        .next_that(|message| !message["tenants"]["hooli"].is_null())
        .await
        .unwrap();
    assert!(counted["sequence"].as_u64() > Some(last));
    assert_eq!(
        counted["tenants"]["hooli"]["budgets"]["tokens"]["admitted_units"],
        5
    );
    true
}

#[tokio::test]
async fn who_missed_too_much_is_told_so() {
    let (_workerd, client) = deployment().await;
    let mut socket = open(&client, "?after=12345").await;
    assert_eq!(socket.next().await.unwrap()["resumed"], false);
    let gap = socket.next().await.unwrap();
    assert_eq!(
        (&gap["channel"], &gap["after"]),
        (&json!("gap"), &json!(12_345))
    );
}

#[tokio::test]
async fn a_socket_is_told_of_the_channels_that_it_asked_for() {
    let (_workerd, client) = deployment().await;
    let mut socket = open(&client, "?channels=decisions").await;
    assert_eq!(
        socket.next().await.unwrap()["channels"],
        json!(["decisions"])
    );
    decide(
        &client,
        json!({ "tenant": "acme", "budget": "tokens", "cost": 7 }),
    )
    .await;
    let first = socket.next().await.unwrap();
    assert_eq!(first["channel"], "decisions");
    socket.send("ping").await.unwrap();
    socket.next_that(is("pong")).await.unwrap();
}

#[tokio::test]
async fn a_page_of_another_site_gets_no_socket() {
    let (_workerd, client) = deployment().await;
    let cookie = {
        let login = async || client.anonymous().post_session(TOKEN).await.unwrap();
        let reply = answered(login).await;
        weir_tests::client::session_cookie(&reply).unwrap()
    };
    let own = client.origin().to_owned();
    for (origin, status) in [("https://evil.example", "403"), ("null", "403")] {
        let headers = [("Cookie", cookie.as_str()), ("Origin", origin)];
        let refused = Socket::open(&client, LIVE, &headers).await.unwrap_err();
        assert!(
            format!("{refused:#}").contains(status),
            "{origin}: {refused:#}"
        );
    }
    let nobody = Socket::open(&client, LIVE, &[]).await.unwrap_err();
    assert!(format!("{nobody:#}").contains("401"), "{nobody:#}");
    let headers = [("Cookie", cookie.as_str()), ("Origin", own.as_str())];
    Socket::open(&client, LIVE, &headers)
        .await
        .expect("its own page");
}
