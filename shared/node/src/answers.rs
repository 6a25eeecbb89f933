//! Answers that are remembered by keys of callers.
//!
//! A key is the caller's when its claim is durable, and an answer counts when it is. What is over is forgotten first, so
//! that it takes nobody's room. One call is under way at a time: whoever carries out the effects reads and writes at once.

use std::mem;

use weir_core::limits::{IDEMPOTENCY_MS, PURGE_MS};
use weir_core::units::EpochMs;
use weir_limiting::idempotency::{ClaimBody, Claimed, KeepBody, Keys, Remembered, claim};

/// What happens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Somebody asks under a key.
    Claim(ClaimBody),
    /// What came of a claim.
    Keep(KeepBody),
    /// The time has come that `WakeIn` named.
    Woke,
    /// What was to be forgotten is; so many keys are left.
    Forgotten(Keys),
    /// What is stored of the key that was asked for; `None` also of a row that cannot be read.
    Read(Option<Remembered>),
    /// The row is durable.
    Persisted,
    /// What was to be forgotten, read or written was not.
    Failed,
}

/// Something to be done, in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Drop the rows that were claimed at that instant or before it, count the others, and say `Forgotten` or `Failed`.
    Forget(EpochMs),
    /// Read the row of the key, and say `Read` or `Failed`.
    Read(String),
    /// Make the row of the key what it says, none for none, and say `Persisted` or `Failed`.
    Persist(String, Option<Remembered>),
    /// Answer whoever claimed.
    Claimed(Claimed),
    /// Answer whoever kept: it is as durable as it will be.
    Kept,
    /// What the answer rests on could not be read or made durable.
    Fail,
    /// Say `Woke` after so many milliseconds, or at the earlier instant that was named before.
    WakeIn(u64),
}

/// What is awaited.
#[derive(Debug, Clone, Default)]
enum Phase {
    #[default]
    Idle,
    /// Room is being made, for that claim.
    Forgetting(Option<ClaimBody>),
    Claiming(ClaimBody),
    Keeping(KeepBody),
    /// A claim is being written; the owner of a key that is new.
    WritingClaim(EpochMs, Option<String>),
    /// What was kept is being written; the owner of a key that is dropped.
    WritingKept(Option<String>),
}

/// The answers of a region.
///
/// ```
/// use weir_core::units::EpochMs;
/// use weir_limiting::idempotency::{ClaimBody, Claimed, Keys, Remembered};
/// use weir_node::answers::{AnswersNode, Effect, Event};
/// let mut node = AnswersNode::default();
/// let (now, asked) = (EpochMs(700_000), ClaimBody::of("a", "/v1/check", "k", b"{}").unwrap());
/// let effects = node.step(Event::Claim(asked.clone()), now);
/// assert_eq!(effects, [Effect::Forget(EpochMs(100_000))]);
/// assert_eq!(node.step(Event::Forgotten(Keys::default()), now), [Effect::Read(asked.key.clone())]);
/// let row = Remembered::of(&asked, now);
/// assert_eq!(node.step(Event::Read(None), now), [Effect::Persist(asked.key, Some(row))]);
/// let effects = node.step(Event::Persisted, now);
/// assert_eq!(effects, [Effect::WakeIn(600_000), Effect::Claimed(Claimed::New { at: now })]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct AnswersNode {
    /// How many keys there are, once they were counted.
    keys: Option<Keys>,
    forgot_at: EpochMs,
    phase: Phase,
}

type Effects = Vec<Effect>;

impl AnswersNode {
    /// Takes one event.
    #[must_use]
    pub fn step(&mut self, event: Event, now: EpochMs) -> Effects {
        match (event, mem::take(&mut self.phase)) {
            (Event::Claim(asked), _) => {
                if self.keys.is_none() || now.since(self.forgot_at) >= PURGE_MS {
                    self.forget(Some(asked), now)
                } else {
                    self.look_up(asked)
                }
            }
            (Event::Keep(kept), _) => {
                let key = kept.key.clone();
                self.phase = Phase::Keeping(kept);
                vec![Effect::Read(key)]
            }
            (Event::Woke, _) => self.forget(None, now),
            (Event::Forgotten(keys), Phase::Forgetting(asked)) => {
                self.forgot_at = now;
                let is_left = keys != Keys::default();
                self.keys = Some(keys);
                match asked {
                    Some(asked) => self.look_up(asked),
                    None if is_left => vec![Effect::WakeIn(IDEMPOTENCY_MS)],
                    None => Vec::new(),
                }
            }
            (Event::Read(stored), Phase::Claiming(asked)) => {
                self.claim(asked, stored.as_ref(), now)
            }
            (Event::Read(stored), Phase::Keeping(kept)) => self.keep(kept, stored),
            (Event::Persisted, Phase::WritingClaim(at, owner)) => {
                if let (Some(owner), Some(keys)) = (owner, &mut self.keys) {
                    keys.add(&owner);
                }
                let claimed = Effect::Claimed(Claimed::New { at });
                vec![Effect::WakeIn(IDEMPOTENCY_MS), claimed]
            }
            (Event::Persisted, Phase::WritingKept(owner)) => {
                if let (Some(owner), Some(keys)) = (owner, &mut self.keys) {
                    keys.remove(&owner);
                }
                vec![Effect::Kept]
            }
            (Event::Failed, Phase::Idle | Phase::Forgetting(None)) => Vec::new(),
            (Event::Failed, _) => vec![Effect::Fail],
            // What is said of something that is not under way.
            (_, phase) => {
                self.phase = phase;
                Vec::new()
            }
        }
    }

    fn forget(&mut self, asked: Option<ClaimBody>, now: EpochMs) -> Effects {
        self.phase = Phase::Forgetting(asked);
        vec![Effect::Forget(EpochMs(
            now.0.saturating_sub(IDEMPOTENCY_MS),
        ))]
    }

    fn look_up(&mut self, asked: ClaimBody) -> Effects {
        let key = asked.key.clone();
        self.phase = Phase::Claiming(asked);
        vec![Effect::Read(key)]
    }

    fn claim(&mut self, asked: ClaimBody, stored: Option<&Remembered>, now: EpochMs) -> Effects {
        let keys = self.keys.get_or_insert_default();
        match claim(&asked, stored, keys, now) {
            Claimed::New { at } => {
                let row = Remembered::of(&asked, at);
                let new = stored.is_none().then_some(asked.owner);
                self.phase = Phase::WritingClaim(at, new);
                vec![Effect::Persist(asked.key, Some(row))]
            }
            claimed => vec![Effect::Claimed(claimed)],
        }
    }

    /// Without an answer, the key is as if it had never been claimed. What is not of the stored claim changes nothing.
    fn keep(&mut self, kept: KeepBody, stored: Option<Remembered>) -> Effects {
        let Some(claim) = stored.filter(|stored| stored.takes(&kept)) else {
            return vec![Effect::Kept];
        };
        let (row, dropped) = match kept.answer {
            None => (None, Some(claim.owner)),
            answer => (Some(Remembered { answer, ..claim }), None),
        };
        self.phase = Phase::WritingKept(dropped);
        vec![Effect::Persist(kept.key, row)]
    }
}
