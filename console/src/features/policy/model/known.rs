//! Names that a field may take because the draft has them elsewhere.

use serde_json::Value;

use crate::region_name::in_full;

/// Which names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The regions of the policy.
    Regions,
    /// Its tiers.
    Tiers,
    /// Those of its budgets that agents lease: all but what each isolate has for itself.
    LeasedBudgets,
}

impl Known {
    /// The names that a document has.
    pub fn names(self, document: &Value) -> Vec<String> {
        let owned = |name: &str| name.to_owned();
        match self {
            Self::Regions => {
                let regions = document.get("regions").and_then(Value::as_array);
                let regions = regions.into_iter().flatten();
                regions.filter_map(Value::as_str).map(owned).collect()
            }
            Self::Tiers => {
                let tiers = document.get("tiers").and_then(Value::as_object);
                tiers
                    .into_iter()
                    .flat_map(|tiers| tiers.keys().cloned())
                    .collect()
            }
            Self::LeasedBudgets => {
                let budgets = document.get("budgets").and_then(Value::as_object);
                let leased = |body: &Value| body.get("scope") != Some(&Value::from("isolate"));
                let budgets = budgets.into_iter().flatten();
                let leased = budgets.filter(|(_, body)| leased(body));
                leased.map(|(name, _)| name.clone()).collect()
            }
        }
    }

    /// What can be chosen, first what an empty value means. A name that is chosen and that the document does not have stays
    /// in the list, and says so.
    pub fn options(self, document: &Value, chosen: &str) -> Vec<(String, String)> {
        let empty = match self {
            Self::Regions => "the first region (by default)",
            Self::Tiers => "none: they are refused (by default)",
            Self::LeasedBudgets => "choose a budget",
        };
        let mut options = vec![(String::new(), empty.to_owned())];
        let names = self.names(document);
        let missing = !chosen.is_empty() && !names.iter().any(|name| name == chosen);
        options.extend(names.into_iter().map(|name| {
            let label = match self {
                Self::Regions => in_full(&name),
                Self::Tiers | Self::LeasedBudgets => name.clone(),
            };
            (name, label)
        }));
        if missing {
            let kept = self == Self::LeasedBudgets && document["budgets"].get(chosen).is_some();
            let why = match kept {
                true => "of each isolate: no agent leases it",
                false => "not in the policy",
            };
            options.push((chosen.to_owned(), format!("{chosen} ({why})")));
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels(known: Known, chosen: &str) -> Vec<String> {
        let document = json!({
            "regions": ["weur", "x1"], "tiers": { "free": { "weight": 1 }, "pro": { "weight": 2 } },
        });
        let options = known.options(&document, chosen).into_iter();
        options.map(|(_, label)| label).collect()
    }

    #[test]
    fn what_the_document_has_can_be_chosen_and_nothing() {
        assert_eq!(
            labels(Known::Regions, "weur"),
            [
                "the first region (by default)",
                "Western Europe (weur)",
                "x1"
            ]
        );
        assert_eq!(
            labels(Known::Tiers, ""),
            ["none: they are refused (by default)", "free", "pro"]
        );
        assert_eq!(Known::Tiers.names(&Value::Null), [""; 0]);
    }

    #[test]
    fn a_budget_that_no_agent_leases_is_offered_to_nobody() {
        let document = json!({ "budgets": { "own": { "scope": "isolate" }, "tokens": { "scope": "global" } } });
        let labels = |chosen| -> Vec<String> {
            let options = Known::LeasedBudgets.options(&document, chosen);
            options.into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels("tokens"), ["choose a budget", "tokens"]);
        assert_eq!(
            labels("own")[2],
            "own (of each isolate: no agent leases it)"
        );
        assert_eq!(labels("gone")[2], "gone (not in the policy)");
    }

    #[test]
    fn a_name_that_is_gone_stays_until_another_is_chosen() {
        let labels = labels(Known::Tiers, "gold");
        assert_eq!(labels.last().unwrap(), "gold (not in the policy)");
        assert_eq!(labels.len(), 4);
    }
}
