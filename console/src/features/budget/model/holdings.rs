//! Where the units of a budget's open window are: with the coordinator, with a region, or on lease at its isolates.

use weir_shared::units::WindowLabel;
use weir_shared::wire::operator::regions::RegionsReply;

/// What one region has of a budget, in units.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RegionHolding {
    /// The region.
    pub region: String,
    /// Whether it answered.
    pub reachable: bool,
    /// Lent to it and not returned, spent or not.
    pub held: u64,
    /// Of those, what its isolates have on lease or have spent.
    pub leased: u64,
    /// Isolates that were heard of lately.
    pub isolates: u64,
    /// Whether it cannot reach the coordinator.
    pub outage: bool,
    /// When it was last heard of there, epoch milliseconds.
    pub last_contact_at: Option<u64>,
}

impl RegionHolding {
    /// What the region has and its isolates have not.
    pub fn kept(&self) -> u64 {
        self.held.saturating_sub(self.leased)
    }
}

/// Where one budget is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Whether each region has windows of its own, so that there is nothing to lend between them.
    pub own: bool,
    /// Whether the coordinator answered; none where there is none.
    pub coordinator: Option<bool>,
    /// How long its answer took.
    pub answer_ms: Option<u64>,
    /// Units in the window, or in the windows of all regions.
    pub limit: u64,
    /// Units that may still be lent.
    pub free: u64,
    /// Units that count as lent, and of which nobody knows who has them.
    pub unplaced: u64,
    /// Whether what is lent is known exactly.
    pub exact: bool,
    /// One entry a region of the policy, in its order.
    pub regions: Vec<RegionHolding>,
}

impl Holdings {
    /// Of one budget.
    pub fn of(reply: &RegionsReply, budget: &str) -> Self {
        let coordinator = reply.coordinators.iter().find(|one| one.budget == budget);
        let mut told = Self {
            coordinator: coordinator.map(|one| one.reachable),
            answer_ms: coordinator.and_then(|one| one.answer_ms),
            exact: coordinator.is_none_or(|one| one.exact || one.window.is_none()),
            ..Self::default()
        };
        // Without the coordinator's word, the newest window that a region knows of is taken for the open one.
        let lost = coordinator.is_some_and(|one| !one.reachable);
        let open = match lost {
            true => newest_window(reply, budget),
            false => coordinator.and_then(|one| one.window),
        };
        for status in &reply.regions {
            let here = status.budgets.iter().find(|one| one.budget == budget);
            let lent = coordinator.and_then(|one| one.lent.get(&status.region).copied());
            let own = here.is_some_and(|one| one.own);
            told.own |= own;
            if own {
                told.limit += here.map_or(0, |one| one.limit);
                told.free += here.map_or(0, |one| one.held.saturating_sub(one.lent));
            }
            // What a region says of another window than the open one is over, or not begun there.
            let in_time = here.filter(|one| own || (one.window.is_some() && one.window == open));
            let leased = in_time.map_or(0, |one| one.lent);
            let held = in_time.filter(|_| own || lost).map(|one| one.held);
            if lost {
                told.limit = told.limit.max(in_time.map_or(0, |one| one.limit));
            }
            told.regions.push(RegionHolding {
                region: status.region.clone(),
                reachable: status.reachable,
                held: held.or(lent).unwrap_or(0),
                leased: leased.min(held.or(lent).unwrap_or(0)),
                isolates: here.map_or(0, |one| one.isolates),
                outage: here.is_some_and(|one| one.outage),
                last_contact_at: status.last_contact_at.map(|at| at.0),
            });
        }
        if let Some(one) = coordinator.filter(|one| one.reachable) {
            told.limit = one.limit;
            told.free = one.free;
            let placed: u64 = one.lent.values().sum();
            told.unplaced = one.lent_total.saturating_sub(placed);
        }
        told
    }

    /// Whether a window is open anywhere.
    pub fn is_open(&self) -> bool {
        self.limit > 0
    }
}

