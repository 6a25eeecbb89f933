//! Windows in which parts are gone: a coordinator out of reach, isolates that die.

use crate::simulator::START_MS;
use crate::simulator::faults::Cut;
use crate::simulator::measured::Measured;
use crate::simulator::run;
use crate::simulator::setup::Setup;
use weir_shared::limits::STANDING_WINDOWS;
use weir_shared::wire::exchange::{Cycle, PeriodBody};
use weir_shared::wire::policy::Cadence;

const WINDOW_MS: u64 = 10_000;

/// The region that is cut off, and from which of the windows to which.
const REGION: usize = 1;
const CUT: (u64, u64) = (4, 8);

/// What the region that is cut off admitted in each of the windows, and what all did.
fn partition(standing: u64) -> Vec<(Measured, u64)> {
    let mut setup = Setup::measured(31, (3, 2), (3_000, WINDOW_MS), 10);
    setup.standing = standing;
    // The cut begins and ends in mid-window.
    setup.cuts = vec![Cut {
        region: REGION,
        from_ms: START_MS + CUT.0 * WINDOW_MS - WINDOW_MS / 2,
        until_ms: START_MS + CUT.1 * WINDOW_MS - WINDOW_MS / 2,
    }];
    setup = setup.asks_everywhere(None, 1, 3_600.0);
    let report = run(&setup);
    let here = |label: u64| {
        let admissions = report.truth.admissions.iter();
        let here =
            admissions.filter(|admission| (admission.label, admission.region) == (label, REGION));
        here.map(|admission| admission.units).sum::<u64>()
    };
    let windows = report.measured(&setup);
    windows
        .into_iter()
        .map(|window| (here(window.label), window))
        .map(|(here, window)| (window, here))
        .collect()
}

#[test]
fn slices_of_windows_to_come_carry_a_region_over_a_partition_and_never_over_the_limit() {
    let closed = partition(0);
    let standing = partition(STANDING_WINDOWS);
    println!("window  fail_closed: region, all  regional_only: region, all   of 3,000");
    for ((one, one_here), (other, other_here)) in closed.iter().zip(&standing) {
        println!(
            "{:6}  {one_here:19}, {:5}  {other_here:21}, {:5}",
            one.label, one.admitted, other.admitted
        );
        assert!(one.admitted <= one.limit && other.admitted <= other.limit);
    }
    // The three windows for all of which the region is cut off.
    let cut = |windows: &[(Measured, u64)]| -> Vec<u64> {
        let begun = windows
            .iter()
            .filter(|(window, _)| (CUT.0 + 1..CUT.1).contains(&window.label));
        begun.map(|(_, here)| *here).collect()
    };
    assert_eq!(cut(&closed), [0, 0, 0]);
    // A third of half the limit.
    assert_eq!(cut(&standing), [500, 500, 500]);
    for windows in [&closed, &standing] {
        let mut after = windows
            .iter()
            .filter(|(window, _)| window.label > CUT.1)
            .peekable();
        assert!(after.peek().is_some());
        for (window, _) in after {
            assert!(window.used() >= 0.9, "{window:?}");
        }
    }
}

#[test]
fn a_monthly_quota_is_used_though_an_isolate_dies_every_minute() {
    const HOUR_MS: u64 = 3_600_000;
    const LIMIT: u64 = 60_000;
    // The last hour of a period of thirty days, in which all of it is asked for.
    let mut setup = Setup::measured(37, (3, 2), (LIMIT, 30 * 86_400_000), 1);
    setup.keyed = true;
    setup.cycle = Some(Cycle::Calendar(PeriodBody {
        cadence: Cadence::Fixed,
        period_ms: Some(30 * 86_400_000),
        anchor: Some((START_MS + HOUR_MS) as i64),
        offset_minutes: None,
        time_zone: None,
        week_starts_on: None,
    }));
    setup.deaths_ms = 60_000;
    setup.ends_after_ms = HOUR_MS;
    let demand = 1.2 * LIMIT as f64 * setup.window_ms as f64 / HOUR_MS as f64;
    setup = setup.asks_everywhere(None, 1, demand);
    let report = run(&setup);
    assert_eq!(report.truth.violation, None);
    let windows = report.truth.windows.values();
    let window = windows.max_by_key(|window| window.granted).unwrap();
    println!(
        "{} of {LIMIT} used, {} lost with {} isolates",
        window.admitted,
        window.stranded,
        HOUR_MS / setup.deaths_ms
    );
    assert!(window.admitted * 100 >= LIMIT * 99);
}
