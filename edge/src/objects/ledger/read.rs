//! What a ledger answers about time: counters by interval, and the records of windows.

use weir_shared::accounting::demand::Demand;
use weir_shared::accounting::interval;
use weir_shared::accounting::pick::pick;
use weir_shared::json;
use weir_shared::limits::{LEDGER_POINTS_MAX, MINUTE_MS, RECORDS_READ_MAX};
use weir_shared::ordered::{OrderedMap, sort_by};
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::{Counters, OTHERS, TenantCounters};
use weir_shared::wire::cells::StoredCell;
use weir_shared::wire::series::{DemandBody, DemandReply, SeriesBody, SeriesReply};
use weir_shared::wire::stored::{Damaged, read_row};
use weir_shared::wire::windows::{WindowRecord, WindowsBody, WindowsReply};

use super::Ledger;
use crate::objects::server::Refused;
use crate::objects::storage::{Value, integer, number, report_damaged, text, wrong_type};

/// Rows that are read at a time: 64 of 96 kB are 6 MB.
const ROWS_READ: u64 = 64;

impl Ledger {
    /// Counters by interval.
    pub(super) fn series(&self, body: &SeriesBody) -> Result<SeriesReply, Refused> {
        let step_ms = body.step_ms.max(MINUTE_MS);
        if body.to.since(body.from) / step_ms > LEDGER_POINTS_MAX {
            return Err(Refused("too many points".to_owned()));
        }
        let mut points = OrderedMap::new();
        let oldest = self.oldest(MINUTE_MS)?.unwrap_or(body.from);
        for (kept_ms, from, to) in interval::sources(body.from, body.to, oldest) {
            self.stored(
                body.tenant.as_deref(),
                kept_ms,
                (from, to),
                |at, counters| {
                    interval::add_point(&mut points, at, step_ms, &counters);
                },
            )?;
        }
        self.look(|books, _| {
            let range =
                |at: &EpochMs| *at >= interval::start(body.from, MINUTE_MS) && *at < body.to;
            for (at, counters) in books.minutes().filter(|(at, _)| range(at)) {
                if let Some(counters) = chosen(counters, body.tenant.as_deref()) {
                    interval::add_point(&mut points, at, step_ms, &counters);
                }
            }
            Ok(())
        })?;
        let told_at = self.told_at()?;
        Ok(SeriesReply { points, told_at })
    }

    /// When counters last arrived. After the object woke it is the minute of the last ones: the rows of tenants are read
    /// for it once, as windows that other regions tell of leave a row of the sum alone.
    fn told_at(&self) -> Result<Option<EpochMs>, Refused> {
        if let Some(known) = self.memory.try_borrow()?.told_at {
            return Ok((known > EpochMs(0)).then_some(known));
        }
        let query = "SELECT MAX(at) FROM intervals WHERE step_ms = ? AND row = ?";
        let mut last = None;
        for row in 0..interval::SUM_ROW {
            let values = vec![number(MINUTE_MS), number(row.into())];
            let found = self.database.first(query, values)?;
            last = last.max(found.and_then(|row| integer(row.first())).map(EpochMs));
        }
        let open = self.look(|books, _| {
            let counted = books.minutes().filter(|(_, counters)| !counters.is_empty());
            Ok(counted.map(|(at, _)| at).max())
        })?;
        let told_at = last.max(open);
        self.memory.try_borrow_mut()?.told_at = Some(told_at.unwrap_or_default());
        Ok(told_at)
    }

    /// The start of the oldest interval of a length that is stored.
    pub(super) fn oldest(&self, step_ms: u64) -> Result<Option<EpochMs>, Refused> {
        let query = "SELECT MIN(at) FROM intervals WHERE step_ms = ? AND row = ? AND at >= 0";
        let values = vec![number(step_ms), number(interval::SUM_ROW.into())];
        let row = self.database.first(query, values)?;
        Ok(row.and_then(|row| integer(row.first())).map(EpochMs))
    }

