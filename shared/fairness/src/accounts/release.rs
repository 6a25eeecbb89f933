//! What is kept for tenants that are not there, and when it is released.

use super::{AccountId, Accounts};
use crate::ask::Moment;
use crate::floors::kept;

impl Accounts {
    /// In how many milliseconds those that are carried go, and what this tenant is guaranteed then. `None` when nobody
    /// is carried.
    pub fn without_carried(&self, id: AccountId, at: &Moment) -> Option<(u64, u64)> {
        if self.carried.is_empty() || !carries(at) {
            return None;
        }
        let member = self.members.get(id.0)?;
        let in_ms = at.left_ms - left_ms_after_quarter(at);
        let class = self.classes.get(member.class)?;
        let later = self.classes.later().guarantee(class.key);
        Some((in_ms, later))
    }

    /// In how many milliseconds at most so many units are kept for those that are carried. `None`: not before they go.
    pub fn kept_for_carried(&self, units_max: u64, at: &Moment) -> Option<u64> {
        let guarantees = self.cached_unused?.unused.carried;
        let window_ms = u128::from(at.window_ms.max(1));
        // The largest left_ms with floor(guarantees * left_ms / window_ms) <= units_max.
        let left_ms = (window_ms * (u128::from(units_max) + 1) - 1).checked_div(guarantees)?;
        let left_ms = u64::try_from(left_ms).unwrap_or(u64::MAX).min(at.left_ms);
        (left_ms > left_ms_after_quarter(at)).then(|| at.left_ms - left_ms)
    }

    /// Units that are kept for tenants that are set something aside by name and are not there.
    pub fn absent(&self, at: &Moment) -> u64 {
        kept(self.classes.absent(at.limit), at)
    }

    /// In how many milliseconds no more than `units_max` are kept for tenants that are set something aside by name and
    /// are not there. `None` where nothing is.
    pub fn kept_for_absent(&self, units_max: u64, at: &Moment) -> Option<u64> {
        let absent = u128::from(self.classes.absent(at.limit));
        // The largest left_ms with ceil(absent * left_ms / window_ms) <= units_max.
        let most = u128::from(units_max) * u128::from(at.window_ms.max(1));
        let left_ms = u64::try_from(most.checked_div(absent)?).unwrap_or(u64::MAX);
        Some(at.left_ms - left_ms.min(at.left_ms))
    }

    /// In how many milliseconds a guarantee comes to `units`, where it grows as what is kept for others is released.
    /// `None` where it never does.
    pub fn grows_to(&self, id: AccountId, units: u64, at: &Moment) -> Option<u64> {
        let class = self.class(id.0)?;
        let rest = self.classes.now().rest_for(class, units)?;
        let all = self.classes.rest(&Moment { left_ms: 0, ..*at });
        self.kept_for_absent(all.checked_sub(rest)?, at)
    }
}

/// Whether tenants of the last window that were not seen yet still count.
pub(super) fn carries(at: &Moment) -> bool {
    at.left_ms > left_ms_after_quarter(at)
}

fn left_ms_after_quarter(at: &Moment) -> u64 {
    at.window_ms - at.window_ms.div_ceil(4)
}

/// What is still kept of guarantees that nobody has claimed: the part that the window has left.
pub(super) fn paced(guarantees: u128, at: &Moment) -> u128 {
    if guarantees == 0 {
        return 0;
    }
    let window_ms = u128::from(at.window_ms.max(1));
    guarantees.saturating_mul(u128::from(at.left_ms.min(at.window_ms))) / window_ms
}
