//! Periods that a quota starts anew in: calendar months, weeks and days of a [`Zone`], and fixed lengths.
//!
//! Civil dates are those of the proleptic Gregorian calendar, by Howard Hinnant's `days_from_civil` and
//! `civil_from_days` ("chrono-Compatible Low-Level Date Algorithms"), in integers.

use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{DAY_MS, JSON_INTEGER_MAX, WINDOW_MS_MAX};
use weir_core::units::EpochMs;
use weir_wire::policy::Cadence;

use crate::zone;

pub use zone::Zone;

/// The day on which a week starts unless the policy says otherwise: Monday (ISO 8601).
pub const WEEK_STARTS_ON_DEFAULT: u64 = 1;

/// Day 0, 1970-01-01, was a Thursday; Sunday is 0.
pub(crate) const EPOCH_WEEKDAY: i64 = 4;

/// The days of 400 years, after which the Gregorian calendar repeats.
const ERA_DAYS: i64 = 146_097;

/// From 0000-03-01, on which the first of these 400 years starts, to 1970-01-01.
const EPOCH_FROM_ERA_DAYS: i64 = 719_468;

/// How a quota's time is cut into periods.
#[derive(Debug, Clone, PartialEq)]
pub struct Period(Cut);

#[derive(Debug, Clone, PartialEq)]
enum Cut {
    /// Each `period_ms` long; one of them starts `phase_ms` after the epoch.
    Fixed {
        period_ms: u64,
        phase_ms: u64,
    },
    Calendar {
        unit: Unit,
        zone: Zone,
    },
}

/// What a calendar period is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Day,
    Week { starts_on: i64 },
    Month,
}

/// One period: from `start_ms`, up to and without `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Milliseconds since the epoch; negative when the period started before 1970.
    pub start_ms: i64,
    /// The first instant that is no longer in it.
    pub end: EpochMs,
}

impl Period {
    /// Periods of `period_ms` (1 ms to 400 days), one of which starts at `anchor` (epoch milliseconds, in the past
    /// or in the future, negative before 1970).
    ///
    /// # Errors
    /// A length or an anchor outside its range, at `/period_ms` or `/anchor`.
    ///
    /// ```
    /// use weir_algorithms::calendar::Period;
    /// use weir_core::units::EpochMs;
    /// // Ten seconds, counted from 3 s: 3, 13, 23, ... and also -7.
    /// let period = Period::fixed(10_000, 3_000).unwrap();
    /// assert_eq!(period.at(EpochMs(22_999)).end, EpochMs(23_000));
    /// assert_eq!(period.at(EpochMs(23_000)).end, EpochMs(33_000));
    /// assert_eq!(period.at(EpochMs(0)).start_ms, -7_000);
    /// ```
    pub fn fixed(period_ms: u64, anchor: i64) -> Result<Self, Invalid> {
        within("/period_ms", period_ms, 1..=WINDOW_MS_MAX)?;
        let anchor_max = JSON_INTEGER_MAX as i64;
        within("/anchor", anchor, -anchor_max..=anchor_max)?;
        let phase_ms = anchor.rem_euclid(period_ms as i64) as u64;
        Ok(Self(Cut::Fixed {
            period_ms,
            phase_ms,
        }))
    }

    /// The months, weeks or days of a zone's calendar. `week_starts_on` is 0 (Sunday) to 6 and matters to weeks.
    ///
    /// # Errors
    /// A cadence that is not of the calendar, at `/cadence`; a day that no week has, at `/week_starts_on`.
    ///
    /// ```
    /// use weir_algorithms::calendar::{Period, Zone, WEEK_STARTS_ON_DEFAULT};
    /// use weir_core::units::EpochMs;
    /// use weir_wire::policy::Cadence;
    /// let utc = Zone::offset(0).unwrap();
    /// let months = Period::calendar(Cadence::CalendarMonth, utc, WEEK_STARTS_ON_DEFAULT).unwrap();
    /// // 2024-02-10T00:00:00Z; February 2024 has 29 days.
    /// let february = months.at(EpochMs(1_707_523_200_000));
    /// assert_eq!(february.end.0 - february.start_ms as u64, 29 * 86_400_000);
    /// ```
    pub fn calendar(cadence: Cadence, zone: Zone, week_starts_on: u64) -> Result<Self, Invalid> {
        let starts_on = within("/week_starts_on", week_starts_on, 0..=6)? as i64;
        let unit = match cadence {
            Cadence::CalendarDay => Unit::Day,
            Cadence::CalendarWeek => Unit::Week { starts_on },
            Cadence::CalendarMonth => Unit::Month,
            Cadence::Fixed | Cadence::Rolling => {
                let fault = Fault::Unserved {
                    got: "a cadence without a calendar".to_owned(),
                    served: "calendar_month, calendar_week, calendar_day",
                };
                return Err(Invalid::new("/cadence", fault));
            }
        };
        Ok(Self(Cut::Calendar { unit, zone }))
    }

