//! nginx, by a configuration that a test writes.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::process::ProcessTree;
use crate::{clock, folders, paths, ports};

const READY_DEADLINE: Duration = Duration::from_secs(30);

/// What runs nginx in a folder, with this in its block `http`.
pub fn command(folder: &Path, http: &str) -> Result<Command> {
    let within = |name: &str| folder.join(name).display().to_string();
    let mut text = "events {}\nhttp {\n".to_owned();
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        text.push_str(&format!("{kind}_temp_path {};\n", within(kind)));
    }
    text.push_str(http);
    text.push_str("}\n");
    std::fs::write(folder.join("nginx.conf"), text).context("write nginx.conf")?;
    let mut nginx = Command::new(paths::nginx()?);
    nginx.arg("-p").arg(folder);
    nginx.arg("-c").arg(folder.join("nginx.conf"));
    nginx.args(["-e", "stderr"]);
    let user = if is_root() { " user root;" } else { "" };
    nginx.args(["-g", &format!("daemon off; pid {};{user}", within("pid"))]);
    Ok(nginx)
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// An nginx that runs. Killed when it is dropped.
pub struct Nginx {
    process: ProcessTree,
    port: u16,
    folder: TempDir,
}

impl Nginx {
    /// Starts it with this in its block `http`, in which `PORT` is its port and `FOLDER` its folder.
    pub fn start(http: &str) -> Result<Self> {
        let folder = folders::new("nginx")?;
        let port = ports::free()?;
        let http = http.replace("PORT", &port.to_string());
        let http = http.replace("FOLDER", &folder.path().display().to_string());
        let command = command(folder.path(), &http)?;
        let process = ProcessTree::spawn(&command, &folder.path().join("log"))?;
        let mut nginx = Self {
            process,
            port,
            folder,
        };
        let start = clock::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            ensure!(nginx.process.is_running(), "it has ended: {}", nginx.log());
            ensure!(
                start.elapsed() < READY_DEADLINE,
                "it does not listen: {}",
                nginx.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(nginx)
    }

    /// Where it listens, such as `http://127.0.0.1:20001`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A file of its folder.
    pub fn read(&self, name: &str) -> Result<String> {
        std::fs::read_to_string(self.folder.path().join(name))
            .with_context(|| format!("read {name}"))
    }

    /// What it has logged of itself.
    pub fn log(&self) -> String {
        self.read("log").unwrap_or_default()
    }
}
