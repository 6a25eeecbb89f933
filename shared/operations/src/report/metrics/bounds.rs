//! What the policy bounds: numbers of guards, meters and limits, for tenants without numbers of their own.

use weir_policy::limit::Rule;

use super::Scrape;
use super::families;
use super::page::Page;

/// Thousandths of a number of at least 0.
fn thousandths(number: f64) -> u64 {
    (number * 1_000.0).round() as u64
}

impl Scrape<'_> {
    /// What each guard, meter and limit admits. What is unlimited has no sample, and neither has a limit that is made of others.
    pub(super) fn bounds(&self, page: &mut Page) {
        for (name, guard) in &self.policy.guards {
            let terms = guard.numbers.terms();
            let bounds = [
                (&families::GUARD_CONCURRENCY, terms.concurrency),
                (&families::GUARD_PER_MINUTE, terms.per_minute),
            ];
            for (family, calls) in bounds {
                if let Some(calls) = calls {
                    page.set(family, &[("guard", name)], calls.into());
                }
            }
        }
        for (name, meter) in &self.policy.meters {
            if let Some(terms) = meter.numbers.terms() {
                let labels = [("meter", name.as_str())];
                let rate = thousandths(terms.per_sec.0);
                page.set_thousandths(&families::METER_RATE, &labels, rate);
                let burst_ms = thousandths(terms.burst_seconds.0);
                page.set_thousandths(&families::METER_BURST, &labels, burst_ms);
            }
        }
        for (name, limit) in &self.policy.limits {
            let admits = match &limit.rule {
                Rule::Single(single) => single.machine.quota_policy(),
                Rule::Shaper(shaper) => shaper.bucket.quota_policy(),
                Rule::Composite(_) => continue,
            };
            let labels = [("limit", name.as_str())];
            page.set(&families::LIMIT_UNITS, &labels, admits.quota.into());
            page.set_thousandths(&families::LIMIT_WINDOW, &labels, admits.window_ms);
        }
    }
}
