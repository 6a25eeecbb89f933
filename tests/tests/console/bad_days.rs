//! Bad days: each has a state that says what happened and what to do.

use std::time::Duration;

use serde_json::json;
use weir_shared::wire::operator::Role;
use weir_tests::again::answered;
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::proxy::{Proxy, Weather};
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything};
use crate::console::traffic::Traffic;
use crate::console::{
    await_live, await_page, eventually, go_to, log_in, save_until, shown, submit_token, try_again,
    visit,
};

struct BadDay {
    site: Site,
    proxy: Proxy,
    browser: Browser,
    _traffic: Traffic,
}

impl BadDay {
    /// A browser that is about to log in through a proxy.
    async fn dawn() -> Self {
        let site = Site::start(&everything()).await;
        let proxy = Proxy::start(site.origin()).await.expect("the proxy starts");
        let traffic = Traffic::of_all_tiers(&site.client);
        Self {
            proxy,
            browser: Browser::start().await.expect("the browser starts"),
            _traffic: traffic,
            site,
        }
    }

    /// What an element says, as soon as it says something.
    async fn said(&self, test_id: &str) -> String {
        let selector = test_id_selector(test_id);
        eventually(test_id, async || {
            if !self.browser.has(&selector).await.ok()? {
                return None;
            }
            let text = self.browser.text(&selector).await.ok()?;
            Some(text).filter(|text| !text.trim().is_empty())
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_has_ended_leads_to_the_login_and_back() {
    let day = BadDay::dawn().await;
    let (browser, origin) = (&day.browser, day.site.origin());
    log_in(browser, &origin, TOKEN).await;
    visit(browser, &origin, "/tenants?sort=weight", "tenants").await;
    // The browser drops a cookie that has expired.
    browser.page().delete_all_cookies().await.unwrap();
    let reason = day.said("login-reason").await;
    assert!(reason.contains("session"), "{reason}");
    submit_token(browser, TOKEN).await;
    await_page(browser, "tenants").await;
    let address = browser.address().await.unwrap();
    assert_eq!(address, "/console/tenants?sort=weight");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_is_revoked_is_told_at_once() {
    let day = BadDay::dawn().await;
    let (browser, origin) = (&day.browser, day.site.origin());
    let token = day.site.token("leaves-today", Role::Editor).await;
    log_in(browser, &origin, &token.token).await;
    visit(
        browser,
        &origin,
        "/tenant?name=pro%3Ahooli&tab=edit",
        "tenant",
    )
    .await;
    browser
        .find_id("field-weight")
        .await
        .expect("an editor may change it");
    let path = format!("/operator/v1/tokens/{}", token.view.id);
    let revoked = answered(async || {
        let request = day.site.client.request(reqwest::Method::DELETE, &path);
        day.site.client.send(request).await
    });
    let revoked = revoked.await;
    // What was not answered in time may have been done: then it is gone.
    let done = revoked.status < 300 || revoked.status == 404;
    assert!(done, "{}", revoked.text());
    let reason = day.said("login-reason").await;
    println!("a revoked token: {reason}");
    assert!(
        reason.contains("session") || reason.contains("token"),
        "{reason}"
    );
    submit_token(browser, &token.token).await;
    let error = day.said("login-error").await;
    println!("a login with it: {error}");
    assert!(!browser.has(&test_id_selector("page-tenant")).await.unwrap());
}

/// Somebody has a session who should not: an admin ends all of them, and says why.
#[tokio::test(flavor = "multi_thread")]
async fn an_admin_ends_every_session_of_the_console_at_once() {
    let day = BadDay::dawn().await;
    let (browser, origin) = (&day.browser, day.site.origin());
    let token = day.site.token("was-here", Role::Editor).await;
    let (other, _) = day
        .site
        .client
        .anonymous()
        .log_in(&token.token)
        .await
        .unwrap();
    let reply = answered(async || other.get("/operator/v1/policy").await).await;
    assert_eq!(reply.status, 200);
    log_in(browser, &origin, TOKEN).await;
    visit(browser, &origin, "/access", "access").await;
    browser.press_id("end-sessions").await.unwrap();
    browser
        .fill(&test_id_selector("field-why"), "a lost laptop")
        .await
        .unwrap();
    browser.press_id("confirm").await.unwrap();
    browser.find_id("login-token").await.expect("one's own too");
    eventually("the other session ends", async || {
        let reply = other.get("/operator/v1/policy").await.ok()?;
        (reply.status == 401).then_some(())
    })
    .await;
    let path = "/operator/v1/audit?action=sessions.revoke";
    let page = day.site.read(path).await;
    assert_eq!(page["records"][0]["why"], "a lost laptop", "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_gone_leaves_the_figures_and_says_how_old_they_are() {
    let day = BadDay::dawn().await;
    let (browser, origin) = (&day.browser, day.proxy.origin());
    log_in(browser, &origin, TOKEN).await;
    // It brings the code of the page of budgets, too.
    go_to(browser, "regions").await;
    go_to(browser, "tenants").await;
    await_live(browser, "live").await;
    browser.find_id("tenant-row").await.unwrap();
    day.proxy.set(Weather::Gone);
    await_live(browser, "reconnecting").await;
    let notice = day.said("reconnecting").await;
    println!("a server that is gone: {notice}");
    assert!(
        browser.has(&test_id_selector("tenant-row")).await.unwrap(),
        "what was known is gone too"
    );
    // A page that was never read has nothing to show, and a way to try again.
    go_to_gone(browser).await;
    let error = day.said("state-error").await;
    println!("a page that was never read: {error}");
    browser.find_id("retry").await.expect("a way to try again");
    day.proxy.set(Weather::Fair);
    try_again(browser).await;
    await_page(browser, "budgets").await;
    browser.find_id("budget-row").await.unwrap();
    await_live(browser, "live").await;
    browser
        .wait_gone(&test_id_selector("state-error"))
        .await
        .unwrap();
}

async fn go_to_gone(browser: &Browser) {
    browser.press_id("nav-budgets").await.unwrap();
    browser.find_id("page-budgets").await.unwrap();
}

/// The live channel is lost for a minute: the pages go on by asking, and nothing is left of it afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_is_lost_for_a_minute_is_bridged_and_comes_back() {
    let day = BadDay::dawn().await;
    let (browser, origin) = (&day.browser, day.proxy.origin());
    log_in(browser, &origin, TOKEN).await;
    visit(browser, &origin, "/tenants?sort=denied_calls", "tenants").await;
    await_live(browser, "live").await;
    let busy = format!(
        "{} {}",
        crate::console::smoothness::row("free:flood"),
        test_id_selector("denied-calls")
    );
    day.proxy.set(Weather::NoSockets);
    await_live(browser, "reconnecting").await;
    let before = eventually("a figure", async || shown(browser, &busy).await).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let during = shown(browser, &busy).await.unwrap();
    assert!(during > before, "{before} stands still without the socket");
    tokio::time::sleep(Duration::from_secs(30)).await;
    day.proxy.set(Weather::Fair);
    // The pause between attempts grows to half a minute.
    tokio::time::timeout(Duration::from_secs(60), async {
        while !browser
            .has("[data-testid=live-state][data-state=live]")
            .await
            .unwrap()
        {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await
    .expect("the socket opens again");
    let after = shown(browser, &busy).await.unwrap();
    eventually("a figure by the socket", async || {
        shown(browser, &busy).await.filter(|now| *now > after)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_wrong_is_told_and_ages_are_right_all_the_same() {
    let day = BadDay::dawn().await;
    let (browser, origin) = (&day.browser, day.site.origin());
    let five_minutes_ahead = "const RealDate = Date; const ahead = 5 * 60 * 1000;
        Date = class extends RealDate {
          constructor(...parts) { super(...(parts.length ? parts : [RealDate.now() + ahead])); }
          static now() { return RealDate.now() + ahead; }
        };";
    browser.before_each_page(five_minutes_ahead).await.unwrap();
    log_in(browser, &origin, TOKEN).await;
    let notice = day.said("clock-notice").await;
    println!("a clock that is ahead: {notice}");
    assert!(
        notice.contains("5 min") || notice.contains("4 min 5"),
        "{notice}"
    );
    visit(browser, &origin, "/activity", "activity").await;
    let record = day.said("record").await;
    assert!(
        !record.contains("5 min"),
        "an age by the wrong clock: {record}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_a_newer_server_asks_for_a_reload() {
    let day = BadDay::dawn().await;
    let (browser, origin) = (&day.browser, day.proxy.origin());
    log_in(browser, &origin, TOKEN).await;
    // What it adds is ignored.
    day.proxy.change("/operator/v1/regions", |answer| {
        answer["of_tomorrow"] = json!({ "new": true });
    });
    visit(browser, &origin, "/regions", "regions").await;
    browser.find_id("region-row").await.unwrap();
    // What it changes cannot be read.
    day.proxy.change("/operator/v1/regions", |answer| {
        *answer = json!({ "regions": "in another form" });
    });
    visit(browser, &origin, "/regions", "regions").await;
    let error = day.said("state-error").await;
    println!("a newer server: {error}");
    assert!(error.to_lowercase().contains("reload"), "{error}");
    day.proxy.change_nothing();
    browser.refresh().await.unwrap();
    browser.find_id("region-row").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_before_a_preview_leads_to_the_login_and_keeps_the_draft() {
    let day = BadDay::dawn().await;
    let (browser, origin) = (&day.browser, day.site.origin());
    log_in(browser, &origin, TOKEN).await;
    let budget = "/policy?section=budgets&name=tokens";
    visit(browser, &origin, budget, "policy").await;
    browser
        .fill(&test_id_selector("field-limit"), "90")
        .await
        .unwrap();
    browser.find_id("preview").await.expect("a valid draft");
    browser.page().delete_all_cookies().await.unwrap();
    browser.press_id("preview").await.unwrap();
    let reason = day.said("login-reason").await;
    assert!(reason.contains("session"), "{reason}");
    submit_token(browser, TOKEN).await;
    await_page(browser, "policy").await;
    let draft = day.said("draft").await;
    assert!(draft.contains("1 value changed"), "{draft}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_a_token_leaves_the_page_with_the_token() {
    let day = BadDay::dawn().await;
    let (browser, origin) = (&day.browser, day.site.origin());
    log_in(browser, &origin, TOKEN).await;
    visit(browser, &origin, "/access", "access").await;
    browser.press_id("create-token").await.unwrap();
    browser
        .fill(&test_id_selector("field-name"), "short-lived")
        .await
        .unwrap();
    browser
        .choose(&test_id_selector("field-expiry"), "1")
        .await
        .unwrap();
    save_until(browser, "new-token").await;
    let secret = day.said("new-token").await;
    browser.find_id("token-row").await.expect("it is listed");
    browser
        .wait_gone(&test_id_selector("expiring"))
        .await
        .expect("who makes a token for a day is not warned of it");
    browser.press_id("revoke").await.unwrap();
    browser.press_id("confirm").await.unwrap();
    browser
        .wait_gone(&test_id_selector("made"))
        .await
        .expect("the text of a token that is no more is gone");
    let page = browser.text("body").await.unwrap();
    assert!(!page.contains(&secret), "the secret stays on the page");
}
