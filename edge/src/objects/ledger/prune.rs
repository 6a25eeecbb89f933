//! Drops what is older than it is kept: minutes become hours, hours and records go.

use weir_shared::accounting::interval;
use weir_shared::limits::{
    HOUR_MS, HOURS_KEPT_MS, MINUTE_MS, MINUTES_KEPT_MS, RECORDS_KEPT_MS, RECORDS_MAX,
};
use weir_shared::units::EpochMs;
use weir_shared::wire::cells::StoredCell;
use weir_shared::wire::stored::read_row;
use worker::Date;

use super::{Ledger, rows};
use crate::objects::server::Refused;
use crate::objects::storage::{Statement, integer, number, report_damaged, text, wrong_type};

/// Hours that are made of minutes in one event.
const HOURS_ROLLED_MAX: u32 = 6;

const DROP_INTERVALS: &str =
    "DELETE FROM intervals WHERE step_ms = ? AND row = ? AND at >= ? AND at < ?";

impl Ledger {
    /// Drops what is due, once an hour.
    pub(super) fn prune(&self) -> Result<(), Refused> {
        let now = EpochMs(Date::now().as_millis());
        let due = self.prune_due()?.is_some_and(|due| now >= due);
        let pruned_at = self.memory.try_borrow()?.pruned_at;
        let early = now >= pruned_at && now.since(pruned_at) < HOUR_MS;
        if !due && early {
            return Ok(());
        }
        for _ in 0..HOURS_ROLLED_MAX {
            if !self.roll_up(now)? {
                break;
            }
        }
        let hours_before = now.0.saturating_sub(HOURS_KEPT_MS);
        if self
            .oldest(HOUR_MS)?
            .is_some_and(|oldest| oldest.0 < hours_before)
        {
            let hours = (EpochMs(0), EpochMs(hours_before));
            self.database.atomically(dropped(HOUR_MS, hours))?;
        }
        self.prune_records(now)?;
        self.memory.try_borrow_mut()?.pruned_at = now;
        Ok(())
    }

    /// Makes one hour of its minutes, if they are old enough. Answers whether it did.
    fn roll_up(&self, now: EpochMs) -> Result<bool, Refused> {
        let oldest = self.oldest(MINUTE_MS)?;
        let hour = oldest.map(|oldest| interval::start(oldest, HOUR_MS));
        let Some(hour) = hour.filter(|hour| now >= rolled_at(*hour)) else {
            return Ok(false);
        };
        let minutes = (hour, hour.plus(HOUR_MS));
        let mut statements = Vec::new();
        for row in 0..=interval::SUM_ROW {
            let cells = self.minutes_of(row, minutes)?;
            let body = interval::rolled_up(cells.iter().map(StoredCell::counters))?;
            statements.push(rows::put_interval(HOUR_MS, row, hour.0, &body));
        }
        statements.extend(dropped(MINUTE_MS, minutes));
        self.database.atomically(statements)?;
        Ok(true)
    }

    fn minutes_of(
        &self,
        row: u32,
        (from, to): (EpochMs, EpochMs),
    ) -> Result<Vec<StoredCell>, Refused> {
        let query =
            "SELECT body FROM intervals WHERE step_ms = ? AND row = ? AND at >= ? AND at < ?";
        let values = vec![
            number(MINUTE_MS),
            number(row.into()),
            number(from.0),
            number(to.0),
        ];
        let mut cells = Vec::new();
        for found in self.database.rows(query, values)? {
            let body = text(found.first()).ok_or_else(|| wrong_type("body"));
            match body.and_then(read_row::<StoredCell>) {
                Ok(cell) => cells.push(cell),
                Err(damaged) => report_damaged(&format!("minute after {from}"), &damaged),
            }
        }
        Ok(cells)
    }

    fn prune_records(&self, now: EpochMs) -> Result<(), Refused> {
        let before = now.0.saturating_sub(RECORDS_KEPT_MS);
        let statement = "DELETE FROM records WHERE ends_at < ?";
        self.database.run(statement, vec![number(before)])?;
        let row = self
            .database
            .first("SELECT COUNT(*) FROM records", vec![])?;
        let records = row.and_then(|row| integer(row.first())).unwrap_or(0);
        if records > RECORDS_MAX {
            let statement = "DELETE FROM records WHERE (ends_at, budget, label) IN \
                 (SELECT ends_at, budget, label FROM records ORDER BY ends_at LIMIT ?)";
            self.database
                .run(statement, vec![number(records - RECORDS_MAX)])?;
        }
        Ok(())
    }

    /// When something has to be dropped, if there is anything.
    pub(super) fn prune_due(&self) -> Result<Option<EpochMs>, Refused> {
        let minutes = self.oldest(MINUTE_MS)?;
        let minutes = minutes.map(|at| rolled_at(interval::start(at, HOUR_MS)));
        let hours = self.oldest(HOUR_MS)?;
        let hours = hours.map(|at| at.plus(HOURS_KEPT_MS + HOUR_MS));
        let row = self.database.first(
            "SELECT MIN(ends_at) FROM records WHERE ends_at >= 0",
            vec![],
        )?;
        let records = row.and_then(|row| integer(row.first()));
        let records = records.map(|at| EpochMs(at).plus(RECORDS_KEPT_MS + HOUR_MS));
        Ok([minutes, hours, records].into_iter().flatten().min())
    }
}

/// When an hour is made of its minutes.
fn rolled_at(hour: EpochMs) -> EpochMs {
    hour.plus(HOUR_MS + MINUTES_KEPT_MS)
}

fn dropped(step_ms: u64, (from, to): (EpochMs, EpochMs)) -> Vec<Statement> {
    let rows = 0..=interval::SUM_ROW;
    rows.map(|row| {
        let values = vec![
            number(step_ms),
            number(row.into()),
            number(from.0),
            number(to.0),
        ];
        (DROP_INTERVALS, values)
    })
    .collect()
}
