//! What has been read of the server so far, and whose answer counts.

use crate::api::error::ApiError;

/// What there is to show. A good value stays when reading it anew fails: the error then stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loaded<T> {
    /// Nothing has come yet.
    Loading,
    /// The newest answer.
    Ready(T),
    /// The last good answer, and why there is none that is newer.
    Stale(T, ApiError),
    /// No answer at all, and why.
    Failed(ApiError),
}

impl<T> Loaded<T> {
    /// What a value and an error come to.
    pub fn of(value: Option<T>, error: Option<ApiError>) -> Self {
        match (value, error) {
            (None, None) => Self::Loading,
            (Some(value), None) => Self::Ready(value),
            (Some(value), Some(error)) => Self::Stale(value, error),
            (None, Some(error)) => Self::Failed(error),
        }
    }

    /// What can be shown.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Ready(value) | Self::Stale(value, _) => Some(value),
            Self::Loading | Self::Failed(_) => None,
        }
    }

    /// What went wrong.
    pub fn error(&self) -> Option<&ApiError> {
        match self {
            Self::Failed(error) | Self::Stale(_, error) => Some(error),
            Self::Loading | Self::Ready(_) => None,
        }
    }
}

/// Which reading an answer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket(u64);

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A newer question was asked meanwhile: it is dropped.
    Dropped,
    /// It is shown.
    Shown {
        /// Whether it was wanted anew while it was under way.
        again: bool,
        /// Whether it is the first answer to its question: an error then leaves nothing of the one before.
        first: bool,
    },
}

/// The readings of one thing. A new question starts at once and takes the place of the one under way; the same question
/// again waits until that is answered, so that a slow server is never asked twice at a time for the same.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    newest: u64,
    under_way: bool,
    again: bool,
    answered: bool,
    failures: u32,
}

impl Readings {
    /// Another question.
    pub fn ask_anew(&mut self) -> Ticket {
        self.answered = false;
        self.failures = 0;
        self.start()
    }

    /// The same question; none while it is under way.
    pub fn ask_again(&mut self) -> Option<Ticket> {
        if self.under_way {
            self.again = true;
            return None;
        }
        Some(self.start())
    }

    fn start(&mut self) -> Ticket {
        self.newest += 1;
        self.under_way = true;
        self.again = false;
        Ticket(self.newest)
    }

    /// An answer came, good or not.
    pub fn answered(&mut self, ticket: Ticket, good: bool) -> Verdict {
        if ticket.0 != self.newest {
            return Verdict::Dropped;
        }
        self.under_way = false;
        self.failures = if good { 0 } else { self.failures + 1 };
        let first = !self.answered;
        self.answered |= good;
        Verdict::Shown {
            again: std::mem::take(&mut self.again),
            first,
        }
    }

    /// Whether an answer is awaited.
    pub fn is_under_way(&self) -> bool {
        self.under_way
    }

    /// How long to wait before asking again after a failure: twice as long each time, half a minute at most.
    pub fn back_off_ms(&self) -> u64 {
        let doubled = BACK_OFF_MS << self.failures.saturating_sub(1).min(5);
        doubled.min(BACK_OFF_MS_MAX)
    }
}

const BACK_OFF_MS: u64 = 2_000;
const BACK_OFF_MS_MAX: u64 = 30_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_value_stays_beside_a_later_error() {
        let gone = ApiError::Timeout { after_ms: 5 };
        assert_eq!(Loaded::<u8>::of(None, None), Loaded::Loading);
        assert_eq!(Loaded::of(Some(1), None), Loaded::Ready(1));
        let stale = Loaded::of(Some(1), Some(gone.clone()));
        assert_eq!((stale.value(), stale.error()), (Some(&1), Some(&gone)));
        let failed = Loaded::<u8>::of(None, Some(gone.clone()));
        assert_eq!((failed.value(), failed.error()), (None, Some(&gone)));
    }

    #[test]
    fn an_older_answer_never_replaces_a_newer_one() {
        let mut readings = Readings::default();
        let old = readings.ask_anew();
        let new = readings.ask_anew();
        assert_eq!(
            readings.answered(new, true),
            Verdict::Shown {
                again: false,
                first: true
            }
        );
        assert_eq!(readings.answered(old, true), Verdict::Dropped);
        assert!(!readings.is_under_way());
    }

    #[test]
    fn the_same_is_never_asked_twice_at_once_and_is_asked_again_when_it_was_wanted_meanwhile() {
        let mut readings = Readings::default();
        let first = readings.ask_again().unwrap();
        assert_eq!(readings.ask_again(), None);
        assert_eq!(readings.ask_again(), None);
        assert_eq!(
            readings.answered(first, true),
            Verdict::Shown {
                again: true,
                first: true
            }
        );
        let second = readings.ask_again().unwrap();
        assert_eq!(
            readings.answered(second, true),
            Verdict::Shown {
                again: false,
                first: false
            }
        );
    }

    #[test]
    fn the_first_answer_to_another_question_is_told_apart() {
        let mut readings = Readings::default();
        let ticket = readings.ask_anew();
        readings.answered(ticket, true);
        let ticket = readings.ask_anew();
        let verdict = readings.answered(ticket, false);
        assert!(matches!(verdict, Verdict::Shown { first: true, .. }));
        let ticket = readings.ask_again().unwrap();
        let verdict = readings.answered(ticket, false);
        assert!(matches!(verdict, Verdict::Shown { first: true, .. }));
    }

    #[test]
    fn who_fails_is_asked_less_and_less_often_and_anew_at_once() {
        let mut readings = Readings::default();
        let mut waits = Vec::new();
        for _ in 0..7 {
            let ticket = readings.ask_again().unwrap();
            readings.answered(ticket, false);
            waits.push(readings.back_off_ms());
        }
        assert_eq!(waits, [2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
        let ticket = readings.ask_anew();
        readings.answered(ticket, false);
        assert_eq!(readings.back_off_ms(), 2_000);
    }
}
