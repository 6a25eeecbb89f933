//! Puts state back to its start, after it was said what that does.

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_query_map;

use super::editor::Editor;
use crate::api::Client;
use crate::components::dialog::Confirm;
use crate::components::field::{SelectField, TextField};
use crate::context::{Console, use_leave};
use crate::features::policy::model::draft::PolicyDraft;
use crate::features::policy::model::reset::{NEVER, ResetForm, What};
use crate::features::policy::model::validate::{Checked, check};
use crate::session::LoginReason;
use crate::visible::visible;

/// The section; for who may not change anything, that it is not for them.
#[component]
pub fn ResetSection() -> impl IntoView {
    let console = expect_context::<Console>();
    move || {
        if console.can_change() {
            view! { <ResetFields/> }.into_any()
        } else {
            let text = "Your role reads only. An editor or an admin can reset state.";
            view! { <p class="state" data-testid="state-forbidden">{text}</p> }.into_any()
        }
    }
}

/// The form. What the address names is filled in.
#[component]
fn ResetFields() -> impl IntoView {
    let console = expect_context::<Console>();
    let editor = expect_context::<Editor>();
    let leave = use_leave();
    let query = use_query_map().get_untracked();
    let given = |name: &str| query.get(name).unwrap_or_default();
    let what = RwSignal::new(What::parse(&given("what")).slug().to_owned());
    let name = RwSignal::new(given("name"));
    let tenant = RwSignal::new(given("tenant"));
    let key = RwSignal::new(given("key"));
    let why = RwSignal::new(String::new());
    let (asked, asking) = (RwSignal::new(false), RwSignal::new(false));
    // What is in force, and not the draft, is what has state.
    let in_force = Memo::new(move |_| {
        let base = editor
            .draft
            .with(|draft| draft.as_ref().map(PolicyDraft::base).cloned());
        base.and_then(|base| check(&base).ok())
    });
    let form = move || ResetForm {
        what: what.with(|what| What::parse(what)),
        name: name.get(),
        tenant: tenant.with(|tenant| tenant.trim().to_owned()),
        key: key.get(),
    };
    let with_policy = move |of: &dyn Fn(&ResetForm, &Checked) -> bool| {
        in_force.with(|checked| checked.as_ref().is_some_and(|checked| of(&form(), checked)))
    };
    let fault =
        Memo::new(move |_| in_force.with(|checked| form().check(&checked.as_ref()?.policy).err()));
    let error = move |field: &'static str| {
        Signal::derive(move || {
            let (at, message) = fault.get()?;
            (asked.get() && at == field).then_some(message)
        })
    };
    let names = Signal::derive(move || {
        let names = in_force.with(|checked| {
            checked
                .as_ref()
                .map_or_else(Vec::new, |checked| form().names(&checked.policy))
        });
        let first = std::iter::once((String::new(), "choose one".to_owned()));
        first
            .chain(names.into_iter().map(|name| (name.clone(), name)))
            .collect::<Vec<_>>()
    });
    let kinds = What::ALL.map(|what| (what.slug().to_owned(), what.label().to_owned()));
    let named = Memo::new(move |_| what.with(|what| What::parse(what)) != What::Tenant);
    let keyed = Memo::new(move |_| what.with(|what| What::parse(what)) == What::Key);
    let tenanted =
        Memo::new(move |_| with_policy(&|form, checked| form.has_tenant(&checked.policy)));
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        asked.set(true);
        if fault.get_untracked().is_none() {
            asking.set(true);
        }
    };
    let carry_out = Callback::new(move |()| {
        let Some(checked) = in_force.get_untracked() else {
            return;
        };
        let form = untrack(form);
        let reason = why.get_untracked();
        let request = form.request(&checked.policy, Some(reason.trim()));
        let leave = leave.clone();
        spawn_local(async move {
            match Client.reset(&request).await {
                Ok(reply) => {
                    console.toasts.say(form.done(&reply));
                    key.try_set(String::new());
                    why.try_set(String::new());
                    asked.try_set(false);
                }
                Err(error) if error.is_unauthenticated() => leave(LoginReason::Expired),
                Err(error) => console.toasts.fail(&error),
            }
        });
    });
    let title = Signal::derive(move || {
        let target = in_force.with(|checked| {
            let reset = form().check(&checked.as_ref()?.policy).ok()?;
            let keyed = reset.target.starts_with("limit ");
            Some(if keyed {
                format!(
                    "{}, key {}",
                    reset.target,
                    reset.key.replace('\u{1}', " · ")
                )
            } else {
                reset.target
            })
        });
        format!("Reset {}?", visible(&target.unwrap_or_default()))
    });
    let warning = move || what.with(|what| What::parse(what)).warning();
    let detail = Signal::derive(move || format!("{} {NEVER}", warning()));
    view! {
        <form class="reset" on:submit=submit novalidate>
            <div class="fields">
                <SelectField label="What" name="what" value=what options=Signal::stored(kinds.to_vec())/>
                {move || named.get().then(|| view! { <SelectField label="Name" name="name" value=name options=names error=error("name")/> })}
                {move || tenanted.get().then(|| view! { <TextField label="Tenant" name="tenant" value=tenant error=error("tenant")/> })}
                {move || keyed.get().then(|| view! {
                    <TextField label="Key" name="key" value=key error=error("key") hint="As the check names it: an address, a user."/>
                })}
            </div>
            <p class="notice warning"><span>{warning}" "{NEVER}</span></p>
            <div class="actions">
                <button type="submit" class="danger" data-testid="reset">"Reset…"</button>
            </div>
        </form>
        <Confirm open=asking title detail confirm="Reset it" danger=true why=why on_confirm=carry_out/>
    }
}
