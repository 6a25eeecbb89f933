//! Drafts of a policy.

use serde_json::json;

use super::*;

fn document() -> PolicyDocument {
    serde_json::from_value(json!({
        "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "budgets": { "tokens": { "limit": 100, "window_ms": 60000, "sharing": "first_come", "scope": "global" } },
        "limits": { "ip": { "algorithm": "gcra", "limit": 5, "period_ms": 1000, "scope": "region" } }
    }))
    .unwrap()
}

fn draft() -> PolicyDraft {
    PolicyDraft::new(&document(), "\"7\"")
}

fn told(rows: Vec<Row>) -> Vec<(String, &'static str)> {
    rows.into_iter()
        .map(|row| {
            let kind = row.kind();
            (row.pointer, kind)
        })
        .collect()
}

#[test]
fn a_new_draft_changes_nothing_and_is_valid() {
    let draft = draft();
    assert!(!draft.is_changed());
    assert!(draft.changes().is_empty());
    assert_eq!(draft.check().unwrap().document, document());
}

#[test]
fn a_field_that_is_put_back_is_no_change() {
    let mut draft = draft();
    draft.put("/budgets/tokens/limit", Some(json!(200)));
    assert_eq!(
        told(draft.changes()),
        [("/budgets/tokens/limit".to_owned(), "changed")]
    );
    draft.put("/budgets/tokens/limit", Some(json!(100)));
    assert!(!draft.is_changed());
    // A decimal that is whole is the same number.
    draft.put("/tiers/free/weight", Some(json!(1.0)));
    assert!(!draft.is_changed());
}

#[test]
fn flags_are_written_out_only_where_they_say_something() {
    let mut draft = draft();
    let pointer = "/limits/ip/shadow";
    draft.put_flag(pointer, true, false);
    assert_eq!(draft.at(pointer), Some(&json!(true)));
    draft.put_flag(pointer, false, false);
    assert!(!draft.is_changed());
}

#[test]
fn a_value_out_of_range_is_found_at_its_field() {
    let mut draft = draft();
    draft.put("/budgets/tokens/limit", Some(json!(0)));
    let flaw = draft.check().unwrap_err();
    assert_eq!(flaw.pointer, "/budgets/tokens/limit");
    assert!(flaw.message.contains("outside 1 to"), "{}", flaw.message);
}

#[test]
fn text_that_is_no_json_is_kept_and_cannot_be_saved() {
    let mut draft = draft();
    draft.put_text("/routes", "[ { ");
    assert_eq!(draft.text("/routes"), "[ { ");
    assert_eq!(draft.at("/routes"), Some(&json!([])));
    assert!(draft.is_changed());
    assert_eq!(draft.check().unwrap_err().pointer, "/routes");
    let again = PolicyDraft::restored(&draft.kept()).unwrap();
    assert_eq!(again.kept(), draft.kept());
    draft.put_text("/routes", "[]");
    assert!(!draft.is_changed());
}

#[test]
fn what_is_typed_key_by_key_is_what_the_draft_has_and_is_never_rewritten() {
    let mut draft = draft();
    let before = draft.text("");
    // `0.05` is `0.0` on the way; the canonical form of the document would be `0`.
    for (old, keys) in [
        ("\"weight\": 1", "\"weight\": 0.05"),
        (
            "\"limit\": 100",
            "\"limit\": 25000,\n  \"reserve\": \"pinned\"",
        ),
    ] {
        let (head, tail) = before.split_once(old).unwrap();
        for typed in 0..=keys.len() {
            let text = format!("{head}{}{tail}", &keys[..typed]);
            draft.put_text("", &text);
            assert!(draft.holds_text("", &text), "{text}");
        }
    }
    draft.put("/budgets/tokens/limit", Some(json!(5)));
    assert!(!draft.holds_text("", &before), "a form changed it");
}

#[test]
fn the_whole_document_and_the_forms_edit_one_draft() {
    let mut draft = draft();
    let text = draft.text("").replace("\"limit\": 100", "\"limit\": 300");
    draft.put_text("", &text);
    assert_eq!(draft.at("/budgets/tokens/limit"), Some(&json!(300)));
    draft.put("/budgets/tokens/limit", Some(json!(400)));
    assert!(draft.text("").contains("\"limit\": 400"));
}

#[test]
fn a_field_that_a_form_sets_mends_a_broken_text_around_it() {
    let mut draft = draft();
    draft.put_text("", "{");
    assert!(draft.check().is_err());
    draft.put("/budgets/tokens/limit", Some(json!(5)));
    assert!(draft.check().is_ok());
}

#[test]
fn parts_that_are_no_json_yet_stand_beside_one_another() {
    let mut draft = draft();
    draft.put_text("/routes", "[ { ");
    draft.put_text("/trusted_proxies", "[\"10.");
    draft.put_text("/regions", "[\"weur\", \"enam\"]");
    assert_eq!(draft.text("/routes"), "[ { ");
    assert_eq!(draft.text("/trusted_proxies"), "[\"10.");
    let again = PolicyDraft::restored(&draft.kept()).unwrap();
    assert_eq!(again.kept(), draft.kept());
    for (pointer, next) in [
        ("/routes", Some("/trusted_proxies")),
        ("/trusted_proxies", None),
    ] {
        draft.put_text(pointer, "[]");
        let flaw = draft.check().err().map(|flaw| flaw.pointer);
        assert_eq!(flaw.as_deref(), next);
    }
}

