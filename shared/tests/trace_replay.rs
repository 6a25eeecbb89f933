//! What was asked for, played against two policies: on the machines that decide, the same every time.

mod agreement;
mod recorded;

use proptest::prelude::*;
use serde_json::{Value, json};
use weir_shared::algorithms::gcra::Gcra;
use weir_shared::invalid::{Invalid, read_json};
use weir_shared::limits::{REPLAY_AT_MAX, REPLAY_ENTRIES_MAX, REPLAY_ROWS_MAX};
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::policy::ideal::ideal;
use weir_shared::replay::question::ReplayQuestion;
use weir_shared::replay::{Entry, Replay, in_order};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::accounting::{ANONYMOUS, Tally};
use weir_shared::wire::replay::{ReplayBody, ReplayRequest, ReplayRow, TraceEntry};

const AT: u64 = 1_700_000_000_000;

fn document() -> Value {
    json!({
        "enforcing": true,
        "regions": ["weur", "enam"], "tiers": { "pro": { "weight": 2 }, "free": { "weight": 1 } },
        "default_tier": "free", "unknown_weight_max": 1,
        "tenants": { "a": { "tier": "pro" }, "b": {}, "c": {} },
        "budgets": {
            "shared": { "limit": 120, "window_ms": 1000, "sharing": "weighted_fair_escrow", "scope": "global" },
            "first": { "limit": 50, "window_ms": 1000, "sharing": "first_come", "scope": "global" }
        },
        "limits": {
            "per_ip": { "limit": 10, "period_ms": 1000, "burst": 3, "scope": "region" },
            "own": { "algorithm": "fixed_window", "limit": 5, "window_ms": 1000, "scope": "region", "per_tenant": true },
            "both": { "all": [{ "limit": "per_ip" }, { "limit": "own", "weight": 2.5 }] },
            "queue": { "algorithm": "leaky_bucket", "rate_per_sec": 10, "max_queue_ms": 200, "scope": "region" }
        },
        "meters": { "rows": { "per_sec": 10, "burst_seconds": 2 } }
    })
}

fn built(document: &Value) -> Policy {
    Policy::try_from(&read_json(document.to_string().as_bytes()).unwrap()).unwrap()
}

fn with(pointer: &str, value: Value) -> Value {
    let mut document = document();
    *document.pointer_mut(pointer).unwrap() = value;
    document
}

fn entries(replay: &Replay<'_>, trace: Value) -> Result<Vec<Entry>, Invalid> {
    let trace: Vec<TraceEntry> = serde_json::from_value(trace).unwrap();
    replay.trace(trace)
}

fn played(present: &Value, candidate: &Value, trace: Value) -> ReplayBody {
    let (present, candidate) = (built(present), built(candidate));
    let mut replay = Replay::new(&present, &candidate);
    for entry in entries(&replay, trace).unwrap() {
        replay.play(&entry);
    }
    replay.told(EpochMs(0), Some(Revision(7)))
}

/// Calls admitted, denied and that a shadow would have denied.
fn calls(tally: &Tally) -> [u128; 3] {
    [
        tally.admitted_calls.0,
        tally.denied_calls.0,
        tally.would_deny_calls.0,
    ]
}

/// The one row that there is: what either policy admitted.
#[track_caller]
fn only(body: &ReplayBody) -> ([u128; 3], [u128; 3]) {
    assert_eq!(body.rows.len(), 1, "{body:?}");
    (calls(&body.rows[0].present), calls(&body.rows[0].candidate))
}

fn every_ms(number: u64, gap_ms: u64, of: Value) -> Value {
    let entries = (0..number).map(|index| {
        let mut entry = of.clone();
        entry["at"] = json!(AT + index * gap_ms);
        entry
    });
    entries.collect()
}

