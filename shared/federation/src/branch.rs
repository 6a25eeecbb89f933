//! Branches of a busy region: objects between the region's own and its isolates, which lend on what they hold as a region
//! does. Each holds units of the object above it, so units are passed on and never copied at any depth.
//!
//! Branches are numbered from 1 on; 0 is the region's own object. The object above branch `n` is number `(n - 1) / 32`, so
//! no object has more than [`BRANCH_CHILDREN_MAX`] branches below it, and no branch changes its place when others come or
//! go.

use std::ops::RangeInclusive;

use weir_core::limits::{
    BRANCH_AT_ISOLATES, BRANCH_CHILDREN_MAX, BRANCH_HEARD_MS, BRANCH_ISOLATES, BRANCH_MS,
    BRANCHES_MAX, HOLDERS_MAX,
};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId};

/// Stands between a region's name and a branch's number. Regions' names contain no slash.
const SEPARATOR: &str = "/branches/";

/// The name of a region's object of that number: the region's own for 0.
///
/// ```
/// use weir_federation::branch::name_of;
/// assert_eq!(name_of("weur", 0), "weur");
/// assert_eq!(name_of("weur", 7), "weur/branches/7");
/// ```
#[must_use]
pub fn name_of(region: &str, number: u32) -> String {
    match number {
        0 => region.to_owned(),
        _ => format!("{region}{SEPARATOR}{number}"),
    }
}

/// The region of an object of that name, and the object's number.
///
/// ```
/// use weir_federation::branch::of_name;
/// assert_eq!(of_name("weur"), ("weur", 0));
/// assert_eq!(of_name("weur/branches/7"), ("weur", 7));
/// // What is no number that a branch can have is no branch.
/// assert_eq!(of_name("weur/branches/x"), ("weur/branches/x", 0));
/// ```
#[must_use]
pub fn of_name(name: &str) -> (&str, u32) {
    let parts = name.split_once(SEPARATOR);
    let number = |text: &str| {
        let number = text.parse().ok()?;
        (1..=BRANCHES_MAX).contains(&number).then_some(number)
    };
    let branch = parts.and_then(|(region, text)| Some((region, number(text)?)));
    branch.unwrap_or((name, 0))
}

/// The number of the object above that branch.
///
/// ```
/// use weir_federation::branch::above;
/// assert_eq!([1, 32, 33, 64, 65].map(above), [0, 0, 1, 1, 2]);
/// ```
#[must_use]
pub fn above(branch: u32) -> u32 {
    branch.saturating_sub(1) / BRANCH_CHILDREN_MAX
}

/// The branches below the object of that number, where there are so many in all.
///
/// ```
/// use weir_federation::branch::below;
/// assert_eq!(below(0, 40), 1..=32);
/// assert_eq!(below(1, 40), 33..=40);
/// assert!(below(2, 40).is_empty());
/// ```
#[must_use]
pub fn below(number: u32, branches: u32) -> RangeInclusive<u32> {
    let first = number.saturating_mul(BRANCH_CHILDREN_MAX);
    let last = first.saturating_add(BRANCH_CHILDREN_MAX).min(branches);
    first.saturating_add(1)..=last
}

/// The branch that a holder asks where there are so many; 0, the region's own object, where there are none. If one more is
/// added, one holder in so many moves, and only to that one: Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash
/// Algorithm" (2014).
///
/// ```
/// use weir_core::units::HolderId;
/// use weir_federation::branch::branch_of;
/// assert_eq!(branch_of(HolderId(42), 0), 0);
/// assert_eq!(branch_of(HolderId(42), 1), 1);
/// let (five, six) = (branch_of(HolderId(42), 5), branch_of(HolderId(42), 6));
/// assert!(five == six || six == 6);
/// ```
#[must_use]
pub fn branch_of(holder: HolderId, branches: u32) -> u32 {
    const ONE: f64 = (1_u64 << 31) as f64;
    let mut key = holder.0;
    let (mut last, mut next) = (0, 0);
    while next < u64::from(branches) {
        last = next + 1;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = (last as f64 * (ONE / ((key >> 33) + 1) as f64)) as u64;
    }
    u32::try_from(last).unwrap_or(BRANCHES_MAX)
}

