//! An operator's journey: a tenant among ten thousand is found, changed with a preview, seen to change, changed by
//! somebody else at the same time, and put back from the audit log.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::operator::Role;
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything, many, nth, tenant_path};
use crate::console::smoothness::row;
use crate::console::traffic::Traffic;
use crate::console::{
    SAVE, assert_no_errors, await_live, await_page, eventually, go_to, is_late, log_in, log_out,
    preview, save_until, shown, toasts, try_again, visit,
};

/// The one that is looked for.
const INDEX: usize = 6_543;

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_finds_changes_and_reverts_a_tenant_among_ten_thousand() {
    let site = Site::start(&many()).await;
    let tenant = nth(INDEX);
    let rival = nth(INDEX + 1);
    // More than there is: who gets more of it takes it from somebody.
    let _traffic = Traffic::start(&site.client, &[&tenant, &rival], 20, 2_000);
    // A preview is computed over windows that are over.
    tokio::time::sleep(Duration::from_secs(15)).await;
    let token = site.token("on-call", Role::Editor).await.token;
    let browser = Browser::start().await.expect("the browser starts");
    let downloads = tempfile::tempdir().unwrap();
    browser.download_to(downloads.path()).await.unwrap();

    log_in(&browser, &site.origin(), &token).await;
    await_live(&browser, "live").await;
    find(&browser, &tenant).await;
    let before = share(&browser).await;
    change_weight(&browser, &tenant, "9").await;
    see_the_share_rise(&browser, before).await;
    meet_a_conflict(&browser, &site, &tenant).await;
    revert(&browser, &site, &tenant).await;
    export(&browser, downloads.path()).await;
    assert_no_errors(&browser, &["412"]).await;
    log_out(&browser).await;
    site.assert_log_is_clean();
}

/// Not named by the policy, and four times as heavy together as such tenants may be.
const STRANGERS: [&str; 4] = ["free:one", "free:two", "free:three", "free:four"];

#[tokio::test(flavor = "multi_thread")]
async fn whoever_names_a_tenant_sees_what_it_counts_as_and_is_warned_first() {
    let mut document = everything();
    document["unknown_weight_max"] = json!(1);
    let site = Site::start(&document).await;
    let _traffic = Traffic::start(&site.client, &STRANGERS, 20, 10);
    // A preview is computed over windows that are over.
    tokio::time::sleep(Duration::from_secs(15)).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let address = "/tenant?name=free%3Aone&tab=edit";
    let why = "unnamed tenants weigh at most 1 together";
    visit(&browser, &site.origin(), address, "tenant").await;
    browser
        .fill(&test_id_selector("field-weight"), "4")
        .await
        .unwrap();
    let claims = eventually("a claim that changes", async || {
        preview(&browser).await;
        let claims = browser.text(&test_id_selector("preview-claims")).await;
        claims
            .ok()
            .filter(|told| told.contains("Weight: 1, counted as 0.25 → 4"))
    })
    .await;
    println!("before and after: {}", claims.replace('\n', " | "));
    assert!(claims.contains("Guarantee of tokens: "), "{claims}");
    let warning = browser.text(&test_id_selector("preview-naming")).await;
    let warning = warning.unwrap();
    assert!(warning.contains(why), "{warning}");
    eventually("the same at a glance", async || {
        let facts = browser.text("dl.facts").await.ok()?;
        facts
            .contains(&format!("counted as 0.25: {why}"))
            .then_some(())
    })
    .await;
    // Once it is named, there is no bound to speak of.
    save(&browser).await;
    eventually("the weight", async || {
        (weight(&browser).await == Some(4.0)).then_some(())
    })
    .await;
    browser
        .fill(&test_id_selector("field-weight"), "5")
        .await
        .unwrap();
    preview(&browser).await;
    browser.find_id("preview-claims").await.unwrap();
    let warned = browser.has(&test_id_selector("preview-naming")).await;
    assert!(!warned.unwrap());
    assert_no_errors(&browser, &[]).await;
}

