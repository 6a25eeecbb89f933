use weir_accounting::settled::add_part;
use weir_core::units::{Incarnation, WindowLabel};
use weir_wire::windows::WindowPart;

use super::*;

const NOW: EpochMs = EpochMs(0);
const KNOWS_HOME: Event = Event::Flush { knows_home: true };

/// An entry that says something of a window of these ledgers.
fn entry(ledgers: &[Ledger]) -> Option<SettledEntry> {
    let mut entry = SettledEntry::new();
    for ledger in ledgers {
        let windows = match ledger {
            Ledger::Own => &mut entry.own,
            Ledger::Home => &mut entry.windows,
        };
        let part = WindowPart {
            limit: 100,
            ..WindowPart::default()
        };
        add_part(windows, "tokens", WindowLabel(1), &part);
    }
    Some(entry)
}

fn cursor(counted: u64, under_way: u64) -> LedgerCursor {
    LedgerCursor { counted, under_way }
}

fn node(last: u64, own: LedgerCursor, home: LedgerCursor) -> SettledNode {
    SettledNode::new("weur", last, Cursors { own, home })
}

/// What a flush does once it has dropped what both ledgers had counted.
fn flush(node: &mut SettledNode, now: EpochMs) -> Effects {
    let mut effects = node.step(KNOWS_HOME, now);
    if let Some(Effect::DropThrough(_)) = effects.first() {
        effects.remove(0);
    }
    effects
}

fn read(after: u64, through: u64) -> Effect {
    Effect::ReadEntries { after, through }
}

fn heard(ledger: Ledger, sequence: u64, counted: bool) -> Event {
    let sequence = Sequence(sequence);
    let reply = FrameReply {
        sequence,
        receiver: Incarnation(1),
        counted,
    };
    Event::Answered {
        ledger,
        sequence,
        answer: Some(reply),
    }
}

fn unheard(ledger: Ledger, sequence: u64) -> Event {
    Event::Answered {
        ledger,
        sequence: Sequence(sequence),
        answer: None,
    }
}

/// To which ledger a frame leaves, its number, and whether it says that it comes again.
fn sent(effects: &[Effect]) -> (Ledger, u64, bool) {
    let [Effect::Send(ledger, frame)] = effects else {
        panic!("{effects:?} is no frame");
    };
    (*ledger, frame.sequence.0, frame.again)
}

#[test]
fn a_frame_leaves_once_where_it_ends_is_durable_and_its_entries_go_once_both_have_counted() {
    let mut node = node(4, cursor(0, 0), cursor(0, 0));
    let both = || Event::Read(vec![(4, entry(&[Ledger::Own, Ledger::Home]))]);
    assert_eq!(flush(&mut node, NOW), [read(0, 4)]);
    let begun = Effect::Persist(Ledger::Own, cursor(0, 4));
    assert_eq!(node.step(both(), NOW), [begun]);
    let frame = node.step(Event::Persisted, NOW);
    assert_eq!(sent(&frame), (Ledger::Own, 4, false));
    let counted = Effect::Persist(Ledger::Own, cursor(4, 4));
    assert_eq!(node.step(heard(Ledger::Own, 4, true), NOW), [counted]);
    // The ledger at home has counted nothing: nothing of the entries goes.
    assert_eq!(node.step(Event::Persisted, NOW), [read(0, 4)]);
    let begun = Effect::Persist(Ledger::Home, cursor(0, 4));
    assert_eq!(node.step(both(), NOW), [begun]);
    let frame = node.step(Event::Persisted, NOW);
    assert_eq!(sent(&frame), (Ledger::Home, 4, false));
    assert!(!node.is_told());
    let counted = Effect::Persist(Ledger::Home, cursor(4, 4));
    assert_eq!(node.step(heard(Ledger::Home, 4, true), NOW), [counted]);
    assert_eq!(node.step(Event::Persisted, NOW), [Effect::DropThrough(4)]);
    assert!(node.is_told());
    assert_eq!(flush(&mut node, NOW), []);
}

