//! A policy document that is being edited: what it began with, what it is now, and whether it could be saved.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use weir_shared::wire::policy::PolicyDocument;

use super::validate::{Checked, Flaw, check};
use crate::difference::{Row, difference, set};
use crate::json;
use crate::rebase::{Keep, Meeting, meetings, rebased};

/// A text in the place of a part of the document, which cannot be read as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// The part.
    pub pointer: String,
    /// What was typed.
    pub text: String,
    /// Why it cannot be read.
    pub message: String,
}

/// The draft of a policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyDraft {
    /// The tag of the document that it began with.
    etag: String,
    /// That document.
    base: Value,
    /// The document as it is now.
    value: Value,
    /// What was typed last of each part of which that is no JSON. No part is within another one.
    #[serde(deserialize_with = "one_or_many")]
    broken: Vec<Broken>,
}

/// A draft may have been kept with one such part, or with none.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Broken>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Kept {
        Many(Vec<Broken>),
        One(Option<Broken>),
    }
    Ok(match Kept::deserialize(from)? {
        Kept::Many(many) => many,
        Kept::One(one) => one.into_iter().collect(),
    })
}

/// Whether one of two pointers leads to what the other one leads to, or into it.
fn meet(one: &str, other: &str) -> bool {
    let within = |part: &str, whole: &str| {
        let rest = part.strip_prefix(whole);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(one, other) || within(other, one)
}

impl PolicyDraft {
    /// A draft that changes nothing yet.
    pub fn new(document: &PolicyDocument, etag: &str) -> Self {
        let base = as_value(document);
        Self {
            etag: etag.to_owned(),
            value: base.clone(),
            base,
            broken: Vec::new(),
        }
    }

    /// The tag of the document that it began with.
    pub fn etag(&self) -> &str {
        &self.etag
    }

    /// The document that it began with.
    pub fn base(&self) -> &Value {
        &self.base
    }

    /// The document as it is now.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value at a pointer.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        self.value.pointer(pointer)
    }

    /// The value at a pointer in the document that it began with.
    pub fn base_at(&self, pointer: &str) -> Option<&Value> {
        self.base.pointer(pointer)
    }

    /// Puts a value at a pointer, or takes it away.
    pub fn put(&mut self, pointer: &str, value: Option<Value>) {
        set(&mut self.value, pointer, value);
        self.mend(pointer);
    }

    /// Forgets what could not be read at a pointer, around it and within it.
    fn mend(&mut self, pointer: &str) {
        self.broken.retain(|broken| !meet(&broken.pointer, pointer));
    }

    fn broken_at(&self, pointer: &str) -> Option<&Broken> {
        self.broken.iter().find(|broken| broken.pointer == pointer)
    }

    /// Puts a flag at a pointer. One that is as by default is only written out where the document did so already.
    pub fn put_flag(&mut self, pointer: &str, flag: bool, default: bool) {
        let written = self.base_at(pointer).is_some_and(|value| !value.is_null());
        let value = (written || flag != default).then_some(Value::Bool(flag));
        self.put(pointer, value);
    }

    /// Puts what was typed as JSON at a pointer. What is no JSON is kept beside the document, which then cannot be saved.
    pub fn put_text(&mut self, pointer: &str, text: &str) {
        self.mend(pointer);
        match serde_json::from_str(text) {
            Ok(value) => set(&mut self.value, pointer, Some(value)),
            Err(error) => self.broken.push(Broken {
                pointer: pointer.to_owned(),
                text: text.to_owned(),
                message: format!("not JSON: {error}"),
            }),
        }
    }

    /// The part at a pointer as text: what was typed last while that is no JSON.
    pub fn text(&self, pointer: &str) -> String {
        match self.broken_at(pointer) {
            Some(broken) => broken.text.clone(),
            None => self.pretty(pointer),
        }
    }

    /// Whether a text says what the draft has at a pointer, however it is written: `4.0`, a field that says the default,
    /// other blanks, another order. Such a text stays as it is typed.
    pub fn holds_text(&self, pointer: &str, text: &str) -> bool {
        match self.broken_at(pointer) {
            Some(broken) => broken.text == text,
            None => serde_json::from_str::<Value>(text)
                .is_ok_and(|value| value == *self.at(pointer).unwrap_or(&Value::Null)),
        }
    }

    /// The part as JSON, its fields in the order of the documentation where they are all known.
    fn pretty(&self, pointer: &str) -> String {
        let value = self.at(pointer).cloned().unwrap_or(Value::Null);
        let ordered = pointer
            .is_empty()
            .then(|| json::read::<PolicyDocument>(&value).ok())
            .flatten()
            .and_then(|document| serde_json::to_string(&document).ok())
            .map(|text| json::pretty(&text));
        ordered.unwrap_or_else(|| serde_json::to_string_pretty(&value).unwrap_or_default())
    }

    /// The document, if it could be saved.
    ///
    /// # Errors
    /// The first flaw.
    pub fn check(&self) -> Result<Checked, Flaw> {
        match self.broken.first() {
            Some(broken) => Err(Flaw {
                pointer: broken.pointer.clone(),
                message: broken.message.clone(),
                form: true,
            }),
            None => check(&self.value),
        }
    }

    /// What it changes.
    pub fn changes(&self) -> Vec<Row> {
        difference(&self.base, &self.as_sent())
    }

    /// Whether it changes anything.
    pub fn is_changed(&self) -> bool {
        !self.broken.is_empty() || self.as_sent() != self.base
    }

    /// The document as it would be sent: `4.0` is `4`. As it is while it cannot be read.
    fn as_sent(&self) -> Value {
        if self.value == self.base {
            return self.base.clone();
        }
        let read = json::read::<PolicyDocument>(&self.value);
        read.map_or_else(|_| self.value.clone(), |document| as_value(&document))
    }

    /// Back to the document that it began with.
    pub fn discard(&mut self) {
        self.value = self.base.clone();
        self.broken.clear();
    }

    /// What it meets in a document that somebody else saved meanwhile.
    pub fn meets(&self, theirs: &PolicyDocument) -> Vec<Meeting> {
        meetings(&self.base, &as_value(theirs), &self.as_sent())
    }

    /// The draft on top of a document that somebody else saved meanwhile.
    pub fn rebase(&mut self, theirs: &PolicyDocument, etag: &str, keep: Keep) {
        let theirs = as_value(theirs);
        self.value = rebased(&self.base, &theirs, &self.as_sent(), keep);
        self.base = theirs;
        etag.clone_into(&mut self.etag);
        self.broken.clear();
    }

    /// As it is kept while the page is away.
    pub fn kept(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What was kept; `None` if there was nothing that this version reads.
    pub fn restored(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The document as JSON.
pub fn as_value(document: &PolicyDocument) -> Value {
    serde_json::to_value(document).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
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
        assert_eq!(again, draft);
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
        assert_eq!(again, draft);
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
        assert_eq!(PolicyDraft::restored(&one.to_string()), Some(draft));
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
                ("/enforcing".to_owned(), "changed by them"),
                ("/limits/ip/limit".to_owned(), "changed by you"),
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
    fn what_another_version_kept_is_dropped() {
        for text in ["", "{}", "null", "{\"etag\":1}"] {
            assert_eq!(PolicyDraft::restored(text), None);
        }
    }
}
