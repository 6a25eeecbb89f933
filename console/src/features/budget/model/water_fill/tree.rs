//! Tenants as a tree: each directly behind the one above it, within what that one has.

use weir_shared::ordered::OrderedMap;

use super::{Portion, Vessel};
use crate::chart::scale::place;

/// The portions as a tree: each directly behind the one above it or a sibling, else in the order in which they come. Says of
/// each how many of the others stand above it and what is left of its guarantee: units that one above it used itself are
/// taken from the guarantees of those below it by their weights, and what those have left is all that one has left.
pub fn in_tree(portions: Vec<Portion>) -> Vec<Portion> {
    let places = portions.iter().enumerate();
    let places: OrderedMap<&str, usize> = places
        .map(|(place, one)| (one.tenant.as_str(), place))
        .collect();
    let above = |one: &Portion| places.get(one.parent.as_deref()?).copied();
    // What was recorded while the policy changed may go round in a circle.
    let circular = |place: usize| {
        let mut at = place;
        let returns = (0..portions.len()).find_map(|_| match above(&portions[at]) {
            None => Some(false),
            Some(next) if next == place => Some(true),
            Some(next) => {
                at = next;
                None
            }
        });
        returns == Some(true)
    };
    let mut below: OrderedMap<Option<usize>, Vec<usize>> = OrderedMap::new();
    for (place, one) in portions.iter().enumerate() {
        let parent = above(one).filter(|_| !circular(place));
        below.entry(parent).or_default().push(place);
    }
    let children = |place: Option<usize>, depth: usize| {
        let children = below.get(&place).into_iter().flatten().rev();
        children.map(move |child| (*child, depth))
    };
    let mut tree: Vec<Portion> = Vec::with_capacity(portions.len());
    let mut open: Vec<(usize, usize)> = children(None, 0).collect();
    while let Some((place, depth)) = open.pop() {
        open.extend(children(Some(place), depth + 1));
        tree.push(Portion {
            depth,
            ..portions[place].clone()
        });
    }
    leave(&mut tree);
    tree
}

/// What is left of the guarantees of a tree.
fn leave(tree: &mut [Portion]) {
    // By depth: what those above used themselves, in units a unit of weight.
    let mut used: Vec<f64> = vec![0.0];
    for one in tree.iter_mut() {
        used.truncate(one.depth + 1);
        let taken = used.last().copied().unwrap_or_default();
        let left = one.guarantee.saturating_sub(one.used) as f64 - taken * one.counts_as;
        one.reserved = left.max(0.0).round() as u64;
        used.push(taken + per_weight(one.used, one.counts_as));
    }
    for place in (0..tree.len()).rev() {
        let depth = tree[place].depth;
        let below = tree[place + 1..].iter().take_while(|one| one.depth > depth);
        let mut below = below.filter(|one| one.depth == depth + 1).peekable();
        if below.peek().is_some() {
            let left = below.fold(0, |sum: u64, one| sum.saturating_add(one.reserved));
            tree[place].reserved = left;
        }
    }
}

fn per_weight(units: u64, weight: f64) -> f64 {
    if weight > 0.0 {
        units as f64 / weight
    } else {
        0.0
    }
}

/// The vessels of a tree, their heights in units a unit of weight. Those of tenants below another stand side by side within
/// the vessel of that one, on what it used itself, so that each unit is one area.
pub fn vessels(tree: &[Portion]) -> Vec<Vessel> {
    let tops = tree.iter().filter(|one| one.depth == 0);
    let weights: f64 = tops.map(|one| one.counts_as).sum();
    // By depth: where the next vessel begins, and what it stands on.
    let mut places = vec![(0.0, 0.0)];
    let mut vessels: Vec<Vessel> = Vec::with_capacity(tree.len());
    for one in tree.iter().filter(|one| one.counts_as > 0.0) {
        places.truncate(one.depth + 1);
        let Some((next, base)) = places.last_mut() else {
            continue;
        };
        let (left, base) = (*next, *base);
        let width = one.counts_as / weights;
        *next += width;
        let height = |units: u64| base + per_weight(units, one.counts_as);
        let filled = height(one.used);
        let guaranteed = per_weight(one.guarantee, one.counts_as);
        vessels.push(Vessel {
            portion: one.clone(),
            left,
            width,
            base,
            kept: height(one.used.min(one.guarantee)),
            filled,
            guaranteed,
            full: filled.max(guaranteed),
            wanted: height(one.used.saturating_add(one.denied)),
            line: 0,
        });
        places.push((left, filled));
    }
    for place in (0..vessels.len()).rev() {
        let (before, inside) = vessels.split_at_mut(place + 1);
        let Some(outer) = before.last_mut() else {
            continue;
        };
        let depth = outer.portion.depth;
        let inside = inside.iter().take_while(|one| one.portion.depth > depth);
        let Some((full, line)) = inside.fold(None, |most: Option<(f64, usize)>, one| {
            let (full, line) = most.unwrap_or_default();
            Some((full.max(one.full).max(one.wanted), line.max(one.line + 1)))
        }) else {
            continue;
        };
        // What is left of its guarantee is drawn within, and what it was denied itself above.
        let denied = per_weight(outer.portion.denied, outer.portion.counts_as);
        outer.guaranteed = outer.filled;
        outer.full = full;
        outer.wanted = full + denied;
        outer.line = line;
    }
    vessels
}

impl Vessel {
    /// With heights as parts of a drawing of so many units a unit of weight.
    pub fn within(self, top: f64) -> Self {
        Self {
            base: place(self.base, top),
            kept: place(self.kept, top),
            filled: place(self.filled, top),
            guaranteed: place(self.guaranteed, top),
            full: place(self.full, top),
            wanted: place(self.wanted, top),
            ..self
        }
    }
}
