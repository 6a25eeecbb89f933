//! What a reservation remembers of its charges, and how a settlement divides what was used among them.

use serde::{Deserialize, Serialize};
use weir_accounting::counters::Charged;
use weir_algorithms::scale::ScaledReceipt;
use weir_core::units::{EpochMs, OpId, WindowLabel};

use super::owner::Account;
use super::settlement::{Accounted, Use};

/// The charges of one request that is settled afterwards. It travels as text with a MAC, so that any isolate can
/// settle it and nobody can make one up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reservation {
    /// Names it.
    pub op: OpId,
    /// The region that charged it.
    pub region: String,
    /// For which tenant: only who may decide for it settles it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// On whose account the pools of keys are kept that it charged; nobody's where it charged none.
    #[serde(default, skip_serializing_if = "Account::is_nobody")]
    pub account: Account,
    /// Until when it can be settled; unsettled, it stays charged in full.
    pub expires_at: EpochMs,
    /// What was charged.
    pub charges: Vec<Reserved>,
    /// What is counted as used when it is settled; nothing where it was counted when it was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<Counted>,
}

/// What can be reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reservable {
    /// Units of a budget.
    Budget,
    /// Units of a limit.
    Limit,
    /// Units of a meter.
    Meter,
}

/// One check of a request that reserved, as it is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// What it charged.
    pub of: Reservable,
    /// Its name.
    pub name: String,
    /// The cost that it named.
    pub cost: u64,
}

impl Reservable {
    /// What a check charged, by name, if it can be reserved: slots are released, and of overloaded resources it counts who
    /// came.
    #[must_use]
    pub fn of(charged: Charged<'_>) -> Option<(Self, &str)> {
        match charged {
            Charged::Budget(name) => Some((Self::Budget, name)),
            Charged::Limit(name) => Some((Self::Limit, name)),
            Charged::Meter(name) => Some((Self::Meter, name)),
            Charged::Guard(_) | Charged::Overload(_) => None,
        }
    }

    /// The same to be counted.
    #[must_use]
    pub fn charged(self, name: &str) -> Charged<'_> {
        match self {
            Self::Budget => Charged::Budget(name),
            Self::Limit => Charged::Limit(name),
            Self::Meter => Charged::Meter(name),
        }
    }
}

/// One charge of a reservation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reserved {
    /// The cost that the request named for it.
    pub cost: u64,
    /// Units that were charged for that cost: a multiple of it where a weight applies.
    pub units: u64,
    /// Where.
    pub place: Place,
}

/// Where a charge lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In a window of a pool: a budget, or a key of a global limit.
    Pool {
        /// The pool's name.
        pool: String,
        /// The window.
        label: WindowLabel,
        /// The tenant, where tenants share the pool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tenant: Option<String>,
    },
    /// In the state of a key that a shard keeps.
    Key {
        /// The limit, or the name of a meter's states.
        limit: String,
        /// The key.
        key: String,
        /// Whether the shard is one of the whole deployment; else it is one of the region that charged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        global: bool,
        /// What gives it back.
        receipt: ScaledReceipt,
    },
}

/// What a settlement changes of one charge: one of the two is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// Units to give back.
    pub back: u64,
    /// Units to charge beyond.
    pub debt: u64,
}

