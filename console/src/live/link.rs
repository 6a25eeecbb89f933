//! A connection, of the socket or of one region's line over it: when to open it, whether it still lives, and which messages
//! are news. Time is passed in.
//!
//! The number of the last message that was seen outlives the line: who opens the next names it, and is told what was
//! missed, or that it is no longer there.

use weir_shared::wire::operator::live::{LiveEvent, LiveMessage};

/// One that does not greet within this time is given up.
pub const OPEN_MS: u64 = 10_000;

/// One that says nothing for so long is asked whether it is there.
pub const SILENT_MS: u64 = 15_000;

/// One that does not answer within this time is given up.
pub const ANSWER_MS: u64 = 5_000;

/// The longest pause between two attempts.
pub const BACK_OFF_MAX_MS: u64 = 15_000;

const BACK_OFF_MS: u64 = 500;

/// What to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkAction {
    /// Open one, which continues after a message.
    Open {
        /// The number of the last message that was seen.
        after: Option<u64>,
    },
    /// Say something, so that it answers.
    Ask,
    /// Close it.
    Close,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// Seen before.
    Old,
    /// It is open.
    Greeting,
    /// What was missed is no longer there.
    Gap,
    /// Something new.
    News {
        /// Whether messages before it are missing.
        gap: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed {
        next_at_ms: u64,
    },
    Opening {
        since_ms: u64,
    },
    Open {
        heard_at_ms: u64,
        asked_at_ms: Option<u64>,
    },
}

/// The state of one connection and its successors.
#[derive(Debug, Clone)]
pub struct Link {
    phase: Phase,
    failures: u32,
    after: Option<u64>,
}

impl Link {
    /// The first tick opens it.
    pub fn new(now_ms: u64) -> Self {
        Self {
            phase: Phase::Closed { next_at_ms: now_ms },
            failures: 0,
            after: None,
        }
    }

    /// Time has passed. `wanted` says whether there should be one at all.
    pub fn tick(&mut self, now_ms: u64, wanted: bool) -> Option<LinkAction> {
        let since = |at_ms: u64| now_ms.saturating_sub(at_ms);
        match self.phase {
            Phase::Closed { next_at_ms } if wanted && now_ms >= next_at_ms => {
                self.phase = Phase::Opening { since_ms: now_ms };
                Some(LinkAction::Open { after: self.after })
            }
            Phase::Closed { .. } => None,
            _ if !wanted => {
                self.rest(now_ms);
                Some(LinkAction::Close)
            }
            Phase::Opening { since_ms } if since(since_ms) >= OPEN_MS => {
                self.closed(now_ms);
                Some(LinkAction::Close)
            }
            Phase::Open {
                asked_at_ms: Some(asked_at_ms),
                ..
            } if since(asked_at_ms) >= ANSWER_MS => {
                self.closed(now_ms);
                Some(LinkAction::Close)
            }
            Phase::Open {
                heard_at_ms,
                asked_at_ms: None,
            } if since(heard_at_ms) >= SILENT_MS => {
                self.phase = Phase::Open {
                    heard_at_ms,
                    asked_at_ms: Some(now_ms),
                };
                Some(LinkAction::Ask)
            }
            _ => None,
        }
    }

    /// A message came.
    pub fn heard(&mut self, message: &LiveMessage, now_ms: u64) -> Heard {
        if let LiveEvent::Hello { resumed, .. } = message.event {
            self.greeted(now_ms);
            if !resumed && self.after.is_none() {
                self.after = Some(message.sequence.0);
            }
            return Heard::Greeting;
        }
        self.answered(now_ms);
        if let LiveEvent::Gap { .. } = message.event {
            self.after = Some(message.sequence.0);
            return Heard::Gap;
        }
        // What is told to this socket alone has no number of its own.
        let Some(after) = self.after.filter(|_| message.sequence != message.previous) else {
            return Heard::Old;
        };
        if message.sequence.0 <= after {
            return Heard::Old;
        }
        self.after = Some(message.sequence.0);
        let gap = message.previous.0 > after;
        Heard::News { gap }
    }

    /// The other side greets: it is open.
    pub fn greeted(&mut self, now_ms: u64) {
        self.failures = 0;
        self.answered(now_ms);
    }

    /// The other side said something, if only that it is there.
    pub fn answered(&mut self, now_ms: u64) {
        if !matches!(self.phase, Phase::Closed { .. }) {
            self.phase = Phase::Open {
                heard_at_ms: now_ms,
                asked_at_ms: None,
            };
        }
    }

    /// It is gone, or never came. True when this is news.
    pub fn closed(&mut self, now_ms: u64) -> bool {
        if matches!(self.phase, Phase::Closed { .. }) {
            return false;
        }
        let pause_ms = BACK_OFF_MS
            .saturating_mul(1 << self.failures.min(16))
            .min(BACK_OFF_MAX_MS);
        self.failures = self.failures.saturating_add(1);
        self.phase = Phase::Closed {
            next_at_ms: now_ms + pause_ms,
        };
        true
    }

    /// The next attempt is due at once.
    pub fn hurry(&mut self, now_ms: u64) {
        if matches!(self.phase, Phase::Closed { .. }) {
            self.rest(now_ms);
        }
    }

    /// Whether messages come.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    /// Whether nothing was ever told.
    pub fn is_new(&self) -> bool {
        self.after.is_none()
    }

    /// Whether the last attempts failed.
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// What it goes over is gone: it is opened again with that, and has not failed.
    pub fn rest(&mut self, now_ms: u64) {
        self.failures = 0;
        self.phase = Phase::Closed { next_at_ms: now_ms };
    }
}

