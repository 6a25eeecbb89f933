//! The configuration that workerd is started with.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use super::{PLATFORM_HEADER, PROTOCOL_HEADER, Service, Setup};
use crate::paths;

/// Each class with the binding that the Worker finds it under.
const OBJECTS: [(&str, &str); 4] = [
    ("Coordinator", "COORDINATOR"),
    ("Region", "REGION_ESCROW"),
    ("Registry", "REGISTRY"),
    ("Ledger", "LEDGER"),
];

/// The configuration of a setup's services, as capnp.
pub(super) fn text(setup: &Setup, services: &[Service], folder: &Path) -> Result<String> {
    let compatibility = paths::compatibility()?;
    let flags = compatibility
        .flags
        .iter()
        .map(|flag| format!("{flag:?}"))
        .collect::<Vec<_>>()
        .join(", ");
    let common = format!(
        "compatibilityDate = {:?},\n  compatibilityFlags = [{flags}],\n",
        compatibility.date
    );
    let mut listed = format!(
        "    (name = \"disk\", disk = (path = {:?}, writable = true)),\n",
        folder.join("disk")
    );
    if setup.console {
        writeln!(
            listed,
            "    (name = \"files\", disk = {:?}),\n    (name = \"assets\", worker = .assets),",
            paths::console_build()?
        )?;
    }
    if setup.local_network {
        listed.push_str(
            "    (name = \"internet\", network = (allow = [\"public\", \"private\", \"local\"])),\n",
        );
    }
    let http = match setup.platform_header {
        true => format!(
            "cfBlobHeader = {PLATFORM_HEADER:?}, forwardedProtoHeader = {PROTOCOL_HEADER:?}"
        ),
        false => String::new(),
    };
    let (mut sockets, mut workers) = (String::new(), String::new());
    for Service { name, port, .. } in services {
        writeln!(listed, "    (name = {name:?}, worker = .{name}),")?;
        writeln!(
            sockets,
            "    (name = {name:?}, address = \"127.0.0.1:{port}\", http = ({http}), service = {name:?}),"
        )?;
    }
    if setup.console {
        writeln!(
            workers,
            "const assets :Workerd.Worker = (\n  {common}modules = [(name = \"assets.js\", esModule = embed \"assets.js\")],\n  \
             bindings = [(name = \"FILES\", service = \"files\")],\n);\n"
        )?;
    }
    for service in services {
        writeln!(
            workers,
            "const {} :Workerd.Worker = (\n  {common}{});\n",
            service.name,
            worker(setup, service)?
        )?;
    }
    let v8_flags = match setup.optimised {
        true => "",
        false => "\"--liftoff-only\"",
    };
    Ok(format!(
        "using Workerd = import \"/workerd/workerd.capnp\";\n\n\
         const config :Workerd.Config = (\n  v8Flags = [{v8_flags}],\n  services = [\n{listed}  ],\n  sockets = [\n{sockets}  ],\n);\n\n{workers}"
    ))
}

fn worker(setup: &Setup, service: &Service) -> Result<String> {
    let mut modules = String::new();
    if service.is_probe {
        modules.push_str("    (name = \"probe.js\", esModule = embed \"probe.js\"),\n");
    } else {
        for (name, _) in setup.before {
            writeln!(modules, "    (name = {name:?}, esModule = embed {name:?}),")?;
        }
    }
    modules.push_str("    (name = \"index.js\", esModule = embed \"index.js\"),\n");
    modules.push_str("    (name = \"./index_bg.wasm\", wasm = embed \"index_bg.wasm\"),\n");
    let mut bindings = String::new();
    if service.is_probe {
        bindings.push_str("    (name = \"WEIR\", service = \"main\"),\n");
        if let Some(token) = &setup.token {
            writeln!(bindings, "    (name = \"WEIR_TOKEN\", text = {token:?}),")?;
        }
    } else {
        for (class, binding) in OBJECTS {
            writeln!(
                bindings,
                "    (name = {binding:?}, durableObjectNamespace = (className = {class:?}, serviceName = \"main\")),"
            )?;
        }
        if setup.console {
            bindings.push_str("    (name = \"ASSETS\", service = \"assets\"),\n");
        }
    }
    let variables = [
        ("REGION", service.region.as_deref()),
        ("WEIR_BOOTSTRAP_TOKEN", setup.token.as_deref()),
        ("ALLOW_REGION_HEADER", setup.region_header.then_some("1")),
        ("WEIR_ALLOW_SHARED_HOST", setup.shared_host.then_some("1")),
    ];
    for (name, value) in variables {
        if let (Some(value), false) = (value, service.is_probe) {
            writeln!(bindings, "    (name = {name:?}, text = {value:?}),")?;
        }
    }
    for (name, value) in setup.variables.iter().filter(|_| !service.is_probe) {
        writeln!(bindings, "    (name = {name:?}, text = {value:?}),")?;
    }
    let mut text = format!("modules = [\n{modules}  ],\n  bindings = [\n{bindings}  ],\n");
    if service.name == "main" {
        text.push_str("  durableObjectNamespaces = [\n");
        for (class, _) in OBJECTS {
            writeln!(
                text,
                "    (className = {class:?}, uniqueKey = {class:?}, enableSql = true),"
            )?;
        }
        text.push_str("  ],\n  durableObjectStorage = (localDisk = \"disk\"),\n");
    }
    Ok(text)
}
