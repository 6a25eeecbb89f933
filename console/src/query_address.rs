//! What a page is asked stands in the query string of its address: it is read from there, and changed by going there.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

use crate::address::Page;
use crate::time_range::TimeRange;

/// A move within a page: the address is whole, and the page stays where it is scrolled to. With `push` it is a step of its
/// own, which "back" undoes; without, it takes the place of the present one.
pub fn within_page(push: bool) -> NavigateOptions {
    NavigateOptions {
        resolve: false,
        replace: !push,
        scroll: false,
        ..NavigateOptions::default()
    }
}

/// What the address asks.
pub fn use_asked<Q: PartialEq + Send + Sync + 'static>(parse: fn(&str) -> Q) -> Memo<Q> {
    let search = use_location().search;
    Memo::new(move |_| search.with(|search| parse(search)))
}

/// The way to ask a page for something else: with the query, and whether that is a step of its own. `text` gives the query
/// string, without its question mark.
pub fn use_ask<Q: 'static>(page: &Page, text: fn(&Q) -> String) -> Callback<(Q, bool)> {
    let navigate = use_navigate();
    let page = page.clone();
    Callback::new(move |(query, push): (Q, bool)| {
        navigate(&page.address_with(&text(&query)), within_page(push));
    })
}

/// The range of time, which follows the address and which the address follows. `go` takes another one into the address.
pub fn use_range(asked: Memo<TimeRange>, go: Callback<TimeRange>) -> RwSignal<TimeRange> {
    let range = RwSignal::new(asked.get_untracked());
    Effect::new(move |_| range.set(asked.get()));
    Effect::new(move |before: Option<()>| {
        let wanted = range.get();
        if before.is_some() && wanted != asked.get_untracked() {
            go.run(wanted);
        }
    });
    range
}
