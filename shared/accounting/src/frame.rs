//! Frames: counters travel from isolate to `Region` and from `Region` to `Ledger`, and are counted exactly once.
//!
//! The sender repeats an unanswered frame as it was. The receiver counts a frame once per (sender, incarnation,
//! sequence). One that has lost its memory cannot know whether an earlier life counted a frame that was addressed to
//! that life, and refuses it. The sender knows: one that it had sent once is counted by nobody, and goes to the new
//! life; one that it had repeated is given up. So a death loses at most what was under way, a sleep loses nothing, and
//! neither counts twice.

use weir_core::limits::{CALL_MS_MAX, HOLDERS_MAX};
use weir_core::ordered::OrderedMap;
use weir_core::units::{EpochMs, HolderId, Incarnation, Sequence};
use weir_decision::Reason;
use weir_wire::accounting::{Counters, FrameBody, FrameReply};
use weir_wire::exchange::{VERSION, version_accepted};

use super::counters::{Charged, Decided, Entry};
use super::pending::{InWindow, Pending};

/// The sending side.
#[derive(Debug, Clone)]
pub struct Outbox {
    sender: HolderId,
    incarnation: Incarnation,
    sequence: Sequence,
    receiver: Incarnation,
    pending: Pending,
    sent: Option<Sent>,
}

/// A frame that is not done with.
#[derive(Debug, Clone)]
struct Sent {
    body: FrameBody,
    /// When it was last sent; `None` before the first time.
    at: Option<EpochMs>,
    in_flight: bool,
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameOutcome {
    /// The receiver has counted it.
    Counted,
    /// The receiver woke since it was last heard of, and nobody has counted the frame: the next one brings it.
    Readdressed,
    /// It is lost: an earlier life of the receiver may have counted it, or this one cannot read it.
    GivenUp,
}

impl Outbox {
    /// An empty outbox of one life of a sender.
    #[must_use]
    pub fn new(sender: HolderId, incarnation: Incarnation) -> Self {
        Self {
            sender,
            incarnation,
            sequence: Sequence(0),
            receiver: Incarnation(0),
            pending: Pending::default(),
            sent: None,
        }
    }

    /// Counts one decision for a tenant that the policy does not name, with no word on its window.
    pub fn count(&mut self, tenant: &str, charged: Charged<'_>, admitted: bool, units: u64) {
        let reason = if admitted {
            Reason::Admitted
        } else {
            Reason::LimitExceeded
        };
        let decided = Decided {
            tenant,
            known: false,
            charged,
            reason,
            units,
        };
        self.pending.count(&decided, None);
    }

    /// Counts one decision, and where it was one on a budget, in its window.
    pub fn decided(&mut self, decided: &Decided<'_>, window: Option<&InWindow<'_>>) {
        self.pending.count(decided, window);
    }

    /// Counts a decision that may be no plain charge.
    pub fn enter(&mut self, decided: &Decided<'_>, entry: Entry, window: Option<&InWindow<'_>>) {
        self.pending.enter(decided, entry, window);
    }

    /// Counts what is told besides decisions.
    pub fn pending(&mut self) -> &mut Pending {
        &mut self.pending
    }

    /// Counts what another sender counted.
    pub fn merge(&mut self, counters: &Counters) {
        self.pending.merge_counters(counters);
    }

    /// Passes on what another sender's frame holds.
    pub fn forward(&mut self, frame: &FrameBody) {
        self.pending.merge(frame);
    }

    /// Whether there is anything to send, or to send again.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.sent.is_none()
    }

    /// The next frame, or the unanswered one again. `None` while one is in flight, or with nothing to tell.
    pub fn begin(&mut self, now: EpochMs) -> Option<FrameBody> {
        if let Some(sent) = self.sent.as_mut() {
            let late = |at: EpochMs| now.since(at) >= CALL_MS_MAX;
            if sent.in_flight && !sent.at.is_none_or(late) {
                return None;
            }
            sent.body.again = sent.at.is_some();
            sent.at = Some(now);
            sent.in_flight = true;
            return Some(sent.body.clone());
        }
        if self.pending.is_empty() {
            return None;
        }
        self.sequence = Sequence(self.sequence.0 + 1);
        let mut body = FrameBody {
            v: VERSION,
            sender: self.sender,
            incarnation: self.incarnation,
            sequence: self.sequence,
            receiver: self.receiver,
            ..FrameBody::default()
        };
        self.pending.fill(&mut body);
        self.sent = Some(Sent {
            body: body.clone(),
            at: Some(now),
            in_flight: true,
        });
        Some(body)
    }

