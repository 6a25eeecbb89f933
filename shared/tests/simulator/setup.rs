//! What a run is made of: the parts, the policy, the demand and the faults.

use weir_shared::federation::branch;
use weir_shared::limits::{BRANCH_CHILDREN_MAX, EARLY_MS_MAX, STANDING_WINDOWS};
use weir_shared::wire::exchange::{Cycle, LeaseBody, PeriodBody, RuleBody};
use weir_shared::wire::policy::Cadence;

use super::broken::Broken;
use super::faults::Cut;
use super::tenants::{self, Tenant};
use crate::random::Random;

/// Rolling windows: their length, and how many parts they have.
pub(crate) const ROLLING: [(u64, u64); 8] = [
    (1_000, 1),
    (1_000, 2),
    (1_000, 5),
    (1_000, 10),
    (2_000, 4),
    (3_000, 3),
    (5_000, 10),
    (6_000, 1),
];

/// The longest window that an edit brings.
pub(crate) const WINDOW_MS_EDITED_MAX: u64 = 2_500;

/// Parts of a rolling window; none where windows do not roll.
pub(crate) fn parts(cycle: Option<&Cycle>) -> u64 {
    match cycle {
        Some(Cycle::Sliding { buckets }) => *buckets,
        _ => 0,
    }
}

/// Periods of a given length, from a drawn anchor on.
pub(crate) fn period(random: &mut Random, period_ms: u64) -> Cycle {
    Cycle::Calendar(PeriodBody {
        cadence: Cadence::Fixed,
        period_ms: Some(period_ms),
        anchor: Some(random.below(20_000) as i64 - 10_000),
        offset_minutes: None,
        time_zone: None,
        week_starts_on: None,
    })
}

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) regions: usize,
    pub(crate) isolates_per_region: usize,
    /// Branches of each region.
    pub(crate) branches: u32,
    pub(crate) limit: u64,
    pub(crate) window_ms: u64,
    /// How windows follow each other.
    pub(crate) cycle: Option<Cycle>,
    /// Requests in a thousand whose units are given back unused.
    pub(crate) gives_back: u64,
    /// Whether the pool is one of many that come and go: what is idle is dropped and made again.
    pub(crate) keyed: bool,
    /// Windows with faults.
    pub(crate) windows: u64,
    /// Windows after the last fault, in which everything is to recover. Demand is then above the limit.
    pub(crate) windows_healed: u64,
    pub(crate) demand: Demand,
    /// Who shares the pool; none where it goes to whoever comes first.
    pub(crate) tenants: Vec<Tenant>,
    /// By what rule, to begin with.
    pub(crate) rule: Option<RuleBody>,
    /// For how many windows to come regions hold slices.
    pub(crate) standing: u64,
    /// Bounds of what is lent ahead of demand, to begin with.
    pub(crate) lease: Option<LeaseBody>,
    /// Whether nothing is lent ahead, as a control.
    pub(crate) without_ahead: bool,
    /// Demand in place of `demand`, where there is any.
    pub(crate) askers: Vec<Asker>,
    /// How long it lasts, where that is not said in windows.
    pub(crate) ends_after_ms: u64,
    /// Between the deaths of two isolates, one after the other; 0 where none dies so.
    pub(crate) deaths_ms: u64,
    /// Times at which regions do not hear the coordinator.
    pub(crate) cuts: Vec<Cut>,
    pub(crate) faults: Faults,
    pub(crate) broken: Option<Broken>,
    /// Whether objects at times write exactly what they have lent, as they do before they fall asleep.
    pub(crate) rests: bool,
    /// Whether every event is printed.
    pub(crate) traced: bool,
    /// Whether what isolates hold together is not added up after every event: for long runs of which only the figures
    /// matter.
    pub(crate) unchecked: bool,
}

