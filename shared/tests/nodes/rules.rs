//! The newest policy and tokens that a region was told stay in force, whatever arrives in whatever order, dies or fails.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};
use serde_json::json;
use weir_shared::access::stored::StoredAccess;
use weir_shared::limits::{OPERATOR_CALL_MS_MAX, POLICY_POLL_MS};
use weir_shared::node::rules::{Effect, Event, PolicyInForce, Row, RulesNode};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{SavedAccess, TokenUse};
use weir_shared::wire::registry::{ReadPolicy, Rules};
use weir_shared::wire::saved_policy::SavedPolicy;
use weir_shared::wire::shard_key::ShardKey;

#[derive(Debug, Clone)]
enum Happens {
    /// The registry saves something: a policy, tokens, or a policy that this region's code cannot take.
    Save(Change),
    /// It tells the region of a state that it had, so many saves ago: the region may be told late.
    Push {
        ago: u8,
        fate: Fate,
    },
    Need {
        fate: Fate,
    },
    /// The question under way is answered, by a state of so many saves ago, or not.
    Answer {
        ago: Option<u8>,
        fate: Fate,
    },
    Pass {
        ms: u16,
    },
    Die,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Policy,
    Invalid,
    Access,
    /// A registry that lost its secret tells policies with another one.
    Secret,
}

#[derive(Debug, Clone, Copy, Default)]
struct Fate {
    /// The write of that number fails.
    fails_at: Option<u8>,
    /// The region dies in place of that effect.
    dies_at: Option<u8>,
}

/// Wrong orders of whoever carries out what the node says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// What was pushed is confirmed before it is written.
    ConfirmBeforeWrite,
    /// A write that failed is told as done.
    FailedWriteIgnored,
    /// Rows are not read when the region wakes.
    NotLoaded,
    /// A policy is written without its secret.
    SecretNotWritten,
}

fn happenings() -> impl Strategy<Value = Vec<Happens>> {
    let at = || prop::option::weighted(0.2, 0..4_u8);
    let fate = move || (at(), at()).prop_map(|(fails_at, dies_at)| Fate { fails_at, dies_at });
    let change = prop_oneof![
        3 => Just(Change::Policy),
        1 => Just(Change::Invalid),
        2 => Just(Change::Access),
        1 => Just(Change::Secret),
    ];
    let one = prop_oneof![
        4 => change.prop_map(Happens::Save),
        4 => (0..3_u8, fate()).prop_map(|(ago, fate)| Happens::Push { ago, fate }),
        4 => fate().prop_map(|fate| Happens::Need { fate }),
        3 => (prop::option::weighted(0.8, 0..3_u8), fate())
            .prop_map(|(ago, fate)| Happens::Answer { ago, fate }),
        2 => (0..12_000_u16).prop_map(|ms| Happens::Pass { ms }),
        1 => Just(Happens::Die),
    ];
    prop::collection::vec(one, 1..60)
}

/// The registry's states, the last one in force.
struct Registry {
    states: Vec<Rules>,
}

impl Registry {
    fn new() -> Self {
        let rules = Rules {
            policy: Some(policy(1, Some(ShardKey::new([1; 16])), true)),
            access: Some(access(1)),
        };
        Self {
            states: vec![rules],
        }
    }

    fn save(&mut self, change: Change) {
        let mut next = self.ago(0);
        let saved = next.policy.as_ref().unwrap();
        let (revision, placement) = (saved.revision.0 + 1, saved.placement);
        match change {
            Change::Policy => next.policy = Some(policy(revision, placement, true)),
            Change::Invalid => next.policy = Some(policy(revision, placement, false)),
            Change::Secret => {
                let secret = ShardKey::new([revision as u8; 16]);
                next.policy = Some(policy(revision, Some(secret), true));
            }
            Change::Access => {
                let revision = next.access.as_ref().unwrap().revision.0 + 1;
                next.access = Some(access(revision));
            }
        }
        self.states.push(next);
    }

    fn ago(&self, saves: u8) -> Rules {
        let at = self.states.len().saturating_sub(1 + usize::from(saves));
        self.states[at].clone()
    }
}

fn policy(revision: u64, placement: Option<ShardKey>, valid: bool) -> SavedPolicy {
    let limit = if valid { json!(10) } else { json!(0) };
    let document = json!({
        "regions": ["weur"],
        "budgets": { "tokens": { "limit": limit, "window_ms": 60_000, "sharing": "first_come", "scope": "global" } },
    });
    SavedPolicy {
        revision: Revision(revision),
        document: serde_json::from_value(document).unwrap(),
        handovers: Default::default(),
        placement,
    }
}

fn access(revision: u64) -> SavedAccess {
    let body =
        json!({ "revision": revision, "key": "A".repeat(43), "tokens": [], "bootstrap": true });
    serde_json::from_value(body).unwrap()
}

