//! Where the units of each budget's open window are, holder by holder.

use weir_shared::ordered::{sort_by, sort_by_key};
use weir_shared::wire::operator::budgets::BudgetRow;
use weir_shared::wire::operator::regions::{RegionsReply, TenantLent};
use weir_shared::wire::policy::{BudgetBody, Scope};

use crate::chart::series::{Part, Tone};
use crate::features::budget::model::holdings::{Holdings, RegionHolding};
use crate::health::Health;

/// What isolates have on lease.
const LEASED: Tone = Tone::Blue;
/// What a region has and has not lent on.
const ESCROW: Tone = Tone::RESERVED;
/// What somebody has who does not say so.
const UNKNOWN: Tone = Tone::Purple;

/// Who has units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// A region.
    Region(String),
    /// The coordinator: what it has not lent.
    Coordinator,
    /// Somebody to whom the coordinator lent in an earlier life.
    Unknown,
}

/// One holder of units of a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Who.
    pub who: Who,
    /// Units in all.
    pub held: u64,
    /// Units of those that isolates have on lease or have spent; none where it is not known or there are none.
    pub leased: Option<u64>,
    /// Units of those that a region has not lent on.
    pub escrow: Option<u64>,
    /// Isolates that were heard of lately.
    pub isolates: Option<u64>,
    /// What is wrong with it, in a few words.
    pub trouble: Option<&'static str>,
    /// When it was last heard of, epoch milliseconds.
    pub last_contact_at: Option<u64>,
}

impl Holder {
    /// What it is called.
    pub fn name(&self) -> &str {
        match &self.who {
            Who::Region(region) => region,
            Who::Coordinator => "coordinator",
            Who::Unknown => "not known",
        }
    }

    /// What it holds, as parts of a bar.
    pub fn parts(&self) -> Vec<Part> {
        let part = |name: &str, tone, amount: u64| Part {
            name: name.to_owned(),
            tone,
            amount: amount as f64,
        };
        match (&self.who, self.leased, self.escrow) {
            (Who::Coordinator, ..) => vec![part("free", Tone::FREE, self.held)],
            (Who::Region(_), Some(leased), Some(escrow)) => vec![
                part("leased to isolates", LEASED, leased),
                part("in escrow", ESCROW, escrow),
            ],
            _ => vec![part("holder not known", UNKNOWN, self.held)],
        }
    }

    fn region(of: &RegionHolding) -> Self {
        let known = of.reachable.then_some(of);
        let trouble = match (of.reachable, of.outage) {
            (false, _) => Some("out of reach"),
            (true, true) => Some("no coordinator"),
            (true, false) => None,
        };
        Self {
            who: Who::Region(of.region.clone()),
            held: of.held,
            leased: known.map(|of| of.leased),
            escrow: known.map(RegionHolding::kept),
            isolates: known.map(|of| of.isolates),
            trouble,
            last_contact_at: of.last_contact_at,
        }
    }

    fn other(who: Who, held: u64) -> Self {
        Self {
            who,
            held,
            leased: None,
            escrow: None,
            isolates: None,
            trouble: None,
            last_contact_at: None,
        }
    }
}

/// Where one budget is.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The budget.
    pub name: String,
    /// What the policy says of it, where that is known.
    pub body: Option<BudgetBody>,
    /// How its coordinator is; none where it has none.
    pub coordinator: Option<Health>,
    /// How long the coordinator's answer took.
    pub answer_ms: Option<u64>,
    /// Whether each region has windows of its own.
    pub own: bool,
    /// Number of the open window.
    pub window: Option<u64>,
    /// When it ends, epoch milliseconds.
    pub ends_at: Option<u64>,
    /// Units in the window; 0 while none is open.
    pub limit: u64,
    /// Whether what is lent is known exactly.
    pub exact: bool,
    /// Who has how much.
    pub holders: Vec<Holder>,
    /// What regions have of each tenant, the largest first: of one budget alone.
    pub tenants: Vec<TenantLent>,
}

