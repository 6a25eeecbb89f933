//! Three Envoys with an agent each share one budget, through an agent that is killed and one that is cut off: no window is
//! overdrawn, shares are those of the weights, and what a tenant leaves is had by the others at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use weir_shared::ordered::OrderedMap;
use weir_shared::wire::count::Count;
use weir_shared::wire::windows::WindowRecord;
use weir_tests::again::answered;
use weir_tests::client::Client;
use weir_tests::clock;
use weir_tests::clock::epoch_ms;
use weir_tests::fixtures::{policy, with};
use weir_tests::proxy::{Proxy, Weather};
use weir_tests::tempo::Tempo;

use crate::agent::envoy::Site;
use crate::agent::{Deployed, LONG_MS, described, shared};

const LIMIT: u64 = 450;
/// The length of a window, and the pause of each loop between an answer and its next request, where the machine is quick.
const WINDOW: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);
/// Tenants with their weights, and what these give of a window.
const TENANTS: [(&str, u64, u64); 3] = [("big", 6, 300), ("mid", 2, 100), ("small", 1, 50)];

/// How long after its end a record may take to be complete.
const COMPLETE: Duration = Duration::from_secs(60);

/// One tenant's requests to all three proxies, most of them to one.
struct Load {
    stop: Arc<AtomicBool>,
    passed: Arc<AtomicU64>,
    tasks: JoinSet<()>,
}

impl Load {
    fn start(sites: &[Site], tenant: &'static str, skewed_to: usize, tempo: Tempo) -> Self {
        let pause = tempo.stretched(PAUSE);
        let (stop, passed) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let mut tasks = JoinSet::new();
        for (index, site) in sites.iter().enumerate() {
            let loops = if index == skewed_to { 5 } else { 1 };
            for _ in 0..loops {
                let client = Client::new(site.proxy.url()).unwrap();
                let (stop, passed) = (Arc::clone(&stop), Arc::clone(&passed));
                tasks.spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        let request = client.request(reqwest::Method::GET, "/x");
                        let reply = client.send(request.header("x-tenant", tenant)).await;
                        if reply.is_ok_and(|reply| reply.status == 200) {
                            passed.fetch_add(1, Ordering::Relaxed);
                        }
                        tokio::time::sleep(pause).await;
                    }
                });
            }
        }
        Self {
            stop,
            passed,
            tasks,
        }
    }

    async fn stop(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
        self.passed.load(Ordering::Relaxed)
    }
}

/// Waits until so many whole windows have passed, and tells which, by when they end.
async fn whole_windows(count: u64, window_ms: u64) -> Vec<u64> {
    let first = epoch_ms() / window_ms + 1;
    let end_ms = (first + count) * window_ms + 100;
    tokio::time::sleep(Duration::from_millis(end_ms - epoch_ms())).await;
    (first..first + count)
        .map(|window| (window + 1) * window_ms)
        .collect()
}

