//! One section of the policy page.

use leptos::prelude::*;

use super::api_keys::ApiKeys;
use super::descriptors::Descriptors;
use super::draft_field::DraftField;
use super::editor::Editor;
use super::entry_form::EntryForm;
use super::entry_list::EntryList;
use super::json_part::JsonPart;
use super::reset_form::ResetSection;
use super::route_checks::Unrouted;
use super::routes::Routes;
use super::tenant_tree::TenantTree;
use super::tier_rules::TierRules;
use crate::context::Console;
use crate::difference::shown;
use crate::features::policy::model::document_fields::{GENERAL, ROUTES, TIERS};
use crate::features::policy::model::fields::Field;
use crate::features::policy::model::section::Section;

/// One section.
#[component]
pub fn SectionView(
    /// The section.
    section: Section,
    /// The entry that is open; empty for none.
    #[prop(into)]
    name: Signal<String>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let listed = section.entries().map(|_| {
        let form = move || {
            let name = name.get();
            (!name.is_empty()).then(|| view! { <EntryForm section name/> })
        };
        view! {
            <div class="master">
                <div><EntryList section open=name/></div>
                <div>{form}</div>
            </div>
        }
    });
    let loose = match section {
        Section::General => GENERAL,
        Section::Routes => ROUTES,
        Section::Tiers => TIERS,
        _ => &[],
    };
    let loose = move || (!loose.is_empty()).then(|| loose_fields(console, loose));
    let parts = section.json().iter();
    let parts = parts
        .map(|part| view! { <JsonPart pointer=part.pointer label=part.label hint=part.hint/> })
        .collect_view();
    let own = match section {
        Section::Tenants => view! { <TenantTree/> }.into_any(),
        Section::Tiers => view! { <TierRules/> }.into_any(),
        Section::Routes => view! { <Routes open=name/><Unrouted/><Descriptors/> }.into_any(),
        Section::ApiKeys => view! { <ApiKeys/> }.into_any(),
        Section::Reset => view! { <ResetSection/> }.into_any(),
        _ => ().into_any(),
    };
    view! {
        <section class="policy-section" aria-labelledby="section-title">
            <h2 id="section-title">{section.title()}</h2>
            <p class="about">{section.about()}</p>
            {listed}
            {own}
            {loose}
            {parts}
        </section>
    }
}

/// Fields of the document as a whole.
fn loose_fields(console: Console, fields: &'static [Field]) -> AnyView {
    let editor = expect_context::<Editor>();
    if console.can_change() {
        let each = fields.iter();
        let each = each.map(|field| view! { <DraftField field=*field parent=String::new()/> });
        return view! { <div class="fields loose">{each.collect_view()}</div> }.into_any();
    }
    let each = fields.iter().map(|field| {
        let text = move || shown(editor.at(&format!("/{}", field.name)).as_ref());
        view! { <div><dt>{field.label}</dt><dd>{text}</dd></div> }
    });
    view! { <dl class="entry-facts loose">{each.collect_view()}</dl> }.into_any()
}
