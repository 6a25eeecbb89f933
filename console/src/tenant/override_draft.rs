//! An override while it is being written: as text, field by field.

use serde_json::{Map, Value, json};
use weir_shared::invalid::{Fault, Invalid, read_json};
use weir_shared::json::pointer::step;
use weir_shared::policy::limit::algorithm_of;
use weir_shared::wire::overrides::OverrideBody;
use weir_shared::wire::policy::{Algorithm, PolicyDocument};

use super::when;

/// An override as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OverrideDraft {
    /// From when on, UTC; from always when empty.
    pub starts_at: String,
    /// Until when, UTC; for good when empty.
    pub expires_at: String,
    /// The tenant's weight; as beneath when empty.
    pub weight: String,
    /// Other numbers.
    pub numbers: Vec<NumberDraft>,
}

/// One number of a budget, limit, meter or guard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberDraft {
    /// Which.
    pub at: NumberName,
    /// The number, or `unlimited`.
    pub value: String,
}

/// Where a number belongs: `meters`, `bytes`, `per_sec`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberName {
    /// The section of the override.
    pub section: String,
    /// The budget's, limit's, meter's or guard's name.
    pub name: String,
    /// The field.
    pub field: String,
}

impl NumberName {
    fn new(section: &str, name: &str, field: &str) -> Self {
        Self {
            section: section.to_owned(),
            name: name.to_owned(),
            field: field.to_owned(),
        }
    }

    /// Its pointer within the override.
    pub fn pointer(&self) -> String {
        let Self {
            section,
            name,
            field,
        } = self;
        format!("/{section}{}/{field}", step(name))
    }

    /// In words: `meter bytes: per_sec`.
    pub fn words(&self) -> String {
        let kind = self.section.strip_suffix('s').unwrap_or(&self.section);
        format!("{kind} {}: {}", self.name, self.field)
    }
}

/// Fields that are words.
const WORDS: [&str; 2] = ["cadence", "time_zone"];

/// Every number that an override of a tenant may give under a policy.
pub fn number_names(document: &PolicyDocument) -> Vec<NumberName> {
    let mut names = Vec::new();
    let mut add = |section: &str, name: &str, fields: &[&str]| {
        let each = fields.iter();
        names.extend(each.map(|field| NumberName::new(section, name, field)));
    };
    for name in document.budgets.keys() {
        let claim = ["weight", "borrow_max", "lend_max", "ceiling", "floor"];
        add("budgets", name, &claim);
    }
    for (name, limit) in &document.limits {
        // Only a tenant's own keys can have numbers of their own.
        if limit.per_tenant == Some(true)
            && let Some(algorithm) = algorithm_of(limit)
        {
            add("limits", name, limit_fields(algorithm));
        }
    }
    for name in document.meters.keys() {
        add("meters", name, &["per_sec", "burst_seconds", "max_debt_ms"]);
    }
    for name in document.guards.keys() {
        add("guards", name, &["concurrency", "per_minute", "lease_ms"]);
    }
    names
}

fn limit_fields(algorithm: Algorithm) -> &'static [&'static str] {
    match algorithm {
        Algorithm::Gcra => &["limit", "period_ms", "burst"],
        Algorithm::TokenBucket => &["capacity", "refill_per_sec"],
        Algorithm::FixedWindow | Algorithm::SlidingLog => &["limit", "window_ms"],
        Algorithm::SlidingWindow => &["limit", "window_ms", "buckets"],
        Algorithm::Quota => &["limit"],
        Algorithm::LeakyBucket => &["rate_per_sec", "max_queue_ms"],
    }
}

/// The sections that have numbers by name.
const SECTIONS: [&str; 4] = ["budgets", "limits", "meters", "guards"];

impl OverrideDraft {
    /// An override as text.
    pub fn of(body: &OverrideBody) -> Self {
        let instant = |at: Option<weir_shared::units::EpochMs>| {
            at.map_or_else(String::new, |at| when::write(at.0))
        };
        let value = serde_json::to_value(body).unwrap_or_default();
        let mut numbers = Vec::new();
        for section in SECTIONS {
            let names = value.get(section).and_then(Value::as_object);
            for (name, fields) in names.into_iter().flatten() {
                for (field, value) in fields.as_object().into_iter().flatten() {
                    numbers.push(NumberDraft {
                        at: NumberName::new(section, name, field),
                        value: as_text(value),
                    });
                }
            }
        }
        Self {
            starts_at: instant(body.starts_at),
            expires_at: instant(body.expires_at),
            weight: value.get("weight").map(as_text).unwrap_or_default(),
            numbers,
        }
    }

