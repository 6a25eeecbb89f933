//! The page of the policy's fields: what the OpenAPI document says of them.

use std::collections::BTreeSet;

use serde_json::Value;
use weir_shared::openapi;

use crate::book::schema::{references, section};

/// The form that a policy is sent in.
const WHOLE: &str = "PolicyRequest";

const HEAD: &str = "\
# Policy

Every field of the policy document, as it is saved (`PUT /operator/v1/policy`), previewed and shipped (`policy.json`). A field
that is not listed is refused at its place, never ignored. [The concepts](../concepts/policy.md) say what they are for,
[Limits](limits.md) which numbers are permitted, [Algorithms](algorithms.md) what the entries of `limits` and `meters` mean. The
machine-readable form is the schema `PolicyRequest` of [the OpenAPI document](api.md).

";

/// The names of all forms that a policy is made of, the whole first.
pub(super) fn names(schemas: &Value) -> Vec<String> {
    let (mut names, mut seen) = (vec![WHOLE.to_owned()], BTreeSet::new());
    let mut at = 0;
    while let Some(name) = names.get(at).cloned() {
        at += 1;
        seen.insert(name.clone());
        let mut found = Vec::new();
        references(&schemas[&name], &mut found);
        for other in found {
            if !names.contains(&other) {
                names.push(other);
            }
        }
    }
    names
}

pub(super) fn page() -> String {
    let document = openapi::document().expect("the forms are well written");
    let schemas = &document["components"]["schemas"];
    let link = |name: &str| format!("#{}", name.to_lowercase());
    let sections = names(schemas).into_iter();
    let sections = sections.map(|name| section(&name, &schemas[&name], &link));
    let text = HEAD.to_owned() + &sections.collect::<String>();
    text.trim_end().to_owned() + "\n"
}
