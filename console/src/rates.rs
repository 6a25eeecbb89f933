//! Rates from totals: the difference of two polls over the time between them.
//!
//! Totals leave out a region whose ledger is out of reach, so two polls are compared only where the same regions
//! answered: a region that comes back would otherwise look like a flood.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use weir_shared::wire::accounting::Tally;
use weir_shared::wire::count::Count;
use weir_shared::wire::operator::{FairnessReply, TenantReport};

/// What a rate is taken over: long enough to be readable, short enough to show a flood within two polls.
pub const WINDOW_MS: u64 = 5_000;

/// A longer gap between two polls (a pause, a lost connection) starts the window again: its mean would hide what happened.
pub const GAP_MAX_MS: u64 = 15_000;

/// Polls kept at most, whatever their pace.
const SAMPLES_MAX: usize = 16;

/// Calls and units per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TallyRate {
    /// Calls admitted per second.
    pub admitted_calls: f64,
    /// Units admitted per second.
    pub admitted_units: f64,
    /// Calls denied per second.
    pub denied_calls: f64,
    /// Units denied per second.
    pub denied_units: f64,
}

impl TallyRate {
    /// The rate at which `before` became `after`; none when no time passed or a counter went down (it was counted anew).
    pub fn between(before: &Tally, after: &Tally, elapsed_ms: u64) -> Option<Self> {
        if elapsed_ms == 0 {
            return None;
        }
        let per_s = |before: Count, after: Count| {
            let grown = after.0.checked_sub(before.0)?;
            Some(grown as f64 * 1_000.0 / elapsed_ms as f64)
        };
        Some(Self {
            admitted_calls: per_s(before.admitted_calls, after.admitted_calls)?,
            admitted_units: per_s(before.admitted_units, after.admitted_units)?,
            denied_calls: per_s(before.denied_calls, after.denied_calls)?,
            denied_units: per_s(before.denied_units, after.denied_units)?,
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            admitted_calls: self.admitted_calls + other.admitted_calls,
            admitted_units: self.admitted_units + other.admitted_units,
            denied_calls: self.denied_calls + other.denied_calls,
            denied_units: self.denied_units + other.denied_units,
        }
    }
}

/// The polls of the last few seconds.
#[derive(Debug, Clone, Default)]
pub struct RateWindow {
    samples: VecDeque<Arc<FairnessReply>>,
}

impl RateWindow {
    /// Takes a poll in. One that is not newer than the last (a clock stepped back) or comes after a gap starts anew.
    pub fn push(&mut self, reply: Arc<FairnessReply>) {
        if let Some(last) = self.samples.back() {
            match reply.at.checked_sub(last.at) {
                Some(0) => {
                    self.samples.pop_back();
                }
                Some(gap_ms) if gap_ms <= GAP_MAX_MS => {}
                _ => self.samples.clear(),
            }
        }
        let now_ms = reply.at;
        self.samples.push_back(reply);
        while self.samples.len() > SAMPLES_MAX
            || self
                .samples
                .get(1)
                .is_some_and(|second| now_ms - second.at >= WINDOW_MS)
        {
            self.samples.pop_front();
        }
    }

    /// What the newest poll is compared with.
    pub fn rates(&self) -> Rates<'_> {
        let Some(newest) = self.samples.back() else {
            return Rates::default();
        };
        let answered = reachable(newest);
        let baseline = self
            .samples
            .iter()
            .find(|sample| reachable(sample) == answered);
        let tenants = baseline
            .map(|sample| {
                sample
                    .tenants
                    .iter()
                    .map(|report| (report.tenant.as_str(), report))
                    .collect()
            })
            .unwrap_or_default();
        Rates {
            elapsed_ms: baseline.map_or(0, |sample| newest.at - sample.at),
            tenants,
            samples: Some(&self.samples),
        }
    }
}

/// The rates of the newest poll of a window.
#[derive(Debug, Default)]
pub struct Rates<'a> {
    elapsed_ms: u64,
    tenants: BTreeMap<&'a str, &'a TenantReport>,
    samples: Option<&'a VecDeque<Arc<FairnessReply>>>,
}

