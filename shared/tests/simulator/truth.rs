//! What really happened, kept apart from the machines, and the invariants that are checked after every event.

use std::fmt;

use weir_shared::ordered::OrderedMap;
use weir_shared::units::WindowLabel;
use weir_shared::window::Window;
use weir_shared::wire::exchange::Terms;

use super::edits::Kinds;
use super::isolate::Ask;
use super::rows::RegionTruth;

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
    /// What is below a part durably holds more than the durable rows of that part cover: of the coordinator, or of a region
    /// or branch.
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
    /// More of a window to come is lent than half of what is the limit by now.
    AheadOverLimit { label: u64, units: u64, limit: u64 },
    /// A label did not rise by the windows that went by.
    LabelOutOfStep { label: u64, expected: u64 },
    /// A tenant of an isolate may use more than the isolate holds.
    TenantBalanceOverLease { most: u64, balance: u64 },
    /// An isolate has spent more than it was lent.
    Overspent { held: u64, used: u64 },
    /// Units were spent before their window.
    SpentTooEarly {
        label: u64,
        at_ms: u64,
        begins_at_ms: u64,
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
    /// Somebody was told of a settlement that is in no row.
    SettlementNotKept { reservation: u64 },
    /// Fewer units were lent than the smallest waiting request needs.
    UselessGrant { units: u64, smallest: u64 },
    /// A request waits for longer than any may.
    WaitsTooLong { waited_ms: u64 },
    /// A request waits for what is held.
    CoveredWaits,
    /// A request was answered that nobody asked, or twice.
    AnsweredTwice,
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
    /// An edit gave back what was used: more than the limit was admitted in a window, with what had been admitted in it
    /// before it was of its present length and kind.
    GivenBack {
        label: u64,
        admitted: u64,
        before: u64,
        limit: u64,
    },
    /// Slices of windows to come were kept though the limit was lowered.
    NotRecalled {
        label: u64,
        admitted: u64,
        limit: u64,
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
    /// The coordinator's durable watermark, or what is durably lent of a window to come.
    pub(crate) watermark: u64,
    /// The most that was lent of it before it opened.
    pub(crate) promised: u64,
    /// When it was to begin, as was told with what was lent ahead.
    begins_promised_ms: u64,
}

impl WindowTruth {
    /// What may be admitted in it: its largest limit, or what had been lent before a lower one was known.
    pub(crate) fn most(&self) -> u64 {
        self.limit.max(self.promised)
    }
}

/// One admitted request. Its units are 0 once it is known that it does not use them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admission {
    pub(crate) at_ms: u64,
    pub(crate) region: usize,
    pub(crate) label: u64,
    pub(crate) units: u64,
    /// In whose name, where the pool was shared.
    pub(crate) tenant: Option<usize>,
}

/// What really happened.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// The fewest parts that the rolling window has; 0 where windows do not roll.
    pub(crate) parts: u64,
    /// Rises with each change to what follows.
    pub(crate) changes: u64,
    pub(crate) windows: OrderedMap<u64, WindowTruth>,
    pub(crate) regions: OrderedMap<(usize, u64), RegionTruth>,
    /// The windows of which each region durably holds units.
    pub(crate) region_labels: OrderedMap<usize, Vec<u64>>,
    pub(crate) admissions: Vec<Admission>,
    /// Whether windows end everywhere at the same instant, and how long before one may open at an isolate.
    pub(crate) ends_kept: bool,
    /// The window that was open last.
    pub(crate) opened: Option<Window>,
    /// How windows followed each other.
    pub(crate) kinds: Kinds,
    early_ms: u64,
    /// When requests had to wait.
    pub(crate) waits: Vec<u64>,
    /// When requests were denied, and whose.
    pub(crate) denials: Vec<(u64, Ask)>,
    /// The most that was lent to one tenant of one isolate ahead of demand.
    pub(crate) ahead_max: u64,
    pub(crate) calls_region: u64,
    /// Messages to each region's own object, and to each branch.
    pub(crate) calls_of: OrderedMap<usize, u64>,
    /// What each of them asks.
    pub(crate) above: Vec<Option<usize>>,
    pub(crate) moves: u64,
    /// Units that isolates had and did not use yet, added up over so many looks at one of them.
    pub(crate) idle_seen: u64,
    pub(crate) looks: u64,
    pub(crate) calls_coordinator: u64,
    pub(crate) writes_region: u64,
    pub(crate) writes_coordinator: u64,
    pub(crate) holders_dropped: u64,
    pub(crate) escrows_dropped: u64,
    pub(crate) pools_dropped: u64,
    pub(crate) refunds: u64,
    pub(crate) unspends: u64,
    answered_by: u64,
    pub(crate) unavailable: u64,
    pub(crate) violation: Option<Violation>,
}

