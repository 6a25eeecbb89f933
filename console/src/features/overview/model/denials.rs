//! Who is denied most, and by what.

use std::collections::VecDeque;

use weir_shared::ordered::{OrderedMap, sort_by, sort_by_key};
use weir_shared::wire::operator::{FairnessReply, TenantReport};

/// Rows that are shown.
pub const ROWS_MAX: usize = 8;

/// Tenants that are asked for, of which those denied most at this moment are shown.
pub const ASKED: u64 = 50;

/// How far back a rate reaches, where there are readings that old: as far as those of the live figures do.
const AGE_MS: u64 = 10_000;

/// A reading older than this is no base for a rate.
const AGE_MS_MAX: u64 = 30_000;

const READINGS_MAX: usize = 24;

/// One tenant that is denied something.
#[derive(Debug, Clone, PartialEq)]
pub struct DeniedRow {
    /// The name it is counted under.
    pub tenant: String,
    /// Its tier.
    pub tier: Option<String>,
    /// Calls denied, shed and rejected a second; none while it is not known.
    pub per_s: Option<f64>,
    /// Calls denied, shed and rejected since counting began.
    pub calls: u128,
    /// What denies most at this moment, or denied most since counting began: its kind and its name.
    pub by: Option<(&'static str, String)>,
    /// What it asks of a budget that denies most, beside what that guarantees to it.
    pub claim: Option<Claim>,
}

/// What a tenant asks of a budget, and what it has a claim to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// Units a second that it asks for, served or not.
    pub asked_per_s: f64,
    /// Units a window that are guaranteed to it; 0 where nothing is.
    pub guarantee: u64,
}

/// The same rows in the order of earlier ones; those that are new stand last.
pub fn in_order_of(before: &[DeniedRow], mut now: Vec<DeniedRow>) -> Vec<DeniedRow> {
    let place = |row: &DeniedRow| {
        let place = before.iter().position(|before| before.tenant == row.tenant);
        place.unwrap_or(usize::MAX)
    };
    sort_by_key(&mut now, place);
    now
}

/// What earlier readings said, to take rates from.
#[derive(Debug, Clone, Default)]
pub struct Denials {
    before: VecDeque<Reading>,
}

/// One reading.
#[derive(Debug, Clone)]
struct Reading {
    at: u64,
    /// The regions that it is of: with another one in it, sums are no longer comparable.
    regions: Vec<String>,
    tenants: OrderedMap<String, Vec<Counted>>,
}

/// What one thing decided of one tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Counted {
    kind: &'static str,
    name: String,
    denied_calls: u128,
    /// Units asked of a budget, served or not.
    asked_units: u128,
    guarantee: u64,
}

impl Reading {
    fn of(reply: &FairnessReply) -> Self {
        let reachable = reply.regions.iter().filter(|region| region.reachable);
        let reports = reply.tenants.iter();
        Self {
            at: reply.at,
            regions: reachable.map(|region| region.region.clone()).collect(),
            tenants: reports
                .map(|report| (report.tenant.clone(), counted(report)))
                .collect(),
        }
    }
}

impl Denials {
    /// The tenants denied most, as of a reading: at this moment, then since counting began.
    pub fn read(&mut self, reply: &FairnessReply) -> Vec<DeniedRow> {
        let now = Reading::of(reply);
        self.before.retain(|before| {
            let age_ms = now.at.saturating_sub(before.at);
            before.regions == now.regions && before.at < now.at && age_ms <= AGE_MS_MAX
        });
        // The newest that is old enough: a rate follows what happens within seconds.
        let enough = |before: &&Reading| now.at - before.at >= AGE_MS;
        let base = self
            .before
            .iter()
            .rev()
            .find(enough)
            .or(self.before.front());
        let mut rows: Vec<DeniedRow> = reply
            .tenants
            .iter()
            .map(|report| row(report, base, now.at))
            .filter(|row| row.calls > 0)
            .collect();
        sort_by(&mut rows, |one, other| {
            let now = |row: &DeniedRow| row.per_s.unwrap_or(0.0);
            let faster = now(other).total_cmp(&now(one));
            faster
                .then_with(|| other.calls.cmp(&one.calls))
                .then_with(|| one.tenant.cmp(&other.tenant))
        });
        rows.truncate(ROWS_MAX);
        self.before.push_back(now);
        if self.before.len() > READINGS_MAX {
            self.before.pop_front();
        }
        rows
    }
}

