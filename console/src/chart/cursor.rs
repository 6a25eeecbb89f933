//! The cursor of a chart: which interval is read out, by pointer or by key.

/// Where a key takes the cursor among `count` intervals; none for keys that are not for it. Without a place it starts at
/// the newest.
///
/// ```
/// use weir_console::chart::cursor::moved;
/// assert_eq!(moved(None, "ArrowLeft", 60), Some(59));
/// assert_eq!(moved(Some(59), "ArrowLeft", 60), Some(58));
/// ```
pub fn moved(place: Option<usize>, key: &str, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    let page = (count / 10).max(1);
    let known = matches!(
        key,
        "ArrowLeft"
            | "ArrowDown"
            | "ArrowRight"
            | "ArrowUp"
            | "PageDown"
            | "PageUp"
            | "Home"
            | "End"
    );
    let Some(place) = place.map(|place| place.min(last)) else {
        return known.then_some(if key == "Home" { 0 } else { last });
    };
    match key {
        "ArrowLeft" | "ArrowDown" => Some(place.saturating_sub(1)),
        "ArrowRight" | "ArrowUp" => Some((place + 1).min(last)),
        "PageDown" => Some(place.saturating_sub(page)),
        "PageUp" => Some((place + page).min(last)),
        "Home" => Some(0),
        "End" => Some(last),
        _ => None,
    }
}

/// The interval under a pointer at a share of the width: the last that began before it.
pub fn under(share: f64, instants: &[u64], (from_ms, to_ms): (u64, u64)) -> Option<usize> {
    let length_ms = to_ms.saturating_sub(from_ms) as f64;
    let at_ms = from_ms + (share.clamp(0.0, 1.0) * length_ms) as u64;
    let begun = instants.partition_point(|start_ms| *start_ms <= at_ms);
    let last = instants.len().checked_sub(1)?;
    Some(begun.saturating_sub(1).min(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_move_the_cursor_and_stop_at_the_ends() {
        for (place, key, to) in [
            (Some(5), "ArrowLeft", Some(4)),
            (Some(0), "ArrowLeft", Some(0)),
            (Some(5), "ArrowRight", Some(6)),
            (Some(19), "ArrowUp", Some(19)),
            (Some(5), "PageUp", Some(7)),
            (Some(1), "PageDown", Some(0)),
            (Some(5), "Home", Some(0)),
            (Some(5), "End", Some(19)),
            (Some(500), "ArrowLeft", Some(18)),
            (None, "ArrowRight", Some(19)),
            (None, "Home", Some(0)),
            (Some(5), "Tab", None),
            (None, "x", None),
        ] {
            assert_eq!(moved(place, key, 20), to, "{place:?} {key}");
        }
        assert_eq!(moved(None, "Home", 0), None);
    }

    #[test]
    fn a_pointer_reads_the_interval_that_it_is_over() {
        let instants = [0, 100, 200, 300];
        for (share, place) in [
            (-1.0, 0),
            (0.0, 0),
            (0.24, 0),
            (0.25, 1),
            (0.99, 3),
            (7.0, 3),
        ] {
            assert_eq!(under(share, &instants, (0, 400)), Some(place), "{share}");
        }
        assert_eq!(under(0.0, &instants, (50, 400)), Some(0));
        assert_eq!(under(0.0, &[100], (0, 400)), Some(0));
        assert_eq!(under(0.5, &[], (0, 400)), None);
    }
}
