//! A window as vessels side by side: a tenant's vessel is as wide as its weight and filled with what it was served, so
//! that areas are units. Sharing fairly fills all who want more to one level.

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
    /// What is left of its guarantee.
    pub reserved: u64,
    /// What it was denied.
    pub denied: u64,
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
    /// How high it is filled within the guarantee.
    pub kept: f64,
    /// How high it is filled.
    pub filled: f64,
    /// How high the guarantee reaches.
    pub guaranteed: f64,
    /// How high what was denied would have filled it, as far as the drawing reaches.
    pub wanted: f64,
}

/// A window as it is drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WaterFill {
    /// The vessels, the heaviest first and then by name, so that they keep their places while they fill.
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
            if is_named(&portion) && named.len() < VESSELS_MAX {
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
        let highest = named
            .iter()
            .filter(|portion| portion.counts_as > 0.0)
            .map(|portion| {
                let room = if portion.denied > 0 { DENIED_ROOM } else { 1.0 };
                portion.used as f64 / portion.counts_as * room
            });
        let marks = fair.into_iter().chain(level);
        let top = highest.chain(marks).fold(0.0, f64::max) * HEADROOM;
        let vessels = vessels(&named, top);
        named.append(&mut together);
        Self {
            vessels,
            portions: named,
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
        let left = sum(|portion| portion.reserved);
        words.push_str(&match open {
            true => format!(" {left} units of guarantees are not used yet."),
            false => format!(" {left} units of guarantees were not used by those they belong to."),
        });
        words
    }
}

fn is_named(portion: &Portion) -> bool {
    matches!(TenantName::of(&portion.tenant), TenantName::Named(_))
}

