//! The list of tokens.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::limits::NAME_BYTES_MAX;
use weir_shared::wire::access::{TokenReply, TokenView};
use weir_shared::wire::operator::tokens::TokensReply;

use super::AskAccess;
use crate::api::Client;
use crate::clock;
use crate::components::dialog::Confirm;
use crate::components::notice::{Notice, Severity};
use crate::components::search_box::SearchBox;
use crate::components::states::States;
use crate::components::time::{Age, Time};
use crate::context::Console;
use crate::features::access::model::query::{AccessQuery, Sort};
use crate::features::access::model::row::{
    Expiry, empty, expiring, is_own, made_by, revoking as revoking_words, scope,
};
use crate::fetched::Fetched;
use crate::format;
use crate::visible::visible;

/// The list, with what looks for a token and what makes one.
#[component]
pub fn List(
    /// One page of the tokens.
    tokens: Fetched<TokensReply>,
    /// What is asked for.
    query: Memo<AccessQuery>,
    /// Asks for something else.
    ask: AskAccess,
    /// Whether the dialog that makes a token is open.
    creating: RwSignal<bool>,
    /// The token that was just made, whose text is on the page.
    made: RwSignal<Option<TokenReply>>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let revoking = RwSignal::new(None::<TokenView>);
    let nothing = Signal::derive(move || {
        let none = tokens
            .value
            .with(|reply| reply.as_ref().is_some_and(|reply| reply.tokens.is_empty()));
        none.then(|| {
            let search = query.with(|query| query.search.clone());
            console
                .session
                .with(|session| empty(&search, session.as_ref()))
        })
    });
    // Beside the button that makes the first token, a field would be taken for its name. Once there, it stays: it may be
    // typed in.
    let searchable = Memo::new(move |before: Option<&bool>| {
        let any = tokens
            .value
            .with(|reply| reply.as_ref().is_some_and(|reply| !reply.tokens.is_empty()));
        before == Some(&true) || any || query.with(|query| !query.search.is_empty())
    });
    let typed = Callback::new(move |text: String| {
        let mut wanted = query.get_untracked();
        wanted.search_for(&text);
        ask.run((wanted, false));
    });
    view! {
        <section aria-labelledby="tokens">
            <div class="section-head">
                <h2 id="tokens">"Tokens"</h2>
                <span class="muted" data-testid="found">{move || total(tokens)}</span>
            </div>
            <form class="filters" role="search" on:submit=|event| event.prevent_default()>
                {move || searchable.get().then(|| view! {
                    <SearchBox label="Find by name" chars_max=NAME_BYTES_MAX typed
                        value=Signal::derive(move || query.with(|query| query.search.clone()))/>
                })}
                <button type="button" class="primary" data-testid="create-token" on:click=move |_| creating.set(true)>
                    "New token"
                </button>
            </form>
            {move || tokens.value.with(|reply| {
                let told = expiring(&reply.as_ref()?.tokens, clock::server_ms())?;
                Some(view! { <Notice severity=Severity::Warning title="Tokens expire." detail=told testid="expiring"/> })
            })}
            <States ready=tokens.ready() error=tokens.error retry=tokens.retry() empty=nothing>
                <Table tokens query ask revoking/>
            </States>
            <Paging tokens query ask/>
        </section>
        <Revoke tokens revoking made/>
    }
}

fn total(tokens: Fetched<TokensReply>) -> Option<String> {
    tokens.value.with(|reply| {
        let total = usize::try_from(reply.as_ref()?.page.total).ok()?;
        Some(format::counted(total, "token"))
    })
}

#[component]
fn Table(
    tokens: Fetched<TokensReply>,
    query: Memo<AccessQuery>,
    ask: AskAccess,
    revoking: RwSignal<Option<TokenView>>,
) -> impl IntoView {
    let rows = move || {
        let listed = tokens.value.get().map(|reply| reply.tokens.clone());
        listed.unwrap_or_default()
    };
    view! {
        <div class="scroll" role="region" aria-label="Tokens" tabindex="0">
            <table class="tokens cards">
                <thead>
                    <tr>
                        <Head name="Name" sort=Sort::Name query ask/>
                        <Head name="Role" sort=Sort::Role query ask/>
                        <th scope="col">"For"</th>
                        <Head name="Last used" sort=Sort::Used query ask/>
                        <Head name="Made" sort=Sort::Made query ask/>
                        <th scope="col">"By"</th>
                        <th scope="col">"Expires"</th>
                        <th scope="col"><span class="unseen">"Revoke"</span></th>
                    </tr>
                </thead>
                <tbody>
                    <For each=rows key=|token| (token.id.clone(), token.last_used) let:token>
                        {row(token, revoking)}
                    </For>
                </tbody>
            </table>
        </div>
    }
}

/// The head of a column that can be sorted by.
#[component]
fn Head(name: &'static str, sort: Sort, query: Memo<AccessQuery>, ask: AskAccess) -> impl IntoView {
    let press = move |_| {
        let mut wanted = query.get_untracked();
        wanted.press(sort);
        ask.run((wanted, true));
    };
    let order = move || query.with(|query| query.aria_sort(sort));
    let arrow = move || match order() {
        Some("descending") => "▼",
        Some(_) => "▲",
        None => "",
    };
    view! {
        <th scope="col" aria-sort=order>
            <button type="button" class="sort" data-testid=format!("sort-{}", sort.slug()) on:click=press>
                {name}<span class="arrow" aria-hidden="true">{arrow}</span>
            </button>
        </th>
    }
}

