//! What is around the parts of the page: the tenant's facts, and the way from part to part.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::hooks::use_location;
use weir_shared::wire::operator::TenantReport;
use weir_shared::wire::operator::series::SeriesView;
use weir_shared::wire::operator::tenants::TenantReply;

use super::accounting::Accounting;
use super::edit::Edit;
use super::facts::Facts;
use super::policy::EffectivePolicy;
use super::why::WhyDenied;
use crate::address::Page;
use crate::api::Client;
use crate::api::ask::{FairnessAsk, SeriesAsk};
use crate::api::tagged::Tagged;
use crate::clock;
use crate::components::range_picker::RangePicker;
use crate::components::states::States;
use crate::context::Console;
use crate::features::tenant::model::query::regions;
use crate::features::tenant::model::query::{Tab, TenantQuery};
use crate::fetched::{Fetched, Follow, fetched};
use crate::instant::TimeZone;
use crate::query_address::{use_ask, use_asked, use_range};
use crate::time_range::TimeRange;
use crate::what::What;

/// Tenants that are looked through for the one by exactly this name.
const SEARCHED: u64 = 100;

/// What the parts of the page share.
#[derive(Clone, Copy)]
pub struct Tenant {
    /// Its name.
    pub name: StoredValue<String>,
    /// What the policy says of it, with the tag of that.
    pub reply: Fetched<Tagged<TenantReply>>,
    /// What it was counted for in the range of time.
    pub series: Fetched<SeriesView>,
    /// What it got since counting began; nothing of a tenant that was not seen.
    pub report: Fetched<Option<TenantReport>>,
    /// What is asked of the page.
    pub query: Memo<TenantQuery>,
    /// The range of time.
    pub range: RwSignal<TimeRange>,
    navigate: Callback<(TenantQuery, bool)>,
}

impl Tenant {
    /// Asks for something else of the page, as a new entry of the history.
    pub fn ask(self, edit: impl FnOnce(&mut TenantQuery)) {
        let mut query = self.query.get_untracked();
        edit(&mut query);
        self.navigate.run((query, true));
    }

    /// The range of time and the regions that its figures are of, in words.
    pub fn period(self, zone: TimeZone) -> String {
        let range = self.range.get().label(zone);
        self.query
            .with(|query| format!("{range}, {}", regions(query.region.as_deref())))
    }

    /// What the policy says of it.
    pub fn told(self) -> Option<Arc<Tagged<TenantReply>>> {
        self.reply.value.get()
    }
}

/// The page of a tenant.
#[component]
pub fn TenantView(
    /// Its name.
    tenant: String,
) -> impl IntoView {
    let page = start(tenant);
    let console = expect_context::<Console>();
    let tab = Memo::new(move |_| {
        let asked = page.query.with(|query| query.tab);
        // Who may not change it is shown what there is instead.
        if asked == Tab::Edit && !console.can_change() {
            Tab::Accounting
        } else {
            asked
        }
    });
    view! {
        <States ready=page.reply.ready() error=page.reply.error retry=page.reply.retry()>
            <Facts page/>
            <div class="tabs-line">
                <Tabs page tab/>
                {move || matches!(tab.get(), Tab::Accounting | Tab::Why).then(|| view! { <RangePicker range=page.range/> })}
            </div>
            {move || match tab.get() {
                Tab::Accounting => view! { <Accounting page/> }.into_any(),
                Tab::Why => view! { <WhyDenied page/> }.into_any(),
                Tab::Policy => view! { <EffectivePolicy page/> }.into_any(),
                Tab::Edit => view! { <Edit page/> }.into_any(),
            }}
        </States>
    }
}

/// Why a tenant was denied by one rule in one span of time, apart from its page.
#[component]
pub fn DenialView(
    /// Its name.
    tenant: String,
    /// The rule.
    what: What,
    /// The span.
    range: TimeRange,
) -> impl IntoView {
    let navigate = use_ask(&Page::Tenant(tenant.clone()), TenantQuery::to_query_string);
    let asked = TenantQuery {
        tab: Tab::Why,
        what: Some(what),
        rest: vec![("range".to_owned(), range.name())],
        ..TenantQuery::default()
    };
    let query = Memo::new(move |_| asked.clone());
    let page = begin(tenant, query, RwSignal::new(range), navigate);
    view! { <WhyDenied page/> }
}

fn start(tenant: String) -> Tenant {
    let search = use_location().search;
    let query = use_asked(TenantQuery::parse);
    let navigate = use_ask(&Page::Tenant(tenant.clone()), TenantQuery::to_query_string);
    let asked = Memo::new(move |_| search.with(|search| TimeRange::of_query(search)));
    let range = use_range(
        asked,
        Callback::new(move |wanted: TimeRange| {
            let mut query = query.get_untracked();
            query.rest.retain(|(name, _)| name != "range");
            if !wanted.is_default() {
                query.rest.push(("range".to_owned(), wanted.name()));
            }
            navigate.run((query, true));
        }),
    );
    begin(tenant, query, range, navigate)
}

fn begin(
    tenant: String,
    query: Memo<TenantQuery>,
    range: RwSignal<TimeRange>,
    navigate: Callback<(TenantQuery, bool)>,
) -> Tenant {
    let name = StoredValue::new(tenant);
    let reply = fetched(
        move || {
            let name = name.get_value();
            async move { Client.tenant(&name).await }
        },
        Follow::Calm,
    );
    let region = Memo::new(move |_| query.with(|query| query.region.clone()));
    let series = fetched(
        move || {
            let ask = SeriesAsk {
                tenant: Some(name.get_value()),
                region: region.get(),
                ..range.get().series_ask(clock::server_ms())
            };
            async move { Client.series(&ask).await }
        },
        Follow::Calm,
    );
    let report = fetched(
        move || {
            let name = name.get_value();
            let ask = FairnessAsk {
                page: 1,
                page_size: SEARCHED,
                sort: Some("tenant".to_owned()),
                search: Some(name.clone()),
                effective: false,
            };
            async move {
                let reply = Client.fairness(&ask).await?;
                Ok(reply.tenants.into_iter().find(|one| one.tenant == name))
            }
        },
        Follow::Calm,
    );
    Tenant {
        name,
        reply,
        series,
        report,
        query,
        range,
        navigate,
    }
}

/// The way from part to part. A viewer is not shown the way to what it may not do.
#[component]
fn Tabs(page: Tenant, tab: Memo<Tab>) -> impl IntoView {
    let console = expect_context::<Console>();
    let link = move |to: Tab| {
        let address = move || {
            let mut query = page.query.get();
            query.tab = to;
            Page::Tenant(page.name.get_value()).address_with(&query.to_query_string())
        };
        let current = move || (tab.get() == to).then_some("page");
        let testid = if to == Tab::Edit {
            "edit".to_owned()
        } else {
            format!("tab-{}", to.slug())
        };
        view! { <li><a href=address aria-current=current data-testid=testid>{to.name()}</a></li> }
    };
    let seen = move || {
        let tabs = Tab::ALL.into_iter();
        tabs.filter(|tab| *tab != Tab::Edit || console.can_change())
            .map(link)
            .collect_view()
    };
    view! { <nav class="tabs" aria-label="Parts of this page"><ul>{seen}</ul></nav> }
}
