//! A page that nobody works with, on a deployment in which nothing happens, asks for little.

use std::time::Duration;

use weir_tests::browser::Browser;
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything};
use crate::console::{await_live, log_in, visit};

/// Requests of a minute, at most.
const REQUESTS_MAX: u64 = 20;

/// What a page asks for as it opens, and what regions say of their first window, is over by then.
const SETTLED: Duration = Duration::from_secs(15);

async fn requests_of_a_minute(path: &str, slug: &str) -> u64 {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    visit(&browser, &site.origin(), path, slug).await;
    await_live(&browser, "live").await;
    tokio::time::sleep(SETTLED).await;
    let clear = "performance.clearResourceTimings(); performance.setResourceTimingBufferSize(5000)";
    browser.evaluate(clear, vec![]).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let script = "const all = performance.getEntriesByType('resource').map(one => new URL(one.name).pathname);
        console.log(all.join(' '));
        return [all.length, all.join(' ')]";
    let told = browser.evaluate(script, vec![]).await.unwrap();
    println!("{path}: {} requests in a minute: {}", told[0], told[1]);
    told[0].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_asks_for_little_while_nothing_happens() {
    let asked = requests_of_a_minute("/", "overview").await;
    assert!(asked <= REQUESTS_MAX, "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_s_page_asks_for_little_while_nothing_happens() {
    let asked =
        requests_of_a_minute("/tenant?name=pro%3Ahooli&what=budget%3Atokens", "tenant").await;
    assert!(asked <= REQUESTS_MAX, "{asked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_s_page_asks_for_little_while_nothing_happens() {
    let asked = requests_of_a_minute("/budgets/tokens", "budget").await;
    assert!(asked <= REQUESTS_MAX, "{asked}");
}
