//! Which rows of a long table are on the page: those in the viewport and a few on both sides. The rest is empty space,
//! as high as the rows would be.

use std::ops::Range;

/// No element higher than this is laid out alike by every browser; a longer list scrolls in proportion.
pub const HEIGHT_PX_MAX: f64 = 8_000_000.0;

/// A table of rows of one height, seen through a viewport.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VirtualRows {
    /// Rows in all.
    pub total: usize,
    /// Height of each.
    pub row_px: f64,
    /// Height of the viewport.
    pub viewport_px: f64,
    /// Rows that are kept on either side of the viewport.
    pub overscan: usize,
}

/// The rows that are on the page, and where the first of them lies.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// The rows.
    pub rows: Range<usize>,
    /// Empty space above them.
    pub top_px: f64,
    /// Empty space below them.
    pub bottom_px: f64,
}

impl VirtualRows {
    /// The height of the whole.
    pub fn height_px(&self) -> f64 {
        self.full_px().min(HEIGHT_PX_MAX)
    }

    fn full_px(&self) -> f64 {
        self.total as f64 * self.row_px
    }

    /// How far the rows move for each pixel that is scrolled: 1 unless there are too many of them.
    fn ratio(&self) -> f64 {
        let room_px = self.height_px() - self.viewport_px;
        if room_px <= 0.0 {
            return 1.0;
        }
        ((self.full_px() - self.viewport_px) / room_px).max(1.0)
    }

    /// What is on the page when it is scrolled so far.
    ///
    /// ```
    /// use weir_console::features::tenants::model::virtual_rows::VirtualRows;
    /// let rows = VirtualRows { total: 10_000, row_px: 30.0, viewport_px: 300.0, overscan: 5 };
    /// let slice = rows.slice(3_000.0);
    /// assert_eq!((slice.rows, slice.top_px), (95..116, 2_850.0));
    /// ```
    pub fn slice(&self, scroll_px: f64) -> Slice {
        let most_px = (self.height_px() - self.viewport_px).max(0.0);
        let scroll_px = if scroll_px.is_finite() {
            scroll_px.clamp(0.0, most_px)
        } else {
            0.0
        };
        let at_px = scroll_px * self.ratio();
        let first = (at_px / self.row_px) as usize;
        let shown = (self.viewport_px / self.row_px).ceil() as usize + 1;
        let start = first.saturating_sub(self.overscan).min(self.total);
        let end = first
            .saturating_add(shown)
            .saturating_add(self.overscan)
            .min(self.total);
        let top_px = scroll_px - (at_px - start as f64 * self.row_px);
        let rows_px = (end - start) as f64 * self.row_px;
        Slice {
            rows: start..end,
            top_px: top_px.max(0.0),
            bottom_px: (self.height_px() - top_px - rows_px).max(0.0),
        }
    }

    /// How far to scroll so that a row is in the viewport; `None` where it is in it already.
    pub fn reveal(&self, row: usize, scroll_px: f64) -> Option<f64> {
        let ratio = self.ratio();
        let top_px = row as f64 * self.row_px;
        let bottom_px = top_px + self.row_px;
        let at_px = scroll_px * ratio;
        if top_px < at_px {
            Some(top_px / ratio)
        } else if bottom_px > at_px + self.viewport_px {
            Some(((bottom_px - self.viewport_px) / ratio).max(0.0))
        } else {
            None
        }
    }

    /// Rows of a full viewport: how far Page Up and Page Down go.
    pub fn step(&self) -> usize {
        ((self.viewport_px / self.row_px) as usize)
            .saturating_sub(1)
            .max(1)
    }
}

/// The height of a row: `row_px`, or where rows are cards, which are several times as high, that of one that is shown.
///
/// ```
/// use weir_console::features::tenants::model::virtual_rows::row_height_px;
/// assert_eq!(row_height_px(Some(160.0), 34.0), 160.0);
/// assert_eq!((row_height_px(Some(34.5), 34.0), row_height_px(None, 34.0)), (34.0, 34.0));
/// ```
pub fn row_height_px(shown_px: Option<f64>, row_px: f64) -> f64 {
    let card = shown_px.filter(|shown_px| *shown_px >= 2.0 * row_px);
    card.unwrap_or(row_px)
}

/// Where a key takes the focus from a row; `None` for keys that mean nothing to the table.
pub fn moved(key: &str, row: usize, rows: &VirtualRows) -> Option<usize> {
    let last = rows.total.checked_sub(1)?;
    let to = match key {
        "ArrowDown" => row.saturating_add(1),
        "ArrowUp" => row.saturating_sub(1),
        "PageDown" => row.saturating_add(rows.step()),
        "PageUp" => row.saturating_sub(rows.step()),
        "Home" => 0,
        "End" => last,
        _ => return None,
    };
    Some(to.min(last))
}

