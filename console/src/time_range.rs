//! The span of time that a page looks at. It lives in the query string: the last so long, which moves on, or a span that
//! stays.

use form_urlencoded::parse;

use crate::api::ask::SeriesAsk;
use crate::instant::{self, INSTANT_MS_MAX, TimeZone};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Counters are kept by minute for a day, with an hour to spare for what was asked a while ago.
const MINUTES_KEPT_MS: u64 = 23 * HOUR_MS;

/// The most intervals that a range is cut into.
pub const STEPS_MAX: u64 = 120;

/// Lengths of intervals, each a whole number of the one before or nearly so; from an hour on whole hours.
const STEPS_MS: [u64; 10] = [
    MINUTE_MS,
    2 * MINUTE_MS,
    5 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    HOUR_MS,
    2 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
    DAY_MS,
];

/// A span that ends now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preset {
    /// 15 minutes.
    Minutes15,
    /// An hour.
    #[default]
    Hour,
    /// Six hours.
    Hours6,
    /// A day.
    Day,
    /// A week.
    Days7,
    /// 30 days.
    Days30,
    /// All that is kept.
    Days90,
}

impl Preset {
    /// From the shortest.
    pub const ALL: [Self; 7] = [
        Self::Minutes15,
        Self::Hour,
        Self::Hours6,
        Self::Day,
        Self::Days7,
        Self::Days30,
        Self::Days90,
    ];

    /// Its name in addresses.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// What it is called.
    pub fn label(self) -> &'static str {
        self.words().1
    }

    /// Its length.
    pub fn length_ms(self) -> u64 {
        self.words().2
    }

    fn words(self) -> (&'static str, &'static str, u64) {
        match self {
            Self::Minutes15 => ("15m", "Last 15 minutes", 15 * MINUTE_MS),
            Self::Hour => ("1h", "Last hour", HOUR_MS),
            Self::Hours6 => ("6h", "Last 6 hours", 6 * HOUR_MS),
            Self::Day => ("24h", "Last 24 hours", DAY_MS),
            Self::Days7 => ("7d", "Last 7 days", 7 * DAY_MS),
            Self::Days30 => ("30d", "Last 30 days", 30 * DAY_MS),
            Self::Days90 => ("90d", "Last 90 days", 90 * DAY_MS),
        }
    }
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeRange {
    /// A span that ends now.
    Last(Preset),
    /// A span that stays where it is.
    Between {
        /// Its start, epoch milliseconds.
        from_ms: u64,
        /// Its end, later than the start.
        to_ms: u64,
    },
}

impl Default for TimeRange {
    fn default() -> Self {
        Self::Last(Preset::default())
    }
}

/// Why two fields are no span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeFault {
    /// The start is no instant.
    From,
    /// The end is no instant.
    To,
    /// It ends before it starts, or at once.
    Order,
}

impl RangeFault {
    /// What to do about it.
    pub fn words(self) -> &'static str {
        match self {
            Self::From | Self::To => "Write it as 2026-11-22 08:30.",
            Self::Order => "Must be later than the start.",
        }
    }
}

