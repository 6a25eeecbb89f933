//! One process: decides from its own balance, and leases when that is short.

use super::{Coordinator, RegionalEscrow, WindowStart, Windows};
use crate::limits::LEASING_ROUNDS_MAX;
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::invalid::{Fault, Invalid, within};
use weir_shared::limits::{COST_MAX, JSON_INTEGER_MAX, POOLS_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::Outage;

/// How a process leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineSettings {
    /// Units per window, of all processes together.
    pub limit: u64,
    /// The windows.
    pub windows: Windows,
    /// The least that is asked for at a time.
    pub batch: u64,
    /// Whether the processes of the region share an escrow.
    pub has_regional: bool,
    /// What happens while the coordinator is out of reach. `regional_only` needs a regional escrow: it serves from
    /// that alone until a probe finds the coordinator well.
    pub outage: Outage,
    /// Milliseconds between two probes, counted by the clock of the checks; [`PROBE_MS`](crate::limits::PROBE_MS)
    /// where nothing else is said.
    pub probe_ms: u64,
}

/// Who can be asked at this moment. `None` is out of reach.
#[derive(Debug)]
pub struct Parents<'a> {
    /// The region's escrow.
    pub regional: Option<&'a mut RegionalEscrow>,
    /// The coordinator.
    pub coordinator: Option<&'a mut Coordinator>,
}

/// One process of one region.
#[derive(Debug, Clone)]
pub struct Engine {
    region: String,
    settings: EngineSettings,
    keys: OrderedMap<String, Held>,
    /// When the coordinator was last found out of reach; `None` while it is not.
    lost_at: Option<EpochMs>,
}

/// What is held of a key.
#[derive(Debug, Clone, Copy)]
struct Held {
    window: WindowStart,
    units: u64,
}

impl Engine {
    /// A process of `region` that holds nothing.
    ///
    /// # Errors
    /// `/limit` or `/batch` outside 1 to 2^53 - 1.
    pub fn new(region: &str, settings: EngineSettings) -> Result<Self, Invalid> {
        within("/limit", settings.limit, 1..=JSON_INTEGER_MAX)?;
        within("/batch", settings.batch, 1..=JSON_INTEGER_MAX)?;
        Ok(Self {
            region: region.to_owned(),
            settings,
            keys: OrderedMap::new(),
            lost_at: None,
        })
    }

    /// Decides one request. A cost above the limit is denied before anything is asked for.
    ///
    /// # Errors
    /// `/cost` outside 1 to 2^53 - 1; `/key` beyond [`POOLS_MAX`] keys with an open window. Nothing changes then.
    ///
    /// ```
    /// use weir_reference::leasing::{Coordinator, Engine, EngineSettings, Parents, Windows};
    /// use weir_shared::units::EpochMs;
    /// use weir_shared::wire::policy::Outage;
    /// let windows = Windows::new(60_000).unwrap();
    /// let mut coordinator = Coordinator::new(20, windows).unwrap();
    /// let settings = EngineSettings {
    ///     limit: 20, windows, batch: 16, has_regional: false, outage: Outage::FailClosed, probe_ms: 5_000,
    /// };
    /// let mut engine = Engine::new("weur", settings).unwrap();
    /// let mut check = |cost, is_up: bool| {
    ///     let coordinator = Some(&mut coordinator).filter(|_| is_up);
    ///     let parents = Parents { regional: None, coordinator };
    ///     let decision = engine.check("k", cost, parents, EpochMs(1_045)).unwrap();
    ///     (decision.admitted(), decision.remaining)
    /// };
    /// assert_eq!(check(1, true), (true, 15)); // 16 are leased
    /// assert_eq!(check(10, false), (true, 5)); // spent without asking
    /// assert_eq!(check(6, false), (false, 5));
    /// assert_eq!(check(6, true), (true, 3)); // the last 4
    /// ```
    pub fn check(
        &mut self,
        key: &str,
        cost: u64,
        mut parents: Parents<'_>,
        now: EpochMs,
    ) -> Result<Decision, Invalid> {
        within("/cost", cost, 1..=COST_MAX)?;
        self.has_room(key, now)?;
        let window = self.settings.windows.at(now);
        let ends_at = self.settings.windows.end(window);
        if cost > self.settings.limit {
            let remaining = self.balance(key).map_or(0, |(units, _)| units);
            return Ok(Decision::never(self.settings.limit, remaining, ends_at));
        }
        self.probe(&mut parents, now);
        let window = self.roll(key, window, &mut parents, now);
        let units = self.fill(key, window, cost, &mut parents, now);
        let (reason, remaining) = match units.checked_sub(cost) {
            Some(left) => (Reason::Admitted, left),
            None => (Reason::CapReached, units),
        };
        self.hold(key, window, remaining);
        let ends_at = self.settings.windows.end(window);
        Ok(Decision {
            reason,
            limit: self.settings.limit,
            remaining,
            reset_at: ends_at,
            retry: match reason {
                Reason::Admitted => Retry::Now,
                _ => Retry::AfterMs(ends_at.since(now).max(1)),
            },
        })
    }

