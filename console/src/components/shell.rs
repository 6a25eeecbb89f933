//! What is around every page that needs a session: who one is, where one is, how alive it is, and the way out.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::header::Header;
use super::states::{Missing, Waiting};
use super::warnings::Warnings;
use crate::address::Page;
use crate::announce;
use crate::api::Client;
use crate::api::error::ApiError;
use crate::context::{Console, use_leave, use_page};
use crate::live::Phase;
use crate::session::LoginReason;

/// A page. Its children are built once it is known who is logged in.
#[component]
pub fn Shell(
    /// The heading, and the title of the document.
    #[prop(into)]
    title: Signal<String>,
    /// The name for scripted journeys; that of the page at this address without it.
    #[prop(optional)]
    testid: Option<&'static str>,
    /// What stands beside the heading.
    #[prop(optional, into)]
    actions: ViewFn,
    /// The page.
    children: Children,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let heading = NodeRef::<leptos::html::H1>::new();
    console.arrive(title, heading);
    let shown = use_page();
    let page = shown.get_untracked().unwrap_or(Page::Overview);
    // From one tenant to another the page stays and its name changes.
    Effect::new(move |before: Option<Option<Page>>| {
        let after = shown.get();
        if before.is_some_and(|before| before != after)
            && let Some(heading) = heading.get_untracked()
        {
            let _ = heading.focus();
        }
        after
    });
    let testid = testid.map_or_else(|| format!("page-{}", page.slug()), ToOwned::to_owned);
    let failure = RwSignal::new(None::<ApiError>);
    let identify = use_identify(failure);
    if console.session.with_untracked(Option::is_none) {
        identify.run(());
    }
    follow(console);
    let known = Memo::new(move |_| console.session.with(Option::is_some));
    let children = StoredValue::new_local(Some(children));
    let build = move || children.try_update_value(Option::take).flatten();
    view! {
        <div class="shell">
            {move || known.get().then(|| view! { <Header page=page.section()/> })}
            <main id="main" tabindex="-1" data-testid=testid>
                {move || known.get().then(|| view! { <Warnings/> })}
                <div class="page-head">
                    <h1 node_ref=heading tabindex="-1">{title}</h1>
                    {move || known.get().then(|| actions.run())}
                </div>
                {move || match failure.get() {
                    _ if known.get() => build().map(|children| children()).into_any(),
                    Some(error) => view! { <Missing error retry=identify/> }.into_any(),
                    None => view! { <Waiting/> }.into_any(),
                }}
            </main>
        </div>
    }
}

/// Asks who is logged in, and goes to the login page when it is nobody.
fn use_identify(failure: RwSignal<Option<ApiError>>) -> Callback<()> {
    let console = expect_context::<Console>();
    let leave = use_leave();
    Callback::new(move |()| {
        let leave = leave.clone();
        failure.set(None);
        spawn_local(async move {
            match Client.session().await {
                Ok(session) => console.session.set(Some(session)),
                Err(error) if error.is_unauthenticated() => leave(LoginReason::Fresh),
                Err(error) => {
                    failure.try_set(Some(error));
                }
            }
        });
    })
}

/// Starts what is live, says its changes aloud, and goes to the login page when the session ends.
fn follow(console: Console) {
    let leave = use_leave();
    console.leaving.set(false);
    let known = Memo::new(move |_| console.session.with(Option::is_some));
    Effect::new(move |_| {
        if known.get() {
            console.live.start();
        }
    });
    let phase = Memo::new(move |_| console.live.state.get().phase);
    Effect::new(move |before: Option<Phase>| {
        let after = phase.get();
        if let Some(said) = announce::phase_change(before, after) {
            console.announcer.say(said);
        }
        if after == Phase::Ended && !console.leaving.get_untracked() {
            leave(LoginReason::Expired);
        }
        after
    });
    let role = Memo::new(move |_| console.role());
    Effect::new(move |before: Option<Option<_>>| {
        let after = role.get();
        if let (Some(Some(before)), Some(after)) = (before, after)
            && before != after
        {
            let name = after.name();
            console.toasts.say(format!("Your role is {name} now."));
        }
        after
    });
}
