//! A window as vessels side by side: a tenant's vessel is as wide as its weight and filled with what it was served, so
//! that areas are units. Sharing fairly fills all who want more to one level. Tenants below another are drawn within it.

mod tree;

use self::tree::{in_tree, vessels};
use weir_shared::ordered::sort_by;
use weir_shared::wire::windows::{WindowRecord, WindowTenant};

use crate::chart::scale::{Tick, nice_max, place, ticks};
use crate::format;
use crate::tenant_name::TenantName;

/// Vessels that are drawn: those of the tenants that used or asked for most.
pub const VESSELS_MAX: usize = 24;

/// What the highest mark leaves free above it.
const HEADROOM: f64 = 1.05;

/// Weights have six decimals: a smaller one comes of how they are rounded.
const ROUNDED: f64 = 1e-7;

/// How far above what was served the drawing of what was denied reaches at least.
const DENIED_ROOM: f64 = 1.1;

/// What one tenant has of a window, in units.
#[derive(Debug, Clone, PartialEq)]
pub struct Portion {
    /// The tenant.
    pub tenant: String,
    /// The tenant above it, if any.
    pub parent: Option<String>,
    /// Its weight.
    pub weight: f64,
    /// Its weight as it counts among all: below another, its part of what that one has.
    pub counts_as: f64,
    /// What it is guaranteed among those that asked.
    pub guarantee: u64,
    /// What it was served.
    pub used: u64,
    /// What it was served beyond its guarantee.
    pub borrowed: u64,
    /// What is left of its guarantee; where tenants stand below it, what those have left.
    pub reserved: u64,
    /// What it was denied.
    pub denied: u64,
    /// How many of those told of stand above it.
    pub depth: usize,
}

impl Portion {
    fn of(tenant: &WindowTenant) -> Self {
        let units = |count: u128| u64::try_from(count).unwrap_or(u64::MAX);
        let used = units(tenant.served.0);
        Self {
            tenant: tenant.tenant.clone(),
            parent: tenant.parent.clone(),
            weight: tenant.weight.0,
            counts_as: tenant.counted_weight(),
            guarantee: tenant.entitlement,
            used,
            borrowed: units(tenant.borrowed.0),
            reserved: tenant.entitlement.saturating_sub(used),
            denied: units(tenant.denied.0),
            depth: 0,
        }
    }

    /// Its weight, and as what it counts where that is less; below another a weight counts among those beside it alone.
    pub fn weight_words(&self) -> String {
        match self.parent {
            None => format::counted_weight(self.weight, self.counts_as),
            Some(_) => format::weight(self.weight),
        }
    }
}

/// One vessel as it is drawn: everything as a part of the whole drawing, 0 to 1, heights from the ground.
#[derive(Debug, Clone, PartialEq)]
pub struct Vessel {
    /// Which portion.
    pub portion: Portion,
    /// Its left edge.
    pub left: f64,
    /// Its width.
    pub width: f64,
    /// From where it is filled: within another one above what that tenant used itself.
    pub base: f64,
    /// How high it is filled within the guarantee.
    pub kept: f64,
    /// How high it is filled.
    pub filled: f64,
    /// How high the guarantee reaches; no higher than it is filled where others are drawn within, which have the rest.
    pub guaranteed: f64,
    /// From where what was denied is drawn.
    pub full: f64,
    /// How high what was denied would have filled it, as far as the drawing reaches.
    pub wanted: f64,
    /// How many vessels are within it, one in the other.
    pub line: usize,
}

/// A window as it is drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WaterFill {
    /// The vessels, the heaviest first and then by name, so that they keep their places while they fill; behind each those
    /// within it.
    pub vessels: Vec<Vessel>,
    /// Everyone told of, in the order of the vessels; those without a vessel behind.
    pub portions: Vec<Portion>,
    /// Tenants that asked, drawn or not.
    pub tenants_seen: u64,
    /// Units a unit of weight: what the top of the drawing stands for.
    pub top: f64,
    /// What each unit of weight is guaranteed; none when nobody asked.
    pub fair: Option<f64>,
    /// To where all who want more are filled; none while nobody wants more than there is.
    pub level: Option<f64>,
}

impl WaterFill {
    /// The drawing of a window.
    pub fn of(record: &WindowRecord) -> Self {
        let portions = record.tenants.iter().map(Portion::of);
        let weights = record.weights.map(|weights| weights.0);
        Self::among(record.limit, portions, weights, record.tenants_seen)
    }

    /// The drawing of so many units among tenants, the first of whom are drawn. `weights` is the sum of the weights that
    /// count, where it is known.
    pub fn among(
        units: u64,
        portions: impl Iterator<Item = Portion>,
        weights: Option<f64>,
        tenants_seen: u64,
    ) -> Self {
        let mut named: Vec<Portion> = Vec::new();
        let mut together: Vec<Portion> = Vec::new();
        for portion in portions {
            if TenantName::of(&portion.tenant).is_named() && named.len() < VESSELS_MAX {
                named.push(portion);
            } else {
                together.push(portion);
            }
        }
        sort_by(&mut named, |one, other| {
            let heavier = other.counts_as.total_cmp(&one.counts_as);
            heavier.then_with(|| one.tenant.cmp(&other.tenant))
        });
        let everyone: Vec<&Portion> = named.iter().chain(&together).collect();
        let weights = weights.unwrap_or_else(|| sum_of_weights(&everyone));
        let fair = (weights > 0.0).then(|| units as f64 / weights);
        let level = level(units, &everyone, weights);
        let drawn = vessels(&in_tree(named.clone()));
        let highest = drawn.iter().map(|vessel| {
            let room = if vessel.portion.denied > 0 {
                DENIED_ROOM
            } else {
                1.0
            };
            vessel.filled * room
        });
        let marks = fair.into_iter().chain(level);
        let top = highest.chain(marks).fold(0.0, f64::max) * HEADROOM;
        let vessels = drawn.into_iter().map(|vessel| vessel.within(top)).collect();
        named.append(&mut together);
        Self {
            vessels,
            portions: in_tree(named),
            tenants_seen,
            top,
            fair,
            level,
        }
    }

