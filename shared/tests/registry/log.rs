//! The audit log: one chain over every death, pages of it, what is summed up, and what is given up.

use serde_json::{Value, json};
use weir_shared::limits::{
    AUDIT_IN_FULL_PER_DAY_MAX, AUDIT_KEPT_MS, AUDIT_PAGE_MAX, AUDIT_PRUNE, AUDIT_RECORDS_MAX,
    AUDIT_SUMMARY_MS,
};
use weir_shared::node::registry::{HeadRow, RecordRow, RegistryCall, Reply, Report};
use weir_shared::wire::audit::{AuditOutcome, AuditVerdict};
use weir_shared::wire::registry::{
    AppendAudit, Appended, AuditLines, AuditPage, ExportAudit, PatchTenant, ReadAudit, VerifyAudit,
};

use super::table::shipped;
use super::world::{World, ada, database, save, save_document};

fn reset(target: &str) -> RegistryCall {
    RegistryCall::AppendAudit(AppendAudit {
        author: ada(),
        action: "state.reset".to_owned(),
        target: target.to_owned(),
        before: Value::Null,
        after: json!({ "keys": 1 }),
        outcome: AuditOutcome::Done,
    })
}

fn append(world: &mut World, target: &str) -> u64 {
    match world.ask(reset(target)) {
        Ok(Reply::Appended(Appended { sequence })) => sequence,
        other => panic!("not appended: {other:?}"),
    }
}

fn page(world: &mut World, call: ReadAudit) -> AuditPage {
    match world.ask(RegistryCall::ReadAudit(call)) {
        Ok(Reply::Page(page)) => page,
        other => panic!("no page: {other:?}"),
    }
}

fn lines(world: &mut World, after: u64) -> AuditLines {
    let limit = 3;
    match world.ask(RegistryCall::ExportAudit(ExportAudit { after, limit })) {
        Ok(Reply::Lines(lines)) => lines,
        other => panic!("no lines: {other:?}"),
    }
}

fn verify(world: &mut World, after: u64, previous: &str) -> AuditVerdict {
    let previous = previous.to_owned();
    let limit = 3;
    let call = VerifyAudit {
        after,
        previous,
        limit,
    };
    match world.ask(RegistryCall::VerifyAudit(call)) {
        Ok(Reply::Verdict(verdict)) => verdict,
        other => panic!("no verdict: {other:?}"),
    }
}

#[test]
fn a_record_has_the_next_number_and_the_chain_goes_on_over_deaths() {
    let mut world = World::awake();
    for sequence in 2..10 {
        world.die();
        assert_eq!(append(&mut world, "a"), sequence);
    }
    let verdict = world.verified();
    assert!(verdict.intact);
    assert_eq!((verdict.checked, verdict.through), (9, 9));
    world.fails_after = Some(0);
    assert_eq!(world.ask(reset("b")), Err(Some(database("disk full"))));
    assert_eq!(append(&mut world, "c"), 10);
}

#[test]
fn the_log_is_verified_part_by_part_and_a_change_is_found() {
    let mut world = World::awake();
    for _ in 0..5 {
        append(&mut world, "a");
    }
    let first = verify(&mut world, 0, "");
    assert_eq!((first.intact, first.through, first.more), (true, 3, true));
    let second = verify(&mut world, 3, &first.hash);
    assert_eq!(
        (second.intact, second.through, second.more),
        (true, 6, false)
    );
    // A column by which a record is found says otherwise than the record.
    world.table.audit.get_mut(&5).unwrap().actor = Some("eve".to_owned());
    assert_eq!(
        verify(&mut world, 3, &first.hash).fault.unwrap().sequence,
        5
    );
    world.table.audit.get_mut(&5).unwrap().body = None;
    assert_eq!(
        verify(&mut world, 3, &first.hash).fault.unwrap().sequence,
        5
    );
}

