//! The configuration that all instances are started with. What differs among them is said on their command lines.

use std::fmt::Write;

use anyhow::Result;

use super::Bucket;
use crate::paths;
use crate::workerd::{OBJECTS, TOKEN};

/// Instances know each other by it. Nothing but this machine reaches them.
const KEY: &str = "the-key-of-the-instances-of-a-test-on-one-machine";

/// As capnp.
pub(super) fn text(bucket: &Bucket) -> Result<String> {
    let compatibility = paths::compatibility()?;
    let quoted = |texts: &[String]| {
        let texts: Vec<_> = texts.iter().map(|text| format!("{text:?}")).collect();
        texts.join(", ")
    };
    let (mut bindings, mut namespaces) = (String::new(), String::new());
    for (class, binding) in OBJECTS {
        writeln!(
            bindings,
            "    (name = {binding:?}, durableObjectNamespace = (className = {class:?}, serviceName = \"main\")),"
        )?;
        writeln!(
            namespaces,
            "    (className = {class:?}, uniqueKey = {class:?}, enableSql = true),"
        )?;
    }
    for (name, value) in [
        ("WEIR_BOOTSTRAP_TOKEN", TOKEN),
        // One configuration serves all regions.
        ("ALLOW_REGION_HEADER", "1"),
    ] {
        writeln!(bindings, "    (name = {name:?}, text = {value:?}),")?;
    }
    Ok(format!(
        "using Workerd = import \"/workerd/workerd.capnp\";\n\n\
         const config :Workerd.Config = (\n  v8Flags = [\"--liftoff-only\"],\n  services = [\n    \
         (name = \"disk\", disk = (writable = true)),\n    (name = \"main\", worker = .main),\n  ],\n  sockets = [\n    \
         (name = \"main\", http = (), service = \"main\"),\n  ],\n  cluster = (\n    bucket = {:?},\n    \
         bucketOptions = [{}],\n    key = {KEY:?},\n  ),\n);\n\n\
         const main :Workerd.Worker = (\n  compatibilityDate = {:?},\n  compatibilityFlags = [{}],\n  modules = [\n    \
         (name = \"index.js\", esModule = embed \"index.js\"),\n    \
         (name = \"./index_bg.wasm\", wasm = embed \"index_bg.wasm\"),\n  ],\n  bindings = [\n{bindings}  ],\n  \
         durableObjectNamespaces = [\n{namespaces}  ],\n  durableObjectStorage = (localDisk = \"disk\"),\n);\n",
        bucket.url(),
        quoted(&bucket.options()),
        compatibility.date,
        quoted(&compatibility.flags),
    ))
}
