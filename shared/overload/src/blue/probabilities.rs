//! The probabilities of one structure's cells, and how several holders keep the same ones.

use weir_core::limits::{CLOCK_STEP_MS_MAX, OVERLOAD_PROBABILITY_MAX};
use weir_core::units::EpochMs;

use crate::decay::decayed;
use crate::placement::{Cells, Shape};

/// Parts of a probability of 1 in which holders tell each other of them.
const BILLION: f64 = 1e9;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    /// As of the last change, from 0 to [`OVERLOAD_PROBABILITY_MAX`].
    probability: f64,
    changed_at: EpochMs,
    /// What reports changed since the parent was told, at most 1 either way.
    untold: f64,
}

/// The cells of all levels. A holder keeps what it decides by and tells its parent what it changed; the parent adds up
/// what all holders changed and tells them the sum.
#[derive(Debug, Clone, PartialEq)]
pub struct Probabilities {
    cells: Box<[Cell]>,
}

impl Probabilities {
    /// All 0.
    #[must_use]
    pub fn new(shape: Shape, now: EpochMs) -> Self {
        let fresh = Cell {
            probability: 0.0,
            changed_at: now,
            untold: 0.0,
        };
        Self {
            cells: vec![fresh; shape.cells()].into(),
        }
    }

    /// Bytes that the cells take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.cells)
    }

    /// The probabilities of a client's cells, decayed to this instant.
    pub fn read(
        &self,
        cells: &Cells,
        decay_per_s: f64,
        now: EpochMs,
    ) -> impl ExactSizeIterator<Item = f64> {
        cells
            .iter()
            .map(move |&cell| match self.cells.get(usize::from(cell)) {
                Some(cell) => cell.at(decay_per_s, now),
                None => 0.0,
            })
    }

    /// Adds `step` to each of a client's cells. What is beyond 0 or the largest probability is lost.
    pub fn step(&mut self, cells: &Cells, step: f64, decay_per_s: f64, now: EpochMs) {
        for cell in cells.indexes() {
            self.change(cell, step, decay_per_s, now);
        }
    }

    /// Tells each cell that reports changed since this was last asked, with its change in billionths, and counts it as
    /// told. What is less than half a billionth waits.
    pub fn changes(&mut self, mut tell: impl FnMut(u16, i64)) {
        for (index, cell) in (0..).zip(&mut self.cells) {
            let change = (cell.untold * BILLION).round();
            if change != 0.0 {
                cell.untold -= change / BILLION;
                tell(index, change as i64);
            }
        }
    }

    /// Takes what a holder changed in a cell, in billionths; a cell that is not there is passed over.
    pub fn merge(&mut self, cell: u16, change: i64, decay_per_s: f64, now: EpochMs) {
        self.change(usize::from(cell), change as f64 / BILLION, decay_per_s, now);
    }

    /// Tells each cell that is not 0 at this instant, in billionths.
    pub fn told(&self, decay_per_s: f64, now: EpochMs, mut tell: impl FnMut(u16, u64)) {
        for (index, cell) in (0..).zip(&self.cells) {
            let parts = (cell.at(decay_per_s, now) * BILLION).round();
            if parts > 0.0 {
                tell(index, parts as u64);
            }
        }
    }

    /// Takes the parent's cells, in billionths, and adds what was changed here since [`Self::changes`]: what was told
    /// before is in the parent's. A cell that is absent is 0; one that is not there is passed over.
    pub fn learn(&mut self, merged: impl IntoIterator<Item = (u16, u64)>, now: EpochMs) {
        for cell in &mut self.cells {
            cell.probability = 0.0;
            cell.move_to(now);
        }
        for (index, parts) in merged {
            if let Some(cell) = self.cells.get_mut(usize::from(index)) {
                cell.probability = parts as f64 / BILLION;
            }
        }
        for cell in &mut self.cells {
            cell.probability = bounded(cell.probability + cell.untold);
        }
    }

    /// Decays every cell to this instant: what follows may decay at another rate.
    pub fn decay_to(&mut self, decay_per_s: f64, now: EpochMs) {
        for cell in &mut self.cells {
            cell.probability = cell.at(decay_per_s, now);
            cell.move_to(now);
        }
    }

    fn change(&mut self, index: usize, step: f64, decay_per_s: f64, now: EpochMs) {
        let Some(cell) = self.cells.get_mut(index) else {
            return;
        };
        let left = cell.at(decay_per_s, now);
        cell.probability = bounded(left + step);
        cell.untold = (cell.untold + cell.probability - left).clamp(-1.0, 1.0);
        cell.move_to(now);
    }
}

