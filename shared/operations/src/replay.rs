//! What was asked for, played against two policies in simulated time: what either would have admitted.
//!
//! Each policy is decided as by one holder who sees every request, on the machines that decide in a deployment: budgets
//! ([`fairness::local`](weir_fairness::local)), the algorithms of limits, alone and together, queues and meters. A
//! deployment leases units over regions and isolates, so it can only deny more; a `static_partition` and what each region
//! or isolate has for itself are played as one whole. Tiers, tenants and overrides count as of the instant of each
//! request. There is no clock and no randomness: the same requests in the same order come to the same.
//!
//! What only one of the two policies has a rule for is admitted by the other; what neither has is refused when it is
//! read. A tenant that a policy does not know is denied by it. A shadow, and a policy that is not enforced, admits: it is
//! told what would have been denied.

pub mod agreement;
mod entry;
pub mod lines;
pub mod progress;
pub mod question;
mod recorded;
mod side;

use std::cmp::Reverse;

pub use self::entry::Entry;
use self::entry::knows;
pub use self::recorded::busiest;
use self::recorded::recorded;
pub(crate) use self::side::{Side, part};
use weir_core::invalid::Invalid;
use weir_core::limits::{REPLAY_ENTRIES_MAX, REPLAY_ROWS_MAX};
use weir_core::ordered::{OrderedMap, sort_by_key};
use weir_core::units::{EpochMs, Revision};
use weir_policy::{Policy, count};
use weir_wire::accounting::Tally;
use weir_wire::replay::{ReplayBody, ReplayKind, ReplayRow, ReplayTallies, TraceEntry};
use weir_wire::series::SeriesReply;

/// Two policies at play. What was played so far carries over to what follows.
///
/// ```
/// use weir_core::invalid::read_json;
/// use weir_policy::Policy;
/// use weir_operations::replay::Replay;
/// use weir_core::units::EpochMs;
/// let policy = |limit: u64| {
///     let text = format!(r#"{{ "regions": ["weur"], "tiers": {{ "free": {{ "weight": 1 }} }}, "default_tier": "free",
///       "budgets": {{ "tokens": {{ "limit": {limit}, "window_ms": 1000, "sharing": "first_come", "scope": "global" }} }}
///     }}"#);
///     Policy::try_from(&read_json(text.as_bytes()).unwrap()).unwrap()
/// };
/// let (present, candidate) = (policy(5), policy(8));
/// let mut replay = Replay::new(&present, &candidate);
/// let trace = read_json(br#"[
///   { "at": 0, "tenant": "a", "budget": "tokens", "cost": 3 }, { "at": 1, "tenant": "a", "budget": "tokens", "cost": 3 },
///   { "at": 1000, "tenant": "b", "budget": "tokens" }
/// ]"#).unwrap();
/// for entry in replay.trace(trace).unwrap() {
///     replay.play(&entry);
/// }
/// let body = replay.told(EpochMs(2_000), None);
/// let units = |row: usize| (body.rows[row].present.admitted_units.0, body.rows[row].candidate.admitted_units.0);
/// assert_eq!((body.rows[0].tenant.as_str(), units(0)), ("a", (3, 6)));
/// assert_eq!((body.rows[1].tenant.as_str(), units(1)), ("b", (1, 1)));
/// ```
#[derive(Debug, Clone)]
pub struct Replay<'a> {
    present: Side<'a>,
    candidate: Side<'a>,
    rows: OrderedMap<(ReplayKind, String, String), ReplayTallies>,
    entries: u64,
    span: Option<(EpochMs, EpochMs)>,
}

impl<'a> Replay<'a> {
    /// Nothing was asked for yet.
    #[must_use]
    pub fn new(present: &'a Policy, candidate: &'a Policy) -> Self {
        Self {
            present: Side::new(present),
            candidate: Side::new(candidate),
            rows: OrderedMap::new(),
            entries: 0,
            span: None,
        }
    }

