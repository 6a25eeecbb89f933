//! What clients used lately: one structure of leaky cells.
//!
//! A cell holds the instant at which it will have run empty, in units that have drained since the structure began: all
//! cells drain at one rate, which changes from moment to moment, so that one number stands for the drain of all.
//! A client's own usage is at most that of its least full cell, the others it shares with clients that used more.
//! A charge raises a cell no further than to what the client itself can have used (conservative update; Estan and
//! Varghese, SIGCOMM 2002): summing up all that share a cell would let crowds fill the cells of everybody.

use weir_core::limits::OVERLOAD_LEVELS_MAX;

use super::packed::{short, value};
use super::placement::{Cells, Shape};

/// By how much a charge raised each of a client's cells.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Raised([f64; OVERLOAD_LEVELS_MAX]);

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// Drained units at which it is empty.
    empty_at: f64,
    /// What was charged here since it was last told.
    untold: f32,
    /// Requests that were checked and not yet reported.
    checked: u16,
}

/// One structure.
#[derive(Debug, Clone)]
pub struct Usage {
    cells: Box<[Cell]>,
}

impl Usage {
    /// Nothing was used.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            cells: vec![Cell::default(); shape.cells()].into(),
        }
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.cells)
    }

    /// What the client has used that has not drained, at most: what its least full cell holds.
    #[must_use]
    pub fn level(&self, client: &Cells, drained: f64) -> f64 {
        let levels = client.indexes().map(|cell| self.cells[cell].empty_at);
        (levels.fold(f64::INFINITY, f64::min) - drained).max(0.0)
    }

    /// Raises the client's cells so that they are empty no sooner than at `full`.
    pub fn fill(&mut self, client: &Cells, full: f64, drained: f64) -> Raised {
        let mut raised = Raised::default();
        for (cell, raised) in client.indexes().zip(&mut raised.0) {
            let cell = &mut self.cells[cell];
            *raised = (full - cell.empty_at.max(drained)).max(0.0);
            cell.empty_at = cell.empty_at.max(full);
            cell.untold += *raised as f32;
        }
        raised
    }

    /// Takes a charge back.
    pub fn lower(&mut self, client: &Cells, raised: &Raised) {
        for (cell, raised) in client.indexes().zip(&raised.0) {
            self.cells[cell].empty_at -= raised;
            self.cells[cell].untold -= *raised as f32;
        }
    }

    /// What a charge of `units` would have raised at most, where it is not known: the cells that are least full, which
    /// are those that a charge raises.
    #[must_use]
    pub fn raised(&self, client: &Cells, units: f64, drained: f64) -> Raised {
        let level = self.level(client, drained);
        let mut raised = Raised::default();
        for (cell, raised) in client.indexes().zip(&mut raised.0) {
            let above = self.cells[cell].empty_at - drained - level;
            if above <= level * 1e-9 {
                *raised = units.min(level);
            }
        }
        raised
    }

    /// Leaves at most `most` in the client's cells.
    pub fn trim(&mut self, client: &Cells, drained: f64, most: f64) {
        for cell in client.indexes() {
            let cell = &mut self.cells[cell];
            cell.empty_at = cell.empty_at.min(drained + most);
        }
    }

    /// A request of the client was checked.
    pub fn checked(&mut self, client: &Cells) {
        for cell in client.indexes() {
            let cell = &mut self.cells[cell];
            cell.checked = cell.checked.saturating_add(1);
        }
    }

    /// A request of the client was reported, or its check taken back; whether it had been checked.
    pub fn reported(&mut self, client: &Cells) -> bool {
        let known = client.indexes().all(|cell| self.cells[cell].checked > 0);
        if known {
            for cell in client.indexes() {
                self.cells[cell].checked -= 1;
            }
        }
        known
    }

    /// Moves the origin of the drain: what was `drained` becomes 0.
    pub fn rebase(&mut self, drained: f64) {
        for cell in &mut self.cells {
            cell.empty_at -= drained;
        }
    }

    /// What was charged to each cell since this was last asked, as short floats; it counts as told. What is less than
    /// `least` waits, as does what a short float has no room for.
    pub fn changes(&mut self, least: f64) -> Vec<(u16, i64)> {
        let mut changes = Vec::new();
        for (index, cell) in (0..).zip(&mut self.cells) {
            if f64::from(cell.untold.abs()) >= least {
                let change = short(f64::from(cell.untold));
                cell.untold -= value(change) as f32;
                changes.push((index, change));
            }
        }
        changes
    }

    /// Forgets what was not told.
    pub fn forget_changes(&mut self) {
        for cell in &mut self.cells {
            cell.untold = 0.0;
        }
    }

    /// Takes what a holder charged. A cell that is not there is passed over; none holds more than `most` by that.
    pub fn merge(&mut self, changes: &[(u16, i64)], drained: f64, most: f64) {
        for &(index, change) in changes {
            if let Some(cell) = self.cells.get_mut(usize::from(index)) {
                let level = (cell.empty_at - drained).max(0.0);
                let merged = (level + value(change)).clamp(0.0, most.max(level));
                cell.empty_at = drained + merged;
                cell.untold += value(change) as f32;
            }
        }
    }

    /// What each cell holds, as short floats, where it holds anything.
    #[must_use]
    pub fn levels(&self, drained: f64, least: f64) -> Vec<(u16, i64)> {
        let levels = (0..).zip(&self.cells);
        levels
            .filter(|(_, cell)| cell.empty_at - drained >= least)
            .map(|(index, cell)| (index, short(cell.empty_at - drained)))
            .collect()
    }

    /// Takes the parent's cells, and adds what was charged here since [`Self::changes`]: what was told before is in the
    /// parent's. A cell that is absent is empty.
    pub fn learn(&mut self, levels: &[(u16, i64)], drained: f64) {
        for cell in &mut self.cells {
            cell.empty_at = drained + f64::from(cell.untold).max(0.0);
        }
        for &(index, level) in levels {
            if let Some(cell) = self.cells.get_mut(usize::from(index)) {
                let merged = value(level) + f64::from(cell.untold);
                cell.empty_at = drained + merged.max(0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::PlacementKey;

    const LEAST: f64 = 1e-9;

    fn shape() -> Shape {
        Shape::new(2, 4).unwrap()
    }

    /// Two clients that share the cell of the first level alone.
    fn neighbours() -> (Cells, Cells) {
        let key = PlacementKey::of([7; 16]);
        let one = key.place("acme", shape());
        let others = (0..1_000).map(|number| key.place(&format!("t{number}"), shape()));
        let mut near = others.filter(|other| other[0] == one[0] && other[1] != one[1]);
        (one, near.next().unwrap())
    }

    #[test]
    fn what_is_forgotten_is_not_told_and_counts_all_the_same() {
        let (client, _) = neighbours();
        let mut usage = Usage::new(shape());
        usage.fill(&client, 3.0, 0.0);
        usage.forget_changes();
        assert_eq!(usage.changes(LEAST), Vec::new());
        assert_eq!(usage.level(&client, 0.0), 3.0);
        usage.fill(&client, 4.0, 0.0);
        let told: Vec<_> = usage
            .changes(LEAST)
            .into_iter()
            .map(|(_, change)| value(change))
            .collect();
        assert_eq!(told, [1.0, 1.0], "what was charged since");
    }

    #[test]
    fn a_charge_is_taken_for_what_raised_the_cells_that_are_least_full() {
        let (client, other) = neighbours();
        for (drained, others) in [(0.0, 1.5), (0.0, 3.0), (10.0, 1.5), (10.0, 3.0)] {
            let mut usage = Usage::new(shape());
            usage.fill(&client, drained + 1.0, drained);
            usage.fill(&other, drained + others, drained);
            for (units, raised) in [(0.5, 0.5), (1.0, 1.0), (2.0, 1.0)] {
                // The cell that both share is fuller than the client can have made it.
                let Raised([shared, own, rest @ ..]) = usage.raised(&client, units, drained);
                assert_eq!((shared, own), (0.0, raised), "{units} units");
                assert!(rest.iter().all(|raised| *raised == 0.0));
            }
        }
    }
}
