//! What a scrape says of regions, coordinators, budgets, and of running the deployment.

use weir_policy::Policy;
use weir_wire::policy::Sharing;
use weir_wire::series::{TotalsReply, WindowUse};
use weir_wire::usage::Usage;

use super::families::{self, Family};
use super::page::Page;
use super::{OTHERS_LABEL, Scrape};

impl Scrape<'_> {
    /// Who answered, and how it is.
    pub(super) fn objects(&self, page: &mut Page) {
        for (region, totals) in self.totals {
            let up = u128::from(totals.is_some());
            page.set(&families::LEDGER_UP, &[("region", region)], up);
        }
        for status in self.regions {
            let labels = [("region", status.region.as_str())];
            page.set(&families::REGION_UP, &labels, status.reachable.into());
            if let Some(revision) = status.policy_revision {
                page.set(&families::REGION_REVISION, &labels, revision.0.into());
            }
            if let Some(at) = status.last_contact_at {
                page.set_thousandths(&families::REGION_CONTACT, &labels, at.0);
            }
            for held in status.budgets.iter().filter(|held| !held.own) {
                let labels = [("budget", held.budget.as_str()), labels[0]];
                page.set(&families::BUDGET_OUTAGE, &labels, held.outage.into());
                // What is held of a window that is over is worth nothing.
                let open = held.ends_at.is_some_and(|end| self.at < end);
                let units = if open { held.held } else { 0 };
                page.set(&families::BUDGET_LENT, &labels, units.into());
            }
        }
        for status in self.coordinators {
            let labels = [("budget", status.budget.as_str())];
            page.set(&families::COORDINATOR_UP, &labels, status.reachable.into());
            if status.ends_at.is_some_and(|end| self.at < end) {
                page.set(&families::BUDGET_FREE, &labels, status.free.into());
            }
        }
    }

    /// Limits and windows by the policy, and how far the windows that are open are used.
    pub(super) fn budgets(&self, page: &mut Page) {
        let policy = self.policy;
        for (name, budget) in policy.budgets.iter().filter(|(name, _)| policy.lends(name)) {
            let labels = [("budget", name.as_str())];
            page.set_thousandths(&families::BUDGET_WINDOW, &labels, budget.window_ms);
            let owners: &[String] = match policy.region_owns(name) {
                true => &policy.regions,
                false => std::slice::from_ref(&policy.home),
            };
            for owner in owners {
                self.window(page, name, owner);
            }
        }
        for (_, totals) in self.totals {
            self.entitlements(page, totals.as_ref());
        }
    }

    /// A budget whose windows are recorded in a region: its own, or those of the deployment at home.
    fn window(&self, page: &mut Page, budget: &str, owner: &str) {
        let mut labels = vec![("budget", budget)];
        let Some(limit) = limit(self.policy, budget, owner) else {
            return;
        };
        if self.policy.region_owns(budget) {
            labels.push(("region", owner));
        }
        page.set(&families::BUDGET_LIMIT, &labels, limit.into());
        let totals = self.totals.iter().find(|(region, _)| region == owner);
        // Of a ledger that does not answer nothing is known. Where nobody has asked yet nothing is used.
        if let Some((_, Some(totals))) = totals {
            let open = totals.open.get(budget);
            let used = open.map_or(0, |window: &WindowUse| window.used.0);
            page.set(&families::BUDGET_USED, &labels, used);
        }
    }

    /// What tenants that are listed are entitled to. A region tells of its own windows, home of the deployment's.
    fn entitlements(&self, page: &mut Page, totals: Option<&TotalsReply>) {
        let told = totals.into_iter().flat_map(|totals| &totals.entitlements);
        for (budget, tenants) in told.filter(|(budget, _)| self.policy.lends(budget)) {
            for (tenant, units) in tenants {
                let label = self.label(tenant);
                if label != OTHERS_LABEL {
                    let labels = [("budget", budget.as_str()), ("tenant_id", label)];
                    page.add(&families::BUDGET_ENTITLED, &labels, (*units).into());
                }
            }
        }
    }

    /// What running the deployment told of itself, by the region whose ledger was told.
    pub(super) fn telemetry(&self, page: &mut Page) {
        let answered = self.totals.iter();
        for (region, totals) in
            answered.filter_map(|(region, totals)| Some((region, totals.as_ref()?)))
        {
            let labels = [("region", region.as_str())];
            let told = &totals.telemetry;
            page.waits(&families::DECISION_WAIT, &labels, &told.decision_waits);
            page.waits(&families::LEASE_WAIT, &labels, &told.lease_waits);
            by_class(page, &families::OBJECT_CALLS, region, &totals.usage);
            by_class(page, &families::OBJECT_CALL_FAILURES, region, &told.failed);
            let numbers = [
                (&families::ROWS_WRITTEN, totals.usage.rows_written),
                (&families::WRITE_FAILURES, told.failed_writes),
                (&families::DAMAGED_ROWS, told.damaged_rows),
            ];
            for (family, count) in numbers {
                page.set(family, &labels, count.0);
            }
        }
    }

    /// How a tenant is labelled: as itself where any ledger lists it.
    fn label<'a>(&self, tenant: &'a str) -> &'a str {
        let answered = self.totals.iter().filter_map(|(_, totals)| totals.as_ref());
        let mut found = answered.filter_map(|totals| totals.counters.get(tenant));
        match found.any(|counters| counters.listed) {
            true => tenant,
            false => OTHERS_LABEL,
        }
    }
}

/// Units of a window of a budget: of a slice those of the region.
fn limit(policy: &Policy, budget: &str, owner: &str) -> Option<u64> {
    let found = policy.budgets.get(budget)?;
    Some(match found.sharing {
        Sharing::StaticPartition => found.slice(&policy.regions, owner),
        _ => found.limit,
    })
}

fn by_class(page: &mut Page, family: &Family, region: &str, usage: &Usage) {
    let classes = [
        ("coordinator", usage.coordinator_calls),
        ("region", usage.region_calls),
        ("registry", usage.registry_calls),
        ("ledger", usage.ledger_calls),
    ];
    for (class, calls) in classes {
        page.set(family, &[("class", class), ("region", region)], calls.0);
    }
}