#[test]
fn nothing_leaves_where_its_end_could_not_be_written() {
    let mut node = node(4, cursor(0, 0), cursor(4, 4));
    let own = || Event::Read(vec![(4, entry(&[Ledger::Own]))]);
    for failure in [Event::NotRead, Event::NotPersisted] {
        assert_eq!(flush(&mut node, NOW), [read(0, 4)]);
        if matches!(failure, Event::NotPersisted) {
            let begun = Effect::Persist(Ledger::Own, cursor(0, 4));
            assert_eq!(node.step(own(), NOW), [begun]);
        }
        assert_eq!(node.step(failure, NOW), []);
    }
    // The end that was not written is no end: more entries may come before the next one.
    node.wrote(5);
    assert_eq!(flush(&mut node, NOW), [read(0, 5)]);
}

#[test]
fn a_frame_that_was_under_way_is_sent_again_as_it_was() {
    let mut node = node(9, cursor(3, 5), cursor(9, 9));
    let rows = || Event::Read(vec![(4, entry(&[Ledger::Own])), (5, entry(&[Ledger::Own]))]);
    for failure in [
        unheard(Ledger::Own, 5),
        heard(Ledger::Own, 5, false),
        unheard(Ledger::Own, 5),
    ] {
        assert_eq!(flush(&mut node, NOW), [read(3, 5)]);
        assert_eq!(sent(&node.step(rows(), NOW)), (Ledger::Own, 5, true));
        assert_eq!(node.step(failure, NOW), []);
    }
}

#[test]
fn a_count_that_could_not_be_written_drops_nothing_and_is_asked_for_again() {
    let mut node = node(5, cursor(3, 5), cursor(5, 5));
    for written in [Event::NotPersisted, Event::Persisted] {
        assert!(!node.is_told());
        assert_eq!(flush(&mut node, NOW), [read(3, 5)]);
        let rows = Event::Read(vec![(5, entry(&[Ledger::Own]))]);
        assert_eq!(sent(&node.step(rows, NOW)), (Ledger::Own, 5, true));
        let counted = Effect::Persist(Ledger::Own, cursor(5, 5));
        assert_eq!(node.step(heard(Ledger::Own, 5, true), NOW), [counted]);
        let dropped = match written {
            Event::Persisted => vec![Effect::DropThrough(5)],
            _ => Vec::new(),
        };
        assert_eq!(node.step(written, NOW), dropped);
    }
    assert!(node.is_told());
}

#[test]
fn what_both_had_counted_when_a_life_ended_is_dropped_by_the_next() {
    let mut node = node(5, cursor(5, 5), cursor(4, 5));
    assert_eq!(
        node.step(KNOWS_HOME, NOW),
        [Effect::DropThrough(4), read(4, 5)]
    );
    let home = Event::Read(vec![(5, entry(&[Ledger::Home]))]);
    assert_eq!(sent(&node.step(home, NOW)), (Ledger::Home, 5, true));
    assert_eq!(node.step(unheard(Ledger::Home, 5), NOW), []);
    assert_eq!(node.step(KNOWS_HOME, NOW), [read(4, 5)], "once a life");
}

#[test]
fn a_ledger_is_passed_over_where_entries_say_nothing_to_it() {
    let mut node = node(4, cursor(0, 0), cursor(4, 4));
    let _read = flush(&mut node, NOW);
    let home = Event::Read(vec![(4, entry(&[Ledger::Home]))]);
    assert_eq!(node.step(home, NOW), [Effect::DropThrough(4)]);
    assert!(node.is_told());
}

#[test]
fn home_is_told_once_it_is_known() {
    let mut node = node(4, cursor(4, 4), cursor(0, 0));
    let unknown = Event::Flush { knows_home: false };
    assert_eq!(node.step(unknown, NOW), []);
    assert!(!node.is_told());
    assert_eq!(flush(&mut node, NOW), [read(0, 4)]);
}

