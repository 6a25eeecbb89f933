//! The main thread is never busy for long, with as many tenants as a policy may name.

use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::browser::{Browser, Task, test_id_selector};
use weir_tests::workerd::TOKEN;

use crate::console::site::{MANY, Site, many, nth};
use crate::console::traffic::Traffic;
use crate::console::{await_live, await_page, eventually, go_to, log_in, visit};

/// What is felt as a hitch.
pub(crate) const LONGEST: Duration = Duration::from_millis(100);

/// The task on which the main thread worked longest. Time in which another program had the processor is not the
/// page's doing, and does not count.
pub(crate) fn longest<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Option<&'a Task> {
    tasks.into_iter().max_by_key(|task| task.worked)
}

/// The control: work whose amount is known, and what a quiet machine needs for it.
const KNOWN_WORK: &str = "let x = 0;
    for (let i = 0; i < 50e6; i += 1) { x = (Math.imul(x, 31) + i) | 0; }
    return x;";
const KNOWN_WORK_TAKES: Duration = Duration::from_millis(60);

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_tenants_live_are_smooth_to_scroll_sort_search_and_open() {
    let site = Site::start(&many()).await;
    let busy: Vec<String> = (0..40).map(|index| nth(index * 250)).collect();
    let busy: Vec<&str> = busy.iter().map(String::as_str).collect();
    let _traffic = Traffic::start(&site.client, &busy, 30, 1);
    let browser = Browser::start_traced().await.expect("the browser starts");
    log_in(&browser, &site.origin(), TOKEN).await;
    visit(&browser, &site.origin(), "/tenants?sort=tenant", "tenants").await;
    await_live(&browser, "live").await;
    browser.find(&row(&nth(0))).await.unwrap();
    let rows = row_count(&browser).await;
    assert!(rows >= MANY as u64, "{rows} rows");

    control(&browser).await;
    browser.phase("live").await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    browser.phase("scroll").await.unwrap();
    scroll_through(&browser).await;
    browser.find(&row(&nth(MANY - 1))).await.unwrap();
    browser.phase("sort").await.unwrap();
    for key in ["sort-denied_calls", "sort-weight", "sort-tenant"] {
        browser.press_id(key).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    browser.phase("search").await.unwrap();
    let wanted = nth(7_777);
    browser
        .fill(&test_id_selector("search"), &wanted)
        .await
        .unwrap();
    eventually("the one row that was searched for", async || {
        (shown_rows(&browser).await == [wanted.as_str()]).then_some(())
    })
    .await;
    control(&browser).await;
    browser.phase("open").await.unwrap();
    browser.press(&format!("{} a", row(&wanted))).await.unwrap();
    await_page(&browser, "tenant").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    browser.phase("policy").await.unwrap();
    go_to(&browser, "policy").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    browser.phase("draft").await.unwrap();
    browser
        .press("[data-testid=entry][data-name=tokens] a")
        .await
        .unwrap();
    browser
        .fill(&test_id_selector("field-limit"), "25000")
        .await
        .unwrap();
    browser.find_id("draft").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    control(&browser).await;

    let tasks = browser.tasks(Duration::from_millis(1)).await.unwrap();
    // How fast a busy machine is changes meanwhile.
    let control = longest(tasks.iter().filter(|task| task.phase == "control"));
    let control = control.expect("the control is in the trace").worked;
    let slower = control.as_secs_f64() / KNOWN_WORK_TAKES.as_secs_f64();
    let most = LONGEST.mul_f64(slower.max(1.0));
    println!("the control worked {control:?}: at most {most:?}");
    for phase in [
        "live", "scroll", "sort", "search", "open", "policy", "draft",
    ] {
        let of_phase = tasks.iter().filter(|task| task.phase == phase);
        let count = of_phase.clone().count();
        let longest = longest(of_phase).unwrap_or_else(|| panic!("the trace has no {phase}"));
        println!(
            "{phase}: {count} tasks above 1 ms; the longest worked {:?} within {:?}: {}",
            longest.worked, longest.wall, longest.within
        );
        assert!(longest.worked <= most, "{phase}: {longest:?}");
    }
}

/// Does the known work.
async fn control(browser: &Browser) {
    browser.phase("control").await.unwrap();
    browser.evaluate(KNOWN_WORK, vec![]).await.unwrap();
}

/// Fast and then in jumps, a frame a step, to the last row.
async fn scroll_through(browser: &Browser) {
    let script = r#"
const box = document.querySelector("[data-testid=scroller]");
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
return (async () => {
  const height = box.scrollHeight - box.clientHeight;
  for (let step = 0; step < 60; step += 1) { box.scrollTop += 150; await frame(); }
  for (let step = 1; step <= 60; step += 1) { box.scrollTop = height * step / 60; await frame(); }
  return [height, box.scrollTop];
})();
"#;
    let moved = browser.evaluate(script, vec![]).await.unwrap();
    let height = moved[0].as_f64().unwrap();
    assert!(height > 20.0 * MANY as f64, "{height} px are too few");
    assert!(moved[1].as_f64().unwrap() > height - 2.0, "{moved}");
}

async fn row_count(browser: &Browser) -> u64 {
    let script = "return document.querySelector('[aria-rowcount]').getAttribute('aria-rowcount')";
    let count = browser.evaluate(script, vec![]).await.unwrap();
    count.as_str().unwrap().parse().unwrap()
}

async fn shown_rows(browser: &Browser) -> Vec<String> {
    let script = "return [...document.querySelectorAll('[data-testid=tenant-row]')].map((row) => row.dataset.tenant)";
    let rows = browser.evaluate(script, vec![]).await.unwrap();
    serde_json::from_value::<Vec<Value>>(rows)
        .unwrap()
        .into_iter()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

/// The row of a tenant.
pub(crate) fn row(tenant: &str) -> String {
    format!("[data-testid=tenant-row][data-tenant={}]", json!(tenant))
}
