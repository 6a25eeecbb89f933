//! What a holder keeps, tells and asks at the bounds of each condition.

mod telling;

use weir_core::limits::{FIRST_REQUESTS, MEANWHILE_CONTACTS};
use weir_core::ordered::OrderedMap;
use weir_core::units::EpochMs;
use weir_fairness::ask::TenantClaim;
use weir_wire::exchange::{FloorsBody, RuleBody, SharingBody};

use super::*;
use crate::parent_status::ParentStatus;

const NOW: EpochMs = EpochMs(10_000);
const CONTACT_MS: u64 = 1_000;
/// When the open window ends.
const ENDS_AT: EpochMs = EpochMs(70_000);

fn party(name: &str) -> Party {
    Claimant::plain(name).into()
}

fn of_claim(name: &str, claim: TenantClaim) -> Party {
    let name = name.to_owned();
    Claimant { name, claim }.into()
}

fn with_ceiling(name: &str) -> Party {
    let claim = TenantClaim {
        ceiling: Some(50),
        ..TenantClaim::default()
    };
    of_claim(name, claim)
}

fn stranger(name: &str) -> Party {
    let claim = TenantClaim {
        known: false,
        ..TenantClaim::default()
    };
    of_claim(name, claim)
}

fn shared_by(rule: RuleBody) -> Terms {
    let sharing = SharingBody {
        rule,
        tenants_max: 10,
        unknown_weight_max: 1_000_000,
        floors: FloorsBody::default(),
    };
    Terms {
        limit: 100,
        window_ms: 60_000,
        revision: Revision(1),
        cycle: None,
        sharing: Some(sharing),
        lease: None,
        standing: 0,
    }
}

/// A holder without a window.
fn empty() -> Holder {
    Holder {
        fixed: true,
        contact_ms: CONTACT_MS,
        contact_at: NOW,
        ..Holder::new("tokens".to_owned(), HolderId(1), Incarnation(1), None)
    }
}

/// A holder to which the parent has spoken in the open window.
fn open(held: u64, left: u64) -> Holder {
    let lease = Lease {
        label: WindowLabel(7),
        ends_at: ENDS_AT,
        over_at: ENDS_AT,
        span_ms: 60_000,
        limit: 100,
        held,
        used: 0,
        left,
        outage: false,
    };
    Holder {
        confirmed: true,
        ..empty().with_lease(lease, Vec::new())
    }
}

/// The same, where what tenants do not use lies idle for all of them.
fn pooled(held: u64, left: u64) -> Holder {
    Holder {
        pooled: true,
        ..open(held, left)
    }
}

fn told(left: u64) -> ParentStatus {
    ParentStatus {
        by: Seen::default(),
        until: NOW,
        span_ms: CONTACT_MS,
        ceiling: 100,
        used: 0,
        left,
        unserved: false,
        contended: false,
        outage: false,
        again: None,
    }
}

/// A tenant that used 5 units and was denied 3 just now: it asks for 16 a second.
fn asking(party: Party) -> TenantBalance {
    let mut balance = TenantBalance::new(party, NOW);
    balance.use_units(5, NOW);
    balance.held = 5;
    balance.deny(3, NOW);
    balance
}

fn changed(mut balance: TenantBalance, change: impl FnOnce(&mut TenantBalance)) -> TenantBalance {
    change(&mut balance);
    balance
}

/// A holder that has the one balance.
fn with(mut holder: Holder, balance: TenantBalance) -> Holder {
    holder.tenant_balances = TenantBalances::default();
    holder.tenant_balances.insert(balance);
    holder
}

#[test]
fn who_wants_more_than_it_can_have_keeps_of_its_allowance_what_it_asks_for_until_the_next_contact()
{
    let holder = pooled(50, 50);
    let kept = |unassigned_max| {
        let balance = changed(asking(party("a")), |one| {
            one.unassigned_max = unassigned_max;
        });
        holder.kept_allowance(&balance, NOW)
    };
    // It asks for 16 until the next contact.
    assert_eq!([10, 16, 20].map(kept), [Some(10), Some(16), Some(16)]);
    assert_eq!(kept(u64::MAX), None, "nothing is counted yet");
    let bounded = changed(asking(with_ceiling("a")), |one| {
        one.unassigned_max = 10;
    });
    assert_eq!(holder.kept_allowance(&bounded, NOW), None);
    let content = changed(asking(party("a")), |one| {
        one.unassigned_max = 10;
        one.denied = 0;
    });
    assert_eq!(holder.kept_allowance(&content, NOW), None);
    let short = changed(asking(party("a")), |one| {
        one.unassigned_max = 10;
    });
    assert_eq!(open(50, 50).kept_allowance(&short, NOW), None);
}

