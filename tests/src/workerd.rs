//! The built Worker on the real workerd: several isolates, each on a port of its own, that share the four objects.

mod config;
mod placement;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;
use weir_shared::wire::shard_key::ShardKey;

use crate::client::{Client, Policy};
use crate::process::ProcessTree;
use crate::storage::shard_key;
use crate::witness::{self, Witness};
use crate::{clock, folders, paths, ports};

pub use placement::{METADATA, Placement, Version};

/// The admin token that the tests start a deployment with: 36 bytes.
pub const TOKEN: &str = "bootstrap-token-of-the-tests-1234567";

/// The header in which a request says what the platform says of it, where the setup allows that.
pub const PLATFORM_HEADER: &str = "test-platform";

/// The header in which a request says by which protocol it came, where the setup allows that.
pub const PROTOCOL_HEADER: &str = "test-protocol";

/// The regions of [`Setup::three_regions`].
pub const REGIONS: [&str; 3] = ["wnam", "weur", "apac"];

const READY_DEADLINE: Duration = Duration::from_secs(120);

/// A saved policy is meant to be in force within a second; a test that measures that measures it itself.
const POLICY_DEADLINE: Duration = Duration::from_secs(120);

/// Modules that are served before the Worker's own, the entry first: name and text.
type Before = &'static [(&'static str, &'static str)];

const WEIGH: &str = include_str!("../fixtures/weigh/weigh.js");
const WATCH: &str = include_str!("../fixtures/weigh/watch.js");
const ASSETS: &str = include_str!("../../package/worker/assets.js");

/// A module that is served instead of the Worker's entry, beside the Worker's own modules.
#[derive(Debug, Clone)]
struct Probe {
    script: String,
}

/// What to start.
#[derive(Debug, Clone)]
pub struct Setup {
    build: Option<PathBuf>,
    isolates: Vec<Option<String>>,
    token: Option<String>,
    region_header: bool,
    shared_host: bool,
    variables: Vec<(String, String)>,
    local_network: bool,
    platform_header: bool,
    probe: Option<Probe>,
    console: bool,
    optimised: bool,
    before: Before,
    previous: Option<PathBuf>,
}

impl Setup {
    /// One isolate in each of [`REGIONS`].
    pub fn three_regions() -> Self {
        Self::isolates(&REGIONS)
    }

    /// One isolate for each entry, pinned to the region that it names. A region may be named more than once.
    pub fn isolates(regions: &[&str]) -> Self {
        let isolates = regions
            .iter()
            .map(|region| Some((*region).to_owned()))
            .collect();
        Self {
            isolates,
            region_header: true,
            ..Self::bare()
        }
    }

    /// One isolate without the optional variables: no pinned region, no region header.
    pub fn bare() -> Self {
        Self {
            build: None,
            isolates: vec![None],
            token: Some(TOKEN.to_owned()),
            region_header: false,
            shared_host: true,
            variables: Vec::new(),
            local_network: false,
            platform_header: false,
            probe: None,
            console: false,
            optimised: false,
            before: &[],
            previous: None,
        }
    }

    /// One isolate without a pinned region, where requests may name theirs.
    pub fn region_by_header() -> Self {
        Self {
            region_header: true,
            ..Self::bare()
        }
    }

    /// Does not let the operators and the routes share a host, as a deployment does that says nothing.
    pub fn own_host(self) -> Self {
        Self {
            shared_host: false,
            ..self
        }
    }

    /// Another admin token, or none at all.
    pub fn token(self, token: Option<&str>) -> Self {
        Self {
            token: token.map(str::to_owned),
            ..self
        }
    }

    /// One more variable of every isolate.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Lets the Worker reach addresses of this machine, which workerd keeps it from by itself.
    pub fn local_network(self) -> Self {
        Self {
            local_network: true,
            ..self
        }
    }

    /// Lets requests say in [`PLATFORM_HEADER`], as JSON, what the platform says of a request (its `cf`), and in
    /// [`PROTOCOL_HEADER`] by which protocol it came.
    pub fn platform_header(self) -> Self {
        Self {
            platform_header: true,
            ..self
        }
    }

    /// Another Worker than the one under test.
    pub fn build(self, folder: &Path) -> Self {
        Self {
            build: Some(folder.to_path_buf()),
            ..self
        }
    }

    /// The folder of an earlier version, by which everything is served until [`Workerd::place`] says otherwise.
    pub fn previous(self, folder: &Path) -> Self {
        Self {
            previous: Some(folder.to_path_buf()),
            ..self
        }
    }

