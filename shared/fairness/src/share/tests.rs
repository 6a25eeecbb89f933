//! What a share keeps of tenants below others, and what it counts.

use super::*;

const AT: Moment = Moment {
    limit: 100,
    unlent: 100,
    left_ms: 1_000,
    window_ms: 1_000,
};

fn share(rule: Rule) -> Share {
    Share::new(ShareTerms {
        rule,
        tenants_max: 10,
        unknown_weight_max: Weight::WHOLE,
        carried: true,
        floors: 0,
    })
}

fn claimant(name: &str, parent: Option<&str>) -> Claimant {
    let above = parent.map(|parent| Above {
        name: parent.to_owned(),
        weight: Weight::WHOLE,
        borrow_max: None,
        lend_max: None,
        ceiling: None,
        floor: Floor::default(),
        floors: SetAside::default(),
    });
    let claim = TenantClaim {
        above: above.into_iter().collect(),
        ..TenantClaim::default()
    };
    Claimant {
        name: name.to_owned(),
        claim,
    }
}

#[test]
fn those_below_a_tenant_are_forgotten_after_two_windows_without_any_of_them() {
    let mut share = share(Rule::Pinned);
    share.set_used(&claimant("a", Some("parent")), 5);
    let mut kept = || {
        share.roll();
        share.below.len()
    };
    assert_eq!([kept(), kept(), kept()], [1, 1, 0]);
}

#[test]
fn steps_are_counted_on_all_levels_by_every_rule() {
    for rule in [
        Rule::Fair,
        Rule::Weighted,
        Rule::Pinned,
        Rule::Paced,
        Rule::Pooled,
        Rule::Unreserved,
    ] {
        let mut share = share(rule);
        let ask = Ask {
            waiting: 1,
            smallest: 1,
            ..Ask::default()
        };
        let _room = share.room(&claimant("parent", None), &ask, &AT);
        let top = share.operations();
        assert!(top > 0, "{rule:?}");
        let _room = share.room(&claimant("a", Some("parent")), &ask, &AT);
        let below = share.below["parent"].machine.operations();
        assert!(below > 0, "{rule:?}");
        let steps = share.top.operations() + below;
        assert_eq!(share.operations(), steps, "{rule:?}");
        assert!(steps > top + below, "{rule:?}");
    }
}
