//! The Worker: `edge/build` is the complete one.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Artifact, rewrite};
use crate::environment::Environment;
use crate::tools::{WASM_BINDGEN, WORKER_BUILD};
use crate::{paths, process};

/// The documents that the Worker serves as they are.
const DOCUMENTS: [&str; 2] = [
    "docs/src/reference/openapi.json",
    "docs/src/reference/policy.schema.json",
];

pub(super) const ARTIFACT: Artifact = Artifact {
    name: "edge",
    title: "the Worker",
    inputs: &["edge", "policy.json", DOCUMENTS[0], DOCUMENTS[1]],
    skip: &["edge/build", "edge/tests"],
    output: "edge/build",
    essential: &["index.js", "index_bg.wasm"],
    tools: &[&WASM_BINDGEN, &WORKER_BUILD],
    make,
};

fn make(environment: &Environment) -> Result<()> {
    let edge = paths::root().join("edge");
    let mut build = environment.command("worker-build")?;
    // Without its own `wasm-opt`, which keeps the names of functions whatever it is told.
    build.args(["--release", "--no-opt"]).current_dir(&edge);
    process::run(&mut build)?;
    pack(environment, &edge.join("build/index_bg.wasm"))?;
    enter(environment, &edge)
}

/// Makes the module small as it is packed by gzip: a value that is needed twice is worked out twice, and functions of one name,
/// which are much alike, stand beside each other. The names go, which only stack traces show: an eighth of the module. The
/// module itself says which features it uses, but for the one by which `wasm-bindgen` catches what JavaScript throws: with all
/// that there are, `wasm-opt` writes imports as no runtime reads them yet.
fn pack(environment: &Environment, module: &Path) -> Result<()> {
    let passes = [
        "--enable-exception-handling",
        "-Oz",
        "--low-memory-unused",
        "--skip-pass=local-cse",
        "--reorder-functions-by-name",
        "--strip-target-features",
    ];
    rewrite(environment, &passes, module, module)
}

/// Puts the module entry before what `worker-build` has made, as one module.
fn enter(environment: &Environment, edge: &Path) -> Result<()> {
    let build = edge.join("build");
    let (index, worker) = (build.join("index.js"), build.join("worker.js"));
    fs::rename(&index, &worker).context("setting the built module aside")?;
    let mut parts = vec![worker.clone()];
    for name in ["entry.js", "prepared.js"] {
        let part = build.join(name);
        fs::copy(edge.join(name), &part).with_context(|| format!("copying {name}"))?;
        parts.push(part);
    }
    let part = build.join("documents.js");
    fs::write(&part, documents()?).context("writing the documents")?;
    parts.push(part);
    let mut bundle = environment.command("esbuild")?;
    bundle
        .args([
            "entry.js",
            "--bundle",
            "--format=esm",
            "--minify",
            "--external:cloudflare:workers",
            "--external:./index_bg.wasm",
            "--log-level=warning",
            "--outfile=index.js",
        ])
        .current_dir(&build);
    process::run(&mut bundle)?;
    for part in &parts {
        fs::remove_file(part).context("removing a part of the module")?;
    }
    Ok(())
}

/// The documents as a module: each as text without a space too many, by the name of its file.
fn documents() -> Result<String> {
    let mut texts = serde_json::Map::new();
    for document in DOCUMENTS {
        let file = paths::root().join(document);
        let reading = || format!("reading {document}");
        let text = fs::read_to_string(&file).with_context(reading)?;
        let value: serde_json::Value = serde_json::from_str(&text).with_context(reading)?;
        let name = file.file_stem().map(|stem| stem.to_string_lossy());
        texts.insert(
            name.unwrap_or_default().into_owned(),
            value.to_string().into(),
        );
    }
    let texts = serde_json::Value::Object(texts);
    Ok(format!("export const DOCUMENTS = {texts};\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_document_is_a_text_of_json_by_the_name_of_its_file() {
        let module = documents().unwrap();
        let object = module.strip_prefix("export const DOCUMENTS = ").unwrap();
        let object = object.strip_suffix(";\n").unwrap();
        let texts: serde_json::Value = serde_json::from_str(object).unwrap();
        let field = |name: &str, field: &str| -> serde_json::Value {
            let text = texts[name].as_str().unwrap();
            serde_json::from_str::<serde_json::Value>(text).unwrap()[field].clone()
        };
        assert_eq!(field("openapi", "openapi"), "3.1.0");
        assert!(field("policy.schema", "$defs")["Algorithm"].is_object());
    }
}
