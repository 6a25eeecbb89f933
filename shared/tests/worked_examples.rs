//! The tables and the policy snippets of `docs/src/reference/algorithms.md`.
//!
//! A snippet is the `limits` of a policy, its `meters` where it gives a rate per second, or its `guards` where it gives a
//! lease. A table with a column `at_ms` replays the last entry of the snippet above it on a key that was never used, at
//! milliseconds after 2024-01-01T00:00:00Z.

use weir_shared::algorithms::composite::{
    Dimension, Group, Mode, Source, StateKey, bind, evaluate,
};
use weir_shared::algorithms::deficit_bucket::DeficitBucket;
use weir_shared::algorithms::guard::Guard;
use weir_shared::algorithms::leaky_bucket::{LeakyBucketState, Reservation};
use weir_shared::algorithms::scale::ScaledState;
use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::invalid::read_json;
use weir_shared::limiting::terms::machine_of;
use weir_shared::limits::GUARD_SLOTS_MAX;
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::policy::limit::{Composite, Rule, Single};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::Scope;

const TEXT: &str = include_str!("../../docs/src/reference/algorithms.md");
const START: EpochMs = EpochMs(1_704_067_200_000);

/// A table that is replayed, with the snippet above it.
#[derive(Default)]
struct Example {
    snippet: String,
    /// By the names of the columns.
    rows: Vec<OrderedMap<String, String>>,
}

/// A limit at work.
struct Key {
    policy: Policy,
    limit: String,
    states: OrderedMap<StateKey, ScaledState>,
    queue: Option<LeakyBucketState>,
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner
        .split('|')
        .map(|cell| cell.trim().to_owned())
        .collect()
}

/// The snippets of the text, and the tables below each.
fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut lines = TEXT.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "```json" {
            let snippet = lines.by_ref().take_while(|line| *line != "```");
            examples.push(Example {
                snippet: snippet.collect::<Vec<_>>().join("\n"),
                rows: Vec::new(),
            });
        } else if line.starts_with("| at_ms |") {
            let names = cells(line);
            let example = examples.last_mut().expect("a snippet stands above a table");
            lines.next();
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                example
                    .rows
                    .push(names.iter().cloned().zip(cells(row)).collect());
            }
        }
    }
    examples
}

impl Key {
    /// The last limit of a snippet.
    fn cold(snippet: &str) -> Self {
        let kind = kind(snippet);
        let document = format!(
            r#"{{"regions":["weur"],"tiers":{{"free":{{"weight":1}}}},"default_tier":"free","{kind}":{snippet}}}"#
        );
        let policy =
            read_json(document.as_bytes()).and_then(|document| Policy::try_from(&document));
        let policy = policy.unwrap_or_else(|refused| panic!("{refused} in {snippet}"));
        // The names of a map are read in the order of the alphabet: the last in the text has to be looked for.
        let place = |name: &&String| snippet.rfind(&format!("\"{name}\": {{"));
        let names = policy.limits.keys();
        let names = names
            .chain(policy.meters.keys())
            .chain(policy.guards.keys());
        let limit = names.max_by_key(place).expect("an entry").clone();
        Self {
            policy,
            limit,
            states: OrderedMap::new(),
            queue: None,
        }
    }

    /// What decides: the limit's rule, or that of a meter or a guard for a tenant without overrides.
    fn rule(&self) -> Rule {
        if let Some(limit) = self.policy.limits.get(&self.limit) {
            return limit.rule.clone();
        }
        let (name, tenant) = (&self.limit, "acme");
        let meter = self.policy.meter_terms(name, tenant, Revision(1), START);
        let guard = || self.policy.guard_terms(name, tenant, Revision(1), START);
        let terms = meter.or_else(guard).expect("it has a bound");
        Rule::Single(Single {
            machine: machine_of(&terms).expect("the policy has valid numbers"),
            scope: Scope::Global,
        })
    }

