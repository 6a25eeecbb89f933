//! What a budget was over time, as charts show it.

use weir_shared::ordered::sort_by_key;
use weir_shared::wire::operator::series::SeriesView;
use weir_shared::wire::policy::{BudgetBody, Scope};
use weir_shared::wire::windows::WindowRecord;

use crate::chart::series::{Line, Tone, filled};

/// Units admitted and denied by interval.
pub fn units(view: &SeriesView, budget: &str) -> Vec<Line> {
    let (from, to) = (view.from.0, view.to.0);
    let line = |name: &str, tone, of: fn(&weir_shared::wire::accounting::Tally) -> u128| {
        let points = view.points.iter();
        let counted: Vec<(u64, f64)> = points
            .filter_map(|point| {
                let tally = point.counters.budgets.get(budget)?;
                Some((point.at.0, of(tally) as f64))
            })
            .collect();
        Line {
            name: name.to_owned(),
            tone,
            points: filled(from, to, view.step_ms, &counted),
        }
    };
    if view.points.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        line("Admitted", Tone::ADMITTED, |tally| tally.admitted_units.0),
        line("Denied", Tone::DENIED, |tally| tally.denied_units.0),
    ];
    let would_deny = line("Would deny", Tone::WOULD_DENY, |tally| {
        tally.would_deny_units.0
    });
    if would_deny.points.iter().any(|point| point.1 > Some(0.0)) {
        lines.push(would_deny);
    }
    lines
}

/// Jain's index of windows that began in a span, oldest first; of several regions one line each.
pub fn jain(records: &[WindowRecord], window_ms: u64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for record in records.iter().rev() {
        let Some(jain) = record.jain else { continue };
        let name = record.region.as_deref().unwrap_or("all tenants");
        let place = lines.iter().position(|line| line.name == name);
        let place = place.unwrap_or_else(|| {
            lines.push(Line {
                name: name.to_owned(),
                tone: Tone::nth(lines.len()),
                points: Vec::new(),
            });
            lines.len() - 1
        });
        let at = record.ends_at.0.saturating_sub(window_ms);
        lines[place].points.push((at, Some(jain.0)));
    }
    for line in &mut lines {
        sort_by_key(&mut line.points, |point| point.0);
        line.points.dedup_by_key(|point| point.0);
    }
    lines
}

/// Units that there are in an interval; none where regions have windows of their own, and in intervals that are no whole
/// number of windows.
pub fn limit_of_interval(body: &BudgetBody, step_ms: u64) -> Option<f64> {
    let (limit, window_ms) = (body.limit?, body.window_ms?);
    let whole = window_ms > 0 && step_ms >= window_ms && step_ms.is_multiple_of(window_ms);
    (whole && body.scope == Some(Scope::Global))
        .then(|| limit as f64 * (step_ms / window_ms) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn intervals_in_which_nothing_was_counted_are_zero() {
        let view: SeriesView = serde_json::from_value(json!({
            "from": 0, "to": 180, "step_ms": 60, "tenant": null, "unreachable": [],
            "points": [
                {"at": 60, "budgets": {"tokens": {"admitted_units": 5, "denied_units": 2}, "other": {"admitted_units": 9}}},
                {"at": 120, "budgets": {"other": {"admitted_units": 9}}},
            ],
        }))
        .unwrap();
        let lines = units(&view, "tokens");
        assert_eq!(
            lines[0].points,
            [(0, Some(0.0)), (60, Some(5.0)), (120, Some(0.0))]
        );
        assert_eq!(lines[1].points[1], (60, Some(2.0)));
        let empty = SeriesView {
            points: Vec::new(),
            ..view
        };
        assert!(units(&empty, "tokens").is_empty());
    }

    #[test]
    fn fairness_is_a_line_a_region_in_the_order_of_time() {
        let record = |region: Option<&str>, ends_at: u64, jain: Option<f64>| -> WindowRecord {
            serde_json::from_value(json!({
                "budget": "tokens", "region": region, "label": 7, "ends_at": ends_at, "limit": 100,
                "complete": true, "granted": 1, "admitted": 0, "returned": 0, "unaccounted": 0, "exact": true,
                "denied": 0, "jain": jain, "tenants_seen": 0, "tenants": [],
            }))
            .unwrap()
        };
        let records = [
            record(None, 180, Some(0.5)),
            record(None, 120, None),
            record(None, 60, Some(1.0)),
        ];
        let lines = jain(&records, 60);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].points, [(0, Some(1.0)), (120, Some(0.5))]);
        let regional = [
            record(Some("weur"), 60, Some(1.0)),
            record(Some("enam"), 60, Some(0.9)),
        ];
        let names: Vec<String> = jain(&regional, 60)
            .into_iter()
            .map(|line| line.name)
            .collect();
        assert_eq!(names, ["enam", "weur"]);
    }

    #[test]
    fn a_limit_is_drawn_where_intervals_are_whole_windows() {
        let body = |window_ms, scope| BudgetBody {
            limit: Some(100),
            window_ms: Some(window_ms),
            scope: Some(scope),
            ..BudgetBody::default()
        };
        assert_eq!(
            limit_of_interval(&body(60_000, Scope::Global), 60_000),
            Some(100.0)
        );
        assert_eq!(
            limit_of_interval(&body(1_000, Scope::Global), 60_000),
            Some(6_000.0)
        );
        assert_eq!(
            limit_of_interval(&body(120_000, Scope::Global), 60_000),
            None
        );
        assert_eq!(
            limit_of_interval(&body(45_000, Scope::Global), 60_000),
            None
        );
        assert_eq!(
            limit_of_interval(&body(60_000, Scope::Region), 60_000),
            None
        );
        assert_eq!(limit_of_interval(&BudgetBody::default(), 60_000), None);
    }
}