    /// The override that is written.
    ///
    /// # Errors
    /// Every text that is no number or instant, at its pointer within the override.
    pub fn body(&self) -> Result<OverrideBody, Vec<Invalid>> {
        let mut errors = Vec::new();
        let mut object = Map::new();
        for (field, text) in [
            ("starts_at", &self.starts_at),
            ("expires_at", &self.expires_at),
        ] {
            match (text.trim(), when::read(text)) {
                ("", _) => {}
                (_, Some(at)) => {
                    object.insert(field.to_owned(), json!(at));
                }
                (_, None) => errors.push(fault(
                    format!("/{field}"),
                    "is no date and time: 2026-11-22 08:30",
                )),
            }
        }
        match self.weight.trim() {
            "" => {}
            text => match number(text) {
                Some(value) => {
                    object.insert("weight".to_owned(), value);
                }
                None => errors.push(fault("/weight".to_owned(), "is no number")),
            },
        }
        for one in &self.numbers {
            if let Err(error) = put(&mut object, one) {
                errors.push(error);
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let text = Value::Object(object).to_string();
        read_json::<OverrideBody>(text.as_bytes()).map_err(|error| vec![error])
    }
}

fn put(object: &mut Map<String, Value>, one: &NumberDraft) -> Result<(), Invalid> {
    let pointer = one.at.pointer();
    let value = match one.value.trim() {
        "" => {
            return Err(fault(
                pointer,
                "is missing: remove the line to keep the usual value",
            ));
        }
        text if WORDS.contains(&one.at.field.as_str()) => Value::from(text),
        "unlimited" => Value::from("unlimited"),
        text => {
            number(text).ok_or_else(|| fault(pointer.clone(), "is no number, nor unlimited"))?
        }
    };
    let NumberName {
        section,
        name,
        field,
    } = &one.at;
    let empty = || Value::Object(Map::new());
    let names = object.entry(section.clone()).or_insert_with(empty);
    let fields = names
        .as_object_mut()
        .map(|names| names.entry(name.clone()).or_insert_with(empty));
    let fields = fields.and_then(Value::as_object_mut);
    if let Some(fields) = fields
        && fields.insert(field.clone(), value).is_some()
    {
        return Err(fault(pointer, "is given twice"));
    }
    Ok(())
}

/// A JSON number; `None` for text that is none.
pub(super) fn number(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    value.is_number().then_some(value)
}

pub(super) fn fault(field: String, message: &str) -> Invalid {
    let message = message.to_owned();
    Invalid::new(field, Fault::Form { message })
}

fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(value: Value) -> OverrideBody {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn overrides_come_back() {
        for value in [
            json!({}),
            json!({ "starts_at": 1_795_336_200_000_u64, "weight": 9 }),
            json!({
                "expires_at": 1_795_336_200_000_u64,
                "budgets": { "tokens": { "weight": 1.5, "borrow_max": "unlimited" } },
                "limits": { "a/b": { "limit": 10 } },
                "meters": { "bytes": { "per_sec": "unlimited" }, "calls": { "per_sec": 0.5 } },
                "guards": { "queries": { "concurrency": 4 } },
            }),
        ] {
            let body = body(value);
            assert_eq!(OverrideDraft::of(&body).body(), Ok(body));
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_where_it_stands() {
        let number = |value: &str| NumberDraft {
            at: NumberName::new("meters", "a/b", "per_sec"),
            value: value.to_owned(),
        };
        let base = OverrideDraft::default();
        for (draft, field) in [
            (
                OverrideDraft {
                    starts_at: "soon".to_owned(),
                    ..base.clone()
                },
                "/starts_at",
            ),
            (
                OverrideDraft {
                    expires_at: "2026-02-30".to_owned(),
                    ..base.clone()
                },
                "/expires_at",
            ),
            (
                OverrideDraft {
                    weight: "heavy".to_owned(),
                    ..base.clone()
                },
                "/weight",
            ),
            (
                OverrideDraft {
                    weight: "\"9\"".to_owned(),
                    ..base.clone()
                },
                "/weight",
            ),
            (
                OverrideDraft {
                    numbers: vec![number("")],
                    ..base.clone()
                },
                "/meters/a~1b/per_sec",
            ),
            (
                OverrideDraft {
                    numbers: vec![number("1 000")],
                    ..base.clone()
                },
                "/meters/a~1b/per_sec",
            ),
            (
                OverrideDraft {
                    numbers: vec![number("1"), number("2")],
                    ..base.clone()
                },
                "/meters/a~1b/per_sec",
            ),
        ] {
            let errors = draft.body().unwrap_err();
            assert_eq!(
                (errors.len(), errors[0].field.as_str()),
                (1, field),
                "{draft:?}"
            );
        }
        let foreign = NumberDraft {
            at: NumberName::new("guards", "queries", "lease_ms"),
            value: "unlimited".to_owned(),
        };
        let errors = OverrideDraft {
            numbers: vec![foreign],
            ..base
        }
        .body()
        .unwrap_err();
        assert_eq!(errors[0].field, "/guards/queries/lease_ms");
    }

    #[test]
    fn every_number_that_may_be_given_is_offered_and_accepted() {
        let document: PolicyDocument = serde_json::from_value(json!({
            "budgets": { "tokens": {} }, "meters": { "bytes": {} }, "guards": { "queries": {} },
            "limits": { "own": { "algorithm": "gcra", "per_tenant": true }, "shared": { "algorithm": "gcra" },
                "login": { "all": ["own"] } },
        }))
        .unwrap();
        let names = number_names(&document);
        assert_eq!(names.len(), 5 + 3 + 3 + 3);
        assert!(
            names
                .iter()
                .all(|name| name.name != "shared" && name.name != "login")
        );
        for at in names {
            let value = "5".to_owned();
            let numbers = vec![NumberDraft {
                at: at.clone(),
                value,
            }];
            let read = OverrideDraft {
                numbers,
                ..OverrideDraft::default()
            }
            .body();
            assert!(read.is_ok(), "{}: {read:?}", at.words());
        }
    }
}
