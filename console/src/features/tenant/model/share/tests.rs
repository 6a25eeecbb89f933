use serde_json::json;
use weir_shared::accounting::counters::{Charged, Decided};
use weir_shared::accounting::pending::{InWindow, Pending};
use weir_shared::accounting::windows::Windows;
use weir_shared::decision::Reason;
use weir_shared::fairness::ask::Party;
use weir_shared::federation::party::window_claim;
use weir_shared::report::guarantee::among;
use weir_shared::units::WindowLabel;
use weir_shared::wire::accounting::FrameBody;
use weir_shared::wire::decimal::Decimal;

use super::*;
use crate::features::budget::model::water_fill::WaterFill;

/// Weights 1, 2 and 4 of 700 units: guarantees of 100, 200 and 400.
fn record(served: [u64; 3], denied: [u64; 3]) -> WindowRecord {
    let guarantees = [100, 200, 400];
    let tenants = (0..3).map(|index| {
        json!({
            "tenant": (["a", "b", "c"][index]), "weight": ([1, 2, 4][index]),
            "entitlement": guarantees[index], "served": served[index],
            "borrowed": served[index].saturating_sub(guarantees[index]), "denied": denied[index],
        })
    });
    let tenants: Vec<_> = tenants.collect();
    serde_json::from_value(json!({
        "budget": "tokens", "label": 7, "ends_at": 60_000, "limit": 700, "complete": true,
        "granted": 700, "admitted": served.iter().sum::<u64>(), "returned": 0, "unaccounted": 0,
        "exact": true, "denied": denied.iter().sum::<u64>(), "jain": 1, "tenants_seen": 3,
        "tenants": tenants,
    }))
    .unwrap()
}

fn policy(reserve: &str, tenant_a: serde_json::Value) -> Policy {
    let document = serde_json::from_value(json!({
        "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "tenants": { "a": tenant_a, "b": { "weight": 2 }, "c": { "weight": 4 } },
        "budgets": { "tokens": {
            "limit": 700, "window_ms": 60_000, "sharing": "weighted_fair_escrow", "scope": "global",
            "reserve": reserve,
        } },
    }))
    .unwrap();
    Policy::try_from(&document).unwrap()
}

fn value<'a>(explanation: &'a Explanation, label: &str) -> &'a Step {
    let step = explanation.steps.iter().find(|step| step.label == label);
    step.unwrap_or_else(|| panic!("no step {label}: {explanation:?}"))
}

#[test]
fn what_held_the_tenant_back_is_found() {
    for (served, denied, borrow_max, binding) in [
        ([100, 200, 100], [0, 0, 0], None, Binding::Nothing),
        ([100, 200, 400], [5, 0, 0], None, Binding::Limit),
        ([100, 200, 100], [5, 0, 0], None, Binding::Guarantee),
        ([150, 200, 100], [5, 0, 0], None, Binding::Guarantee),
        ([150, 200, 100], [5, 0, 0], Some(50), Binding::BorrowMax),
        ([149, 200, 100], [5, 0, 0], Some(50), Binding::Guarantee),
        ([100, 200, 100], [5, 0, 0], Some(0), Binding::BorrowMax),
        ([90, 200, 100], [50, 0, 0], None, Binding::Request),
    ] {
        let claim = TenantClaim {
            borrow_max,
            ..weir_shared::fairness::ask::TenantClaim::default()
        };
        let figures = arithmetic(&record(served, denied), "a", Some(&claim)).unwrap();
        assert_eq!(
            figures.binding, binding,
            "{served:?} {denied:?} {borrow_max:?}"
        );
    }
    assert_eq!(arithmetic(&record([1, 1, 1], [1, 0, 0]), "z", None), None);
}

#[test]
fn where_nothing_is_guaranteed_the_limit_alone_binds() {
    let mut record = record([100, 200, 400], [5, 0, 0]);
    for tenant in &mut record.tenants {
        tenant.weight.0 = 0.0;
        tenant.entitlement = 0;
        tenant.borrowed.0 = 0;
    }
    let figures = arithmetic(&record, "a", None).unwrap();
    assert_eq!((figures.binding, figures.guarantee), (Binding::Limit, 0));
    let explained = explain(&policy("pinned", json!({})), &record, "a", 61_000).unwrap();
    assert!(explained.steps.iter().all(|step| step.label != "Guarantee"));
}

#[test]
fn the_lines_add_up() {
    let record = record([150, 200, 100], [30, 0, 0]);
    let figures = arithmetic(&record, "a", None).unwrap();
    assert_eq!(
        figures.served + figures.others + figures.left,
        figures.limit
    );
    assert_eq!((figures.asked, figures.kept), (180, 250));
    assert_eq!(figures.weight / figures.weights * 700.0, 100.0);
}