impl Place {
    fn of(reply: &RegionsReply, name: &str, body: Option<&BudgetBody>) -> Self {
        let told = Holdings::of(reply, name);
        let status = reply.coordinators.iter().find(|one| one.budget == name);
        let window = open_window(reply, name, told.own);
        let mut holders: Vec<Holder> = told.regions.iter().map(Holder::region).collect();
        if told.unplaced > 0 {
            holders.push(Holder::other(Who::Unknown, told.unplaced));
        }
        if status.is_some_and(|one| one.reachable && one.window.is_some()) {
            holders.push(Holder::other(Who::Coordinator, told.free));
        }
        Self {
            name: name.to_owned(),
            body: body.cloned(),
            coordinator: status.map(Health::of_coordinator),
            answer_ms: told.answer_ms,
            own: told.own,
            window: window.map(|(label, _)| label),
            ends_at: window.and_then(|(_, ends_at)| ends_at),
            limit: told.limit,
            exact: told.exact,
            holders,
            tenants: status.map_or_else(Vec::new, |one| one.tenants.clone()),
        }
    }

    /// Whether a window is open anywhere.
    pub fn is_open(&self) -> bool {
        self.limit > 0
    }

    /// Whether every isolate has windows of its own, so that there is nothing to draw.
    pub fn in_isolates(&self) -> bool {
        let scope = self.body.as_ref().and_then(|body| body.scope);
        scope == Some(Scope::Isolate)
    }

    /// What stands there while no window is open.
    pub fn closed_words(&self) -> &'static str {
        if self.in_isolates() {
            "Each isolate has windows of its own: there is nothing to lend."
        } else if self.coordinator == Some(Health::Lost) {
            "Its coordinator does not answer, and no region holds any of it."
        } else {
            "No window is open: nobody has asked for it recently. The next request opens one."
        }
    }

    /// All of it, as parts of one bar: what is on lease, in escrow, with somebody who does not say so, and free.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for part in self.holders.iter().flat_map(Holder::parts) {
            match parts.iter_mut().find(|known| known.name == part.name) {
                Some(known) => known.amount += part.amount,
                None => parts.push(part),
            }
        }
        let order = [LEASED, ESCROW, UNKNOWN, Tone::FREE];
        sort_by_key(&mut parts, |part| {
            order.iter().position(|tone| *tone == part.tone)
        });
        parts.retain(|part| part.amount > 0.0 || part.tone != UNKNOWN);
        parts
    }
}

/// Number and end of the open window: as the coordinator says or, without its word, as the region with the newest does.
fn open_window(reply: &RegionsReply, name: &str, own: bool) -> Option<(u64, Option<u64>)> {
    let status = reply.coordinators.iter().find(|one| one.budget == name);
    if let Some(one) = status.filter(|one| one.reachable) {
        return Some((one.window?.0, one.ends_at.map(|at| at.0)));
    }
    let held = reply.regions.iter().flat_map(|status| &status.budgets);
    held.filter(|one| !own && one.budget == name)
        .filter_map(|one| Some((one.window?.0, one.ends_at.map(|at| at.0))))
        .max()
}

/// Every budget, in the order of its name, or the one that is asked for.
pub fn places(reply: &RegionsReply, budgets: &[BudgetRow], only: Option<&str>) -> Vec<Place> {
    let of_policy = budgets.iter().map(|row| row.name.as_str());
    let coordinated = reply.coordinators.iter().map(|one| one.budget.as_str());
    let held = reply.regions.iter().flat_map(|status| &status.budgets);
    let held = held.map(|one| one.budget.as_str());
    let mut names: Vec<&str> = of_policy.chain(coordinated).chain(held).collect();
    sort_by(&mut names, Ord::cmp);
    names.dedup();
    names.retain(|name| only.is_none_or(|only| only == *name));
    let body = |name: &str| budgets.iter().find(|row| row.name == name);
    names
        .into_iter()
        .map(|name| Place::of(reply, name, body(name).map(|row| &row.body)))
        .collect()
}

