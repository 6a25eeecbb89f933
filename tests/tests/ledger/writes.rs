//! What a ledger writes does not depend on how many tenants there are.

use std::time::Duration;

use weir_tests::clock::now;
use weir_tests::storage::objects;

use crate::ledger::{LONG_MS, document, spend, start};

const LOAD: Duration = Duration::from_secs(6);

/// Rows of all journals after some seconds of load by so many tenants, decisions, and how many rows there may be in that time.
async fn written(tenants: usize) -> (u64, u64, u64) {
    let mut workerd = start(&document(1_000_000, LONG_MS)).await;
    let clients = workerd.clients().unwrap();
    let started = now();
    let mut step = 0_usize;
    while started.elapsed() < LOAD {
        let tenant = format!("t{}", step % tenants);
        clients[step % 3].decide(&spend(&tenant, 1)).await.unwrap();
        step += 1;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let seconds = started.elapsed().as_secs();
    workerd.kill_hard();
    let mut rows = 0;
    for object in objects(&workerd.disk(), "Ledger").unwrap() {
        let connection = object.open().unwrap();
        let number =
            |query: String| -> i64 { connection.query_row(&query, [], |row| row.get(0)).unwrap() };
        let count = |table: &str| number(format!("SELECT COUNT(*) FROM {table}"));
        let last = number("SELECT COALESCE(MAX(sequence), 0) FROM journal".to_owned());
        let entries = last.max(count("journal"));
        rows += u64::try_from(entries + count("totals") + count("intervals")).unwrap();
    }
    // Three regions with two frames a second each, windows told to home with one; and one fold.
    let most = 3 * 3 * (seconds + 1) + 3 * (32 + 17 + 2);
    (rows, step as u64, most)
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_ledgers_do_not_grow_with_tenants() {
    let (few, few_decisions, few_most) = written(3).await;
    let (many, many_decisions, many_most) = written(300).await;
    println!(
        "3 tenants: {few} rows for {few_decisions} decisions; 300 tenants: {many} rows for {many_decisions}; \
         a million decisions at this pace: {} and {} rows",
        few * 1_000_000 / few_decisions,
        many * 1_000_000 / many_decisions
    );
    assert!(few > 0 && few <= few_most, "{few} rows");
    assert!(many <= many_most, "{many} rows");
}
