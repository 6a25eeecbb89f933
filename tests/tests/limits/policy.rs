//! The limits of a policy: saved as they were written, in force at once, refused with their field.

use reqwest::Method;
use reqwest::header::IF_MATCH;
use serde_json::{Value, json};
use weir_tests::calls::charge_keys;
use weir_tests::client::Client;
use weir_tests::fixtures::with;
use weir_tests::reply::Reply;
use weir_tests::workerd::Setup;

use crate::limits::{alone, answered, decide, document, start, still, take};

/// One of everything that the document has.
fn limits() -> Value {
    json!({
        "per_ip": { "algorithm": "gcra", "limit": 100, "period_ms": 60_000, "burst": 20, "scope": "region", "per_tenant": false, "on_unavailable": "deny" },
        "bucket": { "algorithm": "token_bucket", "capacity": 50.25, "refill_per_sec": 0.1, "scope": "region", "shadow": true },
        "hourly": { "algorithm": "fixed_window", "limit": 1_000, "window_ms": 3_600_000, "scope": "global" },
        "smooth": { "algorithm": "sliding_window", "limit": 100, "window_ms": 60_000, "buckets": 10, "scope": "isolate", "on_unavailable": "allow" },
        "resets": { "algorithm": "sliding_log", "limit": 5, "window_ms": 3_600_000, "scope": "region" },
        "monthly": { "algorithm": "quota", "limit": 1_000_000, "cadence": "calendar_month", "offset_minutes": 0, "week_starts_on": 1, "scope": "global" },
        "daily": { "algorithm": "quota", "limit": 10, "cadence": "calendar_day", "time_zone": "Europe/Berlin", "scope": "region" },
        "cycle": { "algorithm": "quota", "limit": 500, "cadence": "fixed", "period_ms": 86_400_000, "anchor": -1, "scope": "region", "per_tenant": true },
        "rolling": { "algorithm": "quota", "limit": 500, "cadence": "rolling", "period_ms": 86_400_000, "buckets": 24, "scope": "region" },
        "shape": { "algorithm": "leaky_bucket", "rate_per_sec": 10.5, "max_queue_ms": 2_000, "scope": "region" },
        "login": { "all": [{ "name": "ip", "limit": "per_ip", "weight": 2.5 }, "resets"] },
        "either": { "any": ["bucket", "smooth"], "shadow": true },
    })
}

#[tokio::test]
async fn every_limit_is_answered_as_it_was_saved_and_outlasts_a_kill() {
    let mut workerd = start(Setup::isolates(&["weur", "apac"]), limits()).await;
    for _ in 0..2 {
        for client in workerd.clients().unwrap() {
            let saved = client.policy().await.unwrap();
            assert_eq!(saved.document["limits"], limits());
            let keys = [("ip", "203.0.113.9"), ("resets", "bob")];
            let decision = decide(&client, &charge_keys("login", &keys, 0)).await;
            assert_eq!(
                (decision.allowed, decision.policy_revision),
                (true, saved.revision().unwrap())
            );
        }
        workerd.restart().await.unwrap();
    }
}