    /// The period that `now` lies in. Periods follow each other without a gap.
    #[must_use]
    pub fn at(&self, now: EpochMs) -> Span {
        let now_ms = now.0.min(JSON_INTEGER_MAX) as i64;
        let (start_ms, end_ms) = match &self.0 {
            Cut::Fixed {
                period_ms,
                phase_ms,
            } => {
                let into_ms = (now_ms - *phase_ms as i64).rem_euclid(*period_ms as i64);
                (now_ms - into_ms, now_ms - into_ms + *period_ms as i64)
            }
            Cut::Calendar { unit, zone } => unit.around(zone, now_ms),
        };
        Span {
            start_ms,
            end: EpochMs(end_ms.max(0) as u64),
        }
    }

    /// The length of a period; of the longest one where they differ (a month: 31 days), without changes of offset.
    #[must_use]
    pub fn nominal_ms(&self) -> u64 {
        match &self.0 {
            Cut::Fixed { period_ms, .. } => *period_ms,
            Cut::Calendar { unit, .. } => match unit {
                Unit::Day => DAY_MS,
                Unit::Week { .. } => 7 * DAY_MS,
                Unit::Month => 31 * DAY_MS,
            },
        }
    }
}

impl Unit {
    /// The count of this unit that the civil day `day` lies in.
    fn of_day(self, day: i64) -> i64 {
        match self {
            Self::Day => day,
            Self::Week { starts_on } => (day + EPOCH_WEEKDAY - starts_on).div_euclid(7),
            Self::Month => {
                let (year, month, _) = civil_from_days(day);
                year * 12 + i64::from(month) - 1
            }
        }
    }

    /// The first civil day of the unit `count`.
    fn first_day(self, count: i64) -> i64 {
        match self {
            Self::Day => count,
            Self::Week { starts_on } => count * 7 - EPOCH_WEEKDAY + starts_on,
            Self::Month => {
                let month = count.rem_euclid(12) as u32 + 1;
                days_from_civil(count.div_euclid(12), month, 1)
            }
        }
    }

    /// Start and end of the unit around an instant.
    fn around(self, zone: &Zone, now_ms: i64) -> (i64, i64) {
        let start_ms = |count| zone.day_start_ms(self.first_day(count));
        let mut count = self.of_day(zone.day_at(now_ms));
        // A date may come a second time, where clocks go back over midnight, after the next one has started; and one
        // that clocks skip has no length.
        while start_ms(count + 1) <= now_ms {
            count += 1;
        }
        (start_ms(count), start_ms(count + 1))
    }
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar; `month` is 1 to 12, `day` 1 to 31 (any other
/// number is counted on from there). For years within +-10^15.
///
/// The year is taken to start in March, so that the leap day is its last; 400 such years are one era.
///
/// ```
/// use weir_algorithms::calendar::days_from_civil;
/// assert_eq!(days_from_civil(1970, 1, 1), 0);
/// assert_eq!(days_from_civil(2000, 3, 1) - days_from_civil(2000, 2, 28), 2); // 2000 is a leap year
/// assert_eq!(days_from_civil(1900, 3, 1) - days_from_civil(1900, 2, 28), 1); // 1900 is not
/// ```
#[must_use]
pub fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let (month, day) = (i64::from(month), i64::from(day));
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    // Five months from March or August on have 31, 30, 31, 30, 31 days: 153.
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA_DAYS + day_of_era - EPOCH_FROM_ERA_DAYS
}

/// The date (year, month 1 to 12, day 1 to 31) that lies `days` days after 1970-01-01. For days within +-10^17.
///
/// ```
/// use weir_algorithms::calendar::civil_from_days;
/// assert_eq!(civil_from_days(0), (1970, 1, 1));
/// assert_eq!(civil_from_days(-1), (1969, 12, 31));
/// assert_eq!(civil_from_days(11_016), (2000, 2, 29));
/// ```
#[must_use]
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + EPOCH_FROM_ERA_DAYS;
    let era = days.div_euclid(ERA_DAYS);
    let day_of_era = days.rem_euclid(ERA_DAYS);
    // Less the leap days that came before: one in 4 years, none in 100, one in 400.
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month as u32, day as u32)
}
