//! What a holder has to tell its parent: one message at a time, repeated as it was until it is answered.

use weir_core::limits::OVERLOAD_REPEAT_MS_MAX;
use weir_core::units::{EpochMs, Incarnation, Sequence};
use weir_wire::overload::{OverloadTerms, ShareBody, ShareReply};

/// Counts and the message in flight.
#[derive(Debug, Clone)]
pub struct Outbox {
    incarnation: Incarnation,
    sequence: Sequence,
    in_flight: Option<InFlight>,
    /// What was counted since the last message.
    pub counts: Counts,
    /// What the resource has told since the last message that it lets through, in thousandths of a request a second.
    pub told_milli: Option<u64>,
}

/// Requests by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Served.
    pub succeeded: u64,
    /// Not served for want of capacity.
    pub failed: u64,
    /// Not admitted.
    pub denied: u64,
    /// Admitted. Told to nobody: who admits has to hear what the others know, though none of it was reported here.
    pub admitted: u64,
}

#[derive(Debug, Clone)]
struct InFlight {
    body: ShareBody,
    first_sent_at: EpochMs,
    mark: f64,
}

/// What goes into a message besides the counts.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What the holder goes by.
    pub terms: OverloadTerms,
    /// The rotation period of the live cells.
    pub period: u64,
    /// Cells of both structures, packed.
    pub cells: [String; 2],
    /// The fair rate, in units a second.
    pub rate: f64,
    /// Where the rate was, for [`super::steering::Steering::follow`].
    pub mark: f64,
}

impl Counts {
    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Outbox {
    /// Nothing to tell.
    #[must_use]
    pub fn new(incarnation: Incarnation) -> Self {
        Self {
            incarnation,
            sequence: Sequence(0),
            in_flight: None,
            counts: Counts::default(),
            told_milli: None,
        }
    }

    /// The message that was not answered yet, unless it is too old to be repeated.
    pub fn repeat(&mut self, now: EpochMs) -> Option<ShareBody> {
        self.in_flight
            .take_if(|sent| now.since(sent.first_sent_at) > OVERLOAD_REPEAT_MS_MAX);
        Some(self.in_flight.as_ref()?.body.clone())
    }

    /// Whether nothing waits to be told or answered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.in_flight.is_none()
    }

    /// Sends a message.
    pub fn send(&mut self, resource: &str, draft: Draft, now: EpochMs) -> ShareBody {
        let counts = std::mem::take(&mut self.counts);
        let [live, shadow] = draft.cells;
        self.sequence = Sequence(self.sequence.0 + 1);
        let body = ShareBody {
            resource: resource.to_owned(),
            incarnation: self.incarnation,
            sequence: self.sequence,
            terms: draft.terms,
            period: draft.period,
            live,
            shadow,
            succeeded: counts.succeeded,
            failed: counts.failed,
            denied: counts.denied,
            rate: draft.rate,
            told_milli: self.told_milli.take(),
        };
        self.in_flight = Some(InFlight {
            body: body.clone(),
            first_sent_at: now,
            mark: draft.mark,
        });
        body
    }

    /// The mark of the message that is answered, if it is the one in flight, which then is no longer.
    pub fn answered(&mut self, reply: &ShareReply) -> Option<f64> {
        let named = (reply.incarnation, reply.sequence);
        let sent = self
            .in_flight
            .take_if(|sent| (sent.body.incarnation, sent.body.sequence) == named)?;
        Some(sent.mark)
    }
}
