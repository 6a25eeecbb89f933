//! Settlements on their way to the ledgers. A settlement is a row, so what it comes to for the accounts is one, too: an
//! entry, written with it and kept until the ledgers have counted it.
//!
//! Entries have numbers that rise. A frame is those from one number to another, and where it ends is durable before it is
//! sent: a region that dies sends the same again under the same number, which a ledger, whose memory is durable, counts
//! once.

use weir_core::limits::{FRAME_NAMES_MAX, FRAME_TENANTS_MAX, FRAME_WINDOWS_MAX};
use weir_core::units::{HolderId, Incarnation, Sequence, WindowLabel};
use weir_wire::accounting::{FrameBody, FrameReply, SettledEntry};
use weir_wire::exchange::VERSION;
use weir_wire::windows::{WindowPart, WindowParts};

use super::reserved::merge_reservations;

/// What a ledger is told of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ledger {
    /// The region's own: what came of reservations, and the windows that are the region's own.
    Own,
    /// The one at home: the windows of the whole deployment.
    Home,
}

/// How far one ledger has counted the entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LedgerCursor {
    /// The last entry that it has counted.
    pub counted: u64,
    /// The last entry of the frame that is under way, if that is a later one.
    pub under_way: u64,
}

/// What there is to tell.
#[derive(Debug, Clone, PartialEq)]
pub enum NextFrame {
    /// Nothing.
    Nothing,
    /// The entries say nothing to this ledger: they count as told.
    Passed,
    /// A frame. [`LedgerCursor::under_way`] is durable before it is sent.
    Frame(Box<FrameBody>),
}

impl LedgerCursor {
    /// The entries of the next frame: those above the first number, up to the second.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        let repeated = self.under_way > self.counted;
        let through = if repeated { self.under_way } else { u64::MAX };
        (self.counted, through)
    }

    /// Makes a frame of the first entries of the [range](LedgerCursor::range), as many as it has room for.
    #[must_use]
    pub fn begin(
        &mut self,
        sender: HolderId,
        ledger: Ledger,
        entries: &[(u64, SettledEntry)],
    ) -> NextFrame {
        let again = self.under_way > self.counted;
        let mut frame = FrameBody {
            v: VERSION,
            sender,
            // All lives go on where the last one was: their numbers are durable.
            incarnation: Incarnation(1),
            again,
            ..FrameBody::default()
        };
        let mut through = self.counted;
        for (number, entry) in entries {
            if !has_room(&frame) {
                break;
            }
            through = *number;
            if ledger == Ledger::Own {
                merge_reservations(
                    &mut frame.reservations,
                    &entry.reservations,
                    FRAME_TENANTS_MAX,
                );
            }
            add_windows(&mut frame.windows, ledger.windows(entry));
        }
        if through == self.counted {
            return NextFrame::Nothing;
        }
        self.under_way = through;
        frame.sequence = Sequence(through);
        if frame.reservations.is_empty() && frame.windows.is_empty() {
            self.counted = through;
            return NextFrame::Passed;
        }
        NextFrame::Frame(Box::new(frame))
    }

    /// The frame was answered. Whether it is done with; one that this ledger cannot read is told again.
    pub fn finish(&mut self, reply: &FrameReply) -> bool {
        let counted = reply.counted && reply.sequence == Sequence(self.under_way);
        if counted {
            self.counted = self.counted.max(self.under_way);
        }
        counted
    }
}

impl Ledger {
    /// What an entry says of windows that this ledger keeps.
    #[must_use]
    pub fn windows(self, entry: &SettledEntry) -> &WindowParts {
        match self {
            Self::Own => &entry.own,
            Self::Home => &entry.windows,
        }
    }
}

/// Whether one more entry fits, which names at most 16 things in one window each, and charges the next.
fn has_room(frame: &FrameBody) -> bool {
    let tenants = frame
        .reservations
        .values()
        .flat_map(|minute| minute.values());
    let names: usize = tenants.map(|tenant| tenant.names()).sum();
    let parts = frame.windows.values().flat_map(|labels| labels.values());
    let windows: usize = parts.map(|part| part.tenants.len().max(1)).sum();
    names < FRAME_NAMES_MAX / 2 && windows < FRAME_WINDOWS_MAX
}

/// Adds what was counted of one window.
pub fn add_part(windows: &mut WindowParts, budget: &str, label: WindowLabel, part: &WindowPart) {
    let labels = windows.entry(budget.to_owned()).or_default();
    let known = labels.entry(label).or_default();
    known.add(part, FRAME_TENANTS_MAX);
}

