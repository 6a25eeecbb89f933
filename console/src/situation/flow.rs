//! What went through over time, by outcome: calls of everything, or units of one thing beside its limit.

use weir_shared::wire::operator::series::{SeriesPoint, SeriesView};
use weir_shared::wire::policy::{BudgetBody, Scope};

use crate::chart::series::{Line, Tone, filled};
use crate::live::rates::RatePoint;
use crate::what::{Kind, What, seen};

/// One outcome: what it is called, what it is drawn in, and how much of it there was.
struct OutcomeLine<T> {
    name: &'static str,
    tone: Tone,
    of: fn(&T) -> f64,
}

/// Calls a second of everything, a line an outcome. Of the interval under way at `now_ms` the rate is of what is over of
/// it.
///
/// What is shed has a line only where anything was, as has what a shadow would have denied.
pub fn calls(view: &SeriesView, now_ms: u64) -> Vec<Line> {
    let point = |point: &SeriesPoint| {
        let mut sum = RatePoint::default();
        sum.count(&point.counters);
        sum
    };
    lines(
        view,
        As::Rate { now_ms },
        point,
        &[
            OutcomeLine {
                name: "Admitted",
                tone: Tone::ADMITTED,
                of: |sum| sum.admitted as f64,
            },
            OutcomeLine {
                name: "Denied",
                tone: Tone::DENIED,
                of: |sum| sum.denied as f64,
            },
            OutcomeLine {
                name: "Would deny",
                tone: Tone::WOULD_DENY,
                of: |sum| sum.would_deny as f64,
            },
            OutcomeLine {
                name: "Shed",
                tone: Tone::SHED,
                of: |sum| sum.shed as f64,
            },
        ],
    )
}

/// Units a second of one thing, a line an outcome; of a guard calls.
pub fn units(view: &SeriesView, what: &What, now_ms: u64) -> Vec<Line> {
    units_as(view, what, As::Rate { now_ms })
}

/// Units of one thing in each interval, a line an outcome; of a guard calls.
pub fn counted(view: &SeriesView, what: &What) -> Vec<Line> {
    units_as(view, what, As::Counted)
}

fn units_as(view: &SeriesView, what: &What, shown: As) -> Vec<Line> {
    let sheds = matches!(what.kind, Kind::Meter | Kind::Overload);
    let (name, tone) = if sheds {
        ("Shed", Tone::SHED)
    } else {
        ("Denied", Tone::DENIED)
    };
    let read = |point: &SeriesPoint| seen(&point.counters, what);
    lines(
        view,
        shown,
        read,
        &[
            OutcomeLine {
                name: "Admitted",
                tone: Tone::ADMITTED,
                of: |seen| seen.admitted_units as f64,
            },
            OutcomeLine {
                name,
                tone,
                of: |seen| seen.denied_units as f64,
            },
            OutcomeLine {
                name: "Would deny",
                tone: Tone::WOULD_DENY,
                of: |seen| seen.would_deny_units as f64,
            },
        ],
    )
}

/// How what was counted in an interval is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum As {
    /// As it is.
    Counted,
    /// A second; of the interval under way, of what is over of it.
    Rate { now_ms: u64 },
}

/// So little of an interval says nothing of its rate.
const LEAST_MS: u64 = 5_000;

/// What was counted within a time, as a rate; none of a time that is too short.
fn per_s(counted: f64, over_ms: u64) -> Option<f64> {
    (over_ms >= LEAST_MS).then(|| counted * 1_000.0 / over_ms as f64)
}

/// Outcomes that stand in the chart though nothing came out so: what passed, and what was refused.
const ALWAYS: usize = 2;

fn lines<T>(
    view: &SeriesView,
    shown: As,
    read: impl Fn(&SeriesPoint) -> T,
    outcomes: &[OutcomeLine<T>],
) -> Vec<Line> {
    let step_ms = view.step_ms.max(1);
    let counted: Vec<(u64, T)> = view
        .points
        .iter()
        .map(|point| (point.at.0, read(point)))
        .collect();
    let line = |outcome: &OutcomeLine<T>| {
        let values: Vec<(u64, f64)> = counted
            .iter()
            .map(|(at_ms, counted)| (*at_ms, (outcome.of)(counted)))
            .collect();
        let mut points = filled(view.from.0, view.to.0, step_ms, &values);
        if let As::Rate { now_ms } = shown {
            for (at_ms, value) in &mut points {
                let over_ms = now_ms.saturating_sub(*at_ms).min(step_ms);
                *value = value.and_then(|value| per_s(value, over_ms));
            }
        }
        Line {
            name: outcome.name.to_owned(),
            tone: outcome.tone,
            points,
        }
    };
    let happened = |(place, line): &(usize, Line)| {
        *place < ALWAYS || line.points.iter().any(|point| point.1 > Some(0.0))
    };
    let each = outcomes.iter().map(line).enumerate();
    each.filter(happened).map(|(_, line)| line).collect()
}

