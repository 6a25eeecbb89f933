//! The proxies of `examples/`, with the configuration that stands there and nothing changed in it but addresses, the token, and
//! how long they wait.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::process::ProcessTree;
use crate::{clock, folders, nginx, paths, ports};

const READY_DEADLINE: Duration = Duration::from_secs(30);

/// What the examples say of Weir, of the application and of the proxy's own port, and of the token.
const WEIR: &str = "127.0.0.1:8787";
const APPLICATION: &str = "127.0.0.1:9000";
const TOKEN: &str = "weir_TOKEN";

/// How long the examples wait for Weir and for the application, and what waits while a busy machine stands still. Of a port at
/// which nobody listens a proxy hears at once, however long it would wait.
const PATIENCE: [(&str, &str); 5] = [
    ("proxy_connect_timeout 500ms;", "proxy_connect_timeout 20s;"),
    ("proxy_read_timeout 2s;", "proxy_read_timeout 20s;"),
    ("connect_timeout: 0.5s", "connect_timeout: 20s"),
    ("cluster: weir, timeout: 2s", "cluster: weir, timeout: 20s"),
    (" timeout: 2.5s", " timeout: 20s"),
];

/// Where a recipe leads: addresses with ports.
#[derive(Debug, Clone, Copy)]
pub struct Between<'a> {
    /// Weir's.
    pub weir: &'a str,
    /// The application's.
    pub application: &'a str,
    /// By which the proxy is known to Weir.
    pub token: &'a str,
}

/// A proxy that runs. Killed when it is dropped.
pub struct Recipe {
    process: ProcessTree,
    port: u16,
    folder: TempDir,
}

impl Recipe {
    /// nginx by `examples/nginx/weir.conf`.
    pub fn nginx(between: Between<'_>) -> Result<Self> {
        Self::start(between, "nginx/weir.conf", |folder| {
            let include = format!(
                "access_log off;\ninclude {};\n",
                folder.join("weir.conf").display()
            );
            nginx::command(folder, &include)
        })
    }

    /// Caddy by `examples/caddy/Caddyfile`.
    pub fn caddy(between: Between<'_>) -> Result<Self> {
        Self::start(between, "caddy/Caddyfile", |folder| {
            let mut caddy = Command::new(paths::caddy()?);
            caddy.args(["run", "--adapter", "caddyfile", "--config"]);
            caddy.arg(folder.join("Caddyfile")).env("HOME", folder);
            Ok(caddy)
        })
    }

    /// Envoy by `examples/envoy/envoy.yaml`.
    pub fn envoy(between: Between<'_>) -> Result<Self> {
        Self::start(between, "envoy/envoy.yaml", envoy)
    }

    /// Envoy by `examples/envoy-ratelimit/envoy.yaml`, between an agent on that port and an application.
    pub fn envoy_ratelimit(agent: u16, application: &str) -> Result<Self> {
        let application = port_of(application)?;
        let put = |example: &str, port: u16| {
            let mut text = example.to_owned();
            for (from, to) in [
                (8081, agent.to_string()),
                (9000, application.to_owned()),
                (8080, port.to_string()),
            ] {
                let from = format!("port_value: {from}");
                ensure!(text.contains(&from), "the example has no {from}");
                text = text.replace(&from, &format!("port_value: {to}"));
            }
            Ok(text)
        };
        Self::start_with("envoy-ratelimit/envoy.yaml", put, envoy)
    }

    fn start(
        between: Between<'_>,
        example: &str,
        command: impl FnOnce(&Path) -> Result<Command>,
    ) -> Result<Self> {
        Self::start_with(example, |text, port| between.put_into(text, port), command)
    }

    fn start_with(
        example: &str,
        put: impl FnOnce(&str, u16) -> Result<String>,
        command: impl FnOnce(&Path) -> Result<Command>,
    ) -> Result<Self> {
        let folder = folders::new("recipe")?;
        let source = paths::workspace().join("examples").join(example);
        let name = source.file_name().context("an example is a file")?;
        let text = std::fs::read_to_string(&source)
            .with_context(|| format!("read {}", source.display()))?;
        let port = ports::free()?;
        let text = patient(&put(&text, port)?);
        std::fs::write(folder.path().join(name), text).context("write the configuration")?;
        let command = command(folder.path())?;
        let process = ProcessTree::spawn(&command, &folder.path().join("log"))?;
        let mut recipe = Self {
            process,
            port,
            folder,
        };
        recipe.wait_ready()?;
        Ok(recipe)
    }

    /// Where it listens, such as `http://127.0.0.1:20001`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn wait_ready(&mut self) -> Result<()> {
        let start = clock::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            ensure!(self.process.is_running(), "it has ended: {}", self.log());
            ensure!(
                start.elapsed() < READY_DEADLINE,
                "it does not listen: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// The same configuration with more patience.
fn patient(example: &str) -> String {
    let mut text = example.to_owned();
    for (shown, longer) in PATIENCE {
        text = text.replace(shown, longer);
    }
    text
}

/// Envoy with the configuration in a folder.
fn envoy(folder: &Path) -> Result<Command> {
    let mut envoy = Command::new(paths::envoy()?);
    envoy.arg("-c").arg(folder.join("envoy.yaml"));
    envoy.args([
        "--disable-hot-restart",
        "--concurrency",
        "1",
        "--log-level",
        "warn",
    ]);
    Ok(envoy)
}

impl Between<'_> {
    /// The example with these addresses, each of which has to be in it.
    fn put_into(&self, example: &str, port: u16) -> Result<String> {
        let (weir_port, application_port) = (port_of(self.weir)?, port_of(self.application)?);
        let replaced = [
            (TOKEN, self.token.to_owned()),
            (WEIR, self.weir.to_owned()),
            (APPLICATION, self.application.to_owned()),
            ("127.0.0.1:8080", format!("127.0.0.1:{port}")),
            // As Envoy writes them.
            ("port_value: 8787", format!("port_value: {weir_port}")),
            (
                "port_value: 9000",
                format!("port_value: {application_port}"),
            ),
            ("port_value: 8080", format!("port_value: {port}")),
        ];
        let (mut text, mut rest) = (example.to_owned(), example.to_owned());
        ensure!(text.contains(TOKEN), "the example names no token");
        for (from, to) in &replaced {
            text = text.replace(from, to);
            rest = rest.replace(from, "");
        }
        for left in ["8787", "9000", "8080"] {
            ensure!(!rest.contains(left), "the example says {left} elsewhere");
        }
        Ok(text)
    }
}

fn port_of(address: &str) -> Result<&str> {
    let port = address.rsplit_once(':').map(|(_, port)| port);
    port.with_context(|| format!("{address} has no port"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_that_is_made_longer_is_one_of_an_example() {
        let examples = [
            "nginx/weir.conf",
            "envoy/envoy.yaml",
            "envoy-ratelimit/envoy.yaml",
        ];
        let folder = paths::workspace().join("examples");
        let texts = examples.map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
        for (shown, longer) in PATIENCE {
            assert!(texts.iter().any(|text| text.contains(shown)), "{shown}");
            let made_longer = |text: &String| patient(text).contains(longer);
            assert!(texts.iter().any(made_longer), "{longer}");
        }
    }
}
