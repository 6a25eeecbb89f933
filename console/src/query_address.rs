//! What a page is asked stands in the query string of its address: it is read from there, and changed by going there.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

use crate::address::Page;

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
