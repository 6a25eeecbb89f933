//! An agent without a deployment: what it asks, and what it does with what it is answered.

use std::rc::Rc;

use serde_json::{Value, json};
use tokio::task::{LocalSet, spawn_local, yield_now};
use weir_agent::agent::Agent;
use weir_agent::charge::{Charge, ChargeOutcome, Undecided};
use weir_agent::state::{ContactFault, Link, Sent, State};
use weir_shared::decision::Reason;
use weir_shared::units::{Incarnation, Revision, Sequence, WindowLabel};
use weir_shared::wire::accounting::FrameReply;
use weir_shared::wire::agent::{AgentContactBody, AgentContactReply};
use weir_shared::wire::exchange::{
    ExchangeAnswer, ExchangeBody, Grant, Refusal, ReplyBody, Seen, VERSION, WindowBody,
};

const LIMIT: u64 = 100;

fn saved(revision: u64, regions: Value) -> Value {
    let budget = |limit: u64, more: Value| {
        let mut budget = json!({ "limit": limit, "window_ms": 60_000, "sharing": "first_come", "scope": "global" });
        if let (Some(budget), Some(more)) = (budget.as_object_mut(), more.as_object()) {
            budget.extend(more.clone());
        }
        budget
    };
    json!({ "revision": revision, "document": {
        "regions": regions, "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "tenants": { "acme": {} },
        "budgets": {
            "tokens": budget(LIMIT, json!({})),
            "open": budget(LIMIT, json!({ "on_unavailable": "allow" })),
            "shadow": budget(LIMIT, json!({ "shadow": true })),
            "here": { "limit": 9, "window_ms": 1_000, "sharing": "first_come", "scope": "isolate" },
        },
    } })
}

/// What the region would answer that has so many units for each message.
fn answered(body: &AgentContactBody, units: u64) -> AgentContactReply {
    AgentContactReply {
        region: "weur".to_owned(),
        policy: None,
        exchanges: body.exchanges.iter().map(|one| lent(one, units)).collect(),
        frame: body.frame.as_ref().map(|frame| FrameReply {
            sequence: frame.sequence,
            receiver: Incarnation(1),
            counted: true,
        }),
        next_contact_ms: 1_000,
    }
}

fn lent(body: &ExchangeBody, units: u64) -> ExchangeAnswer {
    ExchangeAnswer::Reply(ReplyBody {
        v: VERSION,
        to: Seen {
            incarnation: body.incarnation,
            sequence: body.sequence,
        },
        window: WindowBody {
            label: WindowLabel(7),
            remaining_ms: 60_000,
            limit: LIMIT,
        },
        grants: vec![Grant {
            tenant: None,
            units,
            ceiling: LIMIT,
            used: units,
            left: 0,
            allowance: 0,
            contended: false,
            retry_ms: None,
        }],
        ahead: Vec::new(),
        left: 0,
        outage: false,
        next_contact_ms: 1_000,
        retry_ms: None,
    })
}

/// One contact, answered as `answer` says.
fn contact(
    agent: &Agent,
    answer: impl FnOnce(&AgentContactBody) -> Result<AgentContactReply, ContactFault>,
) -> AgentContactBody {
    let now = agent.now();
    let body = agent.with(|state| state.contact(now));
    let sent = Sent::of(&body, now);
    let answer = answer(&body);
    agent.with(|state| state.answered(&sent, answer, now));
    agent.heard.notify_waiters();
    body
}

/// An agent that has heard of the policy.
fn ready() -> Rc<Agent> {
    let agent = Rc::new(Agent::new(None).unwrap());
    let first = contact(&agent, |body| {
        let policy = Some(saved(3, json!(["weur", "enam"])));
        Ok(AgentContactReply {
            policy,
            ..answered(body, 0)
        })
    });
    assert_eq!((first.region, first.revision), (None, Revision(0)));
    agent
}

const fn charge(budget: &'static str, cost: u64) -> Charge<'static> {
    let tenant = "acme";
    Charge {
        tenant,
        budget,
        cost,
    }
}

/// Decides while every message is answered with so many units.
async fn decided(
    agent: &Rc<Agent>,
    charges: &'static [Charge<'static>],
    units: u64,
) -> ChargeOutcome {
    let deciding = Rc::clone(agent);
    let task = spawn_local(async move { deciding.decide(charges).await });
    while !task.is_finished() {
        if agent.with(State::has_to_send) {
            contact(agent, |body| Ok(answered(body, units)));
        }
        yield_now().await;
    }
    task.await.unwrap().unwrap()
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    LocalSet::new().block_on(&runtime.unwrap(), test);
}

