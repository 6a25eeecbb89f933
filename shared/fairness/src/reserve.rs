//! What members keep back from others in the paced rule: the sum over all of them, without looking at all of them.
//!
//! A member's reserve is the least of three: what is left of its guarantee (`weight * full - used`), the line of an even
//! pace from now on (`weight * now + burst`), and what an earlier use left of that line (constant). It counts only while
//! its smallest cost fits. As time passes and members join, `now` and `full` fall and never rise, so a member passes
//! from one of the three to the next at points that are known ahead: queues keep those points, and three sums keep
//! the rest.

use super::rate::{Rate, parts};
use super::turn_queue::TurnQueue;

/// What a member's reserve is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    /// In micro-units, at least 1.
    pub weight: u64,
    /// The largest cost that it may ask at once at an even pace, at least `smallest`.
    pub burst: u64,
    /// The smallest cost that it can use, at least 1.
    pub smallest: u64,
    /// Units used in this window.
    pub used: u64,
    /// Units of its guarantee that others may use; `None` for all.
    pub lend_max: Option<u64>,
}

/// Which of the terms of its reserve is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Regime {
    /// Nothing that its smallest cost could use. Holds at most so many parts.
    Idle(u128),
    /// A constant.
    Fixed(u128),
    /// The line of an even pace.
    Even,
    /// Its guarantee without so many units.
    Kept(u64),
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    claim: Claim,
    regime: Regime,
}

/// The points at which a member passes to another regime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Turns {
    /// When `now` is below this.
    now: Option<u128>,
    /// When `full` is below this.
    full: Option<u128>,
    /// When `full - now` is above this.
    gone: Option<u128>,
}

/// The reserves of the members of one rate. A member is named by its index.
#[derive(Debug, Clone, Default)]
pub(super) struct Reserves {
    slots: Vec<Option<Slot>>,
    rate: Rate,
    fixed: u128,
    even_weight: u128,
    even_burst: u128,
    kept_weight: u128,
    kept_off: u128,
    by_now: TurnQueue,
    by_full: TurnQueue,
    /// By what is missing of the largest number, so that the lowest point is first.
    by_gone: TurnQueue,
    /// Members looked at and entries moved.
    pub operations: u64,
}

impl Reserves {
    /// No members, at the start of a window.
    pub fn open(rate: Rate) -> Self {
        Self {
            rate,
            ..Self::default()
        }
    }

    /// Lets time pass and members join. Neither can raise what is kept back.
    pub fn pass(&mut self, rate: Rate) {
        self.rate.full = self.rate.full.min(rate.full);
        self.rate.now = self.rate.now.min(rate.now).min(self.rate.full);
        while let Some(index) = self.next_turn() {
            let bound = match self.slot(index).map(|slot| slot.regime) {
                Some(Regime::Fixed(parts)) => Some(parts),
                _ => None,
            };
            self.place(index, bound);
        }
    }

    fn slot(&self, index: usize) -> Option<&Slot> {
        self.slots.get(index).and_then(Option::as_ref)
    }

    /// What the member was last said to claim.
    pub fn claim(&self, index: usize) -> Option<Claim> {
        self.slot(index).map(|slot| slot.claim)
    }

