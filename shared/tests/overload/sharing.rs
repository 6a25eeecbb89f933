//! Holders and their hubs.

use proptest::prelude::*;
use weir_shared::overload::config::Config;
use weir_shared::overload::hub::Hub;
use weir_shared::overload::packed::{unpack, value};
use weir_shared::overload::resource::{Outcome, Resource};
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision};
use weir_shared::wire::overload::{ShareBody, ShareReply, Steering};

use crate::overload::{START, admits, client, overloaded};

fn hub(body: &ShareBody, now: EpochMs) -> Hub {
    Hub::new("origin", Incarnation(now.0), &body.terms, now).unwrap()
}

/// One contact of a holder, if it has something to say.
fn contact(hub: &mut Option<Hub>, holder: u64, resource: &mut Resource, now: EpochMs) {
    if let Some(body) = resource.share(now) {
        let hub = hub.get_or_insert_with(|| self::hub(&body, now));
        let reply = hub.take(HolderId(holder), &body, now).unwrap();
        resource.learn(&reply, now);
    }
}

fn held(reply: &ShareReply) -> f64 {
    let live = unpack(&reply.merged.live, 3_000).unwrap();
    live.iter().map(|&(_, level)| value(level)).sum()
}

#[test]
fn one_holder_denies_whom_another_saw() {
    let (mut hub, mut one, mut other) = (None, overloaded(), crate::overload::origin());
    assert!(admits(&mut other, "passer-by", START));
    other.report(&client("passer-by"), Outcome::Success, START);
    contact(&mut hub, 1, &mut one, START);
    contact(&mut hub, 2, &mut other, START);
    assert!(!admits(&mut other, "noisy", START));
    assert!(admits(&mut other, "quiet", START));
}

#[test]
fn a_repeated_message_counts_once() {
    let mut one = overloaded();
    let body = one.share(START).unwrap();
    let mut hub = hub(&body, START);
    let first = hub.take(HolderId(1), &body, START).unwrap();
    let again = hub.take(HolderId(1), &body, START).unwrap();
    assert_eq!(first, again);
    assert!(held(&first) > 0.0);
    assert_eq!(one.share(START), Some(body.clone()), "until it is answered");
    one.learn(&first, START);
    one.learn(&again, START);
    assert_eq!(one.share(START), None);
}

#[test]
fn a_message_of_an_earlier_one_or_an_earlier_life_counts_no_more() {
    let mut one = overloaded();
    let early = one.share(START).unwrap();
    let mut hub = hub(&early, START);
    let reply = hub.take(HolderId(1), &early, START).unwrap();
    one.learn(&reply, START);
    one.report(&client("noisy"), Outcome::Failure, START);
    let late = one.share(START).unwrap();
    let after = hub.take(HolderId(1), &late, START).unwrap();
    let again = hub.take(HolderId(1), &early, START).unwrap();
    assert_eq!(after.merged, again.merged);
    let former = ShareBody {
        incarnation: Incarnation(late.incarnation.0 - 1),
        ..late
    };
    assert_eq!(
        hub.take(HolderId(1), &former, START).unwrap().merged,
        after.merged
    );
}

#[test]
fn a_hub_that_wakes_counts_nothing_twice_and_forgets_nothing() {
    let mut one = overloaded();
    let body = one.share(START).unwrap();
    let mut before = hub(&body, START);
    let reply = before.take(HolderId(1), &body, START).unwrap();
    assert!(before.unstored());
    let row = before.stored(START);
    assert!(!before.unstored());
    let text = serde_json::to_string(&row).unwrap();
    let row = serde_json::from_str(&text).unwrap();
    let mut after = Hub::wake(&row, Incarnation(START.0 + 1), START).unwrap();
    let again = after.take(HolderId(1), &body, START).unwrap();
    assert_eq!(again, reply);

    let later = START.plus(2_000);
    let mut drained = Hub::wake(&row, Incarnation(START.0 + 1), later).unwrap();
    let drained = drained.take(HolderId(1), &body, later).unwrap();
    assert!(held(&drained) < held(&reply), "it drains while it sleeps");
}

#[test]
fn a_region_tells_its_root_and_learns_from_it() {
    let (mut near, mut far) = (overloaded(), crate::overload::origin());
    let (mut near_hub, mut far_hub, mut root) = (None, None, None::<Hub>);
    admits(&mut far, "passer-by", START);
    contact(&mut near_hub, 1, &mut near, START);
    contact(&mut far_hub, 1, &mut far, START);
    for (region, hub) in [(1, &mut near_hub), (2, &mut far_hub)] {
        let hub = hub.as_mut().unwrap();
        let body = hub.share(START).unwrap();
        let root = root.get_or_insert_with(|| self::hub(&body, START));
        hub.learn(&root.take(HolderId(region), &body, START).unwrap(), START);
        assert_eq!(hub.share(START), None, "nothing is left to tell");
    }
    admits(&mut far, "passer-by", START);
    contact(&mut far_hub, 1, &mut far, START);
    assert!(!admits(&mut far, "noisy", START));
    assert!(admits(&mut far, "quiet", START));
}

