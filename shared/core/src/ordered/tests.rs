//! What a map does is what `std`'s does, whatever is done to it.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;

use super::map::{JOINED_MAX, RUN_MAX};
use super::{OrderedMap, OrderedSet, sort_by_key};

/// Something done to a map. Keys are few, so that many are met again.
#[derive(Debug, Clone)]
enum Step {
    Insert(u16),
    Remove(u16),
    Add(u16),
    PopFirst,
    PopLast,
    RemoveFirst,
    Retain(u16),
    SplitOff(u16),
    Append(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..400_u16;
    prop_oneof![
        8 => key.clone().prop_map(Step::Insert),
        6 => key.clone().prop_map(Step::Remove),
        2 => key.clone().prop_map(Step::Add),
        1 => Just(Step::PopFirst),
        1 => Just(Step::PopLast),
        1 => Just(Step::RemoveFirst),
        1 => (1..9_u16).prop_map(Step::Retain),
        1 => key.clone().prop_map(Step::SplitOff),
        1 => key.prop_map(Step::Append),
    ]
}

fn apply(step: &Step, ours: &mut OrderedMap<u16, u32>, theirs: &mut BTreeMap<u16, u32>) {
    match *step {
        Step::Insert(key) => assert_eq!(
            ours.insert(key, u32::from(key)),
            theirs.insert(key, u32::from(key))
        ),
        Step::Remove(key) => assert_eq!(ours.remove(&key), theirs.remove(&key)),
        Step::Add(key) => {
            let added = ours.entry(key).and_modify(|value| *value += 1);
            let there = theirs.entry(key).and_modify(|value| *value += 1);
            assert_eq!(added.or_insert(7), there.or_insert(7));
        }
        Step::PopFirst => assert_eq!(ours.pop_first(), theirs.pop_first()),
        Step::PopLast => assert_eq!(ours.pop_last(), theirs.pop_last()),
        Step::RemoveFirst => assert_eq!(
            ours.first_entry()
                .map(|entry| (*entry.key(), entry.remove())),
            theirs
                .first_entry()
                .map(|entry| (*entry.key(), entry.remove()))
        ),
        Step::Retain(of) => {
            ours.retain(|key, _| key % of != 0);
            theirs.retain(|key, _| key % of != 0);
        }
        Step::SplitOff(key) => {
            let (ours_off, theirs_off) = (ours.split_off(&key), theirs.split_off(&key));
            assert_alike(&ours_off, &theirs_off);
            // What was taken off goes on where it is long, so that maps are not cut to nothing.
            if ours_off.len() > ours.len() {
                (*ours, *theirs) = (ours_off, theirs_off);
            }
        }
        Step::Append(from) => {
            let more = (from..from + 40).map(|key| (key, 1));
            ours.append(&mut more.clone().collect());
            theirs.append(&mut more.collect());
        }
    }
}

fn assert_alike(ours: &OrderedMap<u16, u32>, theirs: &BTreeMap<u16, u32>) {
    assert!(ours.iter().eq(theirs), "{ours:?} {theirs:?}");
    assert!(ours.iter().rev().eq(theirs.iter().rev()));
    assert!(ours.keys().eq(theirs.keys()) && ours.values().eq(theirs.values()));
    assert!(ours.clone().into_iter().eq(theirs.clone()));
    assert!(ours.clone().iter_mut().eq(theirs.clone().iter_mut()));
    assert_eq!(
        (ours.len(), ours.is_empty()),
        (theirs.len(), theirs.is_empty())
    );
    assert_eq!(ours.iter().len(), theirs.len());
    assert_eq!(ours.first_key_value(), theirs.first_key_value());
    assert_eq!(ours.last_key_value(), theirs.last_key_value());
    let runs = &ours.runs;
    assert!(runs.iter().all(|run| (1..=RUN_MAX).contains(&run.len())));
}

proptest! {
    #[test]
    fn a_map_does_what_a_b_tree_does(steps in vec(step(), 0..600)) {
        let (mut ours, mut theirs) = (OrderedMap::new(), BTreeMap::new());
        for step in &steps {
            apply(step, &mut ours, &mut theirs);
        }
        assert_alike(&ours, &theirs);
        for key in 0..401 {
            assert_eq!(ours.get(&key), theirs.get(&key));
            assert_eq!(ours.contains_key(&key), theirs.contains_key(&key));
            assert_eq!(ours.get_key_value(&key), theirs.get_key_value(&key));
        }
    }

    #[test]
    fn a_range_has_what_a_b_trees_has(keys in vec(0..400_u16, 0..300), from in 0..400_u16, more in 0..400_u16) {
        let (ours, theirs): (OrderedMap<_, _>, BTreeMap<_, _>) =
            (keys.iter().map(|key| (*key, ())).collect(), keys.iter().map(|key| (*key, ())).collect());
        let to = from + more;
        let between = [
            (Bound::Included(from), Bound::Excluded(to)),
            (Bound::Included(from), Bound::Included(to)),
            (Bound::Excluded(from), Bound::Included(to)),
            (Bound::Unbounded, Bound::Excluded(to)),
            (Bound::Excluded(from), Bound::Unbounded),
            (Bound::Unbounded, Bound::Unbounded),
        ];
        for range in between {
            assert!(ours.range(range).eq(theirs.range(range)), "{range:?}");
            assert!(ours.range(range).rev().eq(theirs.range(range).rev()), "{range:?}");
            assert_eq!(ours.range(range).len(), theirs.range(range).count());
        }
    }

    #[test]
    fn a_sort_does_what_stds_does(items in vec((0..20_u8, any::<u8>()), 0..200)) {
        let (mut ours, mut theirs) = (items.clone(), items);
        sort_by_key(&mut ours, |(key, _)| *key);
        theirs.sort_by_key(|(key, _)| *key);
        assert_eq!(ours, theirs);
    }

    #[test]
    fn maps_are_alike_however_they_came_to_be(keys in vec(0..400_u16, 0..300)) {
        let (mut long, mut short) = (OrderedSet::new(), OrderedSet::new());
        long.extend(0..400);
        long.retain(|key| keys.contains(key));
        short.extend(keys.iter().copied());
        assert_eq!(long, short);
        assert_eq!(long.cmp(&short), std::cmp::Ordering::Equal);
    }
}

#[test]
fn memory_follows_what_is_kept() {
    let mut map: OrderedMap<u32, ()> = (0..10_000).map(|key| (key, ())).collect();
    assert_eq!(
        map.runs.len(),
        10_000_usize.div_ceil(RUN_MAX),
        "in order they fill their runs"
    );
    map.retain(|key, ()| key % 16 == 0);
    let fullest = map.len().div_ceil(JOINED_MAX);
    assert!(
        map.runs.len() <= 2 * fullest,
        "{} runs of {}",
        map.runs.len(),
        map.len()
    );
    for key in 0..9_900 {
        map.remove(&key);
    }
    assert!(
        map.runs.len() <= 2,
        "{} runs of {}",
        map.runs.len(),
        map.len()
    );
}

#[test]
fn a_set_is_within_another_if_all_its_values_are() {
    let (few, more) = (OrderedSet::from([1, 3]), OrderedSet::from([1, 2, 3]));
    assert!(few.is_subset(&more) && more.is_superset(&few));
    assert!(!more.is_subset(&few) && !few.is_superset(&more));
    assert!(few.is_subset(&few) && OrderedSet::new().is_subset(&few));
}

#[test]
fn maps_and_sets_travel_as_stds_do() {
    let map = OrderedMap::from([("b", 1), ("a", 2)]);
    let text = serde_json::to_string(&map).unwrap();
    assert_eq!(text, r#"{"a":2,"b":1}"#);
    let read: OrderedMap<String, u8> = serde_json::from_str(r#"{"b":1,"a":1,"a":2}"#).unwrap();
    assert_eq!((read["a"], read["b"], read.len()), (2, 1, 2));
    let set: OrderedSet<u8> = serde_json::from_str("[3,1,3]").unwrap();
    assert_eq!(serde_json::to_string(&set).unwrap(), "[1,3]");
}
