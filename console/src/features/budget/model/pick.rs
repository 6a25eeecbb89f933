//! Which of several records is meant.

use weir_shared::ordered::sort_by;
use weir_shared::wire::operator::series::WindowsView;
use weir_shared::wire::windows::WindowRecord;

/// The record of a window, or the newest; of one region, where regions have windows of their own, or of the first of
/// them by name, so that what is shown does not change with who was told of last.
pub fn chosen<'a>(
    view: &'a WindowsView,
    label: Option<u64>,
    region: Option<&str>,
) -> Option<&'a WindowRecord> {
    // Late word of a window that is long over makes a record without a limit: nothing of it can be drawn.
    let told = |record: &&WindowRecord| label.is_some() || record.limit > 0;
    let windows = || view.windows.iter().filter(told);
    let labelled = |record: &&WindowRecord| label.is_none_or(|label| record.label.0 == label);
    let first = windows()
        .filter(labelled)
        .filter_map(|record| record.region.as_deref())
        .min();
    let region = region.or(first);
    windows()
        .filter(labelled)
        .find(|record| record.region.is_none() || record.region.as_deref() == region)
}

/// The regions that have windows of their own, by name.
pub fn regions(view: &WindowsView) -> Vec<String> {
    let mut regions: Vec<String> = view
        .windows
        .iter()
        .filter_map(|record| record.region.clone())
        .collect();
    sort_by(&mut regions, Ord::cmp);
    regions.dedup();
    regions
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn view(windows: &[(Option<&str>, u64)]) -> WindowsView {
        let windows: Vec<_> = windows
            .iter()
            .map(|(region, label)| {
                json!({
                    "budget": "tokens", "region": region, "label": label, "ends_at": label * 60, "limit": 100,
                    "complete": true, "granted": 1, "admitted": 0, "returned": 0, "unaccounted": 0,
                    "exact": true, "denied": 0, "jain": null, "tenants_seen": 0, "tenants": [],
                })
            })
            .collect();
        serde_json::from_value(json!({
            "budget": "tokens", "page": 1, "page_size": 20, "pages": 1, "total": windows.len(),
            "unreachable": [], "windows": windows,
        }))
        .unwrap()
    }

    fn told(record: Option<&WindowRecord>) -> Option<(Option<&str>, u64)> {
        record.map(|record| (record.region.as_deref(), record.label.0))
    }

    #[test]
    fn the_newest_is_meant_unless_a_window_is_named() {
        let view = view(&[(None, 9), (None, 8), (None, 7)]);
        assert_eq!(told(chosen(&view, None, None)), Some((None, 9)));
        assert_eq!(told(chosen(&view, Some(7), None)), Some((None, 7)));
        assert_eq!(told(chosen(&view, Some(7), Some("weur"))), Some((None, 7)));
        assert_eq!(told(chosen(&view, Some(3), None)), None);
        assert!(regions(&view).is_empty());
    }

    #[test]
    fn late_word_of_an_old_window_is_not_the_newest_window() {
        let mut view = view(&[(None, 9), (None, 8)]);
        view.windows[0].limit = 0;
        assert_eq!(told(chosen(&view, None, None)), Some((None, 8)));
        assert_eq!(told(chosen(&view, Some(9), None)), Some((None, 9)));
    }

    #[test]
    fn of_windows_of_regions_one_region_is_meant_and_stays_the_same() {
        let one = view(&[(Some("weur"), 9), (Some("enam"), 8), (Some("weur"), 8)]);
        let other = view(&[(Some("enam"), 8), (Some("weur"), 9), (Some("weur"), 8)]);
        for view in [one, other] {
            assert_eq!(told(chosen(&view, None, None)), Some((Some("enam"), 8)));
            assert_eq!(
                told(chosen(&view, None, Some("weur"))),
                Some((Some("weur"), 9))
            );
            assert_eq!(told(chosen(&view, None, Some("oc"))), None);
            assert_eq!(regions(&view), ["enam", "weur"]);
        }
    }
}