impl Truth {
    pub(crate) fn new(
        parts: u64,
        ends_kept: bool,
        early_ms: u64,
        above: Vec<Option<usize>>,
    ) -> Self {
        Self {
            parts,
            ends_kept,
            early_ms,
            above,
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
        self.changes += 1;
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

    /// Units of a window to come are lent, which will begin and end then.
    pub(crate) fn promised(&mut self, label: WindowLabel, (begins_at_ms, ends_at_ms): (u64, u64)) {
        let window = self.window(label);
        if window.begins_promised_ms == 0 {
            window.begins_promised_ms = begins_at_ms;
        }
        window.ends_at_ms = window.ends_at_ms.max(ends_at_ms);
    }

    pub(crate) fn denied(&mut self, at_ms: u64, ask: Ask) {
        self.denials.push((at_ms, ask));
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
        self.opened = None;
    }

    pub(crate) fn woke_with(&mut self, terms: &Terms) {
        let (woke_with, answered_by) = (terms.revision.0, self.answered_by);
        self.require(woke_with >= answered_by, || Violation::TermsForgotten {
            woke_with,
            answered_by,
        });
    }

    pub(crate) fn admitted(&mut self, admission: Admission) -> usize {
        let Admission {
            at_ms,
            region,
            label,
            units: cost,
            ..
        } = admission;
        let window = self.window(WindowLabel(label));
        window.admitted += cost;
        let (admitted, limit, ended_at_ms) = (window.admitted, window.most(), window.ends_at_ms);
        let (unopened, begins_at_ms) = (window.limit == 0, window.begins_promised_ms);
        self.regions.entry((region, label)).or_default().admitted += cost;
        self.admissions.push(admission);
        self.require(admitted <= limit, || Violation::OverLimit {
            label,
            admitted,
            limit,
        });
        let whenever = !self.ends_kept || cost == 0;
        self.require(at_ms < ended_at_ms || whenever, || {
            Violation::SpentOutsideWindow {
                label,
                at_ms,
                ended_at_ms,
            }
        });
        let opened = !unopened || at_ms + self.early_ms >= begins_at_ms;
        self.require(opened || whenever, || Violation::SpentTooEarly {
            label,
            at_ms,
            begins_at_ms,
        });
        for last in label..label + self.parts {
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
            limit = limit.max(part.most());
        }
        self.require(units <= limit, || Violation::RollingOverLimit {
            label: last,
            units,
            limit,
        });
    }

    /// An admitted request.
    pub(crate) fn admission(&self, index: usize) -> Admission {
        self.admissions[index]
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

    /// An admitted request does not use its units: a settlement gives them back. Answers as it was.
    pub(crate) fn refundable(&mut self, index: usize) -> Admission {
        let admission = self.admission(index);
        self.unused(index);
        self.window(WindowLabel(admission.label)).refundable += admission.units;
        admission
    }

    /// Checks what isolates hold, given as label, region and balance, in this order.
    pub(crate) fn check_spendable(&mut self, balances: &[(u64, usize, u64)]) {
        for window in balances.chunk_by(|one, other| one.0 == other.0) {
            let mut held = 0;
            for part in window.chunk_by(|one, other| one.1 == other.1) {
                let (label, region, _) = part[0];
                let units = part.iter().map(|(_, _, balance)| balance).sum();
                held += units;
                self.check_part(region, label, units);
            }
            self.check_window(window[0].0, held);
        }
    }

    fn check_part(&mut self, region: usize, label: u64, held: u64) {
        let row = self.regions.get(&(region, label));
        let row = row.copied().unwrap_or_default();
        let units = held + row.admitted;
        let watermark = row.watermark + row.watermark_lost;
        self.require(units <= watermark, || Violation::LentUncovered {
            region,
            label,
            units,
            watermark,
        });
    }

    fn check_window(&mut self, label: u64, held: u64) {
        self.check_parts(label, held);
        let window = self.window(WindowLabel(label));
        let (units, limit) = (window.admitted + held, window.most());
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
            // Labels rise by more than one a part where one could not be read.
            let begun = self.admissions[first].label;
            let oldest = begun
                .min(label.saturating_sub(parts))
                .max(begun.saturating_sub(parts));
            let parts = [begun, oldest, label.saturating_sub(parts)];
            let part = |label: &u64| self.windows.get(label).map_or(0, |part| part.admitted);
            let before = parts.iter().filter(|part| **part < label).map(part);
            let most = limit + before.max().unwrap_or(0);
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
