//! Slices of windows to come, after the limit was lowered: what is beyond the same part of the new limit goes back.

use super::Holder;
use crate::limits::COST_MAX;
use crate::wire::exchange::Return;

impl Holder {
    /// Gives back of each slice what is beyond the same part of a limit that has become `after` from `before`, but for
    /// what is lent on. Holders that all do so have no more together than may be lent ahead under the new limit.
    pub(super) fn shrink_slices(&mut self, before: u64, after: u64) {
        if !self.stands || after >= before {
            return;
        }
        for ahead in &mut self.ahead {
            let part = u128::from(ahead.units) * u128::from(after) / u128::from(before.max(1));
            let kept = u64::try_from(part).unwrap_or(ahead.units);
            let kept = kept.max(ahead.lent).min(ahead.units);
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
        let surplus = std::mem::take(&mut self.surplus);
        surplus
            .into_iter()
            .map(|(window, units)| Return { window, units })
    }
}