    /// Credits units that were granted for `window` and arrive now. Answers whether they were taken: a grant for a
    /// window that is no longer open is forfeited.
    pub fn credit(&mut self, key: &str, units: u64, window: WindowStart, now: EpochMs) -> bool {
        let is_open = self.settings.windows.at(now) == window;
        match self.keys.get_mut(key) {
            Some(held) if is_open && held.window == window => {
                held.units = held.units.saturating_add(units);
                true
            }
            _ => false,
        }
    }

    /// Forgets a key. What it held stays counted as granted: nothing is refunded.
    pub fn reset(&mut self, key: &str) {
        self.keys.remove(key);
    }

    /// Units held of a key, and the first millisecond after their window.
    #[must_use]
    pub fn balance(&self, key: &str) -> Option<(u64, EpochMs)> {
        let held = self.keys.get(key)?;
        Some((held.units, self.settings.windows.end(held.window)))
    }

    fn has_room(&mut self, key: &str, now: EpochMs) -> Result<(), Invalid> {
        if self.keys.contains_key(key) || self.keys.len() < POOLS_MAX {
            return Ok(());
        }
        let open = self.settings.windows.at(now);
        self.keys.retain(|_, held| held.window >= open);
        if self.keys.len() < POOLS_MAX {
            return Ok(());
        }
        let fault = Fault::TooMany {
            got: self.keys.len().saturating_add(1),
            max: POOLS_MAX,
            what: "keys",
        };
        Err(Invalid::new("/key", fault))
    }

    /// Takes the coordinator for lost until a probe, which is due at times, finds it well.
    fn probe(&mut self, parents: &mut Parents<'_>, now: EpochMs) {
        let Some(lost_at) = self.lost_at else { return };
        if now.since(lost_at) < self.settings.probe_ms {
            parents.coordinator = None;
        } else if parents.coordinator.is_some() {
            self.lost_at = None;
        } else {
            self.lost_at = Some(now);
        }
    }

    /// Drops what is held of a window that is over, and tells the parents. Windows only roll forward.
    fn roll(
        &mut self,
        key: &str,
        window: WindowStart,
        parents: &mut Parents<'_>,
        now: EpochMs,
    ) -> WindowStart {
        let Some(held) = self.keys.get(key).copied() else {
            return window;
        };
        if held.window >= window {
            return held.window;
        }
        self.keys.remove(key);
        let regional = parents.regional.as_mut();
        let released = regional.map_or(0, |region| region.release(key, held.window));
        let leftover = held.units.saturating_add(released);
        if leftover > 0
            && let Some(coordinator) = parents.coordinator.as_mut()
        {
            coordinator.reconcile(key, &self.region, leftover, held.window, now);
        }
        window
    }

    /// What is held of `window` once all that can be leased for `cost` was.
    fn fill(
        &mut self,
        key: &str,
        window: WindowStart,
        cost: u64,
        parents: &mut Parents<'_>,
        now: EpochMs,
    ) -> u64 {
        let mut units = self.keys.get(key).map_or(0, |held| held.units);
        let size = self.settings.batch.max(cost);
        for _ in 0..LEASING_ROUNDS_MAX {
            if units < cost
                && let Some(region) = parents.regional.as_mut()
            {
                units = units.saturating_add(region.lease(key, size.saturating_sub(units), window));
            }
            if units >= cost {
                break;
            }
            let Some(coordinator) = parents.coordinator.as_mut() else {
                self.lost(now);
                break;
            };
            let granted = coordinator.lease(key, &self.region, size, window, now);
            if granted == 0 {
                break;
            }
            let Some(region) = parents.regional.as_mut() else {
                units = units.saturating_add(granted);
                continue;
            };
            if !region.refill(key, granted, window) {
                break;
            }
            units = units.saturating_add(region.lease(key, size, window));
        }
        units
    }

    fn lost(&mut self, now: EpochMs) {
        if self.settings.has_regional && self.settings.outage == Outage::RegionalOnly {
            self.lost_at.get_or_insert(now);
        }
    }

    fn hold(&mut self, key: &str, window: WindowStart, units: u64) {
        self.keys.insert(key.to_owned(), Held { window, units });
    }
}
