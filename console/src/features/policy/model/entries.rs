//! The named entries of a section: what each says in a line, and whether the draft changes it.

use serde_json::{Map, Value, json};
use weir_shared::name::label;
use weir_shared::ordered::sort_by;
use weir_shared::wire::policy::Scope;

use super::draft::PolicyDraft;
use super::limit_fields::{numbers, rule};
use super::section::Section;
use super::words;
use crate::format;

/// What a draft does to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing.
    Kept,
    /// It is new.
    Added,
    /// It is changed.
    Changed,
    /// It is taken out.
    Removed,
}

impl Fate {
    /// In a word; empty for what stays.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "",
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// One entry in the list of its section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it says.
    pub summary: String,
    /// What the draft does to it.
    pub fate: Fate,
}

/// The entries of a section, those that the draft takes out included.
pub fn entries(draft: &PolicyDraft, section: Section) -> Vec<Entry> {
    let all = section.entries().map(|at| fates(draft, at));
    let entry = |(name, body, fate): (&String, &Value, Fate)| Entry {
        name: name.clone(),
        summary: summary(section, body),
        fate,
    };
    all.into_iter().flatten().map(entry).collect()
}

/// The entries of the object at a pointer by name, those that the draft takes out as they were, with what it does to each.
pub fn fates<'a>(draft: &'a PolicyDraft, at: &str) -> Vec<(&'a String, &'a Value, Fate)> {
    let (now, base) = (
        draft.at(at).and_then(Value::as_object),
        draft.base_at(at).and_then(Value::as_object),
    );
    let objects = [now, base];
    let mut names: Vec<&String> = objects
        .iter()
        .flatten()
        .flat_map(|object| object.keys())
        .collect();
    sort_by(&mut names, Ord::cmp);
    names.dedup();
    let entry = |name: &'a String| {
        let [now, base] = objects.map(|object| object.and_then(|object| object.get(name)));
        let fate = match (now, base) {
            (Some(_), None) => Fate::Added,
            (None, _) => Fate::Removed,
            (Some(now), Some(base)) if now == base => Fate::Kept,
            (Some(_), Some(_)) => Fate::Changed,
        };
        now.or(base).map(|body| (name, body, fate))
    };
    names.into_iter().filter_map(entry).collect()
}

/// The scope of what says none.
const ALL: &str = words::scope(Some(Scope::Global));

/// What an entry says, in a line.
pub fn summary(section: Section, entry: &Value) -> String {
    let units = |name: &str| figure(entry.get(name));
    let length = |name: &str| {
        entry
            .get(name)
            .and_then(Value::as_u64)
            .map_or_else(|| format::UNKNOWN.to_owned(), short)
    };
    let line = match section {
        Section::Budgets => format!(
            "{} units per {} · {} · {}",
            units("limit"),
            length("window_ms"),
            words::said(entry, "sharing"),
            words::said(entry, "scope")
        ),
        Section::Limits if entry.as_object().is_some_and(Map::is_empty) => {
            "no numbers yet".to_owned()
        }
        Section::Limits => limit(entry),
        Section::Meters => format!(
            "{} units/s · {}",
            units("per_sec"),
            or(&words::said(entry, "scope"), ALL)
        ),
        Section::Guards => format!(
            "{} at a time · {} per minute · {}",
            or(&units("concurrency"), "unlimited"),
            or(&units("per_minute"), "unlimited"),
            or(&words::said(entry, "scope"), ALL)
        ),
        Section::Tiers => format!("weight {}", units("weight")),
        Section::Overload => resource(entry),
        _ => String::new(),
    };
    let shadow = entry.get("shadow").and_then(Value::as_bool) == Some(true);
    if shadow {
        format!("{line} · shadow")
    } else {
        line
    }
}

