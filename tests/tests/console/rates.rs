//! Calls a second are shown once they are known, and soon.

use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::browser::Browser;
use weir_tests::fixtures::policy;
use weir_tests::workerd::TOKEN;

use crate::console::site::Site;
use crate::console::traffic::Traffic;
use crate::console::{eventually, log_in, visit};

/// Sooner than a mean over ten seconds is whole.
const SHOWN_WITHIN: Duration = Duration::from_secs(9);

/// How often a visit is tried: a machine that stands still shows a rate late now and then, a fault always.
const TRIES: u32 = 3;

/// Writes down what the figure of admitted calls says, each time that it says something else.
const WATCH: &str = "window.said = [];
    setInterval(() => {
        const figure = document.querySelector('[data-testid=rate-admitted]');
        // The ten seconds of a mean begin as the first region tells.
        if (document.querySelector('[data-testid=live-state][data-state=live]')) window.since ??= performance.now();
        if (figure && figure.textContent !== window.said.at(-1)?.[1]) {
            window.said.push([performance.now() - (window.since ?? performance.now()), figure.textContent]);
        }
    }, 20);";

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_shows_no_rate_before_there_is_one_and_then_soon() {
    // So much that each second has calls that are admitted.
    let site = Site::start(&policy(1_000_000, 60_000)).await;
    let _traffic = Traffic::of_budget(&site.client, "acme", 20, 1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    browser.before_each_page(WATCH).await.unwrap();
    for _ in 0..3 {
        let mut tries = 1;
        while !is_shown_soon(&browser, &site).await {
            assert!(tries < TRIES, "{tries} times a rate was shown late");
            tries += 1;
        }
    }
}

/// Whether a visit shows a rate once there is one, and soon.
async fn is_shown_soon(browser: &Browser, site: &Site) -> bool {
    visit(browser, &site.origin(), "/", "overview").await;
    let said = eventually("a rate", async || {
        let said = browser.evaluate("return window.said", vec![]).await.ok()?;
        let said: Vec<(f64, String)> = serde_json::from_value(said).ok()?;
        said.iter()
            .any(|(_, text)| text.parse::<f64>().is_ok())
            .then_some(said)
    })
    .await;
    println!("the figure says {said:?}");
    let (after_ms, rate) = said.iter().find(|(_, text)| text != "measuring…").unwrap();
    assert!(rate.parse::<f64>().unwrap() > 0.0, "a false zero: {said:?}");
    let shown_after = Duration::from_secs_f64(after_ms / 1_000.0);
    said[0].1 == "measuring…" && shown_after < SHOWN_WITHIN
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_asked_the_rate_comes_to_be_zero() {
    let site = Site::start(&policy(60, 60_000)).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let said: Value = eventually("a rate of zero", async || {
        let script = "return document.querySelector('[data-testid=rate-denied]').dataset.value";
        let value = browser.evaluate(script, vec![]).await.ok()?;
        value.is_string().then_some(value)
    })
    .await;
    assert_eq!(said, json!("0"));
}
