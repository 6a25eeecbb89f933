//! The simulator page: what the draft of the policy would have done, beside the policy in force.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::replay::{ReplayBody, ReplayRequest};

use crate::address::Page;
use crate::api::Client;
use crate::clock;
use crate::components::shell::Shell;
use crate::components::states::{States, Waiting};
use crate::context::Console;
use crate::difference::words;
use crate::features::policy::model::section::address_of;
use crate::features::policy::model::validate::Flaw;
use crate::features::policy::view::editor::kept;
use crate::features::simulator::model::against::Against;
use crate::features::simulator::model::query::{SimulatorQuery, Source};
use crate::features::simulator::model::question::{QuestionFault, question};
use crate::features::simulator::model::unplayed::unplayed_words;
use crate::features::simulator::view::outcome::{BoundsView, OutcomeView};
use crate::features::simulator::view::shares::SharesView;
use crate::features::simulator::view::source::SourceView;
use crate::fetched::{Fetched, Follow, fetched};
use crate::lazy;
use crate::lazy::{fetch_part, shown_with};
use crate::query_address::{use_ask, use_asked};

/// What is asked, or why it is not; none before the policies are known.
type SimulatorQuestion = Option<Result<Option<Arc<ReplayRequest>>, QuestionFault>>;

/// The policies of a simulation, or why there are none.
type Policies = Option<Result<Arc<Against>, Flaw>>;

/// The simulator.
#[component]
pub fn SimulatorPage() -> impl IntoView {
    let part = fetch_part(fetch);
    view! { <Shell title="Simulator">{shown_with(part, content)}</Shell> }
}

lazy!(
    policy,
    fetch,
    fn content() {
        view! { <Simulator/> }
    }
);

#[component]
fn Simulator() -> impl IntoView {
    let query = use_asked(SimulatorQuery::parse);
    let ask = use_ask(&Page::Simulator, SimulatorQuery::text);
    let policy = fetched(|| async { Client.policy().await }, Follow::Once);
    let draft = kept();
    let policies = Memo::new(move |_| -> Policies {
        policy.value.with(|read| {
            let found = Against::of(read.as_deref()?, draft.as_ref());
            Some(found.map(Arc::new))
        })
    });
    let again = RwSignal::new(0_u64);
    let asked = use_question(query, policies, again);
    let outcome = use_outcome(asked);
    let against = Signal::derive(move || policies.get().and_then(Result::ok));
    let fault = Memo::new(move |_| asked.with(|asked| asked.as_ref()?.as_ref().err().cloned()));
    // The policy in force may be another one by now.
    let play = Callback::new(move |()| {
        policy.refresh();
        again.update(|again| *again += 1);
    });
    let over = Memo::new(move |_| query.with(|query| query.over));
    view! {
        <States ready=policy.ready() error=policy.error retry=policy.retry()>
            {move || policies.get().map(|policies| told(policies, over.get()))}
            <SourceView query ask fault again=play/>
            <Answer asked outcome against query ask/>
            {move || over.get().map(|over| view! { <BoundsView over/> })}
        </States>
    }
}

/// Which policies are played and what of the draft is not, or why they are not.
fn told(policies: Result<Arc<Against>, Flaw>, over: Option<Source>) -> AnyView {
    match policies {
        Ok(against) => {
            let unplayed = unplayed_words(&against.changed, over.unwrap_or(Source::Recorded));
            view! {
                <p class="said" data-testid="against">
                    {against.words()}" "<a href=Page::Policy.address()>"Open the policy"</a>
                </p>
                {unplayed.map(|text| view! { <p class="notice warning" data-testid="unplayed">{text}</p> })}
            }
            .into_any()
        }
        Err(flaw) => {
            let text = format!("{}: {}", words(&flaw.pointer), flaw.message);
            view! {
                <p class="notice error" role="alert" data-testid="draft-flaw">
                    "The draft is not valid yet, so it cannot be played. "<a href=address_of(&flaw.pointer)>{text}</a>
                </p>
            }
            .into_any()
        }
    }
}

/// What is asked. Another rule to look at makes no other question.
fn use_question(
    query: Memo<SimulatorQuery>,
    policies: Memo<Policies>,
    again: RwSignal<u64>,
) -> Memo<SimulatorQuestion> {
    let console = expect_context::<Console>();
    let played = Memo::new(move |_| {
        query.with(|query| SimulatorQuery {
            rule: None,
            ..query.clone()
        })
    });
    Memo::new(move |_| {
        again.track();
        let trace = console.trace.get();
        let against = policies.get()?.ok()?;
        let now_ms = clock::server_ms();
        let asked = played.with(|query| question(query, &against, trace.as_ref(), now_ms));
        Some(asked.map(|asked| asked.map(Arc::new)))
    })
}

/// What is answered.
fn use_outcome(asked: Memo<SimulatorQuestion>) -> Fetched<Option<Arc<ReplayBody>>> {
    let ask = move || {
        let request = asked.get().and_then(Result::ok).flatten();
        async move {
            match request {
                Some(request) => Ok(Some(Arc::new(Client.replay(&request).await?))),
                None => Ok(None),
            }
        }
    };
    fetched(ask, Follow::Once)
}

/// The answer, while something is asked.
#[component]
fn Answer(
    asked: Memo<SimulatorQuestion>,
    outcome: Fetched<Option<Arc<ReplayBody>>>,
    against: Signal<Option<Arc<Against>>>,
    query: Memo<SimulatorQuery>,
    ask: Callback<(SimulatorQuery, bool)>,
) -> impl IntoView {
    let is_asked = Memo::new(move |_| asked.with(|asked| matches!(asked, Some(Ok(Some(_))))));
    let body = Signal::derive(move || outcome.value.get().and_then(|body| Option::clone(&body)));
    let ready = Memo::new(move |_| body.with(Option::is_some));
    let waits = Memo::new(move |_| {
        let fresh = outcome.fresh.get() || outcome.error.with(Option::is_some);
        ready.get() && !fresh
    });
    let differs = Signal::derive(move || {
        against.with(|against| against.as_ref().is_some_and(|against| against.differs()))
    });
    let shown = move || {
        is_asked.get().then(|| {
            view! {
                {move || waits.get().then(|| view! { <Waiting/> })}
                <States ready error=outcome.error retry=outcome.retry()>
                    <OutcomeView body differs query ask/>
                    <SharesView body against query/>
                </States>
            }
        })
    };
    view! { {shown} }
}