fn vessels(portions: &[Portion], top: f64) -> Vec<Vessel> {
    let weights: f64 = portions.iter().map(|portion| portion.counts_as).sum();
    let mut left = 0.0;
    let mut vessels = Vec::with_capacity(portions.len());
    for portion in portions.iter().filter(|portion| portion.counts_as > 0.0) {
        let width = portion.counts_as / weights;
        let height = |units: u64| place(units as f64 / portion.counts_as, top);
        vessels.push(Vessel {
            left,
            width,
            kept: height(portion.used.min(portion.guarantee)),
            filled: height(portion.used),
            guaranteed: height(portion.guarantee),
            wanted: height(portion.used.saturating_add(portion.denied)),
            portion: portion.clone(),
        });
        left += width;
    }
    vessels
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
    let named = tops.iter().filter(|(top, _)| is_named(top));
    let left = weights - named.map(|(top, _)| top.counts_as).sum::<f64>();
    let weight = |top: &Portion| match is_named(top) {
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
mod tests {
    use serde_json::json;
    use weir_shared::wire::decimal::Decimal;

    use super::*;

    fn record(limit: u64, tenants: &[(&str, f64, u64, u64)]) -> WindowRecord {
        let weights: f64 = tenants.iter().map(|(_, weight, ..)| weight).sum();
        let tenants: Vec<_> = tenants
            .iter()
            .map(|(tenant, weight, served, denied)| {
                let entitlement = (limit as f64 * weight / weights) as u64;
                json!({
                    "tenant": tenant, "weight": weight, "entitlement": entitlement, "served": served,
                    "borrowed": served.saturating_sub(entitlement), "denied": denied,
                })
            })
            .collect();
        serde_json::from_value(json!({
            "budget": "tokens", "label": 7, "ends_at": 60_000, "limit": limit, "complete": false,
            "granted": null, "admitted": 0, "returned": 0, "unaccounted": null, "exact": true,
            "denied": 0, "jain": null, "tenants_seen": tenants.len(), "tenants": tenants,
        }))
        .unwrap()
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn who_wants_more_is_filled_to_one_level_with_what_the_others_leave() {
        // 70 by 1 : 2 : 4; the last wants 12 only, so 58 are shared 1 : 2.
        let fill = WaterFill::of(&record(
            70,
            &[("a", 1.0, 19, 81), ("b", 2.0, 39, 61), ("c", 4.0, 12, 0)],
        ));
        assert!(near(fill.level.unwrap(), 58.0 / 3.0));
        assert!(near(fill.fair.unwrap(), 10.0));
        assert!(near(fill.top, 39.0 / 2.0 * DENIED_ROOM * HEADROOM));
        let marks = fill.marks().into_iter().map(|tick| tick.label);
        assert_eq!(marks.collect::<Vec<_>>(), ["0", "10", "20"]);
    }

    #[test]
    fn there_is_no_level_while_there_is_enough_for_all() {
        for tenants in [
            &[("a", 1.0, 30, 0), ("b", 1.0, 40, 0)][..],
            &[("a", 1.0, 30, 40), ("b", 1.0, 30, 0)][..],
            &[][..],
        ] {
            assert_eq!(WaterFill::of(&record(100, tenants)).level, None);
        }
        let nobody = WaterFill::of(&record(100, &[]));
        assert_eq!((nobody.fair, nobody.vessels.len()), (None, 0));
        assert!(nobody.words(100, true).starts_with("No tenant"));
    }

    /// `c` weighs 4 and asks itself; below it `x` and `y` divide its weight 3 : 1.
    fn family() -> WindowRecord {
        let mut record = record(
            700,
            &[
                ("a", 1.0, 100, 200),
                ("b", 2.0, 200, 200),
                ("c", 4.0, 100, 0),
                ("x", 3.0, 200, 100),
                ("y", 1.0, 50, 0),
            ],
        );
        for below in &mut record.tenants[3..] {
            below.parent = Some("c".to_owned());
        }
        record
    }

    #[test]
    fn a_tenant_above_others_that_asks_itself_counts_once() {
        let mut record = family();
        for weights in [None, Some(Decimal(7.0))] {
            record.weights = weights;
            let fill = WaterFill::of(&record);
            assert!(near(fill.fair.unwrap(), 100.0), "{weights:?}");
            // `a` wants 300, `b` 400, and the three of `c` 450 together, which is more than 100 for each of 4.
            assert!(near(fill.level.unwrap(), 100.0), "{weights:?}");
        }
        record.tenants[3].denied.0 = 0;
        // 350 of the three of `c` leave 350 to `a` and `b`, 1 : 2.
        assert!(near(WaterFill::of(&record).level.unwrap(), 350.0 / 3.0));
    }

    #[test]
    fn those_not_told_apart_weigh_what_is_left_of_the_sum_that_a_record_says() {
        let mut record = family();
        // `y` is one of them, and they are all below `c`.
        record.tenants[4].tenant = weir_shared::wire::accounting::OTHERS.to_owned();
        record.tenants[4].parent = None;
        assert!(near(WaterFill::of(&record).fair.unwrap(), 700.0 / 8.0));
        record.weights = Some(Decimal(7.0));
        let fill = WaterFill::of(&record);
        assert!(near(fill.fair.unwrap(), 100.0) && near(fill.level.unwrap(), 100.0));
    }

    #[test]
    fn tenants_in_a_circle_are_still_drawn() {
        let mut record = record(10, &[("a", 1.0, 5, 5), ("b", 1.0, 5, 5)]);
        record.tenants[0].parent = Some("b".to_owned());
        record.tenants[1].parent = Some("a".to_owned());
        assert_eq!(WaterFill::of(&record).vessels.len(), 2);
    }

    #[test]
    fn areas_are_units() {
        let fill = WaterFill::of(&record(
            100,
            &[("small", 1.0, 30, 5), ("large", 3.0, 20, 0)],
        ));
        let units: Vec<f64> = fill
            .vessels
            .iter()
            .map(|vessel| vessel.width * 4.0 * vessel.filled * fill.top)
            .collect();
        assert!(near(units[0], 20.0) && near(units[1], 30.0));
        let [large, small] = &fill.vessels[..] else {
            panic!("two vessels");
        };
        assert_eq!((large.portion.reserved, large.portion.borrowed), (55, 0));
        assert_eq!((small.portion.reserved, small.portion.borrowed), (0, 5));
        assert!(near(small.kept, small.guaranteed));
        assert!(small.kept < small.filled && small.filled < small.wanted);
        assert!(large.filled < large.guaranteed);
        assert!(near(small.left + small.width, 1.0));
    }

    #[test]
    fn vessels_keep_their_places_while_they_fill() {
        let names = |tenants: &[(&str, f64, u64, u64)]| -> Vec<String> {
            let fill = WaterFill::of(&record(100, tenants));
            let vessels = fill.vessels.into_iter();
            vessels.map(|vessel| vessel.portion.tenant).collect()
        };
        let before = names(&[("b", 1.0, 9, 0), ("a", 1.0, 1, 0), ("c", 2.0, 0, 0)]);
        let after = names(&[("a", 1.0, 50, 0), ("c", 2.0, 30, 0), ("b", 1.0, 9, 0)]);
        assert_eq!(before, ["c", "a", "b"]);
        assert_eq!(after, before);
    }

    #[test]
    fn many_tenants_are_told_of_and_those_that_used_most_are_drawn() {
        let names: Vec<String> = (0..40).map(|number| format!("t{number:02}")).collect();
        let mut tenants: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), 1.0, 10, 0))
            .collect();
        tenants.insert(3, (weir_shared::wire::accounting::OTHERS, 1_000.0, 5, 0));
        let fill = WaterFill::of(&record(10_000, &tenants));
        assert_eq!(fill.vessels.len(), VESSELS_MAX);
        assert_eq!(fill.portions.len(), 41);
        assert_eq!(fill.vessels[23].portion.tenant, "t23");
        assert!(near(
            fill.vessels.iter().map(|vessel| vessel.width).sum(),
            1.0
        ));
    }

    #[test]
    fn a_vessel_never_leaves_the_drawing() {
        let fill = WaterFill::of(&record(10, &[("a", 1.0, 10, u64::MAX), ("b", 1e-6, 1, 0)]));
        for vessel in &fill.vessels {
            for height in [vessel.kept, vessel.filled, vessel.guaranteed, vessel.wanted] {
                assert!((0.0..=1.0).contains(&height), "{vessel:?}");
            }
        }
    }

    #[test]
    fn the_words_say_what_is_drawn() {
        let hungry = WaterFill::of(&record(
            70,
            &[("a", 1.0, 19, 81), ("b", 2.0, 39, 61), ("c", 4.0, 12, 0)],
        ));
        assert_eq!(
            hungry.words(70, true),
            "3 tenants asked; 70 of 70 units are used, 28 of them beyond a guarantee. Tenants that want more get up to 19 \
             units per unit of weight. 28 units of guarantees are not used yet."
        );
        let calm = WaterFill::of(&record(100, &[("a", 1.0, 30, 0)])).words(100, false);
        assert!(calm.contains("1 tenant asked") && calm.contains("There is enough"));
        let held = WaterFill::of(&record(100, &[("a", 1.0, 30, 40), ("b", 1.0, 5, 0)]));
        let held = held.words(100, true);
        assert!(held.contains("40 units were denied while the rest was kept for others"));
        assert!(!held.contains("There is enough"), "{held}");
        assert!(calm.ends_with("70 units of guarantees were not used by those they belong to."));
    }
}
