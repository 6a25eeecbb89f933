//! Numbers that a tenant, or an override of it, gives of budgets, limits, meters and guards: as text, a line each.

use serde_json::{Map, Value};
use weir_shared::invalid::{Fault, Invalid};
use weir_shared::json::pointer::step;
use weir_shared::policy::algorithm::fields;
use weir_shared::policy::limit::algorithm_of;
use weir_shared::wire::numbers::{
    BudgetOverrideBody, GuardOverrideBody, LimitOverrideBody, MeterOverrideBody, Number,
};
use weir_shared::wire::policy::PolicyDocument;

use crate::features::policy::model::fields as forms;
use crate::features::policy::model::section::Section;
use crate::format;
use crate::format::parse_length;

/// One number of a budget, limit, meter or guard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberDraft {
    /// Which.
    pub at: NumberName,
    /// The number, `unlimited`, or a length of time such as `1 min`.
    pub value: String,
}

/// Where a number belongs: `meters`, `bytes`, `per_sec`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberName {
    /// The section.
    pub section: String,
    /// The budget's, limit's, meter's or guard's name.
    pub name: String,
    /// The field.
    pub field: String,
}

impl NumberName {
    /// That place.
    pub fn new(section: &str, name: &str, field: &str) -> Self {
        Self {
            section: section.to_owned(),
            name: name.to_owned(),
            field: field.to_owned(),
        }
    }

    /// Its pointer within the tenant, or within the override.
    pub fn pointer(&self) -> String {
        let Self {
            section,
            name,
            field,
        } = self;
        format!("/{section}{}/{field}", step(name))
    }

    /// In words: `meter bytes: rate`.
    pub fn words(&self) -> String {
        let kind = self.section.strip_suffix('s').unwrap_or(&self.section);
        let field = label(&self.section, &self.field).to_lowercase();
        format!("{kind} {}: {field}", self.name)
    }

    /// Whether it is a length of time, which is typed with its unit.
    pub fn is_length(&self) -> bool {
        self.field.ends_with("_ms")
    }

    /// What stands behind the number.
    pub fn unit(&self) -> &'static str {
        match self.section.as_str() {
            // Their algorithm says what they count.
            "limits" => "",
            section => unit(section, &self.field),
        }
    }
}

/// What a field is called: as in the forms of meters and guards, else its own name in words.
///
/// ```
/// use weir_console::features::tenant::model::numbers::label;
/// assert_eq!(label("meters", "max_debt_ms"), "Longest debt");
/// assert_eq!(label("budgets", "borrow_max"), "May borrow");
/// assert_eq!(label("limits", "period_ms"), "Period");
/// ```
pub fn label(section: &str, field: &str) -> String {
    let form = match section {
        "meters" => forms::fields(Section::Meters, &Value::Null),
        "guards" => forms::fields(Section::Guards, &Value::Null),
        _ => Vec::new(),
    };
    if let Some(known) = form.iter().find(|one| one.name == field) {
        return known.label.to_owned();
    }
    // The most that a tenant may do of something.
    if let Some(verb) = field.strip_suffix("_max") {
        return format!("May {verb}");
    }
    let mut words = field.strip_suffix("_ms").unwrap_or(field).replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

/// The numbers of a section, in the order in which the policy has them.
pub fn table(section: &str) -> &'static [Number] {
    match section {
        "budgets" => BudgetOverrideBody::NUMBERS,
        "limits" => LimitOverrideBody::NUMBERS,
        "meters" => MeterOverrideBody::NUMBERS,
        "guards" => GuardOverrideBody::NUMBERS,
        _ => &[],
    }
}

/// What a number of a section counts; empty for a plain number and a length of time.
pub fn unit(section: &str, field: &str) -> &'static str {
    let row = table(section).iter().find(|row| row.name == field);
    row.map_or("", |row| row.unit)
}

/// Fields that are words.
const WORDS: [&str; 2] = ["cadence", "time_zone"];

/// Every number that a tenant, or an override of it, may give under a policy.
pub fn number_names(document: &PolicyDocument) -> Vec<NumberName> {
    let all = |section: &'static str, name: &String| {
        let row = |row: &Number| NumberName::new(section, name, row.name);
        table(section).iter().map(row).collect::<Vec<_>>()
    };
    let mut names = Vec::new();
    for name in document.budgets.keys() {
        names.extend(all("budgets", name));
    }
    for (name, limit) in &document.limits {
        // Only a tenant's own keys can have numbers of their own.
        if limit.per_tenant == Some(true)
            && let Some(algorithm) = algorithm_of(limit)
        {
            let fields = fields(algorithm, limit.cadence).iter();
            let fields = fields.filter(|field| **field != "cadence");
            names.extend(fields.map(|field| NumberName::new("limits", name, field)));
        }
    }
    for name in document.meters.keys() {
        names.extend(all("meters", name));
    }
    for name in document.guards.keys() {
        names.extend(all("guards", name));
    }
    names
}

