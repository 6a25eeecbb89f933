//! What the overview shows: one poll and its rates, put into rows.

use std::collections::BTreeMap;

use weir_shared::wire::accounting::Tally;
use weir_shared::wire::operator::{BudgetReport, FairnessReply, TenantReport};

use crate::rates::{Rates, TallyRate};

/// One poll, as it is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// When the figures were put together, epoch milliseconds.
    pub at: u64,
    /// The policy revision in force.
    pub policy_revision: u64,
    /// Whether decisions are enforced.
    pub enforcing: bool,
    /// The sum over the regions that answered.
    pub total: Tally,
    /// The rate of that sum.
    pub total_rate: Option<TallyRate>,
    /// In the policy's order.
    pub regions: Vec<RegionRow>,
    /// By the name that is counted under.
    pub tenants: BTreeMap<String, TenantRow>,
}

/// One region's row.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionRow {
    /// The region.
    pub region: String,
    /// Its totals; none while its ledger is out of reach.
    pub total: Option<Tally>,
    /// Its rate.
    pub rate: Option<TallyRate>,
}

/// One tenant's row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TenantRow {
    /// The name it is counted under.
    pub tenant: String,
    /// Its tier; none when the policy puts it in none.
    pub tier: Option<String>,
    /// Its weight.
    pub weight: f64,
    /// What it was admitted and denied.
    pub total: Tally,
    /// The rate of that.
    pub rate: Option<TallyRate>,
    /// Its part of all units admitted, 0 to 1.
    pub share: f64,
    /// Per budget.
    pub budgets: Vec<BudgetRow>,
    /// Per limit.
    pub limits: Vec<LimitRow>,
}

/// What a tenant got of one budget.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetRow {
    /// The budget.
    pub name: String,
    /// Its figures.
    pub report: BudgetReport,
    /// The rate of its counters.
    pub rate: Option<TallyRate>,
}

/// What a tenant got of one limit.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitRow {
    /// The limit.
    pub name: String,
    /// Its counters.
    pub total: Tally,
    /// The rate of those.
    pub rate: Option<TallyRate>,
}

impl Overview {
    /// Puts a poll into rows.
    pub fn new(reply: &FairnessReply, rates: &Rates<'_>) -> Self {
        let regions: Vec<RegionRow> = reply
            .regions
            .iter()
            .map(|report| RegionRow {
                region: report.region.clone(),
                total: report.reachable.then_some(report.total),
                rate: report
                    .reachable
                    .then(|| rates.region(&report.region))
                    .flatten(),
            })
            .collect();
        let units: u128 = reply.tenants.iter().fold(0, |sum: u128, report| {
            sum.saturating_add(report.total.admitted_units.0)
        });
        let row =
            |report: &TenantReport| (report.tenant.clone(), TenantRow::new(report, rates, units));
        Self {
            at: reply.at,
            policy_revision: reply.policy_revision,
            enforcing: reply.enforcing,
            total: regions
                .iter()
                .filter_map(|row| row.total)
                .fold(Tally::default(), plus),
            total_rate: rates.total(),
            regions,
            tenants: reply.tenants.iter().map(row).collect(),
        }
    }

    /// The regions whose ledgers are out of reach: the figures lack them.
    pub fn out_of_reach(&self) -> Vec<String> {
        self.regions
            .iter()
            .filter(|row| row.total.is_none())
            .map(|row| row.region.clone())
            .collect()
    }
}

impl TenantRow {
    fn new(report: &TenantReport, rates: &Rates<'_>, units_of_all: u128) -> Self {
        let budget = |(name, budget): (&String, &BudgetReport)| BudgetRow {
            name: name.clone(),
            report: budget.clone(),
            rate: rates.budget(report, name),
        };
        let limit = |(name, total): (&String, &Tally)| LimitRow {
            name: name.clone(),
            total: *total,
            rate: rates.limit(report, name),
        };
        Self {
            tenant: report.tenant.clone(),
            tier: report.tier.clone(),
            weight: report.weight.0,
            total: report.total,
            rate: rates.tenant(report),
            share: share(report.total.admitted_units.0, units_of_all),
            budgets: report.budgets.iter().map(budget).collect(),
            limits: report.limits.iter().map(limit).collect(),
        }
    }
}

fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 {
        0.0
    } else {
        (part as f64 / whole as f64).min(1.0)
    }
}

fn plus(mut sum: Tally, next: Tally) -> Tally {
    sum.admitted_calls += next.admitted_calls;
    sum.admitted_units += next.admitted_units;
    sum.denied_calls += next.denied_calls;
    sum.denied_units += next.denied_units;
    sum
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_shared::wire::count::Count;

    use super::*;
    use crate::rates::RateWindow;

    const REPLY: &str = r#"{
        "at": 1700000000000, "policy_revision": 7, "enforcing": true,
        "regions": [
            {"region": "weur", "reachable": true, "total":
                {"admitted_calls": 30, "admitted_units": "9007199254740993", "denied_calls": 1, "denied_units": 2}},
            {"region": "enam", "reachable": true, "total":
                {"admitted_calls": 3, "admitted_units": 7, "denied_calls": 4, "denied_units": 5}},
            {"region": "apac", "reachable": false, "total": {}}
        ],
        "tenants": [
            {"tenant": "acme", "tier": "pro", "weight": 2, "total": {"admitted_calls": 25, "admitted_units": 30},
             "budgets": {"tokens": {"weight": 2, "guarantee": 0, "used": 30, "borrowed": 30, "denied": 0,
                                    "total": {"admitted_calls": 25, "admitted_units": 30}}},
             "limits": {"per_ip": {"denied_calls": 4}}},
            {"tenant": "\u0001others", "tier": null, "weight": 1, "total": {"admitted_calls": 8, "admitted_units": 10},
             "budgets": {}, "limits": {}}
        ]
    }"#;

    fn overview() -> Overview {
        let mut window = RateWindow::default();
        let reply: Arc<FairnessReply> = Arc::new(serde_json::from_str(REPLY).unwrap());
        window.push(Arc::new(FairnessReply {
            at: reply.at - 2_000,
            tenants: Vec::new(),
            ..(*reply).clone()
        }));
        window.push(Arc::clone(&reply));
        Overview::new(&reply, &window.rates())
    }

    #[test]
    fn totals_are_exact_and_leave_out_who_is_out_of_reach() {
        let overview = overview();
        assert_eq!(overview.total.admitted_units, Count(9_007_199_254_741_000));
        assert_eq!(overview.total.denied_calls, Count(5));
        assert_eq!(overview.out_of_reach(), ["apac"]);
        assert_eq!(overview.regions[2].total, None);
        assert_eq!(overview.regions[2].rate, None);
        assert_eq!(overview.regions[0].rate, Some(TallyRate::default()));
        assert_eq!(overview.total_rate, Some(TallyRate::default()));
    }

    #[test]
    fn shares_are_of_what_the_tenants_listed_got() {
        let overview = overview();
        assert_eq!(overview.tenants["acme"].share, 0.75);
        assert_eq!(overview.tenants["\u{1}others"].share, 0.25);
        assert_eq!(share(0, 0), 0.0);
    }

    #[test]
    fn a_row_has_its_rates_by_budget_and_limit() {
        let acme = &overview().tenants["acme"];
        assert_eq!(acme.rate.unwrap().admitted_calls, 12.5);
        assert_eq!(acme.budgets[0].rate.unwrap().admitted_units, 15.0);
        assert_eq!(acme.limits[0].rate.unwrap().denied_calls, 2.0);
    }
}
