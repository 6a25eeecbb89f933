//! The audit log: whatever is changed in it is found, at the record that was changed.

use serde_json::{Value, json};
use weir_shared::audit::chain::{Found, Link, Verifier, append, is_time_to_prune, next_to_prune};
use weir_shared::audit::draft::Draft;
use weir_shared::audit::tag::tenant_tag;
use weir_shared::audit::{export, sha256_hex};
use weir_shared::limits::{
    AUDIT_KEPT_MS, AUDIT_PRUNE, AUDIT_RECORDS_MAX, AUDIT_VALUE_BYTES_MAX, AUDIT_YOUNG_RECORDS_MAX,
    REASON_CHARACTERS_MAX,
};
use weir_shared::units::EpochMs;
use weir_shared::wire::audit::{AuditFault, AuditHead, AuditOutcome, AuditVerdict, Author};
use weir_shared::wire::policy::{PolicyDocument, TenantBody};
use weir_shared::wire::role::Role;

fn author() -> Author {
    Author {
        actor: "alice".to_owned(),
        token: Some("AbCdEfGhIjKlMnOp".to_owned()),
        role: Some(Role::Editor),
        why: Some("\u{fc}ber \"quotas\"".to_owned()),
    }
}

pub(crate) fn draft(number: u64) -> Draft {
    let target = format!("tenant {number}");
    let at = EpochMs(1_700_000_000_000 + number);
    Draft::new(author(), "tenant.patch", &target, AuditOutcome::Done, at)
        .with_change(json!({ "weight": 0.1 }), json!({ "weight": number }))
}

fn log(records: u64) -> (Vec<Link>, AuditHead) {
    let mut head = AuditHead::default();
    let links = (1..=records).map(|number| {
        let (link, next) = append(&head, draft(number)).unwrap();
        head = next;
        link
    });
    let links = links.collect();
    (links, head)
}

fn verdict(links: &[Link], head: &AuditHead) -> AuditVerdict {
    let mut verifier = Verifier::behind(head.pruned, &head.pruned_hash);
    for link in links {
        // The verifier keeps what is wrong.
        let _found = verifier.check(Found {
            sequence: link.record.sequence,
            text: &link.text,
            hash: &link.hash,
        });
    }
    verifier.verdict(head.clone(), false)
}

#[track_caller]
fn found_at(links: &[Link], head: &AuditHead, sequence: u64) {
    let verdict = verdict(links, head);
    assert!(!verdict.intact);
    assert_eq!(verdict.fault.map(|fault| fault.sequence), Some(sequence));
    assert_eq!(verdict.through, sequence - 1);
}

#[test]
fn a_log_as_it_was_written_is_intact() {
    let (links, head) = log(20);
    let verdict = verdict(&links, &head);
    assert!(verdict.intact && !verdict.more, "{verdict:?}");
    assert_eq!((verdict.checked, verdict.through), (20, 20));
    assert_eq!(verdict.hash, head.hash);
    assert!(self::verdict(&[], &AuditHead::default()).intact);
}

#[test]
fn any_changed_byte_is_found() {
    let (links, head) = log(3);
    let text = links[1].text.clone();
    for place in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[place] ^= 1;
        let Ok(changed) = String::from_utf8(bytes) else {
            continue;
        };
        let mut links = links.clone();
        links[1].text = changed;
        found_at(&links, &head, 2);
    }
}

/// Whoever changes a record and writes its hash anew breaks the link to the next one.
#[test]
fn a_record_that_was_hashed_anew_is_found_at_the_next_one() {
    let (mut links, head) = log(3);
    links[1].text = links[1].text.replace("alice", "carol");
    links[1].hash = sha256_hex(&links[1].text);
    found_at(&links, &head, 3);
}

/// And whoever writes all that follow anew has another newest hash.
#[test]
fn a_log_that_was_written_anew_has_another_newest_hash() {
    let (links, head) = log(3);
    let mut other = AuditHead::default();
    let mut forged = Vec::new();
    for number in 1..=3 {
        let number = if number == 2 { 9 } else { number };
        let (link, next) = append(&other, draft(number)).unwrap();
        forged.push(link);
        other = next;
    }
    let verdict = verdict(&forged, &head);
    assert!(!verdict.intact);
    assert_ne!(other.hash, head.hash);
    assert_eq!(links[0], forged[0]);
}