impl Rates<'_> {
    /// One tenant's, over all it was counted for. A tenant that was not seen before counts from zero.
    pub fn tenant(&self, newest: &TenantReport) -> Option<TallyRate> {
        self.of(newest, |report| report.total)
    }

    /// One tenant's, in one budget.
    pub fn budget(&self, newest: &TenantReport, budget: &str) -> Option<TallyRate> {
        self.of(newest, |report| {
            let report = report.budgets.get(budget);
            report.map(|report| report.total).unwrap_or_default()
        })
    }

    /// One tenant's, in one limit.
    pub fn limit(&self, newest: &TenantReport, limit: &str) -> Option<TallyRate> {
        self.of(newest, |report| {
            report.limits.get(limit).copied().unwrap_or_default()
        })
    }

    fn of(
        &self,
        newest: &TenantReport,
        total: impl Fn(&TenantReport) -> Tally,
    ) -> Option<TallyRate> {
        let before = self.tenants.get(newest.tenant.as_str());
        let before = before.map(|report| total(report)).unwrap_or_default();
        TallyRate::between(&before, &total(newest), self.elapsed_ms)
    }

    /// One region's; none while its ledger is out of reach.
    pub fn region(&self, region: &str) -> Option<TallyRate> {
        let samples = self.samples?;
        let newest = samples.back()?;
        let after = region_total(newest, region)?;
        let (first, before) = samples
            .iter()
            .find_map(|sample| region_total(sample, region).map(|total| (sample, total)))?;
        TallyRate::between(&before, &after, newest.at - first.at)
    }

    /// All regions that answered; none while one of them has no rate yet.
    pub fn total(&self) -> Option<TallyRate> {
        let newest = self.samples?.back()?;
        let answered = reachable(newest);
        if answered.is_empty() {
            return None;
        }
        answered
            .iter()
            .try_fold(TallyRate::default(), |sum, region| {
                Some(sum.plus(self.region(region)?))
            })
    }
}

fn region_total(reply: &FairnessReply, region: &str) -> Option<Tally> {
    reply
        .regions
        .iter()
        .find(|report| report.region == region && report.reachable)
        .map(|report| report.total)
}

