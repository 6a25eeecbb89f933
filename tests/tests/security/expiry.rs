//! A token opens nothing from the instant at which it expires: no request, no session, no live socket.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::units::EpochMs;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::workerd::Setup;

use crate::security::{CHECK, POLICY, TOKENS, employ, policy, request};

#[tokio::test]
async fn a_token_opens_nothing_once_it_has_expired() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let root = workerd.client(0).unwrap();
    // Eight times what one token takes here: all that comes before the end has to fit.
    let start = now();
    employ(&root, &request("first", Role::Viewer)).await;
    let end = epoch_ms() + 4_000.max(8 * start.elapsed().as_millis() as u64);
    let token = |name: &str, role| TokenRequest {
        expires_at: Some(EpochMs(end)),
        ..request(name, role)
    };
    let (viewer, made) = employ(&root, &token("guest", Role::Viewer)).await;
    let (service, _) = employ(&root, &token("batch", Role::Service)).await;
    let (session, opened) = root.anonymous().log_in(&made.token).await.unwrap();
    // It says when it ends, and ends no later than what let it in.
    assert_eq!(opened.expires_at, end);
    let check = json!({ "tenant": "acme", "limit": "per_key", "key": "k" });
    assert_ne!(service.post(CHECK, &check).await.unwrap().status, 401);
    for client in [&viewer, &session] {
        assert_eq!(client.get(POLICY).await.unwrap().status, 200);
    }
    let left = end.saturating_sub(epoch_ms()) + 5;
    tokio::time::sleep(Duration::from_millis(left)).await;
    for client in [&viewer, &session] {
        assert_eq!(client.get(POLICY).await.unwrap().status, 401);
    }
    assert_eq!(service.post(CHECK, &check).await.unwrap().status, 401);
    let again = root.anonymous().post_session(&made.token).await.unwrap();
    assert_eq!(again.status, 401);
    // It is listed until it is revoked.
    let listed = root.get(&format!("{TOKENS}?search=guest")).await.unwrap();
    let listed: Value = listed.json().unwrap();
    assert_eq!(listed["tokens"][0]["expires_at"], end);
}

#[tokio::test]
async fn a_token_that_would_have_expired_is_not_made() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let root = workerd.client(0).unwrap();
    for end in [0, 1, epoch_ms() - 1, u64::MAX] {
        let token = json!({ "name": "late", "role": "viewer", "expires_at": end });
        let refused = root.post(TOKENS, &token).await.unwrap();
        assert_eq!(refused.status, 400, "{end}: {}", refused.text());
        assert_eq!(
            refused.problem().unwrap().field.as_deref(),
            Some("/expires_at")
        );
    }
}