    /// What every tenant was counted for by interval.
    pub(super) fn demand(&self, body: &DemandBody) -> Result<DemandReply, Refused> {
        if body.to.since(body.from) / MINUTE_MS > LEDGER_POINTS_MAX {
            return Err(Refused("too many points".to_owned()));
        }
        let mut demand = Demand::default();
        let from = interval::start(body.from, MINUTE_MS);
        for row in 0..interval::SUM_ROW {
            self.stored_row(row, MINUTE_MS, (from, body.to), |at, text| {
                demand.add(at, &read_row::<StoredCell>(text)?.counters());
                Ok(())
            })?;
        }
        self.look(|books, _| {
            let minutes = books.minutes();
            for (at, counters) in minutes.filter(|(at, _)| *at >= from && *at < body.to) {
                demand.add(at, counters);
            }
            Ok(())
        })?;
        Ok(demand.reply())
    }

    /// The stored intervals of a tenant, or of the sum.
    fn stored(
        &self,
        tenant: Option<&str>,
        step_ms: u64,
        span: (EpochMs, EpochMs),
        mut take: impl FnMut(EpochMs, TenantCounters),
    ) -> Result<(), Refused> {
        self.stored_row(interval::row(tenant), step_ms, span, |at, text| {
            if let Some(counters) = pick(text, tenant.unwrap_or(OTHERS))? {
                take(at, counters);
            }
            Ok(())
        })
    }

    /// The texts of one row of the stored intervals; one that cannot be read is reported and left out.
    fn stored_row(
        &self,
        row: u32,
        step_ms: u64,
        (from, to): (EpochMs, EpochMs),
        mut take: impl FnMut(EpochMs, &str) -> Result<(), Damaged>,
    ) -> Result<(), Refused> {
        let query = "SELECT at, body FROM intervals WHERE step_ms = ? AND row = ? AND at >= ? \
                     AND at < ? ORDER BY at LIMIT ?";
        let mut next = from;
        while next < to {
            let values = vec![
                number(step_ms),
                number(row.into()),
                number(next.0),
                number(to.0),
                number(ROWS_READ),
            ];
            let rows = self.database.rows(query, values)?;
            let full = rows.len() as u64 == ROWS_READ;
            for row in &rows {
                let Some(at) = integer(row.first()).map(EpochMs) else {
                    continue;
                };
                next = next.max(at.plus(1));
                let body = text(row.get(1)).ok_or_else(|| wrong_type("body"));
                if let Err(damaged) = body.and_then(|body| take(at, body)) {
                    report_damaged(&format!("interval {at}"), &damaged);
                }
            }
            if !full {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The records of windows, newest first.
    pub(super) fn windows(&self, body: &WindowsBody) -> Result<WindowsReply, Refused> {
        let count = body.count.clamp(1, RECORDS_READ_MAX);
        let budget = body.budget.as_deref();
        let mut windows = self.look(|books, now| {
            let records = books.windows().records(budget, now);
            let wanted =
                |record: &WindowRecord| record.ends_at >= body.from && record.ends_at < body.to;
            Ok(records.filter(wanted).collect::<Vec<_>>())
        })?;
        windows.extend(self.records(body, count + 1)?);
        sort_by(&mut windows, |one, other| {
            let place = |record: &WindowRecord| (record.ends_at, record.label);
            place(other)
                .cmp(&place(one))
                .then_with(|| one.budget.cmp(&other.budget))
        });
        let more = windows.len() as u64 > count;
        windows.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(WindowsReply { windows, more })
    }

    fn records(&self, body: &WindowsBody, count: u64) -> Result<Vec<WindowRecord>, Refused> {
        let mut values: Vec<Value> = vec![number(body.from.0), number(body.to.0)];
        let query = match &body.budget {
            Some(budget) => {
                values.push(budget.as_str().into());
                "SELECT body FROM records WHERE ends_at >= ? AND ends_at < ? AND budget = ? \
                 ORDER BY ends_at DESC LIMIT ?"
            }
            None => {
                "SELECT body FROM records WHERE ends_at >= ? AND ends_at < ? \
                 ORDER BY ends_at DESC LIMIT ?"
            }
        };
        values.push(number(count));
        let mut records = Vec::new();
        for row in self.database.rows(query, values)? {
            let read = text(row.first()).map(json::from_str::<WindowRecord>);
            match read {
                Some(Ok(record)) => records.push(record),
                _ => report_damaged("record of a window", &wrong_type("body")),
            }
        }
        Ok(records)
    }
}

fn chosen(counters: &Counters, tenant: Option<&str>) -> Option<TenantCounters> {
    match tenant {
        Some(tenant) => counters.get(tenant).cloned(),
        None => Some(interval::sum(counters)),
    }
}
