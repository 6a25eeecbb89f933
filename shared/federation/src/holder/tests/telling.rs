//! Of whom a holder speaks, when it asks for more, and what it tells once.

use super::*;

#[test]
fn what_a_holder_below_may_use_of_an_allowance_is_used_here() {
    let permitted = |units| {
        let balance = changed(TenantBalance::new(party("a"), NOW), |one| {
            one.unassigned_max = 20;
        });
        let mut holder = with(pooled(50, 50), balance);
        holder.permit(Some("a"), units, NOW);
        holder.permit(Some("another"), units, NOW);
        let one = holder.tenant_balances.get(Some("a")).unwrap();
        (one.used, one.held, one.unassigned_max)
    };
    assert_eq!(
        [0, 1, 7].map(permitted),
        [(0, 0, 20), (1, 1, 19), (7, 7, 13)]
    );
}

#[test]
fn all_that_is_here_runs_low_below_three_quarters_of_what_is_used_until_the_next_contact() {
    let holder = |held, left, contact_in_ms| {
        let mut holder = pooled(held, left);
        holder.flow = Pace::new(NOW);
        holder.flow.note(8, 0, NOW);
        holder.contact_at = NOW.plus(contact_in_ms);
        holder
    };
    let low = |held, left, contact_in_ms| holder(held, left, contact_in_ms).all_low(NOW);
    // 8 in half a second are 16 until then.
    assert_eq!([11, 12].map(|held| low(held, 1, 0)), [true, false]);
    assert!(!low(11, 0, 0), "the parent has no more");
    assert_eq!(
        [900, 901].map(|ms| low(11, 1, ms)),
        [true, false],
        "it was just asked"
    );
    let missed = Holder {
        idle_missed: true,
        ..holder(50, 1, 0)
    };
    assert!(missed.all_low(NOW), "a holder below missed some");
}

#[test]
fn a_message_names_who_is_expected_to_use_more_or_less_than_it_has() {
    let named = |balance| {
        let mut holder = with(open(50, 50), balance);
        let body = holder.begin(shared_by(RuleBody::Paced), NOW).unwrap();
        !body.wants.is_empty()
    };
    let uses = |spare| {
        changed(TenantBalance::new(party("a"), NOW), |one| {
            one.use_units(5, NOW);
            one.held = 5 + spare;
        })
    };
    let expected = open(50, 50).expected(&uses(0), NOW);
    assert!(expected > 1);
    let spares = [0, expected - 1, expected, expected + 1];
    assert_eq!(
        spares.map(|spare| named(uses(spare))),
        [true, true, false, true]
    );
    let has = |held| {
        changed(TenantBalance::new(party("a"), NOW), |one| {
            one.held = held;
        })
    };
    assert_eq!([0, 1].map(|held| named(has(held))), [false, true]);
}

#[test]
fn windows_to_come_are_asked_for_until_slices_of_as_many_are_held_or_half_of_what_is_wanted() {
    let due = |holder: &Holder, now| holder.ahead_due(holder.lease().unwrap(), now);
    let standing = |windows: u64| {
        let mut holder = open(50, 50);
        holder.standing = 2;
        holder.ahead = (8..8 + windows).map(|label| coming(label, 0, 0)).collect();
        due(&holder, NOW)
    };
    assert_eq!([0, 1, 2].map(standing), [true, true, false]);
    let near = EpochMs(ENDS_AT.0 - 3 * CONTACT_MS);
    let wanted = |(units, lent), now| {
        let mut balance = TenantBalance::new(party("a"), near);
        balance.use_units(5, near);
        balance.deny(3, near);
        let mut holder = with(open(5, 0), balance);
        holder.ahead = vec![coming(8, units, lent)];
        due(&holder, now)
    };
    // 8 units in half a second, for three contacts.
    let held = [(23, 0), (24, 0), (24, 1)];
    assert_eq!(held.map(|held| wanted(held, near)), [true, false, true]);
    assert!(!wanted((0, 0), EpochMs(near.0 - 1)), "it is too soon");
}

#[test]
fn who_shares_runs_low_while_some_is_left_for_it_and_who_draws_from_one_pool_while_some_is_left() {
    let low = |party: Party, of_its_own, of_all| {
        let balance = changed(asking(party.clone()), |one| {
            one.told = Some(told(of_its_own));
        });
        let holder = with(open(0, of_all), balance);
        holder.low(
            holder.lease().unwrap(),
            holder.tenant_balances.get(party.name()).unwrap(),
            NOW,
        )
    };
    let one = || party("a");
    assert_eq!([low(one(), 1, 0), low(one(), 0, 1)], [true, false]);
    let everyone = || Party::Everyone;
    assert_eq!(
        [low(everyone(), 1, 0), low(everyone(), 0, 1)],
        [false, true]
    );
}

