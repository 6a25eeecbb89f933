//! The leased spender: a balance that leases fill and requests spend, one refill after the other.
//!
//! It is the smallest holder there is, without sequence numbers, returns or a clock of its own. Weir's isolates use
//! [`Holder`](super::holder::Holder).

use std::fmt;

use weir_shared::decision::{Decision, Reason, Retry};
use weir_shared::invalid::{Invalid, within};
use weir_shared::limits::{COST_MAX, JSON_INTEGER_MAX};
use weir_shared::units::EpochMs;

/// What becomes of a balance when its lease has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coupling {
    /// It stays. Only for leases that name no window.
    None,
    /// The next request drops it. A lease that arrives between the end and that request adds to it: what one window
    /// left over is spent in the next.
    AtSpend,
    /// The next request or lease drops it: nothing is spent outside the window that it was leased for.
    Strict,
}

/// A lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Parts of a unit that it brings.
    pub parts: u64,
    /// The last millisecond in which they may be spent.
    pub expires_at: EpochMs,
}

/// What a parent answers to a request for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// A lease, of at least one part.
    Lease(Lease),
    /// Its own denial.
    Denied(Decision),
}

/// Why a request could be neither admitted nor denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stuck {
    /// A cost out of range.
    Cost(Invalid),
    /// A lease of nothing came without a denial.
    EmptyLease,
    /// So many leases came, and the cost is still not covered. They stay.
    Rounds {
        /// How many.
        rounds_max: u32,
    },
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cost(invalid) => invalid.fmt(f),
            Self::EmptyLease => f.write_str("a lease of nothing came without a denial"),
            Self::Rounds { rounds_max } => write!(f, "not covered by {rounds_max} leases"),
        }
    }
}

impl std::error::Error for Stuck {}

/// A balance. It counts in equal parts of a unit, so that leases and costs with decimals are exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSpender {
    limit: u64,
    parts_per_unit: u64,
    coupling: Coupling,
    parts: u64,
    expires_at: Option<EpochMs>,
}

impl LeaseSpender {
    /// An empty balance of a pool of `limit` units, in `parts_per_unit` parts each.
    ///
    /// # Errors
    /// `/limit` or `/parts_per_unit` below 1 or above 2^53 - 1.
    pub fn new(limit: u64, parts_per_unit: u64, coupling: Coupling) -> Result<Self, Invalid> {
        Ok(Self {
            limit: within("/limit", limit, 1..=JSON_INTEGER_MAX)?,
            parts_per_unit: within("/parts_per_unit", parts_per_unit, 1..=JSON_INTEGER_MAX)?,
            coupling,
            parts: 0,
            expires_at: None,
        })
    }

    /// Adds a lease. Its end is that of the whole balance from now on.
    pub fn apply(&mut self, lease: Lease, now: EpochMs) {
        if self.coupling == Coupling::Strict {
            self.expire(now);
        }
        self.parts = self.parts.saturating_add(lease.parts);
        self.expires_at = Some(lease.expires_at);
    }

    /// Spends `parts`, if the balance covers them; `None` asks for a lease, and nothing is spent.
    ///
    /// # Errors
    /// `/cost` below 1 or above 2^53 - 1.
    ///
    /// ```
    /// use weir_reference::spender::{Coupling, Lease, LeaseSpender};
    /// use weir_shared::units::EpochMs;
    /// let mut spender = LeaseSpender::new(1_000, 1, Coupling::Strict).unwrap();
    /// assert_eq!(spender.spend(3, EpochMs(10)), Ok(None));
    /// spender.apply(Lease { parts: 5, expires_at: EpochMs(1_000) }, EpochMs(20));
    /// let admitted = spender.spend(3, EpochMs(30)).unwrap().unwrap();
    /// assert_eq!((admitted.remaining, admitted.reset_at), (2, EpochMs(1_000)));
    /// assert_eq!(spender.spend(1, EpochMs(1_001)), Ok(None)); // the lease has expired
    /// ```
    pub fn spend(&mut self, parts: u64, now: EpochMs) -> Result<Option<Decision>, Invalid> {
        within("/cost", parts, 1..=COST_MAX)?;
        if self.coupling != Coupling::None {
            self.expire(now);
        }
        let (Some(left), Some(reset_at)) = (self.parts.checked_sub(parts), self.expires_at) else {
            return Ok(None);
        };
        self.parts = left;
        Ok(Some(Decision {
            reason: Reason::Admitted,
            limit: self.limit,
            remaining: self.units(),
            reset_at,
            retry: Retry::Now,
        }))
    }

