//! The field by which a trace is taken out of a file.

use std::sync::Arc;

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen_futures::JsFuture;
use weir_shared::replay::lines::COLUMNS;

use crate::components::field::unique_id;
use crate::components::time::use_time_zone;
use crate::context::Console;
use crate::trace_file::{EXAMPLE, TraceFault, TraceFile, fits};

/// The field, what the file holds, and what is wrong with it.
#[component]
pub fn TraceField(
    /// Why the file cannot be played, once it was read.
    #[prop(into)]
    unplayable: Signal<Option<TraceFault>>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let zone = use_time_zone();
    let refused = RwSignal::new(None::<TraceFault>);
    let input = NodeRef::<html::Input>::new();
    let take = move |_| {
        let Some(input) = input.get_untracked() else {
            return;
        };
        let Some(file) = input.files().and_then(|files| files.get(0)) else {
            return;
        };
        spawn_local(async move {
            let read = read(&file).await;
            // The same file can be chosen again once it was mended.
            input.set_value("");
            refused.try_set(read.as_ref().err().cloned());
            console.trace.set(read.ok().map(Arc::new));
        });
    };
    let error = Memo::new(move |_| {
        let fault = refused.get().or_else(|| unplayable.get());
        fault.map(|fault| fault.to_string())
    });
    let held = move || {
        let words = console.trace.with(|trace| {
            let trace = trace.as_ref()?;
            Some(trace.words(zone.get()))
        });
        words.map(|words| view! { <p data-testid="trace-words">{words}</p> })
    };
    let id = unique_id("trace");
    let (hint_id, error_id) = (format!("{id}-hint"), format!("{id}-error"));
    let described_by = {
        let (hint_id, error_id) = (hint_id.clone(), error_id.clone());
        move || match error.with(Option::is_some) {
            true => format!("{hint_id} {error_id}"),
            false => hint_id.clone(),
        }
    };
    view! {
        <div class="field trace-field">
            <label for=id.clone()>"File"</label>
            <input
                type="file"
                id=id
                node_ref=input
                data-testid="trace-file"
                accept=".csv,.txt,.jsonl,.ndjson,text/csv,text/plain"
                aria-invalid=move || error.with(Option::is_some).then_some("true")
                aria-describedby=described_by
                on:change=take
            />
            <p class="hint" id=hint_id>
                "One request on each line: "<code>{COLUMNS}</code>", where kind is budget, limit or meter, at is in milliseconds since 1970, and key and cost may be empty; or JSON. The browser reads the file, and keeps it until you close or reload the console."
            </p>
            {move || error.get().map(|error| view! {
                <p class="field-error" role="alert" id=error_id.clone() data-testid="error-trace">{error}</p>
            })}
            {held}
            {move || console.trace.with(Option::is_none).then(|| view! {
                <pre class="example" tabindex="0" role="region" aria-label="An example of a trace">{EXAMPLE}</pre>
            })}
        </div>
    }
}

/// Reads a file, if it is not too large.
async fn read(file: &web_sys::File) -> Result<TraceFile, TraceFault> {
    // A size is a whole number of bytes, below what a number holds exactly.
    fits(file.size() as usize)?;
    let buffer = JsFuture::from(file.array_buffer()).await;
    let bytes = js_sys::Uint8Array::new(&buffer.map_err(|_| TraceFault::Text)?).to_vec();
    TraceFile::read(&file.name(), &bytes)
}
