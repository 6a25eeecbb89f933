//! The verdict on top of the overview.

use leptos::prelude::*;

use crate::address::Page;
use crate::components::icon::IconView;
use crate::components::tenant_link::TenantLink;
use crate::features::overview::model::verdict::{Culprit, Verdict, VerdictKind};
use crate::icon::Icon;
use crate::tenant_name::TenantName;

/// Who is denied and why, with the way to the reason.
#[component]
pub fn VerdictView(
    /// How it stands; none before anything was read.
    verdict: Memo<Option<Verdict>>,
) -> impl IntoView {
    let told = move || {
        verdict.with(|verdict| {
            let verdict = verdict.as_ref()?;
            let first = verdict.named.first().map(|one| {
                view! { " "<TenantLink tenant=one.tenant.clone()/>", "{one.short()}{verdict.more()}"." }
            });
            Some(view! {
                <p class="verdict-line">{verdict.headline.clone()}{first}</p>
                {(!verdict.rest.is_empty()).then(|| view! { <p class="muted">{verdict.rest.clone()}{verdict.shadows.then(shadows)}</p> })}
                {(!verdict.named.is_empty()).then(|| view! {
                    <ul class="culprits">{verdict.named.iter().enumerate().map(culprit).collect_view()}</ul>
                })}
            })
        })
    };
    let icon = Memo::new(move |_| {
        verdict.with(
            |verdict| match verdict.as_ref().map(|verdict| verdict.kind) {
                Some(VerdictKind::Calm) => Icon::Good,
                Some(VerdictKind::Denying) => Icon::Warning,
                Some(VerdictKind::OverShare) => Icon::Error,
                Some(VerdictKind::Measuring) | None => Icon::Waiting,
            },
        )
    });
    let kind = move || {
        verdict.with(|verdict| {
            verdict
                .as_ref()
                .map_or("measuring", |verdict| verdict.kind.slug())
        })
    };
    view! {
        <section class="verdict-box" aria-label="Verdict" data-testid="verdict" data-standing=kind>
            {move || view! { <IconView icon=icon.get()/> }}
            <div>{told}</div>
        </section>
    }
}

/// The way to the rules in shadow mode, each with what it would have denied.
fn shadows() -> AnyView {
    let address = Page::Decisions.address_with("outcome=would_deny");
    view! { " "<a href=address data-testid="verdict-shadows">"Which rules, and whom?"</a> }
        .into_any()
}

fn culprit((place, one): (usize, &Culprit)) -> AnyView {
    // The headline says it of the first.
    let short = (place > 0).then(|| format!("{}; ", one.short()));
    let how = one.how.words(&one.what.name);
    let label = TenantName::of(&one.tenant);
    let why = label.is_named().then(|| {
        let address = Page::Tenant(one.tenant.clone()).address_with(&one.why_query());
        let name = format!("Why is {} denied?", label.label());
        view! { " "<a href=address data-testid="verdict-why">{name}</a> }
    });
    view! { <li><strong>{label.label()}</strong>": "{short}{how}"."{why}</li> }.into_any()
}
