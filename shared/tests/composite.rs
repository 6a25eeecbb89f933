//! What holds of decisions that are taken together.

use crate::machines::{START, algorithm, gap_ms};
use proptest::prelude::*;
use proptest::sample::Index;
use weir_shared::algorithms::composite::{
    Bound, Dimension, Group, Mode, Source, StateKey, Verdict, bind, evaluate,
};
use weir_shared::algorithms::scale::{Scaled, ScaledState};
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::limits::JSON_INTEGER_MAX;
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

/// Cases of each of the eight properties.
const CASES: u32 = 1_300;

/// Limits that the requests of one case name.
const LIMITS: usize = 3;

/// States by key.
type States = OrderedMap<StateKey, ScaledState>;

/// One dimension of a drawn request.
#[derive(Debug, Clone)]
struct Asked {
    limit: usize,
    key: &'static str,
    cost: u64,
    shadow: bool,
    elsewhere: Option<Decision>,
}

/// One drawn request.
#[derive(Debug, Clone)]
struct Request {
    gap_ms: u64,
    groups: Vec<(Mode, Vec<Asked>)>,
}

fn decision() -> impl Strategy<Value = Decision> {
    let reason = prop_oneof![
        Just(Reason::Admitted),
        Just(Reason::OverShare),
        Just(Reason::CapReached),
        Just(Reason::LimitExceeded),
        Just(Reason::Concurrency),
        Just(Reason::Overloaded),
        Just(Reason::Unavailable),
        Just(Reason::Never),
    ];
    let number = || prop_oneof![Just(0), 0..=5_u64, 0..=JSON_INTEGER_MAX];
    (reason, number(), number(), number(), 1..=3_u64).prop_map(
        |(reason, limit, remaining, reset_ms, after_ms)| Decision {
            reason,
            limit,
            remaining,
            reset_at: EpochMs(reset_ms),
            retry: match reason {
                Reason::Admitted => Retry::Now,
                Reason::Never => Retry::Never,
                _ => Retry::AfterMs(after_ms),
            },
        },
    )
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::All), Just(Mode::Any)]
}

fn machine() -> impl Strategy<Value = Scaled> {
    let scale = prop_oneof![3 => Just(1), 1 => Just(2), 1 => Just(10)];
    (algorithm(), scale).prop_map(|(algorithm, scale)| Scaled::new(&algorithm, scale).unwrap())
}

fn asked(shadow: bool) -> impl Strategy<Value = Asked> {
    let key = prop_oneof![Just("a"), Just("b")];
    let cost = prop_oneof![1 => Just(0), 6 => 1..=4_u64, 2 => 5..=25_u64];
    let elsewhere = prop::option::weighted(0.1, decision());
    (0..LIMITS, key, cost, prop::bool::weighted(0.2), elsewhere).prop_map(
        move |(limit, key, cost, is_shadow, elsewhere)| Asked {
            limit,
            key,
            cost,
            shadow: shadow && is_shadow,
            elsewhere,
        },
    )
}

fn request(shadow: bool) -> impl Strategy<Value = Request> {
    let group = (mode(), prop::collection::vec(asked(shadow), 1..=3));
    (gap_ms(), prop::collection::vec(group, 1..=3))
        .prop_map(|(gap_ms, groups)| Request { gap_ms, groups })
}

fn requests(shadow: bool) -> impl Strategy<Value = (Vec<Scaled>, Vec<Request>)> {
    (
        prop::collection::vec(machine(), LIMITS),
        prop::collection::vec(request(shadow), 1..=12),
    )
}

impl Asked {
    fn state_key(&self) -> StateKey {
        StateKey {
            limit: self.limit.to_string(),
            key: self.key.to_owned(),
        }
    }
}

impl Request {
    fn groups<'a>(&self, machines: &'a [Scaled]) -> Vec<Group<'a>> {
        let dimension = |asked: &Asked| Dimension {
            source: match asked.elsewhere {
                Some(decision) => Source::Elsewhere(decision),
                None => Source::Here {
                    machine: &machines[asked.limit],
                    key: asked.state_key(),
                    cost: asked.cost,
                },
            },
            shadow: asked.shadow,
        };
        let group = |(mode, asked): &(Mode, Vec<Asked>)| Group {
            mode: *mode,
            dimensions: asked.iter().map(dimension).collect(),
        };
        self.groups.iter().map(group).collect()
    }

    fn evaluate(&self, machines: &[Scaled], states: &States, now: EpochMs) -> Verdict {
        let load = |key: &StateKey| states.get(key).cloned();
        evaluate(&self.groups(machines), load, now)
    }

    fn asked(&self) -> impl Iterator<Item = &Asked> {
        self.groups.iter().flat_map(|(_, asked)| asked)
    }
}

