//! What another policy would have changed: both policies, as they are now, over what was asked for in recorded windows
//! and minutes.
//!
//! | of | how both policies are asked |
//! | --- | --- |
//! | a budget | each recorded window is divided as [`ideal`] says |
//! | a meter, a guard's minute | a bucket that starts full and flows on from one interval to the next (`bucket`); how many calls ran at a time is not recorded |
//! | a limit | its own machine, over as many keys as explain what was admitted (`keys`) |
//! | an overload resource | what its origin took in an interval is divided by weight (`congestion`) |
//!
//! What a rule in shadow mode lets pass, `shadow` says. What was denied and asked for again was asked for twice.

mod bucket;
mod claims;
mod congestion;
mod keys;
mod recorded;
pub mod shadow;
pub mod words;

use std::cmp::Reverse;

use self::bucket::Bucket;
pub use self::recorded::recorded;
use weir_core::limits::{MINUTE_MS, PREVIEW_ROWS_MAX};
use weir_core::ordered::{OrderedMap, OrderedSet, sort_by_key};
use weir_core::units::EpochMs;
use weir_policy::Policy;
use weir_policy::ideal::ideal;
use weir_wire::accounting::ANONYMOUS;
use weir_wire::count::Count;
use weir_wire::preview::{PreviewBody, PreviewRow};
use weir_wire::rule_kind::RuleKind;

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
    /// Intervals of limits, in the same order. Those of requests without a tenant are [`ANONYMOUS`]'s.
    ///
    /// [`ANONYMOUS`]: weir_wire::accounting::ANONYMOUS
    pub limits: Vec<RecordedInterval>,
    /// Intervals of overload resources, in the same order.
    pub overload: Vec<RecordedInterval>,
    /// Length of the intervals; 0 where there are none.
    pub interval_ms: u64,
    /// Tenants that were recorded too and are not among them.
    pub tenants_left_out: u64,
}

impl Recorded {
    /// How many intervals there are, each tenant's for itself.
    #[must_use]
    pub fn intervals(&self) -> u64 {
        let lists = [&self.meters, &self.guards, &self.limits, &self.overload];
        lists.iter().map(|list| list.len() as u64).sum()
    }

    /// How many intervals of time there are, whoever asked in them and for what.
    #[must_use]
    pub fn spans(&self) -> u64 {
        let lists = [&self.meters, &self.guards, &self.limits, &self.overload];
        let starts = lists.into_iter().flatten().map(|one| one.at);
        starts.collect::<OrderedSet<_>>().len() as u64
    }
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

/// One interval of a tenant at a meter, guard, limit or overload resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedInterval {
    /// The meter's, guard's, limit's or resource's name.
    pub name: String,
    /// The tenant.
    pub tenant: String,
    /// Its start.
    pub at: EpochMs,
    /// Its length.
    pub interval_ms: u64,
    /// Calls that asked.
    pub calls: u64,
    /// Units, or calls of a guard, that were asked for.
    pub demand: u64,
    /// Those that were admitted.
    pub served: u64,
}

/// What changes for whom if `candidate` took the place of `present`.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_policy::Policy;
/// use weir_operations::preview::{Recorded, RecordedTenant, RecordedWindow, preview};
/// use weir_core::units::EpochMs;
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
        (RuleKind::Meter, &recorded.meters),
        (RuleKind::Guard, &recorded.guards),
    ] {
        rows.intervals(present, candidate, kind, intervals, now);
    }
    let both = [present, candidate];
    let told = |shares: Vec<[u64; 2]>, kind, intervals: &[RecordedInterval], rows: &mut Rows| {
        for (one, [before, after]) in intervals.iter().zip(shares) {
            rows.add(kind, one, before, after);
        }
    };
    let limits = keys::shares(both, &recorded.limits);
    told(limits, RuleKind::Limit, &recorded.limits, &mut rows);
    let overload = congestion::shares(both, &recorded.overload, now);
    told(overload, RuleKind::Overload, &recorded.overload, &mut rows);
    rows.pass_shadows(both);
    let claims = claims::claims(both, &recorded.budgets, now);
    PreviewBody {
        claims,
        ..rows.body(recorded, now)
    }
}

/// What a row is about.
type About = (RuleKind, String, String);

#[derive(Default)]
struct Rows(OrderedMap<About, PreviewRow>);

impl Rows {
    fn row(&mut self, kind: RuleKind, name: &str, tenant: &str) -> &mut PreviewRow {
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
            let row = self.row(RuleKind::Budget, &window.budget, &one.tenant);
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
        kind: RuleKind,
        intervals: &[RecordedInterval],
        now: EpochMs,
    ) {
        let mut buckets: OrderedMap<(&str, &str), [Bucket; 2]> = OrderedMap::new();
        for one in intervals {
            let key = (one.name.as_str(), one.tenant.as_str());
            let bucket = |policy| Bucket::of(policy, kind, one, now);
            let buckets = buckets
                .entry(key)
                .or_insert_with(|| [bucket(present), bucket(candidate)]);
            let [before, after] = buckets.each_mut().map(|bucket| bucket.admit(one));
            self.add(kind, one, before, after);
        }
    }

    /// What either policy lets through of an interval.
    fn add(&mut self, kind: RuleKind, one: &RecordedInterval, before: u64, after: u64) {
        let row = self.row(kind, &one.name, &one.tenant);
        row.demand += one.demand;
        row.served += one.served;
        row.present += before;
        row.candidate += after;
    }

    /// What is asked of a rule is given in full by a policy that does not enforce it.
    fn pass_shadows(&mut self, policies: [&Policy; 2]) {
        for row in self.0.values_mut() {
            let [present, candidate] = shadow::passes(policies, row.kind, &row.name);
            if present {
                row.present = row.demand;
            }
            if candidate {
                row.candidate = row.demand;
            }
        }
    }

    fn body(self, recorded: &Recorded, now: EpochMs) -> PreviewBody {
        let mut rows: Vec<PreviewRow> = self.0.into_values().collect();
        let names = |of: fn(&PreviewRow) -> bool| {
            let rows = rows.iter().filter(|row| of(row));
            let rows = rows.filter(|row| row.tenant != ANONYMOUS);
            rows.map(|row| row.tenant.clone())
                .collect::<OrderedSet<_>>()
        };
        let (gains, loses) = (
            names(|row| row.candidate > row.present),
            names(|row| row.candidate < row.present),
        );
        let (gaining, losing) = (gains.len() as u64, loses.len() as u64);
        let rows_total = rows.len() as u64;
        sort_by_key(&mut rows, |row| {
            Reverse(row.present.0.abs_diff(row.candidate.0))
        });
        rows.truncate(PREVIEW_ROWS_MAX);
        PreviewBody {
            at: now,
            windows: recorded.budgets.len() as u64,
            windows_left_out: recorded.left_out,
            intervals: recorded.intervals(),
            spans: recorded.spans(),
            interval_ms: match recorded.interval_ms {
                0 => MINUTE_MS,
                interval_ms => interval_ms,
            },
            tenants_left_out: recorded.tenants_left_out,
            gaining,
            losing,
            gains: gains.into_iter().take(PREVIEW_ROWS_MAX).collect(),
            loses: loses.into_iter().take(PREVIEW_ROWS_MAX).collect(),
            rows_total,
            rows,
            claims: Vec::new(),
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
