//! When to poll, and how alive the figures on the page are. Time is passed in.
//!
//! One poll is under way at a time. A failed poll is repeated with growing pauses; a paused or hidden page does not poll.

/// From the start of one poll to the start of the next.
pub const PERIOD_MS: u64 = 1_000;

/// How often [`Live::tick`] wants to be called.
pub const TICK_MS: u32 = 250;

/// Figures older than this are not called live.
pub const STALE_MS: u64 = 4_000;

/// The longest pause between two failed polls.
pub const BACKOFF_MAX_MS: u64 = 8_000;

/// An answer that takes longer is not waited for: the request's own deadline has passed long before.
pub const LOST_MS: u64 = 10_000;

/// How alive the figures are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for the first answer, after the start or after a pause.
    Connecting,
    /// Answers come in.
    Live,
    /// No answer came for a while, or the last one was an error.
    Reconnecting,
    /// The user paused it.
    Paused,
    /// The session has ended.
    Ended,
}

impl Phase {
    /// The phase in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "Connecting",
            Self::Live => "Live",
            Self::Reconnecting => "Reconnecting",
            Self::Paused => "Paused",
            Self::Ended => "Ended",
        }
    }

    /// The value of the page's `data-state`.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Live => "live",
            Self::Reconnecting => "reconnecting",
            Self::Paused => "paused",
            Self::Ended => "ended",
        }
    }
}

/// What is shown of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveState {
    /// The phase.
    pub phase: Phase,
    /// Whole seconds since the last good answer; none before the first, and while live.
    pub age_s: Option<u64>,
}

/// How a poll ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With figures.
    Good,
    /// With an error.
    Failed,
    /// The session is no longer valid.
    Unauthenticated,
}

/// A poll that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Poll {
    number: u64,
    sent_at_ms: u64,
}

/// The state machine.
#[derive(Debug, Clone)]
pub struct Live {
    paused: bool,
    hidden: bool,
    ended: bool,
    failures: u32,
    polls: u64,
    next_at_ms: u64,
    under_way: Option<Poll>,
    good_at_ms: Option<u64>,
    waiting_since_ms: Option<u64>,
}

impl Live {
    /// Starts now; the first tick polls.
    pub fn new(now_ms: u64) -> Self {
        Self {
            paused: false,
            hidden: false,
            ended: false,
            failures: 0,
            polls: 0,
            next_at_ms: now_ms,
            under_way: None,
            good_at_ms: None,
            waiting_since_ms: Some(now_ms),
        }
    }

    /// Time has passed: the poll to start, if one is due.
    pub fn tick(&mut self, now_ms: u64) -> Option<Poll> {
        if let Some(poll) = self.under_way {
            if now_ms.saturating_sub(poll.sent_at_ms) < LOST_MS {
                return None;
            }
            self.under_way = None;
            self.fail(now_ms);
        }
        if self.paused || self.hidden || self.ended || now_ms < self.next_at_ms {
            return None;
        }
        self.polls += 1;
        self.under_way = Some(Poll {
            number: self.polls,
            sent_at_ms: now_ms,
        });
        self.under_way
    }

    /// A poll ended. False when nobody waits for it any more: then its figures are not to be shown.
    pub fn answered(&mut self, poll: Poll, now_ms: u64, outcome: Outcome) -> bool {
        if self.under_way != Some(poll) {
            return false;
        }
        self.under_way = None;
        match outcome {
            Outcome::Good => {
                self.failures = 0;
                self.good_at_ms = Some(now_ms);
                self.waiting_since_ms = None;
                self.next_at_ms = poll.sent_at_ms + PERIOD_MS;
            }
            Outcome::Failed => self.fail(now_ms),
            Outcome::Unauthenticated => self.ended = true,
        }
        true
    }

    /// The user pauses: what is under way is no longer waited for, so that no figure moves from here on.
    pub fn pause(&mut self) {
        self.paused = true;
        self.under_way = None;
    }

    /// The user goes on, or wants the next attempt at once.
    pub fn resume(&mut self, now_ms: u64) {
        self.paused = false;
        self.wait_anew(now_ms);
    }

    /// The page is hidden or shown: nobody reads a hidden page, so it costs no polls.
    pub fn set_hidden(&mut self, hidden: bool, now_ms: u64) {
        if self.hidden && !hidden {
            self.wait_anew(now_ms);
        }
        self.hidden = hidden;
    }

    /// What to show.
    pub fn state(&self, now_ms: u64) -> LiveState {
        let phase = self.phase(now_ms);
        let age_s = match phase {
            Phase::Live => None,
            _ => self
                .good_at_ms
                .map(|good_at_ms| now_ms.saturating_sub(good_at_ms) / 1_000),
        };
        LiveState { phase, age_s }
    }

    fn phase(&self, now_ms: u64) -> Phase {
        let stale = |since_ms: u64| now_ms.saturating_sub(since_ms) > STALE_MS;
        match (self.waiting_since_ms, self.good_at_ms) {
            _ if self.ended => Phase::Ended,
            _ if self.paused => Phase::Paused,
            _ if self.failures > 0 => Phase::Reconnecting,
            (Some(since_ms), _) if stale(since_ms) => Phase::Reconnecting,
            (Some(_), _) | (None, None) => Phase::Connecting,
            (None, Some(good_at_ms)) if stale(good_at_ms) => Phase::Reconnecting,
            (None, Some(_)) => Phase::Live,
        }
    }

    fn wait_anew(&mut self, now_ms: u64) {
        self.next_at_ms = now_ms;
        self.waiting_since_ms = Some(now_ms);
    }

