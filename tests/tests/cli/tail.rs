//! Decisions in the terminal.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::block_in_place;
use weir_tests::clock::now;

use crate::cli::apply::await_said;
use crate::cli::{Deployed, Running, SETTLING, decide, deployment};

/// Asks for what acme is denied and hooli is not, until the command has seen enough.
async fn decide_until_it_ends(deployed: &Deployed, running: &mut Running) {
    let start = now();
    while running.is_running() {
        assert!(start.elapsed() < SETTLING, "it shows nothing");
        for (tenant, cost) in [("hooli", 0), ("acme", 0), ("acme", 9_999)] {
            let check = json!({ "tenant": tenant, "budget": "tokens", "cost": cost });
            decide(&deployed.client, check).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_decision_is_shown_and_what_is_filtered_is_not() {
    let deployed = deployment().await;
    let weir = &deployed.weir;
    let mut running = weir.start(&["tail", "--denied", "--tenant", "acme", "--count", "2"]);
    decide_until_it_ends(&deployed, &mut running).await;
    let ended = running.ended();
    assert_eq!(ended.status, 0, "{ended:?}");
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), 2, "{ended:?}");
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (told, id) = (&words[1..6], words[6..].concat());
        assert_eq!(
            told,
            ["weur", "denied", "never", "tokens", "acme"],
            "{line}"
        );
        assert!(id.ends_with(".weur.never.budget.tokens"), "{line}");
    }
    let mut running = weir.start(&["tail", "--reason", "never", "--count", "1", "--json"]);
    decide_until_it_ends(&deployed, &mut running).await;
    let ended = running.ended();
    let told: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(
        (&told["tenant"], &told["allowed"], &told["region"]),
        (&json!("acme"), &json!(false), &json!("weur"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_is_lost_is_opened_again() {
    let mut deployed = deployment().await;
    let mut running = deployed.weir.start(&["tail", "--denied"]);
    // Until it is connected, which the first decision that it shows proves.
    let shown = |running: &mut Running| {
        use std::io::Read;
        let mut byte = [0; 1];
        running
            .child()
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut byte)
            .is_ok()
    };
    for round in 0..2 {
        let client = deployed.client.clone();
        let asking = tokio::spawn(async move {
            loop {
                let check = json!({ "tenant": "acme", "budget": "tokens", "cost": 9_999 });
                let _denied = client.post("/v1/check", &check).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        let told = tokio::task::spawn_blocking(move || {
            let told = shown(&mut running);
            (told, running)
        });
        let told = tokio::time::timeout(Duration::from_secs(30), told).await;
        let (told, still) = told.expect("a decision is shown").unwrap();
        asking.abort();
        assert!(told, "round {round}");
        running = still;
        if round == 0 {
            deployed.workerd.restart().await.unwrap();
            block_in_place(|| await_said(&mut running, LOST));
            // What was on its way before is read: what follows comes by the next socket.
            drain(&mut running);
        }
    }
    assert!(running.is_running());
}

/// What it says of a socket that it has lost.
const LOST: &[u8] = b"weur: the socket is lost and opened again: ";

/// Reads what was shown until now.
fn drain(running: &mut Running) {
    use std::io::Read;
    use std::os::fd::AsFd;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let out = running.child().stdout.as_mut().unwrap();
    let mut bytes = [0; 65_536];
    loop {
        let mut ready = [PollFd::new(out.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::from(500_u16)).unwrap() == 0 {
            return;
        }
        assert!(out.read(&mut bytes).unwrap() > 0, "it ended");
    }
}
