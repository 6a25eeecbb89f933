//! Windows as they are drawn.

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

#[test]
fn a_weight_is_told_with_as_what_it_counts_but_for_one_below_another() {
    let fill = WaterFill::of(&record(70, &[("a", 1.0, 19, 81)]));
    let mut portion = fill.portions[0].clone();
    assert_eq!(portion.weight_words(), "1");
    portion.counts_as = 0.32;
    assert_eq!(portion.weight_words(), "1, counted as 0.32");
    portion.parent = Some("c".to_owned());
    assert_eq!(portion.weight_words(), "1");
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
fn tenants_below_another_are_drawn_within_it_and_nothing_twice() {
    let mut record = family();
    for (tenant, guarantee) in record.tenants.iter_mut().zip([100, 200, 400, 300, 100]) {
        tenant.entitlement = guarantee;
        tenant.borrowed.0 = tenant.served.0.saturating_sub(guarantee.into());
    }
    record.tenants.reverse();
    let fill = WaterFill::of(&record);
    let told = fill
        .portions
        .iter()
        .map(|one| (one.tenant.as_str(), one.depth));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [("c", 0), ("x", 1), ("y", 1), ("b", 0), ("a", 0)]
    );
    let [c, x, y, b, a] = &fill.vessels[..] else {
        panic!("five vessels");
    };
    assert_eq!([c.line, x.line, b.line], [1, 0, 0]);
    assert!(near(c.left, 0.0) && near(c.width, 4.0 / 7.0) && near(b.left, c.width));
    assert!(near(x.left, 0.0) && near(y.left, 3.0 / 7.0) && near(y.left + y.width, c.width));
    assert!(near(x.base, c.filled) && near(y.base, c.filled));
    assert!(near(a.left + a.width, 1.0));
    // Each unit is one area, and those that are left are what is left of all guarantees.
    let area = |from: fn(&Vessel) -> f64, to: fn(&Vessel) -> f64| -> f64 {
        let all = fill.vessels.iter();
        all.map(|one| one.width * 7.0 * (to(one) - from(one)).max(0.0) * fill.top)
            .sum()
    };
    assert!(near(area(|one| one.base, |one| one.filled), 650.0));
    assert!(near(area(|one| one.filled, |one| one.guaranteed), 50.0));
    let left = fill.portions.iter().map(|one| one.reserved);
    assert_eq!(left.collect::<Vec<_>>(), [50, 25, 25, 0, 0]);
    assert!(fill.words(700, false).contains(" 50 units of guarantees"));
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
