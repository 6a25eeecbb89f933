//! Lists as files: comma-separated values and JSON lines of what the same address answers as JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::with;

use weir_shared::ordered::OrderedMap;

use crate::operator::{SETTLING, assert_problem, await_that, decided, document, get, got, start};

const DECISIONS: &str = "/operator/v1/decisions";

/// A file, and its lines.
async fn lines(client: &Client, address: &str, media_type: &str) -> Vec<String> {
    let reply = got(client, address).await;
    assert_eq!(reply.status, 200, "{address}: {}", reply.text());
    assert_eq!(reply.header("content-type"), Some(media_type), "{address}");
    let disposition = reply.header("content-disposition").unwrap_or_default();
    assert!(
        disposition.starts_with("attachment; filename=\"weir-"),
        "{disposition}"
    );
    assert_eq!(
        reply.header("x-content-type-options"),
        Some("nosniff"),
        "{address}"
    );
    reply.text().lines().map(str::to_owned).collect()
}

/// What every region that is asked answers in time.
async fn whole(client: &Client, address: &str) -> Value {
    await_that(client, address, |found| found["unreachable"] == json!([])).await
}

async fn json_lines(client: &Client, address: &str) -> Vec<Value> {
    let lines = lines(client, address, "application/x-ndjson").await;
    let read = |line: &String| serde_json::from_str(line).unwrap();
    lines.iter().map(read).collect()
}

/// Each line of a file without quoted cells, by the names of its columns.
async fn csv(client: &Client, address: &str) -> Vec<OrderedMap<String, String>> {
    let lines = lines(client, address, "text/csv; charset=utf-8").await;
    let names: Vec<&str> = lines[0].split(',').collect();
    let line = |line: &String| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), names.len(), "{line}");
        let pairs = names.iter().zip(cells);
        pairs
            .map(|(name, cell)| ((*name).to_owned(), cell.to_owned()))
            .collect()
    };
    lines[1..].iter().map(line).collect()
}

fn told<'a>(line: &'a OrderedMap<String, String>, names: &[&str]) -> Vec<&'a str> {
    names.iter().map(|name| line[*name].as_str()).collect()
}

/// Two tenants, one of which has a name that a spreadsheet would take for a formula; one is denied.
async fn used() -> (weir_tests::workerd::Workerd, Client) {
    let of_acme = |cost: u64| json!({ "tenant": "acme", "budget": "tokens", "cost": cost });
    let of_hooli = json!({ "tenant": "=hooli", "meter": "bytes", "cost": 2 });
    let checks = [of_acme(300), of_acme(100), of_acme(9_000), of_hooli];
    let (workerd, client, _) = decided(&checks).await;
    let counted = |report: &Value| {
        let tenants = report["tenants"].as_array().unwrap();
        tenants.len() == 2 && tenants[1]["total"]["admitted_units"] == 400
    };
    await_that(&client, "/operator/v1/fairness", counted).await;
    let recorded = |view: &Value| {
        let window = &view["windows"][0];
        window["admitted"] == 400 && window["denied"] == 9_000
    };
    await_that(&client, "/operator/v1/budgets/tokens/windows", recorded).await;
    (workerd, client)
}

