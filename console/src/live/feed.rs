//! What was told so far: rates and the tail of decisions.

use weir_shared::wire::operator::live::{LiveEvent, LiveMessage};

use super::machine::HeardMessage;
use super::rates::RateBook;
use super::tail::Tail;

/// What was told so far.
#[derive(Debug, Clone, Default)]
pub struct LiveFeed {
    /// Calls, second by second.
    pub rates: RateBook,
    /// Decisions.
    pub tail: Tail,
}

impl LiveFeed {
    /// Keeps what is to be kept of a message.
    pub fn take(&mut self, message: LiveMessage, kept: &HeardMessage) {
        let at_ms = message.at.0;
        if kept.gap {
            self.tail.gap(&kept.region, at_ms);
        }
        if kept.begins {
            self.rates.begin(&kept.region, at_ms);
        }
        if !kept.news {
            return;
        }
        match message.event {
            LiveEvent::Accounting { tenants, .. } => {
                self.rates.add(&kept.region, at_ms, tenants.values());
            }
            LiveEvent::Decisions { samples, .. } => {
                for sample in samples {
                    self.tail.decision(&kept.region, sample);
                }
            }
            LiveEvent::Hello { .. } | LiveEvent::Gap { .. } | LiveEvent::Health { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {

    use weir_shared::ordered::OrderedMap;
    use weir_shared::units::{EpochMs, Sequence};
    use weir_shared::wire::accounting::{Tally, TenantCounters};
    use weir_shared::wire::check::Reason;
    use weir_shared::wire::count::Count;
    use weir_shared::wire::operator::live::DecisionSample;

    use super::*;
    use crate::live::tail::TailEvent;

    fn message(at: u64, event: LiveEvent) -> LiveMessage {
        LiveMessage {
            sequence: Sequence(at),
            previous: Sequence(at - 1),
            at: EpochMs(at),
            event,
        }
    }

    fn kept(news: bool, gap: bool, begins: bool) -> HeardMessage {
        HeardMessage {
            region: "weur".to_owned(),
            news,
            gap,
            begins,
        }
    }

    fn accounting(calls: u128) -> LiveEvent {
        let tally = Tally {
            admitted_calls: Count(calls),
            ..Tally::default()
        };
        let counted = TenantCounters {
            budgets: [("tokens".to_owned(), tally)].into(),
            ..TenantCounters::default()
        };
        LiveEvent::Accounting {
            region: "weur".to_owned(),
            tenants: OrderedMap::from([("acme".to_owned(), counted)]),
        }
    }

    fn decisions(count: u64) -> LiveEvent {
        let sample = |at| DecisionSample {
            at: EpochMs(at),
            tenant: None,
            allowed: false,
            binding: "tokens".to_owned(),
            reason: Reason::CapReached,
            would_deny: false,
            decision: None,
        };
        LiveEvent::Decisions {
            region: "weur".to_owned(),
            samples: (0..count).map(sample).collect(),
        }
    }

    #[test]
    fn what_is_news_is_kept_once() {
        let mut told = LiveFeed::default();
        told.take(message(1_000, accounting(0)), &kept(false, false, true));
        told.take(message(2_000, accounting(7)), &kept(true, false, false));
        told.take(message(2_000, accounting(7)), &kept(false, false, false));
        told.take(message(2_100, decisions(3)), &kept(true, false, false));
        told.take(message(2_100, decisions(3)), &kept(false, false, false));
        let per_s = told.rates.rates(3_000).total.per_s.unwrap();
        assert_eq!(per_s.admitted, 7.0);
        assert_eq!(told.tail.entries().count(), 3);
    }

    #[test]
    fn what_was_missed_stands_before_what_follows_and_rates_begin_anew() {
        let mut told = LiveFeed::default();
        told.take(message(1_000, accounting(0)), &kept(false, false, true));
        told.take(message(2_000, accounting(7)), &kept(true, false, false));
        told.take(message(60_000, decisions(1)), &kept(true, true, true));
        let events: Vec<_> = told.tail.entries().map(|entry| &entry.event).collect();
        assert!(matches!(events[0], TailEvent::Decision(_)));
        assert_eq!(events[1], &TailEvent::Gap { at: 60_000 });
        assert_eq!(
            told.rates.rates(63_000).total.history.len(),
            2,
            "of after the gap"
        );
    }
}
