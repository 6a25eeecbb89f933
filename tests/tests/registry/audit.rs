//! The audit log: who changed what and why, and that nobody changes the log.

use std::time::Duration;

use reqwest::Method;
use rusqlite::params;
use serde_json::{Value, json};
use weir_shared::audit::chain::append;
use weir_shared::audit::draft::Draft;
use weir_shared::audit::export;
use weir_shared::limits::{AUDIT_PRUNE, AUDIT_RECORDS_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::audit::{AuditHead, AuditOutcome, Author};
use weir_shared::wire::role::Role;
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::with;
use weir_tests::storage::objects;

use super::{
    SETTLING, answered, between_runs, document, employed, exported, make_token, post_token,
    records, refused, revoke, service, start, verdict,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_recorded_with_who_when_what_before_after_and_why() {
    let workerd = start().await;
    let admin = workerd.client(0).unwrap();
    let made = make_token(&admin, &json!({ "name": "alice", "role": "editor" }))
        .await
        .unwrap();
    let alice = employed(&admin, &made).await;
    let before = alice.policy().await.unwrap();
    let changed = with(document(), "/budgets/tokens/limit", json!(77));
    let asked_at = epoch_ms();
    let request = alice
        .request(Method::PUT, "/operator/v1/policy")
        .header("if-match", &before.etag)
        .header("weir-reason", "as agreed on Monday")
        .header("content-type", "application/json")
        .body(changed.to_string());
    let saved = alice.send(request).await.unwrap();
    assert_eq!(saved.status, 200, "{}", saved.text());
    let saves = records(&admin, "&action=policy.save&actor=alice");
    let newest = saves.await.unwrap().remove(0);
    assert_eq!(newest.actor, "alice");
    assert_eq!(newest.role, Some(Role::Editor));
    assert_eq!(newest.action, "policy.save");
    assert_eq!(newest.outcome, AuditOutcome::Done);
    assert_eq!(newest.why.as_deref(), Some("as agreed on Monday"));
    assert!((asked_at..asked_at + 60_000).contains(&newest.at));
    let pointer = "/budgets/tokens/limit";
    assert_eq!(newest.before["values"], json!({ pointer: 1_000_000 }));
    assert_eq!(newest.after["values"], json!({ pointer: 77 }));
    assert_eq!(
        newest.after["revision"].as_u64(),
        Some(before.revision().unwrap() + 1)
    );
    let target = format!("&target={}", made.view.id);
    let of_token = records(&admin, &target);
    let of_token = of_token.await.unwrap().remove(0);
    assert_eq!(of_token.action, "token.create");
    assert_eq!(of_token.after["name"], "alice");
    assert!(!of_token.after.to_string().contains(&made.token));
    assert_eq!(revoke(&admin, &made.view.id).await.unwrap().status, 204);
    let revoked = records(&admin, "&action=token.revoke").await.unwrap();
    assert_eq!(revoked[0].before["name"], "alice");
    assert_eq!(revoked[0].after, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_refused_is_recorded_and_changes_nothing() {
    let workerd = start().await;
    let admin = workerd.client(0).unwrap();
    let before = admin.policy().await.unwrap();
    let stale = async || admin.put_policy(&document(), Some("\"999\"")).await;
    assert_eq!(answered(stale).await.status, 412);
    let invalid = with(document(), "/budgets/tokens/limit", json!(0));
    let invalid = async || admin.put_policy(&invalid, Some("*")).await;
    assert_eq!(answered(invalid).await.status, 400);
    let bad = json!({ "name": "x", "role": "tenant" });
    let token = post_token(&admin, &bad).await.unwrap();
    assert_eq!(token.status, 400);
    assert_eq!(
        revoke(&admin, "AAAAAAAAAAAAAAAA").await.unwrap().status,
        404
    );
    let refused = refused(&admin, "", 4).await;
    let mut actions: Vec<&str> = refused
        .iter()
        .map(|record| record.action.as_str())
        .collect();
    actions.sort_unstable();
    assert_eq!(
        actions,
        ["policy.save", "policy.save", "token.create", "token.revoke"]
    );
    assert_eq!(admin.policy().await.unwrap(), before);
    assert!(verdict(&admin).await.unwrap().intact);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_export_is_verified_by_whoever_has_it() {
    let workerd = start().await;
    let admin = workerd.client(0).unwrap();
    for number in 0..5 {
        make_token(&admin, &service(&format!("gateway-{number}")))
            .await
            .unwrap();
    }
    let lines = exported(&admin).await.unwrap();
    let read = export::verify(lines.iter().map(String::as_str), (0, "")).unwrap();
    let verdict = verdict(&admin).await.unwrap();
    assert!(verdict.intact && !verdict.more, "{verdict:?}");
    assert_eq!(verdict.checked as usize, read.len());
    assert_eq!(verdict.head.sequence as usize, lines.len());
    assert!(lines.last().unwrap().contains(&verdict.head.hash));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_changed_in_the_log_is_found() {
    let mut workerd = start().await;
    let admin = workerd.client(0).unwrap();
    for number in 0..6 {
        make_token(&admin, &service(&format!("gateway-{number}")))
            .await
            .unwrap();
    }
    let of = records(&admin, "&action=token.create").await.unwrap();
    let record = of.iter().find(|record| record.after["name"] == "gateway-2");
    let place = record.unwrap().sequence;
    let statements = [
        (
            "UPDATE audit SET body = replace(body, 'gateway-2', 'gateway-9') WHERE sequence = ?1",
            place,
        ),
        (
            "UPDATE audit SET actor = 'mallory' WHERE sequence = ?1",
            place,
        ),
        ("DELETE FROM audit WHERE sequence = ?1", place - 1),
        ("DELETE FROM audit WHERE sequence >= ?1", place - 2),
    ];
    for (statement, sequence) in statements {
        between_runs(&mut workerd, |rows| {
            assert!(rows.execute(statement, [sequence as i64]).unwrap() >= 1);
        })
        .await;
        let verdict = verdict(&admin).await.unwrap();
        assert!(!verdict.intact, "{statement}: {verdict:?}");
        assert_eq!(verdict.fault.unwrap().sequence, sequence, "{statement}");
        let lines = exported(&admin).await.unwrap();
        let read = export::verify(lines.iter().map(String::as_str), (0, ""));
        let column = statement.contains("actor");
        let end = statement.contains(">=");
        if !column && !end {
            assert_eq!(read.unwrap_err().sequence, sequence, "{statement}");
        }
    }
}

/// A log that is damaged can still be written to: what is wrong with it stays visible.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_head_of_the_log_stops_no_change() {
    let mut workerd = start().await;
    let admin = workerd.client(0).unwrap();
    make_token(&admin, &service("one")).await.unwrap();
    let damages = [
        "UPDATE audit_head SET hash = NULL",
        "UPDATE audit_head SET sequence = 1",
        "DELETE FROM audit_head",
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        between_runs(&mut workerd, |rows| {
            assert_eq!(rows.execute(damage, []).unwrap(), 1);
        })
        .await;
        let log = workerd.log().len();
        make_token(&admin, &service(&format!("two-{number}")))
            .await
            .unwrap();
        // What is logged takes its time to be read.
        let begun = now();
        while !workerd.log()[log..].contains("damaged row audit_head") {
            assert!(begun.elapsed() < SETTLING, "{damage}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let verdict = verdict(&admin).await.unwrap();
        assert!(verdict.intact, "{damage}: {verdict:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_log_gives_up_its_oldest_records_and_verifies_from_there() {
    let mut workerd = start().await;
    let admin = workerd.client(0).unwrap();
    between_runs(&mut workerd, fill).await;
    let made = make_token(&admin, &service("one-more")).await.unwrap();
    let target = format!("&target={}", made.view.id);
    let newest = records(&admin, &target).await.unwrap().remove(0);
    assert!(newest.sequence > AUDIT_RECORDS_MAX);
    let verdict = verdict(&admin).await.unwrap();
    assert!(verdict.intact, "{verdict:?}");
    assert_eq!(verdict.head.pruned, AUDIT_PRUNE);
    assert_eq!(verdict.checked, verdict.head.sequence - AUDIT_PRUNE);
    assert!(verdict.checked <= AUDIT_RECORDS_MAX);
    workerd.kill_hard();
    let registry = &objects(&workerd.disk(), "Registry").unwrap()[0];
    let count = "SELECT count(*) FROM audit";
    let kept: i64 = registry
        .open()
        .unwrap()
        .query_row(count, [], |row| row.get(0))
        .unwrap();
    assert!(kept as u64 <= AUDIT_RECORDS_MAX, "{kept}");
}

/// Fills the log to its bound, as its own records would.
fn fill(rows: &rusqlite::Connection) {
    let newest = "SELECT sequence, hash FROM audit_head";
    let mut head = rows
        .query_row(newest, [], |row| {
            Ok(AuditHead {
                sequence: row.get::<_, i64>(0)? as u64,
                hash: row.get(1)?,
                ..AuditHead::default()
            })
        })
        .unwrap();
    rows.execute_batch("BEGIN").unwrap();
    let insert = "INSERT INTO audit (sequence, at, actor, action, target, outcome, hash, body) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut insert = rows.prepare(insert).unwrap();
    while head.sequence < AUDIT_RECORDS_MAX {
        let author = Author::named("filler");
        let draft = Draft::new(author, "state.reset", "k", AuditOutcome::Done, EpochMs(1));
        let (link, next) = append(&head, draft).unwrap();
        let record = &link.record;
        let values = params![
            record.sequence as i64,
            record.at as i64,
            record.actor,
            record.action,
            record.target,
            record.outcome.name(),
            link.hash,
            link.text
        ];
        insert.execute(values).unwrap();
        head = next;
    }
    rows.execute(
        "UPDATE audit_head SET sequence = ?1, hash = ?2",
        params![head.sequence as i64, head.hash],
    )
    .unwrap();
    rows.execute_batch("COMMIT").unwrap();
}