/// A region: its node, and the rows that outlive it.
struct Region {
    node: RulesNode<u32>,
    policy: Option<SavedPolicy>,
    access: Option<StoredAccess>,
    question: Option<ReadPolicy>,
    waiting: Vec<u32>,
    answered: Vec<u32>,
    broken: Option<Broken>,
}

/// What came of an event.
#[derive(Debug, Default)]
struct Told {
    confirmed: bool,
    failed: bool,
    died: bool,
}

impl Region {
    fn new(broken: Option<Broken>) -> Self {
        Self {
            node: RulesNode::new("weur".to_owned(), None, None),
            policy: None,
            access: None,
            question: None,
            waiting: Vec::new(),
            answered: Vec::new(),
            broken,
        }
    }

    fn die(&mut self) {
        let policy = self.policy.clone();
        let policy = policy.map(|saved| PolicyInForce::try_from(saved).unwrap());
        let access = self.access.clone().map(|stored| stored.access);
        let (policy, access) = match self.broken {
            Some(Broken::NotLoaded) => (None, None),
            _ => (policy, access),
        };
        self.node = RulesNode::new("weur".to_owned(), policy, access);
        self.question = None;
        self.waiting.clear();
    }

    fn carry_out(&mut self, event: Event<u32>, fate: Fate, now: EpochMs) -> Told {
        let mut effects = self.node.step(event, now);
        let (mut told, mut at, mut writes) = (Told::default(), 0, 0);
        while !effects.is_empty() {
            if fate.dies_at == Some(at) {
                self.die();
                told.died = true;
                return told;
            }
            at += 1;
            match effects.remove(0) {
                Effect::Persist(row) => {
                    let fails = fate.fails_at == Some(writes);
                    writes += 1;
                    if fails && self.broken == Some(Broken::ConfirmBeforeWrite) {
                        // Told as done, left, and dead before it was.
                        let next = self.node.step(Event::Persisted, now);
                        told.confirmed = next.iter().any(|e| matches!(e, Effect::Confirm(_)));
                        self.die();
                        told.died = true;
                        return told;
                    }
                    let ignored = self.broken == Some(Broken::FailedWriteIgnored);
                    let event = match fails {
                        true if ignored => Event::Persisted,
                        true => Event::NotPersisted,
                        false => self.write(row),
                    };
                    effects.extend(self.node.step(event, now));
                }
                Effect::Ask { question, .. } => self.question = Some(question),
                Effect::Wait(caller, _) => self.waiting.push(caller),
                Effect::Reply(caller) => {
                    self.waiting.retain(|waiting| *waiting != caller);
                    self.answered.push(caller);
                }
                Effect::Confirm(_) => told.confirmed = true,
                Effect::Fail(_) => told.failed = true,
                Effect::NewPolicy | Effect::Refused(_) => {}
            }
        }
        told
    }

    fn write(&mut self, row: Row) -> Event<u32> {
        match row {
            Row::Access(stored) => self.access = Some(*stored),
            Row::Policy(saved) => {
                let mut saved = (*saved).clone();
                if self.broken == Some(Broken::SecretNotWritten) {
                    saved.placement = None;
                }
                self.policy = Some(saved);
            }
        }
        Event::Persisted
    }

    fn revisions(&self) -> (Revision, Revision) {
        (self.node.policy_revision(), self.node.access_revision())
    }