    /// The row that the table should have.
    fn row(&mut self, at_ms: u64, cost: u64) -> OrderedMap<&'static str, String> {
        let now = START.plus(at_ms);
        let rule = self.rule();
        let mut row = match rule {
            Rule::Single(single) => {
                let (_, decision) =
                    self.check(&[(&self.limit.clone(), &single, cost)], Mode::All, now);
                let reset_ms = decision.reset_at.since(START).to_string();
                let mut row = decided(decision);
                row.insert("reset_at", reset_ms);
                row
            }
            Rule::Composite(composite) => {
                let (binding, decision) = self.check_composite(&composite, cost, now);
                let mut row = decided(decision);
                row.insert("binding", binding);
                row
            }
            Rule::Shaper(shaper) => {
                let reserved = shaper.bucket.reserve(self.queue.as_ref(), cost, now);
                if let Some(next) = reserved.next {
                    self.queue = Some(next);
                }
                queued(reserved.outcome)
            }
        };
        row.insert("at_ms", at_ms.to_string());
        row.insert("cost", cost.to_string());
        row
    }

    fn check_composite(
        &mut self,
        composite: &Composite,
        cost: u64,
        now: EpochMs,
    ) -> (String, Decision) {
        let singles: Vec<(String, Single, u64)> = composite
            .dimensions
            .iter()
            .map(
                |dimension| match &self.policy.limits[&dimension.limit].rule {
                    Rule::Single(single) => {
                        let parts = single.cost(Some(&dimension.weight), cost);
                        (dimension.limit.clone(), single.clone(), parts)
                    }
                    _ => panic!("{} is no limit of its own", dimension.limit),
                },
            )
            .collect();
        let asked: Vec<_> = singles
            .iter()
            .map(|(limit, single, parts)| (limit.as_str(), single, *parts))
            .collect();
        let (index, decision) = self.check(&asked, composite.mode, now);
        (composite.dimensions[index].name.clone(), decision)
    }

    /// Decides limits together; which of them binds, and its decision.
    fn check(
        &mut self,
        asked: &[(&str, &Single, u64)],
        mode: Mode,
        now: EpochMs,
    ) -> (usize, Decision) {
        let groups = [Group {
            mode,
            dimensions: asked
                .iter()
                .map(|(limit, single, parts)| Dimension {
                    source: Source::Here {
                        machine: &single.machine,
                        key: StateKey {
                            limit: (*limit).to_owned(),
                            key: "key".to_owned(),
                        },
                        cost: *parts,
                    },
                    shadow: false,
                })
                .collect(),
        }];
        let verdict = evaluate(&groups, |key| self.states.get(key).cloned(), now);
        self.states.extend(verdict.writes);
        let decisions = &verdict.decisions[0];
        let bound = bind(mode, decisions).expect("at least one");
        (bound.index, decisions[bound.index])
    }
}

fn decided(decision: Decision) -> OrderedMap<&'static str, String> {
    OrderedMap::from([
        ("allowed", yes(decision.admitted())),
        ("reason", reason(decision.reason)),
        ("remaining", decision.remaining.to_string()),
        ("retry_after_ms", retry(decision.retry)),
    ])
}

fn queued(outcome: Reservation) -> OrderedMap<&'static str, String> {
    OrderedMap::from([
        ("accepted", yes(outcome.accepted)),
        ("delay_ms", outcome.delay_ms.to_string()),
        ("retry_after_ms", retry(outcome.retry)),
    ])
}

/// Which part of a policy a snippet is.
fn kind(snippet: &str) -> &'static str {
    match snippet {
        meters if meters.contains("\"per_sec\"") => "meters",
        guards if guards.contains("\"lease_ms\"") => "guards",
        _ => "limits",
    }
}

fn reason(reason: Reason) -> String {
    let json = serde_json::to_value(reason).expect("JSON");
    json.as_str().expect("a name").to_owned()
}

