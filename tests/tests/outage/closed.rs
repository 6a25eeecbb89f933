//! `outage: fail_closed`: what is held is admitted, and then nothing.

use std::time::Duration;

use weir_shared::limits::DECIDE_WAIT_MS_MAX;
use weir_shared::wire::check::Reason;
use weir_tests::history::Operation;
use weir_tests::witness::Fault;

use crate::outage::{KINDS, assert_capped, assert_healed, during, start, through_an_outage};

/// How long a decision may take, whoever does not answer: what a request waits for units, and what a busy machine adds.
const DECIDED: Duration = Duration::from_millis(DECIDE_WAIT_MS_MAX + 2_000);

/// `least`: requests of the third window that are judged.
async fn assert_closes(fault: Fault, least: usize) {
    let stage = start("fail_closed").await;
    let run = through_an_outage(&stage, fault).await;
    let decided = run.tempo.stretched(DECIDED);
    let mut held_by_all = 0;
    for (name, _, _) in KINDS {
        assert_capped(name, &run);
        let gone = during(&run, name);
        let held: u64 = gone.iter().map(Operation::admitted).sum();
        println!("{name}: {held} were admitted of what was held");
        held_by_all += held;
        // The window in which it went, and the next, of which units had been lent ahead, are over.
        let late: Vec<&Operation> = gone
            .iter()
            .filter(|operation| operation.sent > run.gone + 2 * run.window())
            .collect();
        let took = late.iter().map(|operation| {
            let (sent, received) = (run.origin + operation.sent, run.origin + operation.received);
            operation
                .latency()
                .saturating_sub(run.stood.during(sent, received))
        });
        let slowest = took.max();
        assert!(slowest < Some(decided), "{name}: {slowest:?}");
        let decisions = late.iter().filter_map(|operation| operation.decision());
        let reasons: Vec<Reason> = decisions.map(|decision| decision.reason).collect();
        assert!(
            reasons.len() >= least,
            "{name}: only {} requests",
            reasons.len()
        );
        assert!(
            reasons.iter().all(|reason| *reason == Reason::Unavailable),
            "{name}: {reasons:?}"
        );
        assert_healed(name, &run);
    }
    // Of which budget something is held in that moment depends on when its tenants asked.
    assert!(held_by_all > 0, "what was held was not admitted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_budget_admits_what_is_held_and_then_denies() {
    assert_closes(Fault::Refuse, 30).await;
}

/// Each call is waited for until its deadline, and the decision comes in time all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_never_answers_is_one_out_of_reach() {
    assert_closes(Fault::Stall, 1).await;
}
