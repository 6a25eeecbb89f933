//! How far a policy agrees with a limiter that is in use: requests with that one's verdicts, played against the policy, and
//! for each verdict that differs what would have made it the same.
//!
//! A difference is explained by trying. The whole trace is played again with one thing changed: the clock (each request is
//! made a moment earlier or later where that gives the old verdict, and what follows goes by that), where windows
//! begin, how much passes at once, which requests share a key. Where that gives the old verdict it is the reason, if the
//! change explains more than twice as many verdicts as it spoils: else it explains nothing. A clock is no part of a rule, and
//! need not.

use serde::{Deserialize, Serialize};
use weir_core::invalid::Invalid;
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_policy::Policy;
use weir_policy::limit::algorithm_of;
use weir_wire::decimal::Decimal;
use weir_wire::policy::{Algorithm, LimitBody, PolicyDocument};
use weir_wire::replay::ReplayKind;

use super::Entry;
use super::progress::Progress;
use super::side::{Side, passes};

/// How many times as many verdicts a change has to explain as it spoils. One that only shifts which requests of a steady
/// stream pass explains about as many as it spoils.
const SPOILED_TIMES: usize = 2;

/// Parts of a window by which its beginning is moved, to see whether that explains a difference.
const WINDOW_PARTS: u64 = 8;

/// A day, in which quotas are moved.
const QUOTA_MS: u64 = 86_400_000;

/// A request, and what the old limiter said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The request.
    pub entry: Entry,
    /// Whether the old limiter let it pass.
    pub admitted: bool,
}

/// What would have made two verdicts the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The request a moment earlier or later: as much as the clock of the log may be wrong.
    Clock,
    /// Windows that begin at another instant.
    Boundary,
    /// One unit more or less at once.
    Burst,
    /// Other requests under the same key.
    Key,
    /// Nothing that was tried.
    Unexplained,
}

impl Reason {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 5] = [
        Self::Clock,
        Self::Boundary,
        Self::Burst,
        Self::Key,
        Self::Unexplained,
    ];

    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Boundary => "boundary",
            Self::Burst => "burst",
            Self::Key => "key",
            Self::Unexplained => "unexplained",
        }
    }
}

/// A request of which the verdicts differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which request of the trace, from 0.
    pub index: usize,
    /// When it was made.
    pub at: EpochMs,
    /// Of what kind the rule is.
    pub kind: ReplayKind,
    /// Its name.
    pub name: String,
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The key within the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether the old limiter let it pass; the policy does the contrary.
    pub admitted: bool,
    /// Why they differ.
    pub reason: Reason,
}

/// What is played of an agreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The trace, for the policy's verdicts.
    Verdicts,
    /// The trace again and again, for the reasons of differences.
    Reasons,
}

/// How far a policy agrees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// Requests in all.
    pub requests: usize,
    /// Those that the old limiter let pass.
    pub admitted: usize,
    /// What differs, in the order of the trace.
    pub differences: Vec<Difference>,
}

