//! Calls a second, from what the regions tell.

use std::collections::VecDeque;

use weir_shared::ordered::OrderedMap;
use weir_shared::wire::accounting::TenantCounters;
use weir_shared::wire::count::Count;

/// Seconds that are kept for a sparkline.
pub const HISTORY_S: u64 = 120;

/// Seconds that a rate is the mean of.
pub const MEAN_S: u64 = 10;

/// Calls of one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RatePoint {
    /// Calls admitted, whatever by.
    pub admitted: u64,
    /// Calls denied by budgets and limits, or rejected by guards.
    pub denied: u64,
    /// Calls shed by meters and overloaded resources.
    pub shed: u64,
    /// Calls that a shadow would have denied or shed: they passed.
    pub would_deny: u64,
}

/// Means over the last [`MEAN_S`] seconds, or those that are known of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CallsPerS {
    /// Calls admitted a second.
    pub admitted: f64,
    /// Calls denied a second.
    pub denied: f64,
    /// Calls shed a second.
    pub shed: f64,
    /// Calls a second that a shadow would have denied or shed.
    pub would_deny: f64,
}

/// What goes through one region, or all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rates {
    /// Calls a second; none before something was told, as nothing told is not yet nothing counted. After [`MEAN_S`]
    /// seconds in which nothing was told there was nothing.
    pub per_s: Option<CallsPerS>,
    /// The last seconds that are known, oldest first, at most [`HISTORY_S`].
    pub history: Vec<RatePoint>,
}

/// What goes through the deployment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveRates {
    /// Over all regions that tell.
    pub total: Rates,
    /// By region.
    pub regions: OrderedMap<String, Rates>,
}

/// What one region told, second by second.
#[derive(Debug, Clone, Default)]
struct RegionSeconds {
    since_s: u64,
    seconds: VecDeque<(u64, RatePoint)>,
}

/// What the regions told.
#[derive(Debug, Clone, Default)]
pub struct RateBook {
    regions: OrderedMap<String, RegionSeconds>,
}

impl RateBook {
    /// A region begins to tell: what it counted before is not known. One that went on where it left off need not say so.
    pub fn begin(&mut self, region: &str, at_ms: u64) {
        let told = self.regions.entry(region.to_owned()).or_default();
        *told = RegionSeconds {
            since_s: at_ms / 1_000 + 1,
            seconds: VecDeque::new(),
        };
    }

    /// A region counted something.
    pub fn add<'a>(
        &mut self,
        region: &str,
        at_ms: u64,
        tenants: impl IntoIterator<Item = &'a TenantCounters>,
    ) {
        let Some(told) = self.regions.get_mut(region) else {
            return;
        };
        let second = at_ms / 1_000;
        let mut point = RatePoint::default();
        for counted in tenants {
            point.count(counted);
        }
        match told.seconds.iter_mut().rev().find(|(at, _)| *at <= second) {
            Some((at, known)) if *at == second => known.add(point),
            _ => {
                let place = told.seconds.partition_point(|(at, _)| *at < second);
                told.seconds.insert(place, (second, point));
            }
        }
        while told.seconds.len() > HISTORY_S as usize {
            told.seconds.pop_front();
        }
    }

    /// Only regions that the policy has are shown.
    pub fn keep(&mut self, regions: &[String]) {
        self.regions.retain(|region, _| regions.contains(region));
    }

    /// What goes through, by the server's clock. The second under way is not over, and does not count.
    pub fn rates(&self, server_ms: u64) -> LiveRates {
        let end_s = server_ms / 1_000;
        let mut regions = OrderedMap::new();
        let mut total = Vec::new();
        let mut measured = false;
        for (region, told) in &self.regions {
            let history = told.history(end_s);
            add_from_the_end(&mut total, &history);
            let told = told.is_measured(end_s);
            measured |= told;
            regions.insert(region.clone(), Rates::of(history, told));
        }
        LiveRates {
            total: Rates::of(total, measured),
            regions,
        }
    }
}

impl RegionSeconds {
    /// Whether there is a rate: calls were told of a second that is over, or were not for long.
    fn is_measured(&self, end_s: u64) -> bool {
        let known = self.since_s..end_s;
        let told = self.seconds.iter().any(|(at, _)| known.contains(at));
        told || end_s.saturating_sub(self.since_s) >= MEAN_S
    }

