//! Bars on top of one another, one stack an interval, and the parts of one bar beside one another.

use super::scale::{place, time_place};
use super::series::{Line, Part, instants};

/// A bar, in shares of the chart's width and height, from the left and from the top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// Which of the lines it is of.
    pub line: usize,
    /// Its left edge.
    pub x: f64,
    /// Its width.
    pub width: f64,
    /// Its upper edge.
    pub y: f64,
    /// Its height.
    pub height: f64,
}

/// What of an interval is left free between two bars.
const GAP: f64 = 0.15;

/// The stacks of all intervals; the first line is at the bottom.
pub fn stacked(lines: &[Line], span: (u64, u64), step_ms: u64, max: f64) -> Vec<Bar> {
    let mut bars = Vec::new();
    for at_ms in instants(lines) {
        let (left, right) = (time_place(at_ms, span), time_place(at_ms + step_ms, span));
        let width = (right - left) * (1.0 - GAP);
        let x = left + (right - left) * GAP / 2.0;
        let mut below = 0.0;
        for (line, of) in lines.iter().enumerate() {
            let value = of.value_at(at_ms).unwrap_or(0.0).max(0.0);
            let (bottom, top) = (place(below, max), place(below + value, max));
            below += value;
            if width > 0.0 && top > bottom {
                bars.push(Bar {
                    line,
                    x,
                    width,
                    y: 1.0 - top,
                    height: top - bottom,
                });
            }
        }
    }
    bars
}

/// Where each part begins in the whole and how much of it it takes, both in shares. Parts beyond the whole are cut off.
///
/// ```
/// use weir_console::chart::bars::side_by_side;
/// use weir_console::chart::series::{Part, Tone};
/// let part = |amount| Part { name: String::new(), tone: Tone::Blue, amount };
/// assert_eq!(side_by_side(&[part(1.0), part(2.0)], 4.0), [(0.0, 0.25), (0.25, 0.5)]);
/// ```
pub fn side_by_side(parts: &[Part], whole: f64) -> Vec<(f64, f64)> {
    let mut before = 0.0;
    let mut found = Vec::new();
    for part in parts {
        let start = place(before, whole);
        before += part.amount.max(0.0);
        found.push((start, place(before, whole) - start));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::series::Tone;
    use super::*;

    fn line(points: &[(u64, Option<f64>)]) -> Line {
        Line {
            name: "x".to_owned(),
            tone: Tone::Blue,
            points: points.to_vec(),
        }
    }

    #[test]
    fn bars_stand_on_one_another_and_touch() {
        let lines = [
            line(&[(0, Some(2.0)), (100, Some(1.0))]),
            line(&[(0, Some(6.0)), (100, None)]),
        ];
        let bars = stacked(&lines, (0, 200), 100, 8.0);
        assert_eq!(bars.len(), 3);
        let (low, high, alone) = (bars[0], bars[1], bars[2]);
        assert_eq!((low.line, low.y, low.height), (0, 0.75, 0.25));
        assert_eq!((high.line, high.y, high.height), (1, 0.0, 0.75));
        assert_eq!(low.x, high.x);
        assert!(low.x + low.width < 0.5 && alone.x > 0.5);
        assert_eq!((alone.line, alone.height), (0, 0.125));
    }

    #[test]
    fn nothing_is_drawn_of_nothing_and_nothing_outside() {
        let lines = [line(&[(0, Some(0.0)), (100, Some(-4.0)), (900, Some(3.0))])];
        assert_eq!(stacked(&lines, (0, 200), 100, 8.0), []);
        let lines = [line(&[(0, Some(90.0))]), line(&[(0, Some(5.0))])];
        let bars = stacked(&lines, (0, 100), 100, 8.0);
        assert_eq!(bars.len(), 1);
        assert_eq!((bars[0].y, bars[0].height), (0.0, 1.0));
    }

    #[test]
    fn parts_beyond_the_whole_are_cut_off() {
        let part = |amount| Part {
            name: String::new(),
            tone: Tone::Blue,
            amount,
        };
        let parts = [part(3.0), part(-1.0), part(9.0), part(1.0)];
        let found = side_by_side(&parts, 4.0);
        assert_eq!(found, [(0.0, 0.75), (0.75, 0.0), (0.75, 0.25), (1.0, 0.0)]);
        assert_eq!(side_by_side(&[part(1.0)], 0.0), [(0.0, 0.0)]);
    }
}
