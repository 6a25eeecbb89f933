//! Tokens for whom they may be shown to, and what the roles permit for everybody.

mod create;
mod list;
pub mod page;
mod roles;
mod secret;
mod sessions;

use leptos::prelude::*;
use leptos_router::hooks::use_location;
use weir_shared::wire::access::TokenReply;

use crate::address::Page;
use crate::api::Client;
use crate::api::error::ApiError;
use crate::components::notice::{Notice, Severity};
use crate::components::states::Missing;
use crate::context::Console;
use crate::features::access::model::query::AccessQuery;
use crate::features::access::model::row::is_bootstrap;
use crate::fetched::{Follow, fetched};
use crate::query_address::{use_ask, use_asked};
use create::Create;
use list::List;
use roles::Roles;
use secret::Secret;
use sessions::Sessions;

/// Takes a query into the address: pushed as a new entry, or in the place of the one before.
pub type AskAccess = Callback<(AccessQuery, bool)>;

/// The page's content.
#[component]
pub fn Access() -> impl IntoView {
    let console = expect_context::<Console>();
    let admin = Memo::new(move |_| console.is_admin());
    view! {
        {move || if admin.get() { view! { <Tokens/> }.into_any() } else { forbidden() }}
        <Roles/>
    }
}

/// Who is no admin is told so without being refused by the server first.
fn forbidden() -> AnyView {
    let error = ApiError::Status { status: 403 };
    view! { <Missing error retry=Callback::new(|()| ())/> }.into_any()
}

#[component]
fn Tokens() -> impl IntoView {
    let console = expect_context::<Console>();
    let query = use_asked(AccessQuery::parse);
    let ask = use_ask(&Page::Access, AccessQuery::to_query_string);
    let tokens = fetched(
        move || {
            let query = query.get();
            async move { Client.tokens(&query.ask()).await }
        },
        Follow::Once,
    );
    // The palette leads here with the dialog open.
    let asked = use_location().search.get_untracked();
    let creating = RwSignal::new(asked.contains("new=token"));
    let made = RwSignal::new(None::<TokenReply>);
    let on_made = Callback::new(move |reply: TokenReply| {
        creating.set(false);
        made.set(Some(reply));
        if !console.leaving.get_untracked() {
            tokens.refresh();
        }
    });
    let bootstrap = Memo::new(move |_| {
        console
            .session
            .with(|session| is_bootstrap(session.as_ref()))
    });
    view! {
        {move || bootstrap.get().then(|| view! {
            <Notice
                severity=Severity::Info
                title="You use the bootstrap token."
                detail="It is refused as soon as there is an admin's token. Save that one before you leave this page."
                testid="bootstrap-notice"
            />
        })}
        <Secret made/>
        <List tokens query ask creating made/>
        <Create open=creating on_made/>
        <Sessions/>
    }
}
