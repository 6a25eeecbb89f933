//! Counters of one interval of time, in a fixed number of rows of bounded size: tenants are hashed over them, and those
//! with the fewest calls are counted together where a row is full.

use weir_core::limits::{CELL_BYTES_MAX, CELL_ROWS, HOUR_MS, MINUTE_MS};
use weir_core::ordered::{OrderedMap, sort_by_key};
use weir_core::units::EpochMs;
use weir_wire::accounting::{Counters, OTHERS, TenantCounters};
use weir_wire::cells::StoredCell;

use super::ledger::{by_row, row_of};

/// The row that holds the sum over all tenants, under [`OTHERS`].
pub const SUM_ROW: u32 = CELL_ROWS;

/// Bytes that one row may take beside its tenants: version, mark, braces.
const FRAME_BYTES: usize = 64;

/// The interval of an instant.
///
/// ```
/// use weir_accounting::interval::start;
/// use weir_core::units::EpochMs;
/// assert_eq!(start(EpochMs(185_000), 60_000), EpochMs(180_000));
/// ```
#[must_use]
pub fn start(at: EpochMs, step_ms: u64) -> EpochMs {
    EpochMs(at.0 / step_ms.max(1) * step_ms.max(1))
}

/// The row in which a tenant is found; `None` stands for the sum over all.
#[must_use]
pub fn row(tenant: Option<&str>) -> u32 {
    tenant.map_or(SUM_ROW, |tenant| row_of(tenant, CELL_ROWS))
}

/// The sum over all tenants.
#[must_use]
pub fn sum(counters: &Counters) -> TenantCounters {
    let mut sum = TenantCounters::default();
    for tenant in counters.values() {
        sum.add(tenant);
    }
    sum
}

/// The rows of an interval: as text, each at most [`CELL_BYTES_MAX`] long. The sum comes last, so that an interval which
/// has it has all of them.
///
/// # Errors
/// When a number cannot be written.
pub fn rows(counters: &Counters, through: u64) -> Result<Vec<(u32, String)>, serde_json::Error> {
    let mut rows = Vec::new();
    for (row, part) in by_row(counters, CELL_ROWS) {
        rows.push((row, row_text(&part, through)?));
    }
    let sum = Counters::from([(OTHERS.to_owned(), sum(counters))]);
    rows.push((SUM_ROW, row_text(&sum, through)?));
    Ok(rows)
}

/// The text of one row.
///
/// # Errors
/// When a number cannot be written.
pub fn row_text(part: &Counters, through: u64) -> Result<String, serde_json::Error> {
    let whole = serde_json::to_string(&StoredCell::new(through, part))?;
    if whole.len() <= CELL_BYTES_MAX {
        return Ok(whole);
    }
    serde_json::to_string(&StoredCell::new(through, &bounded(part)?))
}

/// The tenants of most weight, as many as fit beside all others together: those that the policy names first, then those
/// with the most calls.
fn bounded(part: &Counters) -> Result<Counters, serde_json::Error> {
    let mut ranked: Vec<_> = part.iter().filter(|(name, _)| *name != OTHERS).collect();
    sort_by_key(&mut ranked, |(_, tenant)| {
        std::cmp::Reverse((tenant.known, tenant.calls()))
    });
    let mut others = part.get(OTHERS).cloned().unwrap_or_default();
    // What is counted together may be counted for every name.
    let mut all = others.clone();
    ranked.iter().for_each(|(_, tenant)| all.add(tenant));
    let mut bytes = FRAME_BYTES + bytes_of(OTHERS, &all)?;
    let mut kept = Counters::new();
    for (name, tenant) in ranked {
        let more = bytes_of(name, tenant)?;
        if bytes + more <= CELL_BYTES_MAX {
            bytes += more;
            kept.insert(name.clone(), tenant.clone());
        } else {
            others.add(tenant);
        }
    }
    kept.insert(OTHERS.to_owned(), others);
    Ok(kept)
}

/// Bytes that a tenant takes in a row, its comma included.
fn bytes_of(name: &str, tenant: &TenantCounters) -> Result<usize, serde_json::Error> {
    let alone = Counters::from([(name.to_owned(), tenant.clone())]);
    Ok(serde_json::to_string(&StoredCell::new(0, &alone).tenants)?.len())
}

/// The hour that is made of minutes, row by row: what the rows of one number come to.
///
/// # Errors
/// When a number cannot be written.
pub fn rolled_up(cells: impl Iterator<Item = Counters>) -> Result<String, serde_json::Error> {
    let mut hour = Counters::new();
    for (name, tenant) in cells.flatten() {
        let entry = hour.entry(name).or_default();
        entry.add(&tenant);
        entry.known |= tenant.known;
    }
    row_text(&hour, 0)
}

/// Which intervals are read for a question, as `(step_ms, from, to)`: minutes as far back as they are kept, hours before.
#[must_use]
pub fn sources(from: EpochMs, to: EpochMs, oldest_minute: EpochMs) -> [(u64, EpochMs, EpochMs); 2] {
    let turn = start(oldest_minute, HOUR_MS).max(from).min(to);
    [
        (HOUR_MS, start(from, HOUR_MS), turn),
        (MINUTE_MS, turn.max(start(from, MINUTE_MS)), to),
    ]
}

/// Adds what an interval counted to the points of an answer.
pub fn add_point(
    points: &mut OrderedMap<EpochMs, TenantCounters>,
    at: EpochMs,
    step_ms: u64,
    counters: &TenantCounters,
) {
    points.entry(start(at, step_ms)).or_default().add(counters);
}
