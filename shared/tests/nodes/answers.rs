//! What is asked under one key is done once, whatever dies and whatever write fails, and keys take the room that they have.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};
use weir_shared::limiting::idempotency::{ClaimBody, Claimed, KeepBody, Keys, Remembered, VERSION};
use weir_shared::limits::{IDEMPOTENCY_CLAIM_MS, IDEMPOTENCY_MS};
use weir_shared::node::answers::{AnswersNode, Effect, Event};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;

const KEYS: u8 = 4;

#[derive(Debug, Clone)]
enum Happens {
    Claim {
        key: u8,
        fate: Fate,
    },
    /// What was granted last under a key is kept: with an answer, or as if it had never been asked.
    Keep {
        key: u8,
        answered: bool,
        fate: Fate,
    },
    Pass {
        ms: u32,
    },
    Ring,
    Die,
}

#[derive(Debug, Clone, Copy)]
struct Fate {
    /// No write succeeds.
    fails: bool,
    /// It dies in place of that effect.
    dies_at: Option<u8>,
}

/// Wrong orders of whoever carries out what the node says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    /// The answer leaves before the row is written, and the object dies in between.
    ReplyBeforeWrite,
    /// A write that failed is told as done.
    FailedWriteIgnored,
    /// What is stored of a key is not read.
    NotRead,
    /// What is over stays, and is not counted.
    NotForgotten,
}

fn happenings() -> impl Strategy<Value = Vec<Happens>> {
    let fate = || {
        let dies_at = prop::option::weighted(0.2, 0..5_u8);
        (prop::bool::weighted(0.2), dies_at).prop_map(|(fails, dies_at)| Fate { fails, dies_at })
    };
    let one = prop_oneof![
        6 => (0..KEYS, fate()).prop_map(|(key, fate)| Happens::Claim { key, fate }),
        4 => (0..KEYS, any::<bool>(), fate())
            .prop_map(|(key, answered, fate)| Happens::Keep { key, answered, fate }),
        2 => (0..40_000_u32).prop_map(|ms| Happens::Pass { ms }),
        1 => (0..900_000_u32).prop_map(|ms| Happens::Pass { ms }),
        1 => Just(Happens::Ring),
        1 => Just(Happens::Die),
    ];
    prop::collection::vec(one, 1..60)
}

fn asked(key: u8) -> ClaimBody {
    ClaimBody::of(
        &format!("owner-{}", key % 2),
        "/v1/check",
        &format!("k{key}"),
        b"{}",
    )
    .unwrap()
}

/// The object: its node, and the rows that outlive it.
struct Object {
    node: AnswersNode,
    rows: OrderedMap<String, Remembered>,
    broken: Option<Broken>,
}

impl Object {
    /// Carries out what comes of an event: what is answered.
    fn carry_out(&mut self, event: Event, fate: Fate, now: EpochMs) -> Option<Effect> {
        let mut effects = self.node.step(event, now);
        let (mut answer, mut at) = (None, 0);
        while !effects.is_empty() {
            if fate.dies_at == Some(at) {
                self.die();
                return answer;
            }
            at += 1;
            let effect = effects.remove(0);
            let event = match effect {
                Effect::Forget(until) => {
                    if self.broken != Some(Broken::NotForgotten) {
                        self.rows.retain(|_, row| row.at > until);
                    }
                    Event::Forgotten(self.counted())
                }
                Effect::Read(_) if self.broken == Some(Broken::NotRead) => Event::Read(None),
                Effect::Read(key) => Event::Read(self.rows.get(&key).cloned()),
                Effect::Persist(key, row) => {
                    if self.broken == Some(Broken::ReplyBeforeWrite) && fate.fails {
                        // Told as done, left, and dead before it was.
                        let told = self.node.step(Event::Persisted, now);
                        self.die();
                        return told.into_iter().find(is_answer);
                    }
                    self.write(key, row, fate)
                }
                told if is_answer(&told) => {
                    answer = Some(told);
                    continue;
                }
                _ => continue,
            };
            effects.extend(self.node.step(event, now));
        }
        answer
    }

    fn write(&mut self, key: String, row: Option<Remembered>, fate: Fate) -> Event {
        if fate.fails {
            return match self.broken {
                Some(Broken::FailedWriteIgnored) => Event::Persisted,
                _ => Event::Failed,
            };
        }
        match row {
            Some(row) => drop(self.rows.insert(key, row)),
            None => drop(self.rows.remove(&key)),
        }
        Event::Persisted
    }

    fn counted(&self) -> Keys {
        let mut keys = Keys::default();
        self.rows.values().for_each(|row| keys.add(&row.owner));
        keys
    }

    fn die(&mut self) {
        self.node = AnswersNode::default();
    }
}

fn is_answer(effect: &Effect) -> bool {
    matches!(effect, Effect::Claimed(_) | Effect::Kept | Effect::Fail)
}

/// What callers know of a key.
#[derive(Debug, Clone, Default)]
struct Known {
    /// The last claim that was granted.
    granted: Option<EpochMs>,
    /// The answer that was kept, by a call that was answered.
    answer: Option<String>,
    /// Whether the last call that would keep something was not answered: either may be.
    unsure: bool,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_asked_under_a_key_is_done_once(happenings in happenings()) {
        play(happenings, None)?;
    }
}

