//! What a policy sets aside for tenants of a budget, and whether that and what bounds them can be kept.
//!
//! Floors that are said by name, in a tenant's entry or an override, are set aside whether or not the tenant is there. What
//! they come to at each instant travels with a budget's terms, as one number; the root needs no policy for it.

use weir_core::invalid::{Fault, Invalid};
use weir_core::json::pointer::step;
use weir_core::limits::{BOUNDED_CLAIMS_MAX, JSON_INTEGER_MAX};
use weir_core::ordered::{OrderedMap, OrderedSet};
use weir_core::units::EpochMs;
use weir_fairness::ask::SetAside;
use weir_fairness::weight::Weight;
use weir_wire::amount::AmountBody;

use super::Policy;
use super::between;
use super::changes::{By, Changes, Word};
use super::claim::{Claim, Said};
use super::tenant::{Named, Tiers};

/// What floors by name come to, by budget and by the tenant above those that have them: from when on, each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FloorSums(OrderedMap<String, OrderedMap<Option<String>, Vec<SetAside>>>);

impl FloorSums {
    /// What is set aside at `now` for tenants of a budget with that tenant above them.
    pub fn at(&self, budget: &str, above: Option<&str>, now: EpochMs) -> SetAside {
        let sums = self.0.get(budget);
        // Most policies set nothing aside.
        let sums = sums.and_then(|sums| sums.get(&above.map(str::to_owned)));
        let past = sums.map_or(&[][..], Vec::as_slice);
        let next = past.partition_point(|sum| sum.since <= now);
        let last = next.checked_sub(1).and_then(|last| past.get(last));
        last.copied().unwrap_or_default()
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether for tenants of a budget it is the same at every instant.
    pub fn are_constant(&self, budget: &str) -> bool {
        let sums = self.0.get(budget).into_iter().flat_map(OrderedMap::values);
        sums.flatten().all(|sum| sum.since == EpochMs(0))
    }
}

/// The sums of a policy's floors by name.
///
/// # Errors
/// At a ceiling or a floor of a budget that keeps no accounts of tenants, at a floor above its tenant's ceiling, at one
/// with which those that can be in force at once come to more than there is, and at a budget to which there are more
/// different claims than a decision can sum up.
pub(super) fn sums(policy: &Policy) -> Result<FloorSums, Invalid> {
    let mut budgets = OrderedSet::new();
    for (word, tenant) in words(&policy.tiers) {
        for (name, claim) in &word.changes.budgets {
            let at = || format!("{}/budgets{}", word.by.place(tenant), step(name));
            if let Some(field) = bounds(claim) {
                kept(policy, name).map_err(|fault| Invalid::new(at() + field, fault))?;
                budgets.insert(name.as_str());
            }
        }
    }
    let mut all = FloorSums::default();
    for budget in budgets {
        let sums = Book::read(policy, budget)?.sums()?;
        if !sums.is_empty() {
            all.0.insert(budget.to_owned(), sums);
        }
    }
    Ok(all)
}

/// All that tiers, tenants and overrides say, each with the tenant that it is said of.
fn words(tiers: &Tiers) -> impl Iterator<Item = (Word<'_>, &str)> {
    let of_tiers = tiers.tiers().filter_map(|tier| tiers.tier_word(tier));
    let of_tenants = tiers.iter().flat_map(|(name, named)| {
        let own = Word {
            changes: &named.changes,
            by: By::Tenant,
        };
        let overrides = named.overrides.iter().map(Word::of_override);
        let all = std::iter::once(own).chain(overrides);
        all.map(move |word| (word, name))
    });
    of_tiers.map(|word| (word, "")).chain(of_tenants)
}

/// The first field of a claim that bounds a tenant or sets something aside.
fn bounds(claim: &Claim) -> Option<&'static str> {
    let ceiling = claim.body.ceiling.map(|_| "/ceiling");
    ceiling.or(claim.body.floor.map(|_| "/floor"))
}

