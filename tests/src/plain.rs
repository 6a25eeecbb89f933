//! Workers in JavaScript on the real workerd: what somebody would write by hand in the place of Weir.

use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::process::ProcessTree;
use crate::{clock, folders, paths, ports};

const READY_DEADLINE: Duration = Duration::from_secs(30);

/// What a Worker finds the one under that it calls.
pub const CALLED: &str = "CALLED";

/// One Worker.
#[derive(Debug, Clone)]
pub struct Script {
    /// Its name: letters and digits, a letter first.
    pub name: &'static str,
    /// Its only module.
    pub text: String,
    /// The class of its objects, with SQLite, bound under the same name.
    pub object: Option<&'static str>,
    /// The Worker among those that start with it whose methods it calls, bound as [`CALLED`].
    pub calls: Option<&'static str>,
}

/// Several Workers in one process, each an isolate with a port of its own. Killed when it is dropped.
pub struct Plain {
    process: ProcessTree,
    ports: Vec<(&'static str, u16)>,
    folder: TempDir,
}

impl Plain {
    /// Starts them on an empty storage and waits until their ports are open.
    pub fn start(scripts: &[Script]) -> Result<Self> {
        let folder = folders::new("plain")?;
        std::fs::create_dir(folder.path().join("disk")).context("make the storage folder")?;
        let mut ports = Vec::new();
        for script in scripts {
            let file = folder.path().join(format!("{}.js", script.name));
            std::fs::write(file, &script.text).context("write a script")?;
            ports.push((script.name, ports::free()?));
        }
        let config = config(scripts, &ports, &folder)?;
        std::fs::write(folder.path().join("workerd.capnp"), config)
            .context("write the configuration")?;
        let mut plain = Self {
            process: spawn(&folder)?,
            ports,
            folder,
        };
        plain.wait_ready()?;
        Ok(plain)
    }

    /// The port of the Worker of that name.
    pub fn port(&self, name: &str) -> Result<u16> {
        let found = self.ports.iter().find(|(other, _)| *other == name);
        found
            .map(|(_, port)| *port)
            .with_context(|| format!("no Worker {name}"))
    }

    /// The process with everything that it started.
    pub fn process(&self) -> &ProcessTree {
        &self.process
    }

    /// Starts again on the same storage and the same ports, and waits for nothing.
    pub fn respawn(&mut self) -> Result<()> {
        self.process.kill_hard();
        self.process = spawn(&self.folder)?;
        Ok(())
    }

    /// SIGKILL; what they logged is not printed then.
    pub fn kill_hard(&mut self) {
        self.process.kill_hard();
    }

    fn wait_ready(&mut self) -> Result<()> {
        let deadline = clock::now() + READY_DEADLINE;
        for (name, port) in self.ports.clone() {
            while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
                ensure!(
                    self.process.is_running() && clock::now() < deadline,
                    "the Worker {name} does not start:\n{}",
                    self.process.log()
                );
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

fn spawn(folder: &TempDir) -> Result<ProcessTree> {
    let mut command = Command::new(paths::workerd()?);
    command
        .args(["serve", "workerd.capnp"])
        .current_dir(folder.path());
    ProcessTree::spawn(&command, &folder.path().join("workerd.log"))
}

fn config(scripts: &[Script], ports: &[(&str, u16)], folder: &TempDir) -> Result<String> {
    let date = paths::compatibility()?.date;
    let disk = folder.path().join("disk");
    // The origins that stand behind some of them are on this machine.
    let mut services = format!(
        "    (name = \"disk\", disk = (path = {disk:?}, writable = true)),\n    \
         (name = \"internet\", network = (allow = [\"public\", \"private\", \"local\"])),\n"
    );
    let (mut sockets, mut workers) = (String::new(), String::new());
    for (script, (_, port)) in scripts.iter().zip(ports) {
        let Script { name, object, .. } = script;
        writeln!(services, "    (name = {name:?}, worker = .{name}),")?;
        writeln!(
            sockets,
            "    (name = {name:?}, address = \"127.0.0.1:{port}\", http = (), service = {name:?}),"
        )?;
        let mut bindings = String::new();
        if let Some(class) = object {
            write!(
                bindings,
                "(name = {class:?}, durableObjectNamespace = {class:?}), "
            )?;
        }
        if let Some(called) = script.calls {
            write!(bindings, "(name = {CALLED:?}, service = {called:?}), ")?;
        }
        let objects = object.map_or_else(String::new, |class| {
            format!(
                "  durableObjectNamespaces = [(className = {class:?}, uniqueKey = {class:?}, enableSql = true)],\n  \
                 durableObjectStorage = (localDisk = \"disk\"),\n"
            )
        });
        writeln!(
            workers,
            "const {name} :Workerd.Worker = (\n  compatibilityDate = {date:?},\n  \
             modules = [(name = \"{name}.js\", esModule = embed \"{name}.js\")],\n  bindings = [{bindings}],\n{objects});"
        )?;
    }
    Ok(format!(
        "using Workerd = import \"/workerd/workerd.capnp\";\n\n\
         const config :Workerd.Config = (\n  services = [\n{services}  ],\n  sockets = [\n{sockets}  ],\n);\n\n{workers}"
    ))
}
