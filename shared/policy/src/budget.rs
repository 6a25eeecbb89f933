//! A validated budget.

use weir_core::invalid::Invalid;
use weir_core::limits::{
    BUDGET_WINDOW_MS_MIN, DESCRIPTION_BYTES_MAX, JSON_INTEGER_MAX, POOLED_WINDOW_MS_MIN,
    STANDING_WINDOWS, WINDOW_MS_MAX,
};
use weir_core::name::line;
use weir_core::units::Revision;
use weir_fairness::weight::Weight;
use weir_federation::partition;
use weir_wire::exchange::{FloorsBody, LeaseBody, RuleBody, SharingBody, Terms};
use weir_wire::lease_sizes::{LeaseBoundsBody, LeaseSizesBody};
use weir_wire::policy::{BudgetBody, OnUnavailable, Outage, Reserve, Scope, Sharing};

use super::{between, bounded, required, served};

/// A budget that is served as it says: `sharing`, `scope` and what depends on them fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Units per window: of each isolate, of each region, or over the whole deployment.
    pub limit: u64,
    /// Length of a window.
    pub window_ms: u64,
    /// Who gets how much of it.
    pub sharing: Sharing,
    /// What the limit is for.
    pub scope: Scope,
    /// What happens to unused guarantees; counts with `weighted_fair_escrow` alone.
    pub reserve: Reserve,
    /// What a region does while the coordinator is out of reach.
    pub outage: Outage,
    /// Bounds of what is lent ahead of demand; `None` where demand alone decides.
    pub lease: Option<LeaseBounds>,
    /// Whether it is only decided and counted.
    pub shadow: bool,
    /// What is answered when a holder is out of reach.
    pub on_unavailable: OnUnavailable,
}

/// The least and the most units of a lease ahead of demand: `1 <= min <= max <= limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseBounds {
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

impl Budget {
    /// The terms that travel with every exchange, of tenants of whom `tenants_max` are told apart and those without a
    /// name in the policy weigh at most `unknown_weight_max` together. With `static_partition` the limit is that of
    /// the whole deployment: see [`slice`](Self::slice). What is set aside for tenants is not the budget's to say.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::budget::Budget;
    /// use weir_fairness::weight::Weight;
    /// use weir_core::units::Revision;
    /// use weir_wire::exchange::RuleBody;
    /// let text = br#"{"limit":300,"window_ms":1000,"sharing":"weighted_fair_escrow","scope":"global",
    ///     "reserve":"paced","outage":"regional_only"}"#;
    /// let budget = Budget::try_from(&read_json(text).unwrap()).unwrap();
    /// let terms = budget.terms(Revision(7), 5_000, Weight::WHOLE);
    /// assert_eq!((terms.limit, terms.standing), (300, 3));
    /// let sharing = terms.sharing.unwrap();
    /// assert_eq!((sharing.rule, sharing.unknown_weight_max), (RuleBody::Paced, 1_000_000));
    /// ```
    #[must_use]
    pub fn terms(&self, revision: Revision, tenants_max: u64, unknown_weight_max: Weight) -> Terms {
        let sharing = self.rule().map(|rule| SharingBody {
            rule,
            tenants_max,
            unknown_weight_max: unknown_weight_max.micros(),
            floors: FloorsBody::default(),
        });
        Terms {
            limit: self.limit,
            window_ms: self.window_ms,
            revision,
            cycle: None,
            sharing,
            lease: self.lease.map(|bounds| LeaseBody {
                min: bounds.min,
                max: bounds.max,
            }),
            standing: match self.outage {
                Outage::RegionalOnly => STANDING_WINDOWS,
                Outage::FailClosed => 0,
            },
        }
    }

    /// The rule by which tenants share it; `None` where it goes to whoever comes first.
    #[must_use]
    pub fn rule(&self) -> Option<RuleBody> {
        match (self.sharing, self.reserve) {
            (Sharing::FairShare, _) => Some(RuleBody::Fair),
            (Sharing::WeightedFairShare, _) => Some(RuleBody::Weighted),
            (Sharing::WeightedFairEscrow, Reserve::Pinned) => Some(RuleBody::Pinned),
            (Sharing::WeightedFairEscrow, Reserve::Paced) => Some(RuleBody::Paced),
            (Sharing::WeightedFairEscrow, Reserve::Pooled) => Some(RuleBody::Pooled),
            (Sharing::WeightedFairEscrow, Reserve::None) => Some(RuleBody::None),
            (Sharing::FirstCome | Sharing::StaticPartition, _) => None,
        }
    }

