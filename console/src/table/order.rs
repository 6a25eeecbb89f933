//! The order of the rows while figures move. Rows that change places under the pointer cannot be read or pressed,
//! so the order is kept for some seconds, and for as long as somebody is busy in the table. An order by rates is kept
//! while no rate is known: a region that drops out must not shuffle the table.

use std::collections::BTreeSet;

use super::column::Column;
use super::query::TableQuery;
use crate::overview::Overview;

/// How long an order is kept while figures move.
pub const HOLD_MS: u64 = 5_000;

/// The order that is on the page.
#[derive(Debug, Clone, Default)]
pub struct HeldOrder {
    asked: Option<(String, Column, bool)>,
    sorted_at_ms: u64,
    blind: bool,
    tenants: Vec<String>,
}

impl HeldOrder {
    /// The tenants to show, in order. They are sorted anew when the query changed, or after [`HOLD_MS`] unless the table is `busy`;
    /// meanwhile who is new comes last.
    pub fn update(&mut self, overview: &Overview, query: &TableQuery, busy: bool) -> &[String] {
        let asked = (query.search.clone(), query.sort, query.descending);
        let elapsed_ms = overview.at.checked_sub(self.sorted_at_ms);
        let due = elapsed_ms.is_none_or(|elapsed_ms| elapsed_ms >= HOLD_MS);
        let blind = query.sort.is_rate() && overview.tenants.values().all(|row| row.rate.is_none());
        let anew = (due || self.blind) && !busy && !blind;
        let mut sorted = sorted(overview, query);
        if self.asked.as_ref() != Some(&asked) || anew {
            self.asked = Some(asked);
            self.sorted_at_ms = overview.at;
            self.blind = blind;
        } else {
            sorted = self.kept(sorted);
        }
        self.tenants = sorted;
        &self.tenants
    }

    fn kept(&self, sorted: Vec<String>) -> Vec<String> {
        let mut fresh: BTreeSet<&str> = sorted.iter().map(String::as_str).collect();
        let mut kept: Vec<String> = self
            .tenants
            .iter()
            .filter(|tenant| fresh.remove(tenant.as_str()))
            .cloned()
            .collect();
        kept.extend(
            sorted
                .iter()
                .filter(|tenant| fresh.contains(tenant.as_str()))
                .cloned(),
        );
        kept
    }
}

fn sorted(overview: &Overview, query: &TableQuery) -> Vec<String> {
    let mut rows: Vec<_> = overview
        .tenants
        .values()
        .filter(|row| query.matches(row))
        .collect();
    rows.sort_by(|a, b| query.sort.compare(a, b, query.descending));
    rows.into_iter().map(|row| row.tenant.clone()).collect()
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::accounting::Tally;
    use weir_shared::wire::count::Count;

    use super::*;
    use crate::overview::TenantRow;
    use crate::rates::TallyRate;

    fn overview(at: u64, units: &[(&str, u128)]) -> Overview {
        let row = |&(tenant, units): &(&str, u128)| {
            let total = Tally {
                admitted_units: Count(units),
                ..Tally::default()
            };
            (
                tenant.to_owned(),
                TenantRow {
                    tenant: tenant.to_owned(),
                    total,
                    ..TenantRow::default()
                },
            )
        };
        Overview {
            at,
            tenants: units.iter().map(row).collect(),
            ..Overview::default()
        }
    }

    #[test]
    fn an_order_is_kept_for_a_while() {
        let mut order = HeldOrder::default();
        let query = TableQuery::default();
        for (at, units, busy, expected) in [
            (10_000, &[("a", 1), ("b", 2)][..], false, &["b", "a"][..]),
            (11_000, &[("a", 9), ("b", 2)], false, &["b", "a"]),
            // Who is new comes last, in order; who is gone leaves.
            (
                12_000,
                &[("a", 9), ("b", 2), ("c", 5), ("d", 7)],
                false,
                &["b", "a", "d", "c"],
            ),
            (
                13_000,
                &[("a", 9), ("d", 7), ("c", 8)],
                false,
                &["a", "d", "c"],
            ),
            // Due, but somebody is busy in the table.
            (
                15_000,
                &[("a", 9), ("d", 7), ("c", 8)],
                true,
                &["a", "d", "c"],
            ),
            (
                16_000,
                &[("a", 9), ("d", 7), ("c", 8)],
                false,
                &["a", "c", "d"],
            ),
            (
                17_000,
                &[("a", 1), ("d", 7), ("c", 8)],
                false,
                &["a", "c", "d"],
            ),
            // A clock that stepped back does not hold the order for ever.
            (
                1_000,
                &[("a", 1), ("d", 7), ("c", 8)],
                false,
                &["c", "d", "a"],
            ),
        ] {
            assert_eq!(
                order.update(&overview(at, units), &query, busy),
                expected,
                "at {at}"
            );
        }
    }

    #[test]
    fn an_order_by_rates_waits_for_rates() {
        let rated = |at, rates: &[(&str, Option<f64>)]| {
            let mut overview = overview(at, &[("a", 0), ("b", 0)]);
            for (tenant, per_s) in rates {
                let rate = per_s.map(|denied_calls| TallyRate {
                    denied_calls,
                    ..TallyRate::default()
                });
                overview.tenants.get_mut(*tenant).unwrap().rate = rate;
            }
            overview
        };
        let mut order = HeldOrder::default();
        let mut query = TableQuery::default();
        query.press(Column::DeniedRate);
        for (at, a, b, expected) in [
            // Sorted without rates at first, and at once when they come.
            (10_000, None, None, ["a", "b"]),
            (11_000, Some(1.0), Some(2.0), ["b", "a"]),
            (12_000, Some(3.0), Some(2.0), ["b", "a"]),
            // No rate is known, though it is time: the order stays.
            (17_000, None, None, ["b", "a"]),
            (18_000, Some(3.0), Some(2.0), ["a", "b"]),
        ] {
            assert_eq!(
                order.update(&rated(at, &[("a", a), ("b", b)]), &query, false),
                expected,
                "at {at}"
            );
        }
    }

    #[test]
    fn a_changed_query_sorts_at_once() {
        let mut order = HeldOrder::default();
        let mut query = TableQuery::default();
        assert_eq!(
            order.update(&overview(0, &[("a", 1), ("b", 2)]), &query, true),
            ["b", "a"]
        );
        query.press(Column::Tenant);
        assert_eq!(
            order.update(&overview(0, &[("a", 1), ("b", 2)]), &query, true),
            ["a", "b"]
        );
        query.search_for("b");
        assert_eq!(
            order.update(&overview(0, &[("a", 1), ("b", 2)]), &query, true),
            ["b"]
        );
        // Opening a row does not.
        query.search_for("");
        assert_eq!(
            order.update(&overview(0, &[("a", 1), ("b", 2)]), &query, true),
            ["a", "b"]
        );
        query.press(Column::AdmittedUnits);
        order.update(&overview(0, &[("a", 1), ("b", 2)]), &query, true);
        query.toggle("a");
        assert_eq!(
            order.update(&overview(1_000, &[("a", 5), ("b", 2)]), &query, true),
            ["b", "a"]
        );
    }
}
