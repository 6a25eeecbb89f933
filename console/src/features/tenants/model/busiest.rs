//! Which budget the figures of the list are of while none is chosen.

use std::cmp::Reverse;

use weir_shared::wire::operator::budgets::BudgetRow;

/// The budget that most calls asked of, the first by name among equals.
pub fn busiest(budgets: &[BudgetRow]) -> Option<String> {
    let calls = |row: &BudgetRow| {
        let total = &row.total;
        total.admitted_calls.0 + total.denied_calls.0 + total.would_deny_calls.0
    };
    let most = budgets
        .iter()
        .min_by_key(|row| (Reverse(calls(row)), &row.name))?;
    Some(most.name.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_budget_that_is_asked_most_is_shown_first() {
        let row = |name: &str, calls: u64| -> BudgetRow {
            serde_json::from_value(json!({
                "name": name, "tenants": 0, "total": {"denied_calls": calls},
                "body": {"limit": 1, "window_ms": 1_000, "sharing": "first_come", "scope": "global"},
            }))
            .unwrap()
        };
        let told = |rows: &[BudgetRow]| busiest(rows);
        assert_eq!(told(&[]), None);
        let quiet = [row("b", 0), row("a", 0)];
        assert_eq!(told(&quiet), Some("a".to_owned()));
        let busy = [row("a", 1), row("b", 7), row("c", 7)];
        assert_eq!(told(&busy), Some("b".to_owned()));
    }
}
