//! Branches of a busy region: objects between its own and its isolates. Here one isolate is enough for each, so a region of
//! four branches out ten seconds after its first request; what is promised without branches holds with them, and meanwhile.

mod many;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use weir_shared::wire::access::TokenReply;
use weir_shared::wire::operator::FairnessReply;
use weir_shared::wire::role::Role;
use weir_tests::checker::{admitted_by_window, full_windows, left_unused, violations};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy, token_request};
use weir_tests::history::{Operation, Outcome, outcomes};
use weir_tests::shares::stalls;
use weir_tests::storage::{count, databases};
use weir_tests::watch::Watch;
use weir_tests::workerd::{Setup, Workerd};
use weir_tests::workload::{Running, Workload};

const LIMIT: u64 = 200;
const WINDOW: Duration = Duration::from_secs(2);

/// Four isolates of one region, which branches, and one of another, which does not.
const PLACES: [&str; 5] = ["weur", "weur", "weur", "weur", "apac"];

/// Until a region has heard of its isolates for long enough, and they of its branches.
pub(crate) const BRANCHING: Duration = Duration::from_secs(20);

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

/// How often it is played: each isolate's random id names its branch, so once in 64 times four name the same one of four.
const TRIES: usize = 3;

/// Plays it with new isolates until they name two branches at least.
pub(crate) async fn until_two_lend(play: impl AsyncFn() -> bool) {
    for _ in 0..TRIES {
        if play().await {
            return;
        }
    }
    panic!("{TRIES} times one branch alone has lent");
}

/// One region has branches, and some have lent beside both regions' own objects; whether it was two of them at least.
#[track_caller]
pub(crate) fn two_have_lent(workerd: &mut Workerd) -> bool {
    let (decided, lent) = branches(workerd);
    println!("branches {decided:?}, {lent} objects have lent");
    assert_eq!(decided.len(), 1, "{decided:?}");
    assert!(decided[0] >= 2, "{decided:?}");
    assert!(lent >= 3, "{lent} objects have lent");
    lent >= 4
}

/// How long a busy machine may take to count, or to change what is asked of it.
const DONE: Duration = Duration::from_secs(60);

/// What the ledgers have counted of a budget, once it is as much.
async fn counted(client: &Client, units: u128) -> u128 {
    let sum = |view: &FairnessReply| -> u128 {
        let regions = view.regions.iter();
        regions.map(|region| region.total.admitted_units.0).sum()
    };
    let begun = now();
    loop {
        let late = begun.elapsed() > DONE;
        match client.fairness().await {
            Ok(view) if late || sum(&view) >= units => return sum(&view),
            Ok(_) => {}
            // A region may be out of reach.
            Err(error) => assert!(!late, "{error:#}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_that_branches_out_overdraws_no_window_leaves_none_unused_and_counts_each_unit() {
    until_two_lend(branch_out).await;
}

async fn branch_out() -> bool {
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
    two_have_lent(&mut workerd)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_window_is_overdrawn_across_kills_of_a_region_with_branches() {
    until_two_lend(kill_with_branches).await;
}

async fn kill_with_branches() -> bool {
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
    two_have_lent(&mut workerd)
}

/// Makes a token; of another name where the registry was out of reach, and may have made it.
async fn make_token(client: &Client, name: &str) -> TokenReply {
    let (begun, mut attempt) = (now(), 0);
    loop {
        let asked = token_request(&format!("{name}-{attempt}"), Role::Service);
        match client.make_token(&asked).await {
            Ok(made) => return made,
            Err(error) => assert!(begun.elapsed() < DONE, "{error:#}"),
        }
        attempt += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Revokes a token. Where the registry was out of reach it may be gone already.
async fn revoke(client: &Client, token: &TokenReply) {
    let path = format!("/operator/v1/tokens/{}", token.view.id);
    let (begun, mut expected): (Instant, &[u16]) = (now(), &[204]);
    loop {
        let request = client.request(reqwest::Method::DELETE, &path);
        let status = client.send(request).await.unwrap().status;
        if expected.contains(&status) {
            return;
        }
        assert!(status == 503 && begun.elapsed() < DONE, "{status}");
        expected = &[204, 404];
    }
}

async fn is_refused(holder: &Client) -> bool {
    let question = json!({ "tenant": "a", "budget": BUDGET, "cost": 1 });
    holder.post("/v1/check", &question).await.unwrap().status == 401
}

/// For how long a token that is gone is taken: until when a question was asked that it was good for, less what an answer, or the
/// way from one question to the next, took meanwhile.
async fn taken_for(holder: &Client, gone: Instant) -> Duration {
    let (mut taken, mut longest) = (Duration::ZERO, Duration::ZERO);
    loop {
        let sent = gone.elapsed();
        if is_refused(holder).await {
            return taken;
        }
        longest = longest.max(gone.elapsed() - sent);
        taken = taken.max(sent.saturating_sub(longest));
        assert!(sent < DONE, "it is good after {sent:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
        longest = longest.max(gone.elapsed() - sent);
    }
}

/// Revokes a token, and for how long it is taken at most; whether the machine stood still meanwhile.
async fn revoked(clients: &[Client], token: &TokenReply) -> (Duration, bool) {
    let holders = clients.iter().map(|client| client.with_token(&token.token));
    let holders: Vec<Client> = holders.collect();
    let begun = now();
    for holder in &holders {
        while is_refused(holder).await {
            assert!(begun.elapsed() < DONE, "the token is good");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let watch = Watch::start(clients);
    let asked = now();
    revoke(&clients[0], token).await;
    let gone = now();
    let took = join_all(holders.iter().map(|holder| taken_for(holder, gone))).await;
    println!("taken for {took:?}");
    let stood = watch.stop().await.excuses(asked, now());
    (took.into_iter().max().unwrap_or_default(), stood)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_is_in_force_at_every_branch_within_a_second() {
    until_two_lend(revoke_with_branches).await;
}

async fn revoke_with_branches() -> bool {
    const IN_FORCE: Duration = Duration::from_secs(1);
    let mut workerd = start().await;
    let clients = workerd.clients().unwrap();
    let names = ["first", "second", "third"];
    let tokens = join_all(names.map(|name| make_token(&clients[0], name))).await;
    let running = Workload::new(clients.clone(), BUDGET).start();
    tokio::time::sleep(BRANCHING).await;
    // Where the machine stands still, what tells of a change may be lost: the best of three counts.
    let mut in_force = false;
    for token in &tokens {
        let (took, stood) = revoked(&clients, token).await;
        in_force = took <= IN_FORCE;
        if in_force {
            break;
        }
        assert!(stood, "taken for {took:?}");
    }
    assert!(in_force, "three times it was not in force in time");
    running.stop().await.unwrap();
    two_have_lent(&mut workerd)
}
