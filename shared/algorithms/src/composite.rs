//! Several limits decided as one: `all` or `any` of their dimensions, charged together or not at all.
//!
//! A request names groups that all have to admit; a group is one limit, or `all` or `any` of several. Every dimension
//! is decided first, each on top of what the request has charged before it; the charges are kept only if every group
//! admits. Of an `any`, only the dimensions that admit are charged.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_decision::Decision;

use super::Checked;
use super::scale::{Scaled, ScaledReceipt, ScaledState};

/// How the dimensions of a group combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Every one has to admit.
    All,
    /// One has to admit.
    Any,
}

/// The decision that stands for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Which of them it is.
    pub index: usize,
    /// Whether they admit together.
    pub admitted: bool,
}

/// Whether `decisions` admit together, and the one that binds: of `all` that admitted the one with the least
/// remaining, of `all` that denied the denial with the longest wait (never is the longest), of `any` that admitted
/// the admitting one with the most remaining, of `any` that denied the one with the shortest wait. The first wins a
/// tie. `None` without a decision.
///
/// ```
/// use weir_algorithms::composite::{Bound, Mode, bind};
/// use weir_decision::{Decision, Retry};
/// use weir_core::units::EpochMs;
/// let full = Decision { remaining: 7, ..Decision::IDENTITY };
/// let low = Decision { remaining: 2, ..Decision::IDENTITY };
/// let out = Decision::unavailable(10, EpochMs(0), 500);
/// assert_eq!(bind(Mode::All, &[full, low]), Some(Bound { index: 1, admitted: true }));
/// assert_eq!(bind(Mode::All, &[full, low, out]), Some(Bound { index: 2, admitted: false }));
/// assert_eq!(bind(Mode::Any, &[out, low, full]), Some(Bound { index: 2, admitted: true }));
/// assert_eq!(bind(Mode::Any, &[]), None);
/// ```
#[must_use]
pub fn bind(mode: Mode, decisions: &[Decision]) -> Option<Bound> {
    bind_each(mode, decisions.iter().enumerate())
}

/// The same of decisions that have an index each.
pub fn bind_each<'a>(
    mode: Mode,
    decisions: impl Iterator<Item = (usize, &'a Decision)> + Clone,
) -> Option<Bound> {
    let mut each = decisions.clone().map(|(_, decision)| decision.admitted());
    let admitted = match mode {
        Mode::All => each.all(|admits| admits),
        Mode::Any => each.any(|admits| admits),
    };
    let candidates = decisions.filter(|(_, decision)| decision.admitted() == admitted);
    // The first of equal minima is taken.
    let (index, _) = match (mode, admitted) {
        (Mode::All, true) => candidates.min_by_key(|(_, decision)| decision.remaining),
        (Mode::All, false) => candidates.min_by_key(|(_, decision)| Reverse(decision.retry)),
        (Mode::Any, true) => candidates.min_by_key(|(_, decision)| Reverse(decision.remaining)),
        (Mode::Any, false) => candidates.min_by_key(|(_, decision)| decision.retry),
    }?;
    Some(Bound { index, admitted })
}

/// Names the state of one key of one limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateKey {
    /// The limit.
    pub limit: String,
    /// The key.
    pub key: String,
}

/// Where a dimension is decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Source<'a> {
    /// Here, on a state that is loaded and written back.
    Here {
        /// Decides it; the same for every dimension on this key.
        machine: &'a Scaled,
        /// Names its state.
        key: StateKey,
        /// What it costs, in the machine's parts of a unit; 0 looks and charges nothing.
        cost: u64,
    },
    /// Here, and only looked at: it tells what a cost would meet, after what the request charges before it.
    Look {
        /// Decides it.
        machine: &'a Scaled,
        /// Names its state.
        key: StateKey,
        /// The cost, in the machine's parts of a unit.
        parts: u64,
    },
    /// By someone else, who also charged it.
    Elsewhere(Decision),
}

/// One limit of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension<'a> {
    /// Where it is decided.
    pub source: Source<'a>,
    /// Decided, and charged if it admits and the request passes, but without a say in whether it does.
    pub shadow: bool,
}

/// Limits that are decided together. One in which nothing has a say admits.
#[derive(Debug, Clone, PartialEq)]
pub struct Group<'a> {
    /// How they combine.
    pub mode: Mode,
    /// The limits.
    pub dimensions: Vec<Dimension<'a>>,
}

/// What a request came to. The lists are in the order of its groups and their dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Whether every group admits.
    pub admitted: bool,
    /// What each dimension was decided as, whether or not the request passed.
    pub decisions: Vec<Vec<Decision>>,
    /// The states to keep; empty unless admitted.
    pub writes: OrderedMap<StateKey, ScaledState>,
    /// What names the charge of each dimension that was charged here.
    pub receipts: Vec<Vec<Option<ScaledReceipt>>>,
}

