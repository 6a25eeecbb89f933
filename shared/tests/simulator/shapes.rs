//! Shapes of traffic, and what a million checks of each use: calls and rows, as they were counted.

use weir_shared::wire::exchange::RuleBody;

use super::Report;
use super::setup::Setup;

/// Tenants of [`Shape::Zipf`].
const TENANTS: usize = 10_000;

/// A burst of one second, every so often.
const BURST_EVERY_MS: u64 = 5_000;

/// What is asked for beyond the limit, so that all of it is used.
const DEMAND: f64 = 1.1;

/// How requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Evenly.
    Steady,
    /// One second at five times the rate, four seconds of silence, everywhere at the same time.
    Bursty,
    /// Evenly, each in the name of one of 10,000 tenants by Zipf's law, of a pool that goes to whoever comes first.
    Zipf,
    /// The same, of a pool that they share by weight.
    ZipfShared,
}

impl Shape {
    /// Those of which a pool is used up.
    pub(crate) const ALL: [Self; 3] = [Self::Steady, Self::Bursty, Self::Zipf];

    /// What it is called in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Bursty => "bursty",
            Self::Zipf => "10,000 tenants, Zipf",
            Self::ZipfShared => "10,000 tenants, Zipf, shared by weight",
        }
    }
}

impl Setup {
    /// Checks of one unit at `rate_per_sec` over all isolates, of a limit that they use up.
    pub(crate) fn shaped(
        shape: Shape,
        rate_per_sec: u64,
        size: (usize, usize),
        window_ms: u64,
        windows: u64,
    ) -> Self {
        Self::shaped_by(shape, TENANTS, rate_per_sec, size, window_ms, windows)
    }

    /// The same with so many tenants, where the shape has them.
    pub(crate) fn shaped_by(
        shape: Shape,
        tenants: usize,
        rate_per_sec: u64,
        size: (usize, usize),
        window_ms: u64,
        windows: u64,
    ) -> Self {
        let demand = rate_per_sec as f64 * window_ms as f64 / 1_000.0;
        let limit = ((demand / DEMAND) as u64).max(1);
        let mut setup = Self::measured(23, size, (limit, window_ms), windows);
        match shape {
            Shape::Steady => setup.asks_everywhere(None, 1, demand),
            Shape::Bursty => {
                let every_ms = BURST_EVERY_MS.min(window_ms);
                setup = setup.asks_everywhere(None, 1, 5.0 * demand);
                for asker in &mut setup.askers {
                    (asker.late_ms, asker.every_ms) = (every_ms * 4 / 5, every_ms);
                }
                setup
            }
            Shape::Zipf | Shape::ZipfShared => {
                setup = setup.shared_by(RuleBody::Paced, &vec![1.0; tenants]);
                if shape == Shape::Zipf {
                    setup.rule = None;
                }
                setup = setup.asks_everywhere(None, 1, demand);
                for asker in &mut setup.askers {
                    asker.crowd = true;
                }
                setup
            }
        }
    }
}

/// What a run used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    /// Checks that were decided, and in how many seconds.
    pub(crate) checks: f64,
    pub(crate) seconds: f64,
    /// Calls of the regions for leases, all isolates together.
    pub(crate) region_calls: f64,
    pub(crate) coordinator_calls: f64,
    /// Rows, indexes not counted.
    pub(crate) rows: f64,
    /// What was used of the limits of whole windows but for the first.
    pub(crate) utilization: f64,
}

impl Used {
    /// A count of this run, for a million checks.
    pub(crate) fn per_million(&self, count: f64) -> f64 {
        count * 1e6 / self.checks
    }

    /// Calls of all objects.
    pub(crate) fn calls(&self) -> f64 {
        self.region_calls + self.coordinator_calls
    }
}

impl Report {
    /// What the run used.
    pub(crate) fn used(&self, setup: &Setup) -> Used {
        let windows = self.measured(setup);
        let truth = &self.truth;
        let units: u64 = windows.iter().map(|window| window.admitted).sum();
        let limits: u64 = windows.iter().map(|window| window.limit).sum();
        Used {
            checks: self.checks() as f64,
            seconds: (setup.windows * setup.window_ms) as f64 / 1_000.0,
            region_calls: truth.calls_region as f64,
            coordinator_calls: truth.calls_coordinator as f64,
            rows: (truth.writes_region + truth.writes_coordinator) as f64,
            utilization: units as f64 / limits.max(1) as f64,
        }
    }
}
