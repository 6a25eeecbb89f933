//! Sessions: one ends by its name, all by another key, and what cannot be read ends them all.

use weir_shared::limits::{SEAL_KEPT_MS, SEALS_MAX, SESSIONS_ENDED_MAX};
use weir_shared::node::registry::{EndedColumns, RegistryCall, Reply};
use weir_shared::units::EpochMs;
use weir_shared::wire::registry::{Done, EndSession, EndSessions};

use super::world::{World, ada};

fn end(world: &mut World, id: &str) {
    let ask = RegistryCall::EndSession(EndSession {
        token: "k1".to_owned(),
        id: id.to_owned(),
        expires_at: world.now.plus(10_000),
        author: ada(),
    });
    assert_eq!(world.ask(ask), Ok(Reply::Done(Done {})));
}

fn end_all(world: &mut World) {
    let ask = RegistryCall::EndSessions(EndSessions { author: ada() });
    assert_eq!(world.ask(ask), Ok(Reply::Done(Done {})));
}

#[test]
fn a_session_ends_once_and_is_forgotten_when_it_would_have_ended_by_itself() {
    let mut world = World::awake();
    end(&mut world, "s1");
    end(&mut world, "s1");
    assert_eq!((world.sent.len(), world.table.audit.len()), (1, 2), "once");
    let told = world.sent[0].rules.access.as_ref().unwrap();
    assert_eq!(told.ended[0].id.as_deref(), Some("s1"));
    world.pass(10_000);
    assert!(world.read().access.unwrap().ended.is_empty());
    end(&mut world, "s2");
    assert_eq!(world.table.ended.len(), 1, "its row is gone with the next");
}

#[test]
fn too_many_ended_sessions_of_one_token_become_the_end_of_all_of_them() {
    let mut world = World::awake();
    for number in 0..SESSIONS_ENDED_MAX {
        let id = format!("s{number}");
        let row = EndedColumns {
            token: Some("k1".to_owned()),
            id: Some(id.clone()),
            expires_at: Some(world.now.0 + 10_000),
        };
        world.table.ended.insert(("k1".to_owned(), id), row);
    }
    end(&mut world, "one more");
    let left: Vec<_> = world.table.ended.keys().collect();
    assert_eq!(left, [&("k1".to_owned(), String::new())]);
    let (_, row) = world.table.audit.last_key_value().unwrap();
    assert!(row.body.as_ref().unwrap().contains(r#""all_of":"k1""#));
}

#[test]
fn all_sessions_end_by_another_key_and_the_one_before_opens_for_a_while() {
    let mut world = World::awake();
    end(&mut world, "s1");
    let before = world.read().access.unwrap().seals;
    end_all(&mut world);
    let access = world.read().access.unwrap();
    assert!(access.ended.is_empty());
    assert_eq!((access.seals[0].version, access.seals[0].until), (2, None));
    assert_ne!(access.seals[0].key, before[0].key);
    assert_eq!(access.seals[1].key, before[0].key);
    assert_eq!(access.seals[1].until, Some(world.now.plus(SEAL_KEPT_MS)));
    world.pass(SEAL_KEPT_MS);
    end_all(&mut world);
    let versions = |world: &World| world.table.seals.keys().copied().collect::<Vec<_>>();
    assert_eq!(versions(&world), [2, 3], "the first opens nothing any more");
    for _ in 0..2 * SEALS_MAX {
        end_all(&mut world);
    }
    assert_eq!(versions(&world).len(), SEALS_MAX);
}

#[test]
fn a_key_or_an_ended_session_that_cannot_be_read_ends_all_sessions_once() {
    let damage: [fn(&mut World); 3] = [
        |world| world.table.seals.clear(),
        |world| world.table.seals.get_mut(&1).unwrap().key = Some("short".to_owned()),
        |world| {
            let row = world.table.ended.values_mut().next().unwrap();
            row.expires_at = None;
        },
    ];
    for damage in damage {
        let mut world = World::awake();
        end(&mut world, "s1");
        let before = world.read().access.unwrap();
        damage(&mut world);
        // The registry looks when it wakes.
        world.die();
        let after = world.read().access.unwrap();
        assert!(after.revision > before.revision && after.ended.is_empty());
        assert_ne!(after.seals[0].key, before.seals[0].key);
        world.die();
        assert_eq!(world.read().access.unwrap(), after);
    }
}

#[test]
fn the_first_key_ends_nothing_and_has_no_record() {
    let mut world = World::awake();
    assert_eq!(world.read().access.unwrap().seals.len(), 1);
    assert_eq!(world.actions(), ["policy.ship done"]);
    world.now = EpochMs(world.now.0 + 1);
    end_all(&mut world);
    assert_eq!(
        world.actions(),
        ["policy.ship done", "sessions.revoke done"]
    );
}
