//! How the shares of a static partition change without more than the limit in any window.
//!
//! Regions of a static partition ask nobody, and hear of a change each in its own time. So a share falls as soon as its
//! region hears of it, and grows only in a window that begins [`HANDOVER_MS`] after the change was saved, when every
//! region that can be reached has heard. In a window that begins before, a region has at most the least of what it had
//! and what it will have: with those that have not heard, all together at most what they had. In a window that begins
//! later, all have what they will have. A region that cannot be told for longer than that keeps what it had.

use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_federation::handover::{Handover, until};
use weir_wire::policy::Sharing;
use weir_wire::saved_policy::HandoverBody;

use super::Policy;
use super::budget::Budget;

/// The changes of static partitions that are not over, by budget.
pub type Handovers = OrderedMap<String, HandoverBody>;

/// The handovers of `after`, which takes the place of `before` and its handovers at `now`.
///
/// A budget that was no static partition leaves nothing to its regions until then: what was lent of it elsewhere is still
/// spent. A budget that is new is served at once.
#[must_use]
pub fn handovers(
    (before, earlier): (&Policy, &Handovers),
    after: &Policy,
    now: EpochMs,
) -> Handovers {
    let partitioned = |budget: &&Budget| budget.sharing == Sharing::StaticPartition;
    let changed = after.budgets.iter().filter_map(|(name, budget)| {
        let new = Some(budget).filter(partitioned)?;
        let old = before.budgets.get(name)?;
        let earlier = earlier.get(name);
        // The open window began no sooner than a length ago.
        let open = |body: &&HandoverBody| now < until(body).plus(old.window_ms);
        let earlier = earlier.filter(open);
        let had = Some(old).filter(partitioned).map(|old| shares(before, old));
        let has = shares(after, new);
        let body = match had {
            Some(had) if !grows_and_falls(&had, &has) => earlier?.clone(),
            had => HandoverBody {
                since: now,
                before: least(had.unwrap_or_default(), earlier),
            },
        };
        Some((name.clone(), body))
    });
    changed.collect()
}

fn shares(policy: &Policy, budget: &Budget) -> OrderedMap<String, u64> {
    let regions = policy.regions.iter();
    regions
        .map(|region| (region.clone(), budget.slice(&policy.regions, region)))
        .collect()
}

/// Whether some regions get more and others less. Where all get more, or all less, no mix of old and new shares is above
/// both limits.
fn grows_and_falls(had: &OrderedMap<String, u64>, has: &OrderedMap<String, u64>) -> bool {
    let share = |of: &OrderedMap<String, u64>, region: &str| of.get(region).copied().unwrap_or(0);
    let grows = has
        .keys()
        .any(|region| share(has, region) > share(had, region));
    let falls = had
        .keys()
        .any(|region| share(has, region) < share(had, region));
    grows && falls
}

/// What each region had, or, while an earlier change is not over, what it was held to where that is less.
fn least(had: OrderedMap<String, u64>, earlier: Option<&HandoverBody>) -> OrderedMap<String, u64> {
    let held = |(region, units): (String, u64)| {
        let before = earlier.map_or(units, |earlier| Handover::of(earlier, &region).limit);
        (region, units.min(before))
    };
    had.into_iter().map(held).collect()
}