#[test]
fn a_later_revision_reshapes_a_hub_and_cells_of_another_shape_are_passed_over() {
    let mut one = overloaded();
    let body = one.share(START).unwrap();
    let mut hub = hub(&body, START);
    hub.take(HolderId(1), &body, START).unwrap();
    let small = Config {
        rotate_ms: 60_000,
        ..Config::default()
    };
    let mut other = Resource::new(&small, Revision(2), &[7; 32], "origin", START);
    admits(&mut other, "passer-by", START);
    other.report(&client("passer-by"), Outcome::Failure, START);
    let reply = hub
        .take(HolderId(2), &other.share(START).unwrap(), START)
        .unwrap();
    assert_eq!(reply.merged.terms.revision, Revision(2));
    let before = held(&reply);
    let stale = ShareBody {
        sequence: weir_shared::units::Sequence(2),
        ..body
    };
    let reply = hub.take(HolderId(1), &stale, START).unwrap();
    assert_eq!(held(&reply), before);
}

#[test]
fn a_malformed_message_is_refused_at_its_field_and_changes_nothing() {
    let mut one = overloaded();
    let body = one.share(START).unwrap();
    let mut hub = hub(&body, START);
    let with = |change: &dyn Fn(&mut ShareBody)| {
        let mut body = body.clone();
        change(&mut body);
        body
    };
    let cases: [(&str, ShareBody); 6] = [
        ("/live", with(&|body| body.live = "?".to_owned())),
        ("/shadow", with(&|body| body.shadow = "//////8".to_owned())),
        ("/rate", with(&|body| body.rate = f64::NAN)),
        ("/failed", with(&|body| body.failed = u64::MAX)),
        ("/terms/levels", with(&|body| body.terms.levels = 9)),
        ("/terms/rotate_ms", with(&|body| body.terms.rotate_ms = 1)),
    ];
    for (field, body) in cases {
        assert_eq!(
            hub.take(HolderId(1), &body, START).unwrap_err().field,
            field
        );
    }
    assert!(!hub.unstored());
}

#[test]
fn blue_is_shared_too() {
    let config = Config {
        steering: Steering::Blue,
        ..Config::default()
    };
    let new = || Resource::new(&config, Revision(1), &[7; 32], "origin", START);
    let (mut hub, mut one, mut other) = (None, new(), new());
    for _ in 0..50 {
        one.report(&client("noisy"), Outcome::Failure, START);
    }
    other.report(&client("passer-by"), Outcome::Success, START);
    contact(&mut hub, 1, &mut one, START);
    contact(&mut hub, 2, &mut other, START);
    assert!(!admits(&mut other, "noisy", START));
    assert!(admits(&mut other, "quiet", START));
}

#[derive(Debug, Clone)]
enum Step {
    Charge(usize, u8),
    /// A contact whose message, or whose reply, may be lost.
    Contact(usize, bool, bool),
    /// A message that was sent before arrives once more.
    Again(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0_usize..3, 0_u8..20).prop_map(|(holder, client)| Step::Charge(holder, client)),
        (0_usize..3, any::<bool>(), any::<bool>())
            .prop_map(|(holder, sent, answered)| Step::Contact(holder, sent, answered)),
        (0_usize..100).prop_map(Step::Again),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_lost_repeated_or_late_everything_charged_arrives_once(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut holders = [overloaded(), overloaded(), overloaded()];
        let mut sent: Vec<(u64, ShareBody)> = Vec::new();
        let mut hub = hub(&overloaded().share(START).unwrap(), START);
        let mut told = 0_u64;
        for step in steps {
            match step {
                Step::Charge(holder, number) => {
                    let name = format!("client-{number}");
                    holders[holder].report(&client(&name), Outcome::Failure, START);
                    told += 1;
                }
                Step::Contact(holder, arrives, answered) => {
                    if let Some(body) = holders[holder].share(START) {
                        if arrives {
                            let reply = hub.take(HolderId(holder as u64), &body, START).unwrap();
                            if answered {
                                holders[holder].learn(&reply, START);
                            }
                        }
                        sent.push((holder as u64, body));
                    }
                }
                Step::Again(index) => {
                    if let Some((holder, body)) = sent.get(index) {
                        hub.take(HolderId(*holder), body, START).unwrap();
                    }
                }
            }
        }
        // All that is left is told; twice, as a message may be waiting that was lost.
        for _ in 0..2 {
            for (holder, resource) in holders.iter_mut().enumerate() {
                if let Some(body) = resource.share(START) {
                    resource.learn(&hub.take(HolderId(holder as u64), &body, START).unwrap(), START);
                }
            }
        }
        let counted = hub.share(START).unwrap();
        prop_assert_eq!(counted.failed, told + 150);
        prop_assert_eq!(counted.succeeded, 0);
        prop_assert!(holders.iter_mut().all(|holder| holder.share(START).is_none()));
    }
}
