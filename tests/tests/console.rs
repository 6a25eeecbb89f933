//! The console in a real browser, before the real Worker: journeys of operators, what it costs to load, whether it can
//! be used without eyes, hands or a mouse, and what it says on bad days.

mod accessibility;
mod addresses;
mod assets;
mod bad_days;
mod controls;
mod counters;
mod culprit;
mod drafts;
mod idle;
mod journey;
mod keyboard;
mod lines;
mod palette;
mod parts;
mod range;
mod rates;
mod screenshots;
mod simulator;
mod site;
mod smoothness;
mod tasks;
mod toasts;
mod traffic;
mod typing;
mod viewer;

use std::time::Duration;

use serde_json::json;
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::clock::now;

/// How long a test waits for what has to come, which is no promise: longer than the console waits for an answer, and than figures
/// take to be read anew, on a machine that is several times slower.
const MOVES_WITHIN: Duration = Duration::from_secs(60);

/// What a page says of what was not answered in time.
const LATE: [&str; 2] = ["Weir is not available right now", "No answer"];

/// The button that saves, once it does: while a preview or a save is under way it does nothing.
const SAVE: &str = "[data-testid=save]:not([aria-disabled=true])";

/// A telephone's.
const NARROW: (u32, u32) = (375, 812);
const WIDE: (u32, u32) = (1280, 900);

/// Opens the console and logs in by its form.
async fn log_in(browser: &Browser, origin: &str, token: &str) {
    browser
        .open(&format!("{origin}/console/login"))
        .await
        .unwrap();
    submit_token(browser, token).await;
    browser
        .find_id("page-overview")
        .await
        .expect("a login leads to the overview");
    let cookies = browser.page().get_all_cookies().await.unwrap();
    let names: Vec<&str> = cookies.iter().map(|cookie| cookie.name()).collect();
    assert_eq!(names, ["weir_session"]);
    let visible = browser
        .evaluate("return [document.cookie, location.href]", vec![])
        .await
        .unwrap();
    assert_eq!(visible[0], "", "scripts can read the session");
    assert!(!visible[1].as_str().unwrap().contains(token), "{visible}");
}

/// Brings a token to the login form, again where a busy machine has not counted the login in time.
async fn submit_token(browser: &Browser, token: &str) {
    let field = test_id_selector("login-token");
    eventually("a login that is answered", async || {
        browser.fill(&field, token).await.expect("the login form");
        browser.press_id("login-submit").await.unwrap();
        (!login_is_late(browser).await).then_some(())
    })
    .await;
}

/// Waits for the answer to a login: whether it did not come in time.
async fn login_is_late(browser: &Browser) -> bool {
    // Nothing while there is no answer; no words once it led elsewhere.
    let script = "const error = document.querySelector('[data-testid=login-error]');
        return error ? error.textContent || null : '';";
    let said = eventually("an answer to a login", async || {
        let said = browser.evaluate(script, vec![]).await.ok()?;
        said.as_str().map(str::to_owned)
    })
    .await;
    tells_late(&said)
}

fn tells_late(said: &str) -> bool {
    LATE.iter().any(|late| said.contains(late))
}

/// Whether a form says that what it asked for was not answered in time: on a busy machine a person asks again.
async fn is_late(browser: &Browser) -> bool {
    let script = "return document.querySelector('[data-testid=form-error]')?.textContent ?? ''";
    let said = browser.evaluate(script, vec![]).await.unwrap();
    tells_late(said.as_str().unwrap_or_default())
}

/// Presses what previews the change of a tenant until the preview is there: a busy machine may not work it out in time.
async fn previewed(browser: &Browser, press: impl AsyncFn()) {
    eventually("a preview", async || {
        press().await;
        let answered = "[data-testid=preview][aria-disabled=false]";
        browser.find(answered).await.expect("an answer to it");
        let preview = test_id_selector("preview-result");
        browser.has(&preview).await.ok()?.then_some(())
    })
    .await;
}

/// The same by pointer.
async fn preview(browser: &Browser) {
    previewed(browser, async || {
        browser.press_id("preview").await.unwrap();
    })
    .await;
}

/// Opens the review of a draft, again until the preview in it has that element: it is worked out once, of what is recorded then.
async fn review(browser: &Browser, test_id: &str) {
    eventually(test_id, async || {
        browser.press_id("preview").await.unwrap();
        browser.find_id("preview-result").await.unwrap();
        let loading = "[data-testid=preview-result] [data-testid=state-loading]";
        browser.wait_gone(loading).await.unwrap();
        if browser.has(&test_id_selector(test_id)).await.ok()? {
            return Some(());
        }
        let back = ".review .actions button[type=button]";
        browser.press(back).await.unwrap();
        None
    })
    .await;
}

