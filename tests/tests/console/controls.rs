//! The controls: what the other tests look for is found where it is.

use std::time::Duration;

use serde_json::json;
use weir_tests::accessibility::{axe, small_controls, sticking_out};
use weir_tests::browser::{Browser, Key};

use crate::console::NARROW;
use crate::console::smoothness::{LONGEST, longest};

/// A page with one fault of each kind, and beside each what looks alike and is none.
const FAULTY: &str = r##"data:text/html,<!doctype html><html><head><title>Faulty</title></head><body><main><h1>Faulty</h1>
<p style="color:%23aaa;background:%23fff">Too pale</p><p style="color:%23333;background:%23fff">Dark enough</p>
<input id="nameless"><label>Named <input></label>
<div><button id="small" style="width:20px;height:20px;padding:0;border:0">x</button><button style="width:20px;height:20px;padding:0;border:0">z</button></div>
<button id="large" style="width:24px;height:24px;padding:0;border:0">y</button>
<p>A link <a id="in-text" href="%23">in a text</a>.</p><p><a id="alone" href="%23" style="font-size:10px">alone</a></p>
<label style="display:inline-block;min-height:24px;min-width:24px"><input id="labelled" type="checkbox" style="width:13px;height:13px">All</label>
<div id="wide" style="width:2000px">wide</div></main></body></html>"##;

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_a_page_are_found_and_nothing_else_is() {
    let browser = Browser::start().await.expect("the browser starts");
    browser.open(FAULTY).await.unwrap();
    let found = axe(&browser).await.unwrap();
    let rules: Vec<&str> = found
        .violations
        .iter()
        .map(|violation| violation.rule.as_str())
        .collect();
    // The page has no language, one text too pale, one field without a name, and two buttons too small and too close.
    for rule in ["html-has-lang", "color-contrast", "label", "target-size"] {
        assert!(rules.contains(&rule), "{rule} is not among {rules:?}");
    }
    assert_eq!(rules.len(), 4, "{rules:?}");
    assert!(found.rules > rules.len());
    for violation in &found.violations {
        let expected = if violation.rule == "target-size" {
            2
        } else {
            1
        };
        assert_eq!(violation.nodes.len(), expected, "{violation}");
    }

    let small = small_controls(&browser).await.unwrap();
    let of = |id: &str| small.iter().any(|control| control.contains(id));
    for (id, is_small) in [
        ("small", true),
        ("nameless", true),
        ("alone", true),
        ("large", false),
        ("in-text", false),
        ("labelled", false),
    ] {
        assert_eq!(of(&format!("id=\"{id}\"")), is_small, "{id}: {small:#?}");
    }

    browser.resize(NARROW.0, NARROW.1).await.unwrap();
    let wide = sticking_out(&browser).await.unwrap();
    assert!(wide.iter().any(|part| part.contains("wide")), "{wide:?}");
    browser
        .evaluate("document.getElementById('wide').remove()", vec![])
        .await
        .unwrap();
    let wide = sticking_out(&browser).await.unwrap();
    assert!(wide.is_empty(), "{wide:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_main_thread_is_seen_in_the_trace() {
    let browser = Browser::start_traced().await.expect("the browser starts");
    browser
        .open("data:text/html,<title>Blocked</title><h1>Blocked</h1>")
        .await
        .unwrap();
    // By work and not by the clock: a busy machine would share the time with others.
    let block = "const [rounds, wait] = arguments;
        setTimeout(() => { let sum = 0; for (let at = 0; at < rounds; at += 1) sum += Math.sqrt(at); window.sum = sum; }, 0);
        return new Promise((done) => setTimeout(done, wait));";
    for (phase, rounds) in [("idle", 1), ("blocked", 400_000_000)] {
        browser.phase(phase).await.unwrap();
        browser
            .evaluate(block, vec![json!(rounds), json!(300)])
            .await
            .unwrap();
    }
    let tasks = browser.tasks(Duration::from_millis(1)).await.unwrap();
    let of = |phase: &str| {
        let found = longest(tasks.iter().filter(|task| task.phase == phase));
        found.map_or(Duration::ZERO, |task| task.worked)
    };
    println!("idle {:?}, blocked {:?}", of("idle"), of("blocked"));
    assert!(of("blocked") > LONGEST, "{tasks:#?}");
    assert!(of("idle") < LONGEST / 2, "{tasks:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_go_where_the_focus_is() {
    let browser = Browser::start().await.expect("the browser starts");
    let page = "data:text/html,<title>Keys</title><input data-testid=one><input data-testid=two>";
    browser.open(page).await.unwrap();
    browser.key(Key::Tab).await.unwrap();
    assert_eq!(browser.focused().await.unwrap(), "one");
    browser.type_text("abc").await.unwrap();
    browser.key(Key::Tab).await.unwrap();
    assert_eq!(browser.focused().await.unwrap(), "two");
    browser.key(Key::BackTab).await.unwrap();
    browser.key(Key::SelectAll).await.unwrap();
    browser.key(Key::Delete).await.unwrap();
    browser.type_text("D").await.unwrap();
    let text = browser
        .evaluate("return document.activeElement.value", vec![])
        .await
        .unwrap();
    assert_eq!(text, "D");
}
