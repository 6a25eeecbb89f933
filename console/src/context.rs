//! What every page shares, and how one leads to another.

pub mod announcer;
pub mod toasts;

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};
use weir_shared::wire::operator::SessionReply;
use weir_shared::wire::role::Role;

use crate::address::Page;
use crate::api::Client;
use crate::api::error::ApiError;
use crate::live_hub::LiveHub;
use crate::preferences::Preferences;
use crate::session::{LoginReason, LoginRequest};
use crate::trace_file::TraceFile;
use announcer::Announcer;
use toasts::Toasts;

/// What every page shares.
#[derive(Clone, Copy)]
pub struct Console {
    /// Who is logged in; none before it is known.
    pub session: RwSignal<Option<SessionReply>>,
    /// Whether the session is being ended: what asks for it now would be refused, and look like an expired one.
    pub leaving: RwSignal<bool>,
    /// Speaks to who does not see the page.
    pub announcer: Announcer,
    /// Says what happened.
    pub toasts: Toasts,
    /// How the person at the console likes it.
    pub preferences: Preferences,
    /// What happens, as it happens.
    pub live: LiveHub,
    /// The trace that is simulated. It stays while pages change, so that a draft can be changed and played again.
    pub trace: RwSignal<Option<Arc<TraceFile>>>,
    /// Whether the list of shortcuts is open.
    pub shortcuts_open: RwSignal<bool>,
    /// Whether the command palette is open.
    pub palette_open: RwSignal<bool>,
    /// Whether this page was reached from another one of the console.
    moved: StoredValue<bool>,
    role: Memo<Option<Role>>,
    can_change: Memo<bool>,
}

impl Console {
    /// Provides it to everything below.
    pub fn provide() -> Self {
        let announcer = Announcer::new();
        let session = RwSignal::new(None::<SessionReply>);
        // The session is read anew now and then: what follows the role is built anew with another role alone.
        let role = Memo::new(move |_| session.with(|session| Some(session.as_ref()?.role)));
        let can_change = Memo::new(move |_| matches!(role.get(), Some(Role::Editor | Role::Admin)));
        let console = Self {
            session,
            leaving: RwSignal::new(false),
            announcer,
            toasts: Toasts::new(),
            preferences: Preferences::load(),
            live: LiveHub::new(session),
            trace: RwSignal::new(None),
            shortcuts_open: RwSignal::new(false),
            palette_open: RwSignal::new(false),
            moved: StoredValue::new(false),
            role,
            can_change,
        };
        provide_context(console);
        console
    }

    /// Whether the role may change the policy and tenants, and reset state. Follows that alone.
    pub fn can_change(self) -> bool {
        self.can_change.get()
    }

    /// Whether the role may do everything. Follows the role.
    pub fn is_admin(self) -> bool {
        self.role() == Some(Role::Admin)
    }

    /// The role of who is logged in. Follows the role.
    pub fn role(self) -> Option<Role> {
        self.role.get()
    }

    /// Names the page, and puts the focus on its heading unless the browser has just loaded it.
    pub fn arrive(self, title: Signal<String>, heading: NodeRef<leptos::html::H1>) {
        Effect::new(move |_| title.with(|title| document().set_title(&format!("{title} · Weir"))));
        Effect::new(move |_| {
            if let Some(heading) = heading.get()
                && self.moved.get_value()
            {
                let _ = heading.focus();
            }
            self.moved.set_value(true);
        });
    }
}

/// The page that the address shows, with the name in it; none for an address that no page has.
pub fn use_page() -> Memo<Option<Page>> {
    let location = use_location();
    let (path, query) = (location.pathname, location.search);
    Memo::new(move |_| {
        let address = path.with(|path| query.with(|query| format!("{path}?{query}")));
        Page::parse(&address)
    })
}

/// The name in the address of this page, which `name` finds. While the page is being left it is still this one's.
pub fn use_named(name: fn(Page) -> Option<String>) -> Memo<String> {
    let page = use_page();
    Memo::new(move |before: Option<&String>| {
        let named = page.get().and_then(name);
        named.unwrap_or_else(|| before.cloned().unwrap_or_default())
    })
}

/// Goes to another page of the console, in the place of this one.
pub fn use_goto() -> impl Fn(&str) + Clone + Send + Sync + 'static {
    let navigate = use_navigate();
    move |address| {
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
        console.live.stop();
        console.session.set(None);
        goto(&LoginRequest { reason, next }.address());
    }
}

/// Goes to the login page when what failed is the session: nothing else is at fault then.
pub fn leave_when_ended(failed: RwSignal<Option<ApiError>>) {
    let leave = use_leave();
    Effect::new(move |_| {
        if failed.with(|error| error.as_ref().is_some_and(ApiError::is_unauthenticated)) {
            leave(LoginReason::Expired);
        }
    });
}

/// Ends the session and goes to the login page.
pub fn use_log_out() -> Callback<()> {
    let console = expect_context::<Console>();
    let leave = use_leave();
    Callback::new(move |()| {
        let leave = leave.clone();
        console.leaving.set(true);
        spawn_local(async move {
            match Client.log_out().await {
                Err(error) if !error.is_unauthenticated() => {
                    console.leaving.set(false);
                    console.toasts.fail(&error);
                }
                _ => leave(LoginReason::LoggedOut),
            }
        });
    })
}
