//! A candidate policy is looked at without being put in force.

use serde_json::{Value, json};
use weir_tests::fixtures::with;

use crate::operator::{assert_problem, await_that, decide, deployment, document};

const PREVIEW: &str = "/operator/v1/policy/preview";

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_says_who_gains_and_who_loses_and_changes_nothing() {
    let (_workerd, client) = deployment().await;
    for _ in 0..30 {
        decide(
            &client,
            json!({ "tenant": "acme", "meter": "bytes", "cost": 20 }),
        )
        .await;
    }
    let counted = |series: &Value| {
        let points = series["points"].as_array().unwrap().iter();
        let meters = points.map(|point| &point["meters"]["bytes"]);
        let units = |meter: &Value| {
            meter["admitted_units"].as_u64().unwrap() + meter["shed_units"].as_u64().unwrap()
        };
        meters.map(units).sum::<u64>() == 600
    };
    await_that(
        &client,
        "/operator/v1/series?tenant=acme&meter=bytes",
        counted,
    )
    .await;
    let before = client.policy().await.unwrap();
    let wider = with(document(), "/meters/bytes/per_sec", json!(1_000));
    let preview: Value = client.post(PREVIEW, &wider).await.unwrap().ok().unwrap();
    assert_eq!(preview["gains"], json!(["acme"]), "{preview}");
    assert_eq!(preview["loses"], json!([]));
    let row = &preview["rows"][0];
    assert_eq!(
        (&row["kind"], &row["name"], &row["demand"]),
        (&json!("meter"), &json!("bytes"), &json!(600))
    );
    assert_eq!(row["candidate"], 600);
    let same: Value = client
        .post(PREVIEW, &document())
        .await
        .unwrap()
        .ok()
        .unwrap();
    assert_eq!((&same["gains"], &same["loses"]), (&json!([]), &json!([])));
    assert_eq!(client.policy().await.unwrap(), before);
}

#[tokio::test]
async fn a_candidate_that_is_no_policy_is_refused_where_the_fault_is() {
    let (_workerd, client) = deployment().await;
    let before = client.policy().await.unwrap();
    let zero = with(document(), "/budgets/tokens/limit", json!(0));
    let reply = client.post(PREVIEW, &zero).await.unwrap();
    assert_problem(
        "a limit of nothing",
        &reply,
        400,
        Some("/budgets/tokens/limit"),
    );
    let reply = client.post_bytes(PREVIEW, "{".as_bytes()).await.unwrap();
    assert_problem("half a document", &reply, 400, None);
    let reply = client
        .post_bytes(PREVIEW, vec![b' '; 1024 * 1024 + 1])
        .await
        .unwrap();
    assert_problem("too long", &reply, 413, None);
    assert_eq!(client.policy().await.unwrap(), before);
}
