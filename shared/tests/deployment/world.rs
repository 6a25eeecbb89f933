//! One state of a deployment, and what each step makes of it.

use std::fmt;

use weir_shared::units::EpochMs;

use super::around::Around;
use super::coordinator::Coordinator;
use super::isolate::Isolate;
use super::network::{Caller, Letter, Network};
use super::part::Part;
use super::region::Region;
use super::setup::{BEGIN, Faults, Setup};
use super::truth::Truth;

/// One state of a deployment.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) isolates: Vec<Part<Isolate>>,
    pub(crate) regions: Vec<Part<Region>>,
    pub(crate) coordinator: Part<Coordinator>,
    pub(crate) network: Network,
    pub(crate) truth: Truth,
    /// Whether each region has heard of the edit.
    pub(crate) heard: Vec<bool>,
    /// How many instants have passed.
    pub(crate) instant: usize,
    /// What may still happen.
    pub(crate) left: Faults,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A request of one unit arrives at an isolate.
    Request { isolate: usize },
    /// One that waits ends, and nobody takes what is lent for it.
    RequestEnds { isolate: usize },
    /// A letter arrives; `copied` when it will arrive again, `replaced` when it reaches a life that was replaced.
    Arrive {
        letter: usize,
        copied: bool,
        replaced: bool,
    },
    /// An isolate shows itself without a shortage.
    IsolateContact { isolate: usize },
    /// A region does.
    RegionContact { region: usize },
    /// A call to a region is given up, and repeated if a request waits.
    IsolateGivesUp { isolate: usize },
    /// A call to the coordinator is given up, and what waits is answered without it.
    RegionGivesUp { region: usize },
    /// An isolate dies, and another takes its place.
    IsolateDies { isolate: usize },
    /// A region forgets what is not durable.
    RegionCrashes { region: usize },
    /// The coordinator does.
    CoordinatorCrashes,
    /// A life of a region goes on beside the next.
    RegionReplaced { region: usize },
    /// A life of the coordinator does.
    CoordinatorReplaced,
    /// A region, and its isolates, hear of the edit.
    PolicyHeard { region: usize },
    /// Time passes.
    TimePasses,
}

/// What of it the path to a discovery shows.
impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { truth, left, .. } = self;
        write!(f, "{truth:?}, {left:?}")
    }
}

impl World {
    pub(crate) fn new(setup: &Setup) -> Self {
        let isolates = setup.isolates.iter().enumerate();
        let isolates = isolates.map(|(isolate, (region, _))| {
            let here = Caller { isolate, life: 1 };
            Part::new(Isolate::born(here, *region, setup.party(isolate)))
        });
        let regions = (0..setup.regions()).map(|region| Part::new(Region::new(region)));
        let mut world = Self {
            isolates: isolates.collect(),
            regions: regions.collect(),
            coordinator: Part::new(Coordinator::default()),
            network: Network::default(),
            truth: Truth::default(),
            heard: vec![false; setup.regions()],
            instant: 0,
            left: setup.most,
        };
        for step in &setup.before {
            world.runs(setup, *step);
        }
        world.left = setup.most;
        world
    }

    /// A step, and all that it sets off while every letter arrives.
    fn runs(&mut self, setup: &Setup, step: Step) {
        self.left = Faults::one_of_each();
        self.takes(setup, step);
        while self.network.places().next().is_some() {
            let arrives = Step::Arrive {
                letter: 0,
                copied: false,
                replaced: false,
            };
            self.takes(setup, arrives);
        }
    }

    /// The true time, which is the coordinator's.
    pub(crate) fn now(&self, setup: &Setup) -> EpochMs {
        BEGIN.plus(setup.instants_ms[self.instant])
    }

    /// One step in words.
    pub(crate) fn told(&self, step: Step) -> String {
        let Step::Arrive {
            letter,
            copied,
            replaced,
        } = step
        else {
            return format!("{step:?}");
        };
        let copied = if copied { " (and will again)" } else { "" };
        let replaced = if replaced {
            " of a life that was replaced"
        } else {
            ""
        };
        format!("{}{copied}{replaced}", self.network.get(letter))
    }

    /// Whether a letter may also reach a life that was replaced.
    pub(crate) fn reaches_replaced(&self, letter: usize) -> bool {
        match self.network.get(letter) {
            Letter::ToRegion { from, .. } => {
                self.regions[self.isolates[from.isolate].region].has_replaced()
            }
            Letter::ToCoordinator { .. } => self.coordinator.has_replaced(),
            _ => false,
        }
    }