fn row(report: &TenantReport, base: Option<&Reading>, now: u64) -> DeniedRow {
    let counted = counted(report);
    let calls = calls_of(&counted);
    // Who was not in the reading before may have been denied for long: its rate is not known.
    let before = base.and_then(|base| base.tenants.get(&report.tenant));
    let grown = before.and_then(|before| since(&counted, before));
    let seconds = base.map_or(1.0, |base| (now - base.at) as f64 / 1_000.0);
    let per_s = grown
        .as_deref()
        .map(|grown| calls_of(grown) as f64 / seconds);
    let of_now = grown.as_deref().and_then(most);
    let of_all = most(&counted);
    let by = of_now.or(of_all).map(|one| (one.kind, one.name.clone()));
    let claim = of_now.filter(|one| one.kind == BUDGET).map(|one| Claim {
        asked_per_s: one.asked_units as f64 / seconds,
        guarantee: one.guarantee,
    });
    DeniedRow {
        tenant: report.tenant.clone(),
        tier: report.tier.clone(),
        per_s,
        calls,
        by,
        claim,
    }
}

fn calls_of(counted: &[Counted]) -> u128 {
    counted.iter().map(|one| one.denied_calls).sum()
}

/// What denied most.
fn most(counted: &[Counted]) -> Option<&Counted> {
    let denied = counted.iter().filter(|one| one.denied_calls > 0);
    denied.max_by_key(|one| one.denied_calls)
}

/// What was counted since an earlier reading; none where that had counted more.
fn since(now: &[Counted], before: &[Counted]) -> Option<Vec<Counted>> {
    let grown = now.iter().map(|one| {
        let same = |other: &&Counted| other.kind == one.kind && other.name == one.name;
        let (calls, units) = before
            .iter()
            .find(same)
            .map_or((0, 0), |before| (before.denied_calls, before.asked_units));
        Some(Counted {
            denied_calls: one.denied_calls.checked_sub(calls)?,
            asked_units: one.asked_units.saturating_sub(units),
            ..one.clone()
        })
    });
    grown.collect()
}

/// What a budget is called here.
const BUDGET: &str = "budget";

