//! Chooses the span of time that a page looks at.

use leptos::prelude::*;

use super::field::TextField;
use super::time::use_time_zone;
use crate::clock;
use crate::instant::date_minute;
use crate::time_range::{Preset, RangeFault, TimeRange};

/// What the list calls a span that stays.
const BETWEEN: &str = "between";

/// Every span that ends now.
const ALL: &[Preset] = &Preset::ALL;

/// A list of spans that end now, and two fields for one that stays.
#[component]
pub fn RangePicker(
    /// What is looked at.
    range: RwSignal<TimeRange>,
    /// The spans that are offered.
    #[prop(default = ALL)]
    presets: &'static [Preset],
) -> impl IntoView {
    let typing = RwSignal::new(!range.get_untracked().is_live());
    Effect::new(move |_| {
        let stays = !range.get().is_live();
        if typing.get_untracked() != stays {
            typing.set(stays);
        }
    });
    let chosen = move || match range.get() {
        _ if typing.get() => BETWEEN,
        TimeRange::Last(preset) => preset.name(),
        TimeRange::Between { .. } => BETWEEN,
    };
    let choose = move |event| {
        let name = event_target_value(&event);
        typing.set(name == BETWEEN);
        if let Some(preset) = TimeRange::parse(&name) {
            range.set(preset);
        }
    };
    let option = move |name: &'static str, label: &'static str| {
        view! { <option value=name prop:selected=move || chosen() == name>{label}</option> }
    };
    view! {
        <div class="range-picker">
            <label class="inline-field">
                <span>"Time"</span>
                <select data-testid="range" on:change=choose>
                    {presets.iter().map(|preset| option(preset.name(), preset.label())).collect_view()}
                    {option(BETWEEN, "From … to …")}
                </select>
            </label>
            {move || typing.get().then(|| view! { <Between range/> })}
        </div>
    }
}

/// Start and end, as text in the zone that is shown.
#[component]
fn Between(range: RwSignal<TimeRange>) -> impl IntoView {
    let zone = use_time_zone();
    let (from, to) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let fault = RwSignal::new(None::<RangeFault>);
    Effect::new(move |_| {
        let (from_ms, to_ms) = range.get().span(clock::server_ms());
        from.set(date_minute(from_ms, zone.get()));
        to.set(date_minute(to_ms, zone.get()));
        fault.set(None);
    });
    let error_of = move |faults: [RangeFault; 2]| {
        Signal::derive(move || {
            let found = fault.get().filter(|found| faults.contains(found));
            found.map(|found| found.words().to_owned())
        })
    };
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let read = TimeRange::of_fields(&from.get(), &to.get(), zone.get());
        fault.set(read.err());
        if let Ok(read) = read {
            range.set(read);
        }
    };
    let zone_name = move || zone.get().suffix(clock::server_ms());
    view! {
        <form class="between" on:submit=submit>
            <TextField label="From" name="from" value=from error=error_of([RangeFault::From; 2])/>
            <TextField label="To" name="to" value=to error=error_of([RangeFault::To, RangeFault::Order])/>
            <span class="muted">{zone_name}</span>
            <button type="submit" data-testid="range-apply">"Show"</button>
        </form>
    }
}
