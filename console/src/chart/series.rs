//! What a chart shows: values over time, or the parts of one amount.

use weir_shared::ordered::sort_by;

/// What a value is drawn in. Each has a colour, a pattern of dashes and a hatching, so that none is told by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A whole line, and plain.
    Blue,
    /// Long dashes.
    Orange,
    /// Dots.
    Green,
    /// Dashes and dots.
    Purple,
    /// Short dashes.
    Red,
    /// Thin dashes far apart.
    Grey,
}

impl Tone {
    /// All, in the order in which regions take them.
    pub const ALL: [Self; 6] = [
        Self::Blue,
        Self::Orange,
        Self::Green,
        Self::Purple,
        Self::Red,
        Self::Grey,
    ];
    /// What passed.
    pub const ADMITTED: Self = Self::Blue;
    /// What was refused.
    pub const DENIED: Self = Self::Red;
    /// What was shed.
    pub const SHED: Self = Self::Orange;
    /// What a shadow would have refused.
    pub const WOULD_DENY: Self = Self::Grey;
    /// What is used beyond that.
    pub const BORROWED: Self = Self::Purple;
    /// What is kept for somebody.
    pub const RESERVED: Self = Self::Orange;
    /// What anybody may still have.
    pub const FREE: Self = Self::Grey;

    /// The one of a place in a list, over and over.
    pub fn nth(index: usize) -> Self {
        Self::ALL[index % Self::ALL.len()]
    }

    /// The class that sets its colour.
    pub fn class(self) -> &'static str {
        self.words().0
    }

    /// Its name in ids.
    pub fn name(self) -> &'static str {
        &self.class()["tone-".len()..]
    }

    /// Its dashes, in pixels; none for a whole line.
    pub fn dashes(self) -> Option<&'static str> {
        self.words().1
    }

    /// The strokes across a tile of 6 by 6 pixels; none for a plain fill.
    pub fn hatching(self) -> Option<&'static str> {
        self.words().2
    }

    fn words(self) -> (&'static str, Option<&'static str>, Option<&'static str>) {
        match self {
            Self::Blue => ("tone-blue", None, None),
            Self::Orange => (
                "tone-orange",
                Some("8 3"),
                Some("M-1 7L7 -1M-1 1L1 -1M5 7L7 5"),
            ),
            Self::Green => ("tone-green", Some("2 3"), Some("M0 3H6")),
            Self::Purple => (
                "tone-purple",
                Some("8 3 2 3"),
                Some("M-1 -1L7 7M-1 5L1 7M5 -1L7 1"),
            ),
            Self::Red => ("tone-red", Some("4 3"), Some("M0 0L6 6M6 0L0 6")),
            Self::Grey => ("tone-grey", Some("3 6"), Some("M3 0V6")),
        }
    }
}

/// Values over time, one an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is of.
    pub name: String,
    /// What it is drawn in.
    pub tone: Tone,
    /// The starts of the intervals and their values, in the order of time; none where it is not known.
    pub points: Vec<(u64, Option<f64>)>,
}

impl Line {
    /// The value of the interval that begins at an instant.
    pub fn value_at(&self, at_ms: u64) -> Option<f64> {
        let place = self.points.binary_search_by_key(&at_ms, |point| point.0);
        place.ok().and_then(|place| self.points[place].1)
    }

    fn known(&self) -> impl Iterator<Item = f64> + '_ {
        self.points.iter().filter_map(|point| point.1)
    }
}

/// One part of an amount.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What it is.
    pub name: String,
    /// What it is drawn in.
    pub tone: Tone,
    /// How much it is.
    pub amount: f64,
}

/// Every interval of a span, with 0 where nothing was counted: servers leave those out.
///
/// ```
/// use weir_console::chart::series::filled;
/// let points = filled(0, 180, 60, &[(60, 5.0)]);
/// assert_eq!(points, [(0, Some(0.0)), (60, Some(5.0)), (120, Some(0.0))]);
/// ```
pub fn filled(
    from_ms: u64,
    to_ms: u64,
    step_ms: u64,
    counted: &[(u64, f64)],
) -> Vec<(u64, Option<f64>)> {
    let mut counted = counted.iter().copied().peekable();
    steps(from_ms, to_ms, step_ms)
        .into_iter()
        .map(|at_ms| {
            let mut sum = 0.0;
            while let Some((_, value)) = counted.next_if(|(at, _)| *at < at_ms + step_ms) {
                sum += value;
            }
            (at_ms, Some(sum))
        })
        .collect()
}

