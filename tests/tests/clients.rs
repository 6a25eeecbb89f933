//! The clients against the built Worker. Scripts in `test/e2e` of each do what an application does, and print what they saw:
//! the same scripts in each language, so that all clients keep the same promises.

mod deciding;
mod go;
mod interface;
mod lost;
mod middleware;
mod openapi;
mod python;
mod rust;
mod scopes;
mod typescript;

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use weir_tests::client::Client;
use weir_tests::fixtures::{gcra, policy, with};
use weir_tests::ports;
use weir_tests::proxy::Proxy;
use weir_tests::workerd::{Setup, TOKEN, Workerd};

/// Thirty days: nothing comes back in a test.
const LONG_MS: u64 = 30 * 24 * 3_600_000;

/// Four contacts of an isolate: what it has not heard of by then is not there.
const HEARD_OF: Duration = Duration::from_secs(1);

/// Every promise of every client, each a test that is named after both.
macro_rules! kept_by {
    ($($name:ident: $client:expr;)+) => {$(
        mod $name {
            kept_by! { $client =>
                deciding::every_kind_of_check_is_answered_with_the_decision_of_the_interface
                deciding::fifty_checks_at_once_are_one_request_and_one_at_fault_harms_no_other
                lost::a_check_whose_answer_was_lost_is_tried_again_and_charged_once
                lost::a_settlement_whose_answer_was_lost_is_told_again
                lost::a_refusal_that_says_when_to_come_back_is_tried_again_then
                lost::while_weir_is_dead_open_lets_pass_closed_denies_and_no_check_throws
                scopes::a_reservation_is_settled_to_what_was_said_in_full_or_to_nothing
                scopes::a_slot_is_renewed_while_it_is_needed_given_back_and_known_to_be_lost
            }
        }
    )+};
    ($client:expr => $($file:ident::$promise:ident)+) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $promise() {
            crate::clients::$file::$promise(&$client).await;
        }
    )+};
}

mod each {
    kept_by! {
        typescript: crate::clients::typescript::Package::built();
        python: crate::clients::python::Python;
        rust: crate::clients::rust::Rust;
        go: crate::clients::go::Go::built();
    }
}

/// The scripts of a client.
trait Scripts {
    /// What runs one of them.
    fn program(&self, script: &str) -> Command;

    /// The same with where Weir is, and where nobody listens.
    fn script(&self, name: &str, origin: &str) -> Command {
        let mut program = self.program(name);
        let gone = format!("http://127.0.0.1:{}", ports::free().unwrap());
        program.env("BASE", origin).env("TOKEN", TOKEN);
        program.env("GONE", gone);
        program
    }
}

/// How often a program is run at most, each time on a deployment of its own.
const TRIES: u32 = 3;

/// A deployment behind a proxy, which counts the answers that say `unavailable`.
struct Deployed {
    client: Client,
    proxy: Proxy,
    unavailable: Arc<AtomicU64>,
    /// How many of them the test itself brings about.
    expected: u64,
    // It serves for as long as it is kept.
    _workerd: Workerd,
}

impl Deployed {
    async fn start() -> Self {
        let (workerd, client) = start().await;
        Self::of(workerd, client).await
    }

    async fn of(workerd: Workerd, client: Client) -> Self {
        let proxy = Proxy::start(client.origin().to_owned()).await.unwrap();
        let unavailable = Arc::<AtomicU64>::default();
        let count = Arc::clone(&unavailable);
        proxy.change("/", move |answer| {
            let answer = answer.to_string();
            // The reason of a decision, or the type of a problem.
            if answer.contains(":\"unavailable\"") || answer.contains("/unavailable\"") {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self {
            client,
            proxy,
            unavailable,
            expected: 0,
            _workerd: workerd,
        }
    }

    fn was_late(&self) -> bool {
        self.unavailable.load(Ordering::Relaxed) > self.expected
    }
}

/// What a program prints that asks a deployment, and the deployment. On a busy machine a call between two objects may be late:
/// no program expects the `unavailable` that comes of it, so all begins anew.
async fn asked(
    begin: impl AsyncFn() -> Deployed,
    program: impl Fn(&str) -> Command,
) -> (Deployed, String) {
    for _ in 0..TRIES {
        let deployed = begin().await;
        let mut command = program(&deployed.proxy.origin());
        let told = spawn_blocking(move || printed(&mut command)).await.unwrap();
        if !deployed.was_late() {
            return (deployed, told.unwrap_or_else(|why| panic!("{why}")));
        }
    }
    panic!("{TRIES} times a call between two objects was late");
}

/// The same of a script, which prints JSON.
async fn run(
    client: &dyn Scripts,
    name: &str,
    begin: impl AsyncFn() -> Deployed,
) -> (Deployed, Value) {
    let (deployed, told) = asked(begin, |origin| client.script(name, origin)).await;
    let told = serde_json::from_str(&told).expect("one JSON text");
    (deployed, told)
}

/// The first block of code in a document, in a language.
fn example(document: &str, language: &str) -> String {
    let (_, after) = document
        .split_once(&format!("```{language}\n"))
        .expect("an example");
    let (code, _) = after.split_once("```").expect("its end");
    code.to_owned()
}

/// A folder, without what a build left in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if name == "dist" || name == "build" || name == "__pycache__" {
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
    printed(command).unwrap_or_else(|why| panic!("{why}"))
}

/// The same, or why it did not end well.
fn printed(command: &mut Command) -> Result<String, String> {
    let name = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    match output.status.success() {
        true => Ok(out),
        false => Err(format!("{name}: {out}\n{error}")),
    }
}

/// Everything that the scripts ask for: a budget of 1,000, limits by key of 5, a guard with one slot and a lease of six seconds.
fn document() -> Value {
    let document = policy(1_000, LONG_MS);
    let window =
        json!({ "algorithm": "fixed_window", "limit": 5, "window_ms": LONG_MS, "scope": "region" });
    let shape = json!({ "algorithm": "leaky_bucket", "rate_per_sec": 0.1, "max_queue_ms": 60_000, "scope": "region" });
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
    let guard = json!({ "concurrency": 1, "per_minute": "unlimited", "lease_ms": 6_000 });
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
    let checked = client.check_budget_once_there("acme", "tokens", 0);
    checked.await.decision.remaining
}
