//! Labelled fields of forms. A hint and an error are tied to their field, so that they are read aloud with it.

use std::cell::Cell;

use leptos::prelude::*;

thread_local! {
    static FIELDS: Cell<u32> = const { Cell::new(0) };
}

/// An id that no other element has.
pub fn unique_id(stem: &str) -> String {
    let number = FIELDS.get() + 1;
    FIELDS.set(number);
    format!("{stem}-{number}")
}

/// Where a field's label, hint and error stand, by id.
#[derive(Clone)]
struct Frame {
    id: String,
    name: &'static str,
    label: String,
    hint: Option<String>,
    error: Signal<Option<String>>,
}

impl Frame {
    fn new(
        name: &'static str,
        label: String,
        hint: Option<String>,
        error: Option<Signal<Option<String>>>,
    ) -> Self {
        Self {
            id: unique_id(name),
            name,
            label,
            hint: hint.filter(|hint| !hint.is_empty()),
            error: error.unwrap_or_else(|| Signal::stored(None)),
        }
    }

    fn testid(&self) -> String {
        format!("field-{}", self.name)
    }

    fn invalid(&self) -> impl Fn() -> Option<&'static str> + Send + Sync + 'static {
        let error = self.error;
        move || error.with(Option::is_some).then_some("true")
    }

    /// The ids of what describes the field.
    fn described_by(&self) -> impl Fn() -> Option<String> + Send + Sync + 'static {
        let (id, hinted, error) = (self.id.clone(), self.hint.is_some(), self.error);
        move || {
            let hint = hinted.then(|| format!("{id}-hint"));
            let fault = error.with(Option::is_some).then(|| format!("{id}-error"));
            match (hint, fault) {
                (Some(hint), Some(fault)) => Some(format!("{hint} {fault}")),
                (hint, fault) => hint.or(fault),
            }
        }
    }

    /// The label above, the control, and what is said of it below.
    fn around(self, control: AnyView) -> AnyView {
        let (hint_id, error_id) = (format!("{}-hint", self.id), format!("{}-error", self.id));
        let (error, error_testid) = (self.error, format!("error-{}", self.name));
        view! {
            <div class="field">
                <label for=self.id>{self.label}</label>
                {control}
                {self.hint.map(|hint| view! { <p class="hint" id=hint_id>{hint}</p> })}
                {move || error.get().map(|error| view! {
                    <p class="field-error" id=error_id.clone() data-testid=error_testid.clone()>{error}</p>
                })}
            </div>
        }
        .into_any()
    }
}

fn input(
    frame: Frame,
    value: RwSignal<String>,
    unit: Option<String>,
    numeric: bool,
    placeholder: Option<String>,
    suggested: Option<Signal<Vec<String>>>,
) -> AnyView {
    let list = format!("{}-suggested", frame.id);
    let names = list.clone();
    let control = view! {
        <span class="control" class:numeric=numeric>
            <input
                type="text"
                id=frame.id.clone()
                data-testid=frame.testid()
                inputmode=numeric.then_some("decimal")
                autocomplete="off"
                spellcheck="false"
                placeholder=placeholder
                list=suggested.map(|_| list)
                aria-invalid=frame.invalid()
                aria-describedby=frame.described_by()
                prop:value=move || value.get()
                on:input=move |event| value.set(event_target_value(&event))
            />
            {unit.map(|unit| view! { <span class="unit">{unit}</span> })}
            {suggested.map(|all| {
                let option = |name: String| view! { <option value=name></option> };
                view! { <datalist id=names>{move || all.get().into_iter().map(option).collect_view()}</datalist> }
            })}
        </span>
    };
    frame.around(control.into_any())
}

/// A line of text.
#[component]
pub fn TextField(
    /// What it is.
    #[prop(into)]
    label: String,
    /// Its name for scripted journeys: `field-` and this.
    name: &'static str,
    /// What is typed.
    value: RwSignal<String>,
    /// What is wrong with it.
    #[prop(optional, into)]
    error: Option<Signal<Option<String>>>,
    /// What it means.
    #[prop(optional, into)]
    hint: Option<String>,
    /// What stands in it while nothing is typed.
    #[prop(optional, into)]
    placeholder: Option<String>,
    /// Texts that are suggested while it is typed.
    #[prop(optional, into)]
    suggested: Option<Signal<Vec<String>>>,
) -> impl IntoView {
    let frame = Frame::new(name, label, hint, error);
    input(frame, value, None, false, placeholder, suggested)
}

/// A number, as text: what is typed stays as it is until it is read.
#[component]
pub fn NumberField(
    /// What it is.
    #[prop(into)]
    label: String,
    /// Its name for scripted journeys: `field-` and this.
    name: &'static str,
    /// What is typed.
    value: RwSignal<String>,
    /// What is wrong with it.
    #[prop(optional, into)]
    error: Option<Signal<Option<String>>>,
    /// What it means.
    #[prop(optional, into)]
    hint: Option<String>,
    /// What counts where nothing is typed.
    #[prop(optional, into)]
    placeholder: Option<String>,
    /// Its unit.
    #[prop(optional, into)]
    unit: Option<String>,
) -> impl IntoView {
    let frame = Frame::new(name, label, hint, error);
    input(frame, value, unit, true, placeholder, None)
}

/// The options of a list to choose from: values and what they are called. An option stays on the page while another one
/// is chosen and while others come and go, so that an open list stays open.
pub fn options(value: Signal<String>, options: Signal<Vec<(String, String)>>) -> AnyView {
    let one = move |(option, called): (String, String)| {
        let own = option.clone();
        let selected = move || value.with(|value| *value == own);
        view! { <option value=option prop:selected=selected>{called}</option> }
    };
    view! { <For each=move || options.get() key=Clone::clone children=one/> }.into_any()
}

/// One of several.
#[component]
pub fn SelectField(
    /// What it is.
    #[prop(into)]
    label: String,
    /// Its name for scripted journeys: `field-` and this.
    name: &'static str,
    /// The value chosen.
    value: RwSignal<String>,
    /// Values and what they are called.
    #[prop(into)]
    options: Signal<Vec<(String, String)>>,
    /// What is wrong with it.
    #[prop(optional, into)]
    error: Option<Signal<Option<String>>>,
    /// What it means.
    #[prop(optional, into)]
    hint: Option<String>,
) -> impl IntoView {
    let frame = Frame::new(name, label, hint, error);
    let control = view! {
        <select
            id=frame.id.clone()
            data-testid=frame.testid()
            aria-invalid=frame.invalid()
            aria-describedby=frame.described_by()
            on:change=move |event| value.set(event_target_value(&event))
        >
            {self::options(value.into(), options)}
        </select>
    };
    frame.around(control.into_any())
}

/// Yes or no.
#[component]
pub fn CheckField(
    /// What it is.
    #[prop(into)]
    label: String,
    /// Its name for scripted journeys: `field-` and this.
    name: &'static str,
    /// Whether it is ticked.
    value: RwSignal<bool>,
    /// What it means.
    #[prop(optional, into)]
    hint: Option<String>,
) -> impl IntoView {
    let id = unique_id(name);
    let hint_id = hint.as_ref().map(|_| format!("{id}-hint"));
    view! {
        <div class="field check">
            <label>
                <input
                    type="checkbox"
                    data-testid=format!("field-{name}")
                    aria-describedby=hint_id.clone()
                    prop:checked=move || value.get()
                    on:change=move |event| value.set(event_target_checked(&event))
                />
                {label}
            </label>
            {hint.map(|hint| view! { <p class="hint" id=hint_id>{hint}</p> })}
        </div>
    }
}