/// Requests of a few tenants at everything that there is, not in the order of time.
fn traces() -> impl Strategy<Value = Vec<TraceEntry>> {
    let names = prop_oneof![
        Just(("budget", "shared")),
        Just(("budget", "first")),
        Just(("limit", "per_ip")),
        Just(("limit", "own")),
        Just(("limit", "both")),
        Just(("limit", "queue")),
        Just(("meter", "rows")),
    ];
    let entry = (0..5_000_u64, "[a-d]", names, "[xy]", 1..40_u64);
    let entry = entry.prop_map(|(ms, tenant, (kind, name), key, cost)| TraceEntry {
        at: Some(AT + ms),
        tenant: Some(tenant),
        budget: (kind == "budget").then(|| name.to_owned()),
        limit: (kind == "limit").then(|| name.to_owned()),
        meter: (kind == "meter").then(|| name.to_owned()),
        key: (kind == "limit").then_some(key),
        cost: Some(cost),
    });
    prop::collection::vec(entry, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The same trace comes to the same, also when it is cut and when it is not in the order of time; every call and unit
    /// is in one of the counters, and two policies that are the same admit the same.
    #[test]
    fn a_replay_is_the_same_every_time(trace in traces(), cut in 0..200_usize, limit in 1..200_u64) {
        let present = built(&document());
        let candidate = built(&with("/budgets/shared/limit", json!(limit)));
        let mut whole = Replay::new(&present, &candidate);
        let ordered = whole.trace(trace.clone()).unwrap();
        for entry in &ordered {
            whole.play(entry);
        }
        let told = whole.told(EpochMs(0), None);

        let mut parts = Replay::new(&present, &candidate);
        let (first, last) = ordered.split_at(cut.min(ordered.len()));
        for entry in first {
            parts.play(entry);
        }
        let mut parts = parts.clone();
        for entry in last {
            parts.play(entry);
        }
        prop_assert_eq!(&parts.told(EpochMs(0), None), &told);

        let units: u64 = trace.iter().filter_map(|entry| entry.cost).sum();
        for side in [|row: &ReplayRow| row.present, |row: &ReplayRow| row.candidate] {
            let sums = told.rows.iter().map(side).fold(Tally::default(), |mut sum, one| {
                sum.add(&one);
                sum
            });
            prop_assert_eq!(sums.admitted_calls.0 + sums.denied_calls.0, trace.len() as u128);
            prop_assert_eq!(sums.admitted_units.0 + sums.denied_units.0, u128::from(units));
        }

        let mut same = Replay::new(&present, &present);
        for entry in &ordered {
            same.play(entry);
        }
        for row in same.told(EpochMs(0), None).rows {
            prop_assert_eq!(row.present, row.candidate);
        }
    }

    /// Of a budget for whoever comes first, a window admits as much as is asked for, up to its limit.
    #[test]
    fn whoever_comes_first_gets_all_of_a_window(asked in prop::collection::vec(0..120_u64, 1..6)) {
        let mut trace = Vec::new();
        for (window, asked) in asked.iter().enumerate() {
            for index in 0..*asked {
                let at = AT + window as u64 * 1_000 + index * 5;
                trace.push(json!({ "at": at, "tenant": "a", "budget": "first" }));
            }
        }
        let body = played(&document(), &with("/budgets/first/limit", json!(30)), trace.into());
        let admitted = |limit: u64| asked.iter().map(|asked| u128::from((*asked).min(limit))).sum::<u128>();
        let row = body.rows.first().map(|row| (row.present.admitted_units.0, row.candidate.admitted_units.0));
        prop_assert_eq!(row.unwrap_or_default(), (admitted(50), admitted(30)));
    }

    /// A limit decides as its own machine does.
    #[test]
    fn a_limit_is_its_machine(gaps in prop::collection::vec(0..400_u64, 1..100)) {
        let gcra = Gcra::new(10, 1_000, 3).unwrap();
        let (mut state, mut at, mut admitted, mut trace) = (None, AT, 0_u128, Vec::new());
        for gap in &gaps {
            at += gap;
            let checked = gcra.check(state.as_ref(), 1, EpochMs(at));
            admitted += u128::from(checked.decision.admitted());
            state = checked.next.or(state);
            trace.push(json!({ "at": at, "limit": "per_ip", "key": "k" }));
        }
        let body = played(&document(), &document(), trace.into());
        prop_assert_eq!(only(&body).0, [admitted, gaps.len() as u128 - admitted, 0]);
    }
}

/// All ask for more than there is, one unit at a time and in turn: every tenant gets what the rule would give it, had all
/// been known before. In the first window nobody's share is reserved before it asks.
#[test]
fn shares_are_the_ideal_of_the_rule() {
    let mut trace = Vec::new();
    for index in 0..900_u64 {
        for tenant in ["a", "b", "c"] {
            trace.push(json!({ "at": AT + index * 10, "tenant": tenant, "budget": "shared" }));
        }
    }
    let heavier = with("/tenants/c", json!({ "weight": 5 }));
    let body = played(&document(), &heavier, trace.into());
    let windows = 9;
    for (policy, of) in [(document(), 0), (heavier, 1)] {
        let demands = [("a", 100), ("b", 100), ("c", 100)];
        let ideal = ideal(&built(&policy), "shared", 120, &demands, EpochMs(AT));
        for ((tenant, _), share) in demands.into_iter().zip(ideal) {
            let row = body.rows.iter().find(|row| row.tenant == tenant).unwrap();
            let got = [row.present, row.candidate][of].admitted_units.0;
            let due = u128::from(share * windows);
            assert!(got.abs_diff(due) <= due / 20, "{tenant}: {got} of {due}");
        }
    }
}

#[test]
fn several_limits_are_charged_together_or_not_at_all() {
    // Each unit is 2.5 of five in a second: two pass, and what is denied takes nothing of the other.
    let of = json!({ "tenant": "a", "limit": "both", "key": "k" });
    let single = json!({ "at": AT + 3, "tenant": "a", "limit": "per_ip", "key": "k" });
    let mut trace = every_ms(3, 1, of);
    trace.as_array_mut().unwrap().push(single);
    let body = played(&document(), &document(), trace);
    let told: OrderedMap<_, _> = body
        .rows
        .iter()
        .map(|row| (row.name.as_str(), calls(&row.present)))
        .collect();
    assert_eq!(told["both"], [2, 1, 0]);
    assert_eq!(told["per_ip"], [1, 0, 0]);
}

#[test]
fn queues_and_debts_are_seen() {
    let of = json!({ "limit": "queue", "key": "k" });
    // One leaves every 100 ms: one at once, two that wait for up to 200 ms.
    let body = played(&document(), &document(), every_ms(10, 0, of));
    assert_eq!(only(&body).0, [3, 7, 0]);
    assert_eq!(body.rows[0].tenant, ANONYMOUS);
    // 20 are there, a batch of 100 goes into debt, and 80 have to flow in before the next.
    let of = json!({ "tenant": "a", "meter": "rows", "cost": 100 });
    let body = played(&document(), &document(), every_ms(10, 1_000, of));
    assert_eq!(only(&body).0, [2, 8, 0]);
}

#[test]
fn an_override_counts_from_its_start_to_its_end() {
    let tenants = json!({ "a": { "overrides": [
        { "starts_at": AT + 2_000, "expires_at": AT + 4_000, "limits": { "own": { "limit": 8 } },
          "meters": { "rows": { "per_sec": "unlimited" } } }
    ] } });
    let candidate = with("/tenants", tenants);
    // Ten in each of six seconds: five pass, eight while the override is in force.
    let of = json!({ "tenant": "a", "limit": "own" });
    let body = played(&document(), &candidate, every_ms(60, 100, of));
    assert_eq!(only(&body), ([30, 30, 0], [36, 24, 0]));
    let of = json!({ "tenant": "a", "meter": "rows", "cost": 1_000 });
    let body = played(&document(), &candidate, every_ms(6, 1_000, of));
    assert_eq!(only(&body), ([0, 6, 0], [2, 4, 0]));
}

#[test]
fn what_a_policy_has_no_rule_for_it_admits_and_whom_it_does_not_know_it_denies() {
    let mut candidate = document();
    candidate["budgets"] = json!({});
    let of = json!({ "tenant": "a", "budget": "first" });
    let body = played(&document(), &candidate, every_ms(80, 1, of.clone()));
    assert_eq!(only(&body), ([50, 30, 0], [80, 0, 0]));
    let mut closed = document();
    closed["default_tier"] = Value::Null;
    closed["tenants"] = json!({ "b": { "tier": "free" } });
    let body = played(&document(), &closed, every_ms(80, 1, of));
    assert_eq!(only(&body), ([50, 30, 0], [0, 80, 0]));
}

#[test]
fn a_shadow_admits_and_is_told_apart() {
    let of = json!({ "tenant": "a", "budget": "first" });
    let mut shadow = document();
    shadow["budgets"]["first"]["shadow"] = json!(true);
    let body = played(&document(), &shadow, every_ms(80, 1, of.clone()));
    assert_eq!(only(&body), ([50, 30, 0], [50, 0, 30]));
    let body = played(
        &document(),
        &with("/enforcing", json!(false)),
        every_ms(80, 1, of),
    );
    assert_eq!(only(&body).1, [50, 0, 30]);
}

#[test]
fn a_request_of_a_trace_is_refused_where_the_fault_is() {
    let policy = built(&document());
    let mut other = document();
    other["limits"]["per_ip"]["per_tenant"] = json!(true);
    other["limits"].as_object_mut().unwrap().remove("both");
    let other = built(&other);
    let replay = Replay::new(&policy, &other);
    let good = json!({ "at": AT, "tenant": "a", "budget": "first" });
    for (field, entry) in [
        ("/at", json!({ "tenant": "a", "budget": "first" })),
        (
            "/at",
            json!({ "at": REPLAY_AT_MAX + 1, "tenant": "a", "budget": "first" }),
        ),
        ("/budget", json!({ "at": AT, "tenant": "a" })),
        (
            "/budget",
            json!({ "at": AT, "tenant": "a", "budget": "nope" }),
        ),
        (
            "/limit",
            json!({ "at": AT, "tenant": "a", "budget": "first", "limit": "own" }),
        ),
        (
            "/meter",
            json!({ "at": AT, "tenant": "a", "budget": "first", "meter": "rows" }),
        ),
        (
            "/meter",
            json!({ "at": AT, "tenant": "a", "limit": "own", "meter": "rows" }),
        ),
        (
            "/key",
            json!({ "at": AT, "tenant": "a", "budget": "first", "key": "k" }),
        ),
        (
            "/key",
            json!({ "at": AT, "tenant": "a", "limit": "per_ip" }),
        ),
        (
            "/key",
            json!({ "at": AT, "tenant": "a", "limit": "queue", "key": "a\u{1}b" }),
        ),
        // Needed by the other policy alone.
        (
            "/tenant",
            json!({ "at": AT, "limit": "per_ip", "key": "k" }),
        ),
        ("/tenant", json!({ "at": AT, "limit": "own" })),
        ("/tenant", json!({ "at": AT, "budget": "first" })),
        ("/tenant", json!({ "at": AT, "meter": "rows" })),
        (
            "/tenant",
            json!({ "at": AT, "tenant": "", "meter": "rows" }),
        ),
        (
            "/cost",
            json!({ "at": AT, "tenant": "a", "meter": "rows", "cost": 0 }),
        ),
    ] {
        let refused = entries(&replay, json!([good, entry])).unwrap_err();
        assert_eq!(refused.field, format!("/trace/1{field}"), "{entry}");
    }
    let many = every_ms(REPLAY_ENTRIES_MAX as u64 + 1, 0, good);
    assert_eq!(entries(&replay, many).unwrap_err().field, "/trace");
}

#[test]
fn a_question_is_refused_where_the_fault_is() {
    let hour = 3_600_000;
    for (field, asked) in [
        ("/policy", json!({ "trace": [] })),
        ("/trace", json!({ "policy": document() })),
        (
            "/from",
            json!({ "policy": document(), "trace": [], "from": 0 }),
        ),
        ("/to", json!({ "policy": document(), "trace": [], "to": 0 })),
        ("/from", json!({ "policy": document(), "to": 5 })),
        ("/to", json!({ "policy": document(), "from": 5 })),
        ("/from", json!({ "policy": document(), "from": 5, "to": 5 })),
        (
            "/to",
            json!({ "policy": document(), "from": 0, "to": 6 * hour + 1 }),
        ),
    ] {
        let asked: ReplayRequest = serde_json::from_value(asked).unwrap();
        assert_eq!(ReplayQuestion::try_from(asked).unwrap_err().field, field);
    }
}

#[test]
fn the_rows_that_change_least_are_told_as_one() {
    let tenants = REPLAY_ROWS_MAX as u64 + 5;
    let entry = |index: u64| {
        let tenant = format!("t{index:05}");
        json!({ "at": AT, "tenant": tenant, "meter": "rows", "cost": 19 + u64::from(index == 1_002) })
    };
    let trace = (0..tenants).map(entry).collect();
    let mut candidate = document();
    candidate["meters"]["rows"]["burst_seconds"] = json!(0.1);
    candidate["meters"]["rows"]["max_debt_ms"] = json!(100);
    let body = played(&document(), &candidate, trace);
    assert_eq!(
        (body.rows_total, body.rows.len()),
        (tenants, REPLAY_ROWS_MAX)
    );
    assert_eq!(body.rows[0].tenant, "t01002");
    let others = body.others.unwrap();
    assert_eq!(calls(&others.present), [5, 0, 0]);
    assert_eq!(calls(&others.candidate), [0, 5, 0]);
}

#[test]
fn requests_of_one_instant_stay_in_their_order() {
    let policy = built(&document());
    let replay = Replay::new(&policy, &policy);
    let entry = |at: u64, tenant: &str| json!({ "at": at, "tenant": tenant, "budget": "first" });
    let trace = json!([entry(2, "z"), entry(1, "y"), entry(2, "a"), entry(1, "b")]);
    let ordered = entries(&replay, trace).unwrap();
    let again = entries(
        &replay,
        json!([entry(1, "y"), entry(1, "b"), entry(2, "z"), entry(2, "a")]),
    );
    assert_eq!(ordered, again.unwrap());
    let mut same = ordered.clone();
    in_order(&mut same);
    assert_eq!(same, ordered);
}