/// The regions that answered, in the policy's order.
fn reachable(reply: &FairnessReply) -> Vec<&str> {
    reply
        .regions
        .iter()
        .filter(|report| report.reachable)
        .map(|report| report.region.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::decimal::Decimal;
    use weir_shared::wire::operator::RegionReport;

    use super::*;

    fn tally(calls: u128) -> Tally {
        Tally {
            admitted_calls: Count(calls),
            admitted_units: Count(10 * calls),
            ..Tally::default()
        }
    }

    /// A poll in which one tenant was admitted the sum of what the reachable regions admitted.
    fn poll(at: u64, regions: &[(&str, Option<u128>)]) -> Arc<FairnessReply> {
        let sum = regions.iter().filter_map(|(_, calls)| *calls).sum();
        Arc::new(FairnessReply {
            at,
            policy_revision: 1,
            enforcing: true,
            regions: regions
                .iter()
                .map(|(region, calls)| RegionReport {
                    region: (*region).to_owned(),
                    reachable: calls.is_some(),
                    total: calls.map(tally).unwrap_or_default(),
                })
                .collect(),
            tenants: vec![tenant(sum)],
            page: None,
        })
    }

    fn tenant(calls: u128) -> TenantReport {
        TenantReport {
            tenant: "acme".to_owned(),
            tier: None,
            weight: Decimal(1.0),
            total: tally(calls),
            budgets: BTreeMap::new(),
            limits: [("per_ip".to_owned(), tally(calls))].into(),
            meters: BTreeMap::new(),
            guards: BTreeMap::new(),
            overload: BTreeMap::new(),
            effective: None,
            overrides: Vec::new(),
        }
    }

    /// Admitted calls per second of the tenant and of all regions after these polls of one region.
    fn after(polls: &[(u64, u128)]) -> (Option<f64>, Option<f64>) {
        after_regions(
            &polls
                .iter()
                .map(|&(at, calls)| poll(at, &[("weur", Some(calls))]))
                .collect::<Vec<_>>(),
        )
    }

    fn after_regions(polls: &[Arc<FairnessReply>]) -> (Option<f64>, Option<f64>) {
        let mut window = RateWindow::default();
        for poll in polls {
            window.push(Arc::clone(poll));
        }
        let rates = window.rates();
        let newest = polls.last().unwrap();
        (
            rates.tenant(&newest.tenants[0]).map(|r| r.admitted_calls),
            rates.total().map(|r| r.admitted_calls),
        )
    }

    #[test]
    fn a_rate_is_growth_over_time() {
        for (polls, expected) in [
            (&[(1_000, 5)][..], None),
            (&[(1_000, 5), (2_000, 15)], Some(10.0)),
            (&[(1_000, 5), (3_000, 15)], Some(5.0)),
            (&[(1_000, 5), (2_000, 5), (3_000, 25)], Some(10.0)),
            // The same instant twice: the later one counts, and no time has passed.
            (&[(1_000, 5), (1_000, 9)], None),
            (&[(1_000, 5), (1_000, 9), (2_000, 10)], Some(1.0)),
            // A step back and a gap start anew.
            (&[(9_000, 5), (2_000, 15)], None),
            (&[(1_000, 5), (17_000, 15)], None),
            (&[(1_000, 5), (17_000, 15), (18_000, 17)], Some(2.0)),
            // Counted anew.
            (&[(1_000, 50), (2_000, 15)], None),
        ] {
            assert_eq!(after(polls), (expected, expected), "{polls:?}");
        }
    }

    #[test]
    fn the_window_slides() {
        let polls: Vec<_> = (0..20)
            .map(|s| (s * 1_000, if s < 14 { 0 } else { 100 * u128::from(s - 14) }))
            .collect();
        assert_eq!(after(&polls).0, Some(100.0));
    }

    #[test]
    fn fast_polls_are_bounded() {
        let mut window = RateWindow::default();
        for at in 0..1_000 {
            window.push(poll(at, &[("weur", Some(1))]));
        }
        assert_eq!(window.samples.len(), SAMPLES_MAX);
    }

    #[test]
    fn a_region_that_comes_and_goes_is_no_flood() {
        let both = |at, a, b| poll(at, &[("weur", Some(a)), ("apac", Some(b))]);
        let one = |at, a| poll(at, &[("weur", Some(a)), ("apac", None)]);
        // Out of reach: the tenant has no rate until two polls saw the same regions, the total is what is left.
        assert_eq!(
            after_regions(&[both(0, 10, 1_000), one(1_000, 20)]),
            (None, Some(10.0))
        );
        assert_eq!(
            after_regions(&[both(0, 10, 1_000), one(1_000, 20), one(2_000, 40)]),
            (Some(20.0), Some(15.0))
        );
        // Back: compared with the poll from before.
        assert_eq!(
            after_regions(&[both(0, 10, 1_000), one(1_000, 20), both(2_000, 30, 1_002)]),
            (Some(11.0), Some(11.0)),
        );
        // Back without a poll from before: not known yet.
        assert_eq!(
            after_regions(&[one(1_000, 20), both(2_000, 30, 1_000)]),
            (None, None)
        );
    }

    #[test]
    fn no_region_no_rate() {
        let polls = [poll(0, &[("weur", None)]), poll(1_000, &[("weur", None)])];
        assert_eq!(after_regions(&polls), (Some(0.0), None));
        assert_eq!(RateWindow::default().rates().total(), None);
    }

    #[test]
    fn who_was_not_seen_before_counts_from_zero() {
        let mut window = RateWindow::default();
        window.push(Arc::new(FairnessReply {
            tenants: Vec::new(),
            ..(*poll(0, &[("weur", Some(0))])).clone()
        }));
        window.push(poll(2_000, &[("weur", Some(8))]));
        let rates = window.rates();
        assert_eq!(rates.tenant(&tenant(8)).unwrap().admitted_units, 40.0);
        assert_eq!(
            rates.limit(&tenant(8), "per_ip").unwrap().admitted_calls,
            4.0
        );
        assert_eq!(
            rates.budget(&tenant(8), "tokens").unwrap(),
            TallyRate::default()
        );
    }
}
