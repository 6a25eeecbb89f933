//! Cells of comma-separated values.

use weir_algorithms::calendar::civil_from_days;

/// A text as a cell. One that a spreadsheet would take for a formula is made a text by a quote in front: names in it come
/// from whoever sent a request. Some spreadsheets drop blanks, and what nobody sees, before they look.
///
/// ```
/// use weir_operations::export::cell::cell;
/// assert_eq!(cell("a,b"), "\"a,b\"");
/// assert_eq!(cell("=1+1"), "'=1+1");
/// ```
#[must_use]
pub fn cell(text: &str) -> String {
    let seen = text.trim_start_matches(is_blank);
    let formula = text.starts_with(['\t', '\r'])
        || seen.starts_with([
            '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
        ]);
    let text = if formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Whether a spreadsheet may drop a character at the start of a cell.
fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// An instant, epoch milliseconds, as RFC 3339 has it, in UTC.
///
/// ```
/// use weir_operations::export::cell::time;
/// assert_eq!(time(951_782_400_000), "2000-02-29T00:00:00.000Z");
/// ```
#[must_use]
pub fn time(at: u64) -> String {
    let (days, ms) = (at / 86_400_000, at % 86_400_000);
    let (year, month, day) = civil_from_days(i64::try_from(days).unwrap_or(i64::MAX / 2));
    let (hour, minute, s) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{s:02}.{:03}Z",
        ms % 1_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_need_it_and_are_never_formulas() {
        for (text, expected) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("@SUM", "'@SUM"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("  =1", "'  =1"),
            ("\u{a0}@SUM", "'\u{a0}@SUM"),
            ("\u{feff}\u{200b}=1", "'\u{feff}\u{200b}=1"),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            (" \n+1", "\"' \n+1\""),
            ("  plain", "  plain"),
            ("a =1", "a =1"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_795_332_447_002, "2026-11-22T07:27:27.002Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(time(at), text);
        }
    }
}
