//! Controls of the harness itself: a broken promise must be found, and a kill must be a kill.

use std::time::Duration;

use weir_tests::checker::{Violation, violations};
use weir_tests::fixtures::BUDGET;
use weir_tests::paths::crate_dir;
use weir_tests::workerd::{Setup, Workerd};
use weir_tests::workload::Workload;

/// The limit and the window that the forgetful Worker has.
const LIMIT: u64 = 50;
const WINDOW: Duration = Duration::from_millis(3_000);

async fn forgetful() -> Workerd {
    let build = crate_dir().join("fixtures/forgetful");
    Setup::three_regions()
        .build(&build)
        .start()
        .await
        .expect("the forgetful Worker starts")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_that_forgets_at_a_crash_is_found() {
    let mut workerd = forgetful().await;
    let running = Workload::new(workerd.clients().unwrap(), BUDGET).start();
    // At least one of these kills falls well inside a window, wherever the first begins.
    for after_ms in [800, 1_000, 1_200] {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        workerd.restart().await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let found = violations(&running.stop().await.unwrap(), LIMIT, WINDOW);
    assert!(
        found
            .iter()
            .any(|violation| matches!(violation, Violation::OverCap { limit: LIMIT, .. })),
        "the over-admission was not found: {found:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_that_keeps_its_promise_is_not_accused() {
    let workerd = forgetful().await;
    let operations = Workload::new(workerd.clients().unwrap(), BUDGET)
        .run(2 * WINDOW)
        .await
        .unwrap();
    assert_eq!(violations(&operations, LIMIT, WINDOW), []);
}

#[tokio::test]
async fn a_killed_deployment_answers_nothing_until_it_is_started_again() {
    let mut workerd = forgetful().await;
    let client = workerd.client(2).unwrap();
    assert_eq!(client.get("/healthz").await.unwrap().status, 200);
    workerd.kill_hard();
    assert!(client.get("/healthz").await.is_err());
    workerd.restart().await.unwrap();
    assert_eq!(client.get("/healthz").await.unwrap().status, 200);
}
