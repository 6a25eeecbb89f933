//! What a budget guarantees to each tenant by the policy in force, were all that were seen to ask for it at once.

use weir_accounting::guarantee::{Guarantees, Node};
use weir_core::name::tenant_name;
use weir_core::units::{EpochMs, Revision};
use weir_policy::Policy;
use weir_wire::decimal::Decimal;
use weir_wire::policy::Sharing;

/// The guarantees of a budget among `tenants`. Nothing is guaranteed under `first_come`, nor where each region has a slice
/// of its own.
#[must_use]
pub fn among<'a>(
    policy: &Policy,
    budget: &str,
    tenants: impl IntoIterator<Item = &'a str>,
    at: EpochMs,
) -> Guarantees {
    let found = policy.budgets.get(budget);
    let found = found
        .filter(|found| !matches!(found.sharing, Sharing::FirstCome | Sharing::StaticPartition));
    let Some(found) = found else {
        return Guarantees::default();
    };
    let floors = policy.floors_at(budget, at);
    let guarantees = Guarantees::new(found.limit, floors, policy.unknown_weight_max.micros());
    // Under `fair_share` weights do not count.
    let mut guarantees = guarantees.equal(found.sharing == Sharing::FairShare);
    for tenant in tenants.into_iter().filter(|name| tenant_name(name).is_ok()) {
        let Some(party) = policy.claimant(tenant, Some(budget), Revision(0), at) else {
            continue;
        };
        let claim = &party.claim;
        let parent = |level: usize| claim.above.get(level).map(|above| above.name.clone());
        let floor = claim.set_aside();
        let own = Node {
            parent: parent(0),
            weight_micros: claim.weight.micros(),
            known: claim.known,
            floor: floor.units,
            floor_by_name: floor.by_name,
            ceiling: claim.ceiling,
            floors: 0,
        };
        guarantees.add(tenant, own);
        for (level, above) in claim.above.iter().enumerate() {
            let floor = above.floor.below(above.ceiling);
            let node = Node {
                parent: parent(level + 1),
                weight_micros: above.weight.micros(),
                known: true,
                floor: floor.units,
                floor_by_name: floor.by_name,
                ceiling: above.ceiling,
                floors: above.floors.units,
            };
            guarantees.add(&above.name, node);
        }
    }
    guarantees
}

/// The weight with which a tenant counts that the policy does not name, while those weigh more together than they may.
#[must_use]
pub fn counts_as(guarantees: &Guarantees, tenant: &str) -> Option<Decimal> {
    let micros = guarantees.bounded_weight(tenant)?;
    Some(Decimal(micros as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_accounting::counters::{Charged, Decided};
    use weir_accounting::pending::{InWindow, Pending};
    use weir_accounting::windows::Windows;
    use weir_core::units::WindowLabel;
    use weir_decision::Reason;
    use weir_fairness::ask::Party;
    use weir_federation::party::window_claim;
    use weir_wire::accounting::FrameBody;
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
        let guarantees = among(policy, "tokens", tenants.iter().copied(), EpochMs(0));
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
        let among = |tenants: &[&'static str]| {
            among(&policy, "tokens", tenants.iter().copied(), EpochMs(0))
        };
        let told =
            |guarantees: &Guarantees| ["a", "s1"].map(|tenant| counts_as(guarantees, tenant));
        assert_eq!(told(&among(&seen)), [None, Some(Decimal(0.5))]);
        assert_eq!(
            told(&among(&["a", "s1", "s2"])),
            [None, None],
            "they weigh 2"
        );
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

    /// What the record of a window says in which these tenants asked.
    fn recorded(policy: &Policy, tenants: &[&str]) -> Vec<u64> {
        let terms = policy.budget_terms("tokens", "weur", Revision(1), EpochMs(0));
        let terms = terms.unwrap();
        let mut pending = Pending::default();
        for tenant in tenants {
            let claimant = policy.claimant(tenant, Some("tokens"), Revision(1), EpochMs(0));
            let party = Party::Tenant(claimant.unwrap());
            let decided = Decided {
                tenant,
                known: policy.tiers.named(tenant).is_some(),
                charged: Charged::Budget("tokens"),
                reason: Reason::Admitted,
                units: 1,
            };
            let window = InWindow {
                budget: "tokens",
                label: WindowLabel(1),
                limit: terms.limit,
                ends_at: EpochMs(60_000),
                claim: window_claim(&party, &terms),
            };
            pending.count(&decided, Some(&window));
        }
        let mut frame = FrameBody::default();
        pending.fill(&mut frame);
        let mut windows = Windows::default();
        windows.add(&frame.windows, 1, EpochMs(1));
        let record = windows.records(None, EpochMs(1)).next().unwrap();
        let of = |tenant: &&str| {
            let mut told = record.tenants.iter();
            told.find(|one| one.tenant == **tenant).unwrap().entitlement
        };
        tenants.iter().map(of).collect()
    }

    #[test]
    fn the_record_of_a_window_says_the_same_as_the_list_of_tenants() {
        let with = |sharing: &str, floor: u64| {
            let own = json!({ "tokens": { "floor": floor } });
            let document: PolicyDocument = serde_json::from_value(json!({
                "regions": ["weur"], "default_tier": "free", "unknown_weight_max": 2,
                "tiers": { "free": { "weight": 1 }, "pro": { "weight": 2, "budgets": own } },
                "tenants": {
                    "a": { "weight": 1, "budgets": own }, "b": { "weight": 2 },
                    "c": { "weight": 4, "tier": "pro", "budgets": { "tokens": { "ceiling": 390 } } },
                    "c/x": { "parent": "c", "weight": 3 }, "c/y": { "parent": "c", "weight": 1, "budgets": own },
                    "c/x/1": { "parent": "c/x", "tier": "pro" }, "c/x/2": { "parent": "c/x", "tier": "free" },
                },
                "budgets": { "tokens": {
                    "limit": 700, "window_ms": 60000, "sharing": sharing, "scope": "region",
                } }
            }))
            .unwrap();
            Policy::try_from(&document).unwrap()
        };
        for policy in [
            with("weighted_fair_escrow", 0),
            with("weighted_fair_escrow", 30),
            with("fair_share", 30),
            with("weighted_fair_share", 30),
        ] {
            for seen in [
                &["a", "b", "c/x", "c/y"][..],
                &["a", "c/x/1", "c/x/2", "c/y"],
                &["a", "c", "c/x/1"],
                &["a", "b", "s1", "s2", "s3", "s4"],
            ] {
                let (listed, told) = (units(&policy, seen), recorded(&policy, seen));
                assert_eq!(told, listed, "{seen:?}");
            }
        }
    }
}
