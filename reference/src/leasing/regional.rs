//! What the processes of one region share.

use super::WindowStart;
use weir_shared::limits::POOLS_MAX;
use weir_shared::ordered::OrderedMap;

/// One balance a key. A process takes from it before the coordinator is asked.
#[derive(Debug, Clone, Default)]
pub struct RegionalEscrow {
    keys: OrderedMap<String, Balance>,
}

#[derive(Debug, Clone, Copy)]
struct Balance {
    window: WindowStart,
    units: u64,
}

impl RegionalEscrow {
    /// A region that holds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives up to `units` of what is held of `window`.
    pub fn lease(&mut self, key: &str, units: u64, window: WindowStart) -> u64 {
        let Some(balance) = self.keys.get_mut(key).filter(|held| held.window == window) else {
            return 0;
        };
        let granted = units.min(balance.units);
        balance.units = balance.units.saturating_sub(granted);
        granted
    }

    /// Adds what the coordinator granted of `window`. Answers whether it was taken: a grant of a window before the one
    /// that is held comes too late, and with [`POOLS_MAX`] keys a new one is not taken.
    ///
    /// ```
    /// use weir_reference::leasing::{RegionalEscrow, WindowStart};
    /// use weir_shared::units::EpochMs;
    /// let (first, next) = (WindowStart(EpochMs(0)), WindowStart(EpochMs(1_000)));
    /// let mut region = RegionalEscrow::new();
    /// assert!(region.refill("k", 16, next));
    /// assert!(!region.refill("k", 16, first)); // forfeited
    /// assert_eq!(region.lease("k", 20, next), 16);
    /// assert_eq!(region.lease("k", 20, next), 0);
    /// ```
    pub fn refill(&mut self, key: &str, units: u64, window: WindowStart) -> bool {
        if !self.keys.contains_key(key) && self.keys.len() >= POOLS_MAX {
            return false;
        }
        let fresh = Balance { window, units: 0 };
        let balance = self.keys.entry(key.to_owned()).or_insert(fresh);
        if balance.window > window {
            return false;
        }
        if balance.window < window {
            *balance = fresh;
        }
        balance.units = balance.units.saturating_add(units);
        true
    }

    /// Gives up what is held of `window`, which is over. The first to ask gets it, the others nothing.
    pub fn release(&mut self, key: &str, window: WindowStart) -> u64 {
        match self.keys.get(key) {
            Some(balance) if balance.window == window => {
                let leftover = balance.units;
                self.keys.remove(key);
                leftover
            }
            _ => 0,
        }
    }

    /// Units held of a key, of whichever window.
    #[must_use]
    pub fn balance(&self, key: &str) -> u64 {
        self.keys.get(key).map_or(0, |balance| balance.units)
    }
}
