//! What is wrong with regions and coordinators, in whole sentences.

use weir_shared::wire::operator::regions::{CoordinatorStatus, RegionStatus, RegionsReply};

use crate::health::Health;

/// One thing that somebody should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong.
    pub title: String,
    /// What that means.
    pub meaning: String,
}

/// All of them, regions first.
pub fn troubles(reply: &RegionsReply) -> Vec<Trouble> {
    let regions = reply.regions.iter().filter_map(|status| {
        let health = Health::of_region(status, reply.policy_revision);
        health.is_bad().then(|| of_region(status, health))
    });
    let lost = |status: &&CoordinatorStatus| Health::of_coordinator(status).is_bad();
    let coordinators = reply.coordinators.iter().filter(lost);
    regions.chain(coordinators.map(of_coordinator)).collect()
}

fn of_region(status: &RegionStatus, health: Health) -> Trouble {
    let of = match health {
        Health::CutOff => format!(" for {}", cut_off(status).join(", ")),
        _ => String::new(),
    };
    Trouble {
        title: format!("{}: {}{of}.", status.region, health.words()),
        meaning: health.meaning().to_owned(),
    }
}

/// The budgets whose coordinator did not answer the region.
fn cut_off(status: &RegionStatus) -> Vec<&str> {
    let cut_off = status.budgets.iter().filter(|budget| budget.outage);
    cut_off.map(|budget| budget.budget.as_str()).collect()
}

fn of_coordinator(status: &CoordinatorStatus) -> Trouble {
    Trouble {
        title: format!("{}: its coordinator is out of reach.", status.budget),
        meaning: "Regions spend what they hold, and then do as the budget's outage mode says."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_that_is_wrong_is_said_with_what_it_means() {
        let region = |name: &str, reachable: bool, budgets: serde_json::Value| {
            json!({"region": name, "home": false, "reachable": reachable, "answer_ms": null,
                "policy_revision": 3, "ledger_reachable": true, "budgets": budgets})
        };
        let cut_off = json!([
            {"budget": "a", "outage": true}, {"budget": "b"}, {"budget": "c", "outage": true}
        ]);
        let reply: RegionsReply = serde_json::from_value(json!({
            "at": 1, "policy_revision": 3, "here": "weur",
            "regions": [
                region("weur", true, json!([])),
                region("enam", true, cut_off),
                region("oc", false, json!([])),
            ],
            "coordinators": [
                {"budget": "a", "reachable": false},
                {"budget": "b", "reachable": true},
            ],
        }))
        .unwrap();
        let told = troubles(&reply);
        let titles: Vec<&str> = told.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "enam: no coordinator for a, c.",
                "oc: out of reach.",
                "a: its coordinator is out of reach.",
            ]
        );
        assert!(told.iter().all(|one| one.meaning.ends_with('.')));
    }

    #[test]
    fn there_is_nothing_to_say_while_all_is_well() {
        let reply: RegionsReply = serde_json::from_value(json!({
            "at": 1, "policy_revision": 3, "here": "weur",
            "regions": [{"region": "weur", "home": true, "reachable": true, "answer_ms": 2,
                "policy_revision": 3, "ledger_reachable": true}],
        }))
        .unwrap();
        assert_eq!(troubles(&reply), []);
    }
}
