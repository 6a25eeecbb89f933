//! Forms are filled in key by key, as people do: the focus stays, the caret stays, and what was typed is there.

mod field;

use serde_json::{Value, json};
use weir_shared::ordered::OrderedSet;
use weir_shared::wire::role::Role;
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::fixtures::{BUDGET, KEY_OF_ACME, LIMIT};
use weir_tests::workerd::TOKEN;

use self::field::{Field, Hand, controls, draft};
use crate::console::site::{Site, everything};
use crate::console::traffic::Traffic;
use crate::console::{
    assert_no_errors, await_page, eventually, is_late, log_in, preview, toasts, visit,
};

/// Forms of the policy: the query of the page, and where in the document the fields of its entry stand.
const POLICY_FORMS: [(&str, &str); 18] = [
    ("section=budgets&name=tokens", "/budgets/tokens"),
    ("section=limits&name=per_ip", "/limits/per_ip"),
    ("section=limits&name=login", "/limits/login"),
    ("section=limits&name=monthly", "/limits/monthly"),
    ("section=limits&name=fixed", "/limits/fixed"),
    ("section=meters&name=bytes", "/meters/bytes"),
    ("section=guards&name=queries", "/guards/queries"),
    ("section=tiers&name=pro", "/tiers/pro"),
    ("section=tenants", ""),
    ("section=overload&name=origin", "/overload/origin"),
    ("section=overload&name=failing", "/overload/failing"),
    ("section=routes", ""),
    ("section=routes&name=0", "/routes/0"),
    ("section=api-keys", ""),
    ("section=general", ""),
    ("section=document", ""),
    ("section=reset", ""),
    ("section=reset&what=limit&name=per_ip", ""),
];

/// A page, its address, what is pressed first, and what is chosen of a list to see further fields.
type Form = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

/// Other pages with forms.
const OTHER_FORMS: [Form; 9] = [
    (
        "tenant",
        "/tenant?name=enterprise%3Aacme&tab=edit",
        &["add-override"],
        &[("field-reset-what", "limit:per_ip")],
    ),
    (
        "tenant",
        "/tenant?name=enterprise%3Aacme",
        &[],
        &[("range", "between")],
    ),
    ("tenant", "/tenant?name=enterprise%3Aacme&tab=why", &[], &[]),
    ("tenants", "/tenants", &[], &[]),
    (
        "simulator",
        "/simulator?over=recorded",
        &[],
        &[("range", "between")],
    ),
    ("activity", "/activity", &[], &[]),
    ("decisions", "/decisions", &[], &[]),
    ("access", "/access", &[], &[]),
    (
        "access",
        "/access",
        &["create-token"],
        &[("field-role", "tenant"), ("field-role", "service")],
    ),
];

/// Fields that are no part of the draft.
const NOT_DRAFTED: [&str; 10] = [
    "field-new-name",
    "field-new-domain",
    "field-new-key-given",
    "field-new-key",
    "field-new-key-tenant",
    // What they choose is the field below them.
    "field-check-rule",
    "field-check-key",
    "search",
    "rule-prefix",
    "rule-tier",
];

