//! When a region asks the registry for what is in force, and whether it waits for the answer.

use weir_core::limits::{IDLE_REFRESH_MS_MAX, POLICY_POLL_MS, REGISTRY_WAIT_MS_MAX, TOKEN_ASK_MS};
use weir_core::units::EpochMs;

/// What is done about the registry before an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nothing: it was asked a short time ago.
    Rest,
    /// It is asked, and what is known applies meanwhile.
    Ask,
    /// It is asked, and waited for so many milliseconds.
    Wait(u64),
}

/// What a region knows when somebody asks it for what is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Whether it has a policy and tokens.
    pub all: bool,
    /// Whether an answer of the registry is under way.
    pub under_way: bool,
    /// Whether a token is wanted that it does not have.
    pub token_missing: bool,
}

/// When the registry was asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refresh {
    asked_at: EpochMs,
    token_asked_at: EpochMs,
}

impl Refresh {
    /// What to do now.
    ///
    /// ```
    /// use weir_access::refresh::{Known, Look, Refresh};
    /// use weir_core::units::EpochMs;
    /// let mut refresh = Refresh::default();
    /// refresh.asked(EpochMs(100_000));
    /// let known = Known { all: true, under_way: false, token_missing: false };
    /// assert_eq!(refresh.look(known, EpochMs(104_999)), Look::Rest);
    /// assert_eq!(refresh.look(known, EpochMs(105_000)), Look::Ask);
    /// assert_eq!(refresh.look(known, EpochMs(110_000)), Look::Wait(150));
    /// ```
    pub fn look(&mut self, known: Known, now: EpochMs) -> Look {
        let silent_ms = since(self.asked_at, now);
        if !known.all {
            // Whoever comes after a question that failed gets what there is, until it is time to ask again.
            return if known.under_way || silent_ms >= TOKEN_ASK_MS {
                Look::Wait(REGISTRY_WAIT_MS_MAX)
            } else {
                Look::Rest
            };
        }
        if known.token_missing && since(self.token_asked_at, now) >= TOKEN_ASK_MS {
            self.token_asked_at = now;
            return Look::Wait(REGISTRY_WAIT_MS_MAX);
        }
        if silent_ms >= 2 * POLICY_POLL_MS {
            // Nobody was served for a while, so a push that was lost in that time is still unknown.
            Look::Wait(IDLE_REFRESH_MS_MAX)
        } else if silent_ms >= POLICY_POLL_MS {
            Look::Ask
        } else {
            Look::Rest
        }
    }

    /// The registry is asked now.
    pub fn asked(&mut self, now: EpochMs) {
        self.asked_at = now;
    }

    /// How long ago it was asked, in milliseconds.
    #[must_use]
    pub fn asked_ms_ago(&self, now: EpochMs) -> u64 {
        since(self.asked_at, now)
    }
}

/// Milliseconds since `earlier`; a clock that was set back has shown that nothing is known about them.
fn since(earlier: EpochMs, now: EpochMs) -> u64 {
    if now < earlier {
        return u64::MAX;
    }
    now.since(earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_has_asked_nobody_for_ever() {
        let mut refresh = Refresh::default();
        refresh.asked(EpochMs(1_000));
        assert_eq!(refresh.asked_ms_ago(EpochMs(1_400)), 400);
        assert_eq!(refresh.asked_ms_ago(EpochMs(1_000)), 0);
        assert_eq!(refresh.asked_ms_ago(EpochMs(999)), u64::MAX);
    }
}