/// Units a second that a budget has in all: of windows of regions' own, those of all regions; none where each isolate has
/// windows of its own.
///
/// ```
/// use weir_console::situation::flow::limit_per_s;
/// use weir_shared::wire::policy::{BudgetBody, Scope};
/// let body = BudgetBody {
///     limit: Some(60), window_ms: Some(5_000), scope: Some(Scope::Global), ..BudgetBody::default()
/// };
/// assert_eq!(limit_per_s(&body, 3), Some(12.0)); // 60 units / 5 s
/// ```
pub fn limit_per_s(body: &BudgetBody, regions: usize) -> Option<f64> {
    let (limit, window_ms) = (body.limit? as f64, body.window_ms.filter(|ms| *ms > 0)?);
    let windows = match body.scope? {
        Scope::Global => 1,
        Scope::Region => regions,
        Scope::Isolate => return None,
    };
    Some(limit * windows as f64 * 1_000.0 / window_ms as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// When all intervals are over.
    const LATER_MS: u64 = 180_000;

    fn view(points: Value) -> SeriesView {
        serde_json::from_value(json!({
            "from": 0, "to": 180_000, "step_ms": 60_000, "tenant": null, "unreachable": [], "points": points,
        }))
        .unwrap()
    }

    fn told(lines: &[Line]) -> Vec<(&str, Vec<f64>)> {
        let values = |line: &Line| line.points.iter().map(|point| point.1.unwrap()).collect();
        lines
            .iter()
            .map(|line| (line.name.as_str(), values(line)))
            .collect()
    }

    #[test]
    fn calls_of_everything_stand_by_outcome_and_a_shadow_is_no_denial() {
        let view = view(json!([
            {"at": 60_000,
             "budgets": {"tokens": {"admitted_calls": 60, "denied_calls": 120, "would_deny_calls": 30}},
             "meters": {"bytes": {"admitted_calls": 60, "shed_calls": 6}}},
        ]));
        let lines = calls(&view, LATER_MS);
        assert_eq!(
            told(&lines),
            [
                ("Admitted", vec![0.0, 2.0, 0.0]),
                ("Denied", vec![0.0, 2.0, 0.0]),
                ("Would deny", vec![0.0, 0.5, 0.0]),
                ("Shed", vec![0.0, 0.1, 0.0]),
            ]
        );
        let tones: weir_shared::ordered::OrderedSet<_> =
            lines.iter().map(|line| line.tone.class()).collect();
        assert_eq!(tones.len(), 4);
    }

    #[test]
    fn what_never_happened_has_no_line_but_for_what_passed_and_what_was_refused() {
        let quiet = view(json!([]));
        assert_eq!(told(&calls(&quiet, LATER_MS)).len(), 2);
        let what = What::new(Kind::Meter, "bytes");
        let names: Vec<_> = units(&quiet, &what, LATER_MS)
            .into_iter()
            .map(|line| line.name)
            .collect();
        assert_eq!(names, ["Admitted", "Shed"]);
    }

    #[test]
    fn units_are_of_one_thing_alone() {
        let view = view(json!([
            {"at": 0, "budgets": {"tokens": {"admitted_units": 600, "denied_units": 60, "would_deny_units": 6},
                                  "other": {"admitted_units": 9_000}}},
        ]));
        let lines = units(&view, &What::new(Kind::Budget, "tokens"), LATER_MS);
        assert_eq!(
            told(&lines),
            [
                ("Admitted", vec![10.0, 0.0, 0.0]),
                ("Denied", vec![1.0, 0.0, 0.0]),
                ("Would deny", vec![0.1, 0.0, 0.0]),
            ]
        );
    }

    #[test]
    fn what_was_counted_of_one_thing_is_told_as_it_is() {
        let view = view(json!([
            {"at": 120_000, "budgets": {"tokens": {"admitted_units": 600, "denied_units": 60}}},
        ]));
        let lines = counted(&view, &What::new(Kind::Budget, "tokens"));
        assert_eq!(
            told(&lines),
            [
                ("Admitted", vec![0.0, 0.0, 600.0]),
                ("Denied", vec![0.0, 0.0, 60.0]),
            ]
        );
    }

    #[test]
    fn the_interval_under_way_counts_over_the_time_that_is_over_of_it() {
        let view = view(json!([
            {"at": 60_000, "budgets": {"tokens": {"admitted_calls": 60}}},
            {"at": 120_000, "budgets": {"tokens": {"admitted_calls": 60}}},
        ]));
        let admitted = |now_ms| {
            let line = calls(&view, now_ms).swap_remove(0);
            line.points.iter().map(|point| point.1).collect::<Vec<_>>()
        };
        assert_eq!(admitted(150_000), [Some(0.0), Some(1.0), Some(2.0)]);
        assert_eq!(
            admitted(124_999),
            [Some(0.0), Some(1.0), None],
            "too little to say"
        );
    }

    #[test]
    fn limits_are_of_all_windows_that_are_open_at_once() {
        let body = |scope| BudgetBody {
            limit: Some(100),
            window_ms: Some(10_000),
            scope: Some(scope),
            ..BudgetBody::default()
        };
        assert_eq!(limit_per_s(&body(Scope::Global), 3), Some(10.0));
        assert_eq!(limit_per_s(&body(Scope::Region), 3), Some(30.0));
        assert_eq!(limit_per_s(&body(Scope::Isolate), 3), None);
        assert_eq!(limit_per_s(&BudgetBody::default(), 3), None);
    }
}
