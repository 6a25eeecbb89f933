//! What the tenant was admitted and denied, over time.

use leptos::prelude::*;
use weir_shared::ordered::sort_by;
use weir_shared::wire::metering::RateBody;
use weir_shared::wire::operator::series::WindowsView;
use weir_shared::wire::policy::{PolicyDocument, Scope};

use super::choose::{ChooseRegion, ChooseWhat};
use super::tenant::Tenant;
use super::totals::Totals;
use crate::api::Client;
use crate::api::ask::WindowsAsk;
use crate::api::tagged::Tagged;
use crate::chart::series::{Tone, instants};
use crate::clock;
use crate::components::chart::{Kind as Drawn, SeriesChart, intervals};
use crate::components::explain::Explain;
use crate::components::notice::{Notice, Severity};
use crate::components::states::States;
use crate::components::time::use_time_zone;
use crate::features::tenant::model::claims::{
    Beside, Claimed, claimed, constant, fair_share, split, with_open,
};
use crate::features::tenant::model::counted::busiest;
use crate::features::tenant::model::file::about;
use crate::features::tenant::model::reach::Reach;
use crate::fetched::{Fetched, Follow, fetched};
use crate::glossary::Term;
use crate::situation::flow::{counted, units};
use crate::what::{Kind, What, choices, counted_at, own, title as kind_title};

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
        sort_by(&mut all, Ord::cmp);
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
                </div>
            </div>
            {move || (!unreachable.with(String::is_empty)).then(|| view! {
                <Notice severity=Severity::Warning title=format!("Out of reach: {}.", unreachable.get())
                    detail="The figures lack what its ledger counted." testid="out-of-reach"/>
            })}
            <States ready=page.series.ready() error=page.series.error retry=page.series.retry()>
                {move || what.get().map(|what| view! { <Chart page what policy/> })}
            </States>
        </section>
        <Totals page/>
    }
}

/// Windows whose records are laid over the chart: the newest of the range.
const WINDOWS: u64 = 100;

