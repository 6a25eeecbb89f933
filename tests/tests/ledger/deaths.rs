//! SIGKILL: what the surfaces told before, they tell after, and they count on.

use crate::ledger::books::Books;
use crate::ledger::scrape::{fallen, scrape_after};
use crate::ledger::surfaces::agree;
use crate::ledger::{LONG_MS, document, start};

#[tokio::test(flavor = "multi_thread")]
async fn metrics_never_fall_over_kills_and_what_was_told_is_counted_once() {
    let mut workerd = start(&document(200, LONG_MS)).await;
    let mut books = Books::default();
    let mut before = Default::default();
    for life in 0..3_u64 {
        let clients = workerd.clients().unwrap();
        for step in 0..9_u64 {
            let client = &clients[(step % 3) as usize];
            books.round(client, "pro:hooli", life * 9 + step).await;
        }
        agree(&books, &clients[0]).await;
        let told = scrape_after(&clients[1], &before).await;
        assert_eq!(fallen(&before, &told), None, "in life {life}");
        assert!(told.len() > 20, "{told:?}");
        before = told;
        workerd.kill_hard();
        workerd.restart().await.unwrap();
        let again = scrape_after(&workerd.client(2).unwrap(), &before).await;
        assert_eq!(fallen(&before, &again), None, "after life {life}");
        agree(&books, &workerd.client(0).unwrap()).await;
    }
}
