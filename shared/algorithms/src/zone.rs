//! When a civil day starts: at a fixed offset from UTC, or in a time zone of the IANA database.

#[cfg(feature = "time-zones")]
mod iana;
#[cfg(feature = "time-zones")]
mod yearly;

use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{OFFSET_MINUTES_MAX, TIME_ZONE_BYTES_MAX};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// What the days of a calendar are counted in.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Offset {
        offset_ms: i64,
    },
    #[cfg(feature = "time-zones")]
    Named(iana::Named),
}

impl Zone {
    /// A zone that is always `minutes` (-840 to 840) ahead of UTC.
    ///
    /// # Errors
    /// An offset outside that range, at `/offset_minutes`.
    ///
    /// ```
    /// use weir_algorithms::calendar::Zone;
    /// assert!(Zone::offset(14 * 60).is_ok());
    /// assert_eq!(Zone::offset(-841).unwrap_err().field, "/offset_minutes");
    /// ```
    pub fn offset(minutes: i64) -> Result<Self, Invalid> {
        let allowed = -OFFSET_MINUTES_MAX..=OFFSET_MINUTES_MAX;
        let offset_ms = within("/offset_minutes", minutes, allowed)? * MINUTE_MS;
        Ok(Self(Kind::Offset { offset_ms }))
    }

    /// A zone of the IANA time zone database, such as `Europe/Berlin`, with its daylight saving. The database is the
    /// one that was compiled in, so that every platform answers alike. It begins with 2010: earlier instants have the
    /// offset, or the yearly rule, with which the zone came into that year.
    ///
    /// # Errors
    /// At `/time_zone`: a name of over 64 bytes, a name that the database does not have, any name in a build without
    /// the feature `time-zones`.
    ///
    /// ```
    /// use weir_algorithms::calendar::{Period, Zone};
    /// use weir_core::units::EpochMs;
    /// use weir_wire::policy::Cadence;
    /// # #[cfg(feature = "time-zones")] {
    /// let new_york = Zone::named("America/New_York").unwrap();
    /// let days = Period::calendar(Cadence::CalendarDay, new_york, 1).unwrap();
    /// // 2024-03-10T12:00:00Z: clocks were set from 2 to 3 that day, so it had 23 hours.
    /// let day = days.at(EpochMs(1_710_072_000_000));
    /// assert_eq!(day.start_ms, 1_710_046_800_000); // 05:00 UTC
    /// assert_eq!(day.end, EpochMs(1_710_129_600_000)); // 04:00 UTC
    /// # }
    /// assert_eq!(Zone::named("Mars/Olympus").unwrap_err().field, "/time_zone");
    /// ```
    pub fn named(name: &str) -> Result<Self, Invalid> {
        let refused = |fault| Invalid::new("/time_zone", fault);
        if name.len() > TIME_ZONE_BYTES_MAX {
            return Err(refused(Fault::TooMany {
                got: name.len(),
                max: TIME_ZONE_BYTES_MAX,
                what: "bytes",
            }));
        }
        Self::look_up(name).map_err(refused)
    }

    #[cfg(feature = "time-zones")]
    fn look_up(name: &str) -> Result<Self, Fault> {
        let named = iana::Named::find(name).ok_or_else(|| Fault::Unknown {
            name: name.to_owned(),
            what: "time zone",
        })?;
        Ok(Self(Kind::Named(named)))
    }

    #[cfg(not(feature = "time-zones"))]
    fn look_up(name: &str) -> Result<Self, Fault> {
        Err(Fault::Unserved {
            got: name.to_owned(),
            served: "offset_minutes",
        })
    }

    /// The local date at an instant, in days since 1970-01-01.
    pub(super) fn day_at(&self, now_ms: i64) -> i64 {
        let offset_ms = match &self.0 {
            Kind::Offset { offset_ms } => *offset_ms,
            #[cfg(feature = "time-zones")]
            Kind::Named(named) => named.offset_ms(now_ms),
        };
        (now_ms + offset_ms).div_euclid(DAY_MS)
    }

    /// The first instant of a local date, in milliseconds since the epoch.
    pub(super) fn day_start_ms(&self, day: i64) -> i64 {
        match &self.0 {
            Kind::Offset { offset_ms } => day * DAY_MS - offset_ms,
            #[cfg(feature = "time-zones")]
            Kind::Named(named) => named.day_start_ms(day),
        }
    }
}

#[cfg(all(test, not(feature = "time-zones")))]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_time_zones_says_so() {
        let refused = Zone::named("Europe/Berlin").unwrap_err();
        assert_eq!(refused.field, "/time_zone");
        assert_eq!(
            refused.to_string(),
            "/time_zone: Europe/Berlin is not served; served: offset_minutes"
        );
    }
}
