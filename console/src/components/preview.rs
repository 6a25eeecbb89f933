//! A preview, and the table of it and of a simulation: who would gain, who would lose, and by how much.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::preview::PreviewBody;

use crate::address::Page;
use crate::preview_rows::{Line, Way, keys_note, lines, summary};
use crate::tenant_name::TenantName;

/// Lines that are shown before the rest is asked for.
const SHOWN: usize = 12;

/// A preview, once there is one.
#[component]
pub fn PreviewTable(
    /// The preview.
    #[prop(into)]
    body: Signal<Option<Arc<PreviewBody>>>,
    /// Who worked it out.
    #[prop(into)]
    caption: String,
) -> impl IntoView {
    let listed =
        Memo::new(move |_| body.with(|body| body.as_deref().map(lines).unwrap_or_default()));
    let said = move || {
        let body = body.get();
        body.map(|body| view! { <p class="preview-summary">{summary(&body)}</p> })
    };
    let note = move || {
        let note = body.with(|body| keys_note(body.as_deref()?));
        note.map(|note| view! { <p class="muted note">{note}</p> })
    };
    view! {
        <div data-testid="preview-table">
            {said}
            {note}
            <LinesTable lines=listed compares=Signal::stored(true) caption/>
        </div>
    }
}

/// The columns of figures of one policy, and of two that are compared.
const ALONE: [&str; 3] = ["Asked, units", "Admitted", "Denied"];
const COMPARED: [&str; 7] = [
    "Asked, units",
    "Now",
    "Denied now",
    "With the change",
    "Denied then",
    "Difference",
    "In part",
];

fn figures_of(compares: bool) -> &'static [&'static str] {
    match compares {
        true => &COMPARED,
        false => &ALONE,
    }
}

/// Lines as a table. There is none without lines.
#[component]
pub fn LinesTable(
    /// The lines.
    #[prop(into)]
    lines: Signal<Vec<Line>>,
    /// Whether two policies are compared; else what the policy in force gives stands alone.
    compares: Signal<bool>,
    /// What they are.
    #[prop(into)]
    caption: String,
) -> impl IntoView {
    let all = RwSignal::new(false);
    let table = move || {
        let lines = lines.get();
        let total = lines.len();
        let shown = if all.get() { total } else { SHOWN.min(total) };
        let compares = compares.get();
        let row = |line: Line| row(line, compares);
        let rows = lines.into_iter().take(shown).map(row).collect_view();
        let columns = figures_of(compares)
            .iter()
            .map(|name| view! { <th scope="col" class="figure">{*name}</th> });
        let more = (total > shown).then(|| {
            view! {
                <button type="button" data-testid="preview-more" on:click=move |_| all.set(true)>
                    {format!("Show all {}", crate::format::counted(total, "line"))}
                </button>
            }
        });
        (total > 0).then(|| {
            view! {
                <div class="scroll" tabindex="0" role="region" aria-label=caption.clone()>
                    <table class="preview cards">
                        <thead>
                            <tr>
                                <th scope="col">"Tenant"</th>
                                <th scope="col">"Rule"</th>
                                {columns.collect_view()}
                            </tr>
                        </thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
                {more}
            }
            .into_any()
        })
    };
    view! { {table} }
}

fn row(line: Line, compares: bool) -> AnyView {
    let way = match line.way {
        Way::Gains => "figure gains",
        Way::Loses => "figure loses",
        Way::Stays => "figure",
    };
    let figures = match compares {
        false => vec![line.demand, line.present, line.denied_now],
        true => vec![
            line.demand,
            line.present,
            line.denied_now,
            line.candidate,
            line.denied,
            line.change,
            line.percent,
        ],
    };
    let cell = |(label, figure): (&&'static str, String)| {
        let class = if *label == "Difference" {
            way
        } else {
            "figure"
        };
        view! { <td class=class data-label=*label>{figure}</td> }
    };
    let cells = figures_of(compares)
        .iter()
        .zip(figures)
        .map(cell)
        .collect_view();
    let name = TenantName::of(&line.tenant);
    let label = name.label();
    let told = match name {
        TenantName::Named(_) => {
            let address = Page::Tenant(line.tenant.clone()).address();
            view! { <a href=address>{label}</a> }.into_any()
        }
        TenantName::Others | TenantName::Anonymous => label.into_any(),
    };
    view! {
        <tr data-testid="preview-row" data-tenant=line.tenant.clone() data-way=line.way.word()>
            <th scope="row">{told}</th>
            <td data-label="Rule">{line.what}</td>
            {cells}
        </tr>
    }
    .into_any()
}