/// What each thing refused. What a shadow would have denied is not among it.
fn counted(report: &TenantReport) -> Vec<Counted> {
    let one = |kind, name: &String, denied_calls: u128| Counted {
        kind,
        name: name.clone(),
        denied_calls,
        asked_units: 0,
        guarantee: 0,
    };
    let budgets = report.budgets.iter().map(|(name, budget)| Counted {
        asked_units: budget.total.admitted_units.0 + budget.total.denied_units.0,
        guarantee: budget.guarantee,
        ..one(BUDGET, name, budget.total.denied_calls.0)
    });
    let limits = report.limits.iter();
    let meters = report.meters.iter();
    let guards = report.guards.iter();
    let overload = report.overload.iter();
    budgets
        .chain(limits.map(|(name, tally)| one("limit", name, tally.denied_calls.0)))
        .chain(meters.map(|(name, meter)| one("meter", name, meter.shed_calls.0)))
        .chain(guards.map(|(name, guard)| {
            let rejected =
                guard.rejected_concurrency.0 + guard.rejected_budget.0 + guard.rejected_other.0;
            one("guard", name, rejected)
        }))
        .chain(overload.map(|(name, tally)| one("overload", name, tally.denied_calls.0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reply(at: u64, reachable: bool, tenants: &[(&str, u64, u64)]) -> FairnessReply {
        let tenants: Vec<_> = tenants
            .iter()
            .map(|(tenant, budget, meter)| {
                json!({
                    "tenant": tenant, "tier": "free", "weight": 1,
                    "total": {"denied_calls": budget},
                    "budgets": {"tokens": {"weight": 1, "guarantee": 0, "used": 0, "borrowed": 0,
                                           "denied": budget, "total": {"denied_calls": budget}}},
                    "limits": {}, "meters": {"bytes": {"shed_calls": meter}},
                })
            })
            .collect();
        let reply = json!({
            "at": at, "policy_revision": 1, "enforcing": true, "tenants": tenants,
            "regions": [{"region": "weur", "reachable": reachable, "total": {}}],
        });
        serde_json::from_value(reply).unwrap()
    }

    fn names(rows: &[DeniedRow]) -> Vec<&str> {
        rows.iter().map(|row| row.tenant.as_str()).collect()
    }

    #[test]
    fn who_is_denied_at_this_moment_stands_above_who_was() {
        let mut denials = Denials::default();
        let told = denials.read(&reply(
            0,
            true,
            &[("old", 900, 0), ("new", 10, 0), ("well", 0, 0)],
        ));
        assert_eq!(names(&told), ["old", "new"]);
        assert_eq!(told[0].per_s, None);
        let told = denials.read(&reply(2_000, true, &[("old", 900, 0), ("new", 30, 0)]));
        assert_eq!(names(&told), ["new", "old"]);
        assert_eq!((told[0].per_s, told[1].per_s), (Some(10.0), Some(0.0)));
    }

    #[test]
    fn rates_are_of_the_last_seconds() {
        let mut denials = Denials::default();
        let mut last = Vec::new();
        for second in 0..20 {
            let calls = if second < 10 { 0 } else { (second - 9) * 7 };
            last = denials.read(&reply(second * 1_000, true, &[("a", 1 + calls, 0)]));
        }
        assert_eq!(last[0].per_s, Some(7.0));
    }

    #[test]
    fn what_cannot_be_compared_gives_no_rate() {
        for (then, now) in [
            // The region was out of reach before: all that it counted would look like a flood.
            (
                reply(0, false, &[("a", 1, 0)]),
                reply(2_000, true, &[("a", 9_000, 0)]),
            ),
            (
                reply(0, true, &[("b", 1, 0)]),
                reply(2_000, true, &[("a", 9_000, 0)]),
            ),
            (
                reply(0, true, &[("a", 10, 0)]),
                reply(2_000, true, &[("a", 9, 0)]),
            ),
            (
                reply(0, true, &[("a", 1, 0)]),
                reply(60_000, true, &[("a", 9, 0)]),
            ),
            (
                reply(5, true, &[("a", 1, 0)]),
                reply(5, true, &[("a", 9, 0)]),
            ),
        ] {
            let mut denials = Denials::default();
            denials.read(&then);
            assert_eq!(denials.read(&now)[0].per_s, None);
        }
    }

    #[test]
    fn an_order_can_be_held_while_figures_change() {
        let mut denials = Denials::default();
        let before = denials.read(&reply(0, true, &[("a", 9, 0), ("b", 5, 0)]));
        let now = denials.read(&reply(
            2_000,
            true,
            &[("a", 9, 0), ("b", 50, 0), ("c", 90, 0)],
        ));
        assert_eq!(names(&now), ["b", "c", "a"]);
        let held = in_order_of(&before, now);
        assert_eq!(names(&held), ["a", "b", "c"]);
        assert_eq!(held[1].calls, 50);
    }

    #[test]
    fn what_denied_most_is_named() {
        let told = Denials::default().read(&reply(0, true, &[("a", 5, 7), ("b", 8, 7)]));
        assert_eq!((told[0].calls, told[1].calls), (15, 12));
        assert_eq!(told[0].by, Some(("budget", "tokens".to_owned())));
        assert_eq!(told[1].by, Some(("meter", "bytes".to_owned())));
    }

    #[test]
    fn few_are_shown_of_many() {
        let names: Vec<String> = (0..20).map(|number| format!("t{number:02}")).collect();
        let tenants: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 0)).collect();
        let told = Denials::default().read(&reply(0, true, &tenants));
        assert_eq!(told.len(), ROWS_MAX);
        assert_eq!(told[0].tenant, "t00");
    }

    #[test]
    fn what_is_asked_of_a_budget_stands_beside_the_guarantee() {
        let reading = |at: u64, admitted: u64, denied: u64, would_deny: u64| -> FairnessReply {
            let total = json!({
                "admitted_units": admitted, "denied_calls": denied, "denied_units": denied * 10,
                "would_deny_calls": would_deny, "would_deny_units": would_deny * 10,
            });
            serde_json::from_value(json!({
                "at": at, "policy_revision": 1, "enforcing": true,
                "regions": [{"region": "weur", "reachable": true, "total": {}}],
                "tenants": [{
                    "tenant": "a", "tier": "free", "weight": 1, "total": {}, "limits": {},
                    "budgets": {"tokens": {"weight": 1, "guarantee": 40, "used": 0, "borrowed": 0, "denied": 0,
                                           "total": total}},
                }],
            }))
            .unwrap()
        };
        let mut denials = Denials::default();
        assert_eq!(denials.read(&reading(0, 0, 1, 0))[0].claim, None);
        let told = denials.read(&reading(10_000, 100, 31, 500));
        let claim = told[0].claim.unwrap();
        assert_eq!((claim.asked_per_s, claim.guarantee), (40.0, 40));
        assert_eq!(told[0].per_s, Some(3.0), "a shadow denies nothing");
        // At rest nobody has a claim.
        assert_eq!(denials.read(&reading(20_000, 100, 31, 900))[0].claim, None);
    }
}