#[test]
fn a_draft_that_was_kept_with_one_part_that_is_no_json_goes_on() {
    let mut draft = draft();
    draft.put_text("/routes", "[ { ");
    let many: Value = serde_json::from_str(&draft.kept()).unwrap();
    let mut one = many.clone();
    one["broken"] = many["broken"][0].clone();
    let restored = PolicyDraft::restored(&one.to_string()).unwrap();
    assert_eq!(restored.kept(), draft.kept());
    one["broken"] = Value::Null;
    let whole = PolicyDraft::restored(&one.to_string()).unwrap();
    assert_eq!(whole, super::PolicyDraft::new(&document(), "\"7\""));
}

#[test]
fn a_conflict_is_shown_and_the_draft_goes_on_top() {
    let mut mine = draft();
    mine.put("/budgets/tokens/limit", Some(json!(200)));
    mine.put("/limits/ip/limit", Some(json!(6)));
    let mut theirs = document();
    theirs.budgets.get_mut("tokens").unwrap().limit = Some(300);
    theirs.enforcing = false;
    let sides: Vec<_> = mine
        .meets(&theirs)
        .into_iter()
        .map(|row| (row.pointer, row.side.label()))
        .collect();
    assert_eq!(
        sides,
        [
            ("/budgets/tokens/limit".to_owned(), "changed by both"),
            ("/enforcing".to_owned(), "changed elsewhere"),
            ("/limits/ip/limit".to_owned(), "changed here"),
        ]
    );
    for (keep, limit) in [(Keep::Mine, 200), (Keep::Theirs, 300)] {
        let mut draft = mine.clone();
        draft.rebase(&theirs, "\"8\"", keep);
        assert_eq!(draft.etag(), "\"8\"");
        assert_eq!(draft.at("/budgets/tokens/limit"), Some(&json!(limit)));
        assert_eq!(draft.at("/enforcing"), Some(&json!(false)));
        assert_eq!(draft.at("/limits/ip/limit"), Some(&json!(6)));
    }
}

#[test]
fn changes_are_taken_back_one_by_one_and_what_was_typed_as_a_whole() {
    let mut draft = draft();
    let limit = "/budgets/tokens/limit";
    for typed in [2, 25, 250] {
        draft.put(limit, Some(json!(typed)));
    }
    draft.put("/limits/ip", None);
    draft.put_text("/routes", "[ { ");
    assert_eq!(draft.undo().as_deref(), Some("/routes"));
    assert!(draft.check().is_ok(), "what could not be read is gone");
    assert_eq!(draft.undo().as_deref(), Some("/limits/ip"));
    assert_eq!(draft.at("/limits/ip/limit"), Some(&json!(5)));
    assert_eq!(draft.at(limit), Some(&json!(250)));
    assert_eq!(draft.undo().as_deref(), Some(limit));
    assert!(!draft.is_changed() && !draft.can_undo());
    assert_eq!(draft.undo(), None);
}

#[test]
fn a_change_that_was_put_back_by_hand_is_no_step() {
    let mut draft = draft();
    draft.put("/enforcing", Some(json!(false)));
    let limit = "/budgets/tokens/limit";
    draft.put(limit, Some(json!(7)));
    draft.put(limit, Some(json!(100)));
    assert_eq!(draft.undo().as_deref(), Some("/enforcing"));
}

#[test]
fn one_value_goes_back_and_the_others_stay() {
    let mut draft = draft();
    draft.put("/budgets/tokens/limit", Some(json!(7)));
    draft.put("/limits/ip/limit", Some(json!(8)));
    assert!(draft.is_changed_at("/limits/ip/limit"));
    draft.undo_value("/limits/ip/limit");
    assert!(!draft.is_changed_at("/limits/ip/limit"));
    assert_eq!(draft.at("/budgets/tokens/limit"), Some(&json!(7)));
    draft.undo();
    assert_eq!(
        draft.at("/limits/ip/limit"),
        Some(&json!(8)),
        "an undo is a step, too"
    );
}

#[test]
fn what_is_kept_of_a_draft_is_without_its_steps() {
    let mut draft = draft();
    draft.put("/enforcing", Some(json!(false)));
    let again = PolicyDraft::restored(&draft.kept()).unwrap();
    assert!(again.is_changed() && !again.can_undo());
    assert!(
        !draft.kept().contains("past"),
        "the form is that of earlier versions"
    );
}

#[test]
fn what_another_version_kept_is_dropped() {
    for text in ["", "{}", "null", "{\"etag\":1}"] {
        assert_eq!(PolicyDraft::restored(text), None);
    }
}
