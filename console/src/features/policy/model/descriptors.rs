//! What Envoy's descriptors charge, as lists: a domain's rules in the order in which they are tried.

use serde_json::{Map, Value, json};
use weir_shared::name::tenant_name;

use super::fields::{Field, Kind, field};
use super::known::Known;
use weir_shared::json::pointer::step;

/// Where they stand in the document.
pub const DESCRIPTORS: &str = "/descriptors";

/// The fields of a rule.
pub const FIELDS: [Field; 5] = [
    field(
        "entries",
        "Entries",
        Kind::Entries,
        "Those of the descriptor, in this order and no others, such as path = /big, tenant.",
    ),
    field(
        "tenant",
        "Tenant",
        Kind::Text,
        "Who is charged; empty where an entry names it.",
    ),
    field(
        "tenant_from",
        "Tenant by entry",
        Kind::Text,
        "The key of the entry whose value names the tenant.",
    ),
    field(
        "budget",
        "Budget",
        Kind::OneOf(Known::LeasedBudgets),
        "What is charged: a budget of scope region or global.",
    ),
    field(
        "cost",
        "Cost",
        Kind::Whole("units"),
        "Of each hit; 1 when empty.",
    ),
];

/// One domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// Its name.
    pub name: String,
    /// How many rules it has.
    pub rules: usize,
}

impl Domain {
    /// Where its list stands.
    pub fn pointer(&self) -> String {
        pointer(&self.name)
    }
}

fn pointer(domain: &str) -> String {
    format!("{DESCRIPTORS}{}", step(domain))
}

/// The domains of a document.
pub fn domains(value: Option<&Value>) -> Vec<Domain> {
    let all = value.and_then(Value::as_object);
    let domain = |(name, rules): (&String, &Value)| Domain {
        name: name.clone(),
        rules: rules.as_array().map_or(0, Vec::len),
    };
    all.into_iter().flatten().map(domain).collect()
}

/// Whether a new domain may have that name.
///
/// # Errors
/// What is wrong with it.
pub fn new_name(value: Option<&Value>, name: &str) -> Result<(), String> {
    tenant_name(name).map_err(|fault| fault.to_string())?;
    match value.and_then(|all| all.get(name)) {
        Some(_) => Err("there is a domain of that name".to_owned()),
        None => Ok(()),
    }
}

/// The domains with one more rule of one of them, which need not be there yet: of the first budget that agents lease, and of
/// entries that no other rule of the domain has.
pub fn added(value: Option<&Value>, domain: &str, document: &Value) -> Value {
    let mut all = object(value);
    let rules = all.entry(domain).or_insert_with(|| json!([]));
    if let Some(rules) = rules.as_array_mut() {
        let key = free_key(rules);
        let mut rule = json!({ "entries": [{ "key": key }], "tenant_from": key });
        if let Some(budget) = Known::LeasedBudgets.names(document).first() {
            rule["budget"] = json!(budget);
        }
        rules.push(rule);
    }
    Value::Object(all)
}

/// `tenant`, or the first of `tenant_2`, `tenant_3` and so on by which alone none of the rules goes.
fn free_key(rules: &[Value]) -> String {
    let taken = |key: &str| {
        let entries = json!([{ "key": key }]);
        rules
            .iter()
            .any(|rule| rule.get("entries") == Some(&entries))
    };
    let numbered = (2..).map(|number: usize| format!("tenant_{number}"));
    let mut keys = std::iter::once("tenant".to_owned()).chain(numbered);
    keys.find(|key| !taken(key)).unwrap_or_default()
}

/// The domains with the rule at a place tried before the one that was tried before it.
pub fn earlier(value: Option<&Value>, domain: &str, place: usize) -> Value {
    let mut all = object(value);
    if let Some(rules) = all.get_mut(domain).and_then(Value::as_array_mut)
        && place > 0
        && place < rules.len()
    {
        rules.swap(place - 1, place);
    }
    Value::Object(all)
}