fn balance(agent: &Agent, budget: &str) -> u64 {
    let now = agent.now();
    agent.with(|state| {
        let holder = state.leases.known(budget);
        holder
            .and_then(|holder| Some(holder.open_lease(now)?.balance()))
            .unwrap_or(0)
    })
}

#[test]
fn nothing_is_decided_before_a_policy_and_what_no_agent_has_is_named() {
    run(async {
        let agent = Agent::new(Some("weur".to_owned())).unwrap();
        assert_eq!(
            agent.decide(&[charge("tokens", 1)]).await,
            Err(Undecided::NotReady)
        );
        let agent = ready();
        for (budget, undecided) in [
            ("nothing", Undecided::Budget(1)),
            ("here", Undecided::Unleased(1)),
        ] {
            let both = [charge("tokens", 1), charge(budget, 1)];
            assert_eq!(agent.decide(&both).await, Err(undecided));
        }
        assert!(!agent.with(State::has_to_send), "nothing was asked for");
    });
}

#[test]
fn what_is_held_decides_and_what_is_short_waits_for_the_region() {
    run(async {
        let agent = ready();
        let outcome = decided(
            &agent,
            &[Charge {
                tenant: "acme",
                budget: "tokens",
                cost: 4,
            }],
            10,
        )
        .await;
        assert!(outcome.admitted);
        let first = outcome.decided[0].unwrap();
        assert_eq!(
            (first.window, first.quota, first.window_ms),
            (Some(WindowLabel(7)), LIMIT, 60_000)
        );
        assert_eq!(balance(&agent, "tokens"), 6);
        let now = agent.now();
        let body = agent.with(|state| state.contact(now));
        let counters = &body.frame.unwrap().counters["acme"];
        assert_eq!(counters.budgets["tokens"].admitted_units.0, 4);
        assert!(counters.known);
    });
}

