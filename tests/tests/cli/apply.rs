//! A file put in force.

use std::io::{Read, Write};
use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::again::answered;
use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::fixtures::with;
use weir_tests::witness::Fault;
use weir_tests::workerd::Setup;

use crate::cli::{Running, SETTLING, deployment, document, start};

/// Waits until both regions tell that they apply a revision: on a busy machine one may have no answer in time.
async fn await_applied(client: &Client, revision: u64) {
    let start = now();
    loop {
        let reply = client.get("/operator/v1/regions").await.unwrap();
        let told: Value = reply.json().unwrap();
        let regions = told["regions"].as_array().cloned().unwrap_or_default();
        let applies = |region: &Value| region["policy_revision"] == revision;
        if regions.len() == 2 && regions.iter().all(applies) {
            return;
        }
        assert!(start.elapsed() < SETTLING, "{revision}: {told}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_put_in_force_in_every_region_and_recorded_with_its_reason() {
    let deployed = deployment().await;
    let (weir, client) = (&deployed.weir, &deployed.client);
    let before = client.policy().await.unwrap().revision().unwrap();
    weir.write(
        "wider.json",
        &with(document(), "/budgets/tokens/limit", json!(900)),
    );
    let told = weir.ends(
        0,
        &["apply", "wider.json", "--yes", "--why", "mehr für alle"],
    );
    let revision = before + 1;
    assert!(
        told.contains("\n~ /budgets/tokens/limit: 700 → 900\n"),
        "{told}"
    );
    assert!(
        told.ends_with(&format!("Revision {revision} is in force in 2 regions.\n")),
        "{told}"
    );
    await_applied(client, revision).await;
    assert_eq!(
        client.policy().await.unwrap().document["budgets"]["tokens"]["limit"],
        900
    );
    let path = "/operator/v1/audit?action=policy.save&limit=1";
    let audit: Value = answered(async || client.get(path).await)
        .await
        .ok()
        .unwrap();
    assert_eq!(audit["records"][0]["why"], "mehr für alle");

    let again = weir.json(0, &["apply", "wider.json", "--yes"]);
    assert_eq!(
        (&again["revision"], &again["in_force"]),
        (&json!(revision), &json!(true))
    );
    assert_eq!(again["plan"]["difference"], json!([]));
}

/// What it says when it asks whether to go on.
const ASKED: &[u8] = b"Type yes: ";

/// Waits until it has said that.
pub(super) fn await_said(running: &mut Running, end: &[u8]) {
    let stderr = running.child().stderr.as_mut().unwrap();
    let mut said = Vec::new();
    let mut byte = [0];
    while !said.ends_with(end) {
        stderr.read_exact(&mut byte).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&said));
        });
        said.push(byte[0]);
    }
}

fn answer(running: &mut Running, text: &str) {
    let mut stdin = running.child().stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_saved_in_between_is_not_overwritten() {
    let deployed = deployment().await;
    let (weir, client) = (&deployed.weir, &deployed.client);
    weir.write(
        "mine.json",
        &with(document(), "/budgets/tokens/limit", json!(900)),
    );
    let planned = weir.json(2, &["plan", "mine.json"])["revision"].to_string();

    let mut running = weir.start(&["apply", "mine.json"]);
    await_said(&mut running, ASKED);
    let theirs = with(document(), "/budgets/tokens/limit", json!(800));
    let theirs = client.save_policy(&theirs).await.unwrap();
    answer(&mut running, "yes\n");
    let ended = running.ended();
    assert_eq!(ended.status, 1, "{ended:?}");
    let error = format!(
        "weir: Somebody else saved a policy since revision {planned}, and nothing was changed: plan again."
    );
    assert!(ended.error.starts_with(&error), "{ended:?}");
    assert_eq!(client.policy().await.unwrap(), theirs);

    // The same for who agreed to a plan an hour ago.
    let error = weir.run(&["apply", "mine.json", "--yes", "--revision", &planned]);
    assert_eq!(error.status, 1, "{error:?}");
    assert!(
        error.error.contains(&format!("since revision {planned}")),
        "{error:?}"
    );
    assert_eq!(client.policy().await.unwrap(), theirs);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_yes_nothing_is_changed() {
    let deployed = deployment().await;
    let (weir, client) = (&deployed.weir, &deployed.client);
    let before = client.policy().await.unwrap();
    weir.write(
        "mine.json",
        &with(document(), "/budgets/tokens/limit", json!(900)),
    );
    for said in ["no\n", "\n", ""] {
        let mut running = weir.start(&["apply", "mine.json"]);
        await_said(&mut running, ASKED);
        answer(&mut running, said);
        let ended = running.ended();
        assert_eq!(
            (ended.status, ended.error.trim()),
            (
                1,
                "weir: Nothing was changed: the change was not confirmed."
            )
        );
    }
    assert_eq!(client.policy().await.unwrap(), before);
    let mut running = weir.start(&["apply", "mine.json"]);
    await_said(&mut running, ASKED);
    answer(&mut running, "yes\n");
    assert_eq!(running.ended().status, 0);
    assert_eq!(
        client.policy().await.unwrap().document["budgets"]["tokens"]["limit"],
        900
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_that_lacks_it_is_waited_for_and_named() {
    let deployed = start(Setup::isolates(&["weur", "enam"]).witnessed()).await;
    let (weir, witness) = (&deployed.weir, deployed.workerd.witness().unwrap());
    weir.write(
        "wider.json",
        &with(document(), "/budgets/tokens/limit", json!(900)),
    );
    weir.write(
        "widest.json",
        &with(document(), "/budgets/tokens/limit", json!(950)),
    );
    witness
        .fault("Region/push", Fault::Refuse, 100_000)
        .await
        .unwrap();
    let ended = weir.run(&["apply", "wider.json", "--yes", "--wait-s", "1"]);
    assert_eq!(ended.status, 1, "{ended:?}");
    let last = ended.error.lines().last().unwrap();
    assert!(
        last.contains("is saved, but after 1 second it is not in force everywhere: "),
        "{ended:?}"
    );
    assert!(
        last.contains("weur does not answer, enam does not answer"),
        "{ended:?}"
    );
    let ended = weir.run(&["apply", "widest.json", "--yes", "--wait-s", "0"]);
    assert!(
        ended.status == 0
            && ended
                .out
                .ends_with(" is saved; this command did not wait until it was in force.\n"),
        "{ended:?}"
    );

    let mut running = weir.start(&["apply", "widest.json", "--yes", "--wait-s", "60"]);
    await_said(&mut running, b"Waiting for revision ");
    witness.calm().await.unwrap();
    // A region that was not told hears of it when its isolates ask.
    let clients = deployed.workerd.clients().unwrap();
    let asking = tokio::spawn(async move {
        loop {
            for client in &clients {
                let looked = json!({ "tenant": "acme", "budget": "tokens", "cost": 0 });
                let _decided = client.post("/v1/check", &looked).await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    let ended = tokio::task::spawn_blocking(|| running.ended())
        .await
        .unwrap();
    asking.abort();
    assert_eq!(ended.status, 0, "{ended:?}");
    let revision = deployed.client.policy().await.unwrap().revision().unwrap();
    await_applied(&deployed.client, revision).await;
}
