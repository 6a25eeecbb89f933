//! Claims that change in the middle of a window: the later word of the policy counts at every holder, and whoever has
//! not heard of it takes nothing back.

use serde_json::json;
use weir_shared::fairness::ask::{
    Above, Ask, ClaimVersion, Claimant, Floor, Moment, Party, SetAside, TenantClaim,
};
use weir_shared::fairness::share::{Rule, Share, ShareRow, ShareTerms};
use weir_shared::fairness::weight::Weight;
use weir_shared::federation::escrow::{Escrow, Tickets};
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::message::Message;
use weir_shared::federation::pool::Pool;
use weir_shared::federation::waiting::Need;
use weir_shared::invalid::read_json;
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision};
use weir_shared::wire::exchange::{ExchangeBody, RankBody, Terms};

const WEIGHTED: [Rule; 3] = [Rule::Weighted, Rule::Pinned, Rule::Paced];

const AT: Moment = Moment {
    limit: 100,
    unlent: 100,
    left_ms: 60_000,
    window_ms: 60_000,
};

fn share(rule: Rule) -> Share {
    Share::new(ShareTerms {
        rule,
        tenants_max: 100,
        unknown_weight_max: Weight::WHOLE,
        carried: true,
        floors: 0,
    })
}

fn claimant(name: &str, weight: f64, revision: u64, since: u64) -> Claimant {
    let claim = TenantClaim {
        weight: Weight::try_from(weight).unwrap(),
        claim_version: ClaimVersion {
            revision: Revision(revision),
            since: EpochMs(since),
        },
        ..TenantClaim::default()
    };
    let name = name.to_owned();
    Claimant { name, claim }
}

fn below(claimant: Claimant, parent: &str, weight: f64) -> Claimant {
    let above = Above {
        name: parent.to_owned(),
        weight: Weight::try_from(weight).unwrap(),
        borrow_max: None,
        lend_max: None,
        ceiling: None,
        floor: Floor::default(),
        floors: SetAside::default(),
    };
    let mut claimant = claimant;
    claimant.claim.above = vec![above];
    claimant
}

fn row(share: &Share, name: &str) -> ShareRow {
    let rows = share.rows(&AT);
    rows.into_iter().find(|row| row.name == name).unwrap()
}

fn weight_of(share: &Share, name: &str) -> f64 {
    row(share, name).weight.as_f64()
}

#[test]
fn a_holder_that_speaks_of_an_earlier_claim_does_not_take_the_later_one_back() {
    let fresh = claimant("a", 3.0, 7, 5_000);
    let stale = claimant("a", 1.0, 7, 0);
    for rule in WEIGHTED {
        let mut share = share(rule);
        share.set_used(&claimant("b", 1.0, 7, 0), 0);
        share.set_used(&stale, 0);
        assert_eq!(row(&share, "a").guarantee, 50, "{rule:?}");
        // The override begins.
        share.set_used(&fresh, 0);
        assert_eq!(row(&share, "a").guarantee, 75, "{rule:?}");
        // Whoever has noted the old weight settles, asks and looks.
        share.set_used(&stale, 1);
        let ask = Ask {
            waiting: 1,
            smallest: 1,
            ..Ask::default()
        };
        let _room = share.room(&stale, &ask, &AT);
        let _room = share.peek(&stale, &AT);
        assert_eq!(row(&share, "a").guarantee, 75, "{rule:?}");
        assert_eq!(
            (share.used("a"), weight_of(&share, "a")),
            (1, 3.0),
            "{rule:?}"
        );
        // It ends.
        share.set_used(&claimant("a", 1.0, 7, 6_000), 1);
        share.set_used(&fresh, 1);
        assert_eq!(row(&share, "a").guarantee, 50, "{rule:?}");
    }
}

#[test]
fn of_two_revisions_the_newer_counts_whenever_its_overrides_began() {
    for rule in WEIGHTED {
        let mut share = share(rule);
        share.set_used(&claimant("a", 3.0, 7, 5_000), 0);
        // Revision 8 has no override of "a" at all.
        share.set_used(&claimant("a", 2.0, 8, 0), 0);
        share.set_used(&claimant("a", 3.0, 7, 9_000), 0);
        assert_eq!(weight_of(&share, "a"), 2.0, "{rule:?}");
    }
}

#[test]
fn of_claims_by_one_word_the_last_one_heard_counts() {
    // So do those of a version that does not say by which word they are.
    for rule in WEIGHTED {
        let mut share = share(rule);
        for weight in [1.0, 3.0, 2.0] {
            share.set_used(&claimant("a", weight, 0, 0), 0);
            assert_eq!(weight_of(&share, "a"), weight, "{rule:?}");
        }
    }
}

