//! A seeded simulator of a deployment: the shipped machines, with everything between them that can go wrong.
//!
//! | file | what it is |
//! | --- | --- |
//! | `setup` | what a run is made of |
//! | `network`, `clock`, `random` | events in true time, clocks that differ, numbers that a seed decides |
//! | `isolate`, `region`, `coordinator` | the parts around the machines: wait, write, then send |
//! | `faults` | what goes wrong |
//! | `truth` | what really happened, and the invariants |
//! | `broken` | rules broken on purpose |

#![allow(dead_code, reason = "each test file uses its part of the simulator")]

pub(crate) mod broken;
mod clock;
mod coordinator;
mod faults;
mod isolate;
mod network;
mod random;
mod region;
pub(crate) mod setup;
pub(crate) mod truth;

use weir_shared::units::{EpochMs, Revision, WindowLabel};
use weir_shared::wire::exchange::Terms;

use broken::Broken;
use coordinator::{Coordinator, CoordinatorLife};
use isolate::Isolate;
use network::{Event, Queue};
use random::Random;
use region::{Region, RegionLife};
use setup::{Setup, parts};
use truth::{Truth, Violation};

/// True time at the start: far enough from zero that no clock is before the epoch.
const START_MS: u64 = 1_000_000_000;

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) truth: Truth,
    pub(crate) events: u64,
    /// True time of the last event, and of the last fault.
    pub(crate) ended_ms: u64,
    pub(crate) healed_ms: u64,
}

/// A whole deployment of one budget.
pub(crate) struct World {
    setup: Setup,
    random: Random,
    now_ms: u64,
    queue: Queue,
    truth: Truth,
    /// Whether clocks are clamped to never step back.
    clamped: bool,
    healed: bool,
    policy: Vec<Terms>,
    /// The life at each isolate's place.
    places: Vec<usize>,
    place_offsets: Vec<i64>,
    isolates: Vec<Isolate>,
    regions: Vec<Region>,
    lives: Vec<RegionLife>,
    coordinator: Coordinator,
    coordinator_lives: Vec<CoordinatorLife>,
    /// The label last written by the coordinator.
    last_label: WindowLabel,
    paused_until_ms: u64,
}

/// Runs one setup to its end, or to the first broken invariant.
pub(crate) fn run(setup: &Setup) -> Report {
    let mut world = World::new(setup);
    let healed_ms = START_MS + setup.windows * setup.window_ms;
    let ends_ms = healed_ms + setup.windows_healed * setup.window_ms;
    let mut events = 0;
    while let Some((at_ms, event)) = world.queue.pop() {
        if at_ms > ends_ms || world.truth.violation.is_some() {
            break;
        }
        world.now_ms = at_ms;
        events += 1;
        if setup.traced {
            println!("{at_ms} {event:?}");
        }
        world.happens(event);
        world.check();
    }
    if world.truth.violation.is_none() {
        world.check_end();
    }
    Report {
        truth: world.truth,
        events,
        ended_ms: ends_ms,
        healed_ms,
    }
}

impl World {
    fn new(setup: &Setup) -> Self {
        let mut random = Random::new(setup.seed);
        let places = setup.regions * setup.isolates_per_region;
        let mut offset = |on: bool| {
            if on {
                random.below(20_000) as i64 - 10_000
            } else {
                0
            }
        };
        let offsets = setup.faults.offsets;
        let terms = Terms {
            limit: setup.limit,
            window_ms: setup.window_ms,
            revision: Revision(1),
            cycle: setup.cycle.clone(),
        };
        let mut world = Self {
            setup: setup.clone(),
            now_ms: START_MS,
            queue: Queue::default(),
            truth: Truth::new(setup.parts_min()),
            clamped: false,
            healed: false,
            policy: vec![terms],
            places: vec![0; places],
            place_offsets: (0..places).map(|_| offset(offsets)).collect(),
            isolates: Vec::new(),
            regions: (0..setup.regions)
                .map(|_| Region::new(offset(offsets)))
                .collect(),
            lives: Vec::new(),
            coordinator: Coordinator::new(offset(offsets)),
            coordinator_lives: Vec::new(),
            last_label: WindowLabel(1),
            paused_until_ms: 0,
            random,
        };
        world.clamped = world.random.chance(500);
        world.start();
        world
    }

