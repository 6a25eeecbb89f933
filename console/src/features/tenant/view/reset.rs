//! Puts state of the tenant back to its start, after a question that says what that does.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::wire::policy::PolicyDocument;

use super::tenant::Tenant;
use crate::api::Client;
use crate::api::tagged::Tagged;
use crate::components::dialog::Confirm;
use crate::components::field::{SelectField, TextField};
use crate::context::Console;
use crate::features::tenant::model::reset::{Reset, per_tenant, resettable};
use crate::format;
use crate::what::{Kind, What};

/// What the choice of everything is called in the form.
const ALL: &str = "";

/// The form, and the question.
#[component]
pub fn ResetState(
    /// The page.
    page: Tenant,
    /// The policy.
    policy: Signal<Option<Arc<Tagged<PolicyDocument>>>>,
) -> impl IntoView {
    let console = expect_context::<Console>();
    let chosen = RwSignal::new(ALL.to_owned());
    let key = RwSignal::new(String::new());
    let open = RwSignal::new(false);
    let why = RwSignal::new(String::new());
    let options = Signal::derive(move || {
        let all = (ALL.to_owned(), "everything of the tenant".to_owned());
        let some = policy.get().map(|policy| resettable(&policy.body));
        let some = some.unwrap_or_default().into_iter();
        let some = some.map(|what| {
            let words = match what.kind {
                Kind::Limit => format!("a key of limit {}", what.name),
                _ => what.words(),
            };
            (what.to_string(), words)
        });
        std::iter::once(all).chain(some).collect()
    });
    let what = Memo::new(move |_| What::parse(&chosen.get()));
    let of_key = Memo::new(move |_| what.get().is_some_and(|what| what.kind == Kind::Limit));
    let reset = Memo::new(move |_| match what.get() {
        Some(what) => Reset::of(&what, &key.get()).unwrap_or(Reset::Tenant),
        None => Reset::Tenant,
    });
    let own_keys = Memo::new(move |_| match what.get() {
        Some(what) => policy.with(|policy| {
            let policy = policy.as_ref();
            policy.is_some_and(|policy| per_tenant(&policy.body, &what.name))
        }),
        None => true,
    });
    let key_missing = RwSignal::new(false);
    let key_error = Signal::derive(move || {
        (key_missing.get() && key.with(String::is_empty)).then(|| "is required".to_owned())
    });
    let ask = move |_| {
        let needed = of_key.get_untracked() && !own_keys.get_untracked();
        let missing = needed && key.with_untracked(String::is_empty);
        key_missing.set(missing);
        open.set(!missing);
    };
    let carry_out = Callback::new(move |()| {
        let name = page.name.get_value();
        let asked = reset.get_untracked();
        let per_tenant = own_keys.get_untracked() || !of_key.get_untracked();
        let request = asked.request(&name, per_tenant, &why.get_untracked());
        spawn_local(async move {
            match Client.reset(&request).await {
                Ok(done) => {
                    why.try_set(String::new());
                    let keys = usize::try_from(done.keys).unwrap_or(usize::MAX);
                    let keys = format::counted(keys, "state");
                    let said = format!(
                        "{}: {keys} put back. Audit record {}.",
                        asked.title(&name),
                        done.audit
                    );
                    console.toasts.say(said);
                }
                Err(error) => console.toasts.fail(&error),
            }
        });
    });
    let title = Signal::derive(move || page.name.with_value(|name| reset.get().title(name)));
    let detail = Signal::derive(move || reset.get().warning().to_owned());
    view! {
        <section aria-labelledby="reset-heading">
            <h2 id="reset-heading">"Reset state"</h2>
            <div class="form-grid">
                <SelectField label="What" name="reset-what" value=chosen options=options/>
                {move || of_key.get().then(|| view! {
                    <TextField label="Key" name="reset-key" value=key error=key_error
                        hint="As the check names it: an address, a user."/>
                })}
            </div>
            <p class="muted">{detail}</p>
            <button type="button" data-testid="reset" on:click=ask>"Reset…"</button>
            <Confirm open title=title detail=detail confirm=Signal::stored("Reset".to_owned()) danger=true why=why on_confirm=carry_out/>
        </section>
    }
}