impl Agreement {
    /// Plays a trace, in the order of time, against a policy, which `document` says. `clock_ms`: how far the times of the
    /// trace may be wrong; 0 and 1 for not at all. `tell` hears now and then how much is played: first of the trace, and, where
    /// verdicts differ, of all its repetitions that look for reasons.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::Policy;
    /// use weir_operations::replay::Replay;
    /// use weir_operations::replay::agreement::{Agreement, Judged, Reason};
    /// // Two at once, and one a second.
    /// let document = read_json(br#"{ "regions": ["weur"], "limits": {
    ///   "calls": { "limit": 1, "period_ms": 1000, "burst": 2, "scope": "region" } } }"#).unwrap();
    /// let policy = Policy::try_from(&document).unwrap();
    /// let trace = read_json(br#"[
    ///   { "at": 0, "limit": "calls", "key": "a" }, { "at": 0, "limit": "calls", "key": "a" },
    ///   { "at": 0, "limit": "calls", "key": "a" }, { "at": 999, "limit": "calls", "key": "a" }
    /// ]"#).unwrap();
    /// let entries = Replay::new(&policy, &policy).trace(trace).unwrap();
    /// // The old one let the last pass, which is a millisecond early: 3 of 4 agree, and the clock explains the other.
    /// let judged = |(entry, admitted)| Judged { entry, admitted };
    /// let trace: Vec<Judged> = entries.into_iter().zip([true, true, false, true]).map(judged).collect();
    /// let agreement = Agreement::of(&document, &policy, &trace, 10, &mut |_, _, _| {});
    /// assert_eq!((agreement.agreed(), agreement.percent()), (3, 75.0));
    /// assert_eq!(agreement.differences[0].reason, Reason::Clock);
    /// ```
    #[must_use]
    pub fn of(
        document: &PolicyDocument,
        policy: &Policy,
        trace: &[Judged],
        clock_ms: u64,
        tell: &mut dyn FnMut(Part, usize, usize),
    ) -> Self {
        let mut verdicts_told = |done, of| tell(Part::Verdicts, done, of);
        let mut progress = Progress::new(trace.len(), &mut verdicts_told);
        let base = verdicts(policy, trace, Entry::clone, &mut progress);
        let mut reasons: OrderedMap<usize, Reason> = trace
            .iter()
            .zip(&base)
            .enumerate()
            .filter(|(_, (judged, admitted))| judged.admitted != **admitted)
            .map(|(index, _)| (index, Reason::Unexplained))
            .collect();
        if !reasons.is_empty() {
            let trial = Trial {
                document,
                policy,
                trace,
                clock_ms,
            };
            let mut reasons_told = |done, of| tell(Part::Reasons, done, of);
            trial.explain(&mut reasons, &mut reasons_told);
        }
        let differences = reasons.into_iter().filter_map(|(index, reason)| {
            let judged = trace.get(index)?;
            let entry = &judged.entry;
            Some(Difference {
                index,
                at: entry.at,
                kind: entry.kind,
                name: entry.name.clone(),
                tenant: entry.tenant.clone(),
                key: entry.key.clone(),
                admitted: judged.admitted,
                reason,
            })
        });
        Self {
            requests: trace.len(),
            admitted: trace.iter().filter(|judged| judged.admitted).count(),
            differences: differences.collect(),
        }
    }

    /// Requests of which the verdicts are the same.
    #[must_use]
    pub fn agreed(&self) -> usize {
        self.requests - self.differences.len()
    }

    /// The same in percent of all; 100 of none.
    #[must_use]
    pub fn percent(&self) -> f64 {
        match self.requests {
            0 => 100.0,
            all => 100.0 * self.agreed() as f64 / all as f64,
        }
    }

    /// How many differences each reason explains, those left out that explain none.
    #[must_use]
    pub fn reasons(&self) -> OrderedMap<Reason, usize> {
        let mut sums = OrderedMap::new();
        for difference in &self.differences {
            *sums.entry(difference.reason).or_default() += 1;
        }
        sums
    }
}

/// What a policy says of each request, changed by `change`: whether it passes, a shadow's denials taken for denials.
fn verdicts(
    policy: &Policy,
    trace: &[Judged],
    change: impl Fn(&Entry) -> Entry,
    progress: &mut Progress<'_>,
) -> Vec<bool> {
    let mut side = Side::new(policy);
    let decided = trace.iter().map(|judged| {
        let passes = passes(&side.play(&change(&judged.entry)));
        progress.one();
        passes
    });
    decided.collect()
}

/// Looks for reasons.
struct Trial<'a> {
    document: &'a PolicyDocument,
    policy: &'a Policy,
    trace: &'a [Judged],
    clock_ms: u64,
}

/// A change that may be a reason: the policy that decides, and what is made of each request.
struct Change<'a> {
    reason: Reason,
    policy: &'a Policy,
    of: Box<dyn Fn(&Entry) -> Entry + 'a>,
}

