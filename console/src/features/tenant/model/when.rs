//! Instants as they are written in the form of an override: always UTC, so that everybody means the same, and exact.

use crate::instant::{TimeZone, date_minute, parse, rfc3339};

/// Writes an instant: to the minute, or as exactly as it is.
///
/// ```
/// use weir_console::features::tenant::model::when::{read, write};
/// assert_eq!(write(1_795_336_200_000), "2026-11-22 08:30");
/// assert_eq!(read("2026-11-22T08:30"), Some(1_795_336_200_000));
/// ```
pub fn write(epoch_ms: u64) -> String {
    if epoch_ms.is_multiple_of(60_000) {
        date_minute(epoch_ms, TimeZone::UTC)
    } else {
        rfc3339(epoch_ms)
    }
}

/// Reads an instant; `None` for what is none.
pub fn read(text: &str) -> Option<u64> {
    parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_instant_is_changed_by_being_written() {
        for ms in [
            0,
            60_000,
            1,
            999,
            951_782_400_000,
            1_795_336_205_042,
            4_102_444_799_999,
        ] {
            assert_eq!(read(&write(ms)), Some(ms), "{}", write(ms));
        }
        assert_eq!(read("tomorrow"), None);
    }
}