    fn secret(&self) -> Option<ShardKey> {
        self.node.policy().and_then(|policy| policy.saved.placement)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_newest_that_was_confirmed_stays_in_force(happenings in happenings()) {
        play(happenings, None)?;
    }
}

/// The controls: each wrong order of whoever carries out what the node says is seen by that property.
#[test]
fn each_wrong_order_of_a_region_that_keeps_rules_is_caught() {
    for broken in [
        Broken::ConfirmBeforeWrite,
        Broken::FailedWriteIgnored,
        Broken::NotLoaded,
        Broken::SecretNotWritten,
    ] {
        let mut runner = TestRunner::deterministic();
        let caught = (0..300).find_map(|_| {
            let happenings = happenings().new_tree(&mut runner).unwrap().current();
            play(happenings, Some(broken)).err()
        });
        let caught = caught.unwrap_or_else(|| panic!("{broken:?} is not caught"));
        println!("{broken:?}: {caught}");
    }
}

fn play(happenings: Vec<Happens>, broken: Option<Broken>) -> Result<(), TestCaseError> {
    let (mut registry, mut region) = (Registry::new(), Region::new(broken));
    let (mut now, mut callers) = (EpochMs(1_000_000), 0_u32);
    // What was seen in force, or confirmed, and the first secret.
    let (mut seen, mut secret) = ((Revision(0), Revision(0)), None);
    for happens in happenings {
        callers += 1;
        let mut pushed = None;
        match happens {
            Happens::Save(change) => registry.save(change),
            Happens::Push { ago, fate } => {
                let rules = registry.ago(ago);
                let event = Event::Pushed {
                    caller: callers,
                    rules: Box::new(rules.clone()),
                };
                let told = region.carry_out(event, fate, now);
                prop_assert!(!(told.confirmed && told.failed));
                pushed = told.confirmed.then_some(rules);
            }
            Happens::Need { fate } => {
                let event = Event::Needed {
                    caller: callers,
                    token: None,
                };
                let told = region.carry_out(event, fate, now);
                let waits = region.waiting.contains(&callers);
                let is_answered = region.answered.contains(&callers);
                prop_assert!(told.died || waits != is_answered, "answered, or waits");
                prop_assert!(!waits || region.question.is_some(), "waits for nothing");
            }
            Happens::Answer { ago, fate } => {
                if region.question.take().is_none() {
                    continue;
                }
                let rules = ago.map(|ago| Box::new(registry.ago(ago)));
                region.carry_out(Event::Answered(rules), fate, now);
                prop_assert_eq!(&region.waiting, &Vec::<u32>::new(), "nobody waits on");
            }
            Happens::Pass { ms } => {
                now = now.plus(ms.into());
                // A question is lost with whoever ran it.
                if u64::from(ms) > OPERATOR_CALL_MS_MAX {
                    region.question = None;
                }
            }
            Happens::Die => region.die(),
        }
        let revisions = region.revisions();
        prop_assert!(
            revisions.0 >= seen.0 && revisions.1 >= seen.1,
            "{revisions:?} after {seen:?}"
        );
        seen = revisions;
        if let Some(rules) = pushed {
            let access = rules.access.unwrap().revision;
            prop_assert!(revisions.1 >= access, "confirmed and not in force");
            let policy = rules.policy.unwrap();
            prop_assert!(revisions.0 >= policy.revision, "confirmed and not in force");
        }
        prop_assert!(
            secret.is_none() || region.secret() == secret,
            "the secret changed"
        );
        secret = region.secret();
    }
    // Whatever came before, what the registry tells now is taken, and tokens beside a policy that cannot be.
    let fate = Fate::default();
    let rules = registry.ago(0);
    let access = rules.access.as_ref().unwrap().revision;
    let event = Event::Pushed {
        caller: 0,
        rules: Box::new(rules),
    };
    region.carry_out(event, fate, now);
    prop_assert_eq!(region.revisions().1, access);
    Ok(())
}

/// A region in which all is known, and the last question was answered.
fn settled(now: EpochMs) -> Region {
    let mut region = Region::new(None);
    let rules = Box::new(Registry::new().ago(0));
    let pushed = Event::Pushed { caller: 0, rules };
    assert!(region.carry_out(pushed, Fate::default(), now).confirmed);
    let needed = Event::Needed {
        caller: 0,
        token: None,
    };
    region.carry_out(needed, Fate::default(), now);
    region.carry_out(Event::Answered(None), Fate::default(), now);
    region.question = None;
    region
}

fn use_of(id: &str) -> TokenUse {
    TokenUse {
        id: id.to_owned(),
        at: EpochMs(5),
        uses: 1,
    }
}

#[test]
fn what_the_registry_did_not_hear_of_tokens_is_told_again() {
    let now = EpochMs(1_000_000);
    let mut region = settled(now);
    region.node.note_uses(&[use_of("a")]);
    let mut told = Vec::new();
    for round in 1..=2 {
        let now = now.plus(round * POLICY_POLL_MS);
        let needed = Event::Needed {
            caller: 1,
            token: None,
        };
        region.carry_out(needed, Fate::default(), now);
        let question = region.question.take().expect("it is time to ask");
        told.push(question.tokens_used);
        region.carry_out(Event::Answered(None), Fate::default(), now);
    }
    assert_eq!(told, [vec![use_of("a")], vec![use_of("a")]]);
}

#[test]
fn one_question_is_under_way_unless_it_is_lost() {
    let now = EpochMs(1_000_000);
    let mut region = settled(now);
    let mut asks = |ms| {
        let needed = Event::Needed {
            caller: 1,
            token: Some("unknown".to_owned()),
        };
        let now = now.plus(POLICY_POLL_MS + ms);
        region.carry_out(needed, Fate::default(), now);
        region.question.take().is_some()
    };
    assert!(asks(0));
    assert!(!asks(OPERATOR_CALL_MS_MAX), "the first may be answered yet");
    assert!(asks(OPERATOR_CALL_MS_MAX + 2 * POLICY_POLL_MS));
}
