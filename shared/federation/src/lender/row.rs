//! What a lender knows of one holder.

use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, WindowLabel};
use weir_wire::exchange::{Grant, Return, Seen};

/// What the lender knows of one holder.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) last: Seen,
    pub(super) grants: Vec<Grant>,
    pub(super) granted_in: WindowLabel,
    /// Units of the last reply, until the holder shows that it saw it.
    pub(super) unseen: u64,
    /// Units of the open window that the holder has been lent and has not returned.
    pub(super) held: u64,
    /// Units of windows to come.
    pub(super) ahead: OrderedMap<WindowLabel, u64>,
    /// Units of those that were lent to the holder's present life: another may have lost what was lent to the one
    /// before it together with the record of what became of that.
    pub(super) told: OrderedMap<WindowLabel, u64>,
    pub(super) heard_at: EpochMs,
}

impl Row {
    /// Takes units of a window to come back, of what is recorded. They may be lent again: the row of `ahead` is written
    /// before any reply leaves that lends them.
    pub(super) fn returned_ahead(
        &mut self,
        back: &Return,
        ahead: &mut OrderedMap<WindowLabel, u64>,
    ) {
        let (Some(held), Some(total)) = (
            self.ahead.get_mut(&back.window),
            ahead.get_mut(&back.window),
        ) else {
            return;
        };
        let taken = back.units.min(*held).min(*total);
        *held -= taken;
        *total -= taken;
        if let Some(told) = self.told.get_mut(&back.window) {
            *told -= taken.min(*told);
        }
    }
}
