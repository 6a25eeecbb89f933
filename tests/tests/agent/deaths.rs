//! SIGKILL of an agent in mid-window, again and again: what it held counts as lent, so no window is overdrawn.

use std::time::Duration;

use weir_tests::checker::{admitted_by_window, violations};
use weir_tests::fixtures::with;
use weir_tests::history::{Outcome, outcomes};
use weir_tests::workload::Workload;

use crate::agent::{Deployed, shared};

const LIMIT: u64 = 200;
const WINDOW: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
async fn no_window_is_overdrawn_across_the_deaths_of_agents() {
    let window_ms = WINDOW.as_millis() as u64;
    let deployed =
        Deployed::with(|document| with(document, "/budgets/tokens", shared(LIMIT, window_ms)))
            .await;
    let mut agents = [deployed.agent().await, deployed.agent().await];
    let mut clients: Vec<_> = agents.iter().map(|agent| agent.client().unwrap()).collect();
    clients.push(deployed.admin.clone());
    let load = Workload {
        tenants: vec!["pro:a".to_owned(), "free:b".to_owned()],
        ..Workload::new(clients, "tokens")
    };
    let running = load.start();
    for after_ms in [4_000, 700, 1_900, 1_300] {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        agents[0].kill_hard();
        agents[0].restart().await.expect("the agent comes back");
    }
    tokio::time::sleep(3 * WINDOW).await;
    let operations = running.stop().await.unwrap();
    let windows = admitted_by_window(&operations);
    println!("{windows:?}, {:?}", outcomes(&operations));
    let lost = |outcome: &Outcome| matches!(outcome, Outcome::Lost(_));
    assert!(
        operations.iter().any(|one| lost(&one.outcome)),
        "no kill fell into the load"
    );
    let mut violations = violations(&operations, LIMIT, WINDOW);
    // An agent that starts has no policy yet, and says so.
    violations.retain(|one| !format!("{one:?}").contains("503"));
    assert_eq!(violations, []);
    // What was asked for while a window lasted, however it was answered: on a slow machine that is less than the limit.
    let asked = |label: u64| {
        let of = operations.iter().filter(|one| one.window() == Some(label));
        let sent: Vec<_> = of.map(|one| one.sent).collect();
        let lasted = sent.iter().min()..=sent.iter().max();
        let during = operations
            .iter()
            .filter(|one| lasted.contains(&Some(&one.sent)));
        during.map(|one| one.cost).sum::<u64>()
    };
    let mut last = windows.iter().rev().skip(1).take(2);
    assert!(
        last.any(|(label, used)| used * 10 >= LIMIT.min(asked(*label)) * 6),
        "{windows:?}"
    );
}