    pub(crate) fn takes(&mut self, setup: &Setup, step: Step) {
        self.left.takes(step);
        match step {
            Step::TimePasses => self.instant += 1,
            Step::PolicyHeard { region } => self.hears(region),
            Step::IsolateDies { isolate } => self.isolate_dies(setup, isolate),
            Step::RegionCrashes { region } => self.regions[region].change(Region::crashes),
            Step::CoordinatorCrashes => self.coordinator_crashes(setup),
            Step::RegionReplaced { region } => self.regions[region].change(Region::is_replaced),
            Step::CoordinatorReplaced => self.coordinator.change(Coordinator::is_replaced),
            Step::RequestEnds { isolate } => self.isolate(setup, isolate, Isolate::gives_in),
            Step::Request { isolate } => self.isolate(setup, isolate, Isolate::is_asked),
            Step::IsolateContact { isolate } => self.isolate(setup, isolate, Isolate::flushes),
            Step::IsolateGivesUp { isolate } => self.isolate(setup, isolate, Isolate::gives_up),
            Step::RegionContact { region } => self.region(setup, region, Region::flushes),
            Step::RegionGivesUp { region } => self.region(setup, region, Region::gives_up),
            Step::Arrive {
                letter,
                copied,
                replaced,
            } => {
                let letter = self.network.take(letter, copied);
                self.arrives(setup, &letter, replaced);
            }
        }
        self.drop_undeliverable();
    }

    fn hears(&mut self, region: usize) {
        self.heard[region] = true;
        self.regions[region].change(Region::hears);
        for isolate in &mut self.isolates {
            if isolate.region == region {
                isolate.change(Isolate::hears);
            }
        }
    }

    fn arrives(&mut self, setup: &Setup, letter: &Letter, replaced: bool) {
        match letter {
            Letter::ToRegion { from, body } => {
                let region = self.isolates[from.isolate].region;
                self.region(setup, region, |it, around| {
                    it.life(replaced, |it| it.is_asked(*from, body, around));
                });
            }
            Letter::ToIsolate {
                to,
                sequence,
                answer,
            } => {
                self.isolate(setup, to.isolate, |it, around| {
                    it.is_told(*sequence, answer, around);
                });
            }
            Letter::ToCoordinator { region, body } => {
                let now = self.now(setup);
                let (network, truth) = (&mut self.network, &mut self.truth);
                let mut around = Around::new(setup, (now, now), false, network, truth);
                self.coordinator.change(|it| {
                    if replaced {
                        it.replaced_is_asked(*region, body, &mut around);
                    } else {
                        it.is_asked(*region, body, &mut around);
                    }
                });
            }
            Letter::FromCoordinator {
                region,
                life,
                sequence,
                answer,
            } => {
                let replaced = self.regions[*region].was(*life);
                self.region(setup, *region, |it, around| {
                    it.life(replaced, |it| it.is_told(*sequence, answer, around));
                });
            }
        }
    }

    fn isolate(
        &mut self,
        setup: &Setup,
        isolate: usize,
        step: impl FnOnce(&mut Isolate, &mut Around<'_>),
    ) {
        let now = self.now(setup);
        let times = (Setup::at_isolate(isolate, now), now);
        let heard = self.heard[self.isolates[isolate].region];
        let mut around = Around::new(setup, times, heard, &mut self.network, &mut self.truth);
        self.isolates[isolate].change(|it| step(it, &mut around));
    }

    fn region(
        &mut self,
        setup: &Setup,
        region: usize,
        step: impl FnOnce(&mut Region, &mut Around<'_>),
    ) {
        let now = self.now(setup);
        let times = (Setup::at_region(region, now), now);
        let heard = self.heard[region];
        let mut around = Around::new(setup, times, heard, &mut self.network, &mut self.truth);
        self.regions[region].change(|it| step(it, &mut around));
    }

    fn isolate_dies(&mut self, setup: &Setup, isolate: usize) {
        let dead = self.isolates[isolate].here;
        let here = Caller {
            life: dead.life + 1,
            ..dead
        };
        let region = self.isolates[isolate].region;
        self.isolates[isolate] = Part::new(Isolate::born(here, region, setup.party(isolate)));
    }

    /// Drops answers to lives that are over.
    fn drop_undeliverable(&mut self) {
        let Self {
            network,
            isolates,
            regions,
            ..
        } = self;
        network.keep(|letter| match letter {
            Letter::ToIsolate { to, .. } => isolates[to.isolate].here == *to,
            Letter::FromCoordinator { region, life, .. } => {
                let region = &regions[*region];
                region.incarnation() == Some(*life) || region.was(*life)
            }
            _ => true,
        });
    }

    fn coordinator_crashes(&mut self, setup: &Setup) {
        let label = self.coordinator.pool().and_then(|pool| {
            let (label, unlent) = (pool.window().label.0, pool.unlent());
            let used = self.truth.admitted(label);
            (unlent < setup.limit && used + 2 <= setup.limit).then_some(label)
        });
        self.truth.crashed_in = label.or(self.truth.crashed_in);
        self.coordinator.change(Coordinator::crashes);
    }
}
