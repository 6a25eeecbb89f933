//! What a region knows of the isolates that it lends to.

use weir_core::limits::{CONTACT_MS_MIN, CONTACT_MS_PER_HOLDER};
use weir_core::units::Revision;
use weir_wire::exchange::VERSION;

use super::*;

const LABEL: WindowLabel = WindowLabel(7);
const NOW: EpochMs = EpochMs(1_000);

fn message(isolate: u64, waiting: u64) -> Message {
    let want = Want {
        tenant: None,
        waiting,
        smallest: waiting,
        expected: 0,
        held: 0,
        denied: 0,
        rank: None,
    };
    let body = ExchangeBody {
        v: VERSION,
        budget: "tokens".to_owned(),
        terms: Terms {
            limit: 100,
            window_ms: 60_000,
            revision: Revision(1),
            cycle: None,
            sharing: None,
            lease: None,
            standing: 0,
        },
        holder: HolderId(isolate),
        incarnation: Incarnation(1),
        sequence: Sequence(1),
        seen: None,
        window: None,
        wants: vec![want],
        returns: Vec::new(),
        ahead: 0,
        idle: 0,
        denied: 0,
    };
    Message::try_from(body).unwrap()
}

/// A region that holds 40 units of the open window.
fn escrow() -> Escrow {
    let row = StoredEscrow::new(LABEL, (EpochMs(60_000), 60_000), 100, (40, 0), None);
    Escrow::wake("tokens".to_owned(), HolderId(9), Incarnation(2), Some(row))
}

#[test]
fn a_region_knows_what_each_isolate_has_of_the_open_window() {
    let mut escrow = escrow();
    for (isolate, waiting) in [(1, 3), (2, 5)] {
        let reply = escrow.exchange(&message(isolate, waiting), false, NOW);
        let granted: u64 = reply.unwrap().grants.iter().map(|grant| grant.units).sum();
        assert_eq!(granted, waiting);
    }
    let held = |isolate, label| escrow.held_by(HolderId(isolate), WindowLabel(label));
    assert_eq!([1, 2, 3].map(|isolate| held(isolate, 7)), [3, 5, 0]);
    assert_eq!([6, 8].map(|label| held(1, label)), [0, 0]);
}

#[test]
fn isolates_show_themselves_again_the_later_the_more_of_them_there_are() {
    let mut escrow = escrow();
    let few = CONTACT_MS_MIN / CONTACT_MS_PER_HOLDER;
    for isolate in 1..=few + 1 {
        let _reply = escrow.exchange(&message(isolate, 0), false, NOW).unwrap();
        let in_ms = CONTACT_MS_MIN.max(isolate * CONTACT_MS_PER_HOLDER);
        assert_eq!(escrow.next_contact_ms(NOW), in_ms, "{isolate}");
    }
    assert!(escrow.next_contact_ms(NOW) > CONTACT_MS_MIN);
}
