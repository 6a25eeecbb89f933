//! Every page and dialog in both colour schemes and at two widths: nothing that axe finds against WCAG 2.2 AA, no
//! control below 24 x 24 pixels, no sideways scrolling.

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;
use weir_tests::accessibility::{axe, small_controls, sticking_out};
use weir_tests::browser::{Browser, ColorScheme, test_id_selector};
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything, with_routes};
use crate::console::traffic::Traffic;
use crate::console::{NARROW, WIDE, await_page, log_in, preview, review, save_until, visit};

/// Each page with its address.
pub(crate) const PAGES: [(&str, &str); 31] = [
    ("overview", "/"),
    ("tenants", "/tenants"),
    ("tenant", "/tenant?name=enterprise%3Aacme"),
    ("tenant", "/tenant?name=enterprise%3Aacme&tab=policy"),
    ("tenant", "/tenant?name=enterprise%3Aacme&tab=why"),
    ("tenant", "/tenant?name=enterprise%3Aacme&tab=edit"),
    ("budgets", "/budgets"),
    ("budget", "/budgets/tokens"),
    ("regions", "/regions"),
    ("region", "/regions/weur"),
    ("policy", "/policy?section=budgets&name=tokens"),
    ("policy", "/policy?section=limits&name=login"),
    ("policy", "/policy?section=meters&name=bytes"),
    ("policy", "/policy?section=guards&name=queries"),
    ("policy", "/policy?section=tiers&name=pro"),
    ("policy", "/policy?section=tenants"),
    ("policy", "/policy?section=overload&name=origin"),
    ("policy", "/policy?section=routes"),
    ("policy", "/policy?section=routes&name=0"),
    ("policy", "/policy?section=api-keys"),
    ("policy", "/policy?section=general"),
    ("policy", "/policy?section=document"),
    ("policy", "/policy?section=reset"),
    ("simulator", "/simulator"),
    ("simulator", "/simulator?over=recorded"),
    ("simulator", "/simulator?over=trace"),
    ("activity", "/activity"),
    ("decisions", "/decisions"),
    ("access", "/access"),
    ("glossary", "/glossary"),
    ("not-found", "/no/such/page"),
];

/// Dialogs and what else opens on a page: the page, what is pressed or filled one after the other, and what then is there.
const OPENED: [(&str, &str, &[&str], &str); 14] = [
    ("overview", "/", &["shortcuts-open"], "shortcuts-panel"),
    ("overview", "/", &["palette-open"], "palette"),
    ("overview", "/?what=budget%3Atokens", &[], "verdict"),
    (
        "tenant",
        TENANT_EDIT,
        &["field-weight=4", "preview"],
        "preview-result",
    ),
    ("tenant", TENANT_EDIT, &["reset"], "confirm"),
    ("tenant", TENANT_EDIT, &["remove"], "confirm"),
    (
        "policy",
        "/policy?section=reset&what=tenant&tenant=pro%3Ahooli",
        &["reset"],
        "confirm",
    ),
    (
        "activity",
        "/activity?action=tenant.patch",
        &["open-record"],
        "difference",
    ),
    (
        "activity",
        "/activity?action=tenant.patch",
        &["open-record", "revert"],
        "revert-dialog",
    ),
    (
        "policy",
        KEYS,
        &["field-new-key=x", "add-key"],
        "error-new-key-tenant",
    ),
    ("policy", KEYS, &["remove-key"], "restore-key"),
    ("access", "/access", &["create-token"], "field-name"),
    ("access", "/access", &["revoke"], "confirm"),
    ("access", "/access", &["end-sessions"], "confirm"),
];

const KEYS: &str = "/policy?section=api-keys";

const TENANT_EDIT: &str = "/tenant?name=pro%3Ahooli&tab=edit";

/// What transitions of colours take, and more.
const SETTLED: Duration = Duration::from_millis(400);

/// What another width takes to be laid out.
const REFLOWED: Duration = Duration::from_millis(150);