/// Saves, again where a busy machine has not answered in time, until that element is there.
async fn save_until(browser: &Browser, test_id: &str) {
    let (there, failed) = (test_id_selector(test_id), test_id_selector("form-error"));
    eventually(test_id, async || {
        browser.press(SAVE).await.unwrap();
        let answer = browser.find(&format!("{there}, {failed}")).await;
        answer.expect("an answer to it");
        browser.has(&there).await.ok()?.then_some(())
    })
    .await;
}

async fn log_out(browser: &Browser) {
    browser.press_id("logout").await.unwrap();
    browser
        .find_id("login-token")
        .await
        .expect("the login form comes back");
}

/// Opens a page of the console and waits until it shows what it was asked for.
async fn visit(browser: &Browser, origin: &str, path: &str, slug: &str) {
    browser
        .open(&format!("{origin}/console{path}"))
        .await
        .unwrap();
    await_page(browser, slug).await;
}

/// Waits until a page is there and nothing on it is loading.
async fn await_page(browser: &Browser, slug: &str) {
    browser
        .find_id(&format!("page-{slug}"))
        .await
        .unwrap_or_else(|error| panic!("the page {slug}: {error:#}"));
    eventually("a page that was answered in time", async || {
        browser
            .wait_gone(&test_id_selector("state-loading"))
            .await
            .unwrap_or_else(|error| panic!("the page {slug} goes on loading: {error:#}"));
        let late = browser.evaluate(ASK_AGAIN, vec![json!(LATE)]).await.ok()?;
        if late == false {
            return Some(());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        None
    })
    .await;
}

/// Presses what tries again where a page says that it was not answered in time; whether one did.
const ASK_AGAIN: &str = "
    const late = [...document.querySelectorAll('[data-testid=state-error]')].flatMap((error) => {
        const again = error.querySelector('[data-testid=retry]');
        return again && arguments[0].some((words) => error.textContent.includes(words)) ? [again] : [];
    });
    late.forEach((again) => again.click());
    return late.length > 0;";

/// Opens a page from the navigation.
async fn go_to(browser: &Browser, slug: &str) {
    browser.press_id(&format!("nav-{slug}")).await.unwrap();
    await_page(browser, slug).await;
}

/// Waits for a state of the live channel.
async fn await_live(browser: &Browser, state: &str) {
    let selector = format!("[data-testid=live-state][data-state={state}]");
    let start = now();
    while !browser.has(&selector).await.unwrap() {
        if start.elapsed() > MOVES_WITHIN {
            let shown = browser.text(&test_id_selector("live-state")).await;
            panic!("the live state is {shown:?}, not {state}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Nothing was refused by the content security policy, no script failed, and no request but those that a test expects:
/// each of `expected` is a part of a message.
async fn assert_no_errors(browser: &Browser, expected: &[&str]) {
    // What the browser itself writes when the page asks whether there is a session, and there is none.
    let no_session = |message: &str| message.contains("/session") && message.contains("401");
    // On a busy machine an object may not be reached in a call's time.
    let late = |message: &str| message.contains("/operator/v1/") && message.contains(" 503");
    let messages = browser.severe_messages().await.unwrap();
    let unexpected: Vec<&String> = messages
        .iter()
        .filter(|message| !no_session(message) && !late(message))
        .filter(|message| !expected.iter().any(|part| message.contains(part)))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

/// The number that an element shows: its bare value where it says it, else its digits.
async fn shown(browser: &Browser, selector: &str) -> Option<f64> {
    let script = "const element = document.querySelector(arguments[0]);
        if (!element) return null;
        return element.dataset.value ?? element.textContent.replace(/[^0-9.]/g, '');";
    let value = browser.evaluate(script, vec![json!(selector)]).await.ok()?;
    value.as_str()?.parse().ok()
}

/// Presses what tries again. The page tries again by itself, too: where that was sooner, there is nothing left to press.
async fn try_again(browser: &Browser) {
    let script = "document.querySelector('[data-testid=retry]')?.click()";
    browser.evaluate(script, vec![]).await.unwrap();
}

/// Waits until something is there.
async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let start = now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(start.elapsed() < MOVES_WITHIN, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
