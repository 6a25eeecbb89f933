//! As what the weight of a tenant counts that the policy does not name.

use weir_shared::wire::operator::fairness::TenantReport;

use crate::format::{unnamed_bound, weight};
use crate::visible::visible;

/// As what it counts, and why; `None` where its weight counts in full. Who asks for one budget need not ask for another: where
/// it does not count alike in all, each is named.
pub fn counted_as(report: &TenantReport, unnamed_max: f64) -> Option<String> {
    let budgets = report.budgets.iter();
    let told = budgets.filter_map(|(name, budget)| Some((name, weight(budget.counts_as?.0))));
    let told: Vec<(&String, String)> = told.collect();
    let (_, first) = told.first()?;
    let counted = match told.iter().all(|(_, counted)| counted == first) {
        true => first.clone(),
        false => {
            let each = told.iter();
            let each = each.map(|(name, counted)| format!("{counted} of {}", visible(name)));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    Some(format!(
        "counted as {counted}: {}",
        unnamed_bound(unnamed_max)
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(counts_as: &[(&str, Value)]) -> Option<String> {
        let mut budgets = json!({});
        for (name, counts_as) in counts_as {
            budgets[*name] = json!({
                "weight": 1, "counts_as": counts_as, "guarantee": 12, "used": 0, "borrowed": 0, "denied": 0, "total": {},
            });
        }
        let report = json!({
            "tenant": "a", "tier": "free", "weight": 1, "total": {}, "budgets": budgets, "limits": {},
        });
        counted_as(&serde_json::from_value(report).unwrap(), 8.0)
    }

    #[test]
    fn an_unnamed_tenant_that_counts_as_less_is_told_as_what_and_why() {
        assert_eq!(
            told(&[("images", Value::Null), ("tokens", json!(0.32))]).unwrap(),
            "counted as 0.32: unnamed tenants weigh at most 8 together"
        );
        assert_eq!(told(&[("tokens", Value::Null)]), None);
    }

    #[test]
    fn what_counts_differently_in_two_budgets_is_told_of_each() {
        assert_eq!(
            told(&[("images", json!(0.5)), ("tokens", json!(0.32))]).unwrap(),
            "counted as 0.5 of images, 0.32 of tokens: unnamed tenants weigh at most 8 together"
        );
    }
}
