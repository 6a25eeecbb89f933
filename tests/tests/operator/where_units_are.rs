//! Where the units of budgets are: what coordinators lent to regions, and what regions hold and lend on.

use serde_json::{Value, json};
use weir_tests::client::Client;
use weir_tests::fixtures::with;
use weir_tests::workerd::{Setup, Workerd};

use crate::operator::{
    FAIRNESS, LONG_MS, assert_problem, await_known, await_that, decide_there, decided, deployment,
    document, get, posted,
};

const REGIONS: &str = "/operator/v1/regions";

fn spend(tenant: &str, budget: &str, cost: u64) -> Value {
    json!({ "tenant": tenant, "budget": budget, "cost": cost })
}

/// Of a region, what it holds of a budget.
fn held<'a>(regions: &'a Value, region: &str, budget: &str) -> Option<&'a Value> {
    let all = regions["regions"].as_array()?.iter();
    let found = all.into_iter().find(|one| one["region"] == region)?;
    let mut budgets = found["budgets"].as_array()?.iter();
    budgets.find(|one| one["budget"] == budget)
}

fn coordinator<'a>(regions: &'a Value, budget: &str) -> &'a Value {
    let all = regions["coordinators"].as_array().unwrap();
    let found = all.iter().find(|one| one["budget"] == budget);
    found.unwrap_or_else(|| panic!("no coordinator of {budget}: {regions}"))
}

/// What every region and every coordinator tells: one that is late is left out for a moment.
async fn told_by_all(client: &Client, path: &str) -> Value {
    let all = |told: &Value, list: &str| {
        let mut all = told[list].as_array().unwrap().iter();
        all.all(|one| one["reachable"] == true)
    };
    let by_all = |told: &Value| all(told, "regions") && all(told, "coordinators");
    await_that(client, path, by_all).await
}

/// Two isolates of two regions, with a budget over both and one that each region has for itself.
async fn two_regions() -> Workerd {
    let own =
        json!({ "limit": 50, "window_ms": LONG_MS, "sharing": "first_come", "scope": "region" });
    let document = with(document(), "/budgets/own", own);
    let setup = Setup::isolates(&["weur", "enam"]);
    let workerd = setup.start().await.expect("workerd starts");
    workerd.apply(&document).await.expect("the policy is saved");
    workerd
}

#[tokio::test]
async fn units_are_found_in_the_region_that_spends_them_and_nowhere_twice() {
    let workerd = two_regions().await;
    let (weur, enam) = (workerd.client(0).unwrap(), workerd.client(1).unwrap());
    let quiet = told_by_all(&weur, REGIONS).await;
    assert_eq!(
        coordinator(&quiet, "tokens")["lent_total"],
        0,
        "nobody asked"
    );
    for (client, units) in [(&weur, 60), (&enam, 20)] {
        let decision = decide_there(client, spend("acme", "tokens", units)).await;
        assert!(decision.allowed, "{decision:?}");
    }
    let told = told_by_all(&enam, REGIONS).await;
    let tokens = coordinator(&told, "tokens");
    assert_eq!(
        (&tokens["reachable"], &tokens["limit"], &tokens["exact"]),
        (&json!(true), &json!(700), &json!(true))
    );
    let mut sum = 0;
    for (region, spent) in [("weur", 60), ("enam", 20)] {
        let here = held(&told, region, "tokens").unwrap();
        let lent = tokens["lent"][region].as_u64().unwrap();
        assert!(lent >= spent, "{region}: {tokens}");
        assert!(here["held"].as_u64() >= Some(spent), "{region}: {here}");
        assert!(
            here["lent"].as_u64() <= here["held"].as_u64(),
            "{region}: {here}"
        );
        assert_eq!(here["window"], tokens["window"], "{region}");
        assert_eq!(
            (&here["own"], &here["outage"]),
            (&json!(false), &json!(false))
        );
        sum += lent;
    }
    assert_eq!(tokens["lent_total"], sum);
    assert_eq!(tokens["free"], 700 - sum);
    assert_eq!(tokens["tenants"], json!([]), "only where one is asked for");
}

