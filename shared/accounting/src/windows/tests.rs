//! What tenants are entitled to, and what the record of a window says of them.

use super::*;

const WINDOW_MS: u64 = 60_000;

/// A weight of as many millionths, and units that are set aside.
fn claims(weight_micros: u64, floor: u64, ceiling: Option<u64>) -> TenantPart {
    TenantPart {
        weight_micros,
        floor,
        ceiling,
        ..TenantPart::default()
    }
}

/// Windows of the budget `tokens`, one after the other, of `limit` units each, in each of which these tenants asked.
fn windows(limit: u64, each: impl IntoIterator<Item = Vec<(String, TenantPart)>>) -> Windows {
    let mut windows = Windows::default();
    for (label, tenants) in (1..).zip(each) {
        let part = WindowPart {
            limit,
            ends_at: EpochMs(label * WINDOW_MS),
            tenants: OrderedMap::from_iter(tenants),
            ..WindowPart::default()
        };
        let labels = OrderedMap::from([(WindowLabel(label), part)]);
        windows.add(
            &OrderedMap::from([("tokens".to_owned(), labels)]),
            1,
            EpochMs(0),
        );
    }
    windows
}

fn named(parts: &[(&str, TenantPart)]) -> Vec<(String, TenantPart)> {
    parts
        .iter()
        .map(|(name, part)| ((*name).to_owned(), *part))
        .collect()
}

#[test]
fn a_tenant_is_entitled_to_its_floor_and_its_part_of_the_rest_up_to_its_ceiling() {
    let cases: [(u64, &[TenantPart], &[u64]); 5] = [
        // 100 less the floors of 40 leaves 60, of which one of three parts is 20.
        (100, &[claims(1, 30, None), claims(2, 10, None)], &[50, 50]),
        (
            100,
            &[claims(1, 30, Some(35)), claims(2, 10, Some(90))],
            &[35, 50],
        ),
        // Floors that are the whole leave no rest; those that are beyond it count in proportion.
        (100, &[claims(1, 70, None), claims(2, 30, None)], &[70, 30]),
        (100, &[claims(1, 150, None), claims(2, 50, None)], &[75, 25]),
        (100, &[claims(0, 0, None), claims(0, 0, None)], &[0, 0]),
    ];
    for (limit, parts, entitled) in cases {
        let tenants = ["a", "b"]
            .map(str::to_owned)
            .into_iter()
            .zip(parts.iter().copied());
        let told = windows(limit, [tenants.collect()]).entitlements();
        let units: Vec<_> = told["tokens"].values().copied().collect();
        assert_eq!(units, entitled, "{parts:?}");
    }
}

#[test]
fn entitlements_are_those_of_the_last_window_in_which_anybody_asked() {
    let one = claims(1, 0, None);
    let all = windows(
        100,
        [
            named(&[("a", one)]),
            named(&[("a", one), ("b", one)]),
            Vec::new(),
        ],
    );
    let told = OrderedMap::from([("a".to_owned(), 50), ("b".to_owned(), 50)]);
    assert_eq!(
        all.entitlements(),
        OrderedMap::from([("tokens".to_owned(), told)])
    );
    assert_eq!(Windows::default().entitlements(), OrderedMap::new());
}

#[test]
fn a_record_names_those_that_asked_for_most_and_sums_up_the_others() {
    let asked = |number: usize| TenantPart {
        admitted: Count(number as u128),
        ..claims(1, 0, None)
    };
    let tenants = (1..=RECORD_TENANTS_MAX + 2).map(|number| (format!("t{number}"), asked(number)));
    let windows = windows(1, [tenants.collect()]);
    let record = windows.records(None, EpochMs(0)).next().unwrap();
    assert_eq!(record.tenants_seen, RECORD_TENANTS_MAX as u64 + 2);
    let (others, named) = record.tenants.split_last().unwrap();
    assert_eq!(
        (others.tenant.as_str(), others.served),
        (OTHERS, Count(1 + 2))
    );
    assert_eq!(named.len(), RECORD_TENANTS_MAX);
    assert_eq!(named.last().unwrap().tenant, "t3");
}

#[test]
fn the_window_that_is_open_is_the_first_that_has_not_ended() {
    let used = |units: u128| {
        let part = TenantPart {
            admitted: Count(units),
            ..TenantPart::default()
        };
        named(&[("a", part), ("b", part)])
    };
    let windows = windows(100, [used(5), used(7)]);
    for (now, open) in [
        (0, Some((1, 10))),
        (WINDOW_MS - 1, Some((1, 10))),
        (WINDOW_MS, Some((2, 14))),
        (2 * WINDOW_MS, None),
    ] {
        let uses = windows.open_at(EpochMs(now));
        let told = uses.get("tokens").map(|told| (told.label.0, told.used.0));
        assert_eq!(told, open, "{now}");
    }
}