impl TimeRange {
    /// Reads the name of a range: `6h`, or `2026-11-22T08:00Z..2026-11-22T09:00Z`.
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(preset) = Preset::ALL.into_iter().find(|preset| preset.name() == name) {
            return Some(Self::Last(preset));
        }
        let (from, to) = name.split_once("..")?;
        Self::between(instant::parse(from)?, instant::parse(to)?)
    }

    /// Reads `range=` of a query string; the default where it is missing or is none.
    ///
    /// ```
    /// use weir_console::time_range::{Preset, TimeRange};
    /// assert_eq!(TimeRange::of_query("?tab=x&range=7d"), TimeRange::Last(Preset::Days7));
    /// ```
    pub fn of_query(query_string: &str) -> Self {
        parse(query_string.trim_start_matches('?').as_bytes())
            .find(|(name, _)| name == "range")
            .and_then(|(_, value)| Self::parse(&value))
            .unwrap_or_default()
    }

    /// A span that stays; none unless it ends later than it starts.
    pub fn between(from_ms: u64, to_ms: u64) -> Option<Self> {
        let fits = from_ms < to_ms && to_ms < INSTANT_MS_MAX;
        fits.then_some(Self::Between { from_ms, to_ms })
    }

    /// What two fields say that are read in `zone`.
    ///
    /// # Errors
    /// Which of them is wrong.
    pub fn of_fields(from: &str, to: &str, zone: TimeZone) -> Result<Self, RangeFault> {
        let from_ms = instant::parse_in(from, zone).ok_or(RangeFault::From)?;
        let to_ms = instant::parse_in(to, zone).ok_or(RangeFault::To)?;
        Self::between(from_ms, to_ms).ok_or(RangeFault::Order)
    }

    /// Its name in addresses; [`Self::parse`] reads it.
    pub fn name(self) -> String {
        match self {
            Self::Last(preset) => preset.name().to_owned(),
            Self::Between { from_ms, to_ms } => {
                format!("{}..{}", short_instant(from_ms), short_instant(to_ms))
            }
        }
    }

    /// Whether an address need not say it.
    pub fn is_default(self) -> bool {
        self == Self::default()
    }

    /// Whether it moves on with the time.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Last(_))
    }

    /// Its start and its end.
    pub fn span(self, now_ms: u64) -> (u64, u64) {
        match self {
            Self::Last(preset) => (now_ms.saturating_sub(preset.length_ms()), now_ms),
            Self::Between { from_ms, to_ms } => (from_ms, to_ms),
        }
    }

    /// What is asked for of it: everything that was counted.
    pub fn series_ask(self, now_ms: u64) -> SeriesAsk {
        let (from, to) = self.span(now_ms);
        SeriesAsk {
            from: Some(from),
            to: Some(to),
            step_ms: Some(self.step_ms(now_ms)),
            ..SeriesAsk::default()
        }
    }

    /// The length of the intervals that counters are asked for in: no more than [`STEPS_MAX`] of them where a day is
    /// long enough, and never finer than they are kept.
    pub fn step_ms(self, now_ms: u64) -> u64 {
        let (from_ms, to_ms) = self.span(now_ms);
        let whole_day = self == Self::Last(Preset::Day);
        let by_minute = whole_day || now_ms.saturating_sub(from_ms) <= MINUTES_KEPT_MS;
        let least = if by_minute { MINUTE_MS } else { HOUR_MS };
        let length_ms = to_ms - from_ms;
        STEPS_MS
            .into_iter()
            .filter(|step_ms| *step_ms >= least)
            .find(|step_ms| length_ms / step_ms <= STEPS_MAX)
            .unwrap_or(DAY_MS)
    }

    /// What is looked at, in words.
    pub fn label(self, zone: TimeZone) -> String {
        match self {
            Self::Last(preset) => preset.label().to_owned(),
            Self::Between { from_ms, to_ms } => {
                let from = instant::date_minute(from_ms, zone);
                let to = instant::date_minute(to_ms, zone);
                let suffix = zone.suffix(to_ms);
                format!("{from} to {to} {suffix}")
            }
        }
    }
}

