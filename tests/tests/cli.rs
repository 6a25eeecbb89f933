//! The command `weir`, as it is built, at the real Worker.

mod agreement;
mod apply;
mod drift;
mod failures;
mod login;
mod pipeline;
mod plan;
mod replay;
mod tail;
mod token;
mod top;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use weir_shared::wire::check::DecisionBody;
use weir_tests::again::answered;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::{policy, with};
use weir_tests::paths::cli;
use weir_tests::workerd::{Setup, TOKEN, Workerd};

/// Thirty days: no window ends while a test runs.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// How long what is on its way between objects may take on a busy machine.
const SETTLING: Duration = Duration::from_secs(20);

/// A shared budget and a meter of 86 units, neither of which refills while a test runs, in two regions.
fn document() -> Value {
    let budget = json!({
        "limit": 700, "window_ms": LONG_MS, "sharing": "weighted_fair_escrow", "scope": "global", "reserve": "pinned",
    });
    let document = with(
        policy(700, LONG_MS),
        "/budgets",
        json!({ "tokens": budget }),
    );
    let document = with(
        document,
        "/tenants",
        json!({ "acme": { "tier": "enterprise" }, "hooli": {} }),
    );
    let meter = json!({ "per_sec": 0.001, "burst_seconds": 86_400, "max_debt_ms": 1_000 });
    let document = with(document, "/meters", json!({ "bytes": meter }));
    let document = with(document, "/regions", json!(["weur", "enam"]));
    with(document, "/home", json!("weur"))
}

/// One isolate, with that policy in force, and a user of it.
struct Deployed {
    workerd: Workerd,
    client: Client,
    weir: Weir,
}

async fn deployment() -> Deployed {
    start(Setup::isolates(&["weur"])).await
}

async fn start(setup: Setup) -> Deployed {
    let workerd = setup.start().await.expect("workerd starts");
    workerd
        .apply(&document())
        .await
        .expect("the policy is saved");
    let client = workerd.client(0).unwrap();
    let weir = Weir::at(client.origin());
    Deployed {
        workerd,
        client,
        weir,
    }
}

impl Deployed {
    /// Charges the meter so often, and waits until that is recorded.
    async fn charge_meter(&self, tenant: &str, times: u64) {
        for _ in 0..times {
            let check = json!({ "tenant": tenant, "meter": "bytes", "cost": 20 });
            decide(&self.client, check).await;
        }
        let path = format!("/operator/v1/series?tenant={tenant}&meter=bytes");
        let start = now();
        loop {
            let series = answered(async || self.client.get(&path).await).await;
            let series: Value = series.ok().unwrap();
            let points = series["points"].as_array().unwrap().iter();
            let units = points.map(|point| {
                let meter = &point["meters"]["bytes"];
                meter["admitted_units"].as_u64().unwrap() + meter["shed_units"].as_u64().unwrap()
            });
            if units.sum::<u64>() == 20 * times {
                return;
            }
            assert!(start.elapsed() < SETTLING, "{series}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn decide(client: &Client, check: Value) -> DecisionBody {
    client
        .post("/v1/check", &check)
        .await
        .unwrap()
        .ok()
        .unwrap()
}

/// A user with a folder of their own, in which the command keeps its login.
struct Weir {
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
}

/// How a command ended.
#[derive(Debug)]
struct Ended {
    status: i32,
    out: String,
    error: String,
}

impl Weir {
    /// Of a deployment, as its first admin.
    fn at(origin: &str) -> Self {
        Self::with(vec![
            ("WEIR_URL", origin.to_owned()),
            ("WEIR_TOKEN", TOKEN.to_owned()),
        ])
    }

    fn with(variables: Vec<(&'static str, String)>) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("weir-cli-")
            .tempdir()
            .unwrap();
        Self { folder, variables }
    }

    /// The same user by another token.
    fn by(&self, token: &str) -> Self {
        let (_, url) = &self.variables[0];
        Self::with(vec![
            ("WEIR_URL", url.clone()),
            ("WEIR_TOKEN", token.to_owned()),
        ])
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(cli().expect("the command is built"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
            command.env_remove(name);
        }
        command.args(words).current_dir(self.folder.path());
        command.env("XDG_CONFIG_HOME", self.folder.path().join("config"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command, again where the deployment had no answer in time.
    fn run(&self, words: &[&str]) -> Ended {
        let start = now();
        loop {
            let ended = Ended::from(self.command(words).output().unwrap());
            let late = ended.status == 1 && ended.error.contains(" (503): ");
            if !late || start.elapsed() > SETTLING {
                return ended;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Starts one that is waited for later.
    fn start(&self, words: &[&str]) -> Running {
        let mut command = self.command(words);
        Running(Some(command.stdin(Stdio::piped()).spawn().unwrap()))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder in which the command runs.
    fn write(&self, name: &str, document: &Value) {
        std::fs::write(self.file(name), document.to_string()).unwrap();
    }

    #[track_caller]
    fn ends(&self, status: i32, words: &[&str]) -> String {
        let ended = self.run(words);
        assert_eq!(ended.status, status, "{words:?}: {ended:?}");
        ended.out
    }

    #[track_caller]
    fn json(&self, status: i32, words: &[&str]) -> Value {
        let out = self.ends(status, &[words, &["--json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{words:?}: {error}: {out}"))
    }

    /// What a command says that fails, in its one line.
    #[track_caller]
    fn fails(&self, words: &[&str]) -> String {
        let ended = self.run(words);
        assert_eq!(ended.status, 1, "{words:?}: {ended:?}");
        assert_eq!(ended.error.lines().count(), 1, "{words:?}: {ended:?}");
        ended.error
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            status: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            error: text(output.stderr),
        }
    }
}

/// One that runs; killed when it is dropped.
struct Running(Option<Child>);

impl Running {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    fn is_running(&mut self) -> bool {
        self.child().try_wait().unwrap().is_none()
    }

    fn ended(mut self) -> Ended {
        Ended::from(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _gone = child.kill();
            let _gone = child.wait();
        }
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
