//! Counters over time, over all regions.

use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{HOUR_MS, JSON_INTEGER_MAX, MINUTE_MS, SERIES_POINTS_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::query::Query;
use weir_core::units::EpochMs;
use weir_wire::accounting::TenantCounters;
use weir_wire::by_name::ByName;
use weir_wire::operator::series::{SeriesPoint, SeriesView};
use weir_wire::series::{SeriesBody, SeriesReply};

/// What is asked for: the last hour by minutes, without a word of the caller.
///
/// # Errors
/// A step that is no multiple of a minute, an end before the start, or more than [`SERIES_POINTS_MAX`] intervals.
///
/// ```
/// use weir_core::query::Query;
/// use weir_operations::report::series::asked;
/// use weir_core::units::EpochMs;
/// let body = asked(&mut Query::default(), EpochMs(7_230_000)).unwrap();
/// assert_eq!((body.from, body.to, body.step_ms), (EpochMs(3_660_000), EpochMs(7_260_000), 60_000));
/// ```
pub fn asked(query: &mut Query, now: EpochMs) -> Result<SeriesBody, Invalid> {
    let step_ms = query.number("step_ms")?.unwrap_or(MINUTE_MS);
    let step_ms = within("/step_ms", step_ms, MINUTE_MS..=HOUR_MS * 24)?;
    if step_ms % MINUTE_MS != 0 || (step_ms > HOUR_MS && step_ms % HOUR_MS != 0) {
        let message = "must be a multiple of 60000, and above 3600000 one of that".to_owned();
        return Err(Invalid::new("/step_ms", Fault::Form { message }));
    }
    let to = query.number("to")?.unwrap_or(now.0);
    let to = within("/to", to, 0..=JSON_INTEGER_MAX)?;
    let from = query.number("from")?.unwrap_or(to.saturating_sub(HOUR_MS));
    let from = within("/from", from, 0..=to)?;
    let (from, to) = (from / step_ms * step_ms, to.div_ceil(step_ms) * step_ms);
    // Rounded outwards on both sides, an hour that does not begin with a minute touches 61 of them.
    let from = if to - from > HOUR_MS && step_ms == MINUTE_MS && (to - from) < HOUR_MS + 2 * step_ms
    {
        to - HOUR_MS
    } else {
        from
    };
    let points = usize::try_from((to - from) / step_ms).unwrap_or(usize::MAX);
    if points > SERIES_POINTS_MAX {
        let (got, max, what) = (points, SERIES_POINTS_MAX, "intervals");
        return Err(Invalid::new("/step_ms", Fault::TooMany { got, max, what }));
    }
    Ok(SeriesBody {
        from: EpochMs(from),
        to: EpochMs(to),
        step_ms,
        tenant: query.tenant("tenant")?,
    })
}

/// What is kept of each point: all, or what one name was counted for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// One budget.
    pub budget: Option<String>,
    /// One limit.
    pub limit: Option<String>,
    /// One meter.
    pub meter: Option<String>,
    /// One guard.
    pub guard: Option<String>,
    /// One overload resource.
    pub overload: Option<String>,
}

impl Names {
    fn all(&self) -> bool {
        *self == Self::default()
    }

    fn keep(&self, counters: &mut TenantCounters) {
        fn only<T>(tallies: &mut ByName<T>, name: Option<&String>) {
            tallies.retain(|known, _| Some(known) == name);
        }
        if !self.all() {
            only(&mut counters.budgets, self.budget.as_ref());
            only(&mut counters.limits, self.limit.as_ref());
            only(&mut counters.meters, self.meter.as_ref());
            only(&mut counters.guards, self.guard.as_ref());
            only(&mut counters.overload, self.overload.as_ref());
        }
    }
}