/// A message that is under way.
fn sent(mut holder: Holder) -> Option<Sent> {
    let _body = holder.begin(shared_by(RuleBody::Paced), NOW);
    holder.unanswered
}

#[test]
fn more_is_asked_for_when_no_message_is_under_way_and_the_last_brought_some_or_is_a_while_ago() {
    let low = with(open(0, 50), asking(party("a")));
    let all_low = {
        let balance = TenantBalance::new(party("a"), NOW);
        let mut holder = with(pooled(0, 50), balance);
        holder.flow = Pace::new(NOW);
        holder.flow.note(8, 0, NOW);
        holder
    };
    for holder in [low, all_low] {
        let runs_low = |refill_in_ms| {
            let refill_at = NOW.plus(refill_in_ms);
            let holder = Holder {
                refill_at,
                ..holder.clone()
            };
            holder.runs_low(Some("a"), NOW)
        };
        // One that is further off than a contact is of a clock that stepped back.
        assert_eq!(
            [0, 1, CONTACT_MS, CONTACT_MS + 1].map(runs_low),
            [true, false, false, true]
        );
        assert!(!holder.runs_low(Some("another"), NOW), "it is not there");
        let under_way = Holder {
            unanswered: sent(open(0, 50)),
            ..holder
        };
        assert!(!under_way.runs_low(Some("a"), NOW));
    }
}

#[test]
fn what_lapsed_of_a_window_is_not_told_again_as_another_opens() {
    let mut holder = open(3, 0);
    let lapsed = OrderedMap::from([(WindowLabel(7), 3)]);
    assert_eq!(holder.take_lapsed(ENDS_AT), lapsed);
    holder.note_lapse(WindowLabel(8));
    assert_eq!(holder.take_lapsed(ENDS_AT), OrderedMap::new());
}

#[test]
fn a_window_that_is_over_is_not_opened_again() {
    let opened = |label| {
        let mut holder = open(3, 0);
        holder.ahead = vec![coming(label, 5, 0)];
        holder.advance(ENDS_AT);
        holder.lease().map(|lease| (lease.label.0, lease.held))
    };
    assert_eq!(
        [6, 7, 8].map(opened),
        [Some((7, 3)), Some((7, 3)), Some((8, 5))]
    );
}

#[test]
fn what_a_request_held_and_did_not_use_is_no_demand() {
    for holder in [open(100, 0), pooled(100, 0)] {
        let balance = changed(TenantBalance::new(party("a"), NOW), |balance| {
            balance.use_units(40, NOW);
        });
        let mut holder = with(holder, balance);
        let after = |holder: &mut Holder, name: &str, units| {
            holder.came_to_less(Some(name), units);
            holder
                .tenant_balances
                .get(Some("a"))
                .unwrap()
                .expected(CONTACT_MS, NOW)
        };
        let all = after(&mut holder, "a", 0);
        assert!(all >= 40);
        assert_eq!(after(&mut holder, "b", 30), all, "somebody else's");
        assert_eq!(after(&mut holder, "a", 30), all / 4);
        assert_eq!(after(&mut holder, "a", 30), 0);
    }
}

#[test]
fn what_was_given_back_may_be_asked_for_before_the_parent_has_said_that_it_is_there() {
    let lately = ParentStatus {
        until: NOW.plus(CONTACT_MS),
        used: 90,
        ..told(10)
    };
    let balance = changed(TenantBalance::new(party("a"), NOW), |one| {
        (one.held, one.used, one.told) = (90, 1, Some(lately));
    });
    let holder = Holder {
        unassigned: 0,
        ..open(90, 10)
    };
    let mut holder = with(holder, balance);
    let outlook = |holder: &Holder, units| holder.outlook(&party("a"), Need::one(units), None, NOW);
    assert_eq!(outlook(&holder, 100), Outlook::Exhausted);
    let sent = holder.begin(shared_by(RuleBody::Paced), NOW).unwrap();
    assert_eq!(sent.returns.iter().map(|back| back.units).sum::<u64>(), 89);
    let told = holder.told(Some("a")).unwrap();
    assert_eq!((told.left, told.used), (99, 1));
    assert_eq!(outlook(&holder, 99), Outlook::Short);
    assert_eq!(outlook(&holder, 100), Outlook::Exhausted);
}
