//! The sections of the policy, with how much of each the draft changes.

use leptos::prelude::*;

use super::editor::Editor;
use crate::context::Console;
use crate::features::policy::model::section::Section;

/// Links to the sections.
#[component]
pub fn SectionNav(
    /// The section that is open.
    #[prop(into)]
    open: Signal<Section>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let touched = move |section: Section| {
        let changes = editor.verdict.with(|verdict| {
            let rows = verdict.as_ref().map_or(&[][..], |verdict| &verdict.rows);
            rows.iter()
                .filter(|row| Section::of(&row.pointer) == section)
                .count()
        });
        (changes > 0).then(|| view! { <span class="tag touched">{changes}<span class="unseen">" changed"</span></span> })
    };
    let flawed = move |section: Section| {
        let here = editor
            .flaw()
            .is_some_and(|flaw| Section::of(&flaw.pointer) == section);
        here.then(|| view! { <span class="tag removed">"check"</span> })
    };
    let one = move |section: Section| {
        let current = move || (open.get() == section).then_some("true");
        view! {
            <li>
                <a href=section.address(None) data-testid=format!("section-{}", section.slug()) aria-current=current>
                    {section.title()}
                    {move || touched(section)}
                    {move || flawed(section)}
                </a>
            </li>
        }
    };
    let listed = move || {
        let sections = Section::ALL.into_iter();
        let sections =
            sections.filter(|section| *section != Section::Reset || console.can_change());
        sections.map(one).collect_view()
    };
    view! { <nav class="sections" aria-label="Sections of the policy"><ul>{listed}</ul></nav> }
}
