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

/// What the login page says of a login that was not answered in time.
const LOGIN_LATE: [&str; 2] = ["Weir is not available right now", "No answer"];

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
    // Nothing while there is no answer; no words once it led elsewhere.
    let script = "const error = document.querySelector('[data-testid=login-error]');
        return error ? error.textContent || null : '';";
    eventually("a login that is answered", async || {
        browser.fill(&field, token).await.expect("the login form");
        browser.press_id("login-submit").await.unwrap();
        let said = eventually("an answer to a login", async || {
            let said = browser.evaluate(script, vec![]).await.ok()?;
            said.as_str().map(str::to_owned)
        })
        .await;
        let late = LOGIN_LATE.iter().any(|late| said.contains(late));
        (!late).then_some(())
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
    browser
        .wait_gone(&test_id_selector("state-loading"))
        .await
        .unwrap_or_else(|error| panic!("the page {slug} goes on loading: {error:#}"));
}

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
    // On a busy machine that, and a login, may not be answered in time.
    let no_session = |message: &str| {
        let unanswered = message.contains("401") || message.contains("503");
        message.contains("/session") && unanswered
    };
    let messages = browser.severe_messages().await.unwrap();
    let unexpected: Vec<&String> = messages
        .iter()
        .filter(|message| !no_session(message))
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
