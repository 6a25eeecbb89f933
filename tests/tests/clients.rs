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
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use weir_tests::client::Client;
use weir_tests::fixtures::{gcra, policy, with};
use weir_tests::ports;
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

/// What a script prints.
async fn run(client: &dyn Scripts, name: &str, origin: &str) -> Value {
    let mut script = client.script(name, origin);
    let told = spawn_blocking(move || succeed(&mut script)).await.unwrap();
    serde_json::from_str(&told).expect("one JSON text")
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
