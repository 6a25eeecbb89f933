//! Branches of a busy region: objects between its own and its isolates. Here one isolate is enough for each, so a region of
//! four branches out ten seconds after its first request; what is promised without branches holds with them, and meanwhile.

mod many;

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use weir_shared::wire::operator::FairnessReply;
use weir_shared::wire::role::Role;
use weir_tests::checker::{admitted_by_window, full_windows, left_unused, violations};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy, token_request};
use weir_tests::history::{Operation, Outcome, outcomes};
use weir_tests::shares::stalls;
use weir_tests::storage::{count, databases};
use weir_tests::within::until;
use weir_tests::workerd::{Setup, Workerd};
use weir_tests::workload::{Running, Workload};

const LIMIT: u64 = 200;
const WINDOW: Duration = Duration::from_secs(2);

/// Four isolates of one region, which branches, and one of another, which does not.
const PLACES: [&str; 5] = ["weur", "weur", "weur", "weur", "apac"];

/// Until a region has heard of its isolates for long enough, and they of its branches.
pub(crate) const BRANCHING: Duration = Duration::from_secs(13);

/// Four full windows and two cut ones.
const BRANCHED: Duration = Duration::from_secs(12);

/// Where the machine is slow, the load goes on until there are as many full windows as are looked at, for so long at most.
const LOAD_MAX: Duration = Duration::from_secs(60);

/// Of the whole load, and of what comes after kills: there the first two are not looked at, and one more may yet be cut.
const WINDOWS: usize = 9;
const WINDOWS_AFTER: usize = 5;

async fn start() -> Workerd {
    let setup = Setup::isolates(&PLACES).variable("WEIR_BRANCH_ISOLATES", "1");
    let workerd = setup.start().await.expect("workerd starts");
    let document = policy(LIMIT, WINDOW.as_millis() as u64);
    workerd.apply(&document).await.expect("the policy is saved");
    workerd
}

