//! The real Prometheus, which scrapes a deployment and evaluates the rules of `dashboards/` as they stand there: what is
//! changed for a test is how often it does, and for how long a condition has to hold.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use weir_shared::ordered::OrderedSet;

use crate::client::Client;
use crate::process::ProcessTree;
use crate::{clock, folders, paths, ports};

const READY_DEADLINE: Duration = Duration::from_secs(30);

/// A Prometheus that runs. Killed when it is dropped.
pub struct Prometheus {
    process: ProcessTree,
    client: Client,
    folder: TempDir,
}

/// The file of the alert rules.
pub fn rules() -> PathBuf {
    paths::workspace().join("dashboards/weir.rules.yml")
}

impl Prometheus {
    /// Scrapes `target` (an address with a port) every two seconds, with a token. A busy machine has as long to answer.
    pub async fn start(target: &str, token: &str) -> Result<Self> {
        let folder = folders::new("prometheus")?;
        let text = std::fs::read_to_string(rules()).context("read the rules")?;
        std::fs::write(folder.path().join("rules.yml"), hurried(&text))
            .context("write the rules")?;
        // A configuration in JSON is one in YAML.
        let config = json!({
            "global": { "scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "500ms" },
            "rule_files": ["rules.yml"],
            "scrape_configs": [{
                "job_name": "weir",
                "scrape_interval": "2s",
                "scrape_timeout": "2s",
                "authorization": { "credentials": token },
                "static_configs": [{ "targets": [target] }],
            }],
        });
        let config_file = folder.path().join("prometheus.yml");
        std::fs::write(&config_file, config.to_string()).context("write the configuration")?;
        let port = ports::free()?;
        let program = paths::prometheus()?;
        let mut command = Command::new(&program);
        command.current_dir(folder.path());
        // Debian's has its pages where it was unpacked.
        let beside = program.ancestors().nth(2);
        let pages = beside.map(|folder| folder.join("share/prometheus/web"));
        if let Some(pages) = pages.filter(|pages| pages.is_dir()) {
            command.arg(format!("--web.local-assets={}", pages.display()));
        }
        command.arg(format!("--config.file={}", config_file.display()));
        command.arg(format!(
            "--storage.tsdb.path={}",
            folder.path().join("data").display()
        ));
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        let process = ProcessTree::spawn(&command, &folder.path().join("log"))?;
        let client = Client::new(format!("http://127.0.0.1:{port}"))?;
        let mut prometheus = Self {
            process,
            client,
            folder,
        };
        prometheus.wait_ready().await?;
        Ok(prometheus)
    }

    /// It listens before it answers.
    async fn wait_ready(&mut self) -> Result<()> {
        let start = clock::now();
        while !self
            .client
            .get("/-/ready")
            .await
            .is_ok_and(|reply| reply.status == 200)
        {
            ensure!(self.process.is_running(), "it has ended: {}", self.log());
            ensure!(
                start.elapsed() < READY_DEADLINE,
                "it is not ready: {}",
                self.log()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The address of its page of alerts.
    pub fn alerts_page(&self) -> String {
        format!("{}/classic/alerts", self.client.origin())
    }

    /// The alerts that fire, each with what it is about: the value of one of its labels.
    pub async fn firing(&self) -> Result<OrderedSet<(String, String)>> {
        let reply = self.client.get("/api/v1/alerts").await?;
        let body: Value = serde_json::from_str(&reply.text()).context("read the alerts")?;
        let alerts = body["data"]["alerts"]
            .as_array()
            .context("a list of alerts")?;
        let firing = alerts.iter().filter(|alert| alert["state"] == "firing");
        let named = firing.map(|alert| {
            let labels = &alert["labels"];
            let about = ["tenant_id", "region", "budget", "resource", "class"];
            let about = about.iter().find_map(|label| labels[*label].as_str());
            let name = labels["alertname"].as_str().unwrap_or_default();
            (name.to_owned(), about.unwrap_or_default().to_owned())
        });
        Ok(named.collect())
    }

    /// The value of the only sample of an expression; `None` where there is none.
    pub async fn value(&self, expression: &str) -> Result<Option<f64>> {
        let encoded: String = url_encoded(expression);
        let reply = self
            .client
            .get(&format!("/api/v1/query?query={encoded}"))
            .await?;
        let body: Value = serde_json::from_str(&reply.text()).context("read an answer")?;
        let Some(found) = body["data"]["result"][0]["value"][1].as_str() else {
            return Ok(None);
        };
        Ok(Some(
            found
                .parse()
                .with_context(|| format!("{expression}: {found}"))?,
        ))
    }
}

/// Bytes that are not plain, percent-encoded.
fn url_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let bytes = text.bytes().map(|byte| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    bytes.collect()
}

/// The rules, with a second in the place of every time for which a condition has to hold.
fn hurried(rules: &str) -> String {
    let lines = rules
        .lines()
        .map(|line| match line.trim_start().starts_with("for: ") {
            true => "        for: 1s".to_owned(),
            false => line.to_owned(),
        });
    lines.map(|line| line + "\n").collect()
}

/// What `promtool` says of some input; an error with its words where it finds fault.
pub fn promtool(arguments: &[&str], input: &str) -> Result<String> {
    let mut command = Command::new(paths::promtool()?);
    command
        .args(arguments)
        .current_dir(paths::workspace().join("dashboards"));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().context("start promtool")?;
    let mut stdin = child.stdin.take().context("its input")?;
    // It may end before it has read everything.
    let _read = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().context("wait for promtool")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    if !output.status.success() {
        bail!("promtool {arguments:?}: {said}");
    }
    Ok(said)
}