fn resource(entry: &Value) -> String {
    let figure_or = |name: &str, otherwise: &str| or(&figure(entry.get(name)), otherwise);
    let steering = or(&spaced(entry.get("steering")), "fair rate");
    let levels = match entry.get("clients").filter(|value| !value.is_null()) {
        Some(_) => format!("for {} clients", figure_or("clients", "")),
        None => format!(
            "{} levels of {} buckets",
            figure_or("levels", "3"),
            figure_or("buckets", "1,000")
        ),
    };
    format!("{steering} · {levels}")
}

fn limit(entry: &Value) -> String {
    let units = |name: &str| figure(entry.get(name));
    let length = |name: &str| {
        let ms = entry.get(name).and_then(Value::as_u64);
        ms.map_or_else(|| format::UNKNOWN.to_owned(), short)
    };
    let rate = match rule(entry) {
        "gcra" => format!("{} per {}", units("limit"), length("period_ms")),
        "token_bucket" => format!(
            "{} tokens, {} per s",
            units("capacity"),
            units("refill_per_sec")
        ),
        "quota" => format!("{} per {}", units("limit"), spaced(entry.get("cadence"))),
        "leaky_bucket" => format!(
            "{} per s, waits up to {}",
            units("rate_per_sec"),
            length("max_queue_ms")
        ),
        made_of @ ("all" | "any") => {
            let list = entry.get(made_of).and_then(Value::as_array);
            let names = list.into_iter().flatten().map(|one| {
                one.as_str()
                    .or_else(|| one.get("limit")?.as_str())
                    .unwrap_or(format::UNKNOWN)
            });
            return format!("{made_of} of {}", names.collect::<Vec<_>>().join(", "));
        }
        name if numbers(name, entry)
            .iter()
            .any(|field| field.name == "window_ms") =>
        {
            format!("{} per {}", units("limit"), length("window_ms"))
        }
        name => {
            let numbers = numbers(name, entry);
            if numbers.is_empty() {
                return format::UNKNOWN.to_owned();
            }
            let said = numbers
                .iter()
                .map(|field| format!("{} {}", field.label.to_lowercase(), units(field.name)));
            said.collect::<Vec<_>>().join(", ")
        }
    };
    let per_tenant = entry.get("per_tenant").and_then(Value::as_bool) == Some(true);
    let keys = if per_tenant { " · per tenant" } else { "" };
    format!(
        "{} · {rate} · {}{keys}",
        rule(entry).replace('_', " "),
        words::said(entry, "scope")
    )
}

/// `1 min`, not `1 min 00 s`.
fn short(ms: u64) -> String {
    let (size, name) = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1_000, "s"),
    ]
    .into_iter()
    .find(|(size, _)| ms >= *size && ms.is_multiple_of(*size))
    .unwrap_or((1, "ms"));
    format!("{} {name}", format::count((ms / size).into()))
}

fn spaced(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str).unwrap_or_default();
    text.replace('_', " ")
}

fn figure(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        value => crate::difference::shown(value),
    }
}

fn or(text: &str, otherwise: &str) -> String {
    let text = if text.is_empty() { otherwise } else { text };
    text.to_owned()
}

/// What a new entry begins with.
pub fn template(section: Section) -> Value {
    match section {
        Section::Budgets => json!({
            "limit": 1_000, "window_ms": 60_000, "sharing": "weighted_fair_escrow", "scope": "global",
            "reserve": "paced", "outage": "fail_closed", "lease": "auto"
        }),
        Section::Limits => json!({
            "algorithm": "gcra", "limit": 100, "period_ms": 60_000, "scope": "region"
        }),
        Section::Meters => json!({ "per_sec": 1_000, "scope": "global" }),
        Section::Guards => json!({
            "concurrency": "unlimited", "per_minute": "unlimited", "lease_ms": 30_000, "scope": "global"
        }),
        Section::Tiers => json!({ "weight": 1 }),
        _ => json!({}),
    }
}

