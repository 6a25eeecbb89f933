//! Isolates and regions learn from each other.

use std::time::Duration;

use weir_tests::workerd::Setup;

use super::{await_denied, check, denied_of, fail_under, start};

/// A contact every half second, and the rest for the machine.
const ISOLATES_AGREE: Duration = Duration::from_secs(8);

/// Isolate to region to home, and back.
const REGIONS_AGREE: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn an_isolate_denies_who_overloads_the_origin_through_another() {
    let workerd = start(Setup::isolates(&["weur", "weur"])).await;
    let [first, second] = [workerd.client(0).unwrap(), workerd.client(1).unwrap()];
    assert_eq!(denied_of(&second, "noisy", 5).await, 0);
    fail_under(&first, "noisy", 300).await;
    await_denied(&second, "noisy", ISOLATES_AGREE).await;
    assert!(check(&second, "quiet").await.allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_denies_who_overloads_the_origin_through_another() {
    let workerd = start(Setup::isolates(&["weur", "apac"])).await;
    let [first, second] = [workerd.client(0).unwrap(), workerd.client(1).unwrap()];
    assert_eq!(denied_of(&second, "noisy", 5).await, 0);
    fail_under(&first, "noisy", 300).await;
    let again = async {
        loop {
            fail_under(&first, "noisy", 20).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        _ = await_denied(&second, "noisy", REGIONS_AGREE) => {}
        () = again => {}
    }
    assert!(check(&second, "quiet").await.allowed);
}
