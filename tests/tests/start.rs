//! The five-minute start of the book: its commands, run as they stand.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use weir_shared::wire::check::Reason;
use weir_tests::client::{Checked, Client};
use weir_tests::clock;
use weir_tests::paths::workspace;
use weir_tests::process::ProcessTree;
use weir_tests::workerd::{Setup, TOKEN};

const PAGE: &str = "docs/src/start.md";

/// Where the page says that Weir runs.
const ADDRESS: &str = "http://127.0.0.1:8787";

/// What runs elsewhere, or is no more than what the reader puts in.
const ELSEWHERE: [&str; 2] = [
    // `package::a_machine_with_node_alone_decides_within_a_minute_of_the_file`
    "npm install ./weir-0.1.0.tgz\nnpx weir dev --demo",
    "export TOKEN=c8fa02d9…",
];

/// What the flood asks for at a time, beside the demo: on a slow machine the demo alone may never use up its share.
const FLOOD_COST: u64 = 100;

/// By when the demo's flood has used up its share, at the latest.
const FLOOD_DEADLINE: Duration = Duration::from_secs(60);

/// For how long a command is run again that nobody could answer.
const ANSWERED: Duration = Duration::from_secs(20);

/// The window of the budget `tokens` as it is shipped, and how much of it the commands need on a busy machine.
const WINDOW_MS: u64 = 60_000;
const COMMANDS_MS: u64 = 30_000;

/// Fields of an answer that differ from run to run.
const OF_THE_RUN: [&str; 3] = ["reset_at", "window", "decision"];

/// A block of commands, and the answer that the page shows below it.
struct Shown {
    commands: String,
    answer: Option<Value>,
}

fn shown() -> Vec<Shown> {
    let page = std::fs::read_to_string(workspace().join(PAGE)).unwrap();
    let mut shown: Vec<Shown> = Vec::new();
    for block in page.split("\n```").skip(1).step_by(2) {
        let (kind, text) = block.split_once('\n').unwrap();
        match kind {
            "sh" => shown.push(Shown {
                commands: text.to_owned(),
                answer: None,
            }),
            "json answer" => {
                let last = shown.last_mut().expect("an answer follows its command");
                last.answer = Some(serde_json::from_str(text).expect("an answer is JSON"));
            }
            other => assert_eq!(other, "text", "{text}"),
        }
    }
    shown
}

fn without_the_run(mut answer: Value) -> Value {
    // Of an id the beginning is the time.
    let decision = answer["decision"].as_str();
    let of_the_rule = decision.map(|id| json!(id.split_once('.').expect("a time").1));
    for field in OF_THE_RUN {
        answer.as_object_mut().expect("an object").remove(field);
    }
    if let Some(of_the_rule) = of_the_rule {
        answer["decision"] = of_the_rule;
    }
    answer
}

/// Runs a block, and what it answers; again where a holder is out of reach, which charges nothing.
async fn run(shown: &Shown, client: &Client, folder: &Path) -> Value {
    let start = clock::now();
    loop {
        let told = run_once(shown, client, folder);
        let is_away = told["reason"] == "unavailable" || told["status"] == 503;
        if !is_away || start.elapsed() > ANSWERED {
            assert!(told.get("title").is_none(), "a problem: {told}");
            return told;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

fn run_once(shown: &Shown, client: &Client, folder: &Path) -> Value {
    let script = shown.commands.replace(ADDRESS, client.origin());
    let mut shell = Command::new("sh");
    shell.current_dir(folder).env("TOKEN", TOKEN);
    let output = shell.args(["-e", "-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{script}: {said}");
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("{script}: {said}"))
}

/// The blocks that are run here.
fn run_here() -> impl Iterator<Item = Shown> {
    let elsewhere = |shown: &Shown| ELSEWHERE.contains(&shown.commands.as_str());
    shown().into_iter().filter(move |shown| !elsewhere(shown))
}

/// Waits until acme's budget is decided, and enough of its window is left for all commands: whether for another window.
async fn early_in_a_window(client: &Client) -> bool {
    client.check_budget_once_there("acme", "tokens", 0).await;
    let left_ms = WINDOW_MS - clock::epoch_ms() % WINDOW_MS;
    let is_late = left_ms < COMMANDS_MS;
    if is_late {
        tokio::time::sleep(Duration::from_millis(left_ms + 500)).await;
        client.check_budget_once_there("acme", "tokens", 0).await;
    }
    is_late
}

#[tokio::test(flavor = "multi_thread")]
async fn each_command_of_the_five_minute_start_does_what_the_page_says() {
    let workerd = Setup::isolates(&["enam"]).start().await.unwrap();
    let client = workerd.client(0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    early_in_a_window(&client).await;
    let mut compared = 0;
    for shown in run_here() {
        let told = run(&shown, &client, folder.path()).await;
        if let Some(answer) = shown.answer {
            let commands = &shown.commands;
            assert_eq!(without_the_run(told), without_the_run(answer), "{commands}");
            compared += 1;
        }
    }
    assert!(compared >= 3, "{compared} answers were compared");
    let policy = client.policy().await.unwrap().document;
    assert_eq!(
        policy["budgets"]["tokens"]["limit"], 20_000,
        "the rules were changed"
    );
}

/// Starts the demo's traffic.
fn demo(client: &Client, folder: &Path) -> ProcessTree {
    let demo = workspace().join("package/lib/demo.js");
    let script = format!(
        "import {{ demo }} from {:?}; demo({:?}, {TOKEN:?});",
        demo.display().to_string(),
        client.origin()
    );
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval", &script]);
    ProcessTree::spawn(&node, &folder.join("demo")).unwrap()
}

/// Waits until the demo's flood has used up what it may have.
async fn await_flooded(client: &Client) {
    let start = clock::now();
    loop {
        let flooded = client
            .check_budget("free:flood", "tokens", FLOOD_COST)
            .await;
        let denied = |checked: Checked| {
            !checked.decision.allowed && checked.decision.reason != Reason::Unavailable
        };
        if flooded.is_ok_and(denied) {
            return;
        }
        assert!(start.elapsed() < FLOOD_DEADLINE, "the flood is not denied");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// As the reader has it: `dev --demo` runs beside.
#[tokio::test(flavor = "multi_thread")]
async fn the_flood_of_the_demo_leaves_the_reader_of_the_page_what_it_asks_for() {
    let workerd = Setup::isolates(&["enam"]).start().await.unwrap();
    let client = workerd.client(0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let _traffic = demo(&client, folder.path());
    await_flooded(&client).await;
    if early_in_a_window(&client).await {
        await_flooded(&client).await;
    }
    let reader = client.check_budget_once_there("acme", "tokens", 1).await;
    assert!(reader.decision.allowed, "{:?}", reader.decision);
    let mut compared = 0;
    for shown in run_here() {
        let told = run(&shown, &client, folder.path()).await;
        let Some(answer) = shown.answer else {
            continue;
        };
        for field in ["allowed", "binding", "reason", "reserved", "refunded"] {
            let commands = &shown.commands;
            assert_eq!(told[field], answer[field], "{commands}: {told}");
        }
        compared += 1;
    }
    assert!(compared >= 3, "{compared} answers were compared");
}
