//! A budget of a simulation as a water-fill: what each tenant got for its weight over the whole span, to where those
//! that wanted more are filled, and who is limited by its share.
//!
//! A simulation tells sums over all windows of its span, so the drawing divides what was admitted in all: the level is
//! where those that wanted more would stand had it been one window.

use weir_shared::ordered::sort_by_key;
use weir_shared::policy::Policy;
use weir_shared::policy::budget::Budget;
use weir_shared::report::guarantee::among;
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::accounting::Tally;
use weir_shared::wire::replay::{ReplayBody, ReplayKind, ReplayRow};

use super::results::{given, units};
use crate::features::budget::model::water_fill::{Portion, WaterFill, sum_of_weights};
use crate::format::{count, counted};
use crate::tenant_name::TenantName;
use crate::visible::visible;

/// Tenants that are named; the others are counted.
const NAMED_MAX: usize = 3;

/// Which of the two policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one in force.
    Present,
    /// The other one.
    Candidate,
}

impl Side {
    fn tally(self, row: &ReplayRow) -> &Tally {
        match self {
            Self::Present => &row.present,
            Self::Candidate => &row.candidate,
        }
    }
}

/// What a budget's tenants got.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shared {
    /// The drawing; empty where no weight decides.
    pub fill: WaterFill,
    /// The tenants that were denied and asked for more than the level gives them.
    pub limited: Vec<String>,
    /// The same in words.
    pub words: String,
}

/// The budget to look at first: the one at which most was denied, by either policy.
pub fn budget_of(body: &ReplayBody) -> Option<String> {
    let budgets = body
        .rows
        .iter()
        .filter(|row| row.kind == ReplayKind::Budget);
    let mut denied: Vec<(&str, u128)> = Vec::new();
    for row in budgets {
        let units = row
            .present
            .denied_units
            .0
            .saturating_add(row.candidate.denied_units.0);
        match denied.iter_mut().find(|(name, _)| *name == row.name) {
            Some((_, sum)) => *sum = sum.saturating_add(units),
            None => denied.push((&row.name, units)),
        }
    }
    // Of equals the first one.
    let most = denied.into_iter().rev().max_by_key(|(_, units)| *units);
    most.map(|(name, _)| name.to_owned())
}

/// What the tenants of a budget got under one policy.
pub fn shared(body: &ReplayBody, budget: &str, side: Side, policy: &Policy) -> Shared {
    let Some(terms) = policy.budgets.get(budget) else {
        return only("This policy has no budget of that name, and admits everything.");
    };
    if terms.rule().is_none() {
        return only("This policy has no shares at the budget: units go to whoever comes first.");
    }
    let rows = body.rows.iter();
    let rows = rows.filter(|row| row.kind == ReplayKind::Budget && row.name == budget);
    let (rows, apart): (Vec<&ReplayRow>, Vec<&ReplayRow>) =
        rows.partition(|row| TenantName::of(&row.tenant).is_named());
    let names = rows.iter().map(|row| row.tenant.as_str());
    let guarantees = among(policy, budget, names, body.to);
    let rows = rows.into_iter().map(|row| {
        let counts_as = guarantees.weight_among_all(&row.tenant) as f64 / 1e6;
        (row, counts_as)
    });
    let portions = rows.map(|(row, counts_as)| portion(row, counts_as, side, policy, body.to));
    let mut portions: Vec<Portion> = portions.collect();
    portions.retain(|portion| portion.counts_as > 0.0);
    // As records of windows have it: who asked for most is drawn.
    sort_by_key(&mut portions, |one| {
        std::cmp::Reverse(one.used.saturating_add(one.denied))
    });
    let sum = |of: fn(&Portion) -> u64| portions.iter().map(of).fold(0, u64::saturating_add);
    let (used, denied) = (sum(|one| one.used), sum(|one| one.denied));
    let weights = sum_of_weights(&portions.iter().collect::<Vec<_>>());
    for portion in &mut portions {
        portion.guarantee = (used as f64 * portion.counts_as / weights) as u64;
        portion.borrowed = portion.used.saturating_sub(portion.guarantee);
        portion.reserved = portion.guarantee.saturating_sub(portion.used);
    }
    let seen = portions.len() as u64;
    let mut fill = WaterFill::among(used, portions.into_iter(), Some(weights), seen);
    if denied == 0 {
        fill.level = None;
    }
    let limited = limited(&fill);
    let words = words(&fill, terms, (used, denied), &limited) + &not_drawn(&apart, side);
    Shared {
        fill,
        limited,
        words,
    }
}

/// What tenants got that are not told apart: it is part of the sum over all tenants.
fn not_drawn(rows: &[&ReplayRow], side: Side) -> String {
    let passed = |row: &&ReplayRow| given(side.tally(row)).passed;
    match rows.iter().map(passed).fold(0, u128::saturating_add) {
        0 => String::new(),
        passed => format!(
            " Not drawn: {} of tenants that are not told apart.",
            units(passed)
        ),
    }
}