#[test]
fn a_question_that_is_denied_in_part_charges_nothing() {
    run(async {
        let agent = ready();
        const BOTH: &[Charge<'static>] = &[charge("tokens", 3), charge("open", 50)];
        let outcome = decided(&agent, BOTH, 10).await;
        assert!(!outcome.admitted);
        assert_eq!(outcome.binding, 1);
        let reasons = outcome
            .decided
            .iter()
            .map(|one| one.unwrap().decision.reason);
        assert_eq!(
            reasons.collect::<Vec<_>>(),
            [Reason::Admitted, Reason::CapReached]
        );
        assert_eq!(balance(&agent, "tokens"), 10, "what was charged went back");
        let never = agent.decide(&[charge("tokens", LIMIT + 1)]).await.unwrap();
        assert_eq!(never.decided[0].unwrap().decision.reason, Reason::Never);
        let shadow = agent.decide(&[charge("shadow", LIMIT + 1)]).await.unwrap();
        assert!(shadow.admitted, "a shadow denies nothing");
    });
}

#[test]
fn a_request_that_leaves_while_it_waits_is_charged_nothing() {
    run(async {
        let agent = ready();
        const BOTH: &[Charge<'static>] = &[charge("tokens", 3), charge("open", 3)];
        assert!(decided(&agent, &BOTH[..1], 10).await.admitted);
        assert_eq!(balance(&agent, "tokens"), 7);
        let deciding = Rc::clone(&agent);
        let task = spawn_local(async move { deciding.decide(BOTH).await });
        yield_now().await;
        assert_eq!(
            balance(&agent, "tokens"),
            4,
            "the first is charged, the second waits"
        );
        task.abort();
        assert!(task.await.is_err());
        assert_eq!(balance(&agent, "tokens"), 7);
    });
}

#[test]
fn nobody_waits_for_a_deployment_that_does_not_answer() {
    run(async {
        let agent = ready();
        for (fault, link) in [
            (ContactFault::Lost, Link::Lost),
            (ContactFault::Refused, Link::Refused),
        ] {
            contact(&agent, |_| Err(fault));
            assert_eq!(agent.with(|state| state.link()), link);
            let outcome = agent.decide(&[charge("tokens", 1)]).await.unwrap();
            assert!(!outcome.admitted);
            assert_eq!(
                outcome.decided[0].unwrap().decision.reason,
                Reason::Unavailable
            );
            let outcome = agent.decide(&[charge("open", 1)]).await.unwrap();
            assert!(outcome.admitted, "the budget says so");
        }
        contact(&agent, |body| Ok(answered(body, 10)));
        assert!(
            decided(
                &agent,
                &[Charge {
                    tenant: "acme",
                    budget: "tokens",
                    cost: 1
                }],
                10
            )
            .await
            .admitted
        );
        assert_eq!(agent.with(|state| state.tallies.contacts), [3, 1, 1]);
    });
}

#[test]
fn a_waiting_request_is_answered_when_the_deployment_is_lost() {
    run(async {
        let agent = ready();
        let deciding = Rc::clone(&agent);
        let task = spawn_local(async move { deciding.decide(&[charge("tokens", 1)]).await });
        yield_now().await;
        assert!(agent.with(State::has_to_send));
        contact(&agent, |_| Err(ContactFault::Lost));
        let outcome = task.await.unwrap().unwrap();
        assert_eq!(
            outcome.decided[0].unwrap().decision.reason,
            Reason::Unavailable
        );
    });
}

#[test]
fn an_agent_that_ends_gives_back_all_that_it_holds() {
    run(async {
        let agent = ready();
        decided(
            &agent,
            &[Charge {
                tenant: "acme",
                budget: "tokens",
                cost: 4,
            }],
            10,
        )
        .await;
        agent.close();
        assert_eq!(
            agent.decide(&[charge("tokens", 1)]).await,
            Err(Undecided::NotReady)
        );
        let mut returned = 0;
        for _ in 0..5 {
            let body = contact(&agent, |body| Ok(answered(body, 0)));
            let returns = body.exchanges.iter().flat_map(|one| &one.returns);
            returned += returns.map(|back| back.units).sum::<u64>();
            agent.close();
        }
        assert_eq!(returned, 6);
        let now = agent.now();
        assert!(!agent.with(|state| state.has_unsent(now)));
        assert!(agent.is_closing());
    });
}

#[test]
fn a_region_that_the_policy_has_no_more_gives_way_to_the_nearest() {
    run(async {
        let agent = ready();
        assert_eq!(
            agent
                .with(|state| state.region().map(str::to_owned))
                .as_deref(),
            Some("weur")
        );
        decided(
            &agent,
            &[Charge {
                tenant: "acme",
                budget: "tokens",
                cost: 4,
            }],
            10,
        )
        .await;
        contact(&agent, |body| {
            let policy = Some(saved(4, json!(["enam"])));
            Ok(AgentContactReply {
                policy,
                ..answered(body, 0)
            })
        });
        assert_eq!(agent.with(|state| state.region().map(str::to_owned)), None);
        assert_eq!(balance(&agent, "tokens"), 0, "nobody lends it any more");
        let next = contact(&agent, |body| {
            Ok(AgentContactReply {
                region: "enam".to_owned(),
                ..answered(body, 0)
            })
        });
        assert_eq!((next.region, next.revision), (None, Revision(4)));
        assert_eq!(
            agent
                .with(|state| state.region().map(str::to_owned))
                .as_deref(),
            Some("enam")
        );
        contact(&agent, |_| Err(ContactFault::Region));
        assert_eq!(agent.with(|state| state.region().map(str::to_owned)), None);
    });
}

#[test]
fn a_policy_that_cannot_be_read_changes_nothing_and_an_older_one_neither() {
    let agent = ready();
    for policy in [
        saved(2, json!(["enam"])),
        saved(9, json!([])),
        json!({ "revision": 9 }),
    ] {
        contact(&agent, |body| {
            Ok(AgentContactReply {
                policy: Some(policy),
                ..answered(body, 0)
            })
        });
        let revision = agent.with(|state| state.loaded.as_ref().map(|loaded| loaded.revision));
        assert_eq!(revision, Some(Revision(3)));
    }
}

#[test]
fn messages_for_which_a_contact_had_no_room_go_with_the_next() {
    run(async {
        let agent = ready();
        let deciding = Rc::clone(&agent);
        let task = spawn_local(async move { deciding.decide(&[charge("tokens", 1)]).await });
        yield_now().await;
        let now = agent.now();
        let mut body = agent.with(|state| state.contact(now));
        assert_eq!(body.exchanges.len(), 1);
        let put_off = body.exchanges.split_off(0);
        agent.with(|state| state.put_off(put_off));
        assert!(agent.with(State::has_to_send));
        let next = contact(&agent, |body| Ok(answered(body, 5)));
        assert_eq!(next.exchanges[0].sequence, Sequence(1));
        assert!(task.await.unwrap().unwrap().admitted);
        let refused = contact(&agent, |body| {
            let exchanges = body.exchanges.iter();
            let exchanges = exchanges
                .map(|_| ExchangeAnswer::Refused(Refusal::NoWindow))
                .collect();
            Ok(AgentContactReply {
                exchanges,
                ..answered(body, 0)
            })
        });
        drop(refused);
        assert!(
            agent.with(|state| state.under_way()) > 0,
            "the one without a word is under way"
        );
    });
}
