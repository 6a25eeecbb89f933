//! The draft that all parts of the policy page edit. It outlives the page in the session's storage of the browser.

use std::sync::Arc;
use std::time::Duration;

use leptos::ev;
use leptos::leptos_dom::helpers::TimeoutHandle;
use leptos::prelude::*;
use leptos::wasm_bindgen::JsCast;
use serde_json::Value;
use weir_shared::wire::policy::PolicyDocument;

use crate::api::tagged::Tagged;
use crate::difference::Row;
use crate::features::policy::model::draft::PolicyDraft;
use crate::features::policy::model::validate::{Checked, Flaw};
use crate::rebase::Keep;

/// Where the draft is kept while the page is away.
const KEPT: &str = "weir.policy-draft";

/// How long nothing was typed before the draft is validated: a large policy takes a while.
const REST_MS: u64 = 150;

/// What a look at the whole draft found.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The policy, or the first flaw.
    pub checked: Result<Arc<Checked>, Flaw>,
    /// What it changes.
    pub rows: Vec<Row>,
    /// Whether it changes anything, be it into what cannot be read.
    pub changed: bool,
}

/// The draft, and what is known of it.
#[derive(Clone, Copy)]
pub struct Editor {
    /// The draft; none until the policy was read.
    pub draft: RwSignal<Option<PolicyDraft>>,
    /// What a look at it found, a moment after it was changed.
    pub verdict: RwSignal<Option<Arc<Verdict>>>,
    /// What somebody else saved since the draft was begun.
    pub theirs: RwSignal<Option<Tagged<PolicyDocument>>>,
    /// Whether what it changes is being looked over.
    pub reviewing: RwSignal<bool>,
    /// Where the draft forwarded requests without a route last, while they are refused.
    pub unrouted: StoredValue<Option<Value>>,
    timer: StoredValue<Option<TimeoutHandle>>,
}

impl Editor {
    /// An editor without a draft, for everything below.
    pub fn provide() -> Self {
        let editor = Self {
            draft: RwSignal::new(None),
            verdict: RwSignal::new(None),
            theirs: RwSignal::new(None),
            reviewing: RwSignal::new(false),
            unrouted: StoredValue::new(None),
            timer: StoredValue::new(None),
        };
        provide_context(editor);
        let unload = window_event_listener(ev::beforeunload, move |event| {
            if editor.is_changed() {
                event.prevent_default();
            }
        });
        // In a field the browser itself undoes what was typed in it.
        let undo = window_event_listener(ev::keydown, move |event| {
            let wanted =
                (event.ctrl_key() || event.meta_key()) && !event.shift_key() && !event.alt_key();
            let typing = event
                .target()
                .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
                .is_some_and(|target| {
                    matches!(
                        target.closest("input, textarea, select, dialog"),
                        Ok(Some(_))
                    )
                });
            if wanted && !typing && event.key().eq_ignore_ascii_case("z") && editor.can_undo() {
                event.prevent_default();
                editor.undo();
            }
        });
        on_cleanup(move || {
            undo.remove();
            unload.remove();
            editor.keep_what_waits();
        });
        editor
    }

    /// Takes up the policy as it was read: the draft that was kept goes on, if there is one.
    pub fn begin(self, read: &Tagged<PolicyDocument>) {
        let under_way = self.draft.with_untracked(Clone::clone);
        let under_way = under_way.or_else(kept);
        match under_way.filter(PolicyDraft::is_changed) {
            None => self.renew(read),
            Some(draft) => {
                let moved = draft.etag() != read.etag;
                self.theirs.set(moved.then(|| read.clone()));
                self.draft.set(Some(draft));
                self.look();
            }
        }
    }

    /// A draft that changes nothing.
    pub fn renew(self, read: &Tagged<PolicyDocument>) {
        let draft = PolicyDraft::new(&read.body, &read.etag);
        self.draft.set(Some(draft));
        self.theirs.set(None);
        self.reviewing.set(false);
        self.look();
    }

    /// Changes the draft.
    pub fn edit(self, change: impl FnOnce(&mut PolicyDraft)) {
        self.draft.update(|draft| {
            if let Some(draft) = draft {
                change(draft);
            }
        });
        self.reviewing.set(false);
        self.stop_waiting();
        let look = move || self.look();
        let handle = set_timeout_with_handle(look, Duration::from_millis(REST_MS));
        self.timer.set_value(handle.ok());
    }

