//! The whole budget of each window, and what is left of it.

use super::{WindowStart, Windows};
use weir_shared::invalid::{Invalid, within};
use weir_shared::limits::{JSON_INTEGER_MAX, POOLS_MAX, REGIONS_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

/// Lends `budget` units a window, for each key by itself.
#[derive(Debug, Clone)]
pub struct Coordinator {
    budget: u64,
    windows: Windows,
    keys: OrderedMap<String, Lent>,
}

/// What one key has of its last window.
#[derive(Debug, Clone)]
struct Lent {
    window: WindowStart,
    units: u64,
    regions: OrderedMap<String, RegionShare>,
}

/// What one region has of it.
#[derive(Debug, Clone, Copy, Default)]
struct RegionShare {
    units: u64,
    /// Whether its leftover was credited.
    reconciled: bool,
}

impl Coordinator {
    /// A coordinator that has lent nothing.
    ///
    /// # Errors
    /// `/budget` outside 1 to 2^53 - 1.
    pub fn new(budget: u64, windows: Windows) -> Result<Self, Invalid> {
        Ok(Self {
            budget: within("/budget", budget, 1..=JSON_INTEGER_MAX)?,
            windows,
            keys: OrderedMap::new(),
        })
    }

    /// Lends up to `units` of `window` to `region`: what is left, and nothing unless that window is open here. Beyond
    /// [`POOLS_MAX`] keys with an open window, or [`REGIONS_MAX`] regions of one key, a new one gets nothing.
    ///
    /// ```
    /// use weir_reference::leasing::{Coordinator, Windows, WindowStart};
    /// use weir_shared::units::EpochMs;
    /// let mut coordinator = Coordinator::new(20, Windows::new(1_000).unwrap()).unwrap();
    /// let (first, now) = (WindowStart(EpochMs(1_000)), EpochMs(1_500));
    /// assert_eq!(coordinator.lease("k", "weur", 16, first, now), 16);
    /// assert_eq!(coordinator.lease("k", "weur", 16, first, now), 4); // a part is legitimate
    /// assert_eq!(coordinator.lease("k", "weur", 16, WindowStart(EpochMs(2_000)), now), 0); // not open yet
    /// assert_eq!(coordinator.lease("k", "weur", 16, first, EpochMs(2_000)), 0); // over
    /// ```
    pub fn lease(
        &mut self,
        key: &str,
        region: &str,
        units: u64,
        window: WindowStart,
        now: EpochMs,
    ) -> u64 {
        let budget = self.budget;
        let Some(lent) = self.open(key, now).filter(|lent| lent.window == window) else {
            return 0;
        };
        if !lent.regions.contains_key(region) && lent.regions.len() >= REGIONS_MAX {
            return 0;
        }
        let granted = units.min(budget.saturating_sub(lent.units));
        lent.units = lent.units.saturating_add(granted);
        let share = lent.regions.entry(region.to_owned()).or_default();
        share.units = share.units.saturating_add(granted);
        granted
    }

    /// Takes back what `region` has left of `window`: at most what it was lent, once for each region and window, however
    /// often it is told, and only while the window is open. Answers what was credited.
    ///
    /// ```
    /// use weir_reference::leasing::{Coordinator, Windows, WindowStart};
    /// use weir_shared::units::EpochMs;
    /// let mut coordinator = Coordinator::new(20, Windows::new(1_000).unwrap()).unwrap();
    /// let (first, now) = (WindowStart(EpochMs(1_000)), EpochMs(1_500));
    /// coordinator.lease("k", "weur", 16, first, now);
    /// assert_eq!(coordinator.reconcile("k", "weur", 5, first, now), 5);
    /// assert_eq!(coordinator.reconcile("k", "weur", 5, first, now), 0); // told twice
    /// assert_eq!(coordinator.remaining("k", now), 20 - 16 + 5);
    /// assert_eq!(coordinator.reconcile("k", "weur", 5, first, EpochMs(2_000)), 0); // forfeited
    /// ```
    pub fn reconcile(
        &mut self,
        key: &str,
        region: &str,
        leftover: u64,
        window: WindowStart,
        now: EpochMs,
    ) -> u64 {
        let Some(lent) = self.open(key, now).filter(|lent| lent.window == window) else {
            return 0;
        };
        let share = lent.regions.get_mut(region);
        let Some(share) = share.filter(|share| !share.reconciled) else {
            return 0;
        };
        let credited = leftover.min(share.units);
        *share = RegionShare {
            units: share.units.saturating_sub(credited),
            reconciled: true,
        };
        lent.units = lent.units.saturating_sub(credited);
        credited
    }

    /// Units that the window open at `now` has left.
    #[must_use]
    pub fn remaining(&self, key: &str, now: EpochMs) -> u64 {
        let open = self.windows.at(now);
        let lent = self.keys.get(key).filter(|lent| lent.window >= open);
        self.budget
            .saturating_sub(lent.map_or(0, |lent| lent.units))
    }

    /// The key in its open window, which only rolls forward.
    fn open(&mut self, key: &str, now: EpochMs) -> Option<&mut Lent> {
        let window = self.windows.at(now);
        let rolled = |lent: &Lent| window > lent.window;
        if !self.keys.contains_key(key) && self.keys.len() >= POOLS_MAX {
            self.keys.retain(|_, lent| !rolled(lent));
            if self.keys.len() >= POOLS_MAX {
                return None;
            }
        }
        let fresh = || Lent {
            window,
            units: 0,
            regions: OrderedMap::new(),
        };
        let lent = self.keys.entry(key.to_owned()).or_insert_with(fresh);
        if rolled(lent) {
            *lent = fresh();
        }
        Some(lent)
    }
}
