//! A seeded simulator of a deployment: the shipped nodes, with everything between them that can go wrong.
//!
//! | file | what it is |
//! | --- | --- |
//! | `setup` | what a run is made of |
//! | `network`, `clock` | events in true time, clocks that differ |
//! | `tenants` | who shares the pool, and with what claim |
//! | `isolate`, `region`, `coordinator` | who carries out what nodes say: letters, rows, lives |
//! | `books` | what an isolate should hold |
//! | `demand`, `faults`, `edits` | who asks for what, what goes wrong, and what operators edit |
//! | `measured`, `shapes` | runs without faults, what they come to, and what they use |
//! | `truth`, `rows`, `checks` | what really happened, and the invariants |
//! | `broken` | rules broken on purpose |

#![allow(dead_code, reason = "each test file uses its part of the simulator")]

mod books;
pub(crate) mod broken;
mod checks;
mod clock;
mod coordinator;
mod demand;
mod edits;
pub(crate) mod faults;
mod isolate;
pub(crate) mod measured;
mod network;
mod region;
mod rows;
pub(crate) mod setup;
pub(crate) mod shapes;
pub(crate) mod tenants;
pub(crate) mod truth;

use std::rc::Rc;

use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, Revision, WindowLabel};
use weir_shared::wire::exchange::{SharingBody, Terms};

use crate::random::Random;
use broken::Broken;
use coordinator::{Coordinator, CoordinatorLife};
use edits::Said;
use faults::Cut;
use isolate::Isolate;
use network::{Event, Queue};
use region::{Region, RegionLife};
use setup::Setup;
use tenants::{floors, sharing, zipf};
use truth::Truth;

/// True time at the start: far enough from zero that no clock is before the epoch.
pub(crate) const START_MS: u64 = 1_000_000_000;

/// Between two looks of a part at what it has to tell, at most.
const TIMER_MS: u64 = 400;

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
    /// Those that have moved and still have to tell something.
    retiring: Vec<usize>,
    regions: Vec<Region>,
    lives: Vec<RegionLife>,
    coordinator: Coordinator,
    coordinator_lives: Vec<CoordinatorLife>,
    /// The label last written by the coordinator.
    last_label: WindowLabel,
    paused_until_ms: u64,
    cuts: Vec<Cut>,
    /// What was checked last.
    checked: Vec<(u64, usize, u64)>,
    checked_at: u64,
    /// What each region was told to have of windows to come, for the rule that tells it to every life.
    told_ahead: OrderedMap<(usize, u64), u64>,
    /// What each revision of the policy says beside its terms.
    said: Vec<Said>,
    /// All tenants as one.
    /// When each steady asker asks next, in microseconds.
    askers_us: Vec<u64>,
    /// Zipf's law over the tenants: how often each of them and those before it ask.
    crowd: Vec<u64>,
}

