//! An override while it is being written: as text, field by field.

use serde_json::{Map, Value, json};
use weir_shared::invalid::{Invalid, read_json};
use weir_shared::wire::overrides::OverrideBody;

use super::numbers::{NumberDraft, as_text, fault, number, numbers, put};
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

impl OverrideDraft {
    /// An override as text.
    pub fn of(body: &OverrideBody) -> Self {
        let instant = |at: Option<weir_shared::units::EpochMs>| {
            at.map_or_else(String::new, |at| when::write(at.0))
        };
        let value = weir_shared::json::to_value(body).unwrap_or_default();
        Self {
            starts_at: instant(body.starts_at),
            expires_at: instant(body.expires_at),
            weight: value.get("weight").map(as_text).unwrap_or_default(),
            numbers: numbers(&value),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::tenant::model::numbers::NumberName;

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
}