#[test]
fn where_too_many_windows_are_open_those_that_ended_first_make_room() {
    let one = || named(&[("a", claims(1, 0, None))]);
    let mut windows = windows(100, (0..WINDOWS_OPEN_MAX).map(|_| one()));
    assert!(!windows.due(EpochMs(0)));
    assert_eq!(windows.finish(EpochMs(0)), Vec::new());
    // One that came last and ends before all others, and one that ends after the first of them.
    for (label, ends_at) in [(9_001, 1), (9_002, WINDOW_MS + 1)] {
        let part = WindowPart {
            limit: 100,
            ends_at: EpochMs(ends_at),
            tenants: OrderedMap::from_iter(one()),
            ..WindowPart::default()
        };
        let labels = OrderedMap::from([(WindowLabel(label), part)]);
        windows.add(
            &OrderedMap::from([("tokens".to_owned(), labels)]),
            1,
            EpochMs(0),
        );
    }
    assert!(windows.due(EpochMs(0)));
    let finished = windows.finish(EpochMs(0));
    let labels: Vec<_> = finished.iter().map(|finished| finished.name.1.0).collect();
    assert_eq!(labels, [9_001, 1]);
    assert!(!windows.due(EpochMs(0)));
}

#[test]
fn a_window_is_finished_when_its_grace_is_over() {
    let over = EpochMs(WINDOW_MS + WINDOW_GRACE_MS);
    for (now, finished) in [(EpochMs(over.0 - 1), 0), (over, 1)] {
        let mut windows = windows(100, [named(&[("a", claims(1, 0, None))])]);
        assert_eq!(windows.due(now), finished == 1);
        assert_eq!(windows.finish(now).len(), finished);
        assert_eq!(windows.is_empty(), finished == 1);
    }
}

#[test]
fn a_root_is_asked_for_its_windows_from_the_first_that_is_over_and_of_which_it_has_said_nothing() {
    let closed = |label| ClosedWindow {
        label: WindowLabel(label),
        ends_at: EpochMs(label * WINDOW_MS),
        limit: 100,
        granted: 0,
        returned: 0,
        exact: true,
    };
    let asked = |said: &[u64], now| {
        let mut windows = windows(100, (0..3).map(|_| Vec::new()));
        for label in said {
            windows.close("tokens", &[closed(*label)]);
        }
        let unclosed = windows.unclosed(EpochMs(now)).into_iter();
        let first = unclosed.map(|(root, label)| (root.budget, root.region, label.0));
        first.collect::<Vec<_>>()
    };
    let from = |label| vec![("tokens".to_owned(), None, label)];
    assert_eq!(asked(&[], WINDOW_MS - 1), Vec::new());
    assert_eq!(asked(&[], WINDOW_MS), from(1));
    assert_eq!(asked(&[1], WINDOW_MS), Vec::new());
    assert_eq!(asked(&[], 3 * WINDOW_MS), from(1));
    assert_eq!(asked(&[1], 3 * WINDOW_MS), from(2));
    assert_eq!(asked(&[1, 2, 3], 3 * WINDOW_MS), Vec::new());
}

#[test]
fn what_was_reserved_among_the_others_and_released_by_name_is_open_no_more() {
    let part = |reserved, released| HeldPart {
        reserved: Count(reserved),
        released: Count(released),
    };
    let tenants = [
        ("a", part(0, 3)),
        ("b", part(4, 1)),
        ("c", part(2, 2)),
        (OTHERS, part(5, 0)),
    ];
    let tenants = tenants.map(|(name, part)| (name.to_owned(), part));
    let open = [("b".to_owned(), 3), (OTHERS.to_owned(), 2)];
    assert_eq!(held(&tenants.into()), open.into());
}

#[test]
fn those_that_a_record_does_not_name_are_summed_up_in_every_column() {
    let one = |number: u64| WindowTenant {
        tenant: OTHERS.to_owned(),
        weight: Decimal(number as f64),
        parent: None,
        counts_as: Some(Decimal(2.0 * number as f64)),
        entitlement: number,
        served: Count(number.into()),
        borrowed: Count(number.into()),
        denied: Count(number.into()),
        reserved: Count(number.into()),
        beyond: Count(number.into()),
        would_deny: Count(number.into()),
    };
    let mut sum = one(3);
    sum.add(&one(4));
    assert_eq!(sum, one(7));
}