/// Intervals drawn at most: no screen has more pixels across.
const STEPS_DRAWN_MAX: u64 = 4_000;

/// The starts of the intervals of a span.
pub fn steps(from_ms: u64, to_ms: u64, step_ms: u64) -> Vec<u64> {
    if step_ms == 0 {
        return Vec::new();
    }
    let count = to_ms.saturating_sub(from_ms).div_ceil(step_ms);
    (0..count.min(STEPS_DRAWN_MAX))
        .map(|number| from_ms + number * step_ms)
        .collect()
}

/// The starts that any of the lines has a point at, in the order of time.
pub fn instants(lines: &[Line]) -> Vec<u64> {
    let mut instants: Vec<u64> = lines
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.0))
        .collect();
    sort_by(&mut instants, Ord::cmp);
    instants.dedup();
    instants
}

/// The largest value that is drawn: of the lines beside one another, or on top of one another.
pub fn largest(lines: &[Line], stacked: bool) -> f64 {
    if !stacked {
        return lines.iter().flat_map(Line::known).fold(0.0, f64::max);
    }
    instants(lines)
        .into_iter()
        .map(|at_ms| lines.iter().filter_map(|line| line.value_at(at_ms)).sum())
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_shared::ordered::OrderedSet;

    fn line(points: &[(u64, Option<f64>)]) -> Line {
        Line {
            name: "x".to_owned(),
            tone: Tone::Blue,
            points: points.to_vec(),
        }
    }

    #[test]
    fn no_two_tones_share_a_colour_a_dash_or_a_hatching() {
        let all = Tone::ALL;
        assert_eq!(
            all.map(Tone::class)
                .into_iter()
                .collect::<OrderedSet<_>>()
                .len(),
            6
        );
        assert_eq!(
            all.map(Tone::dashes)
                .into_iter()
                .collect::<OrderedSet<_>>()
                .len(),
            6
        );
        assert_eq!(
            all.map(Tone::hatching)
                .into_iter()
                .collect::<OrderedSet<_>>()
                .len(),
            6
        );
        assert_eq!(Tone::nth(7), Tone::Orange);
        assert_eq!(Tone::Purple.name(), "purple");
        let meanings = [Tone::ADMITTED, Tone::DENIED, Tone::SHED, Tone::WOULD_DENY];
        assert!(
            meanings
                .iter()
                .all(|tone| meanings.iter().filter(|other| *other == tone).count() == 1)
        );
    }

    #[test]
    fn intervals_that_were_left_out_are_zero_and_finer_ones_are_added_up() {
        let counted = [(100, 1.0), (130, 2.0), (220, 4.0)];
        assert_eq!(
            filled(100, 280, 60, &counted),
            [(100, Some(3.0)), (160, Some(0.0)), (220, Some(4.0))]
        );
        assert_eq!(filled(100, 100, 60, &counted), []);
        assert_eq!(filled(100, 101, 60, &[]), [(100, Some(0.0))]);
        assert_eq!(filled(0, u64::MAX, 0, &[]), []);
        assert_eq!(steps(0, u64::MAX, 1).len(), 4_000);
    }

    #[test]
    fn a_stack_is_as_high_as_what_is_on_top_of_one_another_at_one_time() {
        let lines = [
            line(&[(0, Some(3.0)), (60, None), (120, Some(5.0))]),
            line(&[(0, Some(4.0)), (60, Some(6.0))]),
        ];
        assert_eq!(largest(&lines, false), 6.0);
        assert_eq!(largest(&lines, true), 7.0);
        assert_eq!(largest(&[], true), 0.0);
        assert_eq!(instants(&lines), [0, 60, 120]);
        assert_eq!(lines[0].value_at(60), None);
        assert_eq!(lines[1].value_at(120), None);
    }
}
