//! The npm package: on an empty folder with Node alone, from the file that is published to the first decision.

mod cluster;
mod ending;
mod native;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use weir_tests::client::Client;
use weir_tests::pages::blocks;
use weir_tests::paths::{agent, cli, edge_build, workspace};
use weir_tests::process::ProcessTree;
use weir_tests::{clock, ports, wrangler};

/// What the pages say, and the tests run.
const INSTALL: &str = concat!("npm install ./weir-", env!("CARGO_PKG_VERSION"), ".tgz");
const DEMO: &str = "npx weir dev --demo";
const DEV: &str = "npx weir dev";
const INIT: &str = "npx weir init my-limits";
const SERVE: &str = "npx weir serve --dir state";
const VALIDATE: &str = "npx weir validate policy.json";
const PLAN: &str = "npx weir plan policy.json";

/// Pages that show commands of the package.
const PAGES: [&str; 7] = [
    "README.md",
    "docs/src/guides/deploy.md",
    "docs/src/guides/policy-as-code.md",
    "docs/src/guides/run-anywhere.md",
    "docs/src/start.md",
    "package/README.md",
    "package/template/README.md",
];

/// How long a start may take.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// The control: what npm needs to tell its version on a quiet machine.
const NPM_STARTS: Duration = Duration::from_millis(400);

/// How long a start may take on this machine at present.
fn start_deadline() -> Duration {
    let begin = clock::now();
    succeed(Command::new("npm").arg("--version"));
    let slower = begin.elapsed().as_secs_f64() / NPM_STARTS.as_secs_f64();
    START_DEADLINE.mul_f64(slower.max(1.0))
}