    fn history(&self, end_s: u64) -> Vec<RatePoint> {
        let start_s = self.since_s.max(end_s.saturating_sub(HISTORY_S));
        let length = end_s.saturating_sub(start_s);
        let mut history = vec![RatePoint::default(); length as usize];
        for (second, point) in &self.seconds {
            let place = second.checked_sub(start_s).map(|place| place as usize);
            if let Some(slot) = place.and_then(|place| history.get_mut(place)) {
                *slot = *point;
            }
        }
        history
    }
}

/// Sums seconds of the same instant: the last of both are the same.
fn add_from_the_end(total: &mut Vec<RatePoint>, history: &[RatePoint]) {
    if total.len() < history.len() {
        let missing = history.len() - total.len();
        total.splice(0..0, vec![RatePoint::default(); missing]);
    }
    for (sum, point) in total.iter_mut().rev().zip(history.iter().rev()) {
        sum.add(*point);
    }
}

impl RatePoint {
    fn add(&mut self, other: Self) {
        self.admitted = self.admitted.saturating_add(other.admitted);
        self.denied = self.denied.saturating_add(other.denied);
        self.shed = self.shed.saturating_add(other.shed);
        self.would_deny = self.would_deny.saturating_add(other.would_deny);
    }

    /// Adds what was counted, whatever by.
    pub fn count(&mut self, counted: &TenantCounters) {
        let calls = |count: Count| u64::try_from(count.0).unwrap_or(u64::MAX);
        let mut add = |admitted: Count, denied: Count, shed: Count, would_deny: Count| {
            self.add(Self {
                admitted: calls(admitted),
                denied: calls(denied),
                shed: calls(shed),
                would_deny: calls(would_deny),
            });
        };
        let none = Count::default();
        for tally in counted.budgets.values().chain(counted.limits.values()) {
            add(
                tally.admitted_calls,
                tally.denied_calls,
                none,
                tally.would_deny_calls,
            );
        }
        for tally in counted.overload.values() {
            add(
                tally.admitted_calls,
                none,
                tally.denied_calls,
                tally.would_deny_calls,
            );
        }
        for tally in counted.meters.values() {
            add(
                tally.admitted_calls,
                none,
                tally.shed_calls,
                tally.would_deny_calls,
            );
        }
        for tally in counted.guards.values() {
            add(
                tally.allowed,
                tally.rejected_concurrency,
                none,
                tally.would_deny,
            );
            add(none, tally.rejected_budget, none, none);
            add(none, tally.rejected_other, none, none);
        }
    }
}

