//! The fields of forms: what each is called, what it takes, and how what was typed becomes JSON.

use serde_json::Value;
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::policy::budget::Budget;
use weir_shared::wire::policy::{BudgetBody, Outage, Reserve};

use super::known::Known;
use super::section::Section;
use super::words::{self, SCOPES, SHARED_SCOPES, SHARING};
use super::{descriptors, dimensions};

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, of that unit.
    Whole(&'static str),
    /// A length of time, in milliseconds: `1 min`, `90 s`, `250 ms`.
    Duration,
    /// A number, of that unit.
    Number(&'static str),
    /// A number of that unit, or `unlimited`.
    OrUnlimited(&'static str),
    /// One of these: value and label. The empty value takes the field out of the document.
    Choice(&'static [(&'static str, &'static str)]),
    /// A name of the draft, or empty.
    OneOf(Known),
    /// Yes or no, with what counts when nothing is said.
    Flag(bool),
    /// Any text.
    Text,
    /// Any text. The field decides which form this is: it stays in the document while it is empty, as an empty text.
    DecidingText,
    /// Names with commas between them, as a list.
    Names,
    /// The limits of a composite limit. They decide which form this is: the field stays in the document while it is empty, as an
    /// empty text.
    Dimensions,
    /// The entries of a descriptor: `path = /big, tenant`.
    Entries,
}

/// One field of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name in the document.
    pub name: &'static str,
    /// What it is called.
    pub label: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it means.
    pub hint: &'static str,
}

/// Shortens the tables below.
pub(super) const fn field(
    name: &'static str,
    label: &'static str,
    kind: Kind,
    hint: &'static str,
) -> Field {
    Field {
        name,
        label,
        kind,
        hint,
    }
}

/// The same field at another place.
pub(super) const fn named(name: &'static str, field: Field) -> Field {
    Field { name, ..field }
}

pub(super) const SCOPE: Field = field(
    "scope",
    "Scope",
    Kind::Choice(SCOPES),
    "What it bounds: each isolate, each region, or the whole deployment.",
);
const SHARED_SCOPE: Field = field(
    "scope",
    "Scope",
    Kind::Choice(SHARED_SCOPES),
    "What it bounds: each region, or the whole deployment.",
);
pub(super) const SHADOW: Field = field(
    "shadow",
    "Shadow",
    Kind::Flag(false),
    "Decided and counted, never enforced.",
);
pub(super) const ON_UNAVAILABLE: Field = field(
    "on_unavailable",
    "If Weir cannot decide",
    Kind::Choice(&[
        ("", "deny (by default)"),
        ("deny", "deny"),
        ("allow", "allow"),
    ]),
    "The answer while the object that decides is unreachable.",
);

const BUDGET: &[Field] = &[
    field(
        "description",
        "Description",
        Kind::Text,
        "What it is for, in a sentence; shown on the budget's page.",
    ),
    field(
        "limit",
        "Limit",
        Kind::Whole("units"),
        "Units per window, of all tenants together.",
    ),
    field(
        "window_ms",
        "Window",
        Kind::Duration,
        "How long a window is, such as 1 min; of global budgets at least 1 s.",
    ),
    field(
        "sharing",
        "Sharing",
        Kind::Choice(SHARING),
        "Who gets how much of it. Fair share works for each isolate or each region, a static partition for all regions.",
    ),
    SCOPE,
    field(
        "reserve",
        "Unused guarantees",
        Kind::Choice(&[
            ("", "pooled from 10 s, else pinned (by default)"),
            ("pooled", words::reserve(Some(Reserve::Pooled))),
            ("paced", words::reserve(Some(Reserve::Paced))),
            ("pinned", words::reserve(Some(Reserve::Pinned))),
            ("none", words::reserve(Some(Reserve::None))),
        ]),
        "Paced, pooled and none go with weighted fair escrow alone.",
    ),
    field(
        "outage",
        "If the coordinator is unreachable",
        Kind::Choice(&[
            ("", "fail closed (by default)"),
            ("fail_closed", words::outage(Some(Outage::FailClosed))),
            ("regional_only", words::outage(Some(Outage::RegionalOnly))),
        ]),
        "What a region does then. Regional only for all regions.",
    ),
    field(
        "lease/min",
        "Smallest lease",
        Kind::Whole("units"),
        "The least that an isolate is lent; follows demand when empty.",
    ),
    field(
        "lease/max",
        "Largest lease",
        Kind::Whole("units"),
        "The most that an isolate is lent; follows demand when empty.",
    ),
    SHADOW,
    ON_UNAVAILABLE,
];

const METER: &[Field] = &[
    field(
        "per_sec",
        "Rate",
        Kind::OrUnlimited("units/s"),
        "Units per second of each tenant, or unlimited.",
    ),
    field(
        "burst_seconds",
        "Burst",
        Kind::Number("s"),
        "Seconds of that rate in a full bucket; 10 by default.",
    ),
    field(
        "max_debt_ms",
        "Longest debt",
        Kind::Duration,
        "For how long one batch may leave the bucket empty; 1 min by default.",
    ),
    SHARED_SCOPE,
    field(
        "billable",
        "Billable",
        Kind::Flag(true),
        "What it admits is billed.",
    ),
    SHADOW,
    ON_UNAVAILABLE,
];

const GUARD: &[Field] = &[
    field(
        "concurrency",
        "Concurrency",
        Kind::OrUnlimited("calls"),
        "Calls of a tenant at a time; unlimited by default.",
    ),
    field(
        "per_minute",
        "Per minute",
        Kind::OrUnlimited("calls/min"),
        "Calls of a tenant that start in a minute; unlimited by default.",
    ),
    field(
        "lease_ms",
        "Lease",
        Kind::Duration,
        "After how long a call counts as ended if nobody renewed or released it; 30 s by default.",
    ),
    SHARED_SCOPE,
    SHADOW,
    ON_UNAVAILABLE,
];

const TIER: &[Field] = &[field(
    "weight",
    "Weight",
    Kind::Number("shares"),
    "The weight of each tenant in it that has none of its own; at most six decimals.",
)];

/// The fields of one entry of a section. Those of a limit depend on what it is.
pub fn fields(section: Section, entry: &Value) -> Vec<Field> {
    match section {
        Section::Budgets => BUDGET.to_vec(),
        Section::Limits => super::limit_fields::fields(entry),
        Section::Meters => METER.to_vec(),
        Section::Guards => GUARD.to_vec(),
        Section::Tiers => TIER.to_vec(),
        Section::Overload => super::overload_fields::fields(entry),
        _ => Vec::new(),
    }
}

/// A flag in a word: as its box stands.
///
/// ```
/// use serde_json::json;
/// use weir_console::features::policy::model::fields::flag_word;
/// assert_eq!((flag_word(Some(&json!(true)), false), flag_word(None, false)), ("on", "off"));
/// ```
pub fn flag_word(value: Option<&Value>, default: bool) -> &'static str {
    match value.and_then(Value::as_bool).unwrap_or(default) {
        true => "on",
        false => "off",
    }
}

/// The value of a field as its control shows it.
pub fn control(kind: Kind, value: Option<&Value>) -> String {
    match (kind, value) {
        (Kind::Flag(default), value) => value
            .and_then(Value::as_bool)
            .unwrap_or(default)
            .to_string(),
        (_, None | Some(Value::Null)) => String::new(),
        (Kind::Names, Some(Value::Array(names))) => {
            let named = names.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
            named.map_or_else(
                || Value::from(names.clone()).to_string(),
                |names| names.join(", "),
            )
        }
        (Kind::Dimensions, Some(value @ Value::Array(_))) => {
            dimensions::text(value).unwrap_or_else(|| value.to_string())
        }
        (Kind::Entries, Some(value @ Value::Array(_))) => {
            descriptors::text(value).unwrap_or_else(|| value.to_string())
        }
        (Kind::Duration, Some(value)) if value.as_u64().is_some() => {
            crate::format::length(value.as_u64().unwrap_or_default())
        }
        // A text in its place is what is being typed.
        (_, Some(Value::String(text))) => text.clone(),
        (_, Some(value)) => value.to_string(),
    }
}

/// What was typed, as JSON; `None` takes the field out of the document. What is no number stays text, so that the
/// validation finds it where it stands.
pub fn typed(kind: Kind, text: &str) -> Option<Value> {
    let text = text.trim();
    if text.is_empty() {
        return stays_empty(kind).then(|| Value::String(String::new()));
    }
    let as_text = || Value::String(text.to_owned());
    let value = match kind {
        Kind::Whole(_) | Kind::Number(_) | Kind::OrUnlimited(_) => {
            number(text).unwrap_or_else(as_text)
        }
        Kind::Duration => crate::format::parse_length(text)
            .map(Value::from)
            .or_else(|| number(text))
            .unwrap_or_else(as_text),
        Kind::Choice(_) | Kind::OneOf(_) | Kind::Text | Kind::DecidingText => as_text(),
        Kind::Flag(_) => Value::Bool(text == "true"),
        Kind::Names => {
            let names = text.split(',').map(str::trim);
            let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
            (!names.is_empty()).then(|| Value::from(names))?
        }
        Kind::Dimensions | Kind::Entries if text.starts_with('[') => {
            weir_shared::json::from_str(text).unwrap_or_else(|_| as_text())
        }
        Kind::Dimensions => dimensions::parse(text).unwrap_or_else(as_text),
        Kind::Entries => descriptors::parse(text).unwrap_or_else(as_text),
    };
    (!value.is_null()).then_some(value)
}

/// Whether a field stays in the document while it is empty: it decides which form this is.
pub fn stays_empty(kind: Kind) -> bool {
    matches!(kind, Kind::Dimensions | Kind::DecidingText)
}

/// Whether what was typed means what the document has. An empty text means nothing, too: it brings no field back that has gone.
///
/// ```
/// use serde_json::json;
/// use weir_console::features::policy::model::fields::{Kind, means};
/// assert!(means(Kind::DecidingText, "", Some(&json!(""))) && means(Kind::DecidingText, "", None));
/// assert!(!means(Kind::Text, "", Some(&json!(""))));
/// ```
pub fn means(kind: Kind, text: &str, now: Option<&Value>) -> bool {
    let gone = now.is_none() && text.trim().is_empty();
    gone || typed(kind, text).as_ref() == now
}

/// Digits may be grouped: `30,000`, `30 000`, `30_000`.
pub(super) fn number(text: &str) -> Option<Value> {
    let digits: String = text
        .chars()
        .filter(|c| !matches!(c, ',' | '_' | ' ' | '\u{a0}' | '\u{202f}'))
        .collect();
    if let Ok(whole) = digits.parse::<i64>() {
        return Some(whole.into());
    }
    let number: f64 = digits.parse().ok().filter(|n: &f64| n.is_finite())?;
    let whole = number.fract() == 0.0 && number.abs() <= JSON_INTEGER_MAX as f64;
    Some(if whole {
        (number as i64).into()
    } else {
        serde_json::Number::from_f64(number)?.into()
    })
}

/// What to say of a value that is not of the form that a field takes.
pub fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Whole(_) => "enter a whole number",
        Kind::Duration => "enter a length of time, such as 1 min or 250 ms",
        Kind::Number(_) => "enter a number",
        Kind::OrUnlimited(_) => "enter a number, or unlimited",
        Kind::Choice(_) | Kind::OneOf(_) => "choose one of the list",
        Kind::Flag(_) => "yes or no",
        Kind::Text | Kind::DecidingText => "enter a text",
        Kind::Names => "enter names with commas between them",
        Kind::Entries => "enter keys with or without values, such as path = /big, tenant",
        Kind::Dimensions => "enter names of limits, such as ip = per_ip * 2, resets",
    }
}

