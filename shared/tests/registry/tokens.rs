//! Tokens: made with a name of their own, shown once, marked as used, and revoked with all that they opened.

use serde_json::Value;
use weir_shared::access::token::{Token, TokenKey};
use weir_shared::limits::{TOKEN_USE_MS, TOKENS_MAX};
use weir_shared::node::registry::{Failure, Part, RegistryCall, Reply, Report, TokenColumns};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{BOOTSTRAP, TokenUse, TokenView};
use weir_shared::wire::registry::{
    Created, EndSession, ListTokens, ReadPolicy, RevokeToken, Revoked,
};
use weir_shared::wire::role::Role;

use super::world::{World, ada, create, database};

fn listed(world: &mut World) -> Vec<TokenView> {
    match world.ask(RegistryCall::ListTokens(ListTokens {})) {
        Ok(Reply::Tokens(tokens)) => tokens,
        other => panic!("no tokens: {other:?}"),
    }
}

fn revoke(id: &str) -> RegistryCall {
    RegistryCall::RevokeToken(RevokeToken {
        id: id.to_owned(),
        author: ada(),
    })
}

fn last_record(world: &World) -> Value {
    let (_, row) = world.table.audit.last_key_value().unwrap();
    serde_json::from_str(row.body.as_deref().unwrap()).unwrap()
}

fn used(world: &mut World, id: &str, at: EpochMs, uses: u64) {
    world.read_beyond(ReadPolicy {
        policy_revision: Revision(1),
        region: "weur".to_owned(),
        tokens_used: vec![TokenUse {
            id: id.to_owned(),
            at,
            uses,
        }],
        ..ReadPolicy::default()
    });
}

#[test]
fn a_token_is_made_with_the_key_that_regions_are_told_and_kept_without_its_text() {
    let mut world = World::awake();
    let before = world.read().access.unwrap().revision;
    let made = world.created("service");
    let access = world.sent[0].rules.access.clone().unwrap();
    assert_eq!(access.revision, Revision(before.0 + 1));
    let key = TokenKey::from_text(&access.key).unwrap();
    let opened = Token::open(&key, &made.token).unwrap();
    assert_eq!(
        (opened.id(), access.tokens.len()),
        (made.view.id.as_str(), 1)
    );
    assert!(opened.has_hash(&access.tokens[0].hash));
    assert!(!format!("{:?}", world.table).contains(&made.token));
    assert_eq!(listed(&mut world), [made.view]);
}

#[test]
fn a_name_is_one_live_tokens_and_never_the_deployments() {
    let mut world = World::awake();
    let id = world.created("service").view.id;
    for name in ["service", "deployment"] {
        let taken = Created::Taken {
            name: name.to_owned(),
        };
        assert_eq!(world.ask(create(name)), Ok(Reply::Created(taken)));
        assert_eq!(last_record(&world)["after"]["refused"], "taken");
        assert_eq!(last_record(&world)["after"]["asked"]["name"], name);
    }
    assert_eq!(world.ask(revoke(&id)), Ok(Reply::Revoked(Revoked::Done)));
    world.created("service");
}

#[test]
fn there_are_no_more_tokens_than_there_may_be() {
    let mut world = World::awake();
    for number in 0..TOKENS_MAX {
        let id = format!("damaged-{number}");
        let row = TokenColumns {
            id: Some(id.clone()),
            ..TokenColumns::default()
        };
        world.table.tokens.insert(id, row);
    }
    let full = Created::Full { max: TOKENS_MAX };
    assert_eq!(world.ask(create("service")), Ok(Reply::Created(full)));
    assert!(world.sent.is_empty());
    assert_eq!(last_record(&world)["after"]["max"], TOKENS_MAX);
}

#[test]
fn a_revoked_token_goes_with_its_sessions_and_one_that_is_not_there_changes_nothing() {
    let mut world = World::awake();
    let id = world.created("service").view.id;
    let session = |token: &str| {
        RegistryCall::EndSession(EndSession {
            token: token.to_owned(),
            id: "s1".to_owned(),
            expires_at: EpochMs(1_700_000_100_000),
            author: ada(),
        })
    };
    for token in [id.as_str(), "another"] {
        world.ask(session(token)).unwrap();
    }
    assert_eq!(world.ask(revoke(&id)), Ok(Reply::Revoked(Revoked::Done)));
    let left: Vec<_> = world
        .table
        .ended
        .keys()
        .map(|(token, _)| token.as_str())
        .collect();
    assert_eq!(left, ["another"]);
    let told = world.sent.last().unwrap().rules.access.as_ref().unwrap();
    assert_eq!((told.tokens.len(), told.ended.len()), (0, 1));
    let (before, pushes) = (world.table.clone(), world.sent.len());
    assert_eq!(world.ask(revoke(&id)), Ok(Reply::Revoked(Revoked::Unknown)));
    assert_eq!(
        (&world.table.access, world.sent.len()),
        (&before.access, pushes)
    );
    assert_eq!(last_record(&world)["after"]["refused"], "unknown");
}