/// A region that is late is left out of either for a moment: then both are asked for again.
async fn assert_file_is_the_list(client: &Client, address: &str, list: &str) {
    let begun = now();
    loop {
        let mut listed = get(client, address).await;
        let entries = listed[list].as_array_mut().unwrap();
        let mut file = json_lines(client, &format!("{address}?format=jsonl")).await;
        // The effective policy is that of the moment.
        for entry in file.iter_mut().chain(entries.iter_mut()) {
            if let Some(at) = entry.pointer_mut("/effective/at") {
                *at = json!(0);
            }
        }
        if !entries.is_empty() && file == *entries {
            return;
        }
        let late = begun.elapsed() > SETTLING;
        assert!(!late, "{address}: {file:?} instead of {entries:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn files_hold_what_the_lists_answer() {
    let (_workerd, client) = used().await;
    for (address, list) in [
        ("/operator/v1/fairness", "tenants"),
        ("/operator/v1/tenants", "tenants"),
        ("/operator/v1/series", "points"),
        ("/operator/v1/budgets/tokens/windows", "windows"),
        (DECISIONS, "decisions"),
    ] {
        assert_file_is_the_list(&client, address, list).await;
        let other = got(&client, &format!("{address}?format=xml")).await;
        assert_problem(address, &other, 400, Some("/format"));
    }
    let fairness = csv(&client, "/operator/v1/fairness?format=csv").await;
    let names = [
        "tenant",
        "tier",
        "kind",
        "name",
        "used_units",
        "denied_calls",
        "denied_units",
    ];
    let lines: Vec<Vec<&str>> = fairness.iter().map(|line| told(line, &names)).collect();
    assert_eq!(
        lines,
        [
            vec!["'=hooli", "free", "meter", "bytes", "2", "0", "0"],
            vec!["acme", "enterprise", "budget", "tokens", "400", "1", "9000"],
        ]
    );
    let series = csv(&client, "/operator/v1/series?tenant=acme&format=csv").await;
    let units = series
        .iter()
        .map(|line| line["used_units"].parse::<u64>().unwrap());
    assert_eq!(units.sum::<u64>(), 400);
    let windows = csv(&client, "/operator/v1/budgets/tokens/windows?format=csv").await;
    assert_eq!(
        told(
            &windows[0],
            &["budget", "limit", "used_units", "denied_units"]
        ),
        ["tokens", "700", "400", "9000"]
    );
    let tenants = csv(
        &client,
        "/operator/v1/tenants?named=true&sort=tenant&format=csv",
    )
    .await;
    let names = ["tenant", "named", "name", "used_units"];
    let lines: Vec<Vec<&str>> = tenants.iter().map(|line| told(line, &names)).collect();
    assert_eq!(
        lines,
        [
            vec!["acme", "true", "tokens", "400"],
            vec!["hooli", "true", "", "0"]
        ]
    );
}

#[tokio::test]
async fn the_last_decisions_are_listed_newest_first_and_by_what_they_are() {
    let (_workerd, client) = used().await;
    let all = whole(&client, DECISIONS).await;
    let rows = all["decisions"].as_array().unwrap();
    let times = rows.iter().map(|row| row["at"].as_u64().unwrap());
    let times: Vec<u64> = times.collect();
    assert!(times.is_sorted_by(|one, other| one >= other), "{times:?}");
    let count = async |query: &str| {
        let found = whole(&client, &format!("{DECISIONS}?{query}")).await;
        found["decisions"].as_array().unwrap().len()
    };
    for (query, expected) in [
        ("tenant=acme", 3),
        ("tenant=acm", 0),
        ("search=CM", 3),
        ("tenant=acme&outcome=admitted", 2),
        ("outcome=denied", 1),
        ("outcome=would_deny", 0),
        ("reason=never", 1),
        ("binding=bytes", 1),
        ("region=weur", 4),
        ("region=enam", 0),
    ] {
        assert_eq!(count(query).await, expected, "{query}: {all}");
    }
    let denied = csv(&client, &format!("{DECISIONS}?outcome=denied&format=csv")).await;
    let names = ["region", "tenant", "outcome", "binding", "reason"];
    assert_eq!(
        told(&denied[0], &names),
        ["weur", "acme", "denied", "tokens", "never"]
    );
    for (query, status, field) in [
        ("outcome=shed", 400, Some("/outcome")),
        ("reason=mood", 400, Some("/reason")),
        ("colour=red", 400, Some("/colour")),
        ("region=moon", 404, None),
    ] {
        let reply = got(&client, &format!("{DECISIONS}?{query}")).await;
        assert_problem(query, &reply, status, field);
    }
}

#[tokio::test]
async fn a_file_of_ten_thousand_tenants_is_whole() {
    let named = (0..10_000).map(|number| (format!("t{number:05}"), json!({})));
    let named: Map<String, Value> = named.collect();
    let (_workerd, client) = start(&with(document(), "/tenants", Value::Object(named))).await;
    let tenants = csv(&client, "/operator/v1/tenants?sort=tenant&format=csv").await;
    let names: Vec<&str> = tenants.iter().map(|line| line["tenant"].as_str()).collect();
    assert_eq!(names.len(), 10_000);
    assert_eq!((names[0], names[9_999]), ("t00000", "t09999"));
    let page = csv(
        &client,
        "/operator/v1/tenants?sort=tenant&page=2&page_size=10&format=csv",
    )
    .await;
    assert_eq!((page.len(), page[0]["tenant"].as_str()), (10, "t00010"));
}
