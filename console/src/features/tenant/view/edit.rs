//! Changes the tenant: the form, a preview of who gains and who loses, and what happens when somebody else was faster.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use weir_shared::invalid::Invalid;
use weir_shared::wire::operator::tenants::TenantReply;
use weir_shared::wire::policy::{PolicyDocument, TenantBody};
use weir_shared::wire::preview::PreviewBody;
use weir_shared::wire::tenant::TenantPatch;

use super::form::{Fields, Form};
use super::numbers::OwnNumbers;
use super::overrides::Overrides;
use super::reset::ResetState;
use super::tenant::Tenant;
use crate::api::Client;
use crate::api::error::ApiError;
use crate::api::tagged::Tagged;
use crate::clock;
use crate::components::dialog::{Confirm, Why};
use crate::components::difference::MeetingTable;
use crate::components::focus;
use crate::components::notice::{Notice, Severity};
use crate::components::preview::PreviewTable;
use crate::components::states::States;
use crate::context::{Console, leave_when_ended};
use crate::features::tenant::model::claim_change::{claim_lines, naming_warning, weights};
use crate::features::tenant::model::conflict::Conflict;
use crate::features::tenant::model::draft::{Setting, TenantDraft, errors_elsewhere, pointers};
use crate::features::tenant::model::numbers::number_names;
use crate::fetched::{Fetched, Follow, fetched};
use crate::situation::shadow::tenant_preview_note;
use crate::visible::visible;

/// What the change is made of.
#[derive(Clone, Copy)]
struct Editing {
    page: Tenant,
    console: Console,
    form: Form,
    /// What the form started from, with the tag of it.
    base: RwSignal<(TenantBody, String)>,
    policy: Fetched<Tagged<PolicyDocument>>,
    /// The draft that was previewed, and what it comes to.
    preview: RwSignal<Option<(TenantDraft, Arc<PreviewBody>)>>,
    conflict: RwSignal<Option<(Conflict, String)>>,
    failed: RwSignal<Option<ApiError>>,
    waiting: RwSignal<bool>,
    why: RwSignal<String>,
}

/// The part of the page for who may change it.
#[component]
pub fn Edit(
    /// The page.
    page: Tenant,
) -> impl IntoView {
    let policy = fetched(|| Client.policy(), Follow::Once);
    view! {
        <States ready=policy.ready() error=policy.error retry=policy.retry()>
            <Change page policy/>
            <ResetState page policy=policy.value/>
            <Remove page/>
        </States>
    }
}