    /// Where its windows are opened and the whole of what they allow is lent from. The slices of a `static_partition`
    /// are the regions' own.
    #[must_use]
    pub fn root(&self) -> Scope {
        match self.sharing {
            Sharing::StaticPartition => Scope::Region,
            _ => self.scope,
        }
    }

    /// Units per window that a `static_partition` gives to `region`, one of `regions`, in their order: equal parts, of
    /// which the first ones have one unit more each until nothing remains. 0 for a region that is not among them.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::budget::Budget;
    /// let text = br#"{"limit":100,"window_ms":1000,"sharing":"static_partition","scope":"global"}"#;
    /// let budget = Budget::try_from(&read_json(text).unwrap()).unwrap();
    /// let regions = ["weur", "enam", "oc"].map(str::to_owned);
    /// // 100 = 3 x 33 + 1.
    /// let slices = ["weur", "enam", "oc", "me"].map(|region| budget.slice(&regions, region));
    /// assert_eq!(slices, [34, 33, 33, 0]);
    /// ```
    #[must_use]
    pub fn slice(&self, regions: &[String], region: &str) -> u64 {
        let index = regions.iter().position(|name| name == region);
        index.map_or(0, |index| {
            partition::slice(self.limit, index, regions.len())
        })
    }

    /// The same budget, if each of `regions` gets a unit of it at least.
    ///
    /// # Errors
    /// At `/limit`, where it is less than the regions that share it.
    pub(super) fn divided(self, regions: &[String]) -> Result<Self, Invalid> {
        let slices = match self.sharing {
            Sharing::StaticPartition => regions.len() as u64,
            _ => 1,
        };
        between("/limit", self.limit, slices, JSON_INTEGER_MAX)?;
        Ok(self)
    }
}

impl TryFrom<&BudgetBody> for Budget {
    type Error = Invalid;

    fn try_from(body: &BudgetBody) -> Result<Self, Invalid> {
        if let Some(text) = &body.description {
            line(text, DESCRIPTION_BYTES_MAX)
                .map_err(|fault| Invalid::new("/description", fault))?;
        }
        let limit = bounded("/limit", required("/limit", body.limit)?, JSON_INTEGER_MAX)?;
        let window_ms = required("/window_ms", body.window_ms)?;
        let sharing = required("/sharing", body.sharing)?;
        let scope = required("/scope", body.scope)?;
        let window_ms_min = match scope {
            Scope::Global => BUDGET_WINDOW_MS_MIN,
            Scope::Isolate | Scope::Region => 1,
        };
        between("/window_ms", window_ms, window_ms_min, WINDOW_MS_MAX)?;
        served::pair(sharing, scope)?;
        let reserve = body.reserve.unwrap_or(reserve_of(sharing, window_ms));
        served::reserve(reserve, sharing)?;
        let outage = body.outage.unwrap_or(Outage::FailClosed);
        served::outage(outage, sharing, scope)?;
        let lease = match &body.lease {
            None | Some(LeaseSizesBody::Auto) => None,
            Some(LeaseSizesBody::Between(bounds)) => {
                served::lease_bounds(sharing, scope)?;
                let at = |refused: Invalid| refused.under("/lease");
                Some(lease_bounds(bounds, limit).map_err(at)?)
            }
        };
        Ok(Self {
            limit,
            window_ms,
            sharing,
            scope,
            reserve,
            outage,
            lease,
            shadow: body.shadow.unwrap_or(false),
            on_unavailable: body.on_unavailable.unwrap_or(OnUnavailable::Deny),
        })
    }
}

/// What happens to unused guarantees where the policy does not say: of the rules that keep a guarantee, the one under which the
/// least is left unused and the fewest requests wait, where a window has time to correct allowances; in shorter ones, the one
/// that keeps guarantees whole. Other sharing has none.
fn reserve_of(sharing: Sharing, window_ms: u64) -> Reserve {
    match sharing {
        Sharing::WeightedFairEscrow if window_ms >= POOLED_WINDOW_MS_MIN => Reserve::Pooled,
        _ => Reserve::Pinned,
    }
}

fn lease_bounds(body: &LeaseBoundsBody, limit: u64) -> Result<LeaseBounds, Invalid> {
    let max = bounded("/max", required("/max", body.max)?, limit)?;
    let min = bounded("/min", required("/min", body.min)?, max)?;
    Ok(LeaseBounds { min, max })
}
