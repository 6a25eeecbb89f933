//! When a civil day starts: at a fixed offset from UTC, or in a time zone of the IANA database.

use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{OFFSET_MINUTES_MAX, TIME_ZONE_BYTES_MAX};

const DAY_MS: i64 = 24 * 3_600_000;

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
        let offset_ms = within("/offset_minutes", minutes, allowed)? * 60_000;
        Ok(Self(Kind::Offset { offset_ms }))
    }

    /// A zone of the IANA time zone database, such as `Europe/Berlin`, with its daylight saving. The database is the
    /// one that was compiled in, so that every platform answers alike.
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

#[cfg(feature = "time-zones")]
mod iana {
    //! The zones of the database that is compiled in; none of the machine's is ever read.

    use jiff::Timestamp;
    use jiff::civil::DateTime;
    use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

    use super::DAY_MS;
    use crate::calendar::civil_from_days;

    #[derive(Debug, Clone, PartialEq)]
    pub(super) struct Named(TimeZone);

    impl Named {
        pub(super) fn find(name: &str) -> Option<Self> {
            let zone = TimeZoneDatabase::bundled().get(name).ok()?;
            (!zone.is_unknown()).then_some(Self(zone))
        }

        /// How far ahead of UTC the zone is at an instant; after the year 9999 as at its end.
        pub(super) fn offset_ms(&self, at_ms: i64) -> i64 {
            let (first_ms, last_ms) = (
                Timestamp::MIN.as_millisecond(),
                Timestamp::MAX.as_millisecond(),
            );
            Timestamp::from_millisecond(at_ms.clamp(first_ms, last_ms))
                .map_or(0, |at| ms(self.0.to_offset(at)))
        }

        /// The first instant whose local date is `day`.
        pub(super) fn day_start_ms(&self, day: i64) -> i64 {
            let local_ms = day * DAY_MS;
            match midnight(day).map(|midnight| self.0.to_ambiguous_timestamp(midnight).offset()) {
                Some(AmbiguousOffset::Unambiguous { offset }) => local_ms - ms(offset),
                // Midnight comes twice: the first one starts the day.
                Some(AmbiguousOffset::Fold { before, .. }) => local_ms - ms(before),
                // Midnight is skipped: the day starts with the change of offset.
                Some(AmbiguousOffset::Gap { before, after }) => {
                    self.change_ms(local_ms - ms(after), local_ms - ms(before))
                }
                None => local_ms - self.offset_ms(local_ms),
            }
        }

        /// The instant in `earlier_ms..=later_ms` at which the offset changes from that at the one to that at the other.
        fn change_ms(&self, earlier_ms: i64, later_ms: i64) -> i64 {
            let before_ms = self.offset_ms(earlier_ms);
            let (mut earlier_ms, mut later_ms) = (earlier_ms, later_ms);
            while later_ms - earlier_ms > 1 {
                let middle_ms = earlier_ms + (later_ms - earlier_ms) / 2;
                if self.offset_ms(middle_ms) == before_ms {
                    earlier_ms = middle_ms;
                } else {
                    later_ms = middle_ms;
                }
            }
            later_ms
        }
    }

    fn midnight(day: i64) -> Option<DateTime> {
        let (year, month, day) = civil_from_days(day);
        let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        DateTime::new(i16::try_from(year).ok()?, month, day, 0, 0, 0, 0).ok()
    }

    fn ms(offset: Offset) -> i64 {
        i64::from(offset.seconds()) * 1_000
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::calendar::days_from_civil;

        #[test]
        fn a_day_whose_midnight_lies_inside_a_change_starts_with_the_change() {
            // Toronto: on 1919-03-30 clocks went from 23:30 to 0:30 of the 31st.
            let toronto = Named::find("America/Toronto").unwrap();
            let start_ms = toronto.day_start_ms(days_from_civil(1919, 3, 31));
            let utc_ms = days_from_civil(1919, 3, 31) * DAY_MS + 4 * 3_600_000 + 30 * 60_000;
            assert_eq!(start_ms, utc_ms);
        }

        #[test]
        fn east_of_greenwich_too_a_day_starts_with_the_change_inside_which_its_midnight_lies() {
            // On the 31st of March, the 90th day, clocks go from 23:30 to 0:30: from two hours ahead to three.
            let zone = TimeZone::posix("EET-2EEST-3,J90/23:30,J300/3").unwrap();
            let day = days_from_civil(2026, 4, 1);
            let start_ms = day * DAY_MS - 30 * 60_000 - 2 * 3_600_000;
            assert_eq!(Named(zone).day_start_ms(day), start_ms);
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