#[test]
fn a_tenant_is_spoken_of_again_when_its_allowance_lasts_no_longer_than_until_the_next_contact() {
    let holder = pooled(50, 50);
    let lacks = |unassigned_max, told| {
        // 5 units in half a second are 10 until the next contact.
        let balance = changed(asking(party("a")), |one| {
            one.unassigned_max = unassigned_max;
            one.told = told;
        });
        holder.lacks_allowance(&balance, NOW)
    };
    let more = Some(told(1));
    assert_eq!(
        [9, 10, 11].map(|units| lacks(units, more)),
        [true, false, false]
    );
    assert!(!lacks(0, Some(told(0))), "it may have no more");
    assert!(!lacks(0, None), "nothing was said of it");
    let quiet = |unassigned_max| {
        let balance = changed(TenantBalance::new(party("a"), NOW), |one| {
            one.unassigned_max = unassigned_max;
            one.told = more;
        });
        holder.lacks_allowance(&balance, NOW)
    };
    assert_eq!([0, 1].map(quiet), [true, false], "a request may come");
}

#[test]
fn a_holder_below_is_told_a_tenants_allowance_by_what_is_known_of_it() {
    let (cost, first) = (3, 3 * FIRST_REQUESTS);
    let said = |balance, expected, holders| {
        let holder = with(pooled(50, 50), balance);
        holder.allowance(&party("a"), (cost, expected), holders)
    };
    let short = |unassigned_max| {
        changed(asking(party("a")), |one| {
            one.unassigned_max = unassigned_max;
        })
    };
    // Of 40, half for each of 2 holders to come and of 2 that are there; no more than is expected.
    assert_eq!(said(short(40), 100, 2), (10, true));
    assert_eq!(said(short(40), 9, 2), (9, true));
    assert_eq!(said(short(40), 100, 0), (20, true));
    // Who asks for no more than a few requests is allowed one at least, of what there is.
    assert_eq!(said(short(8), first, 2), (cost, true));
    assert_eq!(said(short(8), first + 1, 2), (2, true));
    assert_eq!(said(short(2), first, 2), (2, true));
    let content = |told, unassigned_max| {
        changed(TenantBalance::new(party("a"), NOW), |one| {
            one.told = told;
            one.unassigned_max = unassigned_max;
        })
    };
    assert_eq!(said(content(Some(told(9)), 7), 100, 2), (7, false));
    // Before the parent has spoken of it, a few requests at least.
    assert_eq!(said(content(None, first + 1), 100, 2), (first + 1, false));
    assert_eq!(said(content(None, 5), 100, 2), (first, false));
    assert_eq!(said(content(None, u64::MAX), 100, 2), (first, false));
}

#[test]
fn no_allowance_is_told_of_who_is_lent_units_by_name_and_none_before_a_first_request_of_strangers()
{
    let asked = (3, 100);
    let holder = pooled(50, 50);
    assert_eq!(holder.allowance(&party("a"), asked, 1), (12, false));
    assert_eq!(holder.allowance(&stranger("b"), asked, 1), (0, false));
    assert_eq!(holder.allowance(&with_ceiling("c"), asked, 1), (0, false));
    assert_eq!(
        open(50, 50).allowance(&party("a"), asked, 1),
        (0, false),
        "nothing lies idle for all"
    );
    let alone = Holder {
        alone: true,
        ..holder
    };
    assert_eq!(alone.allowance(&party("a"), asked, 1), (0, false));
}

#[test]
fn a_need_is_denied_meanwhile_for_as_long_as_the_parents_word_that_nothing_is_left_is_fresh() {
    let meanwhile_ms = MEANWHILE_CONTACTS * CONTACT_MS;
    let (last, later) = (NOW.plus(meanwhile_ms - 1), NOW.plus(meanwhile_ms));
    let used_up = pooled(0, 0);
    let denies = |holder: &Holder, units: u64, now| {
        holder.denies_meanwhile(&party("a"), Need::one(units), now)
    };
    assert_eq!(
        [NOW, last, later].map(|now| denies(&used_up, 3, now)),
        [true, true, false]
    );
    assert!(!denies(&pooled(0, 1), 3, NOW), "there is some for anybody");
    assert!(!denies(&open(0, 0), 3, NOW), "tenants hold their own");
    assert!(!used_up.denies_meanwhile(&party("a"), Need::look(), NOW));
    assert!(!used_up.denies_meanwhile(&Party::Everyone, Need::one(3), NOW));
    let with_flag = |confirmed, alone| Holder {
        confirmed,
        alone,
        ..used_up.clone()
    };
    assert!(!denies(&with_flag(false, false), 3, NOW));
    assert!(!denies(&with_flag(true, true), 3, NOW));
    // Of one tenant, by what was said of it.
    let of = |told| {
        let balance = changed(TenantBalance::new(party("a"), NOW), |one| {
            one.told = Some(told);
        });
        with(pooled(0, 5), balance)
    };
    assert_eq!(
        [NOW, last, later].map(|now| denies(&of(told(2)), 3, now)),
        [true, true, false]
    );
    assert!(!denies(&of(told(3)), 3, NOW), "its need fits");
    let outage = ParentStatus {
        outage: true,
        ..told(2)
    };
    assert!(!denies(&of(outage), 3, NOW));
    let mut newer = Claimant::plain("a");
    newer.claim.claim_version.revision = Revision(2);
    let newer = newer.into();
    assert!(!of(told(2)).denies_meanwhile(&newer, Need::one(3), NOW));
}

