//! Drafts: what was changed is taken back value by value and step by step, lengths of time are typed with their units,
//! and what is not served is not offered.

use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::browser::{Browser, Key, test_id_selector};
use weir_tests::clock::now;
use weir_tests::fixtures::KEY_OF_ACME;
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything};
use crate::console::{assert_no_errors, eventually, log_in, review, toasts, visit};

async fn value(browser: &Browser, field: &str) -> String {
    let script = "return document.querySelector(arguments[0]).value";
    let selector = json!(test_id_selector(field));
    let value = browser.evaluate(script, vec![selector]).await.unwrap();
    value.as_str().unwrap().to_owned()
}

async fn becomes(browser: &Browser, field: &str, expected: &str) {
    eventually(&format!("{field} = {expected}"), async || {
        (value(browser, field).await == expected).then_some(())
    })
    .await;
}

async fn options(browser: &Browser, field: &str) -> Vec<String> {
    let script = "return [...document.querySelector(arguments[0]).options].map(one => one.value)";
    let selector = json!(test_id_selector(field));
    let told = browser.evaluate(script, vec![selector]).await.unwrap();
    serde_json::from_value(told).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_is_taken_back_and_what_is_not_served_is_not_offered() {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    visit(
        &browser,
        &site.origin(),
        "/policy?section=budgets&name=tokens",
        "policy",
    )
    .await;
    becomes(&browser, "field-window_ms", "5 s").await;
    browser
        .fill(&test_id_selector("field-window_ms"), "1 min")
        .await
        .unwrap();
    browser
        .fill(&test_id_selector("field-limit"), "90")
        .await
        .unwrap();
    // One value, and the other stays.
    browser.press_id("undo-window_ms").await.unwrap();
    becomes(&browser, "field-window_ms", "5 s").await;
    assert_eq!(value(&browser, "field-limit").await, "90");
    // Step by step, by the key, with the focus in no field.
    let heading = "document.querySelector('h1').focus()";
    browser.evaluate(heading, vec![]).await.unwrap();
    browser.key(Key::Undo).await.unwrap();
    becomes(&browser, "field-window_ms", "1 min").await;
    browser.evaluate(heading, vec![]).await.unwrap();
    browser.key(Key::Undo).await.unwrap();
    becomes(&browser, "field-limit", "60").await;
    browser.press_id("undo").await.unwrap();
    becomes(&browser, "field-window_ms", "5 s").await;
    browser
        .wait_gone(&test_id_selector("draft"))
        .await
        .expect("nothing is changed any more");
    // Fair share is not served in all regions at once.
    browser
        .choose(&test_id_selector("field-sharing"), "fair_share")
        .await
        .unwrap();
    becomes(&browser, "field-scope", "region").await;
    assert_eq!(
        options(&browser, "field-scope").await,
        ["isolate", "region"]
    );
    let draft = test_id_selector("draft");
    eventually("a valid draft", async || {
        browser
            .text(&draft)
            .await
            .ok()?
            .contains("It is valid")
            .then_some(())
    })
    .await;
    browser.press_id("undo").await.unwrap();
    becomes(&browser, "field-scope", "global").await;
    assert_no_errors(&browser, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_api_key_that_is_typed_the_draft_keeps_the_hash_alone() {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let address = "/policy?section=api-keys";
    visit(&browser, &site.origin(), address, "policy").await;
    let fill = async |field: &str, text: &str| {
        browser.fill(&test_id_selector(field), text).await.unwrap();
    };
    fill("field-new-key", "key-of-acme").await;
    fill("field-new-key-tenant", "pro:acme").await;
    browser.press_id("add-key").await.unwrap();
    becomes(&browser, "field-key-tenant", "pro:acme").await;
    let unmet = browser.text(&test_id_selector("keys-unmet")).await.unwrap();
    assert!(unmet.starts_with("No route finds its tenant"), "{unmet}");
    assert_eq!(value(&browser, "field-new-key").await, "");
    let kept = eventually("the draft is kept", async || {
        let script = "return sessionStorage.getItem('weir.policy-draft')";
        let kept = browser.evaluate(script, vec![]).await.ok()?;
        kept.as_str()
            .filter(|kept| kept.contains(KEY_OF_ACME))
            .map(str::to_owned)
    })
    .await;
    assert!(!kept.contains("key-of-acme"), "{kept}");
    let page = browser
        .evaluate("return document.body.innerHTML", vec![])
        .await;
    assert!(!page.unwrap().to_string().contains("key-of-acme"));
    // The same by its hash is there already.
    browser
        .choose(&test_id_selector("field-new-key-given"), "hash")
        .await
        .unwrap();
    fill("field-new-key", KEY_OF_ACME).await;
    let told = browser.text(&test_id_selector("error-new-key")).await;
    assert_eq!(told.unwrap(), "there is this key already");
    fill("field-new-key", "").await;
    save(&browser).await;
    let saved = site.read("/operator/v1/policy").await;
    assert_eq!(saved["api_keys"], json!({ KEY_OF_ACME: "pro:acme" }));
    // A key that is removed stays in sight until that is saved.
    browser.press_id("remove-key").await.unwrap();
    browser.press_id("restore-key").await.unwrap();
    becomes(&browser, "field-key-tenant", "pro:acme").await;
    browser.wait_gone(&test_id_selector("draft")).await.unwrap();
    fill("field-key-tenant", "").await;
    let told = browser.text(&test_id_selector("error-key-tenant")).await;
    assert_eq!(told.unwrap(), "is required");
    assert_no_errors(&browser, &[]).await;
}

async fn save(browser: &Browser) {
    browser.press_id("preview").await.unwrap();
    toasts::note(browser).await;
    browser.press_id("save").await.unwrap();
    toasts::await_done(browser).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_in_shadow_mode_says_what_it_would_have_denied() {
    let mut document = everything();
    document["budgets"]["tokens"]["shadow"] = json!(true);
    let site = Site::start(&document).await;
    for _ in 0..20 {
        let reply = site
            .client
            .check_budget_once_there("free:flood", "tokens", 30)
            .await;
        assert!(reply.decision.allowed, "a shadow denies nothing");
    }
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let said = eventually("the answer", async || {
        visit(
            &browser,
            &site.origin(),
            "/policy?section=budgets&name=tokens",
            "policy",
        )
        .await;
        let said = browser
            .text(&test_id_selector("shadow-answer"))
            .await
            .ok()?;
        (said.contains("It would have denied") && said.contains("free:flood")).then_some(said)
    })
    .await;
    println!("on the rule: {said}");
    // What is undone is said in a word, and a preview says that a shadow denies nobody.
    browser.press_id("field-shadow").await.unwrap();
    browser.find_id("undo-shadow").await.unwrap();
    let undo = browser.text(&test_id_selector("undo-shadow")).await;
    assert_eq!(undo.unwrap(), "Undo: back to on");
    browser.press_id("undo-shadow").await.unwrap();
    browser.wait_gone(&test_id_selector("draft")).await.unwrap();
    browser
        .fill(&test_id_selector("field-limit"), "6")
        .await
        .unwrap();
    review(&browser, "preview-note").await;
    let note = browser.text(&test_id_selector("preview-note")).await;
    let note = note.unwrap();
    // A window that is recorded by now has lines.
    let lines: Value = browser
        .evaluate(
            "return document.querySelectorAll(arguments[0]).length",
            vec![json!(test_id_selector("preview-row"))],
        )
        .await
        .unwrap();
    let whom = match lines.as_u64() {
        Some(0) => "",
        _ => " Its lines say whom it would deny.",
    };
    assert_eq!(
        note,
        format!("The budget tokens is in shadow mode: it denies nobody.{whom}")
    );
    visit(
        &browser,
        &site.origin(),
        "/decisions?outcome=would_deny",
        "decisions",
    )
    .await;
    let rules = eventually("the rules", async || {
        let said = browser.text(&test_id_selector("shadow-rules")).await.ok()?;
        said.contains("budget tokens: It would have denied")
            .then_some(said)
    })
    .await;
    println!("in decisions: {rules}");
}

/// How long a price that is typed may take to be counted with.
const COMPARED: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn money_follows_the_prices_that_are_typed() {
    let site = Site::start(&everything()).await;
    let _traffic = crate::console::traffic::Traffic::of_all_tiers(&site.client);
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let cost = async || {
        let text = browser
            .text(&test_id_selector("money-request"))
            .await
            .ok()?;
        text.trim_start_matches('$')
            .replace(',', "")
            .parse::<f64>()
            .ok()
    };
    let price = test_id_selector("price-request");
    let (before, after) = eventually("a hundred times as much", async || {
        // On a busy machine less and less may be asked for: then it is compared anew.
        browser.fill(&price, "0.3").await.unwrap();
        let before = eventually("a cost", async || cost().await.filter(|cost| *cost > 0.0)).await;
        browser.fill(&price, "30").await.unwrap();
        let start = now();
        while start.elapsed() < COMPARED {
            if let Some(after) = cost().await.filter(|after| *after > 50.0 * before) {
                return Some((before, after));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        None
    })
    .await;
    println!("${before} a month at $0.30, ${after} at $30");
    browser.refresh().await.unwrap();
    browser.find_id("price-request").await.unwrap();
    becomes(&browser, "price-request", "30").await;
    browser.press_id("list-prices").await.unwrap();
    browser
        .wait_gone(&test_id_selector("list-prices"))
        .await
        .unwrap();
    becomes(&browser, "price-request", "0.3").await;
}
