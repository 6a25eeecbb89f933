//! What a tenant was counted for, over time: the intervals of an answer, with those in which nothing was counted.

use weir_shared::wire::operator::series::SeriesView;

use crate::what::{Seen, What, counted_at, seen};

/// One interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Its start, epoch milliseconds.
    pub at_ms: u64,
    /// What was counted in it.
    pub seen: Seen,
}

/// The most intervals that are filled in: more than the server answers.
const INTERVALS_MAX: u64 = 5_000;

/// Every interval of the answer, in the order of time. Those that the answer leaves out are zero.
pub fn intervals(view: &SeriesView, what: &What) -> Vec<Interval> {
    let step_ms = view.step_ms.max(1);
    let span_ms = view.to.0.saturating_sub(view.from.0);
    let count = (span_ms / step_ms).min(INTERVALS_MAX);
    let mut points = view.points.iter().peekable();
    let mut intervals = Vec::new();
    for index in 0..count {
        let at_ms = view.from.0 + index * step_ms;
        while points.next_if(|point| point.at.0 < at_ms).is_some() {}
        let here = points.next_if(|point| point.at.0 == at_ms);
        let seen = here.map(|point| seen(&point.counters, what));
        intervals.push(Interval {
            at_ms,
            seen: seen.unwrap_or_default(),
        });
    }
    intervals
}

/// The sum over the intervals.
pub fn sum(intervals: &[Interval]) -> Seen {
    let mut sum = Seen::default();
    for Interval { seen, .. } in intervals {
        sum.admitted_calls += seen.admitted_calls;
        sum.admitted_units += seen.admitted_units;
        sum.denied_calls += seen.denied_calls;
        sum.denied_units += seen.denied_units;
        sum.for_want_of_a_slot += seen.for_want_of_a_slot;
        sum.would_deny_calls += seen.would_deny_calls;
        sum.would_deny_units += seen.would_deny_units;
        sum.borrowed_units += seen.borrowed_units;
    }
    sum
}

/// Units of an interval as a rate.
pub fn per_s(units: u128, step_ms: u64) -> f64 {
    units as f64 * 1_000.0 / step_ms.max(1) as f64
}

/// The newest interval in which something was denied, and what denied most in it.
pub fn last_denial(view: &SeriesView) -> Option<(What, Interval)> {
    view.points.iter().rev().find_map(|point| {
        let each = counted_at(&point.counters).into_iter();
        let denied = each.map(|what| (seen(&point.counters, &what), what));
        let most =
            denied
                .filter(|(seen, _)| seen.denied_calls > 0)
                .max_by(|(one, a), (other, b)| {
                    let by_calls = one.denied_calls.cmp(&other.denied_calls);
                    by_calls.then_with(|| b.cmp(a))
                });
        let (seen, what) = most?;
        let at_ms = point.at.0;
        Some((what, Interval { at_ms, seen }))
    })
}

/// What was counted most, by calls; what a page about nothing in particular shows first.
pub fn busiest(view: &SeriesView) -> Option<What> {
    let mut calls: weir_shared::ordered::OrderedMap<What, u128> =
        weir_shared::ordered::OrderedMap::new();
    for point in &view.points {
        for what in counted_at(&point.counters) {
            let seen = seen(&point.counters, &what);
            *calls.entry(what).or_default() += seen.admitted_calls + seen.denied_calls;
        }
    }
    let most = calls
        .into_iter()
        .max_by(|(a, one), (b, other)| one.cmp(other).then_with(|| b.cmp(a)));
    most.map(|(what, _)| what)
}

/// The newest interval in which `what` denied something.
pub fn last_denial_at(view: &SeriesView, what: &What) -> Option<Interval> {
    let mut newest = view.points.iter().rev();
    newest.find_map(|point| {
        let seen = seen(&point.counters, what);
        let at_ms = point.at.0;
        (seen.denied_calls > 0).then_some(Interval { at_ms, seen })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::what::Kind;

    fn recorded(points: serde_json::Value) -> SeriesView {
        serde_json::from_value(json!({
            "from": 0, "to": 300_000, "step_ms": 60_000, "tenant": "a", "unreachable": [], "points": points,
        }))
        .unwrap()
    }

    fn tally(admitted: u64, denied: u64) -> serde_json::Value {
        json!({
            "admitted_calls": admitted, "admitted_units": admitted * 10,
            "denied_calls": denied, "denied_units": denied * 10,
        })
    }

    fn tokens() -> What {
        What::new(Kind::Budget, "tokens")
    }

    #[test]
    fn intervals_that_were_left_out_are_zero_and_in_their_place() {
        let view = recorded(json!([
            { "at": 60_000, "budgets": { "tokens": tally(1, 2) } },
            { "at": 240_000, "budgets": { "tokens": tally(3, 0), "other": tally(9, 9) } },
        ]));
        let intervals = intervals(&view, &tokens());
        let got: Vec<_> = intervals
            .iter()
            .map(|one| (one.at_ms, one.seen.admitted_units, one.seen.denied_calls))
            .collect();
        assert_eq!(
            got,
            [
                (0, 0, 0),
                (60_000, 10, 2),
                (120_000, 0, 0),
                (180_000, 0, 0),
                (240_000, 30, 0)
            ]
        );
        let sum = sum(&intervals);
        assert_eq!((sum.admitted_units, sum.denied_calls), (40, 2));
        assert_eq!(per_s(120, 60_000), 2.0);
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_no_end_of_intervals() {
        let mut view = recorded(json!([]));
        view.step_ms = 0;
        view.to.0 = u64::MAX;
        assert_eq!(intervals(&view, &tokens()).len(), 5_000);
    }

    #[test]
    fn the_last_denial_is_the_newest_one_and_of_what_denied_most() {
        let quiet = json!({ "at": 240_000, "budgets": { "tokens": tally(5, 0) } });
        let busy = json!({
            "at": 180_000, "budgets": { "tokens": tally(5, 2) }, "limits": { "per_ip": tally(0, 7) },
        });
        let view =
            recorded(json!([{ "at": 0, "budgets": { "tokens": tally(0, 50) } }, busy, quiet]));
        let (what, interval) = last_denial(&view).unwrap();
        assert_eq!(
            (what, interval.at_ms),
            (What::new(Kind::Limit, "per_ip"), 180_000)
        );
        let tokens_denied = last_denial_at(&view, &tokens()).unwrap();
        assert_eq!(
            (tokens_denied.at_ms, tokens_denied.seen.denied_calls),
            (180_000, 2)
        );
        assert_eq!(busiest(&view), Some(tokens()));
    }

    #[test]
    fn without_a_denial_there_is_none() {
        let view = recorded(json!([{ "at": 0, "budgets": { "tokens": tally(5, 0) } }]));
        assert_eq!(last_denial(&view), None);
        assert_eq!(last_denial_at(&view, &tokens()), None);
        assert_eq!(busiest(&recorded(json!([]))), None);
    }
}
