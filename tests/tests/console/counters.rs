//! What is decided is shown, and moves.

use std::time::Duration;

use weir_shared::wire::check::Reason;
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{BUDGET, policy};
use weir_tests::workerd::{REGIONS, TOKEN};

use crate::console::site::Site;
use crate::console::smoothness::row;
use crate::console::{
    assert_no_errors, await_live, await_page, eventually, go_to, log_in, log_out, shown,
    submit_token,
};

const TENANT: &str = "enterprise:acme";

/// Far above what is sent: leases that other regions hold must not decide what is admitted here.
const LIMIT_UNITS: u64 = 4_000;

/// Below the 45 s after which a page reads anew by itself: what is shown sooner was told.
const SHOWN_WITHIN: Duration = Duration::from_secs(40);

const LONG_MS: u64 = 30 * 24 * 3_600_000;

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_logs_in_and_sees_counters_move() {
    let site = Site::start(&policy(LIMIT_UNITS, LONG_MS)).await;
    let browser = Browser::start().await.expect("the browser starts");
    browser
        .open(&format!("{}/console/", site.origin()))
        .await
        .unwrap();
    assert_wrong_token_is_refused(&browser).await;

    log_in(&browser, &site.origin(), TOKEN).await;
    go_to(&browser, "tenants").await;
    await_live(&browser, "live").await;
    let mut denied = send(&site.client, 10, 1).await;
    await_counts(&browser, &site.client, 10, denied).await;
    denied += send(&site.client, 30, 1).await;
    denied += send(&site.client, 12, LIMIT_UNITS + 1).await;
    assert!(denied >= 12, "{denied}");
    await_counts(&browser, &site.client, 40, denied).await;
    assert_no_errors(&browser, &[]).await;

    browser.refresh().await.unwrap();
    await_page(&browser, "tenants").await;
    await_counts(&browser, &site.client, 40, denied).await;

    assert_no_errors(&browser, &[]).await;
    log_out(&browser).await;
    browser
        .open(&format!("{}/console/tenants", site.origin()))
        .await
        .unwrap();
    browser
        .find_id("login-token")
        .await
        .expect("who has logged out has to log in");
    assert!(
        !browser.has(&row(TENANT)).await.unwrap(),
        "tenants are shown to nobody"
    );
    site.assert_log_is_clean();
}

async fn assert_wrong_token_is_refused(browser: &Browser) {
    submit_token(browser, &"x".repeat(TOKEN.len())).await;
    let selector = test_id_selector("login-error");
    let message = eventually("a word about the token", async || {
        Some(browser.text(&selector).await.ok()?).filter(|text| !text.trim().is_empty())
    })
    .await;
    println!("a wrong token: {message:?}");
    assert!(
        !browser
            .has("[data-testid^=page-]:not([data-testid=page-login])")
            .await
            .unwrap(),
        "a wrong token lets in"
    );
}

/// Checks of `cost` units each, in all regions: admitted, unless one alone is above the limit. How many were denied: what a
/// busy machine does not answer in time counts as denied, and is asked again.
async fn send(client: &Client, calls: usize, cost: u64) -> u64 {
    let (fits, mut denied) = (cost <= LIMIT_UNITS, 0);
    for call in 0..calls {
        let client = client.in_region(REGIONS[call % REGIONS.len()]);
        let start = now();
        let decision = loop {
            let checked = client.check_budget(TENANT, BUDGET, cost).await.unwrap();
            let decision = checked.decision;
            denied += u64::from(!decision.allowed);
            if decision.reason != Reason::Unavailable {
                break decision;
            }
            assert!(start.elapsed() < SHOWN_WITHIN, "call {call}: {decision:?}");
        };
        assert_eq!(decision.allowed, fits, "call {call}: {decision:?}");
    }
    denied
}

/// Waits until the server counts what was sent, to the unit, and the page shows it.
async fn await_counts(browser: &Browser, client: &Client, used: u64, denied: u64) {
    let of = |test_id: &str| format!("{} {}", row(TENANT), test_id_selector(test_id));
    let start = now();
    loop {
        let seen = (
            shown(browser, &of("used")).await,
            shown(browser, &of("denied-calls")).await,
        );
        let told = counted(client).await;
        if told == Some((used, denied)) && seen == (Some(used as f64), Some(denied as f64)) {
            println!(
                "{used} units used and {denied} calls denied are shown after {:?}",
                start.elapsed()
            );
            return;
        }
        assert!(
            start.elapsed() < SHOWN_WITHIN,
            "{seen:?} are shown, {told:?} counted, of {used} and {denied}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Units admitted and calls denied of the tenant, as the server counts them: nothing where it does not answer in time.
async fn counted(client: &Client) -> Option<(u64, u64)> {
    let report = client.fairness().await.ok()?;
    let tenant = report.tenants.iter().find(|one| one.tenant == TENANT)?;
    let total = &tenant.total;
    Some((total.admitted_units.0 as u64, total.denied_calls.0 as u64))
}