    /// Takes the last change back, and looks at what is left.
    pub fn undo(self) {
        self.edit(|draft| {
            draft.undo();
        });
        self.look();
    }

    /// Puts one value back to what the policy in force has.
    pub fn undo_value(self, pointer: &str) {
        self.edit(|draft| draft.undo_value(pointer));
        self.look();
    }

    /// Puts a value at a pointer.
    pub fn put(self, pointer: &str, value: Option<Value>) {
        self.edit(|draft| draft.put(pointer, value));
    }

    /// Puts the draft on top of what somebody else saved.
    pub fn rebase(self, keep: Keep) {
        if let Some(theirs) = self.theirs.get_untracked() {
            self.edit(|draft| draft.rebase(&theirs.body, &theirs.etag, keep));
            self.theirs.set(None);
        }
    }

    /// Back to the policy in force.
    pub fn discard(self) {
        match self.theirs.get_untracked() {
            Some(theirs) => self.renew(&theirs),
            None => {
                self.edit(PolicyDraft::discard);
                self.look();
            }
        }
    }

    /// Looks at the whole draft now, and keeps it.
    pub fn look(self) {
        self.stop_waiting();
        let verdict = self.draft.with_untracked(|draft| {
            let draft = draft.as_ref()?;
            let verdict = Verdict {
                checked: draft.check().map(Arc::new),
                rows: draft.changes(),
                changed: draft.is_changed(),
            };
            keep(verdict.changed.then(|| draft.kept()));
            Some(Arc::new(verdict))
        });
        self.verdict.set(verdict);
    }

    /// Whether there is a change to take back.
    pub fn can_undo(self) -> bool {
        let can = self
            .draft
            .try_with_untracked(|draft| draft.as_ref().is_some_and(PolicyDraft::can_undo));
        can == Some(true)
    }

    /// Whether the draft changes anything.
    pub fn is_changed(self) -> bool {
        let changed = self
            .verdict
            .try_with_untracked(|verdict| verdict.as_ref().is_some_and(|verdict| verdict.changed));
        changed == Some(true)
    }

    /// The flaw of the draft, if it has one.
    pub fn flaw(self) -> Option<Flaw> {
        self.verdict
            .with(|verdict| verdict.as_ref()?.checked.as_ref().err().cloned())
    }

    /// The policy in force when the draft was begun, or the one of the draft.
    pub fn checked(self) -> Option<Arc<Checked>> {
        self.verdict
            .with(|verdict| verdict.as_ref()?.checked.as_ref().ok().cloned())
    }

    /// The value at a pointer.
    pub fn at(self, pointer: &str) -> Option<Value> {
        self.draft
            .with(|draft| draft.as_ref()?.at(pointer).cloned())
    }

    /// Keeps what was typed a moment ago, when the page is left before it was looked at.
    fn keep_what_waits(self) {
        let waits = self.timer.try_with_value(Option::is_some) == Some(true);
        self.stop_waiting();
        if waits {
            self.draft.try_with_untracked(|draft| {
                keep(
                    draft
                        .as_ref()
                        .filter(|draft| draft.is_changed())
                        .map(PolicyDraft::kept),
                );
            });
        }
    }

    fn stop_waiting(self) {
        let handle = self.timer.try_update_value(Option::take).flatten();
        if let Some(handle) = handle {
            handle.clear();
        }
    }
}

fn storage() -> Option<web_sys::Storage> {
    window().session_storage().ok().flatten()
}

/// The draft that this tab keeps, if it has one.
pub fn kept() -> Option<PolicyDraft> {
    let text = storage()?.get_item(KEPT).ok().flatten()?;
    PolicyDraft::restored(&text)
}

/// Storage that is full or forbidden loses the draft with the page, which is said when it is left.
fn keep(text: Option<String>) {
    let Some(storage) = storage() else {
        return;
    };
    let _ = match text {
        Some(text) => storage.set_item(KEPT, &text),
        None => storage.remove_item(KEPT),
    };
}