#[test]
fn a_later_claim_counts_in_the_next_window_too() {
    for rule in WEIGHTED {
        let mut share = share(rule);
        share.set_used(&claimant("b", 1.0, 7, 0), 10);
        let ask = Ask {
            waiting: 1,
            smallest: 1,
            ..Ask::default()
        };
        let _room = share.room(&claimant("a", 3.0, 7, 5_000), &ask, &AT);
        share.roll();
        let _room = share.room(&claimant("a", 1.0, 7, 0), &ask, &AT);
        assert_eq!(weight_of(&share, "a"), 3.0, "{rule:?}");
    }
}

#[test]
fn a_tenant_stays_below_whom_a_later_claim_put_it() {
    for rule in WEIGHTED {
        let mut share = share(rule);
        let alone = claimant("a", 1.0, 7, 0);
        let moved = below(claimant("a", 1.0, 8, 0), "org", 1.0);
        share.set_used(&alone, 10);
        share.set_used(&moved, 10);
        assert_eq!((share.used("org"), share.used("a")), (10, 10), "{rule:?}");
        share.set_used(&alone, 15);
        assert_eq!((share.used("org"), share.used("a")), (15, 15), "{rule:?}");
        // And the other way round.
        share.set_used(&claimant("a", 1.0, 9, 0), 15);
        share.set_used(&moved, 20);
        assert_eq!((share.used("org"), share.used("a")), (0, 20), "{rule:?}");
        assert_eq!(share.used_total(), 20, "{rule:?}");
    }
}

#[test]
fn the_weight_of_a_tenant_above_is_that_of_the_latest_claim_of_any_below_it() {
    for rule in WEIGHTED {
        let mut share = share(rule);
        share.set_used(&claimant("b", 1.0, 7, 0), 0);
        share.set_used(&below(claimant("x", 1.0, 7, 0), "org", 1.0), 0);
        assert_eq!(row(&share, "org").guarantee, 50, "{rule:?}");
        share.set_used(&below(claimant("y", 1.0, 7, 5_000), "org", 3.0), 0);
        share.set_used(&below(claimant("x", 1.0, 7, 0), "org", 1.0), 0);
        assert_eq!(row(&share, "org").guarantee, 75, "{rule:?}");
    }
}

fn policy() -> Policy {
    let document = json!({
        "regions": ["weur", "enam"], "tiers": { "free": { "weight": 1 } }, "default_tier": "free",
        "tenants": {
            "a": { "overrides": [ { "starts_at": 5000, "expires_at": 6000, "weight": 3 } ] },
            "b": {}
        },
        "budgets": {
            "tokens": {
                "limit": 100, "window_ms": 60000, "sharing": "weighted_fair_escrow", "scope": "global",
                "reserve": "pinned"
            }
        }
    });
    Policy::try_from(&read_json(document.to_string().as_bytes()).unwrap()).unwrap()
}

fn terms() -> Terms {
    policy()
        .terms("tokens", "weur", Revision(7), EpochMs(0))
        .unwrap()
}

fn claim(tenant: &str, ms: u64) -> Claimant {
    let policy = policy();
    policy
        .claimant(tenant, Some("tokens"), Revision(7), EpochMs(ms))
        .unwrap()
}

/// The same, as a request asks by it.
fn asking(tenant: &str, ms: u64) -> Party {
    claim(tenant, ms).into()
}

fn holder(id: u64) -> Holder {
    Holder::new("tokens".to_owned(), HolderId(id), Incarnation(1), None)
}

fn message(body: &ExchangeBody) -> Message {
    Message::try_from(body.clone()).unwrap()
}

fn rank(body: &ExchangeBody, tenant: &str) -> RankBody {
    let mut wants = body.wants.iter();
    let want = wants.find(|want| want.tenant.as_deref() == Some(tenant));
    want.unwrap().rank.clone().unwrap()
}

/// Asks for a unit by the claim of an instant, and answers the ceiling that the root tells.
fn ceiling(holder: &mut Holder, pool: &mut Pool, party: &Party, now: EpochMs) -> u64 {
    let ticket = holder.wait_on(party, None, Need::one(1), now).unwrap();
    let body = holder.begin(terms(), now).unwrap();
    let reply = pool.exchange(&message(&body), now).unwrap();
    assert!(holder.finish(&reply, now));
    holder.unwait(ticket);
    let grant = reply
        .grants
        .iter()
        .find(|grant| grant.tenant.as_deref() == party.name());
    grant.unwrap().ceiling
}