/// The pages, from 1, that hold these rows.
///
/// ```
/// use weir_console::features::tenants::model::virtual_rows::pages;
/// assert_eq!(pages(&(95..116), 100), 1..3);
/// assert_eq!(pages(&(0..0), 100), 1..1);
/// ```
pub fn pages(rows: &Range<usize>, page_size: usize) -> Range<usize> {
    if rows.is_empty() || page_size == 0 {
        return 1..1;
    }
    rows.start / page_size + 1..(rows.end - 1) / page_size + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(total: usize) -> VirtualRows {
        VirtualRows {
            total,
            row_px: 30.0,
            viewport_px: 300.0,
            overscan: 5,
        }
    }

    #[test]
    fn the_rows_in_the_viewport_are_on_the_page_wherever_it_is_scrolled() {
        for total in [0, 1, 9, 10, 11, 500, 10_000, 1_000_000] {
            let rows = rows(total);
            let most_px = (rows.height_px() - rows.viewport_px).max(0.0);
            for part in 0..=100 {
                let scroll_px = most_px * f64::from(part) / 100.0;
                let slice = rows.slice(scroll_px);
                assert!(slice.rows.end <= total);
                assert!(slice.rows.len() <= 22, "{total} rows: {slice:?}");
                let end_px = slice.top_px + slice.rows.len() as f64 * rows.row_px;
                let seen_px = rows.height_px().min(scroll_px + rows.viewport_px);
                assert!(slice.top_px <= scroll_px + 0.01, "{total}: {slice:?}");
                assert!(
                    end_px + 0.01 >= seen_px,
                    "{total} at {scroll_px}: {slice:?}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_lost_at_either_end() {
        for total in [1, 11, 10_000, 1_000_000] {
            let rows = rows(total);
            assert_eq!(rows.slice(0.0).rows.start, 0);
            assert_eq!(rows.slice(rows.height_px()).rows.end, total);
        }
        assert_eq!(rows(0).slice(50.0).rows, 0..0);
    }

    #[test]
    fn a_scroll_position_that_is_none_counts_as_the_nearest() {
        let rows = rows(100);
        assert_eq!(rows.slice(-50.0), rows.slice(0.0));
        assert_eq!(rows.slice(f64::NAN), rows.slice(0.0));
        assert_eq!(rows.slice(1e12), rows.slice(2_700.0));
    }

    #[test]
    fn the_height_is_bounded_and_as_the_rows_are_below_the_bound() {
        assert_eq!(rows(10_000).height_px(), 300_000.0);
        assert_eq!(rows(1_000_000).height_px(), HEIGHT_PX_MAX);
        let slice = rows(10_000).slice(9_000.0);
        let sum = slice.top_px + slice.bottom_px + slice.rows.len() as f64 * 30.0;
        assert_eq!(sum, 300_000.0);
    }

    #[test]
    fn a_row_out_of_sight_is_revealed_and_one_in_sight_stays() {
        let rows = rows(1_000);
        assert_eq!(rows.reveal(5, 0.0), None);
        assert_eq!(rows.reveal(10, 0.0), Some(30.0));
        assert_eq!(rows.reveal(2, 90.0), Some(60.0));
        let far = VirtualRows {
            total: 1_000_000,
            ..rows
        };
        for row in [0, 123_456, 999_999] {
            let scroll_px = far.reveal(row, 4_000_000.0).unwrap_or(4_000_000.0);
            assert!(far.slice(scroll_px).rows.contains(&row), "{row}");
        }
    }

    #[test]
    fn keys_move_within_the_list() {
        let list = rows(100);
        for (key, from, to) in [
            ("ArrowDown", 0, Some(1)),
            ("ArrowDown", 99, Some(99)),
            ("ArrowUp", 0, Some(0)),
            ("PageDown", 5, Some(14)),
            ("PageUp", 5, Some(0)),
            ("Home", 50, Some(0)),
            ("End", 50, Some(99)),
            ("a", 50, None),
        ] {
            assert_eq!(moved(key, from, &list), to, "{key} from {from}");
        }
        assert_eq!(moved("End", 0, &rows(0)), None);
    }

    #[test]
    fn pages_cover_the_rows() {
        for (range, expected) in [
            (0..1, 1..2),
            (0..100, 1..2),
            (99..101, 1..3),
            (100..200, 2..3),
        ] {
            assert_eq!(pages(&range, 100), expected, "{range:?}");
        }
    }
}
