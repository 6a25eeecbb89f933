//! Frames: counters travel from isolate to `Region` and from `Region` to `Ledger`, and are counted exactly once.
//!
//! The sender repeats an unanswered frame as it was. The receiver counts a frame once per (sender, incarnation,
//! sequence). A receiver that has lost its memory cannot know whether an earlier life counted a repeated frame: it
//! gives it up, so a death loses at most what was under way and never counts twice.

use std::collections::BTreeMap;

use super::counters::{Charged, Decided};
use super::pending::{InWindow, Pending};
use crate::decision::Reason;
use crate::limits::{CALL_MS_MAX, HOLDERS_MAX};
use crate::units::{EpochMs, HolderId, Incarnation, Sequence};
use crate::wire::accounting::{Counters, FrameBody, FrameReply};
use crate::wire::exchange::{VERSION, version_accepted};

/// The sending side.
#[derive(Debug, Clone)]
pub struct Outbox {
    sender: HolderId,
    incarnation: Incarnation,
    sequence: Sequence,
    receiver: Incarnation,
    pending: Pending,
    sent: Option<(FrameBody, EpochMs, bool)>,
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
        if let Some((body, sent_at, in_flight)) = self.sent.as_mut() {
            if *in_flight && now.since(*sent_at) < CALL_MS_MAX {
                return None;
            }
            body.again = true;
            *sent_at = now;
            *in_flight = true;
            return Some(body.clone());
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
        self.sent = Some((body.clone(), now, true));
        Some(body)
    }

    /// The frame was answered. Returns whether the receiver counted it; `None` for another frame's answer.
    pub fn finish(&mut self, reply: &FrameReply) -> Option<bool> {
        let (body, _, _) = self.sent.as_ref()?;
        if body.sequence != reply.sequence {
            return None;
        }
        self.receiver = reply.receiver;
        self.sent = None;
        Some(reply.counted)
    }

    /// The frame was not answered in time: it will be sent again.
    pub fn fail(&mut self, sequence: Sequence) {
        if let Some((body, _, in_flight)) = self.sent.as_mut()
            && body.sequence == sequence
        {
            *in_flight = false;
        }
    }
}

/// The last frame that was counted of each sender.
pub type Counted = BTreeMap<HolderId, (Incarnation, Sequence)>;

/// The receiving side.
#[derive(Debug, Clone)]
pub struct Inbox {
    incarnation: Incarnation,
    counted: Counted,
}

impl Inbox {
    /// An inbox with what it remembers. A receiver whose memory is durable keeps one incarnation for good.
    #[must_use]
    pub fn new(incarnation: Incarnation, counted: Counted) -> Self {
        Self {
            incarnation,
            counted,
        }
    }

    /// Whether to add the frame's counters, and the answer to the sender. The caller adds and, where its memory is
    /// durable, stores both in one transaction before it replies.
    pub fn take(&mut self, frame: &FrameBody) -> (bool, FrameReply) {
        let this = (frame.incarnation, frame.sequence);
        let known = self.counted.get(&frame.sender).copied();
        let heard_before = frame.receiver == self.incarnation || frame.receiver == Incarnation(0);
        let certain = match known {
            Some(_) => true,
            None => heard_before && !frame.again,
        };
        let add = version_accepted(frame.v) && certain && known.is_none_or(|last| last < this);
        if add || known.is_none() {
            self.remember(frame.sender, this);
        }
        let reply = FrameReply {
            sequence: frame.sequence,
            receiver: self.incarnation,
            counted: certain && version_accepted(frame.v),
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
        let mut inbox = Inbox::new(Incarnation(1), Counted::new());
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
        assert_eq!(outbox.finish(&reply), Some(true));
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_repeated_frame_is_given_up_by_a_receiver_that_lost_its_memory() {
        let mut outbox = outbox();
        outbox.count("acme", Charged::Budget("tokens"), true, 5);
        let first = outbox.begin(EpochMs(0)).unwrap();
        let mut before = Inbox::new(Incarnation(1), Counted::new());
        assert!(before.take(&first).0);
        outbox.fail(first.sequence);
        let again = outbox.begin(EpochMs(2_000)).unwrap();
        let mut after = Inbox::new(Incarnation(2), Counted::new());
        let (added, reply) = after.take(&again);
        assert!(!added, "the life before has counted it");
        assert_eq!(outbox.finish(&reply), Some(false));
        outbox.count("acme", Charged::Budget("tokens"), true, 3);
        let next = outbox.begin(EpochMs(3_000)).unwrap();
        assert!(after.take(&next).0, "what follows is counted again");
        assert_eq!(total(&next.counters), 3);
    }

    #[test]
    fn a_sender_that_restarts_is_counted_on() {
        let mut inbox = Inbox::new(Incarnation(1), Counted::new());
        for incarnation in [1, 2] {
            let mut outbox = Outbox::new(HolderId(7), Incarnation(incarnation));
            for units in [2, 4] {
                outbox.count("acme", Charged::Limit("ip"), true, units);
                let frame = outbox.begin(EpochMs(units)).unwrap();
                let (added, reply) = inbox.take(&frame);
                assert!(added);
                assert_eq!(outbox.finish(&reply), Some(true));
            }
        }
    }
}
