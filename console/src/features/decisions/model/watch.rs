//! The list of the tail: what stands in it, and that it stands still while it is held.

use std::cmp::Reverse;

use weir_shared::ordered::{OrderedSet, sort_by_key};

use super::filter::DecisionFilter;
use crate::format;
use crate::live::tail::{Tail, TailEntry, TailEvent};
use crate::live::{LiveState, Phase};

/// Rows in the list: more than anybody reads, few enough to be drawn each second.
pub const ROWS_MAX: usize = 200;

/// What is in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// The newest that match, newest first.
    pub rows: Vec<TailEntry>,
    /// All that match, of those that are kept.
    pub matching: usize,
    /// All that are kept.
    pub kept: usize,
    /// Those that match and came since the list stands still.
    pub waiting: usize,
}

impl Look {
    /// How much there is, in words; `all` when nothing is filtered out. Of nothing it says nothing: [`Empty`] does.
    pub fn summary(&self, all: bool) -> String {
        let kept = format::counted(self.kept, "decision");
        let shown = format::count(self.rows.len() as u128);
        let matching = format::count(self.matching as u128);
        if self.rows.is_empty() {
            return String::new();
        }
        match (all, self.rows.len() == self.matching) {
            (true, true) => format!("The last {kept}, newest first."),
            (true, false) => format!("The newest {shown} of {kept} kept."),
            (false, true) => format!("{matching} of {kept} kept match, newest first."),
            (false, false) => {
                format!("The newest {shown} of {matching} that match, of {kept} kept.")
            }
        }
    }

    /// What is to be known of a list that stands still; `asked` when it was told to.
    pub fn waiting_words(&self, asked: bool) -> Option<String> {
        let newer = format::count(self.waiting as u128);
        match (asked, self.waiting) {
            (true, 0) => Some("The list is paused.".to_owned()),
            (true, _) => Some(format!("The list is paused; {newer} newer.")),
            (false, 0) => None,
            (false, _) => Some(format!("The list waits while you use it; {newer} newer.")),
        }
    }
}

/// Why there is nothing in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// Nothing was told yet.
    Nothing,
    /// Nothing is told while it is paused.
    Paused,
    /// Decisions come over a socket alone, and none opens.
    NoSocket,
    /// None of those that are kept matches.
    NoMatch,
}

impl Empty {
    /// Why there is nothing, if there is nothing.
    pub fn of(look: &Look, live: LiveState) -> Option<Self> {
        if !look.rows.is_empty() {
            return None;
        }
        Some(match live.phase {
            _ if look.kept > 0 => Self::NoMatch,
            Phase::Paused => Self::Paused,
            Phase::Reconnecting => Self::NoSocket,
            _ => Self::Nothing,
        })
    }

    /// In words, with what would change it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Nothing => {
                "No decision has been told since you came. They appear here as calls are decided."
            }
            Self::Paused => "Live updates are paused. Resume them to see decisions.",
            Self::NoSocket => {
                "There is no live connection, and decisions arrive only over it. The console reconnects by itself."
            }
            Self::NoMatch => {
                "None of the decisions that are kept matches. Wait for one, or look for something else."
            }
        }
    }
}

/// The names to choose from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choices {
    /// What decided.
    pub bindings: OrderedSet<String>,
    /// Where.
    pub regions: OrderedSet<String>,
}

impl Choices {
    /// What the tail has seen, and what is looked for anyway.
    pub fn of(tail: &Tail, filter: &DecisionFilter) -> Self {
        let mut choices = Self::default();
        let mut add = |binding: &str, region: &str| {
            insert(&mut choices.bindings, binding);
            insert(&mut choices.regions, region);
        };
        for entry in tail.entries() {
            match &entry.event {
                TailEvent::Decision(sample) => add(&sample.binding, &entry.region),
                TailEvent::Gap { .. } => add("", &entry.region),
            }
        }
        add(&filter.binding, &filter.region);
        choices
    }
}

fn insert(names: &mut OrderedSet<String>, name: &str) {
    if !name.is_empty() && !names.contains(name) {
        names.insert(name.to_owned());
    }
}

/// Whether the list follows the tail, or stands still on what the tail was.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    held: Option<Vec<TailEntry>>,
}

