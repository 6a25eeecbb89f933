//! The TypeScript client against the built Worker: scripts in `clients/typescript/test` do what an application does, and print
//! what they saw.

mod deciding;
mod lost;
mod packed;
mod scopes;
mod stores;
mod types;
mod workers;

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use weir_tests::client::Client;
use weir_tests::fixtures::{gcra, policy, with};
use weir_tests::paths::workspace;
use weir_tests::ports;
use weir_tests::workerd::{Setup, TOKEN, Workerd};

/// Thirty days: nothing comes back in a test.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// The client, compiled. Each test has a copy of its own: none reads what another one is writing.
struct Package {
    folder: TempDir,
}

impl Package {
    fn built() -> Self {
        // Within the workspace, so that Node finds the packages that are installed there.
        let target = workspace().join("target");
        fs::create_dir_all(&target).unwrap();
        let folder = tempfile::Builder::new()
            .prefix("client-")
            .tempdir_in(target);
        let folder = folder.unwrap();
        copy(&workspace().join("clients/typescript"), folder.path()).unwrap();
        let package = Self { folder };
        for project in [".", "test"] {
            package.node(&[&tsc(), "--project", project]);
        }
        package
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What Node prints, run in the folder of the client.
    fn node(&self, arguments: &[&str]) -> String {
        let mut node = Command::new("node");
        succeed(node.current_dir(self.folder()).args(arguments))
    }

    /// Node with a script of the tests, and where Weir is.
    fn script(&self, name: &str, origin: &str) -> Command {
        let mut node = Command::new("node");
        node.current_dir(self.folder())
            .arg(format!("test/e2e/{name}.mjs"))
            .env("BASE", origin)
            .env("TOKEN", TOKEN);
        node
    }

    /// What a script prints.
    async fn run(&self, name: &str, origin: &str) -> Value {
        let mut node = self.script(name, origin);
        // Where nobody listens.
        node.env(
            "GONE",
            format!("http://127.0.0.1:{}", ports::free().unwrap()),
        );
        let told = spawn_blocking(move || succeed(&mut node)).await.unwrap();
        serde_json::from_str(&told).expect("one JSON text")
    }
}

fn tsc() -> String {
    let program = workspace().join("node_modules/typescript/bin/tsc");
    program.to_string_lossy().into_owned()
}

/// A folder, without what a build left in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if name == "dist" || name == "build" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// What a program prints; it has to end well.
fn succeed(command: &mut Command) -> String {
    let name = format!("{command:?}");
    printed(&name, command.stdin(Stdio::null()).output())
}

fn printed(name: &str, output: io::Result<Output>) -> String {
    let output = output.unwrap_or_else(|error| panic!("{name}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{name}: {out}\n{error}");
    out
}

/// Everything that the scripts ask for: a budget of 1,000, limits by key of 5, a guard with one slot and a lease of three seconds.
fn document() -> Value {
    let document = policy(1_000, LONG_MS);
    let window =
        json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": LONG_MS, "scope": "region" });
    let shape = json!({ "algorithm": "leaky_bucket", "rate_per_sec": 1, "max_queue_ms": 60_000, "scope": "region" });
    let login = json!({ "all": [{ "name": "ip", "limit": "per_ip" }, { "name": "user", "limit": "hits" }] });
    let limits = json!({
        "per_ip": gcra(100, LONG_MS, 20), "hits": window, "skips": window, "shape": shape, "login": login,
    });
    let document = with(document, "/limits", limits);
    let meter = json!({ "per_sec": 1, "burst_seconds": 10_000, "max_debt_ms": 60_000 });
    let document = with(
        document,
        "/meters",
        json!({ "results": meter, "bytes": meter }),
    );
    let guard = json!({ "concurrency": 1, "per_minute": "unlimited", "lease_ms": 3_000 });
    let document = with(document, "/guards", json!({ "calls": guard }));
    with(document, "/overload", json!({ "origin": {} }))
}

async fn start() -> (Workerd, Client) {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    workerd.apply(&document()).await.unwrap();
    let client = workerd.client(0).unwrap();
    (workerd, client)
}

/// What is left of acme's budget, asked without the client under test.
async fn left(client: &Client) -> u64 {
    let checked = client.check_budget("acme", "tokens", 0).await;
    checked.unwrap().decision.remaining
}