/// The sections that have numbers by name.
const SECTIONS: [&str; 4] = ["budgets", "limits", "meters", "guards"];

/// The numbers of a tenant or an override, as text.
pub fn numbers(of: &Value) -> Vec<NumberDraft> {
    let mut numbers = Vec::new();
    for section in SECTIONS {
        let names = of.get(section).and_then(Value::as_object);
        for (name, fields) in names.into_iter().flatten() {
            for (field, value) in fields.as_object().into_iter().flatten() {
                let at = NumberName::new(section, name, field);
                let ms = value.as_u64().filter(|_| at.is_length());
                let value = ms.map_or_else(|| as_text(value), format::length);
                numbers.push(NumberDraft { at, value });
            }
        }
    }
    numbers
}

/// What names a budget, limit, meter or guard and says nothing of it: it has no line, and stays.
pub fn unsaid(of: &Value) -> Map<String, Value> {
    let mut unsaid = Map::new();
    for section in SECTIONS {
        let names = of.get(section).and_then(Value::as_object);
        let empty = |fields: &Value| fields.as_object().is_some_and(Map::is_empty);
        let names = names.into_iter().flatten();
        let names = names.filter(|(_, fields)| empty(fields));
        let names: Map<String, Value> = names
            .map(|(name, fields)| (name.clone(), fields.clone()))
            .collect();
        if !names.is_empty() {
            unsaid.insert(section.to_owned(), Value::Object(names));
        }
    }
    unsaid
}

/// Puts a number into a tenant or an override.
///
/// # Errors
/// A text that is no number, and a number that is given twice, at its pointer.
pub fn put(object: &mut Map<String, Value>, one: &NumberDraft) -> Result<(), Invalid> {
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
        text if one.at.is_length() => length(text).ok_or_else(|| {
            fault(
                pointer.clone(),
                "is no length of time, such as 1 min or 250 ms",
            )
        })?,
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

/// Milliseconds; a bare number that is none goes on as it is, so that the edge's code says what is wrong with it.
fn length(text: &str) -> Option<Value> {
    let ms = parse_length(text).map(Value::from);
    ms.or_else(|| number(text))
}

/// A JSON number; `None` for text that is none.
pub fn number(text: &str) -> Option<Value> {
    let value: Value = weir_shared::json::from_str(text.trim()).ok()?;
    value.is_number().then_some(value)
}

/// A fault of form at a pointer.
pub fn fault(field: String, message: &str) -> Invalid {
    let message = message.to_owned();
    Invalid::new(field, Fault::Form { message })
}

/// A value as it is typed.
pub fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_shared::wire::policy::TenantBody;

    use super::*;

    fn read(text: &str, field: &str) -> Result<Value, String> {
        let mut object = Map::new();
        let one = NumberDraft {
            at: NumberName::new("guards", "queries", field),
            value: text.to_owned(),
        };
        put(&mut object, &one).map_err(|refused| refused.to_string())?;
        Ok(object["guards"]["queries"][field].clone())
    }

    #[test]
    fn lengths_of_time_are_typed_with_their_unit_and_shown_so() {
        assert_eq!(read("1 min", "lease_ms"), Ok(json!(60_000)));
        assert_eq!(read("25000", "lease_ms"), Ok(json!(25_000)));
        assert_eq!(read("4", "concurrency"), Ok(json!(4)));
        assert_eq!(
            read("1 mi", "lease_ms").unwrap_err(),
            "/guards/queries/lease_ms: is no length of time, such as 1 min or 250 ms"
        );
        assert_eq!(
            read("1 min", "concurrency").unwrap_err(),
            "/guards/queries/concurrency: is no number, nor unlimited"
        );
        let shown =
            numbers(&json!({ "guards": { "queries": { "lease_ms": 90_000, "concurrency": 4 } } }));
        let shown: Vec<&str> = shown.iter().map(|one| one.value.as_str()).collect();
        assert_eq!(shown, ["4", "90 s"]);
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
            let mut object = Map::new();
            let words = at.words();
            put(&mut object, &NumberDraft { at, value }).unwrap();
            let read = weir_shared::json::from_value::<TenantBody>(&Value::Object(object));
            assert!(read.is_ok(), "{words}: {read:?}");
        }
    }
}
