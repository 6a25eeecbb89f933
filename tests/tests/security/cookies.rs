//! The session's cookie by the address that sets it.

use serde_json::json;
use weir_shared::access::session::{COOKIE, COOKIE_LOCAL};
use weir_tests::client::Client;
use weir_tests::reply::Reply;
use weir_tests::workerd::{PROTOCOL_HEADER, Setup, TOKEN};

use crate::security::{POLICY, SESSION, answered};

async fn log_in(client: &Client, protocol: &str, host: &str) -> String {
    let ask = async || {
        let asked = client
            .request(reqwest::Method::POST, SESSION)
            .header(PROTOCOL_HEADER, protocol)
            .header("host", host)
            .json(&json!({ "token": TOKEN }));
        client.send(asked).await.unwrap()
    };
    let reply = answered(ask).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("set-cookie").unwrap().to_owned()
}

async fn ask(client: &Client, protocol: &str, host: &str, cookie: &str) -> Reply {
    let ask = async || {
        let asked = client
            .request(reqwest::Method::GET, POLICY)
            .header(PROTOCOL_HEADER, protocol)
            .header("host", host)
            .header("cookie", cookie);
        client.send(asked).await.unwrap()
    };
    answered(ask).await
}

#[tokio::test]
async fn over_https_no_neighbour_can_set_the_session_s_cookie() {
    let workerd = Setup::isolates(&["weur"])
        .platform_header()
        .start()
        .await
        .unwrap();
    let client = workerd.client(0).unwrap().anonymous();
    let host = "weir.example.com";
    let cookie = log_in(&client, "https", host).await;
    let (pair, attributes) = cookie.split_once(';').unwrap();
    let (name, value) = pair.split_once('=').unwrap();
    assert_eq!(name, COOKIE, "{cookie}");
    let attributes: Vec<&str> = attributes.split(';').map(str::trim).collect();
    for needed in ["Secure", "Path=/", "HttpOnly", "SameSite=Strict"] {
        assert!(attributes.contains(&needed), "{needed}: {cookie}");
    }
    assert!(!cookie.to_lowercase().contains("domain"), "{cookie}");

    let local = format!("{COOKIE_LOCAL}={value}");
    for (protocol, host, sent, due) in [
        ("https", host, pair, 200),
        ("https", host, local.as_str(), 401),
        ("http", host, local.as_str(), 401),
        ("http", "localhost:8787", local.as_str(), 200),
        ("http", "127.0.0.1:8787", local.as_str(), 200),
        ("http", "localhost:8787", pair, 401),
        ("https", "localhost:8787", local.as_str(), 401),
    ] {
        let reply = ask(&client, protocol, host, sent).await;
        assert_eq!(
            reply.status,
            due,
            "{protocol}://{host} {sent}: {}",
            reply.text()
        );
    }
    let cookie = log_in(&client, "http", "localhost:8787").await;
    assert!(cookie.starts_with(&format!("{COOKIE_LOCAL}=")), "{cookie}");
}
