//! What really happened, kept apart from the machines, and the invariants that are checked after every event.

use std::collections::BTreeMap;
use std::fmt;

use weir_shared::units::WindowLabel;
use weir_shared::wire::exchange::Terms;
use weir_shared::wire::stored::{StoredEscrow, StoredPool};

/// A broken invariant, with the values that break it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Violation {
    /// More was admitted in a window than its largest limit.
    OverLimit {
        label: u64,
        admitted: u64,
        limit: u64,
    },
    /// Isolates hold what, once spent, would be more than the limit.
    SpendableOverLimit { label: u64, units: u64, limit: u64 },
    /// A region's isolates hold more than the region's durable rows cover.
    LentUncovered {
        region: usize,
        label: u64,
        units: u64,
        watermark: u64,
    },
    /// Regions durably hold more than the coordinator's durable row covers.
    HeldUncovered {
        label: u64,
        units: u64,
        watermark: u64,
    },
    /// The coordinator's watermark is above the limit.
    WatermarkOverLimit {
        label: u64,
        watermark: u64,
        limit: u64,
    },
    /// Units were spent after their window.
    SpentOutsideWindow {
        label: u64,
        at_ms: u64,
        ended_at_ms: u64,
    },
    /// A reply that is not the answer to the message in flight was credited, or one that is was not.
    WronglyCredited { credited: bool },
    /// What a holder holds is not what it was granted, less what it returned.
    Unaccounted {
        held: u64,
        used: u64,
        expected_held: u64,
        expected_used: u64,
    },
    /// A denial changed what is held.
    DenialConsumed,
    /// Fewer units were lent than the smallest waiting request needs.
    UselessGrant { units: u64, smallest: u64 },
    /// A covered request could not be spent.
    CoveredNotSpent,
    /// A coordinator that woke knows older terms than it had answered by.
    TermsForgotten { woke_with: u64, answered_by: u64 },
    /// More than two limits within one window's length of true time.
    OverTwoLimits {
        from_ms: u64,
        admitted: u64,
        limit: u64,
    },
    /// More than the limit in consecutive parts of a rolling window.
    RollingOverLimit { label: u64, units: u64, limit: u64 },
    /// More than the limit, and what one part lent, within the length of a rolling window.
    RollingIntervalOverLimit {
        at_ms: u64,
        admitted: u64,
        most: u64,
    },
    /// Units granted are not all admitted, returned, held or stranded.
    NotConserved {
        label: u64,
        granted: u64,
        accounted: u64,
    },
    /// A window with demand above its limit was not used up.
    Underused {
        label: u64,
        admitted: u64,
        least: u64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What is known of one window.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowTruth {
    pub(crate) admitted: u64,
    /// The largest limit that was in force.
    pub(crate) limit: u64,
    /// When it began and ended in true time.
    pub(crate) begins_at_ms: u64,
    pub(crate) ends_at_ms: u64,
    pub(crate) granted: u64,
    /// Units that were spent and that a settlement gives back.
    pub(crate) refundable: u64,
    pub(crate) returned: u64,
    pub(crate) stranded: u64,
    /// The coordinator's durable watermark.
    watermark: u64,
}

/// One region's part of one window.
#[derive(Debug, Clone, Copy, Default)]
struct RegionTruth {
    admitted: u64,
    /// Durably held, and durably covered as lent on.
    held: u64,
    watermark: u64,
    /// The same of rows that became unreadable: it stays lent.
    held_lost: u64,
    watermark_lost: u64,
}

/// One admitted request. Its units are 0 once it is known that it does not use them.
#[derive(Debug, Clone, Copy)]
struct Admission {
    at_ms: u64,
    region: usize,
    label: u64,
    units: u64,
}

/// What really happened.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// The fewest parts that the rolling window has; 0 where windows do not roll.
    parts: u64,
    pub(crate) windows: BTreeMap<u64, WindowTruth>,
    regions: BTreeMap<(usize, u64), RegionTruth>,
    /// The window of each region's durable row.
    region_labels: BTreeMap<usize, u64>,
    admissions: Vec<Admission>,
    pub(crate) holders_dropped: u64,
    pub(crate) escrows_dropped: u64,
    pub(crate) pools_dropped: u64,
    pub(crate) refunds: u64,
    pub(crate) unspends: u64,
    answered_by: u64,
    pub(crate) denied: u64,
    pub(crate) unavailable: u64,
    pub(crate) violation: Option<Violation>,
}

