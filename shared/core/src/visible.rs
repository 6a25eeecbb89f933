//! Names as they are shown. Whoever sends a request names tenants and keys, and a name may hold characters that nobody
//! sees, or that turn the order of what stands behind them (Unicode Technical Report 36, section 2): two names then look
//! alike, or a row seems to say what it does not.

use std::fmt::Write;

/// The text, with what nobody sees written out as its number.
///
/// ```
/// use weir_core::visible::visible;
/// assert_eq!(visible("acme"), "acme");
/// assert_eq!(visible("ac\u{200b}me"), "ac⟨U+200B⟩me");
/// assert_eq!(visible("\u{202e}live"), "⟨U+202E⟩live");
/// ```
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) {
            // Writing to a text cannot fail.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The same of each line of a text.
///
/// ```
/// use weir_core::visible::visible_lines;
/// assert_eq!(visible_lines("a\n\u{202e}b"), "a\n⟨U+202E⟩b");
/// ```
#[must_use]
pub fn visible_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(visible).collect();
    lines.join("\n")
}

/// Controls, marks of direction, fillers, joiners, variation selectors and tags: what has no width or turns the order.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_stays_in_any_script() {
        for text in ["acme", "Ünïcode", "東京", "مرحبا", "a b-c:d/e", "🙂", ""] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn what_nobody_sees_is_written_out() {
        for c in [
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{200e}',
            '\u{200d}',
            '\u{feff}',
            '\u{ad}',
            '\u{3164}',
            '\u{7f}',
            '\u{e0041}',
        ] {
            let shown = visible(&format!("a{c}b"));
            assert_eq!(shown, format!("a⟨U+{:04X}⟩b", u32::from(c)));
            assert_eq!(visible(&shown), shown);
        }
    }
}
