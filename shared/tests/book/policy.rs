//! The page of the policy's fields, as the forms on the wire and their comments have them.

use serde_json::Value;
use weir_shared::openapi;
use weir_shared::ordered::{OrderedMap, OrderedSet};

use crate::book::schema::references;
use crate::book::source::{Member, fields, snake, variants};

/// The forms that a policy is made of are in these.
const SOURCES: [&str; 11] = [
    include_str!("../../wire/src/policy.rs"),
    include_str!("../../wire/src/tenant.rs"),
    include_str!("../../wire/src/numbers.rs"),
    include_str!("../../wire/src/overrides.rs"),
    include_str!("../../wire/src/metering.rs"),
    include_str!("../../wire/src/amount.rs"),
    include_str!("../../wire/src/lease_sizes.rs"),
    include_str!("../../wire/src/overload.rs"),
    include_str!("../../wire/src/route.rs"),
    include_str!("../../wire/src/descriptor.rs"),
    include_str!("../../wire/src/token_usage.rs"),
];

/// The whole document.
pub(super) const WHOLE: &str = "PolicyDocument";

/// Its form in the OpenAPI document.
const SENT: &str = "PolicyRequest";

const HEAD: &str = "\
# Policy

This page has every field of the policy document, as it is saved (`PUT /operator/v1/policy`), previewed and shipped
(`policy.json`). An unlisted field is refused at its place, never ignored. [The concepts](../concepts/policy.md) say what the
fields are for, [Algorithms](algorithms.md) what the numbers of limits, meters and guards do, and [Limits](limits.md) which numbers
are permitted. For editors there is [a JSON Schema](policy.schema.json); the schema `PolicyRequest` of `GET /openapi.json` has the same fields.
";

/// A form by its name in the code.
pub(super) enum Form {
    Struct(String, Vec<Member>),
    /// One of some words.
    Words(String, Vec<Member>),
    /// One of several forms.
    Either(Vec<Member>),
}

pub(super) fn form(name: &str) -> Option<Form> {
    let found = SOURCES.iter().find_map(|source| fields(source, name));
    if let Some((says, fields)) = found {
        return Some(Form::Struct(says, fields));
    }
    let (says, variants) = SOURCES.iter().find_map(|source| variants(source, name))?;
    Some(
        match variants.iter().any(|variant| variant.holds.is_some()) {
            true => Form::Either(variants),
            false => Form::Words(says, variants),
        },
    )
}

/// The form's name on the page.
pub(super) fn title(name: &str) -> &str {
    match name {
        WHOLE => SENT,
        part => part.trim_end_matches("Body"),
    }
}

/// A type of the code in words, and the names of the forms in it that have a section.
fn words(form_name: &str, named: &mut Vec<String>) -> String {
    let inner = |wrapper: &str| form_name.strip_prefix(wrapper)?.strip_suffix('>');
    if let Some(held) = inner("Option<").or_else(|| inner("Box<")) {
        return words(held, named);
    }
    if let Some(held) = inner("Vec<") {
        return format!("list of {}", words(held, named));
    }
    if let Some(held) = inner("OrderedMap<String, ") {
        return format!("map of {}", words(held, named));
    }
    match form_name {
        "String" => return "text".to_owned(),
        "bool" => return "boolean".to_owned(),
        "u64" | "i64" => return "integer".to_owned(),
        "EpochMs" => return "milliseconds since 1970".to_owned(),
        "Decimal" => return "number".to_owned(),
        _ => {}
    }
    match form(form_name).unwrap_or_else(|| panic!("{form_name} is in none of the sources")) {
        Form::Either(variants) => {
            let told = variants.iter().map(|variant| match &variant.holds {
                Some(held) => words(held, named),
                None => format!("`\"{}\"`", snake(&variant.name)),
            });
            told.collect::<Vec<_>>().join(" or ")
        }
        _ => {
            named.push(form_name.to_owned());
            let title = title(form_name);
            format!("[{title}](#{})", title.to_lowercase())
        }
    }
}

/// The sections by their titles, in the order in which they are first referred to.
fn sections() -> Vec<(String, String)> {
    let (mut names, mut sections, mut at) = (vec![WHOLE.to_owned()], Vec::new(), 0);
    while let Some(name) = names.get(at).cloned() {
        at += 1;
        let mut named = Vec::new();
        let title = title(&name).to_owned();
        let text = match form(&name).expect("what has a section has a form") {
            Form::Struct(says, fields) => {
                let mut text = format!("\n## {title}\n\n{says}\n");
                if !fields.is_empty() {
                    text.push_str("\n| field | form | |\n| --- | --- | --- |\n");
                }
                for field in fields {
                    let told = words(field.holds.as_deref().unwrap_or_default(), &mut named);
                    text.push_str(&format!("| `{}` | {told} | {} |\n", field.name, field.says));
                }
                text
            }
            Form::Words(says, variants) => {
                let mut text = format!("\n## {title}\n\n{says}\n\n| word | |\n| --- | --- |\n");
                for variant in variants {
                    text.push_str(&format!(
                        "| `\"{}\"` | {} |\n",
                        snake(&variant.name),
                        variant.says
                    ));
                }
                text
            }
            Form::Either(_) => panic!("{name} has no section"),
        };
        sections.push((title, text));
        for other in named {
            if !names.contains(&other) {
                names.push(other);
            }
        }
    }
    sections
}

/// The names of the OpenAPI document's forms that this page tells.
pub(super) fn told(schemas: &Value) -> OrderedSet<String> {
    let (mut reached, mut at) = (vec![SENT.to_owned()], 0);
    while let Some(name) = reached.get(at).cloned() {
        at += 1;
        let mut found = Vec::new();
        references(&schemas[&name], &mut found);
        found.retain(|other| !reached.contains(other));
        reached.extend(found);
    }
    let here: OrderedSet<String> = sections().into_iter().map(|(title, _)| title).collect();
    reached
        .into_iter()
        .filter(|name| here.contains(name))
        .collect()
}

pub(super) fn page() -> String {
    HEAD.to_owned()
        + &sections()
            .into_iter()
            .map(|(_, text)| text)
            .collect::<String>()
}

/// The page, which reads the rows of a form as text, has every field that they give the OpenAPI document.
#[test]
fn forms_of_the_policy_have_the_fields_that_the_openapi_document_says() {
    let document = openapi::document().expect("the forms are well written");
    let schemas = &document["components"]["schemas"];
    let names = told(schemas)
        .into_iter()
        .map(|name| (name.clone(), format!("{name}Body")));
    let pairs: OrderedMap<String, String> =
        names.chain([(SENT.to_owned(), WHOLE.to_owned())]).collect();
    let mut compared = 0;
    for (schema, name) in pairs {
        let Some(Form::Struct(_, fields)) = form(&name) else {
            continue;
        };
        let fields: OrderedSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let said = schemas[&schema]["properties"]
            .as_object()
            .expect("an object");
        let said: OrderedSet<&str> = said.keys().map(String::as_str).collect();
        assert_eq!(fields, said, "{schema}");
        compared += 1;
    }
    assert!(compared >= 15, "{compared} were compared");
}
