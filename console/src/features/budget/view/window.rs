//! One window: what became of it, and who has what of it.

use leptos::prelude::*;
use weir_shared::wire::windows::WindowRecord;

use super::portions::Portions;
use super::water_fill::WaterFillDrawing;
use crate::components::explain::Explain;
use crate::components::time::{Age, Time};
use crate::features::budget::model::water_fill::WaterFill;
use crate::format;
use crate::glossary::Term;
use crate::region_name::in_full;

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
    let told = Memo::new(move |_| record.with(Option::is_some));
    let drawn = Memo::new(move |_| fill.with(|fill| !fill.vessels.is_empty()));
    let undrawn = Memo::new(move |_| fill.with(|fill| fill.portions.len() - fill.vessels.len()));
    view! {
        {move || told.get().then(|| view! { <Figures record open/> })}
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

/// What became of its units. The words stay while the figures change, so that what explains one stays open.
#[component]
fn Figures(record: Memo<Option<WindowRecord>>, open: Signal<bool>) -> impl IntoView {
    let of = move |value: fn(&WindowRecord) -> String| {
        move || record.with(|record| record.as_ref().map(value).unwrap_or_default())
    };
    let fact = move |name: &'static str,
                     term: Option<Term>,
                     testid: &'static str,
                     value: fn(&WindowRecord) -> String| {
        view! {
            <div>
                <dt>{name}{term.map(|term| view! { <Explain term/> })}</dt>
                <dd data-testid=testid>{of(value)}</dd>
            </div>
        }
    };
    let ends_at = Signal::derive(move || {
        record.with(|record| record.as_ref().map_or(0, |record| record.ends_at.0))
    });
    let complete = Memo::new(move |_| {
        record.with(|record| record.as_ref().is_some_and(|record| record.complete))
    });
    let state = move || match (open.get(), complete.get()) {
        (true, _) => view! { "open, ends "<Age at=ends_at/> }.into_any(),
        (false, true) => view! { "ended "<Time at=ends_at/> }.into_any(),
        (false, false) => view! { "ended "<Time at=ends_at/>", not all is told yet" }.into_any(),
    };
    let has = move |what: fn(&WindowRecord) -> bool| {
        Memo::new(move |_| record.with(|record| record.as_ref().is_some_and(what)))
    };
    let regional = has(|record| record.region.is_some());
    let reserves = has(|record| !record.reserved.is_zero());
    view! {
        <dl class="facts">
            {fact("Window", Some(Term::Window), "window-label", |record| record.label.0.to_string())}
            {move || regional.get().then(|| fact("Region", None, "window-region", |record| {
                record.region.as_deref().map(in_full).unwrap_or_default()
            }))}
            <div><dt class="unseen">"State"</dt><dd data-testid="window-state">{state}</dd></div>
            {fact("Limit", None, "window-limit", |record| units(record.limit.into()))}
            {fact("Lent", Some(Term::Lent), "window-granted", lent)}
            {fact("Admitted", None, "window-admitted", |record| units(record.admitted.0))}
            {move || reserves.get().then(|| fact("Reserved", Some(Term::Reserved), "window-reserved", |record| {
                units(record.reserved.0)
            }))}
            {fact("Returned", Some(Term::Returned), "window-returned", |record| units(record.returned.0))}
            {fact("Unaccounted", None, "window-unaccounted", |record| {
                record.unaccounted.map_or_else(|| format::UNKNOWN.to_owned(), |count| units(count.0))
            })}
            {fact("Denied", None, "window-denied", |record| units(record.denied.0))}
            {fact("Jain's index", Some(Term::Jain), "window-jain", |record| {
                format::index(record.jain.map(|jain| jain.0))
            })}
        </dl>
    }
}

fn lent(record: &WindowRecord) -> String {
    match (record.granted, record.exact) {
        (None, _) => "known when the window ends".to_owned(),
        (Some(granted), true) => units(granted.0),
        (Some(granted), false) => format!("at most {}", units(granted.0)),
    }
}

fn units(count: u128) -> String {
    format!("{} units", format::count(count))
}
