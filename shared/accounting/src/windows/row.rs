//! What is stored of a window has room in a row.

use weir_core::limits::WINDOW_BYTES_MAX;
use weir_core::ordered::{OrderedMap, sort_by_key};
use weir_wire::accounting::OTHERS;
use weir_wire::windows::{TenantPart, WindowPart};

use crate::pending::untold;

/// What a tenant, one above others or a reservation takes at most: two names of which each character is escaped, and
/// numbers. What cannot be too much is not measured.
const ENTRY_BYTES_MAX: usize = 900;

/// The part with as many tenants by name as fit, first those that the policy names, then those that asked for most; `None`
/// where all do.
pub(super) fn bounded(part: &WindowPart) -> Option<WindowPart> {
    let reserved: usize = part.reservations.values().map(OrderedMap::len).sum();
    let entries = part.tenants.len() + part.tree.len() + reserved;
    if entries * ENTRY_BYTES_MAX <= WINDOW_BYTES_MAX {
        return None;
    }
    let mut bytes = bytes_of(part);
    if bytes <= WINDOW_BYTES_MAX {
        return None;
    }
    let mut ranked: Vec<_> = part.tenants.iter().collect();
    ranked.retain(|(name, _)| *name != OTHERS);
    sort_by_key(&mut ranked, |(_, one)| {
        let asked = one.served().0.saturating_add(one.refused().0);
        std::cmp::Reverse((one.known, asked))
    });
    let mut named = ranked.len();
    loop {
        // A little less than would fit if all were as long; in the end none.
        let room = WINDOW_BYTES_MAX as f64 / bytes as f64 * 0.98;
        named = (named as f64 * room) as usize;
        let (kept, folded) = ranked.split_at(named);
        let less = without(part, kept, folded);
        bytes = bytes_of(&less);
        if named == 0 || bytes <= WINDOW_BYTES_MAX {
            return Some(less);
        }
    }
}

/// Its length as text. What cannot be written is stored nowhere.
fn bytes_of(part: &WindowPart) -> usize {
    serde_json::to_string(part).map_or(0, |text| text.len())
}

/// The part with the tenants `folded` among the others.
fn without(
    part: &WindowPart,
    kept: &[(&String, &TenantPart)],
    folded: &[(&String, &TenantPart)],
) -> WindowPart {
    let mut less = WindowPart {
        tenants: OrderedMap::new(),
        tree: OrderedMap::new(),
        reservations: OrderedMap::new(),
        region: part.region.clone(),
        ..*part
    };
    for (name, one) in kept {
        less.tenants.insert((*name).clone(), **one);
        let line = untold(&part.tree, &less.tree, name);
        less.tree.extend(line);
    }
    let mut others = part.tenants.get(OTHERS).copied().unwrap_or_default();
    for (_, one) in folded {
        others.add(&TenantPart {
            known: false,
            ..**one
        });
    }
    less.tenants.insert(OTHERS.to_owned(), others);
    for (until, tenants) in &part.reservations {
        for (name, held) in tenants {
            less.hold(*until, name, *held);
        }
    }
    less
}

#[cfg(test)]
mod tests {
    use weir_core::units::{EpochMs, WindowLabel};
    use weir_wire::count::Count;
    use weir_wire::windows::{BranchPart, HeldPart, StoredWindow};

    use super::*;

    /// What a row of an object may have.
    const ROW_BYTES: usize = 2_000_000;

    /// A window in which so many tenants asked, each below one of its own, with names of so many bytes.
    fn nested(tenants: usize, bytes: usize, units: u128) -> WindowPart {
        let mut part = WindowPart {
            limit: 100,
            ..WindowPart::default()
        };
        for number in 0..tenants {
            let (name, above) = (
                format!("{number:0bytes$}"),
                format!("a{number:0$}", bytes - 1),
            );
            let one = TenantPart {
                weight_micros: 1_000_000,
                known: number % 10 > 0,
                admitted: Count(units + number as u128),
                ..TenantPart::default()
            };
            part.tenants.insert(name.clone(), one);
            let branch = |parent: Option<&str>, weight_micros| BranchPart {
                parent: parent.map(str::to_owned),
                weight_micros,
                ..BranchPart::default()
            };
            part.tree.insert(name.clone(), branch(Some(&above), 0));
            part.tree.insert(above, branch(None, 1_000_000));
            let held = HeldPart {
                reserved: Count(units),
                ..HeldPart::default()
            };
            part.hold(EpochMs(number as u64 % 3 * 60_000), &name, held);
        }
        part
    }

    fn stored(part: &WindowPart) -> usize {
        let stored =
            StoredWindow::new(&"b".repeat(64), WindowLabel(u64::MAX), u64::MAX, part, None);
        serde_json::to_string(&stored).unwrap().len()
    }

    fn reserved(part: &WindowPart) -> u128 {
        let tenants = part.reservations.values().flat_map(OrderedMap::values);
        tenants.map(|held| held.reserved.0).sum()
    }

    #[test]
    fn a_row_stays_below_two_megabytes_and_keeps_every_unit() {
        for (tenants, bytes, units) in [
            (10_000, 40, 1),
            (10_000, 40, 999_999_999_999_999_999),
            (11_000, 128, 999_999_999_999_999_999),
        ] {
            let part = nested(tenants, bytes, units);
            assert!(stored(&part) > ROW_BYTES);
            let less = bounded(&part).unwrap();
            assert!(stored(&less) < ROW_BYTES, "{}", stored(&less));
            let sum = |part: &WindowPart| -> u128 {
                part.tenants.values().map(|one| one.admitted.0).sum()
            };
            assert_eq!((sum(&less), reserved(&less)), (sum(&part), reserved(&part)));
            let others = less.tenants[OTHERS];
            assert_eq!((others.known, others.weight_micros), (false, 1_000_000));
            // Nobody is told of who is not there, and everybody who is has a place.
            let named = less.tenants.len() - 1;
            assert!(named > 1_000, "{named}");
            assert_eq!(less.tree.len(), 2 * named);
            assert_eq!(bounded(&less), None);
        }
    }

    #[test]
    fn who_asked_for_least_makes_room_and_strangers_before_those_that_the_policy_names() {
        let less = bounded(&nested(6_000, 60, 7)).unwrap();
        let kept = |number: usize| less.tenants.contains_key(&format!("{number:060}"));
        assert_eq!([0, 1, 5_990, 5_999].map(kept), [false, false, false, true]);
    }

    #[test]
    fn what_has_room_is_left_as_it_is() {
        assert_eq!(bounded(&nested(1_000, 128, 7)), None);
        assert_eq!(bounded(&nested(4_000, 20, 7)), None);
    }

    #[test]
    fn the_tenants_of_the_usual_names_all_have_room() {
        let mut part = nested(10_000, 20, 1_000);
        part.reservations.clear();
        part.tree.values_mut().for_each(|branch| {
            if branch.parent.is_some() {
                branch.parent = Some("a".to_owned());
            }
        });
        part.tree.retain(|_, branch| branch.parent.is_some());
        assert!(stored(&part) < 1_200_000, "{} bytes", stored(&part));
        assert_eq!(bounded(&part), None);
        part.tree.clear();
        assert!(stored(&part) < 800_000, "{} bytes", stored(&part));
    }
}