    /// Adds a service whose entry is `script`; the Worker's entry is `./index.js` beside it, the first isolate is bound
    /// as `WEIR`, and `WEIR_TOKEN` is the admin token.
    pub fn probe(self, script: &str) -> Self {
        Self {
            probe: Some(Probe {
                script: script.to_owned(),
            }),
            ..self
        }
    }

    /// Serves the console's files too, as the platform does with assets.
    pub fn with_console(self) -> Self {
        Self {
            console: true,
            ..self
        }
    }

    /// Lets V8 optimise the Worker's wasm, as it does in production: for what is measured. Without it wasm is compiled once,
    /// quickly: a deployment of a test lives for seconds, and half of its processor time would go into optimising.
    pub fn optimised(self) -> Self {
        Self {
            optimised: true,
            ..self
        }
    }

    /// Puts a [witness](crate::witness) before every isolate and every object.
    pub fn witnessed(self) -> Self {
        Self {
            before: &[("witness.js", witness::SCRIPT)],
            ..self
        }
    }

    /// Makes every isolate tell at `GET /weigh` how much wasm memory it has.
    pub fn weighed(self) -> Self {
        Self {
            before: &[("weigh.js", WEIGH), ("watch.js", WATCH)],
            ..self
        }
    }

    /// Starts workerd on an empty storage and waits until every isolate answers.
    pub async fn start(self) -> Result<Workerd> {
        Workerd::start(self).await
    }
}

/// A deployment on one machine. Killed when it is dropped; its storage goes with it.
pub struct Workerd {
    process: Option<ProcessTree>,
    services: Vec<Service>,
    token: Option<String>,
    setup: Setup,
    folder: TempDir,
}

struct Service {
    name: String,
    region: Option<String>,
    port: u16,
    is_probe: bool,
}

impl Workerd {
    async fn start(setup: Setup) -> Result<Self> {
        let folder = folders::new("workerd")?;
        let build = setup.build.clone().map_or_else(paths::edge_build, Ok)?;
        copy_modules(&build, folder.path())?;
        if let Some(previous) = &setup.previous {
            let own = folder.path().join(Version::Previous.name());
            std::fs::create_dir(&own).context("make the folder of the version before")?;
            copy_modules(previous, &own)?;
        }
        std::fs::create_dir(folder.path().join("disk")).context("make the storage folder")?;
        for (name, script) in setup.before {
            std::fs::write(folder.path().join(name), script)
                .with_context(|| format!("write {name}"))?;
        }
        if setup.console {
            std::fs::write(folder.path().join("assets.js"), ASSETS).context("write assets.js")?;
        }
        let mut services = Vec::new();
        for (index, region) in setup.isolates.iter().enumerate() {
            let name = if index == 0 {
                "main".to_owned()
            } else {
                format!("isolate{index}")
            };
            services.push(Service {
                name,
                region: region.clone(),
                port: ports::free()?,
                is_probe: false,
            });
        }
        if let Some(probe) = &setup.probe {
            std::fs::write(folder.path().join("probe.js"), &probe.script)
                .context("write the probe")?;
            services.push(Service {
                name: "probe".to_owned(),
                region: None,
                port: ports::free()?,
                is_probe: true,
            });
        }
        let placement = setup
            .previous
            .as_ref()
            .map(|_| Placement::all(Version::Previous, setup.isolates.len()));
        let mut workerd = Self {
            process: None,
            services,
            token: setup.token.clone(),
            setup,
            folder,
        };
        workerd.configure(placement.as_ref())?;
        workerd.launch().await?;
        Ok(workerd)
    }

    fn configure(&self, placement: Option<&Placement>) -> Result<()> {
        let config = config::text(&self.setup, &self.services, self.folder.path(), placement)?;
        std::fs::write(self.folder.path().join("workerd.capnp"), config)
            .context("write the configuration")
    }

    /// SIGKILL, then the same storage and ports by the versions that `placement` says.
    pub async fn place(&mut self, placement: &Placement) -> Result<()> {
        self.kill_hard();
        self.configure(Some(placement))?;
        self.launch().await
    }

    /// A client with the admin token, of the isolate with this index.
    pub fn client(&self, isolate: usize) -> Result<Client> {
        let service = self
            .services
            .get(isolate)
            .with_context(|| format!("no isolate {isolate}"))?;
        let client = Client::new(format!("http://127.0.0.1:{}", service.port))?;
        Ok(match &self.token {
            Some(token) => client.with_token(token),
            None => client,
        })
    }