    /// The frame was answered. Returns what became of it; `None` for another frame's answer.
    pub fn finish(&mut self, reply: &FrameReply) -> Option<FrameOutcome> {
        let answered = |sent: &Sent| sent.body.sequence == reply.sequence;
        let mut sent = self.sent.take_if(|sent| answered(sent))?;
        self.receiver = reply.receiver;
        if reply.counted {
            return Some(FrameOutcome::Counted);
        }
        // What the receiver's present life refuses although it was addressed to it, it will never take.
        if sent.body.again || sent.body.receiver == reply.receiver {
            return Some(FrameOutcome::GivenUp);
        }
        // Under a number of its own, as a copy of the refused one must never be taken for it.
        self.sequence = Sequence(self.sequence.0 + 1);
        sent.body.sequence = self.sequence;
        sent.body.receiver = reply.receiver;
        self.sent = Some(Sent {
            at: None,
            in_flight: false,
            ..sent
        });
        Some(FrameOutcome::Readdressed)
    }

    /// The frame was not answered in time: it will be sent again.
    pub fn fail(&mut self, sequence: Sequence) {
        if let Some(sent) = self.sent.as_mut()
            && sent.body.sequence == sequence
        {
            sent.in_flight = false;
        }
    }
}

/// The last frame that was counted of each sender.
pub type Counted = OrderedMap<HolderId, (Incarnation, Sequence)>;

/// The receiving side.
#[derive(Debug, Clone)]
pub struct Inbox {
    incarnation: Incarnation,
    durable: bool,
    counted: Counted,
}

impl Inbox {
    /// An inbox of one life of a receiver that forgets what it counted when it dies.
    #[must_use]
    pub fn new(incarnation: Incarnation) -> Self {
        Self {
            incarnation,
            durable: false,
            counted: Counted::new(),
        }
    }

    /// An inbox of a receiver whose memory is durable, with what it remembers: however often it wakes it lives once, and
    /// it knows of each frame whether it counted it.
    #[must_use]
    pub fn durable(counted: Counted) -> Self {
        Self {
            incarnation: Incarnation(1),
            durable: true,
            counted,
        }
    }

    /// Whether to add the frame's counters, and the answer to the sender. The caller adds and, where its memory is
    /// durable, stores both in one transaction before it replies.
    pub fn take(&mut self, frame: &FrameBody) -> (bool, FrameReply) {
        let this = (frame.incarnation, frame.sequence);
        let known = self.counted.get(&frame.sender).copied();
        let heard_before = frame.receiver == self.incarnation || frame.receiver == Incarnation(0);
        let certain = self.durable || known.is_some() || (heard_before && !frame.again);
        let counted = certain && version_accepted(frame.v);
        let add = counted && known.is_none_or(|last| last < this);
        if add {
            self.remember(frame.sender, this);
        }
        let reply = FrameReply {
            sequence: frame.sequence,
            receiver: self.incarnation,
            counted,
        };
        (add, reply)
    }

    /// The last frame counted of each sender, for storage.
    #[must_use]
    pub fn counted(&self) -> &Counted {
        &self.counted
    }

    /// The same, at the end of the inbox.
    #[must_use]
    pub fn into_counted(self) -> Counted {
        self.counted
    }

