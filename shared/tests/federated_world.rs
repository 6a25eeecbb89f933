//! Worlds of tenants in regions, and the ways in which a window is divided among them.

use weir_reference::federated_escrow::FederatedEscrow;
use weir_reference::leasing::{Coordinator, Windows};
use weir_reference::region_pool::RegionPool;
use weir_shared::fairness::ask::{Ask, Claimant, Moment, TenantClaim};
use weir_shared::fairness::share::{Rule, Share, ShareTerms};
use weir_shared::fairness::weight::Weight;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `least` to `most`.
    pub fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.within(0, index as u64) as usize);
        }
    }
}

/// Tenants with weights, and what each asks for in each region over the window.
#[derive(Debug, Clone)]
pub struct World {
    pub limit: u64,
    pub regions: usize,
    pub weights: Vec<Weight>,
    /// By tenant, then region.
    pub demands: Vec<Vec<u64>>,
    /// What each request costs, by tenant.
    pub costs: Vec<u64>,
}

pub const WINDOW_MS: u64 = 8_000;

impl World {
    /// One with up to five tenants in up to three regions, each in at least one, asking for three times the limit at
    /// most; costs up to `cost_max`.
    pub fn random(random: &mut Random, cost_max: u64) -> Self {
        let limit = random.within(50, 400) * cost_max;
        let regions = random.within(1, 3) as usize;
        let tenants = random.within(2, 5) as usize;
        let weights = (0..tenants)
            .map(|_| {
                let choice = [0.5, 1.0, 1.0, 2.0, 3.0, 4.0][random.within(0, 5) as usize];
                Weight::try_from(choice).unwrap()
            })
            .collect();
        let costs: Vec<u64> = (0..tenants).map(|_| random.within(1, cost_max)).collect();
        let most = 3 * limit / tenants as u64;
        let demands = costs
            .iter()
            .map(|cost| {
                let home = random.within(0, regions as u64 - 1) as usize;
                let mut demand = |region: usize| {
                    let is_there = region == home || random.within(0, 2) == 0;
                    let units = if is_there { random.within(1, most) } else { 0 };
                    units / cost * cost
                };
                (0..regions).map(&mut demand).collect()
            })
            .collect();
        Self {
            limit,
            regions,
            weights,
            demands,
            costs,
        }
    }

    pub fn totals(&self) -> Vec<u64> {
        self.demands.iter().map(|each| each.iter().sum()).collect()
    }

    /// Regions in which a tenant asks.
    pub fn span(&self, tenant: usize) -> u64 {
        let asked = self.demands[tenant].iter();
        asked.filter(|units| **units > 0).count() as u64
    }

    /// The weighted max-min of the whole demand, as if units could be divided.
    pub fn ideal(&self) -> Vec<f64> {
        let weights: Vec<f64> = self.weights.iter().map(|weight| weight.as_f64()).collect();
        water_fill(&self.totals(), &weights, self.limit as f64)
    }

    /// Who asks where.
    pub fn askers(&self) -> Vec<(usize, usize)> {
        (0..self.weights.len())
            .flat_map(|tenant| (0..self.regions).map(move |region| (tenant, region)))
            .filter(|(tenant, region)| self.demands[*tenant][*region] > 0)
            .collect()
    }
}

/// Weighted max-min by progressive filling (Bertsekas, Gallager, Data Networks, 6.5.2).
pub fn water_fill(demands: &[u64], weights: &[f64], limit: f64) -> Vec<f64> {
    let mut given = vec![0.0; demands.len()];
    let mut open: Vec<usize> = (0..demands.len()).collect();
    let mut left = limit;
    while !open.is_empty() {
        let level = left / open.iter().map(|tenant| weights[*tenant]).sum::<f64>();
        let met = |tenant: &usize| demands[*tenant] as f64 <= weights[*tenant] * level;
        let (full, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|tenant| met(tenant));
        if full.is_empty() {
            for tenant in rest {
                given[tenant] = weights[tenant] * level;
            }
            break;
        }
        for tenant in full {
            given[tenant] = demands[tenant] as f64;
            left -= demands[tenant] as f64;
        }
        open = rest;
    }
    given
}

