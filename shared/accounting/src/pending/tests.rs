//! What a frame takes, what the next one brings, and what a tenant claims.

use weir_decision::Reason;

use super::*;
use crate::counters::Charged;

fn window() -> InWindow<'static> {
    InWindow {
        budget: "tokens",
        label: WindowLabel(3),
        limit: 100,
        ends_at: EpochMs(60_000),
        claim: WindowClaim::default(),
    }
}

fn claimed(weight_micros: u64, floor: u64, ceiling: Option<u64>) -> TenantPart {
    TenantPart {
        weight_micros,
        floor,
        ceiling,
        ..TenantPart::default()
    }
}

#[test]
fn a_tenant_has_the_greatest_claim_that_was_heard_and_one_that_claims_nothing_says_nothing_of_it() {
    let (bounded, wider) = (claimed(1, 2, Some(30)), claimed(3, 1, Some(40)));
    let (free, silent) = (claimed(2, 0, None), claimed(0, 0, None));
    for (one, other, sum) in [
        (bounded, wider, claimed(3, 2, Some(40))),
        (bounded, free, claimed(2, 2, None)),
        (bounded, silent, bounded),
        (free, silent, free),
        (silent, silent, silent),
    ] {
        for (mut one, other) in [(one, other), (other, one)] {
            one.add(&other);
            assert_eq!(one, sum, "{other:?}");
        }
    }
}

#[test]
fn a_tenant_is_known_when_any_part_says_so() {
    for (one, other, sum) in [
        (false, false, false),
        (true, false, true),
        (false, true, true),
        (true, true, true),
    ] {
        let part = |known| TenantPart {
            known,
            ..TenantPart::default()
        };
        let mut all = part(one);
        all.add(&part(other));
        assert_eq!(all.known, sum);
    }
}

#[test]
fn what_another_told_goes_with_the_next_frame_whatever_it_is() {
    let mut other = Pending::default();
    let window = window();
    let decided = Decided {
        tenant: "acme",
        known: true,
        charged: Charged::Budget("tokens"),
        reason: Reason::Admitted,
        units: 5,
    };
    let until = EpochMs(60_000);
    other.count(&decided, Some(&window));
    other.enter(&decided, Entry::Reservation { until }, Some(&window));
    other.show(|| DecisionSample {
        at: EpochMs(7),
        tenant: None,
        allowed: true,
        binding: "tokens".to_owned(),
        reason: Reason::Admitted,
        would_deny: false,
        decision: None,
    });
    other.used(&Usage {
        region_calls: Count(3),
        ..Usage::default()
    });
    other.observed(&Telemetry {
        failed_writes: Count(2),
        ..Telemetry::default()
    });
    let (mut told, mut passed_on) = (FrameBody::default(), FrameBody::default());
    other.fill(&mut told);
    let mut pending = Pending::default();
    pending.merge(&told);
    pending.fill(&mut passed_on);
    assert_eq!(passed_on, told);
    assert_eq!(told.counters["acme"].total().admitted_units, Count(5));
    let held = &told.reservations[&until]["acme"];
    assert_eq!(held.budgets["tokens"].reserved_units, Count(5));
    assert_eq!(told.windows["tokens"].len(), 1);
    assert_eq!((told.samples.len(), told.usage.region_calls), (1, Count(3)));
    assert_eq!(told.telemetry.failed_writes, Count(2));
    assert!(pending.is_empty());
}

#[test]
fn units_that_lapsed_are_told_of_their_window_once_and_tenants_of_one_window_over_several_frames() {
    let tenants = FRAME_TENANTS_MAX + 3;
    let mut pending = Pending::default();
    let window = window();
    let names: Vec<_> = (0..tenants).map(|number| format!("t{number:04}")).collect();
    for name in &names {
        let part = TenantPart {
            known: true,
            admitted: Count(1),
            ..TenantPart::default()
        };
        pending.tenant_part(&window, name, &part, None);
    }
    pending.lapsed("tokens", window.label, 40);
    pending.lapsed("tokens", window.label, 2);
    let mut told = Vec::new();
    let mut lapsed = Vec::new();
    while !pending.is_empty() {
        let mut frame = FrameBody::default();
        pending.fill(&mut frame);
        let part = frame.windows["tokens"][&window.label].clone();
        assert!(part.tenants.len() <= FRAME_TENANTS_MAX);
        assert_eq!((part.limit, part.ends_at), (100, window.ends_at));
        lapsed.push(part.lapsed.0);
        told.extend(part.tenants.into_keys());
    }
    assert_eq!(told, names, "each once");
    assert_eq!(lapsed, [42, 0]);
}

/// The greatest claim that there can be.
fn large(name: &str) -> AboveInWindow<'_> {
    AboveInWindow {
        name,
        weight_micros: 1_000_000_000_000,
        floor: u64::MAX,
        floor_by_name: true,
        ceiling: Some(u64::MAX),
        floors: u64::MAX,
    }
}

#[test]
fn a_frame_tells_of_those_above_its_own_tenants_and_stays_below_two_megabytes() {
    let name = |kind: char, number: usize| format!("\"\\\"\\{kind}{number:0123}");
    let mut pending = Pending::default();
    let tenants = FRAME_TENANTS_MAX + 500;
    for number in 0..tenants {
        let above = ['b', 'c', 'd'].map(|kind| name(kind, number));
        let claim = WindowClaim {
            weight_micros: 1_000_000_000_000,
            floor: u64::MAX,
            floor_by_name: true,
            ceiling: Some(u64::MAX),
            above: above.iter().map(|name| large(name)).collect(),
            ..WindowClaim::default()
        };
        let part = TenantPart {
            known: true,
            admitted: Count(999_999_999_999_999_999),
            denied: Count(999_999_999_999_999_999),
            ..claim.of_tenant()
        };
        let window = InWindow { claim, ..window() };
        pending.tenant_part(&window, &name('a', number), &part, None);
    }
    let mut told = 0;
    while !pending.is_empty() {
        let mut frame = FrameBody::default();
        pending.fill(&mut frame);
        let bytes = serde_json::to_string(&frame).unwrap().len();
        assert!(bytes < 2_000_000, "{bytes} bytes");
        for part in frame.windows.values().flat_map(OrderedMap::values) {
            assert!(!part.tenants.is_empty());
            assert_eq!(part.tree.len(), 4 * part.tenants.len());
            told += part.tenants.len();
        }
    }
    assert_eq!(told, tenants);
}

#[test]
fn who_is_above_others_is_told_of_once_a_frame_and_a_circle_ends() {
    let mut pending = Pending::default();
    for (tenant, above) in [("x", "c"), ("y", "c"), ("c", "x")] {
        let claim = WindowClaim {
            above: vec![AboveInWindow {
                name: above,
                weight_micros: 1,
                ..AboveInWindow::default()
            }],
            ..WindowClaim::default()
        };
        let window = InWindow { claim, ..window() };
        pending.tenant_part(&window, tenant, &claimed(1, 0, None), None);
    }
    let mut frame = FrameBody::default();
    pending.fill(&mut frame);
    let part = &frame.windows["tokens"][&WindowLabel(3)];
    let names: Vec<&str> = part.tree.keys().map(String::as_str).collect();
    assert_eq!(names, ["c", "x", "y"]);
    assert!(pending.is_empty());
}
