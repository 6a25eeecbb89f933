//! What a million decisions cost in calls of objects and rows written.

use weir_shared::wire::operator::costs::CostsReply;

use crate::format;

/// One kind of cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostRow {
    /// What is counted.
    pub name: &'static str,
    /// For a million decisions.
    pub per_million: String,
    /// Since counting began.
    pub total: String,
    /// Whether it is a part of the row above.
    pub part: bool,
}

/// Every kind, the sum of calls first.
pub fn rows(reply: &CostsReply) -> Vec<CostRow> {
    let decisions = reply.decisions.0;
    let row = |name, count: u128, part| CostRow {
        name,
        per_million: per_million(count, decisions),
        total: format::count(count),
        part,
    };
    let usage = &reply.usage;
    vec![
        row("Object calls", usage.object_calls().0, false),
        row("of regions and keys", usage.region_calls.0, true),
        row("of coordinators", usage.coordinator_calls.0, true),
        row("of ledgers", usage.ledger_calls.0, true),
        row("of the registry", usage.registry_calls.0, true),
        row("Rows written", usage.rows_written.0, false),
    ]
}

fn per_million(count: u128, decisions: u128) -> String {
    if decisions == 0 {
        return format::UNKNOWN.to_owned();
    }
    // Rounded to the nearest; no count comes near the bound.
    let scaled = count
        .saturating_mul(1_000_000)
        .saturating_add(decisions / 2);
    format::count(scaled / decisions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reply(decisions: u64) -> CostsReply {
        let usage = json!({
            "coordinator_calls": 2, "region_calls": 5, "registry_calls": 0, "ledger_calls": 3, "rows_written": 4,
        });
        serde_json::from_value(json!({
            "at": 0, "decisions": decisions, "usage": usage, "per_million": null, "regions": [],
        }))
        .unwrap()
    }

    #[test]
    fn costs_are_of_a_million_decisions_and_parts_sum_to_their_whole() {
        let told = rows(&reply(30_000));
        let per_million: Vec<&str> = told.iter().map(|row| row.per_million.as_str()).collect();
        assert_eq!(per_million, ["333", "167", "67", "100", "0", "133"]);
        let sum: u128 = told
            .iter()
            .filter(|row| row.part)
            .map(|row| row.total.parse::<u128>().unwrap())
            .sum();
        assert_eq!(told[0].total, sum.to_string());
    }

    #[test]
    fn nothing_is_divided_by_no_decisions() {
        assert!(
            rows(&reply(0))
                .iter()
                .all(|row| row.per_million == format::UNKNOWN)
        );
    }
}