    /// A client of every isolate, in order.
    pub fn clients(&self) -> Result<Vec<Client>> {
        (0..self
            .services
            .iter()
            .filter(|service| !service.is_probe)
            .count())
            .map(|isolate| self.client(isolate))
            .collect()
    }

    /// Saves a policy and waits until every isolate decides by it.
    pub async fn apply(&self, document: &Value) -> Result<Policy> {
        let clients = self.clients()?;
        let first = clients.first().context("no isolate")?;
        let policy = first.save_policy(document).await?;
        for client in &clients {
            client
                .await_revision(policy.revision()?, POLICY_DEADLINE)
                .await?;
        }
        Ok(policy)
    }

    /// The secret by which the deployment chooses the shards of keys, once it has saved a policy.
    pub fn shard_key(&self) -> Result<ShardKey> {
        shard_key(&self.disk())
    }

    /// The witness of the first isolate, beside which the objects live.
    pub fn witness(&self) -> Result<Witness> {
        Ok(Witness::of(&self.client(0)?))
    }

    /// A client of the probe.
    pub fn probe(&self) -> Result<Client> {
        Client::new(format!("http://127.0.0.1:{}", self.probe_port()?))
    }

    /// The port of the probe.
    pub fn probe_port(&self) -> Result<u16> {
        let mut services = self.services.iter();
        let probe = services.find(|service| service.is_probe);
        Ok(probe.context("this setup has no probe")?.port)
    }

    /// The folder with one subfolder of SQLite files for each class.
    pub fn disk(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// Everything that workerd and the Worker have written, restarts included.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Memory in use by workerd, in KiB.
    pub fn resident_kib(&self) -> Result<u64> {
        self.process()?.resident_kib()
    }

    /// The process with everything that it started.
    pub fn process(&self) -> Result<&ProcessTree> {
        self.process.as_ref().context("workerd is not running")
    }

    /// The port of the isolate with this index.
    pub fn port(&self, isolate: usize) -> Result<u16> {
        let service = self.services.get(isolate);
        Ok(service
            .with_context(|| format!("no isolate {isolate}"))?
            .port)
    }

    /// SIGKILL, in the middle of whatever it does.
    pub fn kill_hard(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill_hard();
        }
    }

    /// Starts again on the same storage and the same ports.
    pub async fn restart(&mut self) -> Result<()> {
        self.kill_hard();
        self.launch().await
    }

    /// The same, with another bootstrap token, as a deployment that has changed its secret.
    pub async fn restart_with_token(&mut self, token: &str) -> Result<()> {
        self.kill_hard();
        let file = self.folder.path().join("workerd.capnp");
        let text = std::fs::read_to_string(&file).context("read the configuration")?;
        let before = self.token.replace(token.to_owned()).unwrap_or_default();
        let text = text.replace(&format!("{before:?}"), &format!("{token:?}"));
        std::fs::write(&file, text).context("write the configuration")?;
        self.launch().await
    }

    /// The same as [`Workerd::restart`], without waiting for anything.
    pub fn respawn(&mut self) -> Result<()> {
        self.kill_hard();
        self.spawn()
    }

    async fn launch(&mut self) -> Result<()> {
        self.spawn()?;
        let deadline = clock::now() + READY_DEADLINE;
        for isolate in 0..self.services.len() {
            self.wait_ready(isolate, deadline).await?;
        }
        Ok(())
    }

    fn spawn(&mut self) -> Result<()> {
        let mut command = Command::new(paths::workerd()?);
        command
            .arg("serve")
            .arg("workerd.capnp")
            .current_dir(self.folder.path());
        self.process = Some(ProcessTree::spawn(&command, &self.log_path())?);
        Ok(())
    }

    async fn wait_ready(&mut self, isolate: usize, deadline: Instant) -> Result<()> {
        let client = self.client(isolate)?.anonymous();
        loop {
            let answered = client
                .get("/healthz")
                .await
                .is_ok_and(|reply| reply.status == 200);
            // Whoever answers in the place of one that is gone is another.
            let running = self.process.as_mut().is_some_and(ProcessTree::is_running);
            if answered && running {
                return Ok(());
            }
            if !running || clock::now() > deadline {
                bail!("workerd is not ready (running: {running}):\n{}", self.log());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("workerd.log")
    }
}

/// Copies what a build of the Worker is made of.
pub(crate) fn copy_modules(build: &Path, folder: &Path) -> Result<()> {
    for module in ["index.js", "index_bg.wasm"] {
        std::fs::copy(build.join(module), folder.join(module))
            .with_context(|| format!("copy {module}"))?;
    }
    Ok(())
}