impl Rates {
    fn of(history: Vec<RatePoint>, measured: bool) -> Self {
        let last = &history[history.len().saturating_sub(MEAN_S as usize)..];
        let mut sum = RatePoint::default();
        for point in last {
            sum.add(*point);
        }
        let seconds = last.len().max(1) as f64;
        let per_s = measured.then(|| CallsPerS {
            admitted: sum.admitted as f64 / seconds,
            denied: sum.denied as f64 / seconds,
            shed: sum.shed as f64 / seconds,
            would_deny: sum.would_deny as f64 / seconds,
        });
        Self { per_s, history }
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::accounting::{GuardTally, MeterTally, Tally};

    use super::*;

    fn admitted_per_s(rates: &Rates) -> Option<f64> {
        rates.per_s.map(|per_s| per_s.admitted)
    }

    fn admitted(calls: u128) -> TenantCounters {
        let tally = Tally {
            admitted_calls: Count(calls),
            ..Tally::default()
        };
        TenantCounters {
            budgets: [("tokens".to_owned(), tally)].into(),
            ..TenantCounters::default()
        }
    }

    #[test]
    fn rates_are_means_over_ten_seconds_that_are_over() {
        let mut book = RateBook::default();
        book.begin("weur", 999);
        for second in 1..=20 {
            book.add("weur", second * 1_000 + 500, &[admitted(10), admitted(5)]);
        }
        let rates = book.rates(20_999);
        assert_eq!(admitted_per_s(&rates.total), Some(15.0));
        assert_eq!(
            rates.total.history.len(),
            19,
            "the twentieth second is under way"
        );
        let later = book.rates(26_000).total;
        let mean = admitted_per_s(&later);
        assert_eq!(mean, Some(75.0 / 10.0), "five seconds had calls");
        assert_eq!(admitted_per_s(&book.rates(40_000).total), Some(0.0));
    }

    #[test]
    fn a_young_page_divides_by_the_seconds_that_it_has_seen() {
        let mut book = RateBook::default();
        book.begin("weur", 5_400);
        assert_eq!(
            book.rates(5_900),
            LiveRates {
                regions: [("weur".to_owned(), Rates::default())].into(),
                ..LiveRates::default()
            }
        );
        book.add("weur", 5_900, &[admitted(100)]);
        book.add("weur", 6_100, &[admitted(8)]);
        assert_eq!(
            admitted_per_s(&book.rates(7_000).total),
            Some(8.0),
            "only whole seconds count"
        );
        assert_eq!(admitted_per_s(&book.rates(8_000).total), Some(4.0));
    }

    #[test]
    fn there_is_no_rate_before_something_was_told_or_nothing_for_long() {
        let mut book = RateBook::default();
        assert_eq!(book.rates(5_000).total.per_s, None, "no region tells");
        book.begin("weur", 5_400);
        book.begin("enam", 5_400);
        for at_ms in (5_400..8_000).step_by(100) {
            let rates = book.rates(at_ms);
            assert_eq!(rates.total.per_s, None, "at {at_ms}: a false zero");
            assert_eq!(rates.regions["weur"].per_s, None);
        }
        book.add("weur", 7_900, &[admitted(30)]);
        let rates = book.rates(8_000);
        assert_eq!(admitted_per_s(&rates.total), Some(15.0), "of two seconds");
        assert_eq!(rates.regions["enam"].per_s, None, "it has told nothing");
        assert_eq!(book.rates(15_900).regions["enam"].per_s, None);
        let quiet = book.rates(16_000);
        assert_eq!(admitted_per_s(&quiet.regions["enam"]), Some(0.0));
        // What was missed is measured anew.
        book.begin("weur", 16_500);
        assert_eq!(book.rates(17_000).regions["weur"].per_s, None);
    }

    #[test]
    fn what_comes_late_counts_in_its_own_second() {
        let mut book = RateBook::default();
        book.begin("weur", 0);
        for (at_ms, calls) in [(3_000, 3), (1_000, 1), (2_000, 2), (1_500, 1)] {
            book.add("weur", at_ms, &[admitted(calls)]);
        }
        let told: Vec<u64> = book
            .rates(4_000)
            .total
            .history
            .iter()
            .map(|point| point.admitted)
            .collect();
        assert_eq!(told, [2, 2, 3]);
    }

    #[test]
    fn regions_add_up_also_when_one_began_later() {
        let mut book = RateBook::default();
        book.begin("weur", 0);
        book.begin("enam", 2_000);
        book.add("weur", 1_000, &[admitted(1)]);
        book.add("weur", 3_000, &[admitted(1)]);
        book.add("enam", 3_000, &[admitted(10)]);
        book.add("apac", 3_000, &[admitted(99)]);
        let rates = book.rates(4_000);
        let told = |rates: &Rates| -> Vec<u64> {
            rates.history.iter().map(|point| point.admitted).collect()
        };
        assert_eq!(told(&rates.total), [1, 0, 11]);
        assert_eq!(told(&rates.regions["enam"]), [10]);
        assert!(!rates.regions.contains_key("apac"), "it never began");
        book.keep(&["weur".to_owned()]);
        assert_eq!(told(&book.rates(4_000).total), [1, 0, 1]);
    }

    #[test]
    fn memory_is_bounded_whatever_is_told() {
        let mut book = RateBook::default();
        book.begin("weur", 0);
        for second in 1..1_000 {
            book.add("weur", second * 1_000, &[admitted(1)]);
        }
        assert_eq!(book.regions["weur"].seconds.len(), HISTORY_S as usize);
        let rates = book.rates(1_000_000);
        assert_eq!(rates.total.history.len(), HISTORY_S as usize);
        assert_eq!(admitted_per_s(&rates.total), Some(1.0));
    }

    #[test]
    fn what_is_denied_is_told_apart_from_what_is_shed() {
        let count = Count;
        let meter = MeterTally {
            admitted_calls: count(1),
            shed_calls: count(20),
            ..MeterTally::default()
        };
        let guard = GuardTally {
            allowed: count(2),
            rejected_concurrency: count(300),
            rejected_budget: count(400),
            rejected_other: count(500),
            ..GuardTally::default()
        };
        let tally = Tally {
            admitted_calls: count(4),
            denied_calls: count(7_000),
            would_deny_calls: count(11),
            ..Tally::default()
        };
        let mut counted = TenantCounters::default();
        counted.meters.insert("m".to_owned(), meter);
        counted.guards.insert("g".to_owned(), guard);
        counted.limits.insert("l".to_owned(), tally);
        counted.overload.insert("o".to_owned(), tally);
        let mut point = RatePoint::default();
        point.count(&counted);
        assert_eq!(
            point,
            RatePoint {
                admitted: 11,
                denied: 8_200,
                shed: 7_020,
                would_deny: 22,
            }
        );
    }
}
