//! What somebody does who has never seen the console: who is the culprit, what did a tenant get, what would a draft have done,
//! what does it cost, a weight doubled for a day, that undone, a token made and revoked, where a region's units are. By keys
//! alone on a wide screen, by pointer on a small laptop in the dark, and on a telephone.

use std::time::Duration;

use serde_json::json;
use weir_tests::accessibility::sticking_out;
use weir_tests::browser::{Browser, ColorScheme, Key, test_id_selector};
use weir_tests::workerd::TOKEN;

use crate::console::keyboard::tab_to;
use crate::console::site::{Site, everything, tenant_path};
use crate::console::traffic::Traffic;
use crate::console::{assert_no_errors, await_page, eventually, is_late, log_in, previewed};

const FLOOD: &str = "free:flood";
const TENANT: &str = "pro:hooli";

/// After how long a browser takes a letter as the first one of another word, and some more.
const WORD_ENDS_AFTER: Duration = Duration::from_millis(1_500);

/// A person before a browser.
struct Stranger {
    browser: Browser,
    /// Whether everything is done by keys.
    by_keys: bool,
    look: String,
}

impl Stranger {
    async fn press(&self, test_id: &str) {
        if self.by_keys {
            self.to(test_id).await;
            self.browser.key(Key::Enter).await.unwrap();
        } else {
            self.browser.press_id(test_id).await.unwrap();
        }
    }

    /// Presses once more what a busy machine has not answered in time.
    async fn again_if_late(&self, test_id: &str) {
        if is_late(&self.browser).await {
            self.press(test_id).await;
        }
    }

    async fn fill(&self, field: &str, text: &str) {
        if self.by_keys {
            self.to(field).await;
            self.browser.key(Key::SelectAll).await.unwrap();
            self.browser.type_text(text).await.unwrap();
        } else {
            let field = test_id_selector(field);
            self.browser.fill(&field, text).await.unwrap();
        }
    }

    /// Chooses of a list, by keys with the beginning of what is read there.
    async fn choose(&self, field: &str, value: &str) {
        let selector = test_id_selector(field);
        if !self.by_keys {
            return self.browser.choose(&selector, value).await.unwrap();
        }
        self.to(field).await;
        let script = "const [selector, value] = arguments;
            const options = [...document.querySelector(selector).options];
            return options.find((one) => one.value === value).text";
        let arguments = vec![json!(selector), json!(value)];
        let text = self.browser.evaluate(script, arguments).await.unwrap();
        let text = text.as_str().unwrap();
        // A letter that comes more than a second after the one before begins a new word, and a busy machine may be that late.
        eventually(&format!("{text:?} is chosen in {field}"), async || {
            self.browser.type_text(text).await.unwrap();
            let script = "return document.querySelector(arguments[0]).value";
            let chosen = self.browser.evaluate(script, vec![json!(selector)]).await;
            if chosen.unwrap() == value {
                return Some(());
            }
            tokio::time::sleep(WORD_ENDS_AFTER).await;
            None
        })
        .await;
    }

    /// Goes on with Tab to what is there or comes.
    async fn to(&self, test_id: &str) {
        self.browser.find_id(test_id).await.unwrap();
        tab_to(&self.browser, test_id).await;
    }

    /// Opens a page from the navigation.
    async fn go(&self, page: &str) {
        self.open_menu().await;
        self.press(&format!("nav-{page}")).await;
        self.arrive(page).await;
    }

    /// Shows the navigation where a small screen has it behind a button.
    async fn open_menu(&self) {
        let menu = self.browser.find_id("nav-menu").await.unwrap();
        if menu.is_displayed().await.unwrap() {
            self.press("nav-menu").await;
        }
    }

    /// Opens the palette, in which it is typed at once.
    async fn open_palette(&self) {
        self.open_menu().await;
        self.press("palette-open").await;
        eventually("the focus in the palette", async || {
            (self.browser.focused().await.ok()? == "palette-input").then_some(())
        })
        .await;
    }

    /// Waits for a page, none of which scrolls sideways.
    async fn arrive(&self, page: &str) {
        await_page(&self.browser, page).await;
        let out = sticking_out(&self.browser).await.unwrap();
        assert!(out.is_empty(), "{page}, {}: {out:?}", self.look);
    }

    /// What a part says, once it says that.
    async fn reads(&self, test_id: &str, part: &str) -> String {
        let selector = test_id_selector(test_id);
        eventually(&format!("{part:?} in {test_id}"), async || {
            let said = self.browser.text(&selector).await.ok()?;
            said.contains(part).then_some(said)
        })
        .await
    }
}

async fn who_is_the_culprit(stranger: &Stranger) {
    stranger
        .reads("verdict", &format!("over its share: {FLOOD}"))
        .await;
    stranger.press("verdict-why").await;
    stranger.arrive("tenant").await;
    let why = stranger.reads("headline", "").await;
    println!("{}: {why}", stranger.look);
}

async fn what_did_it_get_in_the_last_hours(stranger: &Stranger) {
    stranger.press("tab-accounting").await;
    stranger.arrive("tenant").await;
    stranger.choose("range", "6h").await;
    stranger.reads("range-totals", "Last 6 hours").await;
    eventually("guarantee and fair share in the chart's key", async || {
        let key = stranger.browser.text("[data-testid=series-chart] .key");
        let key = key.await.ok()?;
        (key.contains("Guarantee") && key.contains("Fair share")).then_some(())
    })
    .await;
}

