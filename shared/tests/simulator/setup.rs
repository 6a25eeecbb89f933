//! What a run is made of: the parts, the policy, the demand and the faults.

use super::broken::Broken;
use super::random::Random;

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) regions: usize,
    pub(crate) isolates_per_region: usize,
    pub(crate) limit: u64,
    pub(crate) window_ms: u64,
    /// Windows with faults.
    pub(crate) windows: u64,
    /// Windows after the last fault, in which everything is to recover. Demand is then above the limit.
    pub(crate) windows_healed: u64,
    pub(crate) demand: Demand,
    pub(crate) faults: Faults,
    pub(crate) broken: Option<Broken>,
    /// Whether every event is printed.
    pub(crate) traced: bool,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    /// Costs are multiples of this.
    pub(crate) unit: u64,
    /// The largest multiple.
    pub(crate) multiple_max: u64,
    /// Mean time between two requests of one isolate.
    pub(crate) gap_ms: u64,
    /// Requests in a thousand that cost more than the limit.
    pub(crate) oversize: u64,
    /// Whether demand pauses for several windows.
    pub(crate) pauses: bool,
}

/// What goes wrong. Numbers are times in a thousand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// A message or reply is lost.
    pub(crate) lost: u64,
    /// It arrives twice.
    pub(crate) repeated: u64,
    /// It is late by up to two windows, and overtaken.
    pub(crate) late: u64,
    /// A part halts between a change in memory and its write, or between the write and what it would send.
    pub(crate) halts: u64,
    /// Isolates die; others take their place.
    pub(crate) isolates_die: bool,
    /// Regions and the coordinator die and wake.
    pub(crate) objects_die: bool,
    /// Objects are replaced while the old instance lives on.
    pub(crate) superseded: bool,
    /// Stored rows become unreadable.
    pub(crate) damage: bool,
    /// Clocks differ.
    pub(crate) offsets: bool,
    /// Clocks step back and jump ahead.
    pub(crate) steps: bool,
    /// The policy changes.
    pub(crate) edits: bool,
}

impl Faults {
    pub(crate) fn any(&self) -> bool {
        let numbers = self.lost + self.repeated + self.late + self.halts;
        let kinds = [
            self.isolates_die,
            self.objects_die,
            self.superseded,
            self.damage,
            self.steps,
            self.edits,
        ];
        numbers > 0 || kinds.contains(&true)
    }
}

impl Setup {
    /// A run drawn from `seed`. Each kind of fault is in about half of the runs, so that every mix is met.
    pub(crate) fn drawn(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5e70_u64.rotate_left(32));
        let mut rate = |most: u64| {
            if random.chance(500) {
                random.between(1, most)
            } else {
                0
            }
        };
        let faults = Faults {
            lost: rate(200),
            repeated: rate(300),
            late: rate(150),
            halts: rate(30),
            ..Faults::default()
        };
        let faults = Faults {
            isolates_die: random.chance(500),
            objects_die: random.chance(500),
            superseded: random.chance(400),
            damage: random.chance(250),
            offsets: random.chance(500),
            steps: random.chance(250),
            edits: random.chance(300),
            ..faults
        };
        let unit = random.one_of(&[1, 1, 1, 7, 1_000, 100_000_000_000_000]);
        let requests_per_window = random.between(8, 60);
        let window_ms = random.one_of(&[1_000, 1_500, 2_000, 5_000]);
        let (regions, isolates_per_region) =
            (random.between(1, 3) as usize, random.between(1, 3) as usize);
        let isolates = (regions * isolates_per_region) as u64;
        Self {
            seed,
            regions,
            isolates_per_region,
            limit: unit * random.between(1, requests_per_window),
            window_ms,
            windows: random.between(4, 7),
            windows_healed: if random.chance(250) { 8 } else { 0 },
            demand: Demand {
                unit,
                multiple_max: random.one_of(&[1, 1, 3, 10]),
                gap_ms: (window_ms * isolates / requests_per_window).max(1),
                oversize: random.one_of(&[0, 0, 20]),
                pauses: random.chance(250),
            },
            faults,
            broken: None,
            traced: false,
        }
    }

    /// A run without faults and with steady demand of unit cost, `permille` of the limit.
    pub(crate) fn steady(seed: u64, limit: u64, permille: u64) -> Self {
        let mut random = Random::new(seed);
        let (regions, isolates_per_region) =
            (random.between(1, 3) as usize, random.between(1, 3) as usize);
        let isolates = (regions * isolates_per_region) as u64;
        let window_ms = random.one_of(&[5_000, 10_000]);
        Self {
            seed,
            regions,
            isolates_per_region,
            limit,
            window_ms,
            windows: 5,
            windows_healed: 0,
            demand: Demand {
                unit: 1,
                multiple_max: 1,
                gap_ms: (window_ms * isolates * 1_000 / (limit * permille)).max(1),
                oversize: 0,
                pauses: false,
            },
            faults: Faults {
                offsets: random.chance(500),
                ..Faults::default()
            },
            broken: None,
            traced: false,
        }
    }

    pub(crate) fn broken(mut self, rule: Broken) -> Self {
        self.broken = Some(rule);
        self
    }
}