#[component]
fn Change(page: Tenant, policy: Fetched<Tagged<PolicyDocument>>) -> impl IntoView {
    let editing = Editing {
        page,
        console: expect_context::<Console>(),
        form: Form::new(),
        base: RwSignal::new((TenantBody::default(), String::new())),
        policy,
        preview: RwSignal::new(None),
        conflict: RwSignal::new(None),
        failed: RwSignal::new(None),
        waiting: RwSignal::new(false),
        why: RwSignal::new(String::new()),
    };
    editing.follow();
    leave_when_ended(editing.failed);
    let form = editing.form;
    let setting = Memo::new(move |_| policy.value.get().map(|policy| Setting::of(&policy.body)));
    let draft = Memo::new(move |_| form.draft());
    let change = Memo::new(move |_| {
        let name = page.name.get_value();
        let base = editing.base.with(|(base, _)| base.clone());
        setting.with(|setting| match setting {
            Some(setting) => draft.with(|draft| draft.change(&base, setting, &name)),
            None => Ok(None),
        })
    });
    let errors: Memo<Vec<Invalid>> =
        Memo::new(move |_| change.with(|change| change.clone().err().unwrap_or_default()));
    let elsewhere = Memo::new(move |_| {
        let pointers = draft.with(pointers);
        errors.with(|errors| errors_elsewhere(errors, &pointers))
    });
    let patch: Memo<Option<TenantPatch>> =
        Memo::new(move |_| change.with(|change| change.clone().ok().flatten()));
    let changed = Memo::new(move |_| patch.with(Option::is_some));
    let previewed = Memo::new(move |_| {
        draft.with(|draft| {
            editing.preview.with(|preview| {
                let of_this = preview.as_ref().filter(|(of, _)| of == draft);
                of_this.map(|(_, body)| Arc::clone(body))
            })
        })
    });
    let tiers = Signal::derive(move || {
        let policy = policy.value.get();
        let names = policy.map(|policy| policy.body.tiers.keys().cloned().collect());
        names.unwrap_or_default()
    });
    let names = Signal::derive(move || {
        let policy = policy.value.get();
        policy
            .map(|policy| number_names(&policy.body))
            .unwrap_or_default()
    });
    let heading = NodeRef::<leptos::html::H3>::new();
    focus::goes_to(heading);
    let preview = move |_| {
        if let Some(setting) = setting.get_untracked() {
            editing.preview(&setting, draft.get_untracked());
        }
    };
    let save = move |_| {
        if let Some(patch) = patch.get_untracked() {
            editing.save(patch, draft.get_untracked());
        }
    };
    let note = move |body: &PreviewBody| {
        let note = setting
            .with_untracked(|setting| tenant_preview_note(setting.as_ref()?.document(), body));
        note.map(|note| view! { <p class="said" data-testid="preview-note">{note}</p> })
    };
    let name = page.name.get_value();
    let lines = move |body: &PreviewBody| {
        let weights = || {
            let setting = setting.get_untracked()?;
            let candidate = setting.candidate(&name, &draft.get_untracked().body().ok()?);
            weights([setting.document(), &candidate], &name, clock::server_ms())
        };
        let each = claim_lines(body, &name, weights).into_iter();
        let each = each.map(|line| view! { <li>{line}</li> }).collect_view();
        view! { <ul class="bullets" data-testid="preview-claims">{each}</ul> }
    };
    let naming = move || {
        let bound = page.told()?.body.unknown_weight_max?;
        let warning = naming_warning(bound.0);
        Some(view! { <p class="notice warning" data-testid="preview-naming">{warning}</p> })
    };
    let status = move || {
        if errors.with(|errors| !errors.is_empty()) {
            "It cannot be saved as it is."
        } else if editing.conflict.with(Option::is_some) {
            "Nothing was saved: choose above."
        } else if !changed.get() {
            "Nothing is changed."
        } else if previewed.with(Option::is_none) {
            "Changed, not saved. Look at the preview first."
        } else {
            "Changed, not saved."
        }
    };
    view! {
        <section aria-labelledby="change-heading">
            <h2 id="change-heading">"Change"</h2>
            <form class="tenant-form" on:submit=|event| event.prevent_default()>
                <Fields form errors tiers/>
                <OwnNumbers form errors names/>
                <Overrides form errors names/>
                {move || elsewhere.get().into_iter().map(|error| view! {
                    <p class="field-error" data-testid="form-error">{error}</p>
                }).collect_view()}
                {move || editing.failed.get().map(|error| view! {
                    <Notice severity=Severity::Error title=format!("{}.", error.title())
                        detail=format!("{} {}", error.detail(), error.advice()) testid="form-error"/>
                })}
                {move || editing.conflict.get().map(|(conflict, etag)| view! { <Settle editing conflict etag/> })}
                {move || previewed.get().map(|body| view! {
                    <div class="preview-result" data-testid="preview-result">
                        <h3 node_ref=heading tabindex="-1">"What it has a claim to"</h3>
                        {naming}
                        {lines(&body)}
                        <h3>"Who gains and who loses"</h3>
                        {note(&body)}
                        <PreviewTable body=Signal::stored(Some(body)) caption="Preview of the change"/>
                        <Why why=editing.why/>
                    </div>
                })}
                <div class="actions">
                    <p class="muted" role="status">{status}</p>
                    {move || (changed.get() && editing.conflict.with(Option::is_none)).then(|| view! {
                        <button type="button" data-testid="discard" on:click=move |_| editing.discard()>"Discard"</button>
                        <button type="button" class:primary=move || previewed.with(Option::is_none) data-testid="preview"
                            aria-disabled=move || editing.waiting.get().to_string() on:click=preview>"Preview"</button>
                    })}
                    {move || (changed.get() && previewed.with(Option::is_some)).then(|| view! {
                        <button type="button" class="primary" data-testid="save"
                            aria-disabled=move || editing.waiting.get().to_string() on:click=save>"Save"</button>
                    })}
                </div>
            </form>
        </section>
    }
}

