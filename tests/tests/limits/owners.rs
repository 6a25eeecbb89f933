//! Keys that somebody invents: others are decided as if nobody did, and what is above an owner's part is one state of its
//! own.

use std::ops::Range;
use std::time::Duration;

use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use weir_shared::limits::{
    COORDINATOR_CALL_MS_MAX, HOLDERS_ISOLATE_MAX, ISOLATE_KEYS_MAX, JSON_INTEGER_MAX, KEY_SHARDS,
    LIMIT_KEYS_MAX, OWNER_PART, POOLS_MAX, TENANT_KEYS_MAX,
};
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::check::Reason;
use weir_shared::wire::role::Role;
use weir_tests::calls::charge;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::origin::Origin;
use weir_tests::storage::{count, databases};
use weir_tests::workerd::{TOKEN, Workerd};

use crate::limits::{
    LONG_MS, SETTLING, alone, answered, ask_open, decide, decide_once, document, fixed, settle,
    status_of, still, take,
};

const BOUND: u64 = 5;

/// Keys that the normal run invents before and after a shard is filled with copies of them. One that invents all by
/// itself: `WEIR_KEYS=1000000`.
const KEYS: usize = 400;

/// What a limit admits whose keys nobody uses up.
const WIDE: u64 = 1_000_000;

/// Questions of one batch.
const BATCH: usize = 200;

/// For how long a settlement waits for the coordinator.
const COORDINATOR_WAITED: Duration = Duration::from_millis(COORDINATOR_CALL_MS_MAX);

/// A tenant that the policy names, and one that it does not.
pub(super) const NAMED: &str = "pro:acme";
pub(super) const STRANGER: &str = "x:stranger";

/// Who invents keys.
pub(super) const LOUD: &str = "x:loud";
pub(super) const LOUD_OWNS: &str = "t:x:loud";

/// Keys that the long form invents, half of them in one shard.
fn keys_asked() -> Option<usize> {
    std::env::var("WEIR_KEYS").ok()?.parse().ok()
}

fn limits() -> Value {
    let of_tenants = |limit| with(limit, "/per_tenant", json!(true));
    json!({
        "each": of_tenants(still(BOUND)),
        "shared": still(BOUND),
        "isolate": of_tenants(fixed(BOUND, LONG_MS, "isolate")),
        "leased": of_tenants(fixed(BOUND, LONG_MS, "global")),
        // No one asker borrows all of it.
        "wide": of_tenants(fixed(WIDE, LONG_MS, "global")),
    })
}

async fn deployment() -> Workerd {
    let workerd = alone().start().await.unwrap();
    let tenants = json!({ NAMED: { "tier": "pro" } });
    let document = with(document(limits()), "/tenants", tenants);
    workerd.apply(&document).await.unwrap();
    workerd
}

