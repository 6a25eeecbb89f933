//! What a part of the page is about.

use leptos::prelude::*;

use crate::what::{Kind, What, heading};

/// A budget, limit, meter, guard or overload resource.
#[component]
pub fn ChooseWhat(
    /// What can be chosen.
    options: Signal<Vec<What>>,
    /// What is chosen.
    value: Signal<Option<What>>,
    /// Chooses something else.
    choose: Callback<What>,
    /// The name for scripted journeys.
    testid: &'static str,
) -> impl IntoView {
    let groups = move || {
        let chosen = value.get();
        let mut all = options.get();
        if let Some(chosen) = chosen.clone().filter(|chosen| !all.contains(chosen)) {
            all.push(chosen);
        }
        let group = |kind: Kind| {
            let of_kind: Vec<&What> = all.iter().filter(|what| what.kind == kind).collect();
            let option = |what: &What| {
                let selected = chosen.as_ref() == Some(what);
                view! {
                    <option value=what.to_string() prop:selected=selected>{what.name.clone()}</option>
                }
            };
            (!of_kind.is_empty()).then(|| {
                let options: Vec<_> = of_kind.into_iter().map(option).collect();
                view! { <optgroup label=heading(kind)>{options}</optgroup> }
            })
        };
        Kind::ALL.into_iter().filter_map(group).collect_view()
    };
    let change = move |event| {
        if let Some(what) = What::parse(&event_target_value(&event)) {
            choose.run(what);
        }
    };
    view! {
        <label class="filter">
            <span>"Resource"</span>
            <select data-testid=testid on:change=change>{groups}</select>
        </label>
    }
}

/// One region, or all of them.
#[component]
pub fn ChooseRegion(
    /// The regions of the policy.
    regions: Signal<Vec<String>>,
    /// The region that is chosen.
    value: Signal<Option<String>>,
    /// Chooses another.
    choose: Callback<Option<String>>,
) -> impl IntoView {
    let options = move || {
        let chosen = value.get();
        let option = |region: String| {
            let selected = chosen.as_ref() == Some(&region);
            view! { <option value=region.clone() prop:selected=selected>{region.clone()}</option> }
        };
        regions.get().into_iter().map(option).collect_view()
    };
    let change = move |event| {
        let region = event_target_value(&event);
        choose.run((!region.is_empty()).then_some(region));
    };
    view! {
        <label class="filter">
            <span>"Region"</span>
            <select data-testid="filter-region" on:change=change>
                <option value="" prop:selected=move || value.with(Option::is_none)>"All regions"</option>
                {options}
            </select>
        </label>
    }
}
