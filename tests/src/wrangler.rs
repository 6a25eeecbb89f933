//! The Worker with the console's assets, as `wrangler dev` serves them.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;
use crate::process::ProcessTree;
use crate::workerd::TOKEN;
use crate::{clock, folders, paths, ports};

/// A start takes seconds of computing.
const READY_DEADLINE: Duration = Duration::from_secs(120);

/// wrangler, which reports nothing.
pub fn command() -> Result<Command> {
    let mut command = Command::new(paths::wrangler_node()?);
    command.arg(paths::wrangler()?);
    command.env("WRANGLER_SEND_METRICS", "false");
    Ok(command)
}

/// A running `wrangler dev` on an empty storage. Killed when it is dropped.
pub struct Wrangler {
    // Fields are dropped in this order: the process ends before its folder goes.
    process: ProcessTree,
    port: u16,
    folder: TempDir,
}

impl Wrangler {
    /// Starts it by the project's settings on what is built already, and waits until it answers. That wrangler builds
    /// first is tried where the deployment is.
    pub async fn start() -> Result<Self> {
        let folder = new_folder()?;
        let settings = built_settings()?.to_string();
        let path = folder.path().join("wrangler.json");
        std::fs::write(&path, settings).with_context(|| format!("write {}", path.display()))?;
        // A file of variables instead of `.dev.vars`: a developer's own token stays out of the tests.
        let variables = folder.path().join("variables.env");
        let text = format!(
            "WEIR_BOOTSTRAP_TOKEN={TOKEN}\nALLOW_REGION_HEADER=1\nWEIR_ALLOW_SHARED_HOST=1\n"
        );
        std::fs::write(&variables, text).context("write the variables")?;
        let port = ports::free()?;
        let mut command = command()?;
        command.args([
            "dev",
            "--local",
            "--ip",
            "127.0.0.1",
            "--show-interactive-dev-session=false",
        ]);
        command.arg("--port").arg(port.to_string());
        command
            .arg("--inspector-port")
            .arg(ports::free()?.to_string());
        command.arg("--persist-to").arg(folder.path().join("state"));
        command.arg("--env-file").arg(&variables);
        command.current_dir(folder.path());
        command.env("CI", "1");
        // It would ask the network what a request's metadata look like; nothing here uses them.
        command.env("CLOUDFLARE_CF_FETCH_ENABLED", "false");
        let process = ProcessTree::spawn(&command, &folder.path().join("wrangler.log"))?;
        let mut wrangler = Self {
            process,
            port,
            folder,
        };
        wrangler.wait_ready().await?;
        Ok(wrangler)
    }

    /// The address.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A client with the admin token.
    pub fn client(&self) -> Result<Client> {
        Ok(Client::new(self.origin())?.with_token(TOKEN))
    }

    /// Everything that wrangler and the Worker have written.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("wrangler.log")).unwrap_or_default()
    }

    async fn wait_ready(&mut self) -> Result<()> {
        let client = Client::new(self.origin())?;
        let deadline = clock::now() + READY_DEADLINE;
        while !client
            .get("/healthz")
            .await
            .is_ok_and(|reply| reply.status == 200)
        {
            let running = self.process.is_running();
            if !running || clock::now() > deadline {
                bail!(
                    "wrangler dev is not ready (running: {running}):\n{}",
                    self.log()
                );
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }
}

fn new_folder() -> Result<TempDir> {
    folders::new("wrangler")
}

/// The settings of `wrangler.toml` without its build, for what is built already, wherever that is.
fn built_settings() -> Result<Value> {
    let path = paths::workspace().join("wrangler.toml");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let mut settings: Value =
        toml::from_str(&text).with_context(|| format!("parse {}", path.display()))?;
    let members = settings.as_object_mut().context("settings are a table")?;
    members
        .remove("build")
        .context("wrangler.toml has no build")?;
    // Of several environments wrangler asks for one.
    members
        .remove("env")
        .context("wrangler.toml has no environments")?;
    settings["main"] = json!(paths::edge_build()?.join("index.js"));
    settings["assets"]["directory"] = json!(paths::console_build()?);
    Ok(settings)
}
