//! The program `weir-agent`, as it is built, before a deployment.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::client::Client;
use crate::process::ProcessTree;
use crate::{clock, folders, paths, ports};

const READY_DEADLINE: Duration = Duration::from_secs(30);

/// An agent that runs. Killed when it is dropped.
pub struct AgentProcess {
    process: ProcessTree,
    /// How it was started: it is started so again.
    url: String,
    token: String,
    region: Option<String>,
    port: u16,
    folder: TempDir,
}

impl AgentProcess {
    /// Starts an agent of the deployment at `url`, and waits until it decides.
    pub async fn start(url: &str, token: &str, region: Option<&str>) -> Result<Self> {
        let mut agent = Self::begin(url, token, region)?;
        agent.ready().await?;
        Ok(agent)
    }

    /// Starts one, whether or not it will decide.
    pub fn begin(url: &str, token: &str, region: Option<&str>) -> Result<Self> {
        let folder = folders::new("agent")?;
        let port = ports::free()?;
        let region = region.map(str::to_owned);
        let process = spawn(&folder, (url, token, region.as_deref()), port)?;
        Ok(Self {
            process,
            url: url.to_owned(),
            token: token.to_owned(),
            region,
            port,
            folder,
        })
    }

    /// A client of its HTTP.
    pub fn client(&self) -> Result<Client> {
        Client::new(format!("http://127.0.0.1:{}", self.port))
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its Unix socket.
    pub fn socket(&self) -> std::path::PathBuf {
        self.folder.path().join("agent.sock")
    }

    /// What it tells of itself.
    pub async fn health(&self) -> Result<Value> {
        let reply = self.client()?.get("/healthz").await?;
        serde_json::from_str(&reply.text()).context("read its health")
    }

    /// What it wrote.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// SIGKILL.
    pub fn kill_hard(&mut self) {
        self.process.kill_hard();
    }

    /// SIGTERM; returns when it has ended.
    pub fn end(&mut self) -> Result<()> {
        self.process.end()
    }

    /// Starts it again, as another life, and waits until it decides.
    pub async fn restart(&mut self) -> Result<()> {
        let started = (
            self.url.as_str(),
            self.token.as_str(),
            self.region.as_deref(),
        );
        self.process = spawn(&self.folder, started, self.port)?;
        self.ready().await
    }

    /// Waits until what it tells of itself is as `due` says.
    pub async fn await_health(&self, due: impl Fn(&Value) -> bool, within: Duration) -> Result<()> {
        let begin = clock::now();
        loop {
            let health = self.health().await;
            if health.as_ref().is_ok_and(&due) {
                return Ok(());
            }
            ensure!(begin.elapsed() < within, "{health:?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn ready(&mut self) -> Result<()> {
        let begin = clock::now();
        let client = self.client()?;
        loop {
            let reply = client.get("/healthz").await;
            if reply.is_ok_and(|reply| reply.status == 200) {
                return Ok(());
            }
            ensure!(self.process.is_running(), "it has ended: {}", self.log());
            let late = begin.elapsed() > READY_DEADLINE;
            ensure!(!late, "it does not decide: {}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn spawn(
    folder: &TempDir,
    (url, token, region): (&str, &str, Option<&str>),
    port: u16,
) -> Result<ProcessTree> {
    let mut agent = Command::new(paths::agent()?);
    let socket = folder.path().join("agent.sock");
    let listen = format!("127.0.0.1:{port},unix:{}", socket.display());
    agent.env("WEIR_TOKEN", token);
    agent.args(["--url", url, "--listen", &listen]);
    if let Some(region) = region {
        agent.args(["--region", region]);
    }
    ProcessTree::spawn(&agent, &folder.path().join("log"))
}
