//! What another policy would have changed: both policies, as they are now, over what was asked for in recorded windows
//! and minutes.
//!
//! Budgets are divided as [`ideal`] says. The bucket of a meter, and the minute of a guard, start full and flow on from
//! one recorded interval to the next; how many calls ran at a time is not recorded, so that is not previewed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Policy;
use super::ideal::ideal;
use crate::limits::PREVIEW_ROWS_MAX;
use crate::units::EpochMs;
use crate::wire::amount::AmountBody;
use crate::wire::count::Count;
use crate::wire::metering::RateBody;
use crate::wire::preview::{PreviewBody, PreviewKind, PreviewRow};

/// What was asked for, as ledgers recorded it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Windows of budgets.
    pub budgets: Vec<RecordedWindow>,
    /// Windows that were recorded too and are not among them.
    pub left_out: u64,
    /// Intervals of meters, each meter's and tenant's in the order of time.
    pub meters: Vec<RecordedInterval>,
    /// Intervals of guards, in the same order.
    pub guards: Vec<RecordedInterval>,
}

/// One window of a budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedWindow {
    /// The budget.
    pub budget: String,
    /// The window's label.
    pub label: u64,
    /// Units of the window when it was recorded.
    pub limit: u64,
    /// Who asked for some of them.
    pub tenants: Vec<RecordedTenant>,
}

/// One tenant in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedTenant {
    /// The tenant.
    pub tenant: String,
    /// Units that it asked for: those admitted and those denied.
    pub demand: u64,
    /// Units that it got.
    pub served: u64,
}

/// One interval of a meter or a guard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedInterval {
    /// The meter's or the guard's name.
    pub name: String,
    /// The tenant.
    pub tenant: String,
    /// Its start.
    pub at: EpochMs,
    /// Its length.
    pub interval_ms: u64,
    /// Units, or calls, that were asked for.
    pub demand: u64,
    /// Those that were admitted.
    pub served: u64,
}

/// What changes for whom if `candidate` took the place of `present`.
///
/// ```
/// use weir_shared::invalid::read_json;
/// use weir_shared::policy::Policy;
/// use weir_shared::policy::preview::{Recorded, RecordedTenant, RecordedWindow, preview};
/// use weir_shared::units::EpochMs;
/// let policy = |weight: u64| {
///     let text = format!(r#"{{
///       "regions": ["weur"], "tiers": {{ "free": {{ "weight": 1 }} }}, "default_tier": "free",
///       "tenants": {{ "a": {{ "weight": {weight} }}, "b": {{}} }},
///       "budgets": {{ "tokens": {{ "limit": 100, "window_ms": 1000, "sharing": "weighted_fair_escrow",
///         "scope": "global", "reserve": "paced" }} }}
///     }}"#);
///     Policy::try_from(&read_json(text.as_bytes()).unwrap()).unwrap()
/// };
/// let asked = |tenant: &str, demand| RecordedTenant { tenant: tenant.to_owned(), demand, served: demand / 2 };
/// let window = RecordedWindow {
///     budget: "tokens".to_owned(), label: 7, limit: 100, tenants: vec![asked("a", 100), asked("b", 100)],
/// };
/// let recorded = Recorded { budgets: vec![window], ..Recorded::default() };
/// // At 1 : 1 both have 50; at 4 : 1 they have 80 and 20.
/// let body = preview(&policy(1), &policy(4), &recorded, EpochMs(0));
/// let rows: Vec<_> = body.rows.iter().map(|row| (row.tenant.as_str(), row.present.0, row.candidate.0)).collect();
/// assert_eq!(rows, [("a", 50, 80), ("b", 50, 20)]);
/// assert_eq!((body.gains, body.loses), (vec!["a".to_owned()], vec!["b".to_owned()]));
/// ```
#[must_use]
pub fn preview(
    present: &Policy,
    candidate: &Policy,
    recorded: &Recorded,
    now: EpochMs,
) -> PreviewBody {
    let mut rows = Rows::default();
    for window in &recorded.budgets {
        rows.window(present, candidate, window, now);
    }
    for (kind, intervals) in [
        (PreviewKind::Meter, &recorded.meters),
        (PreviewKind::Guard, &recorded.guards),
    ] {
        rows.intervals(present, candidate, kind, intervals, now);
    }
    rows.body(recorded, now)
}

/// What a row is about.
type About = (PreviewKind, String, String);

#[derive(Default)]
struct Rows(BTreeMap<About, PreviewRow>);

impl Rows {
    fn row(&mut self, kind: PreviewKind, name: &str, tenant: &str) -> &mut PreviewRow {
        let about = (kind, name.to_owned(), tenant.to_owned());
        self.0.entry(about).or_insert_with(|| PreviewRow {
            kind,
            name: name.to_owned(),
            tenant: tenant.to_owned(),
            demand: Count::default(),
            served: Count::default(),
            present: Count::default(),
            candidate: Count::default(),
        })
    }

    fn window(
        &mut self,
        present: &Policy,
        candidate: &Policy,
        window: &RecordedWindow,
        now: EpochMs,
    ) {
        let demands: Vec<(&str, u64)> = window
            .tenants
            .iter()
            .map(|one| (one.tenant.as_str(), one.demand))
            .collect();
        let length = present.budgets.get(&window.budget);
        let length_ms = length.map_or(0, |budget| budget.window_ms);
        let shares = |policy: &Policy| {
            let units = units_in(policy, &window.budget, length_ms);
            ideal(policy, &window.budget, units, &demands, now)
        };
        let shares = shares(present).into_iter().zip(shares(candidate));
        for (one, (before, after)) in window.tenants.iter().zip(shares) {
            let row = self.row(PreviewKind::Budget, &window.budget, &one.tenant);
            row.demand += one.demand;
            row.served += one.served;
            row.present += before;
            row.candidate += after;
        }
    }