/// The records by when their windows ended, once those of `ends` are complete.
async fn records(client: &Client, ends: &[u64], window_ms: u64) -> OrderedMap<u64, WindowRecord> {
    let begin = clock::now();
    loop {
        let path = "/operator/v1/budgets/tokens/windows?page_size=100";
        let reply = answered(async || client.get(path).await).await;
        let reply: Value = reply.ok().unwrap();
        let windows = reply["windows"].as_array().cloned().unwrap_or_default();
        let records = windows.into_iter().map(|window| {
            let record: WindowRecord = serde_json::from_value(window).unwrap();
            (record.ends_at.0.div_ceil(window_ms) * window_ms, record)
        });
        let records: OrderedMap<u64, WindowRecord> = records.collect();
        let complete = |end: &u64| records.get(end).is_some_and(|record| record.complete);
        if ends.iter().all(complete) {
            return records;
        }
        assert!(begin.elapsed() < COMPLETE, "{ends:?}: {records:?}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Units of a tenant: those that it was served, and those that it was denied.
fn served(record: &WindowRecord, tenant: &str) -> (u64, u64) {
    let mut tenants = record.tenants.iter();
    let of = tenants.find(|one| one.tenant == tenant);
    let units = |units: Count| u64::try_from(units.0).unwrap();
    of.map_or((0, 0), |one| (units(one.served), units(one.denied)))
}

/// The tenants share windows of this length.
fn document(window_ms: u64) -> Value {
    let weights = TENANTS.map(|(name, weight, _)| (name.to_owned(), json!({ "weight": weight })));
    let weights = Value::Object(weights.into_iter().collect());
    let document = with(policy(1_000, LONG_MS), "/tenants", weights);
    described(with(document, "/budgets/tokens", shared(LIMIT, window_ms)))
}

#[tokio::test(flavor = "multi_thread")]
async fn three_envoys_share_one_budget_by_weight_through_a_death_and_a_partition() {
    let deployed = Deployed::with(|document| document).await;
    let tempo = Tempo::of(std::slice::from_ref(&deployed.admin)).await;
    let window_ms = tempo.stretched(WINDOW).as_millis() as u64;
    let whole_windows = async |count| whole_windows(count, window_ms).await;
    let applied = deployed.workerd.apply(&document(window_ms)).await;
    applied.expect("the policy is saved");
    let cut = Proxy::start(deployed.admin.origin().to_owned())
        .await
        .unwrap();
    let mut sites = Vec::new();
    for index in 0..3 {
        let origin = if index == 2 {
            cut.origin()
        } else {
            deployed.admin.origin().to_owned()
        };
        sites.push(Site::beside(deployed.agent_at(&origin).await).await);
    }
    let start = |tenant: usize| Load::start(&sites, TENANTS[tenant].0, tenant, tempo);
    let started_ms = epoch_ms();
    let (big, mid, small) = (start(0), start(1), start(2));

    whole_windows(2).await;
    let steady = whole_windows(3).await;
    let mid_passed = mid.stop().await;
    let without_mid = whole_windows(2).await;
    let mid = start(1);
    whole_windows(1).await;

    // The agent beside which most of the heavy tenant's requests come dies, and another starts.
    sites[0].agent.kill_hard();
    tokio::time::sleep(Duration::from_millis(window_ms / 2)).await;
    sites[0]
        .agent
        .restart()
        .await
        .expect("the agent comes back");
    whole_windows(1).await;
    cut.set(Weather::Gone);
    whole_windows(2).await;
    cut.set(Weather::Fair);
    whole_windows(1).await;
    let healed = whole_windows(2).await;
    let mut passed = mid_passed;
    for load in [big, mid, small] {
        passed += load.stop().await;
    }
    let asked: u64 = sites.iter().map(|site| site.application.served()).sum();
    for site in &mut sites {
        site.agent.end().unwrap();
    }

    let judged: Vec<u64> = [&steady[..], &without_mid, &healed].concat();
    // Of the policy that the deployment began with nothing was asked.
    let asked_for = started_ms..=healed[1] + 2 * window_ms;
    let (begin, passed) = (clock::now(), u128::from(passed));
    let (records, counted) = loop {
        let mut records = records(&deployed.admin, &judged, window_ms).await;
        records.retain(|end, _| asked_for.contains(end));
        let counted: u128 = records.values().map(|record| record.admitted.0).sum();
        // What was counted by the agent that died, in half a second, died with it. The last window is counted last.
        if passed <= counted + u128::from(LIMIT) || begin.elapsed() > COMPLETE {
            break (records, counted);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    for (end, record) in &records {
        let parts = TENANTS.map(|(name, ..)| served(record, name).0);
        println!(
            "{end}: granted {:?}, served {parts:?}, returned {}, unaccounted {:?}, exact {}",
            record.granted, record.returned, record.unaccounted, record.exact
        );
        let granted = record
            .granted
            .map_or(0, |granted| granted.0 - record.returned.0);
        assert!(granted <= u128::from(LIMIT), "{record:?}");
        assert!(record.admitted.0 <= u128::from(LIMIT), "{record:?}");
    }
    println!("{passed} passed, {asked} reached the applications, {counted} are counted");
    assert_eq!(passed, u128::from(asked));
    let lost = passed.saturating_sub(counted);
    assert!(
        passed >= counted && lost <= u128::from(LIMIT),
        "{lost} were lost"
    );
    for end in steady.iter().chain(&healed) {
        for (tenant, _, ideal) in TENANTS {
            // A busy machine may not ask for that much.
            let (served, denied) = served(&records[end], tenant);
            let due = ideal.min(served + denied);
            assert!(
                served * 100 >= due * 95,
                "{tenant} was served {served} of {ideal}: {:?}",
                records[end]
            );
        }
    }
    for end in &steady {
        assert!(
            records[end].exact,
            "counted to the unit: {:?}",
            records[end]
        );
    }
    // What a tenant leaves is had by the others in the window in which it stops and from then on, but for the last of its
    // reserve, which is let go of as the window passes.
    let stopped = steady.last().unwrap() + window_ms;
    for end in without_mid.iter().chain([&stopped]) {
        let (others, denied) = (records[end].admitted.0, records[end].denied.0);
        let due = u128::from(LIMIT).min(others + denied);
        assert!(others * 100 >= due * 95, "{:?}", records[end]);
    }
}