impl Reservation {
    /// Whether there is nothing to settle, as what was let through was not charged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.charges.is_empty() && self.counted.is_empty()
    }

    /// The cost that was reserved: the largest of its charges.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.charges
            .iter()
            .map(|charge| charge.cost)
            .max()
            .unwrap_or(0)
    }

    /// What it comes to for the accounts when `actual` units were used: of several costs each is used in the same
    /// proportion, rounded up, and what goes beyond was used of those of the largest cost.
    ///
    /// ```
    /// use weir_limiting::owner::Account;
    /// use weir_limiting::reservation::{Counted, Reservable, Reservation};
    /// use weir_core::units::{EpochMs, OpId};
    /// let counted = |name: &str, cost| Counted { of: Reservable::Limit, name: name.to_owned(), cost };
    /// let reservation = Reservation {
    ///     op: OpId(1), region: "weur".to_owned(), tenant: None, account: Account::default(), expires_at: EpochMs(0),
    ///     charges: Vec::new(), counted: vec![counted("tokens", 300), counted("requests", 1)],
    /// };
    /// let used = |actual| reservation.accounted(actual).uses.iter().map(|one| one.used).collect::<Vec<_>>();
    /// assert_eq!(used(30), [30, 1]);
    /// assert_eq!(used(0), [0, 0]);
    /// assert_eq!(used(500), [500, 1]);
    /// ```
    #[must_use]
    pub fn accounted(&self, actual: u64) -> Accounted {
        let reserved = self.counted.iter().map(|one| one.cost).max().unwrap_or(0);
        let uses = self.counted.iter().map(|one| Use {
            of: one.of,
            name: one.name.clone(),
            reserved: one.cost,
            used: used(one.cost, actual, reserved),
        });
        Accounted {
            tenant: self.tenant.clone(),
            until: self.expires_at,
            uses: uses.collect(),
        }
    }

    /// What `actual` units change of each charge. Where a request charged several costs, each is used in the same
    /// proportion, rounded up; what goes beyond the reservation is charged to those of the largest cost.
    ///
    /// ```
    /// use weir_limiting::owner::Account;
    /// use weir_limiting::reservation::{Change, Place, Reservation, Reserved};
    /// use weir_core::units::{EpochMs, OpId, WindowLabel};
    /// let charge = |cost, units| Reserved {
    ///     cost, units,
    ///     place: Place::Pool { pool: "tokens".to_owned(), label: WindowLabel(1), tenant: None },
    /// };
    /// let reservation = Reservation {
    ///     op: OpId(1), region: "weur".to_owned(), tenant: None, account: Account::default(), expires_at: EpochMs(0),
    ///     charges: vec![charge(1_500, 1_500), charge(1, 2)], counted: Vec::new(),
    /// };
    /// let changes = |actual| reservation.settle(actual).iter().map(|c| (c.back, c.debt)).collect::<Vec<_>>();
    /// assert_eq!(changes(900), [(600, 0), (0, 0)]); // one request is used, whatever it cost
    /// assert_eq!(changes(0), [(1_500, 0), (2, 0)]); // released
    /// assert_eq!(changes(2_000), [(0, 500), (0, 0)]);
    /// ```
    #[must_use]
    pub fn settle(&self, actual: u64) -> Vec<Change> {
        let reserved = self.cost();
        self.charges
            .iter()
            .map(|charge| charge.settle(actual, reserved))
            .collect()
    }
}

/// What was used of one of several costs.
fn used(cost: u64, actual: u64, reserved: u64) -> u64 {
    if actual > reserved {
        return if cost == reserved { actual } else { cost };
    }
    let part = (u128::from(cost) * u128::from(actual)).div_ceil(u128::from(reserved.max(1)));
    u64::try_from(part).unwrap_or(u64::MAX)
}

impl Reserved {
    fn settle(&self, actual: u64, reserved: u64) -> Change {
        if self.cost == 0 || reserved == 0 {
            return Change::default();
        }
        let weighted = |cost: u128| {
            let units = u128::from(self.units) * cost / u128::from(self.cost);
            u64::try_from(units).unwrap_or(u64::MAX)
        };
        if actual > reserved {
            let beyond = u128::from(actual - reserved);
            let debt = if self.cost == reserved {
                weighted(beyond)
            } else {
                0
            };
            return Change { back: 0, debt };
        }
        let used = (u128::from(self.cost) * u128::from(actual)).div_ceil(u128::from(reserved));
        let back = self.units.saturating_sub(weighted(used));
        Change { back, debt: 0 }
    }
}
