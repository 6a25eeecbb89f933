//! Policies: the first is the one that is shipped, the newest that can be read is in force, and the oldest are given up.

use serde_json::{Value, json};
use weir_shared::audit::tag::tenant_tag;
use weir_shared::limits::{DAY_MS, POLICIES_PER_DAY_MAX, POLICY_REVISIONS_MAX};
use weir_shared::node::registry::{Failure, Part, RegistryCall, Reply, Report};
use weir_shared::units::Revision;
use weir_shared::wire::registry::{DeleteTenant, PatchTenant, ReadPolicy, Saved};

use super::table::shipped;
use super::world::{World, ada, save, save_document};

fn revision(saved: &Saved) -> u64 {
    match saved {
        Saved::Done(saved) => saved.revision.0,
        other => panic!("not saved: {other:?}"),
    }
}

fn last_record(world: &World) -> Value {
    let (_, row) = world.table.audit.last_key_value().unwrap();
    serde_json::from_str(row.body.as_deref().unwrap()).unwrap()
}

#[test]
fn an_empty_registry_ships_its_policy_once_and_says_so() {
    let mut world = World::awake();
    let rules = world.read();
    let policy = rules.policy.unwrap();
    assert_eq!((policy.revision, policy.document), (Revision(1), shipped()));
    assert!(policy.placement.is_some());
    world.die();
    assert_eq!(world.read().policy.unwrap().placement, policy.placement);
    assert_eq!(world.actions(), ["policy.ship done"]);
    assert_eq!(last_record(&world)["actor"], "deployment");
}

#[test]
fn who_has_the_policy_is_not_sent_it_again_and_ships_none() {
    let mut world = World::awake();
    let ask = |revision| ReadPolicy {
        policy_revision: Revision(revision),
        ..ReadPolicy::default()
    };
    assert!(world.read_beyond(ask(1)).policy.is_none());
    world.saved(save(1, 50));
    assert_eq!(
        world.read_beyond(ask(1)).policy.unwrap().revision,
        Revision(2)
    );
    // A registry whose rows are lost has nothing newer than what regions have.
    let mut world = World::default();
    assert!(world.read_beyond(ask(7)).policy.is_none());
    assert!(world.table.policies.is_empty());
}

#[test]
fn no_document_is_read_for_who_has_the_policy_in_force() {
    let mut world = World::awake();
    world.table.policies.get_mut(&1).unwrap().document = None;
    for revision in [1, 2] {
        let ask = ReadPolicy {
            policy_revision: Revision(revision),
            ..ReadPolicy::default()
        };
        assert!(world.read_beyond(ask).policy.is_none());
    }
    assert_eq!(world.reports, []);
}

#[test]
fn a_policy_that_cannot_be_read_leaves_the_one_before_in_force_under_a_number_of_its_own() {
    let mut world = World::awake();
    world.saved(save(1, 50));
    world.table.policies.get_mut(&2).unwrap().document = Some("{".to_owned());
    assert_eq!(world.read().policy.unwrap().revision, Revision(1));
    let [
        Report::Damaged {
            table: "policies", ..
        },
    ] = world.reports[..]
    else {
        panic!("not reported: {:?}", world.reports);
    };
    assert_eq!(revision(&world.saved(save(1, 60))), 3);
}

#[test]
fn where_no_policy_can_be_read_only_an_edit_that_takes_whatever_there_is_saves_another() {
    let mut world = World::awake();
    world.table.policies.get_mut(&1).unwrap().document = None;
    let rules = world.read();
    assert!(rules.policy.is_none() && rules.access.is_some());
    let left_out = Report::LeftOut {
        part: Part::Policy,
        failure: Failure::NoPolicy,
    };
    assert!(world.reports.contains(&left_out));
    assert_eq!(world.ask(save(1, 50)), Err(Some(Failure::NoPolicy)));
    let saved = world.saved(save_document(None, shipped()));
    assert_eq!(revision(&saved), 2);
    assert_eq!(world.read().policy.unwrap().revision, Revision(2));
}

