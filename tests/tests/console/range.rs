//! One range governs a tenant's page: the chart, its lines, the totals and the file follow it, and the address has it.

use serde_json::{Value, json};
use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::workerd::TOKEN;

use crate::console::site::{Site, everything};
use crate::console::traffic::Traffic;
use crate::console::{assert_no_errors, await_page, eventually, log_in, visit};

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_s_figures_stand_beside_its_claims_in_one_range() {
    // What others leave is lent bit by bit: with pinned guarantees nobody borrows.
    let mut document = everything();
    document["budgets"]["tokens"]["reserve"] = json!("paced");
    let site = Site::start(&document).await;
    let flood = Traffic::of_budget(&site.client, "free:flood", 10, 5);
    let _other = Traffic::of_budget(&site.client, "pro:hooli", 2, 1);
    tokio::time::sleep(std::time::Duration::from_secs(12)).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    visit(
        &browser,
        &site.origin(),
        "/tenant?name=free%3Aflood&what=budget%3Atokens",
        "tenant",
    )
    .await;
    let key = eventually("the lines of its claims", async || {
        let key = browser.text("[data-testid=series-chart] .key").await.ok()?;
        let all = [
            "Within its share",
            "Borrowed",
            "Denied",
            "Guarantee now",
            "Fair share",
        ];
        all.iter().all(|name| key.contains(name)).then_some(key)
    })
    .await;
    println!("the chart's key: {}", key.replace('\n', " | "));
    let beside = eventually("what it got beside its fair share", async || {
        browser.text(&test_id_selector("beside")).await.ok()
    })
    .await;
    assert!(
        beside.starts_with("Last hour, all regions: ")
            && beside.contains(" units admitted. Of these, "),
        "{beside}"
    );
    // The sentence and the table are of one period, and of one answer.
    let script = "return [
        document.querySelector('[data-testid=beside]').textContent.split(': ')[1].split(' ')[0],
        document.querySelector(\"[data-testid=range-totals] [data-what='budget:tokens'] .figure\").textContent,
    ]";
    eventually(
        "the same figure in the sentence and in the table",
        async || {
            let told: Value = browser.evaluate(script, vec![]).await.ok()?;
            (told[0] == told[1]).then_some(())
        },
    )
    .await;
    assert_eq!(pickers(&browser).await, 1, "one range governs the page");
    let heading = browser.text("[data-testid=range-totals] h2").await.unwrap();
    assert_eq!(heading, "In this range: Last hour, all regions");
    browser
        .choose(&test_id_selector("range"), "6h")
        .await
        .unwrap();
    await_page(&browser, "tenant").await;
    eventually("the period of the totals", async || {
        let heading = browser.text("[data-testid=range-totals] h2").await.ok()?;
        (heading == "In this range: Last 6 hours, all regions").then_some(())
    })
    .await;
    assert!(browser.address().await.unwrap().contains("range=6h"));
    // What is denied in the range is what the table of all says, as all of it is in the range. Both are read every five seconds,
    // and not at once.
    drop(flood);
    let script = "return ['range-totals', 'totals'].map(id => {
        const row = document.querySelector(`[data-testid=${id}] [data-what='budget:tokens']`);
        return row && Number(row.querySelectorAll('.figure')[id === 'totals' ? 3 : 1].textContent.replaceAll(',', ''));
    })";
    eventually("the same figure in both tables", async || {
        let told: Value = browser.evaluate(script, vec![]).await.ok()?;
        let (range, all) = (told[0].as_f64()?, told[1].as_f64()?);
        (range == all && all > 0.0).then_some(())
    })
    .await;
    // The file says whose it is, and has what was counted beside the lines of the chart.
    browser
        .evaluate(
            "document.querySelector('[data-testid=chart-table] summary').click()",
            vec![],
        )
        .await
        .unwrap();
    browser.find_id("chart-csv").await.unwrap();
    let script = "const link = document.querySelector('[data-testid=chart-csv]');
        return [link.download, decodeURIComponent(link.href.split(',').slice(1).join(','))]";
    let told = browser.evaluate(script, vec![]).await.unwrap();
    assert_eq!(told[0], json!("free-flood-tokens-6h.csv"));
    let file = told[1].as_str().unwrap();
    let (head, rows) = file.split_once('\n').unwrap();
    assert!(
        head.starts_with("time,tenant,budget,region,\"Admitted, units\",\"Denied, units\"")
            && head.contains("\"Within its share, units/s\",\"Borrowed, units/s\""),
        "{head}"
    );
    let of = ",\"free:flood\",\"tokens\",\"all\",";
    assert!(rows.lines().all(|row| row.contains(of)), "{rows}");
    visit(
        &browser,
        &site.origin(),
        "/tenant?name=free%3Aflood&tab=why&range=24h",
        "tenant",
    )
    .await;
    assert_eq!(pickers(&browser).await, 1);
    assert_no_errors(&browser, &[]).await;
}

async fn pickers(browser: &Browser) -> u64 {
    let script = "return document.querySelectorAll(arguments[0]).length";
    let found = browser
        .evaluate(script, vec![json!(test_id_selector("range"))])
        .await
        .unwrap();
    found.as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_has_a_page_with_its_name_in_full_and_what_it_holds() {
    let site = Site::start(&everything()).await;
    let _traffic = Traffic::of_budget(&site.client, "pro:hooli", 5, 2);
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    visit(&browser, &site.origin(), "/regions/weur", "region").await;
    assert_eq!(browser.text("h1").await.unwrap(), "Western Europe (weur)");
    eventually("what it holds", async || {
        browser
            .has("[data-testid=held-row][data-budget=tokens]")
            .await
            .ok()?
            .then_some(())
    })
    .await;
    visit(&browser, &site.origin(), "/regions/nowhere", "region").await;
    let said = browser
        .text(&test_id_selector("state-empty"))
        .await
        .unwrap();
    assert!(said.contains("no region nowhere"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_stand_together_in_the_log_and_changes_alone() {
    let site = Site::start(&everything()).await;
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    for _ in 0..3 {
        site.client.anonymous().log_in(TOKEN).await.unwrap();
    }
    site.patch("pro:hooli", &json!({ "weight": 5 })).await;
    for _ in 0..2 {
        site.client.anonymous().log_in(TOKEN).await.unwrap();
    }
    visit(&browser, &site.origin(), "/activity", "activity").await;
    let shown = async |selector: &str| {
        let script = "return document.querySelectorAll(arguments[0]).length";
        let found = browser
            .evaluate(script, vec![json!(selector)])
            .await
            .unwrap();
        found.as_u64().unwrap()
    };
    assert_eq!(
        shown("[data-action='session.open']").await,
        0,
        "they are folded"
    );
    eventually("both kinds of them", async || {
        (shown("[data-testid=routine]").await >= 2).then_some(())
    })
    .await;
    assert_eq!(shown("[data-action='tenant.patch']").await, 1);
    browser.press_id("open-routine").await.unwrap();
    eventually("the logins", async || {
        (shown("[data-action='session.open']").await >= 2).then_some(())
    })
    .await;
    visit(
        &browser,
        &site.origin(),
        "/activity?action=session.open",
        "activity",
    )
    .await;
    eventually("who asks for them sees them", async || {
        (shown("[data-action='session.open']").await >= 5).then_some(())
    })
    .await;
}