#[component]
fn Chart(page: Tenant, what: What, policy: Fetched<Tagged<PolicyDocument>>) -> impl IntoView {
    let calls = what.kind == Kind::Guard;
    let title = format!("{} {}", kind_title(what.kind), what.name);
    let zone = use_time_zone();
    let of = StoredValue::new(what.clone());
    let meter = (what.kind == Kind::Meter).then(|| what.name.clone());
    let claims = (what.kind == Kind::Budget).then(|| Claims::read(page, &what.name, policy));
    let (span, step_ms) = intervals(page.series.value);
    let rates = Memo::new(move |_| {
        let view = page.series.value.get();
        view.map(|view| units(&view, &what, clock::server_ms()))
            .unwrap_or_default()
    });
    let counted = Memo::new(move |_| {
        let view = page.series.value.get();
        view.map(|view| of.with_value(|what| counted(&view, what)))
            .unwrap_or_default()
    });
    let starts = Memo::new(move |_| rates.with(|lines| instants(lines)));
    let claimed = Memo::new(move |_| {
        let told = claims?.over(&starts.get(), step_ms.get());
        rates.with(|lines| Some(with_open(told, lines.first()?, step_ms.get())))
    });
    let beside = move || {
        let claimed = claimed.get()?;
        let beside = counted.with(|lines| Beside::of(&claimed, lines.first()?))?;
        let words = beside.words(&page.period(zone.get()));
        Some(view! { <p class="said" data-testid="beside">{words}</p> })
    };
    let about = Signal::derive(move || {
        let region = page.query.with(|query| query.region.clone());
        let range = page.range.get().name();
        page.name.with_value(|name| {
            of.with_value(|what| about(name, what, region, range, counted.get()))
        })
    });
    let reach = move || {
        let reach = claims?.reach.get()?;
        Some(view! { <p class="muted" data-testid="reach">{reach.words()}</p> })
    };
    let series = Signal::derive(move || {
        let mut lines = rates.get();
        let claimed = claimed.get().unwrap_or_default();
        if claimed.iter().any(|one| one.borrowed > 0.0) && !lines.is_empty() {
            let split = split(&lines[0], &claimed, step_ms.get());
            lines.splice(0..1, split);
        }
        lines
    });
    let over = Signal::derive(move || {
        let starts = starts.get();
        let fair = claimed
            .get()
            .filter(|claimed| claimed.iter().any(|one| one.fair_per_s.is_some()));
        let guarantee = claims.and_then(Claims::guarantee_per_s);
        let guarantee =
            guarantee.map(|per_s| constant("Guarantee now", Tone::Green, &starts, per_s));
        guarantee
            .into_iter()
            .chain(fair.map(|fair| fair_share(&starts, &fair)))
            .collect::<Vec<_>>()
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
    view! {
        <SeriesChart title unit kind=Drawn::Bars series span step_ms limit over about empty/>
        {beside}
        {reach}
        {claims.is_some().then(|| view! {
            <p class="muted note">
                "Guarantee now"<Explain term=Term::Guarantee/>": what it has a claim to by today's policy if all tenants \
                 that were seen ask. Fair share"<Explain term=Term::FairShare/>": the same among those that did ask in each \
                 window, as far as records reach, at most 100 windows. Borrowed"<Explain term=Term::Borrowed/>": what it was served beyond that. The \
                 file has the same columns, and the units counted in each interval. What is counted reaches its interval some \
                 seconds late: one may hold a little of the one before it."
            </p>
        })}
    }
}

/// What a budget's windows and the report say of the tenant's claim.
#[derive(Clone, Copy)]
struct Claims {
    name: StoredValue<String>,
    windows: Fetched<WindowsView>,
    guarantee: Signal<Option<u64>>,
    /// The length of a window, and how many are open at once.
    terms: Memo<Option<(u64, usize)>>,
    whole: Signal<bool>,
    /// Where the records do not reach back to the start of the range.
    reach: Memo<Option<Reach>>,
}

impl Claims {
    fn read(page: Tenant, budget: &str, policy: Fetched<Tagged<PolicyDocument>>) -> Self {
        let name = budget.to_owned();
        let of_budget = name.clone();
        let terms = Memo::new(move |_| {
            let policy = policy.value.get()?;
            let body = policy.body.budgets.get(&of_budget)?;
            let regional = body.scope == Some(Scope::Region);
            let at_once = if regional {
                policy.body.regions.len()
            } else {
                1
            };
            Some((body.window_ms?, at_once))
        });
        // With each interval that begins, not with each answer: records are large, and change once a window.
        let until = Memo::new(move |_| {
            page.series
                .value
                .with(|view| view.as_ref().map(|view| view.to.0))
        });
        let asked = name.clone();
        let windows = fetched(
            move || {
                until.track();
                let (from, to) = page.range.get().span(clock::server_ms());
                let ask = WindowsAsk {
                    page: 1,
                    page_size: WINDOWS,
                    from: Some(from),
                    to: Some(to),
                };
                let budget = asked.clone();
                async move { Client.windows(&budget, &ask).await }
            },
            Follow::Once,
        );
        let guarantee = Signal::derive(move || {
            page.report.value.with(|report| {
                let report = (**report.as_ref()?).as_ref()?;
                Some(report.budgets.get(&name)?.guarantee)
            })
        });
        let whole = Signal::derive(move || page.query.with(|query| query.region.is_none()));
        let reach = Memo::new(move |_| {
            let (window_ms, _) = terms.get().filter(|_| whole.get())?;
            let view = windows.value.get()?;
            Reach::of(&view, window_ms, page.range.get(), clock::server_ms())
        });
        Self {
            name: page.name,
            windows,
            guarantee,
            terms,
            whole,
            reach,
        }
    }

    /// Of all regions together: one alone has no claim of its own.
    fn over(self, starts_ms: &[u64], step_ms: u64) -> Vec<Claimed> {
        let Some((window_ms, _)) = self.terms.get().filter(|_| self.whole.get()) else {
            return Vec::new();
        };
        self.windows.value.with(|view| {
            let records = view.as_ref().map_or(&[][..], |view| &view.windows);
            self.name
                .with_value(|name| claimed(records, name, window_ms, starts_ms, step_ms))
        })
    }

    fn guarantee_per_s(self) -> Option<f64> {
        let units = self.guarantee.get().filter(|units| *units > 0)?;
        let (window_ms, at_once) = self.terms.get().filter(|_| self.whole.get())?;
        Some(units as f64 * at_once as f64 * 1_000.0 / window_ms.max(1) as f64)
    }
}