#[test]
fn entries_that_cannot_be_read_are_passed_over_and_no_others() {
    // Those of the range alone that was asked for.
    let mut repeated = node(9, cursor(3, 5), cursor(9, 9));
    assert_eq!(flush(&mut repeated, NOW), [read(3, 5)]);
    let unreadable = Event::Read(vec![(4, None), (5, None)]);
    assert_eq!(repeated.step(unreadable, NOW), [read(5, 9)]);
    // Those alone that were there to be read.
    assert_eq!(
        repeated.step(Event::Read(vec![(6, None)]), NOW),
        [read(6, 9)]
    );
    // All of them, where none is there.
    assert_eq!(repeated.step(Event::Read(vec![]), NOW), []);
    assert!(repeated.is_told());
    // And those between the others.
    let mut first = node(3, cursor(0, 0), cursor(3, 3));
    let _read = flush(&mut first, NOW);
    let rows = vec![(1, None), (2, entry(&[Ledger::Own])), (3, None)];
    let begun = Effect::Persist(Ledger::Own, cursor(0, 2));
    assert_eq!(first.step(Event::Read(rows), NOW), [begun]);
}

#[test]
fn a_flush_tells_a_ledger_so_many_frames_and_no_more() {
    let mut node = node(100, cursor(0, 0), cursor(100, 100));
    let mut effects = flush(&mut node, NOW);
    let mut frames = 0;
    while let Some(effect) = effects.pop() {
        let event = match effect {
            Effect::ReadEntries { after, .. } => {
                Event::Read(vec![(after + 1, entry(&[Ledger::Own]))])
            }
            Effect::Persist(..) => Event::Persisted,
            Effect::Send(ledger, frame) => {
                frames += 1;
                heard(ledger, frame.sequence.0, true)
            }
            Effect::DropThrough(_) => continue,
        };
        effects.extend(node.step(event, NOW));
    }
    assert_eq!(frames, SETTLED_FRAMES_MAX);
    assert_eq!(
        flush(&mut node, NOW),
        [read(u64::from(SETTLED_FRAMES_MAX), 100)]
    );
}

#[test]
fn one_flush_is_under_way_until_nothing_is_heard_of_it_for_a_calls_time() {
    let mut node = node(5, cursor(3, 5), cursor(3, 5));
    let rows = || Event::Read(vec![(5, entry(&[Ledger::Own, Ledger::Home]))]);
    let _read = flush(&mut node, NOW);
    assert_eq!(sent(&node.step(rows(), NOW)), (Ledger::Own, 5, true));
    assert_eq!(flush(&mut node, NOW.plus(CALL_MS_MAX - 1)), []);
    let late = NOW.plus(CALL_MS_MAX);
    assert_eq!(flush(&mut node, late), [read(3, 5)]);
    assert_eq!(sent(&node.step(rows(), late)), (Ledger::Own, 5, true));
    assert_eq!(node.step(unheard(Ledger::Own, 5), late), [read(3, 5)]);
    assert_eq!(sent(&node.step(rows(), late)), (Ledger::Home, 5, true));
    // What one ledger says late is not taken for the other's word.
    assert_eq!(node.step(heard(Ledger::Own, 5, true), late), []);
    let counted = Effect::Persist(Ledger::Home, cursor(5, 5));
    assert_eq!(node.step(heard(Ledger::Home, 5, true), late), [counted]);
}

#[test]
fn numbers_rise_above_all_that_was_told_and_above_the_clock() {
    for (last, own, home, now, next) in [
        (0, cursor(0, 0), cursor(0, 0), 0, 1),
        (7, cursor(3, 5), cursor(0, 0), 0, 8),
        (0, cursor(3, 5), cursor(0, 0), 0, 6),
        (0, cursor(0, 0), cursor(9, 9), 0, 10),
        (7, cursor(3, 5), cursor(9, 9), 70, 70),
    ] {
        assert_eq!(node(last, own, home).next_number(EpochMs(now)), next);
    }
    let mut node = node(0, cursor(0, 0), cursor(0, 0));
    node.wrote(4);
    assert_eq!(node.next_number(NOW), 5);
}
