//! Nobody blinds the audit log or pushes its records out: what one does often is summed up, beside everybody else's.

use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use weir_shared::access::role::Role;
use weir_shared::audit::summary::in_full_per_hour_max;
use weir_shared::limits::AUDIT_SUMMARY_MS;
use weir_shared::wire::audit::{AuditEntry, AuditVerdict, Outcome};
use weir_tests::client::Client;
use weir_tests::fixtures::LIMIT;
use weir_tests::storage::objects;
use weir_tests::workerd::{Setup, Workerd};

use crate::security::{TOKENS, employ, policy, request};

async fn deployment() -> (Workerd, Client) {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    workerd.apply(&policy()).await.unwrap();
    let root = workerd.client(0).unwrap();
    (workerd, root)
}

async fn records(client: &Client, filter: &str) -> Vec<AuditEntry> {
    let path = format!("/operator/v1/audit?limit=500&{filter}");
    let reply = client.get(&path).await.unwrap();
    let mut page: Value = reply.json().unwrap();
    serde_json::from_value(page["records"].take()).unwrap()
}

/// Waits until the log has so many records of a kind: those of what was refused are written after the answer.
async fn await_records(client: &Client, filter: &str, count: usize) -> Vec<AuditEntry> {
    for _ in 0..500 {
        let records = records(client, filter).await;
        if records.len() >= count {
            return records;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{filter}: {} records", records(client, filter).await.len());
}

/// Looks at the registry's rows while nothing runs.
async fn between_runs<R>(workerd: &mut Workerd, look: impl FnOnce(&Connection) -> R) -> R {
    workerd.kill_hard();
    let registry = &objects(&workerd.disk(), "Registry").unwrap()[0];
    let seen = look(&registry.open().unwrap());
    workerd.restart().await.unwrap();
    seen
}

/// Makes the summaries as old as those that are due.
async fn age_summaries(workerd: &mut Workerd) {
    let age = format!("UPDATE audit_summaries SET since = since - {AUDIT_SUMMARY_MS}");
    between_runs(workerd, |rows| rows.execute(&age, []).unwrap()).await;
}

#[tokio::test]
async fn refused_logins_of_strangers_do_not_hide_what_an_editor_is_refused() {
    let (mut workerd, root) = deployment().await;
    let (editor, made) = employ(&root, &request("mallory", Role::Editor)).await;
    let strangers = 200;
    for _ in 0..strangers {
        let login = root.anonymous().post_session("weir_nobody").await.unwrap();
        assert!([401, 429].contains(&login.status), "{}", login.status);
    }
    let wanted = json!({ "name": "mine", "role": "admin" });
    let escalation = editor.post(TOKENS, &wanted).await.unwrap();
    assert_eq!(escalation.status, 403);
    let refused = await_records(&root, "outcome=refused&actor=mallory", 1).await;
    let record = &refused[0].record;
    assert_eq!(record.action, "token.create");
    assert_eq!(record.token.as_ref(), Some(&made.view.id));
    let in_full = records(&root, "outcome=refused&action=session.open").await;
    let max = in_full_per_hour_max("") as usize;
    assert!(in_full.len() <= max, "{}", in_full.len());
    age_summaries(&mut workerd).await;
    let all = records(&root, "outcome=refused&action=session.open").await;
    // At most one more: of those that were told to the registry, none is lost.
    assert!(all.len() <= in_full.len() + 1, "{}", all.len());
    let told: u64 = all
        .iter()
        .map(|entry| entry.record.after["summed_up"].as_u64().unwrap_or(1))
        .sum();
    assert!(told > max as u64 || in_full.len() < max, "{told}");
}

#[tokio::test]
async fn an_editor_pushes_nothing_out_of_the_log_and_nothing_it_does_is_lost() {
    let (mut workerd, root) = deployment().await;
    let (editor, made) = employ(&root, &request("mallory", Role::Editor)).await;
    let (other, _) = employ(&root, &request("ada", Role::Editor)).await;
    let max = in_full_per_hour_max("mallory") as usize;
    let more = 60;
    let reset = |key: usize| json!({ "limit": LIMIT, "key": format!("key-{key}") });
    for key in 0..max + more {
        let done = editor
            .post("/operator/v1/reset", &reset(key))
            .await
            .unwrap();
        assert_eq!(done.status, 200, "{}", done.text());
    }
    let resets = "action=state.reset&actor=mallory";
    assert_eq!(records(&root, resets).await.len(), max);
    // Who does little is recorded as ever.
    let done = other.post("/operator/v1/reset", &reset(0)).await.unwrap();
    assert_eq!(done.status, 200);
    assert_eq!(
        records(&root, "action=state.reset&actor=ada").await.len(),
        1
    );

    // Nothing of it is in memory alone.
    let kept = "SELECT sum(json_extract(body, '$.count')) FROM audit_summaries";
    let kept: i64 = between_runs(&mut workerd, |rows| {
        rows.query_row(kept, [], |row| row.get(0)).unwrap()
    })
    .await;
    assert_eq!(kept, more as i64);
    age_summaries(&mut workerd).await;
    let all = records(&root, resets).await;
    assert_eq!(all.len(), max + 1);
    let summary = &all[0].record;
    assert_eq!(summary.after["summed_up"], more);
    assert_eq!(summary.token.as_ref(), Some(&made.view.id));
    assert_eq!(summary.outcome, Outcome::Done);
    assert_eq!(summary.after["targets"], json!([all[1].record.target]));
    let verdict = root.get("/operator/v1/audit/verify").await.unwrap();
    let verdict: AuditVerdict = verdict.json().unwrap();
    assert!(verdict.intact, "{verdict:?}");
}

#[tokio::test]
async fn two_live_tokens_never_have_one_name_in_the_log() {
    let (_workerd, root) = deployment().await;
    let (_, ada) = employ(&root, &request("ada", Role::Viewer)).await;
    let wanted = json!({ "name": "ada", "role": "editor" });
    let taken = root.post(TOKENS, &wanted).await.unwrap();
    assert_eq!(taken.status, 409, "{}", taken.text());
    assert!(taken.text().contains("\\\"ada\\\""), "{}", taken.text());
    for weirs in ["bootstrap", "deployment"] {
        let wanted = json!({ "name": weirs, "role": "editor" });
        let taken = root.post(TOKENS, &wanted).await.unwrap();
        assert!(
            [400, 409].contains(&taken.status),
            "{weirs}: {}",
            taken.text()
        );
    }
    // A name is free again when nobody has it.
    let path = format!("{TOKENS}/{}", ada.view.id);
    let revoked = root.send(root.request(Method::DELETE, &path)).await;
    assert_eq!(revoked.unwrap().status, 204);
    assert_eq!(root.post(TOKENS, &wanted).await.unwrap().status, 201);
}
