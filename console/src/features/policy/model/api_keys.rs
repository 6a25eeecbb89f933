//! Whose each API key is, a row a key. A key is known by its SHA-256 alone: the key itself is hashed as it is added, and kept
//! nowhere.

use serde_json::{Value, json};
use weir_shared::audit::sha256_hex;
use weir_shared::json::pointer::step;
use weir_shared::limits::{API_KEY_BYTES_MAX, API_KEYS_MAX};
use weir_shared::name::tenant_name;
use weir_shared::ordered::OrderedSet;
use weir_shared::policy::api_keys::hash;

use super::draft::PolicyDraft;
use super::entries::{Fate, fates};
use super::fields::{Field, Kind, field};
use super::routes::ROUTES;

/// Where they stand in the document.
pub const API_KEYS: &str = "/api_keys";

/// Rows that are shown at most beside those that the draft changes: a search finds the others.
pub const ROWS_MAX: usize = 50;

/// Whose a key is. The field stays while it is empty: without it the key would be gone.
pub const TENANT: Field = field("key-tenant", "Tenant", Kind::DecidingText, "");

/// What is typed for a new key: values and what they are called.
pub const GIVEN: [(&str, &str); 2] = [
    ("key", "the key itself"),
    ("hash", "its SHA-256: 64 hexadecimal digits"),
];

/// One key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// Its SHA-256 in hexadecimal, as the document has it.
    pub hash: String,
    /// Whose it is; of a key that the draft takes out whose it was.
    pub tenant: String,
    /// What the draft does to it.
    pub fate: Fate,
    /// What is wrong with the hash.
    pub fault: Option<String>,
}

impl KeyRow {
    /// Where it stands.
    pub fn pointer(&self) -> String {
        format!("{API_KEYS}{}", step(&self.hash))
    }

    /// The beginning and the end of the hash, to tell it from others.
    pub fn short(&self) -> String {
        let digits: Vec<char> = self.hash.chars().collect();
        match digits.len() {
            0..=16 => crate::visible::visible(&self.hash),
            long => {
                let part = |from, to| digits[from..to].iter().collect::<String>();
                crate::visible::visible(&format!("{}…{}", part(0, 8), part(long - 4, long)))
            }
        }
    }
}

/// What a search finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyRows {
    /// The rows that are shown.
    pub rows: Vec<KeyRow>,
    /// How many it finds.
    pub found: usize,
    /// How many there are in all.
    pub total: usize,
}

/// The keys of a draft, those that it takes out included, whose tenant or hash contains `search`. What the draft changes is
/// shown whatever is searched for, so that no row goes while it is edited.
pub fn rows(draft: &PolicyDraft, search: &str) -> KeyRows {
    let search = search.trim().to_lowercase();
    let all = fates(draft, API_KEYS);
    let total = all.len();
    let (mut found, mut kept) = (0, 0);
    let mut rows: Vec<KeyRow> = Vec::new();
    for (key, value, fate) in all {
        let tenant = value.as_str().unwrap_or_default();
        let matches = |text: &str| text.to_lowercase().contains(&search);
        let changed = fate != Fate::Kept;
        if !changed && !matches(key) && !matches(tenant) {
            continue;
        }
        found += 1;
        kept += usize::from(!changed);
        if changed || kept <= ROWS_MAX {
            rows.push(KeyRow {
                hash: key.clone(),
                tenant: tenant.to_owned(),
                fate,
                fault: hash(key).err().map(|fault| fault.to_string()),
            });
        }
    }
    KeyRows { rows, found, total }
}

/// What a key is for is a route that asks for one: what is said where one of the two is missing, as a title and a detail.
pub fn unmet(draft: &PolicyDraft) -> Option<(&'static str, &'static str)> {
    let keys = draft.at(API_KEYS).and_then(Value::as_object);
    let has_keys = keys.is_some_and(|keys| !keys.is_empty());
    let routes = draft.at(ROUTES).and_then(Value::as_array);
    let mut routes = routes.into_iter().flatten();
    let asks = |route: &Value| {
        route
            .pointer("/tenant/api_key")
            .is_some_and(Value::is_object)
    };
    match (has_keys, routes.any(asks)) {
        (true, false) => Some((
            "No route finds its tenant by these keys.",
            "A key has no effect until a route says in which header it comes: Routes, \u{201c}Tenant by API key in\u{201d}.",
        )),
        (false, true) => Some((
            "A route finds its tenant by API key, and the policy has no key.",
            "Until a key is added, no request to that route has a tenant.",
        )),
        _ => None,
    }
}

/// Names of tenants that are suggested at most.
const SUGGESTED_MAX: usize = 20;

/// Tenants that the draft names, for what is typed: those that have it in their names.
pub fn suggested(draft: &PolicyDraft, typed: &str) -> Vec<String> {
    let typed = typed.trim().to_lowercase();
    let object = |at: &str| {
        draft
            .at(at)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
    };
    let named = object("/tenants").map(|(name, _)| name.as_str());
    let with_keys = object(API_KEYS).filter_map(|(_, tenant)| tenant.as_str());
    let all = named.chain(with_keys);
    let fitting = all.filter(|name| name.to_lowercase().contains(&typed));
    let names: OrderedSet<&str> = fitting.collect();
    let names = names.into_iter().take(SUGGESTED_MAX);
    names.map(str::to_owned).collect()
}

