//! The deployments that are explored.

use weir_shared::fairness::ask::{Claimant, Party};
use weir_shared::fairness::weight::Weight;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::exchange::{FloorsBody, RuleBody, SharingBody, Terms};

use super::broken::Broken;
use super::found::Found;
use super::world::Step;

/// The length of a window.
pub(crate) const WINDOW_MS: u64 = 2_000;

/// The clocks of parts differ from the coordinator's: this much for each isolate, twice as much for each region.
pub(crate) const OFFSET_MS: u64 = 70;

/// When the first window begins.
pub(crate) const BEGIN: EpochMs = EpochMs(1_700_000_000_000);

/// One deployment, and how much may happen to it.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) limit: u64,
    /// How tenants share the budget; `None` where it goes to whoever comes first.
    pub(crate) rule: Option<RuleBody>,
    /// For how many windows to come a region holds slices.
    pub(crate) standing: u64,
    /// For each isolate its region, and the tenant that asks there: empty where the budget is not shared.
    pub(crate) isolates: Vec<(usize, &'static str)>,
    /// Another limit and length of windows, of which each region hears in its own time.
    pub(crate) edited: Option<(u64, u64)>,
    /// The instants at which something happens, in milliseconds of the run.
    pub(crate) instants_ms: Vec<u64>,
    /// What has happened before, each step with all that it sets off.
    pub(crate) before: Vec<Step>,
    pub(crate) most: Faults,
    /// States after which no more are made of them, those that were made are looked at.
    pub(crate) states: usize,
    pub(crate) broken: Option<Broken>,
    /// What does not show outside counts too: rows that do not cover what is lent.
    pub(crate) inside: bool,
    pub(crate) found: Found,
}

/// How often each thing happens at most. What is not delivered is lost or late: that needs no number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Faults {
    /// Requests of one unit each.
    pub(crate) requests: u8,
    /// Requests that end before they are answered.
    pub(crate) endings: u8,
    /// Messages and answers that arrive once more.
    pub(crate) repeats: u8,
    /// Calls that their caller gives up, though they may still arrive, or be answered.
    pub(crate) expiries: u8,
    pub(crate) isolate_deaths: u8,
    pub(crate) region_crashes: u8,
    pub(crate) coordinator_crashes: u8,
    /// Lives of regions that another replaces while they go on.
    pub(crate) regions_replaced: u8,
    /// The same of the coordinator.
    pub(crate) coordinators_replaced: u8,
}

impl Faults {
    pub(crate) fn one_of_each() -> Self {
        Self {
            requests: 1,
            endings: 1,
            repeats: 1,
            expiries: 1,
            isolate_deaths: 1,
            region_crashes: 1,
            coordinator_crashes: 1,
            regions_replaced: 1,
            coordinators_replaced: 1,
        }
    }

    /// One of them happens.
    pub(crate) fn takes(&mut self, step: Step) {
        let left = match step {
            Step::Request { .. } => &mut self.requests,
            Step::RequestEnds { .. } => &mut self.endings,
            Step::Arrive { copied: true, .. } => &mut self.repeats,
            Step::IsolateGivesUp { .. } | Step::RegionGivesUp { .. } => &mut self.expiries,
            Step::IsolateDies { .. } => &mut self.isolate_deaths,
            Step::RegionCrashes { .. } => &mut self.region_crashes,
            Step::CoordinatorCrashes => &mut self.coordinator_crashes,
            Step::RegionReplaced { .. } => &mut self.regions_replaced,
            Step::CoordinatorReplaced => &mut self.coordinators_replaced,
            _ => return,
        };
        *left -= 1;
    }
}

impl Setup {
    /// A budget of `limit` units for whoever comes first.
    pub(crate) fn first_come(limit: u64, isolates: &[usize]) -> Self {
        Self {
            limit,
            rule: None,
            standing: 0,
            isolates: isolates.iter().map(|region| (*region, "")).collect(),
            edited: None,
            instants_ms: vec![0],
            before: Vec::new(),
            most: Faults::default(),
            states: usize::MAX,
            broken: None,
            inside: true,
            found: Found::default(),
        }
    }

    /// The same, shared by tenants of equal weight.
    pub(crate) fn shared(rule: RuleBody, limit: u64, isolates: &[(usize, &'static str)]) -> Self {
        Self {
            rule: Some(rule),
            isolates: isolates.to_vec(),
            ..Self::first_come(limit, &[])
        }
    }

    pub(crate) fn at(mut self, instants_ms: &[u64]) -> Self {
        self.instants_ms = instants_ms.to_vec();
        self
    }

    pub(crate) fn after(mut self, before: &[Step]) -> Self {
        self.before = before.to_vec();
        self
    }

    pub(crate) fn with(mut self, most: Faults) -> Self {
        self.most = most;
        self
    }

    pub(crate) fn standing(mut self, windows: u64) -> Self {
        self.standing = windows;
        self
    }

    /// The policy is edited: another limit, and windows of another length.
    pub(crate) fn edited(mut self, limit: u64, window_ms: u64) -> Self {
        self.edited = Some((limit, window_ms));
        self
    }

    /// The larger of both limits.
    pub(crate) fn most_units(&self) -> u64 {
        let edited = self.edited.map_or(0, |(limit, _)| limit);
        self.limit.max(edited)
    }

    /// Whether windows keep their length.
    pub(crate) fn keeps_windows(&self) -> bool {
        self.edited
            .is_none_or(|(_, window_ms)| window_ms == WINDOW_MS)
    }

    pub(crate) fn regions(&self) -> usize {
        let regions = self.isolates.iter().map(|(region, _)| region + 1);
        regions.max().unwrap_or(0)
    }

    /// The clock of an isolate.
    pub(crate) fn at_isolate(isolate: usize, now: EpochMs) -> EpochMs {
        now.plus(OFFSET_MS * (isolate as u64 + 1))
    }

    /// The clock of a region.
    pub(crate) fn at_region(region: usize, now: EpochMs) -> EpochMs {
        now.plus(2 * OFFSET_MS * (region as u64 + 1))
    }

    pub(crate) fn party(&self, isolate: usize) -> Party {
        let (_, name) = self.isolates[isolate];
        if name.is_empty() {
            return Party::Everyone;
        }
        Claimant::plain(name).into()
    }

    /// The terms, as who has heard of the edit knows them, or has not.
    pub(crate) fn terms(&self, heard: bool) -> Terms {
        let edited = self.edited.filter(|_| heard);
        let (limit, window_ms) = edited.unwrap_or((self.limit, WINDOW_MS));
        Terms {
            limit,
            window_ms,
            revision: Revision(1 + u64::from(edited.is_some())),
            cycle: None,
            sharing: self.rule.map(|rule| SharingBody {
                rule,
                tenants_max: 8,
                unknown_weight_max: Weight::WHOLE.micros(),
                floors: FloorsBody::default(),
            }),
            lease: None,
            standing: self.standing,
        }
    }
}