    /// A whole trace in the order of time; what was asked for at the same instant stays in the order in which it is told.
    ///
    /// # Errors
    /// More than [`REPLAY_ENTRIES_MAX`] entries, and what [`entry`](Self::entry) refuses, each at its place below `/trace`.
    pub fn trace(&self, trace: Vec<TraceEntry>) -> Result<Vec<Entry>, Invalid> {
        count("/trace", "entries", trace.len(), REPLAY_ENTRIES_MAX)?;
        let numbered = trace.into_iter().enumerate();
        let entries = numbered.map(|(index, entry)| {
            let at = |refused: Invalid| refused.under(&format!("/trace/{index}"));
            self.entry(entry).map_err(at)
        });
        let mut entries: Vec<Entry> = entries.collect::<Result<_, _>>()?;
        in_order(&mut entries);
        Ok(entries)
    }

    /// Recorded counters as requests in the order of time: those of tenants, each over all regions, and with `None` the sum
    /// of all tenants. What neither policy has a rule for is left out. How minutes become requests is told in
    /// `recorded.rs`, and in `docs/src/guides/policy-as-code.md`.
    ///
    /// # Errors
    /// At `/to`, where there are more minutes of tenants at budgets and meters than requests may be played.
    pub fn recorded(
        &self,
        series: &[(Option<String>, SeriesReply)],
    ) -> Result<Vec<Entry>, Invalid> {
        recorded(series, &|kind, name| knows(self.policies(), kind, name))
    }

    /// One request of a trace, as [`Entry::of`] reads it.
    ///
    /// # Errors
    /// What it lacks or names too much, names that neither policy has, and what a limit needs in either of them.
    pub fn entry(&self, entry: TraceEntry) -> Result<Entry, Invalid> {
        Entry::of(self.policies(), entry)
    }

    fn policies(&self) -> [&'a Policy; 2] {
        [self.present.policy, self.candidate.policy]
    }

    /// Plays a request. They come in the order of time: to either policy, one that is made earlier than another before it
    /// is made with that one.
    pub fn play(&mut self, entry: &Entry) {
        let (present, candidate) = (self.present.play(entry), self.candidate.play(entry));
        let about = (entry.kind, entry.name.clone(), entry.counted_as());
        let row = self.rows.entry(about).or_default();
        row.present.add(&present);
        row.candidate.add(&candidate);
        self.entries += 1;
        let (from, to) = self.span.unwrap_or((entry.at, entry.at));
        self.span = Some((from.min(entry.at), to.max(entry.at)));
    }

    /// What it came to, told at `at`.
    #[must_use]
    pub fn told(&self, at: EpochMs, present_revision: Option<Revision>) -> ReplayBody {
        let rows = self.rows.iter();
        let rows = rows.map(|((kind, name, tenant), tallies)| ReplayRow {
            kind: *kind,
            name: name.clone(),
            tenant: tenant.clone(),
            present: tallies.present,
            candidate: tallies.candidate,
        });
        let mut rows: Vec<ReplayRow> = rows.collect();
        sort_by_key(&mut rows, |row| {
            Reverse(passed(&row.present).abs_diff(passed(&row.candidate)))
        });
        let rows_total = rows.len() as u64;
        let mut others = None;
        for row in rows.drain(REPLAY_ROWS_MAX.min(rows.len())..) {
            let sum: &mut ReplayTallies = others.get_or_insert_default();
            sum.present.add(&row.present);
            sum.candidate.add(&row.candidate);
        }
        let (from, to) = self.span.unwrap_or_default();
        ReplayBody {
            at,
            present_revision,
            entries: self.entries,
            from,
            to,
            unreachable: Vec::new(),
            rows_total,
            rows,
            others,
        }
    }
}

/// Puts requests in the order of time. Those of the same instant stay as they are.
pub fn in_order(entries: &mut [Entry]) {
    in_order_by(entries, |entry| entry.at);
}

/// Puts whatever has the time of a request in that order. Those of the same instant stay as they are.
pub fn in_order_by<T>(requests: &mut [T], at: impl Fn(&T) -> EpochMs) {
    sort_by_key(requests, at);
}

/// Units that passed, those included that a shadow would have denied.
#[must_use]
pub fn passed(tally: &Tally) -> u128 {
    let (admitted, shadowed) = (tally.admitted_units.0, tally.would_deny_units.0);
    admitted.saturating_add(shadowed)
}
