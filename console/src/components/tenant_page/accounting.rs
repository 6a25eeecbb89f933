//! What the tenant was admitted and denied, over time.

use leptos::prelude::*;
use weir_shared::wire::metering::RateBody;

use super::choose::{ChooseRegion, ChooseWhat};
use super::totals::Totals;
use super::view::Tenant;
use crate::api::Client;
use crate::chart::series::{Line, Tone};
use crate::components::chart::{Kind as Drawn, SeriesChart};
use crate::components::notice::{Notice, Severity};
use crate::components::range_picker::RangePicker;
use crate::components::states::States;
use crate::fetched::{Follow, fetched};
use crate::tenant::counted::{Interval, busiest, intervals, per_s};
use crate::tenant::what::{Kind, What, choices, counted_at, own};

/// The chart over time, and the totals.
#[component]
pub fn Accounting(
    /// The page.
    page: Tenant,
) -> impl IntoView {
    let policy = fetched(|| Client.policy(), Follow::Once);
    let options = Memo::new(move |_| {
        let mut all: Vec<What> = match policy.value.get() {
            Some(policy) => choices(&policy.body),
            None => Vec::new(),
        };
        // Until the policy is there, and for what it no longer has.
        let told = page.told();
        let effective = told.as_ref().and_then(|told| told.body.effective.as_ref());
        all.extend(effective.map(own).unwrap_or_default());
        let view = page.series.value.get();
        let points = view.iter().flat_map(|view| view.points.iter());
        all.extend(points.flat_map(|point| counted_at(&point.counters)));
        all.sort();
        all.dedup();
        all
    });
    let regions = Signal::derive(move || {
        let policy = policy.value.get();
        policy
            .map(|policy| policy.body.regions.clone())
            .unwrap_or_default()
    });
    let what = Memo::new(move |_| {
        let asked = page.query.with(|query| query.what.clone());
        asked
            .or_else(|| page.series.value.get().and_then(|view| busiest(&view)))
            .or_else(|| options.with(|options| options.first().cloned()))
    });
    let choose = Callback::new(move |what: What| page.ask(|query| query.what = Some(what)));
    let choose_region =
        Callback::new(move |region: Option<String>| page.ask(|query| query.region = region));
    let region = Signal::derive(move || page.query.with(|query| query.region.clone()));
    let unreachable = Memo::new(move |_| {
        let view = page.series.value.get();
        view.map(|view| view.unreachable.join(", "))
            .unwrap_or_default()
    });
    view! {
        <section aria-labelledby="over-time">
            <div class="section-head">
                <h2 id="over-time">"Over time"</h2>
                <div class="filters">
                    <ChooseWhat options=options.into() value=what.into() choose testid="what"/>
                    <ChooseRegion regions value=region choose=choose_region/>
                    <RangePicker range=page.range/>
                </div>
            </div>
            {move || (!unreachable.with(String::is_empty)).then(|| view! {
                <Notice severity=Severity::Warning title=format!("Out of reach: {}.", unreachable.get())
                    detail="The figures lack what its ledger counted." testid="out-of-reach"/>
            })}
            <States ready=page.series.ready() error=page.series.error retry=page.series.retry()>
                {move || what.get().map(|what| view! { <Chart page what/> })}
            </States>
        </section>
        <Totals page/>
    }
}

#[component]
fn Chart(page: Tenant, what: What) -> impl IntoView {
    let calls = what.kind == Kind::Guard;
    let title = format!("{} {}", what.kind.title(), what.name);
    let meter = (what.kind == Kind::Meter).then(|| what.name.clone());
    let counted = Memo::new(move |_| {
        let view = page.series.value.get();
        view.map(|view| (view.step_ms, intervals(&view, &what)))
    });
    let series = Signal::derive(move || {
        counted.with(|counted| {
            let Some((step_ms, intervals)) = counted else {
                return Vec::new();
            };
            vec![
                line("Admitted", Tone::ADMITTED, *step_ms, intervals, |one| {
                    one.seen.admitted_units
                }),
                line("Denied", Tone::DENIED, *step_ms, intervals, |one| {
                    one.seen.denied_units
                }),
            ]
        })
    });
    let span = Signal::derive(move || {
        let view = page.series.value.get();
        view.map_or((0, 0), |view| (view.from.0, view.to.0))
    });
    let step_ms = Signal::derive(move || {
        let view = page.series.value.get();
        view.map_or(60_000, |view| view.step_ms)
    });
    let limit = Signal::derive(move || {
        let told = page.told()?;
        let effective = told.body.effective.as_ref()?;
        match effective.meters.get(meter.as_ref()?)?.per_sec.value {
            RateBody::PerSec(rate) => Some(rate.0),
            RateBody::Unlimited => None,
        }
    });
    let unit = if calls { "calls/s" } else { "units/s" };
    let empty = "Nothing was asked for in this range.";
    view! { <SeriesChart title unit kind=Drawn::Bars series span step_ms limit empty/> }
}

fn line(
    name: &str,
    tone: Tone,
    step_ms: u64,
    intervals: &[Interval],
    units: fn(&Interval) -> u128,
) -> Line {
    let point = |one: &Interval| (one.at_ms, Some(per_s(units(one), step_ms)));
    Line {
        name: name.to_owned(),
        tone,
        points: intervals.iter().map(point).collect(),
    }
}