#[test]
fn what_is_taken_in_advance_is_a_part_of_what_is_left_here_unless_more_than_that_is_asked_for() {
    let advance = |held: u64, used: u64, contended, asked: u64| {
        let told = ParentStatus {
            used: 80,
            contended,
            ..told(40)
        };
        let balance = changed(TenantBalance::new(party("a"), EpochMs(0)), |one| {
            (one.held, one.used, one.cost) = (held, used, 1);
            one.told = Some(told);
            (0..20).for_each(|half| one.deny(asked, EpochMs(500 * half)));
        });
        with(pooled(50, 50), balance).advance_of(Some("a"), NOW)
    };
    // 20 of the 80 that it used were used here: half of 20 x 40 / 80.
    assert_eq!(advance(20, 20, true, 0), 5);
    // Too few were used here to tell: two requests.
    assert_eq!(advance(10, 10, true, 0), 2);
    assert_eq!(advance(20, 20, false, 0), 0, "it finds what it wants");
    assert_eq!(advance(20, 20, true, 50), 0, "it has what is left anyway");
    assert_eq!(pooled(50, 50).advance_of(Some("a"), NOW), 0);
}

#[test]
fn there_is_something_left_to_tell_while_units_are_held_that_nobody_used() {
    assert!(open(1, 0).has_unsent(NOW));
    assert!(!open(0, 0).has_unsent(NOW));
    assert!(!open(1, 0).has_unsent(ENDS_AT), "they are nobody's by then");
    let denied = with(
        open(0, 0),
        changed(TenantBalance::new(party("a"), NOW), |one| {
            one.denied = 3;
        }),
    );
    assert!(denied.has_unsent(NOW));
    assert!(!denied.has_unsent(ENDS_AT));
    let coming = |lent, standing| Holder {
        standing,
        ahead: vec![Ahead {
            label: WindowLabel(8),
            starts_at: ENDS_AT,
            ends_at: ENDS_AT.plus(60_000),
            units: 5,
            lent,
        }],
        ..empty()
    };
    assert_eq!(
        [0, 4, 5].map(|lent| coming(lent, 0).has_unsent(NOW)),
        [true, true, false]
    );
    assert!(!coming(0, 2).has_unsent(NOW), "slices wait for who asks");
    let end = ENDS_AT.plus(60_000);
    assert!(coming(0, 0).has_unsent(EpochMs(end.0 - 1)));
    assert!(!coming(0, 0).has_unsent(end));
}

#[test]
fn a_message_names_who_had_units_of_a_window_of_which_the_parent_has_not_heard() {
    let names = |confirmed, held: u64| {
        let balance = changed(TenantBalance::new(party("a"), NOW), |one| {
            one.held = held;
            one.used = held;
        });
        let mut holder = with(open(held, 50), balance);
        holder.confirmed = confirmed;
        let body = holder.begin(shared_by(RuleBody::Paced), NOW).unwrap();
        body.wants.iter().map(|want| want.held).collect::<Vec<_>>()
    };
    assert_eq!(names(false, 3), [3]);
    assert!(names(true, 3).is_empty(), "it has heard of that");
    assert!(names(false, 0).is_empty(), "there is nothing to say");
}

fn coming(label: u64, units: u64, lent: u64) -> Ahead {
    Ahead {
        label: WindowLabel(label),
        starts_at: ENDS_AT,
        ends_at: ENDS_AT.plus(60_000),
        units,
        lent,
    }
}

#[test]
fn units_of_a_window_lapse_when_it_is_over_and_they_were_not_used() {
    let lapsing = |held, used, now| {
        let mut holder = open(held, 0);
        holder.lent_on(used);
        holder.lapsing(now)
    };
    let last = EpochMs(ENDS_AT.0 - 1);
    assert!(!lapsing(3, 2, last), "the window is open");
    assert!(lapsing(3, 2, ENDS_AT));
    assert!(!lapsing(3, 3, ENDS_AT), "all was used");
    let mut told = open(3, 0);
    assert_eq!(
        told.take_lapsed(ENDS_AT),
        OrderedMap::from([(WindowLabel(7), 3)])
    );
    assert!(!told.lapsing(ENDS_AT), "that was told");
    assert_eq!(told.take_lapsed(ENDS_AT), OrderedMap::new());
}

