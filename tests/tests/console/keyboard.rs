//! A journey by keyboard alone: everything that is done with a mouse elsewhere is done here with keys.

use serde_json::{Value, json};
use weir_shared::wire::operator::Role;
use weir_tests::browser::{Browser, Key, test_id_selector};

use crate::console::site::{Site, everything};
use crate::console::traffic::Traffic;
use crate::console::{assert_no_errors, await_page, eventually, login_is_late, previewed, toasts};

/// As many stops as any page may need on the way to a control.
const STOPS_MAX: usize = 120;

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_done_by_keyboard_alone() {
    let site = Site::start(&everything()).await;
    let _traffic = Traffic::of_all_tiers(&site.client);
    let token = site.token("by-keys", Role::Editor).await.token;
    let browser = Browser::start().await.expect("the browser starts");
    browser
        .open(&format!("{}/console/", site.origin()))
        .await
        .unwrap();

    browser.find_id("login-token").await.unwrap();
    eventually("a login that is answered", async || {
        tab_to(&browser, "login-token").await;
        browser.key(Key::SelectAll).await.unwrap();
        browser.type_text(&token).await.unwrap();
        browser.key(Key::Enter).await.unwrap();
        (!login_is_late(&browser).await).then_some(())
    })
    .await;
    await_page(&browser, "overview").await;

    skip_the_navigation(&browser).await;
    find_and_open(&browser).await;
    edit_and_save(&browser).await;
    let saved = site.read("/operator/v1/tenants/pro%3Ahooli").await;
    assert_eq!(saved["body"]["weight"], json!(5), "{saved}");
    shortcuts_can_be_switched_off(&browser).await;
    tab_to(&browser, "logout").await;
    browser.key(Key::Enter).await.unwrap();
    browser.find_id("login-token").await.unwrap();
    assert_no_errors(&browser, &[]).await;
}

/// The first stop of a page leads past the navigation.
async fn skip_the_navigation(browser: &Browser) {
    browser.refresh().await.unwrap();
    await_page(browser, "overview").await;
    browser
        .evaluate("document.activeElement.blur()", vec![])
        .await
        .unwrap();
    tab_until(
        browser,
        "the skip link",
        "document.activeElement.hash === '#main'",
    )
    .await;
    browser.key(Key::Enter).await.unwrap();
    focus_comes_to(browser, "page-overview").await;
}

async fn focus_comes_to(browser: &Browser, test_id: &str) {
    eventually(&format!("the focus on {test_id}"), async || {
        (browser.focused().await.ok()? == test_id).then_some(())
    })
    .await;
}

async fn find_and_open(browser: &Browser) {
    // One key has to follow the other in time.
    eventually("the page of tenants", async || {
        browser.type_text("gt").await.ok()?;
        let page = test_id_selector("page-tenants");
        browser.has(&page).await.ok()?.then_some(())
    })
    .await;
    await_page(browser, "tenants").await;
    browser.type_text("/").await.unwrap();
    focus_comes_to(browser, "search").await;
    browser.type_text("hooli").await.unwrap();
    let row = "[data-testid=tenant-row][data-tenant='pro:hooli']";
    browser.find(row).await.unwrap();
    browser
        .wait_until("document.querySelectorAll('[data-testid=tenant-row]').length === 1")
        .await
        .unwrap();
    let in_row = "document.activeElement.closest('[data-testid=tenant-row]') !== null";
    tab_until(browser, "the row", in_row).await;
    browser.key(Key::Enter).await.unwrap();
    await_page(browser, "tenant").await;
}

async fn edit_and_save(browser: &Browser) {
    tab_to(browser, "edit").await;
    browser.key(Key::Enter).await.unwrap();
    browser.find_id("field-weight").await.unwrap();
    tab_to(browser, "field-weight").await;
    browser.key(Key::SelectAll).await.unwrap();
    browser.type_text("5").await.unwrap();
    previewed(browser, async || {
        tab_to(browser, "preview").await;
        browser.key(Key::Enter).await.unwrap();
    })
    .await;
    tab_to(browser, "save").await;
    toasts::note(browser).await;
    browser.key(Key::Enter).await.unwrap();
    let announced = toasts::await_done(browser).await;
    assert!(announced.contains("hooli"), "{announced}");
}

/// Single keys are for whoever wants them.
async fn shortcuts_can_be_switched_off(browser: &Browser) {
    let panel = test_id_selector("shortcuts-panel");
    browser
        .evaluate("document.activeElement.blur()", vec![])
        .await
        .unwrap();
    browser.type_text("?").await.unwrap();
    browser.find(&panel).await.unwrap();
    let held = test_id_selector("shortcuts-held");
    let held = browser.text(&held).await.unwrap();
    assert!(
        held.contains("Go to any tenant") && held.contains("Undo"),
        "{held}"
    );
    tab_to(browser, "shortcuts-enabled").await;
    browser.key(Key::Space).await.unwrap();
    browser.key(Key::Escape).await.unwrap();
    eventually("the panel closes", async || {
        let open = "return document.querySelector('dialog[open]') === null";
        (browser.evaluate(open, vec![]).await.ok()? == Value::Bool(true)).then_some(())
    })
    .await;
    let before = browser.address().await.unwrap();
    browser.type_text("gb").await.unwrap();
    browser.type_text("?").await.unwrap();
    assert_eq!(
        browser.address().await.unwrap(),
        before,
        "a key still leads away"
    );
    let open = browser.evaluate(
        "return document.querySelector('dialog[open]') !== null",
        vec![],
    );
    assert_eq!(
        open.await.unwrap(),
        Value::Bool(false),
        "a key still opens the panel"
    );
}

/// Presses Tab until the element with a `data-testid` has the focus.
pub(crate) async fn tab_to(browser: &Browser, test_id: &str) {
    let is_there = format!("document.activeElement.dataset.testid === '{test_id}'");
    tab_until(browser, test_id, &is_there).await;
    assert_focus_is_seen(browser, test_id).await;
}

async fn tab_until(browser: &Browser, what: &str, is_there: &str) {
    let mut stops = Vec::new();
    for _ in 0..STOPS_MAX {
        let script = format!("return Boolean({is_there})");
        if browser.evaluate(&script, vec![]).await.unwrap() == Value::Bool(true) {
            return;
        }
        browser.key(Key::Tab).await.unwrap();
        stops.push(browser.focused().await.unwrap());
    }
    panic!("Tab never comes to {what}: {stops:#?}");
}

/// Who goes by keyboard sees where.
async fn assert_focus_is_seen(browser: &Browser, what: &str) {
    let script = "const style = getComputedStyle(document.activeElement);
        return [style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2, style.boxShadow !== 'none'];";
    let seen = browser.evaluate(script, vec![]).await.unwrap();
    assert!(
        seen[0] == true || seen[1] == true,
        "the focus on {what} is not seen"
    );
}