/// By the search, and not by scrolling. The address is one to share.
async fn find(browser: &Browser, tenant: &str) {
    go_to(browser, "tenants").await;
    browser
        .fill(&test_id_selector("search"), &tenant[4..])
        .await
        .unwrap();
    // Where a busy machine has no answer in time, a person asks again, if the page does not sooner.
    let found = row(tenant);
    for _ in 0..2 {
        if browser.find(&found).await.is_err() {
            try_again(browser).await;
        }
    }
    browser.find(&found).await.expect("it is found");
    eventually("the search in the address", async || {
        let address = browser.address().await.ok()?;
        address.contains(&tenant[4..]).then_some(())
    })
    .await;
    browser.press(&format!("{} a", row(tenant))).await.unwrap();
    await_page(browser, "tenant").await;
    let heading = browser.text("h1").await.unwrap();
    assert!(heading.contains(tenant), "{heading}");
}

/// What the tenant is sure of, as its page shows it.
async fn share(browser: &Browser) -> f64 {
    let selector = test_id_selector("guarantee");
    eventually("a guarantee", async || shown(browser, &selector).await).await
}

async fn weight(browser: &Browser) -> Option<f64> {
    shown(browser, &test_id_selector("weight")).await
}

async fn save(browser: &Browser) {
    toasts::note(browser).await;
    browser.press(SAVE).await.unwrap();
    toasts::await_done(browser).await;
}

async fn open_form(browser: &Browser) {
    browser.press_id("edit").await.unwrap();
    browser.find_id("field-weight").await.unwrap();
}

/// The preview comes before anything is saved, and says who gains.
async fn change_weight(browser: &Browser, tenant: &str, to: &str) {
    open_form(browser).await;
    browser
        .fill(&test_id_selector("field-weight"), to)
        .await
        .unwrap();
    let of_tenant = format!("[data-testid=preview-row][data-tenant={}]", json!(tenant));
    // On a busy machine windows may be recorded late.
    eventually("the tenant gains in the preview", async || {
        preview(browser).await;
        let gains = format!("{of_tenant}[data-way=gains]");
        browser.has(&gains).await.ok()?.then_some(())
    })
    .await;
    let text = browser.text(&test_id_selector("preview-result")).await;
    let text = text.unwrap();
    println!("the preview: {}", text.replace('\n', " | "));
    assert!(!text.contains("nobody would gain"), "{text}");
    let claims = browser.text(&test_id_selector("preview-claims")).await;
    let claims = claims.unwrap();
    assert!(claims.contains(&format!("→ {to}")), "{claims}");
    assert!(
        claims.contains("Guarantee of ") && claims.contains("units a window"),
        "{claims}"
    );
    browser
        .fill(&test_id_selector("field-why"), "a journey")
        .await
        .unwrap();
    save(browser).await;
}

async fn see_the_share_rise(browser: &Browser, before: f64) {
    browser.press_id("tab-accounting").await.unwrap();
    let selector = test_id_selector("guarantee");
    let after = eventually("a higher share", async || {
        shown(browser, &selector)
            .await
            .filter(|after| *after > before)
    })
    .await;
    println!("the guarantee was {before} and is {after}");
    assert_eq!(weight(browser).await, Some(9.0));
}

/// Somebody else changes the same tenant while the form is open.
async fn meet_a_conflict(browser: &Browser, site: &Site, tenant: &str) {
    open_form(browser).await;
    browser
        .fill(&test_id_selector("field-weight"), "5")
        .await
        .unwrap();
    site.patch(tenant, &json!({ "weight": 7 })).await;
    preview(browser).await;
    save_until(browser, "conflict").await;
    let conflict = browser
        .find_id("conflict")
        .await
        .expect("a conflict is told");
    let text = conflict.text().await.unwrap();
    println!("the conflict: {}", text.replace('\n', " | "));
    assert!(text.contains('7') && text.contains('5'), "{text}");
    eventually("who saved it", async || {
        let said = browser.text(&test_id_selector("saved-by")).await.ok()?;
        (said == "bootstrap saved it.").then_some(())
    })
    .await;
    browser.press_id("put-mine").await.unwrap();
    preview(browser).await;
    save(browser).await;
    eventually("my weight", async || {
        (weight(browser).await == Some(5.0)).then_some(())
    })
    .await;
}