#[test]
fn what_was_lent_of_a_window_that_opens_soon_may_lapse() {
    let lapsing = |units, lent, now: u64| {
        let holder = Holder {
            ahead: vec![coming(8, units, lent)],
            ..empty()
        };
        holder.lapsing(EpochMs(now))
    };
    // Twice three contacts of half a second before it opens.
    let soon = ENDS_AT.0 - 3_000;
    assert!(lapsing(5, 4, soon) && !lapsing(5, 4, soon - 1));
    assert!(!lapsing(5, 5, soon), "all is lent on");
    let end = ENDS_AT.0 + 60_000;
    assert!(lapsing(5, 4, end - 1) && !lapsing(5, 4, end));
}

#[test]
fn windows_that_were_passed_over_lapse_as_a_later_one_opens_and_that_one_does_not() {
    let mut holder = open(3, 0);
    holder.ahead = vec![coming(8, 5, 1), coming(9, 6, 0), coming(10, 7, 0)];
    holder.note_lapse(WindowLabel(9));
    let lapsed = OrderedMap::from([(WindowLabel(7), 3), (WindowLabel(8), 4)]);
    assert_eq!(holder.take_lapsed(NOW), lapsed);
}

#[test]
fn the_next_window_is_asked_for_as_this_one_nears_its_end_unless_few_requests_use_it_up() {
    let asked = |now: u64, cost_max, standing| {
        let now = EpochMs(now);
        let mut balance = TenantBalance::new(party("a"), now);
        balance.use_units(5, now);
        balance.deny(3, now);
        let mut holder = with(open(5, 0), balance);
        holder.lent_on(5);
        (holder.cost_max, holder.standing) = (cost_max, standing);
        holder.begin(shared_by(RuleBody::Paced), now).unwrap().ahead
    };
    // 8 units in half a second, for three contacts.
    let near = ENDS_AT.0 - 3 * CONTACT_MS;
    assert_eq!(asked(near, 1, 0), 48);
    assert_eq!(asked(near - 1, 1, 0), 0, "it is too soon");
    // An eighth of the limit of 100.
    assert_eq!([12, 13].map(|cost| asked(near, cost, 0)), [48, 0]);
    // Where slices are held, a whole window at any time.
    assert_eq!(asked(NOW.0, 1, 2), 960);
}

#[test]
fn who_can_have_nothing_is_denied_to_the_windows_end_and_who_is_rationed_until_the_parents_next_word()
 {
    let retry_ms = |left, denied| {
        let mut balance = TenantBalance::new(party("a"), EpochMs(0));
        balance.unassigned_max = 0;
        (0..20).for_each(|half| balance.deny(denied, EpochMs(500 * half)));
        balance.told = Some(ParentStatus {
            until: NOW.plus(800),
            contended: true,
            ..told(left)
        });
        with(pooled(0, 5), balance).retry_ms(Some("a"), NOW)
    };
    // It has asked for ten seconds, and asks for as long again: 20 times as much as in half a second.
    assert_eq!(retry_ms(10, 1), 800);
    assert_eq!(
        retry_ms(11, 1),
        60_000,
        "it does not ask for twice what is left"
    );
    assert_eq!(retry_ms(1, 1), 800);
    assert_eq!(retry_ms(0, 1), 60_000);
}

#[test]
fn when_tenants_share_a_pool_or_do_not_any_more_what_is_in_balances_is_nobodys() {
    let after = |party, terms| {
        let balance = changed(TenantBalance::new(party, NOW), |one| {
            (one.held, one.used) = (7, 2);
        });
        let mut holder = with(open(10, 50), balance);
        holder.lent_on(2);
        (holder.unassigned, holder.confirmed) = (3, false);
        let _body = holder.begin(terms, NOW);
        let balances = holder.tenant_balances.iter();
        let parties: Vec<_> = balances.map(|one| one.party.clone()).collect();
        (parties, holder.unassigned)
    };
    let alike = || Terms {
        sharing: None,
        ..shared_by(RuleBody::Paced)
    };
    let everyone = Party::Everyone;
    let shared = || shared_by(RuleBody::Paced);
    assert_eq!(after(party("a"), alike()), (vec![everyone.clone()], 8));
    assert_eq!(
        after(everyone.clone(), alike()),
        (vec![everyone.clone()], 3)
    );
    assert_eq!(after(everyone, shared()), (Vec::new(), 8));
    assert_eq!(after(party("a"), shared()), (vec![party("a")], 3));
}