/// Refuses bounds of tenants where nobody counts what each has used.
fn kept(policy: &Policy, budget: &str) -> Result<(), Fault> {
    match policy.budgets.get(budget) {
        Some(one) if one.rule().is_none() => Err(Fault::Unserved {
            got: format!(
                "a ceiling or floor of a tenant with {}",
                super::wire_name(&one.sharing)
            ),
            served: "budgets that keep an account of each tenant: fair_share, weighted_fair_share, weighted_fair_escrow",
        }),
        _ => Ok(()),
    }
}

/// What a tenant is bound to and set aside in one span of time.
type Bounded = (Weight, Option<u64>, u64);

/// One budget, as it is looked through.
struct Book<'a> {
    policy: &'a Policy,
    budget: &'a str,
    limit: u64,
    /// Different claims with a ceiling or a floor.
    claims: OrderedSet<Bounded>,
    /// By the tenant above: when the sum of floors by name changes, and by how much.
    turns: OrderedMap<Option<&'a str>, OrderedMap<EpochMs, i128>>,
}

impl<'a> Book<'a> {
    fn read(policy: &'a Policy, budget: &'a str) -> Result<Self, Invalid> {
        let mut book = Self {
            policy,
            budget,
            limit: policy.budgets.get(budget).map_or(0, |one| one.limit),
            claims: OrderedSet::new(),
            turns: OrderedMap::new(),
        };
        for tier in policy.tiers.tiers() {
            book.tier(tier)?;
        }
        for (tenant, named) in policy.tiers.iter() {
            book.tenant(tenant, named)?;
        }
        let what = "different claims with a ceiling or a floor";
        let at = format!("/budgets{}", step(budget));
        super::count(&at, what, book.claims.len(), BOUNDED_CLAIMS_MAX)?;
        Ok(book)
    }

    /// A tier's own word, as it counts for whoever says nothing else.
    fn tier(&mut self, tier: &str) -> Result<(), Invalid> {
        let Some(claims) = self.policy.tiers.tier_named(tier) else {
            return Ok(());
        };
        let said = claims.changes.budgets.get(self.budget);
        let said = said.copied().unwrap_or_default();
        let ceiling = said.body.ceiling.and_then(AmountBody::units);
        let floor = said.body.floor.unwrap_or(0);
        let at = format!("/tiers{}/budgets{}/floor", step(tier), step(self.budget));
        between(&at, floor, 0, ceiling.unwrap_or(JSON_INTEGER_MAX))?;
        if let Some(weight) = said.weight.or(claims.claim.weight) {
            self.claim(weight, ceiling, floor);
        }
        Ok(())
    }

    fn claim(&mut self, weight: Weight, ceiling: Option<u64>, floor: u64) {
        if ceiling.is_some() || floor > 0 {
            self.claims.insert((weight, ceiling, floor));
        }
    }

    /// A tenant in each span of time that its overrides make.
    fn tenant(&mut self, tenant: &'a str, named: &'a Named) -> Result<(), Invalid> {
        let says = |changes: &Changes| !changes.budgets.is_empty();
        let own = says(&named.changes) || named.claim.weight.is_some();
        if !own && named.overrides.iter().next().is_none() {
            return Ok(());
        }
        let turns = named.overrides.turns().chain([EpochMs(0)]);
        let turns: OrderedSet<EpochMs> = turns.collect();
        let mut before = 0;
        for now in turns {
            let Some((tier, _)) = self.policy.tiers.tier(tenant) else {
                return Ok(());
            };
            let who = (tenant, tier);
            let tiers = &self.policy.tiers;
            let weight = tiers.said(|claim| claim.weight, who, Some(self.budget), now);
            let ceiling = tiers.said(|claim| claim.body.ceiling, who, Some(self.budget), now);
            let floor = tiers.said(|claim| claim.body.floor, who, Some(self.budget), now);
            let most = ceiling.and_then(|said| said.value.units());
            let units = floor.map_or(0, |said| said.value);
            if let Some(most) = most.filter(|most| *most < units) {
                return Err(self.crossed(tenant, (ceiling, floor), most));
            }
            if let Some(weight) = weight {
                self.claim(weight.value, most, units);
            }
            let by_name = floor.filter(|said| said.by.is_by_name());
            let by_name = by_name.map_or(0, |said| said.value);
            let change = i128::from(by_name) - i128::from(before);
            if change != 0 {
                let turns = self.turns.entry(named.parent.as_deref()).or_default();
                *turns.entry(now).or_insert(0) += change;
            }
            before = by_name;
        }
        Ok(())
    }