/// The answers of all regions in one; a region without one is named.
#[must_use]
pub fn merged(
    body: SeriesBody,
    names: &Names,
    answers: impl IntoIterator<Item = (String, Option<SeriesReply>)>,
) -> SeriesView {
    let mut points: OrderedMap<EpochMs, TenantCounters> = OrderedMap::new();
    let mut unreachable = Vec::new();
    for (region, answer) in answers {
        let Some(answer) = answer else {
            unreachable.push(region);
            continue;
        };
        for (at, mut counters) in answer.points {
            names.keep(&mut counters);
            if counters.names() > 0 {
                points.entry(at).or_default().add(&counters);
            }
        }
    }
    let points = points
        .into_iter()
        .map(|(at, counters)| SeriesPoint { at, counters });
    SeriesView {
        from: body.from,
        to: body.to,
        step_ms: body.step_ms,
        tenant: body.tenant,
        unreachable,
        points: points.collect(),
    }
}

#[cfg(test)]
mod tests {
    use weir_accounting::counters::{Charged, Decided, count};
    use weir_decision::Reason;
    use weir_wire::accounting::Counters;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<SeriesBody, Invalid> {
        let mut query = Query::new(pairs.iter().copied())?;
        asked(&mut query, EpochMs(10 * HOUR_MS + 30_000))
    }

    #[test]
    fn a_range_is_rounded_to_whole_intervals() {
        let body = read(&[("from", "61000"), ("to", "3700000"), ("step_ms", "3600000")]).unwrap();
        assert_eq!((body.from, body.to), (EpochMs(0), EpochMs(2 * HOUR_MS)));
        let body = read(&[("tenant", "acme")]).unwrap();
        assert_eq!(body.to.0 - body.from.0, HOUR_MS);
        assert_eq!(body.tenant.as_deref(), Some("acme"));
    }

    #[test]
    fn a_range_that_cannot_be_is_refused_where_it_stands() {
        for (pairs, field) in [
            (vec![("step_ms", "90000")], "/step_ms"),
            (vec![("step_ms", "0")], "/step_ms"),
            (vec![("step_ms", "5400000")], "/step_ms"),
            (vec![("from", "100"), ("to", "99")], "/from"),
            (vec![("to", "9007199254740992")], "/to"),
            (vec![("from", "0")], "/step_ms"),
            (vec![("tenant", "a\nb")], "/tenant"),
        ] {
            let wide = [("from", "0"), ("to", "864000000000")];
            let pairs = if pairs == [("from", "0")] {
                wide.to_vec()
            } else {
                pairs
            };
            assert_eq!(read(&pairs).unwrap_err().field, field, "{pairs:?}");
        }
    }

    fn reply(charged: Charged<'_>, at: u64, units: u64) -> SeriesReply {
        let mut counters = Counters::new();
        let decided = Decided {
            tenant: "a",
            known: false,
            charged,
            reason: Reason::Admitted,
            units,
        };
        count(&mut counters, &decided, 10);
        let points = OrderedMap::from([(EpochMs(at), counters["a"].clone())]);
        SeriesReply {
            points,
            told_at: None,
        }
    }

    #[test]
    fn the_same_interval_of_two_regions_is_one_and_a_silent_region_is_named() {
        let meter = Charged::Meter("bytes");
        let answers = [
            ("weur".to_owned(), Some(reply(meter, MINUTE_MS, 3))),
            ("enam".to_owned(), Some(reply(meter, MINUTE_MS, 4))),
            ("oc".to_owned(), None),
        ];
        let view = merged(read(&[]).unwrap(), &Names::default(), answers);
        assert_eq!(view.points.len(), 1);
        let tally = view.points[0].counters.meters["bytes"];
        assert_eq!((tally.admitted_units.0, tally.admitted_calls.0), (7, 2));
        assert_eq!(view.unreachable, ["oc"]);
    }

    #[test]
    fn one_name_is_kept_and_the_others_are_left_out() {
        let answers = [
            (
                "weur".to_owned(),
                Some(reply(Charged::Meter("bytes"), 0, 3)),
            ),
            (
                "enam".to_owned(),
                Some(reply(Charged::Budget("tokens"), 60_000, 4)),
            ),
        ];
        let names = Names {
            budget: Some("tokens".to_owned()),
            ..Names::default()
        };
        let view = merged(read(&[]).unwrap(), &names, answers);
        let at: Vec<u64> = view.points.iter().map(|point| point.at.0).collect();
        assert_eq!(at, [60_000]);
    }
}
