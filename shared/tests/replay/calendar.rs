//! Civil dates, and the periods of calendars.

use serde_json::{Value, json};
use weir_shared::algorithms::calendar::{Period, Zone, civil_from_days, days_from_civil};
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::Cadence;

use super::Replay;
use super::line::{Op, Sequence, whole};
use super::report::{Outcome, Why};

struct Calendar;

pub fn start(_sequence: &Sequence) -> Result<Box<dyn Replay>, Why> {
    Ok(Box::new(Calendar))
}

impl Replay for Calendar {
    fn apply(&mut self, op: &Op, _now: EpochMs) -> Outcome {
        let got = match op.op.as_str() {
            "daysFromCivil" => days(op),
            "civilFromDays" => civil(op),
            "calendarPeriod" => period(op),
            other => Err(Outcome::failed("a known operation", other)),
        };
        match got {
            Ok(got) if got == *op.expected() => Outcome::Passed,
            Ok(got) => Outcome::failed(op.expected(), got),
            Err(outcome) => outcome,
        }
    }
}

fn days(op: &Op) -> Result<Value, Outcome> {
    let part = |name| u32::try_from(integer(op, name)?).map_err(|_| no_date(op));
    let (year, month, day) = (integer(op, "y")?, part("m")?, part("d")?);
    Ok(days_from_civil(year, month, day).into())
}

fn civil(op: &Op) -> Result<Value, Outcome> {
    let (year, month, day) = civil_from_days(integer(op, "z")?);
    Ok(json!({"y": year, "m": month, "d": day}))
}

fn period(op: &Op) -> Result<Value, Outcome> {
    const MINUTE_MS: i64 = 60_000;
    let cadence = match op.text("cadence") {
        Some("calendar-month") => Cadence::CalendarMonth,
        Some("calendar-week") => Cadence::CalendarWeek,
        Some("calendar-day") => Cadence::CalendarDay,
        other => return Err(Outcome::failed("a calendar", other)),
    };
    let Some(now) = op.args.get("now").and_then(whole) else {
        return Err(Outcome::Skipped(
            "a time that is no whole number of milliseconds since 1970".into(),
        ));
    };
    let offset_ms = integer(op, "offsetMs")?;
    if offset_ms % MINUTE_MS != 0 {
        return Err(Outcome::Skipped(
            "an offset of no whole number of minutes".into(),
        ));
    }
    let week_starts_on = op.args.get("weekStartsOn").map_or(Some(1), whole);
    let period = Zone::offset(offset_ms / MINUTE_MS)
        .and_then(|zone| Period::calendar(cadence, zone, week_starts_on.unwrap_or(u64::MAX)));
    let span = period
        .map_err(|invalid| Outcome::failed("a calendar", invalid))?
        .at(EpochMs(now));
    Ok(json!({"start": span.start_ms, "reset": span.end}))
}

fn integer(op: &Op, name: &str) -> Result<i64, Outcome> {
    let value = op.args.get(name).and_then(Value::as_i64);
    value.ok_or_else(|| no_date(op))
}

fn no_date(op: &Op) -> Outcome {
    Outcome::failed("integers", &op.args)
}
