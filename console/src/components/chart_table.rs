//! What a chart shows, as a table.

use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;

use crate::chart::csv;
use crate::chart::scale::{full, interval_label};
use crate::chart::series::{Line, instants};
use crate::instant::TimeZone;

/// A table behind a chart, newest first. Its rows are on the page while it is open.
#[component]
pub fn ChartTable(
    /// What it shows.
    title: String,
    /// The unit of its values.
    unit: &'static str,
    /// The lines: a column each.
    series: Signal<Vec<Line>>,
    /// The start and the end of what is shown.
    span: Signal<(u64, u64)>,
    /// The length of the intervals.
    step_ms: Signal<u64>,
    /// The zone of the times.
    zone: Signal<TimeZone>,
    /// What the file says beside that.
    about: Signal<csv::About>,
) -> impl IntoView {
    let open = RwSignal::new(false);
    let title_of_file = StoredValue::new(title.clone());
    let toggled = move |event: leptos::ev::Event| {
        let details = event.current_target().or_else(|| event.target());
        let element = details.and_then(|details| details.dyn_into::<web_sys::Element>().ok());
        open.set(element.is_some_and(|element| element.has_attribute("open")));
    };
    let caption = format!("{title}, newest first");
    let body = move || {
        let (span, step_ms, zone) = (span.get(), step_ms.get(), zone.get());
        let row = |series: &[Line], at_ms: u64| {
            let cell = |line: &Line| line.value_at(at_ms).map_or_else(|| "–".to_owned(), full);
            let cells = series.iter().map(cell);
            let cells = cells.map(|text| view! { <td class="figure">{text}</td> });
            view! {
                <tr>
                    <th scope="row">{interval_label(at_ms, span, step_ms, zone)}</th>
                    {cells.collect_view()}
                </tr>
            }
        };
        series.with(|series| {
            let newest_first = instants(series).into_iter().rev();
            newest_first.map(|at_ms| row(series, at_ms)).collect_view()
        })
    };
    let headings = move || {
        let heading = |line: &Line| {
            let unit = (!unit.is_empty()).then(|| format!(", {unit}"));
            view! { <th scope="col" class="figure">{line.name.clone()}{unit}</th> }
        };
        series.with(|series| series.iter().map(heading).collect_view())
    };
    let table = move || {
        let (label, caption) = (caption.clone(), caption.clone());
        view! {
            <div class="scroll chart-rows" role="region" aria-label=label tabindex="0">
                <table>
                    <caption class="unseen">{caption}</caption>
                    <thead><tr><th scope="col">"Time"</th>{headings}</tr></thead>
                    <tbody>{body}</tbody>
                </table>
            </div>
        }
    };
    let name = move || match about.with(|about| about.parts.clone()) {
        none if none.is_empty() => csv::file_name(&[title_of_file.get_value()]),
        parts => csv::file_name(&parts),
    };
    let file = move || {
        let address = move || {
            let text = about.with(|about| series.with(|series| csv::text(series, unit, about)));
            csv::address(&text)
        };
        view! { <a class="button" href=address download=name rel="external" data-testid="chart-csv">"Download CSV"</a> }
    };
    view! {
        <details class="chart-table" data-testid="chart-table" on:toggle=toggled>
            <summary>"Show as a table, download as CSV"</summary>
            {move || open.get().then(&table)}
            {move || open.get().then(&file)}
        </details>
    }
}
