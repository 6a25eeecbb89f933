//! How far back the records of a budget's windows reach, where that is less than what is asked for.

use weir_shared::limits::RECORDS_KEPT_MS;
use weir_shared::wire::operator::series::WindowsView;

use crate::format::length;
use crate::time_range::TimeRange;

const S: u64 = 1_000;
const MIN: u64 = 60 * S;
const H: u64 = 60 * MIN;

/// Records that cover the end of a range, and not all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// From here on there are records.
    pub from_ms: u64,
    /// The end of the range.
    pub to_ms: u64,
}

impl Reach {
    /// Of what was read of windows of `window_ms`; none where it is all that there was in the range. A window in which
    /// nobody asked leaves no record, so a record that is missing alone says nothing.
    pub fn of(view: &WindowsView, window_ms: u64, range: TimeRange, now_ms: u64) -> Option<Self> {
        let (asked_ms, to_ms) = range.span(now_ms);
        let kept_ms = now_ms.saturating_sub(RECORDS_KEPT_MS);
        let oldest = view.windows.iter().map(|record| record.ends_at.0).min();
        // Of more pages than one the newest was read.
        let read_ms = oldest
            .filter(|_| view.page.pages > 1)
            .map_or(0, |ends_at| ends_at.saturating_sub(window_ms));
        let from_ms = kept_ms.max(read_ms);
        (from_ms > asked_ms).then_some(Self {
            from_ms: from_ms.min(to_ms),
            to_ms,
        })
    }

    /// In a sentence.
    ///
    /// ```
    /// use weir_console::features::tenant::model::reach::Reach;
    /// let reach = Reach { from_ms: 120_000, to_ms: 620_000 };
    /// assert_eq!(reach.words(), "Records cover only the last 8 min of this range: before that, its fair share is not known.");
    /// ```
    pub fn words(self) -> String {
        let ms = self.to_ms - self.from_ms;
        let whole = [H, MIN, S].into_iter().find(|unit| ms >= 2 * unit);
        let whole = whole.map_or(ms, |unit| ms / unit * unit);
        match ms {
            0 => "No record covers this range: records are kept for a day.".to_owned(),
            _ => format!(
                "Records cover only the last {} of this range: before that, its fair share is not known.",
                short(whole)
            ),
        }
    }
}

/// Hours where they are whole: a day is `24 h`, as the ranges are called.
fn short(ms: u64) -> String {
    match ms.is_multiple_of(H) && ms > 0 {
        true => format!("{} h", ms / H),
        false => length(ms),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::time_range::Preset;

    const DAY_MS: u64 = 24 * H;

    const NOW_MS: u64 = 100 * DAY_MS;
    const HOUR: TimeRange = TimeRange::Last(Preset::Hour);

    /// Records of windows of 5 s up to now, on so many pages.
    fn view(windows: u64, pages: u64) -> WindowsView {
        let record = |place: u64| {
            json!({
                "budget": "tokens", "label": 9_000 - place, "ends_at": NOW_MS - place * 5_000, "limit": 100,
                "complete": true, "granted": null, "admitted": 0, "returned": 0, "unaccounted": null,
                "exact": true, "denied": 0, "jain": null, "tenants_seen": 0, "tenants": [],
            })
        };
        let windows: Vec<_> = (0..windows).map(record).collect();
        serde_json::from_value(json!({
            "budget": "tokens", "page": 1, "page_size": 100, "pages": pages, "total": 100 * pages,
            "unreachable": [], "windows": windows,
        }))
        .unwrap()
    }

    #[test]
    fn a_hundred_windows_of_five_seconds_are_eight_minutes_of_an_hour() {
        let reach = Reach::of(&view(100, 8), 5_000, HOUR, NOW_MS).unwrap();
        assert_eq!(reach.from_ms, NOW_MS - 500_000);
        assert!(
            reach
                .words()
                .starts_with("Records cover only the last 8 min of this range")
        );
    }

    #[test]
    fn where_all_was_read_nothing_is_missing_however_few_asked() {
        assert_eq!(Reach::of(&view(3, 1), 5_000, HOUR, NOW_MS), None);
        assert_eq!(Reach::of(&view(0, 1), 5_000, HOUR, NOW_MS), None);
    }

    #[test]
    fn windows_that_are_long_enough_reach_back_to_the_start() {
        assert_eq!(Reach::of(&view(100, 2), 3_600_000, HOUR, NOW_MS), None);
    }

    #[test]
    fn records_are_kept_for_a_day() {
        let week = TimeRange::Last(Preset::Days7);
        let reach = Reach::of(&view(3, 1), 5_000, week, NOW_MS).unwrap();
        assert!(reach.words().contains("only the last 24 h of this range"));
        let old = TimeRange::Between {
            from_ms: NOW_MS - 3 * DAY_MS,
            to_ms: NOW_MS - 2 * DAY_MS,
        };
        let reach = Reach::of(&view(0, 1), 5_000, old, NOW_MS).unwrap();
        assert!(reach.words().starts_with("No record covers this range"));
    }

    #[test]
    fn a_range_that_stays_is_covered_at_its_end() {
        let stays = TimeRange::Between {
            from_ms: NOW_MS - H,
            to_ms: NOW_MS,
        };
        let reach = Reach::of(&view(19, 9), 5_000, stays, NOW_MS).unwrap();
        assert!(reach.words().contains("only the last 95 s of this range"));
    }
}