impl Editing {
    /// Starts from what is in force, and follows it for as long as nothing is changed here.
    fn follow(self) {
        Effect::new(move |_| {
            let Some(told) = self.page.told() else {
                return;
            };
            let untouched = self.base.with_untracked(|(base, etag)| {
                etag.is_empty() || untrack(|| self.form.draft()) == TenantDraft::of(base)
            });
            let known = self.base.with_untracked(|(_, etag)| *etag == told.etag);
            if untouched && !known {
                self.start(&told.body, &told.etag);
            }
        });
    }

    fn start(self, told: &TenantReply, etag: &str) {
        self.form.fill(&TenantDraft::of(&told.body));
        self.go_on(told, etag);
    }

    /// The same with what is in the form: it is changed from there.
    fn go_on(self, told: &TenantReply, etag: &str) {
        self.base.set((told.body.clone(), etag.to_owned()));
        self.preview.set(None);
        self.failed.set(None);
        self.conflict.set(None);
    }

    fn discard(self) {
        if let Some(told) = self.page.reply.value.get_untracked() {
            self.start(&told.body, &told.etag);
        }
    }

    /// Whether the next thing may be asked for.
    fn begin(self) -> bool {
        let free = !self.waiting.get_untracked();
        if free {
            self.waiting.set(true);
            self.failed.set(None);
        }
        free
    }

    fn preview(self, setting: &Setting, draft: TenantDraft) {
        let Ok(body) = draft.body() else {
            return;
        };
        if !self.begin() {
            return;
        }
        let name = self.page.name.get_value();
        let candidate = setting.candidate(&name, &body);
        spawn_local(async move {
            let answer = Client.preview_policy(&candidate).await;
            self.waiting.try_set(false);
            match answer {
                Ok(body) => {
                    self.preview.try_set(Some((draft, Arc::new(body))));
                    self.console.announcer.say("The preview is there.");
                }
                Err(error) => {
                    self.failed.try_set(Some(error));
                }
            }
        });
    }

    fn save(self, patch: TenantPatch, draft: TenantDraft) {
        if !self.begin() {
            return;
        }
        let name = self.page.name.get_value();
        let etag = self.base.with_untracked(|(_, etag)| etag.clone());
        let why = self.why.get_untracked().trim().to_owned();
        let patch = TenantPatch {
            why: (!why.is_empty()).then_some(why),
            ..patch
        };
        spawn_local(async move {
            let answer = Client.patch_tenant(&name, &patch, &etag).await;
            let gone = self.waiting.try_set(false).is_some();
            match answer {
                Ok(_) if gone => self.console.toasts.say(format!("Saved: {name}.")),
                Err(error) if gone => self.console.toasts.fail(&error),
                Ok(saved) => {
                    // What is typed while it is being saved stays.
                    if untrack(|| self.form.draft()) == draft {
                        self.start(&saved.body, &saved.etag);
                    } else {
                        self.go_on(&saved.body, &saved.etag);
                    }
                    self.why.try_set(String::new());
                    self.page.reply.replace(saved);
                    self.policy.refresh();
                    self.console.toasts.say(format!("Saved: {name}."));
                }
                Err(error) if error.is_conflict() => self.meet(&name, draft).await,
                Err(error) => {
                    self.failed.try_set(Some(error));
                }
            }
        });
    }

