//! Malformed, oversized, unknown: refused with a problem, and nothing is changed.

use serde_json::json;

use crate::operator::{
    AUDIT, FAIRNESS, TENANTS, TOKENS, assert_problem, await_records, deployment,
};

#[tokio::test]
async fn a_query_that_is_not_as_it_should_be_is_refused_by_the_name_of_the_parameter() {
    let (_workerd, client) = deployment().await;
    let cases = [
        (format!("{TENANTS}?page=0"), "/page"),
        (format!("{TENANTS}?page=-1"), "/page"),
        (format!("{TENANTS}?page_size=1001"), "/page_size"),
        (format!("{TENANTS}?sort=colour"), "/sort"),
        (format!("{TENANTS}?search={}", "x".repeat(129)), "/search"),
        (format!("{TENANTS}?search=a%00"), "/search"),
        (format!("{TENANTS}?named=perhaps"), "/named"),
        (format!("{TENANTS}?colour=red"), "/colour"),
        (format!("{TENANTS}?page=1&page=2"), "/page"),
        (format!("{FAIRNESS}?effective=1"), "/effective"),
        (format!("{AUDIT}?outcome=perhaps"), "/outcome"),
        (format!("{AUDIT}?limit=1001"), "/limit"),
        (format!("{AUDIT}?before=x"), "/before"),
        (format!("{AUDIT}/verify?x=1"), "/x"),
        (format!("{AUDIT}/export?after=9007199254740992"), "/after"),
        (format!("{TOKENS}?page=x"), "/page"),
        ("/operator/v1/series?step_ms=1".to_owned(), "/step_ms"),
        ("/operator/v1/series?from=2&to=1".to_owned(), "/from"),
        ("/operator/v1/series?tenant=".to_owned(), "/tenant"),
        ("/operator/v1/costs?x=1".to_owned(), "/x"),
        ("/operator/v1/regions?x=1".to_owned(), "/x"),
        ("/operator/v1/budgets?x=1".to_owned(), "/x"),
        (
            "/operator/v1/budgets/tokens/windows?page=0".to_owned(),
            "/page",
        ),
        ("/operator/v1/live?channels=rumours".to_owned(), "/channels"),
        ("/operator/v1/live?region=nowhere".to_owned(), "/region"),
    ];
    for (path, field) in &cases {
        let reply = client.get(path).await.unwrap();
        assert_problem(path, &reply, 400, Some(field));
    }
    let unknown = client.get("/operator/v1/series?meter=nope").await.unwrap();
    assert_problem("an unknown meter", &unknown, 404, Some("/meter"));
    let plain = client.get("/operator/v1/live").await.unwrap();
    assert_problem("no WebSocket", &plain, 426, None);
}

#[tokio::test]
async fn a_body_that_is_not_as_it_should_be_is_refused_recorded_and_changes_nothing() {
    let (_workerd, client) = deployment().await;
    let before = client.policy().await.unwrap();
    for (path, action) in [
        (TOKENS, "token.create"),
        ("/operator/v1/reset", "state.reset"),
    ] {
        let cases: [(&str, Vec<u8>, u16); 4] = [
            ("nothing", Vec::new(), 400),
            ("half a document", b"{\"name\":".to_vec(), 400),
            ("a list", b"[]".to_vec(), 400),
            ("too long", vec![b' '; 16 * 1024 + 1], 413),
        ];
        for (case, body, status) in cases {
            let reply = client.post_bytes(path, body).await.unwrap();
            assert_problem(&format!("{path}: {case}"), &reply, status, None);
        }
        let text = client.request(reqwest::Method::POST, path).body("{}");
        let reply = client.send(text).await.unwrap();
        assert_problem(&format!("{path}: no media type"), &reply, 415, None);
        let found = await_records(&client, action, 5).await;
        assert!(
            found.iter().all(|record| record["outcome"] == "refused"),
            "{found:?}"
        );
    }
    for (name, status) in [
        ("%00", 400),
        ("%zz", 400),
        (&"x".repeat(129), 400),
        ("%ff", 400),
    ] {
        let reply = client.get(&format!("{TENANTS}/{name}")).await.unwrap();
        assert_problem(name, &reply, status, Some("/id"));
    }
    let reason = client
        .request(reqwest::Method::POST, TOKENS)
        .header("weir-reason", "x".repeat(501));
    let reply = client
        .send(reason.json(&json!({ "name": "a", "role": "viewer" })))
        .await
        .unwrap();
    assert_problem("a long reason", &reply, 400, Some("/weir-reason"));
    assert_eq!(client.policy().await.unwrap(), before);
}
