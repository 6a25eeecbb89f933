//! Answers that are lost on their way, and a Weir that is killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::block_in_place;
use tokio::time::sleep;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::witness::Fault;
use weir_tests::workerd::Setup;

use super::{Deployed, HEARD_OF, Scripts, TRIES, document, left, run, start};

/// The first answers of a path are lost.
async fn lossy(path: &str, count: u32) -> Deployed {
    let deployed = Deployed::start().await;
    deployed.proxy.lose(path, count);
    deployed
}

pub(super) async fn a_check_whose_answer_was_lost_is_tried_again_and_charged_once(
    subject: &dyn Scripts,
) {
    let (deployed, told) = run(subject, "retry", async || lossy("/v1/check", 1).await).await;
    let check = "/v1/check";
    let tries = json!([
        { "path": check, "attempt": 1, "status": 0 }, { "path": check, "attempt": 2, "status": 200 },
    ]);
    assert_eq!(told["tries"], tries);
    assert_eq!(told["check"], json!({ "allowed": true, "remaining": 970 }));
    assert_eq!(told["left"], 970);
    // Without retries: one request, without a key.
    assert_eq!(
        told["once"],
        json!({ "allowed": true, "reason": "admitted" })
    );
    assert_eq!(told["onceTries"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["end"], 940);
    assert_eq!(left(&deployed.client).await, 940);
}

pub(super) async fn a_settlement_whose_answer_was_lost_is_told_again(subject: &dyn Scripts) {
    let begin = async || lossy("/v1/settle", 2).await;
    let (deployed, told) = run(subject, "settle-again", begin).await;
    assert_eq!(told, json!({ "value": null, "left": 970 }));
    assert_eq!(deployed.proxy.seen("/v1/settle"), 3);
    // Once more would be heard of with the next contact.
    sleep(HEARD_OF).await;
    assert_eq!(left(&deployed.client).await, 970);
}

/// What remembers the answers by key cannot be reached once: 503, with a second to wait.
async fn refusing() -> Deployed {
    let workerd = Setup::isolates(&["weur"]).witnessed().start().await;
    let workerd = workerd.unwrap();
    workerd.apply(&document()).await.unwrap();
    let client = workerd.client(0).unwrap();
    assert_eq!(left(&client).await, 1_000);
    let witness = workerd.witness().unwrap();
    let refused = witness.fault("Region/claim", Fault::Refuse, 1).await;
    refused.unwrap();
    let mut deployed = Deployed::of(workerd, client).await;
    deployed.expected = 1;
    deployed
}

pub(super) async fn a_refusal_that_says_when_to_come_back_is_tried_again_then(
    subject: &dyn Scripts,
) {
    let (_deployed, told) = run(subject, "retry", refusing).await;
    let statuses = told["tries"].as_array().unwrap().iter();
    let statuses: Vec<_> = statuses.map(|one| one["status"].clone()).collect();
    assert_eq!(statuses, [503, 200]);
    assert!(
        told["apart_ms"].as_f64() >= Some(1_000.0),
        "{}",
        told["apart_ms"]
    );
    assert_eq!((&told["left"], &told["end"]), (&json!(970), &json!(940)));
}

/// A script that is talked with. It ends with the test.
struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(mut script: Command) -> Self {
        let script = script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().expect("node runs");
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self {
            child,
            input,
            output: BufReader::new(output),
        }
    }

    /// The line that it prints next, empty once it has ended.
    fn line(&mut self) -> String {
        let mut line = String::new();
        block_in_place(|| self.output.read_line(&mut line)).unwrap();
        line
    }

    /// What it tells next.
    fn told(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    fn go_on(&mut self) {
        self.input.write_all(b"\n").unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = (self.child.kill(), self.child.wait());
    }
}

fn admitted() -> Value {
    json!({ "allowed": true, "reason": "admitted", "retry_after_ms": 0 })
}

fn unreachable(allowed: bool) -> Value {
    let retry_after_ms = if allowed { 0 } else { 1_000 };
    json!({
        "allowed": allowed, "reason": "unreachable", "retry_after_ms": retry_after_ms, "cause": "Weir did not answer",
    })
}

/// Tries until Weir was there for all before it was killed: on a busy machine a call between two objects may be late.
async fn killed_in_time(is_killed: impl AsyncFn() -> bool) {
    for _ in 0..TRIES {
        if is_killed().await {
            return;
        }
    }
    panic!("{TRIES} times Weir was not there for all before it was killed");
}

pub(super) async fn while_weir_is_dead_open_lets_pass_closed_denies_and_no_check_throws(
    subject: &dyn Scripts,
) {
    killed_in_time(async || is_killed_amid_checks(subject).await).await;
}

/// Whether Weir was there for all that was asked before.
async fn is_killed_amid_checks(subject: &dyn Scripts) -> bool {
    let (mut workerd, client) = start().await;
    // What an isolate holds dies with it, and counts as used: so little that the budget outlives the kill.
    let lease = json!({ "min": 1, "max": 16 });
    let document = with(document(), "/budgets/tokens/lease", lease);
    workerd.apply(&document).await.unwrap();
    let mut script = Running::start(subject.script("outage", client.origin()));
    let first = script.told();
    if first.to_string().contains("\"unavailable\"") {
        return false;
    }
    assert_eq!(first, json!(vec![admitted(); 4]));
    // A script that has no reservation or no slot ends.
    if script.line().trim_end() != "\"reserved\"" {
        return false;
    }
    workerd.kill_hard();
    script.go_on();
    let told = script.told();
    // What was under way is not harmed: it is not settled, and stays charged. The slot is known to be lost.
    assert_eq!(told["value"], "kept");
    assert_eq!(told["lost"], "The lease passed without an answer.");
    // Scopes run while `fail` is open, and do not while it is closed.
    assert_eq!(told["ran"], json!(["ran", "ran", null, null]));
    let open = unreachable(true);
    assert_eq!(told["asked"], json!([open, unreachable(false), open, open]));
    workerd.restart().await.unwrap();
    script.go_on();
    let told = script.told();
    // Weir decides again. Not always in the client's favour: on a busy machine its holders may not find each other in a call's time.
    let asked = told["asked"].as_array().unwrap();
    assert_eq!(asked.len(), 4);
    for one in asked {
        let decided = ["admitted", "cap_reached", "unavailable"];
        let reason = one["reason"].as_str().unwrap();
        assert!(
            decided.contains(&reason) && one.get("cause").is_none(),
            "{one}"
        );
    }
    // Those that never stopped asking were answered one way or the other.
    let reasons = told["reasons"].as_array().unwrap();
    assert!(
        reasons.contains(&json!("admitted true")) && reasons.contains(&json!("unreachable false")),
        "{reasons:?}"
    );
    // Four checks, and a reservation that could not be settled, were charged before.
    assert!(left(&client).await <= 1_000 - 5 * 5);
    true
}

/// Waits until each of the four who never stop has passed: two of their requests each are charged, beside one to each server.
async fn await_visitors(client: &Client) {
    let start = now();
    while left(client).await > VISITED - 2 - 2 * 4 {
        assert!(start.elapsed() < PASSED, "nobody passes");
        sleep(Duration::from_millis(50)).await;
    }
}

/// The budget of those visits, and how long they may take on a busy machine.
const VISITED: u64 = 1_000_000;
const PASSED: Duration = Duration::from_secs(30);

/// What stands before an application goes on while Weir is killed in the middle of visits, and asks it again once it is back.
/// The script tells what an application that fails open answers, and one that fails closed: `refused`.
pub(super) async fn visits_go_on_while_weir_is_killed_in_the_middle(
    subject: &dyn Scripts,
    script: &str,
    refused: u16,
) {
    killed_in_time(async || is_killed_amid_visits(subject, script, refused).await).await;
}

/// Whether the visits before were let in.
async fn is_killed_amid_visits(subject: &dyn Scripts, script: &str, refused: u16) -> bool {
    let (mut workerd, client) = start().await;
    // What a holder has dies with it, and counts as used: so little that the budget outlives the kill.
    let lease = json!({ "min": 1, "max": 16 });
    let document = with(document(), "/budgets/tokens/lease", lease);
    let document = with(document, "/budgets/tokens/limit", json!(VISITED));
    workerd.apply(&document).await.unwrap();
    let mut script = Running::start(subject.script(script, client.origin()));
    let first = script.told();
    if first.as_array().unwrap().contains(&json!(refused)) {
        return false;
    }
    assert_eq!(first, json!([200, 200]));
    await_visitors(&client).await;
    workerd.kill_hard();
    script.go_on();
    assert_eq!(script.told(), json!([200, refused]), "open and closed");
    workerd.restart().await.unwrap();
    script.go_on();
    let told = script.told();
    assert_eq!(told["after"], json!([200, 200]));
    // Those who never stopped were admitted or refused, and met no fault.
    let seen = told["seen"].as_array().unwrap();
    assert!(
        seen.contains(&json!(200)) && seen.contains(&json!(refused)),
        "{seen:?}"
    );
    // A holder that is alone for a moment denies.
    let known = [json!(200), json!(429), json!(refused)];
    assert!(seen.iter().all(|status| known.contains(status)), "{seen:?}");
    true
}
