//! A token opens nothing from the instant at which it expires: no request, no session, no live socket.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::units::EpochMs;
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::role::Role;
use weir_tests::clock::epoch_ms;
use weir_tests::workerd::Setup;

use crate::security::{CHECK, TOKENS, employ, got, login, policy, posted, read, request};

/// Longer than all that comes before the end takes on any machine.
const VALID_MS: u64 = 10 * 60_000;

#[tokio::test]
async fn a_token_opens_nothing_once_it_has_expired() {
    let setup = Setup::isolates(&["weur"]).witnessed();
    let workerd = setup.start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let root = workerd.client(0).unwrap();
    let end = epoch_ms() + VALID_MS;
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
    assert_ne!(posted(&service, CHECK, &check).await.status, 401);
    for client in [&viewer, &session] {
        assert_eq!(read(client).await, 200);
    }
    let left = Duration::from_millis(end.saturating_sub(epoch_ms()) + 5);
    workerd.witness().unwrap().ahead(left).await.unwrap();
    for client in [&viewer, &session] {
        assert_eq!(read(client).await, 401);
    }
    assert_eq!(posted(&service, CHECK, &check).await.status, 401);
    let again = login(&root.anonymous(), &made.token).await;
    assert_eq!(again.status, 401);
    // It is listed until it is revoked.
    let listed = got(&root, &format!("{TOKENS}?search=guest")).await;
    let listed: Value = listed.json().unwrap();
    assert_eq!(listed["tokens"][0]["expires_at"], end);
}

#[tokio::test]
async fn a_token_that_would_have_expired_is_not_made() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let root = workerd.client(0).unwrap();
    for end in [0, 1, epoch_ms() - 1, u64::MAX] {
        let token = json!({ "name": "late", "role": "viewer", "expires_at": end });
        let refused = posted(&root, TOKENS, &token).await;
        assert_eq!(refused.status, 400, "{end}: {}", refused.text());
        assert_eq!(
            refused.problem().unwrap().field.as_deref(),
            Some("/expires_at")
        );
    }
}
