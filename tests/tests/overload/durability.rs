//! What is known of a resource outlives its holders.

use std::time::Duration;

use weir_shared::limits::OVERLOAD_STORE_MS;
use weir_tests::clock::now;
use weir_tests::workerd::Setup;

use super::{check, denied_of, fail_under, start};

/// Everything dies: the next life goes by the fair rate that was found, where one that knows nothing would admit all.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_region_still_knows_that_the_origin_is_overloaded() {
    let mut workerd = start(Setup::isolates(&["weur"])).await;
    let client = workerd.client(0).unwrap();
    fail_under(&client, "noisy", 300).await;
    // Told within a contact, durable within the time that a parent may keep it in memory.
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(OVERLOAD_STORE_MS / 4)).await;
        fail_under(&client, "noisy", 5).await;
    }
    workerd.restart().await.unwrap();
    // Until its first contact an isolate knows nothing: it admits.
    check(&client, "quiet").await;
    let start = now();
    // One that knows nothing never denies.
    while check(&client, "noisy").await.allowed {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "it knows nothing"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let denied = denied_of(&client, "noisy", 200).await;
    assert!(
        denied >= 100,
        "{denied} of 200 were denied, with no failure reported"
    );
    assert!(check(&client, "quiet").await.allowed);
}