/// The controls: each wrong order of whoever carries out what the node says is seen by that property.
#[test]
fn each_wrong_order_of_an_object_that_remembers_is_caught() {
    for broken in [
        Broken::ReplyBeforeWrite,
        Broken::FailedWriteIgnored,
        Broken::NotRead,
        Broken::NotForgotten,
    ] {
        let mut runner = TestRunner::deterministic();
        let caught = (0..400).find_map(|_| {
            let happenings = happenings().new_tree(&mut runner).unwrap().current();
            play(happenings, Some(broken)).err()
        });
        let caught = caught.unwrap_or_else(|| panic!("{broken:?} is not caught"));
        println!("{broken:?}: {caught}");
    }
}

fn play(happenings: Vec<Happens>, broken: Option<Broken>) -> Result<(), TestCaseError> {
    let mut object = Object {
        node: AnswersNode::default(),
        rows: OrderedMap::new(),
        broken,
    };
    let mut now = EpochMs(1_000_000);
    let mut known = vec![Known::default(); usize::from(KEYS)];
    for happens in happenings {
        match happens {
            Happens::Pass { ms } => now = now.plus(ms.into()),
            Happens::Die => object.die(),
            Happens::Ring => {
                let fate = Fate {
                    fails: false,
                    dies_at: None,
                };
                object.carry_out(Event::Woke, fate, now);
                let over = |row: &Remembered| now.since(row.at) >= IDEMPOTENCY_MS;
                prop_assert!(!object.rows.values().any(over), "what is over stays");
            }
            Happens::Claim { key, fate } => {
                let event = Event::Claim(asked(key));
                let answer = object.carry_out(event, fate, now);
                claimed(answer, &mut known[usize::from(key)], now)?;
            }
            Happens::Keep {
                key,
                answered,
                fate,
            } => {
                let known = &mut known[usize::from(key)];
                let Some(at) = known.granted else {
                    continue;
                };
                let answer = answered.then(|| format!("answer of {}", at.0));
                let event = Event::Keep(KeepBody {
                    v: VERSION,
                    key: asked(key).key,
                    at,
                    answer: answer.clone(),
                });
                let told = object.carry_out(event, fate, now);
                // A claim that is over may have been forgotten.
                let stands = known.answer.is_none() && now.since(at) < IDEMPOTENCY_CLAIM_MS;
                match told {
                    // Of two calls, of which the first was not answered, either may count.
                    Some(Effect::Kept) if stands && known.unsure => {}
                    Some(Effect::Kept) if stands => {
                        known.granted = answer.is_some().then_some(at);
                        known.answer = answer;
                    }
                    _ => known.unsure = true,
                }
            }
        }
    }
    Ok(())
}

/// What a claim is answered is what callers know.
fn claimed(answer: Option<Effect>, known: &mut Known, now: EpochMs) -> Result<(), TestCaseError> {
    let Some(Effect::Claimed(claimed)) = answer else {
        // Nobody knows whether the key was claimed.
        known.unsure = true;
        return Ok(());
    };
    let age_ms = known.granted.map(|at| now.since(at));
    match claimed {
        Claimed::New { at } => {
            prop_assert_eq!(at, now);
            let lapsed = age_ms.is_none_or(|age_ms| {
                age_ms >= IDEMPOTENCY_CLAIM_MS && known.answer.is_none() || age_ms >= IDEMPOTENCY_MS
            });
            prop_assert!(lapsed || known.unsure, "granted twice: {known:?}");
            *known = Known {
                granted: Some(at),
                ..Known::default()
            };
        }
        Claimed::Answered(text) => {
            let same = known.answer.as_ref() == Some(&text);
            prop_assert!(same || known.unsure, "{text} of {known:?}");
        }
        Claimed::UnderWay { after_ms } => {
            prop_assert!(after_ms <= IDEMPOTENCY_CLAIM_MS);
            let claimed = known.granted.is_some() && known.answer.is_none();
            prop_assert!(claimed || known.unsure, "nobody asks: {known:?}");
        }
        Claimed::Differs | Claimed::Full => {
            return Err(TestCaseError::fail(format!("{claimed:?}")));
        }
    }
    Ok(())
}

/// An owner's room is what it had, whatever came of the writes of its keys.
#[test]
fn a_write_that_failed_takes_and_leaves_no_room() {
    use weir_shared::limits::IDEMPOTENCY_KEYS_OF_ONE_MAX;
    let now = EpochMs(1_000_000);
    let mut node = AnswersNode::default();
    let claim = |key: &str| ClaimBody::of("one", "/v1/check", key, b"{}").unwrap();
    let almost = Keys::of([("one".to_owned(), IDEMPOTENCY_KEYS_OF_ONE_MAX - 1)]);
    let _forget = node.step(Event::Claim(claim("a")), now);
    let _read = node.step(Event::Forgotten(almost), now);
    let _write = node.step(Event::Read(None), now);
    assert_eq!(node.step(Event::Failed, now), [Effect::Fail]);
    for (key, expected) in [("b", Claimed::New { at: now }), ("c", Claimed::Full)] {
        let _read = node.step(Event::Claim(claim(key)), now);
        let mut effects = node.step(Event::Read(None), now);
        if let [Effect::Persist(..)] = effects[..] {
            effects = node.step(Event::Persisted, now);
        }
        assert_eq!(effects.pop(), Some(Effect::Claimed(expected)), "{key}");
    }
}