#[test]
fn a_dropped_record_is_found_wherever_it_was() {
    for place in 0..5_usize {
        let (mut links, head) = log(5);
        links.remove(place);
        found_at(&links, &head, place as u64 + 1);
    }
}

#[test]
fn a_record_that_was_added_behind_the_newest_is_found() {
    let (mut links, head) = log(3);
    let (link, _) = append(&head, draft(4)).unwrap();
    links.push(link);
    let verdict = verdict(&links, &head);
    assert!(!verdict.intact, "{verdict:?}");
}

#[test]
fn swapped_records_are_found() {
    let (mut links, head) = log(5);
    links.swap(1, 3);
    found_at(&links, &head, 2);
    let (mut links, head) = log(5);
    // Their texts alone, under each other's numbers.
    let (one, other) = (links[1].clone(), links[2].clone());
    links[1] = Link {
        record: one.record,
        ..other.clone()
    };
    links[2] = Link {
        record: other.record,
        text: one.text,
        hash: one.hash,
    };
    found_at(&links, &head, 2);
}

#[test]
fn a_record_that_cannot_be_read_is_found() {
    let (links, head) = log(3);
    let mut verifier = Verifier::behind(0, "");
    let first = Found {
        sequence: 1,
        text: &links[0].text,
        hash: &links[0].hash,
    };
    assert_eq!(verifier.check(first).as_ref(), Ok(&links[0].record));
    verifier.unreadable(2);
    let verdict = verifier.verdict(head, true);
    assert_eq!(verdict.fault.unwrap().sequence, 2);
    assert!(!verdict.more, "nothing is looked at behind a fault");
}

#[test]
fn what_stands_beside_a_record_has_to_agree() {
    let (links, _) = log(1);
    let mut verifier = Verifier::behind(0, "");
    let found = Found {
        sequence: 1,
        text: &links[0].text,
        hash: &links[0].hash,
    };
    let refused = verifier.check_with(found, |record| record.actor == "carol");
    assert_eq!(refused.unwrap_err().sequence, 1);
}

#[test]
fn a_long_log_is_verified_part_by_part() {
    let (links, head) = log(10);
    let mut verifier = Verifier::behind(0, "");
    for link in &links[..4] {
        let found = Found {
            sequence: link.record.sequence,
            text: &link.text,
            hash: &link.hash,
        };
        verifier.check(found).unwrap();
    }
    let first = verifier.verdict(head.clone(), true);
    assert!(first.intact && first.more);
    let rest = Verifier::behind(first.through, &first.hash);
    let mut rest = rest;
    for link in &links[4..] {
        let found = Found {
            sequence: link.record.sequence,
            text: &link.text,
            hash: &link.hash,
        };
        rest.check(found).unwrap();
    }
    assert!(rest.verdict(head, false).intact);
}

#[test]
fn what_is_left_of_a_pruned_log_is_still_verified() {
    let (links, head) = log(10);
    let pruned = AuditHead {
        pruned: 4,
        pruned_hash: links[3].hash.clone(),
        ..head
    };
    assert!(verdict(&links[4..], &pruned).intact);
    found_at(&links[5..], &pruned, 5);
    let forged = AuditHead {
        pruned_hash: links[2].hash.clone(),
        ..pruned
    };
    found_at(&links[4..], &forged, 5);
}

#[test]
fn a_log_is_pruned_beyond_its_bound_and_only_then() {
    let head = |sequence, pruned| AuditHead {
        sequence,
        pruned,
        ..AuditHead::default()
    };
    assert_eq!(next_to_prune(&head(AUDIT_RECORDS_MAX, 0)), None);
    assert_eq!(
        next_to_prune(&head(AUDIT_RECORDS_MAX + 1, 0)),
        Some(AUDIT_PRUNE)
    );
    assert_eq!(
        next_to_prune(&head(AUDIT_RECORDS_MAX + AUDIT_PRUNE, AUDIT_PRUNE)),
        None
    );
}

