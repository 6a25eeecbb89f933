use super::*;

fn come(classes: &mut Classes, key: ClassKey) {
    classes.weigh(key);
    let id = classes.id(key);
    classes.enter(id);
}

#[test]
fn those_that_are_carried_weigh_until_they_are_dropped_named_or_not() {
    let key = |known| ClassKey {
        known,
        weight: 1_000_000,
        floor: Floor::default(),
        ceiling: u64::MAX,
    };
    for carried in [true, false] {
        let mut classes = Classes::new(9_000_000, 0);
        let carried = key(carried);
        for _ in 0..3 {
            come(&mut classes, carried);
        }
        classes.roll(true);
        let one = key(false);
        come(&mut classes, one);
        assert_eq!(classes.basis(None, 100, 100).guarantee(one), 25);
        classes.drop_carried();
        assert_eq!(classes.basis(None, 100, 100).guarantee(one), 100);
        let sum = [classes.weights.known, classes.weights.unknown];
        assert_eq!(sum, [0, 1_000_000]);
    }
}

#[test]
fn when_those_that_are_carried_have_gone_who_is_there_has_what_they_were_guaranteed_though_it_was_nothing()
 {
    let key = ClassKey {
        known: true,
        weight: 1_000_000,
        floor: Floor::default(),
        ceiling: u64::MAX,
    };
    for (limit, now) in [(2, 0), (8, 2)] {
        let mut classes = Classes::new(1_000_000, 0);
        for _ in 0..3 {
            come(&mut classes, key);
        }
        classes.roll(true);
        come(&mut classes, key);
        classes.stand(limit, limit);
        assert_eq!(classes.now().guarantee(key), now);
        assert_eq!(classes.later().guarantee(key), limit);
    }
}

#[test]
fn a_class_is_forgotten_when_none_of_its_tenants_is_there_or_carried() {
    let key = ClassKey {
        known: true,
        weight: 1_000_000,
        floor: Floor::default(),
        ceiling: u64::MAX,
    };
    for (members, carried, kept) in [(0, 0, 0), (1, 0, 1), (0, 1, 1)] {
        let mut classes = Classes::new(1_000_000, 0);
        let id = classes.id(key);
        let class = classes.get_mut(id).expect("it was just made");
        (class.members, class.carried) = (members, carried);
        classes.stand(100, 100);
        assert_eq!(classes.by_key.len(), kept, "{members}, {carried}");
    }
}

#[test]
fn a_class_keeps_its_number_while_it_has_tenants_and_leaves_it_to_the_next() {
    let key = |weight| ClassKey {
        known: true,
        weight,
        floor: Floor::default(),
        ceiling: u64::MAX,
    };
    let mut classes = Classes::new(1_000_000, 0);
    for weight in 1..=3 {
        come(&mut classes, key(weight));
    }
    let [one, two, three] = [1, 2, 3].map(|weight| classes.id(key(weight)));
    classes.unweigh(key(2));
    classes.leave(two, None);
    classes.stand(100, 100);
    come(&mut classes, key(4));
    assert_eq!(classes.id(key(4)), two, "its place is taken");
    assert_eq!([1, 3].map(|weight| classes.id(key(weight))), [one, three]);
    let stands = classes.stand(80, 80);
    // 80 / 8 = 10 a unit of weight.
    assert_eq!(
        [one, two, three].map(|id| classes.guarantee(id)),
        [10, 40, 30]
    );
    assert_eq!((stands.members, stands.carried), (0, 0), "nobody is placed");
}
