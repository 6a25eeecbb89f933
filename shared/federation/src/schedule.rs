//! How the windows of a pool follow each other: on multiples of their length, in the parts of a rolling window, or by
//! the calendar.

use weir_algorithms::calendar::{Period, Span, WEEK_STARTS_ON_DEFAULT, Zone};
use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{
    BUDGET_WINDOW_MS_MIN, GLOBAL_BUCKET_MS_MIN, GLOBAL_BUCKETS_MAX, WINDOW_MS_MAX,
};
use weir_core::units::{EpochMs, WindowLabel};
use weir_core::window::Window;
use weir_wire::exchange::{Cycle, PeriodBody, Terms};
use weir_wire::policy::Cadence;

/// A checked cycle.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// Windows end on multiples of their length.
    Fixed {
        /// The length.
        window_ms: u64,
    },
    /// Each window is one part of a rolling one.
    Sliding {
        /// The length of a part.
        part_ms: u64,
        /// Parts of the rolling window, 1 to 100.
        parts: usize,
    },
    /// Windows are the periods of a quota.
    Calendar(Period),
}

impl Schedule {
    /// A rolling window of `window_ms` in `buckets` equal parts, of at least a tenth of a second each.
    ///
    /// # Errors
    /// A number outside its range, or one that does not divide the window, at `/window_ms` or `/buckets`.
    ///
    /// ```
    /// use weir_federation::schedule::Schedule;
    /// let minute = Schedule::sliding(60_000, 10).unwrap();
    /// assert_eq!(minute, Schedule::Sliding { part_ms: 6_000, parts: 10 });
    /// assert_eq!(Schedule::sliding(60_000, 7).unwrap_err().field, "/buckets"); // 60,000 / 7 is not whole
    /// assert_eq!(Schedule::sliding(1_000, 20).unwrap_err().field, "/buckets"); // parts of 50 ms
    /// ```
    pub fn sliding(window_ms: u64, buckets: u64) -> Result<Self, Invalid> {
        within(
            "/window_ms",
            window_ms,
            BUDGET_WINDOW_MS_MIN..=WINDOW_MS_MAX,
        )?;
        let buckets_max = (window_ms / GLOBAL_BUCKET_MS_MIN).min(GLOBAL_BUCKETS_MAX);
        within("/buckets", buckets, 1..=buckets_max)?;
        if !window_ms.is_multiple_of(buckets) {
            let fault = Fault::OutOfRange {
                got: buckets.to_string(),
                min: "1".to_owned(),
                max: format!("{buckets_max} that divide {window_ms} ms"),
            };
            return Err(Invalid::new("/buckets", fault));
        }
        Ok(Self::Sliding {
            part_ms: window_ms / buckets,
            parts: buckets as usize,
        })
    }

    /// The schedule of terms that no message brought: those that cannot be are taken for windows of their length.
    #[must_use]
    pub fn of(terms: &Terms) -> Self {
        Self::try_from(terms).unwrap_or(Self::Fixed {
            window_ms: terms.window_ms.max(1),
        })
    }

    /// Parts that a rolling window has before the open one; none where windows do not roll.
    #[must_use]
    pub fn parts(&self) -> usize {
        match self {
            Self::Sliding { parts, .. } => *parts,
            Self::Fixed { .. } | Self::Calendar(_) => 0,
        }
    }

    /// For how long what was lent in a part of a rolling window counts after it; 0 where windows do not roll.
    #[must_use]
    pub fn rolls_ms(&self) -> u64 {
        match self {
            Self::Sliding { part_ms, parts } => part_ms.saturating_mul(*parts as u64),
            Self::Fixed { .. } | Self::Calendar(_) => 0,
        }
    }

    /// The window that is open at `now`, labelled `label`.
    #[must_use]
    pub fn open(&self, label: WindowLabel, now: EpochMs) -> Window {
        match self {
            Self::Fixed { window_ms } => Window::open(label, now, *window_ms),
            Self::Sliding { part_ms, .. } => Window::open(label, now, *part_ms),
            Self::Calendar(period) => window_of(label, period.at(now)),
        }
    }

