//! A preview in words.

use weir_core::figures::counted;
use weir_core::limits::MINUTE_MS;
use weir_wire::preview::PreviewBody;

/// The whole of a preview in a sentence: over what, and for how many.
#[must_use]
pub fn summary(preview: &PreviewBody) -> String {
    // An older server tells each tenant's intervals alone.
    let spans = match preview.spans {
        0 => preview.intervals,
        spans => spans,
    };
    let minutes = match preview.interval_ms / MINUTE_MS {
        0 | 1 => counted(spans, "minute"),
        minutes => format!("{} of {minutes} minutes", counted(spans, "interval")),
    };
    let windows = counted(preview.windows, "window");
    let over = [(preview.windows, windows), (spans, minutes)];
    let over = over.into_iter().filter(|(number, _)| *number > 0);
    let over: Vec<String> = over.map(|(_, text)| text).collect();
    if over.is_empty() {
        return "Nothing was recorded yet that a preview could look at.".to_owned();
    }
    let tenants = |of: u64| match of {
        0 => "nobody".to_owned(),
        of => counted(of, "tenant"),
    };
    let who = match (preview.gaining, preview.losing) {
        (0, 0) => "nobody would gain or lose".to_owned(),
        (gaining, losing) => format!(
            "{} would gain, {} would lose",
            tenants(gaining),
            tenants(losing)
        ),
    };
    let older = match preview.windows_left_out {
        0 => String::new(),
        of => format!(" Left out: {} recorded before.", counted(of, "window")),
    };
    let fewest = match preview.tenants_left_out {
        0 => String::new(),
        of => format!(
            " Left out, but for budgets: the {} with the fewest calls.",
            counted(of, "tenant")
        ),
    };
    format!(
        "Over {} of demand as recorded: {who}.{older}{fewest}",
        over.join(" and ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preview_is_a_sentence() {
        for (windows, intervals, gaining, losing, text) in [
            (
                3,
                60,
                1,
                2,
                "Over 3 windows and 60 minutes of demand as recorded: 1 tenant would gain, 2 tenants would lose.",
            ),
            (
                1,
                0,
                0,
                1,
                "Over 1 window of demand as recorded: nobody would gain, 1 tenant would lose.",
            ),
            (
                1,
                0,
                0,
                0,
                "Over 1 window of demand as recorded: nobody would gain or lose.",
            ),
            (
                0,
                0,
                0,
                0,
                "Nothing was recorded yet that a preview could look at.",
            ),
        ] {
            let told = PreviewBody {
                windows,
                intervals,
                gaining,
                losing,
                ..PreviewBody::default()
            };
            assert_eq!(summary(&told), text);
        }
    }

    #[test]
    fn minutes_in_which_several_asked_are_said_once() {
        let told = PreviewBody {
            intervals: 48,
            spans: 12,
            gaining: 1,
            ..PreviewBody::default()
        };
        assert_eq!(
            summary(&told),
            "Over 12 minutes of demand as recorded: 1 tenant would gain, nobody would lose."
        );
    }

    #[test]
    fn what_is_coarse_and_what_is_missing_is_said() {
        let told = PreviewBody {
            intervals: 1_200,
            interval_ms: 15 * MINUTE_MS,
            tenants_left_out: 3,
            gaining: 1,
            ..PreviewBody::default()
        };
        assert_eq!(
            summary(&told),
            "Over 1,200 intervals of 15 minutes of demand as recorded: 1 tenant would gain, nobody would lose. \
             Left out, but for budgets: the 3 tenants with the fewest calls."
        );
    }
}
