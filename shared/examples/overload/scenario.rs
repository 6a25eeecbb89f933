//! Who asks how often of an origin of which capacity.

use super::random::Random;

/// Clients that behave alike.
#[derive(Clone)]
pub struct Class {
    pub count: usize,
    pub per_s: f64,
    pub from_s: f64,
    pub to_s: f64,
    pub weight: u64,
    pub cost: u64,
    /// Asks for so many seconds, then pauses for as many; 0 asks always.
    pub half_cycle_s: f64,
}

/// A world.
#[derive(Clone)]
pub struct Scenario {
    pub name: &'static str,
    /// Units that the origin serves in a second; so many it also serves at once.
    pub capacity: f64,
    /// From which second on another capacity holds.
    pub changes: Vec<(f64, f64)>,
    pub seconds: f64,
    pub classes: Vec<Class>,
}

/// One client of a scenario.
pub struct Asker {
    pub name: String,
    pub class: usize,
    pub weight: u64,
    pub cost: u64,
}

/// One request.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub at_s: f64,
    pub asker: usize,
}

fn class(count: usize, per_s: f64, from_s: f64, to_s: f64) -> Class {
    Class {
        count,
        per_s,
        from_s,
        to_s,
        weight: 1,
        cost: 1,
        half_cycle_s: 0.0,
    }
}

fn scenario(name: &'static str, capacity: f64, seconds: f64, classes: Vec<Class>) -> Scenario {
    Scenario {
        name,
        capacity,
        changes: Vec::new(),
        seconds,
        classes,
    }
}

/// The source's three.
pub fn published() -> Vec<Scenario> {
    let always = |count, per_s, seconds| class(count, per_s, 0.0, seconds);
    vec![
        scenario(
            "api_noisy_neighbors",
            100.0,
            300.0,
            vec![always(180, 0.5, 300.0), always(20, 10.0, 300.0)],
        ),
        scenario("flash_crowd", 300.0, 120.0, vec![always(500, 1.0, 120.0)]),
        scenario(
            "batch_surge",
            120.0,
            360.0,
            vec![always(100, 1.0, 360.0), class(10, 30.0, 90.0, 270.0)],
        ),
    ]
}

/// Twenty modest clients and one that asks fifty times as often.
pub fn one_heavy() -> Scenario {
    let classes = vec![class(20, 1.0, 0.0, 300.0), class(1, 50.0, 0.0, 300.0)];
    scenario("one_heavy", 40.0, 300.0, classes)
}

/// The same while the origin has too little capacity for the heavy one, and later enough again.
pub fn recovery() -> Scenario {
    let classes = vec![class(20, 1.0, 0.0, 240.0), class(1, 50.0, 0.0, 240.0)];
    Scenario {
        changes: vec![(60.0, 30.0), (150.0, 100.0)],
        ..scenario("recovery", 100.0, 240.0, classes)
    }
}

/// Floods of an origin of which nothing is known yet: five at a tenth of what it serves and one at three times it; eight
/// at a twenty-fourth and one at three times.
pub fn fresh() -> Vec<Scenario> {
    let flood = |count, per_s, noisy, capacity| {
        let classes = vec![class(count, per_s, 0.0, 60.0), class(1, noisy, 0.0, 60.0)];
        (capacity, classes)
    };
    let named = [
        ("flood_from_the_start", flood(5, 2.0, 60.0, 20.0)),
        ("modest_flood_from_the_start", flood(8, 1.0, 72.0, 24.0)),
    ];
    let mut scenarios: Vec<Scenario> = named
        .into_iter()
        .map(|(name, (capacity, classes))| scenario(name, capacity, 60.0, classes))
        .collect();
    let classes = vec![class(5, 2.0, 0.0, 60.0), class(1, 60.0, 5.0, 60.0)];
    scenarios.push(scenario("flood_after_a_calm", 20.0, 60.0, classes));
    scenarios
}

/// The others.
pub fn further() -> Vec<Scenario> {
    let weighted = |weight| Class {
        weight,
        ..class(10, 10.0, 0.0, 200.0)
    };
    let costing = |per_s, cost| Class {
        cost,
        ..class(20, per_s, 0.0, 200.0)
    };
    let on_off = Class {
        half_cycle_s: 5.0,
        ..class(10, 20.0, 0.0, 300.0)
    };
    vec![
        scenario(
            "weights 1, 2, 4",
            100.0,
            200.0,
            [1, 2, 4].map(weighted).to_vec(),
        ),
        scenario(
            "costs 1 and 5",
            60.0,
            200.0,
            vec![costing(10.0, 1), costing(2.0, 5)],
        ),
        scenario(
            "on and off",
            60.0,
            300.0,
            vec![class(40, 0.5, 0.0, 300.0), on_off],
        ),
        scenario(
            "10,000 clients",
            1_000.0,
            100.0,
            vec![class(9_990, 0.08, 0.0, 100.0), class(10, 80.0, 0.0, 100.0)],
        ),
    ]
}

impl Scenario {
    pub fn askers(&self) -> Vec<Asker> {
        let mut askers = Vec::new();
        for (class, of) in self.classes.iter().enumerate() {
            for number in 0..of.count {
                askers.push(Asker {
                    name: format!("client-{class}-{number}"),
                    class,
                    weight: of.weight,
                    cost: of.cost,
                });
            }
        }
        askers
    }

    /// The requests in order.
    pub fn arrivals(&self, random: &mut Random) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        let mut asker = 0;
        for class in &self.classes {
            for _ in 0..class.count {
                let phase_s = 2.0 * class.half_cycle_s * random.unit();
                let mut at_s = class.from_s + random.gap_s(class.per_s);
                while at_s < class.to_s {
                    let pauses = class.half_cycle_s > 0.0
                        && ((at_s + phase_s) / class.half_cycle_s) as u64 % 2 == 1;
                    if !pauses {
                        arrivals.push(Arrival { at_s, asker });
                    }
                    at_s += random.gap_s(class.per_s);
                }
                asker += 1;
            }
        }
        arrivals.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        arrivals
    }

    pub fn capacity_at(&self, at_s: f64) -> f64 {
        let changed = self
            .changes
            .iter()
            .rev()
            .find(|(from_s, _)| *from_s <= at_s);
        changed.map_or(self.capacity, |(_, capacity)| *capacity)
    }

    /// Units that the origin can serve in the whole time.
    pub fn capacity_units(&self) -> f64 {
        let mut units = self.capacity;
        let mut from_s = 0.0;
        for &(until_s, _) in &self.changes {
            units += (until_s - from_s) * self.capacity_at(from_s);
            from_s = until_s;
        }
        units + (self.seconds - from_s) * self.capacity_at(from_s)
    }
}