/// Whether a new entry of a section may have that name.
///
/// # Errors
/// What is wrong with it.
pub fn new_name(draft: &PolicyDraft, section: Section, name: &str) -> Result<(), String> {
    label(name).map_err(|fault| fault.to_string())?;
    let at = section.entries().unwrap_or_default();
    match draft.at(&format!("{at}/{name}")) {
        Some(_) => Err(format!("there is a {} of that name", section.noun())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::policy::PolicyDocument;

    use super::*;

    fn draft() -> PolicyDraft {
        let document: PolicyDocument =
            serde_json::from_str(include_str!("../../../../../policy.json")).unwrap();
        PolicyDraft::new(&document, "\"1\"")
    }

    #[test]
    fn what_a_draft_does_to_each_entry_is_seen_in_its_list() {
        let mut draft = draft();
        draft.put("/meters/bytes", Some(template(Section::Meters)));
        draft.put("/meters/flow_events", None);
        draft.put("/meters/ingest_bytes/per_sec", Some(json!(5)));
        let fates: Vec<_> = entries(&draft, Section::Meters)
            .into_iter()
            .map(|entry| (entry.name, entry.fate.word()))
            .collect();
        let told: Vec<_> = fates
            .iter()
            .map(|(name, fate)| (name.as_str(), *fate))
            .collect();
        assert_eq!(
            told,
            [
                ("bytes", "added"),
                ("device_metrics", ""),
                ("flow_events", "removed"),
                ("ingest_bytes", "changed"),
                ("results_ingested", ""),
            ]
        );
    }

    #[test]
    fn entries_say_what_they_are_in_a_line() {
        for (section, entry, text) in [
            (
                Section::Budgets,
                json!({ "limit": 30_000, "window_ms": 60_000, "sharing": "weighted_fair_escrow", "scope": "global" }),
                "30,000 units per 1 min · weighted fair escrow · all regions",
            ),
            (
                Section::Limits,
                json!({ "algorithm": "gcra", "limit": 100, "period_ms": 90_000, "scope": "region", "per_tenant": true }),
                "gcra · 100 per 90 s · each region · per tenant",
            ),
            (
                Section::Limits,
                json!({ "all": ["per_ip", { "limit": "login", "weight": 2 }] }),
                "all of per_ip, login",
            ),
            (Section::Limits, json!({}), "no numbers yet"),
            (
                Section::Limits,
                json!({ "limit": 100, "period_ms": 60_000, "scope": "region" }),
                "gcra · 100 per 1 min · each region",
            ),
            (
                Section::Meters,
                json!({ "per_sec": "unlimited", "shadow": true }),
                "unlimited units/s · all regions · shadow",
            ),
            (
                Section::Guards,
                json!({ "concurrency": 4 }),
                "4 at a time · unlimited per minute · all regions",
            ),
            (Section::Tiers, json!({ "weight": 0.5 }), "weight 0.5"),
            (
                Section::Overload,
                json!({}),
                "fair rate · 3 levels of 1,000 buckets",
            ),
            (
                Section::Overload,
                json!({ "steering": "blue", "clients": 20_000, "shadow": true }),
                "blue · for 20,000 clients · shadow",
            ),
        ] {
            assert_eq!(summary(section, &entry), text);
        }
    }

    #[test]
    fn what_is_added_from_a_template_could_be_saved_at_once() {
        for section in Section::ALL {
            if let Some(at) = section.entries() {
                let mut draft = draft();
                draft.put(&format!("{at}/new"), Some(template(section)));
                draft.check().unwrap();
            }
        }
    }

    #[test]
    fn new_names_are_labels_that_are_free() {
        let draft = draft();
        for (name, refused) in [
            ("", Some("is required")),
            ("Bytes", Some("allowed are a-z")),
            ("flow_events", Some("there is a meter")),
            ("bytes", None),
        ] {
            let found = new_name(&draft, Section::Meters, name);
            match refused {
                None => assert_eq!(found, Ok(())),
                Some(part) => assert!(found.unwrap_err().contains(part), "{name}"),
            }
        }
    }
}
