//! Figures as text, as the console writes them.

use jiff::Timestamp;
pub use weir_shared::figures::{UNKNOWN, change, change_percent, count, counted, rate, weight};
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::{ANONYMOUS, OTHERS};

/// An instant in UTC, to the millisecond where it has any (RFC 3339).
///
/// ```
/// use weir_cli::figures::instant;
/// use weir_shared::units::EpochMs;
/// assert_eq!(instant(EpochMs(0)), "1970-01-01T00:00:00Z");
/// ```
#[must_use]
pub fn instant(at: EpochMs) -> String {
    let ms = i64::try_from(at.0).ok();
    let found = ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    found.map_or_else(|| UNKNOWN.to_owned(), |instant| instant.to_string())
}

/// A tenant's name, and what stands for several.
#[must_use]
pub fn tenant(name: &str) -> String {
    match name {
        OTHERS => "(all others)".to_owned(),
        ANONYMOUS => "(no tenant)".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_that_is_none_is_not_known() {
        assert_eq!(instant(EpochMs(u64::MAX)), UNKNOWN);
        assert_eq!(instant(EpochMs(1_500)), "1970-01-01T00:00:01.5Z");
    }
}