/// The newest window of a budget that any region holds something of.
fn newest_window(reply: &RegionsReply, budget: &str) -> Option<WindowLabel> {
    let held = reply.regions.iter().flat_map(|status| &status.budgets);
    held.filter(|one| one.budget == budget)
        .filter_map(|one| one.window)
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reply(coordinators: serde_json::Value, weur: serde_json::Value) -> RegionsReply {
        let region = |name: &str, budgets: serde_json::Value| {
            json!({
                "region": name, "home": name == "enam", "reachable": true, "answer_ms": 3,
                "policy_revision": 1, "ledger_reachable": true, "last_contact_at": 5, "budgets": budgets,
            })
        };
        serde_json::from_value(json!({
            "at": 9, "policy_revision": 1, "here": "enam",
            "regions": [region("enam", json!([])), region("weur", weur)],
            "coordinators": coordinators,
        }))
        .unwrap()
    }

    fn coordinator() -> serde_json::Value {
        json!([{
            "budget": "tokens", "reachable": true, "answer_ms": 4, "window": 7, "ends_at": 60_000,
            "limit": 100, "lent": {"enam": 10, "weur": 30}, "lent_total": 55, "free": 45, "exact": false,
        }])
    }

    #[test]
    fn a_global_window_is_with_the_coordinator_its_regions_and_their_isolates() {
        let weur = json!([{"budget": "tokens", "window": 7, "limit": 100, "held": 30, "lent": 25, "isolates": 2}]);
        let told = Holdings::of(&reply(coordinator(), weur), "tokens");
        assert_eq!(
            (told.coordinator, told.limit, told.free),
            (Some(true), 100, 45)
        );
        assert_eq!((told.unplaced, told.exact, told.own), (15, false, false));
        let weur = &told.regions[1];
        assert_eq!(
            (weur.held, weur.leased, weur.kept(), weur.isolates),
            (30, 25, 5, 2)
        );
        assert_eq!((told.regions[0].held, told.regions[0].leased), (10, 0));
        let placed: u64 = told.regions.iter().map(|region| region.held).sum();
        assert_eq!(placed + told.unplaced + told.free, told.limit);
    }

    #[test]
    fn what_a_region_says_of_another_window_is_not_added() {
        let weur = json!([{"budget": "tokens", "window": 6, "limit": 100, "held": 90, "lent": 80}]);
        let told = Holdings::of(&reply(coordinator(), weur), "tokens");
        assert_eq!((told.regions[1].held, told.regions[1].leased), (30, 0));
    }

    #[test]
    fn without_its_coordinator_a_budget_is_where_the_regions_say_that_it_is() {
        let lost = json!([{"budget": "tokens", "reachable": false}]);
        let weur = json!([{"budget": "tokens", "window": 7, "limit": 100, "held": 30, "lent": 25, "outage": true}]);
        let told = Holdings::of(&reply(lost.clone(), weur), "tokens");
        assert_eq!(
            (told.coordinator, told.limit, told.free),
            (Some(false), 100, 0)
        );
        let weur = &told.regions[1];
        assert_eq!((weur.held, weur.leased, weur.outage), (30, 25, true));
        assert_eq!(told.regions[0].held, 0);
        let nobody = Holdings::of(&reply(lost, json!([])), "tokens");
        assert!(!nobody.is_open());
    }

    #[test]
    fn windows_of_regions_are_their_own() {
        let weur = json!([{"budget": "tokens", "own": true, "window": 3, "limit": 50, "held": 50, "lent": 20}]);
        let told = Holdings::of(&reply(json!([]), weur), "tokens");
        assert_eq!(
            (told.own, told.coordinator, told.limit, told.free),
            (true, None, 50, 30)
        );
        assert_eq!((told.regions[1].held, told.regions[1].kept()), (50, 30));
        assert!(told.is_open());
    }

    #[test]
    fn an_older_server_and_an_idle_budget_tell_nothing() {
        let told = Holdings::of(&reply(json!([]), json!([])), "tokens");
        assert!(!told.is_open());
        assert_eq!(told.regions.len(), 2);
        assert_eq!(told.coordinator, None);
    }
}