/// The last change, and no other.
async fn revert(browser: &Browser, site: &Site, tenant: &str) {
    let changes = "/activity?action=tenant.patch";
    visit(browser, &site.origin(), changes, "activity").await;
    browser.press_id("open-record").await.unwrap();
    let difference = browser.text(&test_id_selector("difference")).await.unwrap();
    println!("the record: {}", difference.replace('\n', " | "));
    assert!(
        difference.contains('7') && difference.contains('5'),
        "{difference}"
    );
    browser.press_id("revert").await.unwrap();
    browser.press_id("confirm").await.unwrap();
    let body = eventually("the weight before", async || {
        if is_late(browser).await {
            browser.press_id("confirm").await.ok()?;
        }
        let reply: Value = site
            .client
            .get(&tenant_path(tenant))
            .await
            .ok()?
            .ok()
            .ok()?;
        (reply["body"]["weight"] == json!(7)).then_some(reply)
    })
    .await;
    println!("reverted to {}", body["body"]);
    browser
        .wait_gone("[data-testid=revert-dialog][open]")
        .await
        .expect("the dialog closes once it is done");
    // Among the records of this action there is no revert, and still the record says that it was reverted, and leads there.
    eventually("the mark of the revert", async || {
        browser
            .has(&test_id_selector("reverted"))
            .await
            .ok()?
            .then_some(())
    })
    .await;
    let said = browser
        .text(&test_id_selector("reverted-by"))
        .await
        .unwrap();
    println!("the record: reverted {said}");
    // By the tenant, the log has the change and its revert, which names the change.
    let of_tenant = format!("/activity?target={}", tenant.replace(':', "%3A"));
    visit(browser, &site.origin(), &of_tenant, "activity").await;
    let script = "return [...document.querySelectorAll('[data-testid=record]')].map(row => [
        row.dataset.action, Number(row.dataset.sequence),
        Number((row.querySelector('[data-testid=reverts]')?.textContent ?? '').replace(/[^0-9]/g, '')),
    ])";
    let told = browser.evaluate(script, vec![]).await.unwrap();
    println!("the records of {tenant}: {told}");
    assert_eq!(
        (&told[0][0], &told[1][0]),
        (&json!("policy.save"), &json!("tenant.patch"))
    );
    assert_eq!(told[0][2], told[1][1], "the revert names its record");
    browser.press_id("reverts").await.unwrap();
    eventually("the record that was reverted", async || {
        browser
            .has(&test_id_selector("reverted-by"))
            .await
            .ok()?
            .then_some(())
    })
    .await;
    eventually("a verdict", async || {
        browser.press_id("verify").await.unwrap();
        let answer = ".verdict [data-testid=verdict], .verdict [data-testid=form-error]";
        browser.find(answer).await.expect("an answer to it");
        let verdict = test_id_selector("verdict");
        browser.has(&verdict).await.ok()?.then_some(())
    })
    .await;
    let verdict = browser.find_id("verdict").await.expect("a verdict");
    println!("the chain: {}", verdict.text().await.unwrap());
    let intact = verdict.attr("data-intact").await.unwrap();
    assert_eq!(intact.as_deref(), Some("true"));
}

/// Both forms have every record.
async fn export(browser: &Browser, folder: &Path) {
    for (test_id, end) in [("export-csv", "csv"), ("export-json", "json")] {
        browser.press_id(test_id).await.unwrap();
        let text = eventually(test_id, async || {
            let files = std::fs::read_dir(folder).ok()?.flatten();
            let file = files.map(|entry| entry.path()).find(|path| {
                path.extension()
                    .is_some_and(|found| found.to_string_lossy().starts_with(end))
            })?;
            std::fs::read_to_string(file)
                .ok()
                .filter(|text| !text.is_empty())
        })
        .await;
        assert!(text.contains(&nth(INDEX)), "{test_id}: {text}");
        assert!(text.lines().count() >= 4, "{test_id}: {text}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
