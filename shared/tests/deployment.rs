//! A deployment whose state is the shipped nodes, their durable rows and the letters between them, explored step by
//! step. An object takes a letter, writes and sends in one step: a crash comes before it or after it.

mod around;
pub(crate) mod broken;
mod coordinator;
pub(crate) mod found;
mod isolate;
mod network;
mod part;
pub(crate) mod properties;
mod region;
pub(crate) mod setup;
mod truth;
pub(crate) mod world;

use stateright::{Model, Property};

use setup::Setup;
use world::{Step, World};

impl Model for Setup {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        if self.found.enough(self.states) {
            return;
        }
        let left = &world.left;
        arrivals(world, steps);
        isolate_steps(self, world, steps);
        region_steps(self, world, steps);
        if world.coordinator.pool().is_some() {
            if left.coordinator_crashes > 0 {
                steps.push(Step::CoordinatorCrashes);
            }
            if left.coordinators_replaced > 0 {
                steps.push(Step::CoordinatorReplaced);
            }
        }
        for region in 0..world.heard.len() {
            if self.edited.is_some() && !world.heard[region] {
                steps.push(Step::PolicyHeard { region });
            }
        }
        if world.instant + 1 < self.instants_ms.len() {
            steps.push(Step::TimePasses);
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        next.takes(self, step);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

fn arrivals(world: &World, steps: &mut Vec<Step>) {
    for letter in world.network.places() {
        for replaced in [false, true] {
            if replaced && !world.reaches_replaced(letter) {
                continue;
            }
            for copied in [false, true] {
                if !copied || world.left.repeats > 0 {
                    steps.push(Step::Arrive {
                        letter,
                        copied,
                        replaced,
                    });
                }
            }
        }
    }
}

fn isolate_steps(setup: &Setup, world: &World, steps: &mut Vec<Step>) {
    let left = &world.left;
    for (isolate, it) in world.isolates.iter().enumerate() {
        if left.requests > 0 && !it.waits() {
            steps.push(Step::Request { isolate });
        }
        if left.endings > 0 && it.waits() {
            steps.push(Step::RequestEnds { isolate });
        }
        if left.expiries > 0 && it.calls() {
            steps.push(Step::IsolateGivesUp { isolate });
        }
        // One that has heard of nobody is like the next.
        if left.isolate_deaths > 0 && it.node.holder().seen().is_some() {
            steps.push(Step::IsolateDies { isolate });
        }
        if it.wants_contact(Setup::at_isolate(isolate, world.now(setup))) {
            steps.push(Step::IsolateContact { isolate });
        }
    }
}

fn region_steps(setup: &Setup, world: &World, steps: &mut Vec<Step>) {
    let left = &world.left;
    for (region, it) in world.regions.iter().enumerate() {
        if it.incarnation().is_none() {
            continue;
        }
        if left.expiries > 0 && it.calls() {
            steps.push(Step::RegionGivesUp { region });
        }
        if left.region_crashes > 0 {
            steps.push(Step::RegionCrashes { region });
        }
        if left.regions_replaced > 0 {
            steps.push(Step::RegionReplaced { region });
        }
        if it.wants_contact(Setup::at_region(region, world.now(setup))) {
            steps.push(Step::RegionContact { region });
        }
    }
}