/// Whether what a pointer leads to is seen at a field of a rule.
///
/// ```
/// use weir_console::features::policy::model::descriptors::has_field;
/// assert!(has_field("/descriptors/edge/0/cost") && has_field("/descriptors/edge/0/entries/1/key"));
/// assert!(!has_field("/descriptors/cost") && !has_field("/descriptors/cost/0"));
/// ```
pub fn has_field(pointer: &str) -> bool {
    let field = pointer.split('/').nth(4);
    field.is_some_and(|name| FIELDS.iter().any(|field| field.name == name))
}

/// Whether the rule at a place is the one that stood there before. Rules have no names: what tells them apart in a domain is
/// their entries, and where there are more or fewer of them, they may have moved.
pub fn stays(before: Option<&Value>, now: Option<&Value>, place: usize) -> bool {
    let rules = |list: Option<&Value>| list.and_then(Value::as_array).cloned().unwrap_or_default();
    let (before, now) = (rules(before), rules(now));
    let entries = |list: &[Value]| {
        list.get(place)
            .and_then(|rule| rule.get("entries"))
            .cloned()
    };
    let elsewhere = |list: &[Value], entries: Option<Value>| {
        let mut others = list.iter().enumerate().filter(|(other, _)| *other != place);
        others.any(|(_, rule)| rule.get("entries") == entries.as_ref())
    };
    before.len() == now.len()
        && !elsewhere(&before, entries(&now))
        && !elsewhere(&now, entries(&before))
}

/// The domains without the rule at a place, and without its domain where that was the last one.
pub fn removed(value: Option<&Value>, domain: &str, place: usize) -> Value {
    let mut all = object(value);
    if let Some(rules) = all.get_mut(domain).and_then(Value::as_array_mut) {
        if place < rules.len() {
            rules.remove(place);
        }
        if rules.is_empty() {
            all.remove(domain);
        }
    }
    Value::Object(all)
}

fn object(value: Option<&Value>) -> Map<String, Value> {
    let object = value.and_then(Value::as_object);
    object.cloned().unwrap_or_default()
}

/// Entries as people type them: `path = /big, tenant`; none for what text cannot say, such as a value with a comma.
///
/// ```
/// use serde_json::json;
/// use weir_console::features::policy::model::descriptors::{parse, text};
/// let entries = json!([{ "key": "path", "value": "/big" }, { "key": "tenant" }]);
/// assert_eq!(text(&entries).unwrap(), "path = /big, tenant");
/// assert_eq!(parse("path=/big, tenant"), Some(entries));
/// assert_eq!(parse("= x"), None);
/// ```
pub fn text(entries: &Value) -> Option<String> {
    let all = entries.as_array().filter(|all| !all.is_empty())?;
    let one = |entry: &Value| {
        let key = entry.get("key")?.as_str()?;
        Some(match entry.get("value") {
            None => key.to_owned(),
            Some(value) => format!("{key} = {}", value.as_str()?),
        })
    };
    let texts = all.iter().map(one).collect::<Option<Vec<_>>>()?;
    let text = texts.join(", ");
    (parse(&text).as_ref() == Some(entries)).then_some(text)
}

