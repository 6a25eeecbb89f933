//! What isolates that died had of the windows of budgets. The region that lent it counts that by itself: what it lent to
//! each, less what that one told it of. So records of windows can be held against what their roots lent.

use weir_core::limits::{FRAME_WINDOWS_MAX, HOLDERS_MAX, LOST_MS};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId, WindowLabel};
use weir_wire::count::Count;
use weir_wire::windows::{WindowPart, WindowParts};

/// What isolates have of windows, and what they told of it.
#[derive(Debug, Clone, Default)]
pub struct Accountable {
    windows: OrderedMap<(String, WindowLabel), Window>,
}

#[derive(Debug, Clone, Default)]
struct Window {
    ends_at: EpochMs,
    holders: OrderedMap<HolderId, Holder>,
}

/// What one isolate had of a window.
#[derive(Debug, Clone, Copy, Default)]
struct Holder {
    /// Units that it was lent and did not give back.
    held: u64,
    /// Units that it told of: used, reserved or lapsed.
    told: u128,
}

impl Accountable {
    /// An isolate has so many units of a window.
    pub fn holds(
        &mut self,
        (budget, label): (&str, WindowLabel),
        ends_at: EpochMs,
        holder: HolderId,
        held: u64,
    ) {
        let name = (budget.to_owned(), label);
        if !self.windows.contains_key(&name) {
            if held == 0 {
                return;
            }
            if self.windows.len() >= FRAME_WINDOWS_MAX {
                self.windows.pop_first();
            }
        }
        let window = self.windows.entry(name).or_default();
        window.ends_at = window.ends_at.max(ends_at);
        if window.holders.len() < HOLDERS_MAX || window.holders.contains_key(&holder) {
            window.holders.entry(holder).or_default().held = held;
        }
    }

    /// An isolate told of windows.
    pub fn told(&mut self, holder: HolderId, parts: &WindowParts) {
        for (budget, labels) in parts {
            for (label, part) in labels {
                let window = self.windows.get_mut(&(budget.clone(), *label));
                if let Some(window) = window {
                    let of = window.holders.entry(holder).or_default();
                    of.told = of.told.saturating_add(units(part));
                }
            }
        }
    }

    /// Whether some window is over of which not everybody has told.
    #[must_use]
    pub fn has_unsent(&self, now: EpochMs) -> bool {
        self.windows.values().any(|window| now >= window.ends_at)
    }

    /// Takes out windows that are over: of those that all have told of in full, and of those that are so for so long that
    /// who has not told is dead. Of the latter what was lost.
    #[must_use]
    pub fn lost(&mut self, now: EpochMs) -> WindowParts {
        let mut lost = WindowParts::new();
        self.windows.retain(|(budget, label), window| {
            let missing = window.missing();
            let done = now >= window.ends_at && missing == 0 || now >= window.ends_at.plus(LOST_MS);
            if done && missing > 0 {
                let part = WindowPart {
                    unaccounted: Count(missing),
                    ..WindowPart::default()
                };
                lost.entry(budget.clone()).or_default().insert(*label, part);
            }
            !done
        });
        lost
    }
}

impl Window {
    fn missing(&self) -> u128 {
        let holders = self.holders.values();
        holders
            .map(|one| u128::from(one.held).saturating_sub(one.told))
            .sum()
    }
}

/// Units that a part tells of. What was reserved is told of when it is reserved, not once more when it is settled.
fn units(part: &WindowPart) -> u128 {
    let used: u128 = part.tenants.values().map(|one| one.admitted.0).sum();
    let held = part
        .reservations
        .values()
        .flat_map(|minute| minute.values());
    let (mut reserved, mut released) = (0_u128, 0_u128);
    for one in held {
        reserved = reserved.saturating_add(one.reserved.0);
        released = released.saturating_add(one.released.0);
    }
    // What a branch has lost below it, it tells of.
    let told = [reserved, part.lapsed.0, part.unaccounted.0];
    let told = told.into_iter().fold(used, u128::saturating_add);
    told.saturating_sub(released)
}

#[cfg(test)]
mod tests {
    use weir_wire::windows::TenantPart;