#[test]
fn the_share_is_said_in_words_and_numbers() {
    let record = record([100, 200, 100], [30, 0, 0]);
    let explained = explain(&policy("pinned", json!({})), &record, "a", 45_000).unwrap();
    assert_eq!(
        explained.headline,
        "It had used its share of tokens: 100 units against a guarantee of 100. The 300 units left were reserved \
         for others until the window ends."
    );
    let guarantee = value(&explained, "Guarantee");
    assert_eq!(guarantee.formula, "1 / 7 × 700 units, rounded down");
    assert_eq!((&*guarantee.value, guarantee.binding), ("100", true));
    assert_eq!(
        value(&explained, "Left in the window").formula,
        "700 − 100 − 300"
    );
    assert!(
        explained
            .can_pass
            .starts_with("In 15 s, when the window ends")
    );
    assert_eq!(
        explained.steps.iter().filter(|step| step.binding).count(),
        1
    );
}

#[test]
fn no_more_is_kept_for_others_than_is_left() {
    // c has 300 units of its guarantee left, of which b borrowed 250.
    let figures = arithmetic(&record([100, 450, 100], [30, 0, 0]), "a", None).unwrap();
    assert_eq!((figures.left, figures.kept), (50, 50));
}

#[test]
fn a_window_that_is_over_says_how_long_ago() {
    let record = record([100, 200, 100], [30, 0, 0]);
    let explained = explain(&policy("paced", json!({})), &record, "a", 120_000).unwrap();
    assert!(explained.can_pass.contains("ended 1 min 00 s ago"));
    assert!(
        explained
            .can_pass
            .contains("more than 700 units never passes")
    );
    // "a" asked 130, "b" and "c" no more than they got: all of it fits.
    assert_eq!(value(&explained, "Ideal share").value, "130");
}

#[test]
fn a_bound_on_borrowing_and_the_tenant_above_are_named() {
    let bounded = policy("paced", json!({ "borrow_max": 50, "parent": "b" }));
    let explained = explain(&bounded, &record([150, 200, 100], [30, 0, 0]), "a", 0).unwrap();
    assert!(value(&explained, "May borrow").binding);
    assert!(explained.notes.iter().any(|note| note.contains("below b")));
}

#[test]
fn a_weight_that_counts_as_less_says_why() {
    let mut record = record([30, 200, 100], [30, 0, 0]);
    record.tenants[0].counts_as = Some(Decimal(0.32));
    let explained = explain(&policy("paced", json!({})), &record, "a", 0).unwrap();
    let told = value(&explained, "Its weight");
    assert_eq!(
        (told.value.as_str(), told.formula.as_str()),
        (
            "0.32",
            "1, counted as 0.32: unnamed tenants weigh at most 8 together"
        )
    );
}

#[test]
fn those_counted_together_are_not_guessed_apart() {
    let mut record = record([100, 200, 100], [30, 0, 0]);
    record.tenants[2].tenant = weir_shared::wire::accounting::OTHERS.to_owned();
    let explained = explain(&policy("paced", json!({})), &record, "a", 0).unwrap();
    assert!(
        explained
            .steps
            .iter()
            .all(|step| step.label != "Ideal share")
    );
}

#[test]
fn the_newest_window_that_denied_is_told_about() {
    let mut quiet = record([1, 1, 1], [0, 0, 0]);
    quiet.label.0 = 9;
    let records = [quiet, record([1, 1, 1], [1, 0, 0])];
    assert_eq!(telling(&records, "a").unwrap().label.0, 7);
    assert_eq!(telling(&records, "b").unwrap().label.0, 9);
    assert!(telling(&records, "z").is_none());
}

#[test]
fn a_ceiling_and_what_is_set_aside_are_said() {
    let claim = json!({ "budgets": { "tokens": { "ceiling": 60, "floor": 30 } } });
    let bound = policy("pinned", claim);
    let mut record = record([60, 200, 100], [30, 0, 0]);
    record.tenants[0].entitlement = 60;
    let explained = explain(&bound, &record, "a", 45_000).unwrap();
    assert_eq!(
        explained.headline,
        "It had used all 60 units that its ceiling lets it have of tokens in a window, whatever else was free."
    );
    assert_eq!(
        value(&explained, "Guarantee").formula,
        "its ceiling, which is less than its part by weight"
    );
    let ceiling = value(&explained, "Ceiling");
    assert_eq!((&*ceiling.value, ceiling.binding), ("60", true));

    let floor = json!({ "budgets": { "tokens": { "floor": 30 } } });
    let floor = policy("pinned", floor);
    record.tenants[0].entitlement = 30 + 670 / 7;
    let explained = explain(&floor, &record, "a", 45_000).unwrap();
    assert_eq!(
        value(&explained, "Guarantee").formula,
        "30 set aside for it + 1 / 7 × what is set aside for nobody, rounded down"
    );
}

#[test]
fn where_others_have_floors_the_plain_product_is_not_told() {
    // 350 of the 700 units are set aside for `c`: weights divide the other 350.
    let mut record = record([50, 100, 550], [30, 0, 0]);
    for (tenant, units) in record.tenants.iter_mut().zip([50, 100, 550]) {
        tenant.entitlement = units;
    }
    let policy = policy("pinned", json!({}));
    let formula = |record: &WindowRecord| {
        let explained = explain(&policy, record, "a", 45_000).unwrap();
        value(&explained, "Guarantee").formula.clone()
    };
    assert_eq!(
        formula(&record),
        "50 units: its part, by weight, of what is not set aside"
    );
    // One unit comes of rounding.
    record.tenants[0].entitlement = 99;
    assert_eq!(formula(&record), "1 / 7 × 700 units, rounded down");
}

