//! One rule among the tenants with one parent.

use super::ask::{Ask, ClaimVersion, Floor, Moment, Room, TenantClaim};
use super::fair_share::FairShare;
use super::paced::Paced;
use super::pinned::Pinned;
use super::share::{Rule, ShareRow, ShareTerms};
use super::weighted_fair_share::WeightedFairShare;

/// The accounts of tenants with one parent.
#[derive(Debug, Clone)]
pub(crate) enum Machine {
    Fair(FairShare),
    Weighted(WeightedFairShare),
    Pinned(Pinned),
    Paced(Box<Paced>),
}

macro_rules! each {
    ($machine:expr, $inner:ident => $result:expr) => {
        match $machine {
            Machine::Fair($inner) => $result,
            Machine::Weighted($inner) => $result,
            Machine::Pinned($inner) => $result,
            Machine::Paced($inner) => $result,
        }
    };
}

impl Machine {
    pub(crate) fn new(terms: ShareTerms) -> Self {
        match terms.rule {
            Rule::Fair => Self::Fair(FairShare::new(terms)),
            Rule::Weighted => Self::Weighted(WeightedFairShare::new(terms)),
            Rule::Pinned => Self::Pinned(Pinned::new(terms)),
            Rule::Paced | Rule::Pooled | Rule::Unreserved => {
                Self::Paced(Box::new(Paced::new(terms)))
            }
        }
    }

    /// Whether the accounts are those of the rule.
    fn keeps(&self, rule: Rule) -> bool {
        match rule {
            Rule::Fair => matches!(self, Self::Fair(_)),
            Rule::Weighted => matches!(self, Self::Weighted(_)),
            Rule::Pinned => matches!(self, Self::Pinned(_)),
            Rule::Paced | Rule::Pooled | Rule::Unreserved => matches!(self, Self::Paced(_)),
        }
    }

    /// Other terms. Under another rule every account is taken over, as that of a tenant that the policy does not name,
    /// until it asks again and says whether it does.
    pub(crate) fn retune(&mut self, terms: ShareTerms) {
        if !self.keeps(terms.rule) {
            let before = std::mem::replace(
                self,
                Self::new(ShareTerms {
                    tenants_max: u64::MAX,
                    ..terms
                }),
            );
            let at = Moment {
                limit: 0,
                unlent: 0,
                left_ms: 0,
                window_ms: 0,
            };
            for row in before.rows(&at) {
                let claim = TenantClaim {
                    weight: row.weight,
                    known: false,
                    borrow_max: None,
                    lend_max: None,
                    ceiling: None,
                    floor: Floor::default(),
                    claim_version: ClaimVersion::default(),
                    above: Vec::new(),
                };
                self.set_used(&row.name, &claim, row.used);
            }
        }
        each!(self, one => one.retune(terms));
    }

    pub(crate) fn roll(&mut self) {
        each!(self, one => one.roll());
    }

    pub(crate) fn room(&mut self, name: &str, claim: &TenantClaim, ask: &Ask, at: &Moment) -> Room {
        each!(self, one => one.room(name, claim, ask, at))
    }

    /// What a tenant is guaranteed, where its ceiling may be below it.
    pub(crate) fn guarantee(&self, name: &str, claim: &TenantClaim, at: &Moment) -> u64 {
        match self {
            Self::Paced(one) => one.guarantee(name, claim, at),
            Self::Fair(_) | Self::Weighted(_) | Self::Pinned(_) => 0,
        }
    }

    pub(crate) fn peek(&self, name: &str, claim: &TenantClaim, at: &Moment) -> Room {
        each!(self, one => one.peek(name, claim, at))
    }

    pub(crate) fn charge(&mut self, name: &str, units: u64) {
        each!(self, one => one.charge(name, units));
    }

    pub(crate) fn set_used(&mut self, name: &str, claim: &TenantClaim, used: u64) {
        each!(self, one => one.set_used(name, claim, used));
    }

    /// Takes units off what a tenant has used.
    pub(crate) fn lower(&mut self, name: &str, units: u64) {
        each!(self, one => one.lower(name, units));
    }

