//! What a lender notes of what holders say.

use weir_core::units::{Incarnation, Revision, Sequence};
use weir_fairness::ask::{Claimant, Party, Room};
use weir_wire::exchange::{ExchangeBody, FloorsBody, RuleBody, SharingBody, Terms, Want};

use super::*;
use crate::divide::{Claim, FirstCome};

fn message(sequence: u64, window: u64, held: u64) -> Message {
    let claimant = Claimant::plain("a");
    let want = Want {
        tenant: Some(claimant.name.clone()),
        waiting: 0,
        smallest: 0,
        expected: 0,
        held,
        denied: 0,
        rank: Some((&claimant).into()),
    };
    let sharing = SharingBody {
        rule: RuleBody::Paced,
        tenants_max: 10,
        unknown_weight_max: 1_000_000,
        floors: FloorsBody::default(),
    };
    let body = ExchangeBody {
        v: VERSION,
        budget: "tokens".to_owned(),
        terms: Terms {
            limit: 100,
            window_ms: 60_000,
            revision: Revision(1),
            cycle: None,
            sharing: Some(sharing),
            lease: None,
            standing: 0,
        },
        holder: HolderId(1),
        incarnation: Incarnation(1),
        sequence: Sequence(sequence),
        seen: None,
        window: Some(WindowLabel(window)),
        wants: vec![want],
        returns: Vec::new(),
        ahead: 0,
        idle: 0,
        denied: 0,
    };
    Message::try_from(body).unwrap()
}

const LABEL: WindowLabel = WindowLabel(7);

fn offer() -> Offer {
    Offer {
        window: Window::open(LABEL, EpochMs(0), 60_000),
        limit: 100,
        capacity: 100,
        left_above: 0,
        outage: false,
        now: EpochMs(1),
        ahead: Vec::new(),
    }
}

#[test]
fn what_a_holder_says_that_a_tenant_has_counts_in_the_window_of_which_it_speaks() {
    let offer = offer();
    let mut lender = Lender::wake(LABEL, 40);
    for (sequence, window, lent) in [(1, 6, 0), (2, 8, 0), (3, 7, 12), (4, 6, 12)] {
        let mut divide = FirstCome {
            limit: 100,
            lease: None,
        };
        let held = 11 + u64::from(window == 7);
        let message = message(sequence, window, held);
        lender.exchange(&message, &offer, &mut divide).unwrap();
        assert_eq!(lender.lent_to("a"), lent, "message {sequence}");
    }
}

/// Gives the same to everybody, and notes what it is told was lent.
struct Fixed {
    room: Room,
    lent: Vec<(u64, u64)>,
}

impl Divide for Fixed {
    fn room(&mut self, _claim: &Claim<'_>) -> Room {
        self.room
    }

    fn lent(&mut self, _party: &Party, units: u64, charged: u64, _now: EpochMs) {
        self.lent.push((units, charged));
    }

    fn used(&self, _party: &Party, lent: u64) -> u64 {
        lent
    }
}

#[test]
fn who_is_lent_units_or_charged_an_allowance_is_noted_and_who_gets_nothing_is_told_so() {
    let offer = offer();
    let exchange = |waiting, allowance, contended| {
        let mut lender = Lender::wake(LABEL, 90);
        let room = Room {
            waiting,
            allowance,
            contended,
            ..Room::default()
        };
        let mut divide = Fixed {
            room,
            lent: Vec::new(),
        };
        let reply = lender.exchange(&message(1, 7, 0), &offer, &mut divide);
        let grants = reply.unwrap().grants;
        let units: Vec<_> = grants.iter().map(|grant| grant.units).collect();
        (units, divide.lent, lender.lent_to("a"), lender.lent())
    };
    assert_eq!(exchange(4, 0, false), (vec![4], vec![(4, 0)], 4, 94));
    assert_eq!(exchange(0, 6, true), (vec![0], vec![(0, 6)], 6, 90));
    assert_eq!(exchange(0, 6, false), (vec![0], vec![], 0, 90));
    // Whatever the division says, there are 10.
    assert_eq!(exchange(11, 0, false), (vec![10], vec![(10, 0)], 10, 100));
}
