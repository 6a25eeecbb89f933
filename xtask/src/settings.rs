//! What a deployment may be told: the names that the code reads, the page of them, and the example of a file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::paths;

const EXAMPLE: &str = ".dev.vars.example";

fn read(path: &str) -> String {
    fs::read_to_string(paths::root().join(path)).unwrap()
}

/// Names as the environment has them, in quotes: `"WEIR_OPERATOR_HOST"`.
fn quoted(text: &str) -> impl Iterator<Item = String> + '_ {
    let inside = text.split('"').skip(1).step_by(2);
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    inside
        .filter(move |word| word.len() > 4 && !word.ends_with('_') && word.bytes().all(fits))
        .map(str::to_owned)
}

fn sources(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// What the Worker reads of its environment: the names in files that read it, and those that the core gives them.
pub(crate) fn read_by_the_code() -> BTreeSet<String> {
    let mut texts = Vec::new();
    sources(&paths::root().join("edge/src"), &mut texts);
    texts.retain(|text| text.contains(".var("));
    assert!(texts.len() > 5, "{} files read variables", texts.len());
    for file in [
        "gateway/src/client_address.rs",
        "policy/src/doors.rs",
        "core/src/trace/settings.rs",
    ] {
        texts.push(read(&format!("shared/{file}")));
    }
    texts
        .iter()
        .flat_map(|text| quoted(text).collect::<Vec<_>>())
        .filter(|name| name.starts_with("WEIR_") || name.contains("REGION"))
        .collect()
}

/// Names of the example: those that are secret, and all of them.
fn exemplified() -> (BTreeSet<String>, BTreeSet<String>) {
    let name = |line: &str| {
        let (name, _) = line.split_once('=')?;
        let fits = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
        name.bytes().all(fits).then(|| name.to_owned())
    };
    let text = read(EXAMPLE);
    let secret: BTreeSet<String> = text.lines().filter_map(name).collect();
    let others = text
        .lines()
        .filter_map(|line| name(line.strip_prefix("# ")?));
    (
        secret.clone(),
        secret.iter().cloned().chain(others).collect(),
    )
}

/// Names of the page, in backquotes at the start of a row: those that are said to be secret, and all of them.
fn documented() -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut secret, mut all) = (BTreeSet::new(), BTreeSet::new());
    let page = read("docs/src/reference/settings.md");
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cell = row.split('|').nth(1).unwrap();
        // Tables of `wrangler.toml` follow the variables.
        if cell.contains("`[") {
            continue;
        }
        for name in cell.split('`').skip(1).step_by(2) {
            let name = name.split('=').next().unwrap().to_owned();
            if cell.contains("secret") {
                secret.insert(name.clone());
            }
            all.insert(name);
        }
    }
    (secret, all)
}

#[test]
fn every_variable_that_the_code_reads_is_in_the_example_and_on_the_page_and_no_other() {
    let code = read_by_the_code();
    assert_eq!(exemplified().1, code, "{EXAMPLE}");
    assert_eq!(documented().1, code, "the page of settings");
}

#[test]
fn what_the_example_asks_for_is_what_has_to_be_secret_and_nothing_else() {
    let (mut secret, _) = exemplified();
    assert_eq!(secret, BTreeSet::from(["WEIR_BOOTSTRAP_TOKEN".to_owned()]));
    // Secret where it is set: whoever deploys is not asked for it.
    secret.insert("WEIR_OTLP_HEADERS".to_owned());
    assert_eq!(documented().0, secret);
    // A deployment would be made with whatever value stands here.
    for line in read(EXAMPLE).lines().filter(|line| !line.starts_with('#')) {
        assert!(line.is_empty() || line.ends_with('='), "{line}");
    }
}

#[test]
fn a_folder_to_deploy_from_asks_for_the_same_secrets() {
    let (secret, _) = exemplified();
    for file in ["package.json", "package/template/settings.json"] {
        let settings: Value = serde_json::from_str(&read(file)).unwrap();
        let described = settings["cloudflare"]["bindings"].as_object().unwrap();
        assert!(described.keys().eq(&secret), "{file}: {described:?}");
    }
}

#[test]
fn the_staging_deployment_has_objects_of_its_own_and_all_that_is_not_inherited() {
    let settings: Value = toml::from_str(&read("wrangler.toml")).unwrap();
    let staging = &settings["env"]["staging"];
    assert_ne!(staging["name"], settings["name"]);
    // What wrangler does not inherit: bindings and variables.
    for field in ["durable_objects", "version_metadata", "vars"] {
        assert_eq!(staging[field], settings[field], "{field}");
    }
    // Objects of another Worker would be shared with it.
    let bindings = staging["durable_objects"]["bindings"].as_array().unwrap();
    for binding in bindings {
        assert!(binding["script_name"].is_null(), "{binding}");
    }
    assert_eq!(bindings.len(), 4);
}

#[test]
fn what_the_pages_set_is_read_by_the_code() {
    let page = read("docs/src/guides/traces.md");
    let (_, block) = page
        .split_once("```toml\n")
        .expect("a block of wrangler.toml");
    let (block, _) = block.split_once("```").expect("its end");
    let set: toml::Table = block.parse().expect("it is TOML");
    let set = set["vars"].as_table().expect("variables");
    let code = read_by_the_code();
    let unknown: Vec<_> = set.keys().filter(|name| !code.contains(*name)).collect();
    assert!(
        set.len() >= 2 && unknown.is_empty(),
        "nothing reads {unknown:?}"
    );
}