/// Decides a request of several groups at `now`: all of them admit, or nothing is charged. `load` gives the state of a
/// key, `None` for a cold one, and is asked once a key.
///
/// A key that is named again is decided for the sum of what the request needs of it, so that its retry hint holds for
/// the request as a whole; a sum above the ceiling is never admitted.
///
/// ```
/// use weir_algorithms::Algorithm;
/// use weir_algorithms::composite::{Dimension, Group, Mode, Source, StateKey, evaluate};
/// use weir_algorithms::gcra::Gcra;
/// use weir_algorithms::scale::Scaled;
/// use weir_core::units::EpochMs;
/// // 10 per second, 3 at once.
/// let machine = Scaled::whole(Algorithm::Gcra(Gcra::new(10, 1_000, 3).unwrap()));
/// let of = |key: &str, cost| Dimension {
///     source: Source::Here { machine: &machine, key: StateKey { limit: "l".into(), key: key.into() }, cost },
///     shadow: false,
/// };
/// let group = |mode, dimensions| Group { mode, dimensions };
///
/// let both = evaluate(&[group(Mode::All, vec![of("a", 1), of("b", 4)])], |_| None, EpochMs(50_000));
/// assert!(!both.admitted && both.writes.is_empty()); // b holds 3: a is not charged either
///
/// let either = evaluate(&[group(Mode::Any, vec![of("a", 1), of("b", 4)])], |_| None, EpochMs(50_000));
/// assert!(either.admitted && either.writes.len() == 1); // a alone is charged
///
/// let twice = evaluate(&[group(Mode::All, vec![of("a", 2), of("a", 1)])], |_| None, EpochMs(50_000));
/// assert_eq!(twice.decisions[0][1].remaining, 0); // 3 - 2 - 1
/// ```
#[must_use]
pub fn evaluate(
    groups: &[Group<'_>],
    load: impl FnMut(&StateKey) -> Option<ScaledState>,
    now: EpochMs,
) -> Verdict {
    let mut draft = Draft {
        load,
        now,
        drafted: OrderedMap::new(),
    };
    let mut verdict = Verdict {
        admitted: true,
        decisions: Vec::with_capacity(groups.len()),
        writes: OrderedMap::new(),
        receipts: Vec::with_capacity(groups.len()),
    };
    for group in groups {
        let (decisions, receipts): (Vec<_>, Vec<_>) = group
            .dimensions
            .iter()
            .map(|dimension| draft.decide(dimension, group.mode))
            .unzip();
        verdict.admitted &= admits(group, &decisions);
        verdict.decisions.push(decisions);
        verdict.receipts.push(receipts);
    }
    if verdict.admitted {
        verdict.writes = draft.writes();
    } else {
        verdict
            .receipts
            .iter_mut()
            .for_each(|group| group.fill(None));
    }
    verdict
}

/// Whether the dimensions that have a say admit together.
fn admits(group: &Group<'_>, decisions: &[Decision]) -> bool {
    let all = group.dimensions.iter().zip(decisions).enumerate();
    let enforced = all.filter(|(_, (dimension, _))| !dimension.shadow);
    let enforced = enforced.map(|(index, (_, decision))| (index, decision));
    bind_each(group.mode, enforced).is_none_or(|bound| bound.admitted)
}

/// The states as the request would leave them.
struct Draft<'a, L> {
    load: L,
    now: EpochMs,
    drafted: OrderedMap<&'a StateKey, Drafted>,
}

/// One state: as it is, what the request needs of it so far, and what the charges make of it.
struct Drafted {
    base: Option<ScaledState>,
    needed: u64,
    after: Option<ScaledState>,
}

impl<'a, L: FnMut(&StateKey) -> Option<ScaledState>> Draft<'a, L> {
    fn decide(
        &mut self,
        dimension: &'a Dimension<'_>,
        mode: Mode,
    ) -> (Decision, Option<ScaledReceipt>) {
        let now = self.now;
        match &dimension.source {
            Source::Elsewhere(decision) => (*decision, None),
            Source::Look {
                machine,
                key,
                parts,
            } => (self.drafted(key).look(machine, *parts, now), None),
            Source::Here { machine, key, cost } => {
                let drafted = self.drafted(key);
                let is_needed = mode == Mode::All && !dimension.shadow;
                drafted.check(machine, *cost, is_needed, now)
            }
        }
    }

    fn drafted(&mut self, key: &'a StateKey) -> &mut Drafted {
        let load = &mut self.load;
        self.drafted
            .entry(key)
            .or_insert_with(|| Drafted::new(load(key)))
    }

    fn writes(self) -> OrderedMap<StateKey, ScaledState> {
        let changed = self
            .drafted
            .into_iter()
            .filter_map(|(key, drafted)| Some((key.clone(), drafted.after?)));
        OrderedMap::from_iter(changed)
    }
}

impl Drafted {
    fn new(base: Option<ScaledState>) -> Self {
        Self {
            base,
            needed: 0,
            after: None,
        }
    }

    fn look(&self, machine: &Scaled, parts: u64, now: EpochMs) -> Decision {
        let state = self.after.as_ref().or(self.base.as_ref());
        machine.look(state, parts, now)
    }

    fn check(
        &mut self,
        machine: &Scaled,
        cost: u64,
        is_needed: bool,
        now: EpochMs,
    ) -> (Decision, Option<ScaledReceipt>) {
        if cost == 0 {
            return (self.look(machine, cost, now), None);
        }
        // One check of the sum: a denial then tells how long the whole request would have to wait.
        let sum = self.needed.saturating_add(cost);
        let Checked { decision, next } = machine.check(self.base.as_ref(), sum, now);
        let receipt = next.as_ref().map(|after| machine.receipt(after));
        if decision.admitted() || is_needed {
            self.needed = sum;
        }
        self.after = next.or(self.after.take());
        (decision, receipt)
    }
}
