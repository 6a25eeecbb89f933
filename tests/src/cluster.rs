//! Several workerds that share the objects of one Worker: workerd's cluster mode, an experiment (`cargo xtask cluster`).
//!
//! Each is `weir serve --cluster`, as a deployment runs it. What they share is in a [`Bucket`]; each has a disk of its own. Whoever
//! claims an object first owns it, and an owner that dies keeps its objects until its lease has lapsed.

mod bucket;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;
use tempfile::TempDir;

pub use self::bucket::{Bucket, Owner};
use crate::client::Client;
use crate::process::ProcessTree;
use crate::workerd::{TOKEN, copy_modules};
use crate::{clock, folders, paths, ports};

/// Instances know each other by it. Nothing but this machine reaches them.
const KEY: &str = "the-key-of-the-instances-of-a-test-on-one-machine";

/// What the instances share, and what the Worker's environment says.
const SHARED: &str = "cluster.json";
const VARIABLES: &str = "variables";

const READY_DEADLINE: Duration = Duration::from_secs(60);

/// How long a supervisor lets pass before it starts an instance again that has ended.
const RESTART_AFTER: Duration = Duration::from_secs(1);

/// An instance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Its number.
    pub instance: usize,
    /// When it was noticed.
    pub at: Instant,
    /// Whether it was killed on purpose.
    pub on_purpose: bool,
}

/// The instances. Killed when it is dropped; what they stored goes with it.
pub struct Cluster {
    program: PathBuf,
    bucket: Bucket,
    instances: Vec<Instance>,
    ends: Vec<End>,
    folder: TempDir,
}

struct Instance {
    process: Option<ProcessTree>,
    ended: Option<Instant>,
    port: u16,
    /// Where its peers reach it.
    peer: u16,
    log: PathBuf,
}

impl Cluster {
    /// Starts the server of the bucket and so many instances of the workerd at `program`, and waits until each answers.
    pub async fn start(program: &Path, bucket: Bucket, count: usize) -> Result<Self> {
        let folder = folders::new("cluster")?;
        package(folder.path())?;
        let shared = json!({ "bucket": bucket.url(), "options": bucket.options(), "key": KEY });
        let shared = serde_json::to_vec(&shared).context("write what is shared")?;
        std::fs::write(folder.path().join(SHARED), shared).context("write what is shared")?;
        // One configuration serves all regions.
        let variables = format!("WEIR_BOOTSTRAP_TOKEN={TOKEN}\nALLOW_REGION_HEADER=1\n");
        std::fs::write(folder.path().join(VARIABLES), variables).context("write the variables")?;
        let mut instances = Vec::new();
        for index in 0..count {
            instances.push(Instance {
                process: None,
                ended: None,
                port: ports::free()?,
                peer: ports::free()?,
                log: folder.path().join(format!("workerd-{index}.log")),
            });
        }
        let mut cluster = Self {
            program: program.to_path_buf(),
            bucket,
            instances,
            ends: Vec::new(),
            folder,
        };
        for index in 0..count {
            cluster.spawn(index)?;
        }
        let deadline = clock::now() + READY_DEADLINE;
        for index in 0..count {
            cluster.wait_ready(index, deadline).await?;
        }
        Ok(cluster)
    }

    /// The bucket that the instances share.
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// A client of an instance, with the admin token.
    pub fn client(&self, index: usize) -> Result<Client> {
        let Instance { port, .. } = self.instance(index)?;
        Ok(Client::new(format!("http://127.0.0.1:{port}"))?.with_token(TOKEN))
    }

    /// The number of the instance that an owner is.
    pub fn number(&self, owner: &Owner) -> Option<usize> {
        let peer = |instance: &Instance| owner.address == address(instance.peer);
        self.instances.iter().position(peer)
    }

    /// SIGKILL, in the middle of whatever it does.
    pub fn kill(&mut self, index: usize) -> Result<Instant> {
        let instance = self.instances.get_mut(index).context("no such instance")?;
        let mut process = instance.process.take().context("it does not run")?;
        process.kill_hard();
        let at = clock::now();
        instance.ended = Some(at);
        self.ends.push(End {
            instance: index,
            at,
            on_purpose: true,
        });
        Ok(at)
    }

