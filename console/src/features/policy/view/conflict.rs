//! Somebody else saved the policy while the draft was written: what both changed, and how to go on.

use leptos::prelude::*;

use super::editor::Editor;
use crate::components::difference::MeetingTable;
use crate::format;
use crate::rebase::{Keep, Meeting, Side};

/// The difference of three documents, while somebody else's is newer than the draft.
#[component]
pub fn Conflict() -> impl IntoView {
    let editor = expect_context::<Editor>();
    let rows = Signal::derive(move || {
        editor.theirs.with(|theirs| {
            let Some(theirs) = theirs else {
                return Vec::new();
            };
            editor.draft.with(|draft| {
                draft
                    .as_ref()
                    .map_or_else(Vec::new, |draft| draft.meets(&theirs.body))
            })
        })
    });
    let clashes = move || {
        rows.with(|rows: &Vec<Meeting>| rows.iter().filter(|row| row.side == Side::Clash).count())
    };
    let told = move || match clashes() {
        0 => "Nothing was changed by both, so both can stay.".to_owned(),
        1 => "One value was changed by both.".to_owned(),
        number => format!(
            "{} values were changed by both.",
            format::count(number as u128)
        ),
    };
    let choices = move || {
        let keep = |keep| move |_| editor.rebase(keep);
        if clashes() == 0 {
            return view! {
                <button type="button" class="primary" data-testid="rebase" on:click=keep(Keep::Mine)>
                    "Put my changes on top"
                </button>
            }
            .into_any();
        }
        view! {
            <button type="button" class="primary" data-testid="rebase" on:click=keep(Keep::Mine)>
                "Put my changes on top"
            </button>
            <button type="button" data-testid="take-theirs" on:click=keep(Keep::Theirs)>
                "Keep what is saved where both changed"
            </button>
        }
        .into_any()
    };
    let shown = move || {
        editor.theirs.with(Option::is_some).then(|| {
            view! {
                <section class="conflict" data-testid="conflict" aria-labelledby="conflict-title">
                    <h2 id="conflict-title">"The policy was changed since you began"</h2>
                    <p role="alert">"Your draft was not saved. "{told}" This saves nothing yet: you can look at the result first."</p>
                    <MeetingTable rows/>
                    <div class="actions">{choices}</div>
                </section>
            }
        })
    };
    view! { {shown} }
}
