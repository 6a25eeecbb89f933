//! The sums against a scan over all members, and reserves against their definition.

use proptest::prelude::*;

use super::super::ask::Moment;
use super::*;

const WINDOW_MS: u64 = 10_000;

fn moment(left_ms: u64) -> Moment {
    Moment {
        limit: 5_000,
        unlent: 5_000,
        left_ms,
        window_ms: WINDOW_MS,
    }
}

/// What happens to the reserves.
#[derive(Debug, Clone)]
enum Event {
    Pass(u64),
    Join(Claim),
    Use(prop::sample::Index, u64),
}

fn event() -> impl Strategy<Value = Event> {
    let lend = prop_oneof![3 => Just(None), 1 => (0..300_u64).prop_map(Some)];
    let claim = (1..50_u64, 1..40_u64, 1..40_u64, 0..60_u64, lend);
    prop_oneof![
        3 => (1..400_u64).prop_map(Event::Pass),
        2 => claim.prop_map(|(weight, burst, smallest, used, lend_max)| Event::Join(Claim {
            weight,
            burst: burst.max(smallest),
            smallest,
            used,
            lend_max,
        })),
        5 => (any::<prop::sample::Index>(), 1..60_u64).prop_map(|(who, units)| Event::Use(who, units)),
    ]
}

/// The same rule without sets and sums: each member is looked at each time.
#[derive(Default)]
struct Scan {
    rate: Rate,
    members: Vec<(Claim, Regime)>,
}

impl Scan {
    fn guaranteed(&self, claim: &Claim, off: u64) -> u128 {
        (u128::from(claim.weight) * self.rate.full).saturating_sub(parts(off))
    }

    fn even(&self, claim: &Claim) -> u128 {
        u128::from(claim.weight) * self.rate.now + parts(claim.burst)
    }

    fn lowest(&self, claim: &Claim) -> u128 {
        let lend = claim.lend_max.unwrap_or(u64::MAX / 2);
        self.guaranteed(claim, claim.used + lend)
    }

    fn held(&self, claim: &Claim, regime: Regime) -> u128 {
        match regime {
            Regime::Idle(held) => held.min(self.guaranteed(claim, claim.used)),
            Regime::Fixed(held) => held,
            Regime::Even => self.even(claim),
            Regime::Kept(off) => self.guaranteed(claim, off),
        }
    }

    fn place(&self, claim: &Claim, bound: u128) -> Regime {
        let (even, all) = (self.even(claim), self.guaranteed(claim, claim.used));
        let off = claim.used + claim.lend_max.unwrap_or(u64::MAX / 2);
        let lowest = self.lowest(claim);
        let (least, regime) = if bound < all && bound <= even {
            (bound, Regime::Fixed(bound))
        } else if bound == u128::MAX && lowest > even {
            (lowest, Regime::Kept(off))
        } else if even < all {
            (even, Regime::Even)
        } else {
            (all, Regime::Kept(claim.used))
        };
        if least < parts(claim.smallest) {
            Regime::Idle(least)
        } else {
            regime
        }
    }

    fn pass(&mut self, rate: Rate) {
        self.rate.full = self.rate.full.min(rate.full);
        self.rate.now = self.rate.now.min(rate.now).min(self.rate.full);
        let rate = self.rate;
        let turn = |(claim, regime): &(Claim, Regime)| {
            let this = Self {
                rate,
                ..Self::default()
            };
            let (even, all) = (this.even(claim), this.guaranteed(claim, claim.used));
            let next = match *regime {
                Regime::Idle(_) => *regime,
                Regime::Fixed(held) if even < held || all < held => this.place(claim, held),
                // From the line a member passes to what it does not lend, and to nothing else.
                Regime::Even if this.lowest(claim) > even => this.place(claim, u128::MAX),
                Regime::Kept(off)
                    if this.guaranteed(claim, off) < parts(claim.smallest)
                        || (off == claim.used && claim.lend_max != Some(0) && even < all) =>
                {
                    this.place(claim, u128::MAX)
                }
                Regime::Fixed(_) | Regime::Even | Regime::Kept(_) => *regime,
            };
            (*claim, next)
        };
        // From a constant to the guarantee, to the line, to what is not lent.
        for _ in 0..3 {
            self.members = self.members.iter().map(turn).collect();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_sums_are_those_of_a_scan_over_all_members(events in prop::collection::vec(event(), 1..120)) {
        let mut left_ms = WINDOW_MS;
        let mut weights = 0_u128;
        let mut scan = Scan { rate: Rate::at(&moment(left_ms), 1, None), ..Scan::default() };
        let mut reserves = Reserves::open(scan.rate);
        for event in events {
            match event {
                Event::Pass(ms) => left_ms = left_ms.saturating_sub(ms),
                Event::Join(claim) => {
                    weights += u128::from(claim.weight);
                    let rate = Rate::at(&moment(left_ms), weights, None);
                    reserves.pass(rate);
                    scan.pass(rate);
                    let id = scan.members.len();
                    reserves.state(id, claim, None);
                    let regime = scan.place(&claim, u128::MAX);
                    scan.members.push((claim, regime));
                }
                Event::Use(who, units) if !scan.members.is_empty() => {
                    let id = who.index(scan.members.len());
                    let (mut claim, regime) = scan.members[id];
                    let held = scan.held(&claim, regime).saturating_sub(parts(units));
                    claim.used += units;
                    reserves.state(id, claim, Some(held));
                    scan.members[id] = (claim, scan.place(&claim, held));
                }
                Event::Use(..) => {}
            }
            let rate = Rate::at(&moment(left_ms), weights, None);
            reserves.pass(rate);
            scan.pass(rate);
            let mut total = 0;
            for (id, (claim, regime)) in scan.members.iter().enumerate() {
                prop_assert_eq!(reserves.of(id), scan.held(claim, *regime));
                if !matches!(regime, Regime::Idle(_)) {
                    total += scan.held(claim, *regime);
                }
            }
            prop_assert_eq!(reserves.total(), total);
        }
    }

    #[test]
    fn a_reserve_is_the_least_that_any_moment_so_far_left_of_an_even_pace(
        weights in prop::collection::vec(1..50_u64, 1..6),
        uses in prop::collection::vec((any::<prop::sample::Index>(), 1..30_u64, 1..300_u64), 1..60),
    ) {
        let sum = weights.iter().sum::<u64>().into();
        let mut left_ms = WINDOW_MS;
        let mut reserves = Reserves::open(Rate::at(&moment(left_ms), sum, None));
        let full = reserves.rate.full;
        let mut claims = Vec::new();
        let mut held = Vec::new();
        for (id, weight) in weights.iter().enumerate() {
            let claim = Claim { weight: *weight, burst: 20, smallest: 1, used: 0, lend_max: None };
            reserves.state(id, claim, None);
            claims.push(claim);
            held.push(u128::from(*weight) * full);
        }
        for (who, units, ms) in uses {
            let id = who.index(claims.len());
            held[id] = held[id].saturating_sub(parts(units));
            claims[id].used += units;
            let bound = reserves.of(id).saturating_sub(parts(units));
            reserves.state(id, claims[id], Some(bound));
            left_ms = left_ms.saturating_sub(ms);
            let rate = Rate::at(&moment(left_ms), sum, None);
            reserves.pass(rate);
            for (id, held) in held.iter_mut().enumerate() {
                *held = (*held).min(u128::from(weights[id]) * rate.now + parts(20));
                prop_assert_eq!(reserves.of(id), *held, "member {}", id);
            }
        }
    }
}