/// What stands behind a control: the unit.
pub fn unit(kind: Kind) -> &'static str {
    match kind {
        Kind::Whole(unit) | Kind::Number(unit) | Kind::OrUnlimited(unit) => unit,
        Kind::Duration
        | Kind::Choice(_)
        | Kind::OneOf(_)
        | Kind::Flag(_)
        | Kind::Text
        | Kind::DecidingText
        | Kind::Names
        | Kind::Dimensions
        | Kind::Entries => "",
    }
}

/// What a list of an entry offers: of a budget only what is served with its sharing and its scope.
pub fn offered(
    section: Section,
    field: &Field,
    entry: &Value,
) -> Vec<(&'static str, &'static str)> {
    let Kind::Choice(all) = field.kind else {
        return Vec::new();
    };
    let depends =
        section == Section::Budgets && matches!(field.name, "scope" | "reserve" | "outage");
    let fits = |value: &str| !depends || value.is_empty() || is_served(entry, field.name, value);
    all.iter()
        .copied()
        .filter(|(value, _)| fits(value))
        .collect()
}

/// Whether a budget with that value would be served, were nothing else wrong with it.
fn is_served(entry: &Value, name: &str, value: &str) -> bool {
    let mut probe = serde_json::json!({ "limit": JSON_INTEGER_MAX, "window_ms": 60_000 });
    for known in ["sharing", "scope"] {
        probe[known] = entry.get(known).cloned().unwrap_or(Value::Null);
    }
    probe[name] = Value::String(value.to_owned());
    let body = weir_shared::json::from_value::<BudgetBody>(&probe);
    body.is_ok_and(|body| Budget::try_from(&body).is_ok())
}

/// A budget with another sharing: its scope and what depends on both stay where they are served with it.
pub fn shared_by(entry: &Value, sharing: &str) -> Value {
    let mut entry = entry.clone();
    entry["sharing"] = Value::String(sharing.to_owned());
    let keeps = |entry: &Value, name: &str| {
        let now = entry.get(name).and_then(Value::as_str);
        now.is_none_or(|now| is_served(entry, name, now))
    };
    if !keeps(&entry, "scope") {
        let scopes = SCOPES.iter().map(|(value, _)| *value);
        if let Some(scope) = scopes.rev().find(|scope| is_served(&entry, "scope", scope)) {
            entry["scope"] = Value::String(scope.to_owned());
        }
    }
    for name in ["reserve", "outage"] {
        if !keeps(&entry, name)
            && let Some(fields) = entry.as_object_mut()
        {
            fields.remove(name);
        }
    }
    entry
}

#[cfg(test)]
mod tests;
