//! The components, in a browser.
#![cfg(target_arch = "wasm32")]

mod support;

use std::sync::Arc;

use leptos::prelude::*;
use support::{Mounted, overview, settle};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use weir_console::app::App;
use weir_console::components::announcer::{Announcer, AnnouncerRegion};
use weir_console::components::live_control::LiveControl;
use weir_console::components::login_form::LoginForm;
use weir_console::components::regions::Regions;
use weir_console::components::tenants::Tenants;
use weir_console::components::totals::Totals;
use weir_console::live::{LiveState, Phase};
use weir_console::overview::Overview;
use weir_console::session::LoginError;
use weir_console::table::query::TableQuery;
use weir_shared::wire::accounting::{ANONYMOUS, OTHERS};

wasm_bindgen_test_configure!(run_in_browser);

struct Table {
    page: Mounted,
    figures: RwSignal<Arc<Overview>>,
    query: RwSignal<TableQuery>,
    // Dropped last: it owns the signals.
    _owner: Owner,
}

async fn table() -> Table {
    let owner = Owner::new();
    owner.set();
    let (figures, query) = (
        RwSignal::new(overview(100)),
        RwSignal::new(TableQuery::default()),
    );
    let announcer = Announcer::new();
    let page = Mounted::new(move || {
        view! { <AnnouncerRegion announcer/><Tenants overview=figures query announcer/> }
    })
    .await;
    Table {
        page,
        figures,
        query,
        _owner: owner,
    }
}

impl Table {
    fn rows(&self) -> Vec<String> {
        self.page
            .attributes("[data-testid=tenant-row]", "data-tenant")
    }
}

#[wasm_bindgen_test]
async fn the_table_shows_every_tenant_with_its_figures() {
    let table = table().await;
    assert_eq!(table.rows(), [OTHERS, "acme", "flood", "others", ANONYMOUS]);
    let flood = "[data-tenant=flood]";
    for (cell, text, value) in [
        ("admitted-calls", "600", "600"),
        ("admitted-units", "6,000", "6000"),
        ("denied-calls", "9,999", "9999"),
    ] {
        let css = format!("{flood} [data-testid={cell}]");
        assert_eq!(table.page.text(&css), text);
        assert_eq!(table.page.attributes(&css, "data-value"), [value]);
    }
    assert_eq!(
        table.page.text(&format!("{flood} td:nth-child(6)")),
        "100.0",
        "admitted calls per second"
    );
    assert_eq!(table.page.text(&format!("{flood} .percent")), "15.0%");
    assert_eq!(
        table.page.attributes(&format!("{flood} .part"), "width"),
        ["14.96"]
    );
}

#[wasm_bindgen_test]
async fn who_is_no_single_tenant_looks_different_from_a_tenant_of_that_name() {
    let table = table().await;
    let kinds = table
        .page
        .attributes("[data-testid=tenant-row]", "data-kind");
    assert_eq!(kinds, ["others", "tenant", "tenant", "tenant", "anonymous"]);
    for (kind, label, noted) in [
        ("others", "others", 1),
        ("anonymous", "no tenant", 1),
        ("tenant", "acme", 0),
    ] {
        assert_eq!(
            table.page.text(&format!("[data-kind={kind}] .label")),
            label
        );
        assert_eq!(
            table
                .page
                .all(&format!("[data-kind={kind}] .together-note"))
                .len(),
            noted
        );
    }
}

#[wasm_bindgen_test]
async fn a_press_on_a_heading_sorts() {
    let table = table().await;
    let sorted = |css: &str| {
        table
            .page
            .attributes(&format!("th:has([data-testid=sort-{css}])"), "aria-sort")
    };
    assert_eq!(
        (sorted("admitted_units"), sorted("denied_calls")),
        (vec!["descending".into()], vec!["none".into()])
    );
    table.page.press("[data-testid=sort-denied_calls]").await;
    assert_eq!(
        (sorted("admitted_units"), sorted("denied_calls")),
        (vec!["none".into()], vec!["descending".into()])
    );
    assert_eq!(table.rows(), ["flood", ANONYMOUS, OTHERS, "acme", "others"]);
    assert_eq!(
        table.page.text("[data-testid=announcer]"),
        "Sorted by denied calls, descending."
    );
    table.page.press("[data-testid=sort-denied_calls]").await;
    assert_eq!(sorted("denied_calls"), ["ascending"]);
    assert_eq!(table.rows(), ["acme", "others", OTHERS, ANONYMOUS, "flood"]);
}

