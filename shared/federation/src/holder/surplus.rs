//! Slices of windows to come, after an edit: what is beyond the same part of a lower limit goes back, and what is of windows
//! that do not come any more.

use weir_core::limits::COST_MAX;
use weir_wire::exchange::{Return, Terms};

use super::super::ahead::Ahead;
use super::Holder;

/// Slices of windows whose length differs by less than one part in this many are of the same windows: their ends are told
/// by messages that take their time.
const LENGTH_PARTS: u64 = 8;

/// How windows follow each other by the terms, as far as slices go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Windows {
    /// Whether they have one length, so that those to come are known.
    fixed: bool,
    window_ms: u64,
}

impl Windows {
    pub(super) fn of(terms: &Terms) -> Self {
        Self {
            fixed: terms.cycle.is_none(),
            window_ms: terms.window_ms,
        }
    }

    fn have(self, ahead: &Ahead) -> bool {
        let apart_ms = ahead.span_ms().abs_diff(self.window_ms);
        self.fixed && apart_ms < self.window_ms.div_ceil(LENGTH_PARTS)
    }
}

impl Holder {
    /// Nothing will be spent here any more: all that is held goes back with the next messages. Slices go back with messages
    /// that are made from now on, as the answer to one under way states them once more.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Whether slices are to go back as nothing will be spent here.
    pub(super) fn closes_slices(&self) -> bool {
        let mut ahead = self.ahead.iter();
        self.closing && ahead.any(|ahead| ahead.lent < ahead.units)
    }

    /// Gives back of each slice what is beyond the same part of a limit that has become `after` from `before`, but for
    /// what is lent on. Holders that all do so have no more together than may be lent ahead under the new limit.
    pub(super) fn shrink_slices(&mut self, before: u64, after: u64) {
        if !self.holds_slices || after >= before {
            return;
        }
        self.keep_of_slices(|ahead| {
            let part = u128::from(ahead.units) * u128::from(after) / u128::from(before.max(1));
            u64::try_from(part).unwrap_or(ahead.units)
        });
    }

    /// Gives back slices of windows that the terms do not have, but for what is lent on, once the parent has heard of them.
    pub(super) fn recall_slices(&mut self, windows: Windows) {
        if self.windows.replace(windows) == Some(windows) {
            return;
        }
        self.keep_of_slices(|ahead| if windows.have(ahead) { ahead.units } else { 0 });
        // Windows that do not come take no place of those that do.
        self.ahead
            .retain(|ahead| ahead.units > 0 || windows.have(ahead));
    }

    /// Gives back of each slice what is beyond `kept`, but for what is lent on.
    fn keep_of_slices(&mut self, kept: impl Fn(&Ahead) -> u64) {
        for ahead in &mut self.ahead {
            let kept = kept(ahead).max(ahead.lent).min(ahead.units);
            let surplus = (ahead.units - kept).min(COST_MAX);
            if surplus == 0 {
                continue;
            }
            ahead.units -= surplus;
            // What the parent says that it lent to this life falls by as much first.
            if let Some(inherited) = self.inherited.get_mut(&ahead.label) {
                *inherited = (*inherited).min(ahead.units);
            }
            let returned = self.surplus.entry(ahead.label).or_insert(0);
            *returned = returned.saturating_add(surplus).min(COST_MAX);
        }
    }

    /// Takes out what goes back of windows to come.
    pub(super) fn take_surplus(&mut self) -> impl Iterator<Item = Return> + use<> {
        if self.closing {
            self.keep_of_slices(|_| 0);
        }
        let surplus = std::mem::take(&mut self.surplus);
        surplus
            .into_iter()
            .map(|(window, units)| Return { window, units })
    }
}
