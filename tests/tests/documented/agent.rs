//! The page of the agent: how it is started, and how it is asked.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use weir_shared::wire::role::Role;
use weir_tests::client::Client;
use weir_tests::fixtures::{policy, token_request};
use weir_tests::pages::block;
use weir_tests::process::ProcessTree;
use weir_tests::workerd::Setup;
use weir_tests::{clock, paths, ports};

const PAGE: &str = "docs/src/guides/agent.md";

/// Where the page says that it listens.
const ADDRESS: &str = "127.0.0.1:8081";
const SOCKET: &str = "/run/weir.sock";

/// How long an agent may take to start.
const READY: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_started_as_its_page_says_is_asked_as_it_says() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    workerd.apply(&policy(1_000, 3_600_000)).await.unwrap();
    let admin = workerd.client(0).unwrap();
    let made = admin
        .make_token(&token_request("edge-proxies", Role::Agent))
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}", ports::free().unwrap());
    let socket = folder.path().join("weir.sock").display().to_string();

    let commands = block(PAGE, "cargo build --profile native -p weir-agent\n").commands();
    let [_, start] = &commands[..] else {
        panic!("it is built, and started: {commands:?}");
    };
    let agent = paths::agent().unwrap().display().to_string();
    let mut start = format!("exec env {start}");
    for (shown, own) in [
        ("https://weir.example.com", admin.origin()),
        ("weir_...", made.token.as_str()),
        ("target/native/weir-agent", &agent),
        (ADDRESS, &format!("{address},unix:{socket}")),
    ] {
        assert!(start.contains(shown), "{start} has no {shown}");
        start = start.replace(shown, own);
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", &start]).current_dir(folder.path());
    let mut running = ProcessTree::spawn(&shell, &folder.path().join("log")).unwrap();

    let asking = block(PAGE, "curl -d ").commands();
    assert_eq!(asking.len(), 2, "by its port, and by its socket");
    for command in asking {
        let command = command.replace(ADDRESS, &address).replace(SOCKET, &socket);
        let begin = clock::now();
        let told = loop {
            let output = Command::new("sh").args(["-c", &command]).output().unwrap();
            let told = serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default();
            // Before its first contact it knows no budget.
            if told["allowed"] == true {
                break told;
            }
            assert!(running.is_running(), "{}", running.log());
            assert!(
                begin.elapsed() < READY,
                "{command}: {told} {}",
                running.log()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(told["binding"], "tokens", "{told}");
    }

    let names = |text: &str| -> Vec<String> {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let members = value.as_object().expect("an object").keys();
        members.cloned().collect()
    };
    let healthy = Client::new(format!("http://{address}")).unwrap();
    let healthy = healthy.get("/healthz").await.unwrap().text();
    let shown = block(PAGE, "{\"status\":").text;
    assert_eq!(names(&healthy), names(&shown), "{healthy}");
}
