//! The registry out of reach, pushes that are lost, and changes that arrive while it is asked.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_shared::limits::{IDLE_REFRESH_MS_MAX, POLICY_POLL_MS};
use weir_shared::wire::check::{DecisionBody, Reason};
use weir_tests::client::{Client, PROBE_TENANT};
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, with};
use weir_tests::watch::Watch;
use weir_tests::within::until;
use weir_tests::witness::Fault;

use super::{IN_FORCE, SETTLING, document, make_token, records, service, start, status};

const READ: &str = "Registry/read";
const PUSH: &str = "Region/push";
const ALWAYS: u64 = u32::MAX as u64;

/// How long a decision may take while the registry does not answer, the first contact of a cold isolate included.
const DECIDED: Duration = Duration::from_secs(2);

/// A meter of five units, and a tenant for whom it has five hundred.
fn metered() -> Value {
    let meter = json!({ "per_sec": 1, "burst_seconds": 5, "max_debt_ms": 1 });
    let document = with(document(), "/meters", json!({ "results": meter }));
    let large = json!({ "overrides": [{ "meters": { "results": { "burst_seconds": 500 } } }] });
    with(document, "/tenants", json!({ "acme": large }))
}

async fn charge(client: &Client, tenant: &str) -> DecisionBody {
    let body = json!({ "tenant": tenant, "meter": "results", "cost": 50 });
    let begun = now();
    loop {
        let decision = client.decide(&body).await.unwrap().decision;
        let is_away = decision.reason == Reason::Unavailable;
        if !is_away || begun.elapsed() > SETTLING {
            return decision;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Everything is cold: isolates, regions and the registry, and the registry does not come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_without_the_registry_authenticates_and_applies_known_overrides() {
    for fault in [Fault::Refuse, Fault::Stall] {
        let mut workerd = start().await;
        workerd.apply(&metered()).await.unwrap();
        let admin = workerd.client(0).unwrap();
        let made = make_token(&admin, &service("gateway")).await.unwrap();
        workerd.restart().await.unwrap();
        let witness = workerd.witness().unwrap();
        witness.fault(READ, fault, ALWAYS).await.unwrap();
        let stranger = admin.with_token(&made.token.replacen("weir_", "weir_A", 1));
        for client in workerd.clients().unwrap() {
            let holder = client.with_token(&made.token);
            let begun = now();
            while !decides(&holder, fault).await {
                assert!(begun.elapsed() < SETTLING, "{}", workerd.log());
            }
            let known = charge(&holder, "acme").await;
            assert!(known.allowed, "{fault:?}: {known:?}");
            let unknown = charge(&holder, "someone-new").await;
            assert_eq!(unknown.reason, Reason::Never, "{fault:?}: {unknown:?}");
        }
        assert_eq!(status(&stranger).await.unwrap(), 401);
        let policy = admin.get("/operator/v1/policy").await.unwrap();
        assert_eq!(policy.status, 503, "{}", policy.text());
        // Its recovery is noticed by itself.
        witness.calm().await.unwrap();
        let back = now();
        let saved = loop {
            match admin.save_policy(&document()).await {
                Ok(saved) => break saved,
                Err(error) => assert!(back.elapsed() < SETTLING, "{error:#}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let clients = workerd.clients().unwrap();
        in_force(&clients, saved.revision().unwrap(), IN_FORCE).await;
    }
}

/// Whether it is decided, in time; if not, the machine stood still for so long that the isolate gave its region up.
async fn decides(holder: &Client, fault: Fault) -> bool {
    let watch = Watch::start(std::slice::from_ref(holder));
    let asked = now();
    let status = status(holder).await.unwrap();
    let answered = now();
    let (took, stood) = (answered - asked, watch.stop().await);
    let still = stood.during(asked, answered);
    println!("{fault:?}: {status} after {took:?}, of which {still:?} stood still");
    assert!(took < DECIDED + still, "{fault:?}: {took:?}, {still:?}");
    let is_excused = stood.excuses(asked, answered);
    assert!(status == 200 || is_excused, "{fault:?}: {status}");
    status == 200
}

async fn revision(client: &Client) -> u64 {
    let checked = client.check_budget(PROBE_TENANT, BUDGET, 0).await.unwrap();
    checked.decision.policy_revision
}

/// How long it takes until each isolate decides by a revision: no longer than `within`.
async fn in_force(clients: &[Client], at: u64, within: Duration) -> Vec<Duration> {
    let waits = clients
        .iter()
        .map(async |client| until(within, async || revision(client).await >= at).await);
    join_all(waits).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_in_force_everywhere_within_a_second() {
    let workerd = start().await;
    let clients = workerd.clients().unwrap();
    for _ in 0..3 {
        let saved = clients[1].save_policy(&document()).await.unwrap();
        let took = in_force(&clients, saved.revision().unwrap(), IN_FORCE).await;
        println!("in force after {took:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_lost_is_made_up_for_by_the_next_poll() {
    let workerd = start().await;
    let clients = workerd.clients().unwrap();
    let witness = workerd.witness().unwrap();
    witness.fault(PUSH, Fault::Refuse, ALWAYS).await.unwrap();
    let bound = Duration::from_millis(POLICY_POLL_MS) + IN_FORCE;
    let saved = clients[0].save_policy(&document()).await.unwrap();
    let took = in_force(&clients, saved.revision().unwrap(), bound).await;
    println!("in force after {took:?}, without a push");
    assert!(witness.seen().await.unwrap().struck >= 3);
}

/// A region that nobody asks does not poll either; whoever comes then is not decided for by what is out of date. How long it
/// waits for that is bounded: on a busy machine it may be over before there is an answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_an_idle_region_lost_is_made_up_for_before_the_first_decision() {
    const ROUNDS: usize = 5;
    const WAITED: Duration = Duration::from_millis(IDLE_REFRESH_MS_MAX);
    const IDLE: Duration = Duration::from_millis(2 * POLICY_POLL_MS + 2_000);
    let workerd = start().await;
    let clients = workerd.clients().unwrap();
    let witness = workerd.witness().unwrap();
    witness.fault(PUSH, Fault::Refuse, ALWAYS).await.unwrap();
    for _ in 0..ROUNDS {
        let saved = clients[0].save_policy(&document()).await.unwrap();
        let saved = saved.revision().unwrap();
        awake_for(&clients[0], IDLE).await;
        let mut waited_in_vain = false;
        for client in &clients[1..] {
            let asked = now();
            let decided_by = revision(client).await;
            let took = asked.elapsed();
            if decided_by != saved {
                assert!(took >= WAITED, "{decided_by}, not {saved}, in {took:?}");
                waited_in_vain = true;
            }
        }
        if !waited_in_vain {
            return;
        }
    }
    panic!("in none of {ROUNDS} rounds the registry was waited for until it answered");
}

/// Lets time pass in which the registry is awake: one that has to be woken first answers nobody soon, in any round.
async fn awake_for(client: &Client, time: Duration) {
    let begun = now();
    while begun.elapsed() < time {
        records(client, "&actor=nobody").await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// What was asked before a change is answered after it, with what was in force before.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_arrives_during_a_fetch_is_not_lost() {
    let workerd = start().await;
    let clients = workerd.clients().unwrap();
    let witness = workerd.witness().unwrap();
    let late = Duration::from_secs(2);
    let before = witness.seen().await.unwrap().count(READ);
    witness.late(READ, late).await.unwrap();
    let deadline = now() + SETTLING;
    while witness.seen().await.unwrap().count(READ) < before + 3 {
        assert!(now() < deadline, "the regions do not poll");
        join_all(clients.iter().map(revision)).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Three answers are under way, each with the revision before this one.
    let document = document();
    let reply = clients[0].put_policy(&document, Some("*")).await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    let etag = reply.header("etag").unwrap();
    let saved: u64 = etag.trim_matches('"').parse().unwrap();
    let took = in_force(&clients, saved, IN_FORCE).await;
    println!("in force after {took:?}, while the registry was asked");
    let landed = now() + 2 * late;
    while now() < landed {
        for client in &clients {
            assert_eq!(revision(client).await, saved, "it was lost again");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// However many ask while an answer is under way, there is one question a region.
#[tokio::test(flavor = "multi_thread")]
async fn at_most_one_question_is_under_way() {
    let workerd = start().await;
    let clients = workerd.clients().unwrap();
    let witness = workerd.witness().unwrap();
    // Well within the time after which a question is given up.
    let slow = Duration::from_millis(1_500);
    witness.slow(READ, slow).await.unwrap();
    let before = witness.seen().await.unwrap().count(READ);
    let started = now();
    while started.elapsed() < Duration::from_millis(2 * POLICY_POLL_MS) {
        join_all(clients.iter().map(revision)).await;
    }
    let asked = witness.seen().await.unwrap().count(READ) - before;
    let polls = started.elapsed().as_millis() as u64 / POLICY_POLL_MS;
    println!("{asked} questions of three regions in {polls} polls");
    assert!((3..=3 * (polls + 1)).contains(&asked), "{asked}");
}
