//! The configuration that workerd is started with.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use super::{METADATA, PLATFORM_HEADER, PROTOCOL_HEADER, Placement, Service, Setup, Version};
use crate::paths;

/// Each class with the binding that the Worker finds it under.
pub(crate) const OBJECTS: [(&str, &str); 4] = [
    ("Coordinator", "COORDINATOR"),
    ("Region", "REGION_ESCROW"),
    ("Registry", "REGISTRY"),
    ("Ledger", "LEDGER"),
];

/// The configuration of a setup's services, as capnp; by versions where a placement is given.
pub(super) fn text(
    setup: &Setup,
    services: &[Service],
    folder: &Path,
    placement: Option<&Placement>,
) -> Result<String> {
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
    for (index, service) in services.iter().enumerate() {
        let served = Served::of(service, placement.map(|placed| placed.isolate(index)));
        writeln!(
            workers,
            "const {} :Workerd.Worker = (\n  {common}{});\n",
            service.name,
            worker(setup, &served, placement)?
        )?;
    }
    for version in Version::ALL.iter().filter(|_| placement.is_some()) {
        let (keeper, served) = (version.keeper(), Served::keeper(*version));
        writeln!(listed, "    (name = {keeper:?}, worker = .{keeper}),")?;
        writeln!(
            workers,
            "const {keeper} :Workerd.Worker = (\n  {common}{});\n",
            worker(setup, &served, placement)?
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

/// A Worker of the configuration: one that a socket leads to, or one that holds the objects of a version.
struct Served<'a> {
    name: &'a str,
    region: Option<&'a str>,
    is_probe: bool,
    version: Option<Version>,
}

impl<'a> Served<'a> {
    fn of(service: &'a Service, version: Option<Version>) -> Self {
        Self {
            name: &service.name,
            region: service.region.as_deref(),
            is_probe: service.is_probe,
            version,
        }
    }

    fn keeper(version: Version) -> Self {
        Self {
            name: "",
            region: None,
            is_probe: false,
            version: Some(version),
        }
    }

    /// The classes whose objects live in it.
    fn classes(&self, placement: Option<&Placement>) -> Vec<&'static str> {
        match (placement, self.version) {
            (None, _) if self.name == "main" => OBJECTS.iter().map(|(class, _)| *class).collect(),
            (Some(placed), Some(version)) if self.name.is_empty() => {
                placed.classes(version).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn worker(setup: &Setup, served: &Served<'_>, placement: Option<&Placement>) -> Result<String> {
    let bindings = bindings(setup, served, placement)?;
    let mut text = format!(
        "modules = [\n{}  ],\n  bindings = [\n{bindings}  ],\n",
        modules(setup, served)?
    );
    let classes = served.classes(placement);
    if !classes.is_empty() {
        text.push_str("  durableObjectNamespaces = [\n");
        for class in classes {
            writeln!(
                text,
                "    (className = {class:?}, uniqueKey = {class:?}, enableSql = true),"
            )?;
        }
        text.push_str("  ],\n  durableObjectStorage = (localDisk = \"disk\"),\n");
    }
    Ok(text)
}

fn modules(setup: &Setup, served: &Served<'_>) -> Result<String> {
    let mut modules = String::new();
    if served.is_probe {
        modules.push_str("    (name = \"probe.js\", esModule = embed \"probe.js\"),\n");
    } else {
        for (name, _) in setup.before {
            writeln!(modules, "    (name = {name:?}, esModule = embed {name:?}),")?;
        }
    }
    let version = served.version.unwrap_or(Version::Present);
    let (script, wasm) = (version.file("index.js"), version.file("index_bg.wasm"));
    writeln!(
        modules,
        "    (name = \"index.js\", esModule = embed {script:?}),"
    )?;
    writeln!(
        modules,
        "    (name = \"./index_bg.wasm\", wasm = embed {wasm:?}),"
    )?;
    Ok(modules)
}

fn bindings(setup: &Setup, served: &Served<'_>, placement: Option<&Placement>) -> Result<String> {
    let mut bindings = String::new();
    if served.is_probe {
        bindings.push_str("    (name = \"WEIR\", service = \"main\"),\n");
        if let Some(token) = &setup.token {
            writeln!(bindings, "    (name = \"WEIR_TOKEN\", text = {token:?}),")?;
        }
        return Ok(bindings);
    }
    for (index, (class, binding)) in OBJECTS.iter().enumerate() {
        let keeper = placement.map_or_else(
            || "main".to_owned(),
            |placed| placed.objects[index].keeper(),
        );
        writeln!(
            bindings,
            "    (name = {binding:?}, durableObjectNamespace = (className = {class:?}, serviceName = {keeper:?})),"
        )?;
    }
    if setup.console {
        bindings.push_str("    (name = \"ASSETS\", service = \"assets\"),\n");
    }
    if let Some(version) = served.version {
        let told = serde_json::json!({ "id": version.name(), "tag": "" }).to_string();
        writeln!(bindings, "    (name = {METADATA:?}, json = {told:?}),")?;
    }
    let fixed = [
        ("REGION", served.region),
        ("WEIR_BOOTSTRAP_TOKEN", setup.token.as_deref()),
        ("ALLOW_REGION_HEADER", setup.region_header.then_some("1")),
        ("WEIR_ALLOW_SHARED_HOST", setup.shared_host.then_some("1")),
    ];
    let fixed = fixed
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let own = setup.variables.iter();
    let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in fixed.chain(own) {
        writeln!(bindings, "    (name = {name:?}, text = {value:?}),")?;
    }
    Ok(bindings)
}