/// The words behind `npx weir`.
fn words(command: &'static str) -> Vec<&'static str> {
    let words = command.strip_prefix("npx weir ").expect("of the package");
    words.split(' ').collect()
}

/// A folder in which the package is installed.
struct Installed {
    folder: TempDir,
    took: Duration,
}

fn run(command: &mut Command) -> Output {
    let name = format!("{command:?}");
    command
        .output()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn succeed(command: &mut Command) -> String {
    let output = run(command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {out}\n{error}");
    out
}

fn read(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// The file that is published, of what is built.
fn packed(folder: &Path) -> PathBuf {
    edge_build().expect("the Worker is built");
    let mut node = Command::new("node");
    node.arg(workspace().join("package/pack.mjs")).arg(folder);
    node.arg(native().parent().expect("a folder"));
    PathBuf::from(succeed(&mut node).trim())
}

/// The native command, with the agent beside it.
fn native() -> PathBuf {
    let (weir, agent) = (cli().unwrap(), agent().unwrap());
    assert_eq!(weir.parent(), agent.parent());
    weir
}

/// A folder of what a machine with Node alone has on its PATH: Node, what comes with it, and a shell.
fn node_alone() -> &'static Path {
    static PROGRAMS: OnceLock<TempDir> = OnceLock::new();
    let made = || {
        let folder = tempfile::tempdir().unwrap();
        let path = std::env::var_os("PATH").expect("a PATH");
        for program in ["node", "npm", "npx", "sh"] {
            let mut places = std::env::split_paths(&path).map(|place| place.join(program));
            let found = places.find(|place| place.is_file());
            let found = found.unwrap_or_else(|| panic!("no {program}"));
            symlink(found, folder.path().join(program)).unwrap();
        }
        folder
    };
    PROGRAMS.get_or_init(made).path()
}

/// Installs the file, or without one what the folder says.
fn npm_install(folder: &Path, cache: &Path, file: Option<&Path>) {
    let mut npm = Command::new("npm");
    npm.env("PATH", node_alone());
    npm.current_dir(folder)
        .args(["install", "--no-audit", "--no-fund"]);
    succeed(npm.arg("--cache").arg(cache).args(file));
}

impl Installed {
    /// In an empty folder, with an empty cache of npm.
    fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("weir-package-")
            .tempdir()
            .unwrap();
        let file = packed(folder.path());
        let named = INSTALL.strip_prefix("npm install ./");
        assert_eq!(file.file_name().and_then(|name| name.to_str()), named);
        let start = clock::now();
        npm_install(folder.path(), &folder.path().join("cache"), Some(&file));
        Self {
            took: start.elapsed(),
            folder,
        }
    }

    /// A command that a page shows, in a folder.
    fn shown(&self, folder: &Path, command: &'static str) -> Command {
        let mut npx = Command::new("npx");
        npx.arg("weir").args(words(command));
        self.alone(npx, folder)
    }

    /// What `npx weir` starts, in a folder: to be killed, it has to be the process itself.
    fn weir(&self, folder: &Path, words: &[&str]) -> Command {
        let mut weir = Command::new("node");
        let package = self.folder.path().join("node_modules/weir");
        weir.arg(package.join("bin/weir.js")).args(words);
        self.alone(weir, folder)
    }

    /// On a machine with Node alone, and nothing that the tests say to their own programs.
    fn alone(&self, mut weir: Command, folder: &Path) -> Command {
        weir.current_dir(folder).env("PATH", node_alone());
        weir.env("npm_config_cache", self.folder.path().join("cache"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
            weir.env_remove(name);
        }
        weir
    }

    /// Starts one that runs on, and reads what it says of its token.
    fn start(&self, folder: &Path, words: &[&str]) -> Running {
        let port = ports::free().unwrap();
        let mut words = words.to_vec();
        let number = port.to_string();
        words.extend(["--port", &number]);
        let log = folder.join(format!("log-{port}"));
        let process = ProcessTree::spawn(&self.weir(folder, &words), &log).unwrap();
        let mut running = Running { process, log, port };
        running.await_word("Ctrl-C");
        running
    }
}

struct Running {
    process: ProcessTree,
    log: PathBuf,
    port: u16,
}

impl Running {
    /// Waits until it has said that.
    fn await_word(&mut self, word: &str) {
        let start = clock::now();
        while !self.said().contains(word) {
            let running = self.process.is_running();
            // What it said last may be read after it has ended.
            assert!(running || self.said().contains(word), "{}", self.said());
            assert!(start.elapsed() < 4 * START_DEADLINE, "{}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn told(&self, name: &str) -> String {
        let said = self.said();
        let line = said.lines().find_map(|line| line.trim().strip_prefix(name));
        let value = line.unwrap_or_else(|| panic!("no {name}: {said}"));
        value.trim().to_owned()
    }

    /// The token that it printed.
    fn token(&self) -> String {
        self.told("admin token")
    }

    /// With the token that it printed.
    fn client(&self) -> Client {
        let url = format!("http://127.0.0.1:{}", self.port);
        assert_eq!(self.told("console"), format!("{url}/console/"));
        Client::new(url).unwrap().with_token(&self.token())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_with_node_alone_decides_within_a_minute_of_the_file() {
    let deadline = start_deadline();
    let installed = Installed::new();
    let folder = installed.folder.path();
    let start = clock::now();
    let running = installed.start(folder, &words(DEMO));
    let client = running.client();
    let decided = client.check_budget_once_there("acme", "tokens", 3).await;
    let took = installed.took + start.elapsed();
    println!(
        "installed in {:?}, first decision after {took:?}",
        installed.took
    );
    assert!(decided.decision.allowed, "{decided:?}");
    assert!(took < deadline, "{took:?} of {deadline:?}");
    let page = client.anonymous().get("/console/").await.unwrap();
    assert_eq!(page.status, 200);
    assert!(
        page.header("content-security-policy").is_some(),
        "the console's own fields"
    );
    let interface: Value = client.get("/openapi.json").await.unwrap().ok().unwrap();
    let shipped = folder.join("node_modules/weir/dist/openapi.json");
    assert_eq!(read(&shipped), interface, "the document of the release");
    // The demo's traffic is decided and counted. On a busy machine workerd ends connections on which a request waits: another
    // request has another one.
    let start = clock::now();
    let tenants = async || -> anyhow::Result<usize> {
        let told: Value = client.get("/operator/v1/fairness").await?.ok()?;
        Ok(told["tenants"].as_array().map_or(0, Vec::len))
    };
    loop {
        let counted = tenants().await;
        if counted.as_ref().is_ok_and(|tenants| *tenants >= 12) {
            break;
        }
        assert!(start.elapsed() < deadline, "{counted:?} tenants");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // The token is its owner's alone.
    let file = folder.join(".weir/token");
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);

    deployment(&installed).await;
    state_survives(&installed).await;
    ending::is_well(&installed).await;
    cluster::is_refused_by_the_field_at_fault(&installed);
    native::programs_are_the_package_s(&installed, &running);
}

/// What `npm run types` runs writes the type of the deployment's bindings and secrets, by its own configuration.
fn types_name_the_bindings(folder: &Path) {
    let script = read(&folder.join("package.json"))["scripts"]["types"].clone();
    let script = script.as_str().expect("a script of types");
    let mut types = wrangler::command().unwrap();
    types.current_dir(folder);
    types.args(script.strip_prefix("wrangler ").unwrap().split(' '));
    succeed(&mut types);
    let types = std::fs::read_to_string(folder.join("worker-configuration.d.ts")).unwrap();
    for binding in [
        "COORDINATOR: Durable",
        "REGION_ESCROW: Durable",
        "ASSETS: Fetcher",
    ] {
        assert!(types.contains(binding), "{binding}: {types}");
    }
}

/// `init` makes a folder that wrangler takes, and that runs by its own policy.
async fn deployment(installed: &Installed) {
    let folder = installed.folder.path().join("my-limits");
    let root = installed.folder.path();
    succeed(&mut installed.shown(root, INIT));
    let again = run(&mut installed.shown(root, INIT));
    assert!(!again.status.success(), "a folder that is not empty");
    // No registry has the package: its file is in the folder.
    npm_install(&folder, &root.join("cache"), None);
    let schema = read(&folder.join("policy.schema.json"));
    assert_eq!(schema["title"], "A policy of Weir");
    let editor = read(&folder.join(".vscode/settings.json"));
    assert_eq!(editor["json.schemas"][0]["url"], "./policy.schema.json");
    let policy = folder.join("policy.json");
    let mut document = read(&policy);
    document["budgets"]["tokens"]["limit"] = json!(-1);
    std::fs::write(&policy, document.to_string()).unwrap();
    let refused = run(&mut installed.weir(&folder, &["check"]));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    let told = "weir: policy.json is refused: /budgets/tokens/limit: ";
    assert!(
        !refused.status.success() && said.starts_with(told),
        "{said}"
    );
    document["budgets"]["tokens"]["limit"] = json!(77);
    // A secret is the deployment's, which is not there yet.
    document["routes"] = json!([{
        "name": "all", "path": "/*", "origin": {
            "url": "https://models.example.com", "headers": { "authorization": { "secret": "PROVIDER_KEY" } }
        }
    }]);
    std::fs::write(&policy, document.to_string()).unwrap();
    let said = succeed(&mut installed.weir(&folder, &["check"]));
    assert!(said.contains("policy.json is valid"), "{said}");

    let mut deploy = wrangler::command().unwrap();
    deploy.current_dir(&folder);
    deploy.args(["deploy", "--dry-run", "--outdir", "out"]);
    let said = succeed(&mut deploy);
    for binding in [
        "COORDINATOR",
        "REGION_ESCROW",
        "REGISTRY",
        "LEDGER",
        "ASSETS",
    ] {
        assert!(said.contains(binding), "{binding}: {said}");
    }
    let bundle = std::fs::read_to_string(folder.join("out/worker.js")).unwrap();
    assert!(
        bundle.contains("WEIR_POLICY"),
        "the policy is in the bundle"
    );
    types_name_the_bindings(&folder);

    std::fs::copy(folder.join(".dev.vars.example"), folder.join(".dev.vars")).unwrap();
    let mut own = File::options()
        .append(true)
        .open(folder.join(".dev.vars"))
        .unwrap();
    own.write_all(b"PROVIDER_KEY=\"of the provider\"\n")
        .unwrap();
    let running = installed.start(&folder, &words(DEV));
    let client = running.client();
    let decided = client.check_budget_once_there("acme", "tokens", 0).await;
    assert_eq!(decided.decision.limit, 77, "its own policy");
    // A secret that a policy names is one of the file, or the policy is refused.
    client.save_policy(&document).await.unwrap();
    document["routes"][0]["origin"]["headers"]["authorization"]["secret"] = json!("OTHER_KEY");
    let refused = client.save_policy(&document).await.unwrap_err().to_string();
    assert!(refused.contains("OTHER_KEY"), "{refused}");
}

/// `serve` keeps its state over a SIGKILL, and its token out of what it prints.
async fn state_survives(installed: &Installed) {
    let folder = installed.folder.path().join("server");
    std::fs::create_dir(&folder).unwrap();
    let mut running = installed.start(&folder, &words(SERVE));
    let token = std::fs::read_to_string(folder.join("state/token")).unwrap();
    assert!(!running.said().contains(token.trim()), "{}", running.said());
    let client = |running: &Running| running.client().with_token(token.trim());
    let saved = client(&running);
    let mut policy = saved.policy().await.unwrap().document;
    policy["budgets"]["tokens"]["limit"] = json!(55);
    let revision = saved
        .save_policy(&policy)
        .await
        .unwrap()
        .revision()
        .unwrap();
    running.process.kill_hard();
    let running = installed.start(&folder, &words(SERVE));
    let again = client(&running);
    let found = again.policy().await.unwrap();
    assert_eq!(found.revision().unwrap(), revision);
    assert_eq!(found.document["budgets"]["tokens"]["limit"], 55);
}

#[test]
fn the_pages_show_the_commands_that_are_run_here() {
    let run_here = [INSTALL, DEMO, DEV, INIT, SERVE, VALIDATE, PLAN];
    // The same, with where the state is and the port of the reader's own.
    let own = |command: &str| command.replace("--dir /var/lib/weir --port 8787", "--dir state");
    let mut shown = Vec::new();
    for block in blocks().into_iter().filter(|block| block.language == "sh") {
        for line in block.commands() {
            let commands = line.split(" && ").map(own);
            let of_it = commands
                .filter(|one| one.starts_with("npx weir ") || one.starts_with("npm install ./"));
            for command in of_it {
                assert!(
                    PAGES.contains(&block.page.as_str()),
                    "{}: {command}",
                    block.place()
                );
                let known = run_here.contains(&command.as_str());
                assert!(known, "{}: {command} is not run", block.place());
                shown.push((block.page.clone(), command));
            }
        }
    }
    for page in PAGES {
        assert!(shown.iter().any(|(of, _)| of == page), "{page} shows none");
    }
    for command in run_here {
        assert!(
            shown.iter().any(|(_, one)| one == command),
            "{command} is shown nowhere"
        );
    }
}

#[test]
fn the_command_says_its_version() {
    let main = workspace().join("package/bin/weir.js");
    let said = succeed(Command::new("node").arg(main).arg("--version"));
    assert_eq!(said.trim(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_mistake_is_told_in_a_line_and_changes_nothing() {
    let main = workspace().join("package/bin/weir.js");
    let folder = tempfile::tempdir().unwrap();
    for (words, told) in [
        (&["devv"][..], "there is no command devv"),
        (
            &["plan", "policy.json"],
            "this package has no native weir for",
        ),
        (&["dev", "--port", "0"], "--port 0"),
        (&["dev", "--prot", "1"], "--prot"),
        (&["dev", "there"], "there"),
        (&["serve"], "--dir"),
        (&["init"], "DIR"),
        (&["check", "none.json"], "none.json"),
    ] {
        let output = run(Command::new("node")
            .arg(&main)
            .args(words)
            .current_dir(&folder));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(
            said.starts_with("weir: ") && said.contains(told),
            "{words:?}: {said}"
        );
        assert!(!said.contains("    at "), "a trace: {said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
