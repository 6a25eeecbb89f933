//! SIGKILL in the middle of changes: each and its record are there together, or neither is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use weir_shared::limits::POLICIES_PER_DAY_MAX;
use weir_shared::ordered::OrderedSet;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::storage::objects;

use super::{document, make_token, service, start, verdict};

/// From the first changes to the kill.
const KILL_AFTER_MS: [u64; 5] = [400, 900, 150, 650, 1_200];

/// How many changes are the first ones, and how long they may take on a busy machine.
const FIRST: usize = 3;
const FIRST_WITHIN: Duration = Duration::from_secs(30);

/// Changes policies and makes tokens until the deployment is gone; the revisions and ids that were answered, which are
/// counted meanwhile. Fewer than one author may in a day.
async fn change(
    client: Client,
    author: String,
    answered: Arc<AtomicUsize>,
) -> (OrderedSet<u64>, OrderedSet<String>) {
    let (mut revisions, mut ids) = (OrderedSet::new(), OrderedSet::new());
    for number in 0..POLICIES_PER_DAY_MAX / 2 {
        match client.save_policy(&document()).await {
            Ok(saved) => revisions.insert(saved.revision().unwrap()),
            Err(_) => break,
        };
        answered.fetch_add(1, Ordering::Relaxed);
        let name = format!("{author}-{number}");
        match make_token(&client, &service(&name)).await {
            Ok(made) => ids.insert(made.view.id),
            Err(_) => break,
        };
        answered.fetch_add(1, Ordering::Relaxed);
    }
    (revisions, ids)
}

/// One column of a query.
fn column<T: rusqlite::types::FromSql>(rows: &Connection, query: &str) -> Vec<T> {
    let mut statement = rows.prepare(query).unwrap();
    let values = statement.query_map([], |row| row.get(0)).unwrap();
    values.collect::<Result<_, _>>().unwrap()
}

/// What the records of an action say was made.
fn recorded(rows: &Connection, action: &str, pointer: &str) -> Vec<Value> {
    let query = format!("SELECT body FROM audit WHERE outcome = 'done' AND action = '{action}'");
    let bodies: Vec<String> = column(rows, &query);
    let values = bodies.iter().map(|body| {
        let record: Value = serde_json::from_str(body).unwrap();
        record.pointer(pointer).unwrap().clone()
    });
    values.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_and_its_record_survive_a_kill_together() {
    let mut workerd = start().await;
    let mut admin = workerd.client(0).unwrap();
    let (mut revisions, mut ids) = (OrderedSet::new(), OrderedSet::new());
    for (phase, after_ms) in KILL_AFTER_MS.into_iter().enumerate() {
        let author = format!("admin-{phase}");
        let own = json!({ "name": author, "role": "admin" });
        let own = make_token(&admin, &own).await.unwrap();
        ids.insert(own.view.id);
        admin = admin.with_token(&own.token);
        let answered = Arc::<AtomicUsize>::default();
        let running = tokio::spawn(change(admin.clone(), author, Arc::clone(&answered)));
        let started = now();
        while answered.load(Ordering::Relaxed) < FIRST && started.elapsed() < FIRST_WITHIN {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        workerd.kill_hard();
        let (saved, made) = running.await.unwrap();
        revisions.extend(saved);
        ids.extend(made);
        let registry = &objects(&workerd.disk(), "Registry").unwrap()[0];
        let rows = registry.open().unwrap();
        let kept: Vec<i64> = column(&rows, "SELECT revision FROM policies");
        let kept: OrderedSet<u64> = kept.into_iter().map(|revision| revision as u64).collect();
        let told = recorded(&rows, "policy.save", "/after/revision");
        let told = told.iter().filter_map(Value::as_u64);
        let shipped = recorded(&rows, "policy.ship", "/after/revision");
        let told: Vec<u64> = shipped
            .iter()
            .filter_map(Value::as_u64)
            .chain(told)
            .collect();
        assert_eq!(
            told.len(),
            kept.len(),
            "a revision without a record, or twice"
        );
        assert_eq!(told.into_iter().collect::<OrderedSet<_>>(), kept);
        assert!(kept.is_superset(&revisions), "an answered change is gone");
        let kept: OrderedSet<String> = column(&rows, "SELECT id FROM tokens").into_iter().collect();
        let told = recorded(&rows, "token.create", "/target");
        let told: OrderedSet<String> = told
            .iter()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect();
        assert_eq!(told, kept);
        assert!(kept.is_superset(&ids), "an answered token is gone");
        drop(rows);
        workerd.restart().await.unwrap();
        let verdict = verdict(&admin).await.unwrap();
        assert!(verdict.intact, "{verdict:?}");
    }
    println!(
        "{} policies and {} tokens were saved",
        revisions.len(),
        ids.len()
    );
    assert!(revisions.len() > 5 && ids.len() > 5);
}
