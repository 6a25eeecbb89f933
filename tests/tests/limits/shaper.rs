//! The shaper: what comes too fast leaves later, and what would wait too long is refused.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use weir_tests::calls::charge;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::workerd::Setup;

use crate::limits::{TRIES, alone, place, place_once, start};

/// One unit in fifty seconds, and no wait above 125: half of that may pass between the first place and a refusal.
const EVERY_MS: u64 = 50_000;
const QUEUE_MS: u64 = 125_000;

fn limits() -> Value {
    let slow = |scope: &str| json!({ "algorithm": "leaky_bucket", "rate_per_sec": 0.02, "max_queue_ms": QUEUE_MS, "scope": scope });
    let mut own = slow("region");
    own["per_tenant"] = json!(true);
    json!({
        "region": slow("region"),
        "isolate": slow("isolate"),
        "own": own,
        "fast": { "algorithm": "leaky_bucket", "rate_per_sec": 20, "max_queue_ms": 2_000, "scope": "region" },
        "steady": { "algorithm": "leaky_bucket", "rate_per_sec": 1, "max_queue_ms": 3_000, "scope": "region" },
        "hardly_a_queue": { "algorithm": "leaky_bucket", "rate_per_sec": 0.02, "max_queue_ms": 1, "scope": "region" },
    })
}

#[tokio::test]
async fn places_are_spaced_by_the_rate_until_the_queue_is_full() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    for limit in ["region", "isolate"] {
        let mut spaced = None;
        for attempt in 0..TRIES {
            spaced = assert_spaced(&client, limit, &format!("k{attempt}")).await;
            if spaced.is_some() {
                break;
            }
        }
        assert!(spaced.is_some(), "{limit}: the shard was never in reach");
        assert!(
            place(&client, limit, "other", 1).await.accepted,
            "{limit}: keys are apart"
        );
    }
}

/// Fills a queue; `None` where its holder was out of reach, and may have given a place that nobody heard of.
async fn assert_spaced(client: &Client, limit: &str, key: &str) -> Option<()> {
    let first_asked = now();
    let mut delays = Vec::new();
    for _ in 0..3 {
        let place = place_once(client, limit, key, 1).await?;
        assert!(place.accepted, "{limit}: {place:?} after {delays:?}");
        assert_eq!(place.retry_after_ms, Some(0), "{limit}");
        delays.push(place.delay_ms);
    }
    let asked = json!({ "limit": limit, "key": key });
    let reply = client.post("/v1/reserve", &asked).await.unwrap();
    if reply.status == 503 {
        return None;
    }
    let refused: Value = reply.ok().unwrap();
    // All four were decided within this time of the first: the queue cannot have moved further.
    let elapsed_ms = first_asked.elapsed().as_millis() as u64 + 1;
    assert_eq!(delays[0], 0, "{limit}");
    for (nth, delay_ms) in delays.iter().enumerate() {
        let due_ms = EVERY_MS * nth as u64;
        assert!(
            *delay_ms <= due_ms && delay_ms + elapsed_ms >= due_ms,
            "{limit}: {delays:?}"
        );
    }
    let retry_ms = refused["retry_after_ms"].as_u64().unwrap();
    assert_eq!(
        (&refused["accepted"], &refused["delay_ms"]),
        (&json!(false), &json!(0)),
        "{limit}"
    );
    let wait_ms = 3 * EVERY_MS - QUEUE_MS;
    assert!(
        retry_ms <= wait_ms && retry_ms + elapsed_ms >= wait_ms,
        "{limit}: {refused}"
    );
    let retry_s = retry_ms.div_ceil(1_000).to_string();
    assert_eq!(
        reply.header("retry-after"),
        Some(retry_s.as_str()),
        "{limit}"
    );
    Some(())
}

#[tokio::test]
async fn a_refusal_and_a_look_take_no_place() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    for limit in ["region", "isolate"] {
        for _ in 0..10 {
            let look = place(&client, limit, "k", 0).await;
            assert_eq!(
                (look.accepted, look.delay_ms),
                (true, 0),
                "{limit}: {look:?}"
            );
        }
        // Three units leave one after the other, at once they have no longer wait than one. Whether a place was given of which
        // nobody heard is the same to what is refused.
        let taken = place(&client, limit, "k", 3).await;
        assert_eq!(taken.delay_ms, 0, "{limit}");
        let mut before = None;
        for cost in [1, 0, 2, 0] {
            let refused = place(&client, limit, "k", cost).await;
            assert!(!refused.accepted, "{limit}: {refused:?}");
            let retry_ms = refused.retry_after_ms.expect("a time");
            assert!(
                before.is_none_or(|before| retry_ms <= before),
                "{limit}: a refusal moved the queue"
            );
            before = Some(retry_ms);
        }
    }
}

#[tokio::test]
async fn a_place_is_to_be_had_at_the_time_that_a_refusal_names() {
    let workerd = start(alone(), limits()).await;
    let client = workerd.client(0).unwrap();
    for attempt in 0..TRIES {
        let on_time = assert_on_time(&client, &format!("k{attempt}")).await;
        if on_time.is_some() {
            return;
        }
    }
    panic!("{TRIES} times the shard was out of reach");
}

