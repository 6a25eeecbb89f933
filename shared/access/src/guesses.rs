//! Wrong secrets that were brought as bearer tokens. Whoever tries many waits, and nobody else does: the token of anyone
//! whom Weir gave one proves itself and is never looked up here.

use weir_core::limits::{GUESS_LINES_MAX, GUESSES_MAX, LOGIN_ATTEMPTS_MAX, LOGIN_PERIOD_MS};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;

use super::login::Attempt;

/// What an isolate has seen of guesses within the last [`LOGIN_PERIOD_MS`].
#[derive(Debug, Clone, Default)]
pub struct Guesses {
    /// At what begins as the bootstrap secret does.
    bootstrap: Lines,
    /// At anything else.
    strangers: Lines,
}

/// Guesses by the line in which each counts. Where there are too many lines, new ones share one.
#[derive(Debug, Clone, Default)]
struct Lines {
    apart: OrderedMap<String, Line>,
    rest: Line,
}

#[derive(Debug, Clone, Copy, Default)]
struct Line {
    wrong: u64,
    since: EpochMs,
}

impl Line {
    fn is_over(self, now: EpochMs) -> bool {
        now < self.since || now.since(self.since) >= LOGIN_PERIOD_MS
    }

    fn shut_ms(self, max: u64, now: EpochMs) -> Option<u64> {
        let shut = self.wrong >= max && !self.is_over(now);
        shut.then(|| self.since.plus(LOGIN_PERIOD_MS).since(now))
    }

    fn add(&mut self, now: EpochMs) {
        if self.wrong == 0 || self.is_over(now) {
            *self = Self {
                wrong: 0,
                since: now,
            };
        }
        self.wrong += 1;
    }
}

impl Lines {
    fn line(&self, name: &str) -> Line {
        match self.apart.get(name) {
            Some(line) => *line,
            None if self.apart.len() >= GUESS_LINES_MAX => self.rest,
            None => Line::default(),
        }
    }

    fn add(&mut self, name: String, now: EpochMs) {
        if !self.apart.contains_key(&name) && self.apart.len() >= GUESS_LINES_MAX {
            self.apart.retain(|_, line| !line.is_over(now));
        }
        let is_full = self.apart.len() >= GUESS_LINES_MAX;
        let line = match self.apart.get_mut(&name) {
            Some(line) => line,
            None if is_full => &mut self.rest,
            None => self.apart.entry(name).or_default(),
        };
        line.add(now);
    }
}

impl Guesses {
    /// Milliseconds until a secret is looked at that comes by the line of an attempt; `None` where it is now.
    ///
    /// ```
    /// use weir_access::guesses::Guesses;
    /// use weir_access::login::Attempt::{Bootstrap, Stranger};
    /// use weir_core::limits::LOGIN_ATTEMPTS_MAX;
    /// use weir_core::units::EpochMs;
    /// let mut guesses = Guesses::default();
    /// let (here, there) = (Bootstrap(Some("203.0.113.9")), Bootstrap(Some("203.0.113.10")));
    /// for _ in 0..LOGIN_ATTEMPTS_MAX {
    ///     assert_eq!(guesses.shut_ms(here, EpochMs(1_000)), None);
    ///     guesses.wrong(here, EpochMs(1_000));
    /// }
    /// assert_eq!(guesses.shut_ms(here, EpochMs(2_000)), Some(59_000));
    /// assert_eq!(guesses.shut_ms(there, EpochMs(2_000)), None);
    /// assert_eq!(guesses.shut_ms(here, EpochMs(61_000)), None);
    /// ```
    #[must_use]
    pub fn shut_ms(&self, attempt: Attempt<'_>, now: EpochMs) -> Option<u64> {
        let (lines, max) = match attempt {
            Attempt::Token(..) => return None,
            Attempt::Bootstrap(_) => (&self.bootstrap, LOGIN_ATTEMPTS_MAX),
            Attempt::Stranger(_) => (&self.strangers, GUESSES_MAX),
        };
        lines.line(&attempt.line()).shut_ms(max, now)
    }

    /// What was brought was wrong.
    pub fn wrong(&mut self, attempt: Attempt<'_>, now: EpochMs) {
        match attempt {
            Attempt::Token(..) => {}
            Attempt::Bootstrap(_) => self.bootstrap.add(attempt.line(), now),
            Attempt::Stranger(_) => self.strangers.add(attempt.line(), now),
        }
    }

