//! A preview in words.

use crate::figures::counted;
use crate::wire::preview::PreviewBody;

/// The whole of a preview in a sentence: over what, and for how many.
#[must_use]
pub fn summary(preview: &PreviewBody) -> String {
    let over = [(preview.windows, "window"), (preview.intervals, "minute")];
    let over = over.into_iter().filter(|(number, _)| *number > 0);
    let over: Vec<String> = over.map(|(number, noun)| counted(number, noun)).collect();
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
    format!(
        "Over {} of demand as recorded: {who}.{older}",
        over.join(" and ")
    )
}

#[cfg(test)]
mod tests {
    use crate::units::EpochMs;

    use super::*;

    fn empty() -> PreviewBody {
        PreviewBody {
            at: EpochMs(0),
            windows: 0,
            windows_left_out: 0,
            intervals: 0,
            gaining: 0,
            losing: 0,
            gains: Vec::new(),
            loses: Vec::new(),
            rows_total: 0,
            rows: Vec::new(),
        }
    }

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
                ..empty()
            };
            assert_eq!(summary(&told), text);
        }
    }
}