/// Waits for as long as a refusal says; `None` where a holder was out of reach, and may have given a place that nobody heard of.
async fn assert_on_time(client: &Client, key: &str) -> Option<()> {
    // Three units in three seconds, and one that has no wait.
    assert!(place_once(client, "steady", key, 4).await?.accepted);
    let mut refused = place_once(client, "steady", key, 1).await?;
    // Where asking takes longer than a place, there is one.
    for _ in 0..100 {
        if !refused.accepted {
            break;
        }
        refused = place_once(client, "steady", key, 1).await?;
    }
    let retry_ms = refused.retry_after_ms.expect("a time");
    assert!(
        !refused.accepted && (1..=1_000).contains(&retry_ms),
        "{refused:?}"
    );
    tokio::time::sleep(Duration::from_millis(retry_ms + 2)).await;
    let place = place_once(client, "steady", key, 1).await?;
    assert!(place.accepted && place.delay_ms <= 3_000, "{place:?}");
    let first = place_once(client, "hardly_a_queue", key, 1).await?;
    let second = place_once(client, "hardly_a_queue", key, 1).await?;
    assert!(first.accepted && !second.accepted, "{first:?}, {second:?}");
    Some(())
}

/// Two isolates of a region share the queue; places are never given twice.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_get_places_of_their_own() {
    const EVERY: Duration = Duration::from_millis(50);
    let workerd = start(Setup::isolates(&["weur", "weur"]), limits()).await;
    let clients = workerd.clients().unwrap();
    let first_asked = now();
    let asking = (0..80_usize).map(|index| {
        let client = clients[index % 2].clone();
        async move {
            let place = place_once(&client, "fast", "k", 1).await?;
            Some((now(), place))
        }
    });
    let places = join_all(asking).await;
    let elapsed = first_asked.elapsed();
    // Of those that a busy machine was too late to answer nobody knows whether they have a place.
    let unknown = places.iter().filter(|place| place.is_none()).count();
    let places: Vec<_> = places.into_iter().flatten().collect();
    let accepted: Vec<_> = places.iter().filter(|(_, place)| place.accepted).collect();
    // 41 fit into an empty queue of two seconds; meanwhile some leave.
    let most = 41 + (elapsed.as_millis() / EVERY.as_millis()) as usize + 1;
    assert!(
        accepted.len() + unknown >= 41 && accepted.len() <= most,
        "{} of {most}, {unknown} unknown",
        accepted.len()
    );
    // Departures lie 50 ms apart: of the n-th, all that is known is that it lies between these two.
    let delay = |delay_ms: u64| Duration::from_millis(delay_ms);
    let mut latest: Vec<_> = accepted
        .iter()
        .map(|(received, place)| *received + delay(place.delay_ms))
        .collect();
    latest.sort_unstable();
    for (nth, latest) in latest.iter().enumerate() {
        let due = first_asked + EVERY * nth as u32;
        assert!(
            *latest + Duration::from_millis(2) >= due,
            "place {nth} leaves too early"
        );
    }
    assert!(accepted.iter().all(|(_, place)| place.delay_ms <= 2_000));
    for (_, refused) in places.iter().filter(|(_, place)| !place.accepted) {
        assert!(
            refused.retry_after_ms.is_some_and(|ms| ms > 0),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_shaper_is_asked_by_its_own_route_alone() {
    let workerd = start(alone(), {
        let mut limits = limits();
        limits["fixed"] = crate::limits::still(5);
        limits
    })
    .await;
    let client = workerd.client(0).unwrap();
    let several =
        json!({ "tenant": "pro:a", "checks": [charge("fixed", "k", 1), charge("region", "k", 1)] });
    let cases = [
        ("/v1/check", charge("region", "k", 1), 400, "/limit"),
        ("/v1/check", several, 400, "/checks/1/limit"),
        ("/v1/reserve", charge("fixed", "k", 1), 400, "/limit"),
        ("/v1/reserve", charge("nope", "k", 1), 404, "/limit"),
        ("/v1/reserve", charge("tokens", "k", 1), 404, "/limit"),
        ("/v1/reserve", json!({ "key": "k" }), 400, "/limit"),
        ("/v1/reserve", json!({ "limit": "region" }), 400, "/key"),
        (
            "/v1/reserve",
            json!({ "limit": "own", "key": "k" }),
            400,
            "/tenant",
        ),
    ];
    for (path, body, status, field) in cases {
        let reply = client.post(path, &body).await.unwrap();
        let problem = reply.problem().unwrap();
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (status, Some(field)),
            "{path} {body}"
        );
    }
    let look = place(&client, "region", "k", 0).await;
    assert_eq!(look.delay_ms, 0, "nobody has a place");
    assert_eq!(
        crate::limits::left(&client, "fixed", "k").await,
        5,
        "nothing was charged"
    );
    for tenant in ["pro:a", "pro:b"] {
        // A place that is given too late to be told is given: another key is asked for.
        let mut reply = None;
        for attempt in 0..TRIES {
            let key = format!("k{attempt}");
            let body = json!({ "tenant": tenant, "limit": "own", "key": key, "cost": 3 });
            let answer = client.post("/v1/reserve", &body).await.unwrap();
            let told = answer.status != 503;
            reply = Some(answer);
            if told {
                break;
            }
        }
        let place: Value = reply.expect("an answer").ok().unwrap();
        assert_eq!(
            place,
            json!({ "accepted": true, "delay_ms": 0, "retry_after_ms": 0 }),
            "{tenant}"
        );
    }
}