#[test]
fn everything_in_a_record_is_bounded() {
    let long = "\u{20ac}".repeat(10_000);
    let author = Author {
        actor: long.clone(),
        token: Some(long.clone()),
        role: None,
        why: Some(long.clone()),
    };
    let draft = Draft::new(author, &long, &long, AuditOutcome::Refused, EpochMs(1))
        .with_change(json!(long), json!({ "a": [long] }));
    let (link, _) = append(&AuditHead::default(), draft).unwrap();
    let record = &link.record;
    for name in [&record.actor, &record.action, &record.target] {
        // Cut between characters of three bytes.
        assert_eq!(name.len(), 126);
    }
    assert_eq!(
        record.why.as_ref().unwrap().chars().count(),
        REASON_CHARACTERS_MAX
    );
    for value in [&record.before, &record.after] {
        assert!(value.to_string().len() <= AUDIT_VALUE_BYTES_MAX);
        assert!(value["bytes"].as_u64().unwrap() > 30_000, "{value}");
        assert_eq!(value["sha256"].as_str().unwrap().len(), 64);
    }
}

fn lines(links: &[Link]) -> Vec<String> {
    let lines = links
        .iter()
        .map(|link| export::line(&link.text, &link.hash));
    lines.collect()
}

fn verified(lines: &[String]) -> Result<usize, AuditFault> {
    let read = export::verify(lines.iter().map(String::as_str), (0, ""))?;
    Ok(read.len())
}

#[test]
fn an_export_is_verified_without_the_log() {
    let (links, _) = log(5);
    let lines = lines(&links);
    assert_eq!(verified(&lines), Ok(5));
    for line in &lines {
        // Each is JSON, for tools that only read.
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["record"]["actor"], "alice");
    }
    let behind = lines[2..].iter().map(String::as_str);
    assert_eq!(
        export::verify(behind, (2, &links[1].hash)).unwrap().len(),
        3
    );
}

#[test]
fn a_changed_export_is_found_at_its_line() {
    let (links, _) = log(5);
    let whole = lines(&links);
    let at = |lines: &[String]| verified(lines).unwrap_err().sequence;
    let mut changed = whole.clone();
    changed[2] = changed[2].replace("alice", "carol");
    assert_eq!(at(&changed), 3);
    let mut dropped = whole.clone();
    dropped.remove(1);
    assert_eq!(at(&dropped), 2);
    let mut swapped = whole.clone();
    swapped.swap(3, 4);
    assert_eq!(at(&swapped), 4);
    let mut garbage = whole.clone();
    garbage[0] = "{}".to_owned();
    assert_eq!(at(&garbage), 1);
}

#[test]
fn young_records_are_kept_beyond_the_number_of_old_ones() {
    let head = |sequence| AuditHead {
        sequence,
        ..AuditHead::default()
    };
    let now = EpochMs(AUDIT_KEPT_MS * 2);
    let (old, young) = (EpochMs(AUDIT_KEPT_MS), EpochMs(AUDIT_KEPT_MS + 1));
    let more = head(AUDIT_RECORDS_MAX + 1);
    assert!(is_time_to_prune(&more, old, now) && !is_time_to_prune(&more, young, now));
    let most = AUDIT_YOUNG_RECORDS_MAX;
    assert!(!is_time_to_prune(&head(most), young, now));
    assert!(is_time_to_prune(&head(most + 1), young, now));
}

#[test]
fn a_tag_moves_with_its_tenant_and_with_no_other() {
    let mut document = PolicyDocument::default();
    let absent = tenant_tag(&document, "acme");
    document
        .tenants
        .insert("acme".to_owned(), TenantBody::default());
    let named = tenant_tag(&document, "acme");
    assert_ne!(absent, named);
    document
        .tenants
        .insert("other".to_owned(), TenantBody::default());
    document.enforcing = false;
    assert_eq!(tenant_tag(&document, "acme"), named);
    let acme = document.tenants.get_mut("acme").unwrap();
    acme.tier = Some("pro".to_owned());
    assert_ne!(tenant_tag(&document, "acme"), named);
}
