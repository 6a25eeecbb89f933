//! The fairness record of a window.

use weir_shared::accounting::windows::Windows;
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::wire::count::Count;
use weir_shared::wire::windows::{ClosedWindow, TenantPart, WindowPart, WindowParts, WindowRecord};

const LABEL: WindowLabel = WindowLabel(9);
const ENDS_AT: EpochMs = EpochMs(60_000);

fn part(lapsed: u128, tenants: &[(&str, u64, u128, u128)]) -> WindowParts {
    let tenants = tenants.iter().map(|(name, weight, admitted, denied)| {
        let part = TenantPart {
            weight_micros: weight * 1_000_000,
            admitted: Count(*admitted),
            denied: Count(*denied),
            ..TenantPart::default()
        };
        ((*name).to_owned(), part)
    });
    let part = WindowPart {
        limit: 700,
        ends_at: ENDS_AT,
        tenants: tenants.collect(),
        lapsed: Count(lapsed),
        ..WindowPart::default()
    };
    WindowParts::from([("tokens".to_owned(), [(LABEL, part)].into())])
}

fn closed(granted: u64, returned: u64) -> ClosedWindow {
    ClosedWindow {
        label: LABEL,
        ends_at: ENDS_AT,
        limit: 700,
        granted,
        returned,
        exact: true,
    }
}

fn record(windows: &Windows, now: u64) -> WindowRecord {
    windows
        .records(Some("tokens"), EpochMs(now))
        .next()
        .unwrap()
}

/// Weights 1, 2 and 4 of 700 are entitled to 100, 200 and 400; who is absent leaves what it had to the others.
#[test]
fn a_record_says_who_was_entitled_to_what_and_who_got_more() {
    let mut windows = Windows::default();
    windows.add(
        &part(0, &[("a", 1, 150, 50), ("b", 2, 150, 0)]),
        1,
        EpochMs(10),
    );
    windows.add(
        &part(0, &[("b", 2, 0, 10), ("c", 4, 400, 100)]),
        2,
        EpochMs(20),
    );
    let record = record(&windows, 20);
    let tenant = |name: &str| {
        record
            .tenants
            .iter()
            .find(|one| one.tenant == name)
            .unwrap()
    };
    assert_eq!(
        ["a", "b", "c"].map(|name| (tenant(name).entitlement, tenant(name).borrowed.0)),
        [(100, 50), (200, 0), (400, 0)]
    );
    assert_eq!((record.admitted, record.denied), (Count(700), Count(160)));
    assert!(!record.complete && record.granted.is_none() && record.unaccounted.is_none());
    // b asked for 160 and got 150 of them, the others all that they were entitled to: (1 + 15/16 + 1)^2 / (3 (2 + (15/16)^2)).
    let ratio: f64 = 150.0 / 160.0;
    let expected = (2.0 + ratio).powi(2) / (3.0 * (2.0 + ratio * ratio));
    assert!((record.jain.unwrap().0 - expected).abs() < 1e-12);
}

#[test]
fn what_was_granted_is_admitted_returned_or_unaccounted() {
    let mut windows = Windows::default();
    windows.add(&part(30, &[("a", 1, 500, 0)]), 1, EpochMs(10));
    windows.close("tokens", &[closed(600, 70)]);
    let whole = record(&windows, 70_000);
    assert_eq!(
        (whole.granted, whole.returned),
        (Some(Count(600)), Count(100))
    );
    assert_eq!(whole.unaccounted, Some(Count(0)), "nobody died");
    assert!(whole.complete && whole.exact);
    // Forty units more were lent, and nobody says what became of them: that is not what the record promises.
    windows.close("tokens", &[closed(640, 70)]);
    let missing = record(&windows, 70_000);
    assert_eq!(missing.unaccounted, Some(Count(0)));
    assert!(!missing.exact && !missing.complete);
    // The region that lent them says that an isolate died with them.
    let mut died = part(0, &[]);
    let labels = died.get_mut("tokens").unwrap();
    labels.get_mut(&LABEL).unwrap().unaccounted = Count(40);
    windows.add(&died, 2, EpochMs(20));
    let whole = record(&windows, 70_000);
    assert_eq!(whole.unaccounted, Some(Count(40)));
    assert!(whole.exact && whole.complete);
    // More than was lent was told of: no record hides that.
    windows.add(&part(0, &[("a", 1, 1, 0)]), 3, EpochMs(30));
    assert!(!record(&windows, 70_000).exact);
}

/// Nothing was ever said of how large it is: what lapsed of a window that nobody asked for, or came too late.
#[test]
fn a_window_without_a_limit_leaves_no_record() {
    let mut windows = Windows::default();
    let late = WindowPart {
        lapsed: Count(4),
        ..WindowPart::default()
    };
    let late = WindowParts::from([("tokens".to_owned(), [(LABEL, late)].into())]);
    windows.add(&late, 1, EpochMs(10));
    assert_eq!(windows.records(None, EpochMs(20)).count(), 0);
    let finished = windows.finish(EpochMs(1_000_000));
    assert_eq!(finished.len(), 1);
    assert_eq!(finished[0].record, None);
}

#[test]
fn where_nothing_is_guaranteed_nothing_is_borrowed() {
    let mut windows = Windows::default();
    windows.add(
        &part(0, &[("a", 0, 600, 0), ("b", 0, 100, 0)]),
        1,
        EpochMs(10),
    );
    let record = record(&windows, 20);
    assert!(
        record
            .tenants
            .iter()
            .all(|one| (one.entitlement, one.borrowed.0) == (0, 0))
    );
    assert_eq!(record.jain.map(|index| index.0), Some(1.0));
}

#[test]
fn a_window_is_finished_when_nothing_more_is_expected_of_it() {
    let mut windows = Windows::default();
    windows.add(&part(0, &[("a", 1, 500, 0)]), 1, EpochMs(10));
    assert!(windows.finish(EpochMs(90_000)).is_empty());
    assert_eq!(windows.finish(EpochMs(95_000)).len(), 1);
    assert!(windows.is_empty());
}