/// A client with a new token, once the isolate knows it.
pub(super) async fn employ(workerd: &Workerd, role: Role, tenant: Option<&str>) -> Client {
    let admin = workerd.client(0).unwrap();
    let start = now();
    // A token whose answer was late is made all the same, and keeps its name.
    let mut attempt = 0;
    let made = loop {
        let name = tenant.unwrap_or("backend").replace(':', "-");
        let request = TokenRequest {
            name: format!("{name}-{attempt}"),
            role,
            tenant: tenant.map(str::to_owned),
            prefix: None,
            expires_at: None,
        };
        match admin.make_token(&request).await {
            Ok(made) => break made,
            Err(error) => assert!(start.elapsed() < SETTLING, "{error:#}"),
        }
        attempt += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let client = admin.with_token(&made.token);
    let start = now();
    let looked = charge("shared", "", 0);
    while [401, 503].contains(&client.post("/v1/check", &looked).await.unwrap().status) {
        assert!(start.elapsed() < SETTLING, "the token is not known");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    client
}

/// Takes a unit of so many new keys.
async fn invent(client: &Client, limit: &str, count: Range<usize>) {
    for from in count.clone().step_by(BATCH) {
        let questions = inventions(limit, from..(from + BATCH).min(count.end));
        // A connection may end between two of a million requests. Who asks again is charged twice, for keys of its own.
        let decisions = match client.batch(&questions).await {
            Ok(decisions) => decisions,
            Err(_) => client.batch(&questions).await.unwrap(),
        };
        ask_open(client, &questions, decisions).await;
    }
}

fn inventions(limit: &str, keys: Range<usize>) -> Vec<Value> {
    let questions = keys.map(|key| charge(limit, &format!("invented-{key}"), 1));
    questions.collect()
}

/// What a question came to, as far as it is the same in every deployment.
type Verdict = (String, bool, u64, Reason);

/// What others are told: every first request, what follows it, and whether an admin and a stranger may log in.
async fn others(workerd: &Workerd) -> Vec<Verdict> {
    let tenants = [
        employ(workerd, Role::Tenant, Some(NAMED)).await,
        employ(workerd, Role::Tenant, Some(STRANGER)).await,
    ];
    let backend = employ(workerd, Role::Service, None).await;
    let mut told = Vec::new();
    for limit in ["each", "shared", "isolate"] {
        for key in ["", "a", "b", "c", "d", "e", "f"] {
            let asking = tenants.iter().map(|client| (client, None));
            let asking = asking.chain([(&backend, Some("x:customer"))]);
            for (nth, (client, tenant)) in asking.enumerate() {
                for cost in [2, 3, 1] {
                    // Keys that all tenants have together are of other names.
                    let mut question = charge(limit, &format!("{limit}{nth}{key}"), cost);
                    if key.is_empty() && limit != "shared" {
                        question.as_object_mut().unwrap().remove("key");
                    }
                    if let Some(tenant) = tenant {
                        question["tenant"] = json!(tenant);
                    }
                    let decision = decide(client, &question).await;
                    told.push((
                        format!("{nth} {limit} {key} {cost}"),
                        decision.allowed,
                        decision.remaining,
                        decision.reason,
                    ));
                }
            }
        }
    }
    let anonymous = workerd.client(0).unwrap().anonymous();
    for token in [TOKEN, "a-token-that-nobody-has"] {
        let request = anonymous.request(Method::POST, "/operator/v1/session");
        let request = request.json(&json!({ "token": token }));
        let status = answered(&anonymous, &request).await.status;
        told.push((
            format!("login {status}"),
            status == 200,
            0,
            Reason::Admitted,
        ));
    }
    told
}

/// The rows of an owner in each shard of keys that has any.
fn rows(workerd: &Workerd, owner: &str) -> Vec<usize> {
    let shards = shards(workerd);
    let counts = shards.iter().map(|shard| owned(shard, owner));
    counts.filter(|rows| *rows > 0).collect()
}

fn owned(shard: &Connection, owner: &str) -> usize {
    count(
        shard,
        "SELECT COUNT(*) FROM states WHERE owner = ?1",
        [owner],
    )
    .unwrap()
}

/// What an owner would have invented in ten thousand requests more, in each shard that has a row of it; how many shards.
fn fill(workerd: &Workerd, owner: &str) -> usize {
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
               INSERT INTO states (name, key, expires_at, body, owner, caller) \
               SELECT name, 'fill' || i, expires_at, body, owner, caller FROM n, \
               (SELECT * FROM states WHERE owner = ?2 LIMIT 1)";
    let mut filled = 0;
    for shard in shards(workerd) {
        let owned = owned(&shard, owner);
        if owned > 0 {
            let missing = (TENANT_KEYS_MAX - owned) as i64;
            assert_eq!(
                shard.execute(sql, (missing, owner)).unwrap(),
                missing as usize
            );
            filled += 1;
        }
    }
    filled
}

pub(super) fn shards(workerd: &Workerd) -> Vec<Connection> {
    databases(&workerd.disk(), "Region", "states").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn others_are_decided_as_if_nobody_had_invented_keys() {
    let calm = others(&deployment().await).await;
    assert!(calm.iter().any(|told| told.1) && calm.iter().any(|told| !told.1));

    let mut workerd = deployment().await;
    let loud = employ(&workerd, Role::Tenant, Some(LOUD)).await;
    let started = now();
    let half = keys_asked().map_or(KEYS, |asked| asked / 2);
    invent(&loud, "each", 0..half).await;
    invent(&loud, "shared", 0..half).await;
    println!("{half} keys of each limit in {:?}", started.elapsed());
    if keys_asked().is_none() {
        workerd.kill_hard();
        assert_eq!(fill(&workerd, LOUD_OWNS), KEY_SHARDS as usize);
        workerd.restart().await.unwrap();
        invent(&loud, "each", half..2 * half).await;
        invent(&loud, "shared", half..2 * half).await;
    }
    invent(&loud, "isolate", 0..ISOLATE_KEYS_MAX / OWNER_PART + BATCH).await;
    let attacked = others(&workerd).await;
    let mut differ = calm
        .iter()
        .zip(&attacked)
        .filter(|(one, other)| one != other);
    assert_eq!(differ.next(), None, "one is decided otherwise");

    // What is above its part shares one state, which has been used up long since.
    for limit in ["each", "isolate"] {
        for nth in 0..3 {
            let more = take(&loud, limit, &format!("more{nth}"), 1).await;
            assert!(!more.allowed, "{limit} {nth}: {more:?}");
        }
        let first = take(&loud, limit, "invented-0", BOUND - 1).await;
        assert!(first.allowed, "who was there is as before: {first:?}");
    }
    workerd.kill_hard();
    let rows = rows(&workerd, LOUD_OWNS);
    println!("rows by shard: {rows:?}");
    // And the states that it shares, one a limit.
    assert!(
        rows.iter().all(|rows| *rows <= TENANT_KEYS_MAX + 2),
        "{rows:?}"
    );
    assert_eq!(rows.iter().max(), Some(&(TENANT_KEYS_MAX + 2)));
}

/// Settlements are kept beside the keys, and are none: whoever settles much takes nobody's room for keys.
#[tokio::test(flavor = "multi_thread")]
async fn settlements_take_no_room_of_keys() {
    let mut workerd = deployment().await;
    let backend = employ(&workerd, Role::Service, None).await;
    // So many that each shard has some, whatever the secret by which they are spread.
    invent(&backend, "shared", 0..KEYS).await;
    workerd.kill_hard();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) \
               INSERT INTO states (name, key, expires_at, body) \
               SELECT char(1) || 'settled', 'fill' || i, ?2, '{}' FROM n";
    let mut filled = 0;
    for shard in shards(&workerd) {
        if count(&shard, "SELECT COUNT(*) FROM states", []).unwrap() > 0 {
            let values = (LIMIT_KEYS_MAX as i64, JSON_INTEGER_MAX as i64);
            shard.execute(sql, values).unwrap();
            filled += 1;
        }
    }
    assert_eq!(filled, KEY_SHARDS);
    workerd.restart().await.unwrap();
    // Two of them at least are of one shard, and would share the state of their caller.
    for key in 0..2 * KEY_SHARDS {
        let first = take(&backend, "shared", &format!("new{key}"), BOUND).await;
        assert!(first.allowed, "a key of its own: {first:?}");
    }
}

/// Whose keys of a global limit an isolate and its region have no room for any more: those of whoever invents them alone.
#[tokio::test(flavor = "multi_thread")]
async fn leases_of_others_have_room_beside_those_of_who_invents_keys() {
    let workerd = deployment().await;
    let loud = employ(&workerd, Role::Tenant, Some(LOUD)).await;
    let part = HOLDERS_ISOLATE_MAX / OWNER_PART;
    invent(&loud, "leased", 0..part).await;
    let beyond = inventions("leased", part..part + BATCH);
    loud.batch(&beyond).await.unwrap();
    let more = decide_once(&loud, &charge("leased", "more", 1)).await;
    assert_eq!(
        (more.allowed, more.reason),
        (false, Reason::Unavailable),
        "{more:?}"
    );
    for tenant in [NAMED, STRANGER] {
        let client = employ(&workerd, Role::Tenant, Some(tenant)).await;
        for key in ["a", "b", "c"] {
            let first = take(&client, "leased", key, BOUND).await;
            assert!(first.allowed, "{tenant} {key}: {first:?}");
            let next = take(&client, "leased", key, 1).await;
            assert_eq!(next.reason, Reason::LimitExceeded, "{tenant} {key}");
        }
    }
}

/// Reserves a unit of so many new keys, and tells the reservations.
async fn reserve(client: &Client, keys: Range<usize>) -> Vec<String> {
    // Each is a pool that the region has to ask for.
    const AT_ONCE: usize = 20;
    let mut texts = Vec::new();
    for from in keys.clone().step_by(AT_ONCE) {
        let keys = from..(from + AT_ONCE).min(keys.end);
        let mut questions: Vec<_> = keys
            .map(|key| {
                let question = charge("wide", &format!("reserved-{key}"), 1);
                with(question, "/reserve", json!(true))
            })
            .collect();
        let start = now();
        loop {
            let mut again = Vec::new();
            let decisions = client.batch(&questions).await.unwrap();
            for (question, decision) in questions.into_iter().zip(decisions) {
                if let Some(text) = &decision.reservation {
                    texts.push(text.clone());
                    continue;
                }
                // The coordinator is out of reach of a busy machine for a moment.
                let waits = decision.reason == Reason::Unavailable && start.elapsed() < SETTLING;
                assert!(waits, "{question}: {decision:?}");
                again.push(question);
            }
            questions = again;
            if questions.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
    texts
}

/// Settles each at two units where one was reserved; how many were charged beyond, and of how many nobody knows because the
/// coordinator was not waited for any longer.
async fn charge_beyond(client: &Client, reservations: &[String]) -> (u64, u64) {
    let (mut charged, mut unknown) = (0, 0);
    for some in reservations.chunks(8) {
        let settling = some.iter().map(async |text| {
            let asked = now();
            let debt = settle(client, text, 2).await.debt;
            (debt, asked.elapsed())
        });
        for (debt, took) in futures_util::future::join_all(settling).await {
            charged += debt;
            unknown += u64::from(debt == 0 && took >= COORDINATOR_WAITED);
        }
    }
    (charged, unknown)
}

/// Reservations of several lives of an isolate, which together are of more keys than one owner may have in a region.
#[tokio::test(flavor = "multi_thread")]
async fn what_settlements_charge_beyond_is_bounded_by_their_owners_part() {
    const LIVES: usize = 3;
    let part = POOLS_MAX / OWNER_PART;
    let a_life = HOLDERS_ISOLATE_MAX / OWNER_PART;
    assert!(LIVES * a_life > part);
    let mut workerd = deployment().await;
    let loud = employ(&workerd, Role::Tenant, Some(LOUD)).await;
    let mut lives = Vec::new();
    for life in 0..LIVES {
        if life > 0 {
            workerd.restart().await.unwrap();
        }
        let texts = reserve(&loud, life * a_life..(life + 1) * a_life).await;
        assert_eq!(texts.len(), a_life, "life {life}");
        lives.push(texts);
    }
    // The region's life has the keys of the last, and has room for those of one more.
    let (first, second) = (&lives[0], &lives[1]);
    let room = part - a_life;
    let (charged, open) = charge_beyond(&loud, &first[..room]).await;
    assert_eq!(charged + open, room as u64, "{open} are not known");
    let (charged, _) = charge_beyond(&loud, &second[..40]).await;
    assert!(charged <= open, "no part is left: {charged}, {open}");
    // What is there is settled as before, and nobody else notices.
    let (charged, unknown) = charge_beyond(&loud, &lives[2][..8]).await;
    assert_eq!(charged + unknown, 8, "{unknown} are not known");
    let stranger = employ(&workerd, Role::Tenant, Some(STRANGER)).await;
    let others = reserve(&stranger, 0..8).await;
    let (charged, unknown) = charge_beyond(&stranger, &others).await;
    assert_eq!(charged + unknown, 8, "{unknown} are not known");
}

/// Requests of a gateway's route whose limit has its key from a header.
async fn pass(client: &Client, address: &str, keys: Range<usize>) -> usize {
    let mut passed = 0;
    for key in keys {
        let request = client
            .request(Method::GET, "/thing")
            .header("cf-connecting-ip", address)
            .header("x-key", format!("{address}-{key}"));
        passed += usize::from(status_of(client, &request).await == 200);
    }
    passed
}

/// A gateway before an origin, whose one limit has its key from a header.
async fn gateway() -> (Workerd, Origin) {
    let origin = Origin::start().await.unwrap();
    let workerd = alone().local_network().start().await.unwrap();
    let route = json!({
        "name": "api", "path": "/*",
        "checks": [{ "limit": "shared", "key": { "header": "x-key" } }],
        "origin": { "url": origin.url(), "timeout_ms": 20_000 },
    });
    let document = with(document(limits()), "/routes", json!([route]));
    workerd.apply(&document).await.unwrap();
    (workerd, origin)
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_from_a_header_are_bounded_by_the_address_that_invents_them() {
    const NEWS: usize = 60;
    let (loud, other) = ("203.0.113.7", "203.0.113.8");
    let (mut workerd, _origin) = gateway().await;
    let client = workerd.client(0).unwrap().anonymous();
    assert_eq!(pass(&client, loud, 0..NEWS).await, NEWS);
    workerd.kill_hard();
    assert_eq!(fill(&workerd, "a:203.0.113.7"), KEY_SHARDS as usize);
    workerd.restart().await.unwrap();
    let passed = pass(&client, loud, NEWS..2 * NEWS).await;
    let states = BOUND as usize * KEY_SHARDS as usize;
    assert!(passed <= states, "{passed} passed, with {states} units");
    assert_eq!(pass(&client, other, 0..NEWS).await, NEWS);
    assert_eq!(pass(&client, loud, 0..NEWS).await, NEWS, "who was there");
}

/// Somebody who has a site's network of IPv6, and comes from another network of 64 bits each time.
#[tokio::test(flavor = "multi_thread")]
async fn a_site_of_ipv6_is_one_owner_of_keys_and_of_logins() {
    const NEWS: usize = 60;
    const SITE: &str = "a:2001:db8:7::/48";
    let network = |number: usize| format!("2001:db8:7:{number:x}::1");
    let (mut workerd, _origin) = gateway().await;
    let client = workerd.client(0).unwrap().anonymous();
    for number in 0..NEWS {
        assert_eq!(pass(&client, &network(number), 0..1).await, 1);
    }
    for number in 0..2 {
        let request = client.request(Method::POST, "/operator/v1/session");
        let request = request
            .header("cf-connecting-ip", network(number))
            .json(&json!({ "token": "a-token-that-nobody-has" }));
        assert_eq!(answered(&client, &request).await.status, 401);
    }
    workerd.kill_hard();
    let logins = "SELECT COUNT(*) FROM states WHERE name LIKE 'login%' AND owner = ?1";
    let counted = shards(&workerd)
        .iter()
        .map(|shard| count(shard, logins, [SITE]).unwrap())
        .sum::<usize>();
    assert_eq!(counted, 2, "each by its network, on one account");
    let filled = fill(&workerd, SITE);
    assert!(filled >= KEY_SHARDS as usize, "{filled} shards");
    workerd.restart().await.unwrap();
    let mut passed = 0;
    for number in NEWS..2 * NEWS {
        passed += pass(&client, &network(number), 0..1).await;
    }
    let states = BOUND as usize * KEY_SHARDS as usize;
    assert!(passed <= states, "{passed} passed, with {states} units");
    assert_eq!(
        pass(&client, "2001:db8:8::1", 0..NEWS).await,
        NEWS,
        "another site"
    );
}
