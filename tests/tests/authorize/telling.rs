//! How a proxy is told what was decided.

use serde_json::json;
use weir_tests::fixtures::{gcra, with};
use weir_tests::witness::Fault;
use weir_tests::workerd::Setup;

use crate::authorize::{AUTHORIZE, Door, one_token, route};

/// A limit of one a day for each tenant.
async fn limited() -> Door {
    Door::with_policy(|document| {
        let limit = with(gcra(1, 24 * 3_600_000, 1), "/per_tenant", json!(true));
        let document = with(document, "/limits/each", limit);
        let checks = json!([{ "limit": "each" }]);
        with(document, "/routes", json!([route("all", "/x", checks)]))
    })
    .await
}

#[tokio::test]
async fn an_answer_tells_whose_the_request_is_and_what_is_left_and_a_denial_when_to_come_back() {
    let door = limited().await;
    let reply = door.ask("/x", "pro:a").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("weir-tenant"), Some("pro:a"));
    assert_eq!(
        reply.header("ratelimit-policy"),
        Some("\"each\";q=1;w=86400")
    );
    assert!(
        reply
            .header("ratelimit")
            .unwrap()
            .starts_with("\"each\";r=0;")
    );
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(
        reply.header("weir-settle"),
        None,
        "nothing is left to settle"
    );
    let denied = door.ask("/x", "pro:a").await;
    assert_eq!(denied.status, 429);
    let problem = denied.problem().unwrap();
    let after_s: u64 = denied.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(after_s, problem.retry_after_ms.unwrap().div_ceil(1_000));
    assert!(denied.header("ratelimit").is_some());
    // A name that no header can hold is encoded.
    let encoded = door.about("GET", "/x", "").header("x-tenant", "a%20b c");
    assert_eq!(
        door.send(encoded).await.status,
        400,
        "two fields of one name"
    );
    let reply = door.ask("/x", "pro:50% off").await;
    assert_eq!(reply.header("weir-tenant"), Some("pro:50%25%20off"));
}

#[tokio::test]
async fn a_proxy_that_knows_no_429_is_answered_403_with_what_it_stands_for() {
    let door = limited().await;
    let ask = async |query: &str, uri: &str, tenant: &str| {
        door.send(door.with_query(query, "GET", uri, tenant)).await
    };
    assert_eq!(ask("?deny=403", "/x", "pro:a").await.status, 200);
    for (uri, tenant, stands_for) in [
        ("/x", "pro:a", "429"),
        ("/none", "pro:a", "404"),
        ("x", "pro:a", "400"),
    ] {
        let reply = ask("?deny=403", uri, tenant).await;
        assert_eq!(reply.status, 403, "{uri}: {}", reply.text());
        assert_eq!(reply.header("weir-deny-status"), Some(stands_for));
    }
    assert!(
        ask("?deny=403", "/x", "pro:a")
            .await
            .header("retry-after")
            .is_some()
    );
    let anonymous = door
        .proxy
        .request(reqwest::Method::GET, &format!("{AUTHORIZE}?deny=403"));
    let reply = door.send(anonymous.header("x-forwarded-uri", "/x")).await;
    assert_eq!(
        (reply.status, reply.header("weir-deny-status")),
        (401, None)
    );
    for (query, field) in [
        ("?deny=404", "/deny"),
        ("?unavailable=maybe", "/unavailable"),
        ("?deny=403&deny=403", "/deny"),
        ("?dny=403", "/dny"),
    ] {
        let reply = ask(query, "/x", "pro:b").await;
        assert_eq!(reply.status, 400, "{query}: {}", reply.text());
        assert_eq!(reply.problem().unwrap().field.as_deref(), Some(field));
    }
    assert_eq!(
        ask("", "/x", "pro:b").await.status,
        200,
        "what was refused cost nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_decided_passes_or_not_as_the_proxy_says() {
    let setup = Setup::isolates(&["weur"]).witnessed();
    let door = Door::guarded(setup).await;
    let witness = door.workerd.witness().unwrap();
    let ask_once = async |query: &str| {
        door.send_once(door.with_query(query, "GET", "/x", "pro:a"))
            .await
    };
    let ask = async |query: &str| {
        door.send(door.with_query(query, "GET", "/x", "pro:a"))
            .await
    };
    let refuse = witness.fault("Coordinator/decide", Fault::Refuse, 1_000_000);
    refuse.await.unwrap();
    for (query, status) in [
        ("", 503),
        ("?unavailable=deny", 503),
        ("?unavailable=allow", 200),
        ("?deny=403&unavailable=allow", 200),
        ("?deny=403", 403),
    ] {
        let reply = ask_once(query).await;
        assert_eq!(reply.status, status, "{query}: {}", reply.text());
        let denied = (status != 200).then_some("1");
        assert_eq!(reply.header("retry-after").map(|_| "1"), denied, "{query}");
    }
    witness.calm().await.unwrap();
    assert_eq!(ask("").await.status, 200);
    // A denial is a decision. On a busy machine a request may not be decided: thrice in a row it is.
    let mut tries = 0;
    while ask("?unavailable=allow").await.status != 429 {
        tries += 1;
        assert!(tries < 3, "a denial passes");
    }
}

#[tokio::test]
async fn a_route_in_shadow_lets_everything_pass_and_says_nothing() {
    let mut all = route("all", "/*", one_token());
    all["shadow"] = json!(true);
    all["checks"][0]["cost"] = json!(600);
    let door = Door::with_routes(json!([all])).await;
    for _ in 0..3 {
        let reply = door.ask("/x", "pro:a").await;
        assert_eq!(
            (reply.status, reply.header("ratelimit")),
            (200, None),
            "{}",
            reply.text()
        );
    }
    let nobody = door.proxy.request(reqwest::Method::GET, AUTHORIZE);
    let reply = door.send(nobody.header("x-forwarded-uri", "/x")).await;
    assert_eq!((reply.status, reply.header("weir-tenant")), (200, None));
}
