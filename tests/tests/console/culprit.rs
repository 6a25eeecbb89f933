//! One look tells who is denied and why, and leads to the reason; what a shadow would have denied is told apart.

use serde_json::{Value, json};
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::fixtures::BUDGET;
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything};
use crate::console::traffic::Traffic;
use crate::console::{await_page, eventually, log_in, shown, visit};

const FLOOD: &str = "free:flood";

/// What the verdict says, once it is of that standing.
async fn verdict(browser: &Browser, standing: &str) -> String {
    let selector = format!("[data-testid=verdict][data-standing={standing}]");
    eventually(standing, async || {
        if !browser.has(&selector).await.ok()? {
            return None;
        }
        browser.text(&selector).await.ok()
    })
    .await
}

/// The names of a chart's lines, by its own table, and the largest value of each.
async fn chart_lines(browser: &Browser) -> Vec<(String, f64)> {
    let script = "const chart = document.querySelector('[data-testid=series-chart]');
        const table = chart.querySelector('[data-testid=chart-table]');
        if (!table.open) { table.querySelector('summary').click(); return null; }
        const rows = [...table.querySelectorAll('tr')].map(row => [...row.children].map(cell => cell.textContent));
        if (rows.length < 2) return null;
        const figure = text => Number(text.replaceAll(',', '')) || 0;
        return rows[0].slice(1).map((name, place) =>
            [name, Math.max(...rows.slice(1).map(row => figure(row[place + 1])))]);";
    eventually("the chart's table", async || {
        let told = browser.evaluate(script, vec![]).await.ok()?;
        serde_json::from_value(told).ok()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_finds_who_floods_and_why_in_one_look() {
    let site = Site::start(&everything()).await;
    let _flood = Traffic::of_budget(&site.client, FLOOD, 20, 5);
    let _quiet = Traffic::of_budget(&site.client, "pro:hooli", 1, 1);
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let said = verdict(&browser, "over-share").await;
    println!("the verdict: {said}");
    assert!(
        said.starts_with("1 tenant over its share: free:flood, "),
        "{said}"
    );
    assert!(said.contains("denied/s by budget tokens"), "{said}");
    assert!(
        said.contains("units/s of tokens, and is guaranteed"),
        "{said}"
    );
    let lines = eventually("what was denied, in the chart", async || {
        let lines = chart_lines(&browser).await;
        let denied = |(name, most): &(String, f64)| name.starts_with("Denied") && *most > 0.0;
        lines.iter().any(denied).then_some(lines)
    })
    .await;
    println!("the chart: {lines:?}");
    browser
        .choose(&test_id_selector("flow-what"), "budget:tokens")
        .await
        .unwrap();
    eventually("the line of the limit", async || {
        browser.has(".limit-label").await.ok()?.then_some(())
    })
    .await;
    let address = browser.address().await.unwrap();
    assert_eq!(address, "/console/?what=budget%3Atokens");
    browser.press_id("verdict-why").await.unwrap();
    await_page(&browser, "tenant").await;
    let address = browser.address().await.unwrap();
    assert!(
        address.contains("tab=why") && address.contains("what=budget%3Atokens"),
        "{address}"
    );
    let headline = browser.text(&test_id_selector("headline")).await.unwrap();
    println!("why: {headline}");
    assert!(
        headline.contains("tokens") || headline.contains("guarantee"),
        "{headline}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_shadow_would_have_denied_is_told_apart_from_what_was_denied() {
    let mut document = everything();
    document["budgets"][BUDGET]["shadow"] = json!(true);
    let site = Site::start(&document).await;
    let _flood = Traffic::of_budget(&site.client, FLOOD, 20, 5);
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let rate = test_id_selector("rate-would-deny");
    let would_deny = eventually("a rate of what a shadow would deny", async || {
        shown(&browser, &rate).await.filter(|rate| *rate > 0.0)
    })
    .await;
    // What a busy machine did not answer in time is denied, too.
    let denied = test_id_selector("rate-denied");
    eventually("nothing that is denied", async || {
        shown(&browser, &denied).await.filter(|rate| *rate == 0.0)
    })
    .await;
    let said = verdict(&browser, "calm").await;
    println!("{would_deny} would be denied: {said}");
    assert!(
        said.starts_with("Nobody is denied.") && said.contains("in shadow mode would have denied"),
        "{said}"
    );
    // The sentence leads to the rules and to those whom they would hit.
    browser.press_id("verdict-shadows").await.unwrap();
    await_page(&browser, "decisions").await;
    let rules = eventually("the rules in shadow mode", async || {
        let said = browser.text(&test_id_selector("shadow-rules")).await.ok()?;
        said.contains("would have denied").then_some(said)
    })
    .await;
    assert!(rules.contains(&format!("budget {BUDGET}")), "{rules}");
    let rows = "[data-testid=decision-row]";
    eventually("a decision that a shadow would deny", async || {
        browser.has(rows).await.ok()?.then_some(())
    })
    .await;
    let script =
        "return [...document.querySelectorAll(arguments[0])].map(row => row.dataset.outcome)";
    let outcomes = browser.evaluate(script, vec![json!(rows)]).await.unwrap();
    let outcomes: Vec<Value> = serde_json::from_value(outcomes).unwrap();
    assert!(
        outcomes.iter().all(|outcome| outcome == "would_deny"),
        "{outcomes:?}"
    );
    visit(
        &browser,
        &site.origin(),
        "/decisions?outcome=denied",
        "decisions",
    )
    .await;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let by_a_rule = format!("{rows}:not([data-reason=unavailable])");
    let found = browser.has(&by_a_rule).await.unwrap();
    assert!(!found, "a shadow denies nothing");
}