/// To the minute where it is a whole one.
fn short_instant(epoch_ms: u64) -> String {
    let text = instant::rfc3339(epoch_ms);
    match text.strip_suffix(":00Z") {
        Some(minute) => format!("{minute}Z"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1_795_336_212_345;

    #[test]
    fn a_range_is_read_from_the_name_that_it_is_given() {
        let spans = [
            (1_795_336_200_000, 1_795_339_800_000),
            (0, 1),
            (1, 60_000),
            (1_795_336_201_000, 1_795_336_201_001),
        ];
        let spans = spans.map(|(from_ms, to_ms)| TimeRange::Between { from_ms, to_ms });
        let presets = Preset::ALL.map(TimeRange::Last);
        for range in presets.into_iter().chain(spans) {
            assert_eq!(TimeRange::parse(&range.name()), Some(range));
        }
        let hour = TimeRange::Between {
            from_ms: 1_795_336_200_000,
            to_ms: 1_795_339_800_000,
        };
        assert_eq!(hour.name(), "2026-11-22T08:30Z..2026-11-22T09:30Z");
    }

    #[test]
    fn an_address_that_says_nothing_sensible_shows_the_last_hour() {
        for query in [
            "",
            "?",
            "?range=",
            "?range=2h",
            "?range=..",
            "?range=2026-11-22T09:00Z..2026-11-22T08:00Z",
            "?range=2026-11-22T09:00Z..2026-11-22T09:00Z",
            "?ranges=7d",
        ] {
            let range = TimeRange::of_query(query);
            assert!(range.is_default() && range.is_live(), "{query}");
        }
        let between = TimeRange::of_query("?a=b&range=2026-11-22T08%3A00Z..2026-11-22T09%3A00Z");
        assert!(!between.is_live());
        assert_eq!(between.span(NOW_MS), (1_795_334_400_000, 1_795_338_000_000));
    }

    #[test]
    fn intervals_are_as_fine_as_counters_are_kept_and_never_too_many() {
        let expected_min = [1, 1, 5, 15, 120, 360, 1_440];
        for (preset, minutes) in Preset::ALL.into_iter().zip(expected_min) {
            let range = TimeRange::Last(preset);
            assert_eq!(range.step_ms(NOW_MS), minutes * MINUTE_MS, "{preset:?}");
            let (from_ms, to_ms) = range.span(NOW_MS);
            assert_eq!(to_ms - from_ms, preset.length_ms());
            assert!(preset.length_ms() / range.step_ms(NOW_MS) <= STEPS_MAX);
        }
    }

    #[test]
    fn what_is_older_than_a_day_is_asked_for_by_the_hour() {
        let between = |ago_ms: u64, length_ms: u64| TimeRange::Between {
            from_ms: NOW_MS - ago_ms,
            to_ms: NOW_MS - ago_ms + length_ms,
        };
        for (ago_h, length_min, step_min) in [
            (1, 30, 1),
            (22, 60, 1),
            (22, 22 * 60, 15),
            (30, 60, 60),
            (30, 5, 60),
            (24 * 60, 24 * 60, 60),
            (24 * 60, 60 * 24 * 60, 720),
        ] {
            let range = between(ago_h * HOUR_MS, length_min * MINUTE_MS);
            assert_eq!(
                range.step_ms(NOW_MS),
                step_min * MINUTE_MS,
                "{ago_h} h ago, {length_min} min long"
            );
        }
        let ages = TimeRange::Between {
            from_ms: 0,
            to_ms: NOW_MS,
        };
        assert_eq!(ages.step_ms(NOW_MS), DAY_MS);
    }

    #[test]
    fn fields_are_read_in_the_zone_that_they_are_shown_in() {
        let zone = TimeZone::local(|_| 60);
        let range = TimeRange::of_fields("2026-11-22 09:30", "2026-11-22 10:30", zone).unwrap();
        assert_eq!(range.span(0), (1_795_336_200_000, 1_795_339_800_000));
        assert_eq!(
            range.label(zone),
            "2026-11-22 09:30 to 2026-11-22 10:30 +01:00"
        );
        for (from, to, fault) in [
            ("soon", "2026-11-22 09:30", RangeFault::From),
            ("2026-11-22 09:30", "", RangeFault::To),
            ("2026-11-22 09:30", "2026-11-22 09:30", RangeFault::Order),
            ("2026-11-22 09:30", "2026-11-22 08:30", RangeFault::Order),
        ] {
            assert_eq!(TimeRange::of_fields(from, to, zone), Err(fault));
            assert!(!fault.words().is_empty());
        }
    }
}