impl Truth {
    pub(crate) fn new(parts: u64) -> Self {
        Self {
            parts,
            ..Self::default()
        }
    }

    pub(crate) fn fail(&mut self, violation: Violation) {
        self.violation.get_or_insert(violation);
    }

    pub(crate) fn require(&mut self, holds: bool, violation: impl FnOnce() -> Violation) {
        if !holds {
            self.fail(violation());
        }
    }

    pub(crate) fn window(&mut self, label: WindowLabel) -> &mut WindowTruth {
        self.windows.entry(label.0).or_default()
    }

    /// The coordinator that may write has `label` open until `ends_at_ms`, under `limit`.
    pub(crate) fn opened(&mut self, label: WindowLabel, now_ms: u64, ends_at_ms: u64, limit: u64) {
        let window = self.window(label);
        if window.limit == 0 {
            window.begins_at_ms = now_ms;
        }
        window.limit = window.limit.max(limit);
        window.ends_at_ms = window.ends_at_ms.max(ends_at_ms);
    }

    pub(crate) fn admitted_calls(&self) -> u64 {
        self.admissions.len() as u64
    }

    pub(crate) fn answered_by(&mut self, terms: &Terms) {
        self.answered_by = self.answered_by.max(terms.revision.0);
    }

    /// What the coordinator knew of its terms is lost with its row.
    pub(crate) fn pool_gone(&mut self) {
        self.answered_by = 0;
    }

    pub(crate) fn woke_with(&mut self, terms: &Terms) {
        let (woke_with, answered_by) = (terms.revision.0, self.answered_by);
        self.require(woke_with >= answered_by, || Violation::TermsForgotten {
            woke_with,
            answered_by,
        });
    }

    pub(crate) fn admitted(
        &mut self,
        region: usize,
        label: WindowLabel,
        cost: u64,
        now_ms: u64,
        ends_kept: bool,
    ) -> usize {
        let window = self.window(label);
        window.admitted += cost;
        let (admitted, limit, ended_at_ms) = (window.admitted, window.limit, window.ends_at_ms);
        self.regions.entry((region, label.0)).or_default().admitted += cost;
        self.admissions.push(Admission {
            at_ms: now_ms,
            region,
            label: label.0,
            units: cost,
        });
        self.require(admitted <= limit, || Violation::OverLimit {
            label: label.0,
            admitted,
            limit,
        });
        let inside = now_ms < ended_at_ms || !ends_kept || cost == 0;
        self.require(inside, || Violation::SpentOutsideWindow {
            label: label.0,
            at_ms: now_ms,
            ended_at_ms,
        });
        for last in label.0..label.0 + self.parts {
            self.check_parts(last, 0);
        }
        self.admissions.len() - 1
    }

    /// The parts of a rolling window up to `last` admitted at most the limit, `held` more units of the last included.
    fn check_parts(&mut self, last: u64, held: u64) {
        if self.parts == 0 || !self.windows.contains_key(&last) {
            return;
        }
        let (mut units, mut limit) = (held, 0);
        for (_, part) in self
            .windows
            .range((last + 1).saturating_sub(self.parts)..=last)
        {
            units += part.admitted;
            limit = limit.max(part.limit);
        }
        self.require(units <= limit, || Violation::RollingOverLimit {
            label: last,
            units,
            limit,
        });
    }

    /// The window and the units of an admitted request.
    pub(crate) fn admission(&self, index: usize) -> (WindowLabel, u64) {
        let admission = self.admissions[index];
        (WindowLabel(admission.label), admission.units)
    }

    /// An admitted request does not use its units: they are back where they were spent.
    pub(crate) fn unspent(&mut self, index: usize) {
        self.unused(index);
        self.unspends += 1;
    }

    fn unused(&mut self, index: usize) {
        let admission = self.admissions[index];
        self.admissions[index].units = 0;
        self.window(WindowLabel(admission.label)).admitted -= admission.units;
        let region = self.regions.entry((admission.region, admission.label));
        region.or_default().admitted -= admission.units;
    }

    /// An admitted request does not use its units: a settlement gives them back. Answers the window and how many.
    pub(crate) fn refundable(&mut self, index: usize) -> (WindowLabel, u64) {
        let (label, units) = self.admission(index);
        self.unused(index);
        self.window(label).refundable += units;
        (label, units)
    }

    /// A region's row became durable.
    pub(crate) fn escrow_stored(&mut self, region: usize, row: &StoredEscrow) {
        let before = self.region_labels.insert(region, row.label.0);
        if let Some(before) = before.filter(|before| *before != row.label.0) {
            self.escrow_gone(region, before);
        }
        let truth = self.regions.entry((region, row.label.0)).or_default();
        truth.held = row.held;
        truth.watermark = row.watermark;
        self.check_held(row.label.0);
    }

