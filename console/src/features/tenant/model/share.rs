//! Why a budget denied a tenant: the arithmetic of its share of one recorded window.

use weir_shared::fairness::ask::TenantClaim;
use weir_shared::name::tenant_name;
use weir_shared::policy::Policy;
use weir_shared::policy::ideal::ideal;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::exchange::RuleBody;
use weir_shared::wire::windows::{WindowRecord, WindowTenant};

use super::explanation::{Explanation, Step};
use crate::format::{count, counted_weight, duration, unnamed_bound, weight};
use crate::visible::visible;

/// What held the tenant back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// Nothing: it was not denied in this window.
    Nothing,
    /// All units of the window were used.
    Limit,
    /// Its ceiling.
    Ceiling,
    /// Its guarantee and all that it may borrow.
    BorrowMax,
    /// Its guarantee; what was left was kept for others.
    Guarantee,
    /// It had not used its guarantee: a request was larger than what was left of it, or units were out on lease.
    Request,
}

/// The figures of one tenant in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arithmetic {
    /// Units of the window.
    pub limit: u128,
    /// The tenant's weight among all: below another, its part of what that one has.
    pub weight: f64,
    /// The weight that it has beside those with the same parent.
    pub own_weight: f64,
    /// The weights of all that asked.
    pub weights: f64,
    /// How many asked.
    pub asking: u64,
    /// `weight / weights * limit`, rounded down at each level; 0 where nothing is guaranteed.
    pub guarantee: u128,
    /// Units that it asked for.
    pub asked: u128,
    /// Units that it was served.
    pub served: u128,
    /// Units of those beyond the guarantee.
    pub borrowed: u128,
    /// Units that it was denied.
    pub denied: u128,
    /// Units that others were served.
    pub others: u128,
    /// Units of those left that others had not used of their guarantees.
    pub kept: u128,
    /// Units that nobody was served.
    pub left: u128,
    /// Units above the guarantee that it may use; any number when absent.
    pub borrow_max: Option<u128>,
    /// Units that it may use, whatever else is free; any number when absent.
    pub ceiling: Option<u128>,
    /// Units that are set aside for it.
    pub floor: u128,
    /// What held it back.
    pub binding: Binding,
}

/// The figures; `None` where the record does not name the tenant.
pub fn arithmetic(
    record: &WindowRecord,
    tenant: &str,
    claim: Option<&TenantClaim>,
) -> Option<Arithmetic> {
    let own = record.tenants.iter().find(|one| one.tenant == tenant)?;
    // What those below another have is that one's.
    let above = |one: &WindowTenant| {
        let below = |other: &WindowTenant| other.parent.as_ref() == Some(&one.tenant);
        record.tenants.iter().any(below)
    };
    let weights = record.weights.map_or_else(
        || {
            let once = record.tenants.iter().filter(|one| !above(one));
            once.map(WindowTenant::counted_weight).sum()
        },
        |weights| weights.0,
    );
    // A tenant that stands above it is none of the others, with or without somebody between them.
    let over = |one: &WindowTenant| {
        let mut all = claim.into_iter().flat_map(|claim| &claim.above);
        above(one) || all.any(|above| above.name == one.tenant)
    };
    let others = record.tenants.iter();
    let others = others.filter(|one| one.tenant != tenant && !over(one));
    let kept = others.map(|one| u128::from(one.entitlement).saturating_sub(one.served.0));
    let limit = u128::from(record.limit);
    let left = limit.saturating_sub(record.admitted.0.saturating_add(record.reserved.0));
    let mut figures = Arithmetic {
        limit,
        weight: own.counted_weight(),
        own_weight: own.weight.0,
        weights,
        asking: record.tenants_seen,
        guarantee: own.entitlement.into(),
        asked: own.served.0 + own.denied.0,
        served: own.served.0,
        borrowed: own.borrowed.0,
        denied: own.denied.0,
        others: record.admitted.0.saturating_sub(own.served.0),
        kept: kept.sum::<u128>().min(left),
        left,
        borrow_max: claim.and_then(|claim| claim.borrow_max).map(u128::from),
        ceiling: claim.and_then(|claim| claim.ceiling).map(u128::from),
        floor: claim.map_or(0, |claim| claim.set_aside().units).into(),
        binding: Binding::Nothing,
    };
    figures.binding = figures.bound();
    Some(figures)
}

