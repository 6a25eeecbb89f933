//! Contacts with the deployment: as soon as a holder has something urgent to say, and in time for everything else.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use weir_shared::limits::{AGENT_CLOSE_MS_MAX, AGENT_CONTACT_BYTES_MAX, AGENT_CONTACTS_MAX};

use crate::agent::Agent;
use crate::deployment::Deployment;
use crate::state::{Link, Sent};

/// Between two looks of an agent that ends.
const CLOSING_MS: u64 = 20;

/// Keeps in contact for as long as the program runs.
pub async fn run(agent: Rc<Agent>, deployment: Rc<Deployment>) {
    loop {
        let now = agent.now();
        let flushes_in_ms = agent.with(|state| state.flushes_in_ms(now));
        tokio::select! {
            () = agent.to_send.notified() => {}
            () = sleep(Duration::from_millis(flushes_in_ms)) => {
                let now = agent.now();
                agent.with(|state| state.flush(now));
            }
        }
        let now = agent.now();
        if !agent.with(|state| state.needs_contact(now)) {
            continue;
        }
        let retries_in_ms = agent.with(|state| state.retries_in_ms(now));
        sleep(Duration::from_millis(retries_in_ms)).await;
        while agent.with(|state| state.under_way() >= AGENT_CONTACTS_MAX) {
            agent.heard.notified().await;
        }
        start(&agent, &deployment);
    }
}

/// Gives back what is held and hands over what was counted, within a deadline.
pub async fn close(agent: &Rc<Agent>, deployment: &Rc<Deployment>) {
    let deadline = Duration::from_millis(AGENT_CLOSE_MS_MAX);
    let rounds = async {
        loop {
            let now = agent.now();
            agent.with(|state| state.close(now));
            if !agent.with(|state| state.has_unsent(now)) {
                return;
            }
            if agent.with(|state| state.under_way() == 0) {
                start(agent, deployment);
            }
            sleep(Duration::from_millis(CLOSING_MS)).await;
        }
    };
    if timeout(deadline, rounds).await.is_err() {
        eprintln!("weir-agent: not everything was handed over in time");
    }
}

/// Starts a contact.
fn start(agent: &Rc<Agent>, deployment: &Rc<Deployment>) {
    let (agent, deployment) = (Rc::clone(agent), Rc::clone(deployment));
    let now = agent.now();
    let (text, sent) = agent.with(|state| {
        let mut body = state.contact(now);
        loop {
            // Numbers and text, which JSON always expresses.
            let text = serde_json::to_string(&body).unwrap_or_default();
            if text.len() <= AGENT_CONTACT_BYTES_MAX || body.exchanges.len() < 2 {
                return (text, Sent::of(&body, now));
            }
            let half = body.exchanges.len() / 2;
            state.put_off(body.exchanges.split_off(half));
        }
    });
    spawn_local(async move {
        let answer = deployment.contact(text).await;
        let now = agent.now();
        let (before, link, more) = agent.with(|state| {
            let before = state.link();
            state.answered(&sent, answer, now);
            (before, state.link(), state.has_to_send())
        });
        if before != link {
            tell(link);
        }
        agent.heard.notify_waiters();
        if more {
            agent.to_send.notify_one();
        }
    });
}

/// Says how the deployment answers from now on.
fn tell(link: Link) {
    match link {
        Link::New => {}
        Link::Up => eprintln!("weir-agent: the deployment answers"),
        Link::Refused => eprintln!(
            "weir-agent: the deployment refuses the token: it is wrong, revoked, expired, or of another role than agent"
        ),
        Link::Lost => eprintln!("weir-agent: the deployment does not answer"),
    }
}