    /// A region's durable row cannot be read any more, or is of another window.
    pub(crate) fn escrow_gone(&mut self, region: usize, label: u64) {
        let truth = self.regions.entry((region, label)).or_default();
        truth.held_lost += std::mem::take(&mut truth.held);
        truth.watermark_lost += std::mem::take(&mut truth.watermark);
    }

    /// The coordinator's row became durable.
    pub(crate) fn pool_stored(&mut self, row: &StoredPool) {
        let window = self.window(row.label);
        window.watermark = row.watermark;
        let (watermark, limit) = (window.watermark, window.limit);
        let closed = watermark == u64::MAX;
        self.require(closed || watermark <= limit, || {
            Violation::WatermarkOverLimit {
                label: row.label.0,
                watermark,
                limit,
            }
        });
        self.check_held(row.label.0);
    }

    fn check_held(&mut self, label: u64) {
        let rows = self.regions.iter().filter(|((_, of), _)| *of == label);
        let units = rows.map(|(_, row)| row.held + row.held_lost).sum();
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

    /// Checks what isolates hold, given as region, label and balance.
    pub(crate) fn check_spendable(&mut self, balances: &[(usize, u64, u64)]) {
        for (index, &(region, label, _)) in balances.iter().enumerate() {
            let first = !balances[..index].iter().any(|&(_, of, _)| of == label);
            if first {
                self.check_window(label, balances);
            }
            let here = balances
                .iter()
                .filter(|&&(at, of, _)| (at, of) == (region, label));
            let units: u64 = here.map(|&(_, _, balance)| balance).sum();
            let row = self
                .regions
                .get(&(region, label))
                .copied()
                .unwrap_or_default();
            let units = units + row.admitted;
            let watermark = row.watermark + row.watermark_lost;
            self.require(units <= watermark, || Violation::LentUncovered {
                region,
                label,
                units,
                watermark,
            });
        }
    }

    fn check_window(&mut self, label: u64, balances: &[(usize, u64, u64)]) {
        let held: u64 = balances
            .iter()
            .filter(|&&(_, of, _)| of == label)
            .map(|&(_, _, b)| b)
            .sum();
        self.check_parts(label, held);
        let window = self.window(WindowLabel(label));
        let (units, limit) = (window.admitted + held, window.limit);
        self.require(units <= limit, || Violation::SpendableOverLimit {
            label,
            units,
            limit,
        });
    }

    /// Any interval of a window's length sees at most two limits.
    pub(crate) fn check_intervals(&mut self, window_ms: u64, limit: u64) {
        let (mut first, mut sum) = (0, 0);
        for index in 0..self.admissions.len() {
            let Admission { at_ms, units, .. } = self.admissions[index];
            sum += units;
            while self.admissions[first].at_ms + window_ms <= at_ms {
                sum -= self.admissions[first].units;
                first += 1;
            }
            let from_ms = self.admissions[first].at_ms;
            self.require(sum <= 2 * limit, || Violation::OverTwoLimits {
                from_ms,
                admitted: sum,
                limit,
            });
        }
    }

    /// Any interval of a rolling window's length sees at most the limit, and what was admitted in the one part of
    /// which it covers the end.
    pub(crate) fn check_rolling(&mut self, window_ms: u64, parts: u64, limit: u64) {
        let (mut first, mut sum) = (0, 0);
        for index in 0..self.admissions.len() {
            let Admission {
                at_ms,
                label,
                units,
                ..
            } = self.admissions[index];
            sum += units;
            while self.admissions[first].at_ms + window_ms <= at_ms {
                sum -= self.admissions[first].units;
                first += 1;
            }
            let oldest = self.windows.get(&label.saturating_sub(parts));
            let most = limit + oldest.map_or(0, |part| part.admitted);
            self.require(sum <= most, || Violation::RollingIntervalOverLimit {
                at_ms,
                admitted: sum,
                most,
            });
        }
    }

    /// Units admitted from `from_ms` on, up to `to_ms`.
    pub(crate) fn admitted_between(&self, from_ms: u64, to_ms: u64) -> u64 {
        let inside = |admission: &&Admission| (from_ms..to_ms).contains(&admission.at_ms);
        let admissions = self.admissions.iter().filter(inside);
        admissions.map(|admission| admission.units).sum()
    }
}