    /// Takes off all that a tenant has used by its own account, and says how much it was.
    pub(crate) fn clear(&mut self, name: &str) -> u64 {
        match self.own(name) {
            Some(used) => {
                self.lower(name, used);
                used
            }
            None => 0,
        }
    }

    /// Units that a tenant has used by its own account, if it has one.
    pub(crate) fn own(&self, name: &str) -> Option<u64> {
        each!(self, one => one.own(name))
    }

    /// By which word the claim is that an own account of a tenant goes by.
    pub(crate) fn claim_version(&self, name: &str) -> Option<ClaimVersion> {
        each!(self, one => one.claim_version(name))
    }

    pub(crate) fn used(&self, name: &str) -> u64 {
        each!(self, one => one.used(name))
    }

    pub(crate) fn used_total(&self) -> u64 {
        each!(self, one => one.used_total())
    }

    pub(crate) fn rows(&self, at: &Moment) -> Vec<ShareRow> {
        each!(self, one => one.rows(at))
    }

    pub(crate) fn operations(&self) -> u64 {
        each!(self, one => one.operations())
    }
}

#[cfg(test)]
mod tests {
    use super::super::ask::TenantClaim;
    use super::super::member::stranger;
    use super::*;
    use crate::weight::Weight;

    const RULES: [Rule; 6] = [
        Rule::Fair,
        Rule::Weighted,
        Rule::Pinned,
        Rule::Paced,
        Rule::Pooled,
        Rule::Unreserved,
    ];

    const AT: Moment = Moment {
        limit: 100,
        unlent: 100,
        left_ms: 1_000,
        window_ms: 1_000,
    };

    fn machine(rule: Rule) -> Machine {
        Machine::new(ShareTerms {
            rule,
            tenants_max: 1,
            unknown_weight_max: Weight::WHOLE,
            carried: true,
            floors: 0,
        })
    }

    #[test]
    fn what_a_tenant_used_by_its_own_account_is_taken_off_whole_and_nothing_of_others() {
        for rule in RULES {
            let mut machine = machine(rule);
            machine.set_used("own", &stranger(), 5);
            // There is one account for strangers: these share what is beyond.
            machine.set_used("one", &stranger(), 3);
            assert_eq!((machine.used("own"), machine.used("one")), (5, 3));
            assert_eq!(machine.clear("one"), 0, "{rule:?}: it has none of its own");
            assert_eq!((machine.clear("own"), machine.used("own")), (5, 0));
            assert_eq!((machine.used_total(), machine.used("other")), (3, 3));
        }
    }

    #[test]
    fn a_change_of_rule_keeps_what_each_has_used() {
        for (before, after) in RULES
            .into_iter()
            .flat_map(|one| RULES.map(|two| (one, two)))
        {
            let mut machine = machine(before);
            machine.set_used("a", &TenantClaim::default(), 5);
            machine.set_used("b", &TenantClaim::default(), 7);
            machine.retune(ShareTerms {
                rule: after,
                tenants_max: 1,
                unknown_weight_max: Weight::WHOLE,
                carried: true,
                floors: 0,
            });
            let used = (machine.used("a"), machine.used("b"), machine.used_total());
            assert_eq!(used, (5, 7, 12), "{before:?} to {after:?}");
        }
    }

    #[test]
    fn who_looks_is_told_the_ceiling_that_it_has_when_it_comes_its_floor_counted() {
        let everyone = || TenantClaim::default();
        for (rule, by_name) in [
            (Rule::Fair, true),
            (Rule::Fair, false),
            (Rule::Weighted, true),
            (Rule::Weighted, false),
        ] {
            let mut machine = machine(rule);
            machine.set_used("there", &everyone(), 0);
            let floor = Floor { units: 40, by_name };
            let floored = TenantClaim {
                floor,
                ..everyone()
            };
            let looked = machine.peek("new", &floored, &AT).ceiling;
            let room = machine.room("new", &floored, &Ask::default(), &AT);
            // 40, and half of the 60 that are left.
            assert_eq!((looked, room.ceiling), (70, 70), "{rule:?}, {by_name}");
        }
    }
}