    use super::*;

    const NAME: (&str, WindowLabel) = ("tokens", WindowLabel(3));
    const ENDS_AT: EpochMs = EpochMs(60_000);

    fn part(admitted: u128, lapsed: u128) -> WindowParts {
        let one = TenantPart {
            admitted: Count(admitted),
            ..TenantPart::default()
        };
        let part = WindowPart {
            lapsed: Count(lapsed),
            ..WindowPart::one("acme", one)
        };
        WindowParts::from([(NAME.0.to_owned(), OrderedMap::from([(NAME.1, part)]))])
    }

    fn lost(all: &mut Accountable, now: EpochMs) -> Option<u128> {
        let lost = all.lost(now);
        let part = lost.get(NAME.0)?.get(&NAME.1)?;
        Some(part.unaccounted.0)
    }

    #[test]
    fn who_tells_of_all_that_it_had_has_lost_nothing() {
        let mut all = Accountable::default();
        all.holds(NAME, ENDS_AT, HolderId(1), 40);
        all.told(HolderId(1), &part(30, 0));
        all.holds(NAME, ENDS_AT, HolderId(1), 35);
        assert_eq!(lost(&mut all, ENDS_AT), None);
        assert!(all.has_unsent(ENDS_AT));
        all.told(HolderId(1), &part(0, 5));
        assert_eq!(lost(&mut all, ENDS_AT.plus(1)), None);
        assert!(!all.has_unsent(ENDS_AT.plus(LOST_MS)));
    }

    #[test]
    fn who_died_has_lost_what_it_did_not_tell_of_and_nobody_elses() {
        let mut all = Accountable::default();
        all.holds(NAME, ENDS_AT, HolderId(1), 40);
        all.holds(NAME, ENDS_AT, HolderId(2), 10);
        all.told(HolderId(1), &part(25, 0));
        // More than it was lent is nobody's to make good.
        all.told(HolderId(2), &part(12, 0));
        assert_eq!(lost(&mut all, ENDS_AT.plus(LOST_MS - 1)), None);
        assert_eq!(lost(&mut all, ENDS_AT.plus(LOST_MS)), Some(15));
        assert_eq!(lost(&mut all, ENDS_AT.plus(2 * LOST_MS)), None, "once");
    }

    #[test]
    fn what_a_branch_tells_that_it_lost_is_not_lost_once_more() {
        let mut all = Accountable::default();
        all.holds(NAME, ENDS_AT, HolderId(1), 40);
        all.told(HolderId(1), &part(25, 0));
        let below = WindowPart {
            unaccounted: Count(10),
            ..WindowPart::default()
        };
        let below = WindowParts::from([(NAME.0.to_owned(), OrderedMap::from([(NAME.1, below)]))]);
        all.told(HolderId(1), &below);
        assert_eq!(lost(&mut all, ENDS_AT.plus(LOST_MS)), Some(5));
    }

    #[test]
    fn as_many_windows_are_accounted_for_as_there_is_room_for_and_then_the_first_makes_room() {
        let mut all = Accountable::default();
        let windows = FRAME_WINDOWS_MAX as u64;
        let mut holds = |label| all.holds((NAME.0, WindowLabel(label)), ENDS_AT, HolderId(1), 7);
        (0..windows).for_each(&mut holds);
        // Those that it has already make no room.
        (0..windows).for_each(&mut holds);
        let lost_of = |mut all: Accountable| {
            let lost = all.lost(ENDS_AT.plus(LOST_MS));
            let labels = lost[NAME.0].keys().map(|label| label.0);
            (labels.clone().min(), labels.count() as u64)
        };
        assert_eq!(lost_of(all.clone()), (Some(0), windows));
        all.holds((NAME.0, WindowLabel(windows)), ENDS_AT, HolderId(1), 0);
        assert_eq!(
            lost_of(all.clone()),
            (Some(0), windows),
            "nothing is held of it"
        );
        all.holds((NAME.0, WindowLabel(windows)), ENDS_AT, HolderId(1), 7);
        assert_eq!(lost_of(all), (Some(1), windows));
    }
}
