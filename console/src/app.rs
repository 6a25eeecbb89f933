//! The application: which page an address shows.

use leptos::prelude::*;
use leptos_router::components::{Route, Router, Routes};
use leptos_router::path;

use crate::components::announcer::AnnouncerRegion;
use crate::components::shortcuts::Shortcuts;
use crate::components::spark::Hatchings;
use crate::components::toasts::ToastsRegion;
use crate::context::Console;
use crate::features::access::view::page::AccessPage;
use crate::features::activity::view::page::ActivityPage;
use crate::features::budget::view::page::BudgetPage;
use crate::features::budgets::view::page::BudgetsPage;
use crate::features::decision::view::page::DecisionPage;
use crate::features::decisions::view::page::DecisionsPage;
use crate::features::glossary::view::GlossaryPage;
use crate::features::login::view::page::LoginPage;
use crate::features::not_found::view::NotFoundPage;
use crate::features::overview::view::page::OverviewPage;
use crate::features::palette::view::Palette;
use crate::features::policy::view::page::PolicyPage;
use crate::features::region::view::page::RegionPage;
use crate::features::regions::view::page::RegionsPage;
use crate::features::simulator::view::page::SimulatorPage;
use crate::features::tenant::view::page::{MovedTenant, TenantPage};
use crate::features::tenants::view::page::TenantsPage;

/// The console.
#[component]
pub fn App() -> impl IntoView {
    let console = Console::provide();
    view! {
        <Router base="/console">
            // `external`: the browser itself moves the focus, which the router would not.
            <a class="skip" href="#main" rel="external">"Skip to content"</a>
            <AnnouncerRegion announcer=console.announcer/>
            <Hatchings/>
            <Routes fallback=NotFoundPage>
                <Route path=path!("/") view=OverviewPage/>
                <Route path=path!("/tenants") view=TenantsPage/>
                <Route path=path!("/tenant") view=TenantPage/>
                <Route path=path!("/tenants/*tenant") view=MovedTenant/>
                <Route path=path!("/budgets") view=BudgetsPage/>
                <Route path=path!("/budgets/:budget") view=BudgetPage/>
                <Route path=path!("/regions") view=RegionsPage/>
                <Route path=path!("/regions/:region") view=RegionPage/>
                <Route path=path!("/policy") view=PolicyPage/>
                <Route path=path!("/simulator") view=SimulatorPage/>
                <Route path=path!("/activity") view=ActivityPage/>
                <Route path=path!("/decisions") view=DecisionsPage/>
                <Route path=path!("/decisions/:decision") view=DecisionPage/>
                <Route path=path!("/access") view=AccessPage/>
                <Route path=path!("/glossary") view=GlossaryPage/>
                <Route path=path!("/login") view=LoginPage/>
            </Routes>
            <ToastsRegion toasts=console.toasts/>
            <Shortcuts/>
            <Palette/>
        </Router>
    }
}
