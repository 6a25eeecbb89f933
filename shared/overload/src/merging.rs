//! Cells of both steerings as they go into a message and come out of one.

use weir_core::invalid::{Fault, Invalid};
use weir_core::units::EpochMs;

use super::blue::{Probabilities, Settings};
use super::config::Config;
use super::fair_rate::FairRate;
use super::packed::{pack, unpack};
use super::placement::{PlacementKey, Shape};

/// Cells of the live structure and of the shadow.
pub type Pair = [Vec<(u16, i64)>; 2];

/// Whether a message's fair rate is one.
#[must_use]
pub fn is_rate(rate: f64) -> bool {
    rate.is_finite() && rate > 0.0
}

/// The two structures, in whichever steering.
pub enum Structures<'a> {
    /// Leaky cells and their rate.
    FairRate(&'a mut FairRate),
    /// Probabilities, live and shadow.
    Blue(&'a mut Probabilities, &'a mut Probabilities, f64),
}

impl Structures<'_> {
    /// What changed since this was last asked.
    pub fn changes(&mut self) -> Pair {
        match self {
            Self::FairRate(fair) => fair.changes(),
            Self::Blue(live, shadow, _) => [changes(live), changes(shadow)],
        }
    }

    /// What the cells hold.
    pub fn levels(&mut self, now: EpochMs) -> Pair {
        match self {
            Self::FairRate(fair) => fair.levels(now),
            Self::Blue(live, shadow, decay) => [told(live, *decay, now), told(shadow, *decay, now)],
        }
    }

    /// Takes what a child changed.
    pub fn merge(&mut self, own: u64, period: u64, cells: &Pair, now: EpochMs) {
        for (shadow, cells) in matching(own, period, cells) {
            match self {
                Self::FairRate(fair) => fair.merge(shadow, cells, now),
                Self::Blue(live, later, decay) => {
                    let structure = if shadow { &mut **later } else { &mut **live };
                    for &(cell, change) in cells {
                        structure.merge(cell, change, *decay, now);
                    }
                }
            }
        }
    }

    /// Takes what the parent has.
    pub fn learn(&mut self, own: u64, period: u64, cells: &Pair, now: EpochMs) {
        for (shadow, cells) in matching(own, period, cells) {
            match self {
                Self::FairRate(fair) => fair.learn(shadow, cells, now),
                Self::Blue(live, later, _) => {
                    let structure = if shadow { &mut **later } else { &mut **live };
                    let cells = cells.iter();
                    structure.learn(cells.map(|&(cell, p)| (cell, p.unsigned_abs())), now);
                }
            }
        }
    }
}

/// The cells that belong to one of the own structures, with whether that is the shadow: those of the same period,
/// whichever structure they are in where they come from.
fn matching(own: u64, period: u64, cells: &Pair) -> impl Iterator<Item = (bool, &[(u16, i64)])> {
    let of = (period..).zip(cells);
    of.filter_map(move |(period, cells)| match period.checked_sub(own)? {
        0 => Some((false, cells.as_slice())),
        1 => Some((true, cells.as_slice())),
        _ => None,
    })
}

fn changes(structure: &mut Probabilities) -> Vec<(u16, i64)> {
    let mut cells = Vec::new();
    structure.changes(|cell, change| cells.push((cell, change)));
    cells
}

fn told(structure: &Probabilities, decay_per_s: f64, now: EpochMs) -> Vec<(u16, i64)> {
    let mut cells = Vec::new();
    structure.told(decay_per_s, now, |cell, billionths| {
        cells.push((cell, billionths as i64));
    });
    cells
}

/// Both structures as texts.
#[must_use]
pub fn packed(cells: Pair) -> [String; 2] {
    cells.map(pack)
}

/// Both structures of a message.
///
/// # Errors
/// At `/live` or `/shadow`.
pub fn unpacked(live: &str, shadow: &str, shape: Shape) -> Result<Pair, Invalid> {
    let read = |field: &str, text: &str| {
        unpack(text, shape.cells()).ok_or_else(|| {
            let message = "is no list of cells of this shape".to_owned();
            Invalid::new(field, Fault::Form { message })
        })
    };
    Ok([read("/live", live)?, read("/shadow", shadow)?])
}

/// The numbers by which `blue` goes.
#[must_use]
pub fn settings(config: &Config) -> Settings {
    Settings {
        shape: config.shape,
        combine: config.combine,
        increase: config.increase,
        decrease: config.decrease,
        decay_per_s: config.decay_per_s,
    }
}

/// The keys of a period and of the next.
#[must_use]
pub fn keys(secret: &[u8; 32], resource: &str, period: u64) -> [PlacementKey; 2] {
    [period, period + 1].map(|period| PlacementKey::derive(secret, resource, period))
}