/// Runs one setup to its end, or to the first broken invariant.
pub(crate) fn run(setup: &Setup) -> Report {
    let mut world = World::new(setup);
    let healed_ms = START_MS + setup.windows * setup.window_ms;
    let ends_ms = match setup.ends_after_ms {
        0 => healed_ms + setup.windows_healed * setup.window_ms,
        after_ms => START_MS + after_ms,
    };
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
        if !setup.unchecked {
            world.check();
        }
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
            sharing: setup.rule.map(|rule| SharingBody {
                floors: floors(&setup.tenants),
                ..sharing(rule, setup.tenants.len())
            }),
            lease: setup.lease,
            standing: setup.standing,
        };
        let tenants = setup
            .tenants
            .iter()
            .map(|tenant| Rc::new(tenant.claimant.clone()));
        let mut world = Self {
            setup: setup.clone(),
            now_ms: START_MS,
            queue: Queue::default(),
            truth: Truth::new(
                setup.parts_min(),
                !setup.faults.steps,
                setup.early_ms(),
                setup.above(),
            ),
            clamped: false,
            healed: false,
            policy: vec![terms],
            places: vec![0; places],
            place_offsets: (0..places).map(|_| offset(offsets)).collect(),
            isolates: Vec::new(),
            retiring: Vec::new(),
            regions: setup
                .above()
                .into_iter()
                .map(|above| Region::new(offset(offsets), above))
                .collect(),
            lives: Vec::new(),
            coordinator: Coordinator::new(offset(offsets)),
            coordinator_lives: Vec::new(),
            last_label: WindowLabel(1),
            paused_until_ms: 0,
            cuts: setup.cuts.clone(),
            checked: Vec::new(),
            checked_at: 0,
            told_ahead: OrderedMap::new(),
            said: vec![Said {
                served: vec![true; setup.regions],
                claimants: tenants.collect(),
            }],
            askers_us: Vec::new(),
            crowd: zipf(setup.tenants.len()),
            random,
        };
        world.clamped = world.random.chance(500);
        world.start();
        world
    }

    fn start(&mut self) {
        for place in 0..self.places.len() {
            self.isolate_born(place);
            if self.setup.askers.is_empty() {
                self.later(self.setup.demand.gap_ms, Event::Asked { place });
            }
            self.later(TIMER_MS, Event::IsolateTimer { place });
        }
        for region in 0..self.regions.len() {
            self.later(TIMER_MS, Event::RegionTimer { region });
        }
        self.start_askers();
        if self.setup.deaths_ms > 0 {
            self.later(self.setup.deaths_ms, Event::Death { place: 0 });
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
            Event::Asker { index } => self.asker_asks(index),
            Event::RequestLeft { isolate, request } => self.request_left(isolate, request),
            Event::IsolateWoke { life } => self.isolate_woke(life),
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
            Event::FromAbove {
                life,
                sequence,
                answer,
            } => self.answered_above(life, sequence, answer),
            Event::RegionCallExpired { life, sequence } => self.region_call_expired(life, sequence),
            Event::RegionWoke { life } => self.region_woke(life),
            Event::IsolateTimer { place } => {
                self.isolate_timer(place);
                self.later(TIMER_MS, Event::IsolateTimer { place });
            }
            Event::RegionTimer { region } => {
                self.region_timer(region);
                self.later(TIMER_MS, Event::RegionTimer { region });
            }
            Event::DeniedElsewhere { isolate, admission } => {
                self.denied_elsewhere(isolate, admission);
            }
            Event::Settled { region, back } => self.settled(region, back),
            Event::Swept => self.sweep(),
            Event::Death { place } => self.death(place),
            Event::Fault => self.fault(),
            Event::PolicyHeard { region } => self.policy_heard(region),
            Event::Healed => self.heal(),
        }
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
        if self.setup.rests {
            self.objects_rest();
        }
        self.later(self.setup.window_ms / 2, Event::Swept);
    }

    /// Objects to which nothing happens write exactly what they have lent.
    fn objects_rest(&mut self) {
        for region in 0..self.regions.len() {
            if self.random.chance(500) {
                self.region_rests(region);
            }
        }
        if self.random.chance(500) {
            self.coordinator_rests();
        }
    }

    fn death(&mut self, place: usize) {
        self.isolate_dies(place);
        let place = (place + 1) % self.places.len();
        let at_ms = self.now_ms + self.setup.deaths_ms;
        self.queue.push(at_ms, Event::Death { place });
    }

    fn heal(&mut self) {
        self.healed = true;
        for cut in &mut self.cuts {
            cut.until_ms = cut.until_ms.min(self.now_ms);
        }
        self.superseded_die();
        self.policy_settles();
    }

    fn is_broken(&self, rule: Broken) -> bool {
        self.setup.broken == Some(rule) && !self.healed
    }

    /// Whether a window's end means the same instant everywhere.
    fn ends_kept(&self) -> bool {
        !self.setup.faults.steps
    }

    fn terms_at(&self, region: usize) -> &Terms {
        &self.policy[self.regions[region].revision]
    }

    /// The region that a part belongs to.
    fn region_of(&self, mut part: usize) -> usize {
        while let Some(above) = self.regions[part].above {
            part = above;
        }
        part
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
