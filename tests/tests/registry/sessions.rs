//! The keys that sessions are sealed with, and the sessions that were ended: what cannot be read ends all.

use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::clock;
use weir_tests::storage::objects;
use weir_tests::workerd::{Setup, TOKEN};

use crate::registry::{AUDIT, read};

const POLICY: &str = "/operator/v1/policy";

/// A region that was restarted asks by itself.
const HEARD: Duration = Duration::from_secs(30);

async fn await_status(client: &Client, due: u16) {
    let start = clock::now();
    loop {
        let status = client.get(POLICY).await.unwrap().status;
        if status == due {
            return;
        }
        assert!(start.elapsed() < HEARD, "{status}, not {due}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn damaged_keys_and_forgotten_logouts_end_every_session_and_nothing_else() {
    for damage in [
        "UPDATE seals SET key = 'x'",
        "UPDATE seals SET until = 7",
        "DELETE FROM seals",
        "UPDATE ended_sessions SET expires_at = 'x'",
        "UPDATE ended_sessions SET token = x'00'",
    ] {
        let mut workerd = Setup::isolates(&["weur"]).start().await.unwrap();
        let client = workerd.client(0).unwrap();
        let (ended, _) = client.anonymous().log_in(TOKEN).await.unwrap();
        let (open, _) = client.anonymous().log_in(TOKEN).await.unwrap();
        assert_eq!(ended.log_out().await.unwrap().status, 204);
        await_status(&open, 200).await;
        workerd.kill_hard();
        for object in objects(&workerd.disk(), "Registry").unwrap() {
            let rows = object.open().unwrap();
            assert!(rows.execute(damage, []).unwrap() > 0, "{damage}");
        }
        workerd.restart().await.unwrap();
        await_status(&open, 401).await;
        await_status(&ended, 401).await;
        let (anew, _) = client.anonymous().log_in(TOKEN).await.unwrap();
        await_status(&anew, 200).await;
        assert_eq!(ended.get(POLICY).await.unwrap().status, 401, "{damage}");
        await_status(&client, 200).await;
        let path = format!("{AUDIT}?action=sessions.revoke");
        let page: Value = read(&client, &path).await.unwrap().ok().unwrap();
        // A deployment without any key has none to put another in the place of.
        if !damage.starts_with("DELETE") {
            assert_eq!(
                page["records"][0]["actor"],
                json!("deployment"),
                "{damage}: {page}"
            );
        }
    }
}