/// The same decided the plain way: each dimension on the state that the one before it left, all kept or none.
fn one_after_the_other(
    request: &Request,
    machines: &[Scaled],
    states: &States,
    now: EpochMs,
) -> (bool, States) {
    let mut after = states.clone();
    let mut passes = true;
    for (mode, group) in &request.groups {
        let mut votes = Vec::new();
        for asked in group {
            let admitted = match asked.elsewhere {
                Some(decision) => decision.admitted(),
                None => {
                    let key = asked.state_key();
                    let checked = machines[asked.limit].check(after.get(&key), asked.cost, now);
                    after.extend(checked.next.map(|next| (key, next)));
                    checked.decision.admitted()
                }
            };
            votes.extend((!asked.shadow).then_some(admitted));
        }
        passes &= match mode {
            Mode::All => votes.iter().all(|vote| *vote),
            Mode::Any => votes.is_empty() || votes.iter().any(|vote| *vote),
        };
    }
    (passes, if passes { after } else { states.clone() })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn decisions_combine_in_any_order_and_grouping(
        a in decision(), b in decision(), c in decision(),
    ) {
        prop_assert_eq!(a.combine(b).combine(c), a.combine(b.combine(c)));
        prop_assert_eq!(a.combine(b), b.combine(a));
        prop_assert_eq!(a.combine(a), a);
        prop_assert_eq!(a.combine(Decision::IDENTITY), a);
        let both = a.combine(b);
        prop_assert_eq!(both.admitted(), a.admitted() && b.admitted());
        prop_assert!([a.reason, b.reason].contains(&both.reason));
        prop_assert_eq!(both.reason == Reason::Never, both.retry == Retry::Never);
        prop_assert_eq!(both.admitted(), both.retry == Retry::Now);
    }

    #[test]
    fn the_decision_that_binds_is_the_first_of_the_extreme_ones(
        mode in mode(), decisions in prop::collection::vec(decision(), 0..6),
    ) {
        let Some(Bound { index, admitted }) = bind(mode, &decisions) else {
            prop_assert!(decisions.is_empty());
            return Ok(());
        };
        let admitting = decisions.iter().filter(|decision| decision.admitted()).count();
        let needed = if mode == Mode::All { decisions.len() } else { 1 };
        prop_assert_eq!(admitted, admitting >= needed);
        let bound = decisions[index];
        prop_assert_eq!(bound.admitted(), admitted);
        for (at, other) in decisions.iter().enumerate() {
            if other.admitted() != admitted || at == index {
                continue;
            }
            let (better, equal) = match (mode, admitted) {
                (Mode::All, true) => (other.remaining < bound.remaining, other.remaining == bound.remaining),
                (Mode::Any, true) => (other.remaining > bound.remaining, other.remaining == bound.remaining),
                (Mode::All, false) => (other.retry > bound.retry, other.retry == bound.retry),
                (Mode::Any, false) => (other.retry < bound.retry, other.retry == bound.retry),
            };
            prop_assert!(!(better || equal && at < index), "{decisions:?}: {index}, not {at}");
        }
    }

    #[test]
    fn a_request_is_charged_as_one_after_the_other_or_not_at_all(
        (machines, requests) in requests(true)
    ) {
        let (mut states, mut now) = (States::new(), START);
        for request in requests {
            now = now.plus(request.gap_ms);
            let verdict = request.evaluate(&machines, &states, now);
            let (admitted, after) = one_after_the_other(&request, &machines, &states, now);
            prop_assert_eq!(verdict.admitted, admitted);
            prop_assert!(admitted || verdict.writes.is_empty());
            let unchanged = |key: &StateKey| states.get(key) == after.get(key);
            prop_assert!(after.keys().all(|key| unchanged(key) || verdict.writes.contains_key(key)));
            states.extend(verdict.writes);
            prop_assert_eq!(&states, &after);
        }
    }

    #[test]
    fn what_is_charged_has_a_receipt_and_nothing_else_has(
        (machines, requests) in requests(true)
    ) {
        let (mut states, mut now) = (States::new(), START);
        for request in requests {
            now = now.plus(request.gap_ms);
            let verdict = request.evaluate(&machines, &states, now);
            let decisions = verdict.decisions.iter().flatten();
            let receipts = verdict.receipts.iter().flatten();
            for ((asked, decision), receipt) in request.asked().zip(decisions).zip(receipts) {
                let is_charged = verdict.admitted
                    && decision.admitted()
                    && asked.cost > 0
                    && asked.elsewhere.is_none();
                prop_assert_eq!(receipt.is_some(), is_charged);
                prop_assert!(!is_charged || verdict.writes.contains_key(&asked.state_key()));
            }
            states.extend(verdict.writes);
        }
    }

    #[test]
    fn all_that_was_charged_can_be_given_back((machines, requests) in requests(true)) {
        let now = START;
        let Some(request) = requests.into_iter().next() else { return Ok(()) };
        let verdict = request.evaluate(&machines, &States::new(), now);
        let mut states = verdict.writes;
        let receipts = verdict.receipts.iter().flatten();
        for (asked, receipt) in request.asked().zip(receipts) {
            if let Some(receipt) = receipt {
                let state = states.get_mut(&asked.state_key()).unwrap();
                let given_back = machines[asked.limit].refund(state, receipt, asked.cost, now);
                *state = given_back.unwrap();
            }
        }
        for (key, state) in &states {
            let machine = &machines[key.limit.parse::<usize>().unwrap()];
            prop_assert_eq!(machine.remaining(Some(state), now), machine.remaining(None, now));
        }
    }

    #[test]
    fn waiting_for_the_binding_dimension_admits_and_a_millisecond_less_does_not(
        (machines, requests) in requests(false), last in any::<Index>(),
    ) {
        let (mut states, mut now) = (States::new(), START);
        for request in &requests {
            now = now.plus(request.gap_ms);
            states.extend(request.evaluate(&machines, &states, now).writes);
        }
        // One group, and nothing of it decided elsewhere: the clock alone may change it. Looks see no charge.
        let mut request = last.get(&requests).clone();
        request.groups.truncate(1);
        let (mode, asked) = &mut request.groups[0];
        asked.retain(|asked| asked.elsewhere.is_none() && asked.cost > 0);
        // The key that is named again is decided for the sum only where all are charged.
        if *mode == Mode::Any {
            asked.truncate(1);
        }
        let verdict = request.evaluate(&machines, &states, now);
        let bound = bind(request.groups[0].0, &verdict.decisions[0]);
        let Some(Bound { index, admitted: false }) = bound else { return Ok(()) };
        match verdict.decisions[0][index].retry {
            Retry::Now => prop_assert!(false, "a denial that may be retried at once"),
            Retry::Never => prop_assert!(!request.evaluate(&machines, &States::new(), now).admitted),
            Retry::AfterMs(ms) => {
                let at = |ms| request.evaluate(&machines, &states, now.plus(ms)).admitted;
                prop_assert!(at(ms), "not after {ms} ms");
                prop_assert!(!at(ms - 1), "before {ms} ms");
            }
        }
    }

    #[test]
    fn a_shadow_has_no_say((machines, requests) in requests(true)) {
        let (mut states, mut now) = (States::new(), START);
        for request in requests {
            now = now.plus(request.gap_ms);
            let verdict = request.evaluate(&machines, &states, now);
            // Each shadow alone on its keys: what it charges is then nobody else's.
            let shadows: Vec<_> = request.asked().filter(|asked| asked.shadow).collect();
            let is_apart = |shadow: &&Asked| {
                request.asked().all(|asked| asked.shadow || asked.state_key() != shadow.state_key())
            };
            if shadows.iter().all(is_apart) {
                let mut enforced = request.clone();
                for (_, asked) in &mut enforced.groups {
                    asked.retain(|asked| !asked.shadow);
                }
                enforced.groups.retain(|(_, asked)| !asked.is_empty());
                let without = enforced.evaluate(&machines, &states, now);
                prop_assert_eq!(verdict.admitted, without.admitted);
            }
            states.extend(verdict.writes);
        }
    }

    #[test]
    fn a_look_changes_nothing_and_a_key_is_loaded_once((machines, requests) in requests(true)) {
        let (mut states, mut now) = (States::new(), START);
        for mut request in requests {
            now = now.plus(request.gap_ms);
            states.extend(request.evaluate(&machines, &states, now).writes);
            let mut loaded = OrderedMap::<StateKey, u32>::new();
            let groups = request.groups(&machines);
            let load = |key: &StateKey| {
                *loaded.entry(key.clone()).or_default() += 1;
                states.get(key).cloned()
            };
            let _ = evaluate(&groups, load, now);
            prop_assert!(loaded.values().all(|times| *times == 1), "{loaded:?}");

            request.groups.iter_mut().flat_map(|(_, asked)| asked).for_each(|asked| asked.cost = 0);
            let looked = request.evaluate(&machines, &states, now);
            prop_assert!(looked.writes.is_empty());
            prop_assert!(looked.receipts.iter().flatten().all(Option::is_none));
        }
    }
}