    /// Whether somebody guesses who has seen how the bootstrap secret begins: then what is known of it is no short cut.
    #[must_use]
    pub fn is_tried(&self) -> bool {
        !self.bootstrap.apart.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::role::Role;

    use super::Attempt::{Bootstrap, Stranger, Token};
    use super::*;

    const NOW: EpochMs = EpochMs(1_700_000_000_000);

    #[test]
    fn what_strangers_write_shuts_neither_the_bootstrap_secret_nor_a_token() {
        let mut guesses = Guesses::default();
        for _ in 0..=GUESSES_MAX {
            guesses.wrong(Stranger(None), NOW);
        }
        assert!(guesses.shut_ms(Stranger(None), NOW).is_some());
        assert_eq!(guesses.shut_ms(Bootstrap(None), NOW), None);
        assert_eq!(guesses.shut_ms(Token("k1", Role::Admin), NOW), None);
        assert!(!guesses.is_tried());
    }

    #[test]
    fn guesses_from_any_number_of_addresses_are_bounded_in_all_and_in_memory() {
        let mut guesses = Guesses::default();
        let mut looked_at = 0;
        for number in 0..200_000_u32 {
            let address = std::net::Ipv4Addr::from(number).to_string();
            let attempt = Bootstrap(Some(&address));
            if guesses.shut_ms(attempt, NOW).is_none() {
                guesses.wrong(attempt, NOW);
                looked_at += 1;
            }
        }
        assert_eq!(looked_at, GUESS_LINES_MAX as u64 + LOGIN_ATTEMPTS_MAX);
        assert_eq!(guesses.bootstrap.apart.len(), GUESS_LINES_MAX);
        // When their time is over there is room again.
        let later = NOW.plus(LOGIN_PERIOD_MS);
        guesses.wrong(Bootstrap(None), later);
        assert_eq!(guesses.bootstrap.apart.len(), 1);
    }

    #[test]
    fn a_clock_that_steps_back_shuts_nobody_out() {
        let mut guesses = Guesses::default();
        for _ in 0..LOGIN_ATTEMPTS_MAX {
            guesses.wrong(Bootstrap(None), NOW);
        }
        assert_eq!(guesses.shut_ms(Bootstrap(None), EpochMs(NOW.0 - 1)), None);
    }

    fn from(number: usize) -> String {
        format!("10.0.{}.{}", number / 256, number % 256)
    }

    /// As many lines as there is room for, and one that all others share, which is shut a second later.
    fn full() -> Guesses {
        let mut guesses = Guesses::default();
        for number in 0..GUESS_LINES_MAX {
            guesses.wrong(Bootstrap(Some(&from(number))), NOW);
        }
        for _ in 0..LOGIN_ATTEMPTS_MAX {
            guesses.wrong(Bootstrap(Some("203.0.113.9")), NOW.plus(1_000));
        }
        guesses
    }

    #[test]
    fn whoever_is_new_waits_for_those_that_share_a_line_only_while_there_is_no_room() {
        let new = Bootstrap(Some("203.0.113.10"));
        let mut guesses = full();
        let shut_at = NOW.plus(1_000);
        assert_eq!(guesses.shut_ms(new, shut_at), Some(LOGIN_PERIOD_MS));
        // Somebody else guesses when most lines are over: they make room.
        let later = NOW.plus(LOGIN_PERIOD_MS);
        guesses.wrong(Bootstrap(Some("203.0.113.11")), later);
        assert_eq!(guesses.shut_ms(new, later), None);
    }

    #[test]
    fn lines_that_are_over_are_looked_for_when_there_is_no_room_for_a_new_one_and_not_at_each_guess()
     {
        let later = NOW.plus(LOGIN_PERIOD_MS);
        let mut guesses = Guesses::default();
        guesses.wrong(Bootstrap(Some(&from(0))), NOW);
        guesses.wrong(Bootstrap(Some(&from(1))), later);
        assert_eq!(guesses.bootstrap.apart.len(), 2, "there is room");
        let mut guesses = full();
        guesses.wrong(Bootstrap(Some(&from(0))), later);
        assert_eq!(guesses.bootstrap.apart.len(), GUESS_LINES_MAX, "it has one");
        guesses.wrong(Bootstrap(Some("203.0.113.9")), later);
        assert_eq!(guesses.bootstrap.apart.len(), 2);
    }
}
