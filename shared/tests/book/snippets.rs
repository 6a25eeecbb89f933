//! The JSON of the pages.
//!
//! A block that begins with ```` ```json ```` is a policy, or a part of one that makes the shipped policy a valid one when it
//! is put in: fields of the document without the braces around them, or one route. ```` ```json question ```` is what
//! `POST /v1/check` takes, ```` ```json answer ```` whatever else is JSON.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weir_shared::check::Check;
use weir_shared::invalid::read_json;
use weir_shared::policy::Policy;
use weir_shared::wire::check::CheckRequest;

use crate::book::fits::stray;
use crate::book::{json_schema, sources};

/// The entries of its snippets are limits, and are checked with its tables.
const LIMITS_ALONE: &str = "reference/algorithms.md";

/// Pages at the root, or of a package, that show JSON or may come to show it.
const ROOT: [&str; 8] = [
    "README.md",
    "SECURITY.md",
    "clients/go/README.md",
    "clients/python/README.md",
    "clients/rust/README.md",
    "clients/typescript/README.md",
    "package/README.md",
    "package/template/README.md",
];

const SHIPPED: &str = include_str!("../../../policy.json");

/// A block of a page.
struct Snippet {
    place: String,
    kind: String,
    text: String,
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the book is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

fn snippets() -> Vec<Snippet> {
    let (mut files, mut found) = (Vec::new(), Vec::new());
    let root = sources().join("../..");
    pages(&sources(), &mut files);
    pages(&root.join("examples"), &mut files);
    for page in ROOT {
        files.push(root.join(page));
    }
    for file in files.iter().filter(|file| !file.ends_with(LIMITS_ALONE)) {
        let text = fs::read_to_string(file).expect("a page is text");
        let mut lines = text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            let Some(kind) = line.trim_start().strip_prefix("```json") else {
                continue;
            };
            let block = lines.by_ref().map(|(_, line)| line);
            let block = block
                .take_while(|line| line.trim() != "```")
                .collect::<Vec<_>>();
            found.push(Snippet {
                place: format!("{}:{}", file.display(), at + 1),
                kind: kind.trim().to_owned(),
                text: block.join("\n"),
            });
        }
    }
    found
}

/// The shipped policy, with the resources and the key that parts of policies refer to.
fn base() -> Map<String, Value> {
    let mut base: Map<String, Value> = serde_json::from_str(SHIPPED).expect("an object");
    let key = "689febd264f8b977e29c0fdb75f839eb248ba07d1561b14f2b95f42756943245";
    base.insert("api_keys".to_owned(), json!({ key: "acme" }));
    base.insert("overload".to_owned(), json!({ "models": {}, "origin": {} }));
    base
}

/// A snippet as a whole policy.
fn whole(text: &str) -> Result<Value, String> {
    let braced = format!("{{{text}}}");
    let read = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
    let fields = match text.trim_start().starts_with('{') {
        true => read(text)?,
        false => read(&braced)?,
    };
    let fields = fields.as_object().ok_or("no object")?.clone();
    if fields.contains_key("regions") {
        return Ok(Value::Object(fields));
    }
    let mut policy = base();
    if fields.contains_key("path") {
        policy.insert("routes".to_owned(), json!([fields]));
        return Ok(Value::Object(policy));
    }
    for (name, value) in fields {
        match (policy.get_mut(&name), value) {
            (Some(Value::Object(present)), Value::Object(entries)) => present.extend(entries),
            (_, value) => drop(policy.insert(name, value)),
        }
    }
    Ok(Value::Object(policy))
}

fn fault(snippet: &Snippet) -> Option<String> {
    let refused = |error: &dyn std::fmt::Display| Some(error.to_string());
    match snippet.kind.as_str() {
        "" => {
            let policy = match whole(&snippet.text) {
                Ok(policy) => policy.to_string(),
                Err(error) => return Some(error),
            };
            let read = read_json(policy.as_bytes()).and_then(|read| Policy::try_from(&read));
            read.err().and_then(|error| refused(&error))
        }
        "question" => {
            let read = read_json::<CheckRequest>(snippet.text.as_bytes()).and_then(Check::try_from);
            read.err().and_then(|error| refused(&error))
        }
        "answer" => {
            let read = serde_json::from_str::<Value>(&snippet.text);
            read.err().and_then(|error| refused(&error))
        }
        other => Some(format!(
            "a block of JSON is a policy, a question or an answer, not `{other}`"
        )),
    }
}

#[test]
fn every_policy_and_every_question_of_the_book_is_valid() {
    let snippets = snippets();
    let faults: Vec<String> = snippets
        .iter()
        .filter_map(|snippet| Some(format!("{}: {}", snippet.place, fault(snippet)?)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(snippets.len() >= 15, "{} were found", snippets.len());
}

/// Editors complete and check by the schema: it takes what Weir takes.
#[test]
fn every_policy_of_the_book_keeps_to_the_schema_for_editors() {
    let schema = json_schema::schema();
    let snippets = snippets();
    let policies = snippets.iter().filter(|snippet| snippet.kind.is_empty());
    let mut compared = 0;
    for snippet in policies {
        let policy = whole(&snippet.text).expect("a policy");
        assert_eq!(
            stray(&schema, &schema, &policy, ""),
            None,
            "{}",
            snippet.place
        );
        compared += 1;
    }
    assert!(compared >= 15, "{compared} were compared");
}

/// The control, and what an editor underlines.
#[test]
fn what_a_policy_cannot_say_strays_from_the_schema() {
    let schema = json_schema::schema();
    for (text, at) in [
        ("\"budget\": {}", "/budget is not described"),
        (
            "\"budgets\": { \"b\": { \"limt\": 5 } }",
            "/budgets/b/limt is not described",
        ),
        (
            "\"budgets\": { \"b\": { \"scope\": \"world\" } }",
            "/budgets/b/scope: \"world\" is none",
        ),
        (
            "\"budgets\": { \"b\": { \"limit\": \"5\" } }",
            "/budgets/b/limit: \"5\" is no integer",
        ),
        (
            "\"guards\": { \"g\": { \"concurrency\": \"none\" } }",
            "/guards/g/concurrency: \"none\" is n",
        ),
    ] {
        let policy = whole(text).expect("an object");
        let told = stray(&schema, &schema, &policy, "").unwrap_or_default();
        assert!(told.contains(at), "{text}: {told}");
    }
    let budget = &schema["$defs"]["Budget"]["properties"]["limit"];
    assert!(
        budget["description"]
            .as_str()
            .is_some_and(|says| !says.is_empty()),
        "{budget}"
    );
}

/// The control: what is not valid is found, by each kind.
#[test]
fn a_snippet_that_is_not_valid_is_told() {
    for (kind, text, part) in [
        (
            "",
            "\"budgets\": { \"tokens\": { \"limit\": 0, \"window_ms\": 60000 } }",
            "/budgets/tokens/limit",
        ),
        (
            "",
            "{ \"name\": \"a\", \"path\": \"/a\", \"checks\": [ { \"budget\": \"none\" } ] }",
            "none",
        ),
        (
            "question",
            "{ \"tenant\": \"acme\", \"budget\": \"tokens\", \"cost\": -1 }",
            "cost",
        ),
        ("answer", "{ \"allowed\": }", "expected"),
        ("other", "{}", "not `other`"),
    ] {
        let snippet = Snippet {
            place: String::new(),
            kind: kind.to_owned(),
            text: text.to_owned(),
        };
        let told = fault(&snippet).unwrap_or_default();
        assert!(told.contains(part), "{text}: {told}");
    }
}