/// The most isolates that any budget of a region was asked for by; none where nothing is known.
pub fn isolates(reply: &RegionsReply, region: &str) -> Option<u64> {
    let status = reply.regions.iter().find(|one| one.region == region)?;
    let counted = status.budgets.iter().map(|budget| budget.isolates);
    counted.max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn region(name: &str, reachable: bool, budgets: Value) -> Value {
        json!({
            "region": name, "home": false, "reachable": reachable, "answer_ms": 3, "policy_revision": 1,
            "ledger_reachable": true, "last_contact_at": 5, "budgets": budgets,
        })
    }

    fn reply(regions: Value, coordinators: Value) -> RegionsReply {
        let text = json!({
            "at": 9, "policy_revision": 1, "here": "enam", "regions": regions, "coordinators": coordinators,
        });
        serde_json::from_value(text).unwrap()
    }

    fn open() -> RegionsReply {
        let here = json!([{"budget": "tokens", "window": 7, "limit": 100, "held": 30, "lent": 25, "isolates": 2}]);
        let regions = json!([region("weur", true, here), region("enam", false, json!([]))]);
        let coordinator = json!([{
            "budget": "tokens", "reachable": true, "answer_ms": 4, "window": 7, "ends_at": 60_000, "limit": 100,
            "lent": {"weur": 30, "enam": 10}, "lent_total": 45, "free": 55, "exact": false,
        }]);
        reply(regions, coordinator)
    }

    fn row(name: &str, body: Value) -> BudgetRow {
        serde_json::from_value(json!({"name": name, "body": body, "tenants": 0, "total": {}}))
            .unwrap()
    }

    fn amounts(parts: &[Part]) -> Vec<(&str, f64)> {
        parts
            .iter()
            .map(|part| (part.name.as_str(), part.amount))
            .collect()
    }

    #[test]
    fn every_unit_of_the_window_is_with_one_holder() {
        let told = places(&open(), &[], None);
        assert_eq!(told.len(), 1);
        let place = &told[0];
        let names: Vec<&str> = place.holders.iter().map(Holder::name).collect();
        assert_eq!(names, ["weur", "enam", "not known", "coordinator"]);
        let held: u64 = place.holders.iter().map(|holder| holder.held).sum();
        assert_eq!(held, place.limit);
        assert_eq!(
            amounts(&place.parts()),
            [
                ("leased to isolates", 25.0),
                ("in escrow", 5.0),
                ("holder not known", 15.0),
                ("free", 55.0),
            ]
        );
        assert_eq!((place.window, place.ends_at), (Some(7), Some(60_000)));
        assert!(place.is_open() && !place.exact);
    }

    #[test]
    fn a_region_that_does_not_answer_holds_what_it_was_lent_and_nobody_says_how() {
        let place = &places(&open(), &[], None)[0];
        let lost = &place.holders[1];
        assert_eq!((lost.held, lost.leased, lost.escrow), (10, None, None));
        assert_eq!(lost.trouble, Some("out of reach"));
        assert_eq!(amounts(&lost.parts()), [("holder not known", 10.0)]);
        let good = &place.holders[0];
        assert_eq!((good.trouble, good.isolates), (None, Some(2)));
    }

    #[test]
    fn a_region_without_its_coordinator_says_so() {
        let here = json!([{"budget": "tokens", "window": 7, "limit": 100, "ends_at": 70_000, "held": 30, "lent": 25, "outage": true}]);
        let regions = json!([region("weur", true, here)]);
        let place = places(
            &reply(regions, json!([{"budget": "tokens", "reachable": false}])),
            &[],
            None,
        )
        .remove(0);
        assert_eq!(place.coordinator, Some(Health::Lost));
        assert_eq!(place.holders.len(), 1);
        assert_eq!(place.holders[0].trouble, Some("no coordinator"));
        assert_eq!((place.window, place.ends_at), (Some(7), Some(70_000)));
        let here = &place.holders[0];
        assert_eq!(
            (here.held, here.leased, here.escrow),
            (30, Some(25), Some(5))
        );
        assert!(place.is_open());
    }

    #[test]
    fn budgets_are_those_of_the_policy_and_of_what_is_told_each_once() {
        let rows = [
            row("tokens", json!({"limit": 100, "scope": "global"})),
            row("mine", json!({"limit": 5, "scope": "isolate"})),
        ];
        let all = places(&open(), &rows, None);
        let names: Vec<&str> = all.iter().map(|place| place.name.as_str()).collect();
        assert_eq!(names, ["mine", "tokens"]);
        assert!(
            all[0].in_isolates() && !all[0].is_open() && all[0].closed_words().contains("isolate")
        );
        assert_eq!(all[1].body.as_ref().unwrap().limit, Some(100));
        let one = places(&open(), &rows, Some("mine"));
        assert_eq!(one.len(), 1);
        assert_eq!(places(&open(), &rows, Some("other")), []);
    }

    #[test]
    fn an_idle_budget_has_nothing_to_draw() {
        let regions = json!([region("weur", true, json!([]))]);
        let idle = reply(regions, json!([{"budget": "tokens", "reachable": true}]));
        let place = places(&idle, &[], None).remove(0);
        assert!(!place.is_open() && place.closed_words().starts_with("No window"));
        assert!(place.holders.iter().all(|holder| holder.held == 0));
        assert_eq!(isolates(&idle, "weur"), None);
        assert_eq!(isolates(&open(), "weur"), Some(2));
        assert_eq!(isolates(&open(), "gone"), None);
    }
}