#[tokio::test]
async fn a_pool_of_the_regions_own_has_no_coordinator() {
    let workerd = two_regions().await;
    let client = workerd.client(0).unwrap();
    assert!(decide_there(&client, spend("acme", "own", 7)).await.allowed);
    let told = told_by_all(&client, REGIONS).await;
    let own = held(&told, "weur", "own").unwrap();
    assert_eq!(
        (&own["own"], &own["limit"], &own["held"]),
        (&json!(true), &json!(50), &json!(50))
    );
    assert!(own["lent"].as_u64() >= Some(7), "{own}");
    assert!(own["isolates"] == 1, "{own}");
    let there = held(&told, "enam", "own");
    assert!(
        there.is_none_or(|own| own["lent"] == 0),
        "nobody asked there: {told}"
    );
    let names: Vec<&Value> = told["coordinators"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["budget"])
        .collect();
    assert_eq!(names, ["tokens"]);
}

#[tokio::test]
async fn one_budget_tells_of_its_tenants_and_an_unknown_one_is_not_found() {
    let workerd = two_regions().await;
    let client = workerd.client(0).unwrap();
    decide_there(&client, spend("acme", "tokens", 40)).await;
    decide_there(&client, spend("hooli", "tokens", 3)).await;
    decide_there(&client, spend("acme", "own", 1)).await;
    let path = format!("{REGIONS}?budget=tokens");
    let told = await_that(&client, &path, |told| {
        coordinator(told, "tokens")["tenants"]
            .as_array()
            .map(Vec::len)
            == Some(2)
    })
    .await;
    let tenants = &coordinator(&told, "tokens")["tenants"];
    assert_eq!(tenants[0]["tenant"], "acme", "the largest first");
    assert!(tenants[0]["lent"].as_u64() >= Some(40), "{tenants}");
    assert!(held(&told, "weur", "own").is_none(), "it was not asked for");
    let nobody = client.get(&format!("{REGIONS}?budget=nope")).await.unwrap();
    assert_problem("no such budget", &nobody, 404, Some("/budget"));
    let misspelt = client.get(&format!("{REGIONS}?budgets=x")).await.unwrap();
    assert_problem("a misspelt parameter", &misspelt, 400, None);
}

#[tokio::test]
async fn the_last_contact_is_of_the_region_that_was_heard_of() {
    let workerd = two_regions().await;
    let client = workerd.client(0).unwrap();
    let asked_at = get(&client, REGIONS).await["at"].as_u64().unwrap();
    decide_there(&client, spend("acme", "tokens", 1)).await;
    let told = told_by_all(&client, REGIONS).await;
    let at = told["at"].as_u64();
    let contact = |region: &str| {
        let all = told["regions"].as_array().unwrap().iter();
        let mut found = all.filter(|one| one["region"] == region);
        found.next().unwrap()["last_contact_at"].as_u64()
    };
    assert!(
        contact("weur") >= Some(asked_at) && contact("weur") <= at,
        "{told}"
    );
    assert!(
        contact("enam") < contact("weur"),
        "nobody decided there: {told}"
    );
}

#[tokio::test]
async fn a_look_lends_nothing_and_opens_no_window() {
    let (_workerd, client) = deployment().await;
    let path = format!("{REGIONS}?budget=tokens");
    let first = told_by_all(&client, &path).await;
    let window = &coordinator(&first, "tokens")["window"];
    for look in 0..5 {
        let told = told_by_all(&client, &path).await;
        let tokens = coordinator(&told, "tokens");
        assert_eq!(
            (
                &tokens["reachable"],
                &tokens["lent_total"],
                &tokens["window"]
            ),
            (&json!(true), &json!(0), window),
            "look {look}: {told}"
        );
        // No isolate runs there: what is not in memory is not made by asking for it.
        assert!(
            held(&told, "enam", "tokens").is_none(),
            "look {look}: {told}"
        );
    }
}