#[test]
fn an_override_of_a_weight_counts_at_once_in_the_middle_of_a_window_and_no_stale_holder_undoes_it()
{
    let mut pool = Pool::open(terms(), EpochMs(4_000));
    let (mut other, mut fresh, mut stale) = (holder(1), holder(2), holder(3));
    ceiling(&mut other, &mut pool, &asking("b", 4_000), EpochMs(4_000));
    // 1 : 1 of 100.
    let before = asking("a", 4_999);
    assert_eq!(ceiling(&mut stale, &mut pool, &before, EpochMs(4_999)), 50);
    // 3 : 1.
    let during = asking("a", 5_000);
    assert_eq!(ceiling(&mut fresh, &mut pool, &during, EpochMs(5_000)), 75);
    assert_eq!(ceiling(&mut stale, &mut pool, &before, EpochMs(5_100)), 75);
    // 1 : 1 again.
    let after = asking("a", 6_000);
    assert_eq!(ceiling(&mut fresh, &mut pool, &after, EpochMs(6_000)), 50);
    assert_eq!(ceiling(&mut stale, &mut pool, &during, EpochMs(6_100)), 50);
}

#[test]
fn what_was_said_of_an_earlier_claim_does_not_keep_a_later_one_from_asking() {
    let mut pool = Pool::open(terms(), EpochMs(4_000));
    let (mut other, mut isolate) = (holder(1), holder(2));
    ceiling(&mut other, &mut pool, &asking("b", 4_000), EpochMs(4_000));
    let before = asking("a", 4_990);
    let now = EpochMs(4_990);
    // All of its 50 are asked for at once, and used up.
    let ticket = isolate.wait_on(&before, None, Need::one(50), now).unwrap();
    let body = isolate.begin(terms(), now).unwrap();
    let reply = pool.exchange(&message(&body), now).unwrap();
    assert!(isolate.finish(&reply, now));
    isolate.unwait(ticket);
    assert!(isolate.spend(&before, 50, now));
    let later = EpochMs(5_000);
    let outlook = |party| isolate.outlook(party, Need::one(1), None, later);
    assert_eq!(outlook(&before), Outlook::Exhausted);
    assert_eq!(outlook(&asking("a", 5_000)), Outlook::Short);
    assert_eq!(
        ceiling(&mut isolate, &mut pool, &asking("a", 5_000), later),
        75
    );
}

#[test]
fn a_holder_tells_the_latest_claim_that_it_has_heard() {
    let mut isolate = holder(1);
    let now = EpochMs(5_100);
    isolate.deny(&asking("a", 5_000), 1, now);
    isolate.deny(&asking("a", 4_999), 1, now);
    let body = isolate.begin(terms(), now).unwrap();
    let rank = rank(&body, "a");
    assert_eq!(
        (rank.weight, rank.revision, rank.since),
        (3_000_000, Revision(7), 5_000)
    );
}

#[test]
fn a_region_tells_the_latest_claim_of_all_its_isolates() {
    let now = EpochMs(5_100);
    let mut region = Escrow::wake("tokens".to_owned(), HolderId(9), Incarnation(1), None);
    for (id, heard_ms) in [(1, 5_000), (2, 4_999)] {
        let mut isolate = holder(id);
        let party = asking("a", heard_ms);
        let _ticket = isolate.wait_on(&party, None, Need::one(1), now).unwrap();
        let asked = message(&isolate.begin(terms(), now).unwrap());
        let _tickets = region.wait_on(Tickets::new(), &asked, now).unwrap();
    }
    let body = region.begin(terms(), now).unwrap();
    let rank = rank(&body, "a");
    assert_eq!((rank.weight, rank.since), (3_000_000, 5_000));
}

#[test]
fn a_claim_without_its_word_is_written_and_read_as_before() {
    let bare = r#"{"weight":1000000,"known":true}"#;
    let rank: RankBody = serde_json::from_str(bare).unwrap();
    assert_eq!((rank.revision, rank.since), (Revision(0), 0));
    assert_eq!(serde_json::to_string(&rank).unwrap(), bare);
    let rank = RankBody::from(&claim("a", 5_500));
    let text = serde_json::to_string(&rank).unwrap();
    let whole = r#"{"weight":3000000,"known":true,"revision":7,"since":5000}"#;
    assert_eq!(text, whole);
    assert_eq!(Claimant::try_from(("a", &rank)), Ok(claim("a", 5_500)));
}