    fn start(&mut self) {
        for place in 0..self.places.len() {
            self.isolate_born(place);
            self.later(self.setup.demand.gap_ms, Event::Asked { place });
            self.later(200, Event::IsolateTimer { place });
        }
        for region in 0..self.regions.len() {
            self.later(200, Event::RegionTimer { region });
        }
        if self.setup.faults.any() {
            self.later(self.setup.window_ms, Event::Fault);
        }
        if self.setup.keyed {
            self.later(self.setup.window_ms, Event::Swept);
        }
        let healed_ms = START_MS + self.setup.windows * self.setup.window_ms;
        self.queue.push(healed_ms, Event::Healed);
    }

    /// Queues an event within the next `within_ms`.
    fn later(&mut self, within_ms: u64, event: Event) {
        let at_ms = self.now_ms + self.random.between(1, within_ms.max(1));
        self.queue.push(at_ms, event);
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Asked { place } => self.demand(place),
            Event::RequestExpired { isolate, request } => self.request_expired(isolate, request),
            Event::AtRegion { region, from, body } => self.at_region(region, from, body),
            Event::AtIsolate {
                isolate,
                sequence,
                answer,
            } => self.at_isolate(isolate, sequence, answer),
            Event::IsolateCallExpired { isolate, sequence } => {
                self.isolate_call_expired(isolate, sequence);
            }
            Event::AtCoordinator { from, body } => self.at_coordinator(from, body),
            Event::FromCoordinator {
                life,
                sequence,
                answer,
            } => self.answered_above(life, sequence, answer),
            Event::RegionCallExpired { life, sequence } => self.region_call_expired(life, sequence),
            Event::IsolateTimer { place } => {
                self.isolate_timer(place);
                self.later(200, Event::IsolateTimer { place });
            }
            Event::RegionTimer { region } => {
                self.region_timer(region);
                self.later(200, Event::RegionTimer { region });
            }
            Event::DeniedElsewhere { isolate, admission } => {
                self.denied_elsewhere(isolate, admission);
            }
            Event::Settled { region, back } => self.settled(region, back),
            Event::Swept => self.sweep(),
            Event::Fault => self.fault(),
            Event::PolicyHeard { region } => self.regions[region].revision = self.policy.len() - 1,
            Event::Healed => self.heal(),
        }
    }

    /// A request of one isolate, and when the next comes.
    fn demand(&mut self, place: usize) {
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
        let cost = if oversize {
            self.policy[self.policy.len() - 1].limit + demand.unit
        } else if self.random.chance(20) {
            0
        } else {
            demand.unit * self.random.between(1, demand.multiple_max)
        };
        self.asked(place, cost);
    }

    /// Unit costs at three times the limit.
    fn demand_healed(&mut self, place: usize) {
        let terms = self.policy[self.policy.len() - 1].clone();
        let unit = self.setup.demand.unit;
        let asks_per_window = 3 * (terms.limit / unit);
        let gap_ms = terms.window_ms * self.places.len() as u64 / asks_per_window.max(1);
        self.later((2 * gap_ms).min(terms.window_ms), Event::Asked { place });
        self.asked(place, unit);
    }

    /// Drops what is idle.
    fn sweep(&mut self) {
        for place in 0..self.places.len() {
            self.holder_swept(place);
        }
        for region in 0..self.regions.len() {
            self.escrow_swept(region);
        }
        self.pool_swept();
        self.later(self.setup.window_ms / 2, Event::Swept);
    }

    fn heal(&mut self) {
        self.healed = true;
        self.superseded_die();
        for region in &mut self.regions {
            region.revision = self.policy.len() - 1;
        }
    }

    /// The invariants over all parts, after every event.
    fn check(&mut self) {
        let mut balances = Vec::with_capacity(self.isolates.len());
        for isolate in self.isolates.iter().filter(|isolate| isolate.alive) {
            if let Some(lease) = isolate.holder.lease() {
                balances.push((isolate.region, lease.label.0, lease.balance()));
            }
        }
        self.truth.check_spendable(&balances);
    }

    /// The invariants over a whole run.
    fn check_end(&mut self) {
        if self.ends_kept() && !self.setup.faults.edits {
            let (window_ms, limit) = (self.setup.window_ms, self.setup.limit);
            match self.setup.parts() {
                0 => self.truth.check_intervals(window_ms, limit),
                parts => self.truth.check_rolling(window_ms, parts, limit),
            }
        }
        if self.setup.windows_healed > 0 {
            self.check_recovered();
        }
        let mut held = std::collections::BTreeMap::new();
        for isolate in self.isolates.iter().filter(|isolate| isolate.alive) {
            if let Some(lease) = isolate.holder.lease() {
                *held.entry(lease.label.0).or_insert(0) += lease.balance();
            }
        }
        let windows: Vec<_> = self.truth.windows.clone().into_iter().collect();
        for (label, window) in windows {
            let held = held.get(&label).copied().unwrap_or(0);
            let used = window.admitted + window.refundable;
            let accounted = used + window.returned + held + window.stranded;
            self.truth
                .require(window.granted == accounted, || Violation::NotConserved {
                    label,
                    granted: window.granted,
                    accounted,
                });
        }
    }

    /// The last whole window after the last fault was used up.
    fn check_recovered(&mut self) {
        let healed_ms = self.setup.windows_healed * self.setup.window_ms;
        let ends_ms = START_MS + self.setup.windows * self.setup.window_ms + healed_ms;
        // What is given back late is not used by others: of a few units that may be all.
        let terms = self.policy[self.policy.len() - 1].clone();
        if self.setup.keyed && terms.limit < 4 * self.setup.demand.unit {
            return;
        }
        if self.setup.parts() > 0 {
            return self.check_recovered_rolling(&terms, ends_ms, healed_ms);
        }
        let windows = self.truth.windows.iter();
        let whole = windows.filter(|(_, window)| {
            // A pool that was dropped opens again within a window.
            window.ends_at_ms <= ends_ms && window.ends_at_ms - window.begins_at_ms >= 900
        });
        if let Some((&label, window)) = whole.max_by_key(|(_, window)| window.ends_at_ms) {
            let (admitted, least) = (window.admitted + window.refundable, window.limit / 2);
            self.truth
                .require(admitted >= least, || Violation::Underused {
                    label,
                    admitted,
                    least,
                });
        }
    }

    /// In the last two lengths of a rolling window a quarter of it was used.
    fn check_recovered_rolling(&mut self, terms: &Terms, ends_ms: u64, healed_ms: u64) {
        let part_ms = terms.window_ms / parts(terms.cycle.as_ref()).max(1);
        let short = 4 * terms.window_ms > healed_ms || part_ms < 500;
        let few = terms.limit < 10 * self.setup.demand.unit;
        // A clock that is clamped stands still after a step back, and its window stays open.
        if short || few || self.setup.faults.steps {
            return;
        }
        let from_ms = ends_ms - 2 * terms.window_ms;
        let admitted = self.truth.admitted_between(from_ms, ends_ms);
        let least = terms.limit / 2;
        self.truth
            .require(admitted >= least, || Violation::Underused {
                label: 0,
                admitted,
                least,
            });
    }

    fn is_broken(&self, rule: Broken) -> bool {
        self.setup.broken == Some(rule) && !self.healed
    }

    /// Whether a window's end means the same instant everywhere.
    fn ends_kept(&self) -> bool {
        !self.setup.faults.steps
    }

    fn terms_at(&self, region: usize) -> Terms {
        self.policy[self.regions[region].revision].clone()
    }

    fn pool_name(&self) -> String {
        let name = if self.setup.keyed {
            "hourly\u{1}acme"
        } else {
            "tokens"
        };
        name.to_owned()
    }

    fn coordinator_offset_ms(&self) -> u64 {
        self.coordinator.offset_ms.max(0) as u64
    }

    fn isolate_now(&mut self, life: usize) -> EpochMs {
        self.isolates[life].clock.read(self.now_ms)
    }

    fn region_now(&mut self, life: usize) -> EpochMs {
        self.lives[life].clock.read(self.now_ms)
    }

    fn coordinator_now(&mut self, life: usize) -> EpochMs {
        self.coordinator_lives[life].clock.read(self.now_ms)
    }
}