async fn what_would_a_draft_have_done(stranger: &Stranger) {
    stranger.go("policy").await;
    let budget = "[data-testid=entry][data-name=tokens] a";
    if stranger.by_keys {
        let script = "document.querySelector(arguments[0]).focus()";
        let there = vec![json!(budget)];
        stranger.browser.evaluate(script, there).await.unwrap();
        stranger.browser.key(Key::Enter).await.unwrap();
    } else {
        stranger.browser.press(budget).await.unwrap();
    }
    stranger.arrive("policy").await;
    stranger.fill("field-limit", "120").await;
    stranger.reads("draft", "It is valid").await;
    stranger.go("simulator").await;
    stranger.press("over-recorded").await;
    stranger.arrive("simulator").await;
    stranger
        .reads("simulation-words", "the draft would admit")
        .await;
    stranger.arrive("simulator").await;
    stranger.go("policy").await;
    // What can be undone step by step ends with the page; the draft stays, and can be discarded.
    stranger.press("discard").await;
    stranger.press("confirm").await;
    let gone = test_id_selector("draft");
    stranger.browser.wait_gone(&gone).await.unwrap();
}

async fn what_does_it_cost(stranger: &Stranger) {
    stranger.go("overview").await;
    stranger.fill("price-request", "30").await;
    stranger.reads("money-request", "$").await;
}

async fn double_a_weight_for_a_day_and_undo_it(stranger: &Stranger, site: &Site) {
    let weight = async || {
        let mut read = site.read(&tenant_path(TENANT)).await;
        read["body"].take()
    };
    let before = weight().await;
    // The palette goes to a tenant by its name.
    stranger.open_palette().await;
    stranger.browser.type_text("hooli").await.unwrap();
    stranger.reads("palette", TENANT).await;
    stranger.browser.key(Key::Enter).await.unwrap();
    stranger.arrive("tenant").await;
    stranger.press("edit").await;
    stranger.arrive("tenant").await;
    stranger.press("add-override").await;
    stranger.fill("field-expires-at", "2099-11-23 08:30").await;
    stranger.fill("field-override-weight", "6").await;
    previewed(&stranger.browser, async || stranger.press("preview").await).await;
    stranger.press("save").await;
    eventually("the weight for a day", async || {
        stranger.again_if_late("save").await;
        (weight().await["overrides"][0]["weight"] == 6).then_some(())
    })
    .await;
    stranger.go("activity").await;
    // Others may be newer: the bootstrap token's uses are recorded by the minute.
    stranger.choose("field-action", "tenant.patch").await;
    stranger.press("filter").await;
    let first = "document.querySelector('[data-testid=record]')?.dataset.action === 'tenant.patch'";
    stranger.browser.wait_until(first).await.unwrap();
    stranger.press("open-record").await;
    stranger.press("revert").await;
    stranger.press("confirm").await;
    eventually("the weight before", async || {
        stranger.again_if_late("confirm").await;
        (weight().await == before).then_some(())
    })
    .await;
    let dialog = "[data-testid=revert-dialog][open]";
    stranger.browser.wait_gone(dialog).await.unwrap();
    stranger.arrive("activity").await;
}

async fn make_and_revoke_a_token(stranger: &Stranger) {
    stranger.go("access").await;
    // A field for a name beside the button that makes the first token would be taken for its name.
    let search = test_id_selector("search");
    assert!(!stranger.browser.has(&search).await.unwrap());
    stranger.press("create-token").await;
    stranger.fill("field-name", "for-a-day").await;
    stranger.choose("field-expiry", "1").await;
    stranger.reads("ends", "Until 2").await;
    stranger.press("save").await;
    eventually("the text of the token", async || {
        stranger.again_if_late("save").await;
        let made = test_id_selector("made");
        stranger.browser.has(&made).await.ok()?.then_some(())
    })
    .await;
    stranger.reads("token-row", "for-a-day").await;
    stranger.press("revoke").await;
    stranger.press("confirm").await;
    let made = test_id_selector("made");
    stranger.browser.wait_gone(&made).await.unwrap();
    stranger.arrive("access").await;
}

async fn where_are_a_region_s_units(stranger: &Stranger) {
    stranger.open_palette().await;
    stranger.browser.type_text("western eur").await.unwrap();
    stranger.reads("palette", "Western Europe (weur)").await;
    stranger.browser.key(Key::Enter).await.unwrap();
    stranger.arrive("region").await;
    stranger.browser.find_id("held-row").await.unwrap();
}

async fn every_task(width: u32, scheme: ColorScheme, by_keys: bool) {
    let site = Site::start(&everything()).await;
    let _flood = Traffic::of_budget(&site.client, FLOOD, 20, 5);
    let _other = Traffic::of_budget(&site.client, TENANT, 2, 1);
    let browser = Browser::start().await.expect("the browser starts");
    browser.prefer(scheme).await.unwrap();
    browser.resize(width, 900).await.unwrap();
    log_in(&browser, &site.origin(), TOKEN).await;
    let look = format!("{width} px, {scheme:?}");
    let stranger = Stranger {
        browser,
        by_keys,
        look,
    };
    who_is_the_culprit(&stranger).await;
    what_did_it_get_in_the_last_hours(&stranger).await;
    what_would_a_draft_have_done(&stranger).await;
    what_does_it_cost(&stranger).await;
    double_a_weight_for_a_day_and_undo_it(&stranger, &site).await;
    make_and_revoke_a_token(&stranger).await;
    where_are_a_region_s_units(&stranger).await;
    assert_no_errors(&stranger.browser, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_does_every_task_by_keys_alone_on_a_wide_screen() {
    every_task(1440, ColorScheme::Light, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_does_every_task_in_the_dark_on_a_small_laptop() {
    every_task(1024, ColorScheme::Dark, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_does_every_task_on_a_telephone() {
    every_task(375, ColorScheme::Light, false).await;
}
