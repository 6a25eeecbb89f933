//! What was made of a configuration: limits, and notes on what did not map.

use serde::Serialize;
use serde_json::{Value, json};
use weir_shared::name::label;
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::visible::visible;
use weir_shared::wire::policy::{LimitBody, PolicyDocument};

/// What was made of a configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// The limits, by name.
    pub limits: OrderedMap<String, LimitBody>,
    /// What is to be known of them, in the order of lines.
    pub notes: Vec<Note>,
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Something that has no counterpart, or another meaning.
    Unmapped,
    /// Who asked for a limit there, and with which key: what is to ask for it now.
    Asked,
}

/// Something to be known of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The line of the file.
    pub line: usize,
    /// What it is about.
    pub kind: Kind,
    /// In words.
    pub text: String,
}

impl Note {
    /// One line: the place, and what is to be known.
    ///
    /// ```
    /// use weir_cli::import::fragment::{Kind, Note};
    /// let note = Note { line: 3, kind: Kind::Unmapped, text: "limit_req_status: the status is 429".into() };
    /// assert_eq!(note.text("nginx.conf"), "nginx.conf:3: not mapped: limit_req_status: the status is 429");
    /// ```
    #[must_use]
    pub fn text(&self, file: &str) -> String {
        let kind = match self.kind {
            Kind::Unmapped => "not mapped: ",
            Kind::Asked => "",
        };
        visible(&format!("{file}:{}: {kind}{}", self.line, self.text))
    }
}

impl Imported {
    /// What stands in a policy.
    #[must_use]
    pub fn fragment(&self) -> Value {
        json!({ "limits": self.limits })
    }

    /// The same with its notes, for a program.
    #[must_use]
    pub fn value(&self) -> Value {
        json!({ "fragment": self.fragment(), "notes": self.notes })
    }

    /// Notes what has no counterpart.
    pub fn unmapped(&mut self, line: usize, text: impl Into<String>) {
        self.note(line, Kind::Unmapped, text.into());
    }

    /// Notes who asks.
    pub fn asked(&mut self, line: usize, text: impl Into<String>) {
        self.note(line, Kind::Asked, text.into());
    }

    fn note(&mut self, line: usize, kind: Kind, text: String) {
        self.notes.push(Note { line, kind, text });
    }

    /// Takes a limit under a name that nothing else has, and answers that name. What a policy would refuse is noted, and
    /// not taken.
    pub fn limit(&mut self, line: usize, wanted: &str, body: LimitBody) -> Option<String> {
        if let Some(refused) = refused(&body) {
            self.unmapped(line, format!("{wanted}: {refused}"));
            return None;
        }
        let name = self.free(&named(wanted));
        self.limits.insert(name.clone(), body);
        Some(name)
    }

    fn free(&self, wanted: &str) -> String {
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        names
            .find(|name| !self.limits.contains_key(name))
            .unwrap_or_default()
    }
}

/// Why a policy would not take a limit.
fn refused(body: &LimitBody) -> Option<String> {
    // What is made of others is looked at with them.
    if body.all.is_some() || body.any.is_some() {
        return None;
    }
    let document = PolicyDocument {
        regions: vec!["weur".to_owned()],
        limits: OrderedMap::from([("limit".to_owned(), body.clone())]),
        ..PolicyDocument::default()
    };
    let refused = Policy::try_from(&document).err()?;
    let field = refused.field.trim_start_matches("/limits/limit");
    Some(format!(
        "a limit of Weir refuses {field}: {}",
        refused.fault
    ))
}

/// The longest name that leaves room for a number behind it.
const NAME_BYTES: usize = 56;

/// A text as a policy may name something: `a-z 0-9 _ -`.
///
/// ```
/// assert_eq!(weir_cli::import::fragment::named("API: /v1"), "api___v1");
/// ```
#[must_use]
pub fn named(text: &str) -> String {
    let sign = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' => c,
        _ => '_',
    };
    let name: String = text.chars().take(NAME_BYTES).map(sign).collect();
    match label(&name) {
        Ok(()) => name,
        Err(_) => "limit".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::policy::{Algorithm, Scope};

    use super::*;

    fn window(limit: u64) -> LimitBody {
        LimitBody {
            algorithm: Some(Algorithm::FixedWindow),
            limit: Some(limit),
            window_ms: Some(1_000),
            scope: Some(Scope::Region),
            ..LimitBody::default()
        }
    }

    #[test]
    fn names_are_told_apart_and_are_those_of_a_policy() {
        let mut imported = Imported::default();
        let mut take = |name: &str| imported.limit(1, name, window(5)).unwrap();
        assert_eq!(take("One"), "one");
        assert_eq!(take("one"), "one_2");
        assert_eq!(take(""), "limit");
        assert_eq!(take(&"x".repeat(200)).len(), NAME_BYTES);
    }

    #[test]
    fn what_a_policy_refuses_is_noted_and_left_out() {
        let mut imported = Imported::default();
        assert_eq!(imported.limit(4, "none", window(0)), None);
        assert_eq!(imported.fragment(), json!({ "limits": {} }));
        assert_eq!(imported.notes[0].line, 4);
        assert!(
            imported.notes[0]
                .text
                .contains("/limit: 0 is outside 1 to "),
            "{imported:?}"
        );
    }
}
