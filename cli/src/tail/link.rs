//! What is known of one region's socket and its successors: where to go on, and what a message brings. The number of the
//! last message outlives a socket, so that the next one is told what was missed.

use std::time::Duration;

use weir_shared::units::Sequence;
use weir_shared::wire::operator::live::{DecisionSample, LiveEvent, LiveMessage};

/// The first pause between two attempts, which doubles.
const PAUSE: Duration = Duration::from_millis(250);

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// One region's.
#[derive(Debug, Clone)]
pub struct Link {
    region: String,
    after: Option<Sequence>,
    failures: u32,
}

/// What a message brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Decisions.
    Decisions(Vec<DecisionSample>),
    /// Decisions before this one are no longer there.
    Missed,
    /// Nothing to show.
    Nothing,
}

impl Link {
    /// Before the first socket.
    #[must_use]
    pub fn new(region: String) -> Self {
        Self {
            region,
            after: None,
            failures: 0,
        }
    }

    /// The region.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.region
    }

    /// What is asked for: everything after the last message that was heard.
    ///
    /// ```
    /// use weir_cli::tail::link::Link;
    /// let link = Link::new("weur".to_owned());
    /// assert_eq!(link.path(), "/operator/v1/live?channels=decisions&region=weur");
    /// ```
    #[must_use]
    pub fn path(&self) -> String {
        let region = &self.region;
        let after = self.after.map(|after| format!("&after={after}"));
        format!(
            "/operator/v1/live?channels=decisions&region={region}{}",
            after.unwrap_or_default()
        )
    }

    /// A message came.
    pub fn heard(&mut self, message: LiveMessage) -> Heard {
        self.failures = 0;
        match message.event {
            LiveEvent::Hello { resumed, .. } => {
                // What was missed follows it, with lower numbers.
                if !resumed {
                    self.after = Some(message.sequence);
                }
                Heard::Nothing
            }
            LiveEvent::Gap { .. } => Heard::Missed,
            LiveEvent::Decisions { samples, .. } => {
                self.after = Some(message.sequence);
                Heard::Decisions(samples)
            }
            _ => Heard::Nothing,
        }
    }

    /// The socket is no more: how long to wait before the next.
    #[must_use]
    pub fn lost(&mut self) -> Duration {
        let pause = PAUSE
            .saturating_mul(1 << self.failures.min(16))
            .min(PAUSE_MAX);
        self.failures += 1;
        pause
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::units::EpochMs;

    use super::*;

    fn message(sequence: u64, event: LiveEvent) -> LiveMessage {
        LiveMessage {
            sequence: Sequence(sequence),
            previous: Sequence(0),
            at: EpochMs(0),
            event,
        }
    }

    fn hello(resumed: bool) -> LiveEvent {
        LiveEvent::Hello {
            region: "weur".to_owned(),
            channels: Vec::new(),
            resumed,
        }
    }

    fn decisions() -> LiveEvent {
        LiveEvent::Decisions {
            region: "weur".to_owned(),
            samples: Vec::new(),
        }
    }

    #[test]
    fn the_next_socket_goes_on_where_the_last_one_ended() {
        let mut link = Link::new("weur".to_owned());
        link.heard(message(3, hello(false)));
        assert!(link.path().ends_with("&after=3"), "{}", link.path());
        assert_eq!(
            link.heard(message(9, decisions())),
            Heard::Decisions(Vec::new())
        );
        link.heard(message(12, hello(true)));
        assert!(link.path().ends_with("&after=9"), "{}", link.path());
        link.heard(message(10, decisions()));
        assert!(link.path().ends_with("&after=10"), "{}", link.path());
    }

    #[test]
    fn what_is_no_longer_there_is_told_and_the_greeting_of_a_new_life_counts() {
        let mut link = Link::new("weur".to_owned());
        link.heard(message(900, hello(false)));
        link.heard(message(40, hello(false)));
        let gap = LiveEvent::Gap {
            after: Sequence(900),
        };
        assert_eq!(link.heard(message(40, gap)), Heard::Missed);
        assert!(link.path().ends_with("&after=40"), "{}", link.path());
    }

    #[test]
    fn pauses_grow_to_a_bound_and_begin_anew_after_a_word() {
        let mut link = Link::new("weur".to_owned());
        let pauses: Vec<Duration> = (0..9).map(|_| link.lost()).collect();
        assert_eq!(pauses[..3], [250, 500, 1_000].map(Duration::from_millis));
        assert_eq!(pauses[8], PAUSE_MAX);
        link.heard(message(1, hello(false)));
        assert_eq!(link.lost(), PAUSE);
        for _ in 0..100 {
            assert!(link.lost() <= PAUSE_MAX);
        }
    }
}
