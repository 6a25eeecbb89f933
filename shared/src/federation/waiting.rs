//! The needs that wait for a holder's next message.
//!
//! A need that its request never takes off again, because the platform ended the request, is dropped when no request
//! can still wait for it: else units would be borrowed for it in every window to come.

use std::collections::BTreeMap;

use crate::limits::{COST_MAX, DECIDE_WAIT_MS_MAX, WAITERS_MAX};
use crate::units::EpochMs;
use crate::wire::exchange::Seen;

/// Units that somebody waits for, and the fewest of them that would serve anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// All of them.
    pub units: u64,
    /// The smallest cost among them.
    pub smallest: u64,
}

impl Need {
    /// One request of `cost` units.
    #[must_use]
    pub fn one(cost: u64) -> Self {
        Self {
            units: cost,
            smallest: cost,
        }
    }

    /// A request that only looks: any open window covers it.
    #[must_use]
    pub fn look() -> Self {
        Self {
            units: 0,
            smallest: COST_MAX,
        }
    }
}

/// A waiting request's ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    message: Seen,
    number: u64,
}

impl Ticket {
    /// The message that carries its need.
    #[must_use]
    pub fn message(&self) -> Seen {
        self.message
    }
}

/// The needs that wait, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    next: u64,
    needs: BTreeMap<u64, (Need, EpochMs)>,
    units: u64,
}

impl Waiting {
    /// Adds a need that `message` will carry. `None` when too many wait already.
    #[must_use]
    pub fn add(&mut self, need: Need, message: Seen, now: EpochMs) -> Option<Ticket> {
        self.expire(now);
        if self.needs.len() >= WAITERS_MAX || self.units.saturating_add(need.units) > COST_MAX {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.units += need.units;
        self.needs.insert(number, (need, now));
        Some(Ticket { message, number })
    }

    /// Takes a need off, if it is still there.
    pub fn remove(&mut self, ticket: Ticket) {
        if let Some((need, _)) = self.needs.remove(&ticket.number) {
            self.units -= need.units;
        }
    }

    /// Drops the needs for which no request can still wait.
    pub fn expire(&mut self, now: EpochMs) {
        while let Some(oldest) = self.needs.first_entry() {
            if now.since(oldest.get().1) <= DECIDE_WAIT_MS_MAX {
                return;
            }
            let (need, _) = oldest.remove();
            self.units -= need.units;
        }
    }

    /// Whether a request can still wait.
    #[must_use]
    pub fn any(&self, now: EpochMs) -> bool {
        let mut needs = self.needs.values();
        needs.any(|(_, since)| now.since(*since) <= DECIDE_WAIT_MS_MAX)
    }

    /// The sum of all needs.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The smallest cost among all needs; 0 when none waits.
    #[must_use]
    pub fn smallest(&self) -> u64 {
        let smallest = self.needs.values().map(|(need, _)| need.smallest);
        smallest.min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_that_is_never_taken_off_is_dropped_when_no_request_can_wait_for_it() {
        let mut waiting = Waiting::default();
        let message = Seen::default();
        let ghost = waiting.add(Need::one(40), message, EpochMs(0)).unwrap();
        let other = waiting.add(Need::one(2), message, EpochMs(1_500)).unwrap();
        waiting.expire(EpochMs(DECIDE_WAIT_MS_MAX));
        assert_eq!((waiting.units(), waiting.smallest()), (42, 2));
        waiting.expire(EpochMs(DECIDE_WAIT_MS_MAX + 1));
        assert_eq!((waiting.units(), waiting.smallest()), (2, 2));
        waiting.remove(ghost);
        assert_eq!(waiting.units(), 2, "it was gone already");
        waiting.remove(other);
        assert_eq!((waiting.units(), waiting.smallest()), (0, 0));
    }
}
