//! Whether a history keeps the promises of a budget.

use std::time::Duration;

use weir_shared::ordered::OrderedMap;

use crate::history::{Operation, Outcome};
use crate::shares::hungry;

/// Units admitted by window label.
pub fn admitted_by_window(operations: &[Operation]) -> OrderedMap<u64, u64> {
    let mut sums = OrderedMap::new();
    for operation in operations {
        if let Some(window) = operation.window() {
            *sums.entry(window).or_default() += operation.admitted();
        }
    }
    sums
}

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// A window's admitted cost is above the limit.
    OverCap {
        /// The window.
        window: u64,
        /// What was admitted in it.
        admitted: u64,
        /// The limit.
        limit: u64,
    },
    /// More than two limits were admitted within a window's length of wall-clock time.
    OverTwoCaps {
        /// When the interval begins.
        from: Duration,
        /// What was admitted in it.
        admitted: u64,
        /// Twice the limit.
        bound: u64,
    },
    /// Something was admitted that names no window.
    NoWindow {
        /// When.
        sent: Duration,
    },
    /// An answer that is not a decision.
    NotADecision {
        /// Its status.
        status: u16,
        /// Its body.
        body: String,
    },
    /// A window label that shows after a later one had been admitted long before.
    LabelWentBack {
        /// The label.
        window: u64,
        /// The later label.
        after: u64,
    },
}

/// Every violation of the cap: by label, by wall clock, by labels that run backwards, and answers that are no decisions.
pub fn violations(operations: &[Operation], limit: u64, window: Duration) -> Vec<Violation> {
    let mut found = Vec::new();
    for (window, admitted) in admitted_by_window(operations) {
        if admitted > limit {
            found.push(Violation::OverCap {
                window,
                admitted,
                limit,
            });
        }
    }
    found.extend(over_two_caps(operations, limit, window));
    found.extend(labels_that_went_back(operations, window));
    for operation in operations {
        match &operation.outcome {
            Outcome::Decided(decision) if decision.allowed && decision.window.is_none() => {
                found.push(Violation::NoWindow {
                    sent: operation.sent,
                });
            }
            Outcome::Refused { status, body } => {
                found.push(Violation::NotADecision {
                    status: *status,
                    body: body.clone(),
                });
            }
            Outcome::Decided(_) | Outcome::Lost(_) => {}
        }
    }
    found
}

/// The worst interval of a window's length, where it holds more than two limits.
fn over_two_caps(operations: &[Operation], limit: u64, window: Duration) -> Option<Violation> {
    let bound = 2 * limit;
    let (from, admitted) = most_within(operations, window);
    (admitted > bound).then_some(Violation::OverTwoCaps {
        from,
        admitted,
        bound,
    })
}

/// The interval of that length in which most was admitted: when it begins, and the units. An operation counts for an
/// interval only when it was sent and answered inside it, so that whatever is counted was decided there.
pub fn most_within(operations: &[Operation], length: Duration) -> (Duration, u64) {
    let mut admitted: Vec<&Operation> = operations
        .iter()
        .filter(|operation| operation.admitted() > 0)
        .collect();
    admitted.sort_by_key(|operation| operation.sent);
    let mut worst = (Duration::ZERO, 0);
    for (index, first) in admitted.iter().enumerate() {
        let end = first.sent + length;
        let inside = admitted[index..]
            .iter()
            .take_while(|operation| operation.sent <= end);
        let sum = inside
            .filter(|operation| operation.received <= end)
            .map(|operation| operation.admitted())
            .sum();
        if sum > worst.1 {
            worst = (first.sent, sum);
        }
    }
    worst
}

/// Labels only rise: what is sent a whole window after a label was admitted is not admitted in an earlier one.
fn labels_that_went_back(operations: &[Operation], window: Duration) -> Vec<Violation> {
    let mut first_received: OrderedMap<u64, Duration> = OrderedMap::new();
    let mut last_sent: OrderedMap<u64, Duration> = OrderedMap::new();
    for operation in operations
        .iter()
        .filter(|operation| operation.admitted() > 0)
    {
        if let Some(label) = operation.window() {
            let first = first_received.entry(label).or_insert(operation.received);
            *first = (*first).min(operation.received);
            let last = last_sent.entry(label).or_insert(operation.sent);
            *last = (*last).max(operation.sent);
        }
    }
    let mut found = Vec::new();
    for (label, last) in &last_sent {
        let later = first_received
            .range(label + 1..)
            .find(|(_, first)| *last > **first + window);
        if let Some((after, _)) = later {
            found.push(Violation::LabelWentBack {
                window: *label,
                after: *after,
            });
        }
    }
    found
}

/// The admitted sums of the windows that lie between the first and the last seen: those that were under load for all
/// their time.
pub fn full_windows(operations: &[Operation]) -> OrderedMap<u64, u64> {
    let mut sums = admitted_by_window(operations);
    sums.pop_first();
    sums.pop_last();
    sums
}

