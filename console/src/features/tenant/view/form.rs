//! The fields of a tenant that is being changed.

use leptos::prelude::*;
use serde_json::{Map, Value};
use weir_shared::invalid::Invalid;
use weir_shared::wire::policy::TenantBody;
use weir_shared::wire::tenant::ClaimToAll;

use crate::components::field::{NumberField, SelectField, TextField};
use crate::features::tenant::model::draft::{Claims, TenantDraft, error_at};
use crate::features::tenant::model::numbers::{NumberDraft, NumberName};
use crate::features::tenant::model::override_draft::OverrideDraft;
use crate::visible::visible;

/// What is typed, field by field.
#[derive(Clone, Copy)]
pub struct Form {
    /// The tier.
    pub tier: RwSignal<String>,
    /// The weight.
    pub weight: RwSignal<String>,
    /// The tenant above.
    pub parent: RwSignal<String>,
    /// What it claims of every budget.
    pub claims: Claims<RwSignal<String>>,
    /// The overrides.
    pub overrides: RwSignal<Vec<OverrideForm>>,
    /// Its own numbers.
    pub numbers: RwSignal<Vec<NumberForm>>,
    /// What has no field.
    kept: RwSignal<Map<String, Value>>,
    /// Who the signals of added lines belong to: the form, not the press that added them.
    owner: StoredValue<Option<Owner>>,
    next_key: StoredValue<usize>,
}

/// One override.
#[derive(Clone, Copy, PartialEq)]
pub struct OverrideForm {
    /// Tells it from the others while lines come and go.
    pub key: usize,
    /// Its start.
    pub starts_at: RwSignal<String>,
    /// Its end.
    pub expires_at: RwSignal<String>,
    /// The weight.
    pub weight: RwSignal<String>,
    /// Other numbers.
    pub numbers: RwSignal<Vec<NumberForm>>,
}

/// One number, its own or an override's.
#[derive(Clone, PartialEq)]
pub struct NumberForm {
    /// Tells it from the others.
    pub key: usize,
    /// Which number.
    pub at: NumberName,
    /// What is typed.
    pub value: RwSignal<String>,
}

impl Form {
    /// An empty form, of the component that makes it.
    pub fn new() -> Self {
        let text = || RwSignal::new(String::new());
        Self {
            tier: text(),
            weight: text(),
            parent: text(),
            claims: TenantBody::CLAIMS.map(|_| text()),
            overrides: RwSignal::new(Vec::new()),
            numbers: RwSignal::new(Vec::new()),
            kept: RwSignal::new(Map::new()),
            owner: StoredValue::new(Owner::current()),
            next_key: StoredValue::new(0),
        }
    }

    fn owned<T>(self, make: impl FnOnce() -> T) -> T {
        match self.owner.get_value() {
            Some(owner) => owner.with(make),
            None => make(),
        }
    }

    fn key(self) -> usize {
        self.next_key.update_value(|key| *key += 1);
        self.next_key.get_value()
    }

    /// What is typed, as a draft. Follows every field.
    pub fn draft(self) -> TenantDraft {
        let overrides = self.overrides.get().into_iter().map(|one| OverrideDraft {
            starts_at: one.starts_at.get(),
            expires_at: one.expires_at.get(),
            weight: one.weight.get(),
            numbers: typed(one.numbers),
        });
        TenantDraft {
            tier: self.tier.get(),
            weight: self.weight.get(),
            parent: self.parent.get(),
            claims: self.claims.map(|claim| claim.get()),
            overrides: overrides.collect(),
            numbers: typed(self.numbers),
            kept: self.kept.get(),
        }
    }

    /// Puts a draft into the fields.
    pub fn fill(self, draft: &TenantDraft) {
        self.tier.set(draft.tier.clone());
        self.weight.set(draft.weight.clone());
        self.parent.set(draft.parent.clone());
        for (claim, text) in self.claims.iter().zip(&draft.claims) {
            claim.set(text.clone());
        }
        let overrides = draft.overrides.iter().map(|one| self.override_form(one));
        self.overrides.set(overrides.collect());
        let numbers = draft.numbers.iter().map(|one| self.number_form(one));
        self.numbers.set(numbers.collect());
        self.kept.set(draft.kept.clone());
    }

    fn override_form(self, draft: &OverrideDraft) -> OverrideForm {
        let numbers = draft.numbers.iter().map(|number| self.number_form(number));
        let numbers: Vec<NumberForm> = numbers.collect();
        let key = self.key();
        self.owned(|| OverrideForm {
            key,
            starts_at: RwSignal::new(draft.starts_at.clone()),
            expires_at: RwSignal::new(draft.expires_at.clone()),
            weight: RwSignal::new(draft.weight.clone()),
            numbers: RwSignal::new(numbers),
        })
    }

    fn number_form(self, draft: &NumberDraft) -> NumberForm {
        let key = self.key();
        self.owned(|| NumberForm {
            key,
            at: draft.at.clone(),
            value: RwSignal::new(draft.value.clone()),
        })
    }

    /// One more override.
    pub fn add_override(self, draft: &OverrideDraft) {
        let one = self.override_form(draft);
        self.overrides.update(|overrides| overrides.push(one));
    }

    /// One more number in a list.
    pub fn add_number(self, to: RwSignal<Vec<NumberForm>>, at: NumberName) {
        let value = String::new();
        let number = self.number_form(&NumberDraft { at, value });
        to.update(|numbers| numbers.push(number));
    }
}

/// The numbers of a list, as they are typed. Follows every field.
fn typed(numbers: RwSignal<Vec<NumberForm>>) -> Vec<NumberDraft> {
    let number = |number: &NumberForm| NumberDraft {
        at: number.at.clone(),
        value: number.value.get(),
    };
    numbers.with(|numbers| numbers.iter().map(number).collect())
}

/// What is wrong at a pointer, for the field there.
pub fn error(errors: Memo<Vec<Invalid>>, pointer: String) -> Signal<Option<String>> {
    Signal::derive(move || {
        errors.with(|errors| {
            error_at(errors, &pointer).map(|error| visible(&error.fault.to_string()))
        })
    })
}

/// Tier, weight, parent and bounds.
#[component]
pub fn Fields(
    /// What is typed.
    form: Form,
    /// What is wrong with it.
    errors: Memo<Vec<Invalid>>,
    /// The tiers of the policy.
    tiers: Signal<Vec<String>>,
) -> impl IntoView {
    let at = move |field: &str| error(errors, format!("/{field}"));
    let options = Signal::derive(move || {
        let by_rule = (String::new(), "by rule".to_owned());
        let named = tiers.get().into_iter().map(|tier| (tier.clone(), tier));
        std::iter::once(by_rule).chain(named).collect()
    });
    let claims = TenantBody::CLAIMS.into_iter().zip(form.claims);
    let claims = claims.map(|(claim, value)| {
        let ClaimToAll {
            name,
            input,
            label,
            hint,
        } = claim;
        view! { <NumberField label name=input value error=at(name) unit="units/window" hint/> }
    });
    view! {
        <div class="form-grid">
            <SelectField label="Tier" name="tier" value=form.tier options=options error=at("tier")
                hint="By rule: the first prefix that fits its name, else the default tier."/>
            <NumberField label="Weight" name="weight" value=form.weight error=at("weight")
                hint="Up to six decimals. Empty: its tier's."/>
            <TextField label="Parent" name="parent" value=form.parent error=at("parent")
                hint="The tenant above it, whose share it divides. Empty: none."/>
            {claims.collect_view()}
        </div>
    }
}