#[test]
fn the_bootstrap_token_is_let_in_until_there_is_an_admins_and_by_no_other_role() {
    let created = |role| {
        let RegistryCall::CreateToken(mut call) = create("new") else {
            panic!("a token is made");
        };
        call.token.role = role;
        let mut world = World::awake();
        world.ask(RegistryCall::CreateToken(call)).unwrap();
        let access = world.read().access.unwrap();
        assert_eq!(access.tokens.len(), 1);
        access.bootstrap
    };
    assert!(created(Role::Viewer) && created(Role::Service));
    assert!(!created(Role::Admin));
}

#[test]
fn a_key_of_tokens_that_is_gone_is_made_anew_while_no_token_rests_on_it_and_else_is_not() {
    let mut world = World::awake();
    let before = world.table.access.take().unwrap();
    world.read();
    let after = world.table.access.clone().unwrap();
    assert_ne!(after.key, before.key);
    world.created("service");
    world.table.access = None;
    world.table.seals.clear();
    world.die();
    assert!(world.read().access.is_none());
    assert_eq!(world.table.access, None, "every token would be void");
}

#[test]
fn a_token_that_cannot_be_read_opens_nothing_and_keeps_the_bootstrap_token_out() {
    let mut world = World::awake();
    assert!(world.read().access.unwrap().bootstrap);
    let id = world.created("service").view.id;
    world.table.tokens.get_mut(&id).unwrap().body = Some("{}".to_owned());
    let access = world.read().access.unwrap();
    assert!(access.tokens.is_empty() && !access.bootstrap);
    assert!(listed(&mut world).is_empty());
    let damaged = |report: &&Report| {
        matches!(
            report,
            Report::Damaged {
                table: "tokens",
                ..
            }
        )
    };
    assert_eq!(world.reports.iter().filter(damaged).count(), 2);
    // It can be revoked as any other.
    assert_eq!(world.ask(revoke(&id)), Ok(Reply::Revoked(Revoked::Done)));
    assert!(last_record(&world)["before"]["damaged"].is_string());
}

#[test]
fn where_the_key_cannot_be_read_nobody_is_told_of_tokens_until_a_change_makes_another() {
    let mut world = World::awake();
    let old = world.created("service");
    world.table.access.as_mut().unwrap().key = None;
    let rules = world.read();
    assert!(rules.policy.is_some() && rules.access.is_none());
    let left_out = Report::LeftOut {
        part: Part::Access,
        failure: Failure::NoTokenKey,
    };
    assert!(world.reports.contains(&left_out));
    world.created("another");
    assert_eq!(last_record(&world)["after"]["key"], "made anew");
    let access = world.read().access.unwrap();
    assert!(
        access.revision.0 > world.now.0,
        "no region has seen a later one"
    );
    let key = TokenKey::from_text(&access.key).unwrap();
    assert!(Token::open(&key, &old.token).is_err());
}

#[test]
fn when_a_token_was_last_used_is_known_to_within_a_minute() {
    let mut world = World::awake();
    let id = world.created("service").view.id;
    let first = world.now;
    used(&mut world, &id, first, 1);
    for (after_ms, known) in [
        (TOKEN_USE_MS - 1, first),
        (TOKEN_USE_MS, first.plus(TOKEN_USE_MS)),
    ] {
        world.now = first.plus(after_ms);
        // No use is later than now, whatever a region's clock says.
        let at = EpochMs(u64::MAX);
        used(&mut world, &id, at, 1);
        assert_eq!(listed(&mut world)[0].last_used, Some(known.0));
    }
}

#[test]
fn uses_of_the_bootstrap_token_are_one_record_a_minute_and_none_is_lost() {
    let mut world = World::awake();
    let now = world.now;
    used(&mut world, BOOTSTRAP, now, 2);
    used(&mut world, BOOTSTRAP, now, 3);
    let uses = |world: &World| last_record(world)["after"]["uses"].clone();
    assert_eq!(uses(&world), 2);
    world.pass(TOKEN_USE_MS);
    world.fails_after = Some(0);
    let now = world.now;
    used(&mut world, BOOTSTRAP, now, 4);
    let part = Part::Uses;
    let failure = database("disk full");
    assert_eq!(world.reports, [Report::LeftOut { part, failure }]);
    used(&mut world, BOOTSTRAP, now, 0);
    assert_eq!(uses(&world), 7);
    assert_eq!(last_record(&world)["target"], "weur");
}
