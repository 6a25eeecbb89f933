//! A console's session.

use serde_json::Value;
use weir_tests::client::{Credential, session_cookie};
use weir_tests::workerd::{Setup, TOKEN, Workerd};

use crate::security::{SESSION, answered, got, login, one_isolate, read};

#[tokio::test]
async fn a_session_is_a_cookie_that_scripts_and_other_sites_cannot_use() {
    let (workerd, client) = one_isolate().await;
    let anonymous = client.anonymous();
    let reply = login(&anonymous, TOKEN).await;
    let header = reply.header("set-cookie").expect("a cookie").to_owned();
    let attributes: Vec<String> = header
        .split(';')
        .skip(1)
        .map(|part| part.trim().to_lowercase())
        .collect();
    for needed in ["httponly", "secure", "samesite=strict", "path=/"] {
        assert!(
            attributes.iter().any(|attribute| attribute == needed),
            "{needed} is not in {header}"
        );
    }
    assert!(
        !attributes
            .iter()
            .any(|attribute| attribute.starts_with("domain")),
        "{header}"
    );
    assert!(
        !header.contains(TOKEN) && !reply.text().contains(TOKEN),
        "the token came back"
    );

    let cookie = session_cookie(&reply).unwrap();
    let with = |cookie: String| anonymous.with(Credential::Session { cookie, csrf: true });
    let session: Value = got(&with(cookie.clone()), SESSION).await.ok().unwrap();
    assert_eq!(session["role"], "admin");
    assert!(session["expires_at"].as_u64().unwrap() > weir_tests::clock::epoch_ms());
    assert_eq!(got(&anonymous, SESSION).await.status, 401);

    for forged in forgeries(&cookie) {
        let status = read(&with(forged.clone())).await;
        assert_eq!(status, 401, "cookie {forged}");
    }
    let elsewhere = Setup::isolates(&["weur"])
        .token(Some("another-token-of-the-tests-7654321"))
        .start()
        .await
        .unwrap();
    let foreign = elsewhere.client(0).unwrap().with(Credential::Session {
        cookie: cookie.clone(),
        csrf: true,
    });
    assert_eq!(read(&foreign).await, 401, "a session of another deployment");

    let session = with(cookie);
    let out = answered(async || session.log_out().await.unwrap()).await;
    assert_eq!(out.status, 204);
    let cleared = out
        .header("set-cookie")
        .expect("the cookie is taken back")
        .to_lowercase();
    assert!(cleared.contains("max-age=0"), "{cleared}");
    assert!(!workerd.log().contains(TOKEN), "the token is in the log");
}

/// The cookie with any one character changed, cut short, empty, or valid for longer.
/// Whoever has changed the secret has taken it from whoever knew the old one.
#[tokio::test]
async fn a_session_that_a_secret_opened_ends_with_that_secret() {
    let (mut workerd, client) = one_isolate().await;
    let anonymous = client.anonymous();
    let cookie = session_cookie(&login(&anonymous, TOKEN).await).unwrap();
    let status = async |workerd: &Workerd| {
        let csrf = true;
        let cookie = cookie.clone();
        let client = workerd.client(0).unwrap().anonymous();
        let session = client.with(Credential::Session { cookie, csrf });
        read(&session).await
    };
    workerd.restart().await.unwrap();
    assert_eq!(status(&workerd).await, 200, "by the same secret it goes on");
    let another = "another-token-of-the-tests-7654321";
    workerd.restart_with_token(another).await.unwrap();
    assert_eq!(status(&workerd).await, 401);
    assert_eq!(login(&anonymous, another).await.status, 200);
}

fn forgeries(cookie: &str) -> Vec<String> {
    let (name, value) = cookie.split_once('=').expect("name=value");
    let mut forged: Vec<String> = (0..value.len())
        .map(|at| {
            let mut bytes = value.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'5' { b'6' } else { b'5' };
            format!("{name}={}", String::from_utf8_lossy(&bytes))
        })
        .collect();
    forged.extend(
        [
            "".to_owned(),
            ".".to_owned(),
            value[..value.len() - 1].to_owned(),
            format!("9{value}"),
        ]
        .map(|value| format!("{name}={value}")),
    );
    forged
}
