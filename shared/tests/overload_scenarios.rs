//! The evaluation that FAIR publishes of itself, played by its own rule (compatible mode) and by Weir's repaired one.
//!
//! Fairness is Jain's index of what each client was served for what it is entitled to (max-min), utilization what was
//! served of the capacity or, where less was asked for, of the demand.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weir_reference::compatible::{Config, Tracker};
use weir_shared::overload::blue::{Blue, Settings};
use weir_shared::overload::placement::{PlacementKey, Shape};
use weir_shared::units::EpochMs;
use weir_shared::wire::overload::Final;

use crate::overload_simulation::random::Random;

const START: EpochMs = EpochMs(1_700_000_000_000);
const ROTATE_MS: u64 = 300_000;
/// Seeds of a normal run; `WEIR_SEEDS` plays more.
const SEEDS: u64 = 2;

/// Clients of one rate, a second, while they are there.
struct Group {
    clients: usize,
    per_s: f64,
    from_s: f64,
    to_s: f64,
}

struct Scenario {
    name: &'static str,
    groups: Vec<Group>,
    capacity_per_s: f64,
    seconds: f64,
}

/// A limiter of one resource.
trait Limiter {
    fn admits(&mut self, client: &str, coin: f64, now: EpochMs) -> bool;
    fn reports(&mut self, client: &str, failed: bool, now: EpochMs);
    fn rotates(&mut self, period: u64, now: EpochMs);
}

struct Unlimited;

impl Limiter for Unlimited {
    fn admits(&mut self, _: &str, _: f64, _: EpochMs) -> bool {
        true
    }
    fn reports(&mut self, _: &str, _: bool, _: EpochMs) {}
    fn rotates(&mut self, _: u64, _: EpochMs) {}
}

impl Limiter for Blue {
    fn admits(&mut self, client: &str, coin: f64, now: EpochMs) -> bool {
        self.check(client, coin, now).admitted
    }
    fn reports(&mut self, client: &str, failed: bool, now: EpochMs) {
        self.report(client, 1.0, failed, now);
    }
    fn rotates(&mut self, period: u64, now: EpochMs) {
        self.rotate(key(period + 1), now);
    }
}

impl Limiter for Tracker {
    fn admits(&mut self, client: &str, coin: f64, now: EpochMs) -> bool {
        !self.register(client.as_bytes(), coin, now).throttled
    }
    fn reports(&mut self, client: &str, failed: bool, now: EpochMs) {
        if failed {
            self.failure(client.as_bytes(), now);
        } else {
            self.success(client.as_bytes(), now);
        }
    }
    fn rotates(&mut self, period: u64, now: EpochMs) {
        self.rotate(period as u32 + 1, now);
    }
}

fn key(period: u64) -> PlacementKey {
    PlacementKey::derive(&[3; 32], "origin", period)
}

fn blue() -> Blue {
    let settings = Settings {
        shape: Shape::new(3, 1_000).unwrap(),
        combine: Final::Min,
        increase: 0.04,
        decrease: 0.000_04,
        decay_per_s: 0.01,
    };
    Blue::new(settings, key(0), key(1), START)
}

fn original() -> Tracker {
    let config = Config {
        levels: 3,
        buckets: 1_000,
        increase: 0.04,
        decrease: 0.000_04,
        decay_per_s: 0.01,
        combine: Final::Min,
    };
    Tracker::new(config, 0, 1, START).unwrap()
}

/// One client's requests at random moments (Poisson), in seconds.
struct Arrivals {
    at_s: f64,
    group: usize,
    name: String,
    served: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    jain: f64,
    utilization: f64,
}

impl Scenario {
    fn play(&self, limiter: &mut impl Limiter, seed: u64) -> Figures {
        let mut coins = Random::new(seed);
        let mut clients = self.clients(&mut coins);
        let (mut tokens, mut served_at_s, mut period) = (1.0_f64, 0.0, 0);
        // Positive floats are in the order of their bits.
        let first = |(index, client): (usize, &Arrivals)| Reverse((client.at_s.to_bits(), index));
        let mut waiting: BinaryHeap<_> = clients.iter().enumerate().map(first).collect();
        while let Some(Reverse((bits, index))) = waiting.pop() {
            let (at_s, client) = (f64::from_bits(bits), &mut clients[index]);
            if at_s >= self.seconds {
                break;
            }
            let now = START.plus((at_s * 1_000.0) as u64);
            while now.since(START) / ROTATE_MS > period {
                period += 1;
                limiter.rotates(period, now);
            }
            // What comes beyond the capacity fails; a tenth of a second of it may wait.
            tokens = (tokens + (at_s - served_at_s) * self.capacity_per_s)
                .min(self.capacity_per_s / 10.0);
            served_at_s = at_s;
            if limiter.admits(&client.name, coins.unit(), now) {
                let failed = tokens < 1.0;
                if !failed {
                    tokens -= 1.0;
                    client.served += 1.0;
                }
                limiter.reports(&client.name, failed, now);
            }
            let group = &self.groups[client.group];
            waiting.push(Reverse((group.next(at_s, &mut coins).to_bits(), index)));
        }
        self.figures(&clients)
    }

    fn clients(&self, coins: &mut Random) -> Vec<Arrivals> {
        let mut clients = Vec::new();
        for (group, of) in self.groups.iter().enumerate() {
            for _ in 0..of.clients {
                clients.push(Arrivals {
                    at_s: of.next(of.from_s, coins),
                    group,
                    name: format!("client-{}", clients.len()),
                    served: 0.0,
                });
            }
        }
        clients
    }

