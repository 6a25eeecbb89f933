//! Spans that wait to be sent, within bounds: nobody waits for a trace.

use super::span::Span;
use crate::limits::{SPANS_BATCH_MAX, SPANS_QUEUED_MAX, SPANS_SEND_MS_MAX};
use crate::units::EpochMs;

/// Spans that wait.
#[derive(Debug, Default)]
pub struct Queue {
    spans: Vec<Span>,
    dropped: u64,
    /// Until when somebody sends, at the latest: it may be ended before it says so.
    sending_until: EpochMs,
}

impl Queue {
    /// Takes a span in, or drops it where [`SPANS_QUEUED_MAX`] wait.
    pub fn push(&mut self, span: Span) {
        if self.spans.len() < SPANS_QUEUED_MAX {
            self.spans.push(span);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Whether the caller is to send what waits: there is something, and nobody else does.
    pub fn claim(&mut self, now: EpochMs) -> bool {
        let claimed = !self.spans.is_empty() && now >= self.sending_until;
        if claimed {
            self.sending_until = now.plus(2 * SPANS_SEND_MS_MAX);
        }
        claimed
    }

    /// The next spans to send, at most [`SPANS_BATCH_MAX`], and how many were dropped since the last. `None` where nothing
    /// waits: then the caller sends no more.
    pub fn next(&mut self, now: EpochMs) -> Option<(Vec<Span>, u64)> {
        if self.spans.is_empty() {
            self.sending_until = EpochMs(0);
            return None;
        }
        self.sending_until = now.plus(2 * SPANS_SEND_MS_MAX);
        let rest = self.spans.split_off(self.spans.len().min(SPANS_BATCH_MAX));
        let batch = std::mem::replace(&mut self.spans, rest);
        Some((batch, std::mem::take(&mut self.dropped)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::parent::{SpanId, TraceId};
    use crate::trace::sampling::Begun;
    use crate::trace::span::Side;

    fn span() -> Span {
        Span {
            begun: Begun {
                trace: TraceId([1; 16]),
                span: SpanId([1; 8]),
                parent: None,
                state: None,
            },
            name: String::new(),
            side: Side::Server,
            started: EpochMs(0),
            ended: EpochMs(0),
            said: Vec::new(),
            failed: false,
        }
    }

    #[test]
    fn what_is_beyond_the_bound_is_counted_and_dropped() {
        let mut queue = Queue::default();
        assert!(!queue.claim(EpochMs(0)));
        for _ in 0..SPANS_QUEUED_MAX + 3 {
            queue.push(span());
        }
        let mut sent = Vec::new();
        let mut dropped = 0;
        while let Some((batch, lost)) = queue.next(EpochMs(0)) {
            assert!(batch.len() <= SPANS_BATCH_MAX);
            sent.extend(batch);
            dropped += lost;
        }
        assert_eq!((sent.len(), dropped), (SPANS_QUEUED_MAX, 3));
    }

    #[test]
    fn one_sends_at_a_time_and_one_that_is_gone_holds_nobody_up() {
        let mut queue = Queue::default();
        queue.push(span());
        assert!(queue.claim(EpochMs(100)));
        assert!(!queue.claim(EpochMs(100)));
        assert!(!queue.claim(EpochMs(100 + 2 * SPANS_SEND_MS_MAX - 1)));
        assert!(queue.claim(EpochMs(100 + 2 * SPANS_SEND_MS_MAX)));
        assert!(queue.next(EpochMs(7_000)).is_some());
        queue.push(span());
        assert!(!queue.claim(EpochMs(7_000)));
        assert!(queue.next(EpochMs(7_000)).is_some());
        assert!(queue.next(EpochMs(7_000)).is_none());
        queue.push(span());
        assert!(queue.claim(EpochMs(7_000)));
    }
}