    /// A height of so many units a unit of weight, as a part of the drawing.
    pub fn height(&self, units_per_weight: f64) -> f64 {
        place(units_per_weight, self.top)
    }

    /// Round marks along the height.
    pub fn marks(&self) -> Vec<Tick> {
        let end = nice_max(self.top);
        let marks = ticks(end).into_iter();
        let within = marks.filter(|tick| tick.place * end <= self.top);
        within
            .map(|tick| Tick {
                place: self.height(tick.place * end),
                ..tick
            })
            .collect()
    }

    /// What the drawing shows, in words.
    pub fn words(&self, limit: u64, open: bool) -> String {
        if self.portions.is_empty() {
            return "No tenant asked for anything in this window.".to_owned();
        }
        let sum = |of: fn(&Portion) -> u64| {
            let units = self.portions.iter().map(of).fold(0, u64::saturating_add);
            format::count(units.into())
        };
        let per_weight = |units: f64| format::count(units as u128);
        let mut words = format!(
            "{} asked; {} of {} units are used, {} of them beyond a guarantee.",
            format::counted(
                usize::try_from(self.tenants_seen).unwrap_or(usize::MAX),
                "tenant"
            ),
            sum(|portion| portion.used),
            format::count(limit.into()),
            sum(|portion| portion.borrowed),
        );
        if let Some(level) = self.level {
            words.push_str(&format!(
                " Tenants that want more get up to {} units per unit of weight.",
                per_weight(level)
            ));
        } else if self.portions.iter().any(|portion| portion.denied > 0) {
            words.push_str(&format!(
                " All that was asked would fit into the limit: {} units were denied while the rest was kept for others \
                 or was out on lease.",
                sum(|portion| portion.denied)
            ));
        } else if let Some(fair) = self.fair {
            words.push_str(&format!(
                " There is enough for what was asked: each unit of weight has a claim to {} units.",
                per_weight(fair)
            ));
        }
        let left = sum(|portion| match portion.depth {
            0 => portion.reserved,
            _ => 0,
        });
        words.push_str(&match open {
            true => format!(" {left} units of guarantees are not used yet."),
            false => format!(" {left} units of guarantees were not used by those they belong to."),
        });
        words
    }
}

/// The one of these that stands above another, and above all those between: what that one has is a part of what this one has.
fn highest<'a>(portions: &[&'a Portion], portion: &'a Portion) -> &'a Portion {
    let mut top = portion;
    // What was recorded while the policy changed may go round in a circle.
    for _ in portions {
        let Some(above) = &top.parent else { break };
        match portions.iter().find(|one| one.tenant == *above) {
            Some(parent) => top = parent,
            None => break,
        }
    }
    top
}

/// The sum of the weights that count: of a tenant below another that asked, too, the weight of that one alone.
pub fn sum_of_weights(portions: &[&Portion]) -> f64 {
    let counts = |portion: &&&Portion| highest(portions, portion).tenant == portion.tenant;
    let top = portions.iter().filter(counts);
    top.map(|portion| portion.counts_as).sum()
}

/// The level at which `min(demand, weight * level)` of all comes to the limit; none when all demands fit in it. Who stands
/// below another that asked wants its units with that one.
fn level(limit: u64, portions: &[&Portion], mut weights: f64) -> Option<f64> {
    let mut tops: Vec<(&Portion, f64)> = Vec::new();
    for portion in portions {
        let top = highest(portions, portion);
        let demand = portion.used as f64 + portion.denied as f64;
        match tops.iter_mut().find(|(one, _)| one.tenant == top.tenant) {
            Some((_, sum)) => *sum += demand,
            None => tops.push((top, demand)),
        }
    }
    // Those that are not told apart may be below one that is: what is left of the sum is theirs.
    let named = tops
        .iter()
        .filter(|(top, _)| TenantName::of(&top.tenant).is_named());
    let left = weights - named.map(|(top, _)| top.counts_as).sum::<f64>();
    let weight = |top: &Portion| match TenantName::of(&top.tenant).is_named() {
        true => top.counts_as,
        false => top.counts_as.min(left),
    };
    let wants = tops
        .into_iter()
        .map(|(top, demand)| (demand, weight(top)))
        .filter(|(_, weight)| *weight > ROUNDED);
    let mut wants: Vec<(f64, f64)> = wants.collect();
    sort_by(&mut wants, |one, other| {
        (one.0 / one.1).total_cmp(&(other.0 / other.1))
    });
    let mut left = limit as f64;
    for (demand, weight) in wants {
        let level = left / weights.max(weight);
        if demand / weight > level {
            return Some(level);
        }
        left -= demand;
        weights -= weight;
    }
    None
}

#[cfg(test)]
mod tests;
