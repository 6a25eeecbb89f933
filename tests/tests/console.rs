//! The console in a real browser, served by `wrangler dev` with the Worker.

use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::CheckRequest;
use weir_tests::browser::{Browser, ColorScheme, test_id_selector};
use weir_tests::client::{Client, limit_check};
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, LIMIT, policy};
use weir_tests::workerd::{REGIONS, TOKEN};
use weir_tests::wrangler::Wrangler;

const TENANT: &str = "enterprise:acme";

/// Far above what is sent: leases that other regions hold must not decide what is admitted here.
const LIMIT_UNITS: u64 = 4_000;

/// The console polls every second; an isolate reports at least as often.
const MOVES_WITHIN: Duration = Duration::from_secs(10);

/// What the browser itself writes when the page asks whether there is a session, and there is none.
const NO_SESSION_YET: &str = "/operator/v1/session";

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_logs_in_and_sees_counters_move() {
    let wrangler = Wrangler::start().await.expect("wrangler starts");
    let client = wrangler.client().unwrap();
    let saved = client
        .save_policy(&policy(LIMIT_UNITS, 30 * 24 * 3_600_000))
        .await
        .expect("the policy is saved");
    for region in REGIONS {
        client
            .in_region(region)
            .await_revision(saved.revision().unwrap(), MOVES_WITHIN)
            .await
            .unwrap();
    }
    let browser = Browser::start().await.expect("the browser starts");
    let console = format!("{}/console/", wrangler.origin());

    assert_assets_are_guarded(&client).await;
    assert_only_the_console_bypasses_the_worker(&client).await;

    browser.open(&console).await.unwrap();
    assert_wrong_token_is_refused(&browser).await;
    browser.screenshot("login").await.unwrap();

    log_in(&browser, TOKEN).await;
    send(&client, 10, 1).await;
    await_counts(&browser, 10, 0).await;
    send(&client, 30, 1).await;
    send(&client, 12, LIMIT_UNITS + 1).await;
    await_counts(&browser, 40, 12).await;
    assert_totals(&browser, 40, 12).await;
    assert_no_errors(&browser).await;

    browser.refresh().await.unwrap();
    await_counts(&browser, 40, 12).await;
    // Rates are not known at first, which takes other elements than when they are.
    assert_fits_a_narrow_view(&browser).await;
    send_of_all_tiers(&client).await;
    assert_fits_a_narrow_view(&browser).await;
    take_screenshots(&browser).await;

    log_out(&browser).await;
    browser.open(&console).await.unwrap();
    browser
        .find_id("login-token")
        .await
        .expect("who has logged out has to log in");
    assert!(
        !browser.has(&row()).await.unwrap(),
        "tenants are shown to nobody"
    );
    assert_no_errors(&browser).await;
    assert!(!wrangler.log().contains(TOKEN), "the token is in the log");
}