#[wasm_bindgen_test]
async fn a_search_leaves_what_matches() {
    let table = table().await;
    table.page.enter("[data-testid=search]", "FREE").await;
    assert_eq!(table.rows(), ["flood", "others"]);
    assert_eq!(table.page.text("[data-testid=found]"), "2 of 5 rows");
    assert_eq!(table.page.text("[data-testid=announcer]"), "2 rows found.");
    assert_eq!(
        table.query.with_untracked(TableQuery::to_query_string),
        "q=FREE"
    );
    table.page.enter("[data-testid=search]", "nobody").await;
    assert!(
        table
            .page
            .text("[data-testid=no-match]")
            .contains("“nobody”")
    );
    table.page.press("[data-testid=no-match] button").await;
    assert_eq!(table.rows().len(), 5);
}

#[wasm_bindgen_test]
async fn a_row_opens_to_its_budgets_and_limits() {
    let table = table().await;
    let toggle = "[data-tenant=flood] button";
    assert_eq!(table.page.attributes(toggle, "aria-expanded"), ["false"]);
    table.page.press(toggle).await;
    assert_eq!(table.page.attributes(toggle, "aria-expanded"), ["true"]);
    assert_eq!(
        table.page.text("[data-budget=tokens] td:nth-child(4)"),
        "6,000"
    );
    assert_eq!(
        table.page.text("[data-limit=per_ip] td:nth-child(2)"),
        "100"
    );
    assert_eq!(
        table.query.with_untracked(TableQuery::to_query_string),
        "open=flood"
    );
    table.page.press(toggle).await;
    assert!(table.page.all("[data-testid=tenant-detail]").is_empty());
}

#[wasm_bindgen_test]
async fn new_figures_change_cells_and_leave_rows_in_place() {
    let table = table().await;
    let row = table.page.one("[data-tenant=acme]");
    table.figures.set(overview(5_000));
    settle().await;
    assert_eq!(
        table
            .page
            .text("[data-tenant=acme] [data-testid=admitted-calls]"),
        "6,000"
    );
    assert!(
        row.is_same_node(Some(&table.page.one("[data-tenant=acme]"))),
        "the row was built anew"
    );
}

#[wasm_bindgen_test]
async fn an_empty_table_says_what_to_do() {
    let table = table().await;
    table.figures.set(Arc::new(Overview::default()));
    settle().await;
    assert!(table.page.text("[data-testid=empty]").contains("/v1/check"));
    assert!(table.page.all("table").is_empty());
}

#[wasm_bindgen_test]
async fn tables_name_their_headings_and_need_no_inline_style() {
    let table = table().await;
    table.page.press("[data-tenant=flood] button").await;
    let headings = table.page.all("th");
    assert!(headings.len() > 20);
    assert!(
        headings
            .iter()
            .all(|heading| heading.has_attribute("scope")),
        "a heading without scope"
    );
    assert_eq!(
        table.page.all("table").len(),
        table.page.all("table > caption").len()
    );
    assert!(
        table.page.all("[style]").is_empty(),
        "the Content-Security-Policy refuses inline styles"
    );
}

#[wasm_bindgen_test]
async fn totals_and_regions_tell_what_is_missing() {
    let owner = Owner::new();
    owner.set();
    let figures = RwSignal::new(overview(0));
    let page =
        Mounted::new(move || view! { <Totals overview=figures/><Regions overview=figures/> }).await;
    assert_eq!(page.text("[data-testid=total-admitted-calls]"), "1,234,567");
    assert_eq!(
        page.attributes("[data-testid=total-denied-units]", "data-value"),
        ["456780"]
    );
    assert!(page.text("[data-region=apac]").contains("out of reach"));
    assert_eq!(page.text("[data-region=apac] td .unseen"), "not known");
    assert_eq!(page.text("[data-region=enam] td:nth-child(5)"), "45,678");
}

