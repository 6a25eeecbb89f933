//! The policy page: what is in force, edited as one draft by forms and as text.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::api::Client;
use crate::components::shell::Shell;
use crate::components::states::States;
use crate::context::Console;
use crate::features::policy::model::section::Section;
use crate::features::policy::view::bar::DraftBar;
use crate::features::policy::view::conflict::Conflict;
use crate::features::policy::view::editor::Editor;
use crate::features::policy::view::review::Review;
use crate::features::policy::view::section_nav::SectionNav;
use crate::features::policy::view::section_view::SectionView;
use crate::fetched::{Follow, fetched};
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};

/// The policy.
#[component]
pub fn PolicyPage() -> impl IntoView {
    let part = fetch_part(fetch);
    view! { <Shell title="Policy">{shown_with(part, content)}</Shell> }
}

lazy!(
    policy,
    fetch,
    fn content() {
        view! { <Policy/> }
    }
);

#[component]
fn Policy() -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = Editor::provide();
    let policy = fetched(move || async move { Client.policy().await }, Follow::Once);
    Effect::new(move |_| {
        if let Some(read) = policy.value.get() {
            editor.begin(&read);
        }
    });
    let query = use_query_map();
    let section = Memo::new(move |_| {
        query.with(|query| Section::parse(&query.get("section").unwrap_or_default()))
    });
    let name = Memo::new(move |_| query.with(|query| query.get("name").unwrap_or_default()));
    let ready = Signal::derive(move || editor.draft.with(Option::is_some));
    let revision = move || {
        let etag = editor.draft.with(|draft| {
            draft
                .as_ref()
                .map(|draft| draft.etag().trim_matches('"').to_owned())
        });
        etag.map(|etag| {
            view! { <p class="muted">"Revision "<span class="figure" data-testid="revision">{etag}</span>{reads_only(console)}</p> }
        })
    };
    view! {
        <States ready error=policy.error retry=policy.retry()>
            {revision}
            <Conflict/>
            <DraftBar/>
            <Review/>
            <div class="policy" class:reviewing=move || editor.reviewing.get()>
                <SectionNav open=section/>
                {move || view! { <SectionView section=section.get() name/> }}
            </div>
        </States>
    }
}

fn reads_only(console: Console) -> Option<&'static str> {
    (!console.can_change()).then_some(" · Your role reads only.")
}