    /// What a supervisor does: notices who has ended, and starts it again after a second. To be called again and again.
    pub fn supervise(&mut self) -> Result<()> {
        let now = clock::now();
        for index in 0..self.instances.len() {
            let instance = &mut self.instances[index];
            if let Some(mut process) = instance.process.take_if(|process| !process.is_running()) {
                process.kill_hard();
                instance.ended = Some(now);
                self.ends.push(End {
                    instance: index,
                    at: now,
                    on_purpose: false,
                });
            }
            let instance = &self.instances[index];
            if instance
                .ended
                .is_some_and(|ended| now > ended + RESTART_AFTER)
            {
                self.spawn(index)?;
            }
        }
        Ok(())
    }

    /// Who has ended, in order.
    pub fn ends(&self) -> &[End] {
        &self.ends
    }

    /// Ends all of it without a word: what an error leaves behind tells its last output.
    pub fn stop(mut self) {
        for process in self
            .instances
            .iter_mut()
            .filter_map(|one| one.process.as_mut())
        {
            process.kill_hard();
        }
        self.bucket.stop();
    }

    /// What the instances wrote of their crashes: the lines in which workerd says what failed.
    pub fn faults(&self) -> Vec<String> {
        let logs = self.instances.iter().map(|instance| {
            let log = std::fs::read(&instance.log).unwrap_or_default();
            String::from_utf8_lossy(&log).into_owned()
        });
        let lines = logs.flat_map(|log| {
            let is_fault = |line: &&str| line.starts_with("***") || line.contains("C++ exception");
            let faults = log.lines().filter(is_fault);
            faults.map(str::to_owned).collect::<Vec<_>>()
        });
        lines.collect()
    }

    fn instance(&self, index: usize) -> Result<&Instance> {
        let instance = self.instances.get(index);
        instance.with_context(|| format!("no instance {index}"))
    }

    fn spawn(&mut self, index: usize) -> Result<()> {
        let instance = &mut self.instances[index];
        let mut command = Command::new("node");
        command
            .args(["bin/weir.js", "serve", "--env-file", VARIABLES])
            .args(["--dir", &format!("disk-{index}")])
            .args(["--port", &instance.port.to_string()])
            .args(["--cluster", SHARED])
            .args(["--cluster-address", &address(instance.peer)])
            .arg("--workerd")
            .arg(&self.program)
            .current_dir(self.folder.path());
        instance.process = Some(ProcessTree::spawn(&command, &instance.log)?);
        instance.ended = None;
        Ok(())
    }

    async fn wait_ready(&mut self, index: usize, deadline: Instant) -> Result<()> {
        let client = self.client(index)?.anonymous();
        loop {
            let reply = client.get("/healthz").await;
            if reply.is_ok_and(|reply| reply.status == 200) {
                return Ok(());
            }
            let process = self.instances[index].process.as_mut();
            let running = process.is_some_and(ProcessTree::is_running);
            if !running || clock::now() > deadline {
                let log = std::fs::read(&self.instances[index].log).unwrap_or_default();
                let log = String::from_utf8_lossy(&log);
                bail!("instance {index} is not ready (running: {running}):\n{log}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The package as npm installs it, of what is built, but for workerd and the console.
fn package(folder: &Path) -> Result<()> {
    for part in ["bin", "lib", "worker", "dist/worker", "dist/console"] {
        std::fs::create_dir_all(folder.join(part)).with_context(|| format!("make {part}"))?;
    }
    let source = paths::workspace().join("package");
    for part in ["bin", "lib", "worker"] {
        for entry in std::fs::read_dir(source.join(part))? {
            let entry = entry?;
            std::fs::copy(entry.path(), folder.join(part).join(entry.file_name()))?;
        }
    }
    std::fs::copy(source.join("package.json"), folder.join("package.json"))?;
    copy_modules(&paths::edge_build()?, &folder.join("dist/worker"))
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}
