//! A policy beside another limiter: what differs, and the reason that is told.

use serde_json::{Value, json};
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::replay::agreement::{Agreement, Judged, Part, Reason};
use weir_shared::replay::{Entry, Replay};
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::replay::TraceEntry;

use super::AT;

fn document(limit: &Value) -> PolicyDocument {
    let document = json!({ "regions": ["weur"], "limits": { "calls": limit } });
    serde_json::from_value(document).unwrap()
}

fn gcra(limit: u64, burst: u64) -> Value {
    json!({ "limit": limit, "period_ms": 1_000, "burst": burst, "scope": "region" })
}

fn fixed(limit: u64, window_ms: u64) -> Value {
    json!({ "algorithm": "fixed_window", "limit": limit, "window_ms": window_ms, "scope": "region" })
}

/// Requests of three keys, 17 ms apart: each asks for some 20 a second.
fn trace() -> Vec<TraceEntry> {
    let request = |index: u64| TraceEntry {
        at: Some(AT + 17 * index),
        limit: Some("calls".to_owned()),
        key: Some(["a", "b", "c"][(index % 3) as usize].to_owned()),
        ..TraceEntry::default()
    };
    (0..1_200).map(request).collect()
}

/// What a limiter that decides by `old` would have said of a trace, as it saw it: `seen` is what it made of each request.
fn judged(old: &Value, seen: impl Fn(TraceEntry) -> TraceEntry) -> Vec<Judged> {
    let policy = Policy::try_from(&document(old)).unwrap();
    let mut other = Replay::new(&policy, &policy);
    let entries = |change: &dyn Fn(TraceEntry) -> TraceEntry| -> Vec<Entry> {
        let changed = trace().into_iter().map(change).collect();
        Replay::new(&policy, &policy).trace(changed).unwrap()
    };
    let (plain, seen) = (entries(&|entry| entry), entries(&seen));
    let mut admitted = 0;
    let judged = plain.into_iter().zip(seen).map(|(entry, seen)| {
        other.play(&seen);
        let told = other.told(seen.at, None);
        let sum: u128 = told
            .rows
            .iter()
            .map(|row| row.present.admitted_calls.0)
            .sum();
        let passes = sum > admitted;
        admitted = sum;
        Judged {
            entry,
            admitted: passes,
        }
    });
    judged.collect()
}

fn agreement(new: &Value, trace: &[Judged], clock_ms: u64) -> Agreement {
    let document = document(new);
    let policy = Policy::try_from(&document).unwrap();
    Agreement::of(&document, &policy, trace, clock_ms, &mut |_, _, _| {})
}

/// The reason that explains most, and that all differences are counted.
fn most(agreement: &Agreement) -> Option<Reason> {
    let reasons: OrderedMap<Reason, usize> = agreement.reasons();
    assert_eq!(reasons.values().sum::<usize>(), agreement.differences.len());
    assert_eq!(
        agreement.agreed() + agreement.differences.len(),
        agreement.requests
    );
    reasons
        .into_iter()
        .max_by_key(|(_, count)| *count)
        .map(|(reason, _)| reason)
}

#[test]
fn a_policy_agrees_in_full_with_itself() {
    for rule in [gcra(10, 5), fixed(7, 1_000)] {
        let trace = judged(&rule, |entry| entry);
        let told = agreement(&rule, &trace, 10);
        assert_eq!((told.percent(), told.differences), (100.0, Vec::new()));
        let denied = told.requests - told.admitted;
        assert!(
            denied > 300 && told.admitted > 300,
            "{denied} of {}",
            told.requests
        );
    }
    assert_eq!(agreement(&gcra(1, 1), &[], 10).percent(), 100.0);
}

