//! What a file would change: what is told, and how that ends for a script.

use serde_json::json;
use weir_tests::fixtures::with;

use crate::cli::{deployment, document};

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_ends_by_what_it_finds_and_changes_nothing() {
    let deployed = deployment().await;
    let (weir, client) = (&deployed.weir, &deployed.client);
    let before = client.policy().await.unwrap();

    std::fs::write(weir.file("same.json"), weir.ends(0, &["export"])).unwrap();
    let told = weir.ends(0, &["plan", "same.json"]);
    assert!(
        told.starts_with("Nothing changes: the file equals revision "),
        "{told}"
    );
    weir.write("same.json", &document());
    assert_eq!(
        weir.json(0, &["plan", "same.json"])["difference"],
        json!([])
    );

    weir.write(
        "wider.json",
        &with(document(), "/budgets/tokens/limit", json!(900)),
    );
    let told = weir.ends(2, &["plan", "wider.json"]);
    assert!(
        told.contains("\n~ /budgets/tokens/limit: 700 → 900\n"),
        "{told}"
    );
    let told = weir.ends(2, &["plan", "wider.json", "--markdown"]);
    assert!(
        told.contains("\n| /budgets/tokens/limit | 700 | 900 |\n"),
        "{told}"
    );

    weir.write(
        "first.json",
        &with(document(), "/budgets/tokens/sharing", json!("first_come")),
    );
    let told = weir.json(3, &["plan", "first.json"]);
    let starved: Vec<_> = told["starves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["tenant"])
        .collect();
    assert_eq!(starved, ["acme", "hooli"], "{told}");
    // Of the weights 4 and 1.
    assert_eq!(
        told["starves"][0],
        json!({ "tenant": "acme", "kind": "budget", "name": "tokens", "by": "guarantee", "present": 560 })
    );
    assert_eq!(client.policy().await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_would_lose_most_of_what_it_asked_for_is_starved() {
    let deployed = deployment().await;
    deployed.charge_meter("hooli", 30).await;
    let weir = &deployed.weir;
    let burst = |seconds| with(document(), "/meters/bytes/burst_seconds", json!(seconds));

    weir.write(
        "more.json",
        &with(document(), "/meters/bytes/per_sec", json!(0.002)),
    );
    let told = weir.ends(2, &["plan", "more.json"]);
    assert!(
        told.contains(": 1 tenant would gain, nobody would lose."),
        "{told}"
    );

    weir.write("less.json", &burst(10_000));
    let told = weir.ends(3, &["plan", "less.json"]);
    assert!(told.contains("\nThis starves 1 tenant: "), "{told}");
    let line = "! hooli at meter bytes: of 600 asked for it gets 86 now, and 10 then (−88.4%)";
    assert!(told.contains(line), "{told}");
    let markdown = weir.ends(3, &["plan", "less.json", "--markdown"]);
    assert!(
        markdown.contains("| hooli | meter bytes | 600 | 86 | 10 | 590 | −76 | −88.4% |"),
        "{markdown}"
    );
    weir.ends(2, &["plan", "less.json", "--starve-percent", "90"]);
}

#[tokio::test]
async fn a_file_that_the_deployment_or_nobody_takes_is_refused_by_its_field() {
    let deployed = deployment().await;
    let weir = &deployed.weir;
    weir.write(
        "zero.json",
        &with(document(), "/budgets/tokens/limit", json!(0)),
    );
    for words in [
        ["validate", "zero.json"],
        ["plan", "zero.json"],
        ["drift", "zero.json"],
    ] {
        let error = weir.fails(&words);
        assert!(
            error.contains("zero.json is refused: /budgets/tokens/limit: 0 is outside 1 to "),
            "{error}"
        );
    }
    // Which secrets there are only the deployment knows.
    let route = json!({
        "name": "r", "path": "/llm/*", "tenant": { "header": "x-tenant" }, "checks": [{ "budget": "tokens" }],
        "origin": { "url": "https://origin.example", "headers": { "authorization": { "secret": "NOWHERE" } } },
    });
    weir.write("route.json", &with(document(), "/routes", json!([route])));
    weir.ends(0, &["validate", "route.json"]);
    let error = weir.fails(&["plan", "route.json"]);
    assert!(
        error.contains("/routes/0/origin/headers/authorization/secret: "),
        "{error}"
    );
}
