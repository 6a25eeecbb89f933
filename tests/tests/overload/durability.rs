//! What is known of a resource outlives its holders.

use std::time::Duration;

use weir_shared::limits::OVERLOAD_STORE_MS;
use weir_tests::clock::now;
use weir_tests::workerd::Setup;

use super::{THERE, check, denied_of, fail_under, question, start};

/// Checks that are judged, and for how long they are made where each takes long: a fair rate rises with time.
const CHECKS: u32 = 200;
const CHECKS_MIN: u32 = 20;
const CHECKED: Duration = Duration::from_secs(5);

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
    let start = now();
    // Where its region is late an isolate goes by the shipped policy, which has no such resource.
    while client.decide(&question("quiet", 1)).await.is_err() {
        assert!(start.elapsed() < THERE, "it has no policy");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Until its first contact an isolate knows nothing: it admits. One that knows nothing never denies.
    while check(&client, "noisy").await.allowed {
        assert!(start.elapsed() < THERE, "it knows nothing");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (mut asked, mut denied, begun) = (0, 0, now());
    while asked < CHECKS && (asked < CHECKS_MIN || begun.elapsed() < CHECKED) {
        denied += denied_of(&client, "noisy", 1).await;
        asked += 1;
    }
    assert!(
        2 * denied >= asked,
        "{denied} of {asked} were denied, with no failure reported"
    );
    assert!(check(&client, "quiet").await.allowed);
}
