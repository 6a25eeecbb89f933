//! What operators read beside the report: budgets, windows, regions, series, costs.

use serde_json::{Value, json};

use crate::operator::{assert_problem, await_that, decide_there, decided, deployment, get, got};

#[tokio::test]
async fn budgets_series_and_costs_tell_what_was_counted() {
    let check = json!({ "tenant": "acme", "budget": "tokens", "cost": 3 });
    let (_workerd, client, _) = decided(&vec![check; 12]).await;
    let counted = |budgets: &Value| budgets["budgets"][0]["total"]["admitted_units"] == 36;
    let budgets = await_that(&client, "/operator/v1/budgets", counted).await;
    assert_eq!(budgets["budgets"][0]["name"], "tokens");
    assert_eq!(
        (
            &budgets["budgets"][0]["tenants"],
            &budgets["budgets"][0]["body"]["limit"]
        ),
        (&json!(1), &json!(700))
    );

    let sum = |series: &Value| -> u64 {
        let points = series["points"].as_array().unwrap().iter();
        let units =
            points.filter_map(|point| point["budgets"]["tokens"]["admitted_units"].as_u64());
        units.sum()
    };
    let of_acme = await_that(
        &client,
        "/operator/v1/series?tenant=acme&budget=tokens",
        |series| sum(series) == 36,
    )
    .await;
    assert_eq!(of_acme["tenant"], "acme");
    assert_eq!(of_acme["step_ms"], 60_000);
    let nobody = get(&client, "/operator/v1/series?tenant=nobody").await;
    assert_eq!(nobody["points"], json!([]));

    let costs = await_that(&client, "/operator/v1/costs", |costs| {
        costs["decisions"] == 12 && costs["usage"]["rows_written"].as_u64() > Some(0)
    })
    .await;
    println!("{costs}");
    assert!(costs["usage"]["region_calls"].as_u64() > Some(0));
    assert!(costs["per_million"]["object_calls"].as_f64() > Some(0.0));
}

#[tokio::test]
async fn regions_say_whether_they_answer_and_by_which_policy() {
    let (_workerd, client) = deployment().await;
    let revision = client.policy().await.unwrap().revision().unwrap();
    let answers = |told: &Value| {
        let mut all = told["regions"].as_array().unwrap().iter();
        all.all(|one| one["reachable"] == true && one["policy_revision"] == revision)
    };
    let regions = await_that(&client, "/operator/v1/regions", answers).await;
    assert_eq!(
        (&regions["here"], &regions["policy_revision"]),
        (&json!("weur"), &json!(revision))
    );
    let told: Vec<(&Value, &Value, &Value)> = regions["regions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["region"], &one["home"], &one["reachable"]))
        .collect();
    let yes = &json!(true);
    assert_eq!(
        told,
        [
            (&json!("weur"), yes, yes),
            (&json!("enam"), &json!(false), yes)
        ]
    );
    assert!(
        regions["regions"]
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one["policy_revision"] == revision)
    );
}

#[tokio::test]
async fn the_windows_of_a_budget_are_a_list_and_those_of_none_are_not_found() {
    let (_workerd, client) = deployment().await;
    let check = json!({ "tenant": "acme", "budget": "tokens", "cost": 3 });
    decide_there(&client, check).await;
    let windows = get(&client, "/operator/v1/budgets/tokens/windows?page_size=5").await;
    assert_eq!(windows["budget"], "tokens");
    assert!(windows["windows"].is_array());
    let reply = got(&client, "/operator/v1/budgets/nope/windows").await;
    assert_problem("no such budget", &reply, 404, None);
}
