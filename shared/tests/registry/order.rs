//! The order in which a registry writes, tells and answers.

use weir_shared::node::registry::{Effect, Event, Part, Put, Reply, Report};
use weir_shared::units::Revision;
use weir_shared::wire::access::{BOOTSTRAP, TokenUse};
use weir_shared::wire::registry::{Created, ReadPolicy, Saved};

use super::world::{World, create, database, save};

fn persisted(effects: &[Effect<u8>]) -> Vec<Put> {
    match effects {
        [Effect::Persist(puts)] => puts.clone(),
        other => panic!("not a write alone: {other:?}"),
    }
}

#[test]
fn a_change_and_its_record_are_one_write_and_the_answer_comes_behind_it_and_the_regions() {
    let mut world = World::awake();
    let event = world.asked(1, save(1, 50));
    let puts = persisted(&world.step(event));
    assert!(matches!(
        puts[..],
        [
            Put::Policy { .. },
            Put::DropPolicies { .. },
            Put::Record { .. },
            Put::Head(_)
        ]
    ));
    world.table.write(puts);
    let effects = world.step(Event::Persisted);
    let [Effect::Send(news), Effect::Reply(1, reply)] = &effects[..] else {
        panic!("not told and then answered: {effects:?}");
    };
    let told = news.rules.policy.as_ref().unwrap();
    assert_eq!(told.revision, Revision(2));
    assert_eq!(news.regions.len(), 2);
    let Reply::Saved(Saved::Done(saved)) = &**reply else {
        panic!("not saved: {reply:?}");
    };
    assert_eq!(&**saved, told);
}

#[test]
fn a_write_that_fails_changes_nothing_and_is_answered_with_the_error() {
    for ask in [save(1, 50), create("service")] {
        let mut world = World::awake();
        let before = world.table.clone();
        world.fails_after = Some(0);
        let failure = world.ask(ask.clone()).unwrap_err();
        assert_eq!(failure, Some(database("disk full")));
        assert_eq!((&world.table, world.sent.len()), (&before, 0));
        // What is in memory is what it was: the same again succeeds, with the next number.
        let reply = world.ask(ask).unwrap();
        match reply {
            Reply::Saved(Saved::Done(saved)) => assert_eq!(saved.revision, Revision(2)),
            Reply::Created(Created::Done(_)) => {}
            other => panic!("refused: {other:?}"),
        }
        assert!(world.verified().intact);
    }
}

#[test]
fn of_two_edits_of_one_revision_the_second_is_refused_while_the_first_is_written() {
    let mut world = World::awake();
    let (first, second) = (world.asked(1, save(1, 50)), world.asked(2, save(1, 60)));
    let puts = persisted(&world.step(first));
    assert_eq!(
        world.step(second),
        [],
        "nothing reads rows that are not there"
    );
    world.table.write(puts);
    let effects = world.step(Event::Persisted);
    let [Effect::Send(_), Effect::Reply(1, _), Effect::Persist(puts)] = &effects[..] else {
        panic!("not the first, and the record of the second: {effects:?}");
    };
    assert!(matches!(puts[..], [Put::Record { .. }, Put::Head(_)]));
    world.table.write(puts.clone());
    let moved = Saved::Moved {
        revision: Revision(2),
        tag: None,
    };
    let reply = Effect::Reply(2, Box::new(Reply::Saved(moved)));
    assert_eq!(world.step(Event::Persisted), [reply]);
    assert_eq!(
        world.actions(),
        [
            "policy.ship done",
            "policy.save done",
            "policy.save refused"
        ]
    );
}

#[test]
fn an_edit_that_comes_while_another_fails_is_made_in_its_place() {
    let mut world = World::awake();
    let (first, second) = (world.asked(1, save(1, 50)), world.asked(2, save(1, 60)));
    let _unwritten = persisted(&world.step(first));
    assert_eq!(world.step(second), []);
    let effects = world.step(Event::NotPersisted(database("disk full")));
    let [Effect::Fail(1, failure), Effect::Persist(puts)] = &effects[..] else {
        panic!("not the failure, and the second: {effects:?}");
    };
    assert_eq!(failure, &database("disk full"));
    world.table.write(puts.clone());
    let effects = world.step(Event::Persisted);
    assert!(matches!(
        effects[..],
        [Effect::Send(_), Effect::Reply(2, _)]
    ));
    assert_eq!(
        world.read().policy.unwrap().document.budgets["tokens"].limit,
        Some(60)
    );
}

#[test]
fn what_is_written_of_itself_is_of_no_consequence() {
    let mut world = World::awake();
    assert_eq!(world.step(Event::Persisted), []);
    assert_eq!(world.step(Event::NotPersisted(database("late"))), []);
    assert_eq!(world.saved(save(1, 50)), world.told());
}

impl World {
    /// What regions were told last, as its author is answered.
    fn told(&self) -> Saved {
        let news = self.sent.last().unwrap();
        Saved::Done(Box::new(news.rules.policy.clone().unwrap()))
    }
}

#[test]
fn a_part_of_what_is_read_that_fails_keeps_the_others_back_not() {
    // The first write is that of the uses, the second the policy, the third the key.
    let parts = [Part::Uses, Part::Policy, Part::Access];
    for (writes, part) in parts.into_iter().enumerate() {
        let mut world = World {
            fails_after: Some(writes as u64),
            ..World::default()
        };
        let call = ReadPolicy {
            region: "weur".to_owned(),
            tokens_used: vec![TokenUse {
                id: BOOTSTRAP.to_owned(),
                at: world.now,
                uses: 3,
            }],
            ..ReadPolicy::default()
        };
        let rules = world.read_beyond(call);
        assert_eq!(rules.policy.is_some(), part != Part::Policy);
        assert_eq!(rules.access.is_some(), part != Part::Access);
        let failure = database("disk full");
        assert_eq!(world.reports, [Report::LeftOut { part, failure }]);
        // The next who asks has it all, and uses that were not recorded are.
        let rules = world.read_beyond(ReadPolicy {
            region: "weur".to_owned(),
            ..ReadPolicy::default()
        });
        assert!(rules.policy.is_some() && rules.access.is_some());
        let uses = world.actions();
        let uses = uses.iter().filter(|action| *action == "bootstrap.use done");
        assert_eq!(uses.count(), 1);
        assert!(world.verified().intact);
    }
}
