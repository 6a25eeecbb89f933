//! The last decisions that were told, newest first. What was missed stands among them.

use std::collections::VecDeque;

use weir_shared::wire::operator::live::DecisionSample;

/// Entries kept.
pub const TAIL_MAX: usize = 2_000;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailEntry {
    /// Rises by one an entry, and never comes again.
    pub number: u64,
    /// Who told it.
    pub region: String,
    /// What it tells.
    pub event: TailEvent,
}

/// What an entry tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TailEvent {
    /// A decision.
    Decision(DecisionSample),
    /// What was decided before this instant was missed, and is no longer there.
    Gap {
        /// When it was noticed, epoch milliseconds.
        at: u64,
    },
}

/// The entries.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    entries: VecDeque<TailEntry>,
    told: u64,
}

impl Tail {
    /// Takes a decision.
    pub fn decision(&mut self, region: &str, sample: DecisionSample) {
        self.push(region, TailEvent::Decision(sample));
    }

    /// Notes that something was missed.
    pub fn gap(&mut self, region: &str, at: u64) {
        self.push(region, TailEvent::Gap { at });
    }

    /// Newest first.
    pub fn entries(&self) -> impl Iterator<Item = &TailEntry> {
        self.entries.iter().rev()
    }

    /// Entries told since the start, those that are no longer kept included.
    pub fn told(&self) -> u64 {
        self.told
    }

    fn push(&mut self, region: &str, event: TailEvent) {
        self.told += 1;
        self.entries.push_back(TailEntry {
            number: self.told,
            region: region.to_owned(),
            event,
        });
        if self.entries.len() > TAIL_MAX {
            self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::units::EpochMs;
    use weir_shared::wire::check::Reason;

    use super::*;

    fn sample(at: u64) -> DecisionSample {
        DecisionSample {
            at: EpochMs(at),
            tenant: Some("acme".to_owned()),
            allowed: true,
            binding: "tokens".to_owned(),
            reason: Reason::Admitted,
            would_deny: false,
            decision: None,
        }
    }

    #[test]
    fn the_newest_stands_first_and_what_was_missed_stands_between() {
        let mut tail = Tail::default();
        tail.decision("weur", sample(1));
        tail.gap("weur", 2);
        tail.decision("enam", sample(3));
        let told: Vec<_> = tail.entries().collect();
        assert_eq!(
            told.iter().map(|entry| entry.number).collect::<Vec<_>>(),
            [3, 2, 1]
        );
        assert_eq!(told[0].region, "enam");
        assert_eq!(told[1].event, TailEvent::Gap { at: 2 });
        assert_eq!(told[2].event, TailEvent::Decision(sample(1)));
    }

    #[test]
    fn the_oldest_give_way_and_numbers_go_on() {
        let mut tail = Tail::default();
        for at in 0..TAIL_MAX as u64 + 5 {
            tail.decision("weur", sample(at));
        }
        assert_eq!(tail.entries().count(), TAIL_MAX);
        assert_eq!(tail.told(), TAIL_MAX as u64 + 5);
        assert_eq!(tail.entries().last().unwrap().number, 6);
    }
}
