//! The list: its filters, and a window of rows that scrolls through all of them.

use leptos::ev;
use leptos::html::Div;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;

use super::feed::Feed;
use super::filters::{AskTenants, Filters};
use super::head::Head;
use super::rows::Row;
use crate::address::Page;
use crate::api::Client;
use crate::components::notice::{Notice, Severity};
use crate::components::states::States;
use crate::context::Console;
use crate::features::tenants::model::busiest::busiest;
use crate::features::tenants::model::query::{TenantsQuery, change_said};
use crate::features::tenants::model::virtual_rows::{Slice, VirtualRows, moved, row_height_px};
use crate::fetched::{Follow, fetched};
use crate::format;
use crate::query_address::{use_ask, use_asked};

/// Height of a row, as the style sheet has it where rows are no cards.
const ROW_PX: f64 = 34.0;

/// Height of a line of a name where rows are cards, as the style sheet has it.
const NAME_LINE_PX: i32 = 22;

/// Lines that a name has there at least.
const NAME_LINES_MIN: i32 = 2;

/// Rows that are kept beyond the window on either side.
const OVERSCAN: usize = 8;

/// Height that is assumed until the window is measured.
const VIEWPORT_PX: f64 = 700.0;

/// The list, with everything around it.
#[component]
pub fn TenantList() -> impl IntoView {
    let query = use_asked(TenantsQuery::parse);
    let ask = use_ask(&Page::Tenants, TenantsQuery::to_query_string);
    let policy = fetched(|| Client.policy(), Follow::Once);
    // Units of different things do not add up: figures are of one budget, the busiest where none is chosen.
    let counted = fetched(|| Client.budgets(), Follow::Once);
    let first = Memo::new(move |_| {
        counted
            .value
            .with(|reply| busiest(&reply.as_ref()?.budgets))
    });
    let asked = Memo::new(move |_| {
        let asked = query.get();
        TenantsQuery {
            budget: asked.budget.clone().or_else(|| first.get()),
            ..asked
        }
    });
    let feed = Feed::start(asked);
    let names = move |of: fn(&weir_shared::wire::policy::PolicyDocument) -> Vec<String>| {
        Signal::derive(move || {
            let policy = policy.value.get();
            policy.map(|policy| of(&policy.body)).unwrap_or_default()
        })
    };
    let tiers = names(|policy| policy.tiers.keys().cloned().collect());
    let budgets = names(|policy| policy.budgets.keys().cloned().collect());
    let total = Memo::new(move |_| feed.rows.with(|rows| rows.total()));
    announce(feed, query, total);
    let ready = Signal::derive(move || total.get().is_some());
    let retry = Callback::new(move |()| feed.refresh());
    let old = move || feed.rows.with(|rows| rows.order_is_old());
    let found = move || total.get().map(|total| format::counted(total, "tenant"));
    view! {
        <Filters query ask tiers budgets/>
        <div class="list-head">
            <p class="muted" data-testid="found">{found}</p>
            {move || feed.rows.with(|rows| rows.budget().map(|budget| view! {
                <p class="muted">{format!("Figures of budget {budget}, since counting began")}</p>
            }))}
            <a class="button" href=move || asked.with(|asked| asked.ask().csv_address()) rel="external" download data-testid="tenants-csv">
                "Export CSV"
            </a>
            {move || feed.busy.get().then(|| view! {
                <p class="muted">"Order held while you are in the table"</p>
            })}
            {move || old().then(|| view! {
                <button type="button" data-testid="update-order" on:click=move |_| feed.update_order()>
                    "Update order"
                </button>
            })}
        </div>
        {move || (!feed.unreachable.with(Vec::is_empty)).then(|| view! {
            <Notice
                severity=Severity::Warning
                title=format!("Out of reach: {}.", feed.unreachable.get().join(", "))
                detail="The ledger there does not answer. All figures lack it; what it counts is not lost."
                testid="out-of-reach"
            />
        })}
        <States ready=ready error=feed.error retry>
            {move || if total.get() == Some(0) {
                view! { <Nobody query ask/> }.into_any()
            } else {
                view! { <Table query ask feed total first/> }.into_any()
            }}
        </States>
    }
}

/// Says what a search, a filter or a sort did, once it is answered.
fn announce(feed: Feed, query: Memo<TenantsQuery>, total: Memo<Option<usize>>) {
    let console = expect_context::<Console>();
    let answered = StoredValue::new(query.get_untracked());
    Effect::new(move |_| {
        if feed.fresh.get()
            && let Some(total) = total.get_untracked()
        {
            let now = query.get_untracked();
            let before = answered.get_value();
            if let Some(said) = change_said(&before, &now, total) {
                console.announcer.say(said);
            }
            answered.set_value(now);
        }
    });
}

