//! The checks of a route as a list: what each charges, by which key, and how much.

use serde_json::{Map, Value, json};

use super::fields::{Field, Kind, field};
use crate::what::{Kind as Rule, What};

/// The kinds of rules that a check may charge.
const RULES: [(Rule, &str); 5] = [
    (Rule::Budget, "/budgets"),
    (Rule::Limit, "/limits"),
    (Rule::Meter, "/meters"),
    (Rule::Guard, "/guards"),
    (Rule::Overload, "/overload"),
];

/// The key within a limit: values and what they are called.
pub const KEYS: [(&str, &str); 6] = [
    ("", "the tenant, where the limit has keys for each"),
    ("tenant", "the tenant"),
    ("client_address", "the client's address"),
    ("header", "a header of the request"),
    ("fixed", "one for all"),
    ("keys", "one for each part of the limit, as JSON below"),
];

/// How many units a request costs.
pub const COST: Field = field(
    "cost",
    "Cost",
    Kind::Whole("units"),
    "Of each request; 1 when empty.",
);

/// How long a request waits.
pub const WAIT: Field = field(
    "wait_ms",
    "Wait",
    Kind::Duration,
    "For how long a request waits instead of being denied; not at all when empty.",
);

/// The header that has the key.
pub const KEY_HEADER: Field = field(
    "header",
    "Header with the key",
    Kind::DecidingText,
    "Such as x-user; its sender is trusted.",
);

/// The key of all.
pub const KEY_FIXED: Field = field(
    "fixed",
    "The key",
    Kind::DecidingText,
    "The same for all requests.",
);

/// One check, as its line shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckLine {
    /// What it charges; none where that is not said.
    pub what: Option<What>,
    /// Which of [`KEYS`].
    pub key: &'static str,
    /// Where its cost is found, in words; none where it is a number of units.
    pub cost_from: Option<String>,
}

impl CheckLine {
    /// Of the object of a check.
    pub fn of(check: &Value) -> Self {
        let named = RULES.iter().find_map(|(kind, _)| {
            let name = check.get(kind.name())?.as_str()?;
            Some(What::new(*kind, name))
        });
        Self {
            what: named,
            key: key(check),
            cost_from: check.get("cost").and_then(found),
        }
    }

    /// What it charges, as a list to choose from has it.
    pub fn rule(&self) -> String {
        let what = self.what.as_ref();
        what.map(What::to_string).unwrap_or_default()
    }

    fn kind(&self) -> Option<Rule> {
        self.what.as_ref().map(|what| what.kind)
    }

    /// Whether it has a key: limits alone do.
    pub fn has_key(&self) -> bool {
        self.kind() == Some(Rule::Limit)
    }

    /// Whether a number of units can be said: of a guard a request takes one slot.
    pub fn has_cost(&self) -> bool {
        self.cost_from.is_none() && !matches!(self.kind(), None | Some(Rule::Guard))
    }

    /// Whether requests may wait for it.
    pub fn has_wait(&self) -> bool {
        matches!(self.kind(), Some(Rule::Budget | Rule::Overload))
    }

    /// The check in a line, to read.
    pub fn words(&self, check: &Value) -> String {
        let what = self.what.as_ref().map(What::words);
        let what = what.unwrap_or_else(|| "nothing yet".to_owned());
        let cost = match (&self.cost_from, check.get("cost").and_then(Value::as_u64)) {
            (Some(from), _) => from.clone(),
            (None, units) => crate::format::counted(units.unwrap_or(1) as usize, "unit"),
        };
        let key = KEYS.iter().find(|(key, _)| *key == self.key);
        let key = key.filter(|(key, _)| !key.is_empty() && self.has_key());
        let key = key.map_or_else(String::new, |(_, label)| format!(" · by {label}"));
        format!("{what} · {cost}{key}")
    }
}

fn key(check: &Value) -> &'static str {
    let said = |value: Option<&Value>| value.is_some_and(|value| !value.is_null());
    if said(check.get("keys")) {
        return "keys";
    }
    match check.get("key") {
        Some(Value::String(named)) => {
            let known = KEYS[1..3].iter().find(|(key, _)| key == named);
            known.map_or("", |(key, _)| key)
        }
        Some(Value::Object(source)) if source.contains_key("fixed") => "fixed",
        Some(Value::Object(_)) => "header",
        _ => "",
    }
}

