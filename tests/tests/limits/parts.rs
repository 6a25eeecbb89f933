//! What is kept of keys beside the number of keys: what one owner can have of it, and that others are decided beside it as in
//! a deployment that nobody attacks.

use std::time::Duration;

use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use weir_shared::algorithms::scale::ScaledState;
use weir_shared::limiting::owner::{Account, Owner, overflow_key};
use weir_shared::limiting::stored::{StoredHold, StoredState};
use weir_shared::limiting::terms::machine_of;
use weir_shared::limits::{CALLER_KEYS_MAX, HOLDS_MAX, JSON_INTEGER_MAX, TENANT_STATE_BYTES_MAX};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::check::Reason;
use weir_shared::wire::limit_terms::LimitTerms;
use weir_shared::wire::policy::{Algorithm, LimitBody, Scope};
use weir_shared::wire::role::Role;
use weir_tests::calls::{charge, charge_keys};
use weir_tests::client::Client;
use weir_tests::clock::epoch_ms;
use weir_tests::fixtures::with;
use weir_tests::origin::Origin;
use weir_tests::storage::count;
use weir_tests::workerd::Workerd;

use crate::limits::owners::{LOUD, LOUD_OWNS, NAMED, STRANGER, employ, shards};
use crate::limits::{
    HOUR_MS, alone, decide, decide_once, document, key_in, learn_shards, start, status_of, still,
    take,
};

/// Far longer than a test.
const LATER_MS: u64 = 600_000;

/// What a question came to.
type Verdict = (bool, u64, Reason);

async fn told(client: &Client, question: &Value) -> Verdict {
    let decision = decide(client, question).await;
    (decision.allowed, decision.remaining, decision.reason)
}

/// A question that two shards decide, of keys that are its own.
fn of_two(nth: usize, cost: u64) -> Value {
    let (one, other) = (key_in(0, nth), key_in(1, nth));
    charge_keys("both", &[("one", &one), ("other", &other)], cost)
}

/// Questions that two shards decide, of keys that are their own.
async fn held(client: &Client, from: usize) -> Vec<Verdict> {
    let mut all = Vec::new();
    for nth in from..from + 3 {
        for cost in [2, 3, 1] {
            all.push(told(client, &of_two(nth, cost)).await);
        }
    }
    all
}

/// Questions whose asker went away in between are held until they lapse. One tenant has as many of those as it can.
#[tokio::test(flavor = "multi_thread")]
async fn questions_of_others_are_held_and_decided_beside_those_of_one_tenant() {
    let limits = json!({ "one": still(5), "other": still(5), "both": { "all": ["one", "other"] } });
    let mut others = Vec::new();
    for attacked in [false, true] {
        let mut workerd = start(alone(), limits.clone()).await;
        let loud = employ(&workerd, Role::Tenant, Some(LOUD)).await;
        assert!(held(&loud, 0).await.iter().any(|told| told.0));
        workerd.kill_hard();
        if attacked {
            assert_eq!(hang_up(&workerd), 2, "shards");
        }
        workerd.restart().await.unwrap();
        let mut all = Vec::new();
        for (nth, tenant) in [STRANGER, NAMED].into_iter().enumerate() {
            let client = employ(&workerd, Role::Tenant, Some(tenant)).await;
            all.extend(held(&client, 10 * (nth + 1)).await);
        }
        others.push(all);
        if attacked {
            for nth in 40..43 {
                let more = decide_once(&loud, &of_two(nth, 1)).await;
                assert_eq!(more.reason, Reason::Unavailable, "beyond its part");
            }
        }
    }
    assert!(others[0].iter().any(|told| told.0));
    assert_eq!(others[0], others[1], "one is decided otherwise");
}

/// Puts the questions there that a tenant asked and did not wait for, in each shard that has keys; how many shards.
fn hang_up(workerd: &Workerd) -> usize {
    let account = Account {
        owner: Some(Owner::tenant(LOUD)),
        ..Account::default()
    };
    let hold = StoredHold::new(&[], (&[], &[]), EpochMs(epoch_ms() + LATER_MS)).of(account);
    let hold = serde_json::to_string(&hold).unwrap();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
               INSERT INTO states (name, key, expires_at, body) SELECT char(1) || 'hold', i, ?2, ?3 FROM n";
    let mut shards = keyed(workerd, "one");
    shards.extend(keyed(workerd, "other"));
    for shard in &shards {
        let values = (HOLDS_MAX as i64 / 2, JSON_INTEGER_MAX as i64, &hold);
        shard.execute(sql, values).unwrap();
    }
    shards.len()
}

