//! A window's units split between regions by weight: each region is a tenant whose weight is that of the tenants active
//! in it, with a guarantee that no other region can take and a claim to what the others leave.
//!
//! With `L` units, weights `w_r` of the regions seen in this window and `W` their sum, region `r` is guaranteed
//! `g_r = floor(w_r L / W)`. It is granted up to `granted_r + max(0, L - sum granted - sum over the others of
//! max(0, g_j - granted_j))` in total. Weights are exact (millionths), so the guarantees are.
//!
//! It is what Weir's own fair sharing is measured against. Two levels of it are not the flat ideal: a region's claim
//! is its tenants' weight, whatever these can use, and a tenant that is active in several regions counts in each.

use serde::{Deserialize, Serialize};

use crate::limits::WEIGHT_SUM_MICROS_MAX;
use weir_shared::fairness::weight::Weight;
use weir_shared::invalid::{Fault, Invalid, within};
use weir_shared::limits::{JSON_INTEGER_MAX, REGIONS_MAX, WINDOW_MS_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::count::Count;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::stored::{Damaged, Row};

/// Weights added up, in millionths: at least 1, at most 2^60.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WeightSum(u64);

impl WeightSum {
    /// In millionths.
    #[must_use]
    pub fn micros(self) -> u64 {
        self.0
    }

    /// The sum of so many millionths.
    ///
    /// # Errors
    /// [`Fault::OutOfRange`] outside 1 to 2^60.
    ///
    /// ```
    /// use weir_reference::region_pool::WeightSum;
    /// assert_eq!(WeightSum::from_micros(2_500_000).unwrap().micros(), 2_500_000);
    /// assert!(WeightSum::from_micros(0).is_err());
    /// ```
    pub fn from_micros(micros: u128) -> Result<Self, Fault> {
        match u64::try_from(micros) {
            Ok(sum) if (1..=WEIGHT_SUM_MICROS_MAX).contains(&sum) => Ok(Self(sum)),
            _ => Err(Fault::OutOfRange {
                got: micros.to_string(),
                min: "1".to_owned(),
                max: WEIGHT_SUM_MICROS_MAX.to_string(),
            }),
        }
    }
}

impl From<Weight> for WeightSum {
    fn from(weight: Weight) -> Self {
        Self(weight.micros())
    }
}

/// What a region has of the open window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionGrant {
    /// The region.
    pub region: String,
    /// Its weight, as it was last told.
    pub weight: WeightSum,
    /// Units granted to it in this window.
    pub granted: u64,
}

/// The window's units and who has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionPool {
    limit: u64,
    window_ms: u64,
    opened_at: Option<EpochMs>,
    regions: Vec<RegionGrant>,
}

impl RegionPool {
    /// A pool of `limit` units per `window_ms`. Windows begin on multiples of their length; the first opens with the
    /// first grant.
    ///
    /// # Errors
    /// `/limit` outside 1 to 2^53 - 1, `/window_ms` outside 1 to 400 days.
    pub fn new(limit: u64, window_ms: u64) -> Result<Self, Invalid> {
        Ok(Self {
            limit: within("/limit", limit, 1..=JSON_INTEGER_MAX)?,
            window_ms: within("/window_ms", window_ms, 1..=WINDOW_MS_MAX)?,
            opened_at: None,
            regions: Vec::new(),
        })
    }

    /// Raises what `region` has in this window to `want` units, as far as the others' guarantees leave them, and
    /// answers what it has. A region that has more keeps it. Its weight holds from now on, for this grant too.
    ///
    /// # Errors
    /// At `/region`, when there are [`REGIONS_MAX`] others in this window; nothing changes.
    ///
    /// ```
    /// use weir_reference::region_pool::{RegionPool, WeightSum};
    /// use weir_shared::units::EpochMs;
    /// let mut pool = RegionPool::new(99, 1_000).unwrap();
    /// let weight = |units: u128| WeightSum::from_micros(units * 1_000_000).unwrap();
    /// let mut grant = |region, units, want| pool.grant(region, weight(units), want, EpochMs(4_243)).unwrap();
    /// // Alone, a region may have all.
    /// assert_eq!(grant("weur", 1, 27), 27);
    /// // 10 of 11 parts are enam's, and 99 / 11 = 9 of weur's are spent: 72 are left, of which it asks for 40.
    /// assert_eq!(grant("enam", 10, 40), 40);
    /// // Of 99, weur is guaranteed 4, enam 47, oc 47: of the 32 that are left, 7 stay reserved for enam.
    /// assert_eq!(grant("oc", 10, 60), 25);
    /// ```
    pub fn grant(
        &mut self,
        region: &str,
        weight: WeightSum,
        want: u64,
        now: EpochMs,
    ) -> Result<u64, Invalid> {
        self.roll(now);
        let index = self.join(region, weight)?;
        let available = self.available(index);
        let Some(grant) = self.regions.get_mut(index) else {
            return Ok(0);
        };
        let reach = grant.granted.saturating_add(available);
        grant.granted = grant.granted.max(want.min(reach));
        Ok(grant.granted)
    }

    /// Forgets a region: what it was granted can be granted again. Only safe when it has spent none of it, and will
    /// spend none.
    pub fn release(&mut self, region: &str) {
        self.regions.retain(|grant| grant.region != region);
    }

    /// Units per window.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Milliseconds of a window.
    #[must_use]
    pub fn window_ms(&self) -> u64 {
        self.window_ms
    }

    /// When the open window began; `None` before the first grant.
    #[must_use]
    pub fn opened_at(&self) -> Option<EpochMs> {
        self.opened_at
    }

    /// Units granted in the open window.
    #[must_use]
    pub fn granted_total(&self) -> u64 {
        let granted = self.regions.iter().map(|grant| grant.granted);
        granted.fold(0, u64::saturating_add)
    }

