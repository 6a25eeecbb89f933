//! SIGKILL under load: what was promised before is kept after.

use std::time::Duration;

use weir_shared::wire::accounting::Tally;
use weir_shared::wire::check::Reason;
use weir_shared::wire::operator::FairnessReply;
use weir_tests::checker::{admitted_by_window, full_windows, left_unused, violations};
use weir_tests::client::{Client, PROBE_TENANT};
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, LIMIT, gcra, policy, with};
use weir_tests::history::{Operation, Outcome, outcomes};
use weir_tests::shares::stalls;
use weir_tests::workerd::Setup;
use weir_tests::workload::Workload;

const CAP: u64 = 200;
const WINDOW: Duration = Duration::from_secs(3);

/// Times from the first request, or from the restart before, to the kill: at all places of a window, once twice in one.
const KILL_AFTER_MS: [u64; 6] = [1_700, 2_300, 700, 400, 3_100, 1_100];

/// The load after the last restart: at least three windows that no holder from before it was lent a unit of. Where the machine
/// is slow to start again, it goes on until there are, for a minute at most.
const RECOVERED: Duration = Duration::from_secs(17);
const RECOVERED_MAX: Duration = Duration::from_secs(60);
const RECOVERED_WINDOWS: usize = 3;

/// How long what was decided may take to be counted on a busy machine.
const COUNTED: Duration = Duration::from_secs(30);

/// How many keys are tried.
const TRIES: u32 = 10;

#[tokio::test(flavor = "multi_thread")]
async fn no_window_is_overdrawn_across_kills() {
    let mut workerd = Setup::three_regions().start().await.unwrap();
    workerd
        .apply(&policy(CAP, WINDOW.as_millis() as u64))
        .await
        .unwrap();
    let running = Workload::new(workerd.clients().unwrap(), BUDGET).start();
    for after_ms in KILL_AFTER_MS {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        workerd.restart().await.expect("workerd comes back");
    }
    let before = running.history().operations().len();
    let start = now();
    let windows = || full_windows(&running.history().operations()[before..]).len();
    while start.elapsed() < RECOVERED
        || (windows() <= RECOVERED_WINDOWS && start.elapsed() < RECOVERED_MAX)
    {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let operations = running.stop().await.unwrap();
    println!(
        "admitted by window {:?}, {:?}",
        admitted_by_window(&operations),
        outcomes(&operations)
    );
    assert!(
        operations
            .iter()
            .any(|operation| matches!(operation.outcome, Outcome::Lost(_))),
        "no request was cut off: the kills did not fall into the load"
    );
    assert_eq!(violations(&operations, CAP, WINDOW), []);
    assert_used_again(&operations[before..]);
}

/// Units of the window in which the last kill fell, and of the one after it, may have been lent to holders that died:
/// those are unaccounted until the windows are over. Whatever opens later is used in full.
#[track_caller]
fn assert_used_again(operations: &[Operation]) {
    let mut full = full_windows(operations);
    let first = full.pop_first().map(|(window, _)| window);
    assert!(
        full.len() >= RECOVERED_WINDOWS,
        "only {} full windows after the kills",
        full.len()
    );
    let stalls = stalls(operations, WINDOW);
    let most = |window: u64| CAP / 20 + stalls[&window].units(CAP);
    let mut unused = left_unused(operations, CAP, most);
    unused.retain(|(window, _)| Some(*window) > first);
    assert_eq!(unused, [], "after the kills: of {CAP}, stalls {stalls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_policy_and_totals_survive_a_kill() {
    // One unit in ten minutes: what the burst has lost does not come back within the test.
    let slow = gcra(6, 3_600_000, 5);
    let document = with(policy(1_000, 60_000), "/limits/per_ip", slow);
    let mut workerd = Setup::three_regions().start().await.unwrap();
    let saved = workerd.apply(&document).await.unwrap();
    let client = workerd.client(1).unwrap();
    let key = spent(&client).await;
    for _ in 0..5 {
        let kept = client.check_budget_once_there("pro:kept", BUDGET, 3);
        assert!(kept.await.decision.allowed);
    }
    let counted = fairness_of(&client, "pro:kept", 15).await;

    workerd.kill_hard();
    workerd.restart().await.unwrap();

    assert_eq!(workerd.client(2).unwrap().policy().await.unwrap(), saved);
    let spent = client.check_limit_once_there(LIMIT, &key, 1);
    let spent = spent.await.decision;
    assert!(
        !spent.allowed,
        "the burst came back with the restart: {spent:?}"
    );
    assert!(
        spent
            .retry_after_ms
            .is_some_and(|hint| hint > 500_000 && hint <= 600_000),
        "{spent:?}"
    );
    let fresh = client.check_limit_once_there(LIMIT, "fresh", 1);
    assert!(fresh.await.decision.allowed);
    let kept = fairness_of(&client, "pro:kept", 15).await;
    assert_totals_kept(&counted, &kept);
    let more = client.check_budget_once_there("pro:kept", BUDGET, 1);
    assert!(more.await.decision.allowed);
    let counted_again = fairness_of(&client, "pro:kept", 16).await;
    assert_totals_kept(&kept, &counted_again);
}

/// A key whose burst is spent. Where its shard is out of reach, another is: what it charged may be back later.
async fn spent(client: &Client) -> String {
    'keys: for attempt in 0..TRIES {
        let key = format!("spent-{attempt}");
        for unit in 0..6 {
            let checked = client.check_limit(LIMIT, &key, 1).await.unwrap();
            if checked.decision.reason == Reason::Unavailable {
                continue 'keys;
            }
            assert_eq!(checked.decision.allowed, unit < 5, "unit {unit}");
        }
        return key;
    }
    panic!("the shard was out of reach for each of {TRIES} keys");
}

/// The fairness view of all regions once it has counted the units of a tenant: a ledger that is late is left out of one.
async fn fairness_of(client: &Client, tenant: &str, units: u128) -> FairnessReply {
    let start = now();
    let counts = |view: &FairnessReply| {
        let mut tenants = view.tenants.iter();
        view.regions.iter().all(|region| region.reachable)
            && tenants.any(|one| one.tenant == tenant && one.total.admitted_units.0 >= units)
    };
    loop {
        match client.fairness().await {
            Ok(view) if counts(&view) => return view,
            other => assert!(
                start.elapsed() < COUNTED,
                "{tenant} was not counted to {units}: {other:?}"
            ),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Every total of `before` is in `after`, at least as large.
#[track_caller]
fn assert_totals_kept(before: &FairnessReply, after: &FairnessReply) {
    let named = before
        .tenants
        .iter()
        .filter(|report| report.tenant != PROBE_TENANT);
    for report in named {
        let kept = after
            .tenants
            .iter()
            .find(|candidate| candidate.tenant == report.tenant);
        let kept = kept.unwrap_or_else(|| panic!("{} is gone", report.tenant));
        assert!(
            is_at_least(&kept.total, &report.total),
            "{}: {:?} became {:?}",
            report.tenant,
            report.total,
            kept.total
        );
    }
}

fn is_at_least(after: &Tally, before: &Tally) -> bool {
    after.admitted_calls >= before.admitted_calls
        && after.admitted_units >= before.admitted_units
        && after.denied_calls >= before.denied_calls
        && after.denied_units >= before.denied_units
}