/// Where a cost is found, in words; none of a number, and of what is being typed.
fn found(cost: &Value) -> Option<String> {
    let source = cost.as_object()?;
    let name = |field: &str| {
        source
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    Some(if source.contains_key("usage") {
        "by the answer's usage".to_owned()
    } else if source.contains_key("response_header") {
        format!("by the answer's header {}", name("response_header"))
    } else if source.contains_key("body_bytes") {
        "by the bytes of the body".to_owned()
    } else {
        format!("by the header {}", name("header"))
    })
}

/// What a check of this document may charge: values and what they are called. What is chosen and is not there says so.
pub fn rules(document: &Value, chosen: &str) -> Vec<(String, String)> {
    let named = RULES.iter().flat_map(|(kind, at)| {
        let entries = document.pointer(at).and_then(Value::as_object);
        let names = entries.into_iter().flat_map(Map::keys);
        names.map(move |name| What::new(*kind, name))
    });
    let mut rules: Vec<(String, String)> =
        named.map(|what| (what.to_string(), what.words())).collect();
    if !rules.iter().any(|(value, _)| value == chosen) {
        let label = match What::parse(chosen) {
            Some(what) => format!("{} (not in the policy)", what.words()),
            None => "choose a rule".to_owned(),
        };
        rules.insert(0, (chosen.to_owned(), label));
    }
    rules
}

/// The check with another rule: what does not belong to that goes.
pub fn charging(check: &Value, what: &What) -> Value {
    let mut body = check.as_object().cloned().unwrap_or_default();
    let before = CheckLine::of(check);
    for (kind, _) in RULES {
        body.remove(kind.name());
    }
    body.insert(what.kind.name().to_owned(), json!(what.name));
    let after = CheckLine {
        what: Some(what.clone()),
        ..before.clone()
    };
    if before.what.as_ref() != Some(what) {
        // Its parts are those of the limit before.
        body.remove("keys");
    }
    if !after.has_key() {
        body.remove("key");
    }
    if what.kind == Rule::Guard {
        body.remove("cost");
    }
    if !after.has_wait() {
        body.remove("wait_ms");
    }
    Value::Object(body)
}

/// The check with another key of [`KEYS`].
pub fn keyed(check: &Value, key: &str) -> Value {
    let mut body = check.as_object().cloned().unwrap_or_default();
    body.remove("key");
    let value = match key {
        "header" => json!({ "header": "" }),
        "fixed" => json!({ "fixed": "" }),
        "" => Value::Null,
        "keys" => return check.clone(),
        named => json!(named),
    };
    body.remove("keys");
    if !value.is_null() {
        body.insert("key".to_owned(), value);
    }
    Value::Object(body)
}

/// The list with one more check: of the first rule of the document that none of the list charges, or of the first.
pub fn added(checks: Option<&Value>, document: &Value) -> Value {
    let mut list = checks
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let charged: Vec<String> = list
        .iter()
        .map(|check| CheckLine::of(check).rule())
        .collect();
    let all = rules(document, "");
    let mut all = all.iter().filter_map(|(value, _)| What::parse(value));
    let first = all.clone().next();
    let free = all.find(|what| !charged.contains(&what.to_string()));
    let new = free.or(first);
    list.push(new.map_or_else(|| json!({}), |what| charging(&json!({}), &what)));
    Value::Array(list)
}

/// The list without the check at a place.
pub fn removed(checks: Option<&Value>, place: usize) -> Value {
    let mut list = checks
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    if place < list.len() {
        list.remove(place);
    }
    Value::Array(list)
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::policy::PolicyDocument;

    use super::*;
    use crate::features::policy::model::draft::PolicyDraft;
    use crate::features::policy::model::fields::{control, means, typed};

    fn document() -> Value {
        json!({
            "budgets": { "tokens": {} }, "limits": { "per_ip": {}, "login": {} }, "guards": { "calls": {} },
            "overload": { "origin": {} },
        })
    }

    fn what(text: &str) -> What {
        What::parse(text).unwrap()
    }

    #[test]
    fn a_check_charges_one_of_the_policys_rules() {
        let values: Vec<String> = rules(&document(), "budget:tokens")
            .into_iter()
            .map(|(value, _)| value)
            .collect();
        assert_eq!(
            values,
            [
                "budget:tokens",
                "limit:login",
                "limit:per_ip",
                "guard:calls",
                "overload:origin"
            ]
        );
        let gone = rules(&document(), "meter:bytes");
        assert_eq!(gone[0].1, "meter bytes (not in the policy)");
        assert_eq!(rules(&document(), "")[0].1, "choose a rule");
    }

    #[test]
    fn with_another_rule_goes_what_is_not_of_it() {
        let check = json!({ "limit": "per_ip", "key": "client_address", "cost": 5 });
        assert_eq!(
            charging(&check, &what("limit:login")),
            json!({ "limit": "login", "key": "client_address", "cost": 5 })
        );
        let budget = charging(&check, &what("budget:tokens"));
        assert_eq!(budget, json!({ "budget": "tokens", "cost": 5 }));
        let waits = json!({ "budget": "tokens", "cost": 5, "wait_ms": 100 });
        assert_eq!(
            charging(&waits, &what("guard:calls")),
            json!({ "guard": "calls" })
        );
        assert_eq!(
            charging(&waits, &what("overload:origin")),
            json!({ "overload": "origin", "cost": 5, "wait_ms": 100 })
        );
        let parts = json!({ "limit": "both", "keys": { "ip": "client_address" } });
        assert_eq!(
            charging(&parts, &what("limit:login")),
            json!({ "limit": "login" })
        );
    }

    #[test]
    fn a_key_is_chosen_and_read_again() {
        let check = json!({ "limit": "per_ip" });
        for (key, _) in &KEYS[..5] {
            let keyed = keyed(&check, key);
            assert_eq!(CheckLine::of(&keyed).key, *key, "{keyed}");
        }
        let parts = json!({ "limit": "both", "keys": { "ip": "client_address" } });
        assert_eq!(CheckLine::of(&parts).key, "keys");
        assert_eq!(keyed(&parts, "keys"), parts);
        assert_eq!(
            keyed(&parts, "tenant"),
            json!({ "limit": "both", "key": "tenant" })
        );
    }

    /// What the field of a key does once its text is typed.
    fn type_key(draft: &mut PolicyDraft, field: Field, text: &str) {
        let at = format!("/routes/0/checks/0/key/{}", field.name);
        if !means(field.kind, text, draft.at(&at)) {
            draft.put(&at, typed(field.kind, text));
        }
    }

    #[test]
    fn a_key_stays_of_its_kind_while_it_is_edited() {
        let mut document: PolicyDocument =
            serde_json::from_str(include_str!("../../../../../policy.json")).unwrap();
        let routes = json!([{ "name": "a", "checks": [{ "limit": "per_ip" }] }]);
        document.routes = serde_json::from_value(routes).unwrap();
        let check = "/routes/0/checks/0";
        for (field, kind) in [(KEY_FIXED, "fixed"), (KEY_HEADER, "header")] {
            let mut draft = PolicyDraft::new(&document, "\"1\"");
            let now = |draft: &PolicyDraft| CheckLine::of(draft.at(check).unwrap()).key;
            let chosen = keyed(draft.at(check).unwrap(), kind);
            draft.put(check, Some(chosen));
            // The field of the new key shows an empty text, and another field is edited.
            let shown = control(field.kind, draft.at(&format!("{check}/key/{kind}")));
            type_key(&mut draft, field, &shown);
            draft.put(&format!("{check}/cost"), typed(COST.kind, "5"));
            assert_eq!(now(&draft), kind);
            for text in ["x-all", "", "x", "", "x-user"] {
                type_key(&mut draft, field, text);
                assert_eq!(now(&draft), kind, "{text:?}");
            }
            let key = json!({ kind: "x-user" });
            assert_eq!(draft.at(&format!("{check}/key")), Some(&key));
            assert_eq!(draft.at(&format!("{check}/cost")), Some(&json!(5)));
        }
    }

    #[test]
    fn the_field_of_a_key_that_has_gone_brings_it_not_back() {
        let mut draft = PolicyDraft::new(&PolicyDocument::default(), "\"1\"");
        let checks = json!([{ "limit": "per_ip", "key": { "fixed": "all" } }]);
        draft.put("/routes", Some(json!([{ "name": "a", "checks": checks }])));
        type_key(&mut draft, KEY_HEADER, "");
        let key = json!({ "fixed": "all" });
        assert_eq!(draft.at("/routes/0/checks/0/key"), Some(&key));
    }

    #[test]
    fn a_line_says_what_is_charged_and_how_much() {
        for (check, words) in [
            (json!({ "budget": "tokens" }), "budget tokens · 1 unit"),
            (
                json!({ "budget": "tokens", "cost": { "usage": { "format": "openai", "reserve": 100 } } }),
                "budget tokens · by the answer's usage",
            ),
            (
                json!({ "limit": "per_ip", "key": "client_address", "cost": 5 }),
                "limit per_ip · 5 units · by the client's address",
            ),
            (json!({}), "nothing yet · 1 unit"),
        ] {
            assert_eq!(CheckLine::of(&check).words(&check), words);
        }
        let usage = json!({ "budget": "tokens", "cost": { "header": "x-cost", "max": 9 } });
        let line = CheckLine::of(&usage);
        assert!(!line.has_cost() && line.has_wait());
        assert_eq!(line.cost_from.as_deref(), Some("by the header x-cost"));
    }

    #[test]
    fn a_new_check_is_of_a_rule_that_is_not_charged_yet() {
        let list = added(None, &document());
        assert_eq!(list, json!([{ "budget": "tokens" }]));
        let list = added(Some(&list), &document());
        assert_eq!(list, json!([{ "budget": "tokens" }, { "limit": "login" }]));
        assert_eq!(removed(Some(&list), 0), json!([{ "limit": "login" }]));
        assert_eq!(removed(Some(&list), 7), list);
        assert_eq!(added(None, &json!({})), json!([{}]));
    }
}
