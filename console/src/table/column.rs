//! The columns, and how two rows compare in one.

use std::cmp::Ordering;

use crate::overview::TenantRow;
use crate::rates::TallyRate;
use crate::tenant_name::TenantName;

/// What the table can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// The tenant's name.
    Tenant,
    /// Its tier.
    Tier,
    /// Its weight.
    Weight,
    /// Calls admitted.
    AdmittedCalls,
    /// Units admitted.
    AdmittedUnits,
    /// Calls admitted per second.
    AdmittedRate,
    /// Calls denied.
    DeniedCalls,
    /// Units denied.
    DeniedUnits,
    /// Calls denied per second.
    DeniedRate,
    /// Part of all units admitted.
    Share,
}

impl Column {
    /// All of them, from left to right.
    pub const ALL: [Self; 10] = [
        Self::Tenant,
        Self::Tier,
        Self::Weight,
        Self::AdmittedCalls,
        Self::AdmittedUnits,
        Self::AdmittedRate,
        Self::DeniedCalls,
        Self::DeniedUnits,
        Self::DeniedRate,
        Self::Share,
    ];

    /// Its name in the query string.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Tier => "tier",
            Self::Weight => "weight",
            Self::AdmittedCalls => "admitted_calls",
            Self::AdmittedUnits => "admitted_units",
            Self::AdmittedRate => "admitted_per_s",
            Self::DeniedCalls => "denied_calls",
            Self::DeniedUnits => "denied_units",
            Self::DeniedRate => "denied_per_s",
            Self::Share => "share",
        }
    }

    /// The column of that name.
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.slug() == slug)
    }

    /// Its full name, for who does not see the heading it stands under.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tenant => "Tenant",
            Self::Tier => "Tier",
            Self::Weight => "Weight",
            Self::AdmittedCalls => "Admitted calls",
            Self::AdmittedUnits => "Admitted units",
            Self::AdmittedRate => "Admitted calls/s",
            Self::DeniedCalls => "Denied calls",
            Self::DeniedUnits => "Denied units",
            Self::DeniedRate => "Denied calls/s",
            Self::Share => "Share of admitted units",
        }
    }

    /// Its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::AdmittedCalls | Self::DeniedCalls => "Calls",
            Self::AdmittedUnits | Self::DeniedUnits => "Units",
            Self::AdmittedRate | Self::DeniedRate => "Calls/s",
            Self::Share => "Share of admitted",
            other => other.name(),
        }
    }

    /// Whether the first press sorts downwards: names start at the top, figures at the largest.
    pub fn descends_first(self) -> bool {
        !matches!(self, Self::Tenant | Self::Tier)
    }

    /// Whether it holds rates, which are not always known.
    pub fn is_rate(self) -> bool {
        matches!(self, Self::AdmittedRate | Self::DeniedRate)
    }

    /// The order of two rows: by the column, what is not known last either way, then by name, so that equal rows never swap.
    pub fn compare(self, a: &TenantRow, b: &TenantRow, descending: bool) -> Ordering {
        let turned = |ordering: Ordering| {
            if descending {
                ordering.reverse()
            } else {
                ordering
            }
        };
        let by_value = match self {
            Self::Tenant => return turned(by_name(a, b)),
            Self::Tier => known_first(a.tier.as_ref(), b.tier.as_ref(), |x, y| turned(x.cmp(y))),
            Self::Weight => turned(a.weight.total_cmp(&b.weight)),
            Self::AdmittedCalls => turned(a.total.admitted_calls.cmp(&b.total.admitted_calls)),
            Self::AdmittedUnits => turned(a.total.admitted_units.cmp(&b.total.admitted_units)),
            Self::DeniedCalls => turned(a.total.denied_calls.cmp(&b.total.denied_calls)),
            Self::DeniedUnits => turned(a.total.denied_units.cmp(&b.total.denied_units)),
            Self::AdmittedRate => by_rate(a, b, |rate| rate.admitted_calls, turned),
            Self::DeniedRate => by_rate(a, b, |rate| rate.denied_calls, turned),
            Self::Share => turned(a.share.total_cmp(&b.share)),
        };
        by_value.then_with(|| by_name(a, b))
    }
}

fn by_name(a: &TenantRow, b: &TenantRow) -> Ordering {
    TenantName::of(&a.tenant).cmp(&TenantName::of(&b.tenant))
}

fn by_rate(
    a: &TenantRow,
    b: &TenantRow,
    of: impl Fn(TallyRate) -> f64,
    turned: impl Fn(Ordering) -> Ordering,
) -> Ordering {
    known_first(a.rate.map(&of), b.rate.map(&of), |x, y| {
        turned(x.total_cmp(&y))
    })
}

fn known_first<T>(a: Option<T>, b: Option<T>, compare: impl FnOnce(T, T) -> Ordering) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::accounting::{OTHERS, Tally};
    use weir_shared::wire::count::Count;

    use super::*;

    fn row(tenant: &str, tier: Option<&str>, calls: u128, per_s: Option<f64>) -> TenantRow {
        TenantRow {
            tenant: tenant.to_owned(),
            tier: tier.map(str::to_owned),
            weight: calls as f64,
            total: Tally {
                admitted_calls: Count(calls),
                admitted_units: Count(calls),
                denied_calls: Count(calls),
                denied_units: Count(calls),
                ..Tally::default()
            },
            rate: per_s.map(|per_s| TallyRate {
                admitted_calls: per_s,
                denied_calls: per_s,
                ..TallyRate::default()
            }),
            share: calls as f64,
            ..TenantRow::default()
        }
    }

    #[test]
    fn slugs_come_back() {
        for column in Column::ALL {
            assert_eq!(Column::from_slug(column.slug()), Some(column));
        }
        assert_eq!(Column::from_slug("nothing"), None);
    }

    #[test]
    fn every_column_sorts_both_ways() {
        let rows = [
            row("b", Some("pro"), 2, Some(2.0)),
            row("a", Some("free"), 1, Some(1.0)),
            row(OTHERS, None, 3, None),
            row("c", Some("pro"), 2, Some(2.0)),
        ];
        for column in Column::ALL {
            let sorted = |descending| {
                let mut sorted: Vec<_> = rows.iter().collect();
                sorted.sort_by(|a, b| column.compare(a, b, descending));
                sorted
                    .iter()
                    .map(|row| TenantName::of(&row.tenant).label())
                    .collect::<Vec<_>>()
            };
            let (up, down) = match column {
                Column::Tenant => (["a", "b", "c", "others"], ["others", "c", "b", "a"]),
                // Not known comes last either way, and equal rows stand by name.
                Column::Tier | Column::AdmittedRate | Column::DeniedRate => {
                    (["a", "b", "c", "others"], ["b", "c", "a", "others"])
                }
                _ => (["a", "b", "c", "others"], ["others", "b", "c", "a"]),
            };
            assert_eq!(sorted(false), up, "{column:?} ascending");
            assert_eq!(sorted(true), down, "{column:?} descending");
        }
    }
}