/// How many branches so many isolates take, where there are `present`: none for up to [`BRANCH_AT_ISOLATES`], else one for
/// each [`BRANCH_ISOLATES`]. There are more only once each present one would have twice as many isolates, and fewer only once
/// it has half as many, so the number does not swing.
///
/// ```
/// use weir_federation::branch::branches_for;
/// assert_eq!(branches_for(48, 0), 0);
/// assert_eq!(branches_for(49, 0), 3); // 49 / 24, rounded up
/// assert_eq!(branches_for(144, 3), 3); // 48 each
/// assert_eq!(branches_for(145, 3), 7);
/// assert_eq!(branches_for(36, 3), 3); // 12 each
/// assert_eq!(branches_for(35, 3), 2);
/// assert_eq!(branches_for(20, 2), 0); // one object is enough
/// ```
#[must_use]
pub fn branches_for(isolates: u64, present: u32) -> u32 {
    branches_by(isolates, present, BRANCH_ISOLATES)
}

fn branches_by(isolates: u64, present: u32, each: u64) -> u32 {
    let (each, objects) = (each.max(1), u64::from(present.max(1)));
    let grows = isolates > 2 * each * objects;
    let shrinks = present > 0 && 2 * isolates < each * objects;
    if !grows && !shrinks {
        return present;
    }
    let needed = isolates.div_ceil(each).min(BRANCHES_MAX.into());
    let needed = u32::try_from(needed).unwrap_or(BRANCHES_MAX);
    // One branch would do what the region's own object does.
    if needed == 1 { 0 } else { needed }
}

const _: () = assert!(BRANCH_AT_ISOLATES == 2 * BRANCH_ISOLATES);

/// Who below an object was heard of lately, and for how many isolates it speaks: an isolate for itself, a branch for all
/// below it.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    holders: OrderedMap<HolderId, (EpochMs, u64)>,
}

impl Heard {
    /// A holder was heard of that speaks for so many isolates.
    pub fn note(&mut self, holder: HolderId, isolates: u64, now: EpochMs) {
        if self.holders.len() >= HOLDERS_MAX && !self.holders.contains_key(&holder) {
            self.forget(now);
        }
        // Who finds no room is counted when there is some.
        if self.holders.len() < HOLDERS_MAX || self.holders.contains_key(&holder) {
            self.holders.insert(holder, (now, isolates));
        }
    }

    /// Isolates of which was heard within [`BRANCH_HEARD_MS`].
    pub fn isolates(&mut self, now: EpochMs) -> u64 {
        self.forget(now);
        let isolates = self.holders.values().map(|(_, isolates)| *isolates);
        isolates.fold(0, u64::saturating_add)
    }

    fn forget(&mut self, now: EpochMs) {
        let lately = |(at, _): &(EpochMs, u64)| now.since(*at) < BRANCH_HEARD_MS;
        self.holders.retain(|_, heard| lately(heard));
    }
}

/// How many branches a region has, as its own object decides.
#[derive(Debug, Clone)]
pub struct Branches {
    number: u32,
    /// Isolates that each is meant to have.
    each: u64,
    /// When this life began, or the number last changed.
    since: EpochMs,
}

