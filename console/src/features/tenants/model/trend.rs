//! What each tenant on the page was admitted of late: the figures of the last reads, as rates.

use std::collections::VecDeque;

use weir_shared::ordered::{OrderedMap, sort_by};

/// Reads that are kept of a tenant.
pub const READS_MAX: usize = 30;

/// Tenants that are kept: those that were read last.
pub const TENANTS_MAX: usize = 600;

/// The totals that were read, by tenant.
#[derive(Debug, Clone, Default)]
pub struct Trends {
    reads: OrderedMap<String, VecDeque<(u64, u128)>>,
}

impl Trends {
    /// Takes what one answer says: total units by tenant, as of `at_ms`. An answer older than the last is passed over; a
    /// total that fell began anew.
    pub fn read<'a>(&mut self, at_ms: u64, totals: impl Iterator<Item = (&'a str, u128)>) {
        for (tenant, units) in totals {
            let known = self.reads.entry(tenant.to_owned()).or_default();
            match known.back() {
                Some((last_ms, _)) if at_ms <= *last_ms => continue,
                Some((_, last)) if units < *last => known.clear(),
                _ => {}
            }
            if known.len() == READS_MAX {
                known.pop_front();
            }
            known.push_back((at_ms, units));
        }
        self.forget();
    }

    fn forget(&mut self) {
        let over = self.reads.len().saturating_sub(TENANTS_MAX);
        if over == 0 {
            return;
        }
        let last = |reads: &VecDeque<(u64, u128)>| reads.back().map(|(at_ms, _)| *at_ms);
        let mut ages: Vec<_> = self.reads.values().map(last).collect();
        sort_by(&mut ages, Ord::cmp);
        let oldest_kept = ages.get(over).copied().flatten();
        let mut still = over;
        self.reads.retain(|_, reads| {
            let go = still > 0 && last(reads) <= oldest_kept;
            still -= usize::from(go);
            !go
        });
    }

    /// Units per second between the reads of a tenant, oldest first; empty before the second read.
    pub fn per_s(&self, tenant: &str) -> Vec<f64> {
        let Some(reads) = self.reads.get(tenant) else {
            return Vec::new();
        };
        let pairs = reads.iter().zip(reads.iter().skip(1));
        let rates = pairs.map(|((from_ms, from), (to_ms, to))| {
            let units = to.saturating_sub(*from) as f64;
            units * 1_000.0 / (to_ms - from_ms).max(1) as f64
        });
        rates.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trends(reads: &[(u64, u128)]) -> Trends {
        let mut trends = Trends::default();
        for (at_ms, units) in reads {
            trends.read(*at_ms, [("a", *units)].into_iter());
        }
        trends
    }

    #[test]
    fn rates_are_per_second_whatever_lies_between_two_reads() {
        for (reads, rates) in [
            (&[][..], &[][..]),
            (&[(1_000, 5)], &[]),
            (
                &[(1_000, 5), (2_000, 15), (4_000, 15), (4_500, 20)],
                &[10.0, 0.0, 10.0],
            ),
            // An older answer that comes late says nothing.
            (&[(2_000, 5), (1_000, 1), (3_000, 6)], &[1.0]),
            // A ledger that began anew.
            (&[(1_000, 500), (2_000, 3), (3_000, 5)], &[2.0]),
        ] {
            assert_eq!(trends(reads).per_s("a"), rates, "{reads:?}");
        }
        assert_eq!(trends(&[]).per_s("stranger"), [0.0; 0]);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
        let many: Vec<_> = (1..=100).map(|n| (n * 1_000, u128::from(n))).collect();
        assert_eq!(trends(&many).per_s("a").len(), READS_MAX - 1);
        let mut trends = Trends::default();
        for n in 0..TENANTS_MAX as u64 + 50 {
            let name = format!("t{n}");
            trends.read(n + 1, [(name.as_str(), 1)].into_iter());
        }
        assert_eq!(trends.reads.len(), TENANTS_MAX);
        assert!(!trends.reads.contains_key("t0") && trends.reads.contains_key("t649"));
    }
}