impl Cell {
    /// Decayed to this instant; a clock that stepped back stands still.
    fn at(&self, decay_per_s: f64, now: EpochMs) -> f64 {
        decayed(self.probability, decay_per_s, now.since(self.changed_at))
    }

    /// A clock that stepped far back was wrong before: the cell goes on from there, as it is.
    fn move_to(&mut self, now: EpochMs) {
        if now > self.changed_at || self.changed_at.since(now) > CLOCK_STEP_MS_MAX {
            self.changed_at = now;
        }
    }
}

/// The largest probability is below 1. What is no number counts as 0, in favour of the client.
fn bounded(probability: f64) -> f64 {
    if probability.is_nan() {
        return 0.0;
    }
    probability.clamp(0.0, OVERLOAD_PROBABILITY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementKey;

    const NOW: EpochMs = EpochMs(1_700_000_000_000);
    const DECAY_PER_S: f64 = 0.01;

    fn shape() -> Shape {
        Shape::new(3, 100).unwrap()
    }

    fn cells_of(client: &str) -> Cells {
        PlacementKey::derive(&[1; 32], "origin", 1).place(client, shape())
    }

    fn of(structure: &Probabilities, client: &str, now: EpochMs) -> Vec<f64> {
        (structure.read(&cells_of(client), DECAY_PER_S, now)).collect()
    }

    /// What a parent and a holder tell each other once.
    fn exchange(holder: &mut Probabilities, parent: &mut Probabilities, now: EpochMs) {
        holder.changes(|cell, change| parent.merge(cell, change, DECAY_PER_S, now));
        let mut merged = Vec::new();
        parent.told(DECAY_PER_S, now, |cell, parts| merged.push((cell, parts)));
        holder.learn(merged, now);
    }

    #[test]
    fn a_probability_never_reaches_one() {
        let mut structure = Probabilities::new(shape(), NOW);
        for _ in 0..100 {
            structure.step(&cells_of("a"), 0.3, DECAY_PER_S, NOW);
        }
        structure.step(&cells_of("a"), f64::INFINITY, DECAY_PER_S, NOW);
        assert_eq!(of(&structure, "a", NOW), [OVERLOAD_PROBABILITY_MAX; 3]);
        structure.step(&cells_of("a"), f64::NAN, DECAY_PER_S, NOW);
        assert_eq!(of(&structure, "a", NOW), [0.0; 3]);
    }

    #[test]
    fn a_clock_that_steps_back_changes_nothing() {
        let mut structure = Probabilities::new(shape(), NOW);
        structure.step(&cells_of("a"), 0.5, DECAY_PER_S, NOW);
        for back_ms in [1, 1_000, 60_000, 3_600_000] {
            let back = EpochMs(NOW.0 - back_ms);
            assert_eq!(of(&structure, "a", back), [0.5; 3], "{back_ms}");
            let mut stepped = structure.clone();
            stepped.step(&cells_of("a"), 0.0, DECAY_PER_S, back);
            assert_eq!(of(&stepped, "a", back), [0.5; 3], "{back_ms}");
        }
    }

    #[test]
    fn after_a_clock_that_was_an_hour_ahead_decay_goes_on() {
        let mut structure = Probabilities::new(shape(), NOW);
        structure.step(&cells_of("a"), 0.5, DECAY_PER_S, NOW.plus(3_600_000));
        structure.step(&cells_of("a"), 0.0, DECAY_PER_S, NOW);
        let left = of(&structure, "a", NOW.plus(69_315));
        assert!((left[0] - 0.25).abs() < 1e-6, "{left:?}");
    }

    #[test]
    fn holders_that_share_know_what_each_of_them_saw() {
        let mut parent = Probabilities::new(shape(), NOW);
        let mut holders = [parent.clone(), parent.clone(), parent.clone()];
        for holder in &mut holders {
            holder.step(&cells_of("noisy"), 0.1, DECAY_PER_S, NOW);
        }
        for _ in 0..2 {
            for holder in &mut holders {
                exchange(holder, &mut parent, NOW);
            }
        }
        for holder in &holders {
            for p in of(holder, "noisy", NOW) {
                assert!((p - 0.3).abs() < 1e-8, "{p}");
            }
            assert_eq!(of(holder, "quiet", NOW), [0.0; 3]);
        }
    }

    #[test]
    fn what_was_changed_after_telling_is_not_lost_and_not_counted_twice() {
        let mut parent = Probabilities::new(shape(), NOW);
        let mut holder = parent.clone();
        holder.step(&cells_of("a"), 0.2, DECAY_PER_S, NOW);
        holder.changes(|cell, change| parent.merge(cell, change, DECAY_PER_S, NOW));
        holder.step(&cells_of("a"), 0.1, DECAY_PER_S, NOW);
        let mut merged = Vec::new();
        parent.told(DECAY_PER_S, NOW, |cell, parts| merged.push((cell, parts)));
        holder.learn(merged, NOW);
        let here = of(&holder, "a", NOW);
        assert!((here[0] - 0.3).abs() < 1e-8, "{here:?}");
        exchange(&mut holder, &mut parent, NOW);
        let there = of(&parent, "a", NOW);
        assert!((there[0] - 0.3).abs() < 1e-8, "{there:?}");
        let mut untold = 0;
        holder.changes(|_, _| untold += 1);
        assert_eq!(untold, 0, "all of it was told");
    }

    #[test]
    fn cells_that_are_not_there_are_passed_over() {
        let mut structure = Probabilities::new(shape(), NOW);
        structure.merge(300, 500_000_000, DECAY_PER_S, NOW);
        structure.learn([(u16::MAX, u64::MAX), (299, u64::MAX)], NOW);
        let mut told = Vec::new();
        structure.told(DECAY_PER_S, NOW, |cell, parts| told.push((cell, parts)));
        assert_eq!(told, [(299, (OVERLOAD_PROBABILITY_MAX * 1e9) as u64)]);
    }

    #[test]
    fn steps_of_less_than_a_billionth_add_up() {
        let mut parent = Probabilities::new(shape(), NOW);
        let mut holder = parent.clone();
        for _ in 0..10 {
            holder.step(&cells_of("a"), 2e-10, 0.0, NOW);
            exchange(&mut holder, &mut parent, NOW);
        }
        let sum = of(&parent, "a", NOW)[0];
        assert!((sum - 2e-9).abs() < 1e-12, "{sum}");
    }

    #[test]
    fn a_clock_that_steps_back_a_little_stands_still_and_one_that_steps_further_goes_on_from_there()
    {
        for (back_ms, from) in [
            (CLOCK_STEP_MS_MAX, NOW),
            (
                CLOCK_STEP_MS_MAX + 1,
                EpochMs(NOW.0 - CLOCK_STEP_MS_MAX - 1),
            ),
        ] {
            let mut structure = Probabilities::new(shape(), NOW);
            structure.step(&cells_of("a"), 0.5, DECAY_PER_S, NOW);
            structure.step(&cells_of("a"), 0.0, DECAY_PER_S, EpochMs(NOW.0 - back_ms));
            let left = of(&structure, "a", from.plus(69_315));
            assert!((left[0] - 0.25).abs() < 1e-6, "{back_ms}: {left:?}");
        }
    }

    #[test]
    fn a_structure_takes_as_many_bytes_as_its_cells() {
        for (levels, buckets) in [(1, 1), (3, 100), (8, 1_000)] {
            let structure = Probabilities::new(Shape::new(levels, buckets).unwrap(), NOW);
            assert_eq!(structure.bytes(), levels * buckets * size_of::<Cell>());
        }
    }
}
