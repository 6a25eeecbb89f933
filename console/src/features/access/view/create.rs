//! The dialog that makes a token.

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::units::EpochMs;
use weir_shared::wire::access::TokenReply;
use weir_shared::wire::role::Role;

use crate::api::Client;
use crate::api::error::ApiError;
use crate::clock::server_ms;
use crate::components::dialog::Dialog;
use crate::components::field::{SelectField, TextField};
use crate::components::notice::{Notice, Severity};
use crate::components::time::use_time_zone;
use crate::context::Console;
use crate::features::access::model::draft::{DraftFault, EXPIRIES, TokenDraft, ends_at};
use crate::features::access::model::roles::purpose;
use crate::features::access::model::row::is_bootstrap;
use crate::instant::date_minute;

/// The dialog.
#[component]
pub fn Create(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// Takes what was made.
    on_made: Callback<TokenReply>,
) -> impl IntoView {
    view! {
        <Dialog open title="New token" testid="create-dialog">
            <Form open on_made/>
        </Dialog>
    }
}

/// The fields; a new one each time the dialog opens.
#[derive(Clone, Copy)]
struct Fields {
    name: RwSignal<String>,
    role: RwSignal<String>,
    tenant: RwSignal<String>,
    prefix: RwSignal<String>,
    expiry: RwSignal<String>,
    /// Whether it was tried: nobody is told of a fault in what they have not finished.
    tried: RwSignal<bool>,
    refused: RwSignal<Option<ApiError>>,
    busy: RwSignal<bool>,
}

impl Fields {
    fn new() -> Self {
        Self {
            name: RwSignal::default(),
            role: RwSignal::new(Role::Viewer.name().to_owned()),
            tenant: RwSignal::default(),
            prefix: RwSignal::default(),
            expiry: RwSignal::new(EXPIRIES[0].0.to_owned()),
            tried: RwSignal::new(false),
            refused: RwSignal::new(None),
            busy: RwSignal::new(false),
        }
    }

    fn draft(self) -> TokenDraft {
        TokenDraft {
            name: self.name.get(),
            role: self.role.get(),
            tenant: self.tenant.get(),
            prefix: self.prefix.get(),
            expiry: self.expiry.get(),
        }
    }

    fn fault(self) -> Option<DraftFault> {
        if !self.tried.get() {
            return None;
        }
        let refused = self.refused.with(|refused| {
            let refused = refused.as_ref()?;
            Some(DraftFault {
                field: refused.field()?.to_owned(),
                message: refused.detail(),
            })
        });
        self.draft().request(now()).err().or(refused)
    }

    fn error_at(self, field: &'static str) -> Signal<Option<String>> {
        Signal::derive(move || {
            let fault = self.fault().filter(|fault| fault.field == field);
            fault.map(|fault| fault.message)
        })
    }
}

#[component]
fn Form(open: RwSignal<bool>, on_made: Callback<TokenReply>) -> impl IntoView {
    let console = expect_context::<Console>();
    let fields = Fields::new();
    let role = Memo::new(move |_| fields.role.with(|role| Role::named(role)));
    let roles = Role::ALL.map(|role| (role.name().to_owned(), role.name().to_owned()));
    let expiries = EXPIRIES.map(|(days, said)| (days.to_owned(), said.to_owned()));
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        make(console, fields, on_made);
    };
    let zone = use_time_zone();
    let ends = move || {
        let ends_at = fields.expiry.with(|expiry| ends_at(expiry, now()));
        ends_at.map(|at| format!("Until {}.", date_minute(at.0, zone.get())))
    };
    let bound = move || {
        match role.get() {
        Some(Role::Tenant) => view! {
            <TextField label="Tenant" name="tenant" value=fields.tenant error=fields.error_at("/tenant")
                hint="The one tenant that it may name."/>
        }
        .into_any(),
        Some(Role::Service) => view! {
            <TextField label="Tenants beginning with" name="prefix" value=fields.prefix error=fields.error_at("/prefix")
                hint="Empty for any tenant."/>
        }
        .into_any(),
        _ => ().into_any(),
    }
    };
    let refused = move || {
        let error = fields
            .refused
            .get()
            .filter(|error| error.field().is_none())?;
        let title = format!("No token was created: {}.", error.title());
        let detail = format!("{} {}", error.detail(), error.advice());
        Some(view! { <Notice severity=Severity::Error title detail testid="form-error"/> })
    };
    view! {
        <form class="confirm" on:submit=submit>
            <TextField label="Name" name="name" value=fields.name error=fields.error_at("/name")
                hint="1 to 64 of a-z, 0-9, _ and -. The audit log names its holder so."/>
            <SelectField label="Role" name="role" value=fields.role options=Signal::stored(roles.to_vec())
                error=fields.error_at("/role")/>
            <p class="hint">{move || role.get().map(purpose)}</p>
            {bound}
            <SelectField label="Valid" name="expiry" value=fields.expiry options=Signal::stored(expiries.to_vec())
                error=fields.error_at("/expires_at")/>
            <p class="hint" data-testid="ends">{ends}</p>
            {refused}
            <div class="actions">
                <button type="button" data-testid="cancel" on:click=move |_| open.set(false)>"Cancel"</button>
                <button type="submit" class="primary" data-testid="save" aria-disabled=move || fields.busy.get().then_some("true")>
                    {move || if fields.busy.get() { "Creating…" } else { "Create token" }}
                </button>
            </div>
        </form>
    }
}

fn now() -> EpochMs {
    EpochMs(server_ms())
}

fn make(console: Console, fields: Fields, on_made: Callback<TokenReply>) {
    if fields.busy.get_untracked() {
        return;
    }
    fields.tried.set(true);
    fields.refused.set(None);
    let Ok(request) = untrack(|| fields.draft().request(now())) else {
        return;
    };
    let ends = request.role == Role::Admin
        && console
            .session
            .with_untracked(|session| is_bootstrap(session.as_ref()));
    fields.busy.set(true);
    // The new token ends this session, and going to the login page would take its text away unread.
    console.leaving.set(ends);
    spawn_local(async move {
        match Client.create_token(&request).await {
            Ok(reply) => {
                on_made.run(reply);
                if ends {
                    console.live.stop();
                }
            }
            Err(error) => {
                console.leaving.set(false);
                fields.busy.try_set(false);
                fields.refused.try_set(Some(error));
            }
        }
    });
}
