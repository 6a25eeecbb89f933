//! Labelled fields.

use leptos::prelude::*;
use wasm_bindgen_test::wasm_bindgen_test;
use weir_console::components::field::{CheckField, NumberField, SelectField, TextField};

use crate::support::{Mounted, owner, settle};

#[wasm_bindgen_test]
async fn a_field_is_named_by_its_label_and_described_by_its_hint_and_error() {
    let _owner = owner();
    let (value, error) = (RwSignal::new("2".to_owned()), RwSignal::new(None));
    let page = Mounted::new(move || {
        view! { <NumberField label="Weight" name="weight" value hint="From 0 on." error unit="units"/> }
    })
    .await;
    let field = "[data-testid=field-weight]";
    let id = page.one(field).id();
    assert_eq!(page.text(&format!("label[for=\"{id}\"]")), "Weight");
    assert_eq!(page.named_by(field, "aria-describedby"), "From 0 on.");
    assert_eq!(page.attributes(field, "aria-invalid"), [""]);
    assert_eq!(page.text(".unit"), "units");

    page.enter(field, "x").await;
    assert_eq!(value.get_untracked(), "x");
    error.set(Some("This is no number.".to_owned()));
    settle().await;
    assert_eq!(page.attributes(field, "aria-invalid"), ["true"]);
    assert_eq!(
        page.named_by(field, "aria-describedby"),
        "From 0 on. | This is no number."
    );
    assert_eq!(
        page.text("[data-testid=error-weight]"),
        "This is no number."
    );
    error.set(None);
    settle().await;
    assert_eq!(page.count("[data-testid=error-weight]"), 0);
}

#[wasm_bindgen_test]
async fn two_fields_of_one_name_do_not_share_a_label() {
    let _owner = owner();
    let (one, other) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let page = Mounted::new(move || {
        view! {
            <TextField label="One" name="same" value=one/>
            <TextField label="Other" name="same" value=other/>
        }
    })
    .await;
    let ids: Vec<String> = page.attributes("[data-testid=field-same]", "id");
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    assert_eq!(page.attributes("label", "for"), ids);
}

#[wasm_bindgen_test]
async fn a_choice_and_a_tick_are_told_and_follow() {
    let _owner = owner();
    let (tier, shadow) = (RwSignal::new("pro".to_owned()), RwSignal::new(false));
    let options = ["free", "pro"].map(|name| (name.to_owned(), name.to_uppercase()));
    let page = Mounted::new(move || {
        view! {
            <SelectField label="Tier" name="tier" value=tier options=Signal::stored(options.to_vec())/>
            <CheckField label="Shadow" name="shadow" value=shadow hint="Counted, never enforced."/>
        }
    })
    .await;
    let chosen = "[data-testid=field-tier] option:checked";
    assert_eq!(page.text(chosen), "PRO");
    page.choose("[data-testid=field-tier]", "free").await;
    assert_eq!(tier.get_untracked(), "free");
    tier.set("pro".to_owned());
    settle().await;
    assert_eq!(page.text(chosen), "PRO");

    let tick = "[data-testid=field-shadow]";
    assert_eq!(
        page.named_by(tick, "aria-describedby"),
        "Counted, never enforced."
    );
    page.press(tick).await;
    assert!(shadow.get_untracked());
    assert_eq!(page.count("[data-testid=field-shadow]:checked"), 1);
}

#[wasm_bindgen_test]
async fn an_option_stays_while_another_one_is_chosen_and_others_come_and_go() {
    let _owner = owner();
    let tier = RwSignal::new("pro".to_owned());
    let pair = |name: &str| (name.to_owned(), name.to_uppercase());
    let options = RwSignal::new(vec![pair("free"), pair("pro")]);
    let page = Mounted::new(move || {
        view! { <SelectField label="Tier" name="tier" value=tier options=Signal::from(options)/> }
    })
    .await;
    let free = page.one("option[value=free]");
    page.choose("[data-testid=field-tier]", "free").await;
    options.update(|options| options.push(pair("enterprise")));
    settle().await;
    assert!(
        *free == *page.one("option[value=free]"),
        "the option was built anew"
    );
    assert_eq!(page.text("option:checked"), "FREE");
    options.set(vec![pair("enterprise"), pair("free")]);
    settle().await;
    assert_eq!(page.text("option:checked"), "FREE");
    assert_eq!(page.count("option"), 2);
}
