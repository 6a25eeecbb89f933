//! What a budget guarantees to each tenant, were all that were seen to ask for it at once.

use weir_core::name::tenant_name;
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, Revision};
use weir_fairness::ask::Floor;
use weir_fairness::floors::Floors;
use weir_fairness::weight::Weight;
use weir_policy::Policy;
use weir_wire::policy::Sharing;

/// The weight 1, in millionths.
const ONE: u128 = 1_000_000;

/// The guarantees of one budget.
#[derive(Debug, Clone, Default)]
pub struct Guarantees {
    limit: u64,
    nodes: OrderedMap<String, Node>,
    /// By the tenant above, `None` at the top.
    levels: OrderedMap<Option<String>, Level>,
    /// The weight that all together have whom the policy does not name, and how much they may have.
    strangers: (u128, u128),
}

/// Tenants with one parent.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// The sum of the weights, in millionths.
    weights: u128,
    floors: Floors,
}

#[derive(Debug, Clone)]
struct Node {
    parent: Option<String>,
    weight: u128,
    known: bool,
    floor: Floor,
    ceiling: Option<u64>,
    /// What is set aside by name for those right below it.
    floors: u64,
}

impl Guarantees {
    /// Those of a budget among `tenants`. Nothing is guaranteed under `first_come`, nor where each region has a slice of
    /// its own.
    #[must_use]
    pub fn of<'a>(
        policy: &Policy,
        budget: &str,
        tenants: impl IntoIterator<Item = &'a str>,
        at: EpochMs,
    ) -> Self {
        let mut guarantees = Self::default();
        let Some(found) = policy.budgets.get(budget) else {
            return guarantees;
        };
        if matches!(found.sharing, Sharing::FirstCome | Sharing::StaticPartition) {
            return guarantees;
        }
        guarantees.limit = found.limit;
        guarantees.strangers.1 = policy.unknown_weight_max.micros().into();
        let top = guarantees.levels.entry(None).or_default();
        top.floors.say(policy.floors_at(budget, at));
        // Under `fair_share` weights do not count.
        let equal = found.sharing == Sharing::FairShare;
        let counted = |weight: Weight| if equal { ONE } else { weight.micros().into() };
        for tenant in tenants.into_iter().filter(|name| tenant_name(name).is_ok()) {
            let Some(party) = policy.claimant(tenant, Some(budget), Revision(0), at) else {
                continue;
            };
            let mut above = party.standing.above.iter();
            let mut next = above.next();
            let own = Node {
                parent: next.as_ref().map(|above| above.name.clone()),
                weight: counted(party.standing.weight),
                known: party.standing.known,
                floor: party.standing.set_aside(),
                ceiling: party.standing.ceiling,
                floors: 0,
            };
            guarantees.add(tenant, own);
            while let Some(here) = next {
                next = above.next();
                let node = Node {
                    parent: next.as_ref().map(|above| above.name.clone()),
                    weight: counted(here.weight),
                    known: true,
                    floor: here.floor.below(here.ceiling),
                    ceiling: here.ceiling,
                    floors: here.floors.units,
                };
                guarantees.add(&here.name, node);
            }
        }
        guarantees
    }

    fn add(&mut self, name: &str, node: Node) {
        if node.floors > 0 {
            let below = self.levels.entry(Some(name.to_owned())).or_default();
            below.floors.say(node.floors);
        }
        if self.nodes.contains_key(name) {
            return;
        }
        let level = self.levels.entry(node.parent.clone()).or_default();
        level.weights += node.weight;
        level.floors.add(node.floor);
        if !node.known {
            self.strangers.0 += node.weight;
        }
        self.nodes.insert(name.to_owned(), node);
    }

    /// Units a window: what is set aside for the tenant, and `weight * the rest of what the tenant above has / the sum of
    /// the weights beside it`, rounded down at each level, at most its ceiling. Of a limit of 700 with the weights 1, 2
    /// and 4: 100, 200 and 400.
    #[must_use]
    pub fn units(&self, tenant: &str) -> u64 {
        u64::try_from(self.share(tenant)).unwrap_or(self.limit)
    }

    fn share(&self, tenant: &str) -> u128 {
        let Some(node) = self.nodes.get(tenant) else {
            return 0;
        };
        let whole = match &node.parent {
            Some(parent) => self.share(parent),
            None => self.limit.into(),
        };
        let level = self.levels.get(&node.parent).copied().unwrap_or_default();
        let (strangers, strangers_max) = self.strangers;
        let over = strangers.saturating_sub(strangers_max);
        // Whom the policy does not name stands at the top.
        let sum = if node.parent.is_none() {
            level.weights - over
        } else {
            level.weights
        };
        let weight = if !node.known && over > 0 {
            node.weight * strangers_max / strangers
        } else {
            node.weight
        };
        let whole = u64::try_from(whole).unwrap_or(self.limit);
        let share = u128::from(level.floors.rest(whole)) * weight;
        let share = share.checked_div(sum).unwrap_or_default();
        let all = share + u128::from(level.floors.of(node.floor, whole));
        all.min(node.ceiling.unwrap_or(u64::MAX).into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_wire::policy::PolicyDocument;

    use super::*;

    fn policy(sharing: &str) -> Policy {
        let document: PolicyDocument = serde_json::from_value(json!({
            "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
            "unknown_weight_max": 2,
            "tenants": {
                "a": { "weight": 1 }, "b": { "weight": 2 }, "c": { "weight": 4 },
                "c/x": { "parent": "c", "weight": 3 }, "c/y": { "parent": "c", "weight": 1 }
            },
            "budgets": { "tokens": { "limit": 700, "window_ms": 60000, "sharing": sharing, "scope": "region" } }
        }))
        .unwrap();
        Policy::try_from(&document).unwrap()
    }

    fn units(policy: &Policy, tenants: &[&str]) -> Vec<u64> {
        let guarantees = Guarantees::of(policy, "tokens", tenants.iter().copied(), EpochMs(0));
        let each = tenants.iter().map(|tenant| guarantees.units(tenant));
        each.collect()
    }

    #[test]
    fn weights_divide_the_limit_among_whom_was_seen() {
        let policy = policy("weighted_fair_escrow");
        assert_eq!(units(&policy, &["a", "b", "c"]), [100, 200, 400]);
        assert_eq!(units(&policy, &["a", "b"]), [233, 466]);
        assert_eq!(units(&policy, &[]), [0; 0]);
    }

    #[test]
    fn tenants_below_another_divide_what_that_one_has() {
        let policy = policy("weighted_fair_escrow");
        let seen = ["a", "b", "c/x", "c/y"];
        assert_eq!(units(&policy, &seen), [100, 200, 300, 100]);
    }

    #[test]
    fn whom_the_policy_does_not_name_has_no_more_together_than_it_allows() {
        let policy = policy("weighted_fair_escrow");
        let seen = ["a", "b", "c", "s1", "s2", "s3", "s4"];
        let got = units(&policy, &seen);
        assert_eq!(got[..3], [77, 155, 311]);
        assert_eq!(got[3..], [38; 4], "weights of 1/2: 700 * 0.5 / 9");
    }

    #[test]
    fn weights_do_not_count_where_shares_are_equal() {
        assert_eq!(units(&policy("fair_share"), &["a", "b", "c"]), [233; 3]);
    }

    #[test]
    fn nothing_is_guaranteed_where_who_comes_first_is_served() {
        assert_eq!(units(&policy("first_come"), &["a", "b"]), [0, 0]);
    }

    #[test]
    fn names_that_stand_for_several_tenants_have_no_guarantee() {
        let policy = policy("weighted_fair_escrow");
        assert_eq!(units(&policy, &["a", "\u{1}others"]), [700, 0]);
    }
}
