//! The simulator: recorded demand or a trace against the draft, beside the policy in force. What it shows is what the
//! server answers.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::operator::Role;
use weir_tests::accessibility::sticking_out;
use weir_tests::again;
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::fixtures::{BUDGET, LIMIT};

use crate::console::accessibility::look_at;
use crate::console::site::{Site, everything};
use crate::console::traffic::Traffic;
use crate::console::{WIDE, assert_no_errors, await_page, eventually, go_to, log_in, visit};

/// Requests of each tenant of the trace, all in one window of the budget.
const EACH: u64 = 60;

const TENANTS: [&str; 3] = ["enterprise:acme", "pro:hooli", "free:duff"];

/// More than the budget of 60 units has for them together.
fn trace() -> String {
    let mut text = "at,tenant,kind,name,key,cost\n".to_owned();
    for step in 0..EACH {
        for tenant in TENANTS {
            writeln!(
                text,
                "{},{tenant},budget,{BUDGET},,1",
                1_767_225_600_000 + step
            )
            .unwrap();
        }
    }
    text
}

/// Puts a file into the field, as choosing it does.
async fn choose_file(browser: &Browser, name: &str, text: &str) {
    let script = "const [selector, name, text] = arguments;
        const files = new DataTransfer();
        files.items.add(new File([text], name, { type: 'text/csv' }));
        const field = document.querySelector(selector);
        field.files = files.files;
        field.dispatchEvent(new Event('change', { bubbles: true }));";
    browser.find_id("trace-file").await.unwrap();
    let field = test_id_selector("trace-file");
    let arguments = vec![json!(field), json!(name), json!(text)];
    browser.evaluate(script, arguments).await.unwrap();
}

/// The cells of the line of a tenant at the budget.
async fn cells(browser: &Browser, tenant: &str) -> Option<Vec<String>> {
    let script = "const rows = [...document.querySelectorAll('[data-testid=preview-row]')];
        const row = rows.find((one) => one.dataset.tenant === arguments[0] && one.textContent.includes(arguments[1]));
        return row ? [...row.querySelectorAll('td')].map((cell) => cell.textContent) : null";
    let what = format!("budget {BUDGET}");
    let told = browser
        .evaluate(script, vec![json!(tenant), json!(what)])
        .await
        .ok()?;
    serde_json::from_value(told).ok()
}

/// What the server answers of the trace.
async fn answered(site: &Site, candidate: &Value) -> Value {
    let entries: Vec<Value> = trace()
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            json!({ "at": cells[0].parse::<u64>().unwrap(), "tenant": cells[1], "budget": cells[3], "cost": 1 })
        })
        .collect();
    let asked = json!({ "policy": candidate, "trace": entries });
    let replay = async || site.client.post("/operator/v1/replay", &asked).await;
    again::answered(replay).await.ok().unwrap()
}

/// The policy with a budget of twice the size.
fn candidate() -> Value {
    let mut candidate = everything();
    candidate["budgets"][BUDGET]["limit"] = json!(120);
    candidate
}