    /// The refusal of a floor above the ceiling: at what is said by name.
    fn crossed(
        &self,
        tenant: &str,
        (ceiling, floor): (Option<Said<'_, AmountBody>>, Option<Said<'_, u64>>),
        most: u64,
    ) -> Invalid {
        let units = floor.map_or(0, |said| said.value);
        let of_floor = floor.filter(|said| said.by.is_by_name());
        let (by, field, got, min, max) = match (of_floor, ceiling) {
            (None, Some(said)) => (said.by, "ceiling", most, units, JSON_INTEGER_MAX),
            (floor, _) => {
                let by = floor.map_or(By::Tenant, |said| said.by);
                (by, "floor", units, 0, most)
            }
        };
        let at = format!("{}/budgets{}/{field}", by.place(tenant), step(self.budget));
        let fault = Fault::OutOfRange {
            got: got.to_string(),
            min: min.to_string(),
            max: max.to_string(),
        };
        Invalid::new(at, fault)
    }

    /// What floors by name come to from when on, by the tenant above.
    fn sums(self) -> Result<OrderedMap<Option<String>, Vec<SetAside>>, Invalid> {
        let mut sums = OrderedMap::new();
        for (above, turns) in &self.turns {
            let (mut units, mut of) = (0_i128, Vec::with_capacity(turns.len()));
            for (since, change) in turns {
                units += change;
                of.push(SetAside {
                    since: *since,
                    units: u64::try_from(units).unwrap_or(u64::MAX),
                });
            }
            self.fit(*above, &of)?;
            sums.insert(above.map(str::to_owned), of);
        }
        Ok(sums)
    }

    /// Refuses floors that come to more than the limit, or than the ceiling of the tenant above them, at some instant.
    fn fit(&self, above: Option<&str>, sums: &[SetAside]) -> Result<(), Invalid> {
        let named = above.and_then(|above| self.policy.tiers.named(above));
        let turns = named.into_iter().flat_map(|named| named.overrides.turns());
        let turns: OrderedSet<EpochMs> = turns.chain(sums.iter().map(|sum| sum.since)).collect();
        for now in turns {
            let next = sums.partition_point(|sum| sum.since <= now);
            let sum = next.checked_sub(1).and_then(|last| sums.get(last));
            let most = self.most_below(above, now);
            if sum.is_some_and(|sum| sum.units > most) {
                return Err(self.exceeded(above, most, now));
            }
        }
        Ok(())
    }

    /// What tenants below one may have at most, or all of them.
    fn most_below(&self, above: Option<&str>, now: EpochMs) -> u64 {
        let tiers = &self.policy.tiers;
        let ceiling = above.and_then(|above| {
            let who = (above, tiers.tier(above)?.0);
            tiers.said(|claim| claim.body.ceiling, who, Some(self.budget), now)
        });
        let ceiling = ceiling.and_then(|said| said.value.units());
        ceiling.map_or(self.limit, |ceiling| ceiling.min(self.limit))
    }

    /// The refusal at the first floor, in the order of names, that does not fit with those before it.
    fn exceeded(&self, above: Option<&str>, most: u64, now: EpochMs) -> Invalid {
        let tiers = &self.policy.tiers;
        let mut left = most;
        let beside = tiers.iter().filter(|one| one.1.parent.as_deref() == above);
        for (tenant, _) in beside {
            let who = tiers.tier(tenant).map(|(tier, _)| (tenant, tier));
            let floor = who
                .and_then(|who| tiers.said(|claim| claim.body.floor, who, Some(self.budget), now));
            let Some(floor) = floor.filter(|said| said.by.is_by_name()) else {
                continue;
            };
            let at = || {
                format!(
                    "{}/budgets{}/floor",
                    floor.by.place(tenant),
                    step(self.budget)
                )
            };
            if let Err(refused) = between(&at(), floor.value, 0, left) {
                return refused;
            }
            left -= floor.value;
        }
        // One of them does not fit, as they come to more.
        Invalid::new(format!("/budgets{}", step(self.budget)), Fault::Missing)
    }
}
