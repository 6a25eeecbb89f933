//! Who asks for what, and when.

use super::isolate::Ask;
use super::network::Event;
use super::{START_MS, World};

impl World {
    /// A request of one isolate, and when the next comes.
    pub(crate) fn demand(&mut self, place: usize) {
        if self.healed {
            self.demand_healed(place);
            return;
        }
        let demand = self.setup.demand.clone();
        self.later(2 * demand.gap_ms, Event::Asked { place });
        if self.now_ms < self.paused_until_ms {
            return;
        }
        if demand.pauses && self.random.chance(15) {
            self.paused_until_ms = self.now_ms + self.random.below(4 * self.setup.window_ms);
        }
        let oversize = self.random.chance(demand.oversize);
        let tenant = self.any_tenant();
        let cost = if oversize {
            self.policy[self.policy.len() - 1].limit + demand.unit
        } else if self.random.chance(20) {
            0
        } else {
            let most = tenant.map_or(u64::MAX, |tenant| self.setup.tenants[tenant].cost_max);
            let multiple_max = demand.multiple_max.min(most / demand.unit).max(1);
            demand.unit * self.random.between(1, multiple_max)
        };
        self.asked(place, Ask { cost, tenant });
    }

    /// One of the tenants, some of which ask more often than others.
    fn any_tenant(&mut self) -> Option<usize> {
        let tenants = &self.setup.tenants;
        let turns: u64 = tenants.iter().map(|tenant| tenant.turns).sum();
        let mut turn = self.random.below(turns);
        tenants.iter().position(|tenant| {
            let here = turn < tenant.turns;
            turn = turn.saturating_sub(tenant.turns);
            here
        })
    }

    pub(crate) fn start_askers(&mut self) {
        for index in 0..self.setup.askers.len() {
            let asker = self.setup.askers[index];
            let first_ms = START_MS + asker.from_ms;
            let phase_us = self.random.below(asker.gap_us);
            self.askers_us.push(first_ms * 1_000 + phase_us);
            self.queue
                .push(first_ms + phase_us / 1_000, Event::Asker { index });
        }
    }

    /// A steady asker asks, at its pace give or take a half, but for the times at which it is quiet.
    pub(crate) fn asker_asks(&mut self, index: usize) {
        let asker = self.setup.askers[index];
        let gap_us = asker.gap_us / 2 + self.random.below(asker.gap_us);
        self.askers_us[index] += gap_us.max(1);
        let next_ms = (self.askers_us[index] / 1_000).max(self.now_ms);
        let elapsed_ms = self.now_ms - START_MS;
        if elapsed_ms < asker.until_ms {
            self.queue.push(next_ms, Event::Asker { index });
        }
        if elapsed_ms % asker.every_ms >= asker.late_ms {
            let tenant = if asker.crowd {
                self.one_of_the_crowd()
            } else {
                asker.tenant
            };
            let cost = asker.cost;
            self.asked(asker.place, Ask { cost, tenant });
        }
    }

    /// One of the tenants: the second asks half as often as the first, the third a third as often.
    fn one_of_the_crowd(&mut self) -> Option<usize> {
        let turn = self.random.below(self.crowd.last().copied()?);
        Some(self.crowd.partition_point(|turns| *turns <= turn))
    }

    /// Small costs at three times the limit.
    fn demand_healed(&mut self, place: usize) {
        let terms = self.policy[self.policy.len() - 1].clone();
        // Of a large limit by larger costs.
        let unit = self.setup.demand.unit;
        let unit = unit * (terms.limit / unit / 60).max(1);
        let asks_per_window = 3 * (terms.limit / unit);
        let gap_ms = terms.window_ms * self.places.len() as u64 / asks_per_window.max(1);
        self.later((2 * gap_ms).min(terms.window_ms), Event::Asked { place });
        let tenant = self.any_tenant();
        self.asked(place, Ask { cost: unit, tenant });
    }
}
