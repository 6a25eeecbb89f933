//! What must always hold, and what must be possible.

use stateright::Property;

use weir_shared::ordered::OrderedSet;

use super::isolate::Isolate;
use super::setup::{Setup, WINDOW_MS};
use super::world::World;

/// More is admitted in a window than its limit: never.
pub(crate) const CAP: &str = "no window admits more than its limit";
pub(crate) const SPENDABLE: &str = "what was admitted and what can be spent are within the limit";
pub(crate) const LENT_COVERED: &str = "a region's row covers what its isolates have";
pub(crate) const HELD_COVERED: &str = "the coordinator's row covers what regions have";
pub(crate) const STEPS: &str = "no step breaks a rule";
pub(crate) const COVERED: &str =
    "a longer window counts what was admitted in the one that it takes the place of";
pub(crate) const FULL: &str = "a window can be used to the last unit";
pub(crate) const AHEAD: &str = "a window can be used before its parent has opened it";
pub(crate) const CRASHED: &str =
    "a window can be used to all but one block though the coordinator crashed";

/// What must always hold.
pub(crate) const ALWAYS: [&str; 6] = [CAP, SPENDABLE, LENT_COVERED, HELD_COVERED, STEPS, COVERED];

pub(crate) fn all() -> Vec<Property<Setup>> {
    vec![
        Property::always(CAP, |setup: &Setup, world: &World| {
            setup.found.state();
            let mut labels = world.truth.labels();
            let broken = labels.any(|label| world.truth.admitted(label) > setup.most_units());
            !setup.found.fails(CAP, broken)
        }),
        Property::always(SPENDABLE, |setup: &Setup, world: &World| {
            let mut labels = world.labels().into_iter();
            let broken = labels.any(|label| world.spendable(label) > setup.most_units());
            let broken = broken && setup.inside;
            !setup.found.fails(SPENDABLE, broken)
        }),
        Property::always(LENT_COVERED, |setup: &Setup, world: &World| {
            let mut regions = 0..world.regions.len();
            let broken = regions.any(|region| !world.lent_covered(region));
            let broken = broken && setup.inside;
            !setup.found.fails(LENT_COVERED, broken)
        }),
        Property::always(HELD_COVERED, |setup: &Setup, world: &World| {
            let broken = setup.inside && !world.held_covered();
            !setup.found.fails(HELD_COVERED, broken)
        }),
        Property::always(STEPS, |setup: &Setup, world: &World| {
            !setup.found.fails(STEPS, world.truth.wrong.is_some())
        }),
        Property::always(COVERED, |setup: &Setup, world: &World| {
            !setup.found.fails(COVERED, world.admits_twice(setup))
        }),
        Property::sometimes(FULL, |setup: &Setup, world: &World| {
            let mut labels = world.truth.labels();
            let full = labels.any(|label| world.truth.admitted(label) == setup.most_units());
            setup.found.first(FULL, full)
        }),
        Property::sometimes(AHEAD, |setup: &Setup, world: &World| {
            let opened = world.coordinator.stored().map_or(0, |row| row.label.0);
            let ahead = world.truth.labels().any(|label| label > opened);
            setup.found.first(AHEAD, ahead)
        }),
        Property::sometimes(CRASHED, |setup: &Setup, world: &World| {
            let label = world.truth.crashed_in;
            let used = label.is_some_and(|label| world.truth.admitted(label) + 1 >= setup.limit);
            setup.found.first(CRASHED, used)
        }),
    ]
}

impl World {
    /// Windows of which an isolate has units, or spent some.
    fn labels(&self) -> OrderedSet<u64> {
        let held = self.isolates.iter().flat_map(|isolate| {
            let holder = isolate.node.holder();
            let ahead = holder.ahead().iter().map(|ahead| ahead.label.0);
            ahead.chain(holder.lease().map(|lease| lease.label.0))
        });
        held.chain(self.truth.labels()).collect()
    }

    /// Units of a window that were admitted, and that isolates could spend without asking anyone.
    fn spendable(&self, label: u64) -> u64 {
        let held: u64 = self
            .isolates
            .iter()
            .map(|isolate| balance(isolate, label))
            .sum();
        self.truth.admitted(label) + held
    }

    /// Whether more than both limits was admitted since the beginning, which the open window covers by now.
    fn admits_twice(&self, setup: &Setup) -> bool {
        let row = self.coordinator.stored();
        let longer = row.is_some_and(|row| row.window_ms > WINDOW_MS);
        let admitted = self.truth.labels().map(|label| self.truth.admitted(label));
        longer && admitted.sum::<u64>() > setup.most_units()
    }

    fn lent_covered(&self, region: usize) -> bool {
        let row = self.regions[region].stored();
        let mut labels = self.labels().into_iter();
        labels.all(|label| {
            let isolates = self
                .isolates
                .iter()
                .filter(|isolate| isolate.region == region);
            let held: u64 = isolates.map(|isolate| balance(isolate, label)).sum();
            let units = held + self.truth.admitted_in(region, label);
            let covered = row.as_ref().map_or(0, |row| {
                if row.label.0 > label {
                    return u64::MAX;
                }
                let ahead = row.ahead.iter().find(|ahead| ahead.label.0 == label);
                let watermark = (row.label.0 == label).then_some(row.watermark);
                watermark.or(ahead.map(|ahead| ahead.lent)).unwrap_or(0)
            });
            units <= covered
        })
    }

    fn held_covered(&self) -> bool {
        let row = self.coordinator.stored();
        let rows = self.regions.iter().filter_map(|region| region.stored());
        let rows: Vec<_> = rows.collect();
        let ahead = rows.iter().flat_map(|row| row.ahead.iter());
        let labels = ahead
            .map(|ahead| ahead.label)
            .chain(rows.iter().map(|row| row.label));
        let labels: OrderedSet<_> = labels.collect();
        labels.into_iter().all(|label| {
            let held = rows.iter().map(|row| {
                let ahead = row.ahead.iter().find(|ahead| ahead.label == label);
                let held = (row.label == label).then_some(row.held);
                held.or(ahead.map(|ahead| ahead.units)).unwrap_or(0)
            });
            let units: u64 = held.sum();
            let covered = row.as_ref().map_or(0, |row| {
                if row.label > label {
                    return u64::MAX;
                }
                let ahead = row.ahead.get(&label).copied();
                let watermark = (row.label == label).then_some(row.watermark);
                watermark.or(ahead).unwrap_or(0)
            });
            units <= covered
        })
    }
}

/// Units of a window that an isolate could spend without asking anyone.
fn balance(isolate: &Isolate, label: u64) -> u64 {
    let holder = isolate.node.holder();
    let lease = holder.lease().filter(|lease| lease.label.0 == label);
    let ahead = holder.ahead().iter().filter(|ahead| ahead.label.0 == label);
    let ahead: u64 = ahead.map(|ahead| ahead.units).sum();
    lease.map_or(0, |lease| lease.balance()) + ahead
}