#[test]
fn pages_hold_what_is_asked_for_and_say_what_is_behind_and_what_cannot_be_read() {
    let mut world = World::awake();
    for target in ["a", "b", "a", "b"] {
        append(&mut world, target);
    }
    let sequences = |page: &AuditPage| {
        let entries = page.entries.iter();
        entries
            .map(|entry| entry.record.sequence)
            .collect::<Vec<_>>()
    };
    let all = page(
        &mut world,
        ReadAudit {
            limit: u64::MAX,
            ..ReadAudit::default()
        },
    );
    assert_eq!((sequences(&all), all.more), (vec![1, 2, 3, 4, 5], false));
    let newest = page(
        &mut world,
        ReadAudit {
            limit: 2,
            newest_first: true,
            ..ReadAudit::default()
        },
    );
    assert_eq!((sequences(&newest), newest.more), (vec![5, 4], true));
    let before = ReadAudit {
        limit: 9,
        before: 4,
        target: Some("a".to_owned()),
        ..ReadAudit::default()
    };
    assert_eq!(sequences(&page(&mut world, before)), [2]);
    // No limit is one record.
    assert_eq!(sequences(&page(&mut world, ReadAudit::default())), [1]);
    world.table.audit.get_mut(&3).unwrap().hash = None;
    let all = page(
        &mut world,
        ReadAudit {
            limit: 9,
            ..ReadAudit::default()
        },
    );
    assert_eq!((sequences(&all), all.damaged), (vec![1, 2, 4, 5], vec![3]));
    let exported = lines(&mut world, 1);
    assert_eq!(
        (exported.lines.len(), exported.through, exported.more),
        (2, 4, true)
    );
}

#[test]
fn a_tenant_as_the_target_finds_changes_of_the_policy_that_change_it() {
    let mut world = World::awake();
    let patch = |tenant: &str| {
        RegistryCall::PatchTenant(Box::new(PatchTenant {
            tenant: tenant.to_owned(),
            patch: serde_json::from_value(json!({ "weight": 3 })).unwrap(),
            expected: None,
            author: ada(),
        }))
    };
    for tenant in ["acme", "acme-2", "a\"b"] {
        world.saved(patch(tenant));
    }
    // The whole policy is as it was before: every one of the three is changed back.
    world.saved(save_document(None, shipped()));
    let found = |world: &mut World, tenant: &str| {
        let find = ReadAudit {
            limit: 9,
            target: Some(tenant.to_owned()),
            ..ReadAudit::default()
        };
        let entries = page(world, find).entries.into_iter();
        entries
            .map(|entry| (entry.record.action, entry.record.target))
            .collect::<Vec<_>>()
    };
    for tenant in ["acme", "acme-2", "a\"b"] {
        let expected = [("tenant.patch", tenant), ("policy.save", "")];
        let expected = expected.map(|(action, target)| (action.to_owned(), target.to_owned()));
        assert_eq!(found(&mut world, tenant), expected, "{tenant}");
    }
    assert_eq!(found(&mut world, "acm"), []);
}

#[test]
fn what_one_does_more_often_than_the_log_takes_is_one_record_an_hour_later() {
    let mut world = World::awake();
    for sequence in 2..2 + AUDIT_IN_FULL_PER_DAY_MAX {
        assert_eq!(append(&mut world, "a"), sequence);
    }
    let records = world.table.audit.len();
    for _ in 0..3 {
        assert_eq!(append(&mut world, "b"), 0);
    }
    assert_eq!(
        (world.table.audit.len(), world.table.summaries.len()),
        (records, 1)
    );
    world.pass(AUDIT_SUMMARY_MS - 1);
    let all = page(&mut world, ReadAudit::default());
    assert_eq!(all.head.sequence as usize, records);
    world.pass(1);
    world.die();
    let all = page(&mut world, ReadAudit::default());
    assert_eq!(all.head.sequence as usize, records + 1);
    let (_, row) = world.table.audit.last_key_value().unwrap();
    let record: Value = serde_json::from_str(row.body.as_ref().unwrap()).unwrap();
    assert_eq!(record["after"]["summed_up"], 3);
    assert!(world.table.summaries.is_empty());
    assert!(world.verified().intact);
}

#[test]
fn a_change_goes_behind_the_summaries_that_are_due_and_fails_with_them() {
    let mut world = World::awake();
    for _ in 0..=AUDIT_IN_FULL_PER_DAY_MAX {
        append(&mut world, "a");
    }
    world.pass(AUDIT_SUMMARY_MS);
    world.fails_after = Some(0);
    let before = world.table.clone();
    assert_eq!(world.ask(save(1, 50)), Err(Some(database("disk full"))));
    assert_eq!(world.table, before);
    // The summary is a record though the change fails.
    world.fails_after = Some(1);
    assert_eq!(world.ask(save(1, 50)), Err(Some(database("disk full"))));
    assert!(world.table.summaries.is_empty());
    assert_eq!(world.table.policies, before.policies);
    world.saved(save(1, 50));
    assert!(world.verified().intact);
}

