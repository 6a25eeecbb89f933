//! One window: what became of it, and who has what of it.

use leptos::prelude::*;
use weir_shared::wire::windows::WindowRecord;

use super::portions::Portions;
use super::water_fill::WaterFillDrawing;
use crate::components::time::{Age, Time};
use crate::features::budget::model::water_fill::WaterFill;
use crate::format;

/// The window's record, drawn and in figures.
#[component]
pub fn Window(
    /// The record; without one nothing is shown.
    record: Memo<Option<WindowRecord>>,
    /// Whether it is not over yet.
    #[prop(into)]
    open: Signal<bool>,
) -> impl IntoView {
    let fill = Memo::new(move |_| {
        record.with(|record| record.as_ref().map(WaterFill::of).unwrap_or_default())
    });
    let words = Signal::derive(move || {
        let limit = record.with(|record| record.as_ref().map_or(0, |record| record.limit));
        fill.with(|fill| fill.words(limit, open.get()))
    });
    let reserved = Signal::derive(move || {
        if open.get() {
            "still guaranteed"
        } else {
            "not used"
        }
    });
    let drawn = Memo::new(move |_| fill.with(|fill| !fill.vessels.is_empty()));
    let undrawn = Memo::new(move |_| fill.with(|fill| fill.portions.len() - fill.vessels.len()));
    view! {
        {move || record.get().map(|record| view! { <Figures record open=open.get()/> })}
        <p class="said" data-testid="window-words">{words}</p>
        {move || drawn.get().then(|| view! {
            <WaterFillDrawing fill words reserved/>
            {move || (undrawn.get() > 0).then(|| view! {
                <p class="muted note">{format!(
                    "Drawn are the {} that used or asked for most; the table has the rest.",
                    fill.with(|fill| fill.vessels.len())
                )}</p>
            })}
            <Portions fill reserved/>
        })}
    }
}

/// What became of its units.
#[component]
fn Figures(record: WindowRecord, open: bool) -> impl IntoView {
    let fact = |name: &'static str, testid: &'static str, value: String| {
        view! { <div><dt>{name}</dt><dd data-testid=testid>{value}</dd></div> }
    };
    let ends_at = Signal::stored(record.ends_at.0);
    let state = match (open, record.complete) {
        (true, _) => view! { "open, ends "<Age at=ends_at/> }.into_any(),
        (false, true) => view! { "ended "<Time at=ends_at/> }.into_any(),
        (false, false) => view! { "ended "<Time at=ends_at/>", not all is told yet" }.into_any(),
    };
    let lent = match (record.granted, record.exact) {
        (None, _) => "known when the window ends".to_owned(),
        (Some(granted), true) => units(granted.0),
        (Some(granted), false) => format!("at most {}", units(granted.0)),
    };
    let unaccounted = record
        .unaccounted
        .map_or_else(|| format::UNKNOWN.to_owned(), |count| units(count.0));
    view! {
        <dl class="facts">
            {fact("Window", "window-label", record.label.0.to_string())}
            {record.region.clone().map(|region| fact("Region", "window-region", region))}
            <div><dt class="unseen">"State"</dt><dd data-testid="window-state">{state}</dd></div>
            {fact("Limit", "window-limit", units(record.limit.into()))}
            {fact("Lent", "window-granted", lent)}
            {fact("Admitted", "window-admitted", units(record.admitted.0))}
            {fact("Returned", "window-returned", units(record.returned.0))}
            {fact("Unaccounted", "window-unaccounted", unaccounted)}
            {fact("Denied", "window-denied", units(record.denied.0))}
            {fact("Jain's index", "window-jain", format::index(record.jain.map(|jain| jain.0)))}
        </dl>
    }
}

fn units(count: u128) -> String {
    format!("{} units", format::count(count))
}