/// The document comes with a policy that runs nothing but what the console itself brings.
async fn assert_assets_are_guarded(client: &Client) {
    for path in ["/console/", "/console/login", "/console/no/such/page"] {
        let page = client.anonymous().get(path).await.unwrap();
        assert_eq!(page.status, 200, "{path}");
        let policy = page
            .header("content-security-policy")
            .unwrap_or_else(|| panic!("{path} has no policy"))
            .to_owned();
        let directive = |name: &str| {
            let found = policy
                .split(';')
                .map(str::trim)
                .find(|part| part.split(' ').next() == Some(name));
            found
                .unwrap_or_else(|| panic!("{path}: no {name} in {policy}"))
                .to_owned()
        };
        assert!(
            directive("default-src").contains("'none'")
                || directive("default-src").contains("'self'"),
            "{policy}"
        );
        let scripts = directive("script-src");
        assert!(scripts.contains("'wasm-unsafe-eval'"), "{scripts}");
        for forbidden in ["'unsafe-inline'", "'unsafe-eval'", "*", "data:", "http:"] {
            assert!(
                !scripts.split(' ').any(|source| source == forbidden),
                "{forbidden} in {scripts}"
            );
        }
        assert!(directive("frame-ancestors").contains("'none'"), "{policy}");
        assert_eq!(
            page.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
    }
}

/// Whatever is not under `/console/` is answered by the Worker, never by the console's page.
async fn assert_only_the_console_bypasses_the_worker(client: &Client) {
    let anonymous = client.anonymous();
    let health: Value = anonymous.get("/healthz").await.unwrap().ok().unwrap();
    assert_eq!(health["status"], "ok");
    for path in [
        "/metrics",
        "/nope",
        "/index.html",
        "/consolex",
        "/_headers",
        "/assets/index.html",
    ] {
        let reply = anonymous.get(path).await.unwrap();
        assert!(
            reply.status >= 400,
            "{path} is answered with {}: {}",
            reply.status,
            reply.text()
        );
        reply
            .problem()
            .unwrap_or_else(|error| panic!("{path}: {error:#}"));
    }
    for path in ["/", "/console"] {
        let front = anonymous.get(path).await.unwrap();
        assert_eq!(
            (front.status, front.header("location")),
            (302, Some("/console/")),
            "{path}"
        );
    }
}

async fn assert_wrong_token_is_refused(browser: &Browser) {
    submit_token(browser, &"x".repeat(TOKEN.len())).await;
    let selector = test_id_selector("login-error");
    let message = eventually(async || {
        Some(browser.text(&selector).await.ok()?).filter(|text| !text.trim().is_empty())
    })
    .await;
    println!("a wrong token: {message:?}");
    assert!(
        !browser.has(&test_id_selector("live-state")).await.unwrap(),
        "a wrong token lets in"
    );
}

async fn log_in(browser: &Browser, token: &str) {
    submit_token(browser, token).await;
    let live = format!("{}[data-state=\"live\"]", test_id_selector("live-state"));
    browser.find(&live).await.expect("the figures are live");
    let cookies: Vec<String> = browser
        .page()
        .get_all_cookies()
        .await
        .unwrap()
        .iter()
        .map(|cookie| cookie.name().to_owned())
        .collect();
    assert_eq!(cookies, ["weir_session"]);
    let kept = browser
        .page()
        .execute(
            "return [document.cookie, localStorage.length, sessionStorage.length]",
            vec![],
        )
        .await
        .unwrap();
    assert_eq!(kept, json!(["", 0, 0]), "scripts can read the session");
}

async fn submit_token(browser: &Browser, token: &str) {
    let field = browser
        .find_id("login-token")
        .await
        .expect("the login form");
    field.clear().await.unwrap();
    field.send_keys(token).await.unwrap();
    browser
        .find_id("login-submit")
        .await
        .unwrap()
        .click()
        .await
        .unwrap();
}

async fn log_out(browser: &Browser) {
    browser
        .find_id("logout")
        .await
        .unwrap()
        .click()
        .await
        .unwrap();
    browser
        .find_id("login-token")
        .await
        .expect("the login form comes back");
}

/// Checks of `cost` units each, in all regions: admitted, unless one alone is above the limit.
async fn send(client: &Client, calls: usize, cost: u64) {
    for call in 0..calls {
        let region = REGIONS[call % REGIONS.len()];
        let decision = client
            .in_region(region)
            .check_budget(TENANT, BUDGET, cost)
            .await
            .unwrap()
            .decision;
        let fits = cost <= LIMIT_UNITS;
        assert_eq!(decision.allowed, fits, "call {call}: {decision:?}");
    }
}

/// Something to look at: tenants of each tier, some admitted and some denied.
async fn send_of_all_tiers(client: &Client) {
    let tenants = [
        "enterprise:globex",
        "pro:hooli",
        "pro:umbrella",
        "free:duff",
        "free:flood",
        "unnamed",
        "société",
    ];
    for (index, tenant) in tenants.iter().cycle().take(60).enumerate() {
        let client = client.in_region(REGIONS[index % REGIONS.len()]);
        let check = limit_check(
            LIMIT,
            &format!("203.0.113.{}", index % 2),
            1 + index as u64 % 3,
        );
        client
            .check(&CheckRequest {
                tenant: Some((*tenant).to_owned()),
                ..check
            })
            .await
            .unwrap();
    }
    // Two polls: the page shows rates from the second on.
    tokio::time::sleep(Duration::from_secs(3)).await;
}

async fn await_counts(browser: &Browser, admitted: u64, denied: u64) {
    let row = row();
    let shown =
        async |test_id: &str| shown(browser, &format!("{row} {}", test_id_selector(test_id))).await;
    let start = now();
    loop {
        let counts = (shown("admitted-calls").await, shown("denied-calls").await);
        if counts == (Some(admitted), Some(denied)) {
            println!(
                "{admitted} admitted and {denied} denied are shown after {:?}",
                start.elapsed()
            );
            return;
        }
        assert!(
            start.elapsed() < MOVES_WITHIN,
            "{counts:?} instead of {admitted} and {denied}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn assert_totals(browser: &Browser, admitted: u64, denied: u64) {
    assert_eq!(
        shown(browser, &test_id_selector("total-admitted-calls")).await,
        Some(admitted)
    );
    assert_eq!(
        shown(browser, &test_id_selector("total-denied-calls")).await,
        Some(denied)
    );
}

/// The number that an element shows, separators left out.
async fn shown(browser: &Browser, selector: &str) -> Option<u64> {
    if !browser.has(selector).await.ok()? {
        return None;
    }
    let text = browser.text(selector).await.ok()?;
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn row() -> String {
    format!(
        "{}[data-tenant=\"{TENANT}\"]",
        test_id_selector("tenant-row")
    )
}

/// Nothing was refused by the content security policy, no script failed, and no request but the first question for
/// a session and the wrong token.
async fn assert_no_errors(browser: &Browser) {
    let messages = browser.severe_messages().await.unwrap();
    let unexpected: Vec<&String> = messages
        .iter()
        .filter(|message| !(message.contains(NO_SESSION_YET) && message.contains("401")))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

/// A telephone's.
const NARROW: (u32, u32) = (390, 844);
const WIDE: (u32, u32) = (1280, 900);

/// What makes the page wider than the view: nothing, or the innermost elements that stick out.
const TOO_WIDE: &str = r#"
const page = document.documentElement;
if (page.scrollWidth <= page.clientWidth) return [];
const out = [...document.body.querySelectorAll("*")].filter((element) =>
  element.children.length === 0 && element.getBoundingClientRect().right > page.clientWidth);
return out.map((element) => element.outerHTML.slice(0, 80));
"#;

async fn assert_fits_a_narrow_view(browser: &Browser) {
    browser.resize(NARROW.0, NARROW.1).await.unwrap();
    let too_wide = browser.page().execute(TOO_WIDE, vec![]).await.unwrap();
    assert_eq!(too_wide, json!([]), "the page scrolls sideways");
    browser.resize(WIDE.0, WIDE.1).await.unwrap();
}

async fn take_screenshots(browser: &Browser) {
    for (scheme, name) in [(ColorScheme::Dark, "dark"), (ColorScheme::Light, "light")] {
        browser.prefer(scheme).await.unwrap();
        browser
            .screenshot(&format!("console-{name}"))
            .await
            .unwrap();
    }
    browser.resize(NARROW.0, NARROW.1).await.unwrap();
    browser.screenshot("console-narrow").await.unwrap();
    browser.resize(WIDE.0, WIDE.1).await.unwrap();
}

async fn eventually<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let start = now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(start.elapsed() < MOVES_WITHIN, "it did not come");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