/// Leaves the load on for so long, and until so many windows of it are full, of the operations after the first `before`.
async fn load(running: &Running, least: Duration, (before, windows): (usize, usize)) {
    let begun = now();
    let full = || full_windows(&running.history().operations()[before..]).len();
    while begun.elapsed() < least || (full() < windows && begun.elapsed() < LOAD_MAX) {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// How many branches each region's own object has decided on, and how many objects have lent of the budget.
fn branches(workerd: &mut Workerd) -> (Vec<i64>, usize) {
    workerd.kill_hard();
    let objects = databases(&workerd.disk(), "Region", "branches").expect("objects of regions");
    let number = |object: &rusqlite::Connection| {
        object.query_row("SELECT number FROM branches", [], |row| row.get(0))
    };
    let decided = objects.iter().filter_map(|object| number(object).ok());
    let decided = decided.filter(|number| *number > 0).collect();
    let lent = objects.iter().filter(|object| {
        let of = "SELECT count(*) FROM escrows WHERE pool = ?";
        count(object, of, [BUDGET]).expect("a count") > 0
    });
    (decided, lent.count())
}

/// One region has branches, and at least two of them have lent beside both regions' own objects.
#[track_caller]
pub(crate) fn assert_branched(workerd: &mut Workerd) {
    let (decided, lent) = branches(workerd);
    println!("branches {decided:?}, {lent} objects have lent");
    assert_eq!(decided.len(), 1, "{decided:?}");
    assert!(decided[0] >= 2, "{decided:?}");
    assert!(lent >= 4, "{lent} objects have lent");
}

/// What the ledgers have counted of a budget, once it is as much.
async fn counted(client: &Client, units: u128) -> u128 {
    let sum = |view: &FairnessReply| {
        let regions = view.regions.iter();
        regions.map(|region| region.total.admitted_units.0).sum()
    };
    let begun = now();
    loop {
        let counted = sum(&client.fairness().await.expect("the totals"));
        if counted >= units || begun.elapsed() > Duration::from_secs(10) {
            return counted;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_that_branches_out_overdraws_no_window_leaves_none_unused_and_counts_each_unit() {
    let mut workerd = start().await;
    let clients = workerd.clients().unwrap();
    // Whatever was counted before: the policy was tried with a request.
    let before = counted(&clients[0], 0).await;
    let running = Workload::new(clients.clone(), BUDGET).start();
    load(&running, BRANCHING + BRANCHED, (0, WINDOWS)).await;
    let operations = running.stop().await.unwrap();
    println!(
        "admitted by window {:?}, {:?}",
        admitted_by_window(&operations),
        outcomes(&operations)
    );
    assert_eq!(violations(&operations, LIMIT, WINDOW), []);
    let full = full_windows(&operations);
    assert!(full.len() >= WINDOWS, "only {} full windows", full.len());
    let stalls = stalls(&operations, WINDOW);
    let most = |window: u64| LIMIT / 20 + stalls[&window].units(LIMIT);
    let unused = left_unused(&operations, LIMIT, most);
    assert_eq!(unused, [], "of {LIMIT}, stalls {stalls:?}");
    for client in 0..PLACES.len() {
        let own = operations.iter().filter(|one| one.client == client);
        let admitted: u64 = own.map(Operation::admitted).sum();
        assert!(admitted > 0, "isolate {client} got nothing");
    }
    let admitted: u64 = operations.iter().map(Operation::admitted).sum();
    let units = before + u128::from(admitted);
    assert_eq!(counted(&clients[0], units).await, units);
    assert_branched(&mut workerd);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_window_is_overdrawn_across_kills_of_a_region_with_branches() {
    let mut workerd = start().await;
    let running = Workload::new(workerd.clients().unwrap(), BUDGET).start();
    tokio::time::sleep(BRANCHING).await;
    for after_ms in [900, 1_700, 400] {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        workerd.restart().await.expect("workerd comes back");
    }
    let before = running.history().operations().len();
    // The isolates are new, and hear of the branches with their first contact: the number outlives the object.
    load(&running, BRANCHED, (before, WINDOWS_AFTER)).await;
    let operations = running.stop().await.unwrap();
    println!(
        "admitted by window {:?}, {:?}",
        admitted_by_window(&operations),
        outcomes(&operations)
    );
    let lost = |operation: &Operation| matches!(operation.outcome, Outcome::Lost(_));
    assert!(operations.iter().any(lost), "no kill fell into the load");
    assert_eq!(violations(&operations, LIMIT, WINDOW), []);
    // Of the window of the last kill and of the next, units were lent to holders that died.
    let after = &operations[before..];
    let mut full = full_windows(after);
    full.pop_first();
    full.pop_first();
    assert!(full.len() >= 2, "only {} full windows", full.len());
    let stalls = stalls(after, WINDOW);
    let most = |window: u64| LIMIT / 2 + stalls[&window].units(LIMIT);
    let mut unused = left_unused(after, LIMIT, most);
    unused.retain(|(window, _)| full.contains_key(window));
    assert_eq!(unused, [], "of {LIMIT}, stalls {stalls:?}");
    assert_branched(&mut workerd);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_is_in_force_at_every_branch_within_a_second() {
    const IN_FORCE: Duration = Duration::from_secs(1);
    let mut workerd = start().await;
    let clients = workerd.clients().unwrap();
    let asked = token_request("gateway", Role::Service);
    let made = clients[0].make_token(&asked).await.unwrap();
    let running = Workload::new(clients.clone(), BUDGET).start();
    tokio::time::sleep(BRANCHING).await;
    let holders: Vec<Client> = clients
        .iter()
        .map(|client| client.with_token(&made.token))
        .collect();
    let question = json!({ "tenant": "a", "budget": BUDGET, "cost": 1 });
    let refused = async |holder: &Client| {
        let answer = holder.post("/v1/check", &question).await;
        answer.unwrap().status == 401
    };
    for holder in &holders {
        assert!(!refused(holder).await, "the token is good");
    }
    let path = format!("/operator/v1/tokens/{}", made.view.id);
    let gone = clients[0].request(reqwest::Method::DELETE, &path);
    assert_eq!(clients[0].send(gone).await.unwrap().status, 204);
    let all = holders
        .iter()
        .map(async |holder| until(IN_FORCE, async || refused(holder).await).await);
    let took = join_all(all).await;
    println!("refused after {took:?}");
    running.stop().await.unwrap();
    assert_branched(&mut workerd);
}
