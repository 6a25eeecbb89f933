//! Settlements on their way to the ledgers. A settlement is a row, so what it comes to for the accounts is one, too: an
//! entry, written with it and kept until the ledgers have counted it.
//!
//! Entries have numbers that rise. A frame is those from one number to another, and where it ends is durable before it is
//! sent: a region that dies sends the same again under the same number, which a ledger, whose memory is durable, counts
//! once.

use super::held::merge_reservations;
use crate::limits::{FRAME_NAMES_MAX, FRAME_TENANTS_MAX, FRAME_WINDOWS_MAX};
use crate::units::{HolderId, Incarnation, Sequence, WindowLabel};
use crate::wire::accounting::{FrameBody, FrameReply, SettledEntry};
use crate::wire::exchange::VERSION;
use crate::wire::windows::{WindowPart, WindowParts};

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
pub struct Told {
    /// The last entry that it has counted.
    pub counted: u64,
    /// The last entry of the frame that is under way, if that is a later one.
    pub under_way: u64,
}

/// What there is to tell.
#[derive(Debug, Clone, PartialEq)]
pub enum Telling {
    /// Nothing.
    Nothing,
    /// The entries say nothing to this ledger: they count as told.
    Passed,
    /// A frame. [`Told::under_way`] is durable before it is sent.
    Frame(Box<FrameBody>),
}

impl Told {
    /// The entries of the next frame: those above the first number, up to the second.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        let repeated = self.under_way > self.counted;
        let through = if repeated { self.under_way } else { u64::MAX };
        (self.counted, through)
    }

    /// Makes a frame of the first entries of the [range](Told::range), as many as it has room for.
    #[must_use]
    pub fn begin(
        &mut self,
        sender: HolderId,
        ledger: Ledger,
        entries: &[(u64, SettledEntry)],
    ) -> Telling {
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
            return Telling::Nothing;
        }
        self.under_way = through;
        frame.sequence = Sequence(through);
        if frame.reservations.is_empty() && frame.windows.is_empty() {
            self.counted = through;
            return Telling::Passed;
        }
        Telling::Frame(Box::new(frame))
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
