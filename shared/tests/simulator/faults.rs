//! What goes wrong, and when.

use weir_shared::limits::{COST_MAX, JSON_INTEGER_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::exchange::{ExchangeBody, VERSION};

use super::World;
use super::network::{Event, From};

/// A region that is cut off from the coordinator for a while.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) region: usize,
    pub(crate) from_ms: u64,
    pub(crate) until_ms: u64,
}

/// Delays of a healthy network, one way.
const DELAY_MS_MAX: u64 = 40;

impl World {
    /// Sends over the network, which may lose, repeat, delay and reorder.
    pub(crate) fn send(&mut self, event: Event) {
        if self.cut_off(&event) {
            return;
        }
        let faults = &self.setup.faults;
        let (lost, repeated) = (faults.lost, faults.repeated);
        if !self.healed && self.random.chance(lost) {
            return;
        }
        if !self.healed && self.random.chance(repeated) {
            let delay_ms = self.delay_ms();
            self.queue.push(self.now_ms + delay_ms, event.clone());
        }
        let delay_ms = self.delay_ms();
        self.queue.push(self.now_ms + delay_ms, event);
    }

    /// Whether the event is between a region, or a branch, that is cut off and what is above it.
    fn cut_off(&self, event: &Event) -> bool {
        let life = match event {
            Event::AtCoordinator { from, .. } => *from,
            Event::AtRegion {
                from: From::Branch(life),
                ..
            }
            | Event::FromAbove { life, .. } => *life,
            _ => return false,
        };
        let region = self.lives[life].region;
        self.cuts
            .iter()
            .any(|cut| cut.region == region && (cut.from_ms..cut.until_ms).contains(&self.now_ms))
    }

    /// A region and the coordinator do not hear each other for up to four windows.
    fn region_cut(&mut self) {
        let cut = Cut {
            region: self.any_region(),
            from_ms: self.now_ms,
            until_ms: self.now_ms + self.random.below(4 * self.setup.window_ms),
        };
        self.cuts.push(cut);
    }

    fn delay_ms(&mut self) -> u64 {
        if !self.healed && self.random.chance(self.setup.faults.late) {
            return self.random.below(2 * self.setup.window_ms);
        }
        self.random.between(1, DELAY_MS_MAX)
    }

    /// Whether a part halts at this very point, after `dies` was done to it.
    pub(crate) fn halts(&mut self, dies: impl FnOnce(&mut Self)) -> bool {
        let halts = !self.healed
            && self.setup.faults.halts > 0
            && self.random.chance(self.setup.faults.halts);
        if halts {
            dies(self);
        }
        halts
    }

    /// A row's text, made unreadable in one of the ways that a reader has to notice.
    pub(crate) fn damaged(&mut self, text: &str) -> String {
        match self.random.below(4) {
            0 => String::new(),
            1 => text[..text.len() / 2].to_owned(),
            2 => text.replace(&format!("\"v\":{VERSION}"), "\"v\":9"),
            _ => text.replace("\"watermark\":", "\"watermark\":-"),
        }
    }

    /// One fault of the kinds that this run has.
    pub(crate) fn fault(&mut self) {
        if self.healed {
            return;
        }
        let next_ms = self.now_ms + self.random.between(1, self.setup.window_ms / 2);
        self.queue.push(next_ms, Event::Fault);
        let faults = self.setup.faults.clone();
        if faults.branches_change && self.random.chance(400) {
            let place = self.random.below(self.places.len() as u64) as usize;
            self.isolate_moves(place);
        }
        if faults.edits_often && self.random.chance(300) {
            self.policy_edited();
        }
        match self.random.below(10) {
            0 if faults.isolates_die => {
                let place = self.random.below(self.places.len() as u64) as usize;
                self.isolate_dies(place);
            }
            1 if faults.objects_die => {
                let region = self.any_region();
                if let Some(life) = self.regions[region].current {
                    self.region_dies(life);
                }
            }
            2 if faults.objects_die => {
                if let Some(life) = self.coordinator.current {
                    self.coordinator_dies(life);
                }
            }
            3 if faults.superseded => {
                let region = self.any_region();
                self.region_superseded(region);
            }
            4 if faults.superseded => self.coordinator_superseded(),
            5 if faults.superseded => self.superseded_die(),
            6 if faults.damage => {
                if self.random.chance(500) {
                    let region = self.any_region();
                    self.region_row_damaged(region);
                } else {
                    self.coordinator_row_damaged();
                }
            }
            7 if faults.steps => self.clock_steps(),
            8 if faults.edits => self.policy_edited(),
            9 if faults.cuts => self.region_cut(),
            _ => {}
        }
    }

    fn any_region(&mut self) -> usize {
        self.random.below(self.regions.len() as u64) as usize
    }

    /// Instances that lived on beside their successors are gone.
    pub(crate) fn superseded_die(&mut self) {
        for life in self.lives.iter_mut().filter(|life| life.superseded) {
            life.alive = false;
        }
        for life in self
            .coordinator_lives
            .iter_mut()
            .filter(|life| life.superseded)
        {
            life.alive = false;
        }
    }

    fn clock_steps(&mut self) {
        let most_ms = 3 * self.setup.window_ms;
        let step_ms = self.random.below(2 * most_ms) as i64 - most_ms as i64;
        match self.random.below(3) {
            0 => {
                let place = self.random.below(self.places.len() as u64) as usize;
                self.place_offsets[place] += step_ms;
                let life = self.places[place];
                self.isolates[life].clock.offset_ms += step_ms;
            }
            1 => {
                let region = self.any_region();
                self.regions[region].offset_ms += step_ms;
                for life in self.lives.iter_mut().filter(|life| life.region == region) {
                    life.clock.offset_ms += step_ms;
                }
            }
            _ => {
                self.coordinator_steps(step_ms);
            }
        }
    }

    fn coordinator_steps(&mut self, step_ms: i64) {
        self.coordinator.offset_ms += step_ms;
        for life in &mut self.coordinator_lives {
            life.clock.offset_ms += step_ms;
        }
    }

    /// The worst step of the coordinator's clock: back to where a pool took its first label from it.
    pub(crate) fn clock_steps_back_to_labels(&mut self, opened_at: EpochMs) {
        if self.setup.faults.steps && !self.healed && self.random.chance(300) {
            let now_ms = self.now_ms as i64 + self.coordinator.offset_ms;
            let early_ms = self.random.below(4) as i64;
            self.coordinator_steps(opened_at.0 as i64 - early_ms - now_ms);
        }
    }

    /// Whether an isolate tells what is not so.
    pub(crate) fn liar(&self, life: usize) -> bool {
        self.setup.faults.lies && self.isolates[life].place % 2 == 1
    }

    /// What a liar makes of its message: it asks for more than it needs, and has more or less than it says.
    pub(crate) fn lies(&mut self, life: usize, body: &mut ExchangeBody) {
        if self.setup.without_ahead {
            body.ahead = 0;
        }
        if self.healed || !self.liar(life) || !self.random.chance(500) {
            return;
        }
        let kind = self.random.below(6);
        for want in &mut body.wants {
            match kind {
                0 => want.expected = COST_MAX,
                1 => want.waiting = want.waiting.saturating_mul(10).min(COST_MAX),
                2 => want.held = 0,
                3 => want.held = JSON_INTEGER_MAX,
                4 => want.denied = JSON_INTEGER_MAX,
                _ => body.ahead = COST_MAX,
            }
        }
    }
}