/// A way to divide a window among tenants in regions.
pub trait Divider {
    /// Asks for one request of `cost` that costs as much, of a tenant in a region that has `waiting` units of such.
    /// Answers the units that it may spend: whole requests.
    fn ask(&mut self, at: (usize, usize), cost: u64, waiting: u64, elapsed_ms: u64) -> u64;

    /// Units of requests of a tenant in a region were denied.
    fn denied(&mut self, at: (usize, usize), units: u64);

    /// A window begins.
    fn roll(&mut self, window: u64);
}

/// One account a tenant, for all regions.
pub struct Flat {
    pub share: Share,
    limit: u64,
    parties: Vec<(Claimant, u64)>,
    quantum: u64,
    denied: OrderedMap<(usize, usize), u64>,
}

impl Flat {
    /// Holders ask for up to `quantum` requests at a time.
    pub fn new(world: &World, rule: Rule, quantum: u64) -> Self {
        let terms = ShareTerms {
            rule,
            tenants_max: 100,
            unknown_weight_max: Weight::WHOLE,
            carried: true,
            floors: 0,
        };
        let parties = world.weights.iter().enumerate().map(|(tenant, weight)| {
            let party = Claimant {
                name: format!("t{tenant}"),
                claim: TenantClaim {
                    weight: *weight,
                    ..TenantClaim::default()
                },
            };
            (party, world.span(tenant))
        });
        Self {
            share: Share::new(terms),
            limit: world.limit,
            parties: parties.collect(),
            quantum,
            denied: OrderedMap::new(),
        }
    }
}

impl Divider for Flat {
    fn ask(&mut self, at: (usize, usize), cost: u64, waiting: u64, elapsed_ms: u64) -> u64 {
        let (party, holders) = &self.parties[at.0];
        let ask = Ask {
            waiting: waiting.min(cost * self.quantum),
            smallest: cost,
            expected: 0,
            denied: self.denied.remove(&at).unwrap_or(0),
            holders: *holders,
        };
        let moment = Moment {
            limit: self.limit,
            unlent: self.limit - self.share.used_total(),
            left_ms: WINDOW_MS.saturating_sub(elapsed_ms),
            window_ms: WINDOW_MS,
        };
        let room = self.share.room(party, &ask, &moment);
        let units = room.waiting / cost * cost;
        self.share.charge(&party.name, units);
        units
    }

    fn denied(&mut self, at: (usize, usize), units: u64) {
        *self.denied.entry(at).or_default() += units;
    }

    fn roll(&mut self, window: u64) {
        if window > 0 {
            self.share.roll();
        }
    }
}

/// How a tenant in several regions weighs in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighing {
    /// Its whole weight everywhere.
    Full,
    /// In proportion to what it asks for there.
    Split,
}

/// Two levels: a pool that regions share, and an escrow in each.
pub struct TwoLevel {
    pub pool: RegionPool,
    escrows: Vec<FederatedEscrow>,
    /// By tenant, then region.
    weights: Vec<Vec<Weight>>,
    window: u64,
}

impl TwoLevel {
    pub fn new(world: &World, weighing: Weighing) -> Self {
        let weights = world.weights.iter().zip(&world.demands);
        let weights = weights.map(|(weight, demands)| {
            let total: u64 = demands.iter().sum::<u64>().max(1);
            let split = |units: &u64| match weighing {
                Weighing::Full => *weight,
                Weighing::Split => {
                    let micros = u128::from(weight.micros()) * u128::from(*units);
                    let share = (micros / u128::from(total)) as u64;
                    Weight::from_micros(share.max(1)).unwrap()
                }
            };
            demands.iter().map(split).collect()
        });
        Self {
            pool: RegionPool::new(world.limit, WINDOW_MS).unwrap(),
            escrows: (0..world.regions)
                .map(|region| FederatedEscrow::new(&format!("r{region}")))
                .collect(),
            weights: weights.collect(),
            window: 0,
        }
    }
}