/// The full windows of which units were left though somebody was denied: the window, and what was admitted in it. `most` says
/// how much of a window may be left. What nobody asked for was not denied, however busy the machine.
pub fn left_unused(
    operations: &[Operation],
    limit: u64,
    most: impl Fn(u64) -> u64,
) -> Vec<(u64, u64)> {
    let full = full_windows(operations).into_iter();
    let left = full.filter(|(window, admitted)| {
        let denied = !hungry(operations, *window).is_empty();
        denied && admitted + most(*window) < limit
    });
    left.collect()
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::check::{DecisionBody, Reason};

    use super::*;

    const WINDOW: Duration = Duration::from_secs(2);

    fn admitted(at_ms: u64, window: u64, cost: u64) -> Operation {
        let decision = DecisionBody {
            allowed: true,
            limit: 10,
            remaining: 0,
            reset_at: 0,
            retry_after_ms: Some(0),
            binding: "b".to_owned(),
            reason: Reason::Admitted,
            region: "weur".to_owned(),
            window: Some(window),
            policy_revision: 1,
            decision: None,
            reservation: None,
            slot: None,
            expires_at: None,
        };
        let at = Duration::from_millis(at_ms);
        Operation {
            client: 0,
            tenant: "t".to_owned(),
            cost,
            sent: at,
            received: at,
            outcome: Outcome::Decided(decision),
        }
    }

    fn denied(at_ms: u64, window: u64, cost: u64) -> Operation {
        let mut operation = admitted(at_ms, window, cost);
        if let Outcome::Decided(decision) = &mut operation.outcome {
            decision.allowed = false;
            decision.reason = Reason::CapReached;
        }
        operation
    }

    #[test]
    fn a_window_at_its_limit_is_no_violation() {
        let history = [
            admitted(0, 1, 6),
            admitted(10, 1, 4),
            denied(20, 1, 1),
            admitted(2_000, 2, 10),
        ];
        assert_eq!(violations(&history, 10, WINDOW), []);
        assert_eq!(
            admitted_by_window(&history),
            OrderedMap::from([(1, 10), (2, 10)])
        );
    }

    #[test]
    fn one_unit_too_many_is_found() {
        let history = [admitted(0, 1, 6), admitted(10, 1, 5)];
        assert_eq!(
            violations(&history, 10, WINDOW),
            [Violation::OverCap {
                window: 1,
                admitted: 11,
                limit: 10
            }]
        );
    }

    #[test]
    fn three_windows_within_the_length_of_one_are_found() {
        let history = [
            admitted(0, 1, 10),
            admitted(900, 2, 10),
            admitted(1_900, 3, 1),
        ];
        let expected = Violation::OverTwoCaps {
            from: Duration::ZERO,
            admitted: 21,
            bound: 20,
        };
        assert_eq!(violations(&history, 10, WINDOW), [expected]);
    }

    #[test]
    fn a_label_that_returns_is_found() {
        let history = [
            admitted(0, 1, 1),
            admitted(2_000, 2, 1),
            admitted(4_100, 1, 1),
        ];
        assert_eq!(
            violations(&history, 10, WINDOW),
            [Violation::LabelWentBack {
                window: 1,
                after: 2
            }]
        );
    }

    #[test]
    fn an_error_answer_is_found_and_a_lost_one_is_not_counted() {
        let mut refused = admitted(0, 1, 1);
        refused.outcome = Outcome::Refused {
            status: 500,
            body: "x".to_owned(),
        };
        let mut lost = admitted(0, 1, 100);
        lost.outcome = Outcome::Lost("reset".to_owned());
        assert_eq!(
            violations(&[refused, lost], 10, WINDOW),
            [Violation::NotADecision {
                status: 500,
                body: "x".to_owned()
            }]
        );
    }

    #[test]
    fn an_admission_without_a_window_is_found() {
        let mut bare = admitted(5, 1, 1);
        if let Outcome::Decided(decision) = &mut bare.outcome {
            decision.window = None;
        }
        assert_eq!(
            violations(&[bare], 10, WINDOW),
            [Violation::NoWindow {
                sent: Duration::from_millis(5)
            }]
        );
    }

    #[test]
    fn the_first_and_the_last_window_are_not_full() {
        let history = [
            admitted(0, 1, 1),
            admitted(2_000, 2, 9),
            denied(2_100, 2, 11),
            admitted(4_000, 3, 1),
        ];
        assert_eq!(full_windows(&history), OrderedMap::from([(2, 9)]));
    }

    #[test]
    fn what_was_denied_while_units_were_left_is_found() {
        let history = [
            admitted(0, 1, 1),
            admitted(2_000, 2, 7),
            denied(2_100, 2, 1),
            admitted(4_000, 3, 7),
            admitted(6_000, 4, 9),
            denied(6_100, 4, 1),
            admitted(8_000, 5, 1),
        ];
        let found = |most: u64| left_unused(&history, 10, |_| most);
        assert_eq!(found(0), [(2, 7), (4, 9)]);
        assert_eq!(found(1), [(2, 7)]);
        assert_eq!(found(3), []);
    }
}