#[component]
fn Table(
    query: Memo<TenantsQuery>,
    ask: AskTenants,
    feed: Feed,
    total: Memo<Option<usize>>,
    first: Memo<Option<String>>,
) -> impl IntoView {
    let scroller = NodeRef::<Div>::new();
    let scroll_px = RwSignal::new(0.0);
    let viewport_px = RwSignal::new(VIEWPORT_PX);
    let focused = RwSignal::new(0_usize);
    let row_px = RwSignal::new(ROW_PX);
    let name_lines = RwSignal::new(NAME_LINES_MIN);
    let measure = move || {
        if let Some(scroller) = scroller.try_get_untracked().flatten() {
            // All cards have one height: that of the longest name that was shown.
            if let Some(lines) = longest_name(&scroller)
                && lines > name_lines.get_untracked()
            {
                name_lines.set(lines);
            }
            // On a telephone a row is a card.
            let row = scroller.query_selector("tbody tr:not(.space)").ok();
            let row = row.flatten();
            let row = row.and_then(|row| row.dyn_into::<web_sys::HtmlElement>().ok());
            let shown_px = row.map(|row| f64::from(row.offset_height()));
            row_px.set(row_height_px(shown_px, ROW_PX));
            viewport_px.set(f64::from(scroller.client_height()).max(ROW_PX));
            scroll_px.set(f64::from(scroller.scroll_top()));
        }
    };
    let resized = window_event_listener(ev::resize, move |_| measure());
    on_cleanup(move || resized.remove());
    Effect::new(move |_| {
        scroller.track();
        measure();
    });
    // Names come after their rows, and a longer one makes rows higher.
    Effect::new(move |_| {
        feed.rows.track();
        name_lines.track();
        request_animation_frame(measure);
    });
    let rows = Memo::new(move |_| VirtualRows {
        total: total.get().unwrap_or(0),
        row_px: row_px.get(),
        viewport_px: viewport_px.get(),
        overscan: OVERSCAN,
    });
    let slice: Memo<Slice> = Memo::new(move |_| rows.get().slice(scroll_px.get()));
    let shown = Memo::new(move |_| slice.with(|slice| slice.rows.clone()));
    Effect::new(move |_| feed.visible.set(shown.get()));
    // Another question starts at the top.
    Effect::new(move |before: Option<TenantsQuery>| {
        let asked = query.get();
        if before.is_some_and(|before| before != asked)
            && let Some(scroller) = scroller.get_untracked()
        {
            scroller.set_scroll_top(0);
            focused.set(0);
        }
        asked
    });
    let keydown = move |event: ev::KeyboardEvent| {
        let plain = !event.ctrl_key() && !event.meta_key() && !event.alt_key();
        let list = rows.get_untracked();
        let from = focused.get_untracked();
        if let Some(to) = moved(&event.key(), from, &list).filter(|_| plain) {
            event.prevent_default();
            if let (Some(scroller), Some(to_px)) = (
                scroller.get_untracked(),
                list.reveal(to, scroll_px.get_untracked()),
            ) {
                scroller.set_scroll_top(to_px.round() as i32);
                scroll_px.set(to_px);
            }
            focused.set(to);
            focus_row(to);
        }
    };
    let chosen = Signal::derive(move || {
        query.with(|query| query.budget.is_some()) || first.with(Option::is_some)
    });
    let count = move || (total.get().unwrap_or(0) + 1).to_string();
    let space = move |of: fn(&Slice) -> f64| {
        let px = move || format!("{}px", slice.with(of));
        let hidden = move || slice.with(|slice| of(slice) <= 0.0);
        view! { <tr class="space" aria-hidden="true" hidden=hidden><td colspan="8" style:height=px></td></tr> }
    };
    view! {
        <div
            class="list-scroller"
            style:--name-lines=move || name_lines.get().to_string()
            role="region"
            aria-label="Tenants"
            tabindex="0"
            data-testid="scroller"
            node_ref=scroller
            on:scroll=move |_| measure()
            on:pointerenter=move |_| feed.busy.set(true)
            on:pointerleave=move |_| feed.busy.set(false)
            on:focusin=move |_| feed.busy.set(true)
            on:focusout=move |_| feed.busy.set(false)
        >
            <table class="list" aria-rowcount=count aria-busy=move || (!feed.fresh.get()).to_string()>
                <Head query ask/>
                <tbody on:keydown=keydown>
                    {space(|slice| slice.top_px)}
                    <For each=move || shown.get() key=|index| *index let:index>
                        <Row index feed chosen focused/>
                    </For>
                    {space(|slice| slice.bottom_px)}
                </tbody>
            </table>
        </div>
    }
}

/// Lines of the longest name on the page, were they all as high as those of cards.
fn longest_name(scroller: &web_sys::Element) -> Option<i32> {
    let names = scroller.query_selector_all(".name a").ok()?;
    let names = (0..names.length()).filter_map(|place| names.item(place));
    let names = names.filter_map(|name| name.dyn_into::<web_sys::Element>().ok());
    let heights = names.map(|name| (name.scroll_height() + NAME_LINE_PX - 1) / NAME_LINE_PX);
    heights.max()
}

/// Puts the focus on a row, once it is on the page.
fn focus_row(index: usize) {
    request_animation_frame(move || {
        let selector = format!("a[data-row=\"{index}\"]");
        let found = document().query_selector(&selector).ok().flatten();
        if let Some(link) = found.and_then(|link| link.dyn_into::<web_sys::HtmlElement>().ok()) {
            let _ = link.focus();
        }
    });
}

/// Nobody matches, or nobody was seen: what would fill the list.
#[component]
fn Nobody(query: Memo<TenantsQuery>, ask: AskTenants) -> impl IntoView {
    let filtered = move || query.with(TenantsQuery::filters);
    let clear = move |_| {
        let mut wanted = query.get_untracked();
        wanted.clear_filters();
        ask.run((wanted, true));
    };
    view! {
        <div class="state" data-testid="state-empty">
            {move || if filtered() {
                view! {
                    <p>{format!("No tenant matches: {}.", query.with(TenantsQuery::in_words))}</p>
                    <button type="button" data-testid="clear-filters" on:click=clear>"Clear the filters"</button>
                }.into_any()
            } else {
                view! {
                    <p>
                        "The policy names no tenant, and none has asked yet. A tenant appears here within seconds of its \
                         first check, or once the policy names it."
                    </p>
                }.into_any()
            }}
        </div>
    }
}
