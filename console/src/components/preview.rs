//! A preview, and the table of it and of a simulation: who would gain, who would lose, and by how much.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::preview::PreviewBody;

use crate::address::Page;
use crate::preview_rows::{Line, Way, lines, summary};
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
    view! {
        <div data-testid="preview-table">
            {said}
            <LinesTable lines=listed caption/>
        </div>
    }
}

/// Lines as a table. There is none without lines.
#[component]
pub fn LinesTable(
    /// The lines.
    #[prop(into)]
    lines: Signal<Vec<Line>>,
    /// What they are.
    #[prop(into)]
    caption: String,
) -> impl IntoView {
    let all = RwSignal::new(false);
    let table = move || {
        let lines = lines.get();
        let total = lines.len();
        let shown = if all.get() { total } else { SHOWN.min(total) };
        let rows = lines.into_iter().take(shown).map(row).collect_view();
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
                    <table class="preview">
                        <thead>
                            <tr>
                                <th scope="col">"Tenant"</th>
                                <th scope="col">"Of"</th>
                                <th scope="col" class="figure">"Asked, units"</th>
                                <th scope="col" class="figure">"Now"</th>
                                <th scope="col" class="figure">"Denied now"</th>
                                <th scope="col" class="figure">"With the change"</th>
                                <th scope="col" class="figure">"Denied then"</th>
                                <th scope="col" class="figure">"Difference"</th>
                                <th scope="col" class="figure">"In part"</th>
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

fn row(line: Line) -> AnyView {
    let class = match line.way {
        Way::Gains => "figure gains",
        Way::Loses => "figure loses",
        Way::Stays => "figure",
    };
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
            <td>{line.what}</td>
            <td class="figure">{line.demand}</td>
            <td class="figure">{line.present}</td>
            <td class="figure">{line.denied_now}</td>
            <td class="figure">{line.candidate}</td>
            <td class="figure">{line.denied}</td>
            <td class=class>{line.change}</td>
            <td class="figure">{line.percent}</td>
        </tr>
    }
    .into_any()
}
