//! The application: which page an address shows.

use leptos::prelude::*;
use leptos_router::components::{Route, Router, Routes};
use leptos_router::path;

use crate::components::announcer::AnnouncerRegion;
use crate::components::palette::Palette;
use crate::components::shortcuts::Shortcuts;
use crate::components::spark::Hatchings;
use crate::components::toasts::ToastsRegion;
use crate::context::Console;
use crate::pages::access::AccessPage;
use crate::pages::activity::ActivityPage;
use crate::pages::budget::BudgetPage;
use crate::pages::budgets::BudgetsPage;
use crate::pages::decision::DecisionPage;
use crate::pages::decisions::DecisionsPage;
use crate::pages::glossary::GlossaryPage;
use crate::pages::login::LoginPage;
use crate::pages::not_found::NotFoundPage;
use crate::pages::overview::OverviewPage;
use crate::pages::policy::PolicyPage;
use crate::pages::region::RegionPage;
use crate::pages::regions::RegionsPage;
use crate::pages::simulator::SimulatorPage;
use crate::pages::tenant::{MovedTenant, TenantPage};
use crate::pages::tenants::TenantsPage;

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
