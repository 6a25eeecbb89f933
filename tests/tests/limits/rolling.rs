//! A sliding window of the whole deployment keeps its bound over every boundary. A fixed one, in the same run, does
//! not: it is the control.

use std::time::Duration;

use serde_json::json;
use weir_tests::checker::{admitted_by_window, most_within, violations};
use weir_tests::clock::epoch_ms;
use weir_tests::history::{Operation, outcomes};
use weir_tests::workerd::Setup;
use weir_tests::workload::Workload;

use crate::limits::{fixed, start};

const LIMIT: u64 = 40;
const WINDOW_MS: u64 = 2_000;
const BUCKETS: u64 = 10;
const WINDOW: Duration = Duration::from_millis(WINDOW_MS);

/// The length for which the bound is exact: what is charged counts for the whole window less the sub-bucket in which
/// it was charged.
const EXACT: Duration = Duration::from_millis(WINDOW_MS - WINDOW_MS / BUCKETS);

fn limits() -> serde_json::Value {
    json!({
        "smooth": { "algorithm": "sliding_window", "limit": LIMIT, "window_ms": WINDOW_MS, "buckets": BUCKETS, "scope": "global" },
        "hard": fixed(LIMIT, WINDOW_MS, "global"),
    })
}

/// Everybody asks shortly before a boundary of the fixed windows, and on until shortly after it. Three times, and again
/// while the control has not doubled: on a busy machine not everybody comes in time.
#[tokio::test(flavor = "multi_thread")]
async fn a_global_sliding_window_does_not_double_over_a_boundary_as_a_fixed_one_does() {
    const BEFORE_MS: u64 = 400;
    const BURST: Duration = Duration::from_millis(1_000);
    const ROUNDS_MAX: usize = 10;
    let workerd = start(Setup::three_regions(), limits()).await;
    let clients = workerd.clients().unwrap();
    let (mut smooth_worst, mut hard_worst) = (0, 0);
    for round in 0..ROUNDS_MAX {
        if round >= 3 && doubled(hard_worst) {
            break;
        }
        // At least one window without demand, so that every key is as good as new.
        let start_ms = (epoch_ms() / WINDOW_MS + 3) * WINDOW_MS - BEFORE_MS;
        tokio::time::sleep(Duration::from_millis(start_ms.saturating_sub(epoch_ms()))).await;
        let burst = |limit| Workload::on_limit(clients.clone(), limit, "k").run(BURST);
        let (smooth, hard) = tokio::join!(burst("smooth"), burst("hard"));
        let (smooth, hard) = (smooth.unwrap(), hard.unwrap());
        println!(
            "round {round}: smooth {:?}, hard {:?}",
            outcomes(&smooth),
            outcomes(&hard)
        );
        assert_eq!(violations(&hard, LIMIT, WINDOW), []);
        for (window, admitted) in admitted_by_window(&smooth) {
            assert!(admitted <= LIMIT, "sub-bucket {window} admitted {admitted}");
        }
        smooth_worst = smooth_worst.max(most_within(&smooth, EXACT).1);
        hard_worst = hard_worst.max(most_within(&hard, EXACT).1);
    }
    println!("most within {EXACT:?} of {LIMIT}: smooth {smooth_worst}, hard {hard_worst}");
    assert!(
        smooth_worst <= LIMIT,
        "{smooth_worst} of {LIMIT} within {EXACT:?}"
    );
    assert!(
        smooth_worst * 2 >= LIMIT.min(hard_worst),
        "it hardly admits: {smooth_worst} of {LIMIT}, and the control {hard_worst}"
    );
    assert!(
        doubled(hard_worst),
        "the control did not double, so this run shows nothing: {hard_worst} of {LIMIT}"
    );
}

/// Whether a fixed window let through a quarter more than its limit, within one length of it.
fn doubled(worst: u64) -> bool {
    worst * 4 > LIMIT * 5
}

/// Demand without a pause, in three regions: no trailing window has more than the limit, and what the limit has is
/// used.
#[tokio::test(flavor = "multi_thread")]
async fn a_global_sliding_window_holds_at_every_instant_under_load() {
    const RUN: Duration = Duration::from_secs(9);
    let workerd = start(Setup::three_regions(), limits()).await;
    let load = |limit| Workload {
        workers: 3,
        pause: Duration::from_millis(25),
        ..Workload::on_limit(workerd.clients().unwrap(), limit, "k")
    };
    let (smooth, hard) = tokio::join!(load("smooth").run(RUN), load("hard").run(RUN));
    let (operations, control) = (smooth.unwrap(), hard.unwrap());
    let [admitted, control] = [&operations, &control]
        .map(|operations| operations.iter().map(Operation::admitted).sum::<u64>());
    let (from, most) = most_within(&operations, EXACT);
    println!(
        "{admitted} admitted, at most {most} within {EXACT:?}, {:?}",
        outcomes(&operations)
    );
    assert!(
        most <= LIMIT,
        "{most} of {LIMIT} within {EXACT:?} from {from:?}"
    );
    let decided = operations
        .iter()
        .all(|operation| operation.decision().is_some());
    assert!(decided, "{:?}", outcomes(&operations));
    // The first window is full at once; of the others, what arrives late is not made up for. On a busy machine that is much,
    // for the fixed window too.
    let whole = RUN.as_millis() as u64 / WINDOW_MS * LIMIT;
    assert!(
        admitted * 100 >= whole.min(control) * 60,
        "only {admitted} were admitted of {whole}, and {control} by a fixed window"
    );
}
