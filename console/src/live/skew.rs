//! How wrong the machine's clock is, in words.

use crate::format;

/// A clock that is wrong by less does no harm: answers are late themselves.
pub const TOLERATED_MS: u64 = 30_000;

/// What is said of a clock that is ahead of the server's by so much (behind: negative); none when it is about right.
///
/// ```
/// use weir_console::live::skew::notice;
/// assert_eq!(notice(29_000), None);
/// assert!(notice(-120_000).unwrap().contains("2 min 00 s behind"));
/// ```
pub fn notice(ahead_ms: i64) -> Option<String> {
    let off_ms = ahead_ms.unsigned_abs();
    if off_ms <= TOLERATED_MS {
        return None;
    }
    let side = if ahead_ms > 0 { "ahead of" } else { "behind" };
    Some(format!(
        "It is {} {side} the server's. Ages on these pages are worked out by the server's clock; times that you type \
         in are not. Set this machine's clock.",
        format::duration(off_ms)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_clock_is_told_by_how_much_and_which_way() {
        for (ahead_ms, said) in [
            (0, None),
            (30_000, None),
            (-30_000, None),
            (31_000, Some("It is 31 s ahead of")),
            (-31_000, Some("It is 31 s behind")),
            (7_200_000, Some("It is 2 h 00 min ahead of")),
            (i64::MIN, Some("behind")),
        ] {
            match (notice(ahead_ms), said) {
                (Some(text), Some(said)) => assert!(text.contains(said), "{text}"),
                (text, said) => assert_eq!(text.as_deref(), said, "{ahead_ms}"),
            }
        }
    }
}
