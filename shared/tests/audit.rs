//! The audit log: whatever is changed in it is found, at the record that was changed.

use serde_json::{Value, json};
use weir_shared::access::stored::Root;
use weir_shared::audit::chain::{Found, Link, Verifier, append, is_time_to_prune, next_to_prune};
use weir_shared::audit::draft::Draft;
use weir_shared::audit::summary::{
    Summary, USES, in_full_of_root_per_day_max, in_full_per_day_max,
};
use weir_shared::audit::tag::tenant_tag;
use weir_shared::audit::{Action, export, sha256_hex};
use weir_shared::limits::{
    AUDIT_KEPT_MS, AUDIT_PRUNE, AUDIT_RECORDS_MAX, AUDIT_ROOT_ACTORS, AUDIT_SUMMARY_MS,
    AUDIT_SUMMARY_TARGETS_MAX, AUDIT_VALUE_BYTES_MAX, AUDIT_YOUNG_RECORDS_MAX, DAY_MS,
    REASON_CHARACTERS_MAX, TOKENS_PER_DAY_MAX,
};
use weir_shared::units::EpochMs;
use weir_shared::wire::audit::{AuditFault, AuditHead, AuditVerdict, Author, Outcome};
use weir_shared::wire::policy::{PolicyDocument, TenantBody};
use weir_shared::wire::role::Role;
use weir_shared::wire::stored::read_row;

fn author() -> Author {
    Author {
        actor: "alice".to_owned(),
        token: Some("AbCdEfGhIjKlMnOp".to_owned()),
        role: Some(Role::Editor),
        why: Some("\u{fc}ber \"quotas\"".to_owned()),
    }
}