impl Divider for TwoLevel {
    fn ask(&mut self, at: (usize, usize), cost: u64, _waiting: u64, elapsed_ms: u64) -> u64 {
        let (tenant, region) = at;
        let weight = self.weights[tenant][region];
        let decision = self.escrows[region].check(
            &mut self.pool,
            &format!("t{tenant}"),
            weight,
            cost,
            EpochMs(self.window * WINDOW_MS + elapsed_ms),
        );
        if decision.unwrap().admitted() {
            cost
        } else {
            0
        }
    }

    fn denied(&mut self, _at: (usize, usize), _units: u64) {}

    fn roll(&mut self, window: u64) {
        self.window = window;
    }
}

/// One balance for all.
pub struct FirstCome {
    coordinator: Coordinator,
    windows: Windows,
    window: u64,
}

impl FirstCome {
    pub fn new(limit: u64) -> Self {
        let windows = Windows::new(WINDOW_MS).unwrap();
        Self {
            coordinator: Coordinator::new(limit, windows).unwrap(),
            windows,
            window: 0,
        }
    }
}

impl Divider for FirstCome {
    fn ask(&mut self, at: (usize, usize), cost: u64, _waiting: u64, elapsed_ms: u64) -> u64 {
        let now = EpochMs(self.window * WINDOW_MS + elapsed_ms);
        let region = format!("r{}", at.1);
        self.coordinator
            .lease("k", &region, cost, self.windows.at(now), now)
    }

    fn denied(&mut self, _at: (usize, usize), _units: u64) {}

    fn roll(&mut self, window: u64) {
        self.window = window;
    }
}

/// Steps of a window. Requests arrive at each; those that are denied ask again at the next, until the window is over.
pub const STEPS: u64 = 16;

/// When the steps of a window are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// Equally far apart.
    Even,
    /// Each where half of what was left is gone, down to the last millisecond: who waits asks until the end.
    Halving,
}

impl Steps {
    fn elapsed_ms(self, step: u64) -> u64 {
        match self {
            Self::Even => WINDOW_MS * step / STEPS,
            Self::Halving => WINDOW_MS - (WINDOW_MS >> step).max(1),
        }
    }
}

/// Windows, of which the last one counts. What `arrives`, in units of an asker at a step, is asked for until it is
/// served or nobody gets anything more. Answers what each tenant asked for and got in the last window.
pub fn windows(
    world: &World,
    divider: &mut dyn Divider,
    random: &mut Random,
    count: u64,
    steps: Steps,
    mut arrives: impl FnMut((usize, usize), u64, u64) -> u64,
) -> (Vec<u64>, Vec<u64>) {
    let (mut asked, mut got) = (Vec::new(), Vec::new());
    for window in 0..count {
        divider.roll(window);
        asked = vec![0; world.weights.len()];
        got = vec![0; world.weights.len()];
        let mut waiting: OrderedMap<(usize, usize), u64> = OrderedMap::new();
        for step in 0..STEPS {
            let mut askers = world.askers();
            for at in &askers {
                let units = arrives(*at, window, step);
                asked[at.0] += units;
                *waiting.entry(*at).or_default() += units;
            }
            let elapsed_ms = steps.elapsed_ms(step);
            while !askers.is_empty() {
                random.shuffle(&mut askers);
                askers.retain(|at| {
                    let queue = waiting.get_mut(at).unwrap();
                    let cost = world.costs[at.0];
                    if *queue < cost {
                        return false;
                    }
                    let units = divider.ask(*at, cost, *queue, elapsed_ms);
                    *queue -= units;
                    got[at.0] += units;
                    units > 0
                });
            }
            for (at, denied) in &waiting {
                divider.denied(*at, *denied);
            }
        }
    }
    (asked, got)
}
