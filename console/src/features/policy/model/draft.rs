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
    /// What was changed, each with what was there before, oldest first.
    #[serde(skip)]
    past: Vec<Step>,
}

/// One change, as it is taken back: keys that are typed one after the other at one place are one.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    pointer: String,
    before: Option<Value>,
    /// Whether what is typed next is another step.
    whole: bool,
}

/// Changes that can be taken back.
const STEPS_MAX: usize = 200;

/// A draft may have been kept with one such part, or with none.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Broken>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        Many(Vec<Broken>),
        One(Option<Broken>),
    }
    Ok(match OneOrMany::deserialize(from)? {
        OneOrMany::Many(many) => many,
        OneOrMany::One(one) => one.into_iter().collect(),
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
            past: Vec::new(),
        }
    }

    /// Notes what is at a pointer before it changes.
    fn note(&mut self, pointer: &str) {
        let same = |last: &Step| last.pointer == pointer && !last.whole;
        if !self.past.last().is_some_and(same) {
            self.step(pointer, false);
        }
    }

    /// Notes what is at a pointer as a step of its own.
    fn step(&mut self, pointer: &str, whole: bool) {
        if self.past.len() == STEPS_MAX {
            self.past.remove(0);
        }
        self.past.push(Step {
            pointer: pointer.to_owned(),
            before: self.at(pointer).cloned(),
            whole,
        });
    }

    /// Takes the last change back: where it was, if there was one.
    pub fn undo(&mut self) -> Option<String> {
        while let Some(Step {
            pointer, before, ..
        }) = self.past.pop()
        {
            let broken = self
                .broken
                .iter()
                .any(|broken| meet(&broken.pointer, &pointer));
            if !broken && self.at(&pointer) == before.as_ref() {
                // What was typed came back to what it was by itself.
                continue;
            }
            set(&mut self.value, &pointer, before);
            self.mend(&pointer);
            return Some(pointer);
        }
        None
    }

    /// Whether there is a change to take back.
    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    /// Puts one value back to what the document had that it began with.
    pub fn undo_value(&mut self, pointer: &str) {
        let base = self.base_at(pointer).cloned();
        self.step(pointer, true);
        set(&mut self.value, pointer, base);
        self.mend(pointer);
    }

    /// Whether a value differs from what the document had that it began with.
    pub fn is_changed_at(&self, pointer: &str) -> bool {
        self.at(pointer) != self.base_at(pointer)
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
        self.note(pointer);
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
        self.note(pointer);
        self.mend(pointer);
        match weir_shared::json::from_str(text) {
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
            None => weir_shared::json::from_str::<Value>(text)
                .is_ok_and(|value| value == *self.at(pointer).unwrap_or(&Value::Null)),
        }
    }

    /// The part as JSON, its fields in the order of the documentation where they are all known.
    fn pretty(&self, pointer: &str) -> String {
        let value = self.at(pointer).cloned().unwrap_or(Value::Null);
        let ordered = pointer
            .is_empty()
            .then(|| weir_shared::json::from_value::<PolicyDocument>(&value).ok())
            .flatten()
            .and_then(|document| serde_json::to_string(&document).ok())
            .map(|text| json::pretty(&text));
        ordered.unwrap_or_else(|| json::pretty(&value.to_string()))
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
        let read = weir_shared::json::from_value::<PolicyDocument>(&self.value);
        read.map_or_else(|_| self.value.clone(), |document| as_value(&document))
    }

    /// Back to the document that it began with.
    pub fn discard(&mut self) {
        self.value = self.base.clone();
        self.broken.clear();
        self.past.clear();
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
        self.past.clear();
    }

    /// As it is kept while the page is away.
    pub fn kept(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What was kept; `None` if there was nothing that this version reads.
    pub fn restored(text: &str) -> Option<Self> {
        weir_shared::json::from_str(text).ok()
    }
}

/// The document as JSON.
pub fn as_value(document: &PolicyDocument) -> Value {
    weir_shared::json::to_value(document).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests;
