//! The line before a guard's slots. Each request asks for a slot of its own, so a flood of one tenant would be a flood of
//! questions to the shard that keeps the slots of others too: at most so many questions are under way for one key. Who
//! stands in line meanwhile takes the answer of a question that was sent after it came, if that was that no slot is free;
//! it would have had the same.

use weir_algorithms::composite::StateKey;
use weir_core::limits::{CALL_MS_MAX, SLOT_QUESTIONS_MAX};
use weir_core::units::EpochMs;
use weir_decision::{Decision, Reason, Retry};

use super::cache::{Cache, Entry, Worth};
use super::owner::Account;
use super::room::Bounds;

/// The lines of one region's guards, by key.
#[derive(Debug, Clone)]
pub struct Lines(Cache<Line>);

#[derive(Debug, Clone, Default)]
struct Line {
    asking: usize,
    /// When the question was sent that was answered so, and the answer.
    denied: Option<(EpochMs, Decision)>,
    touched_at: EpochMs,
}

impl Entry for Line {
    fn worth(&self, now: EpochMs) -> Worth {
        if self.asking > 0 && now.since(self.touched_at) <= CALL_MS_MAX {
            Worth::Units
        } else if self.denied.is_some() {
            Worth::Answer
        } else {
            Worth::Nothing
        }
    }
}

impl Default for Lines {
    fn default() -> Self {
        Self(Cache::new(Bounds::KEY_CACHES))
    }
}

impl Lines {
    /// Whether as many questions are under way as may be.
    #[must_use]
    pub fn is_full(&self, key: &StateKey) -> bool {
        let line = self.0.get(key);
        line.is_some_and(|line| line.asking >= SLOT_QUESTIONS_MAX)
    }

    /// A question is sent, for a key of that account.
    pub fn enter(&mut self, key: &StateKey, account: &Account, now: EpochMs) {
        let line = self.0.entry(key, account, now);
        line.asking += 1;
        line.touched_at = now;
    }

    /// Its answer came, or nobody waits for it any more.
    pub fn leave(&mut self, key: &StateKey) {
        if let Some(line) = self.0.get_mut(key) {
            line.asking = line.asking.saturating_sub(1);
        }
    }

    /// A question that was sent at `sent_at` was answered.
    pub fn answered(&mut self, key: &StateKey, decision: Decision, sent_at: EpochMs) {
        let Some(line) = self.0.get_mut(key) else {
            return;
        };
        let later = line.denied.is_none_or(|(before, _)| before <= sent_at);
        if later {
            let denied = decision.reason == Reason::Concurrency;
            line.denied = denied.then_some((sent_at, decision));
        }
    }

    /// What a request that came at `came_at` may take for its answer at `now`.
    #[must_use]
    pub fn denial(&self, key: &StateKey, came_at: EpochMs, now: EpochMs) -> Option<Decision> {
        let (sent_at, decision) = self.0.get(key)?.denied?;
        let retry = match decision.retry {
            Retry::AfterMs(ms) => Retry::AfterMs(ms.saturating_sub(now.since(sent_at)).max(1)),
            other => other,
        };
        (came_at < sent_at && sent_at <= now).then_some(Decision { retry, ..decision })
    }
}

#[cfg(test)]
mod tests {
    use weir_core::limits::{CALLER_PART, KEY_CACHES_MAX};

    use super::super::owner::Owner;
    use super::*;

    fn key(name: &str) -> StateKey {
        StateKey {
            limit: "guard".to_owned(),
            key: name.to_owned(),
        }
    }

    fn decision(reason: Reason, retry: Retry) -> Decision {
        Decision {
            reason,
            limit: 4,
            remaining: 0,
            reset_at: EpochMs(9_000),
            retry,
        }
    }

    const FULL: Retry = Retry::AfterMs(300);

    #[test]
    fn so_many_questions_are_under_way_for_one_key_and_others_are_nothing_to_it() {
        let mut lines = Lines::default();
        for asked in 0..SLOT_QUESTIONS_MAX {
            assert!(!lines.is_full(&key("a")), "{asked}");
            lines.enter(&key("a"), &Account::default(), EpochMs(1));
        }
        assert!(lines.is_full(&key("a")) && !lines.is_full(&key("b")));
        lines.leave(&key("a"));
        assert!(!lines.is_full(&key("a")));
    }

    #[test]
    fn a_denial_answers_only_who_came_before_its_question_was_sent() {
        let mut lines = Lines::default();
        lines.enter(&key("a"), &Account::default(), EpochMs(100));
        lines.answered(&key("a"), decision(Reason::Concurrency, FULL), EpochMs(100));
        let at = |came_at, now| lines.denial(&key("a"), EpochMs(came_at), EpochMs(now));
        let told = Some(decision(Reason::Concurrency, Retry::AfterMs(280)));
        assert_eq!(
            at(99, 120),
            told,
            "what is told counts from when it was asked"
        );
        assert_eq!(
            at(100, 120),
            None,
            "a slot may have been released in between"
        );
        assert_eq!(at(119, 120), None);
        assert_eq!(lines.denial(&key("b"), EpochMs(1), EpochMs(120)), None);
    }

    #[test]
    fn a_later_answer_replaces_a_denial_and_an_earlier_one_does_not() {
        let mut lines = Lines::default();
        lines.enter(&key("a"), &Account::default(), EpochMs(100));
        let full = decision(Reason::Concurrency, FULL);
        let admitted = decision(Reason::Admitted, Retry::Now);
        lines.answered(&key("a"), full, EpochMs(100));
        lines.answered(&key("a"), admitted, EpochMs(90));
        assert!(lines.denial(&key("a"), EpochMs(50), EpochMs(120)).is_some());
        lines.answered(&key("a"), admitted, EpochMs(110));
        assert_eq!(lines.denial(&key("a"), EpochMs(50), EpochMs(120)), None);
    }

    #[test]
    fn lines_of_others_stay_whatever_tenants_somebody_invents() {
        let mut lines = Lines::default();
        let of = |tenant: &str, token: &str| Account {
            owner: Some(Owner::tenant(tenant)),
            caller: Some(Owner::token(token)),
            named: false,
            only: false,
        };
        lines.enter(&key("a"), &of("a", "k1"), EpochMs(100));
        lines.leave(&key("a"));
        lines.answered(&key("a"), decision(Reason::Concurrency, FULL), EpochMs(100));
        for number in 0..2 * KEY_CACHES_MAX {
            let name = format!("x{number}");
            lines.enter(&key(&name), &of(&name, "k2"), EpochMs(101));
        }
        assert!(lines.denial(&key("a"), EpochMs(99), EpochMs(120)).is_some());
        assert_eq!(lines.0.iter().count(), 1 + KEY_CACHES_MAX / CALLER_PART);
    }

    #[test]
    fn a_line_is_worth_its_place_while_a_question_may_be_answered_and_then_its_answer() {
        let full = Some((EpochMs(100), decision(Reason::Concurrency, FULL)));
        for (asking, denied, elapsed_ms, worth) in [
            (1, None, 0, Worth::Units),
            (2, full, CALL_MS_MAX, Worth::Units),
            (2, full, CALL_MS_MAX + 1, Worth::Answer),
            (1, None, CALL_MS_MAX + 1, Worth::Nothing),
            (0, full, 0, Worth::Answer),
            (0, None, 0, Worth::Nothing),
        ] {
            let line = Line {
                asking,
                denied,
                touched_at: EpochMs(100),
            };
            assert_eq!(line.worth(EpochMs(100 + elapsed_ms)), worth, "{line:?}");
        }
    }
}