    /// The window at `now`, after `window` is over, and how many have begun since, itself included. Labels rise by as
    /// many: those of windows to come are known, so that they can be lent from ahead, and as many labels as a rolling
    /// window has parts never see more than the limit, whatever the clock does. Of a calendar they rise by one. A part
    /// lasts for its whole length after the one before.
    ///
    /// ```
    /// use weir_federation::schedule::Schedule;
    /// use weir_core::units::{EpochMs, WindowLabel};
    /// let minute = Schedule::sliding(60_000, 10).unwrap();
    /// let part = minute.open(WindowLabel(1), EpochMs(14_500)); // ends at 18 s
    /// let (next, begun) = minute.after(&part, EpochMs(25_000)); // 18 s to 24 s went by, 24 s to 30 s is open
    /// assert_eq!((next.label, next.ends_at, begun), (WindowLabel(3), EpochMs(30_000), 2));
    /// ```
    #[must_use]
    pub fn after(&self, window: &Window, now: EpochMs) -> (Window, u64) {
        let (part_ms, parts) = match self {
            Self::Sliding { part_ms, parts } => (part_ms, parts),
            Self::Calendar(_) => return (self.open(label_after(window.label, 1), now), 1),
            Self::Fixed { window_ms } => {
                let length_ms = (*window_ms).max(1);
                let begun = (now.since(window.ends_at) / length_ms).saturating_add(1);
                return (self.open(label_after(window.label, begun), now), begun);
            }
        };
        let part_ms = (*part_ms).max(1);
        let begun = (now.since(window.ends_at) / part_ms).saturating_add(1);
        let label = label_after(window.label, begun);
        if begun > *parts as u64 {
            return (Window::open(label, now, part_ms), begun);
        }
        let next = Window {
            label,
            ends_at: window.ends_at.plus(begun.saturating_mul(part_ms)),
            window_ms: part_ms,
        };
        (next, begun)
    }
}

impl TryFrom<&Terms> for Schedule {
    type Error = Invalid;

    fn try_from(terms: &Terms) -> Result<Self, Invalid> {
        let window_ms = within(
            "/window_ms",
            terms.window_ms,
            match &terms.cycle {
                // A budget of one region may have any.
                None => 1..=WINDOW_MS_MAX,
                Some(_) => BUDGET_WINDOW_MS_MIN..=WINDOW_MS_MAX,
            },
        )?;
        match &terms.cycle {
            None => Ok(Self::Fixed { window_ms }),
            Some(Cycle::Sliding { buckets }) => {
                Self::sliding(window_ms, *buckets).map_err(|refused| refused.under("/cycle"))
            }
            Some(Cycle::Calendar(body)) => {
                let period = period(body).map_err(|refused| refused.under("/cycle"))?;
                Ok(Self::Calendar(period))
            }
        }
    }
}

fn period(body: &PeriodBody) -> Result<Period, Invalid> {
    if body.cadence == Cadence::Fixed {
        let period_ms = body.period_ms.unwrap_or(0);
        within(
            "/period_ms",
            period_ms,
            BUDGET_WINDOW_MS_MIN..=WINDOW_MS_MAX,
        )?;
        return Period::fixed(period_ms, body.anchor.unwrap_or(0));
    }
    let week_starts_on = body.week_starts_on.unwrap_or(WEEK_STARTS_ON_DEFAULT);
    Period::calendar(body.cadence, zone(body)?, week_starts_on)
}

fn zone(body: &PeriodBody) -> Result<Zone, Invalid> {
    match (&body.time_zone, body.offset_minutes) {
        (Some(_), Some(_)) => {
            let by = "offset_minutes";
            Err(Invalid::new("/time_zone", Fault::Excluded { by }))
        }
        (Some(name), None) => Zone::named(name),
        (None, minutes) => Zone::offset(minutes.unwrap_or(0)),
    }
}

fn window_of(label: WindowLabel, span: Span) -> Window {
    let window_ms = i128::from(span.end.0) - i128::from(span.start_ms);
    Window {
        label,
        ends_at: span.end,
        window_ms: u64::try_from(window_ms).unwrap_or(1).max(1),
    }
}

fn label_after(label: WindowLabel, more: u64) -> WindowLabel {
    WindowLabel(label.0.saturating_add(more))
}