impl Arithmetic {
    fn bound(&self) -> Binding {
        let guaranteed = self.weights > 0.0;
        let most = self.borrow_max.map(|max| self.guarantee + max);
        if self.denied == 0 {
            Binding::Nothing
        } else if self.left == 0 {
            Binding::Limit
        } else if guaranteed && self.ceiling.is_some_and(|most| self.served >= most) {
            Binding::Ceiling
        } else if guaranteed && most.is_some_and(|most| self.served >= most) {
            Binding::BorrowMax
        } else if guaranteed && self.served >= self.guarantee {
            Binding::Guarantee
        } else {
            Binding::Request
        }
    }
}

/// The record to explain: the newest in which the tenant was denied, else the newest that names it.
pub fn telling<'a>(records: &'a [WindowRecord], tenant: &str) -> Option<&'a WindowRecord> {
    let own = |record: &WindowRecord| {
        let found = record.tenants.iter().find(|one| one.tenant == tenant);
        found.map(|one| one.denied.0)
    };
    let denied = records
        .iter()
        .find(|record| own(record).is_some_and(|denied| denied > 0));
    denied.or_else(|| records.iter().find(|record| own(record).is_some()))
}

/// The answer for one tenant, budget and window; `None` where the record does not name the tenant.
pub fn explain(
    policy: &Policy,
    record: &WindowRecord,
    tenant: &str,
    now_ms: u64,
) -> Option<Explanation> {
    let now = EpochMs(now_ms);
    let claimant = policy.claimant(tenant, Some(&record.budget), Revision(0), now);
    let claim = claimant.as_ref().map(|claimant| &claimant.claim);
    let figures = arithmetic(record, tenant, claim)?;
    let budget = policy.budgets.get(&record.budget);
    let rule = budget.and_then(|budget| budget.rule());
    let parent = record.tenants.iter().find(|one| one.tenant == tenant);
    let parent = parent.and_then(|one| one.parent.as_deref());
    let bound = policy.unknown_weight_max.as_f64();
    let mut steps = steps(&figures, rule, parent, bound);
    if let Some(units) = ideal_units(policy, record, tenant, now) {
        let formula =
            "the policy in force over what everybody asked for, had it been known at the start";
        steps.push(Step::fact("Ideal share", count(units), "units").from(formula));
    }
    let mut notes = Vec::new();
    // A record of an earlier version does not say it.
    let above = claim.and_then(|claim| claim.above.first());
    let above = parent.or(above.map(|above| above.name.as_str()));
    if let Some(parent) = above.map(visible) {
        notes.push(format!(
            "It stands below {parent}: those below {parent} divide what that one is guaranteed, and a bound of it counts as \
             well."
        ));
    }
    if !record.complete {
        notes.push("The window is not settled: figures of some regions may still come.".to_owned());
    }
    if budget.is_none() {
        notes.push("The policy no longer has this budget.".to_owned());
    } else if budget.is_some_and(|budget| budget.limit != record.limit && record.region.is_none()) {
        notes.push("The limit of the budget has changed since this window.".to_owned());
    }
    Some(Explanation {
        headline: headline(&figures, rule, &record.budget),
        steps,
        can_pass: can_pass(&figures, rule, record, now_ms),
        notes,
    })
}

