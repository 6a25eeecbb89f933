//! The command palette goes to any tenant, budget, region and page by keys alone, and does what has no page.

use serde_json::{Value, json};
use weir_tests::browser::{Browser, Key, test_id_selector};
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything};
use crate::console::{await_page, eventually, log_in};

/// Opens it by its key.
async fn open(browser: &Browser) {
    browser.key(Key::Palette).await.unwrap();
    browser
        .find_id("palette-input")
        .await
        .expect("the palette opens");
    eventually("the focus in the palette", async || {
        (browser.focused().await.ok()? == "palette-input").then_some(())
    })
    .await;
}

/// What it lists.
async fn listed(browser: &Browser) -> Vec<String> {
    let script = "return [...document.querySelectorAll('[data-testid=palette-entry]')].map(one => one.textContent)";
    let told = browser.evaluate(script, vec![]).await.unwrap();
    serde_json::from_value(told).unwrap()
}

/// Types what is looked for, waits until it is offered first, and goes there.
async fn go(browser: &Browser, typed: &str, first: &str, page: &str) {
    open(browser).await;
    browser.type_text(typed).await.unwrap();
    eventually(first, async || {
        listed(browser)
            .await
            .first()
            .is_some_and(|one| one.starts_with(first))
            .then_some(())
    })
    .await;
    browser.key(Key::Enter).await.unwrap();
    await_page(browser, page).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_k_goes_anywhere_by_keys_alone() {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    go(&browser, "hooli", "pro:hooli", "tenant").await;
    assert_eq!(
        browser.address().await.unwrap(),
        "/console/tenant?name=pro%3Ahooli"
    );
    go(&browser, "budget tok", "tokens", "budget").await;
    go(&browser, "western eur", "Western Europe (weur)", "region").await;
    assert_eq!(browser.address().await.unwrap(), "/console/regions/weur");
    go(&browser, "api key", "Policy: API keys", "policy").await;
    assert!(
        browser
            .address()
            .await
            .unwrap()
            .contains("section=api-keys")
    );
    // The part of a page that has it, which takes the focus.
    go(
        &browser,
        "cost",
        "Overview: What decisions cost",
        "overview",
    )
    .await;
    eventually("the costs", async || {
        let script = "return document.activeElement.id";
        let focused = browser.evaluate(script, vec![]).await.ok()?;
        (focused == "costs-heading").then_some(())
    })
    .await;
    go(&browser, "policy guards", "Policy: Guards", "policy").await;
    // The arrows choose, Escape leaves everything as it was.
    open(&browser).await;
    browser.key(Key::Down).await.unwrap();
    let chosen = "return document.querySelector('[role=option][aria-selected=true]').id";
    assert_eq!(
        browser.evaluate(chosen, vec![]).await.unwrap(),
        json!("palette-1")
    );
    browser.key(Key::Escape).await.unwrap();
    browser
        .wait_gone(&test_id_selector("palette-input"))
        .await
        .unwrap();
    assert!(browser.address().await.unwrap().contains("section=guards"));
    // An action without a page.
    open(&browser).await;
    browser.type_text("light and dark").await.unwrap();
    eventually("the action", async || {
        (listed(&browser).await.len() == 1).then_some(())
    })
    .await;
    browser.key(Key::Enter).await.unwrap();
    let theme = "return document.documentElement.dataset.theme";
    eventually("another theme", async || {
        let theme: Value = browser.evaluate(theme, vec![]).await.ok()?;
        (theme == "dark" || theme == "light").then_some(())
    })
    .await;
    go(&browser, "new token", "New token", "access").await;
    browser
        .find_id("field-name")
        .await
        .expect("the dialog is open");
}
