//! The token that the deployment came with: once it is retired, who knows it can make nothing with it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use weir_shared::access::token::TokenKey;
use weir_shared::wire::role::Role;
use weir_tests::client::{Client, Credential};
use weir_tests::clock;
use weir_tests::workerd::{Setup, Workerd};

use crate::security::{GUARD, SETTLE, TOKENS, employ, got, policy, posted, read, request};

/// As long as the key of a MAC.
const SECRET: &[u8; 32] = b"a-secret-that-was-written-down--";

const HOURS_MS: u64 = 3_600_000;

/// A deployment whose first token is retired, with a client of the admin that retired it and that admin's id, which the
/// audit log tells every viewer.
async fn retired() -> (Workerd, Client, String) {
    let secret = std::str::from_utf8(SECRET).unwrap();
    let setup = Setup::isolates(&["weur"]).token(Some(secret));
    let workerd = setup.start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let root = workerd.client(0).unwrap();
    let (admin, made) = employ(&root, &request("admin", Role::Admin)).await;
    crate::security::await_status(&root, |status| status == 401).await;
    (workerd, admin, made.view.id)
}

fn mac(purpose: &str, signed: &str) -> String {
    let mac = TokenKey::new(*SECRET).mac_of(purpose, signed);
    URL_SAFE_NO_PAD.encode(mac.unwrap())
}

/// Cookies that say they are sessions of the admin, in every form that a session has had.
fn sessions(admin: &str) -> Vec<String> {
    let now = clock::epoch_ms();
    let mut forged = Vec::new();
    for ends_at in [now + HOURS_MS, now + 100_000 * HOURS_MS] {
        let mut signed = vec![format!("{ends_at}.{admin}")];
        signed
            .extend((0..4).map(|version| format!("{version}.{ends_at}.AAAAAAAAAAAAAAAA.{admin}")));
        for signed in signed {
            for purpose in ["weir session 1", "weir session 2", "weir session 3"] {
                let value = format!("{signed}.{}", mac(purpose, &signed));
                forged.push(format!("weir_session={value}"));
                forged.push(format!("__Host-weir_session={value}"));
            }
        }
    }
    forged
}

#[tokio::test]
async fn nobody_forges_an_admin_s_session_with_the_retired_token() {
    let (_workerd, admin, id) = retired().await;
    for cookie in sessions(&id) {
        let forged = admin.with(Credential::Session {
            cookie: cookie.clone(),
            csrf: true,
        });
        let made = posted(&forged, TOKENS, &request("backdoor", Role::Admin)).await;
        assert_eq!(made.status, 401, "{cookie}: {}", made.text());
        assert_eq!(read(&forged).await, 401, "{cookie}");
    }
    let tokens: Value = got(&admin, TOKENS).await.ok().unwrap();
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 1, "{tokens}");
}

/// Texts that say they were sealed, in every form that they have had.
fn sealed(what: &str, body: &Value) -> Vec<String> {
    let body = URL_SAFE_NO_PAD.encode(body.to_string());
    let mut signed = vec![body.clone()];
    signed.extend((0..4).map(|version| format!("{version}.{body}")));
    let purposes = [format!("weir {what} 1"), format!("weir {what} 2")];
    let with = |signed: &String, purpose: &String| format!("{signed}.{}", mac(purpose, signed));
    let texts = signed
        .iter()
        .flat_map(|signed| purposes.iter().map(move |one| with(signed, one)));
    texts.collect()
}

#[tokio::test]
async fn nobody_forges_reservations_and_slots_with_the_retired_token() {
    let (_workerd, admin, _) = retired().await;
    let ends_at = clock::epoch_ms() + 60_000;
    let reservation = json!({ "op": 7, "region": "weur", "expires_at": ends_at, "charges": [] });
    for text in sealed("reservation", &reservation) {
        let settlement = json!({ "reservation": text, "actual": 0 });
        let settled = posted(&admin, SETTLE, &settlement).await;
        assert_eq!(settled.status, 400, "{text}: {}", settled.text());
    }
    let slot = json!({ "guard": GUARD, "tenant": "acme", "held": { "id": 7 } });
    for text in sealed("slot", &slot) {
        for action in ["renew", "release"] {
            let path = format!("/v1/guards/{GUARD}/{action}");
            let reply = posted(&admin, &path, &json!({ "slot": text })).await;
            assert_eq!(reply.status, 400, "{text}: {}", reply.text());
        }
    }
}
