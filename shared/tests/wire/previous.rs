//! The forms of the version before, as its own tests wrote them (`shared/tests/previous/forms.jsonl`): what it wrote is read, and
//! what it needs is still written. A release keeps its forms for the next version:
//!
//! ```text
//! WEIR_FORMS=forms.jsonl cargo test -p weir-shared --test promises wire
//! LC_ALL=C sort -u forms.jsonl > shared/tests/previous/forms.jsonl
//! ```

use std::any::type_name;
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::Write;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::repository::root;

/// What the version before wrote.
const FORMS: &str = include_str!("../previous/forms.jsonl");

/// A form that a version writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Form {
    /// The name of its type, without its modules.
    form: String,
    text: String,
    /// Members without which that version does not read it: JSON pointers without the first slash.
    needs: Vec<String>,
}

/// Fails unless what the version before wrote of this type is read in full, and `text`, which is written now, has what that
/// version needs. Notes the form where a release asks for it.
pub(crate) fn agrees<T>(text: &str)
where
    T: Serialize + DeserializeOwned,
{
    if let Some(file) = std::env::var_os("WEIR_FORMS") {
        let mut line = serde_json::to_string(&form::<T>(text)).unwrap();
        line.push('\n');
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
            .unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
    let before = forms().filter(|form| form.form == name::<T>());
    let before: Vec<Form> = before.collect();
    for form in &before {
        is_read_in_full::<T>(&form.text);
    }
    let written: Value = serde_json::from_str(text).unwrap();
    assert_eq!(lacks(&written, &before), None::<String>, "{text}");
}

fn forms() -> impl Iterator<Item = Form> {
    FORMS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
}

/// `Batch<Item>` for `some::module::Batch<other::Item>`.
fn name<T>() -> String {
    let ends = |letter: char| !letter.is_alphanumeric() && !":_".contains(letter);
    let parts = type_name::<T>().split_inclusive(ends);
    parts
        .map(|part| part.rsplit("::").next().unwrap_or(part))
        .collect()
}

fn form<T: DeserializeOwned>(text: &str) -> Form {
    let value: Value = serde_json::from_str(text).unwrap();
    let mut needs = members(&value);
    needs.retain(|pointer| serde_json::from_value::<T>(without(&value, pointer)).is_err());
    let needs = needs
        .iter()
        .map(|pointer| pointer[1..].to_owned())
        .collect();
    Form {
        form: name::<T>(),
        text: text.to_owned(),
        needs,
    }
}

/// Everything that the text says is said again by what was read of it: nothing was dropped, or took another meaning.
#[track_caller]
fn is_read_in_full<T: Serialize + DeserializeOwned>(text: &str) {
    let read = serde_json::from_str::<T>(text);
    let read = read.unwrap_or_else(|error| panic!("no longer read: {error}: {text}"));
    let again = serde_json::to_value(&read).unwrap();
    let before: Value = serde_json::from_str(text).unwrap();
    for pointer in members(&before) {
        let (was, is) = (before.pointer(&pointer), again.pointer(&pointer));
        let is_leaf = was.is_some_and(|value| !value.is_object() && !value.is_array());
        let agrees = if is_leaf { was == is } else { is.is_some() };
        // Whoever reads an older version says its own when it writes.
        assert!(
            agrees || pointer == "/v",
            "{pointer} was {was:?} and is {is:?}: {text}"
        );
    }
}

/// The first member that the version before needs and that is not written, by the form of it that has most in common.
fn lacks(written: &Value, before: &[Form]) -> Option<String> {
    let own = members(written);
    let common = |form: &Form| {
        let value: Value = serde_json::from_str(&form.text).unwrap();
        let theirs = members(&value);
        own.iter()
            .filter(|pointer| theirs.contains(pointer))
            .count()
    };
    // Another variant of an enum has nothing in common.
    let nearest = before.iter().max_by_key(|form| common(form));
    let nearest = nearest.filter(|form| common(form) > 0)?;
    let mut needs = nearest.needs.iter().map(|member| format!("/{member}"));
    needs.find(|pointer| {
        let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        let is_there = written.pointer(parent).is_some_and(Value::is_object);
        is_there && written.pointer(pointer).is_none()
    })
}

/// Pointers to all members of all objects in it.
fn members(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(value, "", &mut found);
    found
}

fn collect(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(own) => {
            for (name, member) in own {
                let pointer = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                found.push(pointer.clone());
                collect(member, &pointer, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn without(value: &Value, pointer: &str) -> Value {
    let mut value = value.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/").replace("~0", "~");
    let parent = value.pointer_mut(parent).and_then(Value::as_object_mut);
    parent.unwrap().remove(&name);
    value
}

/// Types of the language, which nobody renames.
const BUILT_IN: [&str; 3] = ["String", "Vec", "u64"];

/// Types whose forms the version before wrote are still there: one that was renamed is renamed in the file, too.
#[test]
fn every_form_of_the_version_before_has_its_type() {
    let mut sources = String::new();
    for folder in std::fs::read_dir(root().join("shared")).unwrap() {
        let folder = folder.unwrap().path();
        if folder.join("Cargo.toml").is_file() {
            read_all(folder.join("src"), &mut sources);
        }
    }
    let mut count = 0;
    for form in forms() {
        count += 1;
        let name = form.form.split('<').next().unwrap().to_owned();
        let is_there = ["struct", "enum", "type"]
            .iter()
            .any(|kind| sources.contains(&format!("pub {kind} {name}")));
        assert!(is_there || BUILT_IN.contains(&name.as_str()), "{name}");
    }
    assert!(count > 100, "{count} forms");
}

fn read_all(folder: std::path::PathBuf, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(path, text);
        } else {
            *text += &std::fs::read_to_string(path).unwrap();
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Sample {
    must: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    may: Option<u8>,
}

/// The control: a member that the version before needs and that is gone, and one that is no longer read.
#[test]
fn what_the_version_before_needs_is_found_missing_and_what_is_dropped_is_found() {
    let before = form::<Sample>(r#"{"must":1,"may":2}"#);
    assert_eq!(before.needs, ["must"]);
    let before = [before];
    let lacks = |text: &str| lacks(&serde_json::from_str(text).unwrap(), &before);
    assert_eq!(lacks(r#"{"must":1}"#), None);
    assert_eq!(lacks(r#"{"may":1}"#).as_deref(), Some("/must"));
    assert_eq!(lacks(r#""another variant""#), None);
    is_read_in_full::<Sample>(r#"{"must":1,"may":2}"#);
    for text in [r#"{"must":1,"gone":2}"#, r#"{"may":2}"#] {
        let read = std::panic::catch_unwind(|| is_read_in_full::<Sample>(text));
        assert!(read.is_err(), "{text}");
    }
    assert_eq!(name::<Vec<Option<Sample>>>(), "Vec<Option<Sample>>");
}
