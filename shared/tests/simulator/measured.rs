//! Runs without faults and with steady askers, and what they come to.

use weir_shared::ordered::OrderedMap;
use weir_shared::wire::exchange::RuleBody;

use super::setup::{Asker, Demand, Faults, Setup};
use super::tenants::Tenant;
use super::{Report, START_MS};

impl Setup {
    /// A healthy deployment without any demand yet.
    pub(crate) fn measured(
        seed: u64,
        (regions, isolates_per_region): (usize, usize),
        (limit, window_ms): (u64, u64),
        windows: u64,
    ) -> Self {
        Self {
            seed,
            regions,
            isolates_per_region,
            branches: 0,
            limit,
            window_ms,
            cycle: None,
            gives_back: 0,
            keyed: false,
            windows,
            windows_healed: 0,
            demand: Demand {
                unit: 1,
                multiple_max: 1,
                gap_ms: window_ms,
                oversize: 0,
                pauses: false,
            },
            tenants: Vec::new(),
            rule: None,
            standing: 0,
            lease: None,
            without_ahead: false,
            askers: Vec::new(),
            ends_after_ms: 0,
            deaths_ms: 0,
            cuts: Vec::new(),
            faults: Faults::default(),
            broken: None,
            traced: false,
            rests: false,
            unchecked: false,
        }
    }

    /// Shared by tenants of these weights, named `t0` and on.
    pub(crate) fn shared_by(mut self, rule: RuleBody, weights: &[f64]) -> Self {
        let tenants = weights
            .iter()
            .enumerate()
            .map(|(index, weight)| Tenant::named(&format!("t{index}"), (weight * 1e6) as u64));
        self.tenants = tenants.collect();
        self.rule = Some(rule);
        self
    }

    /// Requests of `cost` for `units` a window, at one isolate.
    pub(crate) fn asks(self, place: usize, tenant: Option<usize>, cost: u64, units: f64) -> Self {
        self.asks_late(place, tenant, (cost, units), 0)
    }

    /// The same, quiet for the first `late_ms` of each window, in which less is asked for then.
    pub(crate) fn asks_late(
        mut self,
        place: usize,
        tenant: Option<usize>,
        (cost, units): (u64, f64),
        late_ms: u64,
    ) -> Self {
        let gap_us = self.window_ms as f64 * 1_000.0 * cost as f64 / units.max(1e-9);
        self.askers.push(Asker {
            place,
            tenant,
            cost,
            gap_us: (gap_us as u64).max(1),
            from_ms: 0,
            until_ms: u64::MAX,
            late_ms,
            every_ms: self.window_ms,
            crowd: false,
        });
        self
    }

    /// The same units spread evenly over all isolates.
    pub(crate) fn asks_everywhere(mut self, tenant: Option<usize>, cost: u64, units: f64) -> Self {
        let places = self.regions * self.isolates_per_region;
        for place in 0..places {
            self = self.asks(place, tenant, cost, units / places as f64);
        }
        self
    }
}

/// What was admitted in one window, by tenant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    pub(crate) label: u64,
    pub(crate) limit: u64,
    pub(crate) admitted: u64,
    pub(crate) tenants: OrderedMap<Option<usize>, u64>,
}

impl Measured {
    pub(crate) fn of(&self, tenant: usize) -> u64 {
        self.tenants.get(&Some(tenant)).copied().unwrap_or(0)
    }

    pub(crate) fn used(&self) -> f64 {
        self.admitted as f64 / self.limit as f64
    }
}

impl Report {
    /// The whole windows of a run, but for the first, in which nothing is known yet.
    pub(crate) fn measured(&self, setup: &Setup) -> Vec<Measured> {
        assert_eq!(self.truth.violation, None);
        let mut windows: OrderedMap<u64, Measured> = OrderedMap::new();
        for admission in &self.truth.admissions {
            let window = windows.entry(admission.label).or_default();
            window.admitted += admission.units;
            *window.tenants.entry(admission.tenant).or_insert(0) += admission.units;
        }
        let first = START_MS + setup.window_ms;
        let whole =
            self.truth.windows.iter().filter(|(_, window)| {
                window.ends_at_ms > first && window.ends_at_ms <= self.ended_ms
            });
        let whole = whole.map(|(label, truth)| {
            let mut window = windows.remove(label).unwrap_or_default();
            window.label = *label;
            window.limit = truth.limit.max(1);
            window
        });
        whole.collect()
    }

    /// Requests that waited around the beginning of a window, but for the first two.
    pub(crate) fn waits_at_rolls(&self, setup: &Setup) -> usize {
        let near_ms = 200.min(setup.window_ms / 10);
        let at_roll = |at_ms: &&u64| {
            let elapsed_ms = **at_ms - START_MS;
            let phase_ms = (elapsed_ms + near_ms) % setup.window_ms;
            elapsed_ms >= 2 * setup.window_ms - near_ms && phase_ms < 2 * near_ms
        };
        self.truth.waits.iter().filter(at_roll).count()
    }

    /// Requests that were decided.
    pub(crate) fn checks(&self) -> u64 {
        self.truth.admitted_calls() + self.truth.denials.len() as u64 + self.truth.unavailable
    }
}
