//! Controls of the harness itself: a broken promise must be found, and a kill must be a kill.

use std::time::Duration;

use weir_tests::checker::{Violation, admitted_by_window, violations};
use weir_tests::clock::{epoch_ms, now};
use weir_tests::fixtures::BUDGET;
use weir_tests::paths::crate_dir;
use weir_tests::workerd::{Setup, Workerd};
use weir_tests::workload::{Running, Workload};

/// The limit and the window that the forgetful Worker has.
const LIMIT: u64 = 50;
const WINDOW: Duration = Duration::from_millis(8_000);

/// Kills at most, and how long a window that is nearly used up may be waited for on a busy machine.
const KILLS_MAX: usize = 10;
const WITHIN: Duration = Duration::from_secs(30);

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
    let (mut found, mut last) = (Vec::new(), None);
    // A kill in a window that is nearly used up, until one of them is back before that window ends.
    for _ in 0..KILLS_MAX {
        let killed = nearly_used_up(&running, last).await;
        last = Some(killed);
        workerd.restart().await.unwrap();
        while !found.iter().any(is_over_cap) && window_now() == killed {
            tokio::time::sleep(Duration::from_millis(50)).await;
            found = violations(&running.history().operations(), LIMIT, WINDOW);
        }
        if found.iter().any(is_over_cap) {
            break;
        }
    }
    running.stop().await.unwrap();
    assert!(
        found.iter().any(is_over_cap),
        "the over-admission was not found: {found:?}"
    );
}

fn is_over_cap(violation: &Violation) -> bool {
    matches!(violation, Violation::OverCap { limit: LIMIT, .. })
}

/// The label of the window that is open.
fn window_now() -> u64 {
    epoch_ms() / WINDOW.as_millis() as u64
}

/// Waits until most is admitted of the window that is open, which is after the last that was killed, and tells its label.
async fn nearly_used_up(running: &Running, last: Option<u64>) -> u64 {
    let start = now();
    loop {
        let admitted = admitted_by_window(&running.history().operations());
        let open = window_now();
        let used = admitted.get(&open).copied().unwrap_or(0);
        if Some(open) > last && used >= LIMIT * 4 / 5 {
            return open;
        }
        assert!(start.elapsed() < WITHIN, "nothing is used up: {admitted:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
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