fn only(words: &str) -> Shared {
    Shared {
        words: words.to_owned(),
        ..Shared::default()
    }
}

/// What one tenant got. Its weight is that at the end of the span; those that are not told apart have none.
fn portion(row: &ReplayRow, counts_as: f64, side: Side, policy: &Policy, at: EpochMs) -> Portion {
    let tally = side.tally(row);
    let units = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
    let claimant = TenantName::of(&row.tenant)
        .is_named()
        .then(|| policy.claimant(&row.tenant, Some(&row.name), Revision(0), at))
        .flatten();
    let above = claimant
        .as_ref()
        .and_then(|claimant| claimant.claim.above.first());
    Portion {
        tenant: row.tenant.clone(),
        parent: above.map(|above| above.name.clone()),
        weight: claimant
            .as_ref()
            .map_or(0.0, |claimant| claimant.claim.weight.as_f64()),
        counts_as,
        guarantee: 0,
        used: units(given(tally).passed),
        borrowed: 0,
        reserved: 0,
        denied: units(given(tally).denied),
        depth: 0,
    }
}

/// Who was denied and asked for more than the level gives it.
fn limited(fill: &WaterFill) -> Vec<String> {
    let Some(level) = fill.level else {
        return Vec::new();
    };
    let over = |portion: &&Portion| {
        let asked = portion.used as f64 + portion.denied as f64;
        portion.denied > 0 && asked > level * portion.counts_as
    };
    let over = fill.portions.iter().filter(over);
    over.map(|portion| portion.tenant.clone()).collect()
}

fn words(
    fill: &WaterFill,
    terms: &Budget,
    (used, denied): (u64, u64),
    limited: &[String],
) -> String {
    if fill.portions.is_empty() {
        return "No tenant that is told apart asked for anything.".to_owned();
    }
    let Some(level) = fill.level else {
        return format!(
            "Nobody is denied: all {} units that were asked for are admitted, of {} per window.",
            count(used.into()),
            count(terms.limit.into())
        );
    };
    let mut words = format!(
        "{} of {} units are admitted. Tenants that want more get up to {} units per unit of weight over the span",
        count(used.into()),
        count(u128::from(used) + u128::from(denied)),
        count(level as u128)
    );
    words.push_str(&match limited {
        [] => ".".to_owned(),
        [one] => format!(": {} is limited by its share.", visible(one)),
        many => format!(": {} are limited by their share.", listed(many)),
    });
    let below = fill.portions.iter().filter(|one| one.denied > 0).count() - limited.len();
    if below > 0 {
        words.push_str(&format!(
            " {} denied below that level: a request came when its window had no room for it.",
            match below {
                1 => "1 tenant is".to_owned(),
                many => format!("{} are", counted(many, "tenant")),
            }
        ));
    }
    words
}

