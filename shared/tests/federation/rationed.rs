//! A tenant that wants more than it can have, of a budget whose idle units all tenants use: denied or held, and until when.

use weir_shared::fairness::ask::{Claimant, Party};
use weir_shared::federation::holder::{Holder, Outlook};
use weir_shared::federation::parent_status::ParentStatus;
use weir_shared::federation::tenant_balance::TenantBalance;
use weir_shared::federation::waiting::Need;
use weir_shared::limits::{ADVANCE_REQUESTS, RELEASE_MS_MIN};
use weir_shared::units::{EpochMs, Incarnation, Sequence, WindowLabel};
use weir_shared::wire::exchange::{
    FloorsBody, Grant, ReplyBody, RuleBody, Seen, SharingBody, Terms, VERSION, WindowBody,
};

use crate::federation::{holder, terms};

const WINDOW_MS: u64 = 10_000;
const CONTACT_MS: u64 = 500;

fn pooled() -> Terms {
    Terms {
        window_ms: WINDOW_MS,
        sharing: Some(SharingBody {
            rule: RuleBody::Pooled,
            tenants_max: 10,
            unknown_weight_max: 100_000_000,
            floors: FloorsBody::default(),
        }),
        ..terms(1_000)
    }
}

fn party() -> Party {
    Claimant::plain("a").into()
}

/// A holder in which the tenant waited for one unit, and was told that 50 are left, of which it may use `allowance` here, with so
/// much of the window to come. `denied`: units that it was denied in each half of a second before, for ten seconds. It used that,
/// and what it may take in `advance`.
fn told(denied: u64, (allowance, advance): (u64, u64), remaining_ms: u64, now: EpochMs) -> Holder {
    let mut holder = holder(1);
    for halves in 0..20 {
        let then = EpochMs(now.0 - 10_000 + 500 * halves);
        holder.deny(&party(), denied, then);
    }
    let ticket = holder.wait_on(&party(), None, Need::one(1), now).unwrap();
    let body = holder.begin(pooled(), now).unwrap();
    let reply = ReplyBody {
        v: VERSION,
        to: Seen {
            incarnation: body.incarnation,
            sequence: body.sequence,
        },
        window: WindowBody {
            label: WindowLabel(1),
            remaining_ms,
            limit: 1_000,
        },
        grants: vec![
            Grant {
                tenant: Some("a".to_owned()),
                units: 1,
                ceiling: 100,
                used: 50,
                left: 50,
                allowance,
                contended: true,
                retry_ms: None,
            },
            Grant {
                tenant: None,
                units: 200,
                ceiling: 1_000,
                used: 0,
                left: 0,
                allowance: 0,
                contended: false,
                retry_ms: None,
            },
        ],
        ahead: Vec::new(),
        left: 500,
        outage: false,
        next_contact_ms: CONTACT_MS,
        retry_ms: None,
    };
    assert!(holder.finish(&reply, now));
    holder.unwait(ticket);
    for _ in 0..=allowance + advance {
        assert!(holder.spend(&party(), 1, now), "what it may use");
    }
    assert!(!holder.spend(&party(), 1, now), "idle units of others");
    holder
}

#[test]
fn who_asks_for_twice_its_part_is_denied_until_it_may_use_more() {
    // 33 in half a second: 660 until the window ends, and 50 are left.
    let (start, later) = (EpochMs(1_000_000), EpochMs(1_000_050));
    let mut holder = told(30, (2, 0), WINDOW_MS, start);
    let need = Need::one(1);
    assert_eq!(
        holder.outlook(&party(), need, None, later),
        Outlook::Exhausted
    );
    assert_eq!(holder.retry_ms(Some("a"), later), CONTACT_MS - 50);
    assert!(
        !holder.runs_low(Some("a"), later),
        "the root spoke just now"
    );
    let quarter = start.plus(CONTACT_MS / 4);
    assert!(holder.runs_low(Some("a"), quarter), "it is asked again");
    assert_eq!(holder.retry_ms(Some("a"), quarter), RELEASE_MS_MIN);
    // While the root is asked, too, and while its answer is late; not for ever.
    let _asked = holder.begin(pooled(), quarter).unwrap();
    let late = start.plus(2 * CONTACT_MS);
    assert_eq!(
        holder.outlook(&party(), need, None, late),
        Outlook::Exhausted
    );
    let lost = start.plus(4 * CONTACT_MS);
    assert_eq!(holder.outlook(&party(), need, None, lost), Outlook::Short);
}

#[test]
fn who_has_asked_for_a_moment_only_waits_whatever_it_asked_for() {
    // 33 at once: a burst, which may be over. 33 in half a second for 50 ms: 3 in as long again, and 50 are left.
    let (start, later) = (EpochMs(1_000_000), EpochMs(1_000_050));
    let mut holder = told(0, (2, ADVANCE_REQUESTS), WINDOW_MS, start);
    holder.deny(&party(), 30, start);
    for now in [start, later] {
        assert_eq!(
            holder.outlook(&party(), Need::one(1), None, now),
            Outlook::Short
        );
    }
}

#[test]
fn a_holder_s_part_of_what_is_left_is_its_part_of_what_was_used() {
    let mut balance = TenantBalance::new(party(), EpochMs(0));
    (balance.held, balance.cost) = (160, 10);
    let mut told = ParentStatus {
        by: Seen {
            incarnation: Incarnation(1),
            sequence: Sequence(1),
        },
        until: EpochMs(500),
        span_ms: 500,
        ceiling: 1_000,
        used: 640,
        left: 100,
        unserved: false,
        contended: true,
        outage: false,
        again: None,
    };
    assert_eq!(balance.left_here(&told), 25);
    balance.held = 159;
    assert_eq!(
        balance.left_here(&told),
        100,
        "fifteen requests tell nothing"
    );
    (balance.held, told.used) = (700, 640);
    assert_eq!(balance.left_here(&told), 100, "no more than all");
}

#[test]
fn who_asks_for_less_takes_a_little_in_advance_and_waits_for_its_share() {
    // 5 in half a second: 90 until the window ends in 9 s, and all that is left, 50, may be its part.
    let now = EpochMs(1_000_000);
    let holder = told(0, (2, ADVANCE_REQUESTS), 9_000, now);
    assert_eq!(
        holder.outlook(&party(), Need::one(1), None, now),
        Outlook::Short
    );
}

#[test]
fn what_little_is_left_when_the_window_ends_is_taken_in_advance_and_waited_for() {
    // 33 in half a second: 6 in the tenth of a second that is left, and 50 are left.
    let now = EpochMs(1_000_000);
    let holder = told(30, (2, ADVANCE_REQUESTS), 100, now);
    assert_eq!(
        holder.outlook(&party(), Need::one(1), None, now),
        Outlook::Short
    );
}