fn headline(figures: &Arithmetic, rule: Option<RuleBody>, budget: &str) -> String {
    let served = count(figures.served);
    match figures.binding {
        Binding::Nothing => format!(
            "It was not denied in this window: all {served} units that it asked of {budget} were served."
        ),
        Binding::Limit if rule.is_none() => format!(
            "{budget} was used up: who comes first is served, and all {} units of the window were taken.",
            count(figures.limit)
        ),
        Binding::Limit => format!(
            "{budget} was used up: all {} units of the window were served, {served} of them to this tenant and {} to \
             others.",
            count(figures.limit),
            count(figures.others)
        ),
        Binding::Ceiling => format!(
            "It had used all {} units that its ceiling lets it have of {budget} in a window, whatever else was free.",
            count(figures.ceiling.unwrap_or_default())
        ),
        Binding::BorrowMax => format!(
            "It had used its guarantee of {} units and the {} more that it may borrow.",
            count(figures.guarantee),
            count(figures.borrow_max.unwrap_or_default())
        ),
        Binding::Guarantee => format!(
            "It had used its share of {budget}: {served} units against a guarantee of {}. The {} units left were {}.",
            count(figures.guarantee),
            count(figures.left),
            match rule {
                Some(RuleBody::Paced) => "reserved for others and released bit by bit",
                Some(RuleBody::Pooled) => "reserved for what others are expected to need",
                Some(RuleBody::Pinned) => "reserved for others until the window ends",
                _ => "kept for others",
            }
        ),
        Binding::Request => format!(
            "It had units left of its guarantee ({served} of {} used): one request was larger than what was free at \
             that moment, or units were out on lease to other regions.",
            count(figures.guarantee)
        ),
    }
}

fn steps(
    figures: &Arithmetic,
    rule: Option<RuleBody>,
    parent: Option<&str>,
    unnamed_max: f64,
) -> Vec<Step> {
    let binding = |one| figures.binding == one;
    let mut steps = vec![
        Step::fact("Limit of the window", count(figures.limit), "units")
            .binds(binding(Binding::Limit)),
    ];
    if figures.weights > 0.0 {
        let equal = matches!(rule, Some(RuleBody::Fair));
        let own = if equal {
            "Its part (all count alike)"
        } else {
            "Its weight"
        };
        let together = format!(
            "weights of the {} that asked, together",
            tenants(figures.asking)
        );
        let share = guarantee(figures, parent);
        let mut part = Step::fact(own, weight(figures.weight), "");
        let own = if equal { 1.0 } else { figures.own_weight };
        if let Some(parent) = parent.map(visible) {
            let own = weight(own);
            part = part.from(format!(
                "{own} of the weights below {parent}, times {parent}'s weight"
            ));
        } else if figures.weight < own {
            let counted = counted_weight(own, figures.weight);
            part = part.from(format!("{counted}: {}", unnamed_bound(unnamed_max)));
        }
        steps.extend([
            part,
            Step::fact("All weights", weight(figures.weights), "").from(together),
            Step::fact("Guarantee", count(figures.guarantee), "units")
                .from(share)
                .binds(binding(Binding::Guarantee)),
        ]);
    }
    let asked = format!(
        "{} served + {} denied",
        count(figures.served),
        count(figures.denied)
    );
    steps.push(Step::fact("Asked for", count(figures.asked), "units").from(asked));
    let used = if figures.weights > 0.0 {
        let own = figures.served - figures.borrowed;
        let formula = format!(
            "{} guaranteed + {} borrowed",
            count(own),
            count(figures.borrowed)
        );
        Step::fact("Used", count(figures.served), "units").from(formula)
    } else {
        Step::fact("Used", count(figures.served), "units")
    };
    steps.push(used);
    if let Some(max) = figures.borrow_max {
        let formula = format!("{} used of it", count(figures.borrowed));
        steps.push(
            Step::fact("May borrow", count(max), "units")
                .from(formula)
                .binds(binding(Binding::BorrowMax)),
        );
    }
    if let Some(most) = figures.ceiling {
        let formula = format!("{} used of it", count(figures.served));
        steps.push(
            Step::fact("Ceiling", count(most), "units")
                .from(formula)
                .binds(binding(Binding::Ceiling)),
        );
    }
    steps.push(Step::fact("Used by others", count(figures.others), "units"));
    if figures.weights > 0.0 {
        let formula = "of what is left: what others had not used of their own guarantees";
        steps.push(Step::fact("Kept for others", count(figures.kept), "units").from(formula));
    }
    let left = format!(
        "{} − {} − {}",
        count(figures.limit),
        count(figures.served),
        count(figures.others)
    );
    steps.push(
        Step::fact("Left in the window", count(figures.left), "units")
            .from(left)
            .binds(binding(Binding::Request)),
    );
    steps
}

