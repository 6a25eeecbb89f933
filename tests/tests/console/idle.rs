//! A page that nobody works with, on a deployment in which nothing happens, asks for little.

use std::time::Duration;

use serde_json::json;
use weir_tests::browser::Browser;
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything};
use crate::console::{await_live, log_in, visit};

/// Requests of a minute, at most.
const REQUESTS_MAX: u64 = 20;

/// What a page asks for as it opens, and what regions say of their first window, is over by then.
const SETTLED: Duration = Duration::from_secs(15);

const MINUTE: Duration = Duration::from_secs(60);

/// Pages of figures, each with its address.
const FIGURES: [(&str, &str); 9] = [
    ("overview", "/"),
    ("tenants", "/tenants"),
    ("tenant", "/tenant?name=pro%3Ahooli&what=budget%3Atokens"),
    ("tenant", "/tenant?name=pro%3Ahooli&tab=why"),
    ("budgets", "/budgets"),
    ("budget", "/budgets/tokens"),
    ("regions", "/regions"),
    ("region", "/regions/weur"),
    ("decisions", "/decisions"),
];

/// The others.
const RECORDS: [(&str, &str); 10] = [
    ("tenant", "/tenant?name=pro%3Ahooli&tab=policy"),
    ("tenant", "/tenant?name=pro%3Ahooli&tab=edit"),
    ("policy", "/policy?section=budgets&name=tokens"),
    ("policy", "/policy?section=document"),
    ("simulator", "/simulator"),
    ("simulator", "/simulator?over=recorded"),
    ("simulator", "/simulator?over=trace"),
    ("activity", "/activity"),
    ("access", "/access"),
    ("glossary", "/glossary"),
];

/// Looks at all pages at once, each in a window of its own: what each asks for in the same minute. WebSockets are no
/// requests here; a page has one.
async fn idle_minute(pages: &[(&str, &str)]) {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let mut windows = vec![browser.page().window().await.unwrap()];
    for (place, (slug, path)) in pages.iter().enumerate() {
        if place > 0 {
            let window = browser.page().new_window(false).await.unwrap().handle;
            browser
                .page()
                .switch_to_window(window.clone())
                .await
                .unwrap();
            windows.push(window);
        }
        visit(&browser, &site.origin(), path, slug).await;
        await_live(&browser, "live").await;
    }
    tokio::time::sleep(SETTLED).await;
    let clear = "performance.clearResourceTimings(); performance.setResourceTimingBufferSize(5000);
        window.idleSince = performance.now();
        return document.visibilityState";
    for window in &windows {
        browser
            .page()
            .switch_to_window(window.clone())
            .await
            .unwrap();
        let shown = browser.evaluate(clear, vec![]).await.unwrap();
        assert_eq!(shown, "visible", "a hidden page asks for nothing");
    }
    tokio::time::sleep(MINUTE).await;
    let read = "const since = window.idleSince;
        const all = performance.getEntriesByType('resource').filter(one => one.startTime <= since + arguments[0]);
        return [all.length, all.map(one => new URL(one.name).pathname).join(' '), performance.now() - since]";
    let mut busy = Vec::new();
    for (window, (_, path)) in windows.iter().zip(pages) {
        browser
            .page()
            .switch_to_window(window.clone())
            .await
            .unwrap();
        let minute = vec![json!(MINUTE.as_millis() as u64)];
        let told = browser.evaluate(read, minute).await.unwrap();
        println!("{path}: {} requests in a minute: {}", told[0], told[1]);
        assert!(told[2].as_f64().unwrap() >= 60_000.0, "{path}: {told}");
        if told[0].as_u64().unwrap() > REQUESTS_MAX {
            busy.push(format!("{path}: {}", told[0]));
        }
    }
    assert!(
        busy.is_empty(),
        "more than {REQUESTS_MAX} requests: {busy:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_page_of_figures_asks_for_little_while_nothing_happens() {
    idle_minute(&FIGURES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_other_page_asks_for_little_while_nothing_happens() {
    idle_minute(&RECORDS).await;
}