    /// Somebody else was faster: reads what they made of it.
    async fn meet(self, name: &str, draft: TenantDraft) {
        match (Client.tenant(name).await, draft.body()) {
            (Ok(theirs), Ok(mine)) => {
                let base = self.base.try_with_untracked(|(base, _)| base.clone());
                let conflict = Conflict {
                    base: base.unwrap_or_default(),
                    theirs: theirs.body.body.clone(),
                    mine,
                };
                self.preview.try_set(None);
                self.conflict.try_set(Some((conflict, theirs.etag.clone())));
                self.page.reply.replace(theirs);
                self.policy.refresh();
                let said = "The tenant was changed meanwhile. Nothing was saved.";
                self.console.announcer.say(said);
            }
            (Err(error), _) => {
                self.failed.try_set(Some(error));
            }
            (Ok(_), Err(_)) => {}
        }
    }
}

/// What differs, and the choice between theirs and mine on top of it.
#[component]
fn Settle(editing: Editing, conflict: Conflict, etag: String) -> impl IntoView {
    let rows = conflict.meetings();
    let theirs = {
        let (conflict, etag) = (conflict.clone(), etag.clone());
        move |_| {
            editing.form.fill(&TenantDraft::of(&conflict.theirs));
            editing.base.set((conflict.theirs.clone(), etag.clone()));
            editing.preview.set(None);
            editing.conflict.set(None);
        }
    };
    let mine = move |_| {
        editing.form.fill(&conflict.mine_on_top());
        editing.base.set((conflict.theirs.clone(), etag.clone()));
        editing.preview.set(None);
        editing.conflict.set(None);
    };
    view! {
        <div class="conflict" role="group" aria-labelledby="conflict-heading" data-testid="conflict">
            <h3 id="conflict-heading">"Somebody changed this tenant meanwhile"</h3>
            <p>"Nothing of yours was saved. Take what they saved, or put your changes on top of it and look at the preview again."</p>
            <MeetingTable rows=Signal::stored(rows)/>
            <div class="actions">
                <button type="button" data-testid="take-theirs" on:click=theirs>"Take theirs"</button>
                <button type="button" class="primary" data-testid="put-mine" on:click=mine>"Put mine on top"</button>
            </div>
        </div>
    }
}

/// Takes the tenant out of the policy.
#[component]
fn Remove(page: Tenant) -> impl IntoView {
    let console = expect_context::<Console>();
    let open = RwSignal::new(false);
    let why = RwSignal::new(String::new());
    let named = Memo::new(move |_| page.told().is_some_and(|told| told.body.named));
    let remove = Callback::new(move |()| {
        let Some(told) = page.reply.value.get_untracked() else {
            return;
        };
        let name = page.name.get_value();
        let because = why.get_untracked().trim().to_owned();
        spawn_local(async move {
            let because = (!because.is_empty()).then_some(because.as_str());
            match Client.delete_tenant(&name, &told.etag, because).await {
                Ok(()) => console
                    .toasts
                    .say(format!("Removed from the policy: {name}.")),
                Err(error) => console.toasts.fail(&error),
            }
            page.reply.refresh();
        });
    });
    let name = page.name.get_value();
    let shown = visible(&name);
    let title = Signal::stored(format!("Remove {shown} from the policy"));
    let detail = Signal::stored(
        "Its tier, weight, bounds and overrides are forgotten; the next request of it is decided by rule, as of any tenant \
         that the policy does not name. What was counted stays. The audit log can put it back."
            .to_owned(),
    );
    view! {
        {move || named.get().then(|| view! {
            <section aria-labelledby="remove-heading">
                <h2 id="remove-heading">"Remove from the policy"</h2>
                <p class="muted">{detail}</p>
                <button type="button" class="danger" data-testid="remove" on:click=move |_| open.set(true)>"Remove…"</button>
            </section>
        })}
        <Confirm open title=title detail=detail confirm=Signal::stored(format!("Remove {shown}")) danger=true why=why on_confirm=remove/>
    }
}
