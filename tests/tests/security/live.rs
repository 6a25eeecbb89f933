//! The live socket is opened by pages of Weir's own address only.

use std::time::Duration;

use weir_shared::wire::role::Role;
use weir_tests::client::{Client, session_cookie};
use weir_tests::clock::now;

use crate::security::{ANSWERED, employ, login, one_isolate, request};

/// The status line of the answer to an upgrade with these headers, once it can be known who asks.
async fn upgrade(client: &Client, headers: &[(&str, &str)]) -> String {
    let host = client.origin().trim_start_matches("http://");
    let mut text = format!(
        "GET /operator/v1/live HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    );
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    let start = now();
    loop {
        let answer = client.send_raw(text.as_bytes()).await.unwrap();
        let status = answer.lines().next().unwrap_or_default();
        if !status.contains(" 503 ") || start.elapsed() > ANSWERED {
            return status.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn the_live_socket_opens_for_its_own_origin_only() {
    let (_workerd, root) = one_isolate().await;
    let (_, made) = employ(&root, &request("viewer", Role::Viewer)).await;
    let opened = login(&root.anonymous(), &made.token).await;
    let cookie = session_cookie(&opened).unwrap();
    let bearer = format!("Bearer {}", made.token);
    let own = root.origin().to_owned();
    let https = own.replace("http://", "https://");
    let longer = format!("{own}0");
    for origin in ["https://evil.example", "null", &https, &longer, "file://"] {
        for credential in [
            ("cookie", cookie.as_str()),
            ("authorization", bearer.as_str()),
        ] {
            let status = upgrade(&root, &[credential, ("origin", origin)]).await;
            let name = credential.0;
            assert!(status.contains(" 403 "), "{origin:?} with {name}: {status}");
        }
    }
    let empty = upgrade(&root, &[("cookie", &cookie), ("origin", "")]).await;
    assert!(empty.contains(" 403 "), "an empty origin is none: {empty}");
    let status = upgrade(&root, &[("cookie", &cookie)]).await;
    assert!(
        status.contains(" 403 "),
        "a browser says where its page is from: {status}"
    );
    let status = upgrade(&root, &[("origin", &own)]).await;
    assert!(status.contains(" 401 "), "{status}");
    for headers in [
        vec![("cookie", cookie.as_str()), ("origin", own.as_str())],
        vec![("authorization", bearer.as_str()), ("origin", own.as_str())],
        vec![("authorization", bearer.as_str())],
    ] {
        let status = upgrade(&root, &headers).await;
        assert!(
            status.contains(" 101 "),
            "{} headers: {status}",
            headers.len()
        );
    }
}