#[test]
fn a_tenant_is_changed_as_its_author_saw_it_or_not_at_all() {
    let mut world = World::awake();
    let tag = tenant_tag(&shipped(), "ada");
    let patch = |expected: &str| {
        let patch = serde_json::from_value(json!({ "weight": 3 })).unwrap();
        RegistryCall::PatchTenant(Box::new(PatchTenant {
            tenant: "ada".to_owned(),
            patch,
            expected: Some(expected.to_owned()),
            author: ada(),
        }))
    };
    let delete = |expected: Option<&str>| {
        RegistryCall::DeleteTenant(DeleteTenant {
            tenant: "ada".to_owned(),
            expected: expected.map(str::to_owned),
            author: ada(),
        })
    };
    assert_eq!(revision(&world.saved(patch(&tag))), 2);
    for ask in [patch(&tag), delete(Some(&tag))] {
        let Saved::Moved {
            revision,
            tag: Some(now),
        } = world.saved(ask)
        else {
            panic!("the tenant is another");
        };
        assert_eq!(revision, Revision(2));
        assert_ne!(now, tag);
    }
    assert_eq!(revision(&world.saved(delete(None))), 3);
    assert_eq!(world.saved(delete(Some(&tag))), Saved::Unknown);
    let record = last_record(&world);
    assert_eq!(
        (&record["action"], &record["target"]),
        (&json!("tenant.delete"), &json!("ada"))
    );
    assert_eq!(record["after"], json!({ "refused": "unknown" }));
}

#[test]
fn what_would_not_be_a_policy_is_refused_with_the_field_and_recorded() {
    let mut world = World::awake();
    let before = world.table.policies.clone();
    let Saved::Invalid { field, message } = world.saved(save(1, 0)) else {
        panic!("no window of nothing");
    };
    assert_eq!(field, "/budgets/tokens/limit");
    let why = json!({ "refused": "invalid", "field": field, "message": message });
    let record = last_record(&world);
    assert_eq!(
        (&record["outcome"], &record["after"]),
        (&json!("refused"), &why)
    );
    assert_eq!(world.table.policies, before);
}

#[test]
fn the_oldest_policies_are_given_up_with_their_handovers() {
    let mut world = World::awake();
    let (_, row) = world.table.policies.pop_first().unwrap();
    for revision in 5..5 + POLICY_REVISIONS_MAX {
        let row = weir_shared::node::registry::PolicyRow {
            revision: Some(revision),
            ..row.clone()
        };
        world.table.policies.insert(revision, row);
    }
    let newest = 4 + POLICY_REVISIONS_MAX;
    assert_eq!(revision(&world.saved(save(newest, 50))), newest + 1);
    let kept = world.table.policies.keys();
    assert_eq!(kept.clone().next(), Some(&6));
    assert_eq!(kept.count() as u64, POLICY_REVISIONS_MAX);
}

#[test]
fn an_author_saves_no_more_within_a_day_than_the_log_tells_in_full() {
    let mut world = World::awake();
    for number in 0..POLICIES_PER_DAY_MAX {
        let saved = world.saved(save_document(None, shipped()));
        assert_eq!(revision(&saved), 2 + number);
    }
    world.pass(1_000);
    let before = world.table.policies.clone();
    let too_often = Saved::TooOften {
        after_ms: DAY_MS - 1_000,
    };
    assert_eq!(world.saved(save_document(None, shipped())), too_often);
    assert_eq!(world.table.policies, before);
    world.pass(DAY_MS - 1_000);
    revision(&world.saved(save_document(None, shipped())));
}

#[test]
fn regions_of_the_policy_before_and_of_the_new_one_are_told() {
    let mut world = World::awake();
    let mut document = shipped();
    document.regions = vec!["weur".to_owned(), "apac".to_owned()];
    let reply = world.ask(save_document(None, document)).unwrap();
    assert!(matches!(reply, Reply::Saved(Saved::Done(_))));
    let told: Vec<_> = world.sent[0].regions.iter().map(String::as_str).collect();
    assert_eq!(told, ["apac", "enam", "weur"]);
    assert!(
        world.sent[0].rules.access.is_none(),
        "ledgers need no policy"
    );
    // A change of the tokens goes to those that are there now.
    world.created("service");
    let told: Vec<_> = world.sent[1].regions.iter().map(String::as_str).collect();
    assert_eq!(told, ["apac", "weur"]);
    assert!(world.sent[1].rules.policy.is_none());
}
