//! Who got what of a shared budget.

use std::time::Duration;

use weir_shared::ordered::{OrderedMap, OrderedSet};

use crate::history::Operation;

/// Units admitted by tenant.
pub type Shares = OrderedMap<String, u64>;

/// What each tenant was admitted in each window, by label. A tenant that asked in a window and got nothing has 0.
pub fn shares(operations: &[Operation]) -> OrderedMap<u64, Shares> {
    let mut windows: OrderedMap<u64, Shares> = OrderedMap::new();
    for operation in operations {
        if let Some(window) = operation.window() {
            let shares = windows.entry(window).or_default();
            *shares.entry(operation.tenant.clone()).or_default() += operation.admitted();
        }
    }
    windows
}

/// The windows in which the rules must show: those that were under load for all their time, but for the first of
/// them, in which nobody was known from the window before.
pub fn settled_windows(operations: &[Operation]) -> OrderedMap<u64, Shares> {
    let mut windows = shares(operations);
    windows.pop_first();
    windows.pop_first();
    windows.pop_last();
    windows
}

/// How long the machine kept somebody from a turn, as a part of a window: for so long units lay where nobody asked for them,
/// and demand was elsewhere than what is left. It is the control of a rule that the machine has a part in.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Stall(f64);

impl Stall {
    /// What may be left or go to another of so many units a window: what flows in the time of a stall, until somebody asks
    /// again, and in as much again, until it has come back to who needs it.
    pub fn units(self, of: u64) -> u64 {
        (2.0 * self.0.min(0.5) * of as f64).ceil() as u64
    }

    /// Whether it is too short to be seen.
    pub fn is_quiet(self) -> bool {
        self.0 <= 1.0 / 16.0
    }
}

/// The longest that an answer took in each window and in those beside it, over which a stall may reach. An answer that names no
/// window, as no holder answered in time, is of the window that was told last before it was asked for.
pub fn stalls(operations: &[Operation], window: Duration) -> OrderedMap<u64, Stall> {
    let mut slowest: OrderedMap<u64, Duration> = OrderedMap::new();
    let mut operations: Vec<&Operation> = operations.iter().collect();
    operations.sort_by_key(|operation| operation.sent);
    let mut last = None;
    for operation in operations {
        last = operation.window().or(last);
        if let Some(label) = last {
            for label in label.saturating_sub(1)..=label.saturating_add(1) {
                let slowest = slowest.entry(label).or_default();
                *slowest = (*slowest).max(operation.latency());
            }
        }
    }
    let part = |slowest: Duration| Stall(slowest.as_secs_f64() / window.as_secs_f64());
    slowest
        .into_iter()
        .map(|(label, slowest)| (label, part(slowest)))
        .collect()
}

/// The tenants that were denied something in a window: those that had demand for all of their share.
pub fn hungry(operations: &[Operation], window: u64) -> OrderedSet<&str> {
    let denied = operations.iter().filter(|operation| {
        let decision = operation.decision();
        decision.is_some_and(|decision| !decision.allowed && decision.window == Some(window))
    });
    denied.map(|operation| operation.tenant.as_str()).collect()
}

/// Units that a tenant asked for in a window, whatever became of them.
pub fn demand(operations: &[Operation], window: u64, tenant: &str) -> u64 {
    let asked = of(operations, tenant).filter(|operation| operation.window() == Some(window));
    asked.map(|operation| operation.cost).sum()
}

/// The operations of one tenant.
pub fn of<'a>(operations: &'a [Operation], tenant: &'a str) -> impl Iterator<Item = &'a Operation> {
    operations
        .iter()
        .filter(move |operation| operation.tenant == tenant)
}

/// How long one tenant sent nothing, between the first and the last that anybody sent: all pauses of more than `usual`.
pub fn silence<'a>(
    operations: impl Iterator<Item = &'a Operation>,
    tenant: &str,
    usual: Duration,
) -> Duration {
    let operations: Vec<&Operation> = operations.collect();
    let all = operations.iter().map(|operation| operation.sent);
    let of_the_tenant = operations.iter().filter(|one| one.tenant == tenant);
    let mut sent: Vec<Duration> = of_the_tenant.map(|operation| operation.sent).collect();
    sent.extend(all.clone().min());
    sent.extend(all.max());
    sent.sort();
    let pauses = sent.windows(2).map(|pair| pair[1] - pair[0]);
    pauses.filter(|pause| *pause > usual).sum()
}

/// For each tenant the requests sent, units admitted, and the median, the 95th of a hundred and the longest time in
/// milliseconds until the answer, for messages.
pub fn sketch(operations: &[Operation]) -> String {
    let mut tenants: OrderedMap<&str, Vec<&Operation>> = OrderedMap::new();
    for operation in operations {
        let of_tenant = tenants.entry(operation.tenant.as_str()).or_default();
        of_tenant.push(operation);
    }
    let lines = tenants.iter().map(|(tenant, operations)| {
        let admitted: u64 = operations
            .iter()
            .map(|operation| operation.admitted())
            .sum();
        let times = operations.iter().map(|operation| operation.latency());
        let [median, slow, slowest] = percentiles(times.collect(), [50, 95, 100]);
        format!(
            "{tenant}: {} sent, {admitted} admitted, {median} {slow} {slowest} ms",
            operations.len()
        )
    });
    lines.collect::<Vec<_>>().join("; ")
}