#[test]
fn each_kind_of_difference_is_told_by_its_name() {
    // Each window begins half of its length earlier.
    let offset = judged(&fixed(7, 1_000), |entry| TraceEntry {
        at: entry.at.map(|at| at + 500),
        ..entry
    });
    assert_eq!(
        most(&agreement(&fixed(7, 1_000), &offset, 1)),
        Some(Reason::Boundary)
    );

    let larger = judged(&gcra(10, 6), |entry| entry);
    let told = agreement(&gcra(10, 5), &larger, 1);
    assert_eq!(most(&told), Some(Reason::Burst));
    assert!(
        told.differences[0].admitted,
        "the old one lets one more pass"
    );

    let together = judged(&gcra(10, 5), |entry| TraceEntry {
        key: Some("everybody".to_owned()),
        ..entry
    });
    assert_eq!(
        most(&agreement(&gcra(10, 5), &together, 1)),
        Some(Reason::Key)
    );

    // The old one's clock has a step of 50 ms.
    let coarse = judged(&gcra(10, 5), |entry| TraceEntry {
        at: entry.at.map(|at| at / 50 * 50),
        ..entry
    });
    assert_eq!(
        most(&agreement(&gcra(10, 5), &coarse, 50)),
        Some(Reason::Clock)
    );

    let rate = judged(&gcra(18, 5), |entry| entry);
    assert_eq!(
        most(&agreement(&gcra(10, 5), &rate, 1)),
        Some(Reason::Unexplained)
    );
}

#[test]
fn a_change_that_spoils_more_than_it_explains_is_no_reason() {
    // One verdict of many is wrong, in a trace that one key or another burst would get wrong by the hundred.
    let mut trace = judged(&gcra(10, 5), |entry| entry);
    let odd = 700;
    trace[odd].admitted = !trace[odd].admitted;
    let told = agreement(&gcra(10, 5), &trace, 1);
    assert_eq!(told.differences.len(), 1);
    assert_eq!(
        (told.differences[0].index, told.differences[0].reason),
        (odd, Reason::Unexplained)
    );
    assert_eq!(told.differences[0].admitted, trace[odd].admitted);
}

#[test]
fn a_shadow_s_denials_are_denials() {
    let trace = judged(&gcra(10, 5), |entry| entry);
    let mut shadow = gcra(10, 5);
    shadow["shadow"] = json!(true);
    assert_eq!(agreement(&shadow, &trace, 1).percent(), 100.0);
}

#[test]
fn what_is_played_is_told_to_the_end_first_for_verdicts_and_then_for_reasons() {
    let told = |new: &Value, trace: &[Judged], clock_ms| {
        let document = document(new);
        let policy = Policy::try_from(&document).unwrap();
        let mut told = Vec::new();
        let mut tell = |part, done, of| told.push((part, done, of));
        let _agreement = Agreement::of(&document, &policy, trace, clock_ms, &mut tell);
        told
    };
    let (own, all) = (judged(&gcra(10, 5), |entry| entry), 1_200);
    let verdicts = (Part::Verdicts, all, all);
    assert_eq!(told(&gcra(10, 5), &own, 10), [verdicts]);
    assert_eq!(told(&gcra(10, 5), &[], 10), []);
    // One unit more and one less, two kinds of keys, and the clock where it may be wrong.
    for (clock_ms, times) in [(1, 4), (10, 5)] {
        let reasons = (Part::Reasons, times * all, times * all);
        assert_eq!(told(&gcra(12, 5), &own, clock_ms), [verdicts, reasons]);
    }
    // Windows that begin at seven other instants as well.
    let steady = judged(&fixed(7, 1_000), |entry| entry).into_iter();
    let long: Vec<Judged> = steady.flat_map(|one| vec![one; 9]).collect();
    let told = told(&fixed(6, 1_000), &long, 1);
    let (verdicts, reasons): (Vec<_>, Vec<_>) = told
        .into_iter()
        .partition(|(part, _, _)| *part == Part::Verdicts);
    let done = |told: &[(Part, usize, usize)]| told.iter().map(|one| one.1).collect::<Vec<_>>();
    assert_eq!(done(&verdicts), [10_000, 10_800]);
    let steps = (1..=11).map(|step| step * 10_000).chain([118_800]);
    assert_eq!(done(&reasons), steps.collect::<Vec<_>>());
    assert!(reasons.iter().all(|(_, _, of)| *of == 11 * 10_800));
}