#[test]
fn a_tenant_above_it_is_none_of_the_others() {
    // `a` and `b` are below `c`, whose 400 units they divide 1 : 3; `d` weighs 3.
    let mut record = record([100, 100, 50], [30, 0, 0]);
    let mut d = record.tenants[1].clone();
    (d.tenant, d.weight.0, d.entitlement, d.served.0) = ("d".to_owned(), 3.0, 300, 200);
    record.tenants.push(d);
    for (below, part) in record.tenants.iter_mut().zip([1.0, 3.0]) {
        below.parent = Some("c".to_owned());
        below.counts_as = Some(Decimal(part));
    }
    for (tenant, units) in record.tenants.iter_mut().zip([100, 300, 400]) {
        tenant.entitlement = units;
    }
    record.admitted.0 = 350;
    let of = |record: &WindowRecord, claim: Option<&TenantClaim>| {
        let figures = arithmetic(record, "a", claim).unwrap();
        (figures.kept, figures.weights)
    };
    // 200 of `b` and 100 of `d`; nothing of `c`.
    assert_eq!(of(&record, None), (300, 7.0));
    record.weights = Some(Decimal(9.0));
    assert_eq!(of(&record, None).1, 9.0, "what the record says counts");
    // The record names nobody right below `c`: the policy knows who stands above `a`.
    for below in &mut record.tenants[..2] {
        below.parent = Some("between".to_owned());
    }
    let document = serde_json::from_value(json!({
        "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "tenants": { "c": { "weight": 4 }, "between": { "parent": "c" }, "a": { "parent": "between" } },
    }))
    .unwrap();
    let policy = Policy::try_from(&document).unwrap();
    let claimant = policy.claimant("a", None, Revision(0), EpochMs(0)).unwrap();
    assert_eq!(of(&record, Some(&claimant.claim)).0, 300);
}

/// Below `c`, which has a weight of 4 beside 1 and 2, the weights 3 and 1 divide its 400 of 700 units.
#[test]
fn a_tenant_below_another_has_one_guarantee_in_the_list_the_budget_and_the_answer() {
    let document = serde_json::from_value(json!({
        "regions": ["weur"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "tenants": {
            "a": { "weight": 1 }, "b": { "weight": 2 }, "c": { "weight": 4 },
            "c/x": { "weight": 3, "parent": "c" }, "c/y": { "weight": 1, "parent": "c" },
        },
        "budgets": { "tokens": {
            "limit": 700, "window_ms": 60_000, "sharing": "weighted_fair_escrow", "scope": "global",
        } },
    }))
    .unwrap();
    let policy = Policy::try_from(&document).unwrap();
    let terms = policy.budget_terms("tokens", "weur", Revision(1), EpochMs(0));
    let terms = terms.unwrap();
    let names = ["a", "b", "c/x", "c/y"];
    let mut counted = Pending::default();
    for tenant in names {
        let claimant = policy.claimant(tenant, Some("tokens"), Revision(1), EpochMs(0));
        let party = Party::Tenant(claimant.unwrap());
        let decided = Decided {
            tenant,
            known: true,
            charged: Charged::Budget("tokens"),
            reason: Reason::Admitted,
            units: 310,
        };
        let window = InWindow {
            budget: "tokens",
            label: WindowLabel(1),
            limit: terms.limit,
            ends_at: EpochMs(60_000),
            claim: window_claim(&party, &terms),
        };
        counted.count(&decided, Some(&window));
    }
    let mut frame = FrameBody::default();
    counted.fill(&mut frame);
    let mut windows = Windows::default();
    windows.add(&frame.windows, 1, EpochMs(1));
    let record = windows.records(None, EpochMs(1)).next().unwrap();

    let list = among(&policy, "tokens", names, EpochMs(0));
    assert_eq!(names.map(|name| list.units(name)), [100, 200, 300, 100]);
    let drawn = WaterFill::of(&record);
    for name in names {
        let portion = drawn.portions.iter().find(|one| one.tenant == name);
        assert_eq!(portion.unwrap().guarantee, list.units(name), "{name}");
        let answer = explain(&policy, &record, name, 1).unwrap();
        let told = &value(&answer, "Guarantee").value;
        assert_eq!(told, &list.units(name).to_string(), "{name}");
    }
    assert_eq!(drawn.fair, Some(100.0), "units for each unit of weight");
    let answer = explain(&policy, &record, "c/x", 1).unwrap();
    let own = value(&answer, "Its weight");
    assert_eq!(own.value, "3");
    assert_eq!(own.formula, "3 of the weights below c, times c's weight");
    assert_eq!(
        value(&answer, "Guarantee").formula,
        "3 / 7 × 700 units, rounded down"
    );
    assert!(answer.notes.iter().any(|note| note.contains("below c")));
}