    /// Spends `parts`, asking `parent` for a lease of as many, up to `rounds_max` times, while the balance does not
    /// cover them.
    ///
    /// # Errors
    /// [`Stuck`]: a parent that neither grants nor denies.
    ///
    /// ```
    /// use weir_reference::spender::{Coupling, Lease, LeaseSpender, Reply, Stuck};
    /// use weir_shared::units::EpochMs;
    /// let mut spender = LeaseSpender::new(1_000, 1, Coupling::Strict).unwrap();
    /// let (now, mut asked) = (EpochMs(10), 0);
    /// let mut parent = |_| {
    ///     asked += 1;
    ///     Reply::Lease(Lease { parts: 4, expires_at: EpochMs(1_000) })
    /// };
    /// // 4, 8, 12: three leases cover 10 and leave 2.
    /// assert_eq!(spender.spend_or_refresh(10, 8, now, &mut parent).unwrap().remaining, 2);
    /// assert_eq!(asked, 3);
    /// let empty = Reply::Lease(Lease { parts: 0, expires_at: EpochMs(1_000) });
    /// assert_eq!(spender.spend_or_refresh(10, 8, now, |_| empty), Err(Stuck::EmptyLease));
    /// ```
    pub fn spend_or_refresh(
        &mut self,
        parts: u64,
        rounds_max: u32,
        now: EpochMs,
        mut parent: impl FnMut(u64) -> Reply,
    ) -> Result<Decision, Stuck> {
        for _ in 0..rounds_max {
            if let Some(decision) = self.spend(parts, now).map_err(Stuck::Cost)? {
                return Ok(decision);
            }
            match parent(parts) {
                Reply::Denied(decision) => return Ok(decision),
                Reply::Lease(lease) => {
                    self.apply(lease, now);
                    if lease.parts == 0 {
                        return Err(Stuck::EmptyLease);
                    }
                }
            }
        }
        let last = self.spend(parts, now).map_err(Stuck::Cost)?;
        last.ok_or(Stuck::Rounds { rounds_max })
    }

    /// Gives the balance up.
    pub fn reset(&mut self) {
        self.parts = 0;
        self.expires_at = None;
    }

    /// The balance in parts, which may have expired since, and when its lease expires.
    #[must_use]
    pub fn balance(&self) -> (u64, Option<EpochMs>) {
        (self.parts, self.expires_at)
    }

    fn expire(&mut self, now: EpochMs) {
        if self.expires_at.is_some_and(|expires_at| now > expires_at) {
            self.parts = 0;
        }
    }

    /// Whole units of the balance.
    fn units(&self) -> u64 {
        self.parts.checked_div(self.parts_per_unit).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(parts: u64, expires_at: u64) -> Lease {
        Lease {
            parts,
            expires_at: EpochMs(expires_at),
        }
    }

    #[test]
    fn what_a_window_left_over_is_spent_in_the_next_unless_leases_are_strictly_coupled() {
        let spent_after = |coupling| {
            let mut spender = LeaseSpender::new(1_000, 1, coupling).unwrap();
            spender.apply(lease(40, 1_000), EpochMs(0));
            spender.apply(lease(10, 2_000), EpochMs(1_500));
            let mut spent = 0;
            while spender.spend(1, EpochMs(1_500)).unwrap().is_some() {
                spent += 1;
            }
            spent
        };
        assert_eq!(spent_after(Coupling::Strict), 10);
        assert_eq!(spent_after(Coupling::AtSpend), 50);
        assert_eq!(spent_after(Coupling::None), 50);
    }

    #[test]
    fn leases_that_do_not_cover_the_cost_stay() {
        let mut spender = LeaseSpender::new(1_000, 1, Coupling::Strict).unwrap();
        let one = Reply::Lease(lease(1, 1_000));
        let stuck = spender.spend_or_refresh(10, 8, EpochMs(0), |_| one);
        assert_eq!(stuck, Err(Stuck::Rounds { rounds_max: 8 }));
        assert_eq!(spender.balance(), (8, Some(EpochMs(1_000))));
    }

    #[test]
    fn a_denied_or_refused_cost_spends_nothing() {
        let mut spender = LeaseSpender::new(1_000, 2, Coupling::Strict).unwrap();
        spender.apply(lease(5, 1_000), EpochMs(0));
        assert!(spender.spend(0, EpochMs(0)).is_err());
        let denied = Decision::unavailable(1_000, EpochMs(0), 5);
        let answer = spender.spend_or_refresh(6, 8, EpochMs(0), |_| Reply::Denied(denied));
        assert_eq!(answer, Ok(denied));
        assert_eq!(spender.balance().0, 5);
        assert_eq!(spender.spend(1, EpochMs(0)).unwrap().unwrap().remaining, 2);
    }
}