/// What one policy admits and denies of the trace, in the words of the page.
fn sums(answer: &Value, side: &str, [admits, denies]: [&str; 2]) -> String {
    let rows = answer["rows"].as_array().unwrap();
    let sum = |what: &str| -> u64 {
        rows.iter()
            .map(|row| row[side][what].as_u64().unwrap())
            .sum()
    };
    format!(
        "{admits} {} and {denies} {}",
        sum("admitted_units"),
        sum("denied_units")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_played_over_a_trace_before_it_is_saved() {
    let site = Site::start(&everything()).await;
    let token = site.token("plans", Role::Editor).await.token;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), &token).await;
    go_to(&browser, "simulator").await;
    let empty = browser
        .text(&test_id_selector("state-empty"))
        .await
        .unwrap();
    assert!(empty.contains("Choose recorded demand"), "{empty}");
    let against = browser.text(&test_id_selector("against")).await.unwrap();
    assert!(against.contains("There is no draft"), "{against}");
    browser.press_id("over-trace").await.unwrap();
    faults_are_told_with_their_line(&browser).await;

    choose_file(&browser, "demand.csv", &trace()).await;
    let words = browser
        .text(&test_id_selector("trace-words"))
        .await
        .unwrap();
    assert!(
        words.contains("demand.csv: 180 requests of 3 tenants"),
        "{words}"
    );
    let present = answered(&site, &everything()).await;
    let now = format!(
        "the policy in force {}",
        sums(&present, "present", ["admits", "denies"])
    );
    let alone = told(&browser, &format!("{now}.")).await;
    println!("{alone}");
    let columns = ["Tenant", "Rule", "Asked, units", "Admitted", "Denied"];
    assert_eq!(headings(&browser).await, columns, "of one policy alone");
    the_table_fits(&browser).await;

    widen_the_budget(&browser).await;
    go_to(&browser, "simulator").await;
    let against = browser.text(&test_id_selector("against")).await.unwrap();
    assert!(
        against.contains("the draft of this tab, with 1 value changed"),
        "{against}"
    );
    browser.press_id("over-trace").await.unwrap();
    let answer = answered(&site, &candidate()).await;
    let then = sums(&answer, "candidate", ["admit", "deny"]);
    let words = told(&browser, &format!("{now}; the draft would {then}")).await;
    println!("{words}");
    the_lines_are_the_server_s(&browser, &answer).await;
    the_table_fits(&browser).await;
    the_shares_are_told(&browser).await;

    // Another rule to look at stands in the address, and so does what is played.
    browser
        .choose(&test_id_selector("rule"), &format!("budget:{BUDGET}"))
        .await
        .unwrap();
    eventually("the rule in the address", async || {
        let address = browser.address().await.ok()?;
        (address == "/console/simulator?over=trace&rule=budget%3Atokens").then_some(())
    })
    .await;
    let mut faults = String::new();
    look_at(&browser, "simulator of a trace", &mut faults).await;
    assert!(faults.is_empty(), "{faults}");
    browser.screenshot("simulator-of-a-trace").await.unwrap();
    nothing_was_changed(&site).await;
    assert_no_errors(&browser, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_rule_that_is_not_played_is_named_at_the_top() {
    let site = Site::start(&everything()).await;
    let token = site.token("plans", Role::Editor).await.token;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), &token).await;
    let address = format!("/policy?section=limits&name={LIMIT}");
    visit(&browser, &site.origin(), &address, "policy").await;
    let limit = test_id_selector("field-limit");
    browser.fill(&limit, "50").await.unwrap();
    a_valid_draft(&browser).await;
    go_to(&browser, "simulator").await;
    browser.press_id("over-recorded").await.unwrap();
    let said = browser.text(&test_id_selector("unplayed")).await.unwrap();
    let expected =
        format!("Not played, though the draft changes it: limit {LIMIT}. A trace plays limits.");
    assert_eq!(said, expected);
    browser.press_id("over-trace").await.unwrap();
    let gone = browser.wait_gone(&test_id_selector("unplayed")).await;
    gone.expect("a trace plays limits");
    assert_no_errors(&browser, &[]).await;
}

/// Waits until the outcome says something.
async fn told(browser: &Browser, part: &str) -> String {
    eventually(part, async || {
        let words = browser
            .text(&test_id_selector("simulation-words"))
            .await
            .ok()?;
        words.contains(part).then_some(words)
    })
    .await
}

async fn faults_are_told_with_their_line(browser: &Browser) {
    let long = "1,a,budget,tokens\n".repeat(20_001);
    for (text, fault) in [
        (
            "1,a,budget,tokens\n\n1,a,queue,tokens\n",
            "Line 3: kind: \"queue\" is none of budget, limit and meter",
        ),
        (
            "1,a,budget,nope\n",
            "Line 1: budget: \"nope\" is not a known budget",
        ),
        ("", "The file has no request."),
        (long.as_str(), "Line 20,001: at most 20,000 requests"),
    ] {
        choose_file(browser, "faulty.csv", text).await;
        eventually(fault, async || {
            let said = browser.text(&test_id_selector("error-trace")).await.ok()?;
            said.starts_with(fault).then_some(())
        })
        .await;
        let shown = browser
            .has(&test_id_selector("simulation-words"))
            .await
            .unwrap();
        assert!(!shown, "{fault}: something is played");
    }
}

/// The draft doubles the budget, and is not saved.
async fn widen_the_budget(browser: &Browser) {
    go_to(browser, "policy").await;
    browser
        .press(&format!("[data-testid=entry][data-name={BUDGET}] a"))
        .await
        .unwrap();
    let limit = test_id_selector("field-limit");
    browser.fill(&limit, "120").await.unwrap();
    a_valid_draft(browser).await;
}

async fn a_valid_draft(browser: &Browser) {
    eventually("a valid draft", async || {
        let said = browser.text(&test_id_selector("draft")).await.ok()?;
        said.contains("It is valid").then_some(())
    })
    .await;
}

