//! The invariants over all parts: after every event, and over a whole run.

use weir_shared::ordered::OrderedMap;
use weir_shared::wire::exchange::Terms;

use super::setup::{WINDOW_MS_EDITED_MAX, parts};
use super::truth::Violation;
use super::{START_MS, World};

impl World {
    /// The invariants over all parts, after every event.
    pub(crate) fn check(&mut self) {
        let mut balances = Vec::with_capacity(self.isolates.len());
        for isolate in self.isolates.iter().filter(|isolate| isolate.alive) {
            if let Some(lease) = isolate.node.holder().lease() {
                balances.push((lease.label.0, isolate.region, lease.balance()));
            }
            for ahead in isolate.node.holder().ahead() {
                balances.push((ahead.label.0, isolate.region, ahead.units));
            }
        }
        balances.sort_unstable();
        // Nothing that was checked is otherwise than it was.
        if self.checked == balances && self.checked_at == self.truth.changes {
            return;
        }
        self.truth.check_spendable(&balances);
        self.checked = balances;
        self.checked_at = self.truth.changes;
    }

    /// The invariants over a whole run.
    pub(crate) fn check_end(&mut self) {
        if self.ends_kept() && !self.setup.faults.edits {
            let (window_ms, limit) = (self.setup.window_ms, self.setup.limit);
            match self.setup.parts() {
                0 => {
                    // Windows may open at an isolate before they do at the coordinator.
                    let span_ms = window_ms.saturating_sub(self.setup.early_ms());
                    if span_ms > 0 {
                        self.truth.check_intervals(span_ms, limit);
                    }
                }
                parts => self.truth.check_rolling(window_ms, parts, limit),
            }
        }
        self.check_edits();
        if self.setup.windows_healed > 0 {
            self.check_recovered();
        }
        let mut held = OrderedMap::new();
        for isolate in self.isolates.iter().filter(|isolate| isolate.alive) {
            for (label, units) in isolate.books.all() {
                *held.entry(label).or_insert(0) += units;
            }
        }
        let windows: Vec<_> = self.truth.windows.clone().into_iter().collect();
        for (label, window) in windows {
            let held = held.get(&label).copied().unwrap_or(0);
            let used = window.admitted + window.refundable;
            let accounted = used + window.returned + held + window.stranded;
            self.truth
                .require(window.granted == accounted, || Violation::NotConserved {
                    label,
                    granted: window.granted,
                    accounted,
                });
        }
    }

    /// The last whole window after the last fault was used up.
    fn check_recovered(&mut self) {
        let healed_ms = self.setup.windows_healed * self.setup.window_ms;
        let ends_ms = START_MS + self.setup.windows * self.setup.window_ms + healed_ms;
        // What is given back late is not used by others: of a few units that may be all.
        let terms = self.policy[self.policy.len() - 1].clone();
        if self.setup.keyed && terms.limit < 4 * self.setup.demand.unit {
            return;
        }
        // A guarantee that is not used stays reserved by some rules, and of a few units that may be all.
        let tenants = self.setup.tenants.len() as u64;
        if tenants > 0 && terms.limit < 20 * tenants * self.setup.demand.unit {
            return;
        }
        // An edit may have changed the kind of the windows.
        if parts(terms.cycle.as_ref()) > 0 {
            return self.check_recovered_rolling(&terms, ends_ms, healed_ms);
        }
        let windows = self.truth.windows.iter();
        let whole = windows.filter(|(_, window)| {
            // A pool that was dropped opens again within a window.
            window.ends_at_ms <= ends_ms && window.ends_at_ms - window.begins_at_ms >= 900
        });
        // An edit may deny for one window of the newer policy, after those that were promised before it.
        let healed_ms = ends_ms - healed_ms;
        let edited_ms = if self.setup.faults.edits {
            2 * WINDOW_MS_EDITED_MAX
        } else {
            0
        };
        let whole = whole.filter(|(_, window)| window.begins_at_ms >= healed_ms + edited_ms);
        // After a row that could not be read nothing is lent for as long as what it said may be used.
        let whole = whole.filter(|(_, window)| window.watermark != u64::MAX);
        let last = whole.max_by_key(|(_, window)| window.begins_at_ms);
        // What lives that are gone were lent ahead under a higher limit is lent to nobody under a lower one.
        let last = last.filter(|(_, window)| window.watermark <= terms.limit);
        if let Some((&label, window)) = last {
            let part = if self.setup.tenants.is_empty() { 2 } else { 4 };
            // What died with its holder is used by nobody, and what was used before an edit may count.
            let before = self.truth.counted_before(label);
            let admitted = window.admitted + window.refundable + window.stranded + before;
            let least = window.limit / part;
            self.truth
                .require(admitted >= least, || Violation::Underused {
                    label,
                    admitted,
                    least,
                });
        }
    }

    /// In the last two lengths of a rolling window a quarter of it was used.
    fn check_recovered_rolling(&mut self, terms: &Terms, ends_ms: u64, healed_ms: u64) {
        let part_ms = terms.window_ms / parts(terms.cycle.as_ref()).max(1);
        let short = 4 * terms.window_ms > healed_ms || part_ms < 500;
        let few = terms.limit < 10 * self.setup.demand.unit;
        // A clock that is clamped stands still after a step back, and its window stays open.
        if short || few || self.setup.faults.steps {
            return;
        }
        let from_ms = ends_ms - 2 * terms.window_ms;
        let admitted = self.truth.admitted_between(from_ms, ends_ms);
        let least = terms.limit / 2;
        self.truth
            .require(admitted >= least, || Violation::Underused {
                label: 0,
                admitted,
                least,
            });
    }
}
