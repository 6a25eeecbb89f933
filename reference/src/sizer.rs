//! How many units to lease at a time: the economic order quantity (F. W. Harris, How Many Parts to Make at Once, 1913).
//!
//! A window that spends `D` units in leases of `s` pays `c D / s` for asking, at `c` a lease, and `h s / 2` for what lies
//! idle, at `h` a unit and window: the sum is least at `s = sqrt(2 c D / h)`, and is flat there: a size that is off by
//! a tenth costs half a percent more.
//!
//! `D` is the middle one of the last three windows' demands. A steady demand is met from the second window on, a window
//! that is unlike its neighbours changes nothing, and a size never leaves the range of the optima of what was seen.

use std::collections::VecDeque;

use crate::limits::LEASE_COST_MAX;
use weir_shared::algorithms::rational::Rational;
use weir_shared::invalid::{Invalid, within};
use weir_shared::limits::{JSON_INTEGER_MAX, WEIGHT_DECIMALS_MAX};
use weir_shared::wire::decimal::Decimal;

/// Windows whose demand is kept.
const WINDOWS: usize = 3;

/// What a lease costs against what it leaves idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseCosts {
    /// `2 c / h` over the line.
    numerator: u128,
    /// And under it; at least 1.
    denominator: u128,
}

impl LeaseCosts {
    /// `per_lease` for each lease and `per_idle_unit` for each unit of its size and window, in the same currency.
    ///
    /// # Errors
    /// `/per_lease` or `/per_idle_unit` not above 0, above [`LEASE_COST_MAX`], or with more than six decimals.
    pub fn new(per_lease: Decimal, per_idle_unit: Decimal) -> Result<Self, Invalid> {
        let cost = |field: &str, value: Decimal| {
            Rational::above_zero(value.0, LEASE_COST_MAX, WEIGHT_DECIMALS_MAX)
                .map_err(|fault| Invalid::new(field, fault))
        };
        let lease = cost("/per_lease", per_lease)?;
        let idle = cost("/per_idle_unit", per_idle_unit)?;
        let product = |a: u64, b: u64| u128::from(a).saturating_mul(b.into());
        Ok(Self {
            numerator: product(lease.numerator(), idle.denominator()).saturating_mul(2),
            denominator: product(lease.denominator(), idle.numerator()).max(1),
        })
    }

    /// The size that costs least when `demand` units a window are spent, in parts of a unit, of which there are
    /// `parts_per_unit`: the whole number of parts next to `sqrt(2 c D / h)`.
    ///
    /// ```
    /// use weir_reference::sizer::LeaseCosts;
    /// use weir_shared::wire::decimal::Decimal;
    /// let costs = LeaseCosts::new(Decimal(5.0), Decimal(0.1)).unwrap();
    /// // sqrt(2 x 5 x 11,329 / 0.1) = 1,064.378
    /// assert_eq!(costs.optimum(11_329, 1), 1_064);
    /// assert_eq!(costs.optimum(11_329, 1_000), 1_064_378);
    /// assert_eq!(costs.optimum(0, 1), 0);
    /// ```
    #[must_use]
    pub fn optimum(self, demand: u64, parts_per_unit: u64) -> u64 {
        let parts = u128::from(parts_per_unit);
        let square = self
            .numerator
            .saturating_mul(demand.into())
            .saturating_mul(parts.saturating_mul(parts))
            .checked_div(self.denominator)
            .unwrap_or(u128::MAX);
        let root = square.isqrt();
        // (r + 1/2)^2 = r^2 + r + 1/4: above it, the next one is nearer.
        let is_above = square.saturating_sub(root.saturating_mul(root)) > root;
        let nearest = root.saturating_add(u128::from(is_above));
        u64::try_from(nearest).unwrap_or(u64::MAX)
    }
}

/// Sizes leases by the demand that it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSizer {
    costs: LeaseCosts,
    min: u64,
    max: u64,
    initial: u64,
    demands: VecDeque<u64>,
}

impl LeaseSizer {
    /// A sizer that says `initial` until it was told a demand, and never less than `min` nor more than `max`.
    ///
    /// # Errors
    /// `/min` outside 1 to `max`, `/max` above 2^53 - 1.
    pub fn new(costs: LeaseCosts, min: u64, max: u64, initial: u64) -> Result<Self, Invalid> {
        let max = within("/max", max, 1..=JSON_INTEGER_MAX)?;
        let min = within("/min", min, 1..=max)?;
        Ok(Self {
            costs,
            min,
            max,
            initial: initial.clamp(min, max),
            demands: VecDeque::with_capacity(WINDOWS),
        })
    }

    /// A window is over, in which so many units were asked for.
    pub fn observe(&mut self, demand: u64) {
        if self.demands.len() >= WINDOWS {
            self.demands.pop_front();
        }
        self.demands.push_back(demand);
    }

    /// Units to lease at a time.
    ///
    /// ```
    /// use weir_reference::sizer::{LeaseCosts, LeaseSizer};
    /// use weir_shared::wire::decimal::Decimal;
    /// let costs = LeaseCosts::new(Decimal(1.0), Decimal(1.0)).unwrap();
    /// let mut sizer = LeaseSizer::new(costs, 1, 1_000_000, 16).unwrap();
    /// assert_eq!(sizer.size(), 16);
    /// for demand in [200, 200, 200] {
    ///     sizer.observe(demand);
    /// }
    /// assert_eq!(sizer.size(), 20); // sqrt(2 x 200)
    /// sizer.observe(2_000_000_000); // one window unlike the others
    /// assert_eq!(sizer.size(), 20);
    /// ```
    #[must_use]
    pub fn size(&self) -> u64 {
        match self.demand() {
            Some(demand) => self.costs.optimum(demand, 1).clamp(self.min, self.max),
            None => self.initial,
        }
    }

    /// The middle one of the demands, the lower one of two.
    fn demand(&self) -> Option<u64> {
        let mut sorted: Vec<u64> = self.demands.iter().copied().collect();
        sorted.sort_unstable();
        let middle = sorted.len().saturating_sub(1) / 2;
        sorted.get(middle).copied()
    }
}
