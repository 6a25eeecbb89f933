//! The code of a page comes when the page is visited, and that of no other; a page whose code did not come says so, and
//! has it brought once more.

use serde_json::json;
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything};
use crate::console::{assert_no_errors, await_page, go_to, log_in, visit};

/// The modules that the browser has asked for, by the names that they are built under, in order.
async fn modules(browser: &Browser) -> Vec<String> {
    let script = r"return performance.getEntriesByType('resource')
        .map(one => new URL(one.name).pathname)
        .filter(path => path.endsWith('.wasm'))
        .map(path => path.replace('/console/', '').replace(/-[0-9a-f]{16}\.wasm$/, ''))";
    let told = browser.evaluate(script, vec![]).await.unwrap();
    let mut names: Vec<String> = serde_json::from_value(told).unwrap();
    names.sort_unstable();
    names.dedup();
    names
}

/// Those of them that are of one part alone.
async fn parts(browser: &Browser) -> Vec<String> {
    let mut names = modules(browser).await;
    names.retain(|name| name.starts_with("split_"));
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_brings_its_own_code_and_no_other() {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    visit(&browser, &site.origin(), "/", "overview").await;
    assert_eq!(modules(&browser).await, ["weir-console_bg"]);
    go_to(&browser, "access").await;
    assert_eq!(parts(&browser).await, ["split_access"]);
    let moved = modules(&browser).await;
    // It is here by now.
    go_to(&browser, "overview").await;
    go_to(&browser, "access").await;
    assert_eq!(modules(&browser).await, moved);
    go_to(&browser, "policy").await;
    assert_eq!(parts(&browser).await, ["split_access", "split_policy"]);
    assert_no_errors(&browser, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_leads_into_a_page_whose_code_comes_later() {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    for (path, slug, part) in [
        ("/policy?section=limits", "policy", "split_policy"),
        ("/tenant?name=pro%3Ahooli", "tenant", "split_figures"),
        ("/budgets/tokens", "budget", "split_figures"),
        ("/access", "access", "split_access"),
    ] {
        visit(&browser, &site.origin(), path, slug).await;
        assert_eq!(parts(&browser).await, [part], "{path}");
    }
    assert_no_errors(&browser, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_did_not_come_is_told_and_comes_when_it_is_asked_for_again() {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    visit(&browser, &site.origin(), "/", "overview").await;
    browser.devtools("Network.enable", json!({})).await.unwrap();
    let block = async |urls: &[&str]| {
        let urls = json!({ "urls": urls });
        let set = browser.devtools("Network.setBlockedURLs", urls).await;
        set.unwrap();
    };
    block(&["*split_policy*"]).await;
    go_to(&browser, "policy").await;
    let told = test_id_selector("code-missing");
    browser.find(&told).await.expect("the failure is told");
    // Pages whose code does come are as ever, and so is this one's failure.
    go_to(&browser, "access").await;
    assert!(!browser.has(&told).await.unwrap());
    go_to(&browser, "policy").await;
    browser
        .find(&told)
        .await
        .expect("the failure is told again");
    browser.press_id("retry").await.unwrap();
    await_page(&browser, "policy").await;
    browser.find(&told).await.expect("it is still away");
    block(&[]).await;
    browser.press_id("retry").await.unwrap();
    browser.wait_gone(&told).await.unwrap();
    await_page(&browser, "policy").await;
    browser.find_id("revision").await.expect("the policy");
}
