//! What the audit log sums up: never what has to be told, and never so that somebody pushes the history out.

use serde_json::json;
use weir_shared::access::stored::Root;
use weir_shared::audit::Action;
use weir_shared::audit::chain::append;
use weir_shared::audit::draft::Draft;
use weir_shared::audit::summary::{
    Summary, USES, in_full_of_root_per_day_max, in_full_per_day_max,
};
use weir_shared::limits::{
    AUDIT_ROOT_ACTORS, AUDIT_SUMMARY_MS, AUDIT_SUMMARY_TARGETS_MAX, AUDIT_YOUNG_RECORDS_MAX,
    DAY_MS, TOKENS_PER_DAY_MAX,
};
use weir_shared::units::EpochMs;
use weir_shared::wire::audit::{AuditHead, AuditOutcome, Author};
use weir_shared::wire::role::Role;
use weir_shared::wire::stored::read_row;

use crate::audit::draft;

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
    let outcomes = [AuditOutcome::Done, AuditOutcome::Refused];
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
        AuditOutcome::Done,
        EpochMs(1),
    ));
    let per_day = day(&mallory, AuditOutcome::Done) + day(&mallory, AuditOutcome::Refused);
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
    assert_eq!((record.at, record.outcome), (now.0, AuditOutcome::Done));
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
        let draft = Draft::new(
            author,
            "bootstrap.use",
            "weur",
            AuditOutcome::Done,
            EpochMs(1),
        );
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