    /// Remembers a sender, forgetting another when there are too many. One that was forgotten and lives on is
    /// remembered again with its next frame; only a frame that it repeats in between is given up.
    fn remember(&mut self, sender: HolderId, frame: (Incarnation, Sequence)) {
        if self.counted.len() >= HOLDERS_MAX && !self.counted.contains_key(&sender) {
            self.counted.pop_first();
        }
        self.counted.insert(sender, frame);
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::count::Count;
    use weir_wire::usage::Usage;

    use super::*;

    fn outbox() -> Outbox {
        Outbox::new(HolderId(7), Incarnation(1))
    }

    fn total(counters: &Counters) -> u128 {
        counters
            .values()
            .map(|tenant| tenant.total().admitted_units.0)
            .sum()
    }

    #[test]
    fn a_frame_that_is_repeated_is_counted_once() {
        let mut outbox = outbox();
        let mut inbox = Inbox::new(Incarnation(1));
        outbox.count("acme", Charged::Budget("tokens"), true, 5);
        let first = outbox.begin(EpochMs(0)).unwrap();
        assert_eq!(
            outbox.begin(EpochMs(10)),
            None,
            "one frame is in flight at a time"
        );
        outbox.fail(first.sequence);
        let again = outbox.begin(EpochMs(20)).unwrap();
        assert!(inbox.take(&first).0);
        let (added, reply) = inbox.take(&again);
        assert!(!added);
        assert_eq!(outbox.finish(&reply), Some(FrameOutcome::Counted));
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_repeated_frame_is_given_up_by_a_receiver_that_lost_its_memory() {
        let mut outbox = outbox();
        outbox.count("acme", Charged::Budget("tokens"), true, 5);
        let first = outbox.begin(EpochMs(0)).unwrap();
        let mut before = Inbox::new(Incarnation(1));
        assert!(before.take(&first).0);
        outbox.fail(first.sequence);
        let again = outbox.begin(EpochMs(2_000)).unwrap();
        let mut after = Inbox::new(Incarnation(2));
        let (added, reply) = after.take(&again);
        assert!(!added, "the life before has counted it");
        assert_eq!(outbox.finish(&reply), Some(FrameOutcome::GivenUp));
        outbox.count("acme", Charged::Budget("tokens"), true, 3);
        let next = outbox.begin(EpochMs(3_000)).unwrap();
        assert!(after.take(&next).0, "what follows is counted again");
        assert_eq!(total(&next.counters), 3);
    }

    #[test]
    fn a_receiver_that_slept_is_sent_what_it_could_not_know() {
        let mut outbox = outbox();
        let mut before = Inbox::new(Incarnation(1));
        outbox.count("acme", Charged::Budget("tokens"), true, 5);
        let first = outbox.begin(EpochMs(0)).unwrap();
        let (_, reply) = before.take(&first);
        assert_eq!(outbox.finish(&reply), Some(FrameOutcome::Counted));
        let mut after = Inbox::new(Incarnation(2));
        outbox.count("acme", Charged::Budget("tokens"), true, 3);
        let unknown = outbox.begin(EpochMs(20_000)).unwrap();
        let (added, reply) = after.take(&unknown);
        assert!(!added, "for all that it knows the life before counted it");
        assert_eq!(outbox.finish(&reply), Some(FrameOutcome::Readdressed));
        assert!(!outbox.is_empty());
        let known = outbox.begin(EpochMs(20_001)).unwrap();
        assert!(!known.again);
        assert!(!after.take(&unknown).0, "a late copy is refused");
        let (added, reply) = after.take(&known);
        assert!(added);
        assert_eq!(total(&known.counters), 3);
        assert_eq!(outbox.finish(&reply), Some(FrameOutcome::Counted));
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_frame_that_is_refused_by_whom_it_is_addressed_to_is_given_up() {
        let mut outbox = outbox();
        outbox.count("acme", Charged::Budget("tokens"), true, 5);
        let frame = outbox.begin(EpochMs(0)).unwrap();
        let refused = |frame: &FrameBody| FrameReply {
            sequence: frame.sequence,
            receiver: Incarnation(2),
            counted: false,
        };
        assert_eq!(
            outbox.finish(&refused(&frame)),
            Some(FrameOutcome::Readdressed)
        );
        let frame = outbox.begin(EpochMs(10)).unwrap();
        assert_eq!(outbox.finish(&refused(&frame)), Some(FrameOutcome::GivenUp));
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_sender_that_restarts_is_counted_on() {
        let mut inbox = Inbox::new(Incarnation(1));
        for incarnation in [1, 2] {
            let mut outbox = Outbox::new(HolderId(7), Incarnation(incarnation));
            for units in [2, 4] {
                outbox.count("acme", Charged::Limit("ip"), true, units);
                let frame = outbox.begin(EpochMs(units)).unwrap();
                let (added, reply) = inbox.take(&frame);
                assert!(added);
                assert_eq!(outbox.finish(&reply), Some(FrameOutcome::Counted));
            }
        }
    }

    #[test]
    fn what_another_sender_told_is_passed_on_whole_under_a_name_of_its_own() {
        let mut below = outbox();
        below.count("acme", Charged::Budget("tokens"), true, 5);
        let usage = Usage {
            region_calls: Count(3),
            ..Usage::default()
        };
        let told = FrameBody {
            usage,
            ..below.begin(EpochMs(0)).unwrap()
        };
        let mut above = Outbox::new(HolderId(8), Incarnation(2));
        above.forward(&told);
        let passed = above.begin(EpochMs(1)).unwrap();
        assert_eq!(
            (passed.sender, passed.incarnation),
            (HolderId(8), Incarnation(2))
        );
        assert_eq!((passed.counters, passed.usage), (told.counters, usage));
    }
}