/// `a, b, c and 2 others`.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(NAMED_MAX)
        .map(|name| visible(name))
        .collect();
    match names.len() - shown.len() {
        0 => match shown.split_last() {
            Some((last, first)) => format!("{} and {last}", first.join(", ")),
            None => String::new(),
        },
        1 => format!("{} and 1 other", shown.join(", ")),
        others => format!("{} and {others} others", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_shared::invalid::read_json;
    use weir_shared::wire::accounting::OTHERS;
    use weir_shared::wire::count::Count;

    use super::*;

    fn policy(sharing: &str) -> Policy {
        let document = json!({
            "regions": ["weur"], "default_tier": "free",
            "tiers": { "free": { "weight": 1 }, "pro": { "weight": 2 } },
            "tenants": { "b": { "tier": "pro" } },
            "budgets": { "tokens": { "limit": 70, "window_ms": 1000, "sharing": sharing, "scope": "global" } },
        });
        Policy::try_from(&read_json(document.to_string().as_bytes()).unwrap()).unwrap()
    }

    fn without_budgets() -> Policy {
        let text = br#"{ "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free" }"#;
        Policy::try_from(&read_json(text).unwrap()).unwrap()
    }

    fn body(rows: &[(&str, u128, u128)]) -> ReplayBody {
        let row = |(tenant, passed, denied): &(&str, u128, u128)| ReplayRow {
            kind: ReplayKind::Budget,
            name: "tokens".to_owned(),
            tenant: (*tenant).to_owned(),
            present: Tally {
                admitted_units: Count(*passed),
                denied_units: Count(*denied),
                ..Tally::default()
            },
            candidate: Tally {
                admitted_units: Count(passed + denied),
                ..Tally::default()
            },
        };
        ReplayBody {
            at: EpochMs(0),
            present_revision: None,
            entries: 3,
            from: EpochMs(0),
            to: EpochMs(1_000),
            unreachable: Vec::new(),
            rows_total: rows.len() as u64,
            rows: rows.iter().map(row).collect(),
            others: None,
        }
    }

    /// `c` asks for 10, and the 60 that are left go 1 : 2.
    fn over() -> ReplayBody {
        body(&[("a", 20, 80), ("b", 40, 60), ("c", 10, 0)])
    }

    #[test]
    fn who_wants_more_than_the_level_is_limited_by_its_share() {
        let told = shared(
            &over(),
            "tokens",
            Side::Present,
            &policy("weighted_fair_escrow"),
        );
        assert_eq!(told.fill.level, Some(20.0));
        assert_eq!(told.limited, ["b", "a"], "the heaviest first");
        assert_eq!(
            told.words,
            "70 of 210 units are admitted. Tenants that want more get up to 20 units per unit of weight over the span: \
             b and a are limited by their share."
        );
        let b = &told.fill.portions[0];
        assert_eq!(
            (b.tenant.as_str(), b.weight, b.guarantee, b.borrowed),
            ("b", 2.0, 35, 5)
        );
    }

    #[test]
    fn a_tenant_above_others_that_asks_itself_counts_once() {
        let document = json!({
            "regions": ["weur"], "default_tier": "free", "tiers": { "free": { "weight": 1 } },
            "tenants": { "c": { "weight": 3 }, "x": { "parent": "c" }, "y": { "parent": "c" } },
            "budgets": { "tokens": {
                "limit": 70, "window_ms": 1000, "sharing": "weighted_fair_escrow", "scope": "global",
            } },
        });
        let policy = Policy::try_from(&read_json(document.to_string().as_bytes()).unwrap());
        let body = body(&[("a", 20, 80), ("c", 20, 0), ("x", 30, 20), ("y", 10, 0)]);
        let told = shared(&body, "tokens", Side::Present, &policy.unwrap());
        let of = |name: &str| {
            let found = told.fill.portions.iter().find(|one| one.tenant == name);
            (found.unwrap().counts_as, found.unwrap().guarantee)
        };
        // 80 units by 1 : 3; what `c` has are the parts of `x` and `y` together.
        assert_eq!(
            ["a", "c", "x", "y"].map(of),
            [(1.0, 20), (3.0, 60), (1.5, 30), (1.5, 30)]
        );
        assert_eq!((told.fill.fair, told.fill.level), (Some(20.0), Some(20.0)));
    }

    #[test]
    fn the_other_policy_is_told_by_its_own_figures() {
        let told = shared(
            &over(),
            "tokens",
            Side::Candidate,
            &policy("weighted_fair_escrow"),
        );
        assert_eq!((told.fill.level, told.limited.len()), (None, 0));
        assert_eq!(
            told.words,
            "Nobody is denied: all 210 units that were asked for are admitted, of 70 per window."
        );
    }

    #[test]
    fn a_denial_below_the_level_is_not_the_share_s() {
        let burst = body(&[("a", 50, 50), ("b", 10, 2)]);
        let told = shared(
            &burst,
            "tokens",
            Side::Present,
            &policy("weighted_fair_escrow"),
        );
        assert_eq!(told.limited, ["a"]);
        assert!(
            told.words
                .contains("a is limited by its share. 1 tenant is denied below"),
            "{}",
            told.words
        );
    }

    #[test]
    fn where_no_weight_decides_no_share_limits() {
        for (policy, part) in [
            (policy("first_come"), "whoever comes first"),
            (without_budgets(), "has no budget"),
        ] {
            let told = shared(&over(), "tokens", Side::Present, &policy);
            assert!(told.words.contains(part), "{}", told.words);
            assert!(told.fill.vessels.is_empty());
        }
    }

    #[test]
    fn tenants_that_are_not_told_apart_have_no_vessel() {
        let body = body(&[(OTHERS, 50, 10)]);
        let told = shared(
            &body,
            "tokens",
            Side::Present,
            &policy("weighted_fair_escrow"),
        );
        assert_eq!(
            told.words,
            "No tenant that is told apart asked for anything. Not drawn: 50 units of tenants that are not told apart."
        );
        let mut all = over();
        all.rows.extend(body.rows);
        let told = shared(
            &all,
            "tokens",
            Side::Candidate,
            &policy("weighted_fair_escrow"),
        );
        assert_eq!(
            told.words,
            "Nobody is denied: all 210 units that were asked for are admitted, of 70 per window. Not drawn: 60 units of tenants \
             that are not told apart."
        );
    }

    #[test]
    fn many_that_are_limited_are_counted() {
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        for (of, told) in [
            (2, "a and b"),
            (3, "a, b and c"),
            (4, "a, b, c and 1 other"),
            (5, "a, b, c and 2 others"),
        ] {
            assert_eq!(listed(&names[..of]), told);
        }
    }

    #[test]
    fn the_budget_at_which_most_was_denied_is_looked_at_first() {
        let mut body = over();
        assert_eq!(budget_of(&body).as_deref(), Some("tokens"));
        for row in &mut body.rows[1..] {
            row.name = "images".to_owned();
        }
        assert_eq!(budget_of(&body).as_deref(), Some("tokens"), "80 beside 60");
        body.rows.clear();
        assert_eq!(budget_of(&body), None);
    }
}
