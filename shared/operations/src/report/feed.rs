//! What live sockets are told: messages with numbers that never come again, the last of which are kept for whoever lost its
//! connection.

use std::collections::VecDeque;

use weir_core::limits::{LIVE_KEPT_MAX, LIVE_TENANTS_MAX};
use weir_core::ordered::{OrderedMap, sort_by_key};
use weir_core::units::{EpochMs, Sequence};
use weir_wire::accounting::{Counters, OTHERS, TenantCounters};
use weir_wire::operator::live::{LiveEvent, LiveMessage};

/// Numbers a millisecond: one message in each would be a thousand a second.
const PER_MS: u64 = 1 << 10;

/// The messages of one ledger. They live in memory alone: a feed that forgot them gives numbers above all of an earlier
/// life, as it takes them from the time.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    last: Sequence,
    kept: VecDeque<LiveMessage>,
}

impl Feed {
    /// The next message.
    ///
    /// ```
    /// use weir_operations::report::feed::Feed;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::operator::live::LiveEvent;
    /// let event = || LiveEvent::Health { regions: [("weur".to_owned(), EpochMs(5))].into() };
    /// let (mut feed, mut later) = (Feed::default(), Feed::default());
    /// let (one, two) = (feed.next(event(), EpochMs(5)), feed.next(event(), EpochMs(5)));
    /// assert_eq!(two.previous, one.sequence);
    /// assert!(later.next(event(), EpochMs(6)).sequence > two.sequence);
    /// ```
    pub fn next(&mut self, event: LiveEvent, now: EpochMs) -> LiveMessage {
        let by_time = now.0.saturating_mul(PER_MS);
        let sequence = Sequence(by_time.max(self.last.0.saturating_add(1)));
        let message = LiveMessage {
            sequence,
            previous: self.last,
            at: now,
            event,
        };
        self.last = sequence;
        self.kept.push_back(message.clone());
        if self.kept.len() > LIVE_KEPT_MAX {
            self.kept.pop_front();
        }
        message
    }

    /// The number of the last message; 0 for none.
    #[must_use]
    pub fn last(&self) -> Sequence {
        self.last
    }

    /// All that came after a message; `None` when some of it is not there any more.
    #[must_use]
    pub fn after(&self, sequence: Sequence) -> Option<Vec<LiveMessage>> {
        let missed = self.kept.iter().filter(|one| one.sequence > sequence);
        let missed: Vec<LiveMessage> = missed.cloned().collect();
        let whole = match missed.first() {
            Some(first) => first.previous <= sequence && first.previous.0 > 0,
            None => sequence == self.last,
        };
        whole.then_some(missed)
    }
}

/// The tenants with the most calls by name, the rest together.
#[must_use]
pub fn brief(counters: &Counters) -> OrderedMap<String, TenantCounters> {
    let mut ranked: Vec<_> = counters.iter().collect();
    sort_by_key(&mut ranked, |(_, counted)| {
        std::cmp::Reverse(counted.calls())
    });
    let mut brief = OrderedMap::new();
    for (place, (tenant, counted)) in ranked.into_iter().enumerate() {
        let name = if place < LIVE_TENANTS_MAX {
            tenant
        } else {
            OTHERS
        };
        let entry: &mut TenantCounters = brief.entry(name.to_owned()).or_default();
        entry.add(counted);
    }
    brief
}

#[cfg(test)]
mod tests {
    use weir_accounting::counters::{Charged, Decided, count};
    use weir_decision::Reason;

    use super::*;

    fn event() -> LiveEvent {
        LiveEvent::Health {
            regions: OrderedMap::new(),
        }
    }

    #[test]
    fn who_comes_back_gets_all_that_it_missed_or_is_told_that_it_cannot() {
        let mut feed = Feed::default();
        let numbers: Vec<Sequence> = (0..LIVE_KEPT_MAX as u64 + 3)
            .map(|at| feed.next(event(), EpochMs(1_000 + at)).sequence)
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
        let missed = feed.after(numbers[5]).unwrap();
        let told: Vec<Sequence> = missed.iter().map(|one| one.sequence).collect();
        assert_eq!(told, numbers[6..]);
        assert_eq!(feed.after(feed.last()), Some(Vec::new()));
        assert_eq!(feed.after(numbers[0]), None, "some of it is gone");
        assert_eq!(feed.after(Sequence(7)), None, "no message had that number");
        assert_eq!(
            feed.after(Sequence(u64::MAX)),
            None,
            "nor will one have that"
        );
    }

    #[test]
    fn a_feed_that_forgot_says_so_and_gives_no_number_twice() {
        let mut before = Feed::default();
        let seen = before.next(event(), EpochMs(1_000)).sequence;
        let mut woken = Feed::default();
        assert_eq!(woken.after(seen), None);
        let next = woken.next(event(), EpochMs(1_001));
        assert!(next.sequence > seen);
        assert_eq!(woken.after(seen), None, "what came between is not known");
    }

    #[test]
    fn a_clock_that_steps_back_gives_no_number_twice() {
        let mut feed = Feed::default();
        let one = feed.next(event(), EpochMs(5_000));
        let two = feed.next(event(), EpochMs(1));
        assert!(two.sequence > one.sequence);
    }

    #[test]
    fn many_tenants_are_told_briefly_and_none_of_their_units_is_lost() {
        let mut counters = Counters::new();
        for number in 0..LIVE_TENANTS_MAX as u64 + 20 {
            let decided = Decided {
                tenant: &format!("t{number}"),
                known: false,
                charged: Charged::Budget("tokens"),
                reason: Reason::Admitted,
                units: 2,
            };
            count(&mut counters, &decided, 1_000);
        }
        let brief = brief(&counters);
        assert_eq!(brief.len(), LIVE_TENANTS_MAX + 1);
        let others = brief[OTHERS].budgets["tokens"];
        assert_eq!(others.admitted_units.0, 40);
    }
}