fn row(token: TokenView, revoking: RwSignal<Option<TokenView>>) -> AnyView {
    let console = expect_context::<Console>();
    let own = {
        let token = token.clone();
        move || {
            let own = console
                .session
                .with(|session| is_own(&token, session.as_ref()));
            own.then(|| view! { <span class="tag" title="You are logged in with a token of this name">"yours"</span> })
        }
    };
    let used = match token.last_used {
        Some(at) => view! { <Age at=Signal::stored(at)/> }.into_any(),
        None => view! { <span class="muted">"never"</span> }.into_any(),
    };
    let expires = match token.expires_at {
        Some(at) => {
            let mark = Expiry::of(&token, clock::server_ms()).mark();
            let mark = mark.map(|mark| view! { " "<span class="tag warning">{mark}</span> });
            view! { <Time at=Signal::stored(at)/>{mark} }.into_any()
        }
        None => view! { <span class="muted">"never"</span> }.into_any(),
    };
    let label = format!("Revoke {}", visible(&token.name));
    let id = token.id.clone();
    let (name, role, scope) = (visible(&token.name), token.role.name(), scope(&token));
    let (created_at, created_by) = (token.created_at, made_by(&token));
    view! {
        <tr data-testid="token-row" data-token=id>
            <th scope="row">{name}{own}</th>
            <td data-label="Role">{role}</td>
            <td data-label="For" class="long">{scope}</td>
            <td data-label="Last used">{used}</td>
            <td data-label="Made"><Time at=Signal::stored(created_at)/></td>
            <td data-label="By">{created_by}</td>
            <td data-label="Expires">{expires}</td>
            <td class="figure">
                <button type="button" data-testid="revoke" aria-label=label on:click=move |_| revoking.set(Some(token.clone()))>
                    "Revoke"
                </button>
            </td>
        </tr>
    }
    .into_any()
}

/// Asks before a token is revoked, and revokes it.
#[component]
fn Revoke(
    tokens: Fetched<TokensReply>,
    revoking: RwSignal<Option<TokenView>>,
    made: RwSignal<Option<TokenReply>>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let (open, why) = (RwSignal::new(false), RwSignal::new(String::new()));
    Effect::new(move |_| {
        if revoking.with(Option::is_some) {
            why.set(String::new());
            open.set(true);
        }
    });
    // It is let go once the dialog is closed, so that its words stay while it closes.
    Effect::new(move |before: Option<bool>| {
        let open = open.get();
        if before == Some(true) && !open {
            revoking.set(None);
        }
        open
    });
    let words = move |say: fn(&Console, &TokenView) -> String| {
        Signal::derive(move || {
            revoking.with(|token| {
                token
                    .as_ref()
                    .map(|token| say(&console, token))
                    .unwrap_or_default()
            })
        })
    };
    let detail = words(|console, token| {
        console
            .session
            .with(|session| revoking_words(token, session.as_ref()))
    });
    let on_confirm = Callback::new(move |()| {
        let Some(token) = revoking.get_untracked() else {
            return;
        };
        let why = Some(why.get_untracked().trim().to_owned()).filter(|why| !why.is_empty());
        spawn_local(async move {
            match Client.revoke_token(&token.id, why.as_deref()).await {
                Ok(()) => {
                    // The text of a token that is no more stays on no page.
                    let shown = made.try_with_untracked(|made| {
                        made.as_ref().is_some_and(|made| made.view.id == token.id)
                    });
                    if shown == Some(true) {
                        made.try_set(None);
                    }
                    console
                        .toasts
                        .say(format!("The token {} is revoked.", token.name));
                }
                Err(error) => console.toasts.fail(&error),
            }
            tokens.refresh();
        });
    });
    view! {
        <Confirm
            open
            title=words(|_, token| format!("Revoke {}?", visible(&token.name)))
            detail
            confirm=words(|_, token| format!("Revoke {}", token.name))
            danger=true
            why
            on_confirm
        />
    }
}

/// The pages, where there are more than one.
#[component]
fn Paging(tokens: Fetched<TokensReply>, query: Memo<AccessQuery>, ask: AskAccess) -> impl IntoView {
    let pages = Memo::new(move |_| {
        tokens
            .value
            .with(|reply| reply.as_ref().map_or(1, |reply| reply.page.pages))
    });
    let go = move |page: u64| {
        let mut wanted = query.get_untracked();
        wanted.page = page;
        ask.run((wanted, true));
    };
    move || {
        let (page, pages) = (query.with(|query| query.page), pages.get());
        if pages <= 1 && page == 1 {
            return None;
        }
        let earlier = (page > 1).then(|| view! {
            <button type="button" data-testid="page-before" on:click=move |_| go(page.min(pages + 1) - 1)>"Previous"</button>
        });
        let later = (page < pages).then(|| view! {
            <button type="button" data-testid="page-after" on:click=move |_| go(page + 1)>"Next"</button>
        });
        Some(view! {
            <nav class="more" aria-label="Pages of tokens">
                {earlier}<span>"Page "{page}" of "{pages}</span>{later}
            </nav>
        })
    }
}