impl Watch {
    /// Lets the list stand still. What is in it stays, whatever the tail forgets.
    pub fn hold(&mut self, tail: &Tail) {
        if self.held.is_none() {
            self.held = Some(tail.entries().cloned().collect());
        }
    }

    /// Lets it follow again.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// Whether it stands still.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// What is in the list.
    pub fn look(&self, tail: &Tail, filter: &DecisionFilter) -> Look {
        let Some(held) = &self.held else {
            return look_at(tail.entries(), filter);
        };
        let newest = held.first().map_or(0, |entry| entry.number);
        let newer = tail.entries().take_while(|entry| entry.number > newest);
        let waiting = newer.filter(|entry| filter.admits(entry)).count();
        Look {
            waiting,
            ..look_at(held.iter(), filter)
        }
    }
}

/// Regions tell one after the other, so what was told last is not always what was decided last.
fn look_at<'a>(entries: impl Iterator<Item = &'a TailEntry>, filter: &DecisionFilter) -> Look {
    let mut kept = 0;
    let counted = entries.inspect(|_| kept += 1);
    let mut matching: Vec<_> = counted.filter(|entry| filter.admits(entry)).collect();
    sort_by_key(&mut matching, |entry| Reverse(decided_at(entry)));
    Look {
        matching: matching.len(),
        rows: matching.into_iter().take(ROWS_MAX).cloned().collect(),
        kept,
        waiting: 0,
    }
}

fn decided_at(entry: &TailEntry) -> u64 {
    match &entry.event {
        TailEvent::Decision(sample) => sample.at.0,
        TailEvent::Gap { at } => *at,
    }
}

#[cfg(test)]
mod tests {
    use weir_shared::units::EpochMs;
    use weir_shared::wire::check::Reason;
    use weir_shared::wire::operator::live::DecisionSample;

    use super::*;
    use crate::live::tail::TAIL_MAX;

    fn tell(tail: &mut Tail, count: usize, tenant: &str) {
        for _ in 0..count {
            let sample = DecisionSample {
                at: EpochMs(tail.told()),
                tenant: Some(tenant.to_owned()),
                allowed: true,
                binding: format!("of-{tenant}"),
                reason: Reason::Admitted,
                would_deny: false,
                decision: None,
            };
            tail.decision("weur", sample);
        }
    }

    fn numbers(look: &Look) -> Vec<u64> {
        look.rows.iter().map(|row| row.number).collect()
    }

    fn of(tenant: &str) -> DecisionFilter {
        DecisionFilter {
            tenant: tenant.to_owned(),
            ..DecisionFilter::default()
        }
    }

    #[test]
    fn the_list_has_the_newest_that_match_and_counts_the_others() {
        let mut tail = Tail::default();
        tell(&mut tail, 2, "acme");
        tell(&mut tail, 1, "beta");
        tell(&mut tail, ROWS_MAX, "acme");
        let look = Watch::default().look(&tail, &of("acme"));
        assert_eq!(look.rows.len(), ROWS_MAX);
        assert_eq!(look.rows[0].number, ROWS_MAX as u64 + 3);
        let counts = (look.matching, look.kept, look.waiting);
        assert_eq!(counts, (ROWS_MAX + 2, ROWS_MAX + 3, 0));
        assert_eq!(numbers(&Watch::default().look(&tail, &of("beta"))), [3]);
    }

    #[test]
    fn what_was_decided_last_stands_first_whenever_it_was_told() {
        let mut tail = Tail::default();
        let decided = |at: u64| DecisionSample {
            at: EpochMs(at),
            tenant: None,
            allowed: true,
            binding: "tokens".to_owned(),
            reason: Reason::Admitted,
            would_deny: false,
            decision: None,
        };
        for (region, at) in [("weur", 10), ("weur", 30), ("enam", 20), ("enam", 30)] {
            tail.decision(region, decided(at));
        }
        tail.gap("weur", 25);
        let look = Watch::default().look(&tail, &DecisionFilter::default());
        assert_eq!(numbers(&look), [4, 2, 5, 3, 1]);
    }

