//! The four totals.

use std::sync::Arc;

use leptos::prelude::*;
use weir_shared::wire::accounting::Tally;
use weir_shared::wire::count::Count;

use crate::format;
use crate::overview::Overview;
use crate::rates::TallyRate;

/// Admitted and denied calls and units, with their rates.
#[component]
pub fn Totals(
    /// The figures.
    #[prop(into)]
    overview: Signal<Arc<Overview>>,
) -> impl IntoView {
    view! {
        <dl class="totals">
            <Total overview label="Admitted calls" unit="calls/s" testid="total-admitted-calls"
                count=|total| total.admitted_calls per_s=|rate| rate.admitted_calls/>
            <Total overview label="Admitted units" unit="units/s" testid="total-admitted-units"
                count=|total| total.admitted_units per_s=|rate| rate.admitted_units/>
            <Total overview label="Denied calls" unit="calls/s" testid="total-denied-calls"
                count=|total| total.denied_calls per_s=|rate| rate.denied_calls/>
            <Total overview label="Denied units" unit="units/s" testid="total-denied-units"
                count=|total| total.denied_units per_s=|rate| rate.denied_units/>
        </dl>
    }
}

#[component]
fn Total(
    overview: Signal<Arc<Overview>>,
    label: &'static str,
    unit: &'static str,
    testid: &'static str,
    count: fn(&Tally) -> Count,
    per_s: fn(&TallyRate) -> f64,
) -> impl IntoView {
    let counted = Memo::new(move |_| overview.with(|overview| count(&overview.total)));
    let rate =
        Memo::new(move |_| overview.with(|overview| overview.total_rate.as_ref().map(per_s)));
    view! {
        <div>
            <dt>{label}</dt>
            <dd>
                <span class="total" data-testid=testid data-value=move || counted.get().to_string()>
                    {move || format::count(counted.get().0)}
                </span>
                <span class="rate">{move || format::rate(rate.get())}" "{unit}</span>
            </dd>
        </div>
    }
}