#[cfg(test)]
mod tests {

    use weir_shared::ordered::OrderedMap;
    use weir_shared::units::{EpochMs, Sequence};

    use super::*;

    fn message(sequence: u64, previous: u64, event: LiveEvent) -> LiveMessage {
        LiveMessage {
            sequence: Sequence(sequence),
            previous: Sequence(previous),
            at: EpochMs(sequence),
            event,
        }
    }

    fn hello(last: u64, resumed: bool) -> LiveMessage {
        let region = "weur".to_owned();
        let event = LiveEvent::Hello {
            region,
            channels: Vec::new(),
            resumed,
        };
        message(last, last, event)
    }

    fn news(sequence: u64, previous: u64) -> LiveMessage {
        let regions = OrderedMap::new();
        message(sequence, previous, LiveEvent::Health { regions })
    }

    /// A socket that greeted at 100 ms, at message 7.
    fn open() -> Link {
        let mut link = Link::new(0);
        assert_eq!(link.tick(0, true), Some(LinkAction::Open { after: None }));
        assert!(!link.is_open());
        assert_eq!(link.heard(&hello(7, false), 100), Heard::Greeting);
        assert!(link.is_open());
        link
    }

    #[test]
    fn messages_are_news_once() {
        let mut link = open();
        assert_eq!(link.heard(&news(7, 7), 110), Heard::Old, "a greeting's");
        assert_eq!(link.heard(&news(9, 7), 200), Heard::News { gap: false });
        assert_eq!(link.heard(&news(9, 7), 210), Heard::Old);
        assert_eq!(link.heard(&news(8, 7), 220), Heard::Old);
        assert_eq!(link.heard(&news(12, 9), 230), Heard::News { gap: false });
        assert_eq!(link.heard(&news(20, 15), 240), Heard::News { gap: true });
    }

    #[test]
    fn the_next_socket_goes_on_where_the_last_one_left_off() {
        let mut link = open();
        link.heard(&news(9, 7), 200);
        assert!(link.closed(300));
        assert!(!link.closed(301), "it is gone already");
        assert_eq!(link.tick(799, true), None, "a pause first");
        assert_eq!(
            link.tick(800, true),
            Some(LinkAction::Open { after: Some(9) })
        );
        assert_eq!(link.heard(&hello(15, true), 900), Heard::Greeting);
        assert_eq!(link.heard(&news(12, 9), 901), Heard::News { gap: false });
        assert_eq!(link.heard(&news(15, 12), 902), Heard::News { gap: false });
    }

    #[test]
    fn what_is_no_longer_there_is_a_gap_and_not_lost_in_silence() {
        let mut link = open();
        link.closed(300);
        link.tick(800, true);
        link.heard(&hello(90, false), 900);
        let gap = message(90, 90, LiveEvent::Gap { after: Sequence(7) });
        assert_eq!(link.heard(&gap, 901), Heard::Gap);
        assert_eq!(link.heard(&news(91, 90), 902), Heard::News { gap: false });
    }

    #[test]
    fn attempts_that_fail_come_less_and_less_often() {
        let mut link = Link::new(0);
        let (mut now_ms, mut pauses) = (0, Vec::new());
        for _ in 0..7 {
            assert!(link.tick(now_ms, true).is_some());
            link.closed(now_ms);
            let failed_at_ms = now_ms;
            while link.tick(now_ms, true).is_none() {
                now_ms += 100;
            }
            pauses.push(now_ms - failed_at_ms);
            link.closed(now_ms);
            link.failures -= 1;
            link.phase = Phase::Closed { next_at_ms: now_ms };
        }
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
        assert!(link.is_failing());
        link.hurry(now_ms);
        assert!(link.tick(now_ms, true).is_some());
        assert!(!link.is_failing());
    }

    #[test]
    fn a_socket_that_does_not_greet_is_given_up() {
        let mut link = Link::new(0);
        link.tick(0, true);
        assert_eq!(link.tick(OPEN_MS - 1, true), None);
        assert_eq!(link.tick(OPEN_MS, true), Some(LinkAction::Close));
        assert!(link.is_failing());
    }

    #[test]
    fn a_silent_socket_is_asked_and_given_up_without_an_answer() {
        let mut link = open();
        let asked_at_ms = 100 + SILENT_MS;
        assert_eq!(link.tick(asked_at_ms - 1, true), None);
        assert_eq!(link.tick(asked_at_ms, true), Some(LinkAction::Ask));
        assert_eq!(link.tick(asked_at_ms + 1, true), None, "asked once");
        link.answered(asked_at_ms + 2);
        assert_eq!(link.tick(asked_at_ms + ANSWER_MS, true), None);
        let again_ms = asked_at_ms + 2 + SILENT_MS;
        assert_eq!(link.tick(again_ms, true), Some(LinkAction::Ask));
        assert_eq!(
            link.tick(again_ms + ANSWER_MS, true),
            Some(LinkAction::Close)
        );
        assert!(!link.is_open());
    }

    #[test]
    fn a_socket_that_is_not_wanted_is_closed_and_its_place_is_kept() {
        let mut link = open();
        assert_eq!(link.tick(200, false), Some(LinkAction::Close));
        assert_eq!(link.tick(9_000, false), None);
        assert_eq!(
            link.tick(9_001, true),
            Some(LinkAction::Open { after: Some(7) })
        );
    }

    #[test]
    fn what_comes_after_the_end_of_a_socket_does_not_open_it() {
        let mut link = open();
        link.closed(200);
        link.answered(201);
        assert!(!link.is_open());
    }
}