/// A pointer below `/limits`, the body that stands there, and the field at fault.
fn bad() -> Vec<(&'static str, Value, &'static str)> {
    let quota = |cadence: &str, field: &str, value: Value| {
        let mut body =
            json!({ "algorithm": "quota", "limit": 5, "cadence": cadence, "scope": "region" });
        body[field] = value;
        body
    };
    let sliding = |scope: &str, buckets: u64| json!({ "algorithm": "sliding_window", "limit": 5, "window_ms": 2_000, "buckets": buckets, "scope": scope });
    let mut global_cycle = quota("fixed", "period_ms", json!(999));
    global_cycle["scope"] = json!("global");
    vec![
        ("x", json!({}), "/scope"),
        (
            "x",
            json!({ "algorithm": "guess", "scope": "region" }),
            "/algorithm",
        ),
        (
            "x",
            json!({ "algorithm": "gcra", "limit": 5, "period_ms": 1_000, "scope": "global" }),
            "/scope",
        ),
        (
            "x",
            json!({ "algorithm": "token_bucket", "capacity": 5, "refill_per_sec": 1, "scope": "global" }),
            "/scope",
        ),
        (
            "x",
            json!({ "algorithm": "sliding_log", "limit": 5, "window_ms": 1_000, "scope": "global" }),
            "/scope",
        ),
        (
            "x",
            json!({ "algorithm": "leaky_bucket", "rate_per_sec": 5, "max_queue_ms": 1_000, "scope": "global" }),
            "/scope",
        ),
        (
            "x",
            json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 999, "scope": "global" }),
            "/window_ms",
        ),
        (
            "x",
            json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 0, "scope": "region" }),
            "/window_ms",
        ),
        (
            "x",
            json!({ "algorithm": "fixed_window", "limit": 5, "scope": "region" }),
            "/window_ms",
        ),
        (
            "x",
            json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 1_000 }),
            "/scope",
        ),
        (
            "x",
            json!({ "algorithm": "fixed_window", "limit": 0, "window_ms": 1_000, "scope": "region" }),
            "/limit",
        ),
        (
            "x",
            json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": 1_000, "burst": 3, "scope": "region" }),
            "/burst",
        ),
        ("x", sliding("global", 7), "/buckets"),
        ("x", sliding("global", 21), "/buckets"),
        ("x", sliding("region", 0), "/buckets"),
        ("x", sliding("region", 100_001), "/buckets"),
        (
            "x",
            json!({ "algorithm": "token_bucket", "capacity": 0, "refill_per_sec": 1, "scope": "region" }),
            "/capacity",
        ),
        (
            "x",
            json!({ "algorithm": "token_bucket", "capacity": 5, "refill_per_sec": -1, "scope": "region" }),
            "/refill_per_sec",
        ),
        (
            "x",
            json!({ "algorithm": "sliding_log", "limit": 100_001, "window_ms": 1_000, "scope": "region" }),
            "/limit",
        ),
        ("x", quota("yearly", "limit", json!(5)), "/cadence"),
        ("x", quota("fixed", "anchor", json!(0)), "/period_ms"),
        (
            "x",
            quota("calendar_day", "time_zone", json!("Mars/Olympus")),
            "/time_zone",
        ),
        (
            "x",
            quota("calendar_day", "offset_minutes", json!(841)),
            "/offset_minutes",
        ),
        (
            "x",
            quota("calendar_week", "week_starts_on", json!(7)),
            "/week_starts_on",
        ),
        (
            "x",
            quota("calendar_day", "period_ms", json!(1_000)),
            "/period_ms",
        ),
        ("x", global_cycle, "/period_ms"),
        ("x", json!({ "all": [] }), "/all"),
        ("x", json!({ "all": ["nope"] }), "/all/0"),
        ("x", json!({ "all": ["base", "pair"] }), "/all/1"),
        ("x", json!({ "any": ["shape"] }), "/any/0"),
        ("x", json!({ "all": ["base", "base"] }), "/all/1"),
        (
            "x",
            json!({ "all": [{ "limit": "base", "weight": 0 }] }),
            "/all/0/weight",
        ),
        (
            "x",
            json!({ "all": [{ "limit": "base", "weight": 1.234_567_8 }] }),
            "/all/0/weight",
        ),
        ("x", json!({ "all": [{ "name": "a" }] }), "/all/0/limit"),
        (
            "x",
            json!({ "all": [{ "name": "A b", "limit": "base" }] }),
            "/all/0/name",
        ),
        ("x", json!({ "all": [{ "limit": "nope" }] }), "/all/0/limit"),
        ("x", json!({ "all": ["base"], "any": ["base"] }), "/any"),
        ("x", json!({ "all": ["base"], "algorithm": "gcra" }), "/all"),
        ("x", json!({ "all": ["base"], "scope": "region" }), "/scope"),
        ("x", json!({ "all": 7 }), "/all"),
        ("x", json!({ "all": [7] }), "/all/0"),
    ]
}

/// What a policy that is refused is answered.
async fn refused(client: &Client, candidate: &Value, etag: &str) -> Reply {
    let request = client.request(Method::PUT, "/operator/v1/policy");
    let request = request.header(IF_MATCH, etag).json(candidate);
    answered(client, &request).await
}

#[tokio::test]
async fn a_bad_limit_names_its_field_and_changes_nothing() {
    let base = json!({ "base": still(5), "pair": { "all": ["base"] }, "shape": limits()["shape"] });
    let workerd = start(alone(), base.clone()).await;
    let client = workerd.client(0).unwrap();
    assert!(take(&client, "base", "k", 3).await.allowed);
    let before = client.policy().await.unwrap();
    for (name, body, field) in bad() {
        let candidate = with(
            document(base.clone()),
            &format!("/limits/{name}"),
            body.clone(),
        );
        let reply = refused(&client, &candidate, &before.etag).await;
        let problem = reply
            .problem()
            .unwrap_or_else(|error| panic!("{body}: {error:#}"));
        let at = format!("/limits/{name}{field}");
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (400, Some(at.as_str())),
            "{body}: {problem:?}"
        );
    }
    for dialect in [json!("draft"), json!(null), json!(1)] {
        let candidate = with(
            document(base.clone()),
            "/rate_limit_headers",
            dialect.clone(),
        );
        let reply = refused(&client, &candidate, &before.etag).await;
        let problem = reply.problem().unwrap();
        assert_eq!(
            (problem.status, problem.field.as_deref()),
            (400, Some("/rate_limit_headers")),
            "{dialect}"
        );
    }
    assert_eq!(client.policy().await.unwrap(), before);
    let kept = take(&client, "base", "k", 2).await;
    assert_eq!(
        (kept.allowed, kept.remaining, kept.policy_revision),
        (true, 0, before.revision().unwrap())
    );
}

/// A limit that is taken away is not there any more; one that comes back under its name starts where it was.
#[tokio::test]
async fn a_limit_that_is_removed_is_unknown_at_once() {
    let both = json!({ "kept": still(5), "gone": still(5), "pair": { "all": ["kept", "gone"] } });
    let workerd = start(Setup::isolates(&["weur", "apac"]), both.clone()).await;
    let client = workerd.client(0).unwrap();
    assert!(take(&client, "gone", "k", 5).await.allowed);
    assert!(!take(&client, "gone", "k", 1).await.allowed);
    workerd
        .apply(&document(json!({ "kept": still(5) })))
        .await
        .unwrap();
    for client in workerd.clients().unwrap() {
        for limit in ["gone", "pair"] {
            let reply = client.check_limit(limit, "k", 1).await;
            assert!(reply.is_err(), "{limit} is still decided: {reply:?}");
        }
        assert!(take(&client, "kept", "k", 1).await.allowed);
    }
    workerd.apply(&document(both)).await.unwrap();
    let back = take(&client, "gone", "k", 1).await;
    assert!(
        !back.allowed,
        "its removal refunded what was used: {back:?}"
    );
}