/// A site with everything that a page can show, and a browser on it.
async fn everything_shown() -> (Site, Traffic, Browser) {
    let site = Site::start(&with_routes(everything())).await;
    site.token("someone", weir_shared::wire::operator::Role::Viewer)
        .await;
    let traffic = Traffic::of_all_tiers(&site.client);
    tokio::time::sleep(Duration::from_secs(12)).await;
    site.patch("pro:hooli", &json!({ "weight": 2 })).await;
    let browser = Browser::start().await.expect("the browser starts");
    browser
        .open(&format!("{}/console/login", site.origin()))
        .await
        .unwrap();
    await_page(&browser, "login").await;
    (site, traffic, browser)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_can_be_used_by_everybody() {
    let (site, _traffic, browser) = everything_shown().await;
    let mut faults = String::new();
    look_at(&browser, "login", &mut faults).await;
    log_in(&browser, &site.origin(), TOKEN).await;
    for (slug, path) in PAGES {
        visit(&browser, &site.origin(), path, slug).await;
        look_at(&browser, path, &mut faults).await;
    }
    assert!(faults.is_empty(), "{faults}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_opens_on_a_page_can_be_used_by_everybody() {
    let (site, _traffic, browser) = everything_shown().await;
    let mut faults = String::new();
    log_in(&browser, &site.origin(), TOKEN).await;
    for (slug, path, presses, opened) in OPENED {
        visit(&browser, &site.origin(), path, slug).await;
        let place = format!("{path} with {opened}");
        match open_part(&browser, presses, opened).await {
            Ok(()) => look_at(&browser, &place, &mut faults).await,
            Err(error) => writeln!(faults, "{place}: {error:#}").unwrap(),
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_before_a_save_can_be_used_by_everybody() {
    let (site, _traffic, browser) = everything_shown().await;
    let mut faults = String::new();
    log_in(&browser, &site.origin(), TOKEN).await;
    let address = "/policy?section=budgets&name=tokens";
    visit(&browser, &site.origin(), address, "policy").await;
    let limit = test_id_selector("field-limit");
    browser.fill(&limit, "6").await.unwrap();
    review(&browser, "preview-row").await;
    look_at(&browser, "the review before a save", &mut faults).await;
    // Somebody else saves the same value.
    let mut theirs = with_routes(everything());
    theirs["budgets"]["tokens"]["limit"] = json!(90);
    site.save(&theirs).await;
    save_until(&browser, "conflict").await;
    look_at(&browser, "a three-way conflict", &mut faults).await;
    let recorded = "/simulator?over=recorded&rule=budget%3Atokens";
    visit(&browser, &site.origin(), recorded, "simulator").await;
    open_part(&browser, &[], "share-candidate").await.unwrap();
    look_at(&browser, "a simulation of a draft", &mut faults).await;
    assert!(faults.is_empty(), "{faults}");
}

/// Presses what opens a part of a page, or fills `field=value`, until the part is shown.
async fn open_part(browser: &Browser, steps: &[&str], opened: &str) -> anyhow::Result<()> {
    for step in steps {
        match step.split_once('=') {
            Some((field, value)) => browser.fill(&test_id_selector(field), value).await?,
            None if *step == "preview" => preview(browser).await,
            None => browser.press_id(step).await?,
        }
    }
    browser.find_id(opened).await?;
    let part = serde_json::Value::from(test_id_selector(opened)).to_string();
    let seen = "{ opacityProperty: true, visibilityProperty: true }";
    let shown = format!("document.querySelector({part})?.checkVisibility({seen})");
    browser.wait_until(&shown).await
}

/// Adds what is wrong with the page that is shown, in both schemes and at both widths: contrast depends on the one, room
/// on the other, so that two looks see both of each.
pub(crate) async fn look_at(browser: &Browser, name: &str, faults: &mut String) {
    let before = faults.len();
    for (scheme, (width, height)) in [(ColorScheme::Light, WIDE), (ColorScheme::Dark, NARROW)] {
        browser.prefer(scheme).await.unwrap();
        browser.resize(width, height).await.unwrap();
        tokio::time::sleep(SETTLED).await;
        let place = format!("{name}, {scheme:?}, {width} px");
        let found = axe(browser).await.unwrap();
        assert!(
            found.rules > 5,
            "{place}: axe looked at {} rules",
            found.rules
        );
        for violation in found.violations {
            writeln!(faults, "{place}: {violation}").unwrap();
        }
        for control in small_controls(browser).await.unwrap() {
            writeln!(faults, "{place}: too small: {control}").unwrap();
        }
        for element in sticking_out(browser).await.unwrap() {
            writeln!(faults, "{place}: scrolls sideways: {element}").unwrap();
        }
    }
    // A small laptop, a wide one, and the first at twice its size.
    for width in [1024, 1440, 640] {
        browser.resize(width, 900).await.unwrap();
        tokio::time::sleep(REFLOWED).await;
        for element in sticking_out(browser).await.unwrap() {
            writeln!(faults, "{name}, {width} px: scrolls sideways: {element}").unwrap();
        }
    }
    println!("{name}: {}", &faults[before..]);
    browser.prefer(ColorScheme::Light).await.unwrap();
    browser.resize(WIDE.0, WIDE.1).await.unwrap();
}

/// Pages that name a tenant, a budget or a route.
const NAMING: [(&str, &str); 9] = [
    ("overview", ""),
    ("tenants", "tenants"),
    ("tenant", "tenant?name={tenant}"),
    ("budgets", "budgets"),
    ("budget", "budgets/{label}"),
    ("policy", "policy?section=budgets&name={label}"),
    ("policy", "policy?section=tenants"),
    ("policy", "policy?section=routes&name=0"),
    ("decisions", "decisions"),
];

/// The elements in which a part of a name is cut off. In a drawing a name has the room that it has: a table beside it says it.
const CUT_OFF: &str = "
    const names = arguments[0];
    const cut = (one) => getComputedStyle(one).overflowX !== 'visible' && !one.matches('input, select, textarea, .scroll')
        && (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1);
    const all = [...document.querySelectorAll('main *')].filter((one) => one.clientWidth > 1
        && !one.closest('[aria-hidden=true]') && [...one.childNodes].some((node) => node.nodeType === 3
            && names.some((name) => node.textContent.includes(name))));
    return all.filter(cut).map((one) => one.outerHTML.slice(0, 200));";

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_names_can_be_read_on_a_telephone() {
    let (tenant, label) = (format!("enterprise:{}", "w".repeat(117)), "m".repeat(64));
    let mut document = with_routes(everything());
    document["tenants"][&tenant] = json!({});
    document["budgets"][&label] = document["budgets"]["images"].clone();
    document["routes"][0]["name"] = json!(label);
    let site = Site::start(&document).await;
    for _ in 0..60 {
        let reply = site.client.check_budget(&tenant, &label, 1).await;
        reply.unwrap();
    }
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    browser.resize(NARROW.0, NARROW.1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let mut faults = String::new();
    let named = |path: &str| path.replace("{tenant}", &tenant).replace("{label}", &label);
    for (slug, path) in NAMING {
        let path = format!("/{}", named(path));
        visit(&browser, &site.origin(), &path, slug).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let cut = browser
            .evaluate(CUT_OFF, vec![json!([tenant, label])])
            .await;
        for element in cut.unwrap().as_array().unwrap() {
            writeln!(faults, "{slug} {path}: cut off: {element}").unwrap();
        }
        for element in sticking_out(&browser).await.unwrap() {
            writeln!(faults, "{slug} {path}: scrolls sideways: {element}").unwrap();
        }
        browser
            .screenshot(&format!("long-names-{slug}-{}", path.len()))
            .await
            .unwrap();
    }
    assert!(faults.is_empty(), "{faults}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chosen_theme_wins_over_the_preference_and_is_kept() {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    browser.prefer(ColorScheme::Light).await.unwrap();
    let background = async || {
        let script = "return getComputedStyle(document.body).backgroundColor";
        browser.evaluate(script, vec![]).await.unwrap()
    };
    let light = background().await;
    browser
        .choose(&test_id_selector("theme"), "dark")
        .await
        .unwrap();
    tokio::time::sleep(SETTLED).await;
    let dark = background().await;
    assert_ne!(light, dark, "the theme changes nothing");
    browser.refresh().await.unwrap();
    await_page(&browser, "overview").await;
    tokio::time::sleep(SETTLED).await;
    assert_eq!(background().await, dark, "the theme is forgotten");
}