    fn figures(&self, clients: &[Arrivals]) -> Figures {
        let entitled = self.entitled();
        let parts = |client: &Arrivals| client.served / entitled[client.group];
        let sum: f64 = clients.iter().map(parts).sum();
        let squares: f64 = clients.iter().map(|client| parts(client).powi(2)).sum();
        let served: f64 = clients.iter().map(|client| client.served).sum();
        let demand: f64 = self
            .spans()
            .map(|(from_s, to_s)| {
                let asked: f64 = self.asked(from_s).iter().sum();
                asked.min(self.capacity_per_s) * (to_s - from_s)
            })
            .sum();
        Figures {
            jain: sum * sum / (clients.len() as f64 * squares),
            utilization: served / demand,
        }
    }

    /// What a client of each group is entitled to over all spans in which the demand stands.
    fn entitled(&self) -> Vec<f64> {
        let mut entitled = vec![0.0; self.groups.len()];
        for (from_s, to_s) in self.spans() {
            let asked = self.asked(from_s);
            let level = self.level(&asked);
            for ((group, asked), sum) in self.groups.iter().zip(&asked).zip(&mut entitled) {
                let each = if *asked > 0.0 {
                    group.per_s.min(level)
                } else {
                    0.0
                };
                *sum += each * (to_s - from_s);
            }
        }
        entitled
    }

    /// The most that one client may have so that the capacity suffices.
    fn level(&self, asked: &[f64]) -> f64 {
        let (mut low, mut high) = (0.0, self.capacity_per_s);
        for _ in 0..100 {
            let level = (low + high) / 2.0;
            let used: f64 = (self.groups.iter().zip(asked))
                .filter(|(_, asked)| **asked > 0.0)
                .map(|(group, _)| group.per_s.min(level) * group.clients as f64)
                .sum();
            if used > self.capacity_per_s {
                high = level;
            } else {
                low = level;
            }
        }
        low
    }

    fn asked(&self, at_s: f64) -> Vec<f64> {
        let there = |group: &Group| group.from_s <= at_s && at_s < group.to_s;
        let rate = |group: &Group| group.per_s * group.clients as f64;
        (self.groups.iter())
            .map(|group| if there(group) { rate(group) } else { 0.0 })
            .collect()
    }

    fn spans(&self) -> impl Iterator<Item = (f64, f64)> {
        let mut edges = vec![0.0, self.seconds];
        edges.extend(
            self.groups
                .iter()
                .flat_map(|group| [group.from_s, group.to_s]),
        );
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let ends: Vec<_> = edges.windows(2).map(|pair| (pair[0], pair[1])).collect();
        ends.into_iter()
    }

    fn mean<L: Limiter>(&self, seeds: u64, limiter: impl Fn() -> L) -> Figures {
        (0..seeds).fold(Figures::default(), |sum, seed| {
            let figures = self.play(&mut limiter(), seed + 1);
            Figures {
                jain: sum.jain + figures.jain / seeds as f64,
                utilization: sum.utilization + figures.utilization / seeds as f64,
            }
        })
    }
}

impl Group {
    fn next(&self, at_s: f64, coins: &mut Random) -> f64 {
        let next = at_s - (1.0 - coins.unit()).ln() / self.per_s;
        if next < self.to_s {
            next
        } else {
            f64::INFINITY
        }
    }
}

fn scenarios() -> [Scenario; 3] {
    let group = |clients, per_s, from_s, to_s| Group {
        clients,
        per_s,
        from_s,
        to_s,
    };
    [
        Scenario {
            name: "api_noisy_neighbors",
            groups: vec![group(180, 0.5, 0.0, 300.0), group(20, 10.0, 0.0, 300.0)],
            capacity_per_s: 100.0,
            seconds: 300.0,
        },
        Scenario {
            name: "flash_crowd",
            groups: vec![group(500, 1.0, 0.0, 120.0)],
            capacity_per_s: 300.0,
            seconds: 120.0,
        },
        Scenario {
            name: "batch_surge",
            groups: vec![group(100, 1.0, 0.0, 360.0), group(10, 30.0, 90.0, 270.0)],
            capacity_per_s: 120.0,
            seconds: 360.0,
        },
    ]
}

/// The repairs of the source's rule cost nothing of what it does in its own evaluation, and both do more for clients
/// than no limiter where some are heavy.
#[test]
fn the_repaired_rule_is_as_fair_as_the_one_it_is_taken_from() {
    let seeds = std::env::var("WEIR_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    println!("Jain's index @ utilization, mean of {seeds} seeds");
    println!("scenario: no limiter, compatible mode, blue");
    for scenario in scenarios() {
        let none = scenario.mean(seeds, || Unlimited);
        let source = scenario.mean(seeds, original);
        let own = scenario.mean(seeds, blue);
        let told = [none, source, own]
            .map(|figures| format!("{:.4} @ {:.4}", figures.jain, figures.utilization));
        println!("{}: {}", scenario.name, told.join(", "));
        assert!(own.jain > source.jain - 0.02, "{}: {own:?}", scenario.name);
        assert!(
            own.utilization > source.utilization - 0.02,
            "{}: {own:?}",
            scenario.name
        );
        if scenario.groups.len() > 1 {
            assert!(own.jain > none.jain + 0.2, "{}: {own:?}", scenario.name);
        }
    }
}
