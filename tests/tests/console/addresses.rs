//! The address of a page shows the same again: after a reload, opened anew, and as it was written before.

use serde_json::{Map, Value, json};
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::fixtures::BUDGET;
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything};
use crate::console::{assert_no_errors, await_page, eventually, go_to, log_in, visit};

/// Names with every character that means something in an address, and those that a browser takes for steps of a path.
const NAMES: [&str; 14] = [
    ".",
    "..",
    "acme/web",
    "a%2Fb",
    "100%",
    "what?x=1&y=2",
    "a#b",
    "two words",
    "plus+sign",
    "société→é",
    "a/../b",
    "a//b",
    "back\\slash",
    "\"quoted\" <b>",
];

fn policy() -> Value {
    let mut document = everything();
    let tenants: Map<String, Value> = NAMES
        .iter()
        .map(|name| ((*name).to_owned(), json!({})))
        .collect();
    document["tenants"] = Value::Object(tenants);
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_of_any_name_is_the_same_by_link_by_reload_and_by_address() {
    let site = Site::start(&policy()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    for name in NAMES {
        go_to(&browser, "tenants").await;
        let row = format!("[data-testid=tenant-row][data-tenant={}] a", json!(name));
        browser.press(&row).await.unwrap();
        assert_shows(&browser, name, "by link").await;
        browser.refresh().await.unwrap();
        assert_shows(&browser, name, "after a reload").await;
        browser.press_id("tab-policy").await.unwrap();
        browser.find_id("effective").await.unwrap();
        let address = browser.address().await.unwrap();
        browser.refresh().await.unwrap();
        browser.find_id("effective").await.unwrap();
        assert_shows(&browser, name, "after a reload of a part").await;
        browser.open("about:blank").await.unwrap();
        browser
            .open(&format!("{}{address}", site.origin()))
            .await
            .unwrap();
        assert_shows(&browser, name, "by address").await;
        let again = browser.address().await.unwrap();
        assert_eq!(again, address, "the address of {name:?} has changed");
    }
    assert_no_errors(&browser, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_the_name_in_its_path_leads_to_the_tenant() {
    let site = Site::start(&policy()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    for (path, name, address) in [
        (
            "/tenants/enterprise%3Aacme",
            "enterprise:acme",
            "/console/tenant?name=enterprise%3Aacme",
        ),
        (
            "/tenants/acme%2Fweb?tab=policy",
            "acme/web",
            "/console/tenant?name=acme%2Fweb&tab=policy",
        ),
        ("/tenants/100%25", "100%", "/console/tenant?name=100%25"),
        (
            "/tenants/two%20words",
            "two words",
            "/console/tenant?name=two+words",
        ),
    ] {
        visit(&browser, &site.origin(), path, "tenant").await;
        assert_shows(&browser, name, path).await;
        assert_eq!(browser.address().await.unwrap(), address, "{path}");
    }
    for path in ["/tenant", "/tenant?tab=why", "/tenant?name="] {
        browser
            .open(&format!("{}/console{path}", site.origin()))
            .await
            .unwrap();
        browser.find_id("page-not-found").await.unwrap();
    }
}

/// Who has to log in first comes back to the same tenant.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_leads_back_to_a_tenant_of_any_name() {
    let site = Site::start(&policy()).await;
    let browser = Browser::start().await.expect("the browser starts");
    let address = "/console/tenant?name=acme%2Fweb&tab=policy";
    browser
        .open(&format!("{}{address}", site.origin()))
        .await
        .unwrap();
    browser.find_id("login-token").await.unwrap();
    crate::console::submit_token(&browser, TOKEN).await;
    assert_shows(&browser, "acme/web", "after a login").await;
    assert_eq!(browser.address().await.unwrap(), address);
}

async fn assert_shows(browser: &Browser, name: &str, how: &str) {
    await_page(browser, "tenant").await;
    let what = format!("{name:?} {how}");
    eventually(&what, async || {
        let heading = browser.text("h1").await.ok()?;
        (heading == name).then_some(())
    })
    .await;
    browser
        .find_id("weight")
        .await
        .unwrap_or_else(|error| panic!("what the policy says of {what}: {error:#}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_a_denial_leads_to_its_explanation_and_shows_the_same_after_a_reload() {
    const TENANT: &str = "free:flood";
    let site = Site::start(&everything()).await;
    let never = site
        .client
        .check_budget_once_there(TENANT, BUDGET, 1_000_000_000)
        .await;
    let id = never.decision.decision.expect("a denial has an id");
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    go_to(&browser, "decisions").await;
    let field = test_id_selector("look-up");
    browser.fill(&field, "no id at all").await.unwrap();
    browser.press_id("look-up-go").await.unwrap();
    browser.find_id("look-up-error").await.unwrap();
    browser
        .fill(&field, &format!("weir-decision: {id}"))
        .await
        .unwrap();
    browser.press_id("look-up-go").await.unwrap();
    for when in ["by the field", "after a reload"] {
        await_page(&browser, "decision").await;
        browser.find_id("decision-facts").await.unwrap();
        let text = async |name: &str| browser.text(&test_id_selector(name)).await.unwrap();
        assert_eq!(text("decision-tenant").await, TENANT, "{when}");
        assert!(text("decision-rule").await.contains(BUDGET), "{when}");
        assert!(
            text("decision-reason").await.starts_with("Can never pass"),
            "{when}"
        );
        browser.find_id("why-denied").await.unwrap();
        let address = browser.address().await.unwrap();
        assert!(
            address.ends_with(&format!("/console/decisions/{id}")),
            "{address}"
        );
        browser.refresh().await.unwrap();
    }
    assert_no_errors(&browser, &[]).await;
    site.assert_log_is_clean();
}
