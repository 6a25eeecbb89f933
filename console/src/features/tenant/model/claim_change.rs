//! What a change of a tenant makes of its weight and its guarantees, in words.

use weir_shared::policy::Policy;
use weir_shared::units::EpochMs;
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::preview::{Claimed, PreviewBody, PreviewClaim};

use crate::features::policy::model::validate::policy_of;
use crate::format::{count, counted_weight, unnamed_bound, weight};
use crate::visible::visible;

/// A line for its weight and one for its guarantee of each budget for which it was seen to ask, before and after. Of a tenant
/// that was not seen, `weights` has what it weighs.
pub fn claim_lines(
    body: &PreviewBody,
    tenant: &str,
    weights: impl FnOnce() -> Option<[f64; 2]>,
) -> Vec<String> {
    let claims = body.claims.iter().filter(|claim| claim.tenant == tenant);
    let claims: Vec<&PreviewClaim> = claims.collect();
    let mut lines = weight_lines(&claims);
    if claims.is_empty() {
        let both = weights().map(|weights| weights.map(weight));
        lines.extend(both.map(|both| format!("Weight: {}", arrow(both, ""))));
    }
    lines.extend(claims.iter().map(|claim| {
        let both = [&claim.present, &claim.candidate].map(|of| count(of.guarantee.into()));
        let budget = visible(&claim.budget);
        format!("Guarantee of {budget}: {}", arrow(both, " units a window"))
    }));
    lines
}

/// One line where the weight counts alike in all budgets.
fn weight_lines(claims: &[&PreviewClaim]) -> Vec<String> {
    let counted = |of: &Claimed| {
        let counts_as = of.counts_as.unwrap_or(of.weight).0;
        counted_weight(of.weight.0, counts_as)
    };
    let line = |claim: &&PreviewClaim| arrow([&claim.present, &claim.candidate].map(counted), "");
    let lines: Vec<String> = claims.iter().map(line).collect();
    match lines.first() {
        Some(first) if lines.iter().all(|line| line == first) => vec![format!("Weight: {first}")],
        _ => {
            let each = claims.iter().zip(lines);
            let each = each.map(|(claim, line)| {
                let budget = visible(&claim.budget);
                format!("Weight in {budget}: {line}")
            });
            each.collect()
        }
    }
}

fn arrow([before, after]: [String; 2], unit: &str) -> String {
    match before == after {
        true => format!("{before}{unit}, as before"),
        false => format!("{before} → {after}{unit}"),
    }
}

/// The weights of a tenant by two policies, 0 by one that refuses it; `None` where one of them cannot be read.
pub fn weights(policies: [&PolicyDocument; 2], tenant: &str, now_ms: u64) -> Option<[f64; 2]> {
    let [present, candidate] = policies.map(policy_of);
    let of = |policy: Policy| {
        let resolved = policy.resolve(tenant, EpochMs(now_ms));
        resolved.map_or(0.0, |resolved| resolved.weight.as_f64())
    };
    Some([of(present.ok()?), of(candidate.ok()?)])
}

/// What to know before a tenant is named that the policy does not name so far.
pub fn naming_warning(unnamed_max: f64) -> String {
    format!(
        "The policy does not name this tenant so far, and {}. Saving names it: that bound holds for it no more, and its weight \
         counts in full, also when an override has ended.",
        unnamed_bound(unnamed_max)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn lines(claims: &Value) -> Vec<String> {
        let body = json!({
            "at": 1, "windows": 1, "intervals": 0, "gaining": 0, "losing": 0, "gains": [], "loses": [], "rows_total": 0,
            "rows": [], "claims": claims,
        });
        let body = serde_json::from_value(body).unwrap();
        claim_lines(&body, "a", || Some([1.0, 4.0]))
    }

    fn claim(budget: &str, tenant: &str, counts_as: Option<f64>, units: [u64; 2]) -> Value {
        let [before, after] = units;
        json!({
            "budget": budget, "tenant": tenant,
            "present": { "weight": 1, "counts_as": counts_as, "guarantee": before },
            "candidate": { "weight": 4, "guarantee": after },
        })
    }

    #[test]
    fn weight_and_guarantee_are_told_before_and_after() {
        let other = claim("tokens", "b", None, [1, 2]);
        assert_eq!(
            lines(&json!([claim("tokens", "a", Some(0.32), [12, 50]), other])),
            [
                "Weight: 1, counted as 0.32 → 4",
                "Guarantee of tokens: 12 → 50 units a window"
            ]
        );
    }

    #[test]
    fn each_budget_has_a_guarantee_and_a_weight_of_its_own_where_it_does_not_count_alike() {
        let claims = json!([
            claim("tokens", "a", Some(0.32), [12, 50]),
            claim("images", "a", None, [9, 9])
        ]);
        assert_eq!(
            lines(&claims),
            [
                "Weight in tokens: 1, counted as 0.32 → 4",
                "Weight in images: 1 → 4",
                "Guarantee of tokens: 12 → 50 units a window",
                "Guarantee of images: 9 units a window, as before"
            ]
        );
    }

    #[test]
    fn of_a_tenant_that_was_not_seen_the_weight_is_told_alone() {
        assert_eq!(lines(&json!([])), ["Weight: 1 → 4"]);
    }

    #[test]
    fn the_weights_are_those_of_either_policy() {
        let of = |tenants: Value| -> PolicyDocument {
            serde_json::from_value(json!({
                "regions": ["weur"], "tiers": { "free": { "weight": 2 } }, "default_tier": "free", "tenants": tenants,
            }))
            .unwrap()
        };
        let both = [&of(json!({})), &of(json!({ "a": { "weight": 4 } }))];
        assert_eq!(weights(both, "a", 0), Some([2.0, 4.0]));
    }

    #[test]
    fn whoever_names_a_tenant_is_told_that_the_bound_on_unnamed_ones_holds_for_it_no_more() {
        assert_eq!(
            naming_warning(8.0),
            "The policy does not name this tenant so far, and unnamed tenants weigh at most 8 together. Saving names it: that \
             bound holds for it no more, and its weight counts in full, also when an override has ended."
        );
    }
}