fn add_windows(windows: &mut WindowParts, more: &WindowParts) {
    for (budget, labels) in more {
        for (label, part) in labels {
            add_part(windows, budget, *label, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::EpochMs;

    use super::*;
    use crate::counters::Charged;
    use crate::reserved::{Settled, settle};

    /// An entry that says something of a reservation, of a window of the region's own and of one of the deployment.
    fn entry(reservation: bool, own: bool, home: bool) -> SettledEntry {
        let mut entry = SettledEntry::new();
        let part = WindowPart {
            limit: 100,
            ..WindowPart::default()
        };
        if reservation {
            let settled = Settled {
                tenant: "acme",
                known: true,
                charged: Charged::Budget("tokens"),
                until: EpochMs(60_000),
                reserved: 5,
                used: 3,
            };
            settle(&mut entry.reservations, &settled, 10);
        }
        if own {
            add_part(&mut entry.own, "tokens", WindowLabel(1), &part);
        }
        if home {
            add_part(&mut entry.windows, "tokens", WindowLabel(1), &part);
        }
        entry
    }

    fn begin(
        told: &mut LedgerCursor,
        ledger: Ledger,
        entries: &[(u64, SettledEntry)],
    ) -> NextFrame {
        told.begin(HolderId(7), ledger, entries)
    }

    #[test]
    fn a_ledger_is_told_of_what_it_keeps_and_passed_over_where_that_is_nothing() {
        for (reservation, own, home) in [
            (false, false, false),
            (true, false, false),
            (false, true, false),
            (false, false, true),
            (true, true, true),
        ] {
            let entries = [(4, entry(reservation, own, home))];
            for (ledger, told_of) in [(Ledger::Own, reservation || own), (Ledger::Home, home)] {
                let mut told = LedgerCursor::default();
                let telling = begin(&mut told, ledger, &entries);
                let frame = matches!(telling, NextFrame::Frame(_));
                assert_eq!(frame, told_of, "{ledger:?} {entries:?}");
                assert_eq!(
                    telling == NextFrame::Passed,
                    !told_of,
                    "{ledger:?} {entries:?}"
                );
                assert_eq!(
                    (told.counted, told.under_way),
                    (if told_of { 0 } else { 4 }, 4)
                );
            }
        }
        assert_eq!(
            begin(&mut LedgerCursor::default(), Ledger::Own, &[]),
            NextFrame::Nothing
        );
    }

    #[test]
    fn a_frame_says_that_it_comes_again_only_when_it_was_under_way() {
        for (counted, under_way, again) in [(0, 0, false), (3, 3, false), (3, 5, true)] {
            let entries: Vec<_> = (counted + 1..=5)
                .map(|number| (number, entry(true, true, true)))
                .collect();
            let mut told = LedgerCursor { counted, under_way };
            let NextFrame::Frame(frame) = begin(&mut told, Ledger::Own, &entries) else {
                panic!("there is something to tell");
            };
            assert_eq!(
                (frame.again, frame.sequence),
                (again, Sequence(5)),
                "{counted} {under_way}"
            );
            // All lives of the sender are one to a ledger.
            assert_eq!(
                (frame.v, frame.sender, frame.incarnation),
                (VERSION, HolderId(7), Incarnation(1))
            );
            let reply = FrameReply {
                sequence: frame.sequence,
                receiver: Incarnation(1),
                counted: true,
            };
            assert!(told.finish(&reply));
            assert_eq!(told.range(), (5, u64::MAX));
        }
    }

    #[test]
    fn a_frame_has_as_many_entries_as_it_has_room_for_and_the_next_one_the_others() {
        let names = |number: u64| {
            let mut entry = SettledEntry::new();
            let settled = Settled {
                tenant: "acme",
                known: true,
                charged: Charged::Budget("tokens"),
                until: EpochMs(number * 60_000),
                reserved: 5,
                used: 3,
            };
            settle(&mut entry.reservations, &settled, 10);
            entry
        };
        let windows = |number: u64| {
            let mut entry = SettledEntry::new();
            add_part(
                &mut entry.own,
                "tokens",
                WindowLabel(number),
                &WindowPart::default(),
            );
            entry
        };
        let cases: [(&dyn Fn(u64) -> SettledEntry, u64); 2] = [
            (&names, FRAME_NAMES_MAX as u64 / 2),
            (&windows, FRAME_WINDOWS_MAX as u64),
        ];
        for (entry, room) in cases {
            let entries: Vec<_> = (1..=room + 2)
                .map(|number| (number, entry(number)))
                .collect();
            let mut told = LedgerCursor::default();
            assert!(matches!(
                begin(&mut told, Ledger::Own, &entries),
                NextFrame::Frame(_)
            ));
            assert_eq!(told.under_way, room);
            told.counted = room;
            assert!(matches!(
                begin(&mut told, Ledger::Own, &entries[room as usize..]),
                NextFrame::Frame(_)
            ));
            assert_eq!(told.under_way, room + 2);
        }
    }
}