fn draft(number: u64) -> Draft {
    let target = format!("tenant {number}");
    let at = EpochMs(1_700_000_000_000 + number);
    Draft::new(author(), "tenant.patch", &target, Outcome::Done, at)
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
    let draft = Draft::new(author, &long, &long, Outcome::Refused, EpochMs(1))
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

/// A sum does not say what became of the policy, of a tenant, or who was let in: what would only be summed up is refused. What
/// a sum says all of, or has no bound, is let pass.
#[test]
fn an_act_that_changes_who_may_do_what_or_what_is_enforced_is_told_or_refused() {
    let told = |action: &&Action| action.is_always_told() || action.in_full_per_day_max().is_none();
    let names: Vec<_> = Action::ALL
        .iter()
        .filter(told)
        .map(|act| act.name())
        .collect();
    assert_eq!(
        names,
        [
            "policy.save",
            "tenant.patch",
            "tenant.delete",
            "token.create",
            "token.revoke"
        ]
    );
}

/// What one admin can do with all the tokens that it makes, whose tokens are more than one's by a bound: six days, in which
/// somebody exports the log.
#[test]
fn nobody_pushes_six_days_out_of_the_log_by_making_itself_many() {
    let max = |action: &Action, outcome| {
        let draft = Draft::new(
            Author::named("mallory"),
            action.name(),
            "",
            outcome,
            EpochMs(1),
        );
        let own = in_full_per_day_max(&draft).unwrap_or(TOKENS_PER_DAY_MAX);
        let shared = in_full_of_root_per_day_max(&draft);
        // No more are revoked than were made.
        own + shared.unwrap_or(TOKENS_PER_DAY_MAX * AUDIT_ROOT_ACTORS)
    };
    let outcomes = [Outcome::Done, Outcome::Refused];
    let kinds = Action::ALL
        .iter()
        .flat_map(|action| outcomes.map(|outcome| max(action, outcome)));
    // Of each kind there is a summary of its own, and one of all that it made.
    let summaries = 2 * Action::ALL.len() as u64 * 2 * DAY_MS / AUDIT_SUMMARY_MS;
    let per_day = kinds.sum::<u64>() + summaries;
    assert!(AUDIT_YOUNG_RECORDS_MAX / per_day >= 6, "{per_day}");
}

#[test]
fn what_all_tokens_of_one_admin_did_is_one_summary_that_names_them() {
    let root = Root {
        id: "AAAAAAAAAAAAAAAA".to_owned(),
        name: "ada".to_owned(),
    };
    let summary = Summary::of_root(&root, &draft(1)).unwrap();
    let summary = summary.with_actor(&draft(2)).unwrap();
    let text = serde_json::to_string(&summary).unwrap();
    let start = r#"{"v":2,"author":{"actor":"tokens of ada","token":"AAAAAAAAAAAAAAAA"},"action":"tenant.patch","outcome":"done","since":1700000000001,"until":1700000000002,"count":2,"targets":["tenant 1","tenant 2"],"hash":""#;
    assert!(text.starts_with(start), "{text}");
    assert!(text.ends_with(r#"","actors":{"alice":2}}"#), "{text}");
    assert_eq!(read_row::<Summary>(&text).as_ref(), Ok(&summary));
    let name = Summary::name_of_root(&root, &draft(1));
    assert_eq!(
        name,
        "tokens of ada\u{1}AAAAAAAAAAAAAAAA\u{1}\u{1}tenant.patch\u{1}done"
    );
    let (link, _) = append(&AuditHead::default(), summary.into_draft(EpochMs(9))).unwrap();
    assert_eq!(link.record.after["actors"], json!({ "alice": 2 }));
}

/// Whatever one actor does and however often, as long as it makes no tokens.
#[test]
fn nobody_pushes_a_month_out_of_the_log() {
    let day = |author: &Author, outcome| {
        let max = |action: &Action| {
            let draft = Draft::new(author.clone(), action.name(), "", outcome, EpochMs(1));
            in_full_per_day_max(&draft)
        };
        let told = Action::ALL.iter().filter_map(max).sum::<u64>();
        told + Action::ALL.len() as u64 * DAY_MS / AUDIT_SUMMARY_MS
    };
    let mallory = Author::named("mallory");
    let of_tokens = in_full_per_day_max(&Draft::new(
        mallory.clone(),
        Action::TokenCreate.name(),
        "",
        Outcome::Done,
        EpochMs(1),
    ));
    let per_day = day(&mallory, Outcome::Done) + day(&mallory, Outcome::Refused);
    let per_day = per_day - of_tokens.unwrap();
    assert!(AUDIT_YOUNG_RECORDS_MAX / per_day >= 31, "{per_day}");
}

#[test]
fn a_summary_says_who_did_what_how_often_since_when_and_to_what() {
    let mut summary = Summary::of(&draft(1)).unwrap();
    for number in 2..=30 {
        summary = summary.with(&draft(number)).unwrap();
    }
    let now = EpochMs(1_700_003_600_000);
    assert_eq!(summary.since(), EpochMs(1_700_000_000_001));
    assert!(summary.since() > Summary::due_since(now));
    assert!(summary.since() <= Summary::due_since(now.plus(1)));
    let (link, _) = append(&AuditHead::default(), summary.into_draft(now)).unwrap();
    let record = &link.record;
    assert_eq!((record.at, record.outcome), (now.0, Outcome::Done));
    assert_eq!(
        (record.actor.as_str(), record.role, record.token.as_deref()),
        ("alice", Some(Role::Editor), Some("AbCdEfGhIjKlMnOp"))
    );
    assert_eq!(
        (record.action.as_str(), record.target.as_str()),
        ("tenant.patch", "")
    );
    let after = &record.after;
    assert_eq!(after["summed_up"], 30);
    assert_eq!(after["since"], 1_700_000_000_001_u64);
    assert_eq!(after["until"], 1_700_000_000_030_u64);
    let targets = after["targets"].as_array().unwrap();
    assert_eq!(targets.len(), AUDIT_SUMMARY_TARGETS_MAX);
    assert_eq!(targets[0], "tenant 1");
}

/// Of the bootstrap token each record tells the uses of a minute.
#[test]
fn a_summary_of_uses_says_how_many_they_were() {
    let uses = |uses: u64| {
        let author = Author::named("bootstrap");
        let draft = Draft::new(author, "bootstrap.use", "weur", Outcome::Done, EpochMs(1));
        draft.with_change(json!(null), json!({ USES: uses }))
    };
    let summary = Summary::of(&uses(3)).unwrap().with(&uses(40)).unwrap();
    let text = serde_json::to_string(&summary).unwrap();
    assert!(text.ends_with(r#","uses":43}"#), "{text}");
    let summary = read_row::<Summary>(&text).unwrap();
    let (link, _) = append(&AuditHead::default(), summary.into_draft(EpochMs(9))).unwrap();
    let after = &link.record.after;
    assert_eq!((&after["summed_up"], &after[USES]), (&json!(2), &json!(43)));
    // What has no uses says nothing of them.
    let other = Summary::of(&draft(1)).unwrap();
    assert!(!serde_json::to_string(&other).unwrap().contains(USES));
    let (link, _) = append(&AuditHead::default(), other.into_draft(EpochMs(9))).unwrap();
    assert!(link.record.after.get(USES).is_none());
}

/// What is summed up cannot be told otherwise later: whoever kept what they did can show it.
#[test]
fn the_hash_of_a_summary_is_over_all_that_it_sums_up() {
    let hash_of = |numbers: &[u64]| {
        let (first, rest) = numbers.split_first().unwrap();
        let mut summary = Summary::of(&draft(*first)).unwrap();
        for number in rest {
            summary = summary.with(&draft(*number)).unwrap();
        }
        let (link, _) = append(&AuditHead::default(), summary.into_draft(EpochMs(9))).unwrap();
        link.record.after["sha256"].as_str().unwrap().to_owned()
    };
    assert_eq!(hash_of(&[1, 2, 3]), hash_of(&[1, 2, 3]));
    for other in [&[1, 2][..], &[1, 3, 2], &[1, 2, 4], &[1, 2, 3, 3]] {
        assert_ne!(hash_of(&[1, 2, 3]), hash_of(other), "{other:?}");
    }
}

#[test]
fn a_summary_is_stored_as_it_is() {
    let summary = Summary::of(&draft(1)).unwrap();
    let text = serde_json::to_string(&summary).unwrap();
    let start = r#"{"v":2,"author":{"actor":"alice","token":"AbCdEfGhIjKlMnOp","role":"editor"},"action":"tenant.patch","outcome":"done","since":1700000000001,"until":1700000000001,"count":1,"targets":["tenant 1"],"hash":""#;
    assert!(text.starts_with(start), "{text}");
    assert_eq!(read_row::<Summary>(&text), Ok(summary));
    for damage in [
        text.replace(r#""count":1"#, r#""count":0"#),
        text.replace(r#"["tenant 1"]"#, "[]"),
        text.replace(r#""until":1700000000001"#, r#""until":1"#),
        text.replace(r#""v":2"#, r#""v":9"#),
    ] {
        assert!(read_row::<Summary>(&damage).is_err(), "{damage}");
    }
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
