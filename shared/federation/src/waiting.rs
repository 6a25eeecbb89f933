//! The needs that wait for a holder's next message.
//!
//! A need that its request never takes off again, because the platform ended the request, is dropped when no request
//! can still wait for it: else units would be borrowed for it in every window to come.

use weir_core::limits::{COST_MAX, DECIDE_WAIT_MS_MAX, WAITERS_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_wire::exchange::{Seen, Want};

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

    /// What waits behind a want.
    #[must_use]
    pub fn of(want: &Want) -> Self {
        Self {
            units: want.waiting,
            smallest: want.smallest,
        }
    }

    /// What of it is missing beside `units`. While units are missing, so is one for the smallest cost.
    ///
    /// ```
    /// use weir_federation::waiting::Need;
    ///
    /// let need = Need { units: 30, smallest: 10 };
    /// assert_eq!(need.beside(4), Need { units: 26, smallest: 6 });
    /// assert_eq!(need.beside(12), Need { units: 18, smallest: 1 });
    /// assert_eq!(need.beside(30), Need { units: 0, smallest: 0 });
    /// ```
    #[must_use]
    pub fn beside(self, units: u64) -> Self {
        let missing = self.units.saturating_sub(units);
        Self {
            units: missing,
            smallest: self.smallest.saturating_sub(units).max(1).min(missing),
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
    needs: OrderedMap<u64, Waiter>,
    units: u64,
}

#[derive(Debug, Clone)]
struct Waiter {
    /// For whom; everyone, where tenants do not share.
    tenant: Option<String>,
    need: Need,
    since: EpochMs,
}

impl Waiting {
    /// Adds a need of a tenant, or of everyone, that `message` will carry. `None` when too many wait already.
    #[must_use]
    pub fn add(
        &mut self,
        tenant: Option<&str>,
        need: Need,
        message: Seen,
        now: EpochMs,
    ) -> Option<Ticket> {
        self.expire(now);
        if self.needs.len() >= WAITERS_MAX || self.units.saturating_add(need.units) > COST_MAX {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.units += need.units;
        let waiter = Waiter {
            tenant: tenant.map(str::to_owned),
            need,
            since: now,
        };
        self.needs.insert(number, waiter);
        Some(Ticket { message, number })
    }

    /// Takes a need off, if it is still there.
    pub fn remove(&mut self, ticket: Ticket) {
        if let Some(waiter) = self.needs.remove(&ticket.number) {
            self.units -= waiter.need.units;
        }
    }

    /// Drops the needs for which no request can still wait.
    pub fn expire(&mut self, now: EpochMs) {
        while let Some(oldest) = self.needs.first_entry() {
            if now.since(oldest.get().since) <= DECIDE_WAIT_MS_MAX {
                return;
            }
            let waiter = oldest.remove();
            self.units -= waiter.need.units;
        }
    }

    /// Whether a request can still wait.
    #[must_use]
    pub fn any(&self, now: EpochMs) -> bool {
        let mut needs = self.needs.values();
        needs.any(|waiter| now.since(waiter.since) <= DECIDE_WAIT_MS_MAX)
    }

    /// The sum of all needs.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.units
    }

    /// The needs by whom they are for.
    #[must_use]
    pub fn by_tenant(&self) -> Needs {
        let mut needs = Needs::default();
        for Waiter { tenant, need, .. } in self.needs.values() {
            needs.add(tenant.as_deref(), *need);
        }
        needs
    }
}

/// What is waited for, by whom it is for: the sum, and the smallest cost.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    everyone: Option<Need>,
    tenants: OrderedMap<String, Need>,
}

impl Needs {
    /// What a tenant, or everyone, waits for.
    #[must_use]
    pub fn of(&self, tenant: Option<&str>) -> Option<Need> {
        match tenant {
            Some(name) => self.tenants.get(name).copied(),
            None => self.everyone,
        }
    }

    /// Each need, with whose it is.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&str>, Need)> {
        let everyone = self.everyone.iter().map(|need| (None, *need));
        let tenants = self.tenants.iter();
        everyone.chain(tenants.map(|(name, need)| (Some(name.as_str()), *need)))
    }

    fn add(&mut self, tenant: Option<&str>, need: Need) {
        let sum = |before: Option<Need>| {
            before.map_or(need, |before| Need {
                units: before.units + need.units,
                smallest: before.smallest.min(need.smallest),
            })
        };
        match tenant {
            Some(name) => match self.tenants.get_mut(name) {
                Some(before) => *before = sum(Some(*before)),
                None => {
                    self.tenants.insert(name.to_owned(), need);
                }
            },
            None => self.everyone = Some(sum(self.everyone)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_that_is_never_taken_off_is_dropped_when_no_request_can_wait_for_it() {
        let mut waiting = Waiting::default();
        let message = Seen::default();
        let ghost = waiting
            .add(Some("a"), Need::one(40), message, EpochMs(0))
            .unwrap();
        let other = waiting
            .add(Some("b"), Need::one(2), message, EpochMs(1_500))
            .unwrap();
        waiting.expire(EpochMs(DECIDE_WAIT_MS_MAX));
        assert_eq!(waiting.by_tenant().of(Some("b")), Some(Need::one(2)));
        assert_eq!(waiting.units(), 42);
        waiting.expire(EpochMs(DECIDE_WAIT_MS_MAX + 1));
        assert_eq!(waiting.units(), 2);
        waiting.remove(ghost);
        assert_eq!(waiting.units(), 2, "it was gone already");
        waiting.remove(other);
        assert_eq!(waiting.units(), 0);
    }

    #[test]
    fn as_many_requests_wait_as_there_is_room_for_and_as_many_units_as_stay_exact() {
        let message = Seen::default();
        let add = |waiting: &mut Waiting, cost| {
            let ticket = waiting.add(Some("a"), Need::one(cost), message, EpochMs(0));
            ticket.is_some()
        };
        let mut many = Waiting::default();
        assert!((0..WAITERS_MAX).all(|_| add(&mut many, 1)));
        assert!(!add(&mut many, 1), "there is no room");
        assert_eq!(many.units(), WAITERS_MAX as u64);
        let mut large = Waiting::default();
        assert!(add(&mut large, COST_MAX - 1));
        assert!(!add(&mut large, 2), "the sum would not be exact");
        assert!(add(&mut large, 1));
        assert_eq!(large.units(), COST_MAX);
    }

    #[test]
    fn what_waits_for_one_tenant_is_summed_with_the_smallest_cost() {
        let mut waiting = Waiting::default();
        for (name, cost) in [("a", 7), ("b", 2), ("a", 5)] {
            let ticket = waiting.add(Some(name), Need::one(cost), Seen::default(), EpochMs(0));
            assert!(ticket.is_some());
        }
        let sum = Need {
            units: 12,
            smallest: 5,
        };
        assert_eq!(waiting.by_tenant().of(Some("a")), Some(sum));
        assert!(waiting.any(EpochMs(DECIDE_WAIT_MS_MAX)));
        assert!(!waiting.any(EpochMs(DECIDE_WAIT_MS_MAX + 1)));
    }
}