async fn the_lines_are_the_server_s(browser: &Browser, answer: &Value) {
    for tenant in TENANTS {
        let rows = answer["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["tenant"] == tenant).unwrap();
        let units = |side: &str, what: &str| row[side][what].as_u64().unwrap();
        let (now, then) = (
            units("present", "admitted_units"),
            units("candidate", "admitted_units"),
        );
        let (denied_now, denied_then) = (
            units("present", "denied_units"),
            units("candidate", "denied_units"),
        );
        let cells = cells(browser, tenant).await.unwrap();
        let figures = [EACH, now, denied_now, then, denied_then].map(|units| units.to_string());
        assert_eq!(cells[1..6], figures, "{tenant}");
        let change = if then == now {
            "0".to_owned()
        } else {
            format!("+{}", then - now)
        };
        assert_eq!(cells[6], change, "{tenant}");
    }
}

/// The names of the columns of the table.
async fn headings(browser: &Browser) -> Vec<String> {
    let script =
        "return [...document.querySelectorAll('.preview thead th')].map((one) => one.textContent)";
    let told = browser.evaluate(script, vec![]).await.unwrap();
    serde_json::from_value(told).unwrap()
}

/// Nothing of the table is cut off or has to be scrolled to, at any width; nor does the page scroll sideways.
async fn the_table_fits(browser: &Browser) {
    let cut_off = "const table = document.querySelector('.preview');
        const edge = table.closest('.scroll').getBoundingClientRect().right;
        const out = [...table.querySelectorAll('th, td')].filter((cell) =>
            cell.getBoundingClientRect().right > edge + 1 || cell.scrollWidth > cell.clientWidth + 1);
        return out.map((cell) => cell.textContent)";
    for width in [1440, 1280, 1024, 375] {
        browser.resize(width, 900).await.unwrap();
        let out = browser.evaluate(cut_off, vec![]).await.unwrap();
        assert_eq!(out, json!([]), "cut off at {width} px");
        let page = sticking_out(browser).await.unwrap();
        assert!(page.is_empty(), "{width} px: {page:?}");
    }
    browser.resize(WIDE.0, WIDE.1).await.unwrap();
}

/// Both sides are drawn, and say who is limited by its share.
async fn the_shares_are_told(browser: &Browser) {
    for side in ["share-present", "share-candidate"] {
        let words = browser.text(&test_id_selector(side)).await.unwrap();
        println!("{side}: {}", words.replace('\n', " | "));
        assert!(
            words.contains("units per unit of weight over the span"),
            "{words}"
        );
        assert!(words.contains("limited by"), "{words}");
        let drawn = format!("{} [data-testid=water-fill]", test_id_selector(side));
        assert!(browser.has(&drawn).await.unwrap(), "{side} is not drawn");
    }
}

async fn nothing_was_changed(site: &Site) {
    let saved = site.read("/operator/v1/policy").await;
    assert_eq!(saved["budgets"][BUDGET]["limit"], 60, "{saved}");
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_demand_is_played_again_after_a_reload_of_its_address() {
    let site = Site::start(&everything()).await;
    let _traffic = Traffic::of_all_tiers(&site.client);
    let token = site.token("looks-on", Role::Viewer).await.token;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), &token).await;
    let address = "/simulator?over=recorded&range=15m";
    let words = eventually("recorded demand", async || {
        visit(&browser, &site.origin(), address, "simulator").await;
        let words = browser
            .text(&test_id_selector("simulation-words"))
            .await
            .ok()?;
        // Tokens, bytes and requests have no sum.
        (words.contains("Choose a rule") && cells(&browser, "free:flood").await.is_some())
            .then_some(words)
    })
    .await;
    println!("{words}");
    browser.refresh().await.unwrap();
    await_page(&browser, "simulator").await;
    told(&browser, "Choose a rule").await;
    assert!(browser.address().await.unwrap().ends_with(address));
    let of_one_rule = format!("{address}&rule=budget%3A{BUDGET}");
    visit(&browser, &site.origin(), &of_one_rule, "simulator").await;
    told(&browser, "the policy in force admits").await;
    let bounds = browser.text(&test_id_selector("bounds")).await.unwrap();
    assert!(bounds.contains("What a simulation leaves out"), "{bounds}");
    // A span that is not played is refused in words, and nothing is asked of the server.
    visit(
        &browser,
        &site.origin(),
        "/simulator?over=recorded&range=7d",
        "simulator",
    )
    .await;
    let refused = browser.text(&test_id_selector("error-span")).await.unwrap();
    assert_eq!(
        refused,
        "At most 6 h are played at once. Choose a shorter span."
    );
    tokio::time::sleep(Duration::from_millis(500)).await;
    let shown = browser
        .has(&test_id_selector("simulation-words"))
        .await
        .unwrap();
    assert!(!shown, "something is played");
    assert_no_errors(&browser, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_with_a_flaw_is_named_and_not_played() {
    let site = Site::start(&everything()).await;
    let token = site.token("plans", Role::Editor).await.token;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), &token).await;
    visit(
        &browser,
        &site.origin(),
        "/policy?section=budgets&name=tokens",
        "policy",
    )
    .await;
    browser
        .fill(&test_id_selector("field-limit"), "0")
        .await
        .unwrap();
    browser.find_id("flaw").await.unwrap();
    go_to(&browser, "simulator").await;
    browser.press_id("over-recorded").await.unwrap();
    let flaw = browser.text(&test_id_selector("draft-flaw")).await.unwrap();
    assert!(
        flaw.contains("limit") && flaw.contains("cannot be played"),
        "{flaw}"
    );
    assert!(
        !browser
            .has(&test_id_selector("simulation-words"))
            .await
            .unwrap()
    );
    assert_no_errors(&browser, &[]).await;
}