/// What is typed for a new key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewKey {
    /// Which of [`GIVEN`] the text is. A key may look like a hash itself.
    pub given: String,
    /// The key, or its hash.
    pub text: String,
    /// Whose it is.
    pub tenant: String,
}

impl NewKey {
    /// The hash that the document gets.
    ///
    /// # Errors
    /// What is wrong with the key or its hash.
    fn hash(&self, keys: &[&String]) -> Result<String, String> {
        let text = self.text.trim();
        if text.is_empty() {
            return Err("is required".to_owned());
        }
        let hash_of = match self.given.as_str() {
            "hash" => {
                hash(text).map_err(|fault| fault.to_string())?;
                text.to_lowercase()
            }
            _ if text.len() > API_KEY_BYTES_MAX => {
                return Err(format!("is longer than {API_KEY_BYTES_MAX} bytes"));
            }
            _ => sha256_hex(text),
        };
        match keys.iter().any(|key| key.eq_ignore_ascii_case(&hash_of)) {
            true => Err("there is this key already".to_owned()),
            false if keys.len() >= API_KEYS_MAX => Err(format!(
                "the policy has {API_KEYS_MAX} keys, as many as it may"
            )),
            false => Ok(hash_of),
        }
    }

    /// Where the key is put in a draft, and what is put there.
    ///
    /// # Errors
    /// The field at fault, `new-key` or `new-key-tenant`, and what is wrong with it.
    pub fn checked(&self, draft: &PolicyDraft) -> Result<(String, Value), (&'static str, String)> {
        let keys = draft.at(API_KEYS).and_then(Value::as_object);
        let keys: Vec<&String> = keys.into_iter().flat_map(|keys| keys.keys()).collect();
        let hash = self.hash(&keys).map_err(|fault| ("new-key", fault))?;
        let tenant = self.tenant.trim();
        tenant_name(tenant).map_err(|fault| ("new-key-tenant", fault.to_string()))?;
        Ok((format!("{API_KEYS}/{hash}"), json!(tenant)))
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::policy::PolicyDocument;

    use super::*;
    use crate::features::policy::model::fields::{control, means, typed};

    /// The SHA-256 of `abc` (FIPS 180-2, appendix B.1).
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn draft(keys: Value) -> PolicyDraft {
        let mut document: PolicyDocument =
            serde_json::from_str(include_str!("../../../../../policy.json")).unwrap();
        document.api_keys = serde_json::from_value(keys).unwrap();
        PolicyDraft::new(&document, "\"1\"")
    }

    fn new(given: &str, text: &str, tenant: &str) -> NewKey {
        let owned = str::to_owned;
        NewKey {
            given: owned(given),
            text: owned(text),
            tenant: owned(tenant),
        }
    }

    #[test]
    fn of_a_key_that_is_added_the_draft_keeps_the_hash_alone() {
        for (given, text) in [
            ("key", "abc"),
            ("key", " abc\n"),
            ("hash", ABC),
            ("hash", &ABC.to_uppercase()),
        ] {
            let mut draft = draft(json!({}));
            let (pointer, tenant) = new(given, text, " acme ").checked(&draft).unwrap();
            assert_eq!(pointer, format!("/api_keys/{ABC}"));
            draft.put(&pointer, Some(tenant));
            let policy = draft.check().unwrap().policy;
            assert_eq!(policy.api_keys.tenant("abc"), Some("acme"), "{text:?}");
            assert!(!draft.kept().contains("\"abc"), "{}", draft.kept());
        }
        // A key that looks like a hash is hashed like any other.
        let (pointer, _) = new("key", ABC, "acme").checked(&draft(json!({}))).unwrap();
        assert_eq!(pointer, format!("/api_keys/{}", sha256_hex(ABC)));
    }

    #[test]
    fn what_is_refused_names_the_field() {
        let draft = draft(json!({ ABC.to_uppercase(): "acme" }));
        let long = "x".repeat(API_KEY_BYTES_MAX + 1);
        for (given, text, tenant, field, part) in [
            ("key", " ", "acme", "new-key", "is required"),
            ("key", &long, "acme", "new-key", "longer than 1024 bytes"),
            ("key", "abc", "acme", "new-key", "there is this key already"),
            ("hash", &ABC[1..], "acme", "new-key", "63 digits"),
            ("hash", "sk-abc", "acme", "new-key", "hexadecimal digits"),
            ("key", "abd", "", "new-key-tenant", "is required"),
            (
                "key",
                "abd",
                "a\u{7}",
                "new-key-tenant",
                "control characters",
            ),
        ] {
            let (at, fault) = new(given, text, tenant).checked(&draft).unwrap_err();
            assert_eq!(at, field, "{text:?} of {tenant:?}");
            assert!(fault.contains(part), "{fault}");
        }
    }

    #[test]
    fn a_key_stays_while_its_tenant_is_typed_and_is_put_back_when_it_was_removed() {
        let mut draft = draft(json!({ ABC: "acme" }));
        let row = rows(&draft, "").rows.remove(0);
        assert_eq!(
            (row.short().as_str(), row.tenant.as_str()),
            ("ba7816bf…15ad", "acme")
        );
        let pointer = row.pointer();
        for text in ["", "h", "hooli"] {
            if !means(TENANT.kind, text, draft.at(&pointer)) {
                draft.put(&pointer, typed(TENANT.kind, text));
            }
            assert_eq!(control(TENANT.kind, draft.at(&pointer)), text);
            let told = rows(&draft, "").rows;
            assert_eq!((told.len(), told[0].fate), (1, Fate::Changed), "{text}");
        }
        assert!(draft.check().is_ok());
        draft.put(&pointer, typed(TENANT.kind, ""));
        assert_eq!(draft.check().unwrap_err().pointer, pointer);
        draft.put(&pointer, None);
        let told = rows(&draft, "").rows;
        assert_eq!(
            (told[0].fate, told[0].tenant.as_str()),
            (Fate::Removed, "acme")
        );
        draft.put(&pointer, draft.base_at(&pointer).cloned());
        assert!(!draft.is_changed());
    }

    #[test]
    fn a_key_without_a_route_and_a_route_without_a_key_are_told() {
        let route = |tenant: Value| json!([{ "name": "a", "path": "/a", "tenant": tenant }]);
        let by_key = json!({ "api_key": { "header": "authorization" } });
        let by_header = json!({ "header": "x-tenant" });
        for (keys, tenant, told) in [
            (json!({ ABC: "acme" }), &by_header, Some("No route finds")),
            (json!({}), &by_key, Some("A route finds")),
            (json!({ ABC: "acme" }), &by_key, None),
            (json!({}), &by_header, None),
        ] {
            let mut draft = draft(keys);
            draft.put(ROUTES, Some(route(tenant.clone())));
            let title = unmet(&draft).map(|(title, _)| title);
            assert_eq!(
                title.map(|title| title.starts_with(told.unwrap_or("?"))),
                told.map(|_| true),
                "{title:?}"
            );
        }
    }

    #[test]
    fn tenants_that_the_draft_names_are_suggested() {
        let mut draft = draft(json!({ ABC: "free:Acme" }));
        draft.put(
            "/tenants",
            Some(json!({ "pro:acme": {}, "pro:hooli": {}, "free:Acme": {} })),
        );
        assert_eq!(suggested(&draft, " ACME"), ["free:Acme", "pro:acme"]);
        assert_eq!(suggested(&draft, "").len(), 3);
        let many: serde_json::Map<String, Value> =
            (0..50).map(|n| (format!("t{n}"), json!({}))).collect();
        draft.put("/tenants", Some(Value::Object(many)));
        assert_eq!(suggested(&draft, "t").len(), SUGGESTED_MAX);
    }

    #[test]
    fn a_hash_that_is_none_is_told_beside_it() {
        let mut draft = draft(json!({ ABC: "acme" }));
        draft.put_text(API_KEYS, "{ \"a/b\": 1.5, \"zz\": \"hooli\" }");
        let told = rows(&draft, "").rows;
        let faults = told.iter().map(|row| row.fault.is_some());
        assert_eq!(faults.collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(draft.at(&told[0].pointer()), Some(&json!(1.5)));
    }

    #[test]
    fn keys_are_found_by_tenant_and_hash_and_many_are_not_all_shown() {
        let many = (0..ROWS_MAX + 5).map(|n| (sha256_hex(&n.to_string()), format!("t{n}")));
        let mut draft = draft(Value::Object(
            many.map(|(hash, tenant)| (hash, json!(tenant))).collect(),
        ));
        let all = rows(&draft, "");
        assert_eq!(
            (all.rows.len(), all.found, all.total),
            (ROWS_MAX, ROWS_MAX + 5, ROWS_MAX + 5)
        );
        let one = rows(&draft, " T54");
        assert_eq!((one.rows[0].tenant.as_str(), one.found), ("t54", 1));
        let hash = rows(&draft, &sha256_hex("7")[..20]);
        assert_eq!((hash.rows[0].tenant.as_str(), hash.found), ("t7", 1));
        // The last of them is not shown at first; once the draft changes it, it is there whatever is searched for.
        let (last, _, _) = fates(&draft, API_KEYS).pop().unwrap();
        let pointer = format!("{API_KEYS}/{last}");
        draft.put(&pointer, Some(json!("other")));
        for (search, shown) in [("", ROWS_MAX + 1), ("nobody", 1)] {
            let told = rows(&draft, search).rows;
            assert_eq!(
                (told.len(), told.last().unwrap().pointer()),
                (shown, pointer.clone())
            );
        }
    }
}