/// Somebody who asks at a steady pace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker {
    pub(crate) place: usize,
    pub(crate) tenant: Option<usize>,
    pub(crate) cost: u64,
    /// Microseconds between two requests, give or take a half.
    pub(crate) gap_us: u64,
    /// From when to when, since the start.
    pub(crate) from_ms: u64,
    pub(crate) until_ms: u64,
    /// For how long it is quiet at the beginning of each window, or of each `every_ms`.
    pub(crate) late_ms: u64,
    pub(crate) every_ms: u64,
    /// Whether each request is of another tenant, by Zipf's law.
    pub(crate) crowd: bool,
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
    /// It changes again and again.
    pub(crate) edits_often: bool,
    /// Regions do not hear the coordinator for some windows.
    pub(crate) cuts: bool,
    /// Some isolates tell what is not so.
    pub(crate) lies: bool,
    /// Branches come and go: isolates ask now one of their region's objects and then another.
    pub(crate) branches_change: bool,
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
            self.cuts,
            self.lies,
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
            branches: 0,
            limit: unit * random.between(1, requests_per_window),
            window_ms,
            cycle: None,
            gives_back: 0,
            keyed: false,
            windows: random.between(4, 7),
            windows_healed: if random.chance(250) { 8 } else { 0 },
            demand: Demand {
                unit,
                multiple_max: random.one_of(&[1, 1, 3, 10]),
                gap_ms: (window_ms * isolates / requests_per_window).max(1),
                oversize: random.one_of(&[0, 0, 20]),
                pauses: random.chance(250),
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
            faults,
            broken: None,
            rests: false,
            traced: false,
            unchecked: false,
        }
    }

    /// A run without faults and with steady demand of unit cost, `permille` of the limit.
    pub(crate) fn steady(seed: u64, limit: u64, permille: u64) -> Self {
        let mut random = Random::new(seed);
        let (regions, isolates_per_region) =
            (random.between(1, 3) as usize, random.between(1, 3) as usize);
        let isolates = (regions * isolates_per_region) as u64;
        let window_ms = random.one_of(&[5_000, 10_000]);
        let size = (regions, isolates_per_region);
        let mut steady = Self::measured(seed, size, (limit, window_ms), 5);
        steady.demand.gap_ms = (window_ms * isolates * 1_000 / (limit * permille)).max(1);
        steady.faults.offsets = random.chance(500);
        steady
    }

    /// The same with a rolling window in `parts`, over six of its lengths.
    pub(crate) fn steady_rolling(
        seed: u64,
        limit: u64,
        permille: u64,
        (window_ms, parts): (u64, u64),
    ) -> Self {
        let mut setup = Self::steady(seed, limit, permille);
        setup.demand.gap_ms = (setup.demand.gap_ms * window_ms / setup.window_ms).max(1);
        setup.window_ms = window_ms;
        setup.windows = 6;
        setup.cycle = Some(Cycle::Sliding { buckets: parts });
        setup.keyed = true;
        setup
    }

    /// A run drawn from `seed`, of one key of a limit: its parts come and go, and units are given back.
    fn keyed(seed: u64) -> (Self, Random) {
        let mut random = Random::new(seed ^ 0x6b65_u64.rotate_left(32));
        let mut setup = Self::drawn(seed);
        setup.keyed = true;
        setup.gives_back = random.one_of(&[0, 50, 200]);
        setup.demand.pauses = random.chance(600);
        (setup, random)
    }

    /// One key of a limit with a rolling window.
    pub(crate) fn rolling(seed: u64) -> Self {
        let (mut setup, mut random) = Self::keyed(seed);
        let (window_ms, buckets) = random.one_of(&ROLLING);
        setup.window_ms = window_ms;
        setup.cycle = Some(Cycle::Sliding { buckets });
        setup
    }

    /// One key of a limit with fixed windows, or of a quota with periods that start at an anchor.
    pub(crate) fn windows(seed: u64) -> Self {
        let (mut setup, mut random) = Self::keyed(seed);
        if random.chance(500) {
            setup.cycle = Some(period(&mut random, setup.window_ms));
        }
        setup
    }

    /// A pool that tenants share: by any rule, with liars among the isolates, at times with slices of windows to come.
    pub(crate) fn shared(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x7368_u64.rotate_left(32));
        let mut setup = Self::drawn(seed);
        let unit = setup.demand.unit;
        // Units are drawn so large that a limit of more of them would pass what JSON keeps exactly.
        let most = if unit > 1_000 { 1 } else { 20 };
        setup.limit *= random.one_of(&[1, most.min(4), most]);
        setup.tenants = tenants::drawn(&mut random, unit, setup.limit);
        let rules = [
            RuleBody::Pinned,
            RuleBody::Paced,
            RuleBody::Pooled,
            RuleBody::None,
        ];
        let others = [RuleBody::Fair, RuleBody::Weighted];
        setup.rule = match random.below(10) {
            0 => None,
            1 => Some(random.one_of(&others)),
            _ => Some(random.one_of(&rules)),
        };
        setup.demand.multiple_max = random.one_of(&[1, 4, 40]);
        setup.gives_back = random.one_of(&[0, 0, 100]);
        setup.faults.lies = random.chance(400);
        setup.faults.cuts = random.chance(300);
        setup.faults.edits = random.chance(400);
        if random.chance(300) {
            setup.standing = STANDING_WINDOWS;
        }
        setup
    }

    /// One region whose instances live on beside their successors, and much of what is admitted is given back.
    pub(crate) fn refunds(seed: u64) -> Self {
        let mut setup = Self::windows(seed);
        setup.regions = 1;
        setup.window_ms = 5_000;
        setup.cycle = None;
        setup.gives_back = 400;
        setup.demand.pauses = false;
        setup.faults = Faults {
            superseded: true,
            ..Faults::default()
        };
        setup
    }

    /// A pool of which regions hold slices of windows to come, and do not always hear the coordinator.
    pub(crate) fn standing(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x7374_u64.rotate_left(32));
        let mut setup = Self::drawn(seed);
        setup.standing = STANDING_WINDOWS;
        setup.faults.cuts = random.chance(700);
        setup.limit *= random.one_of(&[1, 4]);
        setup.windows += 3;
        setup
    }

    /// A pool of any kind, of which everything that operators can edit is edited again and again, with any faults.
    pub(crate) fn edited(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6564_u64.rotate_left(32));
        let mut setup = match random.below(4) {
            0 => Self::shared(seed),
            1 => Self::standing(seed),
            2 => Self::rolling(seed),
            _ => Self::windows(seed),
        };
        setup.faults.edits = true;
        setup.faults.edits_often = true;
        setup.windows = random.between(8, 14);
        setup
    }

    /// A pool of any kind, of which the objects write exactly what they have lent whenever nothing happens, and die.
    pub(crate) fn resting(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x7265_u64.rotate_left(32));
        let mut setup = match random.below(4) {
            0 => Self::drawn(seed),
            1 => Self::shared(seed),
            2 => Self::standing(seed),
            _ => Self::windows(seed),
        };
        setup.rests = true;
        setup.faults.objects_die = true;
        setup
    }

    /// A pool of any kind in regions with branches, up to three objects deep, which come and go, with any faults and edits.
    pub(crate) fn branched(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x6272_u64.rotate_left(32));
        let mut setup = match random.below(6) {
            0 => Self::drawn(seed),
            1 | 2 => Self::shared(seed),
            3 => Self::standing(seed),
            4 => Self::windows(seed),
            _ => Self::edited(seed),
        };
        // Branch 33 is below branch 1. Reservations are settled at the region's own object, which the books of this simulator
        // do not follow down to a branch.
        setup.branches = random.one_of(&[1, 2, 3, 33]);
        setup.regions = if setup.branches > 3 { 1 } else { setup.regions };
        setup.gives_back = 0;
        setup.faults.branches_change = random.chance(800);
        setup
    }

    /// What each part asks: a region the coordinator, a branch its region or another branch. Regions come first.
    pub(crate) fn above(&self) -> Vec<Option<usize>> {
        let mut above = vec![None; self.regions];
        for region in 0..self.regions {
            let parts = self.parts_of(region);
            let branches = (1..=self.branches).map(|branch| {
                let number = branch::above(branch) as usize;
                Some(parts[number])
            });
            above.extend(branches);
        }
        above
    }

    /// A region and its branches, by their numbers.
    pub(crate) fn parts_of(&self, region: usize) -> Vec<usize> {
        let branches = self.branches as usize;
        let first = self.regions + region * branches;
        std::iter::once(region)
            .chain(first..first + branches)
            .collect()
    }

    /// Slices of long windows, of a limit that operators edit, without a fault.
    pub(crate) fn sliced(seed: u64) -> Self {
        let mut setup = Self::standing(seed);
        setup.window_ms = 5_000;
        setup.windows_healed = 8;
        setup.faults = Faults {
            edits: true,
            ..Faults::default()
        };
        setup
    }

    /// How long before a window opens at the coordinator it may open at an isolate: at each depth by a round trip, as far
    /// as that is bounded.
    pub(crate) fn early_ms(&self) -> u64 {
        let edited_ms = if self.faults.edits {
            WINDOW_MS_EDITED_MAX
        } else {
            0
        };
        let depth = match self.branches {
            0 => 2,
            1..=BRANCH_CHILDREN_MAX => 3,
            _ => 4,
        };
        depth * EARLY_MS_MAX.min(self.window_ms.max(edited_ms) / 16)
    }

    /// The fewest parts that the rolling window can come to have.
    pub(crate) fn parts_min(&self) -> u64 {
        let all = ROLLING.map(|(_, parts)| parts);
        match self.parts() {
            parts if self.faults.edits => parts.min(all.into_iter().min().unwrap_or(0)),
            parts => parts,
        }
    }

    /// Parts of the rolling window; none where windows do not roll.
    pub(crate) fn parts(&self) -> u64 {
        parts(self.cycle.as_ref())
    }

    pub(crate) fn broken(mut self, rule: Broken) -> Self {
        self.broken = Some(rule);
        self
    }
}