impl Trial<'_> {
    fn explain(&self, reasons: &mut OrderedMap<usize, Reason>, tell: &mut dyn FnMut(usize, usize)) {
        let sizes = [true, false].map(|more| Policy::try_from(&resized(self.document, more)));
        let changes = self.changes(&sizes);
        let clock = self.clock_ms > 1;
        let times = changes.len() + usize::from(clock);
        let mut progress = Progress::new(times * self.trace.len(), tell);
        if clock {
            let mut side = Side::new(self.policy);
            let followed = self.trace.iter();
            let followed: Vec<bool> = followed
                .map(|judged| {
                    let passes = side.follow(&judged.entry, judged.admitted, self.clock_ms);
                    progress.one();
                    passes
                })
                .collect();
            self.accept(reasons, Reason::Clock, &followed);
        }
        for change in changes {
            self.attempt(reasons, &change, &mut progress);
        }
    }

    /// What is tried besides the clock, in this order.
    fn changes<'s>(&'s self, sizes: &'s [Result<Policy, Invalid>]) -> Vec<Change<'s>> {
        let change = |reason, policy, of| Change { reason, policy, of };
        let mut changes = Vec::new();
        if let Some(window_ms) = self.window_ms() {
            for part in 1..WINDOW_PARTS {
                let offset_ms = window_ms * part / WINDOW_PARTS;
                let shifted = move |entry: &Entry| moved(entry, entry.at.0 + offset_ms);
                changes.push(change(Reason::Boundary, self.policy, Box::new(shifted)));
            }
        }
        for policy in sizes.iter().flatten() {
            changes.push(change(Reason::Burst, policy, Box::new(Entry::clone)));
        }
        for of in [together, apart] {
            changes.push(change(Reason::Key, self.policy, Box::new(of)));
        }
        changes
    }

    /// Takes a change for the reason wherever it gives the old verdict, unless it spoils half as much as it explains.
    fn attempt(
        &self,
        reasons: &mut OrderedMap<usize, Reason>,
        change: &Change<'_>,
        progress: &mut Progress<'_>,
    ) {
        let changed = verdicts(change.policy, self.trace, &change.of, progress);
        let (mut explained, mut spoiled) = (0_usize, 0_usize);
        for (index, (judged, admitted)) in self.trace.iter().zip(&changed).enumerate() {
            match (judged.admitted == *admitted, reasons.contains_key(&index)) {
                (true, true) => explained += 1,
                (false, false) => spoiled += 1,
                _ => {}
            }
        }
        if explained > SPOILED_TIMES * spoiled {
            self.accept(reasons, change.reason, &changed);
        }
    }

    fn accept(&self, reasons: &mut OrderedMap<usize, Reason>, reason: Reason, changed: &[bool]) {
        for (index, known) in reasons.iter_mut() {
            let old = self.trace.get(*index).map(|judged| judged.admitted);
            if *known == Reason::Unexplained && changed.get(*index).copied() == old {
                *known = reason;
            }
        }
    }

    /// The longest window of a rule that is asked: of what has no windows there is none.
    fn window_ms(&self) -> Option<u64> {
        let mut windows = self.trace.iter().filter_map(|judged| {
            let name = &judged.entry.name;
            match judged.entry.kind {
                ReplayKind::Budget => Some(self.policy.budgets.get(name)?.window_ms),
                ReplayKind::Limit => window_of(self.document.limits.get(name)?),
                ReplayKind::Meter => None,
            }
        });
        // All requests of one rule have the same; of several the longest moves the others as well.
        let first = windows.next()?;
        Some(windows.fold(first, u64::max))
    }
}

fn window_of(limit: &LimitBody) -> Option<u64> {
    match limit.algorithm {
        Some(Algorithm::FixedWindow | Algorithm::SlidingWindow) => limit.window_ms,
        Some(Algorithm::Quota) => Some(QUOTA_MS),
        _ => None,
    }
}

fn moved(entry: &Entry, at: u64) -> Entry {
    Entry {
        at: EpochMs(at),
        ..entry.clone()
    }
}

/// As if the old limiter counted together what the policy tells apart.
fn together(entry: &Entry) -> Entry {
    Entry {
        key: entry.key.as_ref().map(|_| "all".to_owned()),
        ..entry.clone()
    }
}

/// As if it told tenants apart that the policy counts together.
fn apart(entry: &Entry) -> Entry {
    let tenant = entry.tenant.as_deref().unwrap_or_default();
    let key = |key: &String| format!("{tenant}/{key}");
    Entry {
        key: entry.key.as_ref().map(key),
        ..entry.clone()
    }
}

/// The same policy, in which one unit more or less passes at once.
fn resized(document: &PolicyDocument, more: bool) -> PolicyDocument {
    let by_one = |number: u64| match more {
        true => number.saturating_add(1),
        false => number.saturating_sub(1),
    };
    let mut changed = document.clone();
    for limit in changed.limits.values_mut() {
        // What it admits at once: of a queue, nothing.
        if algorithm_of(limit) == Some(Algorithm::Gcra) {
            limit.burst = limit.burst.or(limit.limit).map(by_one);
        } else {
            let step = if more { 1.0 } else { -1.0 };
            limit.capacity = limit.capacity.map(|capacity| Decimal(capacity.0 + step));
            limit.limit = limit.limit.map(by_one);
        }
    }
    for budget in changed.budgets.values_mut() {
        budget.limit = budget.limit.map(by_one);
    }
    changed
}
