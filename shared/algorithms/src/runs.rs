//! Counts in the order of their marks (instants, or numbers of sub-buckets): the run-length form of a log.

use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::scale::rescaled_up;

/// Units that share one mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub mark: u64,
    pub units: u64,
}

/// Runs with ascending marks. As JSON `[[mark, units], [marks since the one before, units], ...]`: a long list has
/// small numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Runs(Vec<Run>);

/// The newest run of which some must go before at most so many units are left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Excess {
    /// The run.
    pub run: Run,
    /// How many units of it may stay; fewer than it has.
    pub stay: u64,
}

impl Runs {
    /// `units` at one mark.
    pub fn of(mark: u64, units: u64) -> Self {
        Self(vec![Run { mark, units }])
    }

    pub fn oldest(&self) -> Option<Run> {
        self.0.first().copied()
    }

    pub fn newest(&self) -> Option<Run> {
        self.0.last().copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = Run> {
        self.0.iter().copied()
    }

    /// The units at `mark`.
    pub fn units_at(&self, mark: u64) -> u64 {
        match self.since(mark) {
            [run, ..] if run.mark == mark => run.units,
            _ => 0,
        }
    }

    /// Those with a mark of at least `mark`.
    pub fn since(&self, mark: u64) -> &[Run] {
        let before = self.0.partition_point(|run| run.mark < mark);
        self.0.get(before..).unwrap_or_default()
    }

    /// Those with a mark of at least `mark`, and `units` more at `newest`, which no mark is above.
    pub fn charged(&self, mark: u64, newest: u64, units: u64) -> Self {
        let kept = self.since(mark);
        let mut runs = Vec::with_capacity(kept.len() + 1);
        runs.extend_from_slice(kept);
        match runs.last_mut() {
            Some(run) if run.mark >= newest => run.units = run.units.saturating_add(units),
            _ => runs.push(Run {
                mark: newest,
                units,
            }),
        }
        Self(runs)
    }

    /// Of charges in the order of their marks: the newest, until they are `most` units together; no run has more.
    pub fn newest_of(charges: impl DoubleEndedIterator<Item = (u64, u64)>, most: u64) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        let mut sum = 0_u64;
        for (mark, units) in charges.rev() {
            match runs.last_mut() {
                Some(run) if run.mark == mark => run.units = run.units.saturating_add(units),
                _ if sum >= most => break,
                _ => runs.push(Run { mark, units }),
            }
            sum = sum.saturating_add(units);
        }
        for run in &mut runs {
            run.units = run.units.min(most);
        }
        runs.reverse();
        Self(runs)
    }

    /// Without up to `units` of the run at `mark`; `None` when there is none.
    pub fn given_back(&self, mark: u64, units: u64) -> Option<Self> {
        let index = self.0.binary_search_by_key(&mark, |run| run.mark).ok()?;
        let mut runs = self.0.clone();
        let run = runs.get_mut(index)?;
        run.units = run.units.saturating_sub(units);
        if run.units == 0 {
            runs.remove(index);
        }
        Some(Self(runs))
    }

    /// In parts of `1 / to` of a unit instead of `1 / from`, rounded up.
    pub fn rescaled(&self, from: u64, to: u64) -> Self {
        let run = |run: &Run| Run {
            units: rescaled_up(run.units, from, to),
            ..*run
        };
        Self(self.0.iter().map(run).collect())
    }

    /// What must go, the oldest first, before at most `room` units are left; `None` when there are no more.
    pub fn excess(&self, room: u64) -> Option<Excess> {
        let mut stay = room;
        for run in self.0.iter().rev() {
            if run.units > stay {
                return Some(Excess { run: *run, stay });
            }
            stay -= run.units;
        }
        None
    }
}

/// The units of all of `runs`.
pub(super) fn total(runs: &[Run]) -> u64 {
    runs.iter()
        .fold(0_u64, |units, run| units.saturating_add(run.units))
}

impl Serialize for Runs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut before = 0;
        serializer.collect_seq(self.0.iter().map(|run| {
            let gap = run.mark.saturating_sub(before);
            before = run.mark;
            (gap, run.units)
        }))
    }
}

impl<'de> Deserialize<'de> for Runs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let gaps = Vec::<(u64, u64)>::deserialize(deserializer)?;
        let mut mark = 0_u64;
        let runs = gaps.into_iter().map(|(gap, units)| {
            mark = mark.saturating_add(gap);
            Run { mark, units }
        });
        Ok(Self(runs.collect()))
    }
}