    /// The regions seen in the open window, in the order in which they came.
    #[must_use]
    pub fn regions(&self) -> &[RegionGrant] {
        &self.regions
    }

    /// As it is stored.
    #[must_use]
    pub fn state(&self) -> RegionPoolState {
        let stored = |grant: &RegionGrant| StoredGrant {
            region: grant.region.clone(),
            weight_micros: Count(grant.weight.micros().into()),
            granted: grant.granted,
        };
        RegionPoolState {
            version: VERSION,
            limit: self.limit,
            window_ms: self.window_ms,
            opened_at: self.opened_at,
            regions: self.regions.iter().map(stored).collect(),
        }
    }

    /// The window that `now` lies in begins at a multiple of its length.
    pub(super) fn window_start(&self, now: EpochMs) -> EpochMs {
        let past_ms = now.0.checked_rem(self.window_ms).unwrap_or(0);
        EpochMs(now.0.saturating_sub(past_ms))
    }

    /// Windows only roll forward.
    fn roll(&mut self, now: EpochMs) {
        let start = self.window_start(now);
        if self.opened_at.is_none_or(|opened_at| start > opened_at) {
            self.opened_at = Some(start);
            self.regions.clear();
        }
    }

    fn join(&mut self, region: &str, weight: WeightSum) -> Result<usize, Invalid> {
        let mut grants = self.regions.iter_mut().enumerate();
        if let Some((index, grant)) = grants.find(|(_, grant)| grant.region == region) {
            grant.weight = weight;
            return Ok(index);
        }
        let index = self.regions.len();
        if index >= REGIONS_MAX {
            let fault = Fault::TooMany {
                got: index.saturating_add(1),
                max: REGIONS_MAX,
                what: "regions",
            };
            return Err(Invalid::new("/region", fault));
        }
        self.regions.push(RegionGrant {
            region: region.to_owned(),
            weight,
            granted: 0,
        });
        Ok(index)
    }

    /// What is neither granted nor reserved for a region other than `index`.
    fn available(&self, index: usize) -> u64 {
        let weights = self.regions.iter().map(|grant| grant.weight.micros());
        let weight_sum = weights.fold(0, |sum: u128, micros| sum.saturating_add(micros.into()));
        let others = self.regions.iter().enumerate();
        let reserved = others
            .filter(|(other, _)| *other != index)
            .map(|(_, grant)| {
                let guarantee = guarantee(grant.weight.micros(), self.limit, weight_sum);
                guarantee.saturating_sub(grant.granted)
            })
            .fold(0, u64::saturating_add);
        let left = self.limit.saturating_sub(self.granted_total());
        left.saturating_sub(reserved)
    }
}

/// `floor(weight x limit / weight_sum)`: with weights of up to 2^60 and limits of up to 2^53, below 2^113.
fn guarantee(weight_micros: u64, limit: u64, weight_sum: u128) -> u64 {
    let share = u128::from(weight_micros)
        .saturating_mul(limit.into())
        .checked_div(weight_sum)
        .unwrap_or(0);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// A pool as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionPoolState {
    /// The version of this form.
    pub version: u16,
    /// Units per window.
    pub limit: u64,
    /// Milliseconds of a window.
    pub window_ms: u64,
    /// When the open window began.
    pub opened_at: Option<EpochMs>,
    /// The regions seen in it, in the order in which they came.
    pub regions: Vec<StoredGrant>,
}

/// What a region has of the open window, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredGrant {
    /// The region.
    pub region: String,
    /// Its weight in millionths.
    pub weight_micros: Count,
    /// Units granted to it.
    pub granted: u64,
}

impl Row for RegionPoolState {
    fn version(&self) -> u16 {
        self.version
    }

    fn consistent(&self) -> Result<(), Damaged> {
        RegionPool::try_from(self.clone()).map(drop)
    }
}

impl TryFrom<RegionPoolState> for RegionPool {
    type Error = Damaged;

    /// The pool that was stored.
    ///
    /// ```
    /// use weir_reference::region_pool::{RegionPool, RegionPoolState, WeightSum};
    /// use weir_shared::units::EpochMs;
    /// use weir_shared::wire::stored::read_row;
    /// let mut pool = RegionPool::new(99, 1_000).unwrap();
    /// pool.grant("weur", WeightSum::from_micros(1_000_000).unwrap(), 27, EpochMs(4_243)).unwrap();
    /// let row = serde_json::to_string(&pool.state()).unwrap();
    /// let state: RegionPoolState = read_row(&row).unwrap();
    /// assert_eq!(RegionPool::try_from(state).unwrap(), pool);
    /// ```
    fn try_from(state: RegionPoolState) -> Result<Self, Damaged> {
        let contradiction = |what| Damaged::Contradiction { what };
        let mut pool = Self::new(state.limit, state.window_ms)
            .map_err(|_| contradiction("a limit or a window out of range"))?;
        pool.opened_at = state.opened_at;
        for stored in state.regions {
            let weight = WeightSum::from_micros(stored.weight_micros.0)
                .map_err(|_| contradiction("a weight out of range"))?;
            let seen = pool.regions.len();
            let index = pool
                .join(&stored.region, weight)
                .map_err(|_| contradiction("too many regions"))?;
            match pool.regions.get_mut(index) {
                Some(grant) if index == seen => grant.granted = stored.granted,
                _ => return Err(contradiction("a region that is stored twice")),
            }
        }
        if pool.opened_at.is_none() && !pool.regions.is_empty() {
            return Err(contradiction("regions without a window"));
        }
        if pool.granted_total() > pool.limit {
            return Err(contradiction("more granted than the limit"));
        }
        Ok(pool)
    }
}