/// The shards that have keys of a limit.
fn keyed(workerd: &Workerd, limit: &str) -> Vec<Connection> {
    let has = |shard: &Connection| {
        count(
            shard,
            "SELECT COUNT(*) FROM states WHERE name = ?1",
            [limit],
        )
        .unwrap()
            > 0
    };
    shards(workerd).into_iter().filter(has).collect()
}

/// Instants of a log that takes more than a key's part of the bytes, and of which one is beyond it.
const LOGGED: u64 = 800;
const LOG_MAX: u64 = 2_000;

fn log() -> Value {
    json!({ "algorithm": "sliding_log", "limit": LOG_MAX, "window_ms": HOUR_MS, "scope": "region", "per_tenant": true })
}

/// The row of a log after so many checks, each at an instant of its own.
fn grown() -> String {
    let body = LimitBody {
        algorithm: Some(Algorithm::SlidingLog),
        limit: Some(LOG_MAX),
        window_ms: Some(HOUR_MS),
        scope: Some(Scope::Region),
        ..LimitBody::default()
    };
    let machine = machine_of(&LimitTerms::of_limit("log", Revision(1), 1, body)).unwrap();
    let from = epoch_ms() - LOGGED * 997;
    let instants = (0..LOGGED).map(|nth| EpochMs(from + nth * 997 + nth * nth % 613));
    let state = instants.fold(None, |state: Option<ScaledState>, at| {
        machine.check(state.as_ref(), 1, at).next.or(state)
    });
    let stored = StoredState::new(state.unwrap());
    serde_json::to_string(&stored).unwrap()
}

async fn logged(client: &Client, keys: &[&str]) -> Vec<Verdict> {
    let mut all = Vec::new();
    for key in keys {
        for cost in [1, 1_500, 600] {
            all.push(told(client, &charge("log", key, cost)).await);
        }
    }
    all
}

fn row(shard: &Connection, key: &str) -> Option<String> {
    let sql = "SELECT body FROM states WHERE name = 'log' AND key = ?1";
    shard.query_row(sql, [key], |row| row.get(0)).ok()
}