/// How the guarantee comes about.
fn guarantee(figures: &Arithmetic, parent: Option<&str>) -> String {
    let part = format!("{} / {}", weight(figures.weight), weight(figures.weights));
    let bound = figures.ceiling.filter(|most| *most == figures.guarantee);
    let plain = (figures.weight / figures.weights * figures.limit as f64) as u128;
    match (bound, figures.floor) {
        (None, 0) if parent.is_some() && plain.abs_diff(figures.guarantee) > 1 => {
            "its part by weight of what the one above it is guaranteed".to_owned()
        }
        (Some(_), _) => "its ceiling, which is less than its part by weight".to_owned(),
        (None, 0) if plain.abs_diff(figures.guarantee) > 1 => format!(
            "{} units: its part, by weight, of what is not set aside",
            count(figures.guarantee)
        ),
        (None, 0) => format!("{part} × {} units, rounded down", count(figures.limit)),
        (None, floor) => format!(
            "{} set aside for it + {part} × what is set aside for nobody, rounded down",
            count(floor)
        ),
    }
}

fn tenants(number: u64) -> String {
    crate::format::counted(usize::try_from(number).unwrap_or(usize::MAX), "tenant")
}

fn can_pass(
    figures: &Arithmetic,
    rule: Option<RuleBody>,
    record: &WindowRecord,
    now_ms: u64,
) -> String {
    let again = if figures.weights > 0.0 {
        let guarantee = count(figures.guarantee);
        format!("its guarantee is whole again: {guarantee} units if the same tenants ask")
    } else {
        format!("all {} units are there again", count(figures.limit))
    };
    let never = format!(
        "One request of more than {} units never passes.",
        count(figures.limit)
    );
    match record.ends_at.0.checked_sub(now_ms) {
        Some(left_ms) if left_ms > 0 => {
            let earlier = if matches!(rule, Some(RuleBody::Paced | RuleBody::Pooled)) {
                " Earlier, as far as reserved units are released."
            } else {
                ""
            };
            format!(
                "In {}, when the window ends, {again}.{earlier} {never}",
                duration(left_ms)
            )
        }
        _ => format!(
            "That window ended {} ago. In each window since {again}. {never}",
            duration(now_ms.saturating_sub(record.ends_at.0))
        ),
    }
}

/// What the policy in force would have given the tenant of this window.
fn ideal_units(policy: &Policy, record: &WindowRecord, tenant: &str, now: EpochMs) -> Option<u128> {
    let named = record.tenants.iter();
    let demands: Vec<(&str, u64)> = named
        .filter(|one| tenant_name(&one.tenant).is_ok())
        .map(|one| {
            let asked = one.served.0.saturating_add(one.denied.0);
            (
                one.tenant.as_str(),
                u64::try_from(asked).unwrap_or(u64::MAX),
            )
        })
        .collect();
    let place = demands.iter().position(|(name, _)| *name == tenant)?;
    // Those that are counted together have no names to divide by.
    if demands.len() < record.tenants.len() {
        return None;
    }
    let given = ideal(policy, &record.budget, record.limit, &demands, now);
    given.get(place).map(|units| u128::from(*units))
}

#[cfg(test)]
mod tests;