fn yes(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

fn retry(retry: Retry) -> String {
    retry
        .after_ms()
        .map_or("never".to_owned(), |ms| ms.to_string())
}

#[test]
fn every_table_is_what_its_limit_decides() {
    let mut rows = 0;
    for example in examples() {
        let mut key = Key::cold(&example.snippet);
        for row in &example.rows {
            let number = |name: &str| row[name].parse().expect("a number");
            let decided = key.row(number("at_ms"), number("cost"));
            for (name, told) in row.iter().filter(|(name, _)| !name.is_empty()) {
                assert_eq!(
                    Some(told),
                    decided.get(name.as_str()),
                    "{name} in {row:?} of {}",
                    example.snippet
                );
            }
            rows += 1;
        }
    }
    assert!(rows >= 35, "{rows} rows were found");
}

#[test]
fn every_snippet_is_a_valid_policy_and_every_algorithm_has_one() {
    let mut missing = vec![
        "gcra",
        "token_bucket",
        "dual_token_bucket",
        "fixed_window",
        "sliding_window",
        "sliding_log",
        "quota",
        "leaky_bucket",
    ];
    let mut kinds = vec!["limits", "meters", "guards"];
    for example in examples() {
        Key::cold(&example.snippet);
        kinds.retain(|known| *known != kind(&example.snippet));
        missing.retain(|name| {
            !example
                .snippet
                .contains(&format!("\"algorithm\": \"{name}\""))
        });
    }
    assert!(
        missing.is_empty() && kinds.is_empty(),
        "{missing:?} {kinds:?}"
    );
}

#[test]
fn a_stored_key_is_as_small_as_the_text_says() {
    let bytes = |limit: &str| {
        let key = Key::cold(&format!(r#"{{ "it": {{ {limit}, "scope": "region" }} }}"#));
        match &key.policy.limits["it"].rule {
            Rule::Single(single) => single.machine.state_bytes_max(),
            Rule::Shaper(shaper) => shaper.bucket.state_bytes_max(),
            Rule::Composite(_) => panic!("a limit of its own was meant"),
        }
    };
    let most = 9_007_199_254_740_991_u64;
    let year = 31_536_000_000_u64;
    let gcra = format!(r#""algorithm": "gcra", "limit": {most}, "period_ms": {year}"#);
    assert!(bytes(&gcra) <= 300);
    let bucket =
        r#""algorithm": "token_bucket", "capacity": 9007199254, "refill_per_sec": 123.456"#;
    assert!(bytes(bucket) <= 300);
    let dual = r#""algorithm": "dual_token_bucket", "capacity": 9007199254, "refill_per_sec": 123.456, "peak_capacity": 10, "peak_per_sec": 200"#;
    assert!(bytes(dual) <= 500);
    assert!(
        bytes(r#""algorithm": "leaky_bucket", "rate_per_sec": 0.001, "max_queue_ms": 5000"#)
            <= 1_000
    );
    let meter = DeficitBucket::new(Decimal(123.456), Decimal(10.5), 60_000).expect("a meter");
    assert!(meter.state_bytes_max() <= 300);
    let guard = Guard::new(Some(4), Some(120), 30_000).expect("a guard");
    assert!(guard.state_bytes_max() <= 300 + 44 * GUARD_SLOTS_MAX);
    assert_eq!(GUARD_SLOTS_MAX, 4_096);
    let window = format!(r#""algorithm": "fixed_window", "limit": {most}, "window_ms": {year}"#);
    assert!(bytes(&window) <= 1_100);
    let quota = format!(r#""algorithm": "quota", "limit": {most}, "cadence": "calendar_month""#);
    assert!(bytes(&quota) <= 1_100);
    for limit in [window, quota] {
        let key = Key::cold(&format!(r#"{{ "it": {{ {limit}, "scope": "region" }} }}"#));
        let Rule::Single(single) = &key.policy.limits["it"].rule else {
            panic!("a limit of its own was meant");
        };
        let state = single.machine.check(None, most, START).next;
        assert!(serde_json::to_string(&state).expect("JSON").len() <= 300);
    }
    for buckets in [1, 10, 1_000, 100_000] {
        let numbers = format!(r#""limit": {most}, "buckets": {buckets}"#);
        let sliding = format!(r#""algorithm": "sliding_window", {numbers}, "window_ms": {year}"#);
        assert!(bytes(&sliding) <= 1_100 + 25 * buckets);
        let rolling = format!(
            r#""algorithm": "quota", {numbers}, "cadence": "rolling", "period_ms": {year}"#
        );
        assert!(bytes(&rolling) <= 1_100 + 25 * buckets);
    }
    for limit in [1, 5, 1_000, 100_000] {
        let log = format!(r#""algorithm": "sliding_log", "limit": {limit}, "window_ms": {year}"#);
        assert!(bytes(&log) <= 1_100 + 25 * limit);
    }
}