fn policy() -> Value {
    let mut document = everything();
    document["limits"]["monthly"] = json!({
        "algorithm": "quota", "limit": 5, "cadence": "calendar_month", "scope": "region"
    });
    document["routes"] = json!([{
        "name": "chat", "path": "/llm/*", "tenant": { "header": "x-tenant" },
        "checks": [{ "budget": "tokens", "cost": 1 }], "origin": { "url": "https://models.example.com" }
    }]);
    document["api_keys"] = json!({ KEY_OF_ACME: "pro:hooli" });
    document["overload"]["failing"] = json!({ "steering": "blue", "final": "mean" });
    document["limits"]["fixed"] = json!({
        "algorithm": "quota", "limit": 5, "cadence": "fixed", "period_ms": 60_000, "scope": "region"
    });
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_typed_key_by_key_and_saved_as_it_was_typed() {
    let site = Site::start(&policy()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    visit(
        &browser,
        &site.origin(),
        "/policy?section=budgets&name=tokens",
        "policy",
    )
    .await;
    let limit = Field::focus(&browser, "field-limit").await;
    assert_eq!(limit.hand, Hand::Number);
    limit.work(&browser).await;
    let draft = test_id_selector("draft");
    eventually("one value is changed", async || {
        let told = browser.text(&draft).await.ok()?;
        (told.contains("1 value changed") && told.contains("It is valid")).then_some(())
    })
    .await;
    browser.press_id("preview").await.unwrap();
    browser.find_id("preview-result").await.unwrap();
    let why = Field::focus(&browser, "field-why").await;
    why.work(&browser).await;
    toasts::note(&browser).await;
    browser.press_id("save").await.unwrap();
    toasts::await_done(&browser).await;
    let saved = site.read("/operator/v1/policy").await;
    assert_eq!(saved["budgets"][BUDGET]["limit"], 25_000, "{saved}");
    assert_no_errors(&browser, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_the_policy_is_typed_into_key_by_key() {
    let site = Site::start(&policy()).await;
    let _traffic = Traffic::of_all_tiers(&site.client);
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let mut hands = OrderedSet::new();
    for (query, entry) in POLICY_FORMS {
        visit(
            &browser,
            &site.origin(),
            &format!("/policy?{query}"),
            "policy",
        )
        .await;
        let reset = query.starts_with("section=reset");
        // With another algorithm a quota's own fields would go.
        let mut done = OrderedSet::new();
        if policy()
            .pointer(entry)
            .is_some_and(|entry| entry["algorithm"] == "quota")
        {
            done.insert("field-algorithm".to_owned());
        }
        // With fair rate the fields of BLUE would go.
        if policy()
            .pointer(entry)
            .is_some_and(|entry| entry["steering"] == "blue")
        {
            done.insert("field-steering".to_owned());
        }
        if query.contains("what=") {
            done.insert("field-what".to_owned());
        }
        let worked = work_all(&browser, &mut done, async |field| {
            let name = field.name.split('#').next().unwrap_or_default();
            if !reset && !NOT_DRAFTED.contains(&name) {
                field.assert_in_draft(&browser, entry).await;
            }
        })
        .await;
        assert!(!worked.is_empty(), "{query} has no field");
        println!("{query}: {}", told(&worked));
        hands.extend(worked.iter().map(|field| format!("{:?}", field.hand)));
        discard(&browser).await;
    }
    let all = ["Area", "Check", "Number", "Select", "Text"];
    assert!(
        hands.iter().eq(all),
        "not every kind of field was met: {hands:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_other_form_is_filled_in_key_by_key() {
    let site = Site::start(&policy()).await;
    // What is searched for by its name is there.
    site.token("reads-only", Role::Viewer).await;
    let _traffic = Traffic::of_all_tiers(&site.client);
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    for (slug, address, pressed, chosen) in OTHER_FORMS {
        visit(&browser, &site.origin(), address, slug).await;
        for press in pressed {
            browser.press_id(press).await.unwrap();
        }
        let mut done = OrderedSet::new();
        let mut worked = work_all(&browser, &mut done, async |_| {}).await;
        for (list, option) in chosen {
            browser
                .choose(&test_id_selector(list), option)
                .await
                .unwrap();
            worked.extend(work_all(&browser, &mut done, async |_| {}).await);
        }
        assert!(!worked.is_empty(), "{address} has no field");
        println!("{address} {pressed:?}: {}", told(&worked));
        await_page(&browser, slug).await;
    }
    preview_of_a_tenant(&browser, &site).await;
}

/// The reason of a change is typed while figures of the page are read anew.
async fn preview_of_a_tenant(browser: &Browser, site: &Site) {
    let address = "/tenant?name=pro%3Ahooli&tab=edit";
    visit(browser, &site.origin(), address, "tenant").await;
    let weight = Field::focus(browser, "field-weight").await;
    weight.work(browser).await;
    browser
        .fill(&test_id_selector("field-weight"), "7")
        .await
        .unwrap();
    preview(browser).await;
    let why = Field::focus(browser, "field-why").await;
    for _ in 0..6 {
        why.work(browser).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        why.assert_stays(browser).await;
    }
}

/// Saves, and types another weight before there can be an answer.
const SAVE_AND_TYPE: &str = "
    document.querySelector('[data-testid=save]').click();
    const weight = document.querySelector('[data-testid=field-weight]');
    weight.value = '8';
    weight.dispatchEvent(new Event('input', { bubbles: true }));";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_while_a_tenant_is_saved_is_kept() {
    let site = Site::start(&policy()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    let address = "/tenant?name=pro%3Ahooli&tab=edit";
    visit(&browser, &site.origin(), address, "tenant").await;
    let weight = test_id_selector("field-weight");
    toasts::note(&browser).await;
    eventually("a save that is answered", async || {
        browser.fill(&weight, "7").await.unwrap();
        preview(&browser).await;
        browser.evaluate(SAVE_AND_TYPE, vec![]).await.unwrap();
        let answered = "[data-testid=preview][aria-disabled=false]";
        browser.find(answered).await.expect("an answer to it");
        (!is_late(&browser).await).then_some(())
    })
    .await;
    toasts::await_done(&browser).await;
    assert_eq!(weight_of_hooli(&site).await, "7");
    preview(&browser).await;
    toasts::note(&browser).await;
    browser.press_id("save").await.unwrap();
    toasts::await_done(&browser).await;
    assert_eq!(weight_of_hooli(&site).await, "8");
    assert_no_errors(&browser, &[]).await;
}

async fn weight_of_hooli(site: &Site) -> String {
    let saved = site.read("/operator/v1/tenants/pro%3Ahooli").await;
    saved["body"]["weight"].to_string()
}

/// Works each control of the page once, those that come with the choice of another included.
async fn work_all(
    browser: &Browser,
    done: &mut OrderedSet<String>,
    after: impl AsyncFn(&Field),
) -> Vec<Field> {
    let any = "dialog[open] input, main input, main select, main textarea";
    browser.find(any).await.expect("a form");
    let mut worked = Vec::new();
    loop {
        let next = controls(browser).await;
        let Some(name) = next.into_iter().find(|name| !done.contains(name)) else {
            return worked;
        };
        done.insert(name.clone());
        let field = Field::focus(browser, &name).await;
        field.work(browser).await;
        field.assert_stays(browser).await;
        after(&field).await;
        worked.push(field);
    }
}

/// Takes the draft back: the next page begins with what is in force.
async fn discard(browser: &Browser) {
    if draft(browser).await.is_some() {
        browser.press_id("discard").await.unwrap();
        browser.press_id("confirm").await.unwrap();
        eventually("the draft is gone", async || {
            draft(browser).await.is_none().then_some(())
        })
        .await;
    }
}

fn told(worked: &[Field]) -> String {
    let names: Vec<&str> = worked.iter().map(|field| field.name.as_str()).collect();
    names.join(" ")
}

#[tokio::test]
async fn the_forms_are_those_of_the_policy() {
    let document = policy();
    for (_, entry) in POLICY_FORMS {
        assert!(document.pointer(entry).is_some(), "{entry}");
    }
    assert!(document["limits"][LIMIT].is_object());
}