#[test]
fn a_summary_that_cannot_be_read_becomes_a_record_that_says_so() {
    let mut world = World::awake();
    for _ in 0..=AUDIT_IN_FULL_PER_DAY_MAX {
        append(&mut world, "a");
    }
    let (kept, _) = world.table.summaries.values_mut().next().unwrap();
    kept.body = Some("{".to_owned());
    assert_eq!(append(&mut world, "b"), 0);
    assert_eq!(world.table.summaries.len(), 2, "one is kept aside");
    page(&mut world, ReadAudit::default());
    assert_eq!(world.table.summaries.len(), 1);
    let (_, row) = world.table.audit.last_key_value().unwrap();
    let record: Value = serde_json::from_str(row.body.as_ref().unwrap()).unwrap();
    assert_eq!(record["after"]["row"], "{");
    assert_eq!(record["actor"], "ada");
}

#[test]
fn the_oldest_records_are_given_up_when_they_are_old_and_the_chain_begins_behind_them() {
    let mut world = World::awake();
    let ship = world.table.audit.remove(&1).unwrap();
    let newest = AUDIT_RECORDS_MAX;
    for sequence in [AUDIT_PRUNE, AUDIT_PRUNE + 1, newest] {
        let row = RecordRow {
            sequence: Some(sequence),
            hash: Some(format!("hash of {sequence}")),
            ..ship.clone()
        };
        world.table.audit.insert(sequence, row);
    }
    world.table.head = Some(HeadRow {
        sequence: Some(newest),
        hash: Some(format!("hash of {newest}")),
        pruned: Some(0),
        pruned_hash: Some(String::new()),
    });
    world.pass(AUDIT_KEPT_MS - 1);
    assert_eq!(append(&mut world, "a"), newest + 1);
    assert!(
        world.table.audit.contains_key(&AUDIT_PRUNE),
        "they are young"
    );
    world.pass(1);
    assert_eq!(append(&mut world, "a"), newest + 2);
    assert_eq!(world.table.audit.keys().next(), Some(&(AUDIT_PRUNE + 1)));
    let head = world.table.head.as_ref().unwrap();
    assert_eq!(head.pruned, Some(AUDIT_PRUNE));
    assert_eq!(head.pruned_hash, Some(format!("hash of {AUDIT_PRUNE}")));
}

#[test]
fn a_head_that_cannot_be_read_or_is_behind_is_made_of_the_records() {
    let damage: [fn(&mut HeadRow); 2] = [|head| head.hash = None, |head| head.sequence = Some(2)];
    for damage in damage {
        let mut world = World::awake();
        for _ in 0..4 {
            append(&mut world, "a");
        }
        damage(world.table.head.as_mut().unwrap());
        assert_eq!(append(&mut world, "b"), 6);
        assert!(world.verified().intact);
        assert!(matches!(
            world.reports[..],
            [Report::Damaged {
                table: "audit_head",
                ..
            }]
        ));
    }
    // Records of which nothing can be read have no hash, and the log says so.
    let mut world = World::awake();
    world.table.head = None;
    let row = world.table.audit.get_mut(&1).unwrap();
    (row.hash, row.body) = (None, None);
    append(&mut world, "a");
    assert!(world.reports.contains(&Report::NoHash { sequence: 1 }));
    assert_eq!(world.verified().fault.unwrap().sequence, 1);
}

#[test]
fn no_page_is_larger_than_one_may_be() {
    let mut world = World::awake();
    for target in 0..AUDIT_PAGE_MAX {
        world.pass(1);
        let mut by = ada();
        by.actor = format!("actor-{target}");
        let ask = RegistryCall::AppendAudit(AppendAudit {
            author: by,
            action: "state.reset".to_owned(),
            target: String::new(),
            before: Value::Null,
            after: Value::Null,
            outcome: AuditOutcome::Refused,
        });
        world.ask(ask).unwrap();
    }
    let call = ReadAudit {
        limit: u64::MAX,
        ..ReadAudit::default()
    };
    let all = page(&mut world, call);
    assert!(all.more);
    assert_eq!(all.entries.len() as u64, AUDIT_PAGE_MAX);
    assert_eq!(world.verified().checked, AUDIT_PAGE_MAX);
}
