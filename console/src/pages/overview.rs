//! The overview: who got what, live.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};

use crate::announce;
use crate::api::Client;
use crate::api::error::ApiError;
use crate::app::{Console, use_leave};
use crate::components::header::Header;
use crate::components::live_control::LiveControl;
use crate::components::notice::{Notice, Severity};
use crate::components::regions::Regions;
use crate::components::tenants::Tenants;
use crate::components::totals::Totals;
use crate::feed::Feed;
use crate::format;
use crate::live::Phase;
use crate::overview::Overview;
use crate::session::{BASE, LoginReason};
use crate::table::query::TableQuery;

/// Shows the figures to who is logged in, and the login page to who is not.
#[component]
pub fn OverviewPage() -> impl IntoView {
    let console = expect_context::<Console>();
    let failure = RwSignal::new(None::<ApiError>);
    let leave = use_leave();
    let identify = Callback::new(move |()| {
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
    });
    if console.session.with_untracked(Option::is_none) {
        identify.run(());
    }
    move || match console.session.get() {
        Some(session) => view! {
            <Header session/>
            <main id="main" tabindex="-1"><Figures/></main>
        }
        .into_any(),
        None => view! {
            <main id="main" tabindex="-1">
                {move || failure_or_loading(failure.get(), identify)}
            </main>
        }
        .into_any(),
    }
}

#[component]
fn Figures() -> impl IntoView {
    let console = expect_context::<Console>();
    let heading = NodeRef::new();
    console.arrive("Overview", heading);
    let feed = Feed::start();
    let query = use_table_query();
    follow(feed, console);
    let pause = Callback::new(move |()| feed.pause());
    let resume = Callback::new(move |()| feed.resume());
    let loaded = Memo::new(move |_| feed.overview.with(Option::is_some));
    let overview = Signal::derive(move || feed.overview.get().unwrap_or_default());
    view! {
        <div class="page-head">
            <h1 node_ref=heading tabindex="-1">"Overview"</h1>
            {move || loaded.get().then(|| view! { <Facts overview/> })}
            <LiveControl state=feed.state pause resume/>
        </div>
        {move || if loaded.get() {
            view! {
                <Warnings feed overview/>
                <div class="summary">
                    <section aria-labelledby="totals-heading">
                        <h2 id="totals-heading">"All regions"</h2>
                        <Totals overview/>
                    </section>
                    <section aria-labelledby="regions-heading">
                        <h2 id="regions-heading">"Regions"</h2>
                        <Regions overview/>
                    </section>
                </div>
                <Tenants overview query announcer=console.announcer/>
            }.into_any()
        } else {
            view! { {move || failure_or_loading(feed.error.get(), resume)} }.into_any()
        }}
    }
}

/// The policy and the time that the figures are of.
#[component]
fn Facts(overview: Signal<Arc<Overview>>) -> impl IntoView {
    let revision = Memo::new(move |_| overview.with(|overview| overview.policy_revision));
    let enforcing = Memo::new(move |_| overview.with(|overview| overview.enforcing));
    view! {
        <dl class="facts">
            <div><dt>"Policy revision"</dt><dd data-testid="policy-revision">{revision}</dd></div>
            <div>
                <dt>"Limits"</dt>
                <dd data-testid="enforcing" data-enforcing=move || enforcing.get().to_string()>
                    {move || if enforcing.get() {
                        "enforced".into_any()
                    } else {
                        view! { <span class="tag warning">"not enforced"</span> }.into_any()
                    }}
                </dd>
            </div>
            <div><dt>"As of"</dt><dd>{move || overview.with(|overview| format::utc_time(overview.at))}</dd></div>
        </dl>
    }
}

/// What makes the figures incomplete or old.
#[component]
fn Warnings(feed: Feed, overview: Signal<Arc<Overview>>) -> impl IntoView {
    let lost = Memo::new(move |_| overview.with(|overview| overview.out_of_reach()));
    let stuck = Memo::new(move |_| {
        (feed.state.get().phase == Phase::Reconnecting).then(|| feed.error.get())
    });
    view! {
        {move || stuck.get().map(|error| {
            let detail = error.map_or_else(
                || "No answer yet.".to_owned(),
                |error| format!("{}: {}", error.title(), error.detail()),
            );
            view! {
                <Notice severity=Severity::Warning title="Figures are not updated." detail testid="reconnecting">
                    <button type="button" on:click=move |_| feed.resume()>"Try again"</button>
                </Notice>
            }
        })}
        {move || (!lost.with(Vec::is_empty)).then(|| view! {
            <Notice
                severity=Severity::Warning
                title=format!("Out of reach: {}.", lost.get().join(", "))
                detail="The ledger there does not answer. All figures below lack it; what it counts is not lost."
                testid="out-of-reach"
            />
        })}
    }
}

fn failure_or_loading(failure: Option<ApiError>, retry: Callback<()>) -> impl IntoView {
    match failure {
        Some(error) => view! {
            <Notice severity=Severity::Error title=format!("{}.", error.title()) detail=error.detail() testid="failure">
                <button type="button" on:click=move |_| retry.run(())>"Try again"</button>
            </Notice>
        }
        .into_any(),
        None => view! { <p class="muted" role="status" data-testid="loading">"Loading…"</p> }.into_any(),
    }
}

/// Says changes aloud, and goes to the login page when the session ends.
fn follow(feed: Feed, console: Console) {
    let leave = use_leave();
    console.leaving.set(false);
    Effect::new(move |before: Option<bool>| {
        let leaving = console.leaving.get();
        if leaving {
            feed.pause();
        } else if before == Some(true) {
            feed.resume();
        }
        leaving
    });
    let phase = Memo::new(move |_| feed.state.get().phase);
    Effect::new(move |before: Option<Phase>| {
        let after = phase.get();
        if let Some(said) = announce::phase_change(before, after) {
            console.announcer.say(said);
        }
        if after == Phase::Ended {
            leave(LoginReason::Expired);
        }
        after
    });
    Effect::new(move |before: Option<Option<Arc<Overview>>>| {
        let after = feed.overview.get();
        if let (Some(Some(before)), Some(after)) = (&before, &after)
            && let Some(said) = announce::overview_change(before, after)
        {
            console.announcer.say(said);
        }
        after
    });
}

/// The table's query, which the address follows, and which follows the address.
fn use_table_query() -> RwSignal<TableQuery> {
    let address = use_location().search;
    let navigate = use_navigate();
    let query = RwSignal::new(TableQuery::parse(&address.get_untracked()));
    Effect::new(move |_| {
        let wanted = query.with(TableQuery::to_query_string);
        if TableQuery::parse(&address.get_untracked()).to_query_string() != wanted {
            let address = if wanted.is_empty() {
                BASE.to_owned()
            } else {
                format!("{BASE}?{wanted}")
            };
            let options = NavigateOptions {
                resolve: false,
                replace: true,
                scroll: false,
                ..NavigateOptions::default()
            };
            navigate(&address, options);
        }
    });
    Effect::new(move |_| {
        let asked = TableQuery::parse(&address.get());
        if query.with_untracked(|query| *query != asked) {
            query.set(asked);
        }
    });
    query
}