    fn fail(&mut self, now_ms: u64) {
        let pause_ms = PERIOD_MS
            .saturating_mul(1 << self.failures.min(16))
            .min(BACKOFF_MAX_MS);
        self.failures = self.failures.saturating_add(1);
        self.next_at_ms = now_ms + pause_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(live: &Live, now_ms: u64) -> (Phase, Option<u64>) {
        let state = live.state(now_ms);
        (state.phase, state.age_s)
    }

    /// A machine that got its first good answer at 100 ms.
    fn live() -> Live {
        let mut live = Live::new(0);
        let poll = live.tick(0).unwrap();
        assert!(live.answered(poll, 100, Outcome::Good));
        live
    }

    #[test]
    fn polls_every_period_and_one_at_a_time() {
        let mut live = Live::new(0);
        let first = live.tick(0).unwrap();
        assert_eq!(shown(&live, 0), (Phase::Connecting, None));
        assert_eq!(live.tick(5_000), None);
        assert!(live.answered(first, 5_100, Outcome::Good));
        assert_eq!(shown(&live, 5_100), (Phase::Live, None));
        let second = live.tick(5_100).unwrap();
        assert!(live.answered(second, 5_200, Outcome::Good));
        assert_eq!(live.tick(6_099), None);
        assert!(live.tick(6_100).is_some());
    }

    #[test]
    fn failures_back_off_and_one_good_answer_ends_them() {
        let mut live = live();
        let mut now_ms = 1_000;
        for pause_ms in [1_000, 2_000, 4_000, 8_000, 8_000, 8_000] {
            let poll = live.tick(now_ms).unwrap();
            live.answered(poll, now_ms, Outcome::Failed);
            assert_eq!(
                shown(&live, now_ms),
                (Phase::Reconnecting, Some((now_ms - 100) / 1_000))
            );
            assert_eq!(live.tick(now_ms + pause_ms - 1), None);
            now_ms += pause_ms;
        }
        let poll = live.tick(now_ms).unwrap();
        live.answered(poll, now_ms, Outcome::Good);
        assert_eq!(shown(&live, now_ms), (Phase::Live, None));
        assert!(live.tick(now_ms + PERIOD_MS).is_some());
    }

    #[test]
    fn the_first_answer_can_fail() {
        let mut live = Live::new(0);
        let poll = live.tick(0).unwrap();
        live.answered(poll, 50, Outcome::Failed);
        assert_eq!(shown(&live, 60), (Phase::Reconnecting, None));
    }

    #[test]
    fn silence_is_not_called_live() {
        let mut live = live();
        assert_eq!(shown(&live, 4_100), (Phase::Live, None));
        assert_eq!(shown(&live, 4_101), (Phase::Reconnecting, Some(4)));
        let lost = live.tick(4_200).unwrap();
        assert_eq!(live.tick(14_199), None);
        assert_eq!(
            live.tick(14_200),
            None,
            "a lost poll is a failure, with its pause"
        );
        assert!(live.tick(15_200).is_some());
        assert!(
            !live.answered(lost, 15_300, Outcome::Good),
            "nobody waits for it any more"
        );
        assert_eq!(shown(&live, 15_300), (Phase::Reconnecting, Some(15)));
    }

    #[test]
    fn nothing_moves_while_paused() {
        let mut live = live();
        let poll = live.tick(1_000).unwrap();
        live.pause();
        assert!(!live.answered(poll, 1_050, Outcome::Good));
        assert_eq!(live.tick(60_000), None);
        assert_eq!(shown(&live, 60_100), (Phase::Paused, Some(60)));
        live.resume(60_100);
        assert_eq!(
            shown(&live, 60_100),
            (Phase::Connecting, Some(60)),
            "old figures are not live before an answer"
        );
        let poll = live.tick(60_100).unwrap();
        assert!(live.answered(poll, 60_200, Outcome::Good));
        assert_eq!(shown(&live, 60_200), (Phase::Live, None));
    }

    #[test]
    fn a_resumed_page_that_gets_no_answer_says_so() {
        let mut live = live();
        live.pause();
        live.resume(60_000);
        live.tick(60_000);
        assert_eq!(shown(&live, 64_000).0, Phase::Connecting);
        assert_eq!(shown(&live, 64_001).0, Phase::Reconnecting);
    }

    #[test]
    fn a_retry_does_not_wait() {
        let mut live = live();
        let poll = live.tick(1_000).unwrap();
        live.answered(poll, 1_010, Outcome::Failed);
        assert_eq!(live.tick(1_020), None);
        live.resume(1_020);
        assert!(live.tick(1_020).is_some());
        assert_eq!(
            shown(&live, 1_020).0,
            Phase::Reconnecting,
            "asking again is not yet an answer"
        );
    }

    #[test]
    fn a_hidden_page_does_not_poll() {
        let mut live = live();
        live.set_hidden(true, 500);
        assert_eq!(live.tick(60_000), None);
        live.set_hidden(false, 60_000);
        assert_eq!(shown(&live, 60_000), (Phase::Connecting, Some(59)));
        assert!(live.tick(60_000).is_some());
        live.set_hidden(false, 60_100);
        assert_eq!(live.tick(60_100), None, "shown twice is shown once");
    }

    #[test]
    fn an_ended_session_ends_it() {
        let mut live = live();
        let poll = live.tick(1_000).unwrap();
        assert!(live.answered(poll, 1_010, Outcome::Unauthenticated));
        assert_eq!(shown(&live, 1_010).0, Phase::Ended);
        assert_eq!(live.tick(100_000), None);
    }
}