    fn intervals(
        &mut self,
        present: &Policy,
        candidate: &Policy,
        kind: PreviewKind,
        intervals: &[RecordedInterval],
        now: EpochMs,
    ) {
        let mut buckets: BTreeMap<(&str, &str), [Bucket; 2]> = BTreeMap::new();
        for one in intervals {
            let key = (one.name.as_str(), one.tenant.as_str());
            let bucket = |policy| Bucket::of(policy, kind, one, now);
            let buckets = buckets
                .entry(key)
                .or_insert_with(|| [bucket(present), bucket(candidate)]);
            let [before, after] = buckets.each_mut().map(|bucket| bucket.admit(one));
            let row = self.row(kind, &one.name, &one.tenant);
            row.demand += one.demand;
            row.served += one.served;
            row.present += before;
            row.candidate += after;
        }
    }

    fn body(self, recorded: &Recorded, now: EpochMs) -> PreviewBody {
        let mut rows: Vec<PreviewRow> = self.0.into_values().collect();
        let names = |of: fn(&PreviewRow) -> bool| {
            let rows = rows.iter().filter(|row| of(row));
            rows.map(|row| row.tenant.clone()).collect::<BTreeSet<_>>()
        };
        let (gains, loses) = (
            names(|row| row.candidate > row.present),
            names(|row| row.candidate < row.present),
        );
        let (gaining, losing) = (gains.len() as u64, loses.len() as u64);
        let rows_total = rows.len() as u64;
        rows.sort_by_key(|row| Reverse(row.present.0.abs_diff(row.candidate.0)));
        rows.truncate(PREVIEW_ROWS_MAX);
        PreviewBody {
            at: now,
            windows: recorded.budgets.len() as u64,
            windows_left_out: recorded.left_out,
            intervals: (recorded.meters.len() + recorded.guards.len()) as u64,
            gaining,
            losing,
            gains: gains.into_iter().take(PREVIEW_ROWS_MAX).collect(),
            loses: loses.into_iter().take(PREVIEW_ROWS_MAX).collect(),
            rows_total,
            rows,
        }
    }
}

/// Units of a budget in a window of that length: as many as its own windows have, in proportion.
fn units_in(policy: &Policy, budget: &str, length_ms: u64) -> u64 {
    let Some(budget) = policy.budgets.get(budget) else {
        return 0;
    };
    if length_ms == 0 || length_ms == budget.window_ms {
        return budget.limit;
    }
    let units = u128::from(budget.limit) * u128::from(length_ms);
    u64::try_from(units / u128::from(budget.window_ms.max(1))).unwrap_or(u64::MAX)
}

/// Millionths of a unit.
const MICROS: f64 = 1_000_000.0;

/// A bucket that fills evenly, in millionths of a unit; how finely its own machine counts makes no difference here.
#[derive(Debug, Clone, Copy)]
enum Bucket {
    /// What is not there admits nothing.
    Absent,
    /// No bound.
    Unlimited,
    /// So many a second, up to so many at once.
    Bounded {
        per_sec: u128,
        capacity: u128,
        tokens: u128,
        at: EpochMs,
    },
}

impl Bucket {
    /// A full bucket at the start of an interval.
    fn of(policy: &Policy, kind: PreviewKind, one: &RecordedInterval, now: EpochMs) -> Self {
        if policy.resolve(&one.tenant, now).is_none() {
            return Self::Absent;
        }
        let numbers = match kind {
            PreviewKind::Meter => {
                policy
                    .meter_numbers(&one.name, &one.tenant, now)
                    .map(|numbers| {
                        let RateBody::PerSec(rate) = numbers.per_sec else {
                            return None;
                        };
                        Some((rate.0 * MICROS, rate.0 * numbers.burst_seconds.0 * MICROS))
                    })
            }
            PreviewKind::Guard => {
                policy
                    .guard_numbers(&one.name, &one.tenant, now)
                    .map(|numbers| {
                        let AmountBody::Units(calls) = numbers.per_minute else {
                            return None;
                        };
                        Some((calls as f64 / 60.0 * MICROS, calls as f64 * MICROS))
                    })
            }
            PreviewKind::Budget => None,
        };
        match numbers {
            None => Self::Absent,
            Some(None) => Self::Unlimited,
            Some(Some((per_sec, capacity))) => Self::Bounded {
                per_sec: per_sec as u128,
                capacity: capacity as u128,
                tokens: capacity as u128,
                at: one.at,
            },
        }
    }

    /// Units of an interval that it lets through.
    fn admit(&mut self, one: &RecordedInterval) -> u64 {
        let (per_sec, capacity, tokens, at) = match self {
            Self::Absent => return 0,
            Self::Unlimited => return one.demand,
            Self::Bounded {
                per_sec,
                capacity,
                tokens,
                at,
            } => (*per_sec, *capacity, tokens, at),
        };
        let flows = |ms: u64| per_sec * u128::from(ms) / 1_000;
        // While nothing was recorded it filled up.
        let rested = tokens
            .saturating_add(flows(one.at.since(*at)))
            .min(capacity);
        let open = rested.saturating_add(flows(one.interval_ms));
        let micros = MICROS as u128;
        let admitted = (open / micros).min(u128::from(one.demand));
        *tokens = (open - admitted * micros).min(capacity);
        *at = one.at.plus(one.interval_ms);
        u64::try_from(admitted).unwrap_or(one.demand)
    }
}
