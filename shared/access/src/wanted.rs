//! When an isolate asks its region for tokens that it does not know: once a second for each, a few in a second, and one
//! question at a time, however many requests wait.

use weir_core::limits::{CALL_MS_MAX, TOKEN_ASK_MS, TOKENS_WANTED_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

/// How a question for the key of that version is written, among the ids of tokens: no id has a colon.
///
/// ```
/// use weir_access::wanted::{seal_of, seal_wanted};
/// assert_eq!(seal_of(&seal_wanted(7)), Some(7));
/// assert_eq!(seal_of("AQEBAQEBAQEBAQEB"), None);
/// ```
#[must_use]
pub fn seal_wanted(version: u64) -> String {
    format!("seal:{version}")
}

/// The version that a question is for; `None` for one for a token.
#[must_use]
pub fn seal_of(wanted: &str) -> Option<u64> {
    wanted.strip_prefix("seal:")?.parse().ok()
}

/// What comes next for a request with a token that the isolate does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// What is known is all that can be known now.
    Known,
    /// Another request has asked: its answer is worth waiting for.
    Wait,
    /// This request asks.
    Ask,
}

/// When the region was asked for which token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Those of the last second.
    asked: OrderedMap<String, EpochMs>,
    under_way: Option<EpochMs>,
}

impl Wanted {
    /// What comes next for a token of that id.
    ///
    /// ```
    /// use weir_access::wanted::{Step, Wanted};
    /// use weir_core::units::EpochMs;
    /// let mut wanted = Wanted::default();
    /// assert_eq!(wanted.step("a", EpochMs(1_000)), Step::Ask);
    /// assert_eq!(wanted.step("a", EpochMs(1_010)), Step::Wait);
    /// wanted.answered();
    /// assert_eq!(wanted.step("a", EpochMs(1_999)), Step::Known);
    /// assert_eq!(wanted.step("b", EpochMs(1_999)), Step::Ask);
    /// wanted.answered();
    /// assert_eq!(wanted.step("a", EpochMs(2_000)), Step::Ask);
    /// ```
    pub fn step(&mut self, id: &str, now: EpochMs) -> Step {
        let recent = |at: EpochMs, ms: u64| at <= now && now.since(at) < ms;
        // A question without an answer at its deadline has none.
        if self.under_way.is_some_and(|at| recent(at, CALL_MS_MAX)) {
            return Step::Wait;
        }
        self.asked.retain(|_, at| recent(*at, TOKEN_ASK_MS));
        if self.asked.contains_key(id) || self.asked.len() >= TOKENS_WANTED_MAX {
            return Step::Known;
        }
        self.asked.insert(id.to_owned(), now);
        self.under_way = Some(now);
        Step::Ask
    }

    /// The region has answered, or its deadline is over.
    pub fn answered(&mut self) {
        self.under_way = None;
    }
}
