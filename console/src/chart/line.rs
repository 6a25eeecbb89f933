//! Lines as paths. They are drawn in a box of [`WIDTH`] by [`HEIGHT`], which the browser stretches.

use std::fmt::Write;

use super::scale::{place, time_place};

/// Width of the box.
pub const WIDTH: f64 = 1_000.0;

/// Height of the box.
pub const HEIGHT: f64 = 100.0;

/// The path through the middles of intervals. It is interrupted where a value is not known; a value between two that are
/// not is a line as long as its interval.
pub fn path(points: &[(u64, Option<f64>)], span: (u64, u64), step_ms: u64, max: f64) -> String {
    let x = |at_ms: u64| time_place(at_ms, span) * WIDTH;
    let y = |value: f64| (1.0 - place(value, max)) * HEIGHT;
    let known = |index: usize| points.get(index).is_some_and(|point| point.1.is_some());
    let mut path = String::new();
    for (index, (at_ms, value)) in points.iter().enumerate() {
        let Some(value) = value else { continue };
        let before = index.checked_sub(1).is_some_and(known);
        let y = y(*value);
        if !before && !known(index + 1) {
            let _ = write!(path, "M{:.1} {y:.2}H{:.1}", x(*at_ms), x(at_ms + step_ms));
            continue;
        }
        let command = if before { 'L' } else { 'M' };
        let _ = write!(path, "{command}{:.1} {y:.2}", x(at_ms + step_ms / 2));
    }
    path
}

/// The path through values that are evenly spaced from edge to edge, on a scale of their own from 0.
///
/// ```
/// use weir_console::chart::line::spark;
/// assert_eq!(spark(&[0.0, 2.0, 1.0]), "M0.0 100.00L500.0 0.00L1000.0 50.00");
/// ```
pub fn spark(values: &[f64]) -> String {
    let max = values.iter().copied().filter(|value| value.is_finite());
    let max = max.fold(0.0, f64::max);
    let gaps = values.len().saturating_sub(1).max(1) as f64;
    let mut path = String::new();
    for (index, value) in values.iter().enumerate() {
        let x = index as f64 / gaps * WIDTH;
        let y = (1.0 - place(*value, max)) * HEIGHT;
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{command}{x:.1} {y:.2}");
    }
    if values.len() == 1 {
        let _ = write!(path, "H{WIDTH:.1}");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: (u64, u64) = (0, 400);

    #[test]
    fn a_line_goes_through_the_middles_of_its_intervals() {
        let points = [(0, Some(0.0)), (100, Some(10.0)), (200, Some(5.0))];
        assert_eq!(
            path(&points, SPAN, 100, 10.0),
            "M125.0 100.00L375.0 0.00L625.0 50.00"
        );
    }

    #[test]
    fn a_line_is_interrupted_where_nothing_is_known() {
        let points = [
            (0, Some(1.0)),
            (100, None),
            (200, Some(1.0)),
            (300, Some(0.0)),
        ];
        assert_eq!(
            path(&points, SPAN, 100, 1.0),
            "M0.0 0.00H250.0M625.0 0.00L875.0 100.00"
        );
        assert_eq!(path(&[(0, None)], SPAN, 100, 1.0), "");
        assert_eq!(path(&[], SPAN, 100, 1.0), "");
    }

    #[test]
    fn what_is_off_the_scale_stays_at_its_edge() {
        let points = [(0, Some(50.0)), (900, Some(f64::NAN))];
        assert_eq!(path(&points, SPAN, 100, 10.0), "M125.0 0.00L1000.0 100.00");
    }

    #[test]
    fn a_small_line_has_its_own_scale() {
        assert_eq!(spark(&[]), "");
        assert_eq!(spark(&[7.0]), "M0.0 0.00H1000.0");
        assert_eq!(spark(&[0.0, 0.0]), "M0.0 100.00L1000.0 100.00");
        assert_eq!(spark(&[f64::NAN, 1.0]), "M0.0 100.00L1000.0 0.00");
    }
}
