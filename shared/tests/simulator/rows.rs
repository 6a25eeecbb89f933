//! What rows say, and what they must cover.

use weir_shared::federation::stored::{StoredEscrow, StoredPool};
use weir_shared::units::{EpochMs, WindowLabel};
use weir_shared::window::Window;

use super::truth::{Truth, Violation};

/// One region's part of one window.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RegionTruth {
    pub(crate) admitted: u64,
    /// Durably held, and durably covered as lent on.
    held: u64,
    pub(crate) watermark: u64,
    /// The same of rows that became unreadable: it stays lent.
    held_lost: u64,
    pub(crate) watermark_lost: u64,
}

/// What a row says of each window: units held, and units covered as lent on.
fn covered(row: &StoredEscrow) -> Vec<(u64, u64, u64)> {
    let ahead = row.ahead.iter();
    let ahead = ahead.map(|ahead| (ahead.label.0, ahead.units, ahead.lent));
    std::iter::once((row.label.0, row.held, row.watermark))
        .chain(ahead)
        .collect()
}

impl Truth {
    /// A region's row became durable.
    pub(crate) fn escrow_stored(&mut self, region: usize, row: &StoredEscrow) {
        self.changes += 1;
        let covered = covered(row);
        let labels: Vec<u64> = covered.iter().map(|(label, _, _)| *label).collect();
        let before = self.region_labels.insert(region, labels.clone());
        for label in before.into_iter().flatten() {
            if labels.contains(&label) {
                continue;
            }
            // What was held of a window to come, and is not lent on, goes back.
            if label > row.label.0 {
                self.changes += 1;
                self.regions.entry((region, label)).or_default().held = 0;
            }
            self.part_gone(region, label);
        }
        for (label, held, watermark) in covered {
            let truth = self.regions.entry((region, label)).or_default();
            truth.held = held;
            truth.watermark = watermark;
            self.check_held(label);
            self.check_held_of(region, label);
            if let Some(above) = self.above[region] {
                self.check_held_of(above, label);
            }
        }
    }

    /// A region's durable row cannot be read any more.
    pub(crate) fn escrow_gone(&mut self, region: usize, row: &StoredEscrow) {
        for (label, _, _) in covered(row) {
            self.part_gone(region, label);
        }
        self.region_labels.remove(&region);
    }

    fn part_gone(&mut self, region: usize, label: u64) {
        self.changes += 1;
        let truth = self.regions.entry((region, label)).or_default();
        truth.held_lost += std::mem::take(&mut truth.held);
        truth.watermark_lost += std::mem::take(&mut truth.watermark);
    }

    /// The coordinator's row became durable at `now` of its clock, when the newest limit that it has heard of is `newest`.
    pub(crate) fn pool_stored(&mut self, row: &StoredPool, newest: u64, now: EpochMs) {
        self.kinds.stored(row, now);
        let window = self.window(row.label);
        window.watermark = row.watermark;
        let (watermark, limit) = (window.watermark, window.most());
        let closed = watermark == u64::MAX;
        self.require(closed || watermark <= limit, || {
            Violation::WatermarkOverLimit {
                label: row.label.0,
                watermark,
                limit,
            }
        });
        for (label, units) in &row.ahead {
            self.ahead_stored(*label, *units, newest);
        }
        self.check_held(row.label.0);
    }

    /// Units of a window to come are durably lent under `limit`: no more than half of it by then.
    fn ahead_stored(&mut self, label: WindowLabel, units: u64, limit: u64) {
        let closed = units == u64::MAX;
        let window = self.window(label);
        let more = units > window.promised && !closed;
        window.watermark = units;
        if !closed {
            window.promised = window.promised.max(units);
        }
        self.require(!more || units <= limit / 2, || Violation::AheadOverLimit {
            label: label.0,
            units,
            limit,
        });
        self.check_held(label.0);
    }

    /// Labels of windows of one length rise by the windows that went by. Not after a row that could not be read, and not by
    /// the calendar or where windows roll, then or before.
    pub(crate) fn in_step(&mut self, row: &StoredPool) {
        if row.terms.cycle.is_some() {
            self.opened = None;
            return;
        }
        let window = Window {
            label: row.label,
            ends_at: row.ends_at,
            window_ms: row.window_ms,
        };
        let (label, ends_at) = (window.label.0, window.ends_at);
        let before = self.opened.replace(window);
        let same = |before: &Window| {
            let skipped =
                label > before.label.0 + 100 || self.windows[&before.label.0].watermark == u64::MAX;
            before.window_ms == window.window_ms && ends_at > before.ends_at && !skipped
        };
        let Some(before) = before
            .filter(same)
            .filter(|_| self.ends_kept && self.parts == 0)
        else {
            return;
        };
        let expected = before.label.0 + ends_at.since(before.ends_at) / window.window_ms;
        self.require(label >= expected, || Violation::LabelOutOfStep {
            label,
            expected,
        });
    }

    /// Regions durably hold no more of a window than the coordinator has durably lent.
    fn check_held(&mut self, label: u64) {
        let units = self.held_below(None, label);
        let watermark = self
            .windows
            .get(&label)
            .map_or(0, |window| window.watermark);
        self.require(units <= watermark, || Violation::HeldUncovered {
            label,
            units,
            watermark,
        });
    }

    /// Branches durably hold no more of a window than the part that they ask has durably lent on.
    fn check_held_of(&mut self, part: usize, label: u64) {
        let units = self.held_below(Some(part), label);
        let row = self.regions.get(&(part, label)).copied();
        let row = row.unwrap_or_default();
        let watermark = row.watermark + row.watermark_lost;
        self.require(units <= watermark, || Violation::HeldUncovered {
            label,
            units,
            watermark,
        });
    }

    /// What those durably hold of a window that ask the same.
    fn held_below(&self, above: Option<usize>, label: u64) -> u64 {
        let rows = self.regions.iter().filter(|((_, of), _)| *of == label);
        let rows = rows.filter(|((part, _), _)| self.above[*part] == above);
        rows.map(|(_, row)| row.held + row.held_lost).sum()
    }
}
