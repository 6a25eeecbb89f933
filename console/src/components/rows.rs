//! Rows of a table that stay on the page while what they show changes, so that the focus stays where it is.

use leptos::prelude::*;

/// A row for each entry. `key` tells them apart.
pub fn rows<T>(
    entries: Memo<Vec<T>>,
    key: fn(&T) -> String,
    row: impl Fn(Memo<T>) -> AnyView + Clone + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let keys = Memo::new(move |_| {
        entries.with(|entries| entries.iter().map(key).collect::<Vec<String>>())
    });
    let build = move |wanted: String| {
        let found = move || {
            entries.with(|entries| entries.iter().find(|entry| key(entry) == wanted).cloned())
        };
        let first = untrack(&found);
        first.map(|first| {
            // An entry that is gone shows its last state until its row is gone, too.
            let entry = Memo::new(move |last: Option<&T>| {
                found().unwrap_or_else(|| last.unwrap_or(&first).clone())
            });
            row(entry)
        })
    };
    view! { <For each=move || keys.get() key=Clone::clone children=build/> }
}