/// Times so long that so many of a hundred are at most that, in milliseconds; 0 of none.
pub fn percentiles<const N: usize>(mut times: Vec<Duration>, percents: [usize; N]) -> [u128; N] {
    times.sort();
    percents.map(|percent| {
        let index = (times.len() * percent).div_ceil(100).max(1) - 1;
        times.get(index).map_or(0, Duration::as_millis)
    })
}

#[cfg(test)]
mod tests {
    use weir_shared::wire::check::{DecisionBody, Reason};

    use super::*;
    use crate::history::Outcome;

    fn asked(tenant: &str, window: u64, cost: u64, allowed: bool) -> Operation {
        let reason = if allowed {
            Reason::Admitted
        } else {
            Reason::OverShare
        };
        let decision = DecisionBody {
            allowed,
            limit: 10,
            remaining: 0,
            reset_at: 0,
            retry_after_ms: Some(0),
            binding: "tokens".to_owned(),
            reason,
            region: "weur".to_owned(),
            window: Some(window),
            policy_revision: 1,
            decision: None,
            reservation: None,
            slot: None,
            expires_at: None,
        };
        Operation {
            client: 0,
            tenant: tenant.to_owned(),
            cost,
            sent: Duration::ZERO,
            received: Duration::from_millis(3),
            outcome: Outcome::Decided(decision),
        }
    }

    #[test]
    fn shares_are_summed_by_window_and_tenant() {
        let operations = [
            asked("a", 1, 2, true),
            asked("a", 2, 3, true),
            asked("b", 2, 5, true),
            asked("a", 2, 4, true),
            asked("c", 2, 1, false),
            asked("a", 3, 1, true),
            asked("b", 4, 1, true),
        ];
        let windows = shares(&operations);
        let second = [("a", 7), ("b", 5), ("c", 0)].map(|(name, got)| (name.to_owned(), got));
        assert_eq!(windows[&2], Shares::from(second));
        assert_eq!(
            settled_windows(&operations).into_keys().collect::<Vec<_>>(),
            [3]
        );
        assert_eq!(hungry(&operations, 2), OrderedSet::from(["c"]));
        assert_eq!(of(&operations, "b").count(), 2);
        assert!(sketch(&operations).starts_with("a: 4 sent, 10 admitted, 3 3 3 ms; b: 2 sent"));
    }

    #[test]
    fn a_stall_is_the_slowest_answer_of_a_window_and_of_those_beside_it() {
        let slow = Operation {
            received: Duration::from_millis(48),
            ..asked("a", 3, 1, true)
        };
        let operations = [asked("a", 1, 1, true), slow, asked("b", 5, 1, false)];
        let stalls = stalls(&operations, Duration::from_millis(480));
        let quiet: Vec<u64> = stalls
            .iter()
            .filter(|(_, stall)| stall.is_quiet())
            .map(|(label, _)| *label)
            .collect();
        assert_eq!(quiet, [0, 1, 5, 6]);
        // A tenth of the window, and as much again, of 200 a window.
        assert_eq!(stalls[&3].units(200), 40);
        assert_eq!(Stall(3.0).units(200), 200);
        assert_eq!(Stall::default().units(200), 0);
    }

    #[test]
    fn an_answer_without_a_window_is_of_the_one_that_was_told_before() {
        let mut away = Operation {
            sent: Duration::from_millis(10),
            received: Duration::from_millis(130),
            ..asked("a", 3, 1, false)
        };
        if let Outcome::Decided(decision) = &mut away.outcome {
            decision.window = None;
        }
        let last = Operation {
            sent: Duration::from_millis(140),
            received: Duration::from_millis(141),
            ..asked("a", 9, 1, true)
        };
        let operations = [away, asked("a", 3, 1, true), last];
        let stalls = stalls(&operations, Duration::from_millis(480));
        let long: Vec<u64> = stalls
            .iter()
            .filter(|(_, stall)| !stall.is_quiet())
            .map(|(label, _)| *label)
            .collect();
        assert_eq!(long, [2, 3, 4]);
        assert_eq!(demand(&operations, 3, "a"), 1);
    }

    #[test]
    fn a_silence_lasts_from_one_request_to_the_next_or_to_what_others_sent() {
        let sent = |tenant: &str, at_ms: u64| Operation {
            sent: Duration::from_millis(at_ms),
            ..asked(tenant, 1, 1, true)
        };
        let operations = [
            sent("b", 0),
            sent("a", 30),
            sent("b", 40),
            sent("a", 50),
            sent("b", 90),
        ];
        let of = |tenant, usual_ms| {
            let usual = Duration::from_millis(usual_ms);
            silence(operations.iter(), tenant, usual).as_millis()
        };
        assert_eq!([of("a", 0), of("a", 20), of("a", 30)], [90, 70, 40]);
        assert_eq!([of("b", 0), of("b", 40), of("b", 50)], [90, 50, 0]);
        assert_eq!(silence([].iter(), "a", Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times = (1..=200)
            .rev()
            .map(Duration::from_millis)
            .collect::<Vec<_>>();
        assert_eq!(
            percentiles(times.clone(), [1, 50, 95, 100]),
            [2, 100, 190, 200]
        );
        assert_eq!(percentiles(times[..1].to_vec(), [1, 100]), [200, 200]);
        assert_eq!(percentiles(Vec::new(), [50]), [0]);
    }
}
