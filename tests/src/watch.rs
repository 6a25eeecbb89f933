//! How long the machine stood still beside a load. Somebody asks each server for `/healthz` all the time, which costs nothing and
//! needs no object. What that answer waits for, no other request is to blame for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::Client;
use crate::clock;

/// How often each server is asked.
const EVERY: Duration = Duration::from_millis(25);

/// Somebody who asks beside a load.
pub struct Watch {
    stop: Arc<AtomicBool>,
    tasks: JoinSet<Vec<Span>>,
}

/// What stood still for so long may be why a call between objects was not answered in its second.
const CALL_LATE: Duration = Duration::from_millis(500);

/// From when a question was due to its answer.
type Span = (Instant, Instant);

/// What was waited for, at each of the servers.
#[derive(Debug)]
pub struct Stood(Vec<Vec<Span>>);

impl Watch {
    /// Asks these servers from now on.
    #[must_use]
    pub fn start(clients: &[Client]) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let mut tasks = JoinSet::new();
        for client in clients {
            tasks.spawn(ask(client.clone(), Arc::clone(&stop)));
        }
        Self { stop, tasks }
    }

    /// What was seen.
    pub async fn stop(self) -> Stood {
        self.stop.store(true, Ordering::Relaxed);
        Stood(self.tasks.join_all().await)
    }
}

async fn ask(client: Client, stop: Arc<AtomicBool>) -> Vec<Span> {
    let (mut spans, mut due) = (Vec::new(), clock::now());
    while !stop.load(Ordering::Relaxed) {
        let answer = client.get("/healthz").await;
        let answered = clock::now();
        // What stands still before a question is sent counts as well. A server that is gone is another matter.
        if answer.is_ok() {
            spans.push((due, answered));
        }
        due = answered + EVERY;
        tokio::time::sleep(EVERY).await;
    }
    spans
}

impl Stood {
    /// How long answers were waited for in that time, at the server where it was longest.
    #[must_use]
    pub fn during(&self, from: Instant, until: Instant) -> Duration {
        let waited = |spans: &Vec<Span>| -> Duration {
            let parts = spans.iter().map(|(due, answered)| {
                let end = (*answered).min(until);
                end.saturating_duration_since((*due).max(from))
            });
            parts.sum()
        };
        self.0.iter().map(waited).max().unwrap_or_default()
    }

    /// Whether a decision in that time may be unavailable because the machine stood still.
    #[must_use]
    pub fn excuses(&self, from: Instant, until: Instant) -> bool {
        self.during(from, until) >= CALL_LATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_stood_still_for_as_long_as_answers_were_waited_for_in_that_time() {
        let begin = clock::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let one = vec![(at(0), at(5)), (at(10), at(90)), (at(100), at(103))];
        let stood = Stood(vec![one, vec![(at(91), at(97))]]);
        let during = |from, until| stood.during(at(from), at(until)).as_millis();
        assert_eq!(
            [
                during(0, 8),
                during(0, 11),
                during(80, 200),
                during(90, 200),
                during(98, 99)
            ],
            [5, 6, 13, 6, 0]
        );
        assert_eq!(Stood(Vec::new()).during(at(0), at(9)), Duration::ZERO);
    }
}
