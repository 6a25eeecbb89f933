//! The application: what every page shares, and which page an address shows.

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::components::{Route, Router, Routes};
use leptos_router::hooks::use_navigate;
use leptos_router::path;
use weir_shared::wire::operator::SessionReply;

use crate::components::announcer::{Announcer, AnnouncerRegion};
use crate::pages::login::LoginPage;
use crate::pages::not_found::NotFoundPage;
use crate::pages::overview::OverviewPage;
use crate::session::{LoginReason, LoginRequest};

/// What every page shares.
#[derive(Clone, Copy)]
pub struct Console {
    /// Who is logged in; none before it is known.
    pub session: RwSignal<Option<SessionReply>>,
    /// Whether the session is being ended: what asks for it now would be refused, and look like an expired one.
    pub leaving: RwSignal<bool>,
    /// Speaks to who does not see the page.
    pub announcer: Announcer,
    /// Whether this page was reached from another one of the console.
    moved: StoredValue<bool>,
}

impl Console {
    /// Provides it to everything below.
    pub fn provide() -> Self {
        let console = Self {
            session: RwSignal::new(None),
            leaving: RwSignal::new(false),
            announcer: Announcer::new(),
            moved: StoredValue::new(false),
        };
        provide_context(console);
        console
    }

    /// Names the page, and puts the focus on its heading unless the browser has just loaded it.
    pub fn arrive(self, page: &str, heading: NodeRef<leptos::html::H1>) {
        document().set_title(&format!("{page} · Weir"));
        Effect::new(move |_| {
            if let Some(heading) = heading.get()
                && self.moved.get_value()
            {
                let _ = heading.focus();
            }
        });
    }
}

/// Goes to another page of the console.
pub fn use_goto() -> impl Fn(&str) + Clone + Send + Sync + 'static {
    let console = expect_context::<Console>();
    let navigate = use_navigate();
    move |address| {
        console.moved.set_value(true);
        navigate(
            address,
            NavigateOptions {
                resolve: false,
                replace: true,
                ..NavigateOptions::default()
            },
        );
    }
}

/// Forgets the session and goes to the login page, which leads back here.
pub fn use_leave() -> impl Fn(LoginReason) + Clone + Send + Sync + 'static {
    let console = expect_context::<Console>();
    let goto = use_goto();
    move |reason| {
        let location = window().location();
        let part = |part: Result<String, _>| part.unwrap_or_default();
        let next = format!("{}{}", part(location.pathname()), part(location.search()));
        console.session.set(None);
        goto(&LoginRequest { reason, next }.address());
    }
}

/// The console.
#[component]
pub fn App() -> impl IntoView {
    let console = Console::provide();
    view! {
        <Router base="/console">
            // `external`: the browser itself moves the focus, which the router would not.
            <a class="skip" href="#main" rel="external">"Skip to content"</a>
            <AnnouncerRegion announcer=console.announcer/>
            <Routes fallback=NotFoundPage>
                <Route path=path!("/") view=OverviewPage/>
                <Route path=path!("/login") view=LoginPage/>
            </Routes>
        </Router>
    }
}
