//! SIGKILL in mid-window, again and again, under load of several tenants: no window is overdrawn, and it recovers.

use std::time::Duration;

use weir_tests::checker::{admitted_by_window, violations};
use weir_tests::history::{Operation, Outcome, outcomes};
use weir_tests::shares::{settled_windows, sketch};
use weir_tests::stage::Stage;
use weir_tests::workerd::{REGIONS, Setup};

use crate::shares::{assert_rule, document, escrow, flood, until_judged, weighing};

const LIMIT: u64 = 210;
const IDEAL: [(&str, u64); 3] = [("one", 30), ("two", 60), ("four", 120)];
const WINDOW: Duration = Duration::from_secs(3);

/// Times from the first request, or from the restart before, to the kill: at all places of a window.
const KILL_AFTER_MS: [u64; 10] = [
    4_300, 1_300, 700, 1_900, 400, 2_600, 1_000, 3_200, 200, 1_600,
];

/// The first of these fall into each quarter of a window. What deaths do to each rule, the simulator plays thousands of times.
const KILLS_FEW: usize = 4;

async fn assert_capped_and_recovers(reserve: &str, kills: usize) {
    let weights = weighing(&[("one", 1), ("two", 2), ("four", 4)]);
    let policy = |window| document(escrow(reserve, LIMIT, window), weights);
    let places = [&REGIONS[..], &REGIONS[..1]].concat();
    let mut stage = Stage::new(Setup::isolates(&places), WINDOW, policy).await;
    let loads = IDEAL.map(|(tenant, _)| flood(&stage.clients, tenant));
    let running = stage.start(loads.to_vec());
    for after_ms in KILL_AFTER_MS.into_iter().take(kills) {
        let after = stage.tempo.stretched(Duration::from_millis(after_ms));
        tokio::time::sleep(after).await;
        stage.workerd.restart().await.expect("workerd comes back");
    }
    let before = running.history().operations().len();
    until_judged(&running, before, stage.window).await;
    let operations = running.stop().await.unwrap();
    println!(
        "{reserve}: admitted by window {:?}, {:?}",
        admitted_by_window(&operations),
        outcomes(&operations)
    );
    assert!(
        operations
            .iter()
            .any(|operation| matches!(operation.outcome, Outcome::Lost(_))),
        "no request was cut off: the kills did not fall into the load"
    );
    let violations = violations(&operations, LIMIT, stage.window);
    assert_eq!(violations, [], "{reserve}");
    assert_recovered(reserve, &operations[before..], stage.window);
}

/// Windows are used again, and by everybody.
#[track_caller]
fn assert_recovered(reserve: &str, operations: &[Operation], window: Duration) {
    println!(
        "{reserve}, recovered: {:?}, {}",
        settled_windows(operations),
        sketch(operations)
    );
    assert_rule(reserve, operations, window, |seen| {
        let by_everybody = |(tenant, ideal): (&str, u64)| seen.has(tenant, ideal / 2 + 1);
        Some(seen.is_used(LIMIT * 9 / 10) && IDEAL.into_iter().all(by_everybody))
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn no_pinned_window_is_overdrawn_across_four_kills() {
    assert_capped_and_recovers("pinned", KILLS_FEW).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_paced_window_is_overdrawn_across_four_kills() {
    assert_capped_and_recovers("paced", KILLS_FEW).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_pooled_window_is_overdrawn_across_ten_kills() {
    assert_capped_and_recovers("pooled", KILL_AFTER_MS.len()).await;
}
