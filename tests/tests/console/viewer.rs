//! What a viewer sees: everything, and nothing that would be refused.

use serde_json::json;
use weir_shared::wire::operator::Role;
use weir_tests::browser::{Browser, test_id_selector};

use crate::console::accessibility::PAGES;
use crate::console::site::{Site, everything};
use crate::console::traffic::Traffic;
use crate::console::{assert_no_errors, await_live, go_to, log_in, log_out, visit};

/// What changes something, by its name.
const EDITS: [&str; 14] = [
    "edit",
    "save",
    "preview",
    "revert",
    "reset",
    "reset-tenant",
    "reset-key",
    "remove",
    "create-token",
    "revoke",
    "add-entry",
    "add-override",
    "rebase",
    "confirm",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_sees_every_page_and_no_control_that_changes_anything() {
    let site = Site::start(&everything()).await;
    let _traffic = Traffic::of_all_tiers(&site.client);
    let token = site.token("looks-on", Role::Viewer).await.token;
    let browser = Browser::start().await.expect("the browser starts");
    let origin = site.origin();
    log_in(&browser, &origin, &token).await;
    await_live(&browser, "live").await;
    let role = browser.text(&test_id_selector("role")).await.unwrap();
    assert!(role.to_lowercase().contains("viewer"), "{role}");
    assert!(
        !browser.has(&test_id_selector("nav-access")).await.unwrap(),
        "a way to what is refused"
    );
    for slug in [
        "tenants",
        "budgets",
        "regions",
        "policy",
        "simulator",
        "activity",
        "decisions",
    ] {
        go_to(&browser, slug).await;
        assert_nothing_to_change(&browser, slug).await;
    }
    for (slug, path) in PAGES {
        visit(&browser, &origin, path, slug).await;
        assert_nothing_to_change(&browser, path).await;
    }
    visit(&browser, &origin, "/access", "access").await;
    let state = browser
        .text(&test_id_selector("state-forbidden"))
        .await
        .unwrap();
    assert!(state.to_lowercase().contains("admin"), "{state}");
    assert_no_errors(&browser, &["403"]).await;
    // A page may be reading while its session ends.
    log_out(&browser).await;
}

async fn assert_nothing_to_change(browser: &Browser, place: &str) {
    // In one moment of the page, which may be drawn anew in the next.
    let script = "const seen = { visibilityProperty: true };
        return arguments[0].filter((id) => [...document.querySelectorAll(`[data-testid=\"${id}\"]`)]
            .some((one) => one.checkVisibility(seen)));";
    let shown = browser.evaluate(script, vec![json!(EDITS)]).await.unwrap();
    assert_eq!(
        shown,
        json!([]),
        "{place} shows a viewer what is no viewer's"
    );
}