#[wasm_bindgen_test]
async fn the_live_state_is_shown_and_can_be_paused() {
    let owner = Owner::new();
    owner.set();
    let state = RwSignal::new(LiveState {
        phase: Phase::Live,
        age_s: None,
    });
    let pressed = RwSignal::new(Vec::new());
    let pause = Callback::new(move |()| pressed.update(|pressed| pressed.push("pause")));
    let resume = Callback::new(move |()| pressed.update(|pressed| pressed.push("resume")));
    let page = Mounted::new(move || view! { <LiveControl state pause resume/> }).await;
    for (phase, age_s, slug, text, button) in [
        (Phase::Live, None, "live", "LivePause", "pause"),
        (
            Phase::Reconnecting,
            Some(75),
            "reconnecting",
            "Reconnectingfigures are 1 min 15 s oldPause",
            "pause",
        ),
        (
            Phase::Paused,
            Some(3),
            "paused",
            "Pausedfigures are 3 s oldResume",
            "resume",
        ),
    ] {
        state.set(LiveState { phase, age_s });
        settle().await;
        assert_eq!(
            page.attributes("[data-testid=live-state]", "data-state"),
            [slug]
        );
        assert_eq!(page.text(".live"), text);
        page.press("[data-testid=live-toggle]").await;
        assert_eq!(pressed.get_untracked().last(), Some(&button));
    }
}

#[wasm_bindgen_test]
async fn a_login_error_is_announced() {
    let owner = Owner::new();
    owner.set();
    let (error, busy, tokens) = (
        RwSignal::new(None),
        RwSignal::new(false),
        RwSignal::new(Vec::new()),
    );
    let log_in =
        Callback::new(move |token| tokens.update(|tokens: &mut Vec<String>| tokens.push(token)));
    let page = Mounted::new(move || view! { <LoginForm log_in error busy/> }).await;
    page.press("[data-testid=login-submit]").await;
    assert_eq!(
        page.text("[role=alert]"),
        "No token. Paste a token to log in."
    );
    assert_eq!(
        page.attributes("[data-testid=login-token]", "aria-invalid"),
        ["true"]
    );
    error.set(Some(LoginError {
        title: "This token is not accepted".into(),
        detail: "It was revoked.".into(),
    }));
    settle().await;
    assert_eq!(
        page.text("[role=alert]"),
        "This token is not accepted. It was revoked."
    );
    page.enter("[data-testid=login-token]", " secret\n").await;
    page.press("[data-testid=login-submit]").await;
    busy.set(true);
    page.press("[data-testid=login-submit]").await;
    assert_eq!(
        tokens.get_untracked(),
        ["secret"],
        "once, trimmed, and not while an attempt is under way"
    );
}

/// The server of the tests has no operator API, which is one more error that the pages must show.
#[wasm_bindgen_test]
async fn pages_show_why_they_cannot_go_on() {
    let history = window().history().unwrap();
    let before = window().location().href().unwrap();
    let goto = |address: &str| {
        history
            .push_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(address))
            .unwrap()
    };
    {
        goto("/console/login?reason=expired");
        let page = Mounted::new(App).await;
        assert_eq!(document().title(), "Log in · Weir");
        assert!(
            page.text("[data-testid=login-reason]")
                .contains("session has ended")
        );
        page.enter("[data-testid=login-token]", "some token").await;
        page.press("[data-testid=login-submit]").await;
        assert!(
            page.said("[data-testid=login-error]")
                .await
                .contains("Status 4")
        );
    }
    {
        goto("/console/");
        let page = Mounted::new(App).await;
        let failure = page.said("[data-testid=failure]").await;
        assert!(
            failure.contains("Status 4") && failure.contains("Try again"),
            "{failure}"
        );
    }
    {
        goto("/console/elsewhere");
        let page = Mounted::new(App).await;
        assert_eq!(page.text("h1"), "Not found");
    }
    goto(&before);
}