    #[test]
    fn a_held_list_keeps_what_it_has_and_counts_what_waits() {
        let (mut tail, mut watch) = (Tail::default(), Watch::default());
        tell(&mut tail, 3, "acme");
        watch.hold(&tail);
        tell(&mut tail, 2, "acme");
        tell(&mut tail, 1, "beta");
        // Held again, it does not move on.
        watch.hold(&tail);
        let look = watch.look(&tail, &of("acme"));
        assert!(watch.is_held());
        assert_eq!((numbers(&look), look.waiting), (vec![3, 2, 1], 2));
        tell(&mut tail, TAIL_MAX, "beta");
        assert_eq!(numbers(&watch.look(&tail, &of("acme"))), [3, 2, 1]);
        watch.release();
        assert!(watch.look(&tail, &of("acme")).rows.is_empty());
    }

    #[test]
    fn a_list_that_is_held_while_empty_lets_everything_wait() {
        let (mut tail, mut watch) = (Tail::default(), Watch::default());
        watch.hold(&tail);
        tell(&mut tail, 4, "acme");
        let look = watch.look(&tail, &DecisionFilter::default());
        assert_eq!((look.rows.len(), look.waiting), (0, 4));
    }

    #[test]
    fn a_list_says_how_much_of_what_there_is_it_shows() {
        let look = |rows: usize, matching: usize, kept: usize| {
            let mut tail = Tail::default();
            tell(&mut tail, rows, "acme");
            Look {
                rows: tail.entries().cloned().collect(),
                matching,
                kept,
                waiting: 0,
            }
        };
        for (look, all, words) in [
            (look(0, 0, 0), true, ""),
            (look(0, 0, 7), false, ""),
            (look(1, 1, 1), true, "The last 1 decision, newest first."),
            (
                look(2, 1_500, 1_500),
                true,
                "The newest 2 of 1,500 decisions kept.",
            ),
            (
                look(2, 2, 1_500),
                false,
                "2 of 1,500 decisions kept match, newest first.",
            ),
            (
                look(2, 300, 2_000),
                false,
                "The newest 2 of 300 that match, of 2,000 decisions kept.",
            ),
        ] {
            assert_eq!(look.summary(all), words);
        }
    }

    #[test]
    fn only_a_list_that_stands_still_says_what_waits() {
        let waiting = |waiting: usize, asked: bool| {
            let look = Look {
                waiting,
                ..Look::default()
            };
            look.waiting_words(asked).unwrap_or_default()
        };
        assert_eq!(waiting(0, false), "");
        assert_eq!(waiting(0, true), "The list is paused.");
        assert_eq!(waiting(1_234, true), "The list is paused; 1,234 newer.");
        assert!(waiting(5, false).ends_with("; 5 newer."));
    }

    #[test]
    fn an_empty_list_says_what_would_fill_it() {
        let look = |kept: usize| Look {
            kept,
            ..Look::default()
        };
        let live = |phase: Phase| LiveState {
            phase,
            ..LiveState::default()
        };
        for (kept, phase, empty) in [
            (0, Phase::Connecting, Empty::Nothing),
            (0, Phase::Live, Empty::Nothing),
            (0, Phase::Paused, Empty::Paused),
            (0, Phase::Reconnecting, Empty::NoSocket),
            (7, Phase::Live, Empty::NoMatch),
            (7, Phase::Reconnecting, Empty::NoMatch),
        ] {
            assert_eq!(
                Empty::of(&look(kept), live(phase)),
                Some(empty),
                "{phase:?}"
            );
        }
        let mut tail = Tail::default();
        tell(&mut tail, 1, "acme");
        let full = Watch::default().look(&tail, &DecisionFilter::default());
        assert_eq!(Empty::of(&full, live(Phase::Reconnecting)), None);
    }

    #[test]
    fn choices_are_what_was_seen_and_what_is_looked_for() {
        let mut tail = Tail::default();
        tell(&mut tail, 2, "acme");
        tell(&mut tail, 1, "beta");
        tail.gap("enam", 9);
        let filter = DecisionFilter {
            binding: "gone".to_owned(),
            ..DecisionFilter::default()
        };
        let choices = Choices::of(&tail, &filter);
        assert!(choices.bindings.iter().eq(["gone", "of-acme", "of-beta"]));
        assert!(choices.regions.iter().eq(["enam", "weur"]));
    }
}