/// What was typed as entries; none while it is not of that form.
pub fn parse(text: &str) -> Option<Value> {
    let parts = text.split(',').map(str::trim);
    let parts = parts.filter(|part| !part.is_empty());
    let one = |part: &str| {
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (part, None),
        };
        if key.is_empty() {
            return None;
        }
        Some(match value {
            Some(value) => json!({ "key": key, "value": value }),
            None => json!({ "key": key }),
        })
    };
    let all = parts.map(one).collect::<Option<Vec<_>>>()?;
    (!all.is_empty()).then_some(Value::Array(all))
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::policy::PolicyDocument;

    use super::*;
    use crate::features::policy::model::draft::PolicyDraft;

    fn draft() -> PolicyDraft {
        let document: PolicyDocument =
            serde_json::from_str(include_str!("../../../../../policy.json")).unwrap();
        PolicyDraft::new(&document, "\"1\"")
    }

    #[test]
    fn what_is_added_could_be_saved_at_once_and_is_removed_again() {
        let mut draft = draft();
        let before = draft.at(DESCRIPTORS).cloned();
        for _ in 0..2 {
            let all = added(draft.at(DESCRIPTORS), "edge/a", draft.value());
            draft.put(DESCRIPTORS, Some(all));
        }
        draft.put(
            "/descriptors/edge~1a/0/entries",
            parse("path = /big, tenant"),
        );
        draft.check().unwrap();
        let told = domains(draft.at(DESCRIPTORS));
        assert_eq!((told[0].name.as_str(), told[0].rules), ("edge/a", 2));
        assert_eq!(told[0].pointer(), "/descriptors/edge~1a");
        assert!(draft.at(&told[0].pointer()).is_some());
        assert!(new_name(draft.at(DESCRIPTORS), "edge/a").is_err());
        assert_eq!(new_name(draft.at(DESCRIPTORS), "other"), Ok(()));
        for _ in 0..2 {
            let all = removed(draft.at(DESCRIPTORS), "edge/a", 0);
            draft.put(DESCRIPTORS, Some(all));
        }
        assert_eq!(domains(draft.at(DESCRIPTORS)), domains(before.as_ref()));
    }

    #[test]
    fn each_rule_that_is_added_could_be_saved_as_it_is() {
        let mut draft = draft();
        // The first by name, and no agent leases it.
        let own =
            json!({ "limit": 5, "window_ms": 1000, "sharing": "first_come", "scope": "isolate" });
        draft.put("/budgets/a_first", Some(own));
        draft.check().unwrap();
        for _ in 0..3 {
            let all = added(draft.at(DESCRIPTORS), "edge", draft.value());
            draft.put(DESCRIPTORS, Some(all));
            draft.check().unwrap();
        }
        let from = |place: usize| draft.at(&format!("/descriptors/edge/{place}/tenant_from"));
        assert_eq!(
            [0, 1, 2].map(|place| from(place).unwrap().as_str().unwrap()),
            ["tenant", "tenant_2", "tenant_3"]
        );
        assert_ne!(
            draft.at("/descriptors/edge/0/budget"),
            Some(&json!("a_first"))
        );
        assert_eq!(
            added(None, "edge", &json!({}))["edge"][0].get("budget"),
            None
        );
    }

    #[test]
    fn a_rule_is_tried_earlier_and_known_by_its_entries() {
        let rule = |key: &str, cost: u64| json!({ "entries": [{ "key": key }], "cost": cost });
        let before = json!({ "edge": [rule("a", 1), rule("b", 2)] });
        let moved = earlier(Some(&before), "edge", 1);
        assert_eq!(moved, json!({ "edge": [rule("b", 2), rule("a", 1)] }));
        for (domain, place) in [("edge", 0), ("edge", 2), ("other", 1)] {
            assert_eq!(earlier(Some(&before), domain, place), before);
        }
        let stay = |now: Value, place| stays(Some(&before["edge"]), Some(&now), place);
        assert!(!stay(moved["edge"].clone(), 0) && !stay(moved["edge"].clone(), 1));
        assert!(stay(json!([rule("a", 5), rule("b", 2)]), 0));
        assert!(
            stay(json!([rule("c", 1), rule("b", 2)]), 0),
            "its entries are edited"
        );
        let edited = json!([rule("b", 2), rule("c", 1)]);
        assert!(!stay(edited.clone(), 0) && !stay(edited, 1));
        assert!(!stay(json!([rule("b", 2)]), 0));
    }

    #[test]
    fn what_text_cannot_say_stays_as_it_is() {
        for entries in [
            json!([{ "key": "path", "value": "/a,b" }]),
            json!([{ "key": "path", "other": 1 }]),
            json!([{ "value": "x" }]),
            json!([]),
        ] {
            assert_eq!(text(&entries), None, "{entries}");
        }
    }

    #[test]
    fn every_field_of_the_document_has_a_control() {
        let document = weir_shared::openapi::document().unwrap();
        let known = &document["components"]["schemas"]["Descriptor"]["properties"];
        let mut known: Vec<&String> = known.as_object().unwrap().keys().collect();
        known.sort_unstable();
        let mut shown = FIELDS.map(|field| field.name);
        shown.sort_unstable();
        assert_eq!(known, shown);
    }
}