/// Keys that were small when they were let in grow until their owner's bytes are used up, and no further.
#[tokio::test(flavor = "multi_thread")]
async fn states_grow_no_further_than_their_owners_bytes() {
    let mut others = Vec::new();
    for attacked in [false, true] {
        let mut workerd = start(alone(), json!({ "log": log() })).await;
        let loud = employ(&workerd, Role::Tenant, Some(LOUD)).await;
        assert!(take(&loud, "log", "grown", 1).await.allowed);
        workerd.kill_hard();
        let key = format!("{LOUD}\u{1}grown");
        let body = grown();
        if attacked {
            let shard = keyed(&workerd, "log").pop().unwrap();
            let sql = "UPDATE states SET body = ?1 WHERE name = 'log' AND key = ?2";
            assert_eq!(shard.execute(sql, (&body, &key)).unwrap(), 1);
            fill_bytes(&shard);
        }
        workerd.restart().await.unwrap();
        let mut all = Vec::new();
        for tenant in [STRANGER, NAMED] {
            let client = employ(&workerd, Role::Tenant, Some(tenant)).await;
            all.extend(logged(&client, &["a", "b"]).await);
        }
        others.push(all);
        if !attacked {
            continue;
        }
        for _ in 0..3 {
            let more = take(&loud, "log", "grown", 1).await;
            assert!(more.allowed, "{more:?}");
            // What was drawn ahead is used up or given back by then.
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        workerd.kill_hard();
        let shard = keyed(&workerd, "log")
            .into_iter()
            .find(|shard| row(shard, &key).is_some());
        let shard = shard.expect("the shard of the key");
        assert_eq!(row(&shard, &key).as_deref(), Some(&*body), "it grew");
        let shared = overflow_key(Some(&Owner::tenant(LOUD)));
        assert!(row(&shard, &shared).is_some(), "it goes on there");
    }
    assert!(others[0].iter().any(|told| told.0) && others[0].iter().any(|told| !told.0));
    assert_eq!(others[0], others[1], "one is decided otherwise");
}

/// What a tenant has of bytes when it has let its keys grow.
fn fill_bytes(shard: &Connection) {
    const BYTES: i64 = 1_000_000;
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
               INSERT INTO states (name, key, expires_at, body, owner) \
               SELECT 'log', 'fill' || i, ?2, hex(zeroblob(?3)), ?4 FROM n";
    let rows = TENANT_STATE_BYTES_MAX as i64 / BYTES + 1;
    let values = (rows, JSON_INTEGER_MAX as i64, BYTES / 2, LOUD_OWNS);
    assert_eq!(shard.execute(sql, values).unwrap() as i64, rows);
}

/// A route that takes the tenant's word for who it is, and a tenant whose limit the policy lowers.
async fn gateway() -> (Workerd, Origin) {
    let origin = Origin::start().await.unwrap();
    let workerd = alone().local_network().start().await.unwrap();
    let route = json!({
        "name": "api", "path": "/*", "tenant": { "header": "x-tenant" },
        "checks": [{ "limit": "each", "key": { "header": "x-key" } }],
        "origin": { "url": origin.url(), "timeout_ms": 20_000 },
    });
    let lowered = json!({
        "starts_at": epoch_ms() - 1_000, "expires_at": epoch_ms() + LATER_MS,
        "limits": { "each": { "limit": OWN_BOUND } },
    });
    let each = with(still(BOUND), "/per_tenant", json!(true));
    let document = with(document(json!({ "each": each })), "/routes", json!([route]));
    let tenants = json!({ NAMED: { "tier": "pro", "overrides": [lowered] } });
    workerd
        .apply(&with(document, "/tenants", tenants))
        .await
        .unwrap();
    learn_shards(&workerd);
    (workerd, origin)
}

const BOUND: u64 = 9;
const OWN_BOUND: u64 = 4;

/// The statuses of so many requests of a tenant with a key.
async fn statuses(client: &Client, tenant: &str, key: &str, requests: u64) -> Vec<u16> {
    let mut all = Vec::new();
    for _ in 0..requests {
        let request = client
            .request(Method::GET, "/thing")
            .header("cf-connecting-ip", "203.0.113.8")
            .header("x-tenant", tenant)
            .header("x-key", key);
        all.push(status_of(client, &request).await);
    }
    all
}

/// Names at a route are anybody's word. Whoever fills the route's room with them, and uses up what it then shares, does so by
/// the rules of the names that it invents.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_of_other_rules_is_charged_by_nobody_who_fills_a_route() {
    let mut others = Vec::new();
    for attacked in [false, true] {
        let (mut workerd, _origin) = gateway().await;
        let client = workerd.client(0).unwrap().anonymous();
        if attacked {
            for nth in 0..40 {
                assert_eq!(statuses(&client, &format!("x:{nth}"), "k", 1).await, [200]);
            }
            workerd.kill_hard();
            let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
                       INSERT INTO states (name, key, expires_at, body, caller) \
                       SELECT name, 'fill' || i, expires_at, body, 'r:api' FROM n, \
                       (SELECT * FROM states WHERE name = 'each' LIMIT 1)";
            let shards = keyed(&workerd, "each");
            assert_eq!(shards.len(), 4);
            for shard in shards {
                shard.execute(sql, [CALLER_KEYS_MAX as i64]).unwrap();
            }
            workerd.restart().await.unwrap();
            let mut last = Vec::new();
            for nth in 0..40 * BOUND {
                last = statuses(&client, &format!("y:{nth}"), "k", 1).await;
            }
            assert_eq!(last, [429], "all of these share one state a shard");
        }
        // A key beside that of its name alone, which has room of its own.
        others.push(statuses(&client, NAMED, "a", OWN_BOUND + 2).await);
    }
    let expected: Vec<u16> = [[200; OWN_BOUND as usize].as_slice(), &[429; 2]].concat();
    assert_eq!(others, [expected.clone(), expected]);
}