#[tokio::test]
async fn counters_of_one_region_are_told_apart() {
    let workerd = two_regions().await;
    let (weur, enam) = (workerd.client(0).unwrap(), workerd.client(1).unwrap());
    decide_there(&weur, spend("acme", "tokens", 9)).await;
    decide_there(&enam, spend("acme", "tokens", 4)).await;
    let units = |series: &Value| -> u64 {
        let points = series["points"].as_array().unwrap().iter();
        let each = points.filter_map(|point| point["budgets"]["tokens"]["admitted_units"].as_u64());
        each.sum()
    };
    for (query, expected) in [("", 13), ("?region=weur", 9), ("?region=enam", 4)] {
        let path = format!("/operator/v1/series{query}");
        await_that(&weur, &path, |series| units(series) == expected).await;
    }
    let nobody = weur.get("/operator/v1/series?region=apac").await.unwrap();
    assert_problem("no such region", &nobody, 404, Some("/region"));
}

#[tokio::test]
async fn the_list_of_tenants_tells_of_one_budget_and_keeps_one_tier() {
    let asked = [("acme", 400), ("hooli", 30), ("hooli", 10_000)];
    let checks = asked.map(|(tenant, cost)| spend(tenant, "tokens", cost));
    let (_workerd, client, _) = decided(&checks).await;
    let path = "/operator/v1/tenants?budget=tokens&sort=-denied_calls";
    let told = await_that(&client, path, |told| {
        told["tenants"][0]["budgets"]["tokens"]["denied"] == 1
    })
    .await;
    assert_eq!(told["budget"], "tokens");
    let first = &told["tenants"][0];
    assert_eq!(
        (&first["tenant"], &first["budgets"]["tokens"]["used"]),
        (&json!("hooli"), &json!(30))
    );
    // Weights 4 and 2 of 700 units.
    let by_share = get(
        &client,
        "/operator/v1/tenants?budget=tokens&sort=-guarantee",
    )
    .await;
    let row = &by_share["tenants"][0];
    assert_eq!(
        (&row["tenant"], &row["budgets"]["tokens"]["guarantee"]),
        (&json!("acme"), &json!(466))
    );
    let tier = get(&client, "/operator/v1/tenants?tier=enterprise").await;
    assert_eq!(
        (&tier["total"], &tier["tenants"][0]["tenant"]),
        (&json!(1), &json!("acme"))
    );
    let none = get(&client, "/operator/v1/tenants?tier=gold").await;
    assert_eq!(none["total"], 0);
    let nobody = client
        .get("/operator/v1/tenants?budget=nope")
        .await
        .unwrap();
    assert_problem("no such budget", &nobody, 404, Some("/budget"));
}

#[tokio::test]
async fn a_session_says_whose_it_is() {
    let (_workerd, client) = deployment().await;
    let asked = json!({ "name": "on-call", "role": "viewer" });
    let made = posted(&client, "/operator/v1/tokens", &asked).await;
    let made: Value = made.json().unwrap();
    let token = made["token"].as_str().unwrap();
    await_known(&client.with_token(token), FAIRNESS).await;
    let (session, opened) = client.anonymous().log_in(token).await.unwrap();
    let read: Value = get(&session, "/operator/v1/session").await;
    assert_eq!(
        (&read["name"], &read["role"]),
        (&json!("on-call"), &json!("viewer"))
    );
    assert_eq!(read["expires_at"], json!(opened.expires_at));
}

#[tokio::test]
async fn a_window_that_is_open_is_among_those_of_its_budget() {
    let (_workerd, client) = deployment().await;
    decide_there(&client, spend("acme", "tokens", 11)).await;
    let told = await_that(&client, "/operator/v1/budgets/tokens/windows", |told| {
        told["windows"][0]["tenants"][0]["served"] == 11
    })
    .await;
    let window = &told["windows"][0];
    assert_eq!(
        (&window["complete"], &window["granted"]),
        (&json!(false), &Value::Null)
    );
    let at = get(&client, REGIONS).await["at"].as_u64();
    assert!(window["ends_at"].as_u64() > at, "{window}");
    assert_eq!(
        (&window["limit"], &window["tenants"][0]["entitlement"]),
        (&json!(700), &json!(700))
    );
}
