//! Two structures of one resource: one decides, the other learns until it takes over.

use weir_shared::units::EpochMs;

use super::config::{Config, Fault};
use super::structure::{Registered, Structure};

/// A structure that decides and one that learns the same under another seed.
#[derive(Debug, Clone)]
pub struct Tracker {
    live: Structure,
    shadow: Structure,
    live_id: u64,
}

impl Tracker {
    /// Two structures, numbered 1 and 2.
    ///
    /// # Errors
    ///
    /// The configuration's fault.
    pub fn new(config: Config, live: u32, shadow: u32, now: EpochMs) -> Result<Self, Fault> {
        Ok(Self {
            live: Structure::new(config, live, now)?,
            shadow: Structure::new(config, shadow, now)?,
            live_id: 1,
        })
    }

    /// A request of `client`, which the live structure decides; `coin` is uniform in [0, 1).
    pub fn register(&mut self, client: &[u8], coin: f64, now: EpochMs) -> Registered {
        self.shadow.register(client, coin, now);
        self.live.register(client, coin, now)
    }

    /// A request of `client` failed for want of the resource.
    pub fn failure(&mut self, client: &[u8], now: EpochMs) {
        self.live.failure(client, now);
        self.shadow.failure(client, now);
    }

    /// A request of `client` was served.
    pub fn success(&mut self, client: &[u8], now: EpochMs) {
        self.live.success(client, now);
        self.shadow.success(client, now);
    }

    /// The structure that learned takes over; a fresh one with this seed learns.
    pub fn rotate(&mut self, seed: u32, now: EpochMs) {
        let fresh = self.shadow.fresh(seed, now);
        self.live = std::mem::replace(&mut self.shadow, fresh);
        self.live_id += 1;
    }

    /// The structure that decides, with its number.
    #[must_use]
    pub fn live(&self) -> (u64, &Structure) {
        (self.live_id, &self.live)
    }

    /// The structure that learns, with its number.
    #[must_use]
    pub fn shadow(&self) -> (u64, &Structure) {
        (self.live_id + 1, &self.shadow)
    }
}