    /// States or changes a member's claim. Its reserve is computed anew, at most `bound` parts.
    pub fn state(&mut self, index: usize, claim: Claim, bound: Option<u128>) {
        self.remove(index);
        let regime = Regime::Idle(0);
        if self.slots.len() <= index {
            self.slots.resize(index + 1, None);
        }
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Some(Slot { claim, regime });
        }
        self.place(index, bound);
    }

    /// Forgets a member.
    pub fn leave(&mut self, index: usize) {
        self.remove(index);
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = None;
        }
    }

    /// Parts that are kept back for the member, whether or not its smallest cost fits.
    pub fn of(&self, index: usize) -> u128 {
        let Some(slot) = self.slot(index) else {
            return 0;
        };
        match slot.regime {
            Regime::Idle(parts) => parts.min(self.guaranteed(&slot.claim, slot.claim.used)),
            Regime::Fixed(parts) => parts,
            Regime::Even => self.even(&slot.claim),
            Regime::Kept(off) => self.guaranteed(&slot.claim, off),
        }
    }

    /// Parts that others have to leave for the member: none if its smallest cost does not fit.
    pub fn counted(&self, index: usize) -> u128 {
        match self.slot(index).map(|slot| slot.regime) {
            None | Some(Regime::Idle(_)) => 0,
            Some(_) => self.of(index),
        }
    }

    /// The sum of [`Reserves::counted`].
    pub fn total(&self) -> u128 {
        let even = self.even_weight * self.rate.now + self.even_burst;
        let kept = (self.kept_weight * self.rate.full).saturating_sub(self.kept_off);
        self.fixed.saturating_add(even).saturating_add(kept)
    }

    /// Of [`Reserves::total`], the parts that members at an even pace keep until the window ends, `index` left out.
    pub fn lasting(&self, index: usize) -> u128 {
        let own = match self.slot(index) {
            Some(slot) if slot.regime == Regime::Even => parts(slot.claim.burst),
            _ => 0,
        };
        self.even_burst.saturating_sub(own)
    }

    fn even(&self, claim: &Claim) -> u128 {
        (u128::from(claim.weight) * self.rate.now).saturating_add(parts(claim.burst))
    }

    fn guaranteed(&self, claim: &Claim, off: u64) -> u128 {
        (u128::from(claim.weight) * self.rate.full).saturating_sub(parts(off))
    }

    /// The next member whose turn has come.
    fn next_turn(&self) -> Option<usize> {
        let gone = self.rate.full - self.rate.now;
        let below = |queue: &TurnQueue, bound: u128| {
            let (_, index) = queue.first().filter(|(turn, _)| *turn > bound)?;
            Some(index)
        };
        below(&self.by_full, self.rate.full)
            .or_else(|| below(&self.by_now, self.rate.now))
            .or_else(|| below(&self.by_gone, !gone))
    }

    /// Finds the member's regime: the least of its terms, and at most `bound`.
    fn place(&mut self, index: usize, bound: Option<u128>) {
        self.operations += 1;
        self.remove(index);
        let Some(slot) = self.slot(index) else {
            return;
        };
        let claim = slot.claim;
        let guaranteed = self.guaranteed(&claim, claim.used);
        let even = self.even(&claim);
        let off = claim.lend_max.map(|lend| claim.used.saturating_add(lend));
        let kept = off.map_or(0, |off| self.guaranteed(&claim, off));
        let (least, regime) = match (bound, off) {
            (Some(bound), _) if bound < guaranteed && bound <= even => {
                (bound, Regime::Fixed(bound))
            }
            (None, Some(off)) if kept > even => (kept, Regime::Kept(off)),
            _ if even < guaranteed => (even, Regime::Even),
            _ => (guaranteed, Regime::Kept(claim.used)),
        };
        let regime = if least >= parts(claim.smallest.max(1)) {
            regime
        } else {
            Regime::Idle(least)
        };
        if let Some(slot) = self.slots.get_mut(index).and_then(Option::as_mut) {
            slot.regime = regime;
        }
        self.insert(index);
    }

    fn turns(claim: &Claim, regime: Regime) -> Turns {
        let weight = u128::from(claim.weight.max(1));
        match regime {
            Regime::Idle(_) => Turns::default(),
            Regime::Fixed(held) => Turns {
                now: held
                    .checked_sub(parts(claim.burst))
                    .map(|above| above.div_ceil(weight)),
                full: Some(held.saturating_add(parts(claim.used)).div_ceil(weight)),
                gone: None,
            },
            Regime::Even => Turns {
                gone: claim.lend_max.map(|lend| {
                    let off = claim.used.saturating_add(lend).saturating_add(claim.burst);
                    parts(off) / weight
                }),
                ..Turns::default()
            },
            Regime::Kept(off) => Turns {
                full: Some(parts(off.saturating_add(claim.smallest)).div_ceil(weight)),
                // What is not lent at all never passes to the line.
                gone: (off == claim.used && claim.lend_max != Some(0))
                    .then(|| parts(off.saturating_add(claim.burst)) / weight),
                now: None,
            },
        }
    }

    fn insert(&mut self, index: usize) {
        let Some(slot) = self.slot(index).copied() else {
            return;
        };
        let weight = u128::from(slot.claim.weight);
        match slot.regime {
            Regime::Idle(_) => {}
            Regime::Fixed(held) => self.fixed += held,
            Regime::Even => {
                self.even_weight += weight;
                self.even_burst += parts(slot.claim.burst);
            }
            Regime::Kept(off) => {
                self.kept_weight += weight;
                self.kept_off += parts(off);
            }
        }
        let turns = Self::turns(&slot.claim, slot.regime);
        let queues = [
            (turns.now, &mut self.by_now),
            (turns.full, &mut self.by_full),
            (turns.gone.map(|turn| !turn), &mut self.by_gone),
        ];
        for (turn, queue) in queues {
            if let Some(turn) = turn {
                self.operations += 1;
                queue.set(index, turn);
            }
        }
    }

    fn remove(&mut self, index: usize) {
        let Some(slot) = self.slot(index).copied() else {
            return;
        };
        let weight = u128::from(slot.claim.weight);
        match slot.regime {
            Regime::Idle(_) => {}
            Regime::Fixed(held) => self.fixed -= held,
            Regime::Even => {
                self.even_weight -= weight;
                self.even_burst -= parts(slot.claim.burst);
            }
            Regime::Kept(off) => {
                self.kept_weight -= weight;
                self.kept_off -= parts(off);
            }
        }
        let turns = Self::turns(&slot.claim, slot.regime);
        let queues = [
            (turns.now, &mut self.by_now),
            (turns.full, &mut self.by_full),
            (turns.gone, &mut self.by_gone),
        ];
        for (turn, queue) in queues {
            if turn.is_some() {
                self.operations += 1;
                queue.remove(index);
            }
        }
        if let Some(slot) = self.slots.get_mut(index).and_then(Option::as_mut) {
            slot.regime = Regime::Idle(0);
        }
    }
}

#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests;