impl Branches {
    /// Starts a life with the number that is durable; `each` is [`BRANCH_ISOLATES`] but where the deployment says otherwise.
    #[must_use]
    pub fn wake(number: u32, each: u64, now: EpochMs) -> Self {
        Self {
            number: number.min(BRANCHES_MAX),
            each,
            since: now,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The number to be made durable, where the isolates that were heard of take another one. It counts once it was
    /// [written](Branches::written). A life that has just begun has not heard of everybody, and isolates that were told of a
    /// change move first, so neither changes it for [`BRANCH_MS`].
    #[must_use]
    pub fn due(&self, heard: &mut Heard, now: EpochMs) -> Option<u32> {
        if now.since(self.since) < BRANCH_MS {
            return None;
        }
        let number = branches_by(heard.isolates(now), self.number, self.each);
        (number != self.number).then_some(number)
    }

    /// That number is durable.
    pub fn written(&mut self, number: u32, now: EpochMs) {
        (self.number, self.since) = (number, now);
    }
}

#[cfg(test)]
mod tests {
    use weir_core::ordered::OrderedSet;

    use super::*;

    #[test]
    fn the_tree_has_one_root_and_no_object_more_children_than_it_may() {
        let mut children: OrderedMap<u32, u32> = OrderedMap::new();
        for branch in 1..=5_000 {
            let above = above(branch);
            assert!(above < branch && below(above, 5_000).contains(&branch));
            *children.entry(above).or_default() += 1;
        }
        assert!(children.values().all(|count| *count <= BRANCH_CHILDREN_MAX));
        // 1 + 32 + 1,024 + 32,768: a region of ten thousand isolates is three objects deep.
        let depth = |mut branch| {
            let mut depth = 0;
            while branch > 0 {
                branch = above(branch);
                depth += 1;
            }
            depth
        };
        assert_eq!([1, 32, 33, 1_056, 1_057].map(depth), [1, 1, 2, 2, 3]);
    }

    #[test]
    fn names_are_read_as_they_were_written_and_nothing_else_is_a_branch() {
        for number in [0, 1, 9, 10, BRANCHES_MAX] {
            let name = name_of("weur", number);
            assert_eq!(of_name(&name), ("weur", number));
        }
        for name in [
            "weur/keys/3",
            "weur/answers",
            "weur/branches/",
            "weur/branches/0",
            "weur/branches/-1",
            "weur/branches/99999999",
        ] {
            assert_eq!(of_name(name), (name, 0));
        }
    }

    #[test]
    fn holders_spread_evenly_and_move_only_to_what_is_new() {
        let holders: Vec<HolderId> = (0..20_000_u64)
            .map(|n| HolderId(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        for branches in [2, 3, 7, 40] {
            let mut each: OrderedMap<u32, u64> = OrderedMap::new();
            for holder in &holders {
                *each.entry(branch_of(*holder, branches)).or_default() += 1;
            }
            let fair = holders.len() as u64 / u64::from(branches);
            let keys: OrderedSet<u32> = each.keys().copied().collect();
            assert_eq!(keys, (1..=branches).collect());
            let spread = each.values().all(|count| count.abs_diff(fair) < fair / 4);
            assert!(spread, "{branches}: {each:?}");
        }
        for branches in 1..40 {
            for holder in &holders[..500] {
                let (before, after) = (
                    branch_of(*holder, branches),
                    branch_of(*holder, branches + 1),
                );
                assert!(before == after || after == branches + 1);
            }
        }
    }

    #[test]
    fn a_region_branches_by_who_was_heard_of_and_not_back_and_forth() {
        let at = |ms| EpochMs(100_000 + ms);
        let mut heard = Heard::default();
        let mut branches = Branches::wake(0, BRANCH_ISOLATES, at(0));
        let hear = |heard: &mut Heard, now| {
            (0..60).for_each(|isolate| heard.note(HolderId(isolate), 1, now));
        };
        hear(&mut heard, at(0));
        assert_eq!(
            branches.due(&mut heard, at(BRANCH_MS - 1)),
            None,
            "too soon"
        );
        hear(&mut heard, at(BRANCH_MS));
        assert_eq!(branches.due(&mut heard, at(BRANCH_MS)), Some(3));
        assert_eq!(branches.number(), 0, "until it is written");
        branches.written(3, at(BRANCH_MS));
        // All have moved, and are told of by branches as well while their own word is still fresh.
        let later = at(BRANCH_MS + 1_000);
        (1..=3).for_each(|branch| heard.note(HolderId(1_000 + branch), 20, later));
        assert_eq!(heard.isolates(later), 120);
        let later = at(2 * BRANCH_MS);
        (1..=3).for_each(|branch| heard.note(HolderId(1_000 + branch), 20, later));
        assert_eq!(heard.isolates(later), 60);
        assert_eq!(branches.due(&mut heard, later), None);
        // Nobody asks any more.
        assert_eq!(branches.due(&mut heard, at(4 * BRANCH_MS)), Some(0));
    }

    #[test]
    fn as_many_holders_are_counted_as_are_remembered() {
        let mut heard = Heard::default();
        let at = EpochMs(5);
        let holders = HOLDERS_MAX as u64;
        (0..=holders).for_each(|holder| heard.note(HolderId(holder), 1, at));
        assert_eq!(heard.isolates(at), holders);
        let later = at.plus(BRANCH_HEARD_MS);
        heard.note(HolderId(holders), 2, later);
        assert_eq!(heard.isolates(later), 2);
    }
}
